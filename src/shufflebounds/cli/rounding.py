"""What answers say of an enclosure in few digits, each rounded outward."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from shufflebounds.digits import outward as outward
from shufflebounds.enclosure import Enclosure


def width(found: Enclosure) -> str:
    """The relative width of an enclosure, in two digits, rounded up."""
    if found.lower == found.upper:
        return "0 (exact)"
    if math.isinf(found.upper):
        return "unbounded"
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(found.relative_width))
    return f"{rounded:.1e}"
