"""The two digests that decide reruns: each file counts where it belongs, by its content alone."""

import ast
import shutil
from pathlib import Path

import pytest

from reproduction import digests

ROOT = digests.ROOT
SOURCES = sorted(
    path for part in (digests.LIBRARY, digests.REPRODUCTION) for path in (ROOT / part).rglob("*.py")
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what the digests look at; tests put back what they edit."""
    folder = tmp_path_factory.mktemp("checkout")
    for part in ("src", "workflow"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def both(root: Path) -> tuple[str, str]:
    return digests.digest_of_numbers(root), digests.digest_of_presentation(root)


@pytest.mark.parametrize(
    ("edited", "numbers", "presentation"),
    [
        ("src/shufflebounds/core/decomposition.py", True, False),
        ("src/shufflebounds/bounds/registry.py", True, False),
        ("src/shufflebounds/curves/curve.py", True, False),
        ("src/shufflebounds/new/engine.py", True, False),
        ("src/shufflebounds/curves/plotting/figures.py", False, True),
        ("workflow/reproduction/papers/su2026/claims.py", False, True),
        ("workflow/reproduction/papers/su2026/claims.yaml", False, True),
        ("workflow/reproduction/papers/new/tables.py", False, True),
        ("workflow/reproduction/html_page.py", False, True),
        ("src/shufflebounds/cli/curve.py", False, False),
        ("src/shufflebounds/notebook.py", False, False),
        ("workflow/reproduction/plan.py", False, False),
        ("src/shufflebounds/__pycache__/curve.cpython-311.pyc", False, False),
    ],
)
def test_an_edit_changes_the_digest_of_what_it_belongs_to(checkout, edited, numbers, presentation):
    before, file = both(checkout), checkout / edited
    kept = file.read_bytes() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_bytes((kept or b"") + b"# edited\n")
    after = both(checkout)
    file.write_bytes(kept) if kept is not None else file.unlink()
    assert (after[0] != before[0], after[1] != before[1]) == (numbers, presentation)
    assert both(checkout) == before


def test_where_the_files_are_and_when_they_were_written_does_not_count(checkout):
    (checkout / "src/shufflebounds/core/decomposition.py").touch()
    assert both(checkout) == both(ROOT)


def test_a_file_that_is_renamed_counts(checkout):
    before = digests.digest_of_numbers(checkout)
    file = checkout / "src/shufflebounds/core/products.py"
    renamed = file.rename(file.with_name("weights.py"))
    assert digests.digest_of_numbers(checkout) != before
    renamed.rename(file)


def test_every_place_that_is_listed_exists():
    """Or a folder that moves would silently count for the other digest."""
    for place in (*digests.PRESENTING, *digests.INTERACTIVE):
        assert (ROOT / place).exists(), place


def belongs(path: Path) -> str:
    """Whether a file computes numbers, presents them or plans the run."""
    planning = (*digests.INTERACTIVE, digests.REPRODUCTION)
    for kind, places in (("PRESENTING", digests.PRESENTING), ("PLANNING", planning)):
        if any(path.is_relative_to(ROOT / place) for place in places):
            return kind
    return "NUMBERS"


def imported(path: Path) -> set[Path]:
    """Files of the library that an import statement anywhere in a file names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        found |= {
            ROOT / folder / f"{name.replace('.', '/')}.py"
            for name in names
            for folder in ("src", "workflow")
        }
    return {file for file in found if file.exists()}


# What checks the parameters of tables, which are themselves parameters of the jobs.
CHECKS = ROOT / digests.REPRODUCTION / "configuration" / "models.py"


def test_what_counts_imports_nothing_that_does_not():
    """Otherwise an edit there would change results and leave them as they are."""
    allowed = {"NUMBERS": {"NUMBERS"}, "PRESENTING": {"NUMBERS", "PRESENTING"}}
    files = {path: belongs(path) for path in SOURCES}
    outside = {
        (path, file)
        for path, kind in files.items()
        for file in imported(path) - {CHECKS}
        if files[file] not in allowed.get(kind, files.values())
    }
    assert not outside
