"""Rounds, and the discrete privacy losses that bound the composition of them from both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting.crowd_grid import crowd_grid
from shufflebounds.accounting.grid import Grid, grid, typical_loss
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition, FloatArray, require
from shufflebounds.divergence.lattice import MAX_POINTS
from shufflebounds.divergence.losses import Composition, LossLaw, lattice_step
from shufflebounds.divergence.optimistic import Side, optimistic
from shufflebounds.divergence.pessimistic import pessimistic

# Relative width of D at the points, in units of ε's own.
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
