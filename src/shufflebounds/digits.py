"""Numbers in few digits, rounded so that what is shown of a bound is a bound."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_DIGITS = 6


def outward(value: float, *, up: bool) -> str:
    """A few digits of a number, never below it (up) or never above it; integers in full."""
    if isinstance(value, int) or value == 0.0 or math.isinf(value):
        return f"{value:.0f}"
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    rounded = Context(prec=_DIGITS, rounding=rounding).plus(Decimal(value))
    if -5 <= rounded.adjusted() < _DIGITS:
        return f"{rounded:f}"
    return f"{rounded:.{_DIGITS - 1}e}"
