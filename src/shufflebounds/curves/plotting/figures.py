"""Printed figures: the panels of a `Sheet`, drawn by Matplotlib, and maps by seaborn.

The same data give the same bytes: looks are fixed here, whatever the user's matplotlibrc says, and
files carry no dates.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from matplotlib.transforms import ScaledTranslation, blended_transform_factory
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from shufflebounds.core import validation
from shufflebounds.curves.files import write_bytes
from shufflebounds.curves.plotting.layout import USUAL_PRINT, Print
from shufflebounds.curves.plotting.looks import BAND, GRID, INK, MAP_COLOR, MAP_START, UNIT, Look
from shufflebounds.curves.plotting.names import (
    place_of_end,
    spread,
    with_arrow,
)
from shufflebounds.curves.plotting.sheets import (
    Drawn,
    FloatArray,
    PanelView,
    Sheet,
    height,
    shown_names,
)
from shufflebounds.curves.plotting.texts import number, plain, three_digits, typeset, wrapped
from shufflebounds.curves.plotting.ticks import ticks

# Height of a row of panels in inches.
PANEL_HEIGHT = 1.75
# The same of a row that is the only one, beside which all names must fit.
LONE_PANEL_HEIGHT = 2.2
# Height in inches of what stands above and below the axes of a panel, about.
PANEL_EDGE = 0.4
# Height of a row of a map in inches.
CELL_HEIGHT = 0.2
# Sizes of type in points.
FONT_SIZE = 8.0
SMALL_FONT_SIZE = 7.0
# Height in inches of a line of text with what stands around it.
LINE_HEIGHT = 0.15
# Height of a row of boxes of a diagram in inches, and the width of a box.
BOX_ROW_HEIGHT = 0.85
BOX_WIDTH = 1.25
# Characters in an inch of a line of text, about.
CHARACTERS_PER_INCH = 17.0
# Width of the figure's title, in larger type, as a share of the figure's.
TITLE_SHARE = 0.8
# Width in inches of a name beside a line.
LABEL_WIDTH = 1.5
# Markers of a line, about.
MARKERS = 6
# Where, beside a panel, a piece of each line is drawn and where its name begins, in inches.
SAMPLE = (0.04, 0.15, 0.26)
NAME_START = 0.29
# Characters of a name up to which two names above a panel stand side by side.
SHORT_NAME = 20
# Height of a line of names above a panel in points.
NAME_HEIGHT = 1.3 * SMALL_FONT_SIZE
# Points between a panel, or the names above it, and its title.
TITLE_PAD = 6.0
# Opacity of what is between both ends of a wide enclosure.
SHADE = 0.25
# Colours of a PNG file: lines and their edges need no more.
PNG_COLORS = 128

THEME = {
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    "axes.axisbelow": True,
    "axes.grid": True,
    **dict.fromkeys(("axes.labelsize", "axes.titlesize", "figure.labelsize"), FONT_SIZE),
    **dict.fromkeys(("axes.linewidth", "grid.linewidth"), 0.5),
    **dict.fromkeys(("axes.spines.right", "axes.spines.top"), False),
    "axes.titlelocation": "left",
    "axes.xmargin": 0.02,
    "grid.color": GRID,
    "figure.titlesize": FONT_SIZE + 1.0,
    "lines.markersize": 3.5,
    "lines.markeredgewidth": 0.7,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), SMALL_FONT_SIZE),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 1.5),
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    # Otherwise the names of the parts of an SVG file are random.
    "svg.hashsalt": "shufflebounds",
}
# What differs in print: a face like that of the text around the figure.
PRINT_THEME = {"font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix"}
METADATA: dict[str, dict[str, str | None]] = {
    "pdf": {"Creator": "shufflebounds", "Producer": None, "CreationDate": None},
    "png": {"Software": "shufflebounds"},
    "svg": {"Creator": "shufflebounds", "Date": None},
}


def write(
    make: Callable[[str], Figure],
    paths: Sequence[str | Path],
    *,
    source: str | None = None,
    fonts: Sequence[str] = (),
) -> None:
    """Write what `make` makes of ``pdf``, ``png`` or ``svg``, as each path's suffix says, to it.

    A file is replaced at once or not at all. PNG files name their `source`. Raises ValueError for
    any other suffix, and for a font that is not installed, before anything is made.
    """
    for font in fonts:
        _require_font(font)
    files = [Path(path) for path in paths]
    for path in files:
        validation.choice(f"suffix of {path}", path.suffix, [f".{kind}" for kind in METADATA])
    for path in files:
        kind = path.suffix.removeprefix(".")
        content = io.BytesIO()
        with _theme(kind, fonts):
            make(kind).savefig(content, format=kind, metadata=METADATA[kind])
        write_bytes(_small(content, source) if kind == "png" else content.getvalue(), path)


def _small(picture: io.BytesIO, source: str | None) -> bytes:
    """Return the same PNG with a palette, a third as large."""
    original = Image.open(picture)
    notes = PngInfo()
    for name, text in {**original.info, "Source": source}.items():
        if isinstance(text, str):
            notes.add_text(str(name), text)
    content = io.BytesIO()
    reduced = original.convert("RGB").quantize(PNG_COLORS, dither=Image.Dither.NONE)
    reduced.save(content, format="png", optimize=True, pnginfo=notes, dpi=original.info["dpi"])
    return content.getvalue()


def _theme(kind: str, fonts: Sequence[str] = ()) -> Any:
    """Return the context for drawing and writing figures of a kind, whatever a user's settings."""
    theme = {**THEME, **(PRINT_THEME if kind == "pdf" else {})}
    family: Any = theme["font.family"]
    usual = [family] if isinstance(family, str) else family
    return matplotlib.style.context(["default", {**theme, "font.family": [*fonts, *usual]}])


