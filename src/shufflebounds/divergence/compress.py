"""Laws with fewer values that bound a law with many, for the Fourier engine.

E[S₊] is increasing and convex in every draw of G, so it grows with each value and with each
mean-preserving spread. Values may then be split between two neighbouring vertices for an upper
bound and united at their mean for a lower one. Both errors are of second order in the distance of
the vertices, which lie densest where the tilted law has most of its mass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, U
from shufflebounds.uncertainty import compounded

# Values with more than this share of the mass are kept.
_HEAVY = 0.1


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
    return _united(law, below, masses, picks), _spread(law, above, masses, picks)


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
    heavy = np.flatnonzero(weights[:-1] > _HEAVY * weights.sum())
    return np.unique(np.concatenate([[0], picks, heavy, heavy + 1, [values.size - 1]]))


def _spread(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    vertices = np.unique(values[picks])
    if vertices.size == 1:
        return _rebuilt(law, vertices, np.array([masses.sum()]), np.zeros(1), values.size)
    left = np.clip(np.searchsorted(vertices, values, side="right") - 1, 0, vertices.size - 2)
    width = vertices[left + 1] - vertices[left]
    # Each share is a quotient of differences of floats, good to three roundings.
    shares = (vertices[left + 1] - values) / width, (values - vertices[left]) / width
    # A share that underflows is rounded up to the smallest mass where more mass means more.
    parts = [masses * share for share in shares]
    for side, part in enumerate(parts):
        gone = (shares[side] > 0.0) & (part < 1e-300) & (vertices[left + side] > 0.0)
        part[gone] = 1e-300
    total: FloatArray = np.asarray(
        sum(
            np.bincount(left + side, weights=part, minlength=vertices.size)
            for side, part in enumerate(parts)
        )
    )
    kept = total > 0.0
    return _rebuilt(law, vertices[kept], total[kept], np.zeros(int(kept.sum())), values.size)


def _united(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    cell = np.searchsorted(picks, np.arange(values.size), side="right") - 1
    total: FloatArray = np.asarray(np.bincount(cell, weights=masses), dtype=np.float64)
    mean = np.bincount(cell, weights=masses * values) / total
    size = np.bincount(cell, weights=masses * np.abs(values)) / total
    # Masses that are known only nearly move the mean of a cell, the more the wider it is.
    width = np.bincount(cell, weights=masses * np.abs(values - mean[cell])) / total
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
