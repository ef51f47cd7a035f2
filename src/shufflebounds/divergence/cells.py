"""Which atoms of a measure to unite, or to split between: for the doubling engine.

With x from a measure and y from that of the other draws, E(x + y)₊ bends where x = −y. Splitting or
uniting the atoms x of a cell costs the mass of x times that of −y in the cell, times its width: for
N cells least in total, where all cost the same, and then in proportion to 1/N². No bounds: the
choice decides about width and cost only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.measures import Bins, Measure
from shufflebounds.divergence.rough import Rough
from shufflebounds.divergence.steps import Steps

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
