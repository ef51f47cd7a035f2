"""The visual language: how a bound and how a mechanism looks, in every figure of every paper.

A bound has a colour, dashes and a width by its role. A mechanism has the colour of its family and a
marker of its own. `line_look` says which of them a line shows. No other module names a colour.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.registry import BOUNDS

# Colours of what is not a line: the band between two bounds, the grid, text.
BAND = "#d9d9d9"
GRID = "#e6e6e6"
# The line at a ratio of 1.
UNIT = "#a8a8a8"
INK = "#262626"
# The darkest and the lightest colour of maps; text on either keeps a contrast of 4.5.
MAP_COLOR = "#5f8fd0"
MAP_START = "#f0f0f0"

# Dashes in points, at every width of a line: ink, gap, ink, gap, …
SOLID = ()
DASHED = (5.0, 2.0)
LONG_DASHED = (9.0, 2.0)
FINE_DASHED = (2.5, 1.5)
DASH_DOTTED = (7.0, 1.8, 1.4, 1.8)
DOTTED = (1.2, 1.6)


@dataclass(frozen=True)
class Look:
    """How a line looks: colour, dashes and width in points, and a marker of Matplotlib.

    The markers of a line that is not proven are hollow.
    """

    color: str
    dashes: tuple[float, ...] = SOLID
    width: float = 1.2
    marker: str = ""

    @property
    def is_hollow(self) -> bool:
        """Whether the line is not proven, which dots say."""
        return self.dashes == DOTTED


_BLACK = "#000000"
_DARK = "#555555"
_GREY = "#757575"
_BLUE = "#4c72b0"
_INDIGO = "#332288"
_BROWN = "#8c510a"
_GREEN = "#477545"
_TEAL = "#005f7f"
# The one colour of what is not proven.
_UNPROVEN = "#a62684"

# Looks by the name of the bound.
BOUND_LOOKS = {
    "lower": Look(_BLACK, width=0.9),
    "best": Look("#b84e00", width=1.8, marker="o"),
    "blanket": Look(_BLUE, width=1.4),
    "stronger_clone": Look(_INDIGO, DASH_DOTTED),
    "clone": Look(_BROWN, DASHED),
    "blanket_bennett": Look(_DARK, LONG_DASHED),
    "blanket_bennett_generic": Look(_DARK, LONG_DASHED, marker="^"),
    "blanket_bennett_similarity": Look(_DARK, LONG_DASHED, marker="D"),
    "blanket_hoeffding": Look(_GREY, FINE_DASHED),
    "blanket_hoeffding_generic": Look(_GREY, FINE_DASHED, marker="^"),
    "blanket_hoeffding_similarity": Look(_GREY, FINE_DASHED, marker="D"),
    "blanket_best": Look(_TEAL, LONG_DASHED, marker="P"),
    "blanket_best_generic": Look(_TEAL, LONG_DASHED, marker="v"),
    "blanket_best_similarity": Look(_TEAL, LONG_DASHED, marker="s"),
    "enumerated": Look(_GREEN, DASHED, marker="X"),
    "merged_lower": Look(_DARK, FINE_DASHED, 0.9, "+"),
    "merged_lower_printed": Look(_DARK, width=0.9, marker="x"),
    "erlingsson": Look(_GREY, DASH_DOTTED, marker="D"),
    "clone_closed_form": Look(_BROWN, DASH_DOTTED, marker="o"),
    "clone_advanced": Look(_BROWN, DASHED, marker="h"),
    "clone_renyi": Look(_BROWN, DASH_DOTTED, marker="p"),
    "stronger_clone_renyi": Look(_INDIGO, DASH_DOTTED, marker="h"),
    "blanket_renyi": Look(_BLUE, DASH_DOTTED, marker="P"),
    "variation_ratio": Look(_GREEN, DASHED, marker="s"),
    "variation_ratio_published": Look(_UNPROVEN, DOTTED, 1.4),
    "variation_ratio_printed": Look(_UNPROVEN, DOTTED, 1.4, "X"),
    "variation_ratio_analytic": Look(_UNPROVEN, DOTTED, 1.4, "^"),
    "variation_ratio_asymptotic": Look(_UNPROVEN, DOTTED, 1.4, "v"),
    "vector_bits_published": Look(_UNPROVEN, DOTTED, 1.4, "o"),
    "original": Look(_BROWN, DASHED, marker="v"),
    "basic_composition": Look(_GREY, DASHED, marker="P"),
    "advanced_composition": Look(_DARK, DASHED, marker="H"),
    "optimal_composition": Look(_GREEN, DASHED, marker="D"),
    "girgis_reduction": Look(_TEAL, DASHED, marker="p"),
    "girgis_upper": Look(_TEAL, DASHED, marker="^"),
    "girgis_simple": Look(_GREY, DASHED, marker="o"),
    "girgis_lower": Look(_BLACK, DASHED, 0.9, "x"),
    "girgis_lower_simple": Look(_DARK, DASHED, 0.9, "+"),
    "estimate_error": Look(_BLUE, width=1.4),
    "curator_error": Look(_BLACK, DASHED, 0.9),
    # What a paper's own program makes of the blanket and of the lower bound.
    "program_upper": Look(_BLUE, DASHED, marker="^"),
    "program_lower": Look(_BLACK, DASHED, 0.9, "v"),
    "guess": Look(_GREY, DASHED, 0.9),
    "goal": Look(_DARK, FINE_DASHED, 0.9),
}

# Bounds that have no look of their own. Several of them in a panel differ by their variants.
_OTHER_BOUND = Look(_TEAL, FINE_DASHED, marker="8")

# Colours of families of mechanisms, and the marker of each member. They were searched for: each is
# far from every colour of a bound, with each deficiency of colour vision, and legible as text.
_FAMILIES = {
    "#1314c6": {"krr": "o", "dump": "P"},
    "#d520ab": {"rappor": "v", "oue": "^", "unary": "<"},
    "#04512a": {"blh": "s", "local_hash": "D", "collision": "h"},
    "#815de5": {"hadamard": "*", "hadamard_blocks": "X"},
    "#99002a": {"subset": "p", "privset": "H"},
    "#4a1601": {
        "laplace": ">",
        "metric_laplace": "d",
        "duchi": "8",
        "piecewise": "P",
        "privunit": "X",
    },
    "#400066": {"hierarchical_histogram": "H", "separate_histograms": "d", "cheu_zhilyaev": "X"},
}
MECHANISM_LOOKS = {
    name: Look(color, marker=marker)
    for color, members in _FAMILIES.items()
    for name, marker in members.items()
}
# Compositions of several mechanisms, matrices, other protocols.
_OTHER_MECHANISM = Look("#400066", marker="8")
# Markers of several lines that would look the same, such as those of one mechanism at several
# rates.
_VARIANTS = ("s", "^", "D", "v", "P", "X", "o")
# Colours of such lines, those of the families that are drawn least often first, and their dashes.
_VARIANT_COLORS = [*_FAMILIES][-2::-1]
_VARIANT_DASHES = (SOLID, DASHED, DASH_DOTTED, FINE_DASHED, LONG_DASHED)


def mechanism_look(name: str) -> Look:
    """Return the look of a mechanism, by the name of its type."""
    return MECHANISM_LOOKS.get(name, _OTHER_MECHANISM)


def bound_look(name: str) -> Look:
    """Return the look of a bound; all that have none of their own look alike."""
    if name in BOUND_LOOKS:
        return BOUND_LOOKS[name]
    is_unproven = name in BOUNDS and BOUNDS[name].kind is Kind.UNPROVEN
    return unproven(_OTHER_BOUND) if is_unproven else _OTHER_BOUND


def unproven(look: Look) -> Look:
    """Return the same look for what is not proven."""
    return replace(look, color=_UNPROVEN, dashes=DOTTED)


def line_look(bound: str, mechanism: str = "", variant: int = 0) -> Look:
    """Return the look of a line.

    Parameters
    ----------
    bound
        The name of what is drawn.
    mechanism
        The type of its mechanism, if the lines of the figure are to be told apart by their
        mechanisms.
    variant
        How many lines of the figure have the same look and come before this one, such as other
        numbers of joint reports. All but the first have markers of their own. Mechanisms and bounds
        that have no look of their own have colours of their own, too.
    """
    look = bound_look(bound)
    if mechanism:
        own = mechanism_look(mechanism)
        look = replace(look, color=own.color, marker=own.marker)
    if variant:
        free = [marker for marker in _VARIANTS if marker != look.marker]
        look = replace(look, marker=free[(variant - 1) % len(free)])
        is_known = mechanism in MECHANISM_LOOKS if mechanism else bound in BOUND_LOOKS
        if not is_known and not look.is_hollow:
            look = replace(look, color=_VARIANT_COLORS[(variant - 1) % len(_VARIANT_COLORS)])
    return look


def role(bound: str, label: str) -> str:
    """Return the name of the bound that a line looks like: that of its label, if there is one.

    Where a mechanism has no blanket, the stronger clone stands in its place.
    """
    names = (name for name, known in BOUNDS.items() if known.label == label)
    return bound if BOUNDS[bound].label == label else next(names, bound)


def computed_look(bound: str, mechanism: str = "") -> Look:
    """Return the look of a line as `line_look` does; lower bounds are black in all of them."""
    look = line_look(bound, mechanism)
    is_lower = BOUNDS[bound].kind is Kind.LOWER
    return replace(look, color=bound_look(bound).color) if is_lower else look


def unused_look(look: Look, used: Collection[Look], *, has_dashes: bool) -> Look:
    """Return a look with a marker and, if these are free, dashes that no look that is used has.

    Its colour stands for a family of mechanisms, or for a bound. The looks that are used have a
    width of 0.
    """
    if look.is_hollow or replace(look, width=0.0) not in used:
        return look
    markers = [marker for marker in _VARIANTS if marker != look.marker]
    dashes = [dashes for dashes in _VARIANT_DASHES if dashes != look.dashes] if has_dashes else []
    looks = [
        replace(look, marker=marker, dashes=dashes[i % len(dashes)] if dashes else look.dashes)
        for i, marker in enumerate(markers)
    ]
    return next((other for other in looks if replace(other, width=0.0) not in used), looks[-1])
