"""Composition theorems that know one (ε, δ) of each round, as baselines of composed profiles.

N rounds share δ evenly, at which each has the ε of its best decomposition. Composing whole profiles
(`compositions`) is never worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shufflebounds.accounting import amplification
from shufflebounds.accounting.composed import compose
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, attempt
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.protocols.base import Part, Protocol
from shufflebounds.setting import Setting

# The roundings of exp, a quotient and two products.
_ROUNDED = 2.0**-50
_SAFE = 1e-12
# Pairs of four atoms lie badly on a lattice: what is aimed at, and what is accepted.
_AIM, _ACCEPTED = 5e-3, 0.05

# ε of rounds with these ε and δ each, (ε, times): at a δ in all.
Theorem = Callable[[Sequence[tuple[float, int]], float, float], Enclosure]


def basic(rounds: Sequence[tuple[float, int]], each: float, delta: float) -> Enclosure:
    """Σε, at Σδ."""
    total = math.fsum(eps * times for eps, times in rounds)
    return Enclosure(total * (1.0 - _SAFE), total * (1.0 + _SAFE))


def advanced(rounds: Sequence[tuple[float, int]], each: float, delta: float) -> Enclosure:
    """Advanced composition of rounds that may differ (Kairouz, Oh, Viswanath, Theorem 3.5).

    Σ ε tanh(ε/2) + √(2 Σε² log(1/δ̃)) at δ̃ + Σδ, or Σε where that is less.
    """
    slack = delta - each * sum(times for _, times in rounds)
    drift = math.fsum(times * eps * math.tanh(0.5 * eps) for eps, times in rounds)
    spread = math.fsum(times * eps**2 for eps, times in rounds)
    total = math.fsum(eps * times for eps, times in rounds)
    # δ̃ is a difference, half of δ, and its logarithm is hardly moved by its roundings.
    found = min(total, drift + math.sqrt(-2.0 * spread * math.log(slack)))
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


def _of_rounds(theorem: Theorem, share: float) -> Callable[[Protocol, str, Numerics], Evaluate]:
    """`share` is how much of δ the rounds have together."""

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        return lambda settings: [_answer(theorem, share, protocol, one) for one in settings]

    return prepare


def _answer(theorem: Theorem, share: float, protocol: Protocol, setting: Setting) -> Answer:
    delta, often = setting.require("delta"), setting.rounds or 1
    parts = [
        part._replace(times=part.times * often) for part in protocol.parts(setting.require("n"))
    ]
    total = sum(part.times for part in parts)
    if total == 1:
        return attempt(lambda: _alone(parts[0], delta))
    each = share * delta / total * (1.0 - _SAFE)
    ends = [(_found(part, each), part.times) for part in parts]
    if any(math.isinf(eps.upper) for eps, _ in ends):
        return Answer(Enclosure(math.inf, math.inf))
    low = attempt(lambda: theorem([(eps.lower, times) for eps, times in ends], each, delta))
    high = attempt(lambda: theorem([(eps.upper, times) for eps, times in ends], each, delta))
    return Answer(
        Enclosure(min(low.enclosure.lower, high.enclosure.upper), high.enclosure.upper),
        shortfall=high.shortfall,
    )


def _alone(part: Part, delta: float) -> Enclosure:
    """ε of one of the shuffles, the largest of all pairs."""
    n = part.protocol.draws(part.n)
    found = [
        amplification.epsilon(pair.decomposition, n, delta)
        for pair in part.protocol.upper_candidates()
    ]
    return Enclosure(max(one.lower for one in found), max(one.upper for one in found))


def _found(part: Part, delta: float) -> Enclosure:
    try:
        return _alone(part, delta)
    except PrecisionError as shortfall:
        found: Enclosure = shortfall.enclosure
        return found


def _bound(name: str, label: str, source: str, theorem: Theorem, share: float) -> Bound:
    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=source,
        module=__name__,
        knows_mechanism=True,
        is_divergence=False,
        quantities=("epsilon",),
        composes=True,
        prepare=_of_rounds(theorem, share),
    )


BASIC = _bound(
    "basic_composition",
    "basic composition",
    "Dwork, McSherry, Nissim and Smith, TCC 2006, of the best single round at δ/T",
    basic,
    1.0,
)
ADVANCED = _bound(
    "advanced_composition",
    "advanced composition",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.5, of the best single round at δ/(2T)",
    advanced,
    0.5,
)
OPTIMAL = _bound(
    "optimal_composition",
    "optimal composition of (ε, δ)",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.3, of the best single round at δ/(2T)",
    optimal,
    0.5,
)
