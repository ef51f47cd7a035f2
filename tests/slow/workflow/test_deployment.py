"""What the checkout has for other places: conda, a container, the catalog, a picture."""

import os
import re
import shutil
import stat
import subprocess
import tomllib
import xml.etree.ElementTree as ET

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from test_pipeline import ROOT, Checkout

from shufflebounds.curves import curve, storage

# Enough of conda for a dry run.
CONDA = """\
#!/bin/sh
case "$*" in
    "info --json") echo '{"conda_prefix": "/opt/conda", "platform": "linux-64"}' ;;
    "config --get channel_priority --json") echo '{"get": {"channel_priority": "strict"}}' ;;
    --version) echo "conda 26.1.0" ;;
    *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_conda_is_asked_for_the_one_environment(tmp_path):
    conda = tmp_path / "bin" / "conda"
    conda.parent.mkdir()
    conda.write_text(CONDA, encoding="utf-8")
    conda.chmod(conda.stat().st_mode | stat.S_IXUSR)
    checkout = Checkout.make(tmp_path / "checkout")
    run = checkout.snakemake(
        *("--dry-run", "--software-deployment-method", "conda"),
        PATH=f"{conda.parent}{os.pathsep}{os.environ['PATH']}",
    )
    assert run.returncode == 0, run.stderr
    environments = re.findall(r"Conda environment (\S+) will be created", run.stdout + run.stderr)
    assert environments == ["environment.yml"]


def test_every_rule_but_the_targets_has_that_environment():
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        if path.name == "targets.smk":
            continue
        rules = re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for rule in rules:
            assert re.search(r"^    conda:\n        ENVIRONMENT$", rule, re.MULTILINE), rule


def instructions() -> list[tuple[str, str]]:
    lines = [line for line in text("Dockerfile").splitlines() if line and line[0] != "#"]
    return [tuple(line.split(" ", 1)) for line in lines]


def test_the_container_runs_a_fixed_python_with_the_pinned_file_as_an_ordinary_user():
    assert text(".dockerignore").splitlines() == ["*", "!requirements.txt"]
    names = [name for name, _ in instructions()]
    given = {name: [value for key, value in instructions() if key == name] for name in names}
    assert "ADD" not in given
    assert given["COPY"] == ["requirements.txt /tmp/requirements.txt"]
    assert given["RUN"] == [
        "pip install --no-cache-dir --requirement /tmp/requirements.txt",
        "useradd shufflebounds",
    ]
    version = re.fullmatch(r"python:(\d+\.\d+\.\d+)-slim-\w+", *given["FROM"])[1]
    supported = tomllib.loads(text("pyproject.toml"))["project"]["requires-python"]
    assert SpecifierSet(supported).contains(Version(version))
    assert given["USER"] == ["shufflebounds"]
    assert names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN")
    assert instructions()[-1] == ("ENTRYPOINT", '["snakemake"]')


def drawn() -> set[tuple[str, str]]:
    """Edges of the committed picture."""
    space = {"svg": "http://www.w3.org/2000/svg"}
    labels, edges = {}, []
    for group in ET.fromstring(text("docs/rulegraph.svg")).iter(f"{{{space['svg']}}}g"):
        title = group.findtext("svg:title", namespaces=space)
        if group.get("class") == "node":
            labels[title] = group.findtext("svg:text", namespaces=space)
        elif group.get("class") == "edge":
            edges.append(title.split("->"))
    return {(labels[source], labels[target]) for source, target in edges}


def test_the_picture_of_the_workflow_is_current(tmp_path):
    """If this fails: make rulegraph."""
    checkout = Checkout.make(tmp_path / "checkout")
    shutil.copy(ROOT / "config.yaml", checkout.path)
    shutil.copytree(ROOT / "config", checkout.path / "config", dirs_exist_ok=True)
    run = checkout.snakemake("--rulegraph", "dot")
    assert run.returncode == 0, run.stderr
    labels = dict(re.findall(r'(\d+)\[label = "(\w+)"', run.stdout))
    edges = re.findall(r"(\d+) -> (\d+)", run.stdout)
    assert {(labels[source], labels[target]) for source, target in edges} == drawn()
    assert len(labels) == len({name for edge in drawn() for name in edge})


def test_cleaning_leaves_the_pages_of_the_folders(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for folder in ("results", "figures"):
        (tmp_path / folder / "su2026" / "logs").mkdir(parents=True)
        (tmp_path / folder / "su2026" / "logs" / "README.md").touch()
        shutil.copy(ROOT / folder / "README.md", tmp_path / folder)
    (tmp_path / ".snakemake").mkdir()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"Makefile", "figures", "figures/README.md", "results", "results/README.md"}


@pytest.mark.parametrize("quantity", ["epsilon", "delta"])
def test_every_column_of_a_curve_is_explained(quantity):
    explained = set(re.findall(r"`(\w+)`", text("results/README.md")))
    assert {*curve.columns(quantity), storage.CHECKSUM} <= explained
