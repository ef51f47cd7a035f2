"""The two digests that decide reruns: each file counts where it belongs, by its content alone."""

import ast
import shutil
from pathlib import Path

import pytest

import digests

ROOT = digests.ROOT
SOURCES = sorted((ROOT / digests.LIBRARY).rglob("*.py"))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what the digests look at; tests put back what they edit."""
    folder = tmp_path_factory.mktemp("checkout")
    for part in ("src", "workflow"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def both(root: Path) -> tuple[str, str]:
    return digests.of_numbers(root), digests.of_presentation(root)


@pytest.mark.parametrize(
    ("edited", "numbers", "presentation"),
    [
        ("src/shufflebounds/core/decomposition.py", True, False),
        ("src/shufflebounds/bounds/registry.py", True, False),
        ("src/shufflebounds/reproduce/curve.py", True, False),
        ("src/shufflebounds/new/engine.py", True, False),
        ("src/shufflebounds/reproduce/plotting/figures.py", False, True),
        ("src/shufflebounds/reproduce/papers/su2026/claims.py", False, True),
        ("src/shufflebounds/reproduce/papers/su2026/claims.yaml", False, True),
        ("src/shufflebounds/reproduce/papers/new/tables.py", False, True),
        ("workflow/html_page.py", False, True),
        ("src/shufflebounds/cli/curve.py", False, False),
        ("src/shufflebounds/notebook.py", False, False),
        ("src/shufflebounds/reproduce/plan.py", False, False),
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
    before = digests.of_numbers(checkout)
    file = checkout / "src/shufflebounds/core/products.py"
    renamed = file.rename(file.with_name("weights.py"))
    assert digests.of_numbers(checkout) != before
    renamed.rename(file)


def test_every_place_that_is_listed_exists():
    """Or a folder that moves would silently count for the other digest."""
    for place in (*digests.PRESENTING, *digests.PLANNING):
        assert (ROOT / place).exists(), place


def belongs(path: Path) -> str:
    """Whether a file computes numbers, presents them or plans the run."""
    for kind in ("PRESENTING", "PLANNING"):
        if any(path.is_relative_to(ROOT / place) for place in getattr(digests, kind)):
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
        found |= {ROOT / "src" / f"{name.replace('.', '/')}.py" for name in names}
    return {file for file in found if file.exists()}


# What checks the parameters of tables, which are themselves parameters of the jobs.
CHECKS = ROOT / digests.LIBRARY / "reproduce" / "configuration" / "models.py"


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
