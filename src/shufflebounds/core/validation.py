"""Checks of arguments of public functions: a ValueError names the argument, value and range.

All other code may assume finite floats and integers. A number that is not a float, such as
Fraction(1, 3), is never rounded in silence: it is refused, or replaced by its neighbouring floats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, SupportsIndex, TypeAlias

# A number of users as it may be given, such as 100_000, 1e5 or an entry of an array.
Count: TypeAlias = SupportsIndex | float

# Largest local privacy parameter ε₀ (natural log): e^{2ε₀} is still a double.
MAX_EPS0 = 300.0
# Largest x for which e^x is computed: beyond about 709 it is no double.
MAX_EXPONENT = 700.0
# Largest number of values: every integer up to here is a float.
MAX_VALUES = 2**53
# Largest number of entries of a matrix, and of values in an estimate: 130 MB.
MAX_ENTRIES = 2**24
# Largest number of values of a mechanism whose laws need only a few of them: it fits in a float.
MAX_DOMAIN_SIZE = 10**300
# Largest number of users, and of messages of a user. The engine is tested up to here; for more
# users its rounding errors dominate the answers.
MAX_USERS = 10**15
# Smallest target δ: smaller positive numbers are near the end of the range of doubles.
MIN_DELTA = 1e-300
# Smallest positive probability that is a parameter of a mechanism: its square is a float.
MIN_PROBABILITY = 1e-100
# Largest number of rounds of one composition.
MAX_ROUNDS = 10**6
# Largest relative width that may be asked for.
MAX_RTOL = 0.1
# Largest number of reports that a user sends together.
MAX_JOINT = 100
# Largest order of a Rényi divergence.
MAX_ORDER = 10**6
# Largest relative excess of a sum that is accepted as rounding: of the sum of weights over 1, and
# of ε₀ of all parts over `MAX_EPS0`.
SUM_TOLERANCE = 1e-12


def finite(name: str, value: object) -> float:
    """Return `value` as a finite float; raise ValueError for all else, also booleans and NaN."""
    if not math.isfinite(_as_float(value)):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return _exact(name, value)


def eps0(value: object, name: str = "eps0") -> float:
    """Return a local privacy parameter ε₀ (natural log), 0 < ε₀ ≤ 300."""
    allowed = f"0 < {name} <= {MAX_EPS0:g}"
    _require(name, value, 0.0 < _as_float(value) <= MAX_EPS0 * (1.0 + SUM_TOLERANCE), allowed)
    return _exact(name, value)


def eps(value: object) -> float:
    """Return a privacy loss ε ≥ 0 (natural log) that is a float."""
    eps_between(value)
    return _exact("eps", value)


def eps_between(value: object) -> tuple[float, float]:
    """Return the floats around a privacy loss ε ≥ 0, twice the same one if it is a float."""
    _require("eps", value, _as_float(value) >= 0.0, "eps >= 0")
    return _neighbouring_floats(value)


def delta(value: object) -> float:
    """Return a target δ, 10⁻³⁰⁰ ≤ δ < 1, that is a float."""
    delta_between(value)
    return _exact("delta", value)


def delta_between(value: object) -> tuple[float, float]:
    """Return the floats around a target δ, twice the same one if it is a float."""
    _require("delta", value, MIN_DELTA <= _as_float(value) < 1.0, f"{MIN_DELTA:g} <= delta < 1")
    return _neighbouring_floats(value)


def rtol(value: object) -> float:
    """Return a relative width, 10⁻⁹ to 0.1."""
    return _require("rtol", value, 1e-9 <= _as_float(value) <= MAX_RTOL, "1e-09 <= rtol <= 0.1")


def rtol_advice(width: float, *others: str) -> str:
    """Return what would help where a relative width is too large; empty if nothing would.

    A larger rtol is among it if one that is allowed accepts the width; ``others`` help anyway.
    """
    choices = [*others, *(["a larger rtol"] if width <= MAX_RTOL else [])]
    return f"; {' or '.join(choices)} would help" if choices else ""


def shortfall(what: str, ends: tuple[float, float], width: float, goal: float, *others: str) -> str:
    """Return the sentence on an answer whose relative width is above the one asked for.

    ``others`` would help besides a larger rtol.
    """
    return (
        f"{what} is known only to lie in [{ends[0]!r}, {ends[1]!r}]: relative width {width:.1e} "
        f"where rtol = {goal:g} was asked for{rtol_advice(width, *others)}"
    )


def users(value: object, name: str = "n") -> int:
    """Return a number of users, 1 to 10¹⁵; whole numbers written as floats, such as 1e5, count."""
    nearest = _as_float(value)
    is_whole = nearest.is_integer() and nearest == value
    return whole(name, int(nearest) if is_whole else value, minimum=1, maximum=MAX_USERS)


def values(name: str, value: object, *, minimum: int = 2) -> int:
    """Return a number of values or of similar things, `minimum` to 2⁵³."""
    return whole(name, value, minimum=minimum, maximum=MAX_VALUES)


def rounds(value: object, name: str = "rounds") -> int:
    """Return a number of rounds, 1 to 10⁶."""
    return whole(name, value, minimum=1, maximum=MAX_ROUNDS)


def messages(value: object) -> int:
    """Return a number of messages that a user sends, 1 to 10¹⁵."""
    return whole("messages", value, minimum=1, maximum=MAX_USERS)


def order(value: object) -> float:
    """Return the order of a Rényi divergence, 1 < order ≤ 10⁶."""
    allowed = f"1 < order <= {MAX_ORDER}"
    _require("order", value, 1.0 < _as_float(value) <= MAX_ORDER, allowed)
    return _exact("order", value)


def probability(name: str, value: object) -> float:
    """Return the float nearest to a probability from 0 to 1; it is 0 only if `value` is 0."""
    nearest = _as_float(value)
    holds = 0.0 <= nearest <= 1.0 and (nearest > 0.0 or value == 0.0)
    return _require(name, value, holds, f"0 <= {name} <= 1")


def positive_probability(name: str, value: object, *, below: float) -> float:
    """Return a probability of a mechanism, 10⁻¹⁰⁰ to less than `below`."""
    holds = MIN_PROBABILITY <= _as_float(value) < below
    return _require(name, value, holds, f"{MIN_PROBABILITY:g} <= {name} < {below:g}")


def fraction(value: float | Rational) -> Fraction:
    """Return a finite number as a fraction, exactly."""
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(*value.as_integer_ratio())


def weights(values: Collection[object]) -> float:
    """Return the sum of probabilities; raise ValueError unless it is 1 up to rounding."""
    total = math.fsum(probability("weight", value) for value in values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"weights must sum to 1, got {total:.13g}")
    return total


def pairs(name: str, values: object, what: str) -> list[tuple]:
    """Return a list of pairs; `what`, such as ``(weight, part)``, describes one in the error."""
    listed: list[Any] = list(values) if isinstance(values, Iterable) else [values]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in listed):
        raise ValueError(f"{name} must be pairs {what}, got {values!r}")
    return listed


def whole(name: str, value: object, minimum: int, maximum: int | None = None) -> int:
    """Return an integer from `minimum` to `maximum`; raise ValueError for booleans and floats."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number, largest = int(value), math.inf if maximum is None else maximum
        if minimum <= number <= largest:
            return number
    ends = f">= {minimum}" if maximum is None else f"from {minimum} to {_short_integer(maximum)}"
    raise ValueError(f"{name} must be an integer {ends}, got {value!r}")


