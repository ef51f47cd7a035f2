"""Checks of the figures of a paper and their style: what they draw, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from shufflebounds.experiments.configuration.models import Figure, PaperEntry
from shufflebounds.experiments.configuration.sentences import suggestion
from shufflebounds.experiments.configuration.unknown_names import unknown, unknown_in
from shufflebounds.papers.registry import research


def figure_faults(paper: str, entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the figures of a paper."""
    for name, figure in entry.figures.items():
        place = f"figures.{name}"
        yield from _shown_faults(place, figure)
        if figure.table is not None:
            yield from unknown(f"{place}.table", figure.table, entry.tables)
            if not research(paper).tables[entry.tables[figure.table]["kind"]].is_drawn:
                yield f"{place}.table is {figure.table!r}, a table of a kind that cannot be drawn"
            continue
        yield from _look_faults(place, figure)
        regimes = figure.regimes or ()
        yield from unknown_in(f"{place}.regimes", regimes, entry.regimes)
        quantities, xs = set(), set()
        for key, experiment, curve in _drawn(figure):
            yield from unknown(f"{place}.{key('experiment')}", experiment, entry.experiments)
            yield from unknown(f"{place}.{key('curve')}", curve, entry.curves)
            computed = entry.experiments[experiment]
            wanted = [(key("curve"), "curves", curve)]
            wanted += [(f"regimes[{i}]", "regimes", r) for i, r in enumerate(regimes)]
            for where, kind, value in wanted:
                if value not in getattr(computed, kind):
                    yield (
                        f"{place}.{where} is {value!r}, which experiments.{experiment} does "
                        f"not compute; it must be one of {', '.join(getattr(computed, kind))}"
                    )
            quantities.add(entry.curves[curve].quantity)
            xs.add(next(iter(computed.x or entry.x)))
        for what, found in (("quantities", quantities), ("axes", xs)):
            if len(found) > 1:
                yield f"{place} draws curves of several {what}: {', '.join(sorted(found))}"
        transform = figure.transform or entry.style.transform
        if transform != "none" and quantities == {"delta"}:
            yield f"{place}.transform is {transform!r}; for curves of delta it must be none"
        if figure.ratio is not None:
            yield from _ratio_faults(place, figure, transform)


def _shown_faults(place: str, figure: Figure) -> Iterator[str]:
    """A figure shows a grid, lines, or a table, and only one of them."""
    grid = [key for key in ("experiments", "curves") if getattr(figure, key) is not None]
    others = [key for key in ("lines", "table") if getattr(figure, key) is not None]
    if (len(grid), len(others)) not in ((2, 0), (0, 1)):
        has = ", ".join([*grid, *others]) or "none of them"
        yield f"{place} must have either experiments and curves, or lines, or a table, got {has}"
    if figure.table is None and figure.regimes is None:
        yield f"{place}.regimes is missing; it must be a list that is not empty"
    for key in ("regimes", "ratio", "transform"):
        if figure.table is not None and getattr(figure, key) is not None:
            yield f"{place}.{key} is only valid for a figure of curves, and this is one of a table"


def _look_faults(place: str, figure: Figure) -> Iterator[str]:
    looks: dict[str | None, dict[str, Any]] = {}
    for i, line in enumerate(figure.lines or ()):
        look = line.model_dump(exclude={"experiment", "curve"})
        if looks.setdefault(line.label, look) != look and line.label is not None:
            yield (
                f"{place}.lines[{i}] looks unlike another line with the label {line.label!r}; "
                "lines with the same label must look alike"
            )


def _ratio_faults(place: str, figure: Figure, transform: str) -> Iterator[str]:
    """Only a single row of panels has a row of ratios, and ratios of logarithms mean nothing."""
    if figure.lines is None and len(figure.experiments or ()) > 1:
        yield f"{place}.ratio must be left out where a figure has several experiments"
    if transform.startswith("log2"):
        yield f"{place}.transform is {transform!r}; in a figure with ratio it must be none or expm1"


def _drawn(figure: Figure) -> Iterator[tuple[Callable[[str], str], str, str]]:
    """Experiment and curve of every line, and where either stands in the figure's entry."""
    for i, line in enumerate(figure.lines or ()):
        yield partial("lines[{}].{}".format, i), line.experiment, line.curve
    for i, experiment in enumerate(figure.experiments or ()):
        for j, curve in enumerate(figure.curves or ()):
            place = {"experiment": f"experiments[{i}]", "curve": f"curves[{j}]"}
            yield place.__getitem__, experiment, curve
    if figure.ratio is not None:
        yield "ratio.{}".format, figure.ratio.experiment, figure.ratio.curve


def style_faults(entry: PaperEntry) -> Iterator[str]:
    """What is wrong with the style of a paper."""
    for key in ("experiments", "curves"):
        style, known = getattr(entry.style, key), getattr(entry, key)
        for name in style:
            # What has no name like it may be left from an entry that was taken out.
            if name not in known and (hint := suggestion(name, known)):
                yield (
                    f"style.{key}.{name} is the style of nothing{hint}; "
                    f"{key} are {', '.join(known)}"
                )
    for name, figure in entry.figures.items():
        for curve in figure.curves or ():
            if curve not in entry.style.curves:
                yield f"style.curves.{curve} is missing; figures.{name} draws it"
