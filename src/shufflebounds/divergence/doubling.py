"""The divergence by doubling the number of draws, on few atoms at every step.

The law of the sum of 1, 2, 4, … draws and so on up to n/2 is kept as two measures of some dozen or
hundred atoms, one below and one above it in stop-loss order (`measures`), and E[S₊] is a double sum
over two halves. Values may lie any number of decades apart, and no draws need be common: what the
series of `saddle` and the tree of `sweep` find hard. Where to put the atoms is found from an
estimate on a coarse grid (`rough`, `cells`). Proofs: docs/engine.md, section 12.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, U, tilting_point

# Finite measures that bound the law of a sum, by stop-loss order: for the doubling engine.
#
# ν is below ν′ if ∫(x + t)₊ dν ≤ ∫(x + t)₊ dν′ for every real t. That is kept by convolution with
# any measure on either side, more mass and larger values lead upwards, uniting atoms at their mean
# leads downwards and splitting one between two others around it upwards. Every rounding here is
# taken towards the side asked for. Proofs: docs/engine.md, section 12.

# Sums of masses and moments below this may have lost their precision: none for a lower bound.
_FAINT_MEASURE = 1e-280
# What one product may have lost by underflow, and far more than that.
_LOST = 1e-300
# Entries of a matrix held in memory at once.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Measure:
    """Atoms in any order; ``values`` and ``masses`` have shape (M,).

    `doubled` and `added` round sums of values and products of masses once, to nearest; `united` and
    `split` make up for that. All other measures are bounds as they are.
    """

    values: FloatArray
    masses: FloatArray

    @property
    def size(self) -> int:
        """The number of atoms."""
        return self.values.size

    def with_atom_at_zero(self, mass: float) -> Measure:
        """The same and one more atom."""
        return Measure(np.append(self.values, 0.0), np.append(self.masses, mass))


@dataclass(frozen=True, eq=False)
class Jumps:
    """A measure above or below the law of one draw, as seen from its likeliest atom, the base.

    A draw is ``base`` with probability ``idle``, and else ``base`` plus an atom of ``others``.
    """

    others: Measure
    base: float
    idle: float


def jumps(g: Law, up: bool) -> Jumps:
    """Those of the law of one draw, the residual atom included."""
    side = 1.0 if up else -1.0
    off = np.broadcast_to(g.mass_err * (1.0 + 4.0 * U) + 4.0 * U, g.masses.shape)
    rest = max((g.rest + side * g.rest_err) * (1.0 + 4.0 * side * U), 0.0)
    values = np.append(moved(g.values + side * g.value_err, up), 0.0)
    masses = np.append(g.masses * np.maximum(1.0 + side * off, 0.0), rest)
    k = base_of(g)
    kept = masses > (0.0 if up else _FAINT_MEASURE)
    kept[k] = False
    others = Measure(moved(values[kept] - values[k], up), masses[kept])
    return Jumps(others, float(values[k]), float(masses[k]))


def base_of(g: Law) -> int:
    """The index of the likeliest atom; that of the residual is the number of values."""
    return int(np.argmax(np.append(g.masses, g.rest)))


def doubled(x: Measure) -> Measure:
    """The convolution of `x` with itself, each pair of atoms once."""
    counts = np.arange(x.size, 0, -1)
    starts = np.cumsum(counts) - counts
    second = np.arange(int(counts.sum())) - np.repeat(starts - np.arange(x.size), counts)
    masses = np.repeat(2.0 * x.masses, counts) * x.masses[second]
    masses[starts] *= 0.5
    return Measure(np.repeat(x.values, counts) + x.values[second], masses)


def added(x: Measure, y: Measure) -> Measure:
    """The convolution of two."""
    values = np.add.outer(x.values, y.values).ravel()
    return Measure(values, np.multiply.outer(x.masses, y.masses).ravel())


@dataclass(frozen=True, eq=False)
class Bins:
    """What lies in the cells that begin at ``edges`` (M,), by rising value; the last is open.

    Of each, shapes (M,): the number of atoms, their mass, and their moment about its edge.
    ``below`` is the mass of the ``atoms_below`` the first edge.
    """

    edges: FloatArray
    counts: NDArray[np.int64]
    masses: FloatArray
    moments: FloatArray
    below: float
    atoms_below: int

    @staticmethod
    def of(x: Measure, edges: FloatArray) -> Bins:
        """Sort the atoms of `x` into cells."""
        size = edges.size + 1
        index = np.searchsorted(edges, x.values, side="right")
        counts = np.bincount(index, minlength=size)
        masses = weighed(index, x.masses, size)
        # What lies below the first edge has a moment, too, which nobody asks for.
        away = x.values - np.concatenate([edges[:1], edges])[index]
        moments = weighed(index, x.masses * away, size)
        return Bins(edges, counts[1:], masses[1:], moments[1:], float(masses[0]), int(counts[0]))


def weighed(index: NDArray[np.int64], weights: FloatArray, size: int) -> FloatArray:
    """Sums of weights by index, shape (size,)."""
    return np.bincount(index, weights, size).astype(np.float64, copy=False)


def united(bins: Bins) -> tuple[Measure, NDArray[np.int64]]:
    """A measure below: every cell at its mean, and nothing of what lies below the first edge.

    Also tells which cells its atoms are of.
    """
    cells = np.flatnonzero(bins.masses >= _FAINT_MEASURE)
    edges, masses, moments = (x[cells] for x in (bins.edges, bins.masses, bins.moments))
    slop = 2.0 * U * (bins.counts[cells] + 16.0)
    lift = np.where(moments >= _FAINT_MEASURE, moments, 0.0) / masses * (1.0 - slop)
    means = edges + lift - 8.0 * U * (np.abs(edges) + lift)
    return Measure(means, masses * (1.0 - slop)), cells


def split(bins: Bins) -> Measure:
    """A measure above: every cell split between its edge and the next, and all below raised to it.

    No atom may lie above the last edge.
    """
    slop = 1.0 + 2.0 * U * (bins.counts + 16.0)
    lost = _LOST * bins.counts
    vertices = moved(bins.edges, up=True)
    widths = np.diff(vertices, append=np.inf)
    masses = bins.masses * slop + lost
    moments = (bins.moments + 8.0 * U * bins.masses * np.abs(bins.edges)) * slop + lost
    with np.errstate(divide="ignore", over="ignore"):
        right = np.where(widths > 0.0, moments / widths * (1.0 + 8.0 * U) + lost, masses)
    right = np.minimum(right, masses)
    right[-1] = 0.0
    total = (masses - right) * (1.0 + 4.0 * U)
    total[1:] += right[:-1]
    total[0] += bins.below * (1.0 + 2.0 * U * (bins.atoms_below + 16.0)) + _LOST * bins.atoms_below
    # What has overflowed, and may be no number any more, must not be lost.
    kept = total != 0.0
    return Measure(vertices[kept], total[kept] * (1.0 + 8.0 * U))


def moved(values: FloatArray, up: bool) -> FloatArray:
    """Values that were rounded once, moved by more than that."""
    slack = 4.0 * U * np.abs(values)
    return values + slack if up else values - slack


def mean_positive_part(x: Measure, y: Measure, shift: float, up: bool) -> float:
    """∫∫(x + y + shift)₊, rounded up or down."""
    shifted = moved(x.values + shift, up)
    total, block = 0.0, max(1, _BLOCK // max(y.size, 1))
    for start in range(0, x.size, block):
        part = slice(start, start + block)
        sums = np.maximum(np.add.outer(shifted[part], y.values), 0.0)
        total += float(x.masses[part] @ (sums @ y.masses))
    slop = 2.0 * U * (x.size + y.size + 16.0)
    # What underflows is less than that.
    return (
        total * (1.0 + slop) + _FAINT_MEASURE
        if up
        else max(total * (1.0 - slop) - _FAINT_MEASURE, 0.0)
    )


# How n draws are reached by doubling: for the doubling engine.


@dataclass(frozen=True)
class Steps:
    """From one draw to half of ``n``, which is at least 2."""

    n: int

    @functools.cached_property
    def doubles(self) -> tuple[bool, ...]:
        """Whether a step doubles what there is; else it adds one draw."""
        steps: list[bool] = []
        for bit in f"{self.n // 2:b}"[1:]:
            steps += [True, False] if bit == "1" else [True]
        return tuple(steps)

    @functools.cached_property
    def draws(self) -> tuple[int, ...]:
        """How many draws there are before the first step and after each."""
        draws = [1]
        for doubles in self.doubles:
            draws.append(2 * draws[-1] if doubles else draws[-1] + 1)
        return tuple(draws)

    @property
    def odd(self) -> bool:
        """Whether one half has a draw more than the other."""
        return self.n % 2 == 1


# What every measure of the doubling engine looks like, roughly: on one grid for all of them.
#
# The grid is linear around 0 and logarithmic beyond, with some points more up to the threshold. As
# it is the same for all, where sums of its points lie is found once. No bounds: the estimate
# decides about width and cost only.

# Points per decade of the grid, and at most, on either side of 0.
_PER_DECADE, _MOST_POINTS = 12.0, 40
# Distances below so many times the scale of S, or of the threshold, are no more told apart.
_FINEST, _FINEST_OF_THRESHOLD = 0.03, 0.1
# How far the grid reaches beyond the largest jump and the threshold, and in standard deviations.
_REACH, _DEVIATIONS = 30.0, 10.0
# Nothing is told apart below so many times that.
_LEAST_ROUGH = 1e-40
# Points at equal distances, and how many times the threshold they reach to.
_LINEAR, _LINEAR_REACH = 8, 2.0
# Where so many draws are expected to leave the base, more than three hardly ever do.
_FEW = 0.2


@dataclass(frozen=True, eq=False)
class Rough:
    """Masses on the points of a grid ``x`` (k,), which holds 0 and ``threshold``.

    ``found`` (L, k) are the measures of what draws add up to, as seen from the base, before the
    first step and after each; ``facing`` (L, k) are those of minus what all other draws do, and of
    the threshold. Neither has the mass of where no draw leaves the base. ``size`` is E[S₊].
    """

    x: FloatArray
    threshold: float
    found: FloatArray
    facing: FloatArray
    size: float


@dataclass(frozen=True, eq=False)
class _Grid:
    x: FloatArray
    theta: float
    index: NDArray[np.int64]
    share: FloatArray

    @staticmethod
    def of(x: FloatArray, theta: float) -> _Grid:
        return _Grid(x, theta, *_between(x, theta, np.add.outer(x, x).ravel()))

    def placed(self, values: FloatArray, masses: FloatArray) -> FloatArray:
        """Masses, each split between the two points around its value."""
        return _spread(*_between(self.x, self.theta, values), masses, self.x.size)

    def sum(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """The convolution of two."""
        return _spread(self.index, self.share, np.multiply.outer(one, two).ravel(), self.x.size)


def _between(
    x: FloatArray, theta: float, values: FloatArray
) -> tuple[NDArray[np.int64], FloatArray]:
    """The point to the left, and the share of the other one such that the mean of e^{θv} stays.

    Were it that of v, tails would grow with every step.
    """
    index = np.clip(np.searchsorted(x, values, side="right") - 1, 0, x.size - 2)
    left, right = x[index], x[index + 1]
    inside = np.clip(values, left, right)
    share = np.expm1(theta * (left - inside)) / np.expm1(theta * (left - right))
    return index, np.exp(theta * (inside - right)) * share


def _spread(
    index: NDArray[np.int64], share: FloatArray, masses: FloatArray, size: int
) -> FloatArray:
    right = masses * share
    spread = weighed(index, masses - right, size)
    spread[1:] += weighed(index, right, size)[:-1]
    return spread


def rough(jumps: Jumps, steps: Steps, theta: float) -> Rough:
    """An estimate for all steps, where S is of the scale 1/θ."""
    n, threshold = steps.n, -steps.n * jumps.base
    x = _points(jumps.others, n, abs(threshold), theta)
    grid = _Grid.of(x, theta)
    draws = np.array(steps.draws, dtype=float)
    few = int(np.searchsorted(draws * float(jumps.others.masses.sum()), _FEW, side="right"))
    few = max(few, 1)
    found = _found(grid, jumps, steps, few)
    rest = np.zeros_like(found)
    rest[-1] = grid.placed(x - threshold, grid.sum(found[-1], found[0]) if steps.odd else found[-1])
    size = float(found[-1] @ np.maximum(np.add.outer(x, x), 0.0) @ rest[-1])
    for k in range(draws.size - 1, few - 1, -1):
        rest[k - 1] = grid.sum(rest[k], found[k - 1 if steps.doubles[k - 1] else 0])
    # All others are hardly fewer than all.
    rest[: few - 1] = rest[few - 1]
    facing = rest[:, ::-1].copy()
    for measures, at, idle in ((found, 0.0, draws), (facing, threshold, n - draws)):
        column = measures[:, int(np.argmin(np.abs(x - at)))]
        column -= np.minimum(np.exp(idle * _log_idle(jumps)), column)
    return Rough(x, threshold, found, facing, size)


def _found(grid: _Grid, jumps: Jumps, steps: Steps, few: int) -> FloatArray:
    """The measures of all steps; of the first `few`, by the number of draws that leave the base."""
    one = grid.placed(jumps.others.values, jumps.others.masses)
    found = np.zeros((len(steps.draws), grid.x.size))
    draws = np.array(steps.draws[:few], dtype=float)
    sums, weight = one, draws * np.exp((draws - 1.0) * _log_idle(jumps))
    for k in (1, 2, 3):
        found[:few] += np.multiply.outer(weight, sums)
        sums = grid.sum(one, sums)
        weight = weight * np.maximum(draws - k, 0.0) / ((k + 1) * jumps.idle)
    found[:few, grid.x.size // 2] += 1.0 - found[:few].sum(axis=1)
    for k in range(few, len(steps.draws)):
        found[k] = grid.sum(found[k - 1], found[k - 1 if steps.doubles[k - 1] else 0])
    return found


def _log_idle(jumps: Jumps) -> float:
    """An upper bound of a probability may exceed 1."""
    return math.log(min(jumps.idle, 1.0))


def _points(others: Measure, n: int, threshold: float, theta: float) -> FloatArray:
    """The grid: symmetric, with 0 and the threshold."""
    finest = _FINEST / theta
    if threshold > 0.0:
        finest = min(finest, _FINEST_OF_THRESHOLD * threshold)
    upper = np.maximum(others.values, 0.0)
    deviation = math.sqrt(n * float(others.masses @ upper**2))
    reach = _REACH * max(float(upper.max()), threshold) + _DEVIATIONS * deviation
    finest = max(finest, _LEAST_ROUGH * reach)
    span = math.asinh(reach / finest)
    count = min(max(math.ceil(span / math.log(10.0) * _PER_DECADE), 8), _MOST_POINTS)
    right = finest * np.sinh(np.linspace(0.0, span, count + 1))
    right = np.union1d(right, threshold * np.linspace(0.0, _LINEAR_REACH, _LINEAR + 1))
    return np.concatenate([-right[:0:-1], right])


# Which atoms of a measure to unite, or to split between: for the doubling engine.
#
# With x from a measure and y from that of the other draws, E(x + y)₊ bends where x = −y. Splitting
# or uniting the atoms x of a cell costs the mass of x times that of −y in the cell, times its
# width: for N cells least in total, where all cost the same, and then in proportion to 1/N². No
# bounds: the choice decides about width and cost only.

# The share of the cells that is spread evenly over the grid, whatever the estimate says.
_EVEN = 0.6
# No measure has fewer than this share of the average number of cells.
_LEAST = 0.3
# Both ends of a cell: 1/12 of its width for the chord, 1/24 for the mean.
_BOTH_ENDS = 0.125
# Vertices lie beyond means by so much, relatively and for every step: sums must not lie just above.
_BEYOND = 1e-12
_TINY = 5e-324
# An expectation for which no number of cells suffices: beside it quotients would overflow.
_FAINT = 1e-250


def edges(rough: Rough, steps: Steps, cells: float) -> list[FloatArray]:
    """First edges of cells for every measure, `cells` of them on average."""
    sums, cost = _costs(rough, steps)
    counts = cost**0.25
    counts *= cells / counts.mean()
    always = np.array([0.0, _TINY, rough.threshold])
    return [
        np.unique(
            np.append(np.interp(np.linspace(0.0, s[-1], math.ceil(c) + 1), s, rough.x), always)
        )
        for s, c in zip(sums, np.maximum(counts, _LEAST * cells), strict=True)
    ]


def enough(rough: Rough, steps: Steps, rtol: float) -> float:
    """How many cells on average suffice for a relative width, as far as the estimate can tell."""
    _, cost = _costs(rough, steps)
    if not rough.size > _FAINT:
        return math.inf
    return float((cost**0.25).mean() * math.sqrt(np.sqrt(cost).sum() / (rtol * rough.size)))


def _costs(rough: Rough, steps: Steps) -> tuple[FloatArray, FloatArray]:
    """Running sums of the density of cells, (L, k), and N² times what N cells cost in all, (L,)."""
    inside = 0.5 * (rough.found[:, 1:] + rough.found[:, :-1])
    bends = 0.5 * (rough.facing[:, 1:] + rough.facing[:, :-1])
    density = np.cbrt(inside * bends * np.diff(rough.x))
    total = density.sum(axis=1)
    cost = _BOTH_ENDS * steps.n / np.array(steps.draws) * total**3 + 1e-300
    density += np.maximum(_EVEN * total, 1e-100)[:, None] / density.shape[1]
    return np.cumsum(np.pad(density, ((0, 0), (1, 0))), axis=1), cost


def vertices(
    bins: Bins, lower: Measure, cells: NDArray[np.int64], rough: Rough, step: int
) -> FloatArray:
    """Where to split what is united in `cells`: at its means, so that heavy atoms stay in place.

    A cell of several atoms next to an empty one keeps the edge between, and so do the first, which
    is far wider than most, and the last.
    """
    edges = bins.edges
    full = np.zeros(edges.size + 1, bool)
    full[cells] = True
    several = bins.counts > 1
    right = np.flatnonzero(full[:-1] & several & ~full[1:])
    left = np.flatnonzero(full[1:-1] & several[1:] & ~full[:-2]) + 1
    kept = [edges[right[right < edges.size - 1] + 1], edges[left]]
    means = lower.values + _BEYOND * (step + 1) * np.abs(lower.values)
    return np.unique(np.concatenate([means, *kept, edges[:2], edges[-1:], [0.0, rough.threshold]]))


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
