"""The divergence by doubling the number of draws, on few atoms at every step.

The law of the sum of 1, 2, 4, … draws and so on up to n/2 is kept as two measures of some hundred
atoms, one below and one above it in stop-loss order (`measures`), and E[S₊] is a double sum over
two halves. Values may lie any number of decades apart, and no draws need be common: what the series
of `saddle` and the tree of `sweep` find hard. Where to put the atoms is found from the law of all
other draws (`cells`), taken from a coarser pass. Proofs: docs/engine.md, section 12.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.divergence.cells import Mirrored, by_cost, by_distance
from shufflebounds.divergence.law import Law, U
from shufflebounds.divergence.measures import (
    Measure,
    added,
    doubled,
    lowered,
    mean_positive_part,
    of_law,
    raised,
)

# Relative width of a pass that finds the size of the result, and passes with both ends after it.
_ROUGH, _PASSES = 0.1, 2
# Rough passes, each of which may be tried so often, with cells that may cost so much more; enough
# is when the size grows by less.
_ROUGH_PASSES, _COARSER, _SETTLED = 2, 100.0, 3.0
# The share of what was missed that the next pass aims at, and the least it asks for at once.
_MARGIN, _STEEPEST = 0.5, 0.01
# Cells that a measure takes, for a relative width of 1 and beyond it by the root of that.
_CELLS, _CELLS_BY_WIDTH = 30.0, 3.0
# Measures of fewer atoms stay as they are; those of more are too many.
_FEW_ATOMS, _MOST_ATOMS = 8, 400
# No size of E[S₊], relative to the largest value, below this is attempted.
_SMALLEST = 1e-250


class _TooManyAtomsError(Exception):
    """A measure would take more atoms than are allowed."""


def log_bounds(g: Law, n: int, rtol: float) -> tuple[float, float]:
    """Bounds of log E[S₊]; (−inf, inf) if nothing is known."""
    nothing = (-math.inf, math.inf)
    if n < 2 or not (g.values.size and g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return nothing
    below, above = (_Chain(of_law(g, up), n, up) for up in (False, True))
    low, high = 0.0, math.inf
    try:
        laws = below.measures()
    except _TooManyAtomsError:
        return nothing
    laws, size = _rough(below, laws, below.result(laws))
    goal = rtol
    for _ in range(_PASSES):
        if not size > _SMALLEST:
            break
        rests, each = below.rests(laws), below.each(size, goal)
        try:
            laws = below.measures(rests, each)
            low = max(low, below.result(laws))
            high = min(high, above.result(above.measures(rests, each)))
        except _TooManyAtomsError:
            break
        if high <= (1.0 + rtol) * low:
            break
        size = max(low, size)
        goal *= max(_MARGIN * rtol * low / (high - low), _STEEPEST)
    scale = g.exponent * math.log(2.0)
    log_low, log_high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
    slop = 1e-12 + 8.0 * U * abs(scale)
    return log_low + scale - slop, log_high + scale + slop


def _rough(below: _Chain, laws: list[Measure], size: float) -> tuple[list[Measure], float]:
    """Better cells, and a better size, from those of measures without any other."""
    for _ in range(_ROUGH_PASSES):
        if not size > _SMALLEST:
            break
        each = below.each(size, _ROUGH)
        rests = below.rests(laws)
        for _ in range(_ROUGH_PASSES):
            try:
                laws = below.measures(rests, each)
                break
            except _TooManyAtomsError:  # the size may be far too small
                each *= _COARSER
        before, size = size, max(size, below.result(laws))
        if size < _SETTLED * before:
            break
    return laws, size


@dataclass(frozen=True)
class _Chain:
    """The measures of 1, …, n/2 draws and one more where n is odd, all on one side of the truth.

    ``one`` is that of one draw, with all its atoms.
    """

    one: Measure
    n: int
    up: bool

    @functools.cached_property
    def draws(self) -> list[int]:
        """How many draws each measure is of."""
        draws = [1]
        for bit in f"{self.n // 2:b}"[1:]:
            draws.append(2 * draws[-1])
            if bit == "1":
                draws.append(draws[-1] + 1)
        return [*draws, draws[-1] + 1] if self.n % 2 else draws

    def is_doubled(self, k: int) -> bool:
        """Whether measure k ≥ 1 is that of twice the draws of the one before."""
        return self.draws[k] == 2 * self.draws[k - 1] and not (
            self.n % 2 and k == len(self.draws) - 1
        )

    def each(self, size: float, goal: float) -> float:
        """What one cell may cost, over all uses of its measure, for a relative width of `goal`."""
        cells = _CELLS + _CELLS_BY_WIDTH / math.sqrt(goal)
        return 3.0 * size * goal / (cells * len(self.draws))

    def measures(self, rests: list[Mirrored] | None = None, each: float = 0.0) -> list[Measure]:
        """All measures, with cells by cost where the measures of the other draws are known."""

        def fewer(x: Measure, others: int, draws: int) -> Measure:
            if x.size <= _FEW_ATOMS:
                return x
            # Each of the n/draws uses adds as much.
            cells = (
                by_distance(x)
                if rests is None
                else by_cost(x, rests[others], each * draws / self.n, self.up)
            )
            if cells.size > _MOST_ATOMS:
                raise _TooManyAtomsError
            return (raised if self.up else lowered)(x, cells)

        found = [fewer(self.one, 0, 1)]
        for k, draws in enumerate(self.draws[1:], 1):
            more = (
                doubled(found[-1], self.up)
                if self.is_doubled(k)
                else added(found[-1], fewer(self.one, 0, draws), self.up)
            )
            found.append(fewer(more, k, draws))
        return found

    def rests(self, found: list[Measure]) -> list[Mirrored]:
        """The measures of all other draws, each for one of `measures`; coarse, and mirrored."""
        half = len(found) - 1 - self.n % 2
        rests = [found[-1]] * len(found)
        rests[-1] = found[half]
        one = lowered(self.one, by_distance(self.one))
        for k in range(half, 0, -1):
            more = added(rests[k], found[k - 1] if self.is_doubled(k) else one, up=False)
            rests[k - 1] = lowered(more, by_distance(more))
        return [Mirrored.of(rest) for rest in rests]

    def result(self, found: list[Measure]) -> float:
        """E[S₊] from both halves, on the side of the measures."""
        return mean_positive_part(found[-1 - self.n % 2], found[-1], self.up)
