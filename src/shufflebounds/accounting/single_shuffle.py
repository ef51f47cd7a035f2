"""δ at ε and ε at δ of one shuffle, at one point or at many, as enclosures of both directions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import Problem, epsilon_by_separate_ends, start_of
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
ArrayOf = Sequence[T] | NDArray
Indices = NDArray[np.int64]

# Relative width of ε and δ where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-4
# Largest relative gap between the separate ends of a continuous randomizer that is accepted at
# once. A wider one may come from poor estimates, which choose the components, as for few users.
MAX_TRUSTED_WIDTH = 1e-3
# Smallest −d log D / d log ε at which an estimated root is trusted. Speed only
# (benchmarks/arrays.py), as are all constants below.
MIN_STEEPNESS = 1.0
# Most components of a law that is evaluated at many points together. Beyond, the Fourier engine
# for single points works with fewer values, and the cost of calling NumPy hardly counts.
MAX_COMPONENTS_TOGETHER = 512
# Fewest users of points that are evaluated together. With fewer users there are atoms near 0, which
# each point handles in its own way.
MIN_USERS_TOGETHER = 100
# Largest mass of a component for points to be evaluated together. Above, all other components are
# rare.
MAX_MASS_TOGETHER = 0.95
# Distances of the probes from the predicted root, in units of the requested width, one for each
# pass. Each pass starts from the roots that the previous one suggests.
PROBE_DISTANCES = (0.45, 0.49, 0.49)
# Width of log D at a probe, in units of the change of log D between the root and the probe.
PROBE_WIDTH_SHARE = 0.3
# Number of points for each point whose exact value corrects the estimates of its neighbours.
POINTS_PER_SAMPLE = 8
# Fewest such samples in a decade of n or of log δ.
SAMPLES_PER_DECADE = 2.0
# Fewest such samples of all points.
MIN_SAMPLES = 5


# Scalars match both overloads; the first is the more specific.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition, eps: float, n: int, *, rtol: float | None = ...
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition,
    eps: float | ArrayOf[float],
    n: int | ArrayOf[int],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def delta(
    decomposition: Decomposition,
    eps: float | ArrayOf[float],
    n: int | ArrayOf[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Return an enclosure of max{D(ε) of (a, b, c), D(ε) of (b, a, c)} for n users (Theorem 12).

    The arguments, the answer and the errors are those of `questions.delta`. If there are several
    points, all are computed before an error is raised, so that the error holds all enclosures.
    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if is_array_like(eps) or is_array_like(n):
        losses, users = paired(("eps", eps, validation.eps), ("n", n, validation.users))
        problems = [Problem.of(decomposition, at) for at in users]
        within = [min(at, LARGEST_EPS) for at in losses]
        enclosures = _divergences(problems, within, goal)
        enclosures = [
            p.limited(at, ends) for p, at, ends in zip(problems, losses, enclosures, strict=True)
        ]
        return all_or_raise(
            enclosures,
            [delta_shortfall(*row, rtol) for row in zip(problems, losses, enclosures, strict=True)],
        )
    near, far = validation.eps_between(eps)
    n = validation.users(n)
    if near < far:  # D falls in ε
        return _join_ends(lambda at: delta(decomposition, at, n, rtol=rtol), far, near)
    problem = Problem.of(decomposition, n)
    enclosure = problem.limited(near, problem.delta(min(near, LARGEST_EPS), goal))
    return or_raise(enclosure, delta_shortfall(problem, near, enclosure, rtol))


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
    n: int | ArrayOf[int],
    delta: float | ArrayOf[float],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition,
    n: int | ArrayOf[int],
    delta: float | ArrayOf[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Return an enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    Both ends follow from enclosures of D nearby, as D is convex in e^ε. The arguments, the answer
    and the errors are those of `questions.epsilon`.
    """
    checked_rtol = None if rtol is None else validation.rtol(rtol)
    if is_array_like(n) or is_array_like(delta):
        users, targets = paired(("n", n, validation.users), ("delta", delta, validation.delta))
        problems = [Problem.of(decomposition, at) for at in users]
        enclosures = _roots(problems, targets, checked_rtol)
        return all_or_raise(
            enclosures,
            [
                epsilon_shortfall(*row, rtol)
                for row in zip(problems, targets, enclosures, strict=True)
            ],
        )
    small, large = validation.delta_between(delta)
    n = validation.users(n)
    if small < large:  # ε falls in δ
        return _join_ends(lambda at: epsilon(decomposition, n, at, rtol=rtol), large, small)
    problem = Problem.of(decomposition, n)
    enclosure = _root(problem, small, checked_rtol)
    return or_raise(enclosure, epsilon_shortfall(problem, small, enclosure, rtol))


