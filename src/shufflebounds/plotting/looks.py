"""The looks of lines as browsers take them: pixels, dashes and outlines of markers."""

from __future__ import annotations

from dataclasses import dataclass

from shufflebounds.plotting import drawn
from shufflebounds.plotting.drawn import Drawn
from shufflebounds.plotting.layout import Line

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
    marker = drawn.marker(line, curve)
    parts = (int(line.color[i : i + 2], 16) for i in (1, 3, 5))
    return Look(
        color=line.color,
        edge="#" + "".join(f"{round(0.55 * part):02x}" for part in parts),
        width=round(width, 2),
        dashes=tuple(round(part * width, 2) for part in _DASHES[drawn.style(line, curve)]),
        outline=OUTLINES[marker] if marker else "",
        size=round(0.5 * _PIXELS * (3.0 + line.width), 2),
    )
