"""Interactive figures: a `Sheet` as a page where one reads off values and hides curves; a gallery.

Altair makes a Vega-Lite specification and checks it. It is compiled to Vega here, so that a page
needs nothing but Vega, which comes inside the page.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal

import altair as alt
import numpy as np
import vl_convert
from PIL import Image

from shufflebounds.core.enclosure import outward
from shufflebounds.reproduce.plotting.descriptions import panel_text
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.sheets import Box, FloatArray, Limits, Sheet, View
from shufflebounds.reproduce.plotting.texts import expression, plain, wrapped

# Pixels.
_WIDE, _NARROW, _HEIGHT = 640, 430, 240
_CELL = 600  # their square
# Half the width of a box, in units of the distance of two boxes of a row.
_BOX_WIDTH = 0.3
# Half the height of a box, in units of the distance of two rows.
_BOX_HEIGHT = 0.27
# Height of a row of boxes in pixels.
_BOX_ROW = 100
# Height of a line of text in a box in pixels, and its characters: so many fit into the width.
_LINE = 16
_BOX_CHARACTERS = 22
# Outline of the head of an arrow that points upwards, from −1 to 1; taller than wide, to be read
# when turned.
_HEAD = "M0,-1L0.6,0.9L0,0.5L-0.6,0.9Z"
# Room at the ends of an axis, as a share of its length.
MARGIN = 0.03
# Markers of a line, about.
MARKERS = 6
_SHOWN = "indexof(hidden, datum.line) < 0"
_NUMBERS = dict.fromkeys(("line", "curve", "x", "y", "marked"), "number")


def page(sheet: Sheet, program: str) -> str:
    """The HTML page of a sheet: one file that needs no network.

    Its legend is made of check boxes, and a slider reads all curves at one place, so that whoever
    uses the keyboard or a screen reader gets what others get by hovering. `program` draws it, as
    the function of that name returns it. Equal arguments give equal pages.
    """
    legend = {label: look(line) for label, line in sheet.legend.items()}
    # A diagram has no axis to read at.
    curves = [curve for view in sheet.views if not view.boxes for _, curve in view.lines]
    places = {x for curve in curves for x in curve.x.tolist()}
    positions = [int(x) if x.is_integer() else x for x in sorted(places)]
    # What the script of page.html reads, all texts plain: symbols of the axis and of what the
    # enclosures hold, labels in the order of `line` in the data, and Vega's specification with
    # the data sets panel_0, … and the signals `hidden` (lines) and `at` (a value of the axis).
    figure = {
        "title": plain(sheet.title),
        "x": sheet.x,
        "ticks": list(map(plain, sheet.views[0].x_ticks)),
        "rows": list(map(plain, sheet.views[0].y_ticks)),
        "quantity": plain(sheet.quantity),
        "positions": positions,
        "panels": [
            {
                "title": _title(view),
                "y": plain(view.y_label),
                "is_ratio": view.is_ratio,
                "names": _names(view),
            }
            for view in sheet.views
        ],
        "lines": [plain(label) for label in legend],
        "specification": _compiled(_chart(sheet, legend)),
    }
    # As JSON in which nothing ends a script, whatever the texts are.
    data = json.dumps(figure, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return Filled(template).substitute(
        title=html.escape(plain(sheet.title)),
        legend="\n".join(_entry(plain(label), shown) for label, shown in legend.items()),
        told=html.escape(_text_below(sheet)),
        last=max(len(positions) - 1, 0),
        middle=max(len(positions) - 1, 0) // 2,
        figure=data,
        program=packed(program),
    )


def _text_below(sheet: Sheet) -> str:
    """What stands below the panels: what the table there holds, or a diagram in words."""
    if sheet.views[0].boxes:
        return plain(" ".join(map(panel_text, sheet.views)))
    return f"{plain(sheet.quantity)} lies between these ends, which are rounded outward:"


def _names(view: View) -> list[str]:
    """How tooltips and tables call each curve of a panel: by its mechanism where labels repeat."""
    labels = [line.label for line, _ in view.lines]
    return [
        plain(line.name if line.name and labels.count(line.label) > 1 else line.label)
        for line, _ in view.lines
    ]


def _title(view: View) -> str:
    return plain(", ".join(view.title))


def _chart(sheet: Sheet, legend: Mapping[str, Look]) -> alt.ConcatChart:
    columns = len(sheet.rows[0])
    size = {"width": _WIDE if columns == 1 else _NARROW, "height": _HEIGHT}
    if sheet.views[0].boxes:
        size["height"] = round(_BOX_ROW * (1.0 + max(box.y for box in sheet.views[0].boxes)))
    panels = [
        (_diagram if view.boxes else _panel)(i, view, plain(sheet.x_label), legend).properties(
            **size
        )
        for i, view in enumerate(sheet.views)
    ]
    return (
        alt.concat(*panels, columns=columns, spacing=24)
        .add_params(alt.param(name="hidden", value=[]), alt.param(name="at", value=None))
        .configure(font="system-ui, sans-serif", background="white")
        .configure_view(stroke="#999999")
        .configure_axis(
            gridColor="#e2e2e2",
            labelFontSize=12,
            labelSeparation=6,
            titleFontSize=13,
            titleFontWeight="normal",
        )
        .configure_title(anchor="start", fontSize=14, fontWeight="normal")
    )


def _panel(number: int, view: View, x_label: str, legend: Mapping[str, Look]) -> alt.LayerChart:
    """Lines, their markers, where the slider stands, and the point that is hovered."""
    data = alt.InlineData(
        values="\n".join(["line,curve,x,y,lower,upper,marked", *_rows(view, list(legend))]),
        format=alt.CsvDataFormat(type="csv", parse=_NUMBERS),
        name=f"panel_{number}",
    )
    x_limits = _limits([curve.x for _, curve in view.lines], view.x_log, bool(view.x_ticks))
    y_limits = view.y_limits or _limits(
        [curve.y for _, curve in view.lines], view.y_log, bool(view.y_ticks)
    )
    x_axis = _axis(x_limits, view.x_log, view.x_ticks, 0)
    y_axis = _axis(y_limits, view.y_log, view.y_ticks, 0)
    x = alt.X("x:Q", title=x_label, scale=_scale(x_limits, view.x_log), axis=x_axis)
    y = alt.Y("y:Q", title=plain(view.y_label), scale=_scale(y_limits, view.y_log), axis=y_axis)
    look = list(legend.values())
    color = _by_line(alt.Color, [one.color for one in look])
    # Curves that share a label share a look, but each is a path of its own.
    base = alt.Chart(data).transform_filter(_SHOWN).encode(x=x, y=y, detail="curve:N")
    lines = base.mark_line(
        clip=True, aria=False, interpolate="step-after" if view.is_step else "linear"
    ).encode(
        color=color,
        strokeDash=_by_line(alt.StrokeDash, [one.dashes or (1, 0) for one in look]),
        strokeWidth=_by_line(alt.StrokeWidth, [one.width for one in look]),
    )
    cells = []
    if view.y_ticks:
        lines = base.mark_square(clip=True, aria=False, size=_CELL, opacity=1.0).encode(color=color)
        cells = [
            base.mark_text(aria=False, fontSize=11).encode(text=alt.Text("upper:Q", format=".3r"))
        ]
    markers = (
        base.mark_point(clip=True, aria=False, opacity=1.0, strokeWidth=0.8, tooltip=None)
        .transform_filter("datum.marked == 1")
        .encode(
            fill=_by_line(alt.Fill, [one.fill for one in look]),
            stroke=_by_line(alt.Stroke, [one.color for one in look]),
            shape=_by_line(alt.Shape, [one.outline or OUTLINES["o"] for one in look]),
            size=_by_line(alt.Size, [round(4.0 * one.size**2, 1) for one in look]),
        )
    )
    slider = (
        alt.Chart(alt.InlineData(values=[{}], name=f"slider_{number}"))
        .transform_calculate(x="at")
        .transform_filter("isValid(datum.x)")
        .mark_rule(aria=False, clip=True, color="#444444", strokeDash=[2, 3])
        .encode(x=x)
    )
    near = alt.selection_point(
        name=f"near_{number}",
        on="pointerover",
        clear="pointerout",
        nearest=True,
        fields=["curve", "x"],
        empty=False,
    )
    hovered = (
        base.mark_point(aria=False, clip=True, filled=True, size=70, tooltip={"content": "data"})
        .transform_calculate(panel=str(number))
        .encode(color=color, opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0)))
        .properties(name=f"hover_{number}")
        .add_params(near)
    )
    return alt.LayerChart(layer=[lines, *cells, markers, slider, hovered], title=_title(view))


def _diagram(number: int, view: View, x_label: str, legend: Mapping[str, Look]) -> alt.LayerChart:
    """Boxes, arrows between them as lines with a head, and the names of the arrows."""
    data = alt.InlineData(
        values="\n".join(["line,curve,x,y,lower,upper,marked", *_rows(view, list(legend))]),
        format=alt.CsvDataFormat(type="csv", parse=_NUMBERS),
        name=f"panel_{number}",
    )
    width = max(box.x for box in view.boxes) + min(box.x for box in view.boxes)
    height = max(box.y for box in view.boxes)
    hidden_axis = {"axis": None, "title": None}
    x = alt.X("x:Q", scale=alt.Scale(domain=[0.0, width], nice=False), **hidden_axis)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[-0.5, height + 0.5], nice=False), **hidden_axis)
    look = list(legend.values())
    color = _by_line(alt.Color, [one.color for one in look])
    lines = (
        alt.Chart(data)
        .transform_filter(_SHOWN)
        .mark_line(aria=False)
        .encode(
            x=x,
            y=y,
            detail="curve:N",
            color=color,
            strokeDash=_by_line(alt.StrokeDash, [one.dashes or (1, 0) for one in look]),
        )
    )
    arrows = alt.Chart(
        alt.InlineData(values=list(_heads(view, list(legend), width)))
    ).transform_filter(_SHOWN)
    heads = arrows.mark_point(aria=False, shape=_HEAD, filled=True, size=240, opacity=1).encode(
        x=x, y=y, color=color, angle=alt.Angle("angle:Q", scale=None)
    )
    names = arrows.mark_text(aria=False, align="left", dx=9, fontSize=12).encode(
        x=x, y=y, text="name:N", color=color
    )
    # What lies below a name, so that lines do not cross it.
    halos = arrows.mark_text(
        aria=False, align="left", dx=9, fontSize=12, stroke="white", strokeWidth=8
    ).encode(x=x, y=y, text="name:N")
    boxes = alt.Chart(alt.InlineData(values=[_box(box) for box in view.boxes]))
    frames = boxes.mark_rect(aria=False, fill="white", stroke="#444444", cornerRadius=4).encode(
        x=alt.X("left:Q", **hidden_axis),
        x2="right:Q",
        y=alt.Y("bottom:Q", **hidden_axis),
        y2="top:Q",
    )
    texts = boxes.mark_text(
        aria=False, fontSize=13, lineHeight=_LINE, lineBreak="\n", baseline="middle"
    ).encode(x=x, y=alt.Y("first:Q", **hidden_axis), text="text:N")
    return alt.LayerChart(layer=[lines, heads, halos, names, frames, texts], title=x_label)


def _box(box: Box) -> dict[str, Any]:
    """The edges of a box, its text, and the height of the first line of that."""
    text = wrapped(plain(box.text), _BOX_CHARACTERS, len)
    return {
        "x": box.x,
        "left": box.x - _BOX_WIDTH,
        "right": box.x + _BOX_WIDTH,
        "bottom": box.y - _BOX_HEIGHT,
        "top": box.y + _BOX_HEIGHT,
        "first": box.y + 0.5 * text.count("\n") * _LINE / _BOX_ROW,
        "text": text,
    }


def _heads(view: View, labels: Sequence[str], width: float) -> Iterator[dict[str, Any]]:
    """Where the head of each arrow is, which way it points, and the arrow's name."""
    for line, curve in view.lines:
        across = float(curve.x[1] - curve.x[0]) * _WIDE / width
        down = float(curve.y[0] - curve.y[1]) * _BOX_ROW
        yield {
            "line": labels.index(line.label),
            "x": float(curve.x.mean()),
            "y": float(curve.y.mean()),
            # In degrees clockwise, 0 upwards.
            "angle": round(math.degrees(math.atan2(across, -down)), 1),
            "name": plain(line.name),
        }


