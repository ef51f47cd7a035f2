"""What `import shufflebounds` costs: nothing that only figures, tables or configurations need."""

import ast
import os
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

import shufflebounds

SOURCE = ROOT / "src"
HEAVY = ("pydantic", "pandas", "matplotlib", "seaborn", "altair", "yaml", "snakemake")


def loaded(program: str) -> set[str]:
    """Names of the modules that a program loads."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(*sys.modules)"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "program",
    [
        "import shufflebounds",
        "import shufflebounds as s; s.epsilon(s.KRR(10, 4.0).blanket(), 1000, 1e-6)",
        "import shufflebounds.reproduce.curve, shufflebounds.reproduce.specification",
        "import shufflebounds.bounds.registry, shufflebounds.randomizers.registry",
    ],
)
def test_the_library_loads_nothing_heavy(program):
    assert not loaded(program) & set(HEAVY)


def test_only_notebooks_load_what_shows_results_in_them():
    program = "import shufflebounds as s; print(hasattr(s.Enclosure, '_repr_html_'))"
    assert "False" in loaded(program)
    shown = loaded(f"import shufflebounds.notebook; {program}")
    assert "True" in shown
    assert not shown & set(HEAVY)


def test_importing_the_library_loads_no_fourier_transforms():
    """They are for many rounds, and take as long to load as all the rest."""
    assert "scipy.fft" not in loaded("import shufflebounds")


def test_importing_the_library_loads_its_modules_only_when_they_are_asked_for():
    bare = loaded("import shufflebounds")
    assert "numpy" not in bare
    assert {x for x in bare if x.startswith("shufflebounds.")} == {"shufflebounds._version"}
    assert "shufflebounds.randomizers.discrete" in loaded("from shufflebounds import KRR")


def test_public_names_are_where_type_checkers_look_for_them():
    """The imports that are never run name the homes that are used."""
    tree = ast.parse(Path(shufflebounds.__file__).read_text())
    told = {
        name.name: node.module.removeprefix("shufflebounds.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("shufflebounds.")
        for name in node.names
    }
    assert told.pop("__version__") == "_version"
    assert told == shufflebounds._HOMES
    assert set(told) | {"__version__"} == set(shufflebounds.__all__)


def test_names_that_do_not_exist_are_no_attributes():
    assert not hasattr(shufflebounds, "Nothing")
    assert set(shufflebounds.__all__) <= set(dir(shufflebounds))
    assert "class KRR" in pydoc.render_doc(shufflebounds, renderer=pydoc.plaintext)


def test_what_is_exported_exists_and_is_sorted_as_ruff_wants_it():
    assert len(set(shufflebounds.__all__)) == len(shufflebounds.__all__)
    assert all(hasattr(shufflebounds, name) for name in shufflebounds.__all__)
    assert {"Randomizer", "epsilon", "delta", "largest_eps0", "fewest_users"} <= set(
        shufflebounds.__all__
    )
