"""Interactive figures: a `Sheet` as a page where one reads off values and hides curves.

Altair makes a Vega-Lite specification and checks it. It is compiled to Vega here, so that a page
needs nothing but Vega, which comes inside the page (`html`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import altair as alt

from shufflebounds.core.enclosure import outward
from shufflebounds.reproduce.plotting import html
from shufflebounds.reproduce.plotting.html import Look
from shufflebounds.reproduce.plotting.sheets import Limits, Sheet, View
from shufflebounds.reproduce.plotting.texts import expression, plain

# Pixels.
_WIDE, _NARROW, _HEIGHT = 640, 430, 240
_CELL = 600  # their square
_SHOWN = "indexof(hidden, datum.line) < 0"
_NUMBERS = dict.fromkeys(("line", "x", "y", "marked"), "number")


def page(sheet: Sheet, program: str) -> str:
    """The HTML page of a sheet and of the program that draws it, as `html.program` returns it.

    Equal arguments give equal pages.
    """
    legend = {label: html.look(line) for label, line in sheet.legend.items()}
    positions = {x for view in sheet.views for _, curve in view.lines for x in curve.x.tolist()}
    figure = {
        "title": plain(sheet.title),
        "x": sheet.x,
        "ticks": list(map(plain, sheet.views[0].x_ticks)),
        "rows": list(map(plain, sheet.views[0].y_ticks)),
        "quantity": plain(sheet.quantity),
        "positions": [int(x) if x.is_integer() else x for x in sorted(positions)],
        "panels": [
            {"title": _title(view), "y": plain(view.y_label), "is_ratio": view.is_ratio}
            for view in sheet.views
        ],
        "lines": [plain(label) for label in legend],
        "specification": html.compiled(_chart(sheet, legend)),
    }
    named = {plain(label): look for label, look in legend.items()}
    return html.page(figure, plain(sheet.told), named, program)


def _title(view: View) -> str:
    return plain(", ".join(view.title))


def _chart(sheet: Sheet, legend: Mapping[str, Look]) -> alt.ConcatChart:
    columns = len(sheet.rows[0])
    size = {"width": _WIDE if columns == 1 else _NARROW, "height": _HEIGHT}
    panels = [
        _panel(i, view, plain(sheet.x_label), legend).properties(**size)
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
        values="\n".join(["line,x,y,lower,upper,marked", *_rows(view, list(legend))]),
        format=alt.CsvDataFormat(type="csv", parse=_NUMBERS),
        name=f"panel_{number}",
    )
    x_axis = _axis(view.x_limits, view.x_log, view.x_ticks, -30)
    y_axis = _axis(view.y_limits, view.y_log, view.y_ticks, 0)
    x = alt.X("x:Q", title=x_label, scale=_scale(view.x_limits, view.x_log), axis=x_axis)
    y = alt.Y(
        "y:Q", title=plain(view.y_label), scale=_scale(view.y_limits, view.y_log), axis=y_axis
    )
    look = list(legend.values())
    color = _by_line(alt.Color, [one.color for one in look])
    base = alt.Chart(data).transform_filter(_SHOWN).encode(x=x, y=y)
    lines = base.mark_line(
        clip=True, aria=False, interpolate="step-after" if view.is_step else "linear"
    ).encode(
        color=color,
        strokeDash=_by_line(alt.StrokeDash, [one.dashes or (1, 0) for one in look]),
        strokeWidth=_by_line(alt.StrokeWidth, [one.width for one in look]),
    )
    if view.y_ticks:
        lines = base.mark_square(clip=True, aria=False, size=_CELL, opacity=1.0).encode(color=color)
    markers = (
        base.mark_point(clip=True, aria=False, opacity=1.0, strokeWidth=0.8, tooltip=None)
        .transform_filter("datum.marked == 1")
        .encode(
            fill=_by_line(alt.Fill, [one.color for one in look]),
            stroke=_by_line(alt.Stroke, [one.edge for one in look]),
            shape=_by_line(alt.Shape, [one.outline or html.OUTLINES["o"] for one in look]),
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
        fields=["line", "x"],
        empty=False,
    )
    hovered = (
        base.mark_point(aria=False, clip=True, filled=True, size=70, tooltip={"content": "data"})
        .transform_calculate(panel=str(number))
        .encode(color=color, opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0)))
        .properties(name=f"hover_{number}")
        .add_params(near)
    )
    return alt.LayerChart(layer=[lines, markers, slider, hovered], title=_title(view))


def _rows(view: View, labels: Sequence[str]) -> Iterator[str]:
    """Lines of CSV: what is drawn, and both ends of each enclosure, rounded outward.

    Thick lines come first, since later ones lie over them. An empty y interrupts a line.
    """
    order = sorted(range(len(view.lines)), key=lambda i: (-view.lines[i][0].width, i))
    for position in order:
        line, curve = view.lines[position]
        marked = range(*curve.marked(position).indices(curve.x.size)) if line.marker else ()
        number = labels.index(line.label)
        for i, (x, y) in enumerate(zip(curve.x.tolist(), curve.y.tolist(), strict=True)):
            shown = math.isfinite(y) and (y > 0.0 or not view.y_log) and (x > 0.0 or not view.x_log)
            cells = (
                str(number),
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
