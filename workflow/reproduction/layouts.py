"""What the figures of curves show: panels, their subjects and settings, and how lines are called.

Labels say what tells lines apart. They come from the mechanisms, bounds and settings themselves, so
that they stay true where a parameter changes, unless the configuration words them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reproduction.configuration.models import FigureEntry, PaperEntry, ReferenceEntry
from shufflebounds.bounds.base import Kind
from shufflebounds.curves.plotting.layout import Layout, Line, Panel
from shufflebounds.curves.plotting.looks import Look, line_look
from shufflebounds.curves.plotting.texts import SYMBOLS, equations
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols.registry import SentDescription

# Bounds that look the same whatever mechanism they are of, and however many there are in a panel.
ONE_LOOK = ("lower", "curator_error")
# The curves themselves, and the same curves divided by another one.
VIEWS = AXES, RATIO = "axes", "ratio"


def layout(
    figure: FigureEntry, entry: PaperEntry, curves: Mapping[CurveName, Specification]
) -> Layout:
    """Return what a figure shows; ValueError where lines of one label look different."""
    columns = _columns(figure, entry)
    labels = _labels(figure, entry, curves, columns)
    rows = zip(*columns, strict=True) if figure.is_grid else columns
    first, ratio = curves[columns[0][0][0].name], figure.ratio
    return Layout(
        title=figure.title,
        panels=tuple(
            tuple(_panel(shown, view, ratio, entry, labels) for shown in row)
            for row in rows
            for view in _views(figure)
        ),
        source=figure.source or "",
        quantity=first.quantity,
        x=first.axis.name,
        transform=(figure.transform or entry.style.transform)
        if first.quantity == "epsilon"
        else "none",
        divisor=_divisor_label(ratio, columns[0][0], labels) if ratio else "",
        limits=ratio.limits if ratio else None,
        has_shared_rows=figure.is_grid,
        goal=figure.goal,
        is_map=figure.is_map,
    )


@dataclass(frozen=True)
class ShownCurve:
    """A curve of a panel, its label if the configuration words it, and the views that show it."""

    name: CurveName
    wording: str | None
    views: tuple[str, ...]


def _columns(figure: FigureEntry, entry: PaperEntry) -> list[list[list[ShownCurve]]]:
    """Return the curves of each regime: of all lines, or of each experiment in turn."""
    columns: list[list[tuple[str, str, str | None, tuple[str, ...]]]]
    if figure.lines is not None:
        columns = [
            [
                (line.experiment, line.curve, line.label, (line.view,) if line.view else VIEWS)
                for line in figure.lines
            ]
        ]
    else:
        shown_in = {AXES: figure.curves or (), RATIO: figure.ratio_curves or figure.curves or ()}
        views = {
            curve: tuple(view for view in VIEWS if curve in shown_in[view])
            for curve in (*shown_in[AXES], *shown_in[RATIO])
        }
        columns = [
            [(experiment, curve, entry.style.curves.get(curve), views[curve]) for curve in views]
            for experiment in figure.experiments or ()
        ]
    return [
        [
            [
                ShownCurve(CurveName(experiment, regime, curve), wording, views)
                for experiment, curve, wording, views in column
            ]
            for regime in figure.regimes or ()
        ]
        for column in columns
    ]


def _views(figure: FigureEntry) -> tuple[str, ...]:
    """Return what stands one below the other in the figure."""
    if figure.ratio is None:
        return (AXES,)
    return (RATIO,) if figure.is_map or figure.ratio.alone else (AXES, RATIO)


@dataclass(frozen=True)
class Labels:
    """How a figure calls its curves.

    ``subjects`` names the mechanism of each experiment. ``joint_bounds`` are those that the
    figure draws of several numbers of joint reports, and lower bounds beside them;
    ``has_one_subject`` says whether panels, not lines, name the mechanism.
    """

    curves: Mapping[CurveName, Specification]
    subjects: Mapping[str, str]
    joint_bounds: frozenset[str]
    has_one_subject: bool

    def subject(self, names: Sequence[CurveName]) -> str:
        """Return the mechanism, and how many reports of it; empty if lines are of several."""
        subjects = {self.subjects[name.experiment] for name in names}
        if len(subjects) > 1:
            return ""
        [subject] = subjects
        joint = self.curves[names[0]].reports.k_joint
        return f"{joint}-joint of {subject}" if joint > 1 and not self.joint_bounds else subject

    def label(self, name: CurveName, common: Mapping[str, Any]) -> str:
        """Return the bound, and what the other lines do not share; `common` are shared settings."""
        curve = self.curves[name]
        knows_mechanism = curve.bound.knows_mechanism
        parts = [curve.bound.label]
        joint = curve.reports.k_joint
        if curve.bound.name in self.joint_bounds:
            parts.append("single report" if joint == 1 else f"{joint}-joint")
        if curve.distance is not None:
            parts.append(f"d = {curve.distance}")
        own = {key: value for key, value in curve.setting.given().items() if key not in common}
        text = ", ".join([*parts, *equations(own)])
        is_named = knows_mechanism and not self.has_one_subject
        return f"{self.subjects[name.experiment]}: {text}" if is_named else text

    def kind(self, name: CurveName) -> tuple[str, str]:
        """Return the bound of a line, and its mechanism if lines are told apart by mechanisms."""
        curve = self.curves[name]
        has_own_look = curve.bound.knows_mechanism and curve.bound.name not in ONE_LOOK
        is_told = has_own_look and not self.has_one_subject
        return curve.bound.name, _mechanism_type(curve.reports) if is_told else ""


def _labels(
    figure: FigureEntry,
    entry: PaperEntry,
    curves: Mapping[CurveName, Specification],
    columns: Sequence[Sequence[Sequence[ShownCurve]]],
) -> Labels:
    panels = [[shown.name for shown in panel] for column in columns for panel in column]
    names = [name for panel in panels for name in panel]
    experiments = {name.experiment for name in names}
    if figure.ratio and figure.ratio.experiment is not None:
        experiments.add(figure.ratio.experiment)
    examples = {name.experiment: curve for name, curve in curves.items()}
    subjects = {
        name: entry.style.experiments.get(name) or examples[name].label for name in experiments
    }
    return Labels(
        curves=curves,
        subjects=subjects,
        joint_bounds=_joint_bounds([curves[name] for name in names]),
        has_one_subject=all(
            len({subjects[name.experiment] for name in panel}) == 1 for panel in panels
        ),
    )


def _joint_bounds(curves: Sequence[Specification]) -> frozenset[str]:
    """Return the bounds of several numbers of joint reports, and with them the lower bounds."""
    numbers: dict[str, set[int]] = {}
    for curve in curves:
        numbers.setdefault(curve.bound.name, set()).add(curve.reports.k_joint)
    joint = {name for name, joints in numbers.items() if len(joints) > 1}
    lower = {curve.bound.name for curve in curves if curve.bound.kind is Kind.LOWER}
    return frozenset(joint | lower if joint else ())


def _panel(
    panel: Sequence[ShownCurve],
    view: str,
    ratio: ReferenceEntry | None,
    entry: PaperEntry,
    labels: Labels,
) -> Panel:
    names = [shown.name for shown in panel]
    settings = [labels.curves[name].setting.given() for name in names]
    common = {
        key: settings[0][key]
        for key in SYMBOLS
        if key in settings[0] and all(given.get(key) == settings[0][key] for given in settings)
    }
    regime = entry.regimes[names[0].regime].label or ""
    first, *others = [*equations(common), ""]
    return Panel(
        subject=labels.subject(names),
        setting=tuple(filter(None, [f"{regime} {first}".strip(), *others])),
        lines=tuple(_lines(panel, view, common, labels)),
        divisor=_divisor(ratio, names) if ratio and view == RATIO else None,
    )


def _lines(
    panel: Sequence[ShownCurve], view: str, common: Mapping[str, Any], labels: Labels
) -> Iterator[Line]:
    """Yield the lines of a view. Those of one look differ by a variant, the same in either view.

    A width of its own is not enough to tell a line from another.
    """
    variants: dict[Look, list[str]] = {}
    for shown in panel:
        kind, own = labels.kind(shown.name), labels.label(shown.name, common)
        label = shown.wording or own
        labels_of_kind = variants.setdefault(replace(line_look(*kind), width=0.0), [])
        if label not in labels_of_kind:
            labels_of_kind.append(label)
        if view in shown.views:
            look = line_look(*kind, labels_of_kind.index(label))
            yield Line(label, look, shown.name, "" if shown.wording is None else own)


def _divisor(ratio: ReferenceEntry, names: Sequence[CurveName]) -> CurveName:
    """Return the curve that those of a panel are divided by.

    It has no experiment if each of several has its own.
    """
    experiments = {name.experiment for name in names}
    own = experiments.pop() if len(experiments) == 1 else ""
    return CurveName(ratio.experiment or own, names[0].regime, ratio.curve)


def _divisor_label(ratio: ReferenceEntry, panel: Sequence[ShownCurve], labels: Labels) -> str:
    """Return how the axis of ratios calls the divisor, given the first panel."""
    name = _divisor(ratio, [shown.name for shown in panel])
    wordings = {shown.name: shown.wording for shown in panel}
    if worded := ratio.label or wordings.get(name):
        return worded
    if not name.experiment:
        own = CurveName(panel[0].name.experiment, name.regime, name.curve)
        return f"its {labels.curves[own].bound.label}"
    label = labels.label(name, labels.curves[name].setting.given())
    subject = labels.subjects[name.experiment]
    is_other = labels.has_one_subject and subject != labels.subjects[panel[0].name.experiment]
    return f"{subject}: {label}" if is_other else label


def _mechanism_type(reports: SentDescription) -> str:
    """Return the type of the mechanism that is composed or sampled; empty for several."""
    named: Any = getattr(reports, "mechanism", reports)
    described = named.plain()
    while not isinstance(described, str):
        described = described.get("mechanism", "" if "parts" in described else described["type"])
    return str(described)
