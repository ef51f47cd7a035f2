"""The workflow where the workflow catalog, and snakedeploy, look for one."""

import shutil

import pytest
from test_pipeline import CURVES, EVERYTHING, KRR, ROOT, Checkout

# As snakedeploy writes it, with the path to a clone that config/README.md asks for.
DEPLOYED = """\
from snakemake.utils import min_version


min_version("6.10.0")


configfile: "config/config.yaml"


# declare shufflebounds as a module
module shufflebounds:
    snakefile: 
        "../../shufflebounds/workflow/Snakefile"
    config:
        config


# use all rules from shufflebounds
use rule * from shufflebounds
"""


@pytest.fixture
def clone(tmp_path):
    return Checkout.make(tmp_path / "shufflebounds")


@pytest.fixture
def project(tmp_path, clone):
    """What snakedeploy makes of a clone, and the configuration that is copied into it."""
    project = Checkout(tmp_path / "project")
    (project.path / "workflow").mkdir(parents=True)
    (project.path / "workflow" / "Snakefile").write_text(DEPLOYED, encoding="utf-8")
    shutil.copytree(clone.path / "config", project.path / "config")
    shutil.copy(clone.path / "config.yaml", project.path / "config")
    return project


def test_the_catalog_finds_what_it_asks_for():
    assert (ROOT / "workflow" / "Snakefile").is_file()
    text = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Configuration")
    assert "../../shufflebounds/workflow/Snakefile" in text


def test_either_snakefile_makes_the_same(clone):
    jobs = clone.jobs()
    assert len(jobs) > 10
    assert clone.jobs("--snakefile", "workflow/Snakefile") == jobs


def test_a_deployment_makes_what_its_own_configuration_says(project):
    assert project.pending() == EVERYTHING
    project.edit("config/config.yaml", "[su2026, other]", "[su2026]")
    project.edit("config/su2026.yaml", "joint2: {", "joint3: {")
    project.edit("config/su2026.yaml", "lower, joint2]", "lower, joint3]")
    wanted = project.pending()
    assert f"{CURVES}/krr10/low/joint3.csv" in wanted
    assert KRR - wanted == {f"{CURVES}/krr10/low/joint2.csv"}


def test_a_deployment_computes_in_its_own_folder(project, clone):
    target = f"{CURVES}/krr10/low/upper.csv"
    run = project.snakemake("--cores", "1", target)
    assert run.returncode == 0, run.stderr
    assert (project.path / target).is_file()
    assert not (clone.path / "results").exists()
