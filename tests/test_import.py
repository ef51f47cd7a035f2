"""What `import shufflebounds` costs: nothing that only figures, tables or configurations need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shufflebounds

SOURCE = Path(__file__).parents[1] / "src"
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
        "import shufflebounds.experiments.curve, shufflebounds.experiments.specification",
        "import shufflebounds.bounds.registry, shufflebounds.randomizers.registry",
    ],
)
def test_the_library_loads_nothing_heavy(program):
    assert not loaded(program) & set(HEAVY)


def test_importing_the_library_loads_no_fourier_transforms():
    """They are for one of three engines, and take as long to load as all the rest."""
    assert "scipy.fft" not in loaded("import shufflebounds")


def test_what_is_exported_exists_and_is_sorted_as_ruff_wants_it():
    assert len(set(shufflebounds.__all__)) == len(shufflebounds.__all__)
    assert all(hasattr(shufflebounds, name) for name in shufflebounds.__all__)
    assert {"Randomizer", "epsilon", "delta", "largest_eps0", "fewest_users"} <= set(
        shufflebounds.__all__
    )
