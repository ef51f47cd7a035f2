"""Figures of curves in rows of panels, as their `Layout` says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation

from shufflebounds.experiments.curve import Name
from shufflebounds.plotting.layout import Layout, Line, Panel
from shufflebounds.plotting.theme import (
    LONE_ROW_HEIGHT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    FloatArray,
    check,
    fixed_looks,
    numbers,
    write,
)

PANEL_HEIGHT = 2.3  # inches

MARKERS = 6  # of a curve, about

_X_LABELS = {
    "n": "number of users $n$",
    "eps0": r"local privacy parameter $\varepsilon_0$",
    "eps": r"$\varepsilon$",
    "delta": r"$\delta$",
}
# Axes that are drawn on a logarithmic scale.
_LOGARITHMIC = ("n", "delta", "eps")
_Y_LABELS = {
    ("epsilon", "none"): r"$\varepsilon$",
    ("epsilon", "expm1"): r"$e^{\varepsilon} - 1$",
    ("epsilon", "log2_ratio"): r"$\log_2(\varepsilon_0/\varepsilon)$",
    ("delta", "none"): r"$\delta$",
}


def draw(frame: pd.DataFrame, layout: Layout, paths: Sequence[str | Path]) -> None:
    """Write the `figure` of the same arguments to each path, as `theme.write` does."""
    write(lambda: figure(frame, layout), paths)


@fixed_looks
def figure(frame: pd.DataFrame, layout: Layout) -> Figure:
    """The figure of some curves, with one legend for all panels.

    Parameters
    ----------
    frame
        Curve tables put together (`experiments.curve`).
    layout
        What to draw. Of a lower bound the lower end of each enclosure is drawn, else the upper one.

    Raises
    ------
    ValueError
        Where rows differ in their number of panels, a panel has no lines, lines with the same label
        look different, `frame` lacks a curve, or a curve has a value that no panel can show.

    """
    _check_lines(layout.panels)
    rows = len(layout.panels) * (2 if layout.ratio_to else 1)
    columns = len(layout.panels[0])
    fig = Figure(figsize=(PAGE_WIDTH * min(columns / 2, 1), 1), layout="constrained")
    axes = fig.subplots(rows, columns, sharex=True, sharey="row", squeeze=False)
    for i, row in enumerate(layout.panels):
        for j, panel in enumerate(row):
            curves = {line.curve: _points(frame, layout, line.curve) for line in panel.lines}
            _panel(axes[i][j], panel, curves, layout)
            if layout.ratio_to:
                _ratio_panel(axes[len(layout.panels) + i][j], panel, curves, layout, j, frame)
    fig.suptitle(layout.title)
    fig.supxlabel(_X_LABELS[layout.x])
    height = max(rows * PANEL_HEIGHT, LONE_ROW_HEIGHT) + _add_legend(fig)
    fig.set_figheight(min(height, PAGE_HEIGHT))
    return fig


def _panel(
    ax: Axes, panel: Panel, curves: dict[Name, tuple[FloatArray, FloatArray]], layout: Layout
) -> None:
    for position, line in enumerate(panel.lines):
        _plot(ax, *curves[line.curve], line, position)
    logarithmic = layout.transform != "log2_ratio" and layout.x in _LOGARITHMIC
    ax.set(
        title=", ".join(filter(None, [panel.subject, panel.setting])),
        ylabel=_Y_LABELS[layout.quantity, layout.transform],
        xscale="log" if layout.x in _LOGARITHMIC else "linear",
        yscale="log" if logarithmic else "linear",
    )
    ax.grid(which="minor", linewidth=0.25)
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_minor_formatter(_MinorLabels())


def _ratio_panel(
    ax: Axes,
    panel: Panel,
    curves: dict[Name, tuple[FloatArray, FloatArray]],
    layout: Layout,
    column: int,
    frame: pd.DataFrame,
) -> None:
    x, divisor = _points(frame, layout, layout.ratio_to[column])
    for position, line in enumerate(panel.lines):
        own_x, y = curves[line.curve]
        if not np.array_equal(own_x, x):
            raise ValueError(f"{line.curve} must have the same axis as {layout.ratio_to[column]}")
        _plot(ax, x, y / divisor, line, position)
    ax.set(ylabel="ratio", xscale="log" if layout.x in _LOGARITHMIC else "linear")


def _check_lines(panels: Sequence[Sequence[Panel]]) -> None:
    sizes = [len(row) for row in panels]
    if len(set(sizes)) != 1 or 0 in sizes:
        raise ValueError(f"rows of panels must be equally long, and not empty, got {sizes} panels")
    looks: dict[str, tuple] = {}
    for panel in chain.from_iterable(panels):
        if not panel.lines:
            raise ValueError(f"panel {panel.subject!r} must have at least one line, got none")
        for line in panel.lines:
            look = (line.color, line.style, line.marker, line.width)
            if looks.setdefault(line.label, look) != look:
                raise ValueError(
                    f"lines with the label {line.label!r} must look alike, "
                    f"got {looks[line.label]} and {look}"
                )


def _points(frame: pd.DataFrame, layout: Layout, name: Name) -> tuple[FloatArray, FloatArray]:
    """One curve: its axis, ascending, and what is drawn at the end of each enclosure that counts."""
    chosen = (frame["experiment"] == name.experiment) & (frame["regime"] == name.regime)
    rows = frame[chosen & (frame["curve"] == name.curve)].sort_values(layout.x)
    if rows.empty:
        raise ValueError(f"curve {name} must be among the data, got none of its rows")
    lower, upper = (rows[f"{layout.quantity}_{end}"] for end in ("lower", "upper"))
    x, value = numbers(rows[layout.x]), numbers(lower.where(rows["kind"] == "lower", upper))
    where = f"curve {name}"
    check(layout.x, x, x >= 0.0, "finite and at least 0", where)
    check(layout.x, x[1:], np.diff(x) > 0.0, "another in every row", where)
    check(layout.quantity, value, value >= 0.0, "finite and at least 0", where)
    if layout.transform == "expm1":
        return x, np.expm1(value)
    if layout.transform == "log2_ratio":
        with np.errstate(divide="ignore"):
            return x, np.log2(numbers(rows["eps0"]) / value)
    return x, value


def _plot(ax: Axes, x: FloatArray, y: FloatArray, line: Line, position: int) -> None:
    """One curve, the `position`-th of its panel."""
    # A single point has no line to be seen by.
    marker = line.marker or ("." if x.size == 1 else "")
    step = max(1, x.size // MARKERS)
    # Multiples of the golden ratio: markers of curves that run together keep apart.
    first = int(position * 0.618 % 1.0 * step)
    ax.plot(
        x,
        y,
        label=line.label,
        color=line.color,
        linestyle=line.style,
        linewidth=line.width,
        marker=marker,
        markersize=3.0 + line.width,
        markevery=(first, step),
        # Thin over thick: upper and lower bound nearly coincide.
        zorder=2.0 + 1.0 / line.width,
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
