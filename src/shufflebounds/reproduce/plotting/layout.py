"""What a figure shows: rows of panels of curves. Plain data, which planning a run makes.

What is drawn of it is in `sheets`; here is nothing that loads pandas or Matplotlib.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from shufflebounds.reproduce.storage import CurveName

DEFAULT_WIDTH = 1.2  # of a line, in points
_NAMELESS = CurveName("", "", "")


@dataclass(frozen=True)
class Line:
    """How a line is drawn: ``style`` as Matplotlib names it, ``width`` in points.

    ``curve`` is what it shows; nameless where that is in a table. ``name`` is how tooltips and
    tables call it where several lines of a figure share the label; empty if they call it so, too.
    """

    label: str
    color: str
    style: str = "solid"
    marker: str = ""
    width: float = DEFAULT_WIDTH
    curve: CurveName = _NAMELESS
    name: str = ""

    @property
    def look(self) -> tuple[str, str, str, float]:
        """What makes it look different from other lines."""
        return self.color, self.style, self.marker, self.width


@dataclass(frozen=True)
class Panel:
    """Lines in drawing order; ``subject`` names the mechanism, ``setting`` what is fixed.

    ``subject`` is empty where the lines name their mechanisms.
    """

    subject: str
    setting: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Ratio:
    """Panels in which all curves are divided by one, in the order of the panels.

    They are a second row below a single one, and take the place of several rows. ``label`` is how
    the figure calls the divisor, and ``limits`` are the ends of the y axis, if they are not to
    follow from the data: what lies beyond is cut off.
    """

    curves: tuple[CurveName, ...]
    label: str
    limits: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """A figure. All its texts may hold mathtext, and plain symbols such as ε₀.

    Parameters
    ----------
    title
        Above all panels.
    panels
        Rows of panels, equally many in each.
    quantity
        What the curves hold: ``epsilon`` or ``delta``.
    x
        Name of their axis.
    transform
        What is drawn of ε: ``none``, ``expm1`` (e^ε − 1), ``log2_ratio`` (log₂(ε₀/ε)) or
        ``log2_gain`` (log₂(ε′/ε), ε′ the target of a protocol's authors).
    ratio
        What is divided by what.

    Raises
    ------
    ValueError
        Where lines with the same label look different.

    """

    title: str
    panels: tuple[tuple[Panel, ...], ...]
    quantity: str = "epsilon"
    x: str = "n"
    transform: str = "none"
    ratio: Ratio | None = None

    def __post_init__(self) -> None:
        looks: dict[str, tuple] = {}
        for line in self.lines:
            if looks.setdefault(line.label, line.look) != line.look:
                raise ValueError(
                    f"lines with the label {line.label!r} must look alike, "
                    f"got {looks[line.label]} and {line.look}"
                )

    @property
    def lines(self) -> Iterator[Line]:
        """Every line of every panel, row by row."""
        return (line for row in self.panels for panel in row for line in panel.lines)

    @property
    def curves(self) -> tuple[CurveName, ...]:
        """Every curve that is needed, once."""
        divisors = self.ratio.curves if self.ratio else ()
        return tuple(dict.fromkeys([*(line.curve for line in self.lines), *divisors]))

    @cached_property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for all of it."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]


# How the lines of a plot are drawn, by their bound.


def _family(name: str, **look: Any) -> dict[str, dict[str, Any]]:
    """A bound, and the same by nothing but ε₀, and γ."""
    return {
        name: {**look, "style": "dashed"},
        f"{name}_generic": {**look, "style": "dashdot"},
        f"{name}_similarity": {**look, "style": "dashdot", "width": 2.0},
    }


# Keyword arguments of `plotting.layout.Line`.
STYLES: dict[str, dict[str, Any]] = {
    "upper": {"color": "#8ecae6", "width": 3.5},
    "lower": {"color": "#000000", "width": 0.9},
    "tight": {"color": "#d55e00", "style": "dashed", "width": 2.2},
    "enumerated": {"color": "#009e73", "style": "dashed", "marker": "o"},
    "clone": {"color": "#cc7a00", "style": "dashed", "marker": "o"},
    "stronger_clone": {"color": "#aa3377", "style": "dashed", "marker": "D"},
    **_family("blanket_hoeffding", color="#a0a0a0", marker="s"),
    **_family("blanket_bennett", color="#0072b2", marker="^"),
    **_family("blanket_best", color="#56b4e9", marker="P"),
    "clone_closed_form": {"color": "#cc7a00", "style": "dashdot", "marker": "o"},
    "erlingsson": {"color": "#666666", "style": "dashdot", "marker": "D"},
    "variation_ratio": {"color": "#00604a", "style": "dashed", "marker": "s"},
    "variation_ratio_published": {"color": "#00604a", "style": "dotted"},
    "variation_ratio_printed": {"color": "#cc3311", "style": "dotted", "marker": "X"},
    "variation_ratio_analytic": {"color": "#35b779", "style": "dotted", "marker": "^"},
    "variation_ratio_asymptotic": {"color": "#b8a800", "style": "dotted", "marker": "v"},
    "merged_lower": {"color": "#666666", "style": "solid", "width": 0.9},
    "original": {"color": "#cc7a00", "style": "dashed", "marker": "v"},
    "basic_composition": {"color": "#a0a0a0", "style": "dashed", "marker": "v"},
    "advanced_composition": {"color": "#666666", "style": "dashed", "marker": "^"},
    "optimal_composition": {"color": "#00604a", "style": "dashdot", "marker": "v"},
    "vector_bits_published": {"color": "#cc3311", "style": "dotted"},
    "clone_advanced": {"color": "#a0a0a0", "style": "dashed", "marker": "v"},
    "upper_renyi": {"color": "#8ecae6", "style": "dashdot", "marker": "p"},
    "clone_renyi": {"color": "#cc7a00", "style": "dashdot", "marker": "p"},
    "stronger_clone_renyi": {"color": "#aa3377", "style": "dashdot", "marker": "p"},
    "girgis_reduction": {"color": "#35b779", "style": "dashed", "marker": "D"},
    "girgis_upper": {"color": "#0072b2", "style": "dashed", "marker": "v"},
    "girgis_simple": {"color": "#00604a", "style": "dashed", "marker": "X"},
    "girgis_lower": {"color": "#000000", "style": "dotted", "marker": "x"},
    "girgis_lower_simple": {"color": "#666666", "style": "dotted", "marker": "+"},
    "estimate_error": {"color": "#0072b2", "style": "solid"},
    "curator_error": {"color": "#000000", "style": "dashed"},
}
# A bound that has no style of its own yet.
DEFAULT: dict[str, Any] = {"color": "#999933", "style": "dashdot"}
