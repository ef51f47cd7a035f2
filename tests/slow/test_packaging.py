"""The library alone, as pip installs it: built from what is in version control, used elsewhere."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from repository import ROOT

import shufflebounds as sb

PACKAGE = ROOT / "src" / "shufflebounds"
# No byte code, and nothing that building leaves behind.
SOURCES = {
    path.relative_to(PACKAGE.parent).as_posix()
    for path in PACKAGE.rglob("*")
    if path.is_file() and path.suffix != ".pyc"
}
# Where the library is found without being installed, that would be found first.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


OTHER_FILES = ("pyproject.toml", "MANIFEST.in", "LICENSE", "CITATION.cff")


def attempt(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def run(*command: object, cwd: Path) -> str:
    done = attempt(*command, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    """The wheel, made from the source distribution, and that."""
    folder = tmp_path_factory.mktemp("build")
    tree = folder / "tree"
    tree.mkdir()
    for path in (*ROOT.glob("*.md"), *(ROOT / name for name in OTHER_FILES)):
        shutil.copy(path, tree)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "docs"):
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", tree, cwd=folder)
    [wheel], [sdist] = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def python(built, tmp_path_factory) -> Path:
    """Of a new environment with the wheel and what the library needs, but none of its extras."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    interpreter = folder / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", interpreter, "install"),
        *("--quiet", "--no-deps", "--no-index", built[0]),
        cwd=folder,
    )
    # Installed here already, so that nothing is downloaded twice.
    installed = Path(sysconfig.get_path("purelib"))
    [own] = folder.glob("lib/python*/site-packages")
    for name in ("click", "numpy", "numpy.libs", "scipy", "scipy.libs"):
        if (installed / name).exists():
            (own / name).symlink_to(installed / name)
    return interpreter


def test_both_archives_hold_the_whole_library(built):
    wheel, sdist = built
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        licenses = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert packed == SOURCES
    assert "shufflebounds/py.typed" in packed
    assert licenses
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in SOURCES} <= names
    # The links of README.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {link.partition("#")[0] for link in re.findall(r"\]\(([^):]+)\)", readme)}
    assert {"docs/library.md", "docs/fig2.png", "CONTRIBUTING.md"} <= linked
    assert linked - {""} <= names


def test_the_library_answers_without_its_extras(python, tmp_path):
    script = (
        "import json, sys, shufflebounds as sb; "
        "found = sb.epsilon(sb.KRR(10, 4.0).blanket(), n=100_000, delta=1e-6); "
        "heavy = {'matplotlib', 'pandas', 'pydantic', 'snakemake'} & set(sys.modules); "
        "print(json.dumps([sb.__version__, sb.__file__, found.lower, found.upper, list(heavy)]))"
    )
    version, file, lower, upper, heavy = json.loads(run(python, "-c", script, cwd=tmp_path))
    assert version == sb.__version__
    assert Path(file).is_relative_to(python.parents[1])
    wanted = sb.epsilon(sb.KRR(10, 4.0).blanket(), n=100_000, delta=1e-6)
    assert (lower, upper) == (wanted.lower, wanted.upper)
    assert not heavy


def test_the_command_is_installed(python, tmp_path):
    command = python.parent / "shufflebounds"
    question = shlex.split("epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6 --json")
    answer = json.loads(run(command, *question, cwd=tmp_path))
    wanted = sb.epsilon(sb.KRR(10, 4.0).blanket(), n=100_000, delta=1e-6)
    assert answer["blanket"]["upper"] == pytest.approx(wanted.upper, rel=2e-4)


def test_what_an_extra_is_needed_for_says_so(python, tmp_path):
    command = "curve --mechanism krr --k 3 --eps0 1 --delta 1e-6 --plot krr.png"
    done = attempt(python.parent / "shufflebounds", *shlex.split(command), cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install matplotlib pandas" in done.stderr
    assert "Traceback" not in done.stderr
