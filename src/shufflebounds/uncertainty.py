"""How far entries may be from what they stand for, in floats and yet never too small."""

from __future__ import annotations

import math
from fractions import Fraction

from shufflebounds import validation

_U = 2.0**-53
# Products of finer uncertainties with masses might underflow.
_FINEST = 2.0**-60


def compounded(*errors: float) -> float:
    """(1 + e₁)(1 + e₂)⋯ − 1 for errors e ≥ 0, rounded up.

    In doubles 1 + 2⁻⁵³ is 1, so that the same formula would lose errors of a rounding altogether.
    """
    total = math.prod(1 + Fraction(error) for error in errors) - 1
    nearest = float(total)
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)


def entry_error(rel_err: object, rounded: bool, excess: float) -> float:
    """The uncertainty of entries said to be good to `rel_err`.

    It grows where they were `rounded` to floats, and is at least 2 `excess`, Σc − 1: a sum above 1
    can only be rounding. Raises ValueError unless `rel_err` is in [0, 0.001), or where it grows out
    of that.
    """
    given = validation.finite("rel_err", rel_err)
    if given > 0.0:
        given = max(given, _FINEST)
    total = max(compounded(given, _U) if rounded else given, 2.0 * max(excess, 0.0))
    if given < 0.0 or total >= 1e-3:
        raise ValueError(f"rel_err must be a number in [0, 0.001), got {rel_err!r}")
    return total
