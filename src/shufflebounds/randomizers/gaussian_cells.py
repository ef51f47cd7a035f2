"""Cells of shifted normal laws, with masses of a certified relative error.

`gaussian_cells` cuts A = N(1, σ²) and B = N(0, σ²) at values of the privacy loss v = log(A/B),
which is (y − 1/2)/σ² at a report y. It makes the decomposition (A, B, B), in which all other
reports have the law B, and the reports of `randomizers.gaussian`. `opposite_pair` and
`shifted_laws` cut normal laws of other means at values of y/σ. Proofs:
docs/proofs/random-allocation.md, section 3.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded
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


def shifted_laws(
    sigma: float, z: FloatArray, shifts: tuple[float, float], relation: Relation
) -> Decomposition:
    """Return the decomposition of N(s, σ²), N(s′, σ²) and N(0, σ²) in cells, a lower end.

    Parameters
    ----------
    sigma
        The standard deviation σ of the noise.
    z
        The ends of cells, in units of σ, shape (N + 1,), ascending. Outputs in a cell, and in each
        tail, are one component.
    shifts
        The shifts s and s′.
    relation
        The neighbouring relation that the decomposition is about.
    """
    (a, b, c), err = _masses_between(z, np.array([*shifts, 0.0]) / sigma)
    return Decomposition(a, b, c, err, relation=relation)


def opposite_pair(sigma: float, z: FloatArray, relation: Relation) -> Decomposition:
    """Return the decomposition (N(1, σ²), N(−1, σ²), N(0, σ²)), with cells as its ends.

    In ``outer``, the mass of a cell goes to three points: its two ends, and the point where the
    tangents to the curve of likelihood ratios meet. Outputs beyond all cells reveal the input.

    Parameters
    ----------
    sigma
        The standard deviation σ of the noise.
    z
        The ends of cells, in units of σ, shape (N + 1,), ascending and symmetric about 0.
    relation
        The neighbouring relation that the decomposition is about.
    """
    shift = 1.0 / sigma
    z = _narrow_cells(z, shift)
    (in_a, in_b, in_c), err = _masses_between(z, np.array([shift, -shift, 0.0]))
    inner = Decomposition(in_a, in_b, in_c, err, relation=relation)
    points = _points_between(z)
    half = 0.5 * shift * np.diff(z)[:, None]
    from_lower, to_upper = (np.sinh(0.5 * shift * x) for x in (points.step, points.rest))
    mass = points.masses(0.0) / np.sinh(half) ** 2
    lower, middle, upper = (
        (mass * share).sum(axis=1)
        for share in (to_upper**2, 2.0 * np.cosh(half) * from_lower * to_upper, from_lower**2)
    )
    nodes = np.append(lower, 0.0) + np.append(0.0, upper)
    centres = 0.5 * (z[1:] + z[:-1])
    places = np.concatenate([z, centres])
    c = np.concatenate([nodes, middle / np.cosh(half[:, 0])])
    a, b = (np.exp(sign * shift * places - 0.5 * shift**2) * c for sign in (1.0, -1.0))
    c[z.size :] = middle
    outer = Decomposition(
        np.append(a, [in_a[0], in_a[-1], 0.0, 0.0, 0.0]),
        np.append(b, [0.0, 0.0, in_b[0], in_b[-1], 0.0]),
        np.append(c, [0.0, 0.0, 0.0, 0.0, in_c[0] + in_c[-1]]),
        err,
        relation=relation,
    )
    return replace(inner, inner=inner, outer=outer)


def mixed(decomposition: Decomposition, share: Fraction) -> Decomposition:
    """Return ((1 − ρ) c + ρ a, (1 − ρ) c + ρ b, c) for a share ρ, 0 < ρ ≤ 1.

    It is what (a, b, c) is if the victim sends its report with probability ρ, and else one of c.
    The masses of c must sum to 1.
    """
    if share == 1:
        return decomposition
    rest, part = float(1 - share), float(share)
    a, b = (rest * decomposition.c + part * x for x in (decomposition.a, decomposition.b))
    return Decomposition(
        a,
        b,
        decomposition.c,
        compounded(decomposition.rel_err, 4.0 * U),
        decomposition.inner and mixed(decomposition.inner, share),
        decomposition.outer and mixed(decomposition.outer, share),
        relation=decomposition.relation,
    )


def _narrow_cells(z: FloatArray, shift: float) -> FloatArray:
    """Return the ends of cells with midpoints in those that are too wide for the quadrature."""
    while True:
        half = 0.5 * np.diff(z)
        centre = np.abs(0.5 * (z[1:] + z[:-1])) + shift
        is_wide = 4.6 * centre * half + 8.3 * half**2 + 8.1 * half * shift > LARGEST_EXPONENT
        if not is_wide.any():
            return z
        z = np.sort(np.append(z, 0.5 * (z[1:] + z[:-1])[is_wide]))


class _Points(NamedTuple):
    """Points of the Gauss–Legendre rule in N cells that begin at ``start``, (N, 1).

    ``step`` and ``rest`` are the distances from both ends of the cell, and ``weight`` is that of
    the rule, (N, POINTS) each.
    """

    start: FloatArray
    step: FloatArray
    rest: FloatArray
    weight: FloatArray

    def masses(self, shift: float) -> FloatArray:
        """Return the masses of N(shift, 1) that the points stand for, (N, POINTS)."""
        x = self.start + self.step - shift
        return np.asarray(np.exp(-0.5 * x * x) * self.weight / math.sqrt(2.0 * math.pi))


def _points_between(z: FloatArray) -> _Points:
    """Return the points of the cells between `z`."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    half = 0.5 * np.diff(z)[:, None]
    return _Points(z[:-1, None], half * (1.0 + points), half * (1.0 - points), half * weights)


def _masses_between(z: FloatArray, shifts: FloatArray) -> tuple[FloatArray, float]:
    """Return masses of N(shift, 1) below, in and above cells, (3, N + 2), and their relative error.

    The cells are narrow enough for the quadrature.
    """
    from scipy.special import ndtr  # takes longer to load than most answers

    rows, points = [], _points_between(z)
    for shift in shifts.tolist():
        tails = ndtr(np.array([z[0] - shift, shift - z[-1]]))
        inside = points.masses(shift).sum(axis=1)
        rows.append(np.concatenate([tails[:1], inside, tails[1:]]))
    size = float(np.abs(z).max() + np.abs(shifts).max())
    # An exponent errs by at most the size of z times the error of z and of the shift.
    return np.array(rows), SUM_ERR + 16.0 * U * size * size + NDTR_ERR


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
