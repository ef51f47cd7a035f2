"""Checks of arguments of public functions: a ValueError names the argument, value and range.

All other code may assume finite floats and integers. A number that is not a float, such as
Fraction(1, 3), is never rounded in silence: it is refused, or replaced by its neighbouring floats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from numbers import Rational
from typing import Any, SupportsIndex, TypeAlias

from shufflebounds.core.number import Real, Whole

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
# Smallest noise multiplier that tests cover.
MIN_NOISE = 0.2
# Largest noise multiplier that tests cover.
MAX_NOISE = 1000.0
# Largest relative excess of a sum that is accepted as rounding: of the sum of weights over 1, and
# of ε₀ of all parts over `MAX_EPS0`.
SUM_TOLERANCE = 1e-12


# The numbers of questions.
EPS0 = Real(
    "eps0",
    "local epsilon (natural log) of everything a user sends in a shuffle",
    gt=0,
    le=MAX_EPS0,
    symbol="E0",
    slack=SUM_TOLERANCE,
)
N = Whole("n", "number of users, such as 1e5", ge=1, le=MAX_USERS, symbol="N", counts_users=True)
EPS = Real("eps", "target or claimed epsilon (natural log), such as 0.5", ge=0, symbol="E")
DELTA = Real("delta", "delta, well below 1/n, such as 1e-6", ge=MIN_DELTA, lt=1, symbol="D")
ORDER = Real(
    "order", "order of the Renyi divergence, above 1, such as 16", gt=1, le=MAX_ORDER, symbol="A"
)
ROUNDS = Whole(
    "rounds",
    "separate shuffles of the same users, such as days, up to 1e6",
    ge=1,
    le=MAX_ROUNDS,
    symbol="T",
    default=1,
)
RTOL = Real("rtol", "largest relative width of enclosures", ge=1e-9, le=MAX_RTOL, symbol="R")
DROPOUT = Real(
    "dropout",
    "largest share of the users who do not report, such as 0.1",
    ge=0,
    lt=1,
    symbol="SHARE",
    default=0.0,
)
COLLUDING = Whole(
    "colluding",
    "number of other users who [collude or break the protocol]"
    "(threat-model.md#dropouts-and-colluding-users)",
    ge=0,
    le=MAX_USERS,
    symbol="M",
    default=0,
    counts_users=True,
)
K_JOINT = Whole(
    "k_joint",
    "linked reports of a user, each at eps0/K or with a given noise",
    ge=1,
    le=MAX_JOINT,
    symbol="K",
    default=1,
)
RATE = Real(
    "rate",
    "probability that a report is sent (Poisson subsampling), "
    "[drawn anew](what-to-compose.md#a-panel-is-not-a-fresh-sample) in every round, in secret",
    ge=0,
    le=1,
    symbol="P",
    default=1.0,
)
COHORT = Whole(
    "cohort",
    "exact number of users who report, [drawn anew](what-to-compose.md#a-cohort-of-fixed-size) in "
    "every round, in secret",
    ge=1,
    le=MAX_USERS,
    symbol="SIZE",
    counts_users=True,
)
MESSAGES = Whole(
    "messages", "messages of a user, in protocols where that is not a parameter", ge=1, le=MAX_USERS
)
TARGET = replace(
    EPS0,
    name="target",
    meaning="epsilon (natural log) that the authors of a protocol chose its parameters for",
)
NOISE_MULTIPLIER = Real(
    "noise_multiplier",
    "noise of a step of training, in units of the clipping norm, 0.2 to 1000",
    ge=MIN_NOISE,
    le=MAX_NOISE,
)

FALSE_POSITIVES = Real(
    "false_positives", "a rate of false positives, 0 to 1; may be repeated", ge=0, le=1, symbol="P"
)
ERROR = Real(
    "error",
    "largest standard error of the share of users with a value, such as 0.01, or of the mean of "
    "numbers; with or without a target",
    gt=0.0,
    symbol="SE",
)

# Functions that return the number if it is in its range, and raise ValueError for all else.
eps0, users, eps, delta = EPS0.check, N.check, EPS.check, DELTA.check
order, rounds, rtol, messages = ORDER.check, ROUNDS.check, RTOL.check, MESSAGES.check
# Functions that return the floats around the number, twice the same one if it is a float.
eps_between, delta_between = EPS.between, DELTA.between


def finite(name: str, value: object) -> float:
    """Return `value` as a finite float; raise ValueError for all else, also booleans and NaN."""
    return Real(name).check(value)


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


def values(name: str, value: object, *, minimum: int = 2) -> int:
    """Return a number of values or of similar things, `minimum` to 2⁵³."""
    return whole(name, value, minimum=minimum, maximum=MAX_VALUES)


def probability(name: str, value: object) -> float:
    """Return the float nearest to a probability from 0 to 1; it is 0 only if `value` is 0."""
    return Real(name, ge=0, le=1).nearest(value)


def positive_probability(name: str, value: object, *, below: float) -> float:
    """Return a probability of a mechanism, 10⁻¹⁰⁰ to less than `below`."""
    return Real(name, ge=MIN_PROBABILITY, lt=below).nearest(value)


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
    return Whole(name, ge=minimum, le=maximum).check(value)


def domain_size(value: object, minimum: int) -> int:
    """Return a number of values from `minimum` on; it may be huge, but must fit in a float."""
    return whole("domain_size", value, minimum, MAX_DOMAIN_SIZE)


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
