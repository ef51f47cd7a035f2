"""Rounds, and the discrete privacy losses that bound the composition of them from both sides."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import Problem, delta_limit, most_telling, typical_loss
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.engine import divergences
from shufflebounds.divergence.enumeration import RankedOutcomes, ranked_outcomes
from shufflebounds.divergence.lattice import MAX_POINTS
from shufflebounds.divergence.losses import (
    LossLaw,
    LossSum,
    Side,
    lattice_step,
    optimistic,
    pessimistic,
)
from shufflebounds.divergence.supremum import supremum

# Largest number of points of a curve. Each point is an enclosure of a divergence.
MAX_NODES = 6000
# Fewest points of a curve: a discrete pair below or above it needs so many.
MIN_NODES = 3
# Number of points that are enclosed in one call. Speed only (benchmarks/rounds.py).
NODES_PER_BLOCK = 24
# Number of grids that are cached; each holds some thousand numbers.
MAX_GRIDS_CACHED = 256
# Number of bounds for all datasets that are cached; each takes seconds to compute.
MAX_CROWD_GRIDS_CACHED = 32
# Relative width of D at the points, times the square of the points per standard deviation. A larger
# one widens ε, a smaller one takes longer (benchmarks/rounds.py).
NODE_WIDTH = 0.06
# Smallest relative width of D at the points that is aimed at.
MIN_NODE_RTOL = 1e-9
# Fewest standard deviations of the sum that fit on a lattice of `MAX_POINTS` points.
MIN_LATTICE_ROOM = 40.0
# Step between points of rare losses, in units of that of a normal sum. Width and speed only
# (benchmarks/rounds.py).
RARE_STRIDE = 4.0
# Reach of the points of rare losses, in units of the largest loss of a normal sum that counts.
# Width and speed only (benchmarks/rounds.py).
RARE_REACH = 3.0

# The decompositions of a round, those of its dataset pairs, and the number of users.
RoundKind = tuple[tuple[Decomposition, ...], tuple[Decomposition, ...], int]

# The losses of a round, in either form.
L = TypeVar("L")

_grid_cache: OrderedDict[tuple, Grid] = OrderedDict()
_grid_cache_lock = Lock()


@dataclass(eq=False)
class Grid:
    """Enclosures of D at ε = 0, Δ, 2Δ, … of one decomposition and n, computed when first needed.

    ``nodes`` maps the id of a decomposition that bounds a direction from below or from above to its
    enclosures, one for each point. ``outcomes`` maps it to its exact outcomes if there are few,
    else to None. ``prefetched`` maps it to the enclosures that were computed in blocks.
    """

    problem: Problem
    points: Points
    nodes: dict[int, list[Enclosure]] = field(default_factory=dict, init=False, repr=False)
    outcomes: dict[int, RankedOutcomes | None] = field(init=False)
    prefetched: dict[int, list[Enclosure]] = field(default_factory=dict, init=False, repr=False)
    # A point that two threads append at once would shift all that follow.
    lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        ends = {id(end): end for pair in self.problem.directions for end in pair}
        self.outcomes = {key: ranked_outcomes(end, self.problem.n) for key, end in ends.items()}

    def reach(self, level: float, *, inner: bool = False) -> int:
        """Return the number of points up to the first where D is at most `level` above its limit.

        It is at least 3, unless ε gets too large for floats before, and at most the number of all
        points. D is that of the `inner` decompositions, or of the outer ones.
        """
        floor = self.problem.delta_limit() * (1.0 + 1e-6) + level
        count = self.points.count
        for size in range(1, count + 1):
            last = max(
                self.divergences(below if inner else above, size)[size - 1].upper
                for below, above in self.problem.directions
            )
            if size >= MIN_NODES and last <= floor:
                return size
        return count

    def divergences(self, decomposition: Decomposition, size: int) -> list[Enclosure]:
        """Return enclosures of D of a decomposition at the first `size` points, or at more."""
        with self.lock:
            enclosures = self.nodes.setdefault(id(decomposition), [])
            while len(enclosures) < size:
                enclosures.append(self._divergence(decomposition, len(enclosures)))
            return enclosures

    def upper(self, size: int) -> FloatArray:
        """Return upper bounds of D in both directions, shape (size,)."""
        return np.max(
            [self._bounds(above, size)[1] for _, above in self.problem.directions], axis=0
        )

    def sides(self, size: int) -> tuple[Side, Side]:
        """Return bounds of D of (a, b, c) and of (b, a, c), those of the inner decompositions."""
        sides = [
            Side(
                self.points.places[:size],
                *self._bounds(inner, size),
                delta_limit(inner, self.problem.n),
            )
            for inner, _ in self.problem.directions
        ]
        return sides[0], sides[-1]

    def _bounds(self, decomposition: Decomposition, size: int) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of D of a decomposition, each of shape (size,)."""
        enclosures = self.divergences(decomposition, size)[:size]
        return np.array([x.lower for x in enclosures]), np.array([x.upper for x in enclosures])

    def _divergence(self, decomposition: Decomposition, index: int) -> Enclosure:
        """Return an enclosure of D of a decomposition at one point."""
        eps, outcomes = float(self.points.eps[index]), self.outcomes.get(id(decomposition))
        if eps >= self.problem.largest_loss():
            return Enclosure(0.0, 0.0)
        if outcomes is not None:
            return outcomes.divergence(eps)
        coarse, rtol = self._prefetch(decomposition, index), self.points.rtol
        if coarse.relative_width <= rtol or coarse.upper == 0.0:
            return coarse
        fine = self.problem.enclose(decomposition, eps, rtol)
        upper = min(coarse.upper, fine.upper)
        return Enclosure(min(max(coarse.lower, fine.lower), upper), upper)

    def _prefetch(self, decomposition: Decomposition, index: int) -> Enclosure:
        """Return an enclosure of D at a point by the Fourier engine alone, from a block of points.

        A block takes a tenth of the time that its points take one by one.
        """
        prefetched = self.prefetched.setdefault(id(decomposition), [])
        if index >= len(prefetched):
            block = slice(len(prefetched), len(prefetched) + NODES_PER_BLOCK)
            eps = np.minimum(self.points.eps[block], LARGEST_EPS)
            users = np.full(eps.size, float(self.problem.n))
            rtols = np.full(eps.size, self.points.rtol)
            lower, upper = divergences(decomposition, eps, users, rtols, one_try=True)
            prefetched.extend(map(Enclosure, lower.tolist(), upper.tolist()))
        return prefetched[index]


