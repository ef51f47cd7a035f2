"""Laws with few values whose E[S₊] bounds that of a law with many, for the Fourier engine.

E[S₊] is increasing and convex in every draw of G, so it grows with each value and with each
mean-preserving spread. Values may be split between two neighbouring vertices for an upper bound,
and united at their mean for a lower one. Both errors are of second order in the distance of the
vertices, which lie densest where the tilted law has most of its mass.

Proof: docs/engine.md, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.divergence.law import Law, U

# Share of the mass from which on a value stays where it is, because moving it would cost much
# width. Width only (benchmarks/deployer_grid.py, "Laplace").
_HEAVY_VALUE = 0.1


def compress(law: Law, weights: FloatArray, cells: int) -> tuple[Law, Law]:
    """Return laws with about `cells` values whose E[S₊] is never above, and never below, `law`'s.

    `weights` (J,) are the masses of the tilted law in which the losses should be small.
    """
    order = np.argsort(law.values)
    weights = weights[order]
    masses, value_err = law.masses[order], law.value_err[order]
    # Values move by their uncertainty, in the safe direction for each bound.
    above = np.maximum.accumulate(np.nextafter(law.values[order] + value_err, np.inf))
    below = np.nextafter(law.values[order] - value_err, -np.inf)
    picks = spaced(above, weights, cells)
    return _united_law(law, below, masses, picks), _spread_law(law, above, masses, picks)


def spaced(values: FloatArray, weights: FloatArray, cells: int) -> NDArray[np.int64]:
    """Return indices into the sorted `values`, both ends included, for cells of equal cost.

    A cell of width h costs its mass times h². The total is smallest if the density of the vertices
    is proportional to the cube root of the density of the mass.
    """
    gaps = np.diff(values, append=values[-1])
    cost = np.cbrt(weights) * np.cbrt(gaps) ** 2
    total = np.cumsum(cost)
    picks = np.searchsorted(total, np.linspace(0.0, total[-1], cells + 1)[1:-1])
    # A heavy value costs its mass in any cell but its own.
    heavy = np.flatnonzero(weights[:-1] > _HEAVY_VALUE * weights.sum())
    return np.unique(np.concatenate([[0], picks, heavy, heavy + 1, [values.size - 1]]))


def between(
    values: FloatArray, vertices: FloatArray
) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """Yield the indices of the vertices below and above each value, with the shares they get.

    The shares preserve the mean of each value. The vertices ascend, and reach from the smallest
    value to the largest. A share is a quotient of differences of floats, with an error of three
    roundings.
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
        # Masses that underflow are rounded up if the value is positive.
        mass[(share > 0.0) & (mass < 1e-300) & (vertices[index] > 0.0)] = 1e-300
        total += np.bincount(index, weights=mass, minlength=vertices.size)
    positive = total > 0.0
    return _replaced_law(
        law, vertices[positive], total[positive], np.zeros(int(positive.sum())), values.size
    )


def _united_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    """Return the law in which the values from each pick to the next are united at their mean."""
    rows = np.stack([masses, masses * values, masses * np.abs(values)])
    total, mean, mean_size = np.add.reduceat(rows, picks, axis=1)
    mean, mean_size = mean / total, mean_size / total
    # The error of the masses moves the mean of a cell in proportion to its width.
    distance = np.abs(values - np.repeat(mean, np.diff(picks, append=values.size)))
    width = np.add.reduceat(masses * distance, picks) / total
    mean_err = (2.0 * values.size + 4.0) * U * mean_size + 2.1 * law.mass_err * width
    return _replaced_law(law, mean, total, mean_err, values.size)


def _replaced_law(
    law: Law, values: FloatArray, masses: FloatArray, value_err: FloatArray, terms: int
) -> Law:
    """Return a law with other values, whose masses are sums of `terms` products and shares."""
    # This error holds for all masses. Laws with one error per mass are not compressed.
    mass_err = compounded(
        law.mass_err,  # type: ignore[arg-type]
        (terms + 8.0) * U,
    )
    return replace(law, values=values, masses=masses, value_err=value_err, mass_err=mass_err)
