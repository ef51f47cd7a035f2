"""The looks of lines as browsers take them: pixels, dashes and outlines of markers."""

from __future__ import annotations

import html
import html as markup
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import vl_convert
from altair import SCHEMA_VERSION, ConcatChart

from shufflebounds.reproduce.plotting import layout
from shufflebounds.reproduce.plotting.layout import Drawn, Line

_PIXELS = 96.0 / 72.0  # of a point

# Matplotlib's own, in widths of the line.
_DASHES = {
    "solid": (),
    "dashed": (3.7, 1.6),
    "dashdot": (6.4, 1.6, 1.0, 1.6),
    "dotted": (1.0, 1.65),
}
# From −1 to 1 in both directions, y downwards.
OUTLINES = {
    "o": "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "s": "M-0.9,-0.9H0.9V0.9H-0.9Z",
    "D": "M0,-1.2L1.2,0L0,1.2L-1.2,0Z",
    "^": "M0,-1L1,1H-1Z",
    "v": "M0,1L1,-1H-1Z",
    "<": "M-1,0L1,-1V1Z",
    ">": "M1,0L-1,-1V1Z",
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

    ``color`` and ``edge``, that of its markers, are RGB colours such as #0072b2. ``width`` and
    ``dashes`` (empty for a solid line) are in pixels. ``outline`` is the SVG path of its marker
    from −1 to 1 in both directions, empty where it has none, and ``size`` what half of that makes
    in pixels.
    """

    color: str
    edge: str
    width: float
    dashes: tuple[float, ...]
    outline: str
    size: float


def look(line: Line, curve: Drawn) -> Look:
    """The look of a line with what is drawn of its curve."""
    width = _PIXELS * line.width
    marker = layout.marker(line, curve)
    parts = (int(line.color[i : i + 2], 16) for i in (1, 3, 5))
    return Look(
        color=line.color,
        edge="#" + "".join(f"{round(0.55 * part):02x}" for part in parts),
        width=round(width, 2),
        dashes=tuple(round(part * width, 2) for part in _DASHES[layout.style(line, curve)]),
        outline=OUTLINES[marker] if marker else "",
        size=round(0.5 * _PIXELS * (3.0 + line.width), 2),
    )


# The frame of an HTML file that needs no network: what stands around its style and its body.

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}
</head>
<body>
{body}
</body>
</html>
"""


def document(title: str, head: str, body: str) -> str:
    """The whole file. ``title`` is plain text; ``head`` (styles, scripts) and ``body`` are HTML."""
    return _TEMPLATE.format(title=html.escape(title), head=head, body=body)


# The HTML of an interactive figure: one file that needs no network.
#
# Its legend is made of check boxes, and a slider reads all curves at one place, so that whoever
# uses the keyboard or a screen reader gets what others get by hovering.

_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 1.2em; }
h1 { font-size: 1.4em; margin: 0 0 0.4em; }
p { max-width: 50em; margin: 0.4em 0; }
fieldset { border: 1px solid #999; border-radius: 4px; margin: 0.6em 0; padding: 0.3em 0.8em; }
fieldset label { display: inline-flex; align-items: center; gap: 0.4em; margin-right: 1.4em; }
fieldset label, input, button { cursor: pointer; }
fieldset label:has(input:not(:checked)) { color: #666; text-decoration: line-through; }
:focus-visible { outline: 3px solid #0059a8; outline-offset: 2px; }
button { font: inherit; }
#chart { overflow-x: auto; }
#slider { display: flex; flex-wrap: wrap; align-items: center; gap: 0.6em; }
#slider input { width: min(30em, 90vw); }
#tip {
  position: fixed; pointer-events: none; background: #fff; border: 1px solid #666;
  border-radius: 4px; padding: 0.3em 0.6em; box-shadow: 0 1px 4px #0004; max-width: 24em;
}
#tip b, #tip span { display: block; }
#reading { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2em 1.2em 0.2em 0; text-align: left; border-bottom: 1px solid #ddd; }
th { font-weight: normal; vertical-align: bottom; }
thead th { border-color: #666; }
td { white-space: nowrap; }
"""

_BODY = """\
<h1>{title}</h1>
<p>Hover over a panel to read the nearest point of its curves; click on a curve's name to hide it or
to show it again. The slider reads all curves at one place.</p>
<noscript><p><b>This page draws with JavaScript, which is switched off here.</b></p></noscript>
<fieldset id="legend">
<legend>Curves</legend>
{legend}
<button type="button" id="all">all</button>
<button type="button" id="none">none</button>
</fieldset>
<div id="chart" role="img" aria-label="{title}: its values are in the table below"></div>
<div id="tip" hidden></div>
<div id="slider">
<label for="position">Read at</label>
<output for="position" id="place"></output>
<input type="range" id="position" min="0" max="{last}" value="{middle}" step="1">
</div>
<p id="ends">{told}</p>
<div id="reading" tabindex="0" role="region" aria-labelledby="ends">
<table id="values"></table>
</div>
<script type="application/json" id="figure">{figure}</script>
<script>{program}</script>
<script>{reader}</script>"""

_READER = """
"use strict";
const figure = JSON.parse(document.getElementById("figure").textContent);
const element = (name) => document.getElementById(name);
const boxes = [...document.querySelectorAll("#legend input")];

function child(parent, tag, text) {
  const made = parent.appendChild(document.createElement(tag));
  made.textContent = text;
  return made;
}

function enclosure(row) {
  if (row.lower === "" && row.upper === "") return String(row.y);
  if (row.lower === "") return `at most ${row.upper}`;
  if (row.upper === "") return `at least ${row.lower}`;
  return `in [${row.lower}, ${row.upper}]`;
}

function at(place) {
  const short = Number(place.toPrecision(6));
  return short === place ? `${figure.x} = ${place}` : `${figure.x} ≈ ${short}`;
}

function showTip(event, row) {
  const tip = element("tip");
  tip.replaceChildren();
  tip.hidden = !row;
  if (!row) return;
  child(tip, "b", figure.lines[row.line]);
  const panel = figure.panels[row.panel];
  child(tip, "span", panel.title);
  child(tip, "span", at(row.x));
  const enclosed = row.lower !== "" || row.upper !== "";
  if (enclosed) child(tip, "span", `${figure.quantity} ${enclosure(row)}`);
  if (!enclosed || panel.y !== figure.quantity) child(tip, "span", `${panel.y}: ${row.y}`);
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - box.width - 4);
  const below = event.clientY + 14;
  const fits = below + box.height < innerHeight;
  tip.style.left = `${Math.max(left, 0)}px`;
  tip.style.top = `${fits ? below : Math.max(event.clientY - box.height - 14, 0)}px`;
}

const view = new vega.View(vega.parse(figure.specification), {
  renderer: "svg", container: "#chart", hover: true,
});
view.tooltip((handler, event, item, value) => showTip(event, value || null));

function heading(row, scope, text) {
  child(row, "th", text).scope = scope;
}

function tabulate(place) {
  const panels = figure.panels.flatMap(({title, is_ratio}, i) => is_ratio ? [] : [{title, i}]);
  const table = element("values");
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  for (const text of ["", ...panels.map(({title}) => title)]) heading(head, "col", text);
  const body = table.createTBody();
  boxes.forEach((box, line) => {
    if (!box.checked) return;
    const row = body.insertRow();
    heading(row, "row", figure.lines[line]);
    for (const {i} of panels) {
      const here = view.data(`panel_${i}`).find(
        (one) => Number(one.line) === line && Number(one.x) === place
      );
      child(row, "td", here ? enclosure(here).replace("in ", "") : "");
    }
  });
}

function refresh() {
  const place = figure.positions[element("position").value];
  element("place").textContent = at(place);
  element("position").setAttribute("aria-valuetext", at(place));
  const hidden = boxes.flatMap((box, line) => (box.checked ? [] : [line]));
  return view.signal("hidden", hidden).signal("at", place).runAsync().then(() => tabulate(place));
}

function check(whether) {
  for (const box of boxes) box.checked = whether;
  refresh();
}

element("legend").addEventListener("change", refresh);
element("position").addEventListener("input", refresh);
element("all").addEventListener("click", () => check(true));
element("none").addEventListener("click", () => check(false));
view.runAsync().then(refresh).then(() => { document.body.dataset.drawn = "yes"; });
"""


@dataclass(frozen=True)
class Panel:
    """The title of a panel, what its y axis shows, and whether that is a ratio of curves."""

    title: str
    y: str
    is_ratio: bool


@dataclass(frozen=True)
class Texts:
    """The title of a figure, symbols of its axis and of its quantity, and what a reading tells."""

    title: str
    x: str
    quantity: str
    reading: str


@dataclass(frozen=True)
class Page:
    """What a page shows; all texts are plain.

    Parameters
    ----------
    texts
        Of the figure.
    positions
        Values of the axis, ascending.
    panels
        Those of the figure; panel i is the data set ``panel_i`` of the specification.
    legend
        Labels and looks, in the order of ``line`` in the data.
    specification
        Of Vega, with the signals ``hidden`` (a list of lines) and ``at`` (a value of the axis).

    """

    texts: Texts
    positions: tuple[float, ...]
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, Look], ...]
    specification: Mapping[str, Any]


def html_page(page: Page, program: str) -> str:
    """The page with the program that draws it, as `vega.program` returns it."""
    figure = {
        "x": page.texts.x,
        "quantity": page.texts.quantity,
        "positions": [int(x) if x.is_integer() else x for x in page.positions],
        "panels": [asdict(panel) for panel in page.panels],
        "lines": [label for label, _ in page.legend],
        "specification": page.specification,
    }
    last = len(page.positions) - 1
    body = _BODY.format(
        title=markup.escape(page.texts.title),
        legend="\n".join(_entry(label, look) for label, look in page.legend),
        told=markup.escape(page.texts.reading),
        last=last,
        middle=last // 2,
        figure=_script_data(figure),
        program=program,
        reader=_READER,
    )
    return document(page.texts.title, f"<style>\n{_STYLE}</style>", body)


def _entry(label: str, look: Look) -> str:
    dashes = " ".join(f"{part:g}" for part in look.dashes)
    stroke = f'stroke="{look.color}" stroke-width="{look.width:g}" stroke-dasharray="{dashes}"'
    sample = f'<path d="M0,8H44" {stroke}/>'
    if look.outline:
        place = f"translate(22 8) scale({look.size:g})"
        edge = f'stroke="{look.edge}" stroke-width="{0.8 / look.size:.3g}"'
        sample += f'<path d="{look.outline}" transform="{place}" fill="{look.color}" {edge}/>'
    return (
        '<label><input type="checkbox" checked>'
        f'<svg width="44" height="16" aria-hidden="true">{sample}</svg>'
        f"{markup.escape(label)}</label>"
    )


def _script_data(content: Mapping[str, Any]) -> str:
    """As JSON in which nothing ends a script, whatever the texts are."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


# Vega, which draws interactive figures, from the package `vl_convert`; nothing is fetched.

# That of Altair's specifications: such as 6.4.
VEGA_LITE = SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]


def program() -> str:
    """What draws figures, as one script without dependencies."""
    # As the package itself names it. The name `vega` that it offers is null in this version, and
    # the third of its whole script that is Vega-Lite is of no use to what is compiled already.
    name = f"https://cdn.jsdelivr.net/npm/vega@{vl_convert.get_vega_version()}/+esm"
    snippet = f'import {{View, parse}} from "{name}"; window.vega = {{View, parse}};'
    return vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE)


def compiled(chart: ConcatChart) -> dict[str, Any]:
    """Vega's specification of a chart."""
    return vl_convert.vegalite_to_vega(chart.to_dict(), vl_version=VEGA_LITE)
