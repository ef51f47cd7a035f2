"""A decomposition at one n: D(ε) of both directions, its limits, and starting points for ε at δ."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shufflebounds.accounting.root_search import LARGEST_EPS, Start, smallest_eps
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence import estimates
from shufflebounds.divergence.convex_order import Focus, sketch, spread, united
from shufflebounds.divergence.engine import divergence
from shufflebounds.divergence.estimates import Estimate, log_estimate
from shufflebounds.divergence.law import U

# Relative width of D in the direction whose D seems to be far smaller than that of the other.
COARSE_RTOL = 0.1
# Most decompositions of a set whose typical losses are computed; the others are ranked below them.
MAX_DECOMPOSITIONS_TRIED = 16
# Number of typical losses that are cached.
MAX_TYPICAL_LOSSES_CACHED = 256

# The constants of the starting points decide speed only: no end rests on them.

# Largest error of log D by a saddlepoint estimate with which its root is used.
MAX_SADDLEPOINT_DOUBT = 2.0
# Error of log D that the estimates for rare draws, used otherwise, are assumed to have.
RARE_ESTIMATE_DOUBT = 0.1
# Most steps towards the root of a saddlepoint estimate.
MAX_SADDLEPOINT_STEPS = 60
# Distance of log D from log δ at which the next step is the last one.
CLOSE_EXCESS = 0.002
# Step, as a share of ε, that is the last one.
SMALL_STEP = 1e-3
# Halvings in the search of the root for rare draws.
RARE_HALVINGS = 16
# Smallest positive ε of the search for rare draws.
SMALLEST_RARE_EPS = 1e-14
# Largest log D(0) − log δ, by an estimate that may be wrong by as much, at which D(0) is evaluated.
MAX_EXCESS_NEAR_ZERO = 0.1
# Fixed-point steps towards the quantile of a normal sum.
NORMAL_STEPS = 3

# The constants of the separate ends decide speed and width only (docs/engine.md, section 9).

# Share of the requested width that the reduction to few components may cost.
STRIP_WIDTH_SHARE = 0.03
# Share of the requested width that the search of each end may leave.
END_WIDTH_SHARE = 0.4
# Error of log D at a start from which on the start is refined by a rough search.
MAX_START_DOUBT = 0.1
# Error of log D that the strips of a rough search may cause.
ROUGH_STRIP_LOSS = 0.01
# The same at ε = 0.
STRIP_LOSS_AT_ZERO = 1e-4
# Most strips of a rough search.
MAX_ROUGH_STRIPS = 500.0
# Relative distance of ε from the start within which strips chosen for the start are used.
STRIP_REACH = 1e-2
# Usual relative gap between both ends, where the search of the lower one begins.
USUAL_GAP = 8e-5
# Largest −d log D / d log ε that is believed of a rough estimate, which may have kinks.
MAX_STEEPNESS = 200.0


@dataclass(frozen=True)
class Problem:
    """The directions of a decomposition, each as (inner, outer), at one number of users n.

    A search for the ε at δ sets ``target`` to that δ. Enclosures of a D far from it may be coarse.
    """

    directions: tuple[tuple[Decomposition, Decomposition], ...]
    n: int
    target: float = math.nan

    @staticmethod
    def of(decomposition: Decomposition, n: int) -> Problem:
        """Return the problem of a decomposition; raise ValueError for another type."""
        return Problem(require("decomposition", decomposition).directions, n)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        """Return an enclosure of the larger D(ε) of all directions."""
        if len(self.directions) == 1:
            return self._direction(*self.directions[0], eps, rtol)
        logs = [log_estimate(outer, eps, self.n).log for _, outer in self.directions]
        large = int(logs[1] > logs[0])
        first = self._direction(*self.directions[large], eps, rtol)
        # A coarse enclosure of the second direction is enough if it shows that D is smaller there.
        inner, outer = self.directions[1 - large]
        log_ratio = logs[large] - logs[1 - large]
        coarse = max(rtol, min(COARSE_RTOL, 0.3 * log_ratio)) if log_ratio < math.inf else rtol
        above = self.enclose(outer, eps, coarse)
        if above.upper <= first.lower:
            return first
        if above.upper > first.upper and coarse > rtol:
            second = self._direction(inner, outer, eps, rtol)
        else:
            below = above if outer is inner else self.enclose(inner, eps, coarse)
            second = Enclosure(min(below.lower, above.upper), above.upper)
        return Enclosure(max(first.lower, second.lower), max(first.upper, second.upper))

    def _direction(
        self, inner: Decomposition, outer: Decomposition, eps: float, rtol: float
    ) -> Enclosure:
        """Return the lower end of the inner decomposition and the upper end of the outer one."""
        below = self.enclose(inner, eps, rtol)
        above = below if outer is inner else self.enclose(outer, eps, rtol)
        return Enclosure(min(below.lower, above.upper), above.upper)

    def enclose(self, decomposition: Decomposition, eps: float, rtol: float) -> Enclosure:
        """Return an enclosure of D(ε) of a decomposition in its own order, for n users."""
        return divergence(decomposition, eps, self.n, rtol, self.target)

    def estimate(self, eps: float) -> Estimate:
        """Return an estimate of log D(ε) and its slope in the direction where D is larger."""
        return max(log_estimate(outer, eps, self.n) for _, outer in self.directions)

    def rare_estimate(self, eps: float) -> float:
        """Return an estimate of log D(ε) that holds where a single draw decides."""
        return max(
            estimates.largest_draw_estimate(outer, eps, self.n) for _, outer in self.directions
        )

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

    def variance(decomposition: Decomposition) -> float:
        values, masses = decomposition.gparv(0.0)
        with np.errstate(over="ignore"):
            return float(masses @ values**2)

    return (
        candidates
        if len(candidates) <= MAX_DECOMPOSITIONS_TRIED
        else sorted(candidates, key=variance)[-MAX_DECOMPOSITIONS_TRIED:]
    )


@lru_cache(maxsize=MAX_TYPICAL_LOSSES_CACHED)
def typical_loss(decomposition: Decomposition, n: int) -> float:
    """Return the standard deviation of the normal privacy loss with the same D(0), an estimate."""
    divergence_at_zero = Problem.of(decomposition, n).delta(0.0, 1e-3).upper
    return math.sqrt(2.0 * math.pi) * divergence_at_zero


def start_of(problem: Problem, delta: float, end: float) -> Start:
    """Return the root of the estimated log D − log δ, 0 where even D(0) seems to be at most δ.

    It is where the search of ε at δ starts. Nothing certifies it.
    """
    target = math.log(delta)
    directions = [outer for _, outer in problem.directions]
    guess = min(_normal_eps(directions[0], problem.n, delta), 0.9 * end)
    start = Start(guess, math.nan, math.inf)
    for direction in directions:
        estimate = log_estimate(direction, start.eps, problem.n)
        if direction is directions[0] or estimate.log > target:
            start = _saddle_root(direction, problem.n, target, end, start.eps, estimate)
    if start.doubt < MAX_SADDLEPOINT_DOUBT or not start.eps < end:
        return start
    return _rare_start(directions, problem.n, target, end, start)


def _normal_eps(decomposition: Decomposition, n: int, delta: float) -> float:
    """Return the ε > 0 at which D falls to δ if the mean of n draws is normal and e^ε about 1."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        sigma = math.sqrt(float(masses @ values**2) / n)
    if not 0.0 < sigma < math.inf:
        return sigma
    z = math.sqrt(-2.0 * math.log(delta))
    for _ in range(NORMAL_STEPS):
        # E (Z − z)₊ is about ϕ(z)/z².
        square = 2.0 * math.log(sigma / delta) - math.log(2.0 * math.pi) - 4.0 * math.log(z)
        z = math.sqrt(max(square, 1.0))
    return z * sigma


