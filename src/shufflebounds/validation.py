"""Checks of arguments at the border: one sentence with the name, the value and what is allowed.

Everything behind the border may then assume finite floats and honest integers.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real

# e^ε₀ and its powers must stay far from the end of the double range.
MAX_EPS0 = 300.0


def finite(name: str, value: object) -> float:
    """`value` as a finite float; ValueError for anything else (booleans and NaN included)."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def eps0(value: object, name: str = "eps0") -> float:
    """A local privacy parameter ε₀ (natural log), 0 < ε₀ ≤ 300."""
    return _within(name, value, 0.0 < _number(value) <= MAX_EPS0, f"0 < {name} <= {MAX_EPS0:g}")


def eps(value: object) -> float:
    """A privacy loss ε ≥ 0 (natural log)."""
    return _within("eps", value, _number(value) >= 0.0, "eps >= 0")


def delta(value: object) -> float:
    """A target δ, strictly between 0 and 1."""
    return _within("delta", value, 0.0 < _number(value) < 1.0, "0 < delta < 1")


def probability(name: str, value: object) -> float:
    """A probability, 0 and 1 included."""
    return _within(name, value, 0.0 <= _number(value) <= 1.0, f"0 <= {name} <= 1")


def whole(name: str, value: object, minimum: int) -> int:
    """An integer of at least `minimum`; booleans and floats are refused."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}, got {value!r}")
    return int(value)


def choice(name: str, value: object, allowed: Collection[str]) -> str:
    """One of a few names."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(sorted(allowed))}, got {value!r}")
    return str(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    return float(value)


def _within(name: str, value: object, holds: bool, allowed: str) -> float:
    if not holds or not math.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number with {allowed}, got {value!r}")
    return float(value)
