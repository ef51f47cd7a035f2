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

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.core.setting import Setting
from shufflebounds.protocols import registry
from shufflebounds.protocols.registry import PROTOCOLS, Reports, Sent
from shufflebounds.randomizers import description
from shufflebounds.randomizers.description import Description
from shufflebounds.randomizers.registry import COMPOSITIONS
from shufflebounds.reproduce.configuration.models import (
    ExperimentEntry,
    FigureEntry,
    LookEntry,
    PaperEntry,
    RootEntry,
)
from shufflebounds.reproduce.papers.base import TableKind, research
from shufflebounds.reproduce.papers.tables import Context
from shufflebounds.reproduce.plotting.layout import DEFAULT_WIDTH, Layout, Line, Panel, Ratio
from shufflebounds.reproduce.plotting.texts import SYMBOLS, equations
from shufflebounds.reproduce.specification import Specification, needed
from shufflebounds.reproduce.storage import CurveName

# What figures of curves show: panels, their subjects and settings, and how lines are called.
#
# Labels tell what tells lines apart. They come from the mechanisms, bounds and settings
# themselves, so that they stay true where a parameter changes, unless the configuration words
# them.


def _layout(
    name: str, figure: FigureEntry, entry: PaperEntry, curves: Mapping[CurveName, Specification]
) -> Layout:
    """What a figure shows; ValueError where two lines have the same label and look different."""
    try:
        return _Figure(entry, curves, figure).layout()
    except ValueError as error:
        raise ValueError(f"figures.{name}: {error}") from None


@dataclass(frozen=True)
class _Figure:
    """A figure's entry, and what its labels depend on."""

    entry: PaperEntry
    curves: Mapping[CurveName, Specification]
    figure: FigureEntry

    def layout(self) -> Layout:
        first = self.curves[self.rows[0][0][0][0]]
        return Layout(
            title=self.figure.title,
            panels=tuple(tuple(self._panel(lines) for lines in row) for row in self.rows),
            quantity=first.quantity,
            x=first.axis.name,
            transform=self.figure.transform or self.entry.style.transform
            if first.quantity == "epsilon"
            else "none",
            ratio=self._ratio(),
        )

    @cached_property
    def rows(self) -> list[list[list[tuple[CurveName, LookEntry]]]]:
        """Rows of panels of lines."""
        figure, looks = self.figure, self.entry.style.curves
        shown: list[list[tuple[str, str, LookEntry]]]
        if figure.lines is not None:
            shown = [[(line.experiment, line.curve, line) for line in figure.lines]]
        else:
            shown = [
                [(experiment, curve, looks[curve]) for curve in figure.curves or ()]
                for experiment in figure.experiments or ()
            ]
        return [
            [
                [(CurveName(experiment, regime, curve), look) for experiment, curve, look in row]
                for regime in figure.regimes or ()
            ]
            for row in shown
        ]

    @cached_property
    def _names(self) -> list[CurveName]:
        return [name for row in self.rows for panel in row for name, _ in panel]

    @cached_property
    def _subjects(self) -> dict[str, str]:
        """How the figure calls each experiment."""
        given = self.entry.style.experiments
        examples = {name.experiment: curve for name, curve in self.curves.items()}
        wanted = {name.experiment for name in self._names}
        if self.figure.ratio and self.figure.ratio.experiment is not None:
            wanted.add(self.figure.ratio.experiment)
        return {name: given.get(name) or examples[name].label for name in wanted}

    @cached_property
    def _mixes_joints(self) -> bool:
        """Whether single reports and joint ones, or joint ones of several sizes, are compared."""
        return len({self.curves[name].reports.k_joint for name in self._names}) > 1

    def _panel(self, lines: list[tuple[CurveName, LookEntry]]) -> Panel:
        settings = [self.curves[name].setting.given() for name, _ in lines]
        common = {
            key: settings[0][key]
            for key in SYMBOLS
            if key in settings[0] and all(one.get(key) == settings[0][key] for one in settings)
        }
        regime = self.entry.regimes[lines[0][0].regime].label
        return Panel(
            subject=self._subject(name for name, _ in lines),
            setting=" ".join(filter(None, [regime, ", ".join(equations(common))])),
            lines=tuple(self._line(name, look, common) for name, look in lines),
        )

    def _subject(self, names: Iterable[CurveName]) -> str:
        """The mechanism, and how many reports of it, if that is the same for all lines."""
        names = list(names)
        subjects = {self._subjects[name.experiment] for name in names}
        if len(subjects) > 1:
            return ""
        [subject] = subjects
        joint = self.curves[names[0]].reports.k_joint
        return f"{joint}-joint of {subject}" if joint > 1 and not self._mixes_joints else subject

    def _line(self, name: CurveName, look: LookEntry, common: Mapping[str, Any]) -> Line:
        return Line(
            label=look.label or self._label(name, common),
            color=look.color,
            style=look.line,
            marker=look.marker or "",
            width=DEFAULT_WIDTH if look.width is None else look.width,
            curve=name,
            name="" if look.label is None else self._label(name, common),
        )

    def _label(self, name: CurveName, common: Mapping[str, Any]) -> str:
        """The bound, and what other lines of the figure do not share."""
        curve = self.curves[name]
        parts = [curve.bound.label]
        knows = curve.bound.knows_mechanism
        if self._mixes_joints and knows:
            joint = curve.reports.k_joint
            parts.append("single report" if joint == 1 else f"{joint}-joint")
        if curve.distance is not None:
            parts.append(f"d = {curve.distance}")
        own = {key: value for key, value in curve.setting.given().items() if key not in common}
        text = ", ".join([*parts, *equations(own)])
        named = knows and not self._has_one_subject
        return f"{self._subjects[name.experiment]}: {text}" if named else text

    @cached_property
    def _has_one_subject(self) -> bool:
        """Whether panels, not lines, name the mechanism."""
        return all(
            len({self._subjects[name.experiment] for name, _ in panel}) == 1
            for row in self.rows
            for panel in row
        )

    def _ratio(self) -> Ratio | None:
        reference = self.figure.ratio
        if reference is None:
            return None
        of = reference.experiment
        names = tuple(
            CurveName(experiment, regime, reference.curve)
            for experiment in (self.figure.experiments or () if of is None else [of])
            for regime in self.figure.regimes or ()
        )
        label = reference.label
        if label is None:
            drawn = dict(self.rows[0][0])
            setting = self.curves[names[0]].setting.given()
            worded = drawn[names[0]].label if names[0] in drawn else None
            label = worded or self._label(names[0], setting)
            subject = self._subjects[names[0].experiment]
            of_lines = self._subjects[self._names[0].experiment]
            if worded is None and self._has_one_subject and subject != of_lines:
                label = f"{subject}: {label}"
        return Ratio(names, label, reference.limits)


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
    captions: Mapping[str, str]
    tables: Mapping[str, Table]
    claims: Mapping[str, tuple[CurveName, ...]]

    @property
    def claimed_curves(self) -> tuple[CurveName, ...]:
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


