"""Rounds, and the discrete privacy losses that bound the composition of them from both sides."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import Problem, delta_limit, most_telling, typical_loss
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import is_scarce, require_work
from shufflebounds.divergence import convolution as few
from shufflebounds.divergence.convolution import Losses, composed
from shufflebounds.divergence.enumeration import (
    MAX_USERS,
    RankedOutcomes,
    histogram_count,
    outcomes,
    ranked_outcomes,
)
from shufflebounds.divergence.estimates import estimates, outlook
from shufflebounds.divergence.fourier_rows import stacked
from shufflebounds.divergence.lattice import MAX_POINTS
from shufflebounds.divergence.law import law, log
from shufflebounds.divergence.losses import (
    LossLaw,
    LossSum,
    Side,
    lattice_step,
    optimistic,
    pessimistic,
)
from shufflebounds.divergence.supremum import supremum

# The divergence of shuffled reports at ε = 0, Δ, 2Δ, …, enclosed once and kept.

# Of a round's curve: each is a divergence.
MAX_NODES = 6000

# A discrete pair below or above a curve needs so many points.
_FEWEST = 3
# Points that are enclosed at once, by how much log D may fall among them, and components and excess
# kurtoses of the tilted sum beyond which each is by itself; and how many steps further apart points
# count as when it comes to how precise they must be: speed only (benchmarks/rounds.py).
_AHEAD, _DEEP, _MOST_STACKED, _ROUGH, _FAR_APART = 24, 25.0, 512, 2.0, 4
# Grids that are remembered; each holds some thousand numbers.
_REMEMBERED_GRIDS = 256
_known_grids: OrderedDict[tuple, Grid] = OrderedDict()
_remembering = Lock()


@dataclass(eq=False)
class Grid:
    """Enclosures of D at the points, of one decomposition and n, made as they are asked for.

    ``nodes`` holds those of the decompositions that bound each direction from below and from above,
    by identity. So does ``few`` the outcomes of those that have few, and ``ahead`` what many points
    at once were enclosed to.
    """

    problem: Problem
    points: Points
    nodes: dict[int, list[Enclosure]] = field(default_factory=dict, init=False, repr=False)
    few: dict[int, RankedOutcomes | None] = field(init=False)
    ahead: dict[int, list[Enclosure]] = field(default_factory=dict, init=False, repr=False)
    # A point that two threads append at once would shift all that follow.
    growing: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        ends = {id(end): end for pair in self.problem.directions for end in pair}
        self.few = {key: ranked_outcomes(end, self.problem.n) for key, end in ends.items()}

    def reach(self, level: float, *, inner: bool = False) -> int:
        """The number of points, at least 3, to where D is at most `level` above its limit.

        Fewer where ε gets too large for floats, and no more than there are places. Of the `inner`
        decompositions, or else of the outer ones.
        """
        floor = self.problem.delta_limit() * (1.0 + 1e-6) + level
        most = self.points.most
        for size in range(1, most + 1):
            last = max(
                self.enclosed(below if inner else above, size)[size - 1].upper
                for below, above in self.problem.directions
            )
            if size >= _FEWEST and last <= floor:
                return size
        return most

    def enclosed(self, decomposition: Decomposition, size: int) -> list[Enclosure]:
        """D of one of its decompositions, at so many points or more."""
        with self.growing:
            known = self.nodes.setdefault(id(decomposition), [])
            while len(known) < size:
                end = self._divergence(decomposition, len(known))
                require_work()
                known.append(end)
            return known

    def upper(self, size: int) -> FloatArray:
        """Upper bounds of D in both directions, shape (size,)."""
        return np.max([self._ends(above, size)[1] for _, above in self.problem.directions], axis=0)

    def sides(self, size: int) -> tuple[Side, Side]:
        """Bounds of D of (a, b, c) and of (b, a, c), of the inner decompositions."""
        sides = [
            Side(
                self.points.places[:size],
                *self._ends(inner, size),
                delta_limit(inner, self.problem.n),
            )
            for inner, _ in self.problem.directions
        ]
        return sides[0], sides[-1]

    def _ends(self, decomposition: Decomposition, size: int) -> tuple[FloatArray, FloatArray]:
        known = self.enclosed(decomposition, size)[:size]
        return np.array([end.lower for end in known]), np.array([end.upper for end in known])

    def _divergence(self, decomposition: Decomposition, index: int) -> Enclosure:
        eps, few = float(self.points.eps[index]), self.few.get(id(decomposition))
        if eps >= self.problem.largest_loss():
            return Enclosure(0.0, 0.0)
        if few is not None:
            return few.divergence(eps)
        found, rtol = self._ahead(decomposition, index), float(self.points.rtols[index])
        if found.relative_width <= rtol or found.upper == 0.0:
            return found
        closer = self.problem.enclose(decomposition, eps, rtol)
        upper = min(found.upper, closer.upper)
        return Enclosure(min(max(found.lower, closer.lower), upper), upper)

    def _ahead(self, decomposition: Decomposition, index: int) -> Enclosure:
        """What many points at once are enclosed to, which takes a tenth of the time of each.

        Nothing is known from where few draws count: there it would take ten times as much.
        """
        ahead = self.ahead.setdefault(id(decomposition), [])
        if index >= len(ahead):
            start = len(ahead)
            eps = np.minimum(self.points.eps[start : start + _AHEAD], LARGEST_EPS)
            if len(decomposition) > _MOST_STACKED or self._is_rough(decomposition, eps[0]):
                ahead += [Enclosure(0.0, math.inf)] * (self.points.places.size - start)
                return ahead[index]
            while self._is_rough(decomposition, eps[-1]):
                eps = eps[: eps.size // 2]
            users = np.full(eps.size, float(self.problem.n))
            # Where D is next to nothing it costs most, and is hardly ever asked for.
            falls = estimates(decomposition, eps, users).log
            further = np.flatnonzero(falls < falls[0] - _DEEP)
            some = slice(max(int(further[0]), _FEWEST) if further.size else None)
            rtols = self.points.rtols[start : start + eps.size]
            found = stacked(decomposition, eps[some], users[some], rtols[some])
            require_work()
            ahead.extend(map(Enclosure, found[0].tolist(), found[1].tolist()))
        return ahead[index]

    def _is_rough(self, decomposition: Decomposition, eps: float) -> bool:
        try:
            return outlook(law(decomposition, eps), self.problem.n)[1] > _ROUGH
        except OverflowError:  # values too far apart for floats
            return True


@dataclass(frozen=True)
class Points:
    """Where to look at the curve of a round: at multiples of ``step`` = Δ, a natural log.

    `rtol` is the relative width of the enclosures to aim at. Beyond ``dense`` typical losses of
    the round, of ``density`` steps each, the points lie further and further apart; None where they
    never do. Up to ``far`` steps they are at most ``stride`` steps apart.
    """

    step: float
    rtol: float
    density: float = 1.0
    dense: float | None = None
    stride: int = 1
    far: int = 0

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The multiples, ascending, 0 and 1 among them."""
        if self.dense is None:
            return np.arange(MAX_NODES)
        found, at = list(range(_FEWEST)), _FEWEST
        while len(found) < MAX_NODES and at * self.step <= LARGEST_EPS:
            found.append(at)
            size = at / self.density
            thin = math.exp(min(max(size - self.dense, 0.0) ** 2 / 6.0, 700.0))
            stride = int(min(thin, size))
            at += max(1, min(stride, self.stride) if at < self.far else stride)
        return np.array(found)

    @cached_property
    def eps(self) -> FloatArray:
        """The points themselves, exact."""
        return np.asarray(self.places * self.step)

    @cached_property
    def most(self) -> int:
        """How many there are up to where ε gets too large for floats."""
        return int(np.searchsorted(self.eps, LARGEST_EPS, side="right"))

    @cached_property
    def rtols(self) -> FloatArray:
        """Relative widths to aim at: a chord that is longer is further from the curve."""
        apart = np.diff(self.places, append=self.places[-1] + 1)
        return np.asarray(self.rtol * np.minimum(apart, _FAR_APART) ** 2.0)


