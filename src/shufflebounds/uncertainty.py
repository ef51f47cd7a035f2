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


def entry_error(rel_err: object, rounded: bool, off: float) -> float:
    """The uncertainty of entries said to be good to `rel_err`.

    It grows where they were `rounded` to floats, and is at least twice what their sums are `off`,
    0 or more: masses x that sum to 1 + s stand for x/(1 + s), or other masses as close to x as
    these. Raises ValueError unless `rel_err` is in [0, 0.001), or where it grows out of that.
    """
    given = validation.finite("rel_err", rel_err)
    total = max(compounded(given, _U) if rounded else given, 2.0 * off)
    if given < 0.0 or total >= 1e-3:
        raise ValueError(f"rel_err must be a number in [0, 0.001), got {rel_err!r}")
    return max(total, _FINEST) if total > 0.0 else 0.0
