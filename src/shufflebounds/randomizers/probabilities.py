"""ε₀ from the probabilities that stand in a configuration, in exact fractions.

A number such as 0.05 is the decimal that is written, not the float next to it. A text such as
``1/6`` is a fraction. ε₀ is the smallest float that is not below the exact logarithm: a mechanism
at the larger of two ε₀ can be post-processed to the same mechanism at the smaller one.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

from shufflebounds.core import validation

# A probability as it may be given: 0.05, Fraction(1, 6) or "1/6".
Probability: TypeAlias = Fraction | float | str

# What the letters of RAPPOR's configuration mean.
FILTER_PROBABILITIES = MappingProxyType(
    {
        "f": "chance that a memoized bit is random; fixes eps0, with p and q if they are given",
        "p": "chance of a 1 if the memoized bit is 0 (in unary: if it is the user's value)",
        "q": "chance of a 1 if the memoized bit is 1 (in unary: if it is another value)",
        "h": "hashes of a value; 1 if left out",
        "bits": "bits of the Bloom filter",
        "cohorts": "number of cohorts with hashes of their own; 1 if left out",
    }
)

# Digits of logarithms, far more than floats have.
_DIGITS = 60


def exact_probability(name: str, value: Probability) -> Fraction:
    """Return a probability as it is written; raise ValueError unless it is between 0 and 1."""
    try:
        # The text of a float is the shortest decimal that stands for it.
        exact = None if isinstance(value, bool) else Fraction(str(value).replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        exact = None
    if exact is None or not 0 < exact < 1:
        raise ValueError(
            f"{name} must be a probability above 0 and below 1, such as 0.05 or 1/6, got {value!r}"
        )
    return exact


def eps0_of_ratio(ratio: Fraction, given: str) -> float:
    """Return the logarithm of a ratio above 1, rounded up; ``given`` names what determines it.

    Raises ValueError if it is no ε₀.
    """
    with localcontext(prec=_DIGITS) as context:
        # Close to 1 the logarithm loses the digits that the ratio has in common with 1.
        context.prec += max(0, -_decimal(ratio - 1).adjusted())
        exact = _decimal(ratio).ln()
        eps0 = float(exact)
        if Decimal(eps0) < exact * (1 + Decimal(10) ** -(_DIGITS // 2)):
            eps0 = math.nextafter(eps0, math.inf)
    if not eps0 <= validation.MAX_EPS0:
        raise ValueError(f"{given} must give an eps0 of at most {validation.MAX_EPS0:g}")
    return validation.eps0(eps0)


def _decimal(number: Fraction) -> Decimal:
    """Return a fraction with the digits of the context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def _two_steps(f: Fraction, p: Fraction, q: Fraction) -> tuple[Fraction, Fraction]:
    """Return the probabilities of a 1 in a RAPPOR report if the true bit is 1, and if it is 0.

    The memoized bit is 0 or 1 with probability f/2 each, else the true bit. The reported bit is 1
    with probability q if the memoized bit is 1, else with probability p.
    """
    return (1 - f / 2) * q + f / 2 * p, (1 - f / 2) * p + f / 2 * q


def odds_ratio(if_one: Fraction, if_zero: Fraction) -> Fraction:
    """Return the factor between the odds of two probabilities."""
    return if_one * (1 - if_zero) / (if_zero * (1 - if_one))


def bits_of_rappor(
    f: Probability | None, p: Probability | None, q: Probability | None
) -> tuple[Fraction, Fraction]:
    """Return the probabilities of a 1 by RAPPOR's f, p and q, of which f or p and q may be missing.

    Raises ValueError for numbers that contradict each other.
    """
    if (p is None) != (q is None) or (f is None and p is None):
        raise ValueError(
            f"f, or p and q, or all three must be given, got f = {f}, p = {p} and q = {q}"
        )
    memoized = Fraction(0) if f is None else exact_probability("f", f)
    if p is None or q is None:
        return _two_steps(memoized, Fraction(0), Fraction(1))
    if_zero, if_one = exact_probability("p", p), exact_probability("q", q)
    if if_zero + if_one == 1:  # Then the two letters may be exchanged.
        if_zero, if_one = min(if_zero, if_one), max(if_zero, if_one)
    if if_zero >= if_one:
        raise ValueError(
            f"p must be below q, got p = {p} and q = {q}: q is the probability of a 1 if the "
            "memoized bit is 1 (unary has the two letters the other way round)"
        )
    return _two_steps(memoized, if_zero, if_one)
