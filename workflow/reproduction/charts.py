"""Charts: a `Sheet` as Altair draws it in a browser, and the page with the charts of all figures.

A page has one program for all its charts and needs no network. Below a chart stands a table of one
panel. Its rows name the curves, show how they look, hide them, and read them at one place, so that
whoever uses the keyboard or a screen reader gets what others get by hovering.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import vl_convert
from matplotlib.markers import MarkerStyle

from reproduction.descriptions import alternative_text, lines_with_names
from shufflebounds.core.enclosure import outward
from shufflebounds.curves.plotting.figures import SHADE, figure
from shufflebounds.curves.plotting.looks import BAND, MAP_COLOR, MAP_START, UNIT, Look
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
from shufflebounds.curves.plotting.texts import join_relations, number, plain, three_digits, wrapped
from shufflebounds.curves.plotting.ticks import ticks

# Height of a panel of curves, and of a row of a map, in pixels.
PANEL_HEIGHT = 200
CELL_HEIGHT = 26
# Characters of a line below a map, which may be as narrow as a quarter of a page.
MAP_TITLE_WIDTH = 30
# Characters of a line of a name beside a panel, its height and where it begins, in pixels.
NAME_WIDTH = 20
NAME_PIXELS = 13
NAME_GAP = 6
# Width of a piece of a line before its name.
SAMPLE_WIDTH = 24
# Longest name along an axis, in pixels.
MAX_NAME_WIDTH = 170
# Pixels of an inch, and of a point.
PIXELS_PER_INCH = 96.0
PIXELS = PIXELS_PER_INCH / 72.0
# Resolution of the picture of a diagram, for screens of two pixels a pixel.
PICTURE_DPI = 192
# Approximate number of markers of a line.
MARKERS = 6
# Digits of the ends of an enclosure; its table has more.
DIGITS = 4

# What the page makes a tooltip of.
WHOLE_POINT = alt.TooltipContent("data")
# Names along an axis, on as many lines as they have.
WORDS = alt.Axis(labelAngle=0, labelExpr="split(datum.value, '\\n')")
CONFIG = alt.Config(
    font="system-ui, sans-serif",
    background="transparent",
    view=alt.ViewConfig(stroke=None, continuousHeight=PANEL_HEIGHT),
    axis=alt.AxisConfig(
        gridOpacity=0.4, labelFontSize=12, labelLimit=MAX_NAME_WIDTH, titleFontWeight="normal"
    ),
    title=alt.TitleConfig(anchor="start", fontSize=13, fontWeight="normal"),
)

# A chart as Altair writes it. Its ``usermeta`` has what the page shows around the chart.
Specification: TypeAlias = Mapping[str, Any]


def chart(sheet: Sheet, caption: str = "") -> Specification:
    """Return the chart of a sheet, as Vega-Lite's specification. Equal arguments give equal charts.

    The data of panel i are called ``panel_i``. A row of it is a point: its ``curve``, ``x`` and
    ``y``, and ``value``, the text of a table's cell.
    """
    views, is_map = sheet.views, sheet.is_map
    if sheet.is_diagram:
        return _picture(sheet, caption)
    styles = {name: _style(line.look) for view in views for line, _, name in lines_with_names(view)}
    panels = [
        _map_layers(view, i, sheet)
        if is_map
        else _panel(view, i, sheet, _panel_row(sheet, i), styles)
        for i, view in enumerate(views)
    ]
    points = map(_cells, views) if is_map else (_line_points(view, sheet) for view in views)
    around = {
        "title": plain(sheet.title),
        "source": plain(sheet.heading),
        "caption": caption,
        "axis": plain(sheet.x),
        "panels": [_words(view, sheet) for view in views],
        "styles": {} if is_map else styles,
    }
    concatenated = alt.concat(
        *panels,
        columns=len(sheet.rows[0]),
        spacing=20,
        description=alternative_text(sheet),
        params=[alt.param(name="hidden", value=[]).param],
        config=CONFIG,
    )
    datasets = {f"panel_{i}": list(rows) for i, rows in enumerate(points)}
    for i, view in enumerate(views if not is_map else ()):
        datasets[f"names_{i}"] = list(_name_places(view, _panel_row(sheet, i), sheet))
    # Altair would copy and check every number.
    return {**concatenated.to_dict(), "usermeta": around, "datasets": datasets}


def _words(view: PanelView, sheet: Sheet) -> dict[str, Any]:
    """Return the words of the table of a panel."""
    rows = list(map(plain, view.y_ticks[::-1]))
    return {
        "title": plain(sheet.title_of(view)),
        "row": plain(view.y_label) if sheet.is_map else "curve",
        "value": plain(sheet.quantity if sheet.is_map else view.y_label),
        "rows": rows or [name for _, _, name in lines_with_names(view)],
    }


def _picture(sheet: Sheet, caption: str) -> Specification:
    """Return the chart of a diagram, which has no numbers to read: the figure as it is printed."""
    picture = BytesIO()
    fig = figure(sheet, titled=False)
    fig.savefig(picture, format="png", dpi=PICTURE_DPI, metadata={"Software": None})
    url = "data:image/png;base64," + base64.b64encode(picture.getvalue()).decode()
    width, height = (round(length * PIXELS_PER_INCH) for length in fig.get_size_inches())
    image = (
        alt.Chart(alt.InlineData(values=[{"url": url}]))
        .mark_image(width=width, height=height, aria=False)
        .encode(x=alt.value(width / 2), y=alt.value(height / 2), url="url:N")
        .properties(width=width, height=height)
    )
    chart = alt.concat(image, columns=1, description=alternative_text(sheet), config=CONFIG)
    names = {"title": plain(sheet.title), "source": plain(sheet.source), "caption": caption}
    around = {**names, "axis": "", "panels": [], "styles": {}}
    parameter = [alt.param(name="hidden", value=[]).param.to_dict()]
    return {**chart.to_dict(), "params": parameter, "usermeta": around}


def _panel_heading(view: PanelView, sheet: Sheet) -> str:
    """Return a panel's title, which the page breaks where it does not break a formula."""
    return join_relations(plain(sheet.title_of(view)))


