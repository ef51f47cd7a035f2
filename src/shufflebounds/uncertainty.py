"""Relative errors that add up, in floats and yet never too small."""

from __future__ import annotations

import math
from fractions import Fraction


def compounded(*errors: float) -> float:
    """(1 + e₁)(1 + e₂)⋯ − 1 for errors e ≥ 0, rounded up.

    In doubles 1 + 2⁻⁵³ is 1, so that the same formula would lose errors of a rounding altogether.
    """
    total = math.prod(1 + Fraction(error) for error in errors) - 1
    nearest = float(total)
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)
