"""Rounds, and the discrete privacy losses that bound the composition of them from both sides."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

import numpy as np

from shufflebounds.accounting.problem import Problem, never_below
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence import convolution as few
from shufflebounds.divergence.convolution import Losses, composed
from shufflebounds.divergence.enumeration import (
    MAX_USERS,
    Atoms,
    Outcomes,
    atoms,
    histogram_count,
    outcomes,
)
from shufflebounds.divergence.fourier_rows import stacked
from shufflebounds.divergence.lattice import MAX_POINTS
from shufflebounds.divergence.losses import (
    Composition,
    LossLaw,
    Side,
    lattice_step,
    optimistic,
    pessimistic,
)
from shufflebounds.divergence.worst_dataset import supremum

# The divergence of shuffled reports at ε = 0, Δ, 2Δ, …, enclosed once and kept.

# Of a round's curve: each is a divergence.
MAX_NODES = 6000

# A discrete pair below or above a curve needs so many points.
_FEWEST = 3
# Points that are enclosed at once, and components beyond which each is by itself: speed only.
_AHEAD, _MOST_STACKED = 48, 512
# Grids that are remembered; each holds some thousand numbers.
_REMEMBERED_GRIDS = 64
_known_grids: OrderedDict[tuple, Grid] = OrderedDict()
_remembering = Lock()


@dataclass(eq=False)
class Grid:
    """Enclosures of D(iΔ) for one decomposition and n; `reach` appends to them.

    ``inner`` and ``outer`` hold, for each direction, those of the decompositions that bound it from
    below and from above: the same list where they are one. ``few`` holds the outcomes of those
    that have few, and ``ahead`` what many points at once were enclosed to, by identity.
    """

    problem: Problem
    step: float
    rtol: float
    inner: list[list[Enclosure]] = field(init=False)
    outer: list[list[Enclosure]] = field(init=False)
    few: dict[int, Atoms | None] = field(init=False)
    ahead: dict[int, list[Enclosure]] = field(default_factory=dict, init=False, repr=False)
    # A point that two threads append at once would shift all that follow.
    growing: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.inner = [[] for _ in self.problem.directions]
        self.outer = [
            nodes if inner is outer else []
            for nodes, (inner, outer) in zip(self.inner, self.problem.directions, strict=True)
        ]

        ends = {id(end): end for pair in self.problem.directions for end in pair}
        self.few = {key: atoms(end, self.problem.n) for key, end in ends.items()}

    def reach(self, level: float) -> int:
        """The number of points, at least 3, to where D is at most `level` above its limit.

        Fewer where D is 0 by then, ε gets too large for floats, or there are `MAX_NODES`.
        """
        floor = self.problem.never_below() * (1.0 + 1e-6) + level
        size = 0
        while size < MAX_NODES and (size + 1) * self.step <= LARGEST_EPS:
            size += 1
            self.extend(size)
            last = max(nodes[size - 1].upper for nodes in self.outer)
            if size >= _FEWEST and last <= floor:
                break
        return size

    def extend(self, size: int) -> None:
        """Append points until there are so many."""
        with self.growing:
            while len(self.outer[0]) < size:
                self._append()

    def upper(self, size: int) -> FloatArray:
        """Upper bounds of D in both directions, shape (size,)."""
        return np.array([[end.upper for end in nodes[:size]] for nodes in self.outer]).max(axis=0)

    def sides(self, size: int) -> tuple[Side, Side]:
        """Bounds of D of (a, b, c) and of (b, a, c), of the inner decompositions."""
        sides = [
            Side(
                np.array([end.lower for end in nodes[:size]]),
                np.array([end.upper for end in nodes[:size]]),
                never_below(inner, self.problem.n),
            )
            for nodes, (inner, _) in zip(self.inner, self.problem.directions, strict=True)
        ]
        return sides[0], sides[-1]

    def _append(self) -> None:
        index = len(self.outer[0])
        eps = index * self.step
        over = eps >= self.problem.largest_loss()
        for (inner, outer), below, above in zip(
            self.problem.directions, self.inner, self.outer, strict=True
        ):
            ends = [(inner, below)] if above is below else [(inner, below), (outer, above)]
            for decomposition, nodes in ends:
                nodes.append(
                    Enclosure(0.0, 0.0) if over else self._divergence(decomposition, index)
                )

    def _divergence(self, decomposition: Decomposition, index: int) -> Enclosure:
        eps, few = index * self.step, self.few.get(id(decomposition))
        if few is not None:
            return few.divergence(eps)
        if len(decomposition) > _MOST_STACKED:
            return self.problem.enclose(decomposition, eps, self.rtol)
        found = self._ahead(decomposition, index)
        if found.relative_width <= self.rtol or found.upper == 0.0:
            return found
        closer = self.problem.enclose(decomposition, eps, self.rtol)
        upper = min(found.upper, closer.upper)
        return Enclosure(min(max(found.lower, closer.lower), upper), upper)

    def _ahead(self, decomposition: Decomposition, index: int) -> Enclosure:
        """What many points at once are enclosed to, which takes a tenth of the time of each."""
        ahead = self.ahead.setdefault(id(decomposition), [])
        if index >= len(ahead):
            points = len(ahead) + np.arange(_AHEAD)
            eps = np.minimum(points * self.step, LARGEST_EPS)
            same = np.ones(_AHEAD)
            found = stacked(decomposition, eps, self.problem.n * same, self.rtol * same)
            ahead.extend(map(Enclosure, found[0].tolist(), found[1].tolist()))
        return ahead[index]


def typical_loss(decomposition: Decomposition, n: int) -> float:
    """The standard deviation of the normal privacy loss that has the same D(0), an estimate."""
    found = Problem.of(decomposition, n).delta(0.0, 1e-3).upper
    return math.sqrt(2.0 * math.pi) * found


def grid(decomposition: Decomposition, n: int, step: float, rtol: float) -> Grid:
    """The grid of a decomposition, n ≥ 1 users and Δ = `step`, from memory where it was asked for.

    `rtol` is the relative width of the enclosures to aim at.
    """
    key = (*content(decomposition), n, step, rtol)
    with _remembering:
        if key not in _known_grids:
            _known_grids[key] = Grid(Problem.of(decomposition, n), step, rtol)
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
    step: float
    found: list[float] = field(default_factory=list)
    # A point that two threads append at once would shift all that follow.
    growing: Lock = field(default_factory=Lock, init=False, repr=False)

    def upper(self, level: float) -> FloatArray:
        """Bounds of D in both directions at iΔ, shape (K + 1,), as far as one is above `level`."""
        size = max(one.reach(level) for one in self.blankets)
        for one in self.blankets:
            one.extend(size)
        blanket = np.max([one.upper(size) for one in self.blankets], axis=0)
        with self.growing:
            for i in range(len(self.found), size):
                if i >= _FEWEST and self.found[-1] <= level:
                    break
                every = max(supremum(crowd, i * self.step, self.n) for crowd in self.crowds)
                self.found.append(min(every, float(blanket[i])))
        enough = next(
            (i for i, x in enumerate(self.found) if i + 1 >= _FEWEST and x <= level), size - 1
        )
        return np.array(self.found[: enough + 1])


@lru_cache(maxsize=_REMEMBERED_CROWDS)
def crowd_grid(
    blankets: tuple[Decomposition, ...],
    crowds: tuple[Crowd, ...],
    n: int,
    step: float,
    rtol: float,
) -> CrowdGrid:
    """That of a mechanism, from memory where these very objects were asked for.

    `rtol` is the relative width of the blankets' enclosures to aim at.
    """
    return CrowdGrid(tuple(grid(one, n, step, rtol) for one in blankets), crowds, n, step)


# Relative width of D at the points, in units of ε's own: narrower costs time, wider shows in ε
# (benchmarks/rounds.py).
_NODE_WIDTH = 0.06
# Standard deviations of the sum that the lattice must have room for.
_ROOM = 40.0


@dataclass(frozen=True, eq=False)
class Round:
    """So many rounds with n users each, of decompositions any of which may be the worst.

    ``attained`` are those of datasets, of which lower ends are; None stands for ``decompositions``.
    ``crowds``, if there are any, hold all pairs of the victim's inputs that may be the worst, in
    both directions; upper ends are the smaller of what they and ``decompositions`` say.
    """

    decompositions: tuple[Decomposition, ...]
    n: int
    times: int
    attained: tuple[Decomposition, ...] | None = None
    crowds: tuple[Crowd, ...] = ()

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
    def size(self) -> float:
        """A typical privacy loss of one of them, an estimate."""
        return max(typical_loss(one, self.n) for one in self.decompositions)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions of each that lower ends are of are the same."""
        return all(each.is_symmetric() for each in self.lowest)


