"""A decomposition at one n as the engines take it: D(ε) of both directions, and what it can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shufflebounds.accounting.root_search import LARGEST_EPS, Start
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.engine import divergence, divergences
from shufflebounds.divergence.largest_draw import largest_draw_estimate
from shufflebounds.divergence.law import U
from shufflebounds.divergence.saddlepoint import Estimate, largest_estimate

# Decompositions whose reports vary most that are looked at for a typical loss. Speed only.
MOST_TRIED = 16
# Typical losses that are remembered.
REMEMBERED_LOSSES = 256
# Most Newton steps to a root of the estimates of log D − log δ. A typical one takes four.
MAX_START_STEPS = 60
# Relative step of ε after which a start is close enough, as Newton's method squares the error.
LAST_START_STEP = 1e-3
# Error of the saddlepoint estimate of log D beyond which the estimate by the largest draw is used.
LARGEST_DOUBT = 2.0
# Error of the estimate of log D by the largest draw.
LARGEST_DRAW_DOUBT = 0.1
# Distance of log D(0) from log δ at which D(0) is evaluated first, if estimates may be that wrong.
NEAR_ZERO = 0.1
# Halvings of log ε in search of the root of the estimate by the largest draw.
LARGEST_DRAW_STEPS = 16
# Smallest ε but 0 at which the largest draw is looked at.
SMALLEST_START = 1e-14


@dataclass(frozen=True)
class Problem:
    """What has to be evaluated, at one n: the directions, each as (inner, outer)."""

    directions: tuple[tuple[Decomposition, Decomposition], ...]
    n: int

    @staticmethod
    def of(decomposition: Decomposition, n: int) -> Problem:
        return Problem(require("decomposition", decomposition).directions, n)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        """Enclosure of the larger D(ε) of all directions."""
        (enclosure,) = largest_divergences([self], [eps], [rtol])
        return enclosure

    def enclose(self, decomposition: Decomposition, eps: float, rtol: float) -> Enclosure:
        """D(ε) of one decomposition in the order it has, at this problem's n."""
        return divergence(decomposition, eps, self.n, rtol)

    def estimate(self, eps: float) -> Estimate:
        """Rough log D(ε) and its slope, of the direction where it is larger."""
        return largest_estimate([outer for _, outer in self.directions], eps, self.n)

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


def most_telling(decompositions: Iterable[Decomposition]) -> list[Decomposition]:
    """A few of the decompositions, by estimates: those that tell most among many users."""
    listed = list(decompositions)
    return listed if len(listed) <= MOST_TRIED else sorted(listed, key=_variance)[-MOST_TRIED:]


