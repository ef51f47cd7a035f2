"""From a decomposition to δ at ε and to ε at δ, as enclosures that cover both directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.accounting import amplification_grid as grid
from shufflebounds.accounting.inversion import LARGEST_EPS, smallest_eps
from shufflebounds.accounting.shortfalls import (
    DEFAULT_RTOL,
    all_or_raise,
    delta_shortfall,
    epsilon_shortfall,
    or_raise,
)
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.divergence.certified import divergence
from shufflebounds.divergence.engines import ENGINES
from shufflebounds.divergence.estimates import Refined, log_estimate, refined_estimate
from shufflebounds.divergence.exact import exact, histogram_count
from shufflebounds.divergence.law import U
from shufflebounds.enclosure import Enclosure, Enclosures

T = TypeVar("T")
Several = Sequence[T] | NDArray

# So few are enumerated at once. They leave atoms near 0, which cost the smooth engine dearly.
_FEW_HISTOGRAMS, _FEW_USERS = 5_000, 300
_FEW_COMPONENTS = 40
# The last step of Newton's method with plain estimates, relatively; better ones follow, so often,
# as long as they agree so far.
_LAST_STEP, _REFINED, _CLOSE = 1e-3, 2, 0.1
# The relative width of a direction in which D seems to be far smaller than in the other.
_COARSE = 0.1


# The numbers among the arguments of the second are those of the first.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition, eps: float, n: int, *, rtol: float | None = ..., engine: str = ...
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
    engine: str = "saddle",
) -> Enclosures: ...


def delta(
    decomposition: Decomposition,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
    engine: str = "saddle",
) -> Enclosure | Enclosures:
    """Enclosure of max{D(ε) of (a, b, c), D(ε) of (b, a, c)} for n users (Theorem 12).

    ``upper`` is a δ for shuffled reports if every other user's law is at least c and a, b are the
    victim's laws: for two datasets in which the victim's input is replaced, x₁⁰ by x₁¹ or the
    reverse, and reports that are independent given the inputs. A blanket, c = inf_x R(x), is valid
    for all inputs of the others, but for one pair of the victim's: it covers the others if that
    pair is the worst. ``lower`` is a bound of what is true where datasets attain the decomposition.

    Parameters
    ----------
    decomposition
        Of the randomizer; where it has ``inner`` and ``outer``, the enclosure is of the randomizer
        they surround.
    eps
        ε ≥ 0, natural log. One that is no float, such as Fraction(1, 3), is not rounded.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude. Either `eps` or `n` may
        be a one-dimensional array or a sequence; what is returned is `Enclosures` then, in the same
        order.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻⁴, and leaves out of
        account how far ``inner`` and ``outer`` of a continuous randomizer lie apart.
    engine
        ``saddle``, or ``fft`` or ``exact`` to cross-check it; their width is what it is.

    Raises
    ------
    ValueError
        For arguments outside these ranges.
    PrecisionError
        Where the width stays above `rtol`. Values below 10⁻³⁰⁰, and those that the rounding of the
        decomposition's own entries cannot tell from 0 (ε at its largest log a/b), do not count.
        Of several points all are computed first, and those that fell short do not take the others
        with them: ``enclosure`` holds all.

    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if grid.is_several(eps) or grid.is_several(n):
        losses, users = grid.paired(("eps", eps, validation.eps), ("n", n, validation.users))
        problems = [_Problem.of(decomposition, one, engine) for one in users]
        within = [min(one, LARGEST_EPS) for one in losses]
        each = (
            grid.deltas(problems, within, goal)
            if engine == "saddle"
            else [p.delta(one, goal) for p, one in zip(problems, within, strict=True)]
        )
        each = [p.limited(one, end) for p, one, end in zip(problems, losses, each, strict=True)]
        return all_or_raise(
            each,
            [delta_shortfall(*row, rtol) for row in zip(problems, losses, each, strict=True)],
        )
    near, far = validation.eps_between(eps)
    n = validation.users(n)
    if near < far:  # D falls in ε
        lower, upper = (
            delta(decomposition, end, n, rtol=rtol, engine=engine) for end in (far, near)
        )
        return Enclosure(lower.lower, upper.upper)
    problem = _Problem.of(decomposition, n, engine)
    found = problem.limited(near, problem.delta(min(near, LARGEST_EPS), goal))
    return or_raise(found, delta_shortfall(problem, near, found, rtol))