def domain_size(value: object, minimum: int) -> int:
    """Return a number of values from `minimum` on; it may be huge, but must fit in a float."""
    return whole("domain_size", value, minimum, MAX_DOMAIN_SIZE)


def _short_integer(number: int) -> str:
    """Return the digits of a number, or, for one such as 10**15, 1e15."""
    text = f"{number:.0e}".replace("+", "")
    return text if number >= 10**9 and float(text) == float(number) else str(number)


def choice(name: str, value: object, allowed: Collection[str]) -> str:
    """Return `value` if it is one of the names; raise ValueError, with a guess, otherwise."""
    if not isinstance(value, str) or value not in allowed:
        meant = likely(value, allowed)
        guess = f" (did you mean {meant}?)" if meant else ""
        listed = ", ".join(sorted(allowed))
        raise ValueError(f"{name} must be one of {listed}, got {value!r}{guess}")
    return str(value)


def likely(value: object, allowed: Iterable[str]) -> str | None:
    """Return the allowed name that is closest to a misspelt one, or None if no name is close."""
    names = {name.casefold(): name for name in allowed}
    close = get_close_matches(str(value).casefold(), list(names))
    # A slip replaces a letter more often than it adds or drops one.
    return names[min(close, key=lambda name: abs(len(name) - len(str(value))))] if close else None


def _as_float(value: object) -> float:
    """Return a real number as a float, infinite if it overflows, and NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _exact(name: str, value: Any) -> float:
    """Return a finite number as a float; raise ValueError if that would round it."""
    low, high = _neighbouring_floats(value)
    if low < high:
        raise ValueError(f"{name} must be a number that a float holds exactly, got {value!r}")
    return low


def _neighbouring_floats(value: Any) -> tuple[float, float]:
    """Return the floats around a number, twice the same one if it is a float."""
    if isinstance(value, Integral):
        value = int(value)  # NumPy would round its integers before it compares them.
    nearest = float(value)
    if nearest == value:
        return nearest, nearest
    if nearest < value:
        return nearest, math.nextafter(nearest, math.inf)
    return math.nextafter(nearest, -math.inf), nearest


def _require(name: str, value: Any, holds: bool, allowed: str) -> float:
    """Return the float nearest to a finite number; raise ValueError if the condition fails."""
    if not holds or not math.isfinite(_as_float(value)):
        raise ValueError(f"{name} must be a finite number with {allowed}, got {value!r}")
    return float(value)
