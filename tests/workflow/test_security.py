"""Hostile configurations in whole runs: nothing is run, written elsewhere or shown as a page's own.

tests/test_config_safety.py tries far more of them, without Snakemake.
"""

import ast
import html
import json
import re
from pathlib import Path

import pytest
from test_pipeline import ROOT, Checkout

TINY = (ROOT / "tests" / "tiny_config.yaml").read_text(encoding="utf-8")

# Whatever would run this leaves a file.
MARK = "pwned"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return Checkout.make(tmp_path_factory.mktemp("security") / "checkout")


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if ".snakemake" not in path.parts}


def refused(checkout: Checkout, config: str, *arguments: str) -> str:
    """The one sentence with which a run stops before anything is made or run."""
    (checkout.path / "config.yaml").write_text(config, encoding="utf-8")
    before = files(checkout.path.parent)
    run = checkout.snakemake("--cores", "1", *arguments)
    assert run.returncode != 0
    assert "Traceback" not in run.stdout + run.stderr
    assert "rule curve" not in run.stdout + run.stderr
    new = {path for path in files(checkout.path.parent) - before if path.suffix != ".pyc"}
    assert {path.name for path in new} <= {"__pycache__"}
    return run.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "blh: {mechanism: blh,",
            f'"$(touch {MARK})": {{mechanism: blh,',
            f"config.yaml: experiments.$(touch {MARK}) is no valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
        (
            "  fig:\n",
            '  "../../fig":\n',
            "config.yaml: figures.../../fig is no valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
        (
            "delta: 1.0e-6",
            f"delta: !!python/object/apply:os.system ['touch {MARK}']",
            "config.yaml: the tag !!python/object/apply:os.system on line 2 is not allowed; "
            "write plain values",
        ),
        (
            "delta: 1.0e-6",
            f"__use_yte__: true\ndelta: ?__import__('pathlib').Path('{MARK}').touch()",
            "config.yaml: __use_yte__ on line 2 is not allowed: it makes text run as Python",
        ),
        (
            "label: upper bound,",
            r'label: "$\\input{config.yaml}$",',
            r"config.yaml: style.curves.upper.label is '$\\input{config.yaml}$', with a formula "
            "that Matplotlib cannot draw",
        ),
        (
            "delta: 1.0e-6",
            "delta: 1.0e-6\nrtol: 1.0e-3",
            "config.yaml: 'rtol' is given twice, on lines 3 and 6; give it once",
        ),
    ],
    ids=["command", "path", "tag", "expression", "formula", "twice"],
)
def test_a_hostile_file_is_refused(checkout, old, new, sentence):
    assert TINY.count(old) == 1
    assert refused(checkout, TINY.replace(old, new)) == sentence


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "delta=nan",
            "config.yaml with --config: delta is nan; it must be a number >= 1e-300 and < 1",
        ),
        (
            f"experiments={{a;touch {MARK}: {{mechanism: blh, regimes: [low], curves: [upper]}}}}",
            f"config.yaml with --config: experiments.a;touch {MARK} is no valid name; "
            "it must be a letter, then at most 63 letters, digits, _ or -",
        ),
    ],
)
def test_a_hostile_override_is_refused(checkout, override, sentence):
    assert refused(checkout, TINY, "--config", override) == sentence


def test_a_hostile_second_file_is_refused(checkout):
    (checkout.path / "more.yaml").write_text("delta: 1\ndelta: 2\n", encoding="utf-8")
    sentence = refused(checkout, TINY, "--configfile", "more.yaml")
    assert sentence == "more.yaml: 'delta' is given twice, on lines 1 and 2; give it once"


def test_a_mistake_in_merged_files_is_told_of_both(checkout):
    (checkout.path / "more.yaml").write_text("delta: 1\n", encoding="utf-8")
    sentence = refused(checkout, TINY, "--configfile", "more.yaml")
    assert sentence.startswith("config.yaml with more.yaml: delta is 1; ")


@pytest.mark.parametrize(
    "target",
    ["figures/../fig.pdf", "results/curves/krr10/low/../../x.csv", f"figures/$(touch {MARK}).pdf"],
)
def test_a_hostile_target_is_made_by_no_rule(checkout, target):
    (checkout.path / "config.yaml").write_text(TINY, encoding="utf-8")
    run = checkout.snakemake("--cores", "1", "--dry-run", target)
    assert run.returncode != 0
    assert "No rule to produce" in run.stdout + run.stderr
    assert not (checkout.path / MARK).exists()


# Odd, but text: it must come out as it went in.
ODD = "{{ 7 * 7 }} `touch pwned` **b** |x|_ :raw:`y` {wildcards.figure} & 'q' \\\" n < 5 $(pwned"


def test_odd_texts_stay_texts(checkout):
    label = "{wildcards.figure} `touch pwned`; rm & 'q' n < 5"
    config = TINY.replace("caption: Two mechanisms.", f'caption: "{ODD}"')
    config = config.replace("label: upper bound,", f'label: "{label}",')
    config = config.replace("[bennett, clone, upper, lower, joint2]}", "[upper]}")
    config = config.replace("experiments: [krr10, blh]", "experiments: [krr10]")
    config = config.replace("    curves: [bennett, clone, upper]", "    curves: [upper]")
    (checkout.path / "config.yaml").write_text(config, encoding="utf-8")
    for arguments in (["figures/fig.png"], ["figures/fig.png", "--report", "report.html"]):
        run = checkout.snakemake("--cores", "1", *arguments)
        assert run.returncode == 0, run.stderr
    assert not (checkout.path / MARK).exists()
    page = (checkout.path / "report.html").read_text(encoding="utf-8")
    results = json.loads(re.search(r'<script id="results">\s+var results = (.*);\n', page)[1])
    result = results["figures/fig.png"]
    assert html.unescape(result["caption"]) == f"<p>{ODD.replace(chr(92), '')}</p>\n"
    assert label in result["job_properties"]["params"].replace("\\", "")


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
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not names & FORBIDDEN, path


def test_no_rule_has_a_shell():
    rules = [ROOT / "Snakefile", *sorted((ROOT / "workflow").rglob("*.smk"))]
    for path in rules:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(shell|run)\s*:|\b(eval|exec|shell)\(", text, re.MULTILINE), path