def _saddle_root(
    decomposition: Decomposition,
    n: int,
    target: float,
    end: float,
    guess: float,
    estimate: Estimate,
) -> Start:
    """Return the root of the saddlepoint estimates of one direction.

    `estimate` is the estimate at the first guess.
    """
    low, high = 0.0, end
    for _ in range(MAX_SADDLEPOINT_STEPS):
        excess = estimate.log - target
        low, high = (guess, high) if excess > 0.0 else (low, guess)
        step = -excess / estimate.slope if estimate.slope < 0.0 else math.nan
        if abs(step) <= SMALL_STEP * guess or (
            abs(excess) <= CLOSE_EXCESS and low < guess + step < high
        ):
            near_zero = -estimate.slope * (guess + step) <= min(
                estimate.doubt, MAX_EXCESS_NEAR_ZERO
            )
            return Start(0.0 if near_zero else guess + step, estimate.slope, estimate.doubt)
        if low == 0.0 and not guess + step > 0.0:
            at_zero = log_estimate(decomposition, 0.0, n)
            if at_zero.log - min(at_zero.doubt, MAX_EXCESS_NEAR_ZERO) <= target:
                return Start(0.0, estimate.slope, estimate.doubt)
        guess = guess + step if low < guess + step < high else 0.5 * (low + high)
        estimate = log_estimate(decomposition, guess, n)
    return Start(guess, estimate.slope, estimate.doubt)


