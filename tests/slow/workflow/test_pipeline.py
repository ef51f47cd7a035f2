"""The workflow end to end, by real Snakemake on a copy of this checkout with a small matrix."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import ready_snakemake
from repository import ROOT

CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
TINY = ROOT / "tests" / "slow" / "workflow" / "tiny"
PARTS = ("Snakefile", "environment.yml", "profiles", "src", "workflow")
CONFIG = "config/su2026.yaml"
TIMEOUT = 120.0  # seconds

CURVES = "results/su2026/curves"
KRR = {f"{CURVES}/krr10/low/{curve}.csv" for curve in ("upper", "lower", "joint2")}
BLH = {f"{CURVES}/blh/low/upper.csv"}
CLONES = {f"{CURVES}/{experiment}/low/clone.csv" for experiment in ("krr10", "blh")}
BENNETT = {f"{CURVES}/{experiment}/low/bennett.csv" for experiment in ("krr10", "blh")}
KRR_BENNETT = {f"{CURVES}/krr10/low/bennett.csv"}
CURVE_FILES = KRR | BLH | CLONES | BENNETT
DRAWN = {f"figures/su2026/fig.{kind}" for kind in ("json", "md", "pdf", "png", "tex")}
GALLERY = {"results/gallery.html"}
FIGURES = DRAWN | GALLERY
PAPER = CURVE_FILES | FIGURES
OTHER = {"results/other/curves/krr3/any/upper.csv"}
EVERYTHING = PAPER | OTHER


@dataclass(frozen=True)
class Checkout:
    """A copy of the checkout to run Snakemake in, and edit."""

    path: Path

    @staticmethod
    def make(path: Path) -> "Checkout":
        path.mkdir()
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, path / part)
        shutil.copytree(TINY, path, dirs_exist_ok=True)
        return Checkout(path)

    def snakemake(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        if not environment:
            return ready_snakemake.run(self.path, arguments, TIMEOUT)
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.path,
            env=ready_snakemake.ENVIRONMENT | environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def pending(self) -> set[str]:
        """Outputs that Snakemake would make anew."""
        done = self.snakemake("--summary")
        assert done.returncode == 0, done.stderr
        header, *rows = (line.split("\t") for line in done.stdout.splitlines())
        table = [dict(zip(header, row, strict=True)) for row in rows]
        return {row["output_file"] for row in table if row["plan"] == "update pending"}

    def jobs(self, *arguments: str) -> list[str]:
        """What Snakemake says of each job that it would run, sorted."""
        done = self.snakemake("--dry-run", *arguments)
        assert done.returncode == 0, done.stderr
        return sorted(re.findall(r"^Job \d+: (.*)$", done.stdout + done.stderr, re.MULTILINE))

    def edit(self, name: str, old: str, new: str) -> None:
        file = self.path / name
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1
        file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A checkout after one complete run, in an environment with a wrong library installed."""
    folder = tmp_path_factory.mktemp("pipeline")
    wrong = folder / "elsewhere" / "shufflebounds"
    wrong.mkdir(parents=True)
    (wrong / "__init__.py").write_text("raise ImportError('the wrong library')", encoding="utf-8")
    checkout = Checkout.make(folder / "checkout")
    run = checkout.snakemake("--cores", "2", "--verbose", PYTHONPATH=str(wrong.parent))
    assert run.returncode == 0, run.stderr
    (folder / "messages").write_text(run.stderr, encoding="utf-8")
    return checkout


