"""Printed figures: the panels of a `Sheet`, drawn by Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation

from shufflebounds.reproduce.plotting import theme
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.sheets import NOT_PROVEN, Limits, Sheet, View
from shufflebounds.reproduce.plotting.texts import three_digits, typeset

PANEL_HEIGHT = 2.3  # inches

# Above all lines, which are at 2 + 1/width, or 10 more.
_ABOVE_LINES = 20.0


def draw(sheet: Sheet, paths: Sequence[str | Path], *, titled: bool = False) -> None:
    """Write the `figure` of a sheet to each path, as `theme.write` does.

    PDF and SVG, which are for print, have a caption in the text around them, and no title unless
    they are to be `titled`.
    """
    theme.write(lambda kind: figure(sheet, titled=titled or kind == "png"), paths)


@theme.fixed_looks
def figure(sheet: Sheet, *, titled: bool = True) -> Figure:
    """The figure of a sheet, with one legend for all panels, unless there is but one line.

    Values that a logarithmic axis cannot show, such as 0, are left out.
    """
    rows, columns = len(sheet.rows), len(sheet.rows[0])
    height = max(rows * PANEL_HEIGHT, theme.LONE_ROW_HEIGHT)
    fig = Figure(figsize=(theme.PAGE_WIDTH * sheet.width, height), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False)
    for ax, view in zip(axes.flat, sheet.views, strict=True):
        if view.y_ticks:
            _map(ax, view, sheet.legend)
        else:
            _plot(ax, view)
    for row, views in zip(axes, sheet.rows, strict=True):
        for i, (ax, view) in enumerate(zip(row, views, strict=True)):
            if i == 0 or view.y_label != views[i - 1].y_label:
                theme.write_beside(ax, view.y_label)
    for column, views in zip(axes.T, zip(*sheet.rows, strict=True), strict=True):
        if len({view.x_limits for view in views}) == 1:
            for ax in column[:-1]:
                ax.tick_params(labelbottom=False, which="both")
    fig.supxlabel(typeset(sheet.x_label))
    theme.write_above_panels(list(axes.flat), [view.title for view in sheet.views])
    handles = [
        Line2D([], [], label=label, **_look(line), **_marker_look(line))
        for label, line in sheet.legend.items()
        if not sheet.views[0].is_step
    ]
    unproven = [handle for handle in handles if str(handle.get_label()).endswith(NOT_PROVEN)]
    if len(unproven) > 1:  # said once
        for handle in unproven:
            handle.set_label(str(handle.get_label()).removesuffix(NOT_PROVEN))
        handles.append(Line2D([], [], label="dotted: not proven", linestyle="none"))
    if sheet.views[0].y_ticks:
        for handle in handles:
            handle.set(linestyle="none", marker="s", markersize=8.0)
    theme.write_above_all(fig, sheet.title if titled else "", handles, theme.PAGE_HEIGHT)
    return fig


def _plot(ax: Axes, view: View) -> None:
    _scale(ax, "x", view.x_log, view.x_limits)
    _scale(ax, "y", view.y_log, view.y_limits)
    for position, (line, curve) in enumerate(view.lines):
        ax.plot(
            curve.x,
            curve.y,
            label=line.label,
            drawstyle="steps-post" if view.is_step else "default",
            # Thin over thick, since upper and lower bound nearly coincide, and dots over all.
            zorder=2.0 + 1.0 / line.width + 10.0 * (line.style == "dotted"),
            **_look(line),
        )
        if line.marker:
            some = curve.marked(position)
            ax.plot(
                curve.x[some],
                curve.y[some],
                label="_markers",
                linestyle="none",
                zorder=_ABOVE_LINES,
                **_marker_look(line),
            )
    if view.x_ticks:
        ax.set_xticks(range(len(view.x_ticks)), view.x_ticks, rotation=30.0, ha="right")
    ax.set(xlim=view.x_limits, ylim=view.y_limits)


def _map(ax: Axes, view: View, legend: Mapping[str, Line]) -> None:
    import seaborn as sns  # a second of imports, for maps alone

    labels = list(legend)
    size = len(view.y_ticks), len(view.x_ticks)
    shown, told = np.full(size, np.nan), np.full(size, "", dtype=object)
    for line, cells in view.lines:
        places = cells.y.astype(int), cells.x.astype(int)
        shown[places] = labels.index(line.label)
        told[places] = [three_digits(end) for end in cells.upper]
    sns.heatmap(
        shown,
        vmin=0,
        vmax=len(labels),
        cmap=[line.color for line in legend.values()],
        annot=told,
        fmt="",
        annot_kws={"size": 8.0},
        linewidths=0.5,
        cbar=False,
        xticklabels=list(map(typeset, view.x_ticks)),
        yticklabels=list(map(typeset, view.y_ticks)),
        ax=ax,
    )
    ax.invert_yaxis()
    ax.tick_params(labelrotation=0.0)


def _scale(ax: Axes, axis: Literal["x", "y"], logarithmic: bool, limits: Limits) -> None:
    if logarithmic:
        getattr(ax, f"set_{axis}scale")("log", nonpositive="mask")
        getattr(ax, f"{axis}axis").set_minor_formatter(_MinorLabels())
        # Of many decades finer lines are but a shade.
        if limits[1] < 1e4 * limits[0]:
            ax.grid(which="minor", axis=axis, linewidth=0.25)


def _look(line: Line) -> dict[str, Any]:
    return {"color": line.color, "linestyle": line.style, "linewidth": line.width}


def _marker_look(line: Line) -> dict[str, Any]:
    """An edge of a darker shade, which is seen where the line is thick or another lies over it."""
    return {
        "marker": line.marker,
        "markersize": 3.0 + line.width,
        "markerfacecolor": line.color,
        "markeredgecolor": tuple(0.55 * part for part in to_rgb(line.color)),
        "markeredgewidth": 0.6,
    }


class _MinorLabels(LogFormatterSciNotation):
    """Labels between powers of ten, for an axis that shows fewer than two of those."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """No label for 3 and 6, 30 and 60, …: they would touch their neighbours'."""
        return "" if f"{x:.0e}"[0] in "36" else super().__call__(x, pos)
