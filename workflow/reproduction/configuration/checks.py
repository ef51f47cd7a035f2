"""Turn a configuration into a plan, or report its first mistake in one sentence.

The models define what each value may be and which names must exist. This module checks what they
cannot: whether the library accepts each mechanism and curve, and whether the paper has each table
and claim.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reproduction import plan
from reproduction.configuration import loading
from reproduction.configuration.models import (
    PaperEntry,
    RootEntry,
    check_keys,
    require_known,
)
from reproduction.configuration.sentences import (
    ConfigError,
    first_sentence,
    locate,
    one_line,
    quote,
    suggestion,
)
from reproduction.papers.base import TableKind, research
from shufflebounds.bounds.base import Numerics
from shufflebounds.core.setting import Setting
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.randomizers import description
from shufflebounds.randomizers.registry import COMPOSITIONS
from shufflebounds.subjects.base import InfeasibleError

EntryType = TypeVar("EntryType", bound=BaseModel)


def make_plan(content: Mapping[str, Any], origin: str = "", only: str | None = None) -> plan.Plan:
    """Return the plan of a configuration.

    `content` is config.yaml with the content of each paper's file under the paper's name, as
    `join_papers` makes it. `only` is the only paper to plan; if left out, all are planned. Raises
    ConfigError for the first mistake; its message has `origin` after the name of the file, to tell
    where else the content may come from.
    """
    root = _root_entry(content, origin)
    numerics = Numerics(root.numerics.rtol)
    papers = {
        name: _paper_plan(name, content.get(name), numerics, f"config/{name}.yaml{origin}")
        for name in ([only] if only else root.papers)
    }
    return plan.Plan(papers, root.formats)


def join_papers(config: dict[str, Any], folders: Sequence[Path], origin: str = "") -> None:
    """Put the content of <paper>.yaml under the name of each paper in `config`.

    The first folder is the project's. If `config` already has entries of a paper, from the command
    line, they replace those of its file in this folder. The other folders are searched only for
    papers of which `config` has nothing. Raises ConfigError for a file that cannot be loaded, and
    for a mistake in config.yaml.
    """
    for paper in _root_entry(config, origin).papers:
        for i, folder in enumerate(folders):
            file = folder / f"{paper}.yaml"
            if file.is_file() and (i == 0 or paper not in config):
                config[paper] = loading.merge(loading.read(file), config.get(paper, {}))
                break


def _root_entry(content: Mapping[str, Any], origin: str) -> RootEntry:
    """Return the entries of config.yaml itself, which include the names of the papers."""
    papers = content.get("papers")
    names = papers if isinstance(papers, list | tuple) else ()
    root_content = {key: value for key, value in content.items() if key not in names}
    return _validate(RootEntry, root_content, f"config.yaml{origin}")


def _validate(model: type[EntryType], content: Any, source: str) -> EntryType:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigError(one_line(source, first_sentence(error))) from None


def _paper_plan(name: str, content: Any, numerics: Numerics, source: str) -> plan.Paper:
    if content is None:
        raise ConfigError(f"{source} is missing or empty, but papers names {name}")
    entry = _validate(PaperEntry, content, source)
    try:
        _check_mechanisms(entry)
        curves = dict(plan.specifications(entry, numerics))
        _check_computable(curves)
        _check_tables(name, entry)
        _check_figures_of_tables(name, entry)
        _check_claims(name, entry)
        for section in ("title", "regimes", "figures", "style"):
            _check_texts(section, content.get(section))
        return plan.plan_paper(name, entry, numerics, curves)
    except ValueError as error:
        raise ConfigError(one_line(source, str(error))) from None


def _check_mechanisms(entry: PaperEntry) -> None:
    for name, mechanism in entry.mechanisms.items():
        place = f"mechanisms.{name}"
        if "type" not in mechanism:
            raise ValueError(f"{place}.type is missing")
        require_known(f"{place}.type", mechanism["type"], registry.sent_types())
    # Compositions come last, so that a mistake in a part is reported where the part is defined.
    types = {name: mechanism["type"] for name, mechanism in entry.mechanisms.items()}
    for name in sorted(types, key=lambda name: types[name] in (*COMPOSITIONS, registry.COHORT)):
        try:
            _check_parameters(entry, plan.expand_mechanism(entry.mechanisms, name))
        except ValueError as error:
            raise ValueError(locate(f"mechanisms.{name}", str(error))) from None


def _check_parameters(entry: PaperEntry, mechanism: Mapping[str, Any]) -> None:
    """Raise ValueError if the library refuses a mechanism at any of the paper's values of ε₀."""
    parsed = registry.parse_sent(mechanism)
    levels = [regime.eps0 for regime in entry.regimes.values() if regime.eps0 is not None]
    # Protocols that need more than ε₀ are checked with the curves that use them.
    if parsed.needs == ("eps0",):
        for eps0 in levels or [1.0]:
            parsed.protocol(Setting(eps0=eps0))
    if isinstance(parsed, registry.ProtocolDescription):
        for key, value in parsed.parameters:
            # Protocols assume that their parameters can be compared and hashed.
            if isinstance(value, Mapping | list):
                raise ValueError(f"{key} is {quote(value)}; it must be a number or text")
    for file in parsed.files:
        if set("{}") & set(file):
            raise ValueError(
                f"file is {file!r}; it must have no braces, which Snakemake takes for a wildcard"
            )