@pytest.fixture
def checkout(finished):
    """The finished checkout; what a test edits is put back afterwards."""
    kept = {
        path: path.read_bytes()
        for part in (*PARTS, "config.yaml", "config")
        for path in (finished.path / part, *(finished.path / part).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    yield finished
    for path, content in kept.items():
        if path.read_bytes() != content:
            path.write_bytes(content)


def test_waiting_jobs_are_looked_through_only_when_a_job_has_ended(finished):
    """Snakemake's limit on starts per second would do so ever more often as a run goes on."""
    messages = (finished.path.parent / "messages").read_text(encoding="utf-8")
    ended = messages.count("Finished jobid:")
    assert ended > len(EVERYTHING) / 2
    assert messages.count("Ready jobs:") <= ended + 1


def test_a_run_leaves_curves_figures_logs_and_benchmarks(finished):
    for output in EVERYTHING:
        assert (finished.path / output).stat().st_size > 0
    assert (finished.path / "figures/su2026/fig.pdf").read_bytes().startswith(b"%PDF")
    assert (finished.path / "figures/su2026/fig.png").read_bytes().startswith(b"\x89PNG")
    for folder, suffix in (("logs", ".log"), ("benchmarks", ".tsv")):
        below = finished.path / "results" / "su2026" / folder
        files = {path.name for path in below.rglob(f"*{suffix}")}
        assert {f"upper{suffix}", f"fig{suffix}"} <= files


def test_curves_are_tidy_and_in_order(finished):
    frame = pd.concat([pd.read_csv(finished.path / path) for path in CURVE_FILES])
    assert len(frame) == 3 * len(CURVE_FILES)
    assert set(frame["n"]) == {100, 316, 1000}
    assert set(frame["delta"]) == {1e-6}
    assert set(frame["eps0"]) == {0.5}
    assert (frame["epsilon_lower"] <= frame["epsilon_upper"]).all()
    plotted = frame["epsilon_upper"].where(frame["bound"] != "lower", frame["epsilon_lower"])
    assert plotted.between(0.0, 0.5).all()
    curve = frame.assign(epsilon=plotted).pivot(
        index=["experiment", "n"], columns="curve", values="epsilon"
    )
    assert (curve["upper"] < curve["clone"]).all()
    assert (curve["upper"] < curve["bennett"]).all()
    assert (curve.loc["krr10", "lower"] < curve.loc["krr10", "upper"]).all()
    assert (curve.groupby("experiment").diff().dropna(how="all").max() <= 0.0).all()


def test_a_second_run_does_nothing(finished):
    run = finished.snakemake("--cores", "2")
    assert run.returncode == 0
    assert "Nothing to be done" in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("delta: 1.0e-6", "delta: 1.0e-5", PAPER),
        (
            "{type: krr, k: 10}",
            "{type: krr, k: 9}",
            {path for path in PAPER if "krr10" in path} | FIGURES,
        ),
        ("clone: clone", "clone: the clone", FIGURES),
        ("style:\n", "style:\n  transform: expm1\n", FIGURES),
        ("caption: Two mechanisms.", "caption: Both mechanisms.", DRAWN | GALLERY),
        ('title: "A small paper"', 'title: "A paper"', GALLERY),
    ],
    ids=["delta", "mechanism", "style", "transform", "caption", "paper"],
)
def test_an_edit_of_the_matrix_reruns_what_depends_on_it(checkout, old, new, expected):
    checkout.edit(CONFIG, old, new)
    assert checkout.pending() == expected


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("config.yaml", "rtol: 1.0e-3", "rtol: 1.0e-4", EVERYTHING - BENNETT),
        ("config/other.yaml", "delta: 1.0e-5", "delta: 1.0e-4", OTHER),
    ],
    ids=["tolerance", "other setting"],
)
def test_an_edit_elsewhere_leaves_a_paper_alone(checkout, name, old, new, expected):
    checkout.edit(name, old, new)
    assert checkout.pending() == expected


def test_a_new_mechanism_runs_alone(checkout):
    mechanism, experiment = "blh: {type: blh}", "blh: {mechanism: blh, "
    checkout.edit(CONFIG, mechanism, f"krr3: {{type: krr, k: 3}}\n  {mechanism}")
    new = "new: {mechanism: krr3, regimes: [large], curves: [upper]}"
    checkout.edit(CONFIG, experiment, f"{new}\n  {experiment}")
    assert checkout.pending() == {f"{CURVES}/new/large/upper.csv"}


