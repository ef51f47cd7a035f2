"""Which files of the library a job's result depends on.

Snakemake sees changes in a job's script but not in what the script imports, so jobs list these
files among their inputs. A module depends on every module of the library that an import statement
anywhere in it names. Some modules pick others by name, however: the registries, and what uses them.
Their import statements say nothing of what one job uses, and are not followed; `of_curve` and
`of_table` say it. The registries themselves are no inputs, or one more mechanism would rerun all:
what they picked for a job, `definitions`, is one of its parameters.

A package's ``__init__`` counts where it is imported by its own name, not on the way to a module
inside: that of ``shufflebounds`` only repeats names that are defined elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from shufflebounds.experiments.plan import Table
from shufflebounds.experiments.sent import Messages
from shufflebounds.experiments.specification import Specification
from shufflebounds.protocols import registry as protocols
from shufflebounds.randomizers.description import Description
from shufflebounds.randomizers.registry import mechanism

PACKAGE = "shufflebounds"
SRC = Path(__file__).resolve().parents[1] / "src"

# Modules that pick others by name.
CHOOSERS = frozenset(
    f"{PACKAGE}.{name}"
    for name in (
        "bounds.divergences",
        "bounds.registry",
        "experiments.curve",
        "experiments.plan",
        "experiments.sent",
        "experiments.specification",
        "papers.base",
        "papers.registry",
        "papers.su2026",
        "protocols.registry",
        "protocols.single_message",
        "randomizers.description",
        "randomizers.registry",
    )
)
# Of these, what only lists others by name.
REGISTRIES = frozenset(
    f"{PACKAGE}.{name}.registry" for name in ("bounds", "protocols", "randomizers")
)
# What only shows results to people, in notebooks: no job runs it.
NOTEBOOK = f"{PACKAGE}.notebook"
# What a description of mechanisms goes through.
_DESCRIPTION = tuple(
    f"randomizers.{name}" for name in ("description", "description_parts", "parameter_names")
)
# What every curve goes through.
_CURVE = (
    "_version",
    "bounds.base",
    "experiments.axis",
    "experiments.curve",
    "experiments.sent",
    "experiments.specification",
    "experiments.storage",
    "protocols.base",
    "setting",
    *_DESCRIPTION,
)
# What every divergence goes through, and what several rounds do besides.
_DIVERGENCE = ("accounting.amplification", "accounting.shortfalls", "bounds.divergences")
_ROUNDS = ("bounds.compositions",)
_MANY_PAIRS = ("bounds.many_pairs",)
# What every table goes through.
_TABLE = (f"{PACKAGE}.papers.table_files", f"{PACKAGE}.papers.table_stamp")
# What writes pages and scripts.
_FILES = f"{PACKAGE}.experiments.files"


def of_curve(specification: Specification) -> list[Path]:
    """Library files behind a curve."""
    bound, reports = specification.bound, specification.reports
    names = [*_CURVE]
    if bound.is_divergence:
        names += [*_DIVERGENCE]
        # A protocol may be made of several shuffles.
        names += _ROUNDS if specification.has_rounds or isinstance(reports, Messages) else ()
        # A distance may leave several choices of coordinates, and a matrix has pairs of inputs.
        many = specification.distance is not None or not reports.needs
        names += _MANY_PAIRS if many and not isinstance(reports, Messages) else ()
    own = [bound.module, *_of_what_is_sent(specification)]
    return closure([*own, *(f"{PACKAGE}.{name}" for name in names)])


def of_table(table: Table) -> list[Path]:
    """Library files behind a table."""
    kind = table.kind
    own = [*kind.modules, kind.compute.__module__, kind.page.__module__]
    return closure([*_TABLE, *own, *_of_mechanisms(table.mechanisms)])


def of_claims(module: str) -> list[Path]:
    """Library files behind the verdicts on a paper's claims, given its own module of them."""
    return closure([module, f"{PACKAGE}.papers.claims_page", f"{PACKAGE}.experiments.curve"])


