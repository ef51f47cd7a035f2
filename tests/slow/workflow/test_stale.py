"""Results of another configuration, or changed ones, never pass for current."""

import os
import re

import pytest
from small_run import copy, results
from test_pipeline import CONFIG

UPPER = "results/su2026/curves/krr10/low/upper.csv"
JOINT = "results/su2026/curves/krr10/low/joint2.csv"
LAW = "results/su2026/tables/fig8.csv"
FIGURE = "figures/su2026/fig.png"
DRAWN = {f"figures/su2026/fig8.{kind}" for kind in ("json", "png")}
LOGS = "results/su2026/logs"
CLAIMS = "results/su2026/claims.csv"

UNKNOWN = ", and Snakemake has no record of how it was made; "
RUN = "to have what the configuration asks for, run "
REMEDY = re.compile(rf"{RUN}snakemake (.+)$", re.M)


@pytest.fixture
def recorded(undisturbed, tmp_path):
    """Results with the records of the run that made them."""
    return copy(undisturbed, tmp_path / "recorded")


@pytest.fixture
def copied(undisturbed, tmp_path):
    """Results as they arrive in a clone, or from another machine."""
    return copy(undisturbed, tmp_path / "copied", ".snakemake")


def refused(checkout, *arguments):
    """The sentence a run is refused with, after it has touched nothing."""
    before = times(checkout)
    run = checkout.snakemake(*arguments)
    assert run.returncode != 0
    assert "Traceback" not in run.stdout + run.stderr
    assert times(checkout) == before
    return run.stderr.splitlines()[-1]


def times(checkout):
    return {path: (checkout.path / path).stat().st_mtime_ns for path in results(checkout)}


def follow(sentence, checkout):
    """Run the command that a sentence recommends."""
    (command,) = REMEDY.findall(sentence)
    run = checkout.snakemake(*command.split())
    assert run.returncode == 0, run.stderr
    return command


def test_right_results_pass_without_records(copied):
    run = copied.snakemake("--cores", "2")
    assert run.returncode == 0, run.stderr
    assert "Nothing to be done" in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--dry-run",),
        ("--cores", "2", FIGURE),
        ("--cores", "2", "--touch"),
        ("--report", "report.html"),
    ],
    ids=" ".join,
)
def test_results_of_another_configuration_stop_every_run(copied, arguments):
    """Where Snakemake alone would say that there is nothing to be done."""
    copied.edit(CONFIG, "setting: {delta: 1.0e-6}", "setting: {delta: 1.0e-5}")
    assert re.fullmatch(
        r"results/su2026/curves/\w+/low/\w+\.csv has delta = 1e-06 in row 1 where 1e-05 is wanted "
        rf"\(4 more files are not what is wanted either\){UNKNOWN}{RUN}"
        r"snakemake --cores all --forceall",
        refused(copied, *arguments),
    )


def test_a_single_stale_file_is_named_and_made_anew_alone(copied):
    copied.edit(CONFIG, "k_joint: 2", "k_joint: 3")
    before = results(copied)
    # Who does not need it is not kept waiting.
    assert "Nothing to be done" in copied.snakemake("--cores", "2", FIGURE).stderr
    sentence = refused(copied)
    assert sentence == (
        f"{JOINT} has k_joint = 2 where 3 is wanted{UNKNOWN}{RUN}"
        f"snakemake --cores all --forcerun {JOINT}"
    )
    follow(sentence, copied)
    after = results(copied)
    assert {name for name in after if after[name] != before[name]} == {JOINT}


def test_a_stale_table_is_named(copied):
    copied.edit(CONFIG, "eps: 0.1}", "eps: 0.2}")
    sentence = refused(copied, *sorted(DRAWN))
    assert sentence.startswith(f"{LAW} has digest = ")
    assert UNKNOWN in sentence
    assert f"--forcerun {LAW}" in sentence


def test_a_damaged_file_without_record_is_named(copied):
    truncate(copied.path / JOINT)
    assert refused(copied).startswith(f"{JOINT} has changed since it was written")


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
