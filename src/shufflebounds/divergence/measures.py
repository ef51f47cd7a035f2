"""Finite measures that bound the law of a sum, by stop-loss order: for the doubling engine.

ν is below ν′ if ∫(x + t)₊ dν ≤ ∫(x + t)₊ dν′ for every real t. That is kept by convolution with any
measure on either side, more mass and larger values lead upwards, uniting atoms at their mean leads
downwards and splitting one between two others around it upwards. Every rounding here is taken
towards the side asked for. Proofs: docs/engine.md, section 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, U

# Sums of masses and moments below this may have lost their precision: none for a lower bound.
_FAINT = 1e-280
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
    kept = masses > (0.0 if up else _FAINT)
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
    cells = np.flatnonzero(bins.masses >= _FAINT)
    edges, masses, moments = (x[cells] for x in (bins.edges, bins.masses, bins.moments))
    slop = 2.0 * U * (bins.counts[cells] + 16.0)
    lift = np.where(moments >= _FAINT, moments, 0.0) / masses * (1.0 - slop)
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
    return total * (1.0 + slop) + _FAINT if up else max(total * (1.0 - slop) - _FAINT, 0.0)
