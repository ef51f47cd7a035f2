"""profiles/slurm by a real Slurm, and the packages that it needs."""

import re
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from importlib import metadata

import pytest
import slurm_cluster
import yaml
from local_run import FIGURE, make_checkout, results
from packaging.requirements import Requirement
from repository import ROOT

pytest.importorskip(
    "snakemake_executor_plugin_slurm", reason="requirements-slurm.txt is not installed"
)

SNAKEMAKE = (
    *(sys.executable, "-m", "snakemake", FIGURE, "--profile", "profiles/slurm"),
    *("--group-components", "computing=2", "drawing=100"),
    "--slurm-init-seconds-before-status-checks=4",
)


@pytest.fixture
def cluster():
    if lack := slurm_cluster.missing():
        pytest.skip(lack)
    with slurm_cluster.running() as cluster:
        yield cluster


@contextmanager
def started(cluster, checkout, log):
    """A run through the profile, in the background."""
    with log.open("wb") as file:
        run = subprocess.Popen(
            SNAKEMAKE,
            env=cluster.environment,
            cwd=checkout.path,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield run
    finally:
        run.kill()
        run.wait()


@pytest.mark.slurm
def test_a_run_that_loses_a_job_ends_like_a_local_one(cluster, local_results, tmp_path):
    checkout, log = make_checkout(tmp_path / "checkout"), tmp_path / "log"
    with started(cluster, checkout, log) as run:
        slurm_cluster.wait_until(lambda: results(checkout) or run.poll() is not None, seconds=120)
        assert run.poll() is None, log.read_text(encoding="utf-8")
        # The first curve is just done: cancel the job of two curves, not that of one.
        jobs = {limit: job for job, limit in cluster.jobs("%i %l", "--states=RUNNING")}
        cancelled = jobs["10:00"]
        cluster.client("scancel", cancelled)
        run.wait(timeout=300)
    text = log.read_text(encoding="utf-8")
    assert run.returncode == 0, text
    assert results(checkout) == local_results

    # Slurm's own list: the cancelled job was done again, with twice the resources.
    jobs = cluster.jobs("%i %T %k %C %m %l", "--states=all")
    assert set(re.findall(r"submitted with SLURM jobid (\d+)", text)) == {job for job, *_ in jobs}
    assert [job for job, state, *_ in jobs if state == "CANCELLED"] == [cancelled]
    assert sorted([state, group, *resources] for _, state, group, *resources in jobs) == [
        ["CANCELLED", "rule_computing_curve", "1", "1000M", "10:00"],
        ["COMPLETED", "rule_computing_curve", "1", "1000M", "5:00"],
        ["COMPLETED", "rule_computing_curve", "1", "2000M", "20:00"],
        ["COMPLETED", "rule_drawing_figure", "1", "1000M", "5:00"],
    ]

    with started(cluster, checkout, log) as run:
        assert run.wait(timeout=60) == 0
    assert "Nothing to be done" in log.read_text(encoding="utf-8")


def test_the_profile_places_every_rule():
    """A rule that the profile forgets would be a Slurm job of a few seconds for each output."""
    profile = yaml.safe_load((ROOT / "profiles/slurm/profile.yaml").read_text(encoding="utf-8"))
    listed = subprocess.run(
        [sys.executable, "-m", "snakemake", "--list-rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    papers = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))["papers"]
    targets = {"all", "figures", "tables", "claims", "verify", *papers}
    rules = {
        name
        for name in (line.split()[0] for line in listed.stdout.splitlines())
        if name not in targets and not name.startswith(tuple(f"{paper}_" for paper in papers))
    }
    assert profile["groups"].keys() == rules
    assert profile["set-resources"].keys() == rules
    assert set(profile["groups"].values()) == profile["group-components"].keys()


def test_everything_the_plugin_needs_is_pinned_within_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        line
        for name in ("requirements.txt", "requirements-slurm.txt")
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
        if re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)
    ]
    pinned = dict(line.split("==") for line in lines)
    waiting = [Requirement(line) for line in project["optional-dependencies"]["slurm"]]
    while waiting:
        requirement = waiting.pop()
        assert requirement.specifier.contains(pinned[requirement.name])
        if requirement.name.startswith("snakemake-executor-plugin-"):
            waiting += map(Requirement, metadata.requires(requirement.name))