def _panel_row(sheet: Sheet, i: int) -> Sequence[PanelView]:
    """Return the row of panel i."""
    return sheet.rows[i // len(sheet.rows[0])]


def _panel(
    view: PanelView, i: int, sheet: Sheet, row: Sequence[PanelView], styles: Mapping[str, Any]
) -> alt.LayerChart:
    """Return a panel: a band, lines, their markers and names, and the point next to the pointer."""
    x_scale = _scale(view.x_log)
    if view.x_limits:
        x_scale.domain = list(view.x_limits)
    x = alt.X(
        "x:Q",
        title=plain(sheet.x_label),
        scale=x_scale,
        axis=_chart_axis("x", view.shown_x(), view),
    )
    y_scale = _scale(view.y_log)
    shown_y = _shown_y(view, row, sheet)
    y_scale.domain = [float(shown_y.min()), float(shown_y.max())]
    y, bottom = (
        alt.Y(
            f"{field}:Q",
            title=plain(view.y_label),
            scale=y_scale,
            axis=_chart_axis("y", shown_y, view),
        )
        for field in ("y", "bottom")
    )

    def by_curve(channel: Any, part: str) -> Any:
        values = [style[part] for style in styles.values()]
        scale = alt.Scale(type="ordinal", domain=list(styles), range=values)
        # Vega-Lite warns of widths of names without an order, and of shapes of those with one.
        kind = "N" if channel is alt.Shape else "O"
        return channel(f"curve:{kind}", scale=scale, legend=None)

    color = by_curve(alt.Color, "color")
    base = (
        alt.Chart()
        .transform_filter("indexof(hidden, datum.curve) < 0")
        .encode(x=x, y=y, detail="curve:N")
    )
    lines = base.mark_line(clip=True, aria=False).encode(
        color=color,
        strokeDash=by_curve(alt.StrokeDash, "dashes"),
        strokeWidth=by_curve(alt.StrokeWidth, "width"),
    )
    markers = (
        base.mark_point(clip=True, aria=False, opacity=1.0, size=40.0, strokeWidth=1.0)
        .transform_filter("datum.is_marked")
        .encode(
            fill=by_curve(alt.Fill, "fill"),
            stroke=by_curve(alt.Stroke, "color"),
            shape=by_curve(alt.Shape, "outline"),
        )
    )
    near = alt.selection_point(
        name=f"near_{i}",
        on="pointerover",
        clear="pointerout",
        nearest=True,
        fields=["curve", "x"],
        empty=False,
    )
    hovered = (
        base.mark_point(aria=False, clip=True, filled=True, size=70, tooltip=WHOLE_POINT)
        .encode(color=color, opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0)))
        .add_params(near)
    )
    layers = [lines, markers, hovered, *_names(i, by_curve)]
    if view.is_ratio:
        layers.insert(0, alt.Chart().mark_rule(aria=False, color=UNIT).encode(y=alt.datum(1.0)))
    if any(view.wide_ends(curve) for _, curve in view.lines):
        shade = base.transform_filter("isValid(datum.high)").mark_area(
            clip=True, aria=False, opacity=SHADE, tooltip=None
        )
        low = y.copy()
        low.shorthand = "low:Q"
        layers.insert(0, shade.encode(y=low, y2="high:Q", color=color))
    if view.band:
        band = base.transform_filter("isValid(datum.top)").mark_area(
            clip=True, aria=False, color=BAND
        )
        layers.insert(0, band.encode(y=bottom, y2="top:Q"))
    return alt.layer(*layers, data=alt.NamedData(f"panel_{i}"), title=_panel_heading(view, sheet))