def _require_font(font: str) -> None:
    """Raise ValueError for a font that is not installed, in whose place another would be drawn."""
    if font not in {entry.name for entry in fontManager.ttflist}:
        raise ValueError(f"fonts must be installed, got {font!r}, which is not")


def draw(
    sheet: Sheet,
    paths: Sequence[str | Path],
    *,
    titled: bool = False,
    source: str | None = None,
    style: Print = USUAL_PRINT,
) -> None:
    """Write the `figure` of a sheet to each path, as `write` does.

    PDF and SVG, which are for print, have a caption in the text around them, and no title unless
    they are to be `titled`.
    """

    def make(kind: str) -> Figure:
        return figure(sheet, titled=titled or kind == "png", kind=kind, style=style)

    write(make, paths, source=source, fonts=style.fonts)


def figure(
    sheet: Sheet, *, titled: bool = True, kind: str = "png", style: Print = USUAL_PRINT
) -> Figure:
    """Return the figure of a sheet. Values that a logarithmic axis cannot show are left out."""
    with _theme(kind, style.fonts):
        return _figure(sheet, titled, style)


def _figure(sheet: Sheet, titled: bool, style: Print) -> Figure:
    """Return the figure of a sheet, in the theme that is set."""
    width, row_height = _figure_size(sheet, style)
    is_column = len(sheet.rows[0]) == 1
    has_lines = not (sheet.is_map or sheet.is_diagram)
    keys = _keys(sheet) if is_column and has_lines else {}
    key_height = sum(map(len, keys.values())) * NAME_HEIGHT / 72.0
    # Rows of a map are as high as their numbers, however much stands above and below.
    text_height = _text_height(sheet, titled, width) if sheet.is_map else 0.0
    height_ = len(sheet.rows) * row_height + key_height + text_height
    fig = Figure((width, height_), layout="constrained")
    # Texts are measured alike, whatever backend a user has.
    FigureCanvasAgg(fig)
    grid = fig.subplots(
        len(sheet.rows),
        len(sheet.rows[0]),
        squeeze=False,
        sharex=False if sheet.is_map else "col",
        sharey="row" if sheet.has_shared_rows else False,
    )
    label_height = row_height - PANEL_EDGE
    room = width - (0.5 if sheet.is_map or is_column else LABEL_WIDTH + 0.5)
    for i, (axes, views) in enumerate(zip(grid, sheet.rows, strict=True)):
        pad = TITLE_PAD + len(keys.get(i, [])) * NAME_HEIGHT
        _draw_row(sheet, i, axes, room / len(views), pad)
        _label_rows(axes, views, label_height, sheet.row_head(i))
    fig.align_ylabels()
    fig.supxlabel(typeset(_x_label(sheet, width)))
    _write_heading(fig, sheet, titled, width)
    for i, lines in keys.items():
        _write_key(grid[i][0], lines)
    if has_lines and not is_column:
        _name_lines(fig, [(axes[-1], views) for axes, views in zip(grid, sheet.rows, strict=True)])
    return fig