@dataclass(frozen=True)
class Points:
    """The points of the curve of a round, which are multiples of ``step`` = Δ, a natural log.

    ``rtol`` is the relative width of the enclosures to aim at. Beyond ``dense_reach`` typical
    losses of the round, of ``density`` steps each, the gaps between points grow; they never do if
    it is None. Up to ``stride_end`` steps the gaps are at most ``stride`` steps.
    """

    step: float
    rtol: float
    density: float = 1.0
    dense_reach: float | None = None
    stride: int = 1
    stride_end: int = 0

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The multiples in ascending order, which include 0 and 1."""
        if self.dense_reach is None:
            return np.arange(MAX_NODES)
        places, place = list(range(MIN_NODES)), MIN_NODES
        while len(places) < MAX_NODES and place * self.step <= LARGEST_EPS:
            places.append(place)
            size = place / self.density
            growth = math.exp(min(max(size - self.dense_reach, 0.0) ** 2 / 6.0, 700.0))
            stride = int(min(growth, size))
            place += max(1, min(stride, self.stride) if place < self.stride_end else stride)
        return np.array(places)

    @cached_property
    def eps(self) -> FloatArray:
        """The points themselves, exact."""
        return np.asarray(self.places * self.step)

    @cached_property
    def count(self) -> int:
        """The number of points before ε gets too large for floats."""
        return int(np.searchsorted(self.eps, LARGEST_EPS, side="right"))


def grid(decomposition: Decomposition, n: int, points: Points) -> Grid:
    """Return the grid of a decomposition and n ≥ 1 users, from a cache if it is there."""
    key = (*content_key(decomposition), n, points)
    with _grid_cache_lock:
        if key not in _grid_cache:
            _grid_cache[key] = Grid(Problem.of(decomposition, n), points)
            if len(_grid_cache) > MAX_GRIDS_CACHED:
                _grid_cache.popitem(last=False)
        _grid_cache.move_to_end(key)
        return _grid_cache[key]


def content_key(decomposition: Decomposition) -> tuple:
    """Return a hashable key that two decompositions share only if they are equal."""
    arrays = (getattr(decomposition, name).tobytes() for name in ("a", "b", "c", "ties"))
    ends = (end and content_key(end) for end in (decomposition.inner, decomposition.outer))
    return (*arrays, decomposition.rel_err, *ends)


@dataclass(frozen=True, eq=False)
class CrowdGrid:
    """Upper bounds of the divergence at ε = 0, Δ, 2Δ, … for all datasets of a mechanism.

    A bound is the smaller of the blankets' divergence and the supremum over all datasets.
    ``blankets`` and ``crowds`` cover all pairs of inputs that may be the worst, in both directions.
    docs/closing-the-gap.md proves the supremum. ``bounds`` holds those computed so far, and
    ``last_suprema`` the supremum of each crowd at the last point where it was computed.
    """

    blankets: tuple[Grid, ...]
    crowds: tuple[Crowd, ...]
    n: int
    points: Points
    bounds: list[float] = field(default_factory=list)
    last_suprema: dict[int, float] = field(default_factory=dict, init=False, repr=False)
    # A point that two threads append at once would shift all that follow.
    lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def upper(self, level: float) -> FloatArray:
        """Return bounds of D in both directions, (K + 1,), up to the first at most `level`."""
        limit = max(blanket.problem.delta_limit() for blanket in self.blankets)
        floor, count = limit * (1.0 + 1e-6) + level, self.points.count
        with self.lock:
            while len(self.bounds) < MIN_NODES or self.bounds[-1] > floor:
                if len(self.bounds) == count:
                    break
                self.bounds.append(self._bound(len(self.bounds)))
            upper = np.array(self.bounds)
        ends = np.flatnonzero(upper[MIN_NODES - 1 :] <= floor)
        return upper[: ends[0] + MIN_NODES] if ends.size else upper

    def _bound(self, index: int) -> float:
        """Return the smaller bound of D at a point."""
        by_blankets = max(
            blanket.divergences(outer, index + 1)[index].upper
            for blanket in self.blankets
            for _, outer in blanket.problem.directions
        )
        return min(by_blankets, self._largest_supremum(float(self.points.eps[index])))

    def _largest_supremum(self, eps: float) -> float:
        """Return the largest supremum of all crowds at ε."""
        largest, last_suprema = 0.0, self.last_suprema
        # D does not rise with ε: a supremum at a smaller ε shows that a crowd is not the largest.
        for k in sorted(range(len(self.crowds)), key=lambda k: -last_suprema.get(k, math.inf)):
            if last_suprema.get(k, math.inf) > largest:
                last_suprema[k] = supremum(self.crowds[k], eps, self.n)
                largest = max(largest, last_suprema[k])
        return largest


@lru_cache(maxsize=MAX_CROWD_GRIDS_CACHED)
def crowd_grid(
    blankets: tuple[Decomposition, ...], crowds: tuple[Crowd, ...], n: int, points: Points
) -> CrowdGrid:
    """Return the bounds of a mechanism, from a cache if these very objects were given before."""
    return CrowdGrid(tuple(grid(blanket, n, points) for blanket in blankets), crowds, n, points)


@dataclass(frozen=True, eq=False)
class Round:
    """A number of rounds with n users each, of decompositions any of which may be the worst.

    ``datasets`` holds the decompositions of dataset pairs, on which lower ends rest; None stands
    for ``decompositions``. ``crowds``, if there are any, hold all pairs of the victim's inputs that
    may be the worst, in both directions; upper ends are the smaller of their bound and that of
    ``decompositions``. ``simple`` is a bound for each round that takes milliseconds.
    """

    decompositions: tuple[Decomposition, ...]
    n: int
    times: int
    datasets: tuple[Decomposition, ...] | None = None
    crowds: tuple[Crowd, ...] = ()
    simple: Decomposition | None = None

    def __post_init__(self) -> None:
        if not self.decompositions:
            raise ValueError("decompositions must be one or more, got none")
        for decomposition in self.decompositions:
            require("decomposition", decomposition)
        object.__setattr__(self, "n", validation.users(self.n))
        validation.rounds(self.times)

    @property
    def lower_decompositions(self) -> tuple[Decomposition, ...]:
        """The decompositions on which lower ends rest."""
        return self.decompositions if self.datasets is None else self.datasets

    @property
    def simple_decompositions(self) -> tuple[Decomposition, ...]:
        """The simple bound, or all decompositions of a round that has none."""
        return self.decompositions if self.simple is None else (self.simple,)

    def of_datasets(self, indices: Sequence[int]) -> Round:
        """Return the round with the dataset pairs of these indices, or the last one beyond.

        A round without a list of dataset pairs is returned unchanged.
        """
        if self.datasets is None:
            return self
        last = len(self.datasets) - 1
        return replace(self, datasets=tuple(self.datasets[min(i, last)] for i in indices))

    @property
    def kind(self) -> RoundKind:
        """Return what rounds of one kind share; they may differ in their bound for all datasets."""
        return self.decompositions, self.lower_decompositions, self.n

    @property
    def size(self) -> float:
        """A typical privacy loss of a single round, an estimate."""
        return max(typical_loss(decomposition, self.n) for decomposition in self.most_telling)

    @cached_property
    def most_telling(self) -> list[Decomposition]:
        """The decompositions with the largest E G², at most `MAX_DECOMPOSITIONS_TRIED`."""
        return most_telling(self.decompositions)

    @property
    def has_exact_upper(self) -> bool:
        """Whether upper ends rest on exact decompositions of the reports, without crowds."""
        return not self.crowds and all(
            decomposition.is_finite() for decomposition in self.decompositions
        )

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions of all decompositions for lower ends are the same."""
        return all(pair.is_symmetric() for pair in self.lower_decompositions)