def of_figures() -> list[Path]:
    """Library files behind the figures of curves."""
    return closure([f"{PACKAGE}.plotting.curves", f"{PACKAGE}.experiments.curve"])


def of_vega() -> list[Path]:
    """Library files behind the program that draws interactive figures."""
    return closure([f"{PACKAGE}.plotting.vega", _FILES])


def of_interactive_figures() -> list[Path]:
    """Library files behind the interactive pages of figures."""
    return closure([f"{PACKAGE}.plotting.interactive", f"{PACKAGE}.experiments.curve", _FILES])


def of_drawn_table(table: Table) -> list[Path]:
    """Library files behind the figure of a table."""
    kind = table.kind
    return closure([*_TABLE, *kind.draw_modules, kind.draw.__module__, f"{PACKAGE}.plotting.theme"])


def of_pages() -> list[Path]:
    """Library files behind the HTML of a page."""
    return closure([f"{PACKAGE}.plotting.html_document", _FILES])


def of_interactive_table(table: Table) -> list[Path]:
    """Library files behind the interactive page of a table's figure."""
    kind = table.kind
    return closure([*_TABLE, *kind.interact_modules, kind.interact.__module__, _FILES])


def definitions(specification: Specification) -> str:
    """What the registries picked for a curve: where its bound and its mechanisms are defined."""
    picked = [f"{specification.bound.name} of {specification.bound.module}"]
    reports = specification.reports
    if isinstance(reports, Messages):
        picked += [f"{made.__module__}.{made.__qualname__}" for made in _makers(reports)]
    elif specification.bound.knows_mechanism or reports.is_composed:
        picked += _classes([reports.mechanism])
    return ", ".join(picked)


def table_definitions(table: Table) -> str:
    """What the registry picked for a table: where its mechanisms are defined."""
    return ", ".join(_classes(table.mechanisms))


def closure(names: Iterable[str]) -> list[Path]:
    """Files of some modules of the library and of all they depend on, sorted."""
    return list(_closure(frozenset(names)))


def _of_what_is_sent(specification: Specification) -> list[str]:
    """Modules of what a user sends, as far as the bound looks at it."""
    reports = specification.reports
    if isinstance(reports, Messages):
        return [made.__module__ for made in _makers(reports)]
    names = [f"{PACKAGE}.protocols.single_message"]
    if specification.bound.knows_mechanism or reports.is_composed:
        names += [f"{PACKAGE}.randomizers.composed", *_of_mechanisms([reports.mechanism])]
    return names


def _makers(messages: Messages) -> list[Callable[..., object]]:
    """What makes a protocol, and what tells its number of users."""
    entry = protocols.entry(messages.type)
    return [entry.make] if entry.users is None else [entry.make, entry.users]


def _of_mechanisms(descriptions: Iterable[Description]) -> list[str]:
    """Modules of the mechanisms that occur; those of other packages have versions of their own."""
    classes = {mechanism(name) for one in descriptions for name in one.mechanisms()}
    modules = [found.__module__ for found in classes]
    own = [module for module in modules if module.partition(".")[0] == PACKAGE]
    return [*(f"{PACKAGE}.{name}" for name in (*_DESCRIPTION, "randomizers.privacy")), *own]


def _classes(descriptions: Iterable[Description]) -> list[str]:
    """Where the classes of the mechanisms that occur are defined, sorted."""
    classes = {mechanism(name) for one in descriptions for name in one.mechanisms()}
    return sorted(f"{found.__module__}.{found.__qualname__}" for found in classes)


@cache
def _closure(names: frozenset[str]) -> tuple[Path, ...]:
    waiting, found = list(names), set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imported(name))
    return tuple(sorted(_file(name) for name in found - REGISTRIES - {NOTEBOOK}))


@cache
def _imported(name: str) -> frozenset[str]:
    if name in CHOOSERS or name == NOTEBOOK:
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
