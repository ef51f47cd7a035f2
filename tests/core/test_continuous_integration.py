"""Both descriptions of continuous integration run the same commands."""

import re

import yaml
from repository import ROOT


def test_the_hosted_one_runs_what_the_script_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    hosted = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    steps = hosted["jobs"]["test"]["steps"]
    commands = [step["run"].removesuffix(" PYTHON=python") for step in steps if "run" in step]
    assert commands == re.findall(r"^make .*$", script, re.MULTILINE)


def test_it_runs_on_the_oldest_python_supported():
    hosted = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest = re.search(r'requires-python = ">=(.*)"', project)[1]
    assert oldest in hosted["jobs"]["test"]["strategy"]["matrix"]["python"]
