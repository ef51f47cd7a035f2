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
    FigureEntry,
    PaperEntry,
    RootEntry,
    require_known,
)
from reproduction.papers.base import TableKind, research
from reproduction.papers.tables import Context
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import bound
from shufflebounds.core.setting import Setting
from shufflebounds.curves.plotting.layout import Layout, Line, Panel
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.texts import SYMBOLS, equations, filled
from shufflebounds.curves.specification import Specification, needed
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry
from shufflebounds.protocols.registry import PROTOCOLS, Reports, Sent
from shufflebounds.randomizers import description
from shufflebounds.randomizers.description import Description
from shufflebounds.randomizers.registry import COMPOSITIONS

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


# Bounds that look the same whatever mechanism they are of, and however many there are in a panel.
ONE_LOOK = ("lower", "curator_error")


@dataclass(frozen=True)
class _Figure:
    """A figure's entry, and what its labels depend on."""

    entry: PaperEntry
    curves: Mapping[CurveName, Specification]
    figure: FigureEntry

    def layout(self) -> Layout:
        first = self.curves[self._names[0]]
        ratio = self.figure.ratio
        return Layout(
            title=self.figure.title,
            panels=self._panels(),
            source=self.figure.source or "",
            quantity=first.quantity,
            x=first.axis.name,
            transform=self.figure.transform or self.entry.style.transform
            if first.quantity == "epsilon"
            else "none",
            divisor=self._divisor_label() if ratio else "",
            limits=(ratio.limits[0], ratio.limits[1]) if ratio and ratio.limits else None,
            has_shared_rows=self._is_grid,
            goal=self.figure.goal,
            is_map=self.figure.is_map,
        )

    @cached_property
    def _is_grid(self) -> bool:
        """Whether columns are mechanisms, and rows regimes."""
        return len(self.figure.experiments or ()) > 1

    def _panels(self) -> tuple[tuple[Panel, ...], ...]:
        """Rows of panels, each followed by its ratios if the figure has any."""
        columns = self._columns
        grid = [list(row) for row in zip(*columns, strict=True)] if self._is_grid else columns
        rows, reference = [], self.figure.ratio
        for row in grid:
            if reference is None or not (self.figure.is_map or reference.alone):
                rows.append(tuple(self._panel(lines) for lines in row))
            if reference is not None:
                rows.append(tuple(self._panel(lines, ratio=True) for lines in row))
        return tuple(rows)

    @cached_property
    def _columns(self) -> list[list[list[tuple[CurveName, str | None]]]]:
        """Curves and their labels: of every experiment, or of all lines; of every regime."""
        figure, labels = self.figure, self.entry.style.curves
        shown: list[list[tuple[str, str, str | None]]]
        if figure.lines is not None:
            shown = [[(line.experiment, line.curve, line.label) for line in figure.lines]]
        else:
            shown = [
                [(experiment, curve, labels.get(curve)) for curve in self._shown_curves]
                for experiment in figure.experiments or ()
            ]
        return [
            [
                [(CurveName(experiment, regime, curve), label) for experiment, curve, label in row]
                for regime in figure.regimes or ()
            ]
            for row in shown
        ]

    @cached_property
    def _shown_curves(self) -> tuple[str, ...]:
        """What either view of the figure shows."""
        ratio = self.figure.ratio
        return tuple(
            dict.fromkeys([*(self.figure.curves or ()), *(ratio.curves or () if ratio else ())])
        )

    @cached_property
    def _names(self) -> list[CurveName]:
        return [name for row in self._columns for panel in row for name, _ in panel]

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

    def _panel(self, lines: list[tuple[CurveName, str | None]], *, ratio: bool = False) -> Panel:
        reference, divisor = self.figure.ratio, None
        settings = [self.curves[name].setting.given() for name, _ in lines]
        common = {
            key: settings[0][key]
            for key in SYMBOLS
            if key in settings[0] and all(given.get(key) == settings[0][key] for given in settings)
        }
        first = lines[0][0]
        if ratio:
            assert reference is not None
            experiment = reference.experiment or first.experiment
            divisor = CurveName(experiment, first.regime, reference.curve)
        return Panel(
            subject=self._subject(name for name, _ in lines),
            setting=" ".join(
                filter(None, [self.entry.regimes[first.regime].label, ", ".join(equations(common))])
            ),
            lines=tuple(
                line for line in self._lines(lines, common) if self._is_shown(line.curve, ratio)
            ),
            divisor=divisor,
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

    def _is_shown(self, name: CurveName, ratio: bool) -> bool:
        """Whether the view of the curves, or that of the ratios, shows a line."""
        if self.figure.lines is None:
            divided = self.figure.ratio.curves if ratio and self.figure.ratio else None
            return name.curve in (divided or self.figure.curves or ())
        view = "ratio" if ratio else "axes"
        return any(
            (line.experiment, line.curve) == (name.experiment, name.curve)
            and line.view in (None, view)
            for line in self.figure.lines
        )

    def _lines(
        self, lines: list[tuple[CurveName, str | None]], common: Mapping[str, Any]
    ) -> Iterator[Line]:
        """Lines of a panel; those of the same bound and mechanism differ by a variant."""
        labels_by_kind: dict[tuple[str, str], list[str]] = {}
        for name, worded in lines:
            own = self._label(name, common)
            label = worded or own
            labels = labels_by_kind.setdefault(self._kind(name), [])
            if label not in labels:
                labels.append(label)
            look = line_look(*self._kind(name), labels.index(label))
            yield Line(label, look, name, "" if worded is None else own)

    def _kind(self, name: CurveName) -> tuple[str, str]:
        """The bound of a line, and its mechanism if lines are told apart by mechanisms."""
        curve = self.curves[name]
        is_told = curve.bound.knows_mechanism and curve.bound.name not in ONE_LOOK
        mechanism = "" if self._has_one_subject or not is_told else mechanism_type(curve.reports)
        return curve.bound.name, mechanism

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
            for row in self._columns
            for panel in row
        )

    def _divisor_label(self) -> str:
        """How the axis of ratios calls what curves are divided by."""
        reference = self.figure.ratio
        assert reference is not None
        if reference.label is not None:
            return reference.label
        first = self._columns[0][0]
        experiment = reference.experiment or first[0][0].experiment
        name = CurveName(experiment, first[0][0].regime, reference.curve)
        if worded := dict(first).get(name):
            return worded
        label = self._label(name, self.curves[name].setting.given())
        subject = self._subjects[experiment]
        is_other = self._has_one_subject and subject != self._subjects[self._names[0].experiment]
        return f"{subject}: {label}" if is_other else label