def _names(i: int, by_curve: Callable[[Any, str], Any]) -> list[alt.Chart]:
    """Return the names beside panel i, each behind a piece of its line with its marker."""
    beside = (
        alt.Chart(alt.NamedData(f"names_{i}"))
        .transform_filter("indexof(hidden, datum.curve) < 0")
        .encode(x=alt.value("width"), y=alt.Y("place:Q", scale=None, axis=None))
    )
    color = by_curve(alt.Color, "color")
    start, end = NAME_GAP, NAME_GAP + SAMPLE_WIDTH
    samples = beside.mark_rule(aria=False, xOffset=start, x2Offset=end, tooltip=None).encode(
        x2=alt.value("width"),
        color=color,
        strokeDash=by_curve(alt.StrokeDash, "dashes"),
        strokeWidth=by_curve(alt.StrokeWidth, "width"),
    )
    markers = (
        beside.mark_point(
            aria=False, opacity=1.0, size=40.0, xOffset=0.5 * (start + end), tooltip=None
        )
        .transform_filter("datum.is_marked")
        .encode(
            fill=by_curve(alt.Fill, "fill"),
            stroke=by_curve(alt.Stroke, "color"),
            shape=by_curve(alt.Shape, "outline"),
        )
    )
    texts = beside.mark_text(
        aria=False, align="left", dx=end + NAME_GAP, lineBreak="\n", tooltip=None
    ).encode(text="text:N", color=color)
    return [samples, markers, texts]


def _shown_y(view: PanelView, row: Sequence[PanelView], sheet: Sheet) -> FloatArray:
    """Return what the y axis of a panel shows, whatever is hidden; 0 and 1 if nothing."""
    views = row if sheet.has_shared_rows else [view]
    shown = np.concatenate([other.shown_y() for other in views])
    visible = shown[np.isfinite(shown) & ((shown > 0.0) | (not view.y_log))]
    return visible if visible.size else np.array([0.0, 1.0])


def _chart_axis(name: str, values: FloatArray, view: PanelView) -> alt.Axis:
    """Return the axis x or y, which shows some values, with labels as in print."""
    is_log = view.x_log if name == "x" else view.y_log
    is_ratio = name == "y" and view.is_ratio
    places = ticks(name, values, is_log=is_log, is_ratio=is_ratio)
    labels = [plain(number(place)) + "×" * is_ratio for place in places]
    return alt.Axis(
        values=places,
        labelExpr=f"{json.dumps(labels, ensure_ascii=False)}[indexof({places}, datum.value)]",
        labelFlush=name == "x",
    )


