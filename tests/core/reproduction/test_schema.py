"""The JSON schemas for editors: current, and true of what the models allow."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest
import yaml
from repository import ROOT
from small_paper import FOLDER

from reproduction.configuration import models
from reproduction.configuration.deployment_schema import with_tables
from reproduction.configuration.models import PaperEntry, RootEntry
from shufflebounds.questions.deployment_description import DEPLOYMENT_KEYS, REPORT_KEYS

SCHEMAS = {model: json.loads(models.schema(model)) for model in (RootEntry, PaperEntry)}
PAGE = ROOT / "docs" / "deployments.md"
PAPERS = [*(ROOT / "config").glob("*.yaml"), *(FOLDER / "config").glob("*.yaml")]
FILES = [*((path, PaperEntry) for path in PAPERS), (ROOT / "config.yaml", RootEntry)]


def content(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", models.SCHEMAS)
def test_the_schemas_in_docs_are_current(name):
    """Else: make schemas."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == models.SCHEMAS[name]()


def test_the_tables_of_keys_in_docs_are_current():
    """Else: make schemas."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page
    for key in (*DEPLOYMENT_KEYS, *REPORT_KEYS):
        assert page.count(f"\n| `{key}` | ") == 1


@pytest.mark.parametrize("model", SCHEMAS)
def test_they_are_schemas_without_null(model):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[model])
    text = models.schema(model)
    assert "null" not in text
    assert r"\\z" not in text
    assert "x-allowed" not in text


@pytest.mark.parametrize(("path", "model"), FILES, ids=lambda value: getattr(value, "name", ""))
def test_our_own_files_pass(path, model):
    jsonschema.validate(content(path), SCHEMAS[model])


@pytest.mark.parametrize("path", [ROOT / "config.yaml", *(ROOT / "config").glob("*.yaml")])
def test_editors_are_told_where_they_are(path):
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    start, found, name = first.partition("$schema=")
    assert (start, found) == ("# yaml-language-server: ", "$schema=")
    expected = "config.schema.json" if path.name == "config.yaml" else "paper.schema.json"
    assert (path.parent / name).resolve() == (ROOT / "docs" / expected).resolve()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["setting", "delta"], 1.0),
        (["setting", "delta"], None),
        (["setting", "delta"], {"over": 1}),
        (["setting", "epsilon"], 1.0),
        (["x"], {"m": [1]}),
        (["x"], {"n": [1], "eps": [1]}),
        (["x", "n", "spacing"], "log"),
        (["regimes", "low", "eps0"], 301),
        (["regimes", "2low"], {"eps0": 1.0}),
        (["curves", "upper", "bound"], "unheard"),
        (["curves", "upper", "k_joint"], 101),
        (["style", "curves", "upper"], {"color": "red"}),
        (["figures", "fig", "titel"], "x"),
        (["title"], None),
    ],
)
def test_an_editor_marks_what_the_models_refuse(path, value):
    made = content(FOLDER / "config" / "su2026.yaml")
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, SCHEMAS[PaperEntry])


def test_they_are_written_by_a_command(tmp_path):
    command = [sys.executable, "-m", models.__name__]
    environment = {"PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("src", "workflow"))}
    page = PAGE.read_text(encoding="utf-8").replace("| `days` |", "| `dayz` |")
    (tmp_path / PAGE.name).write_text(page, encoding="utf-8")
    subprocess.run([*command, str(tmp_path)], check=True, env=environment)
    assert {path.name for path in tmp_path.iterdir()} == {*models.SCHEMAS, PAGE.name}
    assert (tmp_path / PAGE.name).read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("usage: ")
