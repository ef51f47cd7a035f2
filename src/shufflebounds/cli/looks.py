"""What the lines of a plot look like, by their bound."""

from __future__ import annotations

LOOKS = {
    "upper": {"label": "upper bound", "color": "#8ecae6", "line": "solid", "width": 3.5},
    "lower": {"label": "lower bound", "color": "#000000", "line": "solid", "width": 0.9},
    "clone": {"label": "clone", "color": "#cc7a00", "line": "dashed", "marker": "o"},
    "blanket_hoeffding": {
        "label": "blanket, Hoeffding",
        "color": "#a0a0a0",
        "line": "dashed",
        "marker": "s",
    },
    "blanket_hoeffding_generic": {
        "label": "blanket, Hoeffding, generic",
        "color": "#a0a0a0",
        "line": "dotted",
        "marker": "s",
    },
    "blanket_bennett": {
        "label": "blanket, Bennett",
        "color": "#0072b2",
        "line": "dashed",
        "marker": "^",
    },
    "blanket_bennett_generic": {
        "label": "blanket, Bennett, generic",
        "color": "#0072b2",
        "line": "dotted",
        "marker": "^",
    },
    "clone_closed_form": {
        "label": "clone, closed form",
        "color": "#cc7a00",
        "line": "dotted",
        "marker": "o",
    },
    "erlingsson": {
        "label": "Erlingsson et al.",
        "color": "#aa3377",
        "line": "dotted",
        "marker": "D",
    },
}