def _name_places(
    view: PanelView, row: Sequence[PanelView], sheet: Sheet
) -> Iterator[dict[str, Any]]:
    """Yield the names beside a panel and their places in pixels from above.

    Lines that no panel of its row shows have none.
    """
    shown_y = _shown_y(view, row, sheet)
    limits = float(shown_y.min()), float(shown_y.max())
    # Of lines that share a name, the first.
    every = {
        line.label: (line, curve, name) for line, curve, name in [*lines_with_names(view)][::-1]
    }
    others = [other for other in row if other is not view]
    shown = shown_names([*others, view], is_log=view.y_log)
    lines = {name: every[label] for label, name in shown.items()}
    ends = [place_of_end(curve.y, limits, is_log=view.y_log) for _, curve, _ in lines.values()]
    texts = [
        wrapped(with_arrow(plain(label), place), NAME_WIDTH)
        for label, place in zip(lines, ends, strict=True)
    ]
    breaks = np.array([text.count("\n") for text in texts])
    shares = spread(np.array(ends), NAME_PIXELS * (1.0 + breaks) / PANEL_HEIGHT, above=0.0)
    # The place of the first of several lines.
    places = PANEL_HEIGHT * (1.0 - shares) - 0.5 * NAME_PIXELS * breaks
    for (line, _, name), text, place in zip(lines.values(), texts, places.tolist(), strict=True):
        entry = {"curve": name, "text": text, "place": round(place, 1)}
        yield {**entry, "is_marked": True} if line.look.marker else entry


def _scale(is_log: bool) -> alt.Scale:
    if is_log:
        return alt.Scale(type="log", nice=False, padding=6)
    return alt.Scale(zero=False, nice=False, padding=6)


def _visible(view: PanelView, values: FloatArray) -> list[float | None]:
    """Return what the y axis of a panel can show of some values."""
    is_visible = np.isfinite(values) & ((values > 0.0) | (not view.y_log))
    return [
        float(f"{y:.5g}") if visible else None
        for y, visible in zip(values.tolist(), is_visible, strict=True)
    ]


