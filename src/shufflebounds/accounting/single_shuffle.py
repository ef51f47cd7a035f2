"""δ at ε and ε at δ of one shuffle, at one point or at many, as enclosures of both directions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import Problem, start_of
from shufflebounds.accounting.root_search import COARSEST, FINEST, LARGEST_EPS, smallest_eps
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.engine import enclose
from shufflebounds.divergence.estimates import roots
from shufflebounds.divergence.fourier import fourier_bounds
from shufflebounds.divergence.fourier_rows import stacked

T = TypeVar("T")
S = TypeVar("S")
Several = Sequence[T] | NDArray
Indices = NDArray[np.int64]

DEFAULT_RTOL = 1e-4


# Scalars match both overloads; the first is the more specific.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition, eps: float, n: int, *, rtol: float | None = ...
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def delta(
    decomposition: Decomposition,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclosure of max{D(ε) of (a, b, c), D(ε) of (b, a, c)} for n users (Theorem 12).

    `questions.delta` says what it takes, returns and raises. Of several points all are
    computed before an error is raised: no point is lost because another fell short.
    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if is_several(eps) or is_several(n):
        losses, users = paired(("eps", eps, validation.eps), ("n", n, validation.users))
        problems = [Problem.of(decomposition, one) for one in users]
        within = [min(one, LARGEST_EPS) for one in losses]
        each = _divergences(problems, within, goal)
        each = [p.limited(one, end) for p, one, end in zip(problems, losses, each, strict=True)]
        return all_or_raise(
            each,
            [delta_shortfall(*row, rtol) for row in zip(problems, losses, each, strict=True)],
        )
    near, far = validation.eps_between(eps)
    n = validation.users(n)
    if near < far:  # D falls in ε
        return _joined(lambda one: delta(decomposition, one, n, rtol=rtol), far, near)
    problem = Problem.of(decomposition, n)
    found = problem.limited(near, problem.delta(min(near, LARGEST_EPS), goal))
    return or_raise(found, delta_shortfall(problem, near, found, rtol))


# Scalars match both overloads; the first is the more specific.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Decomposition,
    n: int,
    delta: float,
    *,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    Both ends follow from enclosures of D nearby, as D is convex in e^ε. `questions.epsilon` says
    what it takes, returns and raises.
    """
    asked = None if rtol is None else validation.rtol(rtol)
    if is_several(n) or is_several(delta):
        users, targets = paired(("n", n, validation.users), ("delta", delta, validation.delta))
        problems = [Problem.of(decomposition, one) for one in users]
        each = _each_root(problems, targets, asked)
        return all_or_raise(
            each,
            [epsilon_shortfall(*row, rtol) for row in zip(problems, targets, each, strict=True)],
        )
    small, large = validation.delta_between(delta)
    n = validation.users(n)
    if small < large:  # ε falls in δ
        return _joined(lambda one: epsilon(decomposition, n, one, rtol=rtol), large, small)
    problem = Problem.of(decomposition, n)
    found = _root(problem, small, asked)
    return or_raise(found, epsilon_shortfall(problem, small, found, rtol))


def _joined(evaluate: Callable[[float], Enclosure], below: float, above: float) -> Enclosure:
    """The lower end at one float and the upper one at the other, also where either fell short."""
    ends, shortfall = [], None
    for one in (below, above):
        try:
            ends.append(evaluate(one))
        except PrecisionError as error:
            ends.append(error.enclosure)
            shortfall = str(error)
    return or_raise(Enclosure(ends[0].lower, ends[1].upper), shortfall)


def _root(problem: Problem, delta: float, rtol: float | None) -> Enclosure:
    goal = DEFAULT_RTOL if rtol is None else rtol
    if problem.never_below() > delta:
        return Enclosure(math.inf, math.inf)
    end = problem.largest_loss()
    start = start_of(problem, delta, min(end, LARGEST_EPS))
    problem = dataclasses.replace(problem, target=delta)
    return smallest_eps(problem.delta, delta, start, end, goal)


