"""What figures of curves show: panels, their subjects and settings, and how lines are called.

Labels tell what tells lines apart. They come from the mechanisms, bounds and settings themselves,
so that they stay true where a parameter changes, unless the configuration words them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shufflebounds.experiments.configuration.models import Figure, Look, PaperEntry
from shufflebounds.experiments.specification import Name, Specification
from shufflebounds.plotting.layout import DEFAULT_WIDTH, Layout, Line, Panel, Ratio
from shufflebounds.plotting.mathtext import SYMBOLS, equations


def layout(entry: PaperEntry, curves: Mapping[Name, Specification], figure: Figure) -> Layout:
    """What a figure shows; ValueError where two lines have the same label and look different."""
    return _Figure(entry, curves, figure).layout()


@dataclass(frozen=True)
class _Figure:
    """A figure's entry, and what its labels depend on."""

    entry: PaperEntry
    curves: Mapping[Name, Specification]
    figure: Figure

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
    def rows(self) -> list[list[list[tuple[Name, Look]]]]:
        """Rows of panels of lines."""
        regimes = self.figure.regimes or ()
        if self.figure.lines is not None:
            return [
                [
                    [
                        (Name(line.experiment, regime, line.curve), line)
                        for line in self.figure.lines
                    ]
                    for regime in regimes
                ]
            ]
        looks = self.entry.style.curves
        return [
            [
                [
                    (Name(experiment, regime, curve), looks[curve])
                    for curve in self.figure.curves or ()
                ]
                for regime in regimes
            ]
            for experiment in self.figure.experiments or ()
        ]

    @cached_property
    def _names(self) -> list[Name]:
        return [name for row in self.rows for panel in row for name, _ in panel]

    @cached_property
    def _subjects(self) -> dict[str, str]:
        """How the figure calls each experiment."""
        given = self.entry.style.experiments
        examples = {name.experiment: curve for name, curve in self.curves.items()}
        wanted = {name.experiment for name in self._names}
        if self.figure.ratio:
            wanted.add(self.figure.ratio.experiment)
        return {name: given.get(name) or mechanism_label(examples[name]) for name in wanted}

    @cached_property
    def _mixes_joints(self) -> bool:
        """Whether single reports and joint ones, or joint ones of several sizes, are compared."""
        return len({self.curves[name].reports.k_joint for name in self._names}) > 1

    def _panel(self, lines: list[tuple[Name, Look]]) -> Panel:
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

    def _subject(self, names: Iterable[Name]) -> str:
        """The mechanism, and how many reports of it, if that is the same for all lines."""
        names = list(names)
        subjects = {self._subjects[name.experiment] for name in names}
        if len(subjects) > 1:
            return ""
        [subject] = subjects
        joint = self.curves[names[0]].reports.k_joint
        return f"{joint}-joint of {subject}" if joint > 1 and not self._mixes_joints else subject

    def _line(self, name: Name, look: Look, common: Mapping[str, Any]) -> Line:
        return Line(
            curve=name,
            label=look.label or self._label(name, common),
            color=look.color,
            style=look.line,
            marker=look.marker or "",
            width=DEFAULT_WIDTH if look.width is None else look.width,
        )

    def _label(self, name: Name, common: Mapping[str, Any]) -> str:
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

    @property
    def _subject_of_lines(self) -> str:
        return self._subjects[self._names[0].experiment]

    def _ratio(self) -> Ratio | None:
        reference = self.figure.ratio
        if reference is None:
            return None
        names = tuple(
            Name(reference.experiment, regime, reference.curve)
            for regime in self.figure.regimes or ()
        )
        label = reference.label
        if label is None:
            drawn = dict(self.rows[0][0])
            setting = self.curves[names[0]].setting.given()
            worded = drawn[names[0]].label if names[0] in drawn else None
            label = worded or self._label(names[0], setting)
            subject = self._subjects[reference.experiment]
            if worded is None and self._has_one_subject and subject != self._subject_of_lines:
                label = f"{subject}: {label}"
        return Ratio(names, label, reference.limits)


def mechanism_label(curve: Specification) -> str:
    """How the mechanism of a curve calls itself, with its parameters."""
    return curve.reports.label(curve.setting)
