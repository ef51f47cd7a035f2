"""Rounds, and the discrete privacy losses that bound the composition of them from both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting.grid import grid, typical_loss
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.divergence.lattice import MAX_POINTS
from shufflebounds.divergence.losses import Composition, LossLaw, lattice_step
from shufflebounds.divergence.optimistic import optimistic
from shufflebounds.divergence.pessimistic import pessimistic

# Relative width of D at the points, in units of ε's own.
_NODE_WIDTH = 0.06
# Standard deviations of the sum that the lattice must have room for.
_ROOM = 40.0


@dataclass(frozen=True, eq=False)
class Round:
    """So many rounds with n users each, of decompositions any of which may be the worst."""

    decompositions: tuple[Decomposition, ...]
    n: int
    times: int

    def __post_init__(self) -> None:
        if not self.decompositions:
            raise ValueError("decompositions must be one or more, got none")
        for one in self.decompositions:
            require("decomposition", one)
        object.__setattr__(self, "n", validation.users(self.n))
        validation.rounds(self.times)

    @property
    def size(self) -> float:
        """A typical privacy loss of one of them, an estimate."""
        return max(typical_loss(one, self.n) for one in self.decompositions)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions of each are the same."""
        return all(each.is_symmetric() for each in self.decompositions)


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
        n, times = one.n, one.times
        grids = [grid(each, n, multiple * step, rtol) for each in one.decompositions]
        reach = max(nodes.reach(level / (times * len(rounds))) for nodes in grids)
        for nodes in grids:
            nodes.extend(reach)
        highest = np.max([nodes.upper(reach) for nodes in grids], axis=0)
        above.append((pessimistic(highest, multiple * step).on(step), times))
        sides = [nodes.sides(reach) for nodes in grids]
        for laws, ordered in zip(below, (sides, [pair[::-1] for pair in sides]), strict=True):
            found = [optimistic(one, other, multiple * step) for one, other in ordered]
            laws.append([(law.on(step), times) for law in found if law is not None])
    if all(one.is_symmetric for one in rounds):
        below.pop()
    return Composition(above), [law for laws in below for law in _each_in_turn(laws)]


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
