"""The workflow as a module of another one, which has a configuration and a prefix for it."""

import json
import re

import pytest
import yaml
from test_pipeline import Checkout
from whole_run import CURVES, OUTPUTS, config, made, write_config

PREFIX = "bounds"
TABLES = "results/su2026/tables"

SNAKEFILE = f"""\
configfile: "config.yaml"


module shufflebounds:
    snakefile:
        "vendor/shufflebounds/Snakefile"
    config:
        config["shufflebounds"]
    prefix:
        "{PREFIX}"


use rule * from shufflebounds as sb_*


rule summary:
    default_target: True
    input:
        rules.sb_all.input,
        claims="{PREFIX}/results/su2026/claims.csv",
    output:
        "summary.txt",
    shell:
        "wc -l < {{input.claims}} > {{output}}"
"""

# What is made here; the rest is planned.
SOME = CURVES | {"figures/su2026/fig.png", "figures/su2026/fig.pdf", f"{TABLES}/hierarchy.csv"}
SOME |= {f"figures/su2026/fig.{kind}" for kind in ("json", "md", "tex")}
SOME |= {f"{TABLES}/hierarchy.{kind}" for kind in ("md", "tex", "html")}
SOME |= {"results/su2026/claims.csv", "results/su2026/claims.md"}
TARGETS = [
    f"{PREFIX}/{name}"
    for name in (
        "figures/su2026/fig.png",
        f"{TABLES}/hierarchy.html",
        f"{TABLES}/hierarchy.csv",
        "results/su2026/claims.csv",
    )
]

# Keys that this workflow's own configuration may not have, nor the file the name of its own.
SETTINGS = {"experiments": ["ours"], "shufflebounds": config()}


def write_importer(importer: Checkout, settings: dict) -> None:
    importer.path.mkdir()
    (importer.path / "vendor").mkdir()
    Checkout.make(importer.path / "vendor" / "shufflebounds")
    (importer.path / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
    write_config(importer.path / "config.yaml", settings)


@pytest.fixture(scope="module")
def importer(tmp_path_factory):
    """An importing workflow after a run."""
    importer = Checkout(tmp_path_factory.mktemp("module") / "importer")
    write_importer(importer, SETTINGS)
    run = importer.snakemake("--cores", "2", *TARGETS)
    assert run.returncode == 0, run.stderr
    return importer


@pytest.fixture
def settings(importer):
    """The importer's configuration, for a test to change; it is put back afterwards."""
    file = importer.path / "config.yaml"
    kept = file.read_bytes()
    yield yaml.safe_load(kept)
    file.write_bytes(kept)


def test_everything_lands_below_the_prefix(importer):
    assert made(importer.path / PREFIX) == SOME
    assert importer.pending() == {*(f"{PREFIX}/{path}" for path in OUTPUTS - SOME), "summary.txt"}
    top = {path.name for path in importer.path.iterdir()}
    assert top == {"Snakefile", "config.yaml", "vendor", ".snakemake", PREFIX}
    below = {path.name for path in (importer.path / PREFIX).iterdir()}
    assert below == {"results", "figures"}
    vendored = importer.path / "vendor" / "shufflebounds"
    assert not (vendored / "results").exists()
    assert not (vendored / "figures").exists()


def test_results_are_those_of_a_run_of_its_own(importer, whole):
    for output in SOME - {"results/su2026/claims.csv", "results/su2026/claims.md"}:
        assert (importer.path / PREFIX / output).read_bytes() == (whole.path / output).read_bytes()


def test_an_edit_of_the_library_reruns_what_depends_on_it(importer):
    module = importer.path / "vendor/shufflebounds/workflow/reproduction/papers/__init__.py"
    kept = module.read_bytes()
    module.write_bytes(kept + b"# edited\n")
    try:
        pending = importer.pending()
    finally:
        module.write_bytes(kept)
    assert pending == {*(f"{PREFIX}/{path}" for path in OUTPUTS - CURVES), "summary.txt"}


def test_a_mistake_is_told_in_one_sentence(importer, settings):
    settings["shufflebounds"]["su2026"]["setting"] = {"delta": 2.0}
    write_config(importer.path / "config.yaml", settings)
    run = importer.snakemake("--dry-run")
    assert run.returncode != 0
    assert run.stderr.splitlines()[-1] == (
        "config/su2026.yaml of the module: setting.delta must be a finite number with "
        "1e-300 <= delta < 1, got 2.0; {over_n: c} stands for c/n"
    )
    assert "Traceback" not in run.stderr


def test_the_importers_report_shows_it_with_captions(importer):
    run = importer.snakemake("--report", "report.html", *TARGETS)
    assert run.returncode == 0, run.stderr
    text = (importer.path / "report.html").read_text(encoding="utf-8")
    (importer.path / "report.html").unlink()
    results = json.loads(re.search(r'<script id="results">\s+var results = (.*);\n', text)[1])
    assert f"{PREFIX}/figures/su2026/fig.png" in results
    assert all(path.startswith(f"{PREFIX}/") for path in results)
    assert all(result["caption"] for result in results.values())
    assert "n &lt; 10 000" in results[f"{PREFIX}/figures/su2026/fig.png"]["caption"]


def test_two_of_it_have_prefixes_of_their_own(tmp_path):
    importer, second = Checkout(tmp_path / "importer"), config()
    second["su2026"]["setting"] = {"delta": 1.0e-5}
    write_importer(importer, {"first": config(), "second": second})
    modules = (
        f'module {name}:\n    snakefile: "vendor/shufflebounds/Snakefile"\n'
        f'    config: config["{name}"]\n    prefix: "{name}"\n'
        f"use rule * from {name} as {name}_*\n"
        for name in ("first", "second")
    )
    everything = "rule everything:\n    default_target: True\n    input:\n"
    inputs = "".join(f"        rules.{name}_all.input,\n" for name in ("first", "second"))
    text = "\n".join(['configfile: "config.yaml"', *modules, everything + inputs])
    (importer.path / "Snakefile").write_text(text, encoding="utf-8")
    wanted = importer.pending()
    assert wanted == {f"{name}/{path}" for name in ("first", "second") for path in OUTPUTS}
