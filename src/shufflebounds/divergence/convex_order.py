"""Laws with few values that bound a law with many, for the Fourier engine.

E[S₊] is increasing and convex in every draw of G, so it grows with each value and with each
mean-preserving spread. For an upper bound, values are split between two neighbouring vertices; for
a lower one, they are united at their mean. Both errors are of second order in the distance of the
vertices, which lie densest where the tilted law has most of its mass. Proof: docs/engine.md,
section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.divergence.law import Law, U

# Share of the mass above which a value stays as it is, because moving it would cost much width.
HEAVY_VALUE = 0.1


def compress(law: Law, weights: FloatArray, cells: int) -> tuple[Law, Law]:
    """Laws with about `cells` values whose E[S₊] is never above and never below that of `law`.

    `weights` (J,) are the masses of the tilted law in which the losses should be small.
    """
    order = np.argsort(law.values)
    weights = weights[order]
    masses, err = law.masses[order], law.value_err[order]
    # Values moved by their uncertainty, the safe way each time.
    above = np.maximum.accumulate(np.nextafter(law.values[order] + err, np.inf))
    below = np.nextafter(law.values[order] - err, -np.inf)
    picks = spaced(above, weights, cells)
    return _united_law(law, below, masses, picks), _spread_law(law, above, masses, picks)


def spaced(values: FloatArray, weights: FloatArray, cells: int) -> NDArray[np.int64]:
    """Indices into the sorted `values`, both ends included, for cells of equal cost.

    A cell of width h costs its mass times h²; that is least for a density of vertices that goes
    like the cube root of the density of mass.
    """
    gaps = np.diff(values, append=values[-1])
    cost = np.cbrt(weights) * np.cbrt(gaps) ** 2
    total = np.cumsum(cost)
    picks = np.searchsorted(total, np.linspace(0.0, total[-1], cells + 1)[1:-1])
    # A heavy value costs its mass in any cell but its own.
    heavy = np.flatnonzero(weights[:-1] > HEAVY_VALUE * weights.sum())
    return np.unique(np.concatenate([[0], picks, heavy, heavy + 1, [values.size - 1]]))


def between(
    values: FloatArray, vertices: FloatArray
) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """The vertices on either side of each value, by index, and its share of each: means are kept.

    The vertices ascend and reach from the least value to the largest. A share is a quotient of
    differences of floats, good to three roundings.
    """
    if vertices.size == 1:
        yield np.zeros(values.size, dtype=np.int64), np.ones(values.size)
        return
    left = np.clip(np.searchsorted(vertices, values, side="right") - 1, 0, vertices.size - 2)
    width = vertices[left + 1] - vertices[left]
    yield left, (vertices[left + 1] - values) / width
    yield left + 1, (values - vertices[left]) / width


def _spread_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    vertices = np.unique(values[picks])
    total = np.zeros(vertices.size)
    for place, share in between(values, vertices):
        part = masses * share
        # What underflows is rounded up to the smallest mass where more mass means more.
        part[(share > 0.0) & (part < 1e-300) & (vertices[place] > 0.0)] = 1e-300
        total += np.bincount(place, weights=part, minlength=vertices.size)
    kept = total > 0.0
    return _rebuilt(law, vertices[kept], total[kept], np.zeros(int(kept.sum())), values.size)


def _united_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    rows = np.stack([masses, masses * values, masses * np.abs(values)])
    total, mean, size = np.add.reduceat(rows, picks, axis=1)
    mean, size = mean / total, size / total
    # Masses that are known only nearly move the mean of a cell, the more the wider it is.
    off = np.abs(values - np.repeat(mean, np.diff(picks, append=values.size)))
    width = np.add.reduceat(masses * off, picks) / total
    err = (2.0 * values.size + 4.0) * U * size + 2.1 * law.mass_err * width
    return _rebuilt(law, mean, total, err, values.size)


def _rebuilt(
    law: Law, values: FloatArray, masses: FloatArray, value_err: FloatArray, terms: int
) -> Law:
    """A law with other values; a sum of `terms` products and shares makes each of its masses."""
    # One that holds for all masses: laws with one for each are not compressed.
    mass_err = compounded(
        law.mass_err,  # type: ignore[arg-type]
        (terms + 8.0) * U,
    )
    return replace(law, values=values, masses=masses, value_err=value_err, mass_err=mass_err)
