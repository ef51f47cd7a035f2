"""The plan of a run: every curve, figure, table and claim that a checked configuration asks for.

Made once from the models of `configuration`. What a job needs travels as the digest of its part of
the plan and a few scalars, so that a change elsewhere does not rerun it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from reproduction import titles
from reproduction.configuration.models import (
    ExperimentEntry,
    PaperEntry,
    require_known,
)
from reproduction.digests import digest_of_plugins
from reproduction.layouts import layout
from reproduction.papers.base import TableKind, research
from reproduction.papers.tables import Context
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.core.setting import Setting
from shufflebounds.curves.plotting.layout import USUAL_PRINT, Layout, Print
from shufflebounds.curves.plotting.texts import filled
from shufflebounds.curves.specification import Specification, needed
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.protocols.registry import (
    COHORT,
    PROTOCOLS,
    ReportDescription,
    SentDescription,
)
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
        if plugins := [
            digest
            for name in self.kind.named()
            if (digest := digest_of_plugins(self.context.mechanisms[name]))
        ]:
            content["plugins"] = plugins
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
    # What titles say, as conditions.
    holds: Mapping[str, tuple[str, ...]]
    style: Print = USUAL_PRINT

    @property
    def claimed_curves(self) -> tuple[CurveName, ...]:
        """Every curve that a claim is measured on, once."""
        return tuple(dict.fromkeys(name for shown in self.claims.values() for name in shown))

    def figure_digest(self, figure: str) -> str:
        """Return what stands for all that a figure shows, but the content of files and its caption.

        A table has its own digest in its file.
        """
        shown = self.figures[figure]
        digest = self.titles[figure] if isinstance(shown, str) else shown.digest
        return digest if self.style == USUAL_PRINT else f"{digest} {self.style}"

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


def plan_paper(
    name: str, entry: PaperEntry, numerics: Numerics, curves: Mapping[CurveName, Specification]
) -> Paper:
    """Return the plan of one paper, given its `specifications`."""
    context = Context(local_randomizers(entry), numerics)
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
                values = _setting_values(curves[curve] for curve in drawn.curves)
            captions[figure] = " ".join(filled(shown.caption, values).split())
            _check_conditions(shown.holds, figures[figure])
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
        claims={claim: _drawn_curves(figures, shown) for claim, shown in entry.claims.items()},
        holds={figure: shown.holds for figure, shown in entry.figures.items()},
        style=Print(
            entry.style.column_width, entry.style.page_width, tuple(entry.style.fonts or ())
        ),
    )


def _check_conditions(texts: Sequence[str], shown: Layout | str) -> None:
    """Raise ValueError for what is not a condition, or compares curves that a figure lacks."""
    for condition in map(titles.parse, texts):
        if isinstance(shown, Layout):
            known = {name.curve for name in shown.curves}
            known |= {f"{name.experiment}.{name.curve}" for name in shown.curves}
            for name in sorted(condition.names):
                require_known(f"holds: {condition.text!r}: curve", name, sorted(known))


def _drawn_curves(
    figures: Mapping[str, Layout | str], names: Iterable[str]
) -> tuple[CurveName, ...]:
    """Return every curve of some figures of curves, once."""
    layouts = (figures[name] for name in names)
    curves = (curve for drawn in layouts if isinstance(drawn, Layout) for curve in drawn.curves)
    return tuple(dict.fromkeys(curves))


def _setting_values(curves: Iterable[Specification]) -> dict[str, list[Any]]:
    """Return the values of every setting that some curves have, in the order in which they come."""
    values: dict[str, dict[Any, None]] = {}
    for curve in curves:
        for key, value in curve.setting.given().items():
            values.setdefault(key, {})[value] = None
    return {key: list(distinct) for key, distinct in values.items()}


def table_kind(paper: str, given: Mapping[str, Any]) -> TableKind:
    """Return a known kind with its parameters; pydantic's ValidationError for bad ones."""
    kind = research(paper).tables[given["kind"]]
    return kind.model_validate({k: v for k, v in given.items() if k != "kind"})


def local_randomizers(entry: PaperEntry) -> dict[str, Description]:
    """Return the local randomizers of a paper, by name."""
    return {
        name: description.parse(expand_mechanism(entry.mechanisms, name))
        for name, mechanism in entry.mechanisms.items()
        if mechanism["type"] not in PROTOCOLS
    }


def expand_mechanism(
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
    if described["type"] in (*COMPOSITIONS, COHORT):
        if "mechanism" in described:
            described["mechanism"] = expand_mechanism(mechanisms, described["mechanism"], above)
        if isinstance(described.get("parts"), list):
            described["parts"] = [
                {**part, "mechanism": expand_mechanism(mechanisms, part["mechanism"], above)}
                if isinstance(part, Mapping) and "mechanism" in part
                else part
                for part in described["parts"]
            ]
    return described


def specifications(
    entry: PaperEntry, numerics: Numerics
) -> Iterator[tuple[CurveName, Specification]]:
    """Yield every curve of a paper; ValueError, naming it, where the entries do not make one."""
    for experiment in entry.experiments:
        mechanism = expand_mechanism(entry.mechanisms, entry.experiments[experiment].mechanism)
        # Reports of equal size are the same in every regime, and may come from a file.
        reports = cache(partial(registry.parse_sent, mechanism))
        for regime in entry.experiments[experiment].regimes:
            for curve in entry.experiments[experiment].curves:
                name = CurveName(experiment, regime, curve)
                try:
                    yield name, _specification(entry, name, reports, numerics)
                except ValueError as error:
                    raise ValueError(locate_curve(name, error)) from None


def _specification(
    entry: PaperEntry,
    name: CurveName,
    reports: Callable[[int], SentDescription],
    numerics: Numerics,
) -> Specification:
    """Return one curve, given the reports by their number; ValueError if a setting is missing."""
    experiment, curve = entry.experiments[name.experiment], entry.curves[name.curve]
    axis, setting = experiment.x or entry.x, combined_setting(entry, experiment, name.regime)
    sent = reports(curve.k_joint)
    if isinstance(sent, ReportDescription):
        sent.require_own_eps0(setting.eps0)
    if missing := sorted(needed(curve.quantity, sent) - {axis.name, *setting.given()}):
        raise ValueError(
            f"{missing[0]} is missing; it must be in regimes.{name.regime}, "
            f"experiments.{name.experiment}.setting or setting"
        )
    return Specification(
        bound=bound(curve.bound),
        reports=sent,
        setting=setting,
        axis=axis,
        quantity=curve.quantity,
        distance=curve.distance,
        numerics=numerics,
    )


def locate_curve(name: CurveName, error: ValueError) -> str:
    """Return a sentence about a curve behind its place in the paper's file."""
    return f"experiments.{name.experiment}: curve {name.curve} in regime {name.regime}: {error}"


def combined_setting(entry: PaperEntry, experiment: ExperimentEntry, regime: str) -> Setting:
    """Return the settings of the paper, overridden by the experiment, then by the regime."""
    values: dict[str, Any] = {}
    for source in (entry.setting, experiment.setting, entry.regimes[regime]):
        values |= source.given()
    return Setting(**values)
