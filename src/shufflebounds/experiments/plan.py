"""The plan of a run: every curve, figure, table and claim that a checked configuration asks for.

Made once from the models of `configuration`. What a job needs travels as the digest of its part of
the plan and a few scalars, so that a change elsewhere does not rerun it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS, bound
from shufflebounds.experiments import axis as axes
from shufflebounds.experiments.configuration.models import (
    Experiment,
    Figure,
    Look,
    PaperEntry,
    RootEntry,
)
from shufflebounds.experiments.curve import Name
from shufflebounds.experiments.specification import Reports, Specification
from shufflebounds.papers.base import Context, Parameters, TableKind
from shufflebounds.papers.registry import research
from shufflebounds.plotting.layout import Layout, Line, Panel
from shufflebounds.randomizers import description
from shufflebounds.randomizers.description import Description
from shufflebounds.randomizers.registry import COMPOSITIONS
from shufflebounds.setting import OverN, Setting

_DEFAULT_WIDTH = 1.2


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
            numerics = self.context.numerics
            content |= {"engine": numerics.engine, "rtol": numerics.rtol}
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
    return Numerics(root.numerics.engine, root.numerics.rtol)


def paper(name: str, entry: PaperEntry, numerics: Numerics) -> Paper:
    """The part of one paper."""
    figures = entry.figures
    curves = dict(specifications(entry, numerics))
    layouts = {
        name: layout(entry, curves, shown) for name, shown in figures.items() if not shown.table
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


def table_parameters(paper: str, given: Mapping[str, Any]) -> Parameters:
    """The parameters of a table of a known kind; pydantic's ValidationError for bad ones."""
    kind = research(paper).tables[given["kind"]]
    return kind.parameters.model_validate({k: v for k, v in given.items() if k != "kind"})


def mechanisms(entry: PaperEntry) -> dict[str, Description]:
    """The mechanisms of a paper, those they are composed of in place of their names."""
    return {name: description.parse(written_out(entry, name)) for name in entry.mechanisms}


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
    known = mechanisms(entry)
    for name, experiment in entry.experiments.items():
        for regime in experiment.regimes:
            for curve in experiment.curves:
                yield (
                    Name(name, regime, curve),
                    specification(
                        entry, known[experiment.mechanism], experiment, regime, curve, numerics
                    ),
                )


def specification(
    entry: PaperEntry,
    mechanism: Description,
    experiment: Experiment,
    regime: str,
    curve: str,
    numerics: Numerics,
) -> Specification:
    """One curve; ValueError where the entries do not make one."""
    drawn = entry.curves[curve]
    return Specification(
        bound=bound(drawn.bound),
        reports=Reports(mechanism, drawn.k_joint),
        setting=setting_of(entry, experiment, regime),
        axis=axes.parse(experiment.x or entry.x),
        quantity=drawn.quantity,
        distance=drawn.distance,
        numerics=numerics,
    )


def setting_of(entry: PaperEntry, experiment: Experiment, regime: str) -> Setting:
    """What a regime says, then the experiment, then the paper."""
    found: dict[str, Any] = {}
    for source in (entry.setting, experiment.setting, entry.regimes[regime]):
        found |= source.setting().given()
    return Setting(**found)


def layout(entry: PaperEntry, curves: Mapping[Name, Specification], figure: Figure) -> Layout:
    """What a figure of curves shows."""
    regimes = figure.regimes or ()
    if figure.lines is not None:
        panels: tuple[tuple[Panel, ...], ...] = (
            tuple(_panel_of_lines(entry, curves, figure, regime) for regime in regimes),
        )
    else:
        panels = tuple(
            tuple(_panel_of_experiment(entry, curves, figure, name, regime) for regime in regimes)
            for name in figure.experiments or ()
        )
    first = curves[panels[0][0].lines[0].curve]
    reference = figure.ratio
    return Layout(
        title=figure.title,
        panels=panels,
        quantity=first.quantity,
        x=first.axis.name,
        transform=figure.transform or entry.style.transform,
        ratio_to=tuple(Name(reference.experiment, regime, reference.curve) for regime in regimes)
        if reference
        else (),
    )


def experiment_label(entry: PaperEntry, name: str) -> str:
    """How figures call an experiment: as the style says, else like its mechanism."""
    if name in entry.style.experiments:
        return entry.style.experiments[name]
    experiment = entry.experiments[name]
    mechanism = description.parse(written_out(entry, experiment.mechanism))
    return mechanism.randomizer(1.0).label


def _panel_of_experiment(
    entry: PaperEntry,
    curves: Mapping[Name, Specification],
    figure: Figure,
    experiment: str,
    regime: str,
) -> Panel:
    lines = tuple(
        _line(Name(experiment, regime, curve), entry, entry.style.curves[curve])
        for curve in figure.curves or ()
    )
    subject = experiment_label(entry, experiment)
    return Panel(subject, _setting_text(entry, curves, regime, lines), lines)


def _panel_of_lines(
    entry: PaperEntry, curves: Mapping[Name, Specification], figure: Figure, regime: str
) -> Panel:
    lines = tuple(
        _line(Name(line.experiment, regime, line.curve), entry, line) for line in figure.lines or ()
    )
    return Panel("", _setting_text(entry, curves, regime, lines), lines)


def _line(name: Name, entry: PaperEntry, look: Look) -> Line:
    return Line(
        curve=name,
        label=look.label or BOUNDS[entry.curves[name.curve].bound].label,
        color=look.color,
        style=look.line,
        marker=look.marker or "",
        width=_DEFAULT_WIDTH if look.width is None else look.width,
    )


_SYMBOLS = {"eps0": r"$\varepsilon_0$", "eps": r"$\varepsilon$", "n": "$n$", "delta": r"$\delta$"}


def _setting_text(
    entry: PaperEntry,
    curves: Mapping[Name, Specification],
    regime: str,
    lines: Sequence[Line],
) -> str:
    """What all lines have in common, such as low ε₀ = 0.1, δ = 10⁻⁶, as mathtext."""
    settings = [curves[line.curve].setting.given() for line in lines]
    text = ", ".join(
        f"{_SYMBOLS[key]} = {_number_text(settings[0][key])}"
        for key in _SYMBOLS
        if key in settings[0] and all(given.get(key) == settings[0][key] for given in settings)
    )
    return " ".join(filter(None, [entry.regimes[regime].label, text]))


def _number_text(value: float | OverN) -> str:
    if isinstance(value, OverN):
        return f"${value.share:g}/n$"
    digits, _, exponent = f"{value:g}".partition("e")
    if not exponent:
        return digits
    factor = "" if digits == "1" else rf"{digits} \cdot "
    return f"${factor}10^{{{int(exponent)}}}$"
