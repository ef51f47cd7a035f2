"""A decomposition at one n as the engines take it: D(ε) of both directions, and what it can be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shufflebounds.accounting.root_search import LARGEST_EPS, Start
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence import estimates
from shufflebounds.divergence.engine import divergence
from shufflebounds.divergence.estimates import Estimate, log_estimate
from shufflebounds.divergence.law import U

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
        """Enclosure of the larger D(ε) of all directions."""
        if len(self.directions) == 1:
            return self._direction(*self.directions[0], eps, rtol)
        logs = [log_estimate(outer, eps, self.n).log for _, outer in self.directions]
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
        return divergence(decomposition, eps, self.n, rtol, self.target)

    def estimate(self, eps: float) -> Estimate:
        """Rough log D(ε) and its slope, of the direction where it is larger."""
        return max(log_estimate(outer, eps, self.n) for _, outer in self.directions)

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
        """Extend an enclosure taken at `LARGEST_EPS` to a larger ε; leave any other unchanged."""
        if eps <= LARGEST_EPS:
            return found
        # D falls, but not below its limit.
        return Enclosure(min(self.never_below(), found.upper), found.upper)

    def vanishes(self, eps: float) -> bool:
        """Whether D(ε) may be 0 for all that rounding lets us know."""
        losses = (largest_loss(inner) for inner, _ in self.directions)
        return all(eps >= loss - slack for loss, slack in losses)


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


# So many of the decompositions whose reports vary most are looked at for a typical loss, of which
# so many are remembered.
_TRIED, _REMEMBERED = 16, 256


def most_telling(some: Iterable[Decomposition]) -> list[Decomposition]:
    """A few of them, by estimates: those that tell most among many users."""
    listed = list(some)

    def variance(one: Decomposition) -> float:
        values, masses = one.gparv(0.0)
        with np.errstate(over="ignore"):
            return float(masses @ values**2)

    return listed if len(listed) <= _TRIED else sorted(listed, key=variance)[-_TRIED:]


@lru_cache(maxsize=_REMEMBERED)
def typical_loss(decomposition: Decomposition, n: int) -> float:
    """The standard deviation of the normal privacy loss that has the same D(0), an estimate."""
    found = Problem.of(decomposition, n).delta(0.0, 1e-3).upper
    return math.sqrt(2.0 * math.pi) * found


# Where the search for ε begins: roots of estimates of log D − log δ, certified by nothing.

# Where saddlepoint estimates may be off by so much, as a logarithm, others are used, which may be
# off by so much.
_START_LOST, _START_ROUGH = 2.0, 0.1
# Steps in search of a root, and how far from δ an estimate may be for the last of them, as a
# logarithm or as a share of ε.
_START_STEPS, _START_CLOSE, _LAST_STEP = 60, 0.002, 1e-3
# Halvings in search of the same for rare draws, and the smallest ε looked at but 0.
_RARE_STEPS, _START_LEAST = 16, 1e-14
# D(0) is asked for where it seems to be above δ by no more, as a logarithm, and that may be wrong.
_MAYBE = 0.1
_STANDARD_STEPS = 3


def start_of(problem: Problem, delta: float, end: float) -> Start:
    """From the root of the estimated log D − log δ; 0 where even D(0) seems to be small enough."""
    target = math.log(delta)
    directions = [outer for _, outer in problem.directions]
    guess = min(_normal_eps(directions[0], problem.n, delta), 0.9 * end)
    start = Start(guess, math.nan, math.inf)
    for one in directions:
        found = log_estimate(one, start.eps, problem.n)
        if one is directions[0] or found.log > target:
            start = _saddle_root(one, problem.n, target, end, start.eps, found)
    if start.doubt < _START_LOST or not start.eps < end:
        return start
    return _rare_start(directions, problem.n, target, end, start)


def _normal_eps(decomposition: Decomposition, n: int, delta: float) -> float:
    """The ε > 0 at which D falls to δ if the mean of n draws is normal, and e^ε close to 1."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        sigma = math.sqrt(float(masses @ values**2) / n)
    if not 0.0 < sigma < math.inf:
        return sigma
    z = math.sqrt(-2.0 * math.log(delta))
    for _ in range(_STANDARD_STEPS):
        # E (Z − z)₊ is about ϕ(z)/z².
        square = 2.0 * math.log(sigma / delta) - math.log(2.0 * math.pi) - 4.0 * math.log(z)
        z = math.sqrt(max(square, 1.0))
    return z * sigma


def _saddle_root(
    decomposition: Decomposition, n: int, target: float, end: float, guess: float, found: Estimate
) -> Start:
    """Root of the saddlepoint estimates of one direction, from a guess and what they are there."""
    low, high = 0.0, end
    for _ in range(_START_STEPS):
        excess = found.log - target
        low, high = (guess, high) if excess > 0.0 else (low, guess)
        step = -excess / found.slope if found.slope < 0.0 else math.nan
        if abs(step) <= _LAST_STEP * guess or (
            abs(excess) <= _START_CLOSE and low < guess + step < high
        ):
            near_zero = -found.slope * (guess + step) <= min(found.doubt, _MAYBE)
            return Start(0.0 if near_zero else guess + step, found.slope, found.doubt)
        if low == 0.0 and not guess + step > 0.0:
            at_zero = log_estimate(decomposition, 0.0, n)
            if at_zero.log - min(at_zero.doubt, _MAYBE) <= target:
                return Start(0.0, found.slope, found.doubt)
        guess = guess + step if low < guess + step < high else 0.5 * (low + high)
        found = log_estimate(decomposition, guess, n)
    return Start(guess, found.slope, found.doubt)


def _rare_start(
    directions: list[Decomposition], n: int, target: float, end: float, start: Start
) -> Start:
    """From the root of estimates that see rare, large draws, by halving in log ε."""

    def excess(eps: float) -> float:
        return max(estimates.largest_draw_estimate(one, eps, n) for one in directions) - target

    low, high = min(_START_LEAST, 0.5 * end), end
    if excess(low) <= 0.0:
        return start._replace(eps=0.0)
    if excess(high) > 0.0:
        return start._replace(doubt=math.inf)
    for _ in range(_RARE_STEPS):
        middle = low * math.sqrt(high / low)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    above, below = excess(low), excess(high)
    slope = (below - above) / (high - low) if math.isfinite(below) else start.slope
    return Start(low, slope, _START_ROUGH)