def _variance(decomposition: Decomposition) -> float:
    """E G² at ε = 0, the variance of G."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        return float(masses @ values**2)


@lru_cache(maxsize=REMEMBERED_LOSSES)
def typical_loss(decomposition: Decomposition, n: int) -> float:
    """The standard deviation of the normal privacy loss that has the same D(0), an estimate."""
    found = Problem.of(decomposition, n).delta(0.0, 1e-3).upper
    return math.sqrt(2.0 * math.pi) * found


def largest_divergences(
    problems: Sequence[Problem],
    eps: Sequence[float],
    rtol: Sequence[float],
    target: Sequence[float] | float = math.nan,
) -> list[Enclosure]:
    """Enclosures of the larger D(ε) of all directions, of problems that differ in n only.

    Of D far from a δ that is the `target`, it is enough to know that.
    """
    points = np.array(eps), np.array([float(problem.n) for problem in problems]), np.array(rtol)
    lower, upper = np.zeros(len(eps)), np.zeros(len(eps))
    for inner, outer in problems[0].directions:
        low, high = divergences(outer, *points, np.array(target))
        if inner is not outer:
            low = np.minimum(divergences(inner, *points, np.array(target))[0], high)
        lower, upper = np.maximum(lower, low), np.maximum(upper, high)
    return [Enclosure(*ends) for ends in zip(lower.tolist(), upper.tolist(), strict=True)]


# Where the search for ε begins: roots of estimates of log D − log δ, certified by nothing.


def starts(problems: Sequence[Problem], delta: Sequence[float], end: float) -> list[Start]:
    """Where to look for the smallest ε with D(ε) ≤ δ, in [0, end], of problems differing in n only.

    The start is 0 where even D(0) seems to be small enough.
    """
    directions = [outer for _, outer in problems[0].directions]
    n, target = np.array([float(problem.n) for problem in problems]), np.log(np.array(delta))
    eps, slope, doubt = _saddlepoint_roots(directions, n, target, end)
    rows = zip(problems, delta, eps.tolist(), slope.tolist(), doubt.tolist(), strict=True)
    return [
        Start(*start)
        if start[2] < LARGEST_DOUBT or not start[0] < end
        else _largest_draw_start(directions, problem.n, math.log(target_delta), end, start[1])
        for problem, target_delta, *start in rows
    ]


def _saddlepoint_roots(
    directions: list[Decomposition], n: FloatArray, target: FloatArray, end: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Roots of the larger saddlepoint estimate, its slopes there, and its errors; shape (P,)."""
    with np.errstate(all="ignore"):
        guess = np.minimum(_normal_eps(directions[0], n, target), 0.9 * end)
        low, high = np.zeros(n.shape), np.full(n.shape, end)
        for _ in range(MAX_START_STEPS):
            estimate = largest_estimate(directions, guess, n)
            excess = estimate.log - target
            low, high = np.where(excess > 0.0, guess, low), np.where(excess > 0.0, high, guess)
            newton = guess - excess / estimate.slope
            is_close = np.abs(newton - guess) <= LAST_START_STEP * guess
            # Even D(0) is close to δ, for all that estimates can tell.
            margin = np.minimum(estimate.doubt, NEAR_ZERO)
            is_zero = (guess == 0.0) & (excess <= margin)
            is_zero |= is_close & (-estimate.slope * newton <= margin)
            is_inside = (low < newton) & (newton < high)
            following = np.where(is_close | is_inside, newton, 0.5 * (low + high))
            # Where a step leads below 0, D(0) tells whether it had better be 0.
            is_below = (newton <= 0.0) & (low == 0.0) & (guess > 0.0)
            guess = np.where(is_zero | is_below, 0.0, following)
            if (is_close | is_zero).all():
                break
    return guess, estimate.slope, estimate.doubt


def _normal_eps(decomposition: Decomposition, n: FloatArray, target: FloatArray) -> FloatArray:
    """The ε > 0 at which log D is `target` if the mean of n draws is normal, and e^ε close to 1."""
    sigma = np.sqrt(_variance(decomposition) / n)
    z = np.sqrt(-2.0 * target)
    for _ in range(3):
        # E (Z − z)₊ is about ϕ(z)/z².
        square = 2.0 * (np.log(sigma) - target) - math.log(2.0 * math.pi) - 4.0 * np.log(z)
        z = np.sqrt(np.maximum(square, 1.0))
    return np.where(np.isfinite(sigma), z * sigma, sigma)


def _largest_draw_start(
    directions: list[Decomposition], n: int, target: float, end: float, slope: float
) -> Start:
    """From the root of the estimates that see rare, large draws, by halving in log ε."""

    def excess(eps: float) -> float:
        return max(largest_draw_estimate(outer, eps, n) for outer in directions) - target

    low, high = min(SMALLEST_START, 0.5 * end), end
    if excess(low) <= 0.0:
        return Start(0.0, slope, LARGEST_DRAW_DOUBT)
    if excess(high) > 0.0:
        return Start(high, slope, math.inf)
    for _ in range(LARGEST_DRAW_STEPS):
        middle = low * math.sqrt(high / low)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    above, below = excess(low), excess(high)
    slope = (below - above) / (high - low) if math.isfinite(below) else slope
    return Start(low, slope, LARGEST_DRAW_DOUBT)