def _draw_row(sheet: Sheet, i: int, axes: Sequence[Axes], width: float, pad: float) -> None:
    """Draw row i of panels, each with a title of at most a `width` in inches, `pad` points up."""
    views = sheet.rows[i]
    for j, (ax, view) in enumerate(zip(axes, views, strict=True)):
        _draw_panel(ax, view, sheet, views if sheet.has_shared_rows else [view])
        title = _panel_title(view.letter, sheet.printed_title(i, j), width)
        ax.set_title(typeset(title), pad=pad)


def _x_label(sheet: Sheet, width: float) -> str:
    """Return what stands below the panels."""
    if sheet.is_diagram:
        return _broken(sheet.x_label, width)
    return sheet.x_label + (_key(sheet, width) if sheet.is_map else "")


def _heading(sheet: Sheet, titled: bool, width: float) -> tuple[str, str]:
    """Return what stands above the panels: what all of them share, and the title; broken."""
    heading = _broken(sheet.heading if titled else ", ".join(sheet.common), width)
    return heading, _broken(sheet.title, TITLE_SHARE * width) if titled else ""


def _text_height(sheet: Sheet, titled: bool, width: float) -> float:
    """Return the height in inches of all text above and below the panels, about."""
    texts = [*_heading(sheet, titled, width), _x_label(sheet, width)]
    lines = sum(text.count("\n") + 1 for text in texts if text)
    return LINE_HEIGHT * (lines + 1)


def _write_heading(fig: Figure, sheet: Sheet, titled: bool, width: float) -> None:
    """Write the title of a figure, below what all panels share, or only the latter."""
    heading, title = _heading(sheet, titled, width)
    if titled:
        room = "\n" * (heading.count("\n") + 1) if heading else ""
        fig.suptitle(typeset(room + title), x=0.01, ha="left")
        fig.text(0.01, 0.995, typeset(heading), va="top", fontsize=SMALL_FONT_SIZE)
    elif heading:
        fig.suptitle(typeset(heading), x=0.01, ha="left", fontsize=SMALL_FONT_SIZE)


def _figure_size(sheet: Sheet, style: Print) -> tuple[float, float]:
    """Return the width of a figure and the height of a row of its panels, in inches."""
    width = style.page_width if len(sheet.rows[0]) > 1 else style.column_width
    first = sheet.views[0]
    if sheet.is_map:
        lines = max(name.count("\n") + 1 for name in first.x_ticks)
        return width, len(first.y_ticks) * CELL_HEIGHT + PANEL_EDGE + lines * LINE_HEIGHT
    if sheet.is_diagram:
        return width, (max(box.y for box in first.boxes) + 1.0) * BOX_ROW_HEIGHT
    return width, PANEL_HEIGHT if len(sheet.rows) > 1 else LONE_PANEL_HEIGHT


def _draw_panel(ax: Axes, view: PanelView, sheet: Sheet, views: Sequence[PanelView]) -> None:
    """Draw a map, a diagram or lines, of a panel whose y axis is that of some views."""
    if sheet.is_map:
        _map(ax, view, _color_limits(sheet))
    elif sheet.is_diagram:
        _diagram(ax, view)
    else:
        _plot(ax, view, views)


