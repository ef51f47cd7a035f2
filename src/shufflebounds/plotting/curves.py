"""Figures of curves in rows of panels, as their `Layout` says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from shufflebounds.experiments.curve import Name
from shufflebounds.plotting import heading
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

# A δ below this is nobody's target; panels do not make room for it.
SMALLEST_DELTA = 1e-20
# Panels of a column have the same axis if each fills at least so much of it.
FILLED = 0.8

_X_LABELS = {
    "n": "number of users $n$",
    "eps0": r"local privacy parameter $\varepsilon_0$",
    "eps": r"$\varepsilon$",
    "delta": r"$\delta$",
    "rounds": "rounds $T$",
    "order": r"order $\lambda$",
    "target": r"$\varepsilon'$ the protocol was designed for",
    "messages": "messages $m$ of a user",
}
# Axes that are drawn on a logarithmic scale.
_LOGARITHMIC = ("n", "delta", "eps", "rounds", "order")
_Y_LABELS = {
    ("epsilon", "none"): r"$\varepsilon$",
    ("epsilon", "expm1"): r"$e^{\varepsilon} - 1$",
    ("epsilon", "log2_ratio"): r"$\log_2(\varepsilon_0/\varepsilon)$",
    ("epsilon", "log2_gain"): r"$\log_2(\varepsilon'/\varepsilon)$",
    ("delta", "none"): r"$\delta$",
    ("renyi", "none"): r"$\varepsilon(\lambda)$",
}
# What is divided by ε where the logarithm to base 2 is drawn.
_LOG2_OF = {"log2_ratio": "eps0", "log2_gain": "target"}
# Above all lines, which are at 2 + 1/width.
_ABOVE_LINES = 20.0


@dataclass(frozen=True)
class _Curve:
    """What is drawn of a curve, ascending in x, and whether it is the curve of a proven bound."""

    x: FloatArray
    y: FloatArray
    proven: bool


def draw(frame: pd.DataFrame, layout: Layout, paths: Sequence[str | Path]) -> None:
    """Write the `figure` of the same arguments to each path, as `theme.write` does."""
    write(lambda: figure(frame, layout), paths)


@fixed_looks
def figure(frame: pd.DataFrame, layout: Layout) -> Figure:
    """The figure of some curves, with one legend for all panels.

    A bound that is not proven is dotted, and its label says so. Values that a logarithmic axis
    cannot show, such as 0, are left out.

    Parameters
    ----------
    frame
        Curve tables put together (`experiments.curve`).
    layout
        What to draw. Of a lower bound the lower end of each enclosure is drawn, else the upper one.

    Raises
    ------
    ValueError
        Where `frame` lacks a curve, or a curve has a value that no panel can show.

    """
    curves = {name: _curve(frame, layout, name) for name in layout.curves}
    rows = len(layout.panels) * (2 if layout.ratio else 1)
    columns = len(layout.panels[0])
    height = max(rows * PANEL_HEIGHT, LONE_ROW_HEIGHT)
    fig = Figure(figsize=(PAGE_WIDTH * min(columns / 2, 1), height), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False)
    for row, panels in zip(axes, layout.panels, strict=False):
        for ax, panel in zip(row, panels, strict=True):
            _draw_panel(ax, panel, {line.curve: curves[line.curve] for line in panel.lines}, layout)
    if layout.ratio:
        for ax, panel, name in zip(axes[1], layout.panels[0], layout.ratio.curves, strict=True):
            _draw_ratio(ax, panel, _divided(curves, panel, name), layout)
    _arrange_axes(fig, axes, layout)
    drawn = [panel for row in layout.panels for panel in row] * (2 if layout.ratio else 1)
    heading.write_above_panels(list(axes.flat), [(one.subject, one.setting) for one in drawn])
    heading.write_above_all(fig, layout.title, _handles(layout, curves), PAGE_HEIGHT)
    return fig


def _curve(frame: pd.DataFrame, layout: Layout, name: Name) -> _Curve:
    """What is drawn is the end of each enclosure that counts."""
    chosen = (frame["experiment"] == name.experiment) & (frame["regime"] == name.regime)
    rows = frame[chosen & (frame["curve"] == name.curve)].sort_values(layout.x)
    if rows.empty:
        raise ValueError(f"curve {name} must be among the data, got none of its rows")
    lower, upper = (rows[f"{layout.quantity}_{end}"] for end in ("lower", "upper"))
    # Points without an enclosure that is narrow enough, or without any finite ε, are not drawn.
    rows = rows[(lower.notna() | upper.notna()) & (lower != math.inf)]
    lower, upper = lower[rows.index], upper[rows.index]
    x, value = numbers(rows[layout.x]), numbers(lower.where(rows["kind"] == "lower", upper))
    where = f"curve {name}"
    if layout.x == "eps":
        check(layout.x, x, x >= 0.0, "finite and at least 0", where)
    else:
        check(layout.x, x, x > 0.0, "finite and positive", where)
    check(layout.x, x[1:], np.diff(x) > 0.0, "another in every row", where)
    check(layout.quantity, value, value >= 0.0, "finite and at least 0", where)
    proven = bool((rows["kind"] != "unproven").all())
    if layout.transform == "expm1":
        return _Curve(x, np.expm1(value), proven)
    if layout.transform in _LOG2_OF:
        of = _LOG2_OF[layout.transform]
        above = numbers(rows[of])
        check(of, above, above > 0.0, "finite and positive", where)
        # Not a number, which is left out, where there is no privacy loss at all.
        return _Curve(x, np.log2(above / np.where(value > 0.0, value, np.nan)), proven)
    return _Curve(x, value, proven)


def _divided(curves: Mapping[Name, _Curve], panel: Panel, divisor: Name) -> dict[Name, _Curve]:
    """The curves of a panel divided by one."""
    below = curves[divisor]
    divided = {}
    for line in panel.lines:
        above = curves[line.curve]
        if not np.array_equal(above.x, below.x):
            raise ValueError(f"curve {line.curve} must have the same axis as {divisor}")
        ratio = above.y / np.where(below.y > 0.0, below.y, np.nan)
        divided[line.curve] = replace(above, y=ratio)
    return divided


def _draw_panel(ax: Axes, panel: Panel, curves: Mapping[Name, _Curve], layout: Layout) -> None:
    _scale(ax, "x", logarithmic=layout.x in _LOGARITHMIC)
    # Where nothing is above 0, a logarithmic axis would show nothing at all.
    positive = any((curve.y > 0.0).any() for curve in curves.values())
    _scale(ax, "y", logarithmic=layout.transform not in _LOG2_OF and positive)
    _plot(ax, panel, curves)
    if layout.quantity == "delta":
        _make_room(ax, curves, SMALLEST_DELTA)


def _draw_ratio(ax: Axes, panel: Panel, curves: Mapping[Name, _Curve], layout: Layout) -> None:
    _scale(ax, "x", logarithmic=layout.x in _LOGARITHMIC)
    _plot(ax, panel, curves)
    if layout.ratio and layout.ratio.limits:
        ax.set_ylim(*layout.ratio.limits)


def _plot(ax: Axes, panel: Panel, curves: Mapping[Name, _Curve]) -> None:
    for position, line in enumerate(panel.lines):
        curve = curves[line.curve]
        look = _look(line, curve)
        # Thin over thick: upper and lower bound nearly coincide.
        ax.plot(curve.x, curve.y, label=_label(line, curve), zorder=2.0 + 1.0 / line.width, **look)
        # A single point has no line to be seen by.
        marker = line.marker or ("o" if curve.x.size == 1 else "")
        if marker:
            step = max(1, curve.x.size // MARKERS)
            # Multiples of the golden ratio: markers of curves that run together keep apart.
            first = int(position * 0.618 % 1.0 * step)
            ax.plot(
                curve.x[first::step],
                curve.y[first::step],
                label="_markers",
                linestyle="none",
                zorder=_ABOVE_LINES,
                **_marker_look(line, marker),
            )


def _scale(ax: Axes, axis: Literal["x", "y"], *, logarithmic: bool) -> None:
    if logarithmic:
        getattr(ax, f"set_{axis}scale")("log", nonpositive="mask")
        getattr(ax, f"{axis}axis").set_minor_formatter(_MinorLabels())
        ax.grid(which="minor", axis=axis, linewidth=0.25)


def _make_room(ax: Axes, curves: Mapping[Name, _Curve], smallest: float) -> None:
    """Scale a panel to the points that are not too small, if there are any; the line goes on."""
    x = np.concatenate([curve.x for curve in curves.values()])
    y = np.concatenate([curve.y for curve in curves.values()])
    seen = y >= smallest
    if seen.any():
        ax.dataLim = Bbox.null()
        ax.update_datalim(np.column_stack([x, y])[seen])
        ax.autoscale_view()


def _arrange_axes(fig: Figure, axes: NDArray[np.object_], layout: Layout) -> None:
    """Share axes down the columns, and label them on the left and at the bottom."""
    last = len(layout.panels)
    for column in axes.T:
        _share(column[:last], "y")
        if layout.ratio and not layout.ratio.limits:
            _share(column[last:], "y")
        if _share(column, "x"):
            for ax in column[:-1]:
                ax.tick_params(labelbottom=False, which="both")
    for row in axes[:last]:
        row[0].set_ylabel(_Y_LABELS[layout.quantity, layout.transform])
    if layout.ratio:
        heading.write_beside(axes[last][0], f"ratio to {layout.ratio.label}")
    fig.supxlabel(_X_LABELS[layout.x])


def _share(axes: Sequence[Axes], which: str) -> bool:
    """Give panels the same x or y axis, unless one of them would then be rather empty."""
    if len({getattr(ax, f"get_{which}scale")() for ax in axes}) > 1:
        return False
    limits = [getattr(ax, f"get_{which}lim")() for ax in axes]
    to_paper = getattr(axes[0], f"{which}axis").get_transform().transform
    lengths = [np.ptp(to_paper(np.array(ends))) for ends in limits]
    whole = min(low for low, _ in limits), max(high for _, high in limits)
    if min(lengths) < FILLED * np.ptp(to_paper(np.array(whole))):
        return False
    for ax in axes:
        getattr(ax, f"set_{which}lim")(whole)
    return True


def _handles(layout: Layout, curves: Mapping[Name, _Curve]) -> list[Line2D]:
    """What the legend lists: every label once."""
    handles: dict[str, Line2D] = {}
    for line in layout.lines:
        curve = curves[line.curve]
        label = _label(line, curve)
        marker = line.marker or ("o" if curve.x.size == 1 else "")
        look = _look(line, curve) | _marker_look(line, marker)
        handles.setdefault(label, Line2D([], [], label=label, **look))
    return list(handles.values())


def _label(line: Line, curve: _Curve) -> str:
    return line.label if curve.proven else f"{line.label} (not proven)"


def _look(line: Line, curve: _Curve) -> dict[str, Any]:
    style = line.style if curve.proven else "dotted"
    return {"color": line.color, "linestyle": style, "linewidth": line.width}


def _marker_look(line: Line, marker: str) -> dict[str, Any]:
    """An edge of a darker shade, which is seen where the line is thick or another lies over it."""
    edge = tuple(0.55 * part for part in to_rgb(line.color))
    return {
        "marker": marker,
        "markersize": 3.0 + line.width,
        "markerfacecolor": line.color,
        "markeredgecolor": edge,
        "markeredgewidth": 0.6,
    }


class _MinorLabels(LogFormatterSciNotation):
    """Labels between powers of ten, for an axis that shows fewer than two of those."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """No label for 3 and 6, 30 and 60, …: they would touch their neighbours'."""
        return "" if f"{x:.0e}"[0] in "36" else super().__call__(x, pos)
