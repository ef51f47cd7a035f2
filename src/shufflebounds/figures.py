"""Paper-style figures: e^ε − 1 over the number of users n, in rows of panels.

Figures 2–7 of the paper (Su, Cheng, Wang, arXiv 2504.07414).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation

from shufflebounds.drawing import (
    LONE_ROW_HEIGHT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    FloatArray,
    check,
    fixed_looks,
    numbers,
    write,
)

Panel = Mapping[str, Any]
Line = Mapping[str, Any]

PANEL_HEIGHT = 2.3  # inches

MARKERS = 6  # of a curve, about


def draw(frame: pd.DataFrame, panels: Sequence[Sequence[Panel]], paths: Sequence[Path]) -> None:
    """Write the `figure` of the same arguments to each path, as `drawing.write` does."""
    write(lambda: figure(frame, panels), paths)


@fixed_looks
def figure(frame: pd.DataFrame, panels: Sequence[Sequence[Panel]]) -> Figure:
    """The figure of some curves, with one legend for all panels.

    Parameters
    ----------
    frame
        Curve files put together: one row per experiment, regime, curve and n, with ``bound``,
        ``delta``, ``epsilon_lower`` and ``epsilon_upper`` (natural logs).
    panels
        Rows of panels; those of a column share their y axis. A panel has a ``title`` (mathtext
        allowed) and ``lines`` in drawing order. A line says which curve it draws (``experiment``,
        ``regime``, ``curve``) and how: ``label``, ``color``, ``line`` and, optionally, ``marker``
        and ``width`` (points). The legend gives each label once, however many lines bear it.

    Raises
    ------
    ValueError
        Where rows differ in their number of panels, a panel has no lines, lines with the same label
        look different, `frame` lacks a curve, or a curve has a value that no panel can show.

    """
    columns = _columns(panels)
    _check_lines(list(chain.from_iterable(panels)))
    fig = Figure(figsize=(PAGE_WIDTH * min(columns / 2, 1), 1), layout="constrained")
    axes = fig.subplots(len(panels), columns, sharex=True, sharey="col", squeeze=False)
    for ax, panel in zip(axes.flat, chain.from_iterable(panels), strict=True):
        for position, line in enumerate(panel["lines"]):
            _plot(ax, *_points(frame, line), line, position)
        ax.set(title=panel["title"], xscale="log", yscale="log")
        ax.grid(which="minor", linewidth=0.25)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter(_MinorLabels())
    fig.supxlabel(f"number of users $n$, {_deltas(frame)}")
    fig.supylabel(r"$e^{\varepsilon} - 1$")
    height = max(len(panels) * PANEL_HEIGHT, LONE_ROW_HEIGHT) + _add_legend(fig)
    fig.set_figheight(min(height, PAGE_HEIGHT))
    return fig


def _deltas(frame: pd.DataFrame) -> str:
    """Such as δ = 10⁻⁶, as a formula; the same for all that is drawn as a rule."""
    return "$\\delta$ = " + ", ".join(map(_power, sorted(frame["delta"].unique())))


def _power(number: float) -> str:
    """A number as a formula, very small ones as a power of ten."""
    digits, _, exponent = f"{number:g}".partition("e")
    if not exponent:
        return digits
    factor = "" if digits == "1" else rf"{digits} \cdot "
    return f"${factor}10^{{{int(exponent)}}}$"


def _columns(panels: Sequence[Sequence[Panel]]) -> int:
    sizes = [len(row) for row in panels]
    if len(set(sizes)) != 1 or 0 in sizes:
        raise ValueError(f"rows of panels must be equally long, and not empty, got {sizes} panels")
    return sizes[0]


def _check_lines(panels: Sequence[Panel]) -> None:
    looks: dict[str, dict[str, Any]] = {}
    for panel in panels:
        if not panel["lines"]:
            raise ValueError(f"panel {panel['title']!r} must have at least one line, got none")
        for line in panel["lines"]:
            label, look = line["label"], _look(line)
            if looks.setdefault(label, look) != look:
                raise ValueError(
                    f"lines with the label {label!r} must look alike, got {looks[label]} and {look}"
                )


def _look(line: Line) -> dict[str, Any]:
    return {
        "color": line["color"],
        "linestyle": line["line"],
        "linewidth": line.get("width", 1.2),
        "marker": line.get("marker", ""),
    }


def _points(frame: pd.DataFrame, line: Line) -> tuple[FloatArray, FloatArray]:
    """One curve: n, ascending, and e^ε − 1 at the end of each enclosure that bounds the truth."""
    experiment, regime, curve = line["experiment"], line["regime"], line["curve"]
    where = f"curve {curve!r} of experiment {experiment!r} in regime {regime!r}"
    chosen = (frame["experiment"] == experiment) & (frame["regime"] == regime)
    rows = frame[chosen & (frame["curve"] == curve)].sort_values("n")
    if rows.empty:
        raise ValueError(f"{where} must be among the data, got none of its rows")
    end = rows["epsilon_lower"].where(rows["bound"] == "lower", rows["epsilon_upper"])
    n, eps = numbers(rows["n"]), numbers(end)
    check("n", n, n > 0.0, "finite and positive", where)
    check("n", n[1:], np.diff(n) > 0.0, "another in every row", where)
    check("epsilon", eps, eps >= 0.0, "finite and at least 0", where)
    return n, np.expm1(eps)


def _plot(ax: Axes, n: FloatArray, y: FloatArray, line: Line, position: int) -> None:
    """One curve, the `position`-th of its panel."""
    look = _look(line)
    if n.size == 1 and not look["marker"]:
        look["marker"] = "."  # A single point has no line to be seen by.
    step = max(1, n.size // MARKERS)
    # Multiples of the golden ratio: markers of curves that run together keep apart.
    first = int(position * 0.618 % 1.0 * step)
    ax.plot(
        n,
        y,
        label=line["label"],
        **look,
        markersize=3.0 + look["linewidth"],
        markevery=(first, step),
        # Thin over thick: upper and lower bound nearly coincide.
        zorder=2.0 + 1.0 / look["linewidth"],
    )


class _MinorLabels(LogFormatterSciNotation):
    """Labels between powers of ten, for an axis that shows fewer than two of those."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """No label for 3 and 6, 30 and 60, …: they would touch their neighbours'."""
        return "" if f"{x:.0e}"[0] in "36" else super().__call__(x, pos)


def _add_legend(fig: Figure) -> float:
    """One legend above all panels, in as few rows as fit; returns its height in inches."""
    lines: dict[str, Line2D] = {}
    for line in chain.from_iterable(ax.get_lines() for ax in fig.axes):
        lines.setdefault(line.get_label(), line)
    for rows in range(1, len(lines) + 1):
        columns = -(-len(lines) // rows)
        legend = fig.legend(handles=lines.values(), loc="outside upper center", ncols=columns)
        extent = legend.get_window_extent()
        if extent.width <= fig.bbox.width or columns == 1:
            break
        legend.remove()
    return extent.height / fig.dpi
