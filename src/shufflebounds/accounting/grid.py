"""The divergence of shuffled reports at ε = 0, Δ, 2Δ, …, enclosed once and kept."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from shufflebounds.accounting.inversion import LARGEST_EPS
from shufflebounds.accounting.problem import Problem, never_below
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.histograms import Atoms, atoms
from shufflebounds.divergence.optimistic import Side
from shufflebounds.enclosure import Enclosure

MAX_NODES = 6000

_SMALLEST_SIZE = 3
# Grids that are remembered; each holds some thousand numbers.
_REMEMBERED = 64
_grids: OrderedDict[tuple, Grid] = OrderedDict()
_remembering = Lock()


@dataclass(eq=False)
class Grid:
    """Enclosures of D(iΔ) for one decomposition and n; `reach` appends to them.

    ``inner`` and ``outer`` hold, for each direction, those of the decompositions that bound it from
    below and from above: the same list where they are one. ``few`` holds the outcomes of those
    that have few, by identity.
    """

    problem: Problem
    step: float
    rtol: float
    inner: list[list[Enclosure]] = field(init=False)
    outer: list[list[Enclosure]] = field(init=False)
    few: dict[int, Atoms | None] = field(init=False)
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
            if size >= _SMALLEST_SIZE and last <= floor:
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
        eps = len(self.outer[0]) * self.step
        over = eps >= self.problem.largest_loss()
        for (inner, outer), below, above in zip(
            self.problem.directions, self.inner, self.outer, strict=True
        ):
            ends = [(inner, below)] if above is below else [(inner, below), (outer, above)]
            for decomposition, nodes in ends:
                nodes.append(Enclosure(0.0, 0.0) if over else self._divergence(decomposition, eps))

    def _divergence(self, decomposition: Decomposition, eps: float) -> Enclosure:
        few = self.few.get(id(decomposition))
        if few is not None:
            return few.divergence(eps)
        return self.problem.enclose(decomposition, eps, self.rtol)


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
        if key not in _grids:
            _grids[key] = Grid(Problem.of(decomposition, n), step, rtol)
            if len(_grids) > _REMEMBERED:
                _grids.popitem(last=False)
        _grids.move_to_end(key)
        return _grids[key]


def content(decomposition: Decomposition) -> tuple:
    """What tells decompositions apart."""
    arrays = (getattr(decomposition, name).tobytes() for name in ("a", "b", "c", "ties"))
    ends = (end and content(end) for end in (decomposition.inner, decomposition.outer))
    return (*arrays, decomposition.rel_err, *ends)
