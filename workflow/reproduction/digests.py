"""Digests say what an edit of the code reruns: of what computes numbers, of what presents them.

Jobs have them among their parameters, so content counts: to touch, copy or move files, or to switch
branches and back, reruns nothing. An edit of what computes numbers reruns every curve, which is
minutes; one of what presents them no curve. An edit of another package that defines a mechanism
reruns what is about this mechanism.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from shufflebounds.bounds.registry import module_of_package
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.description import CompositionDescription, MechanismDescription
from shufflebounds.randomizers.registry import mechanism

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "src/shufflebounds"

REPRODUCTION = "workflow/reproduction"

# Folders and files that make figures, tables, pages and verdicts of numbers.
PRESENTING = (
    f"{LIBRARY}/curves/plotting",
    f"{REPRODUCTION}/papers",
    f"{REPRODUCTION}/proofs.py",
    f"{REPRODUCTION}/charts.html",
    f"{REPRODUCTION}/charts.py",
    f"{REPRODUCTION}/descriptions.py",
    f"{REPRODUCTION}/html_page.py",
    f"{REPRODUCTION}/titles.py",
)
# Parts of the library that no job runs.
INTERACTIVE = (f"{LIBRARY}/cli", f"{LIBRARY}/notebook.py")


def digest_of_numbers(root: Path = ROOT) -> str:
    """Return the digest of the library without what presents numbers and what no job runs.

    A new module counts.
    """
    excluded = {*_modules(root, PRESENTING), *_modules(root, INTERACTIVE)}
    return _digest("numbers", root, set(_modules(root, [LIBRARY])) - excluded)


def digest_of_presentation(root: Path = ROOT) -> str:
    """Return the digest of all that presents numbers."""
    return _digest("presentation", root, _modules(root, PRESENTING))


def digest_of_plugins(description: object, bound: str = "blanket") -> str:
    """Return the digest of the other packages that define a description's mechanisms, or a bound.

    The result is empty if there are none. A package counts with all of its files.
    """
    modules = {
        base.__module__
        for class_ in _mechanism_classes(description)
        for base in class_.__mro__
        if issubclass(base, Randomizer) and base.__module__.split(".")[0] != "shufflebounds"
    }
    if module := module_of_package(bound):
        importlib.import_module(module)
        modules.add(module)
    packages = {package for module in modules if (package := _package_file(module)) is not None}
    return " ".join(_digest_of_package(package) for package in sorted(packages))


def _mechanism_classes(description: object) -> Iterator[type[Randomizer]]:
    """Yield the classes of all mechanisms in a description."""
    if isinstance(description, MechanismDescription):
        yield mechanism(description.type)
    elif isinstance(description, CompositionDescription):
        for part in description.parts:
            yield from _mechanism_classes(part.mechanism)


def _package_file(module: str) -> Path | None:
    """Return the file of the outermost package that a module belongs to, or that of the module.

    The result is None if it has no file. Packages without a file, which have parts in several
    distributions, do not count.
    """
    parts = module.split(".")
    names = (".".join(parts[: i + 1]) for i in range(len(parts)))
    files = (getattr(sys.modules[name], "__file__", None) for name in names)
    return next((Path(file) for file in files if file), None)


@cache
def _digest_of_package(file: Path) -> str:
    """Return the digest of a module, or of a package whose ``__init__.py`` is given."""
    if file.name != "__init__.py":
        return _digest(file.stem, file.parent, [file])
    files = (path for path in file.parent.rglob("*") if path.is_file())
    content = [path for path in files if "__pycache__" not in path.parts]
    return _digest(file.parent.name, file.parent.parent, content)


def _modules(root: Path, places: Iterable[str]) -> Iterable[Path]:
    """Yield the files of code, pages and texts included, that are, or lie below, some places."""
    for place in places:
        path = root / place
        kinds = ("py", "html", "yaml")
        yield from (
            [path] if path.is_file() else (f for kind in kinds for f in path.rglob(f"*.{kind}"))
        )


def _digest(name: str, root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    # The name, for whoever asks Snakemake which parameter changed.
    return f"code of {name} {digest.hexdigest()[:16]}"