def _each_root(problems: list[Problem], deltas: list[float], rtol: float | None) -> list[Enclosure]:
    """`_root` of problems that differ in nothing but n, all of them together if that pays."""

    def alone(i: int) -> Enclosure:
        return _root(problems[i], deltas[i], rtol)

    # With few users outputs that tell count for most.
    fewest = min(problems, key=lambda problem: problem.n)
    if not _is_worthwhile(problems) or fewest.never_below() > min(deltas):
        return [alone(i) for i in range(len(problems))]
    goal = DEFAULT_RTOL if rtol is None else rtol
    search = _Roots(problems, np.array(deltas), fewest.largest_loss(), goal)
    search.correct()
    for aside in _ASIDE:
        search.probe(aside * goal)
    columns = (x.tolist() for x in (search.found, search.low, search.high))
    return [
        Enclosure(low, high) if found else alone(i)
        for i, (found, low, high) in enumerate(zip(*columns, strict=True))
    ]


def is_several(value: object) -> TypeGuard[Sequence | NDArray]:
    """Whether an argument is an array or a sequence, rather than one number."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return getattr(value, "ndim", 0) > 0


def paired(
    one: tuple[str, object, Callable[[object], T]], two: tuple[str, object, Callable[[object], S]]
) -> tuple[list[T], list[S]]:
    """Two arguments (name, value, check), one of them an array, as lists of equal length.

    Raises ValueError where both are arrays, for an array that is empty or has more than one
    dimension, and what `check` raises for an entry.
    """
    if is_several(one[1]) and is_several(two[1]):
        raise ValueError(
            f"only one of {one[0]} and {two[0]} may be an array, "
            f"got {len(one[1])} and {len(two[1])} values"
        )
    first, second = checked(*one), checked(*two)
    size = max(len(first), len(second))
    return first * (size // len(first)), second * (size // len(second))


def checked(name: str, value: object, check: Callable[[object], T]) -> list[T]:
    """An argument, a number or an array, as a list; ValueError for an array of another shape."""
    if not is_several(value):
        return [check(value)]
    shape = getattr(value, "shape", (len(value),))
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(
            f"{name} must be a number or a one-dimensional, non-empty array, "
            f"got shape {tuple(shape)}"
        )
    # NumPy's own scalars would slow down all that is done with them one by one.
    return [check(x) for x in (value.tolist() if hasattr(value, "tolist") else value)]


def or_raise(found: Enclosure, shortfall: str | None) -> Enclosure:
    """`found`; raises PrecisionError where there is a shortfall to tell of."""
    if shortfall is not None:
        raise PrecisionError(shortfall, found)
    return found


def all_or_raise(found: list[Enclosure], shortfalls: list[str | None]) -> Enclosures:
    """The same for several points, the first shortfall in words and all in numbers."""
    ends = Enclosures(np.array([x.lower for x in found]), np.array([x.upper for x in found]))
    missed = [shortfall for shortfall in shortfalls if shortfall is not None]
    if missed:
        raise PrecisionError(f"{missed[0]} (so at {len(missed)} of {len(found)} points)", ends)
    return ends


def delta_shortfall(
    problem: Problem, eps: float, found: Enclosure, rtol: float | None
) -> str | None:
    """Of δ at ε, where it can be told from 0."""
    if found.upper <= validation.MIN_DELTA or problem.vanishes(eps):
        return None
    return _shortfall(f"delta at eps = {eps!r}", problem, found, rtol)


def epsilon_shortfall(
    problem: Problem, delta: float, found: Enclosure, rtol: float | None
) -> str | None:
    """Of ε at δ."""
    return _shortfall(f"epsilon at delta = {delta!r}", problem, found, rtol)


def _shortfall(what: str, problem: Problem, found: Enclosure, rtol: float | None) -> str | None:
    goal = DEFAULT_RTOL if rtol is None else rtol
    if found.relative_width <= goal or not problem.promises(rtol):
        return None
    advice = "a larger rtol" if problem.is_finite() else "more cells or a larger rtol"
    return (
        f"{what}, n = {problem.n} is known only to lie in [{found.lower!r}, {found.upper!r}]: "
        f"relative width {found.relative_width:.1e} where rtol = {goal:g} was asked for; "
        f"{advice} would help"
    )


# Many points at once. Every end is certified as for a single point; what points share is where to
# look: saddlepoint estimates for all of them in one go, corrected by exact values at some and
# interpolated between, so that two evaluations just above and just below the root mostly do; and
# the cost of calling NumPy. All of this decides speed only (benchmarks/arrays.py).
#
# Where log D is this flat in log ε, estimates of its root are worth little.
_FLAT = 1.0
# Beyond, the Fourier engine works with fewer values, and the cost of calling NumPy is nothing.
_MOST_COMPONENTS = 512
# Fewer leave atoms near 0, and each point has its own way of dealing with them.
_FEWEST_USERS = 100
# With one component more likely than this, all others are rare.
_MOST_SURE = 0.95
# How far from the predicted root to look, in each round, and how precisely; as shares of what is
# asked for. Each round begins where the one before says that the root is.
_ASIDE, _CARE = (0.45, 0.49, 0.49), 0.3
# One point in so many corrects the estimates of its neighbours, and so many in a decade.
_SPACING, _PER_DECADE, _FEWEST = 8, 2.0, 5


def _divergences(problems: Sequence[Problem], eps: Sequence[float], rtol: float) -> list[Enclosure]:
    """D(ε) of all points; `problems` differ in nothing but n."""
    if not _stackable(problems):
        return [problem.delta(at, rtol) for problem, at in zip(problems, eps, strict=True)]
    points = np.array(eps), _users(problems), np.full(len(eps), rtol)
    lower, upper = np.zeros(len(eps)), np.zeros(len(eps))
    narrow = np.ones(len(eps), dtype=bool)
    for inner, outer in problems[0].directions:
        ends = stacked(outer, *points)
        low, high = ends
        narrow &= _narrow(*ends, rtol)
        if inner is not outer:
            ends = stacked(inner, *points)
            narrow &= _narrow(*ends, rtol)
            low = np.minimum(ends[0], high)
        lower, upper = np.maximum(lower, low), np.maximum(upper, high)
    return [
        Enclosure(*ends) if good else problem.delta(at, rtol)
        for good, problem, at, *ends in zip(
            narrow, problems, eps, lower.tolist(), upper.tolist(), strict=True
        )
    ]


class _Roots:
    """Where the roots are believed to be, and what was found; arrays of shape (P,)."""

    def __init__(
        self, problems: Sequence[Problem], delta: FloatArray, end: float, rtol: float
    ) -> None:
        self.directions = problems[0].directions
        self.bounds = stacked if _stackable(problems) else _one_by_one
        self.n, self.target, self.end = _users(problems), np.log(delta), min(end, LARGEST_EPS)
        self.delta, self.half = delta, _ASIDE[0] * rtol
        outers = [outer for _, outer in self.directions]
        self.start, self.slope = roots(outers, self.n, delta, self.end)
        self.low, self.high = np.full(delta.shape, np.nan), np.full(delta.shape, np.nan)
        self.found = np.zeros(delta.shape, dtype=bool)

    def open(self) -> Indices:
        """Points still to be found, where the estimates are worth something."""
        worth = (-self.slope * self.start > _FLAT) & (self.n >= _FEWEST_USERS)
        worth &= self.start < self.end * (1.0 - self.half)
        return np.flatnonzero(worth & ~self.found)

    def evaluate(
        self, one: Decomposition, points: Indices, eps: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Bounds of D, and the middle of those of log D; NaN where they say too little."""
        need = -_CARE * self.slope[points] * self.half * self.start[points]
        aim = np.clip(need, FINEST, COARSEST)
        low, high = self.bounds(one, eps, self.n[points], aim)
        with np.errstate(all="ignore"):
            middle = 0.5 * (np.log(low) + np.log(high))
        # A point whose bounds miss the aim by far is better off alone.
        return low, high, np.where(high - low <= 2.0 * aim * high, middle, np.nan)

    def largest(self, points: Indices, eps: FloatArray) -> tuple[FloatArray, FloatArray, Indices]:
        """Upper bounds of D in all directions, the middle of log D, and which direction has it."""
        ends = [self.evaluate(outer, points, eps) for _, outer in self.directions]
        middles = np.array([middle for _, _, middle in ends])
        high = np.max([high for _, high, _ in ends], axis=0)
        return high, middles.max(axis=0), middles.argmax(axis=0)

    def correct(self) -> None:
        """Replace the estimated roots by what exact values at some of them suggest."""
        points = self.open()
        if not points.size:
            return
        axis = self.n if np.ptp(self.n) > 0.0 else -self.target
        points = points[np.argsort(axis[points], kind="stable")]
        decades = math.log10(axis[points[-1]] / axis[points[0]])
        count = max(_FEWEST, 1 + points.size // _SPACING, math.ceil(_PER_DECADE * decades))
        count = min(count, points.size)
        some = points[np.unique(np.linspace(0, points.size - 1, count).round().astype(np.int64))]
        _, middle, _ = self.largest(some, self.start[some])
        with np.errstate(all="ignore"):
            moved = -(middle - self.target[some]) / self.slope[some] / self.start[some]
        usable = np.abs(moved) < 0.5
        place, places = np.log(axis[points]), np.log(axis[some])
        if usable.any():
            self.start[points] *= 1.0 + np.interp(place, places[usable], moved[usable])
        # Where nothing could be said, the neighbours fare no better.
        nearest = np.abs(place[:, None] - places).argmin(axis=-1)
        self.start[points[~usable[nearest]]] = np.nan

    def probe(self, aside: float) -> None:
        """Evaluate so far above and below the roots, relatively; what fails is told better ones."""
        self.half = aside
        points = self.open()
        if not points.size:
            return
        above, below = (self.start[points] * (1.0 + x) for x in (self.half, -self.half))
        high, middle, direction = self.largest(points, above)
        low, beneath = np.zeros(points.size), np.full(points.size, np.nan)
        for i, (inner, _) in enumerate(self.directions):
            of = np.flatnonzero(direction == i)
            if of.size:
                low[of], _, beneath[of] = self.evaluate(inner, points[of], below[of])
        self.low[points], self.high[points] = below, above
        delta, target = self.delta[points], self.target[points]
        # Not where D is δ: it may be so from further below on.
        self.found[points] = (high <= delta) & (low > delta)
        with np.errstate(all="ignore"):
            slope = (middle - beneath) / (above - below)
            better = above - (middle - target) / slope
            moved = better / self.start[points] - 1.0
        again = (slope < 0.0) & (np.abs(moved) < 0.5)
        self.start[points] = np.where(again, better, np.nan)
        self.slope[points] = np.where(again, slope, np.nan)


def _is_worthwhile(problems: Sequence[Problem]) -> bool:
    """Whether points together cost less than each by itself.

    Large laws are evaluated one by one, and where inner and outer ends are apart, probes as close
    to the root as those here tend to fail. Of rare reports, as of a small sample of the users, each
    point has its own way of dealing with them.
    """
    sure = max(float(one.c.max()) for pair in problems[0].directions for one in pair)
    return sure <= _MOST_SURE and (_stackable(problems) or problems[0].is_finite())


def _stackable(problems: Sequence[Problem]) -> bool:
    return all(len(one) <= _MOST_COMPONENTS for pair in problems[0].directions for one in pair)


def _one_by_one(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What `stacked` gives."""
    points = zip(eps.tolist(), n.astype(np.int64).tolist(), rtol.tolist(), strict=True)
    found = [enclose(decomposition, *point, fourier_bounds) for point in points]
    return np.array([x.lower for x in found]), np.array([x.upper for x in found])


def _users(problems: Sequence[Problem]) -> FloatArray:
    return np.array([float(problem.n) for problem in problems])


def _narrow(lower: FloatArray, upper: FloatArray, rtol: float) -> NDArray[np.bool_]:
    return upper - lower <= rtol * upper
