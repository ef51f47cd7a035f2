"""The divergence by doubling the number of draws, on few atoms at every step.

The law of the sum of 1, 2, 4, … draws and so on up to n/2 is kept as two measures of some dozen or
hundred atoms, one below and one above it in stop-loss order (`measures`), and E[S₊] is a double sum
over two halves. Values may lie any number of decades apart, and no draws need be common: what the
series of `saddle` and the tree of `sweep` find hard. Where to put the atoms is found from an
estimate on a coarse grid (`rough`, `cells`). Proofs: docs/engine.md, section 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.cells import edges, enough, vertices
from shufflebounds.divergence.law import Law, U
from shufflebounds.divergence.measures import (
    Bins,
    Jumps,
    Measure,
    added,
    doubled,
    jumps,
    mean_positive_part,
    split,
    united,
)
from shufflebounds.divergence.rough import Rough, rough
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.steps import Steps

# Cells per measure at first: so many for a relative width of 0.1, and more by that power of it.
_CELLS, _BY_WIDTH, _FEWEST_CELLS = 48.0, 0.12, 32.0
# Passes, and the least and the largest growth of their cells.
_PASSES, _LEAST_GROWTH, _MOST_GROWTH = 4, 1.3, 4.0
# Ends so far apart, in logarithms, tell nothing; one more pass may.
_BLIND = 1.0
# The most of them.
_MOST_CELLS = 300.0
# More cells than the width asks for, as it is not in proportion to 1/N² exactly.
_MARGIN = 1.15
# No size of E[S₊], relative to the largest value, below this is attempted.
_SMALLEST = 1e-250
# Values that may be so many times the largest one are all uncertainty; n times the square of a
# larger one might overflow.
_VAGUE = 1e140

# Reduces a measure to the cells of a step.
_Reduce = Callable[[Measure, int], Measure]


def log_bounds(g: Law, n: int, rtol: float, most_cells: float = _MOST_CELLS) -> tuple[float, float]:
    """Bounds of log E[S₊]; (−inf, inf) if nothing is known.

    Where more than `most_cells` per measure seem to be needed, nothing more is tried.
    """
    # Masses whose relative errors n multiplies may overflow: no number is an upper bound then.
    with np.errstate(over="ignore", invalid="ignore"):
        return _log_bounds(g, n, rtol, most_cells)


def _log_bounds(g: Law, n: int, rtol: float, most_cells: float) -> tuple[float, float]:
    nothing = (-math.inf, math.inf)
    if n < 2 or not (g.values.size and g.values.max() > 0.0 and np.isfinite(g.value_err).all()):
        return nothing
    below, above = jumps(g, up=False), jumps(g, up=True)
    if not (below.others.size and above.others.size):
        return nothing
    if above.others.values.max() > _VAGUE:
        return nothing
    steps = Steps(n)
    estimate = rough(above, steps, tilting_point(g, n))
    low, high = 0.0, math.inf
    wanted = enough(estimate, steps, rtol)
    cells = _CELLS * (0.1 / min(rtol, 0.1)) ** _BY_WIDTH
    cells = max(min(cells, wanted), _FEWEST_CELLS)
    for attempt in range(_PASSES):
        ends = _pass(below, above, steps, estimate, cells)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high <= (1.0 + rtol) * low or not high > _SMALLEST or cells >= most_cells:
            break
        wide = math.log(high / low) if low > 0.0 else math.inf
        growth = max(_MARGIN * math.sqrt(wide / rtol), _LEAST_GROWTH)
        too_many = min(wanted, growth * cells) > most_cells
        if attempt > 0 if wide > _BLIND else too_many:
            break
        cells = min(min(growth, _MOST_GROWTH) * cells, most_cells)
    if not high > _SMALLEST:
        return nothing
    scale = g.exponent * math.log(2.0)
    log_low, log_high = (math.log(x) if x > 0.0 else -math.inf for x in (low, high))
    slop = 1e-12 + 8.0 * U * abs(scale)
    return log_low + scale - slop, log_high + scale + slop


def _pass(
    below: Jumps, above: Jumps, steps: Steps, estimate: Rough, cells: float
) -> tuple[float, float]:
    """Bounds of E[S₊] with so many cells per measure."""
    starts = edges(estimate, steps, cells)
    found: list[FloatArray] = []

    def unite(x: Measure, step: int) -> Measure:
        bins = Bins.of(x, starts[step])
        lower, full = united(bins)
        found.append(vertices(bins, lower, full, estimate, step))
        return lower

    low = _result(below, steps, unite, up=False)
    remaining: Iterator[FloatArray] = iter(found)

    def divide(x: Measure, step: int) -> Measure:
        places = next(remaining)
        top = float(x.values.max())
        if top > places[-1]:
            places = np.append(places, top)
        return split(Bins.of(x, places))

    return low, _result(above, steps, divide, up=True)


def _result(one: Jumps, steps: Steps, reduce: _Reduce, *, up: bool) -> float:
    """E[S₊] from both halves of the draws, on one side of the truth."""
    half = first = reduce(one.others, 0).with_atom_at_zero(one.idle)
    for k, doubles in enumerate(steps.doubles, 1):
        half = reduce(doubled(half) if doubles else added(half, first), k)
    other = reduce(added(half, first), len(steps.doubles)) if steps.odd else half
    shift = steps.n * one.base
    shift += 4.0 * U * abs(shift) * (1.0 if up else -1.0)
    return mean_positive_part(half, other, shift, up)