def _label_rows(axes: Sequence[Axes], views: Sequence[PanelView], height: float, head: str) -> None:
    """Label the y axes of a row of panels; what the panel to the left says is not repeated.

    The head of the row stands before the first label.
    """
    lines = (_broken(text, height) for text in (head, views[0].y_label) if text)
    axes[0].set_ylabel(typeset("\n".join(lines)))
    for ax, view, left in zip(axes[1:], views[1:], views, strict=False):
        if view.y_ticks and view.y_ticks == views[0].y_ticks:
            ax.set_yticklabels([])
        if view.y_label != left.y_label:
            ax.set_ylabel(typeset(_broken(view.y_label, height)))


def _broken(text: str, width: float) -> str:
    """Return the text in lines of at most so many inches, about."""
    return wrapped(text, round(width * CHARACTERS_PER_INCH))


def _panel_title(letter: str, parts: Sequence[str], width: float) -> str:
    """Return the parts of a title in one line if they fit, else the first in a line of its own."""
    first, *others = parts or [""]
    first = f"{letter} {first}".strip()
    lines = _broken(", ".join([first, *others]), width)
    if "\n" in lines and others:
        return "\n".join([_broken(first, width), _broken(", ".join(others), width)])
    return lines


def line_style(look: Look) -> dict[str, Any]:
    """Return the keyword arguments of a line for Matplotlib, without its marker."""
    dashes = (0, tuple(part / look.width for part in look.dashes)) if look.dashes else "solid"
    return {"color": look.color, "linewidth": look.width, "linestyle": dashes}


def marker_style(look: Look) -> dict[str, Any]:
    """Return the keyword arguments of the markers of a line for Matplotlib."""
    face = "white" if look.is_hollow else look.color
    return {"marker": look.marker, "markerfacecolor": face, "markeredgecolor": look.color}


def _plot(ax: Axes, view: PanelView, views: Sequence[PanelView]) -> None:
    """Draw the lines of a panel, whose y axis shows some views.

    Lower bounds lie below all else, thin lines over thick ones, and dots over all.
    """
    _set_scale(ax, "x", view.shown_x(), view.x_log)
    y = np.concatenate([view.shown_y() for view in views])
    _set_scale(ax, "y", y, view.y_log, view.is_ratio)
    if view.band:
        ax.fill_between(view.band[0].x, *view.band_edges(), color=BAND, linewidth=0.0)
    for line, curve in view.lines:
        _shade(ax, view, curve, line.look.color)
        ax.plot(
            curve.x,
            curve.y,
            label=line.label,
            markevery=max(1, curve.x.size // MARKERS),
            zorder=height(line, curve),
            **line_style(line.look),
            **marker_style(line.look),
        )
    if view.is_ratio:
        ax.axhline(1.0, color=UNIT, linewidth=0.8, zorder=0.9)
    for y in view.least_y():
        ax.axhline(y, alpha=0.0)
    if view.x_limits:
        ax.set_xlim(view.x_limits)
    if view.y_limits:
        ax.set_ylim(view.y_limits)


def _shade(ax: Axes, view: PanelView, curve: Drawn, color: str) -> None:
    """Shade the enclosures of a curve if they are visibly wide; the axis makes no room for them."""
    if ends := view.wide_ends(curve):
        limits = ax.dataLim.frozen()
        ax.fill_between(curve.x, *ends, color=color, alpha=SHADE, linewidth=0.0, zorder=0.8)
        ax.dataLim.set(limits)


def _set_scale(
    ax: Axes, name: str, values: FloatArray, is_log: bool, is_ratio: bool = False
) -> None:
    """Set the scale of the axis x or y, which shows some values, and plain numbers at its ticks."""
    axis: Axis = getattr(ax, f"{name}axis")
    if is_log:
        getattr(ax, f"set_{name}scale")("log", nonpositive="mask")
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_locator(FixedLocator(ticks(name, values, is_log=is_log, is_ratio=is_ratio)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value) + "×" * is_ratio))


