"""What the tests of the executors share."""

import pytest
from local_run import FIGURE, make_checkout, results


@pytest.fixture(scope="session")
def local_results(tmp_path_factory):
    """The results of a plain local run, which a run by any other executor must equal."""
    checkout = make_checkout(tmp_path_factory.mktemp("local") / "checkout")
    run = checkout.snakemake(FIGURE, "--cores", "2")
    assert run.returncode == 0, run.stderr
    assert len(results(checkout)) == 5
    return results(checkout)
