"""A decomposition at one n as the engines take it: D(ε) of both directions, and what it can be."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.accounting.inversion import LARGEST_EPS
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.divergence import largest_draw
from shufflebounds.divergence.certified import divergence
from shufflebounds.divergence.estimates import Refined, log_estimate, refined_estimate
from shufflebounds.divergence.histograms import Atoms, atoms, histogram_count
from shufflebounds.divergence.law import U
from shufflebounds.enclosure import Enclosure

# So few are enumerated at once. They leave atoms near 0, which cost the smooth engine dearly.
_FEW_HISTOGRAMS, _FEW_USERS = 5_000, 300
# The relative width of a direction in which D seems to be far smaller than in the other.
_COARSE = 0.1


@dataclass(frozen=True)
class Problem:
    """What has to be evaluated, at one n: the directions, each as (inner, outer).

    D far from ``target`` need only be known to be so: a search for the ε of that δ sets it.
    """

    directions: tuple[tuple[Decomposition, Decomposition], ...]
    n: int
    target: float = math.nan

    @staticmethod
    def of(decomposition: Decomposition, n: int) -> Problem:
        return Problem(require("decomposition", decomposition).directions, n)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        if len(self.directions) == 1:
            ends = [self._direction(*pair, eps, rtol) for pair in self.directions]
            return Enclosure(max(e.lower for e in ends), max(e.upper for e in ends))
        logs = [log_estimate(outer, eps, self.n)[0] for _, outer in self.directions]
        large = int(logs[1] > logs[0])
        first = self._direction(*self.directions[large], eps, rtol)
        # The other direction need only be known to be smaller, if it is.
        inner, outer = self.directions[1 - large]
        behind = logs[large] - logs[1 - large]
        coarse = max(rtol, min(_COARSE, 0.3 * behind)) if behind < math.inf else rtol
        above = self.enclose(outer, eps, coarse)
        if above.upper <= first.lower:
            return first
        if above.upper > first.upper and coarse > rtol:
            other = self._direction(inner, outer, eps, rtol)
        else:
            below = above if outer is inner else self.enclose(inner, eps, coarse)
            other = Enclosure(min(below.lower, above.upper), above.upper)
        return Enclosure(max(first.lower, other.lower), max(first.upper, other.upper))

    def _direction(
        self, inner: Decomposition, outer: Decomposition, eps: float, rtol: float
    ) -> Enclosure:
        below = self.enclose(inner, eps, rtol)
        above = below if outer is inner else self.enclose(outer, eps, rtol)
        return Enclosure(min(below.lower, above.upper), above.upper)

    def enclose(self, decomposition: Decomposition, eps: float, rtol: float) -> Enclosure:
        """D(ε) of one decomposition in the order it has, at this problem's n."""
        few = _few_outcomes(decomposition, self.n)
        counted = few.divergence(eps) if few is not None else Enclosure(0.0, math.inf)
        if counted.relative_width <= rtol:
            return counted
        found = divergence(decomposition, eps, self.n, rtol, self.target)
        return Enclosure(max(counted.lower, found.lower), min(counted.upper, found.upper))

    def estimate(self, eps: float) -> tuple[float, float]:
        """Rough log D(ε) and its slope, of the direction where it is larger."""
        return max(log_estimate(outer, eps, self.n) for _, outer in self.directions)

    def refined_estimate(self, eps: float) -> Refined:
        """A better one, and by how much it may be off."""
        return max(refined_estimate(outer, eps, self.n) for _, outer in self.directions)

    def rare_estimate(self, eps: float) -> float:
        """Rough log D(ε) where few draws count."""
        return max(largest_draw.log_estimate(outer, eps, self.n) for _, outer in self.directions)

    def is_finite(self) -> bool:
        """Whether nothing lies between an inner and an outer decomposition."""
        return all(inner is outer for inner, outer in self.directions)

    def promises(self, rtol: float | None) -> bool:
        """Whether a relative width above the goal is a failure."""
        return rtol is not None or self.is_finite()

    def largest_loss(self) -> float:
        """An ε at which D is certainly 0: the largest log a/b, inf where some b is 0."""
        return max(sum(largest_loss(outer)) for _, outer in self.directions)

    def never_below(self) -> float:
        """A lower bound of D at every ε, from outputs that the other input never gives."""
        return max(never_below(inner, self.n) for inner, _ in self.directions)

    def limited(self, eps: float, found: Enclosure) -> Enclosure:
        """An enclosure at `LARGEST_EPS` made one at an ε beyond; others as they are."""
        if eps <= LARGEST_EPS:
            return found
        # D falls, but not below its limit.
        return Enclosure(min(self.never_below(), found.upper), found.upper)

    def vanishes(self, eps: float) -> bool:
        """Whether D(ε) may be 0 for all that rounding lets us know."""
        losses = (largest_loss(inner) for inner, _ in self.directions)
        return all(eps >= loss - slack for loss, slack in losses)

    def typical_eps(self, delta: float) -> float:
        """The ε of a normal approximation, to start from."""
        _, outer = self.directions[0]
        values, masses = outer.gparv(0.0)
        with np.errstate(over="ignore"):
            variance = float(masses @ values**2)
        return math.sqrt(2.0 * variance * -math.log(delta) / self.n)


@functools.lru_cache(maxsize=8)
def _few_outcomes(decomposition: Decomposition, n: int) -> Atoms | None:
    """The outcomes of so few users that enumerating them costs next to nothing."""
    if 1 < n <= _FEW_USERS and histogram_count(decomposition, n) <= _FEW_HISTOGRAMS:
        return atoms(decomposition, n)
    return None


def largest_loss(decomposition: Decomposition) -> tuple[float, float]:
    """The largest log a/b and how far rounding may have moved it; (inf, 0) where some b is 0."""
    a, b = (x[decomposition.a > 0.0] for x in (decomposition.a, decomposition.b))
    if not b.all():
        return math.inf, 0.0
    loss = max(0.0, float(np.max(np.log(a / b))))
    return loss, 2.1 * decomposition.rel_err + 8.0 * U * (1.0 + loss)


def never_below(decomposition: Decomposition, n: int) -> float:
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    telling, err = b == 0.0, decomposition.rel_err
    alone = float(a[telling & (c == 0.0)].sum())
    hidden = float(a[telling & (c > 0.0)].sum())
    rest = math.fsum([1.0, *(-c[~telling]).tolist()])
    rest -= (err + 8.0 * U) * (1.0 - rest) + 8.0 * U * rest
    if hidden > 0.0 and rest > 0.0:
        alone += hidden * math.exp((n - 1) * math.log(rest) * (1.0 + 1e-12))
    return alone * (1.0 - 1e-9 - err)