def _keys(sheet: Sheet) -> dict[int, list[list[tuple[str, str]]]]:
    """Return labels and names of lines above each panel of a column, in lines of one or two.

    A panel has those that no panel above it has, in the order of the lines' ends from above.
    """
    keys: dict[int, list[list[tuple[str, str]]]] = {}
    named: set[str] = set()
    for i, [view] in enumerate(sheet.rows):
        views = [row[0] for row in sheet.rows if not row[0].is_ratio or view.is_ratio]
        shown = shown_names([*views, view], is_log=view.y_log)
        ends = {line.label: _last(curve) for line, curve in view.lines[::-1] if view.shows(curve)}
        names = [(label, name) for label, name in shown.items() if label in ends.keys() - named]
        names = sorted(names[::-1], key=lambda name: -float(f"{ends[name[0]]:.3g}"))
        named |= ends.keys()
        columns = 2 if max((len(plain(name)) for _, name in names), default=0) <= SHORT_NAME else 1
        if names:
            keys[i] = [names[k : k + columns] for k in range(0, len(names), columns)]
    return keys


def _write_key(ax: Axes, key: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Write the names of lines, as `_keys` has them, between a panel and its title."""
    handles = {str(line.get_label()): line for line in ax.get_lines()}
    # Legends are filled by columns.
    names = [row[k] for k in range(len(key[0])) for row in key if k < len(row)]
    ax.legend(
        [handles[label] for label, _ in names],
        [typeset(name) for _, name in names],
        ncols=len(key[0]),
        labelcolor=[handles[label].get_color() for label, _ in names],
        fontsize=SMALL_FONT_SIZE,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        frameon=False,
        borderpad=0.0,
        borderaxespad=0.3,
        labelspacing=NAME_HEIGHT / SMALL_FONT_SIZE - 1.0,
        handlelength=2.4,
        columnspacing=1.0,
    )


def _name_lines(fig: Figure, panels: Sequence[tuple[Axes, Sequence[PanelView]]]) -> None:
    """Write the names of the lines of each row of views beside its last panel.

    A name stands at the end of its line as far as there is room.
    """
    name_rows = [(ax, _draw_names(ax, views)) for ax, views in panels]
    fig.draw_without_rendering()
    # From here on nothing moves. The last bits of the layout depend on a user's backend.
    fig.set_layout_engine("none")
    for ax in fig.axes:
        ax.set_position(tuple(np.round(ax.get_position().bounds, 6)))
    for ax, names in name_rows:
        heights = [name.get_window_extent().height / ax.bbox.height for name, _, _ in names]
        places = spread(np.array([place for _, _, place in names]), np.array(heights))
        for (name, sample, _), place in zip(names, places, strict=True):
            name.set_y(place)
            sample.set_ydata([place] * 3)


def _draw_names(ax: Axes, views: Sequence[PanelView]) -> list[tuple[Text, Line2D, float]]:
    """Draw the names beside a panel, at its middle; return each with its sample and the line's end.

    Lines that share a name have it once; lines that no panel of the row shows have none.
    """
    # From the right edge of the panel in inches, and along its height.
    edge = ScaledTranslation(1.0, 0.0, ax.transAxes)  # type: ignore[arg-type]
    inches = ax.get_figure(root=True).dpi_scale_trans  # type: ignore[union-attr]
    place: dict[str, Any] = {
        "transform": blended_transform_factory(inches + edge, ax.transAxes),
        "clip_on": False,
    }
    is_log, limits = ax.get_yscale() == "log", ax.get_ylim()
    names = []
    lines = {line.label: (line, curve) for line, curve in views[-1].lines[::-1]}
    for label, shown in shown_names(views, is_log=is_log).items():
        line, curve = lines[label]
        look = {**line_style(line.look), **marker_style(line.look), "markevery": [1]}
        [sample] = ax.plot(SAMPLE, [0.5] * 3, scalex=False, scaley=False, **look, **place)
        leaves_at = place_of_end(curve.y, limits, is_log=is_log)
        text = typeset(_broken(with_arrow(shown, leaves_at), LABEL_WIDTH))
        name = ax.text(NAME_START, 0.5, text, va="center", color=line.look.color, **place)
        name.set_fontsize(SMALL_FONT_SIZE)
        names.append((name, sample, leaves_at))
    return names


def _last(curve: Drawn) -> float:
    """Return the last number of a curve; −∞ if it has none."""
    return float([-np.inf, *curve.y[np.isfinite(curve.y)]][-1])


def _diagram(ax: Axes, view: PanelView) -> None:
    """Draw the boxes of a diagram, and the arrows between them with their names."""
    ax.set_axis_off()
    # As much room at the right as there is at the left.
    ax.set_xlim(0.0, max(box.x for box in view.boxes) + min(box.x for box in view.boxes))
    ax.set_ylim(-0.4, max(box.y for box in view.boxes) + 0.4)
    frame = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": INK, "linewidth": 0.7}
    patches = {
        (box.x, box.y): ax.text(
            box.x,
            box.y,
            typeset(_broken(box.text, BOX_WIDTH)),
            ha="center",
            va="center",
            fontsize=SMALL_FONT_SIZE,
            bbox=frame,
        ).get_bbox_patch()
        for box in view.boxes
    }
    for line, curve in view.lines:
        start, end = zip(curve.x.tolist(), curve.y.tolist(), strict=True)
        style = line_style(line.look)
        ax.annotate(
            "",
            end,
            start,
            arrowprops={
                "arrowstyle": "-|>,head_length=0.3,head_width=0.15",
                "patchA": patches[start],
                "patchB": patches[end],
                "shrinkA": 1.0,
                "shrinkB": 1.0,
                "mutation_scale": 12.0,
                "color": style["color"],
                "linewidth": style["linewidth"],
                "linestyle": style["linestyle"],
            },
        )
        ax.annotate(
            typeset(line.name),
            (float(curve.x.mean()), float(curve.y.mean())),
            ha="center",
            va="center",
            color=line.look.color,
            fontsize=SMALL_FONT_SIZE,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )


def _color_limits(sheet: Sheet) -> LogNorm:
    """Return the scale of all maps of a sheet."""
    values = np.concatenate([curve.upper for view in sheet.views for _, curve in view.lines])
    return LogNorm(float(np.nanmin(values)), float(np.nanmax(values)))


def _map(ax: Axes, view: PanelView, norm: LogNorm) -> None:
    """Draw the cells of a map: shades and numbers, and letters that say whose they are."""
    # Only the workflow has maps, and the extra ``plot`` is without it.
    import seaborn as sns

    size = len(view.y_ticks), len(view.x_ticks)
    values, texts = np.full(size, np.nan), np.full(size, "", dtype=object)
    for line, cells in view.lines:
        places = cells.y.astype(int), cells.x.astype(int)
        values[places] = cells.upper
        texts[places] = [
            " ".join([three_digits(end), line.label[:1]]).strip() for end in cells.upper
        ]
    sns.heatmap(
        values,
        norm=norm,
        cmap=sns.blend_palette([MAP_START, MAP_COLOR], as_cmap=True),
        annot=texts,
        fmt="",
        annot_kws={"size": SMALL_FONT_SIZE, "color": INK},
        linewidths=0.5,
        cbar=False,
        xticklabels=[typeset(name) for name in view.x_ticks],
        yticklabels=[typeset(name) for name in view.y_ticks],
        ax=ax,
    )
    ax.invert_yaxis()
    ax.tick_params(labelrotation=0.0, length=0.0)


def _key(sheet: Sheet, width: float) -> str:
    """Return what the numbers and the letters of maps stand for, in lines below the axis."""
    texts = filter(None, (sheet.numbers, sheet.letters))
    return "".join(f"\n{_broken(text, width)}" for text in texts)
