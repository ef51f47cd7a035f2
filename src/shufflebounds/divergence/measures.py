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

# Masses below this may have lost their precision: none for a lower bound, so much for an upper.
_FAINT = 1e-290
# Entries of a matrix held in memory at once.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Measure:
    """Atoms by rising value; ``values`` and ``masses`` have shape (M,)."""

    values: FloatArray
    masses: FloatArray

    @property
    def size(self) -> int:
        """The number of atoms."""
        return self.values.size


def of_law(g: Law, up: bool) -> Measure:
    """A measure above (`up`) or below the law of one draw, the residual atom included."""
    side = 1.0 if up else -1.0
    off = g.mass_err * (1.0 + 4.0 * U) + 4.0 * U
    rest = max((g.rest + side * g.rest_err) * (1.0 + 4.0 * side * U), 0.0)
    values = np.append(_moved(g.values + side * g.value_err, up), 0.0)
    masses = np.append(g.masses * np.maximum(1.0 + side * off, 0.0), rest)
    kept = masses > (0.0 if up else _FAINT)
    return _sorted(values[kept], masses[kept])


def doubled(x: Measure, up: bool) -> Measure:
    """A measure above or below the convolution of `x` with itself."""
    i, j = np.triu_indices(x.size)
    masses = x.masses[i] * x.masses[j]
    masses[i != j] *= 2.0
    return _directed(x.values[i] + x.values[j], masses, up)


def added(x: Measure, y: Measure, up: bool) -> Measure:
    """A measure above or below the convolution of two."""
    values = np.add.outer(x.values, y.values).ravel()
    return _directed(values, np.multiply.outer(x.masses, y.masses).ravel(), up)


def _directed(values: FloatArray, masses: FloatArray, up: bool) -> Measure:
    """Sums and products as they were rounded, moved by more than that."""
    if up:
        return _sorted(_moved(values, up), np.maximum(masses * (1.0 + 4.0 * U), _FAINT))
    kept = masses >= _FAINT
    return _sorted(_moved(values[kept], up), masses[kept] * (1.0 - 4.0 * U))


def _moved(values: FloatArray, up: bool) -> FloatArray:
    """Values that were rounded once, moved by more than that; none becomes subnormal."""
    slack = 4.0 * U * np.abs(values) + _FAINT
    return values + slack if up else values - slack


def _sorted(values: FloatArray, masses: FloatArray) -> Measure:
    order = np.argsort(values)
    return Measure(values[order], masses[order])


def lowered(x: Measure, starts: NDArray[np.int64]) -> Measure:
    """A measure below `x`: the atoms from each of `starts` up to the next united at their mean."""
    counts = np.diff(starts, append=x.size)
    first = x.values[starts]
    total = np.add.reduceat(x.masses, starts)
    # Of terms that are not negative, in any order.
    moments = x.masses * (x.values - np.repeat(first, counts))
    lift = np.add.reduceat(np.where(moments >= _FAINT, moments, 0.0), starts) / total
    slop = 2.0 * U * (counts + 6.0)
    mean = np.where(counts > 1, _moved(first + lift * (1.0 - slop), up=False), first)
    return Measure(mean, np.where(counts > 1, total * (1.0 - slop), total))


def raised(x: Measure, vertices: NDArray[np.int64]) -> Measure:
    """A measure above `x`: atoms between neighbouring `vertices` are split between them.

    The first and the last atom are among the vertices.
    """
    counts = np.diff(vertices)
    starts, last = vertices[:-1], int(vertices[-1])
    ends = x.values[vertices]
    values = x.values[:last]
    inside = x.masses[:last].copy()
    inside[starts] = 0.0  # stays where it is, and exactly
    low = np.repeat(ends[:-1], counts)
    width = np.repeat(np.diff(ends), counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0.0, (values - low) / width, 0.0)
        other = np.where(width > 0.0, (np.repeat(ends[1:], counts) - values) / width, 1.0)
    slop = 1.0 + 2.0 * U * (counts + 8.0)
    # What underflows is rounded up.
    least = np.where(counts > 1, 1e-300, 0.0)
    masses = x.masses[vertices]
    masses[:-1] += np.add.reduceat(inside * other, starts) * slop + least
    masses[1:] += np.add.reduceat(inside * share, starts) * slop + least
    return Measure(ends, masses * (1.0 + 4.0 * U))


def mean_positive_part(x: Measure, y: Measure, up: bool) -> float:
    """∫∫(x + y)₊, rounded up or down."""
    total, block = 0.0, max(1, _BLOCK // y.size)
    for start in range(0, x.size, block):
        part = slice(start, start + block)
        sums = np.maximum(np.add.outer(x.values[part], y.values), 0.0)
        total += float(x.masses[part] @ (sums @ y.masses))
    slop = 2.0 * U * (x.size + y.size + 16.0)
    # What underflows is less than that.
    return total * (1.0 + slop) + _FAINT if up else max(total * (1.0 - slop) - _FAINT, 0.0)