def _join_ends(evaluate: Callable[[float], Enclosure], below: float, above: float) -> Enclosure:
    """Return the lower end of the enclosure at `below` and the upper end of that at `above`.

    Raises PrecisionError with both ends if either evaluation raises it.
    """
    ends, shortfall = [], None
    for at in (below, above):
        try:
            ends.append(evaluate(at))
        except PrecisionError as error:
            ends.append(error.enclosure)
            shortfall = str(error)
    return or_raise(Enclosure(ends[0].lower, ends[1].upper), shortfall)


def _root(problem: Problem, delta: float, rtol: float | None) -> Enclosure:
    """Return an enclosure of the smallest ε with D(ε) ≤ δ, aiming at a relative width of `rtol`."""
    goal = DEFAULT_RTOL if rtol is None else rtol
    if problem.delta_limit() > delta:
        return Enclosure(math.inf, math.inf)
    separate = None
    if not problem.is_finite():
        separate = epsilon_by_separate_ends(problem, delta, goal)
        max_width = MAX_TRUSTED_WIDTH if rtol is None else rtol
        if separate is not None and separate.relative_width <= max_width:
            return separate
    end = problem.largest_loss()
    start = start_of(problem, delta, min(end, LARGEST_EPS))
    problem = dataclasses.replace(problem, target=delta)
    enclosure = smallest_eps(problem.delta, delta, start, end, goal)
    if separate is None:
        return enclosure
    return Enclosure(max(enclosure.lower, separate.lower), min(enclosure.upper, separate.upper))


def _roots(problems: list[Problem], deltas: list[float], rtol: float | None) -> list[Enclosure]:
    """Return `_root` of each problem; the problems differ only in n.

    They are solved together if that is faster. Every end is certified as for a single point. The
    points share saddlepoint estimates, corrected by exact values at some of them and interpolated
    between, and the cost of calling NumPy. Mostly two evaluations then suffice, one just above the
    root and one just below it.
    """

    def single_root(i: int) -> Enclosure:
        return _root(problems[i], deltas[i], rtol)

    # Outputs that reveal the victim's input count most for the fewest users.
    fewest = min(problems, key=lambda problem: problem.n)
    if not _is_worthwhile(problems) or fewest.delta_limit() > min(deltas):
        return [single_root(i) for i in range(len(problems))]
    goal = DEFAULT_RTOL if rtol is None else rtol
    search = _Roots(problems, np.array(deltas), fewest.largest_loss(), goal)
    search.correct()
    for distance in PROBE_DISTANCES:
        search.probe(distance * goal)
    columns = (x.tolist() for x in (search.is_certified, search.low, search.high))
    return [
        Enclosure(low, high) if is_certified else single_root(i)
        for i, (is_certified, low, high) in enumerate(zip(*columns, strict=True))
    ]