def test_a_paper_that_is_left_out_is_left_alone(checkout):
    checkout.edit("config.yaml", "[su2026, other]", "[other]")
    assert checkout.pending() == set()


def test_a_restyled_figure_is_told_and_the_reason_below(checkout):
    checkout.edit(CONFIG, "clone: clone", "clone: the clone")
    run = checkout.snakemake("--dry-run")
    told = run.stdout + run.stderr
    assert re.search(r"params have changed since last execution:\n +figure", told)
    assert sorted(re.findall(r"^Job \d+: (.*)$", told, re.MULTILINE)) == [
        "everything of every paper",
        "figure fig (su2026)",
        "gallery",
    ]
    assert len(told) < 1700


def test_which_parameters_changed_can_be_asked_for(checkout):
    """As docs/workflow.md says."""
    checkout.edit(CONFIG, "delta: 1.0e-6", "delta: 1.0e-5")
    run = checkout.snakemake("--dry-run", "--quiet", "host", "--", *KRR_BENNETT)
    told = run.stdout + run.stderr
    (before, now) = re.search("before: (.*) now: (.*)", told).groups()
    assert '"delta": 1e-06' in before
    assert '"delta": 1e-05' in now


def test_targets_are_everything_a_paper_or_a_file(checkout):
    """The names of papers are targets, too."""
    curves = [
        f"curve {curve} of {experiment}, low (su2026)"
        for experiment, names in {
            "blh": ["bennett", "clone", "upper"],
            "krr10": ["bennett", "clone", "joint2", "lower", "upper"],
        }.items()
        for curve in names
    ]
    figure, other = "figure fig (su2026)", "curve upper of krr3, any (other)"
    assert checkout.jobs("--forceall", "su2026") == sorted(
        [*curves, figure, "everything of su2026"]
    )
    drawn = [line for line in curves if "joint2" not in line and "lower" not in line]
    assert checkout.jobs("--forceall", "other", "figures/su2026/fig.png") == sorted(
        [*drawn, figure, other, "everything of other"]
    )


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("src/shufflebounds/core/decomposition.py", EVERYTHING),
        ("src/shufflebounds/curves/plotting/figures.py", FIGURES),
        # What these decide, the parameters of the jobs say.
        ("workflow/reproduction/plan.py", set()),
    ],
)
def test_an_edit_of_a_module_reruns_what_depends_on_its_kind(checkout, module, expected):
    with (checkout.path / module).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert checkout.pending() == expected


def test_a_mistake_stops_before_the_first_job(checkout):
    checkout.edit(CONFIG, "type: krr, k: 10", "type: krr, k: 1")
    before = {path: path.stat().st_mtime_ns for path in (checkout.path / "results").rglob("*")}
    run = checkout.snakemake("--cores", "2")
    assert run.returncode != 0
    assert run.stderr.splitlines()[-1] == (
        "config/su2026.yaml: mechanisms.krr10: k must be an integer from 2 to 9007199254740992, "
        "got 1"
    )
    assert "Traceback" not in run.stdout + run.stderr
    assert "Job" not in run.stdout + run.stderr
    assert before == {
        path: path.stat().st_mtime_ns for path in (checkout.path / "results").rglob("*")
    }


def test_what_an_entry_left_behind_can_be_listed(checkout):
    checkout.edit(CONFIG, "clone, upper, lower, joint2]", "clone, upper, lower]")
    command = re.search(r"`snakemake (--list-untracked) \| grep -E '(.*?)'`", CONFIGURATION)
    run = checkout.snakemake(command[1])
    assert run.returncode == 0, run.stderr
    left = {line for line in run.stdout.splitlines() if re.search(command[2], line)}
    name = "curves/krr10/low/joint2"
    assert left == {f"results/su2026/{name}.csv", f"results/su2026/logs/{name}.log"}