def compositions(
    rounds: Sequence[Round], density: float, level: float
) -> tuple[Composition, list[Composition]]:
    """The pessimistic composition, and the optimistic ones of both orders.

    With so many lattice points per standard deviation, and as far out as D times the number of
    rounds is above `level`.
    """
    steps = _steps(rounds, density)
    step = lattice_step(min(steps))
    rtol = max(_NODE_WIDTH / density**2, 1e-9)
    above: list[tuple[LossLaw, int]] = []
    below: list[list[list[tuple[LossLaw, int]]]] = [[], []]
    for one, wanted in zip(rounds, steps, strict=True):
        multiple = 2 ** math.floor(math.log2(wanted / step))
        scaled, times, rest = multiple * step, one.times, level / (one.times * len(rounds))
        above.append((pessimistic(highest(one, scaled, rtol, rest), scaled).on(step), times))
        pairs = sides(one, scaled, rtol, rest)
        for laws, ordered in zip(below, (pairs, [pair[::-1] for pair in pairs]), strict=True):
            found = [optimistic(ahead, behind, scaled) for ahead, behind in ordered]
            laws.append([(law.on(step), times) for law in found if law is not None])
    if all(one.is_symmetric for one in rounds):
        below.pop()
    return Composition(above), [law for laws in below for law in _each_in_turn(laws)]


