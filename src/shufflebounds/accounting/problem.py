"""A decomposition at one n: D(ε) of both directions, and limits of it that need no engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.engine import divergence, divergences
from shufflebounds.divergence.law import U
from shufflebounds.divergence.saddlepoint import Estimate, largest_estimate

# Most decompositions of a set whose typical losses are computed; the others are ranked below them.
MAX_DECOMPOSITIONS_TRIED = 16
# Ratio of the standard deviation of the loss to the normal loss with the same D(0) above which rare
# losses make up the variance, as of small sampling rates. Below it, normal losses fit the lattices
# better.
RARE_RATIO = 10.0
# Number of typical losses that are cached.
MAX_TYPICAL_LOSSES_CACHED = 256


@dataclass(frozen=True)
class Problem:
    """The directions of a decomposition, each as (inner, outer), at one number of users n."""

    directions: tuple[tuple[Decomposition, Decomposition], ...]
    n: int

    @staticmethod
    def of(decomposition: Decomposition, n: int) -> Problem:
        """Return the problem of a decomposition; raise ValueError for another type."""
        return Problem(require("decomposition", decomposition).directions, n)

    @property
    def outer(self) -> list[Decomposition]:
        """The outer decomposition of each direction."""
        return [outer for _, outer in self.directions]

    def only(self, end: int) -> Problem:
        """Return the problem of the inner decompositions alone (0), or of the outer ones (1)."""
        return Problem(tuple((pair[end], pair[end]) for pair in self.directions), self.n)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        """Return an enclosure of the larger D(ε) of all directions."""
        (enclosure,) = largest_divergences([self], [eps], [rtol])
        return enclosure

    def enclose(self, decomposition: Decomposition, eps: float, rtol: float) -> Enclosure:
        """Return an enclosure of D(ε) of a decomposition in its own order, for n users."""
        return divergence(decomposition, eps, self.n, rtol)

    def estimate(self, eps: float) -> Estimate:
        """Return an estimate of log D(ε) and its slope in the direction where D is larger."""
        return largest_estimate(self.outer, np.asarray(eps), np.asarray(float(self.n)))

    def is_finite(self) -> bool:
        """Return whether the inner and the outer decomposition of each direction are the same."""
        return all(inner is outer for inner, outer in self.directions)

    def promises(self, rtol: float | None) -> bool:
        """Return whether a relative width above the goal is an error."""
        return rtol is not None or self.is_finite()

    def largest_loss(self) -> float:
        """Return an ε at which D is certainly 0: the largest log a/b, inf where some b is 0."""
        return max(sum(largest_loss(outer)) for _, outer in self.directions)

    def delta_limit(self) -> float:
        """Return a lower bound of D at every ε, from outputs that only one input can produce."""
        return max(delta_limit(inner, self.n) for inner, _ in self.directions)

    def limited(self, eps: float, enclosure: Enclosure) -> Enclosure:
        """Return an enclosure taken at `LARGEST_EPS` extended to a larger ε, others unchanged."""
        if eps <= LARGEST_EPS:
            return enclosure
        # D does not rise, and does not fall below its limit.
        return Enclosure(min(self.delta_limit(), enclosure.upper), enclosure.upper)

    def vanishes(self, eps: float) -> bool:
        """Return whether rounding cannot exclude that D(ε) is 0."""
        losses = (largest_loss(inner) for inner, _ in self.directions)
        return all(eps >= loss - slack for loss, slack in losses)


def largest_divergences(
    problems: Sequence[Problem],
    eps: Sequence[float],
    rtol: Sequence[float],
    target: Sequence[float] | float = math.nan,
) -> list[Enclosure]:
    """Return enclosures of the larger D(ε) of all directions, of problems that differ only in n.

    A D that is far from the δ given as its `target` may have a wide enclosure.
    """
    points = np.array(eps), np.array([float(problem.n) for problem in problems])
    lower, upper = np.zeros(len(eps)), np.zeros(len(eps))
    for inner, outer in problems[0].directions:
        # Two decompositions share the width.
        aim = np.array(rtol) * (1.0 if inner is outer else 0.5)
        low, high = divergences(outer, *points, aim, np.array(target))
        if inner is not outer:
            low = np.minimum(divergences(inner, *points, aim, np.array(target))[0], high)
        lower, upper = np.maximum(lower, low), np.maximum(upper, high)
    return [Enclosure(*ends) for ends in zip(lower.tolist(), upper.tolist(), strict=True)]


def largest_loss(decomposition: Decomposition) -> tuple[float, float]:
    """Return the largest log a/b and its largest rounding error; (inf, 0) where some b is 0."""
    a, b = (x[decomposition.a > 0.0] for x in (decomposition.a, decomposition.b))
    if not b.all():
        return math.inf, 0.0
    loss = max(0.0, float(np.max(np.log(a / b))))
    return loss, 2.1 * decomposition.rel_err + 8.0 * U * (1.0 + loss)


def delta_limit(decomposition: Decomposition, n: int) -> float:
    """Return a lower bound of D at every ε for n users, from outputs with b = 0."""
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    reveals, err = b == 0.0, decomposition.rel_err
    visible = float(a[reveals & (c == 0.0)].sum())
    hidden = float(a[reveals & (c > 0.0)].sum())
    outside_mass = math.fsum([1.0, *(-c[~reveals]).tolist()])
    outside_mass -= (err + 8.0 * U) * (1.0 - outside_mass) + 8.0 * U * outside_mass
    if hidden > 0.0 and outside_mass > 0.0:
        visible += hidden * math.exp((n - 1) * math.log(outside_mass) * (1.0 + 1e-12))
    return visible * (1.0 - 1e-9 - err)


def most_telling(decompositions: Iterable[Decomposition]) -> list[Decomposition]:
    """Return at most `MAX_DECOMPOSITIONS_TRIED` of them: those with the largest E G² at ε = 0."""
    candidates = list(decompositions)
    if len(candidates) <= MAX_DECOMPOSITIONS_TRIED:
        return candidates
    return sorted(candidates, key=mean_square)[-MAX_DECOMPOSITIONS_TRIED:]


def mean_square(decomposition: Decomposition) -> float:
    """Return E G² at ε = 0, which is the variance of G."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        return float(masses @ values**2)


@lru_cache(maxsize=MAX_TYPICAL_LOSSES_CACHED)
def typical_loss(decomposition: Decomposition, n: int) -> float:
    """Return an estimate of the standard deviation of the privacy loss.

    It is that of the normal loss with the same D(0), unless rare losses make up the variance.
    """
    problem = Problem.of(decomposition, n)
    normal_loss = math.sqrt(2.0 * math.pi) * problem.delta(0.0, 1e-3).upper
    with np.errstate(all="ignore"):
        variance = max(map(mean_square, problem.outer)) / n
    loss = min(math.sqrt(variance), problem.largest_loss())
    return loss if loss > RARE_RATIO * normal_loss else normal_loss