def mechanism_type(reports: Sent) -> str:
    """The type of the mechanism that is composed, sampled or calibrated; empty for several."""
    named: Any = getattr(reports, "mechanism", reports)
    described = named.plain()
    while not isinstance(described, str):
        described = described.get("mechanism", "" if "parts" in described else described["type"])
    return str(described)


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
    tables = {
        table: Table(table, table_kind(name, given), context)
        for table, given in entry.tables.items()
    }
    return Paper(
        name=name,
        title=entry.title,
        curves=curves,
        figures={name: shown.table or layouts[name] for name, shown in figures.items()},
        titles={name: shown.title for name, shown in figures.items()},
        sources={name: shown.source or "" for name, shown in figures.items()},
        captions={
            name: _caption(
                name,
                shown.caption,
                tables[shown.table].kind.model_dump()
                if shown.table
                else _values(curves[curve] for curve in layouts[name].curves),
            )
            for name, shown in figures.items()
        },
        tables=tables,
        claims={
            claim: tuple(dict.fromkeys(curve for name in shown for curve in layouts[name].curves))
            for claim, shown in entry.claims.items()
        },
    )


def _caption(figure: str, text: str, values: Mapping[str, Any]) -> str:
    """A caption with its values; ValueError, which names the figure, for one that is unknown."""
    try:
        return " ".join(filled(text, values).split())
    except ValueError as error:
        raise ValueError(f"figures.{figure}.caption: {error}") from None


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