def pessimistic_sum(rounds: Sequence[Round], density: float, level: float) -> LossSum:
    """Return a composition that dominates the rounds, even if they are chosen adaptively.

    It has `density` lattice points per standard deviation, and reaches as far as D times the number
    of rounds is above `level`.
    """
    laws = []
    for round_, points, round_level in _lattice_points(rounds, density, level):
        upper = upper_curve(round_, points, round_level)
        laws.append((pessimistic(points.places[: upper.size], upper, points.step), round_.times))
    return LossSum.of(laws)


def optimistic_sums(rounds: Sequence[Round], density: float, level: float) -> list[LossSum]:
    """Return compositions below those of the dataset pairs, in both orders.

    Their points are those that `pessimistic_sum` would choose for the dataset pairs.
    """
    rounds = [
        Round(round_.lower_decompositions, round_.n, round_.times)
        for round_ in rounds
        if round_.lower_decompositions
    ]
    laws_of_orders: list[list[list[tuple[LossLaw, int]]]] = [[], []]
    for round_, points, round_level in _lattice_points(rounds, density, level) if rounds else ():
        pairs = lower_curves(round_, points, round_level)
        for laws, ordered in zip(
            laws_of_orders, (pairs, [pair[::-1] for pair in pairs]), strict=True
        ):
            candidates = [
                optimistic(forward, backward, points.step) for forward, backward in ordered
            ]
            laws.append([(law, round_.times) for law in candidates if law is not None])
    if all(round_.is_symmetric for round_ in rounds):
        laws_of_orders.pop()
    return [LossSum.of(matched) for laws in laws_of_orders for matched in match_laws(laws)]


