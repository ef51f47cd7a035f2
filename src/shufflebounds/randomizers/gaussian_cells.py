"""Cells of a Gaussian pair: A = N(1, σ²) against B = N(0, σ²), cut at values of the privacy loss.

The loss v = log(A/B) at a report y is (y − 1/2)/σ². The masses of cells have a certified relative
error. They make the decomposition (A, B, B), in which all other reports have the law B, and the
reports of `randomizers.gaussian`. Proofs: docs/proofs/random-allocation.md, section 3.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import Relation
from shufflebounds.divergence.law import U

# Number of points of the Gauss–Legendre rule in a cell.
POINTS = 20
# Largest exponent in the bound of the rule's error, for a relative error below 2⁻⁵².
LARGEST_EXPONENT = 40.0
# Relative error of the sums over the points of a cell, apart from that of the exponents.
SUM_ERR = 2.0**-43
# Relative error of SciPy's ndtr for arguments from −37 to 0.
NDTR_ERR = 2.0**-42


class GaussianCells(NamedTuple):
    """Masses of N cells between the losses ``v``, (N + 1,), and of both tails.

    ``lower`` and ``upper`` are the masses of B, (N,), that go to the lower and the upper end of
    each cell so that the masses of A and B are kept. ``ratio_mass`` is the mass of A in each cell.
    The tails ``below`` and ``above`` have the masses of B and of A, (2,). All masses have a
    relative error of at most ``rel_err``.
    """

    v: FloatArray
    lower: FloatArray
    upper: FloatArray
    ratio_mass: FloatArray
    below: FloatArray
    above: FloatArray
    rel_err: float

    @property
    def mass(self) -> FloatArray:
        """The mass of B in each cell, (N,)."""
        return self.lower + self.upper

    @property
    def nodes(self) -> FloatArray:
        """The mass of B that is spread to each of the losses, (N + 1,)."""
        return np.append(self.lower, 0.0) + np.append(0.0, self.upper)


def gaussian_cells(sigma: float, losses: FloatArray) -> GaussianCells:
    """Return the cells between `losses`, which ascend.

    Cells that are too wide for the quadrature are divided. ``sigma`` is the standard deviation σ of
    the noise.
    """
    from scipy.special import ndtr  # takes longer to load than most answers

    v = _divided(sigma, losses)
    z = v * sigma + 0.5 / sigma
    below, above = (ndtr(x) for x in (np.array([z[0], z[0] - 1.0 / sigma]), _upper(sigma, z[-1])))
    # An exponent −z²/2 errs by at most |z| times the error of z.
    size = float(np.abs(z).max()) + 1.0 / sigma
    err = SUM_ERR + 8.0 * U * size * size + NDTR_ERR
    return GaussianCells(v, *_cell_masses(sigma, v), below, above, err)


def gaussian_pair(
    sigma: float, losses: FloatArray, relation: Relation = Relation.REPLACE
) -> Decomposition:
    """Return the decomposition (A, B, B), with cells between `losses` as its ends.

    The arrays are those of ``inner``, where the cells and both tails are the components. In
    ``outer`` the mass of a cell is spread to its ends. There the mass of A below all cells, and
    what A has in excess of the last likelihood ratio beyond them, reveal the input.

    Parameters
    ----------
    sigma
        The standard deviation σ of the noise.
    losses
        The ends of cells, shape (N + 1,), ascending. Cells that are too wide for the quadrature
        are divided.
    relation
        The neighbouring relation that the decomposition is about.
    """
    cells = gaussian_cells(sigma, losses)
    below, above, err = cells.below, cells.above, cells.rel_err
    b = np.concatenate([[below[0]], cells.mass, [above[0]]])
    a = np.concatenate([[below[1]], cells.ratio_mass, [above[1]]])
    inner = Decomposition(a, b, b, err, relation=relation)
    nodes = cells.nodes
    nodes[-1] += above[0]
    visible = below[1] + tail_delta(sigma, float(cells.v[-1]))
    b = np.concatenate([[below[0]], nodes, [0.0]])
    a = np.concatenate([[0.0], np.exp(cells.v) * nodes, [visible]])
    outer = Decomposition(a, b, b, err, relation=relation)
    return replace(inner, inner=inner, outer=outer)


def tail_delta(sigma: float, loss: float) -> float:
    """Return Pr_A[v > loss] − e^loss Pr_B[v > loss], rounded up."""
    from scipy.special import log_ndtr  # takes longer to load than most answers

    b, a = _upper(sigma, loss * sigma + 0.5 / sigma)
    log_a, log_b = log_ndtr(a), log_ndtr(b) + loss
    # Both logarithms err by little more than the error of the masses and of the exponents.
    err = 2.0 * (NDTR_ERR + 16.0 * U * (b * b + abs(loss)))
    return math.exp(log_a) * (-math.expm1(min(log_b - log_a, 0.0)) + err)


def loss_beyond(sigma: float, delta: float) -> float:
    """Return a loss beyond which `tail_delta` is at most about `delta`."""
    low, high = 0.0, 40.0 / sigma + 0.5 / sigma**2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tail_delta(sigma, middle) > delta else (low, middle)
    return high


def _upper(sigma: float, z: float) -> FloatArray:
    """Return −z and 1/σ − z: the arguments of Φ for the masses of B and A beyond z, from B."""
    return np.array([-z, 1.0 / sigma - z])


def _divided(sigma: float, losses: FloatArray) -> FloatArray:
    """Return the losses with midpoints in the cells that are too wide for the quadrature."""
    v = losses
    while True:
        half = 0.5 * sigma * np.diff(v)
        centre = np.abs(0.5 * sigma * (v[1:] + v[:-1]) + 0.5 / sigma) + 1.0 / sigma
        is_wide = 4.4 * centre * half + 8.3 * half**2 + 7.2 * half / sigma > LARGEST_EXPONENT
        if not is_wide.any():
            return v
        v = np.sort(np.append(v, 0.5 * (v[1:] + v[:-1])[is_wide]))


def _cell_masses(sigma: float, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mass of B for the lower and the upper end of each cell, and the mass of A, (N,).

    The shares of the ends keep the masses of B and of A.
    """
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    width = np.diff(v)[:, None]
    step, rest = 0.5 * width * (1.0 + points), 0.5 * width * (1.0 - points)
    x = v[:-1, None] + step
    z = x * sigma + 0.5 / sigma
    mass = np.exp(-0.5 * z * z) * (weights * width * (0.5 * sigma / math.sqrt(2.0 * math.pi)))
    up = np.expm1(step) / np.expm1(width)
    down = np.exp(step) * np.expm1(rest) / np.expm1(width)
    return (mass * down).sum(axis=1), (mass * up).sum(axis=1), (mass * np.exp(x)).sum(axis=1)