def is_array_like(value: object) -> TypeGuard[Sequence | NDArray]:
    """Return whether an argument is an array or a sequence, rather than a number."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return getattr(value, "ndim", 0) > 0


def paired(
    first_argument: tuple[str, object, Callable[[object], T]],
    second_argument: tuple[str, object, Callable[[object], S]],
) -> tuple[list[T], list[S]]:
    """Return two arguments (name, value, check), one of them an array, as lists of equal length.

    Raises ValueError if both are arrays, or an array is empty or has more than one dimension. It
    also raises what `check` raises for an entry.
    """
    if is_array_like(first_argument[1]) and is_array_like(second_argument[1]):
        raise ValueError(
            f"only one of {first_argument[0]} and {second_argument[0]} may be an array, "
            f"got {len(first_argument[1])} and {len(second_argument[1])} values"
        )
    first, second = checked(*first_argument), checked(*second_argument)
    size = max(len(first), len(second))
    return first * (size // len(first)), second * (size // len(second))


def checked(name: str, value: object, check: Callable[[object], T]) -> list[T]:
    """Return an argument, a number or an array, as a list of checked numbers.

    Raises ValueError for an array that is empty or has more than one dimension.
    """
    if not is_array_like(value):
        return [check(value)]
    shape = getattr(value, "shape", (len(value),))
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(
            f"{name} must be a number or a one-dimensional, non-empty array, "
            f"got shape {tuple(shape)}"
        )
    # Arithmetic with NumPy scalars would be slower than with Python's numbers.
    return [check(x) for x in (value.tolist() if hasattr(value, "tolist") else value)]


def or_raise(enclosure: Enclosure, shortfall: str | None) -> Enclosure:
    """Return the enclosure; raise PrecisionError if `shortfall` is a message."""
    if shortfall is not None:
        raise PrecisionError(shortfall, enclosure)
    return enclosure


def all_or_raise(enclosures: list[Enclosure], shortfalls: list[str | None]) -> Enclosures:
    """Return the enclosures of all points; raise PrecisionError if there are messages.

    The error quotes the first message and the number of messages.
    """
    ends = Enclosures(
        np.array([x.lower for x in enclosures]), np.array([x.upper for x in enclosures])
    )
    messages = [shortfall for shortfall in shortfalls if shortfall is not None]
    if messages:
        raise PrecisionError(
            f"{messages[0]} (so at {len(messages)} of {len(enclosures)} points)", ends
        )
    return ends


def delta_shortfall(
    problem: Problem, eps: float, enclosure: Enclosure, rtol: float | None
) -> str | None:
    """Return what is wrong with an enclosure of δ at ε, None if it is narrow enough.

    A δ that rounding cannot distinguish from 0 is narrow enough.
    """
    if enclosure.upper <= validation.MIN_DELTA or problem.vanishes(eps):
        return None
    return _shortfall(f"delta at eps = {eps!r}", problem, enclosure, rtol)


def epsilon_shortfall(
    problem: Problem, delta: float, enclosure: Enclosure, rtol: float | None
) -> str | None:
    """Return what is wrong with an enclosure of ε at δ, None if it is narrow enough."""
    return _shortfall(f"epsilon at delta = {delta!r}", problem, enclosure, rtol)


def _shortfall(
    quantity: str, problem: Problem, enclosure: Enclosure, rtol: float | None
) -> str | None:
    """Return a message if the enclosure is wider than was promised, else None."""
    goal = DEFAULT_RTOL if rtol is None else rtol
    if enclosure.relative_width <= goal or not problem.promises(rtol):
        return None
    advice = "a larger rtol" if problem.is_finite() else "more cells or a larger rtol"
    return (
        f"{quantity}, n = {problem.n} is known only to lie in "
        f"[{enclosure.lower!r}, {enclosure.upper!r}]: relative width "
        f"{enclosure.relative_width:.1e} where rtol = {goal:g} was asked for; {advice} would help"
    )


def _divergences(problems: Sequence[Problem], eps: Sequence[float], rtol: float) -> list[Enclosure]:
    """Return enclosures of D(ε) at all points; the problems differ only in n."""
    if not _are_stackable(problems):
        return [problem.delta(at, rtol) for problem, at in zip(problems, eps, strict=True)]
    points = np.array(eps), _users(problems), np.full(len(eps), rtol)
    lower, upper = np.zeros(len(eps)), np.zeros(len(eps))
    narrow = np.ones(len(eps), dtype=bool)
    for inner, outer in problems[0].directions:
        ends = stacked(outer, *points)
        low, high = ends
        narrow &= _are_narrow(*ends, rtol)
        if inner is not outer:
            ends = stacked(inner, *points)
            narrow &= _are_narrow(*ends, rtol)
            low = np.minimum(ends[0], high)
        lower, upper = np.maximum(lower, low), np.maximum(upper, high)
    return [
        Enclosure(*ends) if is_narrow else problem.delta(at, rtol)
        for is_narrow, problem, at, *ends in zip(
            narrow, problems, eps, lower.tolist(), upper.tolist(), strict=True
        )
    ]


class _Roots:
    """The predicted roots of P points and their certified enclosures; arrays of shape (P,).

    ``start`` and ``slope`` are the predicted roots and the derivatives of log D there, NaN where
    nothing is predicted. ``low`` and ``high`` enclose the roots where ``is_certified`` is true.
    """

    def __init__(
        self, problems: Sequence[Problem], delta: FloatArray, end: float, rtol: float
    ) -> None:
        self.directions = problems[0].directions
        self.bounds = stacked if _are_stackable(problems) else _enclose_one_by_one
        self.n, self.target, self.end = _users(problems), np.log(delta), min(end, LARGEST_EPS)
        self.delta, self.half = delta, PROBE_DISTANCES[0] * rtol
        outers = [outer for _, outer in self.directions]
        self.start, self.slope = roots(outers, self.n, delta, self.end)
        self.low, self.high = np.full(delta.shape, np.nan), np.full(delta.shape, np.nan)
        self.is_certified = np.zeros(delta.shape, dtype=bool)

    def open_points(self) -> Indices:
        """Return the indices of points without certified ends whose estimates are usable."""
        is_usable = (-self.slope * self.start > MIN_STEEPNESS) & (self.n >= MIN_USERS_TOGETHER)
        is_usable &= self.start < self.end * (1.0 - self.half)
        return np.flatnonzero(is_usable & ~self.is_certified)

    def evaluate(
        self, decomposition: Decomposition, points: Indices, eps: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return bounds of D and the middle of those of log D, NaN where they are too wide."""
        need = -PROBE_WIDTH_SHARE * self.slope[points] * self.half * self.start[points]
        aim = np.clip(need, FINEST, COARSEST)
        low, high = self.bounds(decomposition, eps, self.n[points], aim)
        with np.errstate(all="ignore"):
            middle = 0.5 * (np.log(low) + np.log(high))
        # A point whose bounds are much wider than the aim is solved by itself later.
        return low, high, np.where(high - low <= 2.0 * aim * high, middle, np.nan)

    def largest(self, points: Indices, eps: FloatArray) -> tuple[FloatArray, FloatArray, Indices]:
        """Return the largest upper bound of D and the largest middle of log D of all directions.

        The third array holds the direction with the largest middle.
        """
        ends = [self.evaluate(outer, points, eps) for _, outer in self.directions]
        middles = np.array([middle for _, _, middle in ends])
        high = np.max([high for _, high, _ in ends], axis=0)
        return high, middles.max(axis=0), middles.argmax(axis=0)

    def correct(self) -> None:
        """Correct the predicted roots by exact values at some of them."""
        points = self.open_points()
        if not points.size:
            return
        axis = self.n if np.ptp(self.n) > 0.0 else -self.target
        points = points[np.argsort(axis[points], kind="stable")]
        decades = math.log10(axis[points[-1]] / axis[points[0]])
        count = max(
            MIN_SAMPLES,
            1 + points.size // POINTS_PER_SAMPLE,
            math.ceil(SAMPLES_PER_DECADE * decades),
        )
        count = min(count, points.size)
        samples = points[np.unique(np.linspace(0, points.size - 1, count).round().astype(np.int64))]
        _, middle, _ = self.largest(samples, self.start[samples])
        with np.errstate(all="ignore"):
            shift = -(middle - self.target[samples]) / self.slope[samples] / self.start[samples]
        is_usable = np.abs(shift) < 0.5
        place, places = np.log(axis[points]), np.log(axis[samples])
        if is_usable.any():
            self.start[points] *= 1.0 + np.interp(place, places[is_usable], shift[is_usable])
        # The prediction is dropped for the neighbours of a sample whose value says nothing.
        nearest = np.abs(place[:, None] - places).argmin(axis=-1)
        self.start[points[~is_usable[nearest]]] = np.nan

    def probe(self, distance: float) -> None:
        """Evaluate D at a relative distance above and below the predicted roots.

        Certify the ends where D falls to δ between them, and predict better roots elsewhere.
        """
        self.half = distance
        points = self.open_points()
        if not points.size:
            return
        above, below = (self.start[points] * (1.0 + x) for x in (self.half, -self.half))
        high, middle_above, direction = self.largest(points, above)
        low, middle_below = np.zeros(points.size), np.full(points.size, np.nan)
        for i, (inner, _) in enumerate(self.directions):
            rows = np.flatnonzero(direction == i)
            if rows.size:
                low[rows], _, middle_below[rows] = self.evaluate(inner, points[rows], below[rows])
        self.low[points], self.high[points] = below, above
        delta, target = self.delta[points], self.target[points]
        # D = δ below the root proves nothing: D may be constant there.
        self.is_certified[points] = (high <= delta) & (low > delta)
        with np.errstate(all="ignore"):
            slope = (middle_above - middle_below) / (above - below)
            next_root = above - (middle_above - target) / slope
            shift = next_root / self.start[points] - 1.0
        is_plausible = (slope < 0.0) & (np.abs(shift) < 0.5)
        self.start[points] = np.where(is_plausible, next_root, np.nan)
        self.slope[points] = np.where(is_plausible, slope, np.nan)


