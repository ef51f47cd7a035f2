"""The plan of a run: every curve, figure, table and claim that a checked configuration asks for.

Made once from the models of `configuration`. What a job needs travels as the digest of its part of
the plan and a few scalars, so that a change elsewhere does not rerun it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reproduction.configuration.models import (
    ExperimentEntry,
    PaperEntry,
    RootEntry,
    require_known,
)
from reproduction.layouts import layout
from reproduction.papers.base import TableKind, research
from reproduction.papers.tables import Context
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.core.setting import Setting
from shufflebounds.curves.plotting.layout import Layout
from shufflebounds.curves.plotting.texts import filled
from shufflebounds.curves.specification import Specification, needed
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.protocols.registry import PROTOCOLS, Reports, Sent
from shufflebounds.randomizers import description
from shufflebounds.randomizers.description import Description
from shufflebounds.randomizers.registry import COMPOSITIONS


@dataclass(frozen=True)
class Table:
    """A table of some kind, with its parameters."""

    name: str
    kind: TableKind
    context: Context

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for everything that decides its content."""
        content: dict[str, Any] = {
            "parameters": self.kind.model_dump(mode="json"),
            "mechanisms": [self.context.mechanisms[name].plain() for name in self.kind.named()],
        }
        if self.kind.uses_numerics:
            content["rtol"] = self.context.numerics.rtol
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Paper:
    """All that is made for one paper."""

    name: str
    title: str
    curves: Mapping[CurveName, Specification]
    # What each shows of curves, or the name of its table.
    figures: Mapping[str, Layout | str]
    titles: Mapping[str, str]
    sources: Mapping[str, str]
    # With the values of the settings that they name.
    captions: Mapping[str, str]
    tables: Mapping[str, Table]
    claims: Mapping[str, tuple[CurveName, ...]]

    @property
    def claimed_curves(self) -> tuple[CurveName, ...]:
        """Every curve that a claim is measured on, once."""
        return tuple(dict.fromkeys(name for shown in self.claims.values() for name in shown))

    def figure_digest(self, figure: str) -> str:
        """Return what stands for all that a figure shows, but the content of files and its caption.

        A table has its own digest in its file.
        """
        shown = self.figures[figure]
        return self.titles[figure] if isinstance(shown, str) else shown.digest

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


def numerics_of(root: RootEntry) -> Numerics:
    """How config.yaml wants divergences to be computed."""
    return Numerics(root.numerics.rtol)


def paper(
    name: str, entry: PaperEntry, numerics: Numerics, curves: Mapping[CurveName, Specification]
) -> Paper:
    """The part of one paper, given its `specifications`."""
    context = Context(mechanisms(entry), numerics)
    tables = {
        table: Table(table, table_kind(name, given), context)
        for table, given in entry.tables.items()
    }
    figures: dict[str, Layout | str] = {}
    captions: dict[str, str] = {}
    for figure, shown in entry.figures.items():
        try:
            if shown.table is not None:
                figures[figure] = shown.table
                values = tables[shown.table].kind.model_dump()
            else:
                drawn = layout(shown, entry, curves)
                figures[figure] = drawn
                values = _values(curves[curve] for curve in drawn.curves)
            captions[figure] = " ".join(filled(shown.caption, values).split())
        except ValueError as error:
            raise ValueError(f"figures.{figure}: {error}") from None
    return Paper(
        name=name,
        title=entry.title,
        curves=curves,
        figures=figures,
        titles={figure: shown.title for figure, shown in entry.figures.items()},
        sources={figure: shown.source or "" for figure, shown in entry.figures.items()},
        captions=captions,
        tables=tables,
        claims={claim: _drawn(figures, shown) for claim, shown in entry.claims.items()},
    )


def _drawn(figures: Mapping[str, Layout | str], names: Iterable[str]) -> tuple[CurveName, ...]:
    """Return every curve of some figures of curves, once."""
    layouts = (figures[name] for name in names)
    curves = (curve for drawn in layouts if isinstance(drawn, Layout) for curve in drawn.curves)
    return tuple(dict.fromkeys(curves))


