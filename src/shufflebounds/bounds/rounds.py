"""Composition theorems that know one (ε, δ) of each round, and the bounds made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller

import numpy as np

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.composition import compose
from shufflebounds.bounds.base import (
    Answer,
    Bound,
    Evaluate,
    Kind,
    Numerics,
    PairsOf,
    attempt,
    smallest,
)
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Protocol, Shuffles

# The roundings of exp, a quotient and two products.
_ROUNDED = 2.0**-50
_SAFE = 1e-12
# Pairs of four atoms lie badly on a lattice: what is aimed at, and what is accepted.
_AIM, _ACCEPTED = 5e-3, 0.05

# Of (ε, times) of each round, the δ of every one of them, and the δ of all together: their ε.
Theorem = Callable[[Sequence[tuple[float, int]], float, float], Enclosure]


def basic(rounds: Sequence[tuple[float, int]], each: float, delta: float) -> Enclosure:
    """Σε, at Σδ."""
    total = math.fsum(eps * times for eps, times in rounds)
    return Enclosure(total * (1.0 - _SAFE), total * (1.0 + _SAFE))


def advanced(rounds: Sequence[tuple[float, int]], each: float, delta: float) -> Enclosure:
    """Advanced composition of rounds that may differ (Kairouz, Oh, Viswanath, Theorem 3.5).

    Σ ε tanh(ε/2) + √(2 Σε² L) at δ̃ + Σδ, L being the smaller of log(1/δ̃) and
    log(e + √(Σε²)/δ̃); or Σε where that is less.
    """
    slack = delta - each * sum(times for _, times in rounds)
    drift = math.fsum(times * eps * math.tanh(0.5 * eps) for eps, times in rounds)
    total = math.fsum(eps * times for eps, times in rounds)
    # Squares of the smallest ε would be 0; where those of the drift are, it counts for nothing.
    largest = max(eps for eps, _ in rounds) or 1.0
    spread = largest * math.sqrt(math.fsum(times * (eps / largest) ** 2 for eps, times in rounds))
    # δ̃ is a difference, but not far below δ, and its logarithm is hardly moved by its roundings.
    log = min(-math.log(slack), math.log(math.e + spread / slack))
    found = min(total, drift + spread * math.sqrt(2.0 * log))
    return Enclosure(found * (1.0 - _SAFE), found * (1.0 + _SAFE))


def optimal(rounds: Sequence[tuple[float, int]], each: float, delta: float) -> Enclosure:
    """The best that follows from ε and δ of each round (Kairouz, Oh, Viswanath, ICML 2015).

    It is that of randomized response which tells the truth with probability δ, composed.
    """
    pairs = [(_worst(eps, each), 1, times) for eps, times in rounds]
    try:
        return compose(pairs).epsilon(delta, rtol=_AIM)
    except PrecisionError as shortfall:
        if shortfall.enclosure.relative_width > _ACCEPTED:
            raise
        found: Enclosure = shortfall.enclosure
        return found


def _worst(eps: float, delta: float) -> Decomposition:
    """The pair that dominates all (ε, δ)-DP ones, as a report of a lone user."""
    rare = (1.0 - delta) / (1.0 + math.exp(eps))
    common = (1.0 - delta) / (1.0 + math.exp(-eps))
    a = np.array([delta, common, rare, 0.0])
    return Decomposition(a, a[::-1], np.full(4, 0.25), _ROUNDED)


# Bounds of many rounds by theorems that know one (ε, δ) of each, as baselines.
#
# The rounds share a part of δ evenly, at which each has the ε of its worst decomposition.
# Composing whole profiles (`compositions`) is never worse.


def _answer(
    theorem: Theorem,
    shares: Sequence[float],
    parts: Sequence[Shuffles],
    pairs_of: PairsOf,
    delta: float,
) -> Answer:
    total = sum(part.times for part in parts)
    each = [share * delta / total * (1.0 - _SAFE) for share in shares]
    each = [one for one in each if one >= validation.MIN_DELTA]
    if not each:
        return Answer(
            Enclosure(0.0, math.inf),
            shortfall=f"delta = {delta!r} leaves each of {total} rounds less than "
            f"{validation.MIN_DELTA:g}",
        )
    return smallest(
        _by_theorem(
            theorem,
            [
                (attempt(partial(_alone, part, pairs_of, one)).enclosure, part.times)
                for part in parts
            ],
            one,
            delta,
        )
        for one in each
    )


def _by_theorem(
    theorem: Theorem, rounds: Sequence[tuple[Enclosure, int]], each: float, delta: float
) -> Answer:
    if any(math.isinf(eps.upper) for eps, _ in rounds):
        return Answer(Enclosure(math.inf, math.inf))
    low = attempt(lambda: theorem([(eps.lower, times) for eps, times in rounds], each, delta))
    high = attempt(lambda: theorem([(eps.upper, times) for eps, times in rounds], each, delta))
    return Answer(
        Enclosure(min(low.enclosure.lower, high.enclosure.upper), high.enclosure.upper),
        shortfall=high.shortfall,
    )


def _alone(part: Shuffles, pairs_of: PairsOf, delta: float) -> Enclosure:
    """ε of one of the shuffles, the largest of all pairs."""
    n = part.protocol.draws(part.n)
    found = [
        single_shuffle.epsilon(pair.decomposition, n, delta) for pair in pairs_of(part.protocol)
    ]
    return Enclosure(max(one.lower for one in found), max(one.upper for one in found))


def theorem_bound(
    name: str,
    label: str,
    source: str,
    theorem: Theorem,
    shares: Sequence[float],
    pairs_of: PairsOf = methodcaller("upper_candidates"),
    knows_mechanism: bool = True,
) -> Bound:
    """What `theorem` gives of the largest ε of all pairs.

    `shares` are parts of δ that the rounds may have together; the best one counts.
    """

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        def answer(setting: Setting) -> Answer:
            often, delta = setting.rounds or 1, setting.require("delta")
            parts = [
                part._replace(times=part.times * often)
                for part in protocol.parts(setting.require("n"))
            ]
            if sum(part.times for part in parts) == 1:
                return attempt(partial(_alone, parts[0], pairs_of, delta))
            return _answer(theorem, shares, parts, pairs_of, delta)

        return lambda settings: [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        quantities=("epsilon",),
        composes=True,
        prepare=prepare,
    )


BASIC = theorem_bound(
    "basic_composition",
    "basic composition",
    "Dwork, McSherry, Nissim and Smith, TCC 2006, of the best single round at δ/T",
    basic,
    (1.0,),
)
ADVANCED = theorem_bound(
    "advanced_composition",
    "advanced composition",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.5, of the best single round at δ/(2T)",
    advanced,
    (0.5,),
)
OPTIMAL = theorem_bound(
    "optimal_composition",
    "optimal composition of (ε, δ)",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.3, of the best single round at δ/(2T)",
    optimal,
    (0.5,),
)
