"""Which files of the library a job's result depends on.

Snakemake sees changes in a job's script but not in what the script imports, so jobs list these
files among their inputs. Dependencies come in two kinds:

* a module depends on every module of the library that an import statement anywhere in it names;
* ``shufflebounds.curves`` and ``specs`` pick mechanism, baseline and engine by name, so their
  import statements say nothing of what one curve uses: `shufflebounds.curves.modules` says it.

A package's ``__init__`` counts where it is imported by its own name, not on the way to a module
inside: that of ``shufflebounds`` only repeats names that are defined elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from shufflebounds import curves, specs

PACKAGE = "shufflebounds"
SRC = Path(__file__).resolve().parents[1] / "src"


def of_curve(spec: Mapping) -> list[Path]:
    """Library files behind the curve of a spec, as `shufflebounds.curves.compute` takes it."""
    return closure(curves.modules(spec))


def closure(names: Iterable[str]) -> list[Path]:
    """Files of some modules of the library and of all they depend on, sorted."""
    return list(_closure(frozenset(names)))


@cache
def _closure(names: frozenset[str]) -> tuple[Path, ...]:
    waiting, found = list(names), set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imported(name))
    return tuple(sorted(_file(name) for name in found))


@cache
def _imported(name: str) -> frozenset[str]:
    if name in (curves.__name__, specs.__name__):
        return frozenset()
    file = _file(name)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = {module for node in ast.walk(tree) for module in _named(node, package)}
    return frozenset(module for module in modules if module.partition(".")[0] == PACKAGE)


def _named(node: ast.AST, package: str) -> Iterator[str]:
    """Modules that a node of the syntax tree imports, if it is an import statement."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = resolve_name("." * node.level + (node.module or ""), package)
        for alias in node.names:
            # What is imported is a module of its own, or lives in the one it is imported from.
            inner = f"{origin}.{alias.name}"
            yield inner if _exists(inner) else origin


def _exists(name: str) -> bool:
    return any(path.is_file() for path in _candidates(name))


def _file(name: str) -> Path:
    return next(path for path in _candidates(name) if path.is_file())


def _candidates(name: str) -> tuple[Path, Path]:
    stem = SRC.joinpath(*name.split("."))
    return stem.with_suffix(".py"), stem / "__init__.py"
