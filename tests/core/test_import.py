"""What `import shufflebounds` costs: nothing that only figures, tables or configurations need."""

import inspect
import os
import pydoc
import re
import subprocess
import sys
from collections import Counter

import pytest
from repository import ROOT

import shufflebounds
from shufflebounds import protocols
from shufflebounds.protocols.any_mechanism import AnyMechanism
from shufflebounds.protocols.base import Calibrated
from shufflebounds.protocols.registry import PROTOCOLS

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
        "import shufflebounds as s; s.Deployment({'users': 9, 'days': 1, 'reports': {'a': {"
        "'mechanism': {'type': 'duchi'}, 'eps0': 1, 'answers': 'fresh'}}}).running_rows(1e-6)",
        "import shufflebounds.curves.curve, shufflebounds.curves.specification",
        "import shufflebounds.bounds.registry, shufflebounds.randomizers.registry",
    ],
)
def test_the_library_loads_nothing_heavy(program):
    assert not loaded(program) & set(HEAVY)


def test_figures_load_no_more_than_their_extra_installs():
    """With the extra ``plot``, pip installs Matplotlib and pandas."""
    heavy = set(HEAVY) | {"vl_convert"}
    assert loaded("import shufflebounds.curves.plotting.figures") & heavy == {
        "matplotlib",
        "pandas",
    }


def test_only_notebooks_load_what_shows_results_in_them():
    program = "import shufflebounds as s; print(hasattr(s.Enclosure, '_repr_html_'))"
    assert "False" in loaded(program)
    shown = loaded(f"import shufflebounds.notebook; {program}")
    assert "True" in shown
    assert not shown & set(HEAVY)


def test_importing_the_library_loads_no_fourier_transforms():
    """They are for many rounds, and take as long to load as all the rest."""
    assert "scipy.fft" not in loaded("import shufflebounds")


def test_names_that_do_not_exist_are_no_attributes():
    assert not hasattr(shufflebounds, "Nothing")
    assert set(dir(shufflebounds)) == {*shufflebounds.__all__, "__doc__"}
    assert "class KRR" in pydoc.render_doc(shufflebounds, renderer=pydoc.plaintext)


def test_what_is_exported_exists_and_is_sorted_as_ruff_wants_it():
    assert len(set(shufflebounds.__all__)) == len(shufflebounds.__all__)
    assert all(hasattr(shufflebounds, name) for name in shufflebounds.__all__)
    assert {"Randomizer", "epsilon", "delta", "largest_eps0", "fewest_users"} <= set(
        shufflebounds.__all__
    )


def test_commands_start_before_numpy_is_loaded():
    """So that Ctrl-C ends them quietly from the first moment on."""
    bare = loaded("import shufflebounds")
    assert {x for x in bare if x.startswith("shufflebounds.")} == {"shufflebounds._version"}
    assert "numpy" not in bare


def test_a_public_class_has_one_home():
    homes = Counter(
        name
        for path in (SOURCE / "shufflebounds").rglob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert not [name for name in shufflebounds.__all__ if homes[name] > 1]


def test_protocols_are_importable_by_their_names_and_load_late():
    made = {entry.make for entry in PROTOCOLS.values() if inspect.isclass(entry.make)}
    for protocol in made - {AnyMechanism, Calibrated}:
        assert getattr(protocols, protocol.__name__) is protocol
        assert protocol.__name__ in dir(protocols)
    assert not hasattr(protocols, "Nothing")
    assert "numpy" not in loaded("import shufflebounds.protocols")


def test_the_overview_names_what_can_be_imported():
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    imports = re.findall(r"`(from shufflebounds\.[^`]*)`", text)
    assert imports
    for code in imports:
        exec(code, {"sb": shufflebounds})
    names = {name.split(".")[0] for name in re.findall(r"\bsb\.(\w+)", text)}
    assert names <= {*dir(shufflebounds)}