def grid(decomposition: Decomposition, n: int, points: Points) -> Grid:
    """The grid of a decomposition and n ≥ 1 users, from memory where it was asked for."""
    key = (*content(decomposition), n, points)
    with _remembering:
        if key not in _known_grids:
            _known_grids[key] = Grid(Problem.of(decomposition, n), points)
            if len(_known_grids) > _REMEMBERED_GRIDS:
                _known_grids.popitem(last=False)
        _known_grids.move_to_end(key)
        return _known_grids[key]


def content(decomposition: Decomposition) -> tuple:
    """What tells decompositions apart."""
    arrays = (getattr(decomposition, name).tobytes() for name in ("a", "b", "c", "ties"))
    ends = (end and content(end) for end in (decomposition.inner, decomposition.outer))
    return (*arrays, decomposition.rel_err, *ends)


# Upper bounds of the divergence at ε = 0, Δ, 2Δ, … that hold for all datasets of a mechanism.

# Mechanisms that are remembered; each took seconds.
_REMEMBERED_CROWDS = 32


@dataclass(frozen=True, eq=False)
class CrowdGrid:
    """The smaller of the blankets' divergence and what is proven for all datasets, at each point.

    ``blankets`` are of all pairs of inputs that may be the worst, and so are ``crowds``, in both
    directions; `supremum` says of what, and docs/closing-the-gap.md proves it.
    """

    blankets: tuple[Grid, ...]
    crowds: tuple[Crowd, ...]
    n: int
    points: Points
    found: list[float] = field(default_factory=list)
    # Of each crowd, at the last point where it was asked for.
    before: dict[int, float] = field(default_factory=dict, init=False, repr=False)
    # A point that two threads append at once would shift all that follow.
    growing: Lock = field(default_factory=Lock, init=False, repr=False)

    def upper(self, level: float) -> FloatArray:
        """Bounds of D in both directions, shape (K + 1,), as far as one is above `level`.

        Where work gets scarce the blankets have to do.
        """
        limit = max(one.problem.delta_limit() for one in self.blankets)
        floor, most = limit * (1.0 + 1e-6) + level, self.points.most
        with self.growing:
            while len(self.found) < _FEWEST or not (self.found[-1] <= floor or is_scarce()):
                if len(self.found) == most:
                    break
                self.found.append(self._closest(len(self.found)))
            found = self.found.copy()
        while len(found) < most and found[-1] > floor:
            found.append(min(found[-1], self._blanket(len(found))))
        known = np.array(found)
        low = np.flatnonzero(known[_FEWEST - 1 :] <= floor)
        return known[: low[0] + _FEWEST] if low.size else known

    def _closest(self, index: int) -> float:
        every = self._largest(eps := float(self.points.eps[index]))
        require_work()
        seems = any(_seems_above(one.problem, eps, every) for one in self.blankets)
        return every if seems else min(every, self._blanket(index))

    def _blanket(self, index: int) -> float:
        return max(
            one.enclosed(outer, index + 1)[index].upper
            for one in self.blankets
            for _, outer in one.problem.directions
        )

    def _largest(self, eps: float) -> float:
        every, before = 0.0, self.before
        # D falls in ε: what it was at most before is enough where others are larger.
        for k in sorted(range(len(self.crowds)), key=lambda k: -before.get(k, math.inf)):
            if before.get(k, math.inf) > every:
                before[k] = supremum(self.crowds[k], eps, self.n)
                every = max(every, before[k])
        return every