def dominated_sum(rounds: Sequence[Round], density: float, level: float) -> LossSum | None:
    """Return a composition below that of the largest curves, which the pessimistic one is above.

    Its points are those of `pessimistic_sum`. Return None if more than the lattice separates the
    two: the bound for all datasets, or the inner and outer decompositions of a randomizer.
    """
    if not all(round_.has_exact_upper for round_ in rounds):
        return None
    laws = []
    for round_, points, round_level in _lattice_points(rounds, density, level):
        upper = upper_curve(round_, points, round_level)
        grids, _ = _grids(round_.decompositions, round_.n, points, round_level)
        curves = [side for grid_ in grids for side in grid_.sides(upper.size)]
        lower = np.max([side.lower for side in curves], axis=0)
        limit = max(side.limit for side in curves)
        curve = Side(points.places[: upper.size], lower, upper, limit)
        law = optimistic(curve, curve, points.step)
        if law is None:
            return None
        laws.append((law, round_.times))
    return LossSum.of(laws)


def _lattice_points(
    rounds: Sequence[Round], density: float, level: float
) -> Iterator[tuple[Round, Points, float]]:
    """Yield the rounds, their points on a common lattice, and the level down to which D matters."""
    steps, dense_reach = _steps(rounds, density), _dense_reach(rounds, level)
    step = lattice_step(min(steps))
    # Losses that are rare in a round but not over all rounds must not be rounded by more than the
    # sum is, up to where the sum matters. That is further than for a normal sum.
    total = _total_loss(rounds)
    reach = RARE_REACH * total * math.sqrt(-2.0 * math.log(level))
    rtol = max(NODE_WIDTH / density**2, MIN_NODE_RTOL)
    for round_, max_step in zip(rounds, steps, strict=True):
        scaled = 2 ** math.floor(math.log2(max_step / step)) * step
        # Powers of two let few grids serve many questions.
        stride = 2 ** math.floor(math.log2(max(RARE_STRIDE * total / density / scaled, 1.0)))
        stride_end = 2 ** math.ceil(math.log2(max(reach / scaled, 1.0)))
        points = Points(
            scaled, rtol, max(round_.size / scaled, 1.0), dense_reach, stride, stride_end
        )
        yield round_, points, level / (round_.times * len(rounds))


