"""Curves and tables that were changed are neither drawn nor judged."""

import os
import re

import pytest
from small_run import copy, results
from test_pipeline import CONFIG

UPPER = "results/su2026/curves/krr10/low/upper.csv"
LAW = "results/su2026/tables/fig8.csv"
FIGURE = "figures/su2026/fig.png"
LOGS = "results/su2026/logs"
CLAIMS = "results/su2026/claims.csv"

RUN = "to have what the configuration asks for, run "
REMEDY = re.compile(rf"{RUN}snakemake (.+)$", re.M)


@pytest.fixture
def recorded(undisturbed, tmp_path):
    """Results with the records of the run that made them."""
    return copy(undisturbed, tmp_path / "recorded")


def follow(sentence, checkout):
    """Run the command that a sentence recommends."""
    (command,) = REMEDY.findall(sentence)
    run = checkout.snakemake(*command.split())
    assert run.returncode == 0, run.stderr
    return command


def truncate(path):
    """Lose the last row and keep the time, as a copy that went wrong does."""
    status, text = path.stat(), path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex("\n", 0, -1) + 1], encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def edit(path):
    """Another last digit of one ε."""
    text = path.read_text(encoding="utf-8")
    header, *_, last = (line.split(",") for line in text.splitlines())
    epsilon = last[header.index("epsilon_upper")]
    assert 0.0 < float(epsilon) < 0.5
    other = f"{epsilon[:-1]}{(int(epsilon[-1]) + 1) % 10}"
    path.write_text(text.replace(epsilon, other), encoding="utf-8")


def test_a_damaged_curve_is_named_and_not_drawn(recorded):
    truncate(recorded.path / UPPER)
    (recorded.path / FIGURE).unlink()
    run = recorded.snakemake("--cores", "2", FIGURE)
    assert run.returncode != 0
    assert "Error in rule figure" in run.stderr
    sentence = complaint(recorded, f"{LOGS}/figures/fig.log", run)
    assert sentence.startswith(f"{UPPER} has changed since it was written")
    assert not (recorded.path / FIGURE).exists()


def complaint(checkout, log, run):
    """What a job had to say in its log, and on the screen with it."""
    (sentence,) = (checkout.path / log).read_text(encoding="utf-8").splitlines()
    assert sentence in run.stderr
    return sentence


def test_an_edit_by_hand_reaches_neither_figure_nor_claims(recorded):
    """An editor gives the file a new time, so that Snakemake draws the figure again by itself."""
    with (recorded.path / CONFIG).open("a", encoding="utf-8") as file:
        file.write("claims: {improvement: [fig]}\n")
    before = results(recorded)
    edit(recorded.path / UPPER)
    run = recorded.snakemake("--cores", "2", "--keep-going")
    assert run.returncode != 0
    for log in (f"{LOGS}/figures/fig.log", f"{LOGS}/claims.log"):
        assert complaint(recorded, log, run) == (
            f"{UPPER} has changed since it was written: its checksum does not fit; "
            f"{RUN}snakemake --cores all --forcerun {UPPER}"
        )
    assert not (recorded.path / FIGURE).exists()
    assert not (recorded.path / CLAIMS).exists()
    follow(complaint(recorded, f"{LOGS}/claims.log", run), recorded)
    after = results(recorded)
    assert CLAIMS in after
    assert {path: text for path, text in after.items() if "claims" not in path} == before


def test_a_changed_table_is_not_drawn(recorded):
    truncate(recorded.path / LAW)
    (recorded.path / "figures/su2026/fig8.png").unlink()
    run = recorded.snakemake("--cores", "2", "figures/su2026/fig8.png")
    sentence = complaint(recorded, f"{LOGS}/figures/fig8.log", run)
    assert sentence.startswith(f"{LAW} has changed since it was written")
    assert not (recorded.path / "figures/su2026/fig8.png").exists()
