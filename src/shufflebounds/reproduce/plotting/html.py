"""The HTML of an interactive figure: looks of lines as browsers take them, the page, Vega."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import vl_convert
from altair import SCHEMA_VERSION, ConcatChart

from shufflebounds.reproduce.plotting.layout import Line

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


def look(line: Line) -> Look:
    """The look of a line."""
    width = _PIXELS * line.width
    parts = (int(line.color[i : i + 2], 16) for i in (1, 3, 5))
    return Look(
        color=line.color,
        edge="#" + "".join(f"{round(0.55 * part):02x}" for part in parts),
        width=round(width, 2),
        dashes=tuple(round(part * width, 2) for part in _DASHES[line.style]),
        outline=OUTLINES[line.marker] if line.marker else "",
        size=round(0.5 * _PIXELS * (3.0 + line.width), 2),
    )


class Filled(Template):
    """A page to fill in: scripts and styles have $ and braces of their own."""

    delimiter = "@"


def page(figure: Mapping[str, Any], told: str, legend: Mapping[str, Look], program: str) -> str:
    """The page of a figure: one file that needs no network.

    Its legend is made of check boxes, and a slider reads all curves at one place, so that whoever
    uses the keyboard or a screen reader gets what others get by hovering.

    Parameters
    ----------
    figure
        What the script of ``page.html`` reads: ``title``; ``x`` and ``quantity``, symbols of the
        axis and of what the enclosures hold; ``positions``, the values of the axis, ascending;
        ``panels``, each with its ``title``, what its ``y`` axis shows and whether that ``is_ratio``
        of curves; ``lines``, labels in the order of ``line`` in the data; and the ``specification``
        of Vega, with the data sets ``panel_0``, …, and the signals ``hidden`` (a list of lines) and
        ``at`` (a value of the axis). All texts are plain.
    told
        What the readings tell.
    legend
        The look of every label.
    program
        What draws it, as `program` returns it.

    """
    last = len(figure["positions"]) - 1
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return Filled(template).substitute(
        title=html.escape(figure["title"]),
        legend="\n".join(_entry(label, look) for label, look in legend.items()),
        told=html.escape(told),
        last=last,
        middle=last // 2,
        figure=_script_data(figure),
        program=packed(program),
    )


def packed(text: str) -> str:
    """A text as pages unpack it."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


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
        f"{html.escape(label)}</label>"
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