def _line_points(view: PanelView, sheet: Sheet) -> Iterator[dict[str, Any]]:
    """Yield the points of all lines of a panel, since later ones lie over them as in print.

    Those of the lower end of a band have its edges as ``bottom`` and ``top``, and wide enclosures
    have their ends as ``low`` and ``high``.
    """
    edges = [_visible(view, edge) for edge in view.band_edges()] if view.band else []
    for line, curve, name in sorted(lines_with_names(view), key=lambda entry: height(*entry[:2])):
        step = max(1, curve.x.size // MARKERS)
        is_lowest = view.band is not None and curve is view.band[0]
        unknown = [[None] * curve.x.size] * 2
        bottoms, tops = edges if is_lowest else unknown
        ends = view.wide_ends(curve)
        lows, highs = [_visible(view, end) for end in ends] if ends else unknown
        columns = zip(_visible(view, curve.y), bottoms, tops, lows, highs, strict=True)
        for i, (y, bottom, top, low, high) in enumerate(columns):
            point = {
                "curve": name,
                "x": float(f"{curve.x[i]:.6g}"),
                "y": y,
                "bottom": bottom,
                "top": top,
                "low": low if high else None,
                "high": high if low else None,
                "value": _value(view, sheet, curve, i),
                "is_marked": (line.look.marker and i % step == 0) or None,
            }
            yield {key: cell for key, cell in point.items() if cell is not None}


def _value(view: PanelView, sheet: Sheet, curve: Drawn, i: int) -> str:
    """Return what a table says of a point: the number drawn, and the enclosure behind it.

    A point without a number has a dash.
    """
    quantity = plain(sheet.quantity)
    number = "—" if math.isnan(curve.y[i]) else f"{curve.y[i]:.4g}"
    enclosure = _enclosure(float(curve.lower[i]), float(curve.upper[i]))
    if plain(view.y_label) == quantity:
        return enclosure or number
    # A ratio is read without its enclosure if another panel has that.
    is_elsewhere = view.is_ratio and not all(other.is_ratio for other in sheet.views)
    if is_elsewhere or not enclosure:
        return number
    return f"{number} ({quantity} {'in ' * enclosure.startswith('[')}{enclosure})"


def _enclosure(lower: float, upper: float) -> str:
    """Return an enclosure whose ends are rounded outward; empty if it has none."""
    low = outward(lower, up=False, digits=DIGITS)
    high = outward(upper, up=True, digits=DIGITS).replace("inf", "∞")
    if math.isnan(lower):
        return "" if math.isnan(upper) else f"at most {high}"
    return f"at least {low}" if math.isnan(upper) else f"[{low}, {high}]"


def _map_layers(view: PanelView, i: int, sheet: Sheet) -> alt.LayerChart:
    """Return a map: shades, and in each cell its number and the letter of its line."""
    numbers = [curve.upper for view in sheet.views for _, curve in view.lines]
    ends = [float(end(np.concatenate(numbers))) for end in (np.nanmin, np.nanmax)]
    columns, rows = list(map(plain, view.x_ticks)), list(map(plain, view.y_ticks))
    x_title = [
        plain(sheet.x_label),
        *(
            line
            for text in (sheet.numbers, sheet.letters)
            if text
            for line in wrapped(plain(text), MAP_TITLE_WIDTH).split("\n")
        ),
    ]
    base = alt.Chart().encode(
        x=alt.X("x:N", title=x_title, sort=columns, axis=WORDS),
        y=alt.Y("curve:N", title=plain(view.y_label) or None, sort=rows[::-1]),
    )
    scale = alt.Scale(type="log", domain=ends, range=[MAP_START, MAP_COLOR])
    shades = base.mark_rect(aria=False, tooltip=WHOLE_POINT).encode(
        color=alt.Color("number:Q", scale=scale, legend=None)
    )
    texts = base.mark_text(aria=False, fontSize=11, tooltip=None).encode(text="text:N")
    return alt.layer(
        shades,
        texts,
        data=alt.NamedData(f"panel_{i}"),
        title=_panel_heading(view, sheet),
        height=CELL_HEIGHT * len(rows),
    )


def _cells(view: PanelView) -> Iterator[dict[str, Any]]:
    """Yield the points of a map."""
    for line, curve in view.lines:
        for x, y, ratio in zip(curve.x, curve.y, curve.upper.tolist(), strict=True):
            yield {
                "curve": plain(view.y_ticks[int(y)]),
                "x": plain(view.x_ticks[int(x)]),
                "number": ratio,
                "value": f"{three_digits(ratio)} {plain(line.label)}".strip(),
                "text": f"{three_digits(ratio)} {line.label[:1]}".strip(),
            }


def _style(look: Look) -> dict[str, Any]:
    """Return a look as browsers take it.

    Pixels, dashes, and the marker as an SVG path from −1 to 1.
    """
    marker = MarkerStyle(look.marker)
    shape = marker.get_path().transformed(marker.get_transform())
    polygons = [np.asarray(points) for points in shape.to_polygons(closed_only=False)]
    return {
        "color": look.color,
        "fill": "#ffffff" if look.is_hollow else look.color,
        "width": round(PIXELS * look.width, 2),
        "dashes": [round(PIXELS * part, 2) for part in look.dashes] or [1, 0],
        "outline": "".join(
            "M" + "L".join(f"{2.0 * x:.2f},{-2.0 * y:.2f}" for x, y in points.tolist())
            for points in polygons
        ),
    }


def page(papers: Mapping[str, Mapping[str, Specification]]) -> str:
    """Return a page of charts, by titles of papers and addresses on the page such as su2026/fig3.

    A chart is drawn once it is opened; a chart that is alone is open.
    """
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    # Its stub lacks the default: Vega, Vega-Lite and vega-embed.
    program = vl_convert.javascript_bundle(vl_version=version)  # type: ignore[call-arg]
    charts = {name: chart for charts in papers.values() for name, chart in charts.items()}
    content = json.dumps({"program": program, "charts": charts}, separators=(",", ":"))
    sections = [
        f"<h2>{html.escape(title)}</h2>\n"
        + "\n".join(_entry(name, chart, len(charts) == 1) for name, chart in charts_.items())
        for title, charts_ in papers.items()
        if charts_
    ]
    template = Path(__file__).with_name("charts.html").read_text(encoding="utf-8")
    packed = base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
    for place, text in (("sections", "\n".join(sections)), ("content", packed)):
        template = template.replace(f"<!-- {place} -->", text)
    return template


def _entry(name: str, chart: Specification, is_open: bool) -> str:
    around = {key: html.escape(chart["usermeta"][key]) for key in ("title", "source", "caption")}
    source = f"<small>{around['source']}</small>" if around["source"] else ""
    return (
        f'<details id="{html.escape(name)}"{" open" * is_open}>'
        f"<summary>{around['title']}{source}</summary>\n<p>{around['caption']}</p>\n</details>"
    )
