"""How the lines of a plot are drawn, by their bound."""

from __future__ import annotations

from typing import Any


def _and_generic(name: str, **look: Any) -> dict[str, dict[str, Any]]:
    """A bound, and the same by nothing but ε₀."""
    return {
        name: {**look, "style": "dashed"},
        f"{name}_generic": {**look, "style": "dashdot"},
    }


# Keyword arguments of `plotting.layout.Line`.
STYLES: dict[str, dict[str, Any]] = {
    "upper": {"color": "#8ecae6", "width": 3.5},
    "lower": {"color": "#000000", "width": 0.9},
    "tight": {"color": "#d55e00", "style": "dashed", "width": 2.2},
    "enumerated": {"color": "#009e73", "style": "dashed", "marker": "o"},
    "clone": {"color": "#cc7a00", "style": "dashed", "marker": "o"},
    "stronger_clone": {"color": "#aa3377", "style": "dashed", "marker": "D"},
    **_and_generic("blanket_hoeffding", color="#a0a0a0", marker="s"),
    **_and_generic("blanket_bennett", color="#0072b2", marker="^"),
    **_and_generic("blanket_best", color="#56b4e9", marker="P"),
    "clone_closed_form": {"color": "#cc7a00", "style": "dashdot", "marker": "o"},
    "erlingsson": {"color": "#666666", "style": "dashdot", "marker": "D"},
    "variation_ratio": {"color": "#00604a", "style": "dashed", "marker": "s"},
    "variation_ratio_published": {"color": "#00604a", "style": "dotted"},
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
}
# A bound that has no style of its own yet.
DEFAULT: dict[str, Any] = {"color": "#999933", "style": "dashdot"}
