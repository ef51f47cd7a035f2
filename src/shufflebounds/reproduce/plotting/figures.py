"""Printed figures: the panels of a `Sheet`, drawn by Matplotlib.

The same data give the same bytes: looks are fixed here, whatever the user's matplotlibrc says, and
files carry no dates.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from shufflebounds.core import validation
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.sheets import NOT_PROVEN, Limits, Sheet, View
from shufflebounds.reproduce.plotting.texts import three_digits, typeset, wrapped
from shufflebounds.reproduce.storage import write_bytes

# Inches.
PAGE_WIDTH, PAGE_HEIGHT = 7.0, 9.5
LONE_ROW_HEIGHT = 2.9  # of panels with nothing above or below but their own texts

_FONT, _SMALL_FONT = 0.95 * 0.8 * 12.0, 0.95 * 0.8 * 11.0  # points

THEME = {
    "font.family": "DejaVu Sans",
    "font.size": _FONT,
    "figure.labelsize": "medium",
    "text.color": "0.15",
    "lines.solid_capstyle": "round",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.xmargin": 0.02,
    "axes.edgecolor": "0.6",
    "axes.labelcolor": "0.15",
    "axes.labelsize": _FONT,
    "axes.linewidth": 0.6,
    "axes.titlesize": _FONT,
    "grid.color": "0.85",
    "grid.linewidth": 0.6,
    # No ticks; labels keep apart in the corner between two axes.
    **{
        f"{axis}tick.{key}": value
        for axis in "xy"
        for key, value in {
            "color": "0.15",
            "labelsize": _SMALL_FONT,
            "major.size": 0.0,
            "minor.size": 0.0,
            "major.pad": 5.0,
            "minor.pad": 5.0,
        }.items()
    },
    "xtick.bottom": False,
    "ytick.left": False,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "legend.labelspacing": 0.3,
    "savefig.dpi": 160,
    "pdf.fonttype": 42,
    "svg.hashsalt": "shufflebounds",  # else the names of its parts are random
}
METADATA = {
    "pdf": {"Creator": "shufflebounds", "Producer": None, "CreationDate": None},
    "png": {"Software": "shufflebounds"},
    "svg": {"Creator": "shufflebounds", "Date": None},
}

_COLORS = 128  # of a PNG: lines and their edges need no more

# Outside settings must rule neither the making of a figure nor its writing.
_fixed_looks = matplotlib.style.context(["default", THEME])


@_fixed_looks
def write(make: Callable[[str], Figure], paths: Sequence[str | Path]) -> None:
    """Write what `make` makes of ``pdf``, ``png`` or ``svg``, as each path's suffix says, to it.

    A file is replaced at once or not at all. Raises ValueError for any other suffix before
    anything is made.
    """
    files = [Path(path) for path in paths]
    for path in files:
        validation.choice(f"suffix of {path}", path.suffix, [f".{kind}" for kind in METADATA])
    for path in files:
        kind = path.suffix.removeprefix(".")
        # A figure apiece: saving one lays it out, and a second file would depend on the first.
        content = io.BytesIO()
        make(kind).savefig(content, format=kind, metadata=METADATA[kind])
        write_bytes(_small(content) if kind == "png" else content.getvalue(), path)


def _small(picture: io.BytesIO) -> bytes:
    """The same PNG with a palette, a third as large."""
    whole = Image.open(picture)
    notes = PngInfo()
    for name, text in whole.info.items():
        if isinstance(text, str):
            notes.add_text(str(name), text)
    content = io.BytesIO()
    few = whole.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE)
    few.save(content, format="png", optimize=True, pnginfo=notes, dpi=whole.info["dpi"])
    return content.getvalue()


# What stands above and around the panels: title, legend, letters; all of it within the figure.

# Inches.
_EDGE, _GAP = 0.05, 0.09


def _write_above_panels(
    fig: Figure,
    engine: ConstrainedLayoutEngine,
    axes: Sequence[Axes],
    parts: Sequence[Sequence[str]],
) -> None:
    """Give each panel its title, whose parts share a line if that fits in all panels.

    The texts beside the panels must be there already.
    """
    engine.execute(fig)  # so that the panels are as wide as they are going to be
    width = min(ax.bbox.width for ax in axes)
    size = float(axes[0].title.get_fontsize())
    titles = [", ".join(texts) for texts in parts]
    if any(_width(fig, text, size) > width for text in titles):
        titles = ["\n".join(_wrapped(fig, text, width, size) for text in texts) for texts in parts]
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(typeset(title))


def _write_above_all(
    fig: Figure, engine: ConstrainedLayoutEngine, title: str, handles: Sequence[Line2D]
) -> None:
    """Put the title and one legend, in as few rows as fit, above the panels.

    The figure grows by their height, though not beyond that of a page.
    """
    width = fig.bbox.width - 2.0 * _EDGE * fig.dpi
    above = fig.suptitle("", x=0.5, y=1.0, va="top")
    above.set_in_layout(False)
    size = float(above.get_fontsize())
    above.set_text(typeset(_wrapped(fig, title, width, size)))
    title_height = above.get_window_extent().height / fig.dpi
    legend = _legend(fig, handles, width)
    legend_height = legend.get_window_extent().height / fig.dpi if legend else 0.0
    # Edge, title, gap, legend, gap, panels.
    top = _EDGE + (title_height + _GAP if title else 0.0)
    head = top + (legend_height + _GAP if legend else 0.0)
    whole = min(fig.get_figheight() + head, PAGE_HEIGHT)
    fig.set_figheight(whole)
    above.set_y(1.0 - _EDGE / whole)
    if legend:
        legend.set_bbox_to_anchor((0.5, 1.0 - top / whole), fig.transFigure)
    engine.set(rect=(0.0, 0.0, 1.0, 1.0 - head / whole))


def _legend(fig: Figure, handles: Sequence[Line2D], width: float) -> Legend | None:
    labels = [typeset(str(handle.get_label())) for handle in handles]
    for rows in range(1, len(labels) + 1):
        columns = -(-len(labels) // rows)
        legend = _add_legend(fig, handles, labels, columns)
        extent = legend.get_window_extent()
        if extent.width <= width:
            return legend
        excess = extent.width - width
        size = float(legend.get_texts()[0].get_fontsize())
        legend.remove()
    if not labels:
        return None
    longest = max(_width(fig, label, size) for label in labels)
    labels = [
        typeset(_wrapped(fig, str(handle.get_label()), longest - excess, size))
        for handle in handles
    ]
    return _add_legend(fig, handles, labels, 1)


def _add_legend(
    fig: Figure, handles: Sequence[Line2D], labels: Sequence[str], columns: int
) -> Legend:
    legend = fig.legend(
        handles, labels, loc="upper center", ncols=columns, borderaxespad=0.0, borderpad=0.0
    )
    legend.set_in_layout(False)
    return legend


def _wrapped(fig: Figure, text: str, width: float, size: float) -> str:
    return wrapped(text, width, lambda line: _width(fig, line, size))


def _width(fig: Figure, text: str, size: float) -> float:
    """Width of one line of text in pixels."""
    drawn = fig.text(0.0, 0.0, typeset(text), fontsize=size)
    extent = drawn.get_window_extent()
    drawn.remove()
    return float(extent.width)


# The figure of a sheet.

PANEL_HEIGHT = 2.3  # inches

# Above all lines, which are at 2 + 1/width, or 10 more.
_ABOVE_LINES = 20.0


def draw(sheet: Sheet, paths: Sequence[str | Path], *, titled: bool = False) -> None:
    """Write the `figure` of a sheet to each path, as `write` does.

    PDF and SVG, which are for print, have a caption in the text around them, and no title unless
    they are to be `titled`.
    """
    write(lambda kind: figure(sheet, titled=titled or kind == "png"), paths)


@_fixed_looks
def figure(sheet: Sheet, *, titled: bool = True) -> Figure:
    """The figure of a sheet, with one legend for all panels, unless there is but one line.

    Values that a logarithmic axis cannot show, such as 0, are left out.
    """
    rows, columns = len(sheet.rows), len(sheet.rows[0])
    height = max(rows * PANEL_HEIGHT, LONE_ROW_HEIGHT)
    engine = ConstrainedLayoutEngine()
    fig = Figure(figsize=(PAGE_WIDTH * sheet.width, height), layout=engine)
    axes = fig.subplots(rows, columns, squeeze=False)
    for ax, view in zip(axes.flat, sheet.views, strict=True):
        if view.y_ticks:
            _map(ax, view, sheet.legend)
        else:
            _plot(ax, view)
    for row, views in zip(axes, sheet.rows, strict=True):
        for i, (ax, view) in enumerate(zip(row, views, strict=True)):
            if i == 0 or view.y_label != views[i - 1].y_label:
                # No longer than the panel is tall.
                tall, size = 0.8 * fig.bbox.height / rows, float(ax.yaxis.label.get_fontsize())
                ax.set_ylabel(typeset(_wrapped(fig, view.y_label, tall, size)))
    for column, views in zip(axes.T, zip(*sheet.rows, strict=True), strict=True):
        if len({view.x_limits for view in views}) == 1:
            for ax in column[:-1]:
                ax.tick_params(labelbottom=False, which="both")
    fig.supxlabel(typeset(sheet.x_label))
    _write_above_panels(fig, engine, list(axes.flat), [view.title for view in sheet.views])
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
    _write_above_all(fig, engine, sheet.title if titled else "", handles)
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
