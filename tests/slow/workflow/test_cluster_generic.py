"""Other schedulers take a command line and a profile, and no change of the rules."""

import os
import re

import pytest
import yaml
from local_run import FIGURE, make_checkout, results
from repository import ROOT

pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="requirements-dev.txt is not installed"
)


# Grid Engine's commands as far as the profile uses them. The first job is killed as it starts.
GRID_ENGINE = {
    "qsub": """\
        echo "$@" >> $GRID/submitted
        for last; do :; done
        if [ $(wc -l < $GRID/submitted) = 1 ]; then echo killed; exit; fi
        (sh "$last" > /dev/null 2>&1; echo $? > $GRID/done.$(basename "$last")) &
        basename "$last"
        """,
    "qstat": '[ "$1" = -j ] && [ "$2" != killed ] && [ ! -e "$GRID/done.$2" ]\n',
    "qacct": """\
        [ "$1" = -j ] || exit 1
        if [ "$2" = killed ]; then
            printf 'failed       100 : assumedly after job\\nexit_status  137\\n'
        else
            printf 'failed       0    \\nexit_status  %s\\n' $(cat "$GRID/done.$2")
        fi
        """,
}


def profile(name):
    return yaml.safe_load((ROOT / f"profiles/{name}/profile.yaml").read_text(encoding="utf-8"))


def test_grid_engine_runs_a_killed_job_again(local_results, tmp_path):
    checkout, grid, commands = (tmp_path / name for name in ("checkout", "grid", "bin"))
    checkout = make_checkout(checkout)
    for folder in (grid, commands):
        folder.mkdir()
    for name, script in GRID_ENGINE.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
        (commands / name).chmod(0o755)
    run = checkout.snakemake(
        FIGURE,
        *("--profile", "profiles/cluster", "--profile", "profiles/sge"),
        "--seconds-between-status-checks=1",
        GRID=str(grid),
        PATH=f"{commands}{os.pathsep}{os.environ['PATH']}",
    )
    assert run.returncode == 0, run.stderr
    assert results(checkout) == local_results
    # One job computes three curves, and is given twice as long the second time it is run;
    # the other draws.
    submitted = (grid / "submitted").read_text(encoding="utf-8")
    assert re.findall(r"-l h_rt=(\S+)", submitted) == ["0:15:0", "0:30:0", "0:5:0"]


def test_the_profile_of_any_scheduler_is_that_of_slurm_less_its_own_options():
    slurm = profile("slurm")
    assert {"executor", "slurm-status-command"} == slurm.keys() - profile("cluster").keys()
    assert all(slurm[key] == value for key, value in profile("cluster").items())
