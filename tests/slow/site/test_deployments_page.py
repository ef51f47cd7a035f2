"""docs/deployments.md: its files are a deployment, and its programs print what they say."""

import json
import shlex
from datetime import date, timedelta

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from markdown_pages import ROOT, assert_printed, assert_prints_what_it_says, blocks

import shufflebounds as sb
from shufflebounds.cli import main

PAGE = ROOT / "docs" / "deployments.md"
DESCRIPTION, CALENDAR, GROUPS = (
    x.text for x in blocks(PAGE) if x.language == "yaml" and "- run" not in x.text
)
(DAYS,) = (x.text for x in blocks(PAGE) if x.text.startswith("date,n\n"))


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deployment.yaml").write_text(DESCRIPTION, encoding="utf-8")
    (tmp_path / "days.csv").write_text(DAYS, encoding="utf-8")


def test_the_python_prints_what_it_says():
    assert assert_prints_what_it_says(PAGE) == 2


def test_the_command_prints_what_it_says():
    (block,) = (x for x in blocks(PAGE) if x.language == "console")
    command, expected = block.text.removeprefix("$ ").split("\n", 1)
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0
    assert_printed(done.output, expected)


def test_the_calendar_is_a_description(tmp_path):
    (tmp_path / "calendar.yaml").write_text(CALENDAR, encoding="utf-8")
    days = [(date(2026, 1, 1) + timedelta(i), 50_000) for i in range(90)]
    lines = ["date,n", *(f"{day},{n}" for day, n in days)]
    (tmp_path / "days.csv").write_text("\n".join(lines), encoding="utf-8")
    deployment = sb.Deployment.read(tmp_path / "calendar.yaml", tmp_path / "days.csv")
    [sent] = deployment.sent.values()
    assert [part.shuffles for part in sent] == [8, 5, 1]
    schema = json.loads((ROOT / "docs" / "deployment.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(deployment.content, schema)


def test_the_groups_belong_to_the_description():
    content = yaml.safe_load(DESCRIPTION + GROUPS)
    days = [tuple(line.split(",")) for line in DAYS.splitlines()[1:]]
    assert [x.name for x in sb.Deployment(content, days).description.groups] == ["old", "new"]
    schema = json.loads((ROOT / "docs" / "deployment.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(content, schema)
