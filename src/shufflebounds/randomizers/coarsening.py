"""Joint reports of continuous randomizers in fewer components, with little loss of precision.

The ends of a product, `inner` and `outer`, have a component for each pair of components of its
factors, which are many more than the distance of the ends requires. A component lies in the plane
at (a/c, b/c). The plane is cut into boxes by strips along both axes, which are narrow where
precision matters most (`stakes`). The inner end *unites* the components of a box, which is
post-processing. The outer end *spreads* them to the corners of the box and keeps the means of a/c
and b/c, which is a dilation. docs/proofs/engine.md, section 5, proves both. Where boxes are narrow
affects speed and width only (benchmarks/deployer_grid.py).

A symmetric law consists of a half and its mirror image. Only the half is coarsened, so that the
result is symmetric, too, and has fewer components.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import NEARLY_EQUAL, FloatArray, U, compounded

# Largest number of components of an end that is not coarsened. Speed and width only.
_MAX_EXACT_COMPONENTS = 6000
# Square of the width of strips, in units of the distance between the ends. The mean square distance
# from the mean of an interval is a twelfth of its square, and a sixth if masses are moved to its
# ends. So the inner end moves by 1.5 of the units, and the outer end by 3. Width only.
_SQUARED_WIDTH = 18.0
# Orders s of the laws a (a/b)^s at which `stakes` evaluates components. Width only.
_ORDERS = tuple(2.0**k for k in range(-6, 10))
# Tilts θ, in units of 1 over the largest a/c, at which `stakes` evaluates components. Width only.
_TILTS = tuple(2.0**k for k in range(9))
# Smallest relative distance of the ends that matters: no question has a smaller rtol.
_MIN_DISTANCE = 1e-9
# Number of bins along an axis in which costs are added up to place borders. Width only.
_BINS = 64
# Share of the strips that are distributed evenly along an axis. Width only.
_EVEN_SHARE = 0.2
# Largest width of a strip (natural logarithm): shares of masses at corners stay within floats.
_MAX_STRIP_WIDTH = 4.0
# Smallest mass of ends that are coarsened: powers of ratios a/c of smaller ones might overflow.
_MIN_MASS = 1e-70
# Largest relative difference |a − b|/a of components that count as their own mirror image, and
# belong to both halves of a symmetric law.
_AXIS_WIDTH = 1e-9
# If a difference is within this factor of `_AXIS_WIDTH`, the component's image might be on the
# other side of the limit, and the law is not halved.
_DOUBTFUL_FACTOR = 1.01

# A function that maps masses a, b, c, shape (3, J), and costs of `Strips.of` to fewer masses and
# their relative error.
_Coarsen = Callable[[FloatArray, FloatArray], tuple[FloatArray, float]]


def coarsened(joint: Decomposition) -> Decomposition:
    """Return the decomposition with fewer components in both ends and almost the same distance.

    It is returned unchanged if it is finite (`Decomposition.is_finite`), if components are few, and
    if a mass is 0 or very small.
    """
    bounds = joint.bounds()
    if joint.is_finite() or max(map(len, bounds)) <= _MAX_EXACT_COMPONENTS:
        return joint
    inner, outer = (np.stack([end.a, end.b, end.c]) for end in bounds)
    if min(inner.min(), outer.min()) < _MIN_MASS:
        return joint
    distance, symmetric = _end_distance(inner, outer), joint.is_symmetric()
    below, above = (
        _shorten_end(
            end, stakes(masses) / (_SQUARED_WIDTH * distance), coarsen, symmetric=symmetric
        )
        for end, masses, coarsen in (
            (bounds[0], inner, _unite_boxes),
            (bounds[1], outer, _spread_to_corners),
        )
    )
    if joint.inner is None:
        return Decomposition(below.a, below.b, below.c, below.rel_err, outer=above)
    return Decomposition(above.a, above.b, above.c, above.rel_err, inner=below)


def stakes(masses: FloatArray) -> FloatArray:
    """Return how much the precision of each component's a/c and b/c matters, shape (J,).

    It is the largest share of the component in the laws on which questions depend: a (a/b)^s for
    few users, and (a − b)²/c or a²/c tilted by e^{θ a/c} for many. All a, b, c must be positive.
    """
    shares = np.zeros(masses.shape[1])
    for a, b, c in (masses, masses[[1, 0, 2]]):
        losses, x = np.log(a / b), a / c
        losses, x = losses - losses.max(), x / x.max()
        laws = [a * np.exp(order * losses) for order in _ORDERS]
        laws += [(a - b) ** 2 / c, *(a * x * np.exp(tilt * (x - 1.0)) for tilt in _TILTS)]
        for law in laws:
            np.maximum(shares, law / (law.sum() or 1.0), out=shares)
    return shares


def _end_distance(inner: FloatArray, outer: FloatArray) -> float:
    """Return the relative distance of the ends in Σ(a − b)²/c, which decides for many users."""
    below, above = (float(np.sum((a - b) ** 2 / c)) for a, b, c in (inner, outer))
    return max(above / below - 1.0, _MIN_DISTANCE) * min(below, 1.0)


def _shorten_end(
    end: Decomposition, costs: FloatArray, coarsen: _Coarsen, *, symmetric: bool
) -> Decomposition:
    """Return an end as a decomposition of its own, with fewer components if that is possible."""
    masses, rel_err = np.stack([end.a, end.b, end.c]), end.rel_err
    distances = np.abs(end.a - end.b) / (_AXIS_WIDTH * end.a)
    doubtful = (distances > 1.0 / _DOUBTFUL_FACTOR) & (distances < _DOUBTFUL_FACTOR)
    symmetric = symmetric and not doubtful.any()
    if symmetric:
        on_the_axis = distances <= 1.0
        half = on_the_axis | (end.a > end.b)
        share = np.where(on_the_axis, 0.5, 1.0)[half]
        masses, costs = masses[:, half] * share, costs[half] * (2.0 * share)
        rel_err = compounded(rel_err, 2.0 * end.asymmetry)
    masses, rounding = coarsen(masses, costs)
    if symmetric:
        masses = np.concatenate([masses, masses[[1, 0, 2]]], axis=1)
    a, b, c = masses
    if a.size >= len(end):
        return Decomposition(end.a, end.b, end.c, end.rel_err)
    return Decomposition(a, b, c, compounded(rel_err, rounding)).merge()


def _unite_boxes(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """Return the sums of the masses in each box, and their relative error."""
    x, y = (Strips.of(ratios, costs) for ratios in masses[:2] / masses[2])
    return _sums_at_positions(x.strip * y.borders.size + y.strip, masses)


def _spread_to_corners(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """Return the masses a, b, c at the corners of the boxes, and their relative error."""
    x, y = (Strips.of(ratios, costs) for ratios in masses[:2] / masses[2])
    (columns, p), (rows, q) = x.ends(), y.ends()
    places = columns[:, None] * y.borders.size + rows
    shares = p[:, None] * q * masses[2]
    used = shares > 0.0
    corners, labels = np.unique(places[used], return_inverse=True)
    (at_corners,), rounding = _sums_at_positions(labels, shares[used][None])
    column, row = np.divmod(corners, y.borders.size)
    spread = np.stack([x.borders[column] * at_corners, y.borders[row] * at_corners, at_corners])
    return spread, compounded(x.max_error, y.max_error, rounding)


def _sums_at_positions(places: NDArray[np.int64], rows: FloatArray) -> tuple[FloatArray, float]:
    """Return the sums of each row over equal places, and their relative error.

    A term may have a dozen roundings itself.
    """
    labels = np.unique(places, return_inverse=True)[1]
    # NumPy's stubs say that bincount returns integers, which is wrong with weights.
    sums = np.stack([np.bincount(labels, weights=row) for row in rows]).astype(np.float64)
    return sums, (12.0 + float(np.bincount(labels).max())) * U


@dataclass(frozen=True, eq=False)
class Strips:
    """Strips along an axis: component j of ratio ``ratios[j]`` is in the strip ``strip[j]``.

    Strip k is between the borders k and k + 1. If all ratios differ by rounding only, there is one
    border, and ``max_error`` is the largest relative distance of a ratio from it.
    """

    ratios: FloatArray
    borders: FloatArray
    strip: NDArray[np.int64]
    max_error: float = 0.0

    @staticmethod
    def of(ratios: FloatArray, costs: FloatArray) -> Strips:
        """Return strips of positive ratios whose costs add up to about 1/2.

        The cost of a component is `costs` times the square of the width of its strip, which is a
        difference of natural logarithms.
        """
        smallest, largest = float(ratios.min()), float(ratios.max())
        if largest - smallest <= NEARLY_EQUAL * smallest:
            strip = np.zeros(ratios.size, dtype=np.int64)
            return Strips(ratios, np.array([smallest]), strip, (largest - smallest) / smallest)
        span = math.log(largest / smallest)
        places = np.log(ratios / smallest) / span
        weights, edges = np.histogram(places, _BINS, (0.0, 1.0), weights=costs)
        # The total cost is smallest if the density of borders is proportional to the cube root of
        # the density of costs.
        density = np.cbrt(weights)
        total = float(density.sum())
        count = span / _BINS * math.sqrt(2.0 * total * total * total) / (1.0 - _EVEN_SHARE)
        count = max(min(count, ratios.size), span / (_MAX_STRIP_WIDTH * _EVEN_SHARE))
        shares = (1.0 - _EVEN_SHARE) * density / (total or 1.0) + _EVEN_SHARE / _BINS
        cumulative = np.append(0.0, np.cumsum(shares))
        cuts = np.linspace(0.0, cumulative[-1], math.ceil(count) + 1)[1:-1]
        inner_borders = smallest * np.exp(np.interp(cuts, cumulative, edges) * span)
        borders = np.unique(np.clip([smallest, *inner_borders, largest], smallest, largest))
        return Strips(ratios, borders, np.searchsorted(borders[1:-1], ratios, side="right"))

    def ends(self) -> tuple[NDArray[np.int64], FloatArray]:
        """Return for each component the two borders of its strip, and its shares at them.

        The shares keep the mean of the ratio. Both arrays have shape (2, J), or (1, J) if there is
        one border.
        """
        if self.borders.size == 1:
            return self.strip[None], np.ones((1, self.strip.size))
        below, above = self.borders[self.strip], self.borders[self.strip + 1]
        share = (self.ratios - below) / (above - below)
        return np.stack([self.strip, self.strip + 1]), np.stack([1.0 - share, share])