def _limits(values: Sequence[FloatArray], logarithmic: bool, is_named: bool) -> tuple[float, float]:
    """The ends of an axis that shows some values; any ends where there are none."""
    drawn = np.concatenate(values)
    drawn = drawn[np.isfinite(drawn) & ((drawn > 0.0) | (not logarithmic))]
    if not drawn.size:
        return 0.1, 1.0
    low, high = float(drawn.min()), float(drawn.max())
    if is_named:
        return low - 0.5, high + 0.5
    if low == high:
        return (0.5 * low, 2.0 * high) if low > 0.0 else (low - 1.0, high + 1.0)
    if logarithmic:
        return low * (low / high) ** MARGIN, high * (high / low) ** MARGIN
    return low - MARGIN * (high - low), high + MARGIN * (high - low)


def _rows(view: View, labels: Sequence[str]) -> Iterator[str]:
    """Lines of CSV: what is drawn, and both ends of each enclosure, rounded outward.

    Thick lines come first, since later ones lie over them. An empty y interrupts a line.
    """
    order = sorted(range(len(view.lines)), key=lambda i: (-view.lines[i][0].look.width, i))
    for position in order:
        line, curve = view.lines[position]
        marked = range(0, curve.x.size, max(1, curve.x.size // MARKERS)) if line.look.marker else ()
        number = labels.index(line.label)
        for i, (x, y) in enumerate(zip(curve.x.tolist(), curve.y.tolist(), strict=True)):
            shown = math.isfinite(y) and (y > 0.0 or not view.y_log) and (x > 0.0 or not view.x_log)
            cells = (
                str(number),
                str(position),
                repr(x).removesuffix(".0"),
                f"{y:.6g}" if shown else "",
                _end(float(curve.lower[i]), up=False),
                _end(float(curve.upper[i]), up=True),
                str(int(i in marked)),
            )
            yield ",".join(cells)


def _end(value: float, *, up: bool) -> str:
    return "" if math.isnan(value) else outward(value, up=up).replace("inf", "∞")


def _axis(limits: Limits, logarithmic: bool, names: Sequence[str], angle: int) -> alt.Axis:
    if not names:
        return alt.Axis(labelExpr=expression(limits)) if logarithmic else alt.Axis()
    shown = json.dumps(list(map(plain, names)), ensure_ascii=False)
    places = list(range(len(names)))
    return alt.Axis(labelExpr=f"{shown}[datum.value]", values=places, labelAngle=angle)


def _scale(limits: Limits, logarithmic: bool) -> alt.Scale:
    kind: Literal["log", "linear"] = "log" if logarithmic else "linear"
    return alt.Scale(type=kind, domain=list(limits), nice=False, zero=False)


def _by_line(channel: Any, values: Sequence[Any]) -> Any:
    """A channel that depends on the entry of the legend."""
    scale = alt.Scale(type="ordinal", domain=list(range(len(values))), range=list(values))
    return channel("line:N", scale=scale, legend=None)


# How lines look, as browsers take it.

_PIXELS = 96.0 / 72.0  # of a point

# From −1 to 1 in both directions, y downwards.
OUTLINES = {
    "o": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "s": "M-0.9,-0.9H0.9V0.9H-0.9Z",
    "D": "M0,-1.2L1.2,0L0,1.2L-1.2,0Z",
    "^": "M0,-1L1,1H-1Z",
    "v": "M0,1L1,-1H-1Z",
    "<": "M-1,0L1,-1V1Z",
    ">": "M1,0L-1,-1V1Z",
    "8": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "d": "M0,-1.2L0.7,0L0,1.2L-0.7,0Z",
    "h": "M0,-1L0.87,-0.5V0.5L0,1L-0.87,0.5V-0.5Z",
    "H": "M-0.5,-0.87H0.5L1,0L0.5,0.87H-0.5L-1,0Z",
    "p": "M0,-1L0.95,-0.31L0.59,0.81H-0.59L-0.95,-0.31Z",
    "*": "M0,-1.2L0.28,-0.38H1.14L0.46,0.15L0.7,1L0,0.48L-0.7,1L-0.46,0.15L-1.14,-0.38H-0.28Z",
    "P": "M-0.4,-1H0.4V-0.4H1V0.4H0.4V1H-0.4V0.4H-1V-0.4H-0.4Z",
    "X": "M-1,-0.5L-0.5,-1L0,-0.5L0.5,-1L1,-0.5L0.5,0L1,0.5L0.5,1L0,0.5L-0.5,1L-1,0.5L-0.5,0Z",
    "+": "M-0.2,-1H0.2V-0.2H1V0.2H0.2V1H-0.2V0.2H-1V-0.2H-0.2Z",
    "x": "M-1,-0.8L-0.8,-1L0,-0.2L0.8,-1L1,-0.8L0.2,0L1,0.8L0.8,1L0,0.2L-0.8,1L-1,0.8L-0.2,0Z",
}


@dataclass(frozen=True)
class Look:
    """How a line looks.

    ``color`` and ``fill``, that of its markers, are RGB colours such as #0072b2. ``width`` and
    ``dashes`` (empty for a solid line) are in pixels. ``outline`` is the SVG path of its marker
    from −1 to 1 in both directions, empty where it has none, and ``size`` what half of that makes
    in pixels.
    """

    color: str
    fill: str
    width: float
    dashes: tuple[float, ...]
    outline: str
    size: float


def look(line: Line) -> Look:
    """The look of a line."""
    width = _PIXELS * line.look.width
    return Look(
        color=line.look.color,
        fill="#ffffff" if line.look.is_hollow else line.look.color,
        width=round(width, 2),
        dashes=tuple(round(part * _PIXELS, 2) for part in line.look.dashes),
        outline=OUTLINES[line.look.marker] if line.look.marker else "",
        size=round(0.5 * _PIXELS * (3.0 + line.look.width), 2),
    )


# The page.


class Filled(Template):
    """A page to fill in: scripts and styles have $ and braces of their own."""

    delimiter = "@"


def packed(text: str) -> str:
    """A text as pages unpack it."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _entry(label: str, look: Look) -> str:
    dashes = " ".join(f"{part:g}" for part in look.dashes)
    stroke = f'stroke="{look.color}" stroke-width="{look.width:g}" stroke-dasharray="{dashes}"'
    sample = f'<path d="M0,8H44" {stroke}/>'
    if look.outline:
        place = f"translate(22 8) scale({look.size:g})"
        edge = f'stroke="{look.color}" stroke-width="{0.8 / look.size:.3g}"'
        sample += f'<path d="{look.outline}" transform="{place}" fill="{look.fill}" {edge}/>'
    return (
        '<label><input type="checkbox" checked>'
        f'<svg width="44" height="16" aria-hidden="true">{sample}</svg>'
        f"{html.escape(label)}</label>"
    )


# Vega, which draws interactive figures, from the package `vl_convert`; nothing is fetched.

# That of Altair's specifications: such as 6.4.
VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]


def program() -> str:
    """What draws figures, as one script without dependencies."""
    # As the package itself names it. The name `vega` that it offers is null in this version, and
    # the third of its whole script that is Vega-Lite is of no use to what is compiled already.
    name = f"https://cdn.jsdelivr.net/npm/vega@{vl_convert.get_vega_version()}/+esm"
    snippet = f'import {{View, parse}} from "{name}"; window.vega = {{View, parse}};'
    return vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE)


def _compiled(chart: alt.ConcatChart) -> dict[str, Any]:
    """Vega's specification of a chart."""
    return vl_convert.vegalite_to_vega(chart.to_dict(), vl_version=VEGA_LITE)


# All figures on one page: thumbnails that open the interactive figures.
#
# The pages hold the same program and the same script below it, which are here but once.

# Of a thumbnail: pixels across, the first that lets the page fit, and colours.
_WIDTHS, _COLORS = (320, 240, 160, 80), 24
# Characters of the page: reports hold it as a URL, of which Chromium opens no more than 2 MiB.
_MOST = 1_500_000


@dataclass(frozen=True)
class Thumbnail:
    """A figure: its title, its interactive page, and its picture (PNG) if there is one."""

    title: str
    page: str
    picture: bytes | None = None


def gallery(papers: Mapping[str, Sequence[Thumbnail]], program: str) -> str:
    """The HTML of the gallery, by titles of papers; `program` is what the pages were made with."""
    packed_program = packed(program)
    parts = [one.page.partition(packed_program) for shown in papers.values() for one in shown]
    [below] = {below for _, _, below in parts}
    pages = {"above": [above for above, _, _ in parts], "below": below}
    template = Path(__file__).with_name("gallery.html").read_text(encoding="utf-8")

    def filled(width: int) -> str:
        sections = [_section(title, shown, width) for title, shown in papers.items() if shown]
        return Filled(template).substitute(
            papers="\n".join(sections), program=packed_program, pages=packed(json.dumps(pages))
        )

    *wide, narrowest = _WIDTHS
    fitting = (made for made in map(filled, wide) if len(made) <= _MOST)
    return next(fitting, None) or filled(narrowest)


def _section(title: str, shown: Sequence[Thumbnail], width: int) -> str:
    buttons = "\n".join(_button(entry, width) for entry in shown)
    return f"<h2>{html.escape(title)}</h2>\n<div>\n{buttons}\n</div>"


def _button(entry: Thumbnail, width: int) -> str:
    small = None if entry.picture is None else _thumbnail(entry.picture, width)
    picture = f'<img alt="" src="{small}">' if small else ""
    return f'<button type="button">{picture}<span>{html.escape(entry.title)}</span></button>'


def _thumbnail(picture: bytes, width: int) -> str:
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    small = whole.resize((width, round(whole.height * width / whole.width)), Image.Resampling.BOX)
    content = io.BytesIO()
    small.quantize(_COLORS).save(content, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
