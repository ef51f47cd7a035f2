"""Figures of curves in rows of panels, as their `Layout` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.reproduce.plotting import theme
from shufflebounds.reproduce.plotting.layout import (
    DEFAULT_WIDTH,
    SMALLEST_DELTA,
    X_LABELS,
    Y_LABELS,
    Drawn,
    FloatArray,
    Layout,
    Line,
    Panel,
    common,
    divided,
    drawn,
    label,
    logarithmic_x,
    logarithmic_y,
    marked,
    marker,
    steps,
    style,
)
from shufflebounds.reproduce.plotting.texts import typeset
from shufflebounds.reproduce.plotting.theme import (
    LONE_ROW_HEIGHT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    fixed_looks,
    write,
)
from shufflebounds.reproduce.specification import CurveName

PANEL_HEIGHT = 2.3  # inches

# Above all lines, which are at 2 + 1/width.
_ABOVE_LINES = 20.0


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
    curves = {name: drawn(frame, layout, name) for name in layout.curves}
    rows = len(layout.panels) * (2 if layout.ratio else 1)
    columns = len(layout.panels[0])
    height = max(rows * PANEL_HEIGHT, LONE_ROW_HEIGHT)
    fig = Figure(figsize=(PAGE_WIDTH * min(columns / 2, 1), height), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False)
    for row, shown in zip(axes, layout.panels, strict=False):
        for ax, panel in zip(row, shown, strict=True):
            _draw_panel(ax, panel, {line.curve: curves[line.curve] for line in panel.lines}, layout)
    if layout.ratio:
        for ax, panel, name in zip(axes[1], layout.panels[0], layout.ratio.curves, strict=True):
            _draw_ratio(ax, panel, divided(curves, panel, name), layout)
    _arrange_axes(fig, axes, layout)
    panels = [panel for row in layout.panels for panel in row] * (2 if layout.ratio else 1)
    theme.write_above_panels(list(axes.flat), [(one.subject, one.setting) for one in panels])
    theme.write_above_all(fig, layout.title, _handles(layout, curves), PAGE_HEIGHT)
    return fig


def _draw_panel(ax: Axes, panel: Panel, curves: Mapping[CurveName, Drawn], layout: Layout) -> None:
    _scale(ax, "x", logarithmic=logarithmic_x(layout))
    _scale(ax, "y", logarithmic=logarithmic_y(layout, curves))
    _plot(ax, panel, curves)
    if layout.quantity == "delta":
        _make_room(ax, curves, SMALLEST_DELTA)


def _draw_ratio(ax: Axes, panel: Panel, curves: Mapping[CurveName, Drawn], layout: Layout) -> None:
    _scale(ax, "x", logarithmic=logarithmic_x(layout))
    _plot(ax, panel, curves)
    if layout.ratio and layout.ratio.limits:
        ax.set_ylim(*layout.ratio.limits)


def _plot(ax: Axes, panel: Panel, curves: Mapping[CurveName, Drawn]) -> None:
    for position, line in enumerate(panel.lines):
        curve = curves[line.curve]
        look = _look(line, curve)
        # Thin over thick: upper and lower bound nearly coincide.
        ax.plot(curve.x, curve.y, label=label(line, curve), zorder=2.0 + 1.0 / line.width, **look)
        if symbol := marker(line, curve):
            some = marked(position, curve.x.size)
            ax.plot(
                curve.x[some],
                curve.y[some],
                label="_markers",
                linestyle="none",
                zorder=_ABOVE_LINES,
                **_marker_look(line, symbol),
            )


def _scale(ax: Axes, axis: Literal["x", "y"], *, logarithmic: bool) -> None:
    if logarithmic:
        getattr(ax, f"set_{axis}scale")("log", nonpositive="mask")
        getattr(ax, f"{axis}axis").set_minor_formatter(_MinorLabels())
        ax.grid(which="minor", axis=axis, linewidth=0.25)


def _make_room(ax: Axes, curves: Mapping[CurveName, Drawn], smallest: float) -> None:
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
        row[0].set_ylabel(Y_LABELS[layout.quantity, layout.transform])
    if layout.ratio:
        theme.write_beside(axes[last][0], f"ratio to {layout.ratio.label}")
    fig.supxlabel(X_LABELS[layout.x])


def _share(axes: Sequence[Axes], which: str) -> bool:
    """Give panels the same x or y axis, unless one of them would then be rather empty."""
    if len({getattr(ax, f"get_{which}scale")() for ax in axes}) > 1:
        return False
    limits = [getattr(ax, f"get_{which}lim")() for ax in axes]
    whole = common(limits, getattr(axes[0], f"{which}axis").get_transform().transform)
    if whole is None:
        return False
    for ax in axes:
        getattr(ax, f"set_{which}lim")(whole)
    return True


def _handles(layout: Layout, curves: Mapping[CurveName, Drawn]) -> list[Line2D]:
    """What the legend lists: every label once."""
    handles: dict[str, Line2D] = {}
    for line in layout.lines:
        curve = curves[line.curve]
        text = label(line, curve)
        look = _look(line, curve) | _marker_look(line, marker(line, curve))
        handles.setdefault(text, Line2D([], [], label=text, **look))
    return list(handles.values())


def _look(line: Line, curve: Drawn) -> dict[str, Any]:
    return {"color": line.color, "linestyle": style(line, curve), "linewidth": line.width}


def _marker_look(line: Line, symbol: str) -> dict[str, Any]:
    """An edge of a darker shade, which is seen where the line is thick or another lies over it."""
    edge = tuple(0.55 * part for part in to_rgb(line.color))
    return {
        "marker": symbol,
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


# The figure of a cumulative distribution function with steps.


@fixed_looks
def step_figure(frame: pd.DataFrame, title: str, x: str, y: str, setting: str = "") -> Figure:
    """The distribution function as a line that rises upright where there is an atom.

    Parameters
    ----------
    frame
        A right-continuous step function, as `steps.steps` takes it, which says what is raised.
    title, x, y
        Above the panel, and along its axes; mathtext allowed.
    setting
        Below the title: what is fixed, such as ε₀ = 1.

    """
    value, cdf = steps(frame)
    fig = Figure(figsize=(0.7 * PAGE_WIDTH, LONE_ROW_HEIGHT), layout="constrained")
    ax = fig.subplots()
    ax.plot(value, cdf, drawstyle="steps-post", color="#0072b2", linewidth=1.5)
    ax.set(xlim=(value[0], value[-1]), ylim=(-0.04, 1.04))
    ax.set_xlabel(typeset(x))
    ax.set_ylabel(typeset(y))
    theme.write_above_panels([ax], [[setting]])
    theme.write_above_all(fig, title, [], PAGE_HEIGHT)
    return fig


# The figure of trade-off curves: what an attack misses against what it takes for it by mistake.

_POINTS = 101
_SMALLEST_RATE = 1e-5
_GUESS = {"color": "0.6", "linestyle": "dotted", "linewidth": 1.0}


@dataclass(frozen=True)
class TradeOffLine:
    """A trade-off curve: false negatives at a rate of false positives, and the end that counts.

    ``look`` has the entries that `layout.Line` has: color, style, marker, width.
    """

    label: str
    false_negatives: Callable[[float], Enclosure]
    end: Literal["lower", "upper"]
    look: Mapping[str, Any]

    def at(self, rates: FloatArray) -> FloatArray:
        """The end that counts, shape of `rates`."""
        return np.array([getattr(self.false_negatives(float(one)), self.end) for one in rates])


def draw_trade_off(lines: Sequence[TradeOffLine], title: str, paths: Sequence[str | Path]) -> None:
    """Write the `figure` of the same arguments to each path, as `theme.write` does."""
    write(lambda: trade_off_figure(lines, title), paths)


@fixed_looks
def trade_off_figure(lines: Sequence[TradeOffLine], title: str) -> Figure:
    """False negatives on the left; on the right, what attacks find at few false positives."""
    fig = Figure(figsize=(PAGE_WIDTH, LONE_ROW_HEIGHT + 0.4), layout="constrained")
    whole, few = fig.subplots(1, 2)
    rates = np.linspace(0.0, 1.0, _POINTS)
    rare = np.geomspace(_SMALLEST_RATE, 1.0, _POINTS)
    handles = []
    for line in lines:
        handles += _plot_trade_off(whole, rates, line.at(rates), line)
        _plot_trade_off(few, rare, 1.0 - line.at(rare), line)
    (guess,) = whole.plot(rates, 1.0 - rates, label="a guess", **_GUESS)
    few.plot(rare, rare, **_GUESS)
    whole.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    few.set(xscale="log", yscale="log", xlim=(_SMALLEST_RATE, 1.0))
    whole.set_ylabel("rate of false negatives")
    few.set_ylabel("rate of true positives")
    for ax in (whole, few):
        ax.set_xlabel("rate of false positives")
    theme.write_above_all(fig, title, [*handles, guess], PAGE_HEIGHT)
    return fig


def _plot_trade_off(ax: Axes, x: FloatArray, y: FloatArray, line: TradeOffLine) -> list:
    look = line.look
    return ax.plot(
        x,
        y,
        label=line.label,
        color=look["color"],
        linestyle=look.get("style", "solid"),
        linewidth=look.get("width", DEFAULT_WIDTH),
        marker=look.get("marker", ""),
        markevery=_POINTS // 6,
        markersize=4.0,
    )