def _seems_above(problem: Problem, eps: float, bound: float) -> bool:
    """Whether D, by an estimate that is no worse than it says, is above a bound."""
    with suppress(OverflowError):  # values too far apart for floats
        found = problem.estimate(eps)
        return found.log - found.doubt > log(bound)
    return False


@lru_cache(maxsize=_REMEMBERED_CROWDS)
def crowd_grid(
    blankets: tuple[Decomposition, ...], crowds: tuple[Crowd, ...], n: int, points: Points
) -> CrowdGrid:
    """That of a mechanism, from memory where these very objects were asked for."""
    return CrowdGrid(tuple(grid(one, n, points) for one in blankets), crowds, n, points)


# Relative width of D at the points, in units of ε's own: narrower costs time, above all of very
# narrow ones, and wider shows in ε (benchmarks/rounds.py).
_NODE_WIDTH, _NARROW_NODE_WIDTH, _NARROW = 0.06, 0.09, 1e-5
# Standard deviations of the sum that the lattice must have room for.
_ROOM = 40.0
# Rare losses: strides in those that normal losses need, and how much further they may reach. Width
# and speed only (benchmarks/rounds.py).
_LONGER, _FURTHER = 4.0, 3.0


# Decompositions, those of datasets, and the number of users.
RoundKind = tuple[tuple[Decomposition, ...], tuple[Decomposition, ...], int]


