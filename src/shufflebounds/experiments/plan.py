"""The plan of a run: every curve, figure, table and claim that a checked configuration asks for.

Made once from the models of `configuration`. What a job needs travels as the digest of its part of
the plan and a few scalars, so that a change elsewhere does not rerun it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.experiments import axis as axes
from shufflebounds.experiments import sent
from shufflebounds.experiments.axis import Axis
from shufflebounds.experiments.configuration.models import (
    Experiment,
    Figure,
    PaperEntry,
    RootEntry,
)
from shufflebounds.experiments.layouts import layout as layout_of
from shufflebounds.experiments.specification import Name, Specification
from shufflebounds.papers.base import Context, Parameters, TableKind
from shufflebounds.papers.registry import research
from shufflebounds.plotting.layout import Layout
from shufflebounds.protocols.registry import PROTOCOLS
from shufflebounds.randomizers import description
from shufflebounds.randomizers.description import Description
from shufflebounds.randomizers.registry import COMPOSITIONS
from shufflebounds.setting import Setting


@dataclass(frozen=True)
class Table:
    """A table of some kind and its parameters."""

    name: str
    kind: TableKind
    parameters: Parameters
    context: Context

    @property
    def mechanisms(self) -> tuple[Description, ...]:
        """Those that its content depends on."""
        return tuple(
            self.context.mechanisms[name] for name in self.kind.mechanisms(self.parameters)
        )

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for everything that decides its content."""
        content: dict[str, Any] = {
            "parameters": self.parameters.model_dump(mode="json"),
            "mechanisms": [mechanism.plain() for mechanism in self.mechanisms],
        }
        if self.kind.uses_numerics:
            content["rtol"] = self.context.numerics.rtol
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Paper:
    """All that is made for one paper."""

    name: str
    title: str
    curves: Mapping[Name, Specification]
    layouts: Mapping[str, Layout]
    drawn_tables: Mapping[str, str]
    titles: Mapping[str, str]
    captions: Mapping[str, str]
    tables: Mapping[str, Table]
    claims: Mapping[str, tuple[Name, ...]]

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of all figures, of curves and of tables."""
        return tuple(self.titles)

    @property
    def claimed_curves(self) -> tuple[Name, ...]:
        """Every curve that a claim is measured on, once."""
        return tuple(dict.fromkeys(name for shown in self.claims.values() for name in shown))

    @property
    def claims_digest(self) -> str:
        """Sixteen hexadecimal digits that stand for which curves are to show which claim."""
        shown = {claim: list(map(str, names)) for claim, names in self.claims.items()}
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Plan:
    """All papers, and the files that each figure is written to."""

    papers: Mapping[str, Paper]
    formats: tuple[str, ...]


def make(root: RootEntry, papers: Mapping[str, PaperEntry]) -> Plan:
    """The plan of a configuration that `configuration.consistency` finds nothing wrong with."""
    numerics = numerics_of(root)
    planned = {name: paper(name, entry, numerics) for name, entry in papers.items()}
    return Plan(planned, root.formats)


def numerics_of(root: RootEntry) -> Numerics:
    """How config.yaml wants divergences to be computed."""
    return Numerics(root.numerics.rtol)


def paper(name: str, entry: PaperEntry, numerics: Numerics) -> Paper:
    """The part of one paper."""
    figures = entry.figures
    curves = dict(specifications(entry, numerics))
    layouts = {
        figure: _layout(figure, shown, entry, curves)
        for figure, shown in figures.items()
        if not shown.table
    }
    kinds = research(name).tables
    context = Context(mechanisms(entry), numerics)
    return Paper(
        name=name,
        title=entry.title,
        curves=curves,
        layouts=layouts,
        drawn_tables={name: shown.table for name, shown in figures.items() if shown.table},
        titles={name: shown.title for name, shown in figures.items()},
        captions={name: shown.caption for name, shown in figures.items()},
        tables={
            table: Table(table, kinds[given["kind"]], table_parameters(name, given), context)
            for table, given in entry.tables.items()
        },
        claims={
            claim: tuple(dict.fromkeys(curve for name in shown for curve in layouts[name].curves))
            for claim, shown in entry.claims.items()
        },
    )


def _layout(
    name: str, figure: Figure, entry: PaperEntry, curves: Mapping[Name, Specification]
) -> Layout:
    try:
        return layout_of(entry, curves, figure)
    except ValueError as error:
        raise ValueError(f"figures.{name}: {error}") from None


def table_parameters(paper: str, given: Mapping[str, Any]) -> Parameters:
    """The parameters of a table of a known kind; pydantic's ValidationError for bad ones."""
    kind = research(paper).tables[given["kind"]]
    return kind.parameters.model_validate({k: v for k, v in given.items() if k != "kind"})


def mechanisms(entry: PaperEntry) -> dict[str, Description]:
    """The local randomizers of a paper, those they are composed of in place of their names."""
    return {
        name: description.parse(written_out(entry, name))
        for name, mechanism in entry.mechanisms.items()
        if mechanism["type"] not in PROTOCOLS
    }


def written_out(entry: PaperEntry, name: str) -> dict[str, Any]:
    """A mechanism with the mechanisms it is composed of in place of their names."""
    found = dict(entry.mechanisms[name])
    if found["type"] in COMPOSITIONS:
        if "mechanism" in found:
            found["mechanism"] = written_out(entry, found["mechanism"])
        if "parts" in found:
            found["parts"] = [
                {**part, "mechanism": written_out(entry, part["mechanism"])}
                for part in found["parts"]
            ]
    return found


def specifications(entry: PaperEntry, numerics: Numerics) -> Iterator[tuple[Name, Specification]]:
    """Every curve of a paper."""
    for name, experiment in entry.experiments.items():
        axis, mechanism = axis_of(entry, experiment), written_out(entry, experiment.mechanism)
        for regime in experiment.regimes:
            for curve in experiment.curves:
                yield (
                    Name(name, regime, curve),
                    specification(entry, mechanism, axis, experiment, regime, curve, numerics),
                )


def specification(
    entry: PaperEntry,
    mechanism: Mapping[str, Any],
    axis: Axis,
    experiment: Experiment,
    regime: str,
    curve: str,
    numerics: Numerics,
) -> Specification:
    """One curve; ValueError where the entries do not make one."""
    drawn = entry.curves[curve]
    return Specification(
        bound=bound(drawn.bound),
        reports=sent.parse(mechanism, drawn.k_joint),
        setting=setting_of(entry, experiment, regime),
        axis=axis,
        quantity=drawn.quantity,
        distance=drawn.distance,
        numerics=numerics,
    )


def axis_of(entry: PaperEntry, experiment: Experiment) -> Axis:
    """What varies along the curves of an experiment."""
    return axes.parse(experiment.x or entry.x)


def setting_of(entry: PaperEntry, experiment: Experiment, regime: str) -> Setting:
    """What a regime says, then the experiment, then the paper."""
    found: dict[str, Any] = {}
    for source in (entry.setting, experiment.setting, entry.regimes[regime]):
        found |= source.setting().given()
    return Setting(**found)