def upper_curve(round_: Round, points: Points, level: float) -> FloatArray:
    """Return upper bounds of D of a round at the points, in both directions.

    They end where D is at most `level` above its limit.
    """
    if round_.crowds:
        return crowd_grid(round_.decompositions, round_.crowds, round_.n, points).upper(level)
    grids, reach = _grids(round_.decompositions, round_.n, points, level)
    return np.asarray(np.max([grid_.upper(reach) for grid_ in grids], axis=0))


def lower_curves(round_: Round, points: Points, level: float) -> list[tuple[Side, Side]]:
    """Return bounds of D at the points for each decomposition for lower ends, of equal lengths."""
    grids, reach = _grids(round_.lower_decompositions, round_.n, points, level, inner=True)
    return [grid_.sides(reach) for grid_ in grids]


def _grids(
    decompositions: Sequence[Decomposition],
    n: int,
    points: Points,
    level: float,
    *,
    inner: bool = False,
) -> tuple[list[Grid], int]:
    """Return the grids of the decompositions, and the largest number of points that one needs."""
    grids = [grid(decomposition, n, points) for decomposition in decompositions]
    return grids, max((grid_.reach(level, inner=inner) for grid_ in grids), default=0)


def _dense_reach(rounds: Sequence[Round], level: float) -> float:
    """Return the reach of the dense points of a round, in typical losses of the round.

    It is where the sum, tilted to a mass of `level`, has its bulk: √(2 log 1/level) times the
    largest loss over the root mean square if all losses are normal. It is rounded up to a power of
    two, so that few grids serve many questions.
    """
    total = _total_loss(rounds)
    share = max(round_.size for round_ in rounds) / total if total > 0.0 else 1.0
    return float(2.0 ** math.ceil(math.log2(max(share * math.sqrt(-2.0 * math.log(level)), 1.0))))


def _total_loss(rounds: Sequence[Round]) -> float:
    """Return the standard deviation of the sum of all losses, an estimate."""
    return math.sqrt(math.fsum(round_.times * round_.size**2 for round_ in rounds))


def _steps(rounds: Sequence[Round], density: float) -> list[float]:
    """Return the largest lattice step of each round.

    Rounds with small losses need few points: rounding changes their variance by about their typical
    loss times the step, and that of the other rounds by about a `density`² of itself.
    """
    sizes = [round_.size for round_ in rounds]
    variances = [round_.times * x**2 for round_, x in zip(rounds, sizes, strict=True)]
    total = math.sqrt(sum(variances))
    spare = 0.3 * (total / density) ** 2 / len(sizes)
    min_step = max(MIN_LATTICE_ROOM * total / MAX_POINTS, 1e-12)
    steps = []
    for round_, size in zip(rounds, sizes, strict=True):
        share = round_.times * size
        max_step = spare / share if share * total > spare else total
        steps.append(max(min_step, size / density, min(max_step, total / density)))
    return steps


def match_laws(rounds: list[list[tuple[L, int]]]) -> list[list[tuple[L, int]]]:
    """Return one law of each round, with its number: all first laws, all second laws, …

    Rounds without laws are left out. A round with fewer laws than another repeats its last one.
    That is sound: additional rounds do not lower D, and any choice is one pair of datasets.
    """
    laws_of_rounds = [laws for laws in rounds if laws]
    return [
        [laws[min(i, len(laws) - 1)] for laws in laws_of_rounds]
        for i in range(max(map(len, laws_of_rounds), default=0))
    ]