def _rare_start(
    directions: list[Decomposition], n: int, target: float, end: float, start: Start
) -> Start:
    """Return the root of the estimates for rare, large draws, by halving in log ε."""

    def excess(eps: float) -> float:
        return (
            max(estimates.largest_draw_estimate(direction, eps, n) for direction in directions)
            - target
        )

    low, high = min(SMALLEST_RARE_EPS, 0.5 * end), end
    if excess(low) <= 0.0:
        return start._replace(eps=0.0)
    if excess(high) > 0.0:
        return start._replace(doubt=math.inf)
    for _ in range(RARE_HALVINGS):
        middle = low * math.sqrt(high / low)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    above, below = excess(low), excess(high)
    slope = (below - above) / (high - low) if math.isfinite(below) else start.slope
    return Start(low, slope, RARE_ESTIMATE_DOUBT)


def epsilon_by_separate_ends(problem: Problem, delta: float, goal: float) -> Enclosure | None:
    """Return an enclosure of the smallest ε with D(ε) ≤ δ, or None if there is no start for it.

    The randomizer lies between inner and outer decompositions. With D_inner ≤ D ≤ D_outer at every
    ε, the ε at which D falls to δ lies between those of the two (docs/engine.md, section 9). Each
    end is searched for by itself, in decompositions of the few components that matter for it. The
    start is estimated from still fewer. The search aims at a relative width of `goal` plus the gap
    between both ends.
    """
    end = problem.largest_loss()
    reduced = _ReducedProblem.of(problem, delta, goal)
    start = start_of(reduced.sketched, delta, min(end, LARGEST_EPS))
    if not (0.0 <= start.eps < min(end, LARGEST_EPS) and start.slope < 0.0):
        return None
    if start.eps == 0.0 or not start.doubt < MAX_START_DOUBT:
        # An upper end in few strips shows where finer strips must lie.
        slope = max(start.slope, -MAX_STEEPNESS / start.eps) if start.eps > 0.0 else start.slope
        rough = start._replace(slope=slope, doubt=math.inf)
        coarse = smallest_eps(reduced.above(rough).delta, delta, rough, end, STRIP_REACH)
        if not coarse.upper > 0.0:
            return coarse
        start = Start(min(coarse.upper, end * (1.0 - STRIP_REACH)), slope)
    upper = smallest_eps(
        reduced.above(start).delta, delta, start, end, END_WIDTH_SHARE * goal
    ).upper
    if abs(upper - start.eps) > STRIP_REACH * start.eps and 0.0 < upper < end:
        start = start._replace(eps=upper)
        upper = smallest_eps(
            reduced.above(start).delta, delta, start, end, END_WIDTH_SHARE * goal
        ).upper
    near = start._replace(eps=upper * (1.0 - USUAL_GAP))
    lower = smallest_eps(reduced.below(start).delta, delta, near, end, END_WIDTH_SHARE * goal).lower
    return Enclosure(min(lower, upper), upper)


@dataclass(frozen=True)
class _ReducedProblem:
    """A problem reduced to few components.

    ``sketched`` is an approximation for estimates. `above` and `below` bound D near the start.
    """

    problem: Problem
    sketched: Problem
    delta: float
    goal: float

    @staticmethod
    def of(problem: Problem, delta: float, goal: float) -> _ReducedProblem:
        """Return the problem with its sketch, for ε at δ to the relative width `goal`."""
        problem = dataclasses.replace(problem, target=delta)
        sketched = _with_directions(problem, (sketch(outer) for _, outer in problem.directions))
        return _ReducedProblem(problem, sketched, delta, goal)

    def above(self, start: Start) -> Problem:
        """Return a problem in few components whose D is above that of the outer decompositions."""
        ends = zip(self.problem.directions, self._foci(start), strict=True)
        return _with_directions(self.problem, (spread(outer, focus) for (_, outer), focus in ends))

    def below(self, start: Start) -> Problem:
        """Return a problem in few components whose D is below that of the inner decompositions."""
        ends = zip(self.problem.directions, self._foci(start), strict=True)
        return _with_directions(self.problem, (united(inner, focus) for (inner, _), focus in ends))

    def _foci(self, start: Start) -> list[Focus]:
        """Return where components must stay apart, for each direction."""
        loss, max_strips, delta = (
            STRIP_WIDTH_SHARE * self.goal * -start.slope * start.eps,
            math.inf,
            self.delta,
        )
        if not start.doubt < MAX_START_DOUBT:
            loss, max_strips = (
                ROUGH_STRIP_LOSS if start.eps > 0.0 else STRIP_LOSS_AT_ZERO,
                MAX_ROUGH_STRIPS,
            )
            delta = max(delta, math.exp(self.sketched.rare_estimate(start.eps)))
        return [
            Focus.about(sketched, start.eps, self.problem.n, delta, loss, max_strips)
            for sketched, _ in self.sketched.directions
        ]


def _with_directions(problem: Problem, decompositions: Iterable[Decomposition]) -> Problem:
    """Return the problem with these decompositions as both inner and outer ones."""
    return dataclasses.replace(
        problem,
        directions=tuple((decomposition, decomposition) for decomposition in decompositions),
    )
