"""Checks of arguments at the border: one sentence with the name, the value and what is allowed.

Everything behind the border may then assume finite floats and honest integers. A number that is
no float, such as Fraction(1, 3), is not rounded in silence: it is refused, or its neighbours told.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

# e^ε₀ and its powers must stay far from the end of the double range.
MAX_EPS0 = 300.0
# The parts of a report at that may add up to a rounding more.
_MAX_BUDGET = MAX_EPS0 * (1.0 + 1e-9)
# Where the engine was tested: beyond, its own rounding takes over.
MAX_USERS = 10**15
MIN_DELTA = 1e-300
MAX_ROUNDS = 10**6
# Reports that are sent together.
MAX_JOINT = 100
MAX_ORDER = 10**6

_SUM_TOLERANCE = 1e-12


def finite(name: str, value: object) -> float:
    """`value` as a finite float; ValueError for anything else (booleans and NaN included)."""
    if not math.isfinite(_number(value)):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return _exact(name, value)


def eps0(value: object, name: str = "eps0") -> float:
    """A local privacy parameter ε₀ (natural log), 0 < ε₀ ≤ 300."""
    allowed = f"0 < {name} <= {MAX_EPS0:g}"
    _within(name, value, 0.0 < _number(value) <= _MAX_BUDGET, allowed)
    return _exact(name, value)


def eps(value: object) -> float:
    """A privacy loss ε ≥ 0 (natural log) that is a float."""
    eps_between(value)
    return _exact("eps", value)


def eps_between(value: object) -> tuple[float, float]:
    """The floats next to a privacy loss ε ≥ 0 on either side, both the same if it is a float."""
    _within("eps", value, _number(value) >= 0.0, "eps >= 0")
    return _between(value)


def delta(value: object) -> float:
    """A target δ, 10⁻³⁰⁰ ≤ δ < 1, that is a float."""
    delta_between(value)
    return _exact("delta", value)


def delta_between(value: object) -> tuple[float, float]:
    """The floats next to a target δ on either side, both the same if it is a float."""
    _within("delta", value, MIN_DELTA <= _number(value) < 1.0, f"{MIN_DELTA:g} <= delta < 1")
    return _between(value)


def rtol(value: object) -> float:
    """A relative width, 10⁻⁹ to 0.1."""
    return _within("rtol", value, 1e-9 <= _number(value) <= 0.1, "1e-09 <= rtol <= 0.1")


def users(value: object) -> int:
    """A number of users, 1 to 10¹⁵; a whole number that is a float, such as 1e5, is one too."""
    nearest = _number(value)
    is_whole = nearest.is_integer() and nearest == value
    return whole("n", int(nearest) if is_whole else value, minimum=1, maximum=MAX_USERS)


def rounds(value: object) -> int:
    """A number of rounds, 1 to 10⁶."""
    return whole("rounds", value, minimum=1, maximum=MAX_ROUNDS)


def messages(value: object) -> int:
    """A number of messages that a user sends, 1 to 10¹⁵."""
    return whole("messages", value, minimum=1, maximum=MAX_USERS)


def order(value: object) -> float:
    """The order of a Rényi divergence, 1 < order ≤ 10⁶."""
    allowed = f"1 < order <= {MAX_ORDER}"
    _within("order", value, 1.0 < _number(value) <= MAX_ORDER, allowed)
    return _exact("order", value)


def probability(name: str, value: object) -> float:
    """The float nearest to a probability, 0 and 1 included; 0 for 0 only."""
    nearest = _number(value)
    holds = 0.0 <= nearest <= 1.0 and (nearest > 0.0 or value == 0.0)
    return _within(name, value, holds, f"0 <= {name} <= 1")


def fraction(value: float | Rational) -> Fraction:
    """A finite number, as it is."""
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(*value.as_integer_ratio())


def weights(values: Collection[object]) -> float:
    """Probabilities that sum to 1 up to rounding; returns their sum."""
    total = math.fsum(probability("weight", value) for value in values)
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"weights must sum to 1, got {total:.13g}")
    return total


def pairs(name: str, values: object, what: str) -> list[tuple]:
    """A list of tuples of two."""
    listed: list[Any] = list(values) if isinstance(values, Iterable) else [values]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in listed):
        raise ValueError(f"{name} must be pairs {what}, got {values!r}")
    return listed


def whole(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """An integer of at least `minimum` and at most `maximum`; booleans and floats are refused."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number, most = int(value), math.inf if maximum is None else maximum
        if minimum <= number <= most:
            return number
    ends = f">= {minimum}" if maximum is None else f"from {minimum} to {_brief(maximum)}"
    raise ValueError(f"{name} must be an integer {ends}, got {value!r}")


def _brief(number: int) -> str:
    """10**15 as 1e15."""
    text = f"{number:.0e}".replace("+", "")
    return text if number >= 10**9 and float(text) == number else str(number)


def choice(name: str, value: object, allowed: Collection[str]) -> str:
    """One of a few names."""
    if not isinstance(value, str) or value not in allowed:
        meant = likely(value, allowed)
        guess = f" (did you mean {meant}?)" if meant else ""
        listed = ", ".join(sorted(allowed))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}{guess}")
    return str(value)


def likely(value: object, allowed: Iterable[str]) -> str | None:
    """Which of the names a wrong one was meant to be, if one comes close; KRR is a guess at krr."""
    names = {name.casefold(): name for name in allowed}
    close = get_close_matches(str(value).casefold(), list(names))
    # A slip replaces a letter more often than it adds or drops one.
    return names[min(close, key=lambda name: abs(len(name) - len(str(value))))] if close else None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _exact(name: str, value: Any) -> float:
    """A finite number as a float; ValueError where that would round it."""
    low, high = _between(value)
    if low < high:
        raise ValueError(f"{name} must be a number that a float holds exactly, got {value!r}")
    return low


def _between(value: Any) -> tuple[float, float]:
    if isinstance(value, Integral):
        value = int(value)  # NumPy's would be rounded before they are compared
    nearest = float(value)
    if nearest == value:
        return nearest, nearest
    if nearest < value:
        return nearest, math.nextafter(nearest, math.inf)
    return math.nextafter(nearest, -math.inf), nearest


def _within(name: str, value: Any, holds: bool, allowed: str) -> float:
    if not holds or not math.isfinite(_number(value)):
        raise ValueError(f"{name} must be a finite number with {allowed}, got {value!r}")
    return float(value)