def numerics_of(root: RootEntry) -> Numerics:
    """How config.yaml wants divergences to be computed."""
    return Numerics(root.numerics.rtol)


def paper(
    name: str, entry: PaperEntry, numerics: Numerics, curves: Mapping[CurveName, Specification]
) -> Paper:
    """The part of one paper, given its `specifications`."""
    figures = entry.figures
    layouts = {
        figure: _layout(figure, shown, entry, curves)
        for figure, shown in figures.items()
        if not shown.table
    }
    context = Context(mechanisms(entry), numerics)
    return Paper(
        name=name,
        title=entry.title,
        curves=curves,
        figures={name: shown.table or layouts[name] for name, shown in figures.items()},
        titles={name: shown.title for name, shown in figures.items()},
        captions={name: shown.caption for name, shown in figures.items()},
        tables={
            table: Table(table, table_kind(name, given), context)
            for table, given in entry.tables.items()
        },
        claims={
            claim: tuple(dict.fromkeys(curve for name in shown for curve in layouts[name].curves))
            for claim, shown in entry.claims.items()
        },
    )


def table_kind(paper: str, given: Mapping[str, Any]) -> TableKind:
    """A known kind with its parameters; pydantic's ValidationError for bad ones."""
    kind = research(paper).tables[given["kind"]]
    return kind.model_validate({k: v for k, v in given.items() if k != "kind"})


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
        if isinstance(found.get("parts"), list):
            found["parts"] = [
                {**part, "mechanism": written_out(entry, part["mechanism"])}
                if isinstance(part, Mapping) and "mechanism" in part
                else part
                for part in found["parts"]
            ]
    return found


def specifications(
    entry: PaperEntry, numerics: Numerics
) -> Iterator[tuple[CurveName, Specification]]:
    """Every curve of a paper; ValueError, naming it, where the entries do not make one."""
    for name, experiment in entry.experiments.items():
        axis, mechanism = experiment.x or entry.x, written_out(entry, experiment.mechanism)
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
