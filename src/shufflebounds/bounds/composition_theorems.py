"""Composition theorems that know one (ε, δ) of each round.

`single_rounds` makes bounds of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shufflebounds.accounting.composed import compose
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, PrecisionError

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
