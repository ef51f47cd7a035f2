"""Runs that are killed, disks that are full or read-only, two runs at once: nothing is lost."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from ready_snakemake import Run
from small_run import copy, results
from strategies import FUZZ
from test_pipeline import CONFIG

from shufflebounds.curves import curve

UPPER = "results/su2026/curves/krr10/low/upper.csv"
FIGURE = "figures/su2026/fig.png"
SECONDS = 300.0  # after which something hangs, however busy the machine

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="finds the jobs of a run in /proc"
)


@pytest.fixture
def checkout(undisturbed, tmp_path):
    return copy(undisturbed, tmp_path / "checkout")


def jobs(checkout):
    """The processes that compute or draw something, by the script they run."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:  # it has ended
            continue
        if len(words) > 1 and words[1].startswith(f"{checkout.path}/.snakemake/scripts/"):
            found[words[1]] = int(process.name)
    return found


def wait_for_job(checkout, run):
    """The first job of a run that is seen; none if the run ends before."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        running = jobs(checkout)
        if running or run.wait(0.01) is not None:
            return next(iter(running.values()), None)
    raise TimeoutError(run.said)


def remove(checkout, paths):
    for path in paths:
        (checkout.path / path).unlink(missing_ok=True)


def complete(checkout, *arguments):
    run = checkout.snakemake("--cores", "2", *arguments)
    assert run.returncode == 0, run.stderr


# Kills.

KILLS = 2 * FUZZ


def test_a_run_killed_again_and_again_ends_like_an_undisturbed_one(undisturbed, checkout):
    """At random moments of a job."""
    generator = random.Random(1)
    wanted, longest = results(undisturbed), max(seconds(undisturbed))
    kills = 0
    while kills < KILLS:
        remove(checkout, generator.sample(sorted(wanted), 2))
        run = Run.start(checkout.path, "--cores", "1")
        wait_for_job(checkout, run)
        ended = run.wait(generator.uniform(0.0, longest))
        run.kill()
        assert ended in (None, 0), run.said
        kills += ended is None
        unlock(checkout, first=kills == 1)
        # Whatever is there is whole.
        assert results(checkout).items() <= wanted.items()
    complete(checkout)
    assert results(checkout) == wanted


def seconds(checkout):
    """Run times of the jobs."""
    for path in checkout.path.glob("results/*/benchmarks/**/*.tsv"):
        yield float(path.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])


def unlock(checkout, first):
    """What a killed run leaves locked, the next one would not touch."""
    locks = checkout.path / ".snakemake" / "locks"
    if locks.exists() and first:
        run = checkout.snakemake("--unlock")
        assert run.returncode == 0, run.stderr
        assert not locks.exists()
    elif locks.exists():
        shutil.rmtree(locks)  # the same, but for the seconds that Snakemake takes to start


def test_a_killed_job_is_named_and_nothing_else_is_lost(undisturbed, checkout):
    wanted = results(undisturbed)
    curves = sorted(path for path in wanted if "curves" in path)
    # What the figure draws, and no more.
    curves = [path for path in curves if "joint2" not in path]
    remove(checkout, [*curves[:2], FIGURE])
    run = Run.start(checkout.path, "--cores", "1", FIGURE)
    try:
        os.kill(wait_for_job(checkout, run), signal.SIGKILL)
        assert run.wait(SECONDS) == 1
    finally:
        run.kill()
    (path,) = re.findall(r"^Error in rule curve:$.*?output: (\S+)$", run.said, re.M | re.S)
    assert path in curves
    assert "SIGKILL" in run.said
    assert not (checkout.path / path).exists()
    left = results(checkout)
    assert left.items() <= wanted.items()
    assert set(curves[2:]) <= left.keys()
    complete(checkout, FIGURE)
    assert results(checkout).items() <= wanted.items()


# Two runs.


def test_a_second_run_is_told_of_the_first_and_does_it_no_harm(undisturbed, checkout):
    # Enough to do for the second to come while the first is at it.
    curves = [path for path in results(undisturbed) if "curves" in path]
    remove(checkout, curves)
    first = Run.start(checkout.path, "--cores", "1", *curves)
    try:
        assert wait_for_job(checkout, first)
        second = checkout.snakemake("--cores", "1")
        assert second.returncode != 0
        assert "Directory cannot be locked" in second.stderr
        assert "other Snakemake process" in second.stderr
        assert first.wait(SECONDS) == 0
    finally:
        first.kill()
    assert results(checkout) == results(undisturbed)


# Disks.


@contextmanager
def mounted(path, *arguments):
    """Something mounted at a path; the test is skipped where that is not allowed."""
    done = subprocess.run(["mount", *arguments, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mount needs root: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def remount(path, options):
    subprocess.run(["mount", "-o", f"remount,{options}", path], check=True)


def test_a_full_disk_is_told_and_costs_no_finished_curve(undisturbed, checkout):
    """Room for some of the figure's curves: a file takes a page of 4 kB, however short it is."""
    wanted = results(undisturbed)
    remove(checkout, [FIGURE])
    disk = checkout.path / "results"
    with mounted(disk, "-t", "tmpfs", "-o", "size=24k", "none"):
        run = checkout.snakemake("--cores", "1", FIGURE)
        assert run.returncode == 1
        assert "No space left on device" in run.stderr
        assert "Traceback" not in run.stdout + run.stderr
        finished = {path for path in results(checkout) if path.startswith("results")}
        done = run.stderr.count("Finished jobid")
        assert len(finished) == done > 0
        assert results(checkout).items() <= wanted.items()

        times = {path: (checkout.path / path).stat().st_mtime_ns for path in finished}
        remount(disk, "size=10m")
        complete(checkout, FIGURE)
        assert {path: (checkout.path / path).stat().st_mtime_ns for path in finished} == times
        after = results(checkout)
        assert len(after) > len(finished)
        assert after.items() <= wanted.items()
        assert FIGURE in after