# The numbers among the arguments of the second are those of the first.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Decomposition,
    n: int,
    delta: float,
    *,
    rtol: float | None = ...,
    engine: str = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
    engine: str = "saddle",
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
    engine: str = "saddle",
) -> Enclosure | Enclosures:
    """Enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    ``upper`` is an ε at which D was found to be at most δ, ``lower`` one at which it was at least
    δ (or 0). Where no ε will do, both are inf. `delta` lies between 10⁻³⁰⁰ and 1, and is not
    rounded if it is no float; either `n` or `delta` may be an array. The other arguments and what
    is raised are those of `delta`.
    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if grid.is_several(n) or grid.is_several(delta):
        users, targets = grid.paired(("n", n, validation.users), ("delta", delta, validation.delta))
        problems = [_Problem.of(decomposition, one, engine) for one in users]
        each = _epsilons(problems, targets, goal)
        return all_or_raise(
            each,
            [epsilon_shortfall(*row, rtol) for row in zip(problems, targets, each, strict=True)],
        )
    small, large = validation.delta_between(delta)
    n = validation.users(n)
    if small < large:  # ε falls in δ
        lower, upper = (
            epsilon(decomposition, n, end, rtol=rtol, engine=engine) for end in (large, small)
        )
        return Enclosure(lower.lower, upper.upper)
    problem = _Problem.of(decomposition, n, engine)
    found = _epsilon(problem, small, goal)
    return or_raise(found, epsilon_shortfall(problem, small, found, rtol))


def _epsilon(problem: _Problem, delta: float, goal: float) -> Enclosure:
    if problem.never_below() > delta:
        return Enclosure(math.inf, math.inf)
    end = problem.largest_loss()
    start = _start(problem, delta, min(end, LARGEST_EPS))
    return smallest_eps(problem.delta, delta, *start[:2], end, goal, start.doubt)


def _epsilons(problems: list[_Problem], deltas: list[float], goal: float) -> list[Enclosure]:
    """`_epsilon` of problems that differ in nothing but n."""

    def alone(i: int) -> Enclosure:
        return _epsilon(problems[i], deltas[i], goal)

    # With few users outputs that tell count for most.
    fewest = min(problems, key=lambda problem: problem.n)
    if fewest.engine != "saddle" or fewest.never_below() > min(deltas):
        return [alone(i) for i in range(len(problems))]
    return grid.epsilons(problems, deltas, fewest.largest_loss(), goal, alone)


@dataclass(frozen=True)
class _Problem:
    """What has to be evaluated, at one n: the directions, each as (inner, outer)."""

    directions: tuple[tuple[Decomposition, Decomposition], ...]
    n: int
    engine: str

    @staticmethod
    def of(decomposition: Decomposition, n: int, engine: str) -> _Problem:
        validation.choice("engine", engine, ENGINES)
        return _Problem(require("decomposition", decomposition).directions, n, engine)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        few = max(len(outer) for _, outer in self.directions) <= _FEW_COMPONENTS
        if len(self.directions) == 1 or few or self.engine != "saddle":
            ends = [self._direction(*pair, eps, rtol) for pair in self.directions]
            return Enclosure(max(e.lower for e in ends), max(e.upper for e in ends))
        logs = [log_estimate(outer, eps, self.n)[0] for _, outer in self.directions]
        large = int(logs[1] > logs[0])
        first = self._direction(*self.directions[large], eps, rtol)
        # The other direction need only be known to be smaller, if it is.
        behind = logs[large] - logs[1 - large]
        coarse = min(_COARSE, 0.3 * behind) if behind < math.inf else rtol
        other = self._direction(*self.directions[1 - large], eps, max(rtol, coarse))
        if other.upper > first.upper and coarse > rtol:
            other = self._direction(*self.directions[1 - large], eps, rtol)
        return Enclosure(max(first.lower, other.lower), max(first.upper, other.upper))

    def _direction(
        self, inner: Decomposition, outer: Decomposition, eps: float, rtol: float
    ) -> Enclosure:
        below = self._divergence(inner, eps, rtol)
        above = below if outer is inner else self._divergence(outer, eps, rtol)
        return Enclosure(min(below.lower, above.upper), above.upper)

    def _divergence(self, decomposition: Decomposition, eps: float, rtol: float) -> Enclosure:
        if self.engine != "saddle":
            return ENGINES[self.engine](decomposition, eps, self.n)
        if (
            1 < self.n <= _FEW_USERS
            and len(decomposition) <= _FEW_COMPONENTS
            and histogram_count(decomposition, self.n) <= _FEW_HISTOGRAMS
        ):
            return exact(decomposition, eps, self.n)
        return divergence(decomposition, eps, self.n, rtol)

    def estimate(self, eps: float) -> tuple[float, float]:
        """Rough log D(ε) and its slope, of the direction where it is larger."""
        return max(log_estimate(outer, eps, self.n) for _, outer in self.directions)

    def refined_estimate(self, eps: float) -> Refined:
        """A better one, and by how much it may be off."""
        return max(refined_estimate(outer, eps, self.n) for _, outer in self.directions)

    def is_finite(self) -> bool:
        """Whether nothing lies between an inner and an outer decomposition."""
        return all(inner is outer for inner, outer in self.directions)

    def promises(self, rtol: float | None) -> bool:
        """Whether a relative width above the goal is a failure."""
        return self.engine == "saddle" and (rtol is not None or self.is_finite())

    def largest_loss(self) -> float:
        """An ε at which D is certainly 0: the largest log a/b, inf where some b is 0."""
        return max(sum(_largest_loss(outer)) for _, outer in self.directions)

    def never_below(self) -> float:
        """A lower bound of D at every ε, from outputs that the other input never gives."""
        return max(_never_below(inner, self.n) for inner, _ in self.directions)

    def limited(self, eps: float, found: Enclosure) -> Enclosure:
        """An enclosure at `LARGEST_EPS` made one at an ε beyond; others as they are."""
        if eps <= LARGEST_EPS:
            return found
        # D falls, but not below its limit.
        return Enclosure(min(self.never_below(), found.upper), found.upper)

    def vanishes(self, eps: float) -> bool:
        """Whether D(ε) may be 0 for all that rounding lets us know."""
        losses = (_largest_loss(inner) for inner, _ in self.directions)
        return all(eps >= loss - slack for loss, slack in losses)

    def typical_eps(self, delta: float) -> float:
        """The ε of a normal approximation, to start from."""
        _, outer = self.directions[0]
        values, masses = outer.gparv(0.0)
        with np.errstate(over="ignore"):
            variance = float(masses @ values**2)
        return math.sqrt(2.0 * variance * -math.log(delta) / self.n)


def _largest_loss(decomposition: Decomposition) -> tuple[float, float]:
    """The largest log a/b and how far rounding may have moved it; (inf, 0) where some b is 0."""
    a, b = (x[decomposition.a > 0.0] for x in (decomposition.a, decomposition.b))
    if not b.all():
        return math.inf, 0.0
    loss = max(0.0, float(np.max(np.log(a / b))))
    return loss, 2.1 * decomposition.rel_err + 8.0 * U * (1.0 + loss)


def _never_below(decomposition: Decomposition, n: int) -> float:
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    telling, err = b == 0.0, decomposition.rel_err
    alone = float(a[telling & (c == 0.0)].sum())
    hidden = float(a[telling & (c > 0.0)].sum())
    rest = math.fsum([1.0, *(-c[~telling]).tolist()])
    rest -= (err + 8.0 * U) * (1.0 - rest) + 8.0 * U * rest
    if hidden > 0.0 and rest > 0.0:
        alone += hidden * math.exp((n - 1) * math.log(rest) * (1.0 + 1e-12))
    return alone * (1.0 - 1e-9 - err)


class _Start(NamedTuple):
    """A guess of ε, the derivative of log D there, and by how much D there may be off δ."""

    eps: float
    slope: float
    doubt: float


def _start(problem: _Problem, delta: float, end: float) -> _Start:
    """From the root of the estimated log D − log δ; 0 where even D(0) seems to be small enough."""
    target = math.log(delta)
    guess, slope = _saddle_root(problem, delta, end)
    doubt = math.inf
    for _ in range(_REFINED):
        if not 0.0 < guess < end:
            break
        log, slope, doubt = problem.refined_estimate(guess)
        step = (log - target) / slope if slope < 0.0 else math.nan
        if not abs(step) < _CLOSE * guess:
            break
        guess -= step
    return _Start(guess, slope, doubt)


def _saddle_root(problem: _Problem, delta: float, end: float) -> tuple[float, float]:
    """Root of the saddlepoint estimates, to about four digits, and the slope there."""
    target, low, high = math.log(delta), 0.0, end
    guess, slope = min(problem.typical_eps(delta), 0.9 * end), -1.0
    for _ in range(60):
        value, slope = problem.estimate(guess)
        low, high = (guess, high) if value > target else (low, guess)
        newton = guess - (value - target) / slope if slope < 0.0 else math.nan
        if abs(newton - guess) <= _LAST_STEP * guess:
            return newton, slope
        if newton <= 0.0 == low and problem.estimate(0.0)[0] <= target:
            return 0.0, slope
        if not low < newton < high:
            newton = 0.5 * (low + high)
        guess = newton
    return guess, slope
