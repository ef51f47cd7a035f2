"""Hostile configurations in whole runs: nothing is run, written elsewhere or shown as a page's own.

tests/core/reproduction/test_config_safety.py tries far more of them, without Snakemake.
"""

import ast
import re
from pathlib import Path

import pytest
from test_pipeline import CONFIG, ROOT, TINY, Checkout

PAPER = (TINY / CONFIG).read_text(encoding="utf-8")

# Whatever would run this leaves a file.
MARK = "pwned"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return Checkout.make(tmp_path_factory.mktemp("security") / "checkout")


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if ".snakemake" not in path.parts}


def refused(checkout: Checkout, paper: str, *arguments: str) -> str:
    """The one sentence with which a run stops before anything is made or run."""
    (checkout.path / CONFIG).write_text(paper, encoding="utf-8")
    before = files(checkout.path.parent)
    run = checkout.snakemake("--cores", "1", *arguments)
    assert run.returncode != 0
    assert "Traceback" not in run.stdout + run.stderr
    assert "Job" not in run.stdout + run.stderr
    new = {path for path in files(checkout.path.parent) - before if path.suffix != ".pyc"}
    assert {path.name for path in new} <= {"__pycache__"}
    return run.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "blh: {mechanism: blh,",
            f'"$(touch {MARK})": {{mechanism: blh,',
            f"{CONFIG}: experiments.$(touch {MARK}) is not a valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
        (
            "setting: {delta: 1.0e-6}",
            f"__use_yte__: true\nsetting: ?__import__('pathlib').Path('{MARK}').touch()",
            f"{CONFIG}: __use_yte__ on line 2 is not allowed",
        ),
    ],
    ids=["command", "expression"],
)
def test_a_hostile_file_is_refused(checkout, old, new, sentence):
    assert PAPER.count(old) == 1
    assert refused(checkout, PAPER.replace(old, new)) == sentence


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "papers=[../su2026]",
            "config.yaml with the command line: papers[0] is '../su2026'; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
        (
            f"su2026={{experiments: {{a;touch {MARK}: {{mechanism: blh, regimes: [low]}}}}}}",
            f"{CONFIG} with the command line: experiments.a;touch {MARK} is not a valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
    ],
)
def test_a_hostile_override_is_refused(checkout, override, sentence):
    assert refused(checkout, PAPER, "--config", override) == sentence


@pytest.mark.parametrize(
    "target", ["results/su2026/curves/krr10/low/../../x.csv", f"figures/su2026/$(touch {MARK}).pdf"]
)
def test_a_hostile_target_is_made_by_no_rule(checkout, target):
    (checkout.path / CONFIG).write_text(PAPER, encoding="utf-8")
    run = checkout.snakemake("--cores", "1", "--dry-run", target)
    assert run.returncode != 0
    assert "No rule to produce" in run.stdout + run.stderr
    assert not (checkout.path / MARK).exists()


# What our code would need to run a text, to start a program or to read a pickle.
FORBIDDEN = {
    "__import__",
    "check_output",
    "eval",
    "exec",
    "load",
    "marshal",
    "Popen",
    "pickle",
    "popen",
    "read_pickle",
    "shelve",
    "subprocess",
    "system",
    "unsafe_load",
}


@pytest.mark.parametrize("folder", ["src", "workflow"])
def test_our_code_evaluates_starts_and_unpickles_nothing(folder):
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {
            node.attr
            for node in ast.walk(tree)
            # It says how to write a bound; nothing is read by it.
            if isinstance(node, ast.Attribute) and ast.unparse(node) != "copyreg.pickle"
        }
        names |= {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        # A package that declares an entry point is installed to be run, and verify/verify.py is a
        # program of this repository.
        has_entry_points = path.match("core/plugins.py")
        allowed = {"load"} if has_entry_points else set()
        allowed |= {"subprocess"} if path.match("reproduction/proofs.py") else set()
        assert not names & FORBIDDEN - allowed, path


def test_no_rule_has_a_shell():
    rules = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]
    for path in rules:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(shell|run)\s*:|\b(eval|exec|shell)\(", text, re.MULTILINE), path