def test_a_full_disk_is_told_by_the_job_itself(checkout):
    """Where even its log takes no word."""
    disk = checkout.path / "results/su2026/curves/krr10"
    with mounted(disk, "-t", "tmpfs", "-o", "size=4k", "none"):
        (disk / "full").write_bytes(bytes(4096))
        run = checkout.snakemake("--cores", "1", UPPER)
        assert run.returncode == 1
        assert f"{UPPER}: No space left on device" in run.stderr.splitlines()


# Folders.


def test_a_checkout_and_its_environment_may_lie_in_a_folder_with_a_space(undisturbed, tmp_path):
    checkout = copy(undisturbed, tmp_path / "with space")
    (checkout.path / ".venv").symlink_to(sys.prefix)
    remove(checkout, [UPPER, FIGURE])
    run = subprocess.run(
        [checkout.path / ".venv" / "bin" / "python", "-m", "snakemake", "--cores", "1", FIGURE],
        cwd=checkout.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert results(checkout) == results(undisturbed)


# Mathematics.


def test_a_curve_out_of_reach_says_so_on_the_screen(checkout):
    checkout.edit(CONFIG, "blh: {type: blh}", "blh: {type: laplace, cells: 12}")
    checkout.edit("config.yaml", "rtol: 1.0e-3", "rtol: 1.0e-9")
    path = "results/su2026/curves/blh/low/upper.csv"
    run = checkout.snakemake("--cores", "1", path)
    assert run.returncode == 0
    log = "results/su2026/logs/curves/blh/low/upper.log"
    sentences = (checkout.path / log).read_text("utf-8").splitlines()
    assert len(sentences) == 3
    for n, sentence in zip((100, 316, 1000), sentences, strict=True):
        assert sentence.startswith(f"blh/low/upper at n = {n} is left empty: epsilon at delta")
        assert "is known only to lie in" in sentence
        assert sentence.endswith(
            "rtol = 1e-09 was asked for; more cells or a larger rtol would help"
        )
    assert f"blh/low/upper: 3 of 3 points are left empty; {log} says why" in run.stderr
    table = curve.read(checkout.path / path)
    assert table[["epsilon_lower", "epsilon_upper"]].isna().all(axis=None)
