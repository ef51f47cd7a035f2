"""Compress a law of many values to two laws of few values that bound E[S₊], for the Fourier engine.

S is a sum of independent draws of G. E[S₊] is increasing and convex in every draw, so it grows with
each value and with each mean-preserving spread. For an upper bound, each value is split between two
neighbouring vertices. For a lower bound, the values between two vertices are united at their mean.
Both errors are of second order in the distance of the vertices, which lie densest where the tilted
law has most of its mass.

Proof: docs/proofs/engine.md, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.divergence.law import Law, U

# A value with more than this share of the tilted mass is a vertex itself, because moving it would
# widen the enclosure much. Width only (benchmarks/deployer_grid.py, "Laplace").
_HEAVY_VALUE = 0.1


def compress(law: Law, weights: FloatArray, cells: int) -> tuple[Law, Law]:
    """Return laws with about `cells` values: E[S₊] is smaller for the first, larger for the second.

    `weights`, shape (J,), are the masses of the tilted law. The vertices are chosen such that the
    errors are small under it.
    """
    order = np.argsort(law.values)
    weights = weights[order]
    masses, value_err = law.masses[order], law.value_err[order]
    # Values move by their uncertainty, in the safe direction for each bound.
    upper_values = np.maximum.accumulate(np.nextafter(law.values[order] + value_err, np.inf))
    lower_values = np.nextafter(law.values[order] - value_err, -np.inf)
    picks = spaced(upper_values, weights, cells)
    return (
        _united_law(law, lower_values, masses, picks),
        _spread_law(law, upper_values, masses, picks),
    )


def spaced(values: FloatArray, weights: FloatArray, cells: int) -> NDArray[np.int64]:
    """Return indices into the sorted `values`, both ends included, for cells of equal cost.

    The cost of a cell of width h is its mass times h². The total cost is smallest if the density of
    the vertices is proportional to the cube root of the density of the mass. Then all cells cost
    the same.
    """
    gaps = np.diff(values, append=values[-1])
    # The density of the mass over a gap is weight/gap. Its cube root times the gap is proportional
    # to the number of vertices there.
    vertex_counts = np.cumsum(np.cbrt(weights) * np.cbrt(gaps) ** 2)
    picks = np.searchsorted(vertex_counts, np.linspace(0.0, vertex_counts[-1], cells + 1)[1:-1])
    # A heavy value has a cell of its own, in which it does not move.
    heavy = np.flatnonzero(weights[:-1] > _HEAVY_VALUE * weights.sum())
    return np.unique(np.concatenate([[0], picks, heavy, heavy + 1, [values.size - 1]]))


def between(
    values: FloatArray, vertices: FloatArray
) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Yield the index of the vertex below each value and its share, then the same for those above.

    The two shares of a value preserve its mean. The vertices must ascend from the smallest value to
    the largest. A share is a quotient of differences of floats, with an error of three roundings.
    If there is one vertex, yield it only.
    """
    if vertices.size == 1:
        yield np.zeros(values.size, dtype=np.int64), np.ones(values.size)
        return
    lower = np.clip(np.searchsorted(vertices, values, side="right") - 1, 0, vertices.size - 2)
    width = vertices[lower + 1] - vertices[lower]
    yield lower, (vertices[lower + 1] - values) / width
    yield lower + 1, (values - vertices[lower]) / width


def _spread_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    """Return the law in which each value is split between the two nearest picked values."""
    vertices = np.unique(values[picks])
    total = np.zeros(vertices.size)
    for index, share in between(values, vertices):
        mass = masses * share
        # A mass that underflows at a positive vertex is rounded up.
        mass[(share > 0.0) & (mass < 1e-300) & (vertices[index] > 0.0)] = 1e-300
        total += np.bincount(index, weights=mass, minlength=vertices.size)
    positive = total > 0.0
    return _replaced_law(
        law, vertices[positive], total[positive], np.zeros(int(positive.sum())), values.size
    )


def _united_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    """Return the law in which the values from each pick up to the next are united at their mean."""
    rows = np.stack([masses, masses * values, masses * np.abs(values)])
    total, mean, mean_size = np.add.reduceat(rows, picks, axis=1)
    mean, mean_size = mean / total, mean_size / total
    # The error of the masses moves the mean of a cell in proportion to its mean absolute deviation.
    distance = np.abs(values - np.repeat(mean, np.diff(picks, append=values.size)))
    deviation = np.add.reduceat(masses * distance, picks) / total
    mean_err = (2.0 * values.size + 4.0) * U * mean_size + 2.1 * law.mass_err * deviation
    return _replaced_law(law, mean, total, mean_err, values.size)


def _replaced_law(
    law: Law, values: FloatArray, masses: FloatArray, value_err: FloatArray, terms: int
) -> Law:
    """Return a law with other values, whose masses are sums of `terms` products and shares."""
    # Only laws with one error for all masses are compressed, so `law.mass_err` is a float.
    mass_err = compounded(
        law.mass_err,  # type: ignore[arg-type]
        (terms + 8.0) * U,
    )
    return replace(law, values=values, masses=masses, value_err=value_err, mass_err=mass_err)
