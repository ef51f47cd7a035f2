"""Another scheduler takes a command line, and no change of the rules."""

import re

import pytest
from local_run import FIGURE, make_checkout, results

pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="requirements-dev.txt is not installed"
)

# A scheduler as they all are: it is told what a job needs, starts it later, answers with a number.
SUBMIT = """\
echo "$1 cores, $2 MB, $3 minutes" >> submitted
sh "$4" > /dev/null 2>&1 &
echo $!
"""


def test_a_run_by_another_scheduler_ends_like_a_local_one(local_results, tmp_path):
    checkout = make_checkout(tmp_path / "checkout")
    (checkout.path / "submit").write_text(SUBMIT, encoding="utf-8")
    run = checkout.snakemake(
        FIGURE,
        *("--executor", "cluster-generic", "--jobs", "4", "--cores", "2"),
        "--seconds-between-status-checks=1",
        "--cluster-generic-submit-cmd",
        "sh submit {threads} {resources.mem_mb} {resources.runtime}",
        *("--groups", "curve=computing", "figure=drawing"),
        *("--group-components", "computing=20", "drawing=100"),
    )
    assert run.returncode == 0, run.stderr
    assert results(checkout) == local_results

    # One job computes, side by side on two cores; the other draws.
    lines = (checkout.path / "submitted").read_text(encoding="utf-8").splitlines()
    jobs = [[int(number) for number in re.findall(r"\d+", line)] for line in lines]
    assert [cores for cores, _, _ in jobs] == [2, 1]
    assert all(memory > 0 and minutes > 0 for _, memory, minutes in jobs)