@dataclass(frozen=True, eq=False)
class Round:
    """So many rounds with n users each, of decompositions any of which may be the worst.

    ``attained`` are those of datasets, of which lower ends are; None stands for ``decompositions``.
    ``crowds``, if there are any, hold all pairs of the victim's inputs that may be the worst, in
    both directions; upper ends are the smaller of what they and ``decompositions`` say.
    ``simple`` is a bound for all that a round may be, which takes milliseconds.
    """

    decompositions: tuple[Decomposition, ...]
    n: int
    times: int
    attained: tuple[Decomposition, ...] | None = None
    crowds: tuple[Crowd, ...] = ()
    simple: Decomposition | None = None

    def __post_init__(self) -> None:
        if not self.decompositions:
            raise ValueError("decompositions must be one or more, got none")
        for one in self.decompositions:
            require("decomposition", one)
        object.__setattr__(self, "n", validation.users(self.n))
        validation.rounds(self.times)

    @property
    def lowest(self) -> tuple[Decomposition, ...]:
        """Those that lower ends are of."""
        return self.decompositions if self.attained is None else self.attained

    @property
    def simple_decompositions(self) -> tuple[Decomposition, ...]:
        """The simple bound, or all decompositions of a round that has none."""
        return self.decompositions if self.simple is None else (self.simple,)

    def of_datasets(self, some: Sequence[int]) -> Round:
        """With these of the datasets only, or the last one, if they are listed."""
        if self.attained is None:
            return self
        last = len(self.attained) - 1
        return replace(self, attained=tuple(self.attained[min(i, last)] for i in some))

    @property
    def kind(self) -> RoundKind:
        """Rounds of one kind differ in their number only, but for what is known of all datasets."""
        return self.decompositions, self.lowest, self.n

    @property
    def size(self) -> float:
        """A typical privacy loss of one of them, an estimate."""
        return max(typical_loss(one, self.n) for one in self.telling)

    @cached_property
    def telling(self) -> list[Decomposition]:
        """A few of the decompositions that tell most."""
        return most_telling(self.decompositions)

    @property
    def is_known(self) -> bool:
        """Whether upper ends are of the decompositions, and these of what is sent."""
        return not self.crowds and all(one.is_finite() for one in self.decompositions)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions of each that lower ends are of are the same."""
        return all(each.is_symmetric() for each in self.lowest)


def pessimistic_sum(rounds: Sequence[Round], density: float, level: float) -> LossSum:
    """A composition above all that the rounds may be.

    With so many lattice points per standard deviation, and as far out as D times the number of
    rounds is above `level`.
    """
    found = []
    for one, points, rest in _points(rounds, density, level):
        upper = highest(one, points, rest)
        found.append((pessimistic(points.places[: upper.size], upper, points.step), one.times))
    return LossSum.of(found)


def optimistic_sums(rounds: Sequence[Round], density: float, level: float) -> list[LossSum]:
    """Compositions below those of both orders, at the points of `pessimistic_sum`.

    Of datasets, at the points that it has of them alone.
    """
    rounds = [Round(one.lowest, one.n, one.times) for one in rounds if one.lowest]
    below: list[list[list[tuple[LossLaw, int]]]] = [[], []]
    for one, points, rest in _points(rounds, density, level) if rounds else ():
        pairs = sides(one, points, rest)
        for laws, ordered in zip(below, (pairs, [pair[::-1] for pair in pairs]), strict=True):
            found = [optimistic(ahead, behind, points.step) for ahead, behind in ordered]
            laws.append([(law, one.times) for law in found if law is not None])
    if all(one.is_symmetric for one in rounds):
        below.pop()
    return [law for laws in below for law in _each_in_turn(laws)]


def dominated(rounds: Sequence[Round], density: float, level: float) -> LossSum | None:
    """A composition below that of the largest curves, which the pessimistic one is above.

    At the points of `pessimistic_sum`. None where more is between than points: what holds for all
    datasets, and decompositions that surround a continuous randomizer.
    """
    if not all(one.is_known for one in rounds):
        return None
    laws = []
    for one, points, rest in _points(rounds, density, level):
        upper = highest(one, points, rest)
        grids, _ = _grids(one.decompositions, one.n, points, rest)
        known = [side for each in grids for side in each.sides(upper.size)]
        lower = np.max([side.lower for side in known], axis=0)
        limit = max(side.limit for side in known)
        curve = Side(points.places[: upper.size], lower, upper, limit)
        law = optimistic(curve, curve, points.step)
        if law is None:
            return None
        laws.append((law, one.times))
    return LossSum.of(laws)


def _points(
    rounds: Sequence[Round], density: float, level: float
) -> Iterator[tuple[Round, Points, float]]:
    """Those of each round on a lattice of all, and down to which level D is wanted there."""
    steps, dense = _steps(rounds, density), _dense(rounds, level)
    step = lattice_step(min(steps))
    # Losses that are rare in one round, yet not in all, must not be moved by more than the sum is,
    # as far as that goes: further than a normal one where they count.
    total = _total_loss(rounds)
    reach = _FURTHER * total * math.sqrt(-2.0 * math.log(level))
    rtol = _NODE_WIDTH / density**2
    if rtol < _NARROW:
        rtol = max(min(_NARROW_NODE_WIDTH / density**2, _NARROW), 1e-9)
    for one, wanted in zip(rounds, steps, strict=True):
        scaled = 2 ** math.floor(math.log2(wanted / step)) * step
        # Powers of two, so that few grids serve many questions.
        stride = 2 ** math.floor(math.log2(max(_LONGER * total / density / scaled, 1.0)))
        far = 2 ** math.ceil(math.log2(max(reach / scaled, 1.0)))
        points = Points(scaled, rtol, max(one.size / scaled, 1.0), dense, stride, far)
        yield one, points, level / (one.times * len(rounds))


def highest(one: Round, points: Points, level: float) -> FloatArray:
    """Upper bounds of D at the points, for all that the round may be, in both directions.

    As far as D is above `level`.
    """
    if one.crowds:
        return crowd_grid(one.decompositions, one.crowds, one.n, points).upper(level)
    grids, reach = _grids(one.decompositions, one.n, points, level)
    return np.asarray(np.max([one.upper(reach) for one in grids], axis=0))


def sides(one: Round, points: Points, level: float) -> list[tuple[Side, Side]]:
    """Bounds of D at the points of each pair that lower ends are of, all of one length."""
    grids, reach = _grids(one.lowest, one.n, points, level, inner=True)
    return [each.sides(reach) for each in grids]


def _grids(
    decompositions: Sequence[Decomposition],
    n: int,
    points: Points,
    level: float,
    *,
    inner: bool = False,
) -> tuple[list[Grid], int]:
    """Their grids, and how many points the one needs that needs most."""
    grids = [grid(each, n, points) for each in decompositions]
    return grids, max((each.reach(level, inner=inner) for each in grids), default=0)


# Outcomes that are worth looking at, of one round.
_FEW_OUTCOMES = 10_000


def enumerated(rounds: Sequence[Round]) -> tuple[Losses, list[Losses]] | None:
    """The pessimistic and the optimistic sums, of few outcomes; None where there are too many."""
    if any(one.crowds for one in rounds):
        return None
    tops = []
    for one in rounds:
        top = _few_above(one)
        if top is None:
            return None
        tops.append((top, one.times))
    above = composed(tops)
    if above is None:
        return None
    below: list[Losses] = []
    for order in (0, -1)[: 1 if all(one.is_symmetric for one in rounds) else 2]:
        outcomes_of = partial(outcomes, max_histograms=_FEW_OUTCOMES)
        laws = [
            [
                few.below(found)
                for each in one.lowest
                if (found := outcomes_of(each.directions[order][0], one.n))
            ]
            for one in rounds
        ]
        known = [(found, one.times) for found, one in zip(laws, rounds, strict=True) if found]
        for i in range(max((len(found) for found, _ in known), default=0)):
            chosen = [(found[min(i, len(found) - 1)], times) for found, times in known]
            total = composed(chosen)
            below += [] if total is None else [total]
    return above, below


def _few_above(one: Round) -> Losses | None:
    """A pair above a round of few outcomes."""
    ends: list[RankedOutcomes] = []
    for each in one.decompositions:
        for _, outer in each.directions:
            if histogram_count(outer, one.n) > _FEW_OUTCOMES:
                return None
            found = ranked_outcomes(outer, one.n) if one.n <= MAX_USERS else None
            if found is None:
                return None
            ends.append(found)
    return few.above(ends, LARGEST_EPS)


def _dense(rounds: Sequence[Round], level: float) -> float:
    """Typical losses of a round up to where the sum, tilted to a mass of `level`, has its bulk.

    Where all losses are normal that is √(2 log 1/level) times the largest of them over their
    root mean square; rounded up, so that few grids serve many questions.
    """
    total = _total_loss(rounds)
    share = max(one.size for one in rounds) / total if total > 0.0 else 1.0
    return float(2.0 ** math.ceil(math.log2(max(share * math.sqrt(-2.0 * math.log(level)), 1.0))))


def _total_loss(rounds: Sequence[Round]) -> float:
    """The standard deviation of the sum of all their losses, an estimate."""
    return math.sqrt(math.fsum(one.times * one.size**2 for one in rounds))


def _steps(rounds: Sequence[Round], density: float) -> list[float]:
    """How far apart the lattice points of each round may be.

    Rounds that hardly count do with few: their variance is off by about their typical loss
    times that distance, where the others' is off by about a `density`² of itself.
    """
    sizes = [one.size for one in rounds]
    variances = [one.times * x**2 for one, x in zip(rounds, sizes, strict=True)]
    total = math.sqrt(sum(variances))
    spare = 0.3 * (total / density) ** 2 / len(sizes)
    least = max(_ROOM * total / MAX_POINTS, 1e-12)
    steps = []
    for one, size in zip(rounds, sizes, strict=True):
        share = one.times * size
        enough = spare / share if share * total > spare else total
        steps.append(max(least, size / density, min(enough, total / density)))
    return steps


def _each_in_turn(rounds: list[list[tuple[LossLaw, int]]]) -> list[LossSum]:
    """Compositions of one law of every round: all first ones, all second ones, …

    Rounds that have none are left out, and the last one of the others stands for those beyond:
    more rounds tell no less, and any choice is one pair of datasets.
    """
    known = [laws for laws in rounds if laws]
    return [
        LossSum.of([laws[min(i, len(laws) - 1)] for laws in known])
        for i in range(max(map(len, known), default=0))
    ]
