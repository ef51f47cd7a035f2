"""The project, its requirements and environment.yml name the same packages; CI runs alike."""

import re
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from repository import ROOT

from shufflebounds import __version__

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]

# conda-forge and bioconda split these into a core and extras.
CONDA_NAMES = {"matplotlib": "matplotlib-base", "snakemake": "snakemake-minimal"}


def direct(*groups: str) -> dict[str, Requirement]:
    """Packages of the project itself, of its extras or of its dependency groups, by name."""
    listed = [(PROJECT["optional-dependencies"] | GROUPS)[group] for group in groups]
    requirements = map(Requirement, sum(listed, PROJECT["dependencies"]))
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if not line.startswith(("#", "-r "))]
    return dict(line.split("==") for line in pinned)


def conda() -> dict[str, str]:
    """What environment.yml pins, be it for conda or for pip."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, by_pip = (entry for entry in environment["dependencies"] if entry != "pip")
    pinned = [entry.split("=") for entry in packages]
    return dict([*pinned, *(line.split("==") for line in by_pip["pip"])])


RUNTIME, DEVELOPMENT = pins("requirements.txt"), pins("requirements-dev.txt")
DOCUMENTATION = pins("requirements-docs.txt")


@pytest.mark.parametrize(
    "name",
    ["requirements.txt", "requirements-dev.txt", "requirements-docs.txt", "requirements-slurm.txt"],
)
def test_requirements_are_exact_sorted_and_from_no_url(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if not line.startswith(("#", "-r "))]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in pinned)
    assert pinned == sorted(pinned, key=lambda line: line.partition("==")[0])
    assert "/" not in "".join(pinned)


@pytest.mark.parametrize("name", ["requirements-dev.txt", "requirements-docs.txt"])
def test_the_others_add_to_the_runtime(name):
    assert "-r requirements.txt" in (ROOT / name).read_text(encoding="utf-8")
    assert not RUNTIME.keys() & pins(name).keys()


def test_development_adds_to_the_documentation():
    assert "-r requirements-docs.txt" in (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    assert not DOCUMENTATION.keys() & DEVELOPMENT.keys()


@pytest.mark.parametrize(
    ("groups", "pinned"),
    [
        (("workflow",), RUNTIME),
        (("workflow", "docs"), RUNTIME | DOCUMENTATION),
        (("workflow", "docs", "dev"), RUNTIME | DOCUMENTATION | DEVELOPMENT),
    ],
    ids=["runtime", "documentation", "development"],
)
def test_everything_needed_is_pinned_within_bounds(groups, pinned):
    """The project's requirements, theirs, and so on, as the installed packages declare them."""
    waiting, seen = list(direct(*groups).values()), set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        assert name in pinned
        assert requirement.specifier.contains(pinned[name])
        if (name, *requirement.extras) in seen:
            continue
        seen.add((name, *requirement.extras))
        for line in metadata.requires(name) or []:
            needed = Requirement(line)
            environments = [{"extra": extra} for extra in ("", *requirement.extras)]
            if not needed.marker or any(map(needed.marker.evaluate, environments)):
                waiting.append(needed)


def test_conda_pins_the_direct_dependencies_alike():
    expected = {CONDA_NAMES.get(name, name): RUNTIME[name] for name in direct("workflow")}
    assert conda() == {"python": conda()["python"], **expected}


def test_conda_installs_the_pip_that_it_is_asked_to_use():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert "pip" in environment["dependencies"]


def test_conda_channels_exclude_the_defaults():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]


def test_the_python_of_conda_is_supported():
    supported = Requirement(f"python{PROJECT['requires-python']}").specifier
    assert supported.contains(Version(conda()["python"]))


def test_the_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"] == PROJECT["maintainers"]


def test_the_hooks_before_a_commit_are_the_linters_of_this_environment():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = hooks["repos"]
    assert local["repo"] == "local"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        command = hook["entry"].removeprefix(".venv/bin/")
        assert f"$(BIN)/{command}" in makefile


# Continuous integration.


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