def _check_computable(curves: Mapping[CurveName, Specification]) -> None:
    """Raise ValueError for the first curve that cannot be computed.

    Curves that differ in the bound alone are checked once.
    """
    # Bounds that know the mechanism come first: their check covers the bounds that use only ε₀.
    ordered = sorted(curves, key=lambda name: not curves[name].bound.knows_mechanism)
    misfits_by_key: dict[object, InfeasibleError | None] = {}
    checked_inputs: set[object] = set()
    for name in ordered:
        curve = curves[name]
        inputs = curve.reports, curve.setting, curve.axis, curve.distance
        if inputs not in checked_inputs:
            checked_inputs.add(inputs)
            try:
                curve.check(misfits_by_key)
            except ValueError as error:
                raise ValueError(plan.locate_curve(name, error)) from None


def _check_tables(paper: str, entry: PaperEntry) -> None:
    kinds = research(paper).tables
    for name, table_entry in entry.tables.items():
        place = f"tables.{name}"
        if "kind" not in table_entry:
            raise ValueError(f"{place}.kind is missing; it must be one of {', '.join(kinds)}")
        require_known(f"{place}.kind", table_entry["kind"], kinds)
        try:
            check_keys(table_entry, ("kind", *kinds[table_entry["kind"]].model_fields))
            table = plan.table_kind(paper, table_entry)
        except ValidationError as error:
            raise ValueError(first_sentence(error, place)) from None
        except ValueError as error:
            raise ValueError(locate(place, str(error))) from None
        _check_mechanisms_of_table(place, entry, table, table_entry.get("eps0", 1.0))


def _check_mechanisms_of_table(place: str, entry: PaperEntry, table: TableKind, eps0s: Any) -> None:
    for key in ("mechanism", "mechanisms"):
        require_known(f"{place}.{key}", getattr(table, key, ()), entry.mechanisms)
    for mechanism in table.named():
        for eps0 in eps0s if isinstance(eps0s, list) else [eps0s]:
            try:
                description.parse(plan.expand_mechanism(entry.mechanisms, mechanism)).randomizer(
                    eps0
                )
            except ValueError as error:
                raise ValueError(
                    f"{place}: mechanism {mechanism} at eps0 = {eps0}: {error}"
                ) from None


def _check_figures_of_tables(paper: str, entry: PaperEntry) -> None:
    for name, figure in entry.figures.items():
        if figure.table is None:
            continue
        if not research(paper).tables[entry.tables[figure.table]["kind"]].is_drawn:
            raise ValueError(
                f"figures.{name}.table is {figure.table!r}, a table of a kind that cannot be drawn"
            )


def _check_claims(paper: str, entry: PaperEntry) -> None:
    claims = research(paper).claims
    curve_figures = [name for name, figure in entry.figures.items() if figure.table is None]
    for claim, figures in entry.claims.items():
        if claim not in claims:
            raise ValueError(
                f"claims.{claim} is not a claim of this paper{suggestion(claim, claims)}; "
                f"its claims are {', '.join(claims) or 'none'}"
            )
        require_known(f"claims.{claim}", figures, curve_figures)


def _check_texts(place: str, node: Any) -> None:
    """Raise ValueError for a text with an unpaired $ or an HTML tag, which reports would keep."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            # Captions are exempt: they stand below the figures, as Markdown and LaTeX.
            if key != "caption":
                _check_texts(f"{place}.{key}", value)
    elif isinstance(node, list):
        for i, entry in enumerate(node):
            _check_texts(f"{place}[{i}]", entry)
    elif isinstance(node, str) and re.search(r"<[A-Za-z/!?]", node):
        raise ValueError(f"{place} is {quote(node)}; put a blank after the <, which begins a tag")
    elif isinstance(node, str) and (node.count("$") - node.count(r"\$")) % 2:
        raise ValueError(
            f"{place} is {quote(node)}, with a $ too few or too many; "
            r"write \$ for the sign itself"
        )