def highest(one: Round, step: float, rtol: float, level: float) -> FloatArray:
    """Upper bounds of D at the points iΔ, for all that the round may be, in both directions.

    Δ is `step`; as far as D is above `level`. Blankets are enclosed to a relative width of `rtol`.
    """
    if one.crowds:
        return crowd_grid(one.decompositions, one.crowds, one.n, step, rtol).upper(level)
    grids, reach = _grids(one.decompositions, one.n, step, rtol, level)
    return np.asarray(np.max([nodes.upper(reach) for nodes in grids], axis=0))


def sides(one: Round, step: float, rtol: float, level: float) -> list[tuple[Side, Side]]:
    """Bounds of D at the points of each pair that lower ends are of, all of one length."""
    grids, reach = _grids(one.lowest, one.n, step, rtol, level)
    return [nodes.sides(reach) for nodes in grids]


def _grids(
    decompositions: Sequence[Decomposition], n: int, step: float, rtol: float, level: float
) -> tuple[list[Grid], int]:
    """Their grids, all of them as long as the longest has to be."""
    grids = [grid(each, n, step, rtol) for each in decompositions]
    reach = max((nodes.reach(level) for nodes in grids), default=0)
    for nodes in grids:
        nodes.extend(reach)
    return grids, reach


# Outcomes that are worth looking at, of one round.
_FEW_OUTCOMES = 10_000
# Losses of a round beyond which two rounds have too many; and how much apart they are at least.
_FEW_LOSSES, _APART = 1500, 1e-12


def enumerated(rounds: Sequence[Round]) -> tuple[Losses, list[Losses]] | None:
    """The compositions of `compositions`, of few outcomes; None where there are too many."""
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
        laws = [
            [few.below(found) for each in one.lowest if (found := _few(each, one.n, order, 0))]
            for one in rounds
        ]
        known = [(found, one.times) for found, one in zip(laws, rounds, strict=True) if found]
        for i in range(max((len(found) for found, _ in known), default=0)):
            chosen = [(found[min(i, len(found) - 1)], times) for found, times in known]
            total = composed(chosen)
            below += [] if total is None else [total]
    return above, below


def _few(decomposition: Decomposition, n: int, order: int, end: int) -> Outcomes | None:
    return outcomes(decomposition.directions[order][end], n, max_histograms=_FEW_OUTCOMES)


def _few_above(one: Round) -> Losses | None:
    """A pair above a round of few outcomes: its curve connects the kinks of all curves."""
    ends: list[Atoms] = []
    for each in one.decompositions:
        for _, outer in each.directions:
            if histogram_count(outer, one.n) > _FEW_OUTCOMES:
                return None
            found = atoms(outer, one.n) if one.n <= MAX_USERS else None
            if found is None:
                return None
            ends.append(found)
    ratios = np.concatenate([end.ratios for end in ends])
    ratios = np.unique(ratios[(ratios > 1.0) & np.isfinite(ratios)])
    if not ratios.size:
        return None
    losses = np.log(ratios)
    losses = losses[np.append(np.diff(losses) > _APART * losses[-1], True)]
    losses = losses[losses > _APART * losses[-1]]
    if losses.size > _FEW_LOSSES or losses[-1] > LARGEST_EPS:
        return None
    # There, D is certainly that of infinite losses.
    losses[-1] += 16.0 * max(end.err for end in ends) + 1e-13
    losses = np.append(0.0, losses)
    upper = np.max([[end.divergence(loss).upper for loss in losses] for end in ends], axis=0)
    return few.above(losses, upper)


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


def _each_in_turn(rounds: list[list[tuple[LossLaw, int]]]) -> list[Composition]:
    """Compositions of one law of every round: all first ones, all second ones, …

    Rounds that have none are left out, and the last one of the others stands for those beyond:
    more rounds tell no less, and any choice is one pair of datasets.
    """
    known = [laws for laws in rounds if laws]
    return [
        Composition([laws[min(i, len(laws) - 1)] for laws in known])
        for i in range(max(map(len, known), default=0))
    ]
