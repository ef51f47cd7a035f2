"""Runs that several files of tests look at or compare with."""

import pytest
import small_run
import whole_run
from local_run import FIGURE, make_checkout, results


@pytest.fixture(scope="session")
def local_results(tmp_path_factory):
    """The results of a plain local run, which a run by any other executor must equal."""
    checkout = make_checkout(tmp_path_factory.mktemp("local") / "checkout")
    run = checkout.snakemake(FIGURE, "--cores", "2")
    assert run.returncode == 0, run.stderr
    assert len(results(checkout)) == 8
    return results(checkout)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A checkout after a run that made one of everything."""
    return finished(whole_run.make_checkout(tmp_path_factory.mktemp("whole") / "checkout"))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """A checkout with all results of an undisturbed run; tests work on copies."""
    return finished(small_run.make_checkout(tmp_path_factory.mktemp("undisturbed") / "checkout"))


def finished(checkout):
    """The checkout, once everything is made in it."""
    run = checkout.snakemake("--cores", "2")
    assert run.returncode == 0, run.stderr
    return checkout