def _values(curves: Iterable[Specification]) -> dict[str, list[Any]]:
    """The values of every setting that some curves have, in the order in which they come."""
    values: dict[str, dict[Any, None]] = {}
    for curve in curves:
        for key, value in curve.setting.given().items():
            values.setdefault(key, {})[value] = None
    return {key: list(distinct) for key, distinct in values.items()}


def table_kind(paper: str, given: Mapping[str, Any]) -> TableKind:
    """A known kind with its parameters; pydantic's ValidationError for bad ones."""
    kind = research(paper).tables[given["kind"]]
    return kind.model_validate({k: v for k, v in given.items() if k != "kind"})


def mechanisms(entry: PaperEntry) -> dict[str, Description]:
    """The local randomizers of a paper, those they are composed of in place of their names."""
    return {
        name: description.parse(written_out(entry.mechanisms, name))
        for name, mechanism in entry.mechanisms.items()
        if mechanism["type"] not in PROTOCOLS
    }


def written_out(
    mechanisms: Mapping[str, Mapping[str, Any]], name: str, above: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return a mechanism with the mechanisms it is composed of in place of their names.

    Raises ValueError for a name that is unknown, or that is among those it is written out for.
    """
    require_known("mechanism", name, mechanisms)
    above = (*above, name)
    if name in above[:-1]:
        raise ValueError(f"it contains itself ({' > '.join(above)}); a composition must not")
    described = dict(mechanisms[name])
    if described["type"] in COMPOSITIONS:
        if "mechanism" in described:
            described["mechanism"] = written_out(mechanisms, described["mechanism"], above)
        if isinstance(described.get("parts"), list):
            described["parts"] = [
                {**part, "mechanism": written_out(mechanisms, part["mechanism"], above)}
                if isinstance(part, Mapping) and "mechanism" in part
                else part
                for part in described["parts"]
            ]
    return described


def specifications(
    entry: PaperEntry, numerics: Numerics
) -> Iterator[tuple[CurveName, Specification]]:
    """Every curve of a paper; ValueError, naming it, where the entries do not make one."""
    for name, experiment in entry.experiments.items():
        axis, mechanism = (
            experiment.x or entry.x,
            written_out(entry.mechanisms, experiment.mechanism),
        )
        sent: dict[int, Sent] = {}
        for regime in experiment.regimes:
            setting = setting_of(entry, experiment, regime)
            known = {axis.name, *setting.given()}
            for curve in experiment.curves:
                drawn, made = entry.curves[curve], CurveName(name, regime, curve)
                try:
                    if drawn.k_joint not in sent:
                        sent[drawn.k_joint] = registry.parse(mechanism, drawn.k_joint)
                    reports = sent[drawn.k_joint]
                    if isinstance(reports, Reports):
                        reports.require_own_eps0(setting.eps0)
                    if missing := sorted(needed(drawn.quantity, reports) - known):
                        raise ValueError(
                            f"{missing[0]} is missing; it must be in regimes.{regime}, "
                            f"experiments.{name}.setting or setting"
                        )
                    yield (
                        made,
                        Specification(
                            bound=bound(drawn.bound),
                            reports=reports,
                            setting=setting,
                            axis=axis,
                            quantity=drawn.quantity,
                            distance=drawn.distance,
                            numerics=numerics,
                        ),
                    )
                except ValueError as error:
                    raise ValueError(place(made, error)) from None


def place(name: CurveName, error: ValueError) -> str:
    """A sentence about a curve with its place in the paper's file before it."""
    return f"experiments.{name.experiment}: curve {name.curve} in regime {name.regime}: {error}"


def setting_of(entry: PaperEntry, experiment: ExperimentEntry, regime: str) -> Setting:
    """What a regime says, then the experiment, then the paper."""
    found: dict[str, Any] = {}
    for source in (entry.setting, experiment.setting, entry.regimes[regime]):
        found |= source.given()
    return Setting(**found)