def _is_worthwhile(problems: Sequence[Problem]) -> bool:
    """Return whether solving the points together is faster than solving each by itself.

    It is not if a law is large and inner and outer decompositions differ: the law is evaluated
    point by point then, and probes as close to the root as here tend to fail. Nor is it if reports
    are rare, as in a small sample of the users, which each point handles in its own way.
    """
    largest_mass = max(
        float(decomposition.c.max()) for pair in problems[0].directions for decomposition in pair
    )
    return largest_mass <= MAX_MASS_TOGETHER and (
        _are_stackable(problems) or problems[0].is_finite()
    )


def _are_stackable(problems: Sequence[Problem]) -> bool:
    """Return whether `stacked` can evaluate the laws: all have few components."""
    return all(
        len(decomposition) <= MAX_COMPONENTS_TOGETHER
        for pair in problems[0].directions
        for decomposition in pair
    )


def _enclose_one_by_one(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of D as `stacked` does."""
    points = zip(eps.tolist(), n.astype(np.int64).tolist(), rtol.tolist(), strict=True)
    enclosures = [enclose(decomposition, *point, fourier_bounds) for point in points]
    return np.array([x.lower for x in enclosures]), np.array([x.upper for x in enclosures])


def _users(problems: Sequence[Problem]) -> FloatArray:
    """Return the numbers of users, shape (P,)."""
    return np.array([float(problem.n) for problem in problems])


def _are_narrow(lower: FloatArray, upper: FloatArray, rtol: float) -> NDArray[np.bool_]:
    """Return where the bounds have a relative width of at most `rtol`."""
    return upper - lower <= rtol * upper
