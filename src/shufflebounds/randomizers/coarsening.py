"""Joint reports of continuous randomizers in fewer components, at little cost of precision.

The ends of a product, `inner` and `outer`, have a component per pair of components of its factors,
many more than it takes to tell one end from the other. Components lie in the plane at (a/c, b/c),
which is cut into boxes along either axis, narrow where precision is worth most (`stakes`). The
inner end *unites* what a box holds, which is post-processing. The outer end *spreads* it to the
corners of the box, with the means of a/c and b/c kept: a dilation. docs/engine.md, section 5,
proves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded

# What is narrow where decides speed and width only (benchmarks/deployer_grid.py).
#
# Ends this short are left as they are, and so are those that would hardly become shorter.
_FEW, _SHORTER = 6000, 0.95
# How far either end may move, in terms of how far they are apart.
_INNER_SHARE, _OUTER_SHARE = 1.5, 3.0
# Orders s of Σ a (a/b)^s, and θ times the largest a/c, that are looked at.
_ORDERS, _TILTS = tuple(2.0**k for k in range(-6, 10)), tuple(2.0**k for k in range(9))
# Nobody asks for more.
_FLOOR = 1e-9
# Where costs are told apart along an axis; what share of strips has an even width; and the most.
_BINS, _EVENLY = 64, 0.2
_MOST_STRIPS = 2**12
# No strip is wider, in logarithms: shares of masses at corners keep within floats.
_WIDEST = 4.0
# Ratios no further apart differ by rounding.
_EQUAL = 1e-11
# Beyond, masses at the corners or squares of ratios might not fit in floats.
_SMALLEST_MASS, _WIDEST_RATIO = 1e-250, 1e70
# Components this close to their own mirror image belong to both halves of a symmetric law. None may
# be only about so close, or its own image might be on the other side of the limit.
_ON_THE_AXIS, _DOUBTFUL = 1e-9, 1.01
_U = 2.0**-53

# Fewer masses a, b, c, shape (3, J), and their rounding, from masses and costs as in `Strips.of`.
_Coarsen = Callable[[FloatArray, FloatArray], tuple[FloatArray, float]]


def coarsened(joint: Decomposition) -> Decomposition:
    """The same with fewer components in both ends, which then lie hardly further apart.

    As it is where the arrays are the whole truth, and where components are few or masses 0 or
    so small that nothing is gained.
    """
    bounds = joint.bounds()
    if joint.is_finite() or max(map(len, bounds)) <= _FEW:
        return joint
    inner, outer = (np.stack([end.a, end.b, end.c]) for end in bounds)
    for masses in (inner, outer):
        if masses.min() < _SMALLEST_MASS or masses[:2].max() / masses.min() > _WIDEST_RATIO:
            return joint
    distance = _distance(inner, outer)
    symmetric = joint.is_symmetric()
    below, above = (
        _shorter(end, stakes(masses) / (share * distance), coarsen, symmetric=symmetric)
        for end, masses, share, coarsen in (
            (bounds[0], inner, _INNER_SHARE, _united),
            (bounds[1], outer, _OUTER_SHARE, _spread),
        )
    )
    if joint.inner is None:
        return Decomposition(below.a, below.b, below.c, below.rel_err, outer=above)
    return Decomposition(above.a, above.b, above.c, above.rel_err, inner=below)


def stakes(masses: FloatArray) -> FloatArray:
    """What precision of each component's a/c and b/c is worth, shape (J,), for a, b, c > 0.

    The share of the component, the largest over laws that different questions look at: few users at
    a (a/b)^s, many at the squares of the values, or at these tilted by e^{θ a/c}.
    """
    found = np.zeros(masses.shape[1])
    for a, b, c in (masses, masses[[1, 0, 2]]):
        losses, x = np.log(a / b), a / c
        losses, x = losses - losses.max(), x / x.max()
        laws = [a * np.exp(order * losses) for order in _ORDERS]
        laws += [(a - b) ** 2 / c, *(a * x * np.exp(tilt * (x - 1.0)) for tilt in _TILTS)]
        for law in laws:
            np.maximum(found, law / (law.sum() or 1.0), out=found)
    return found


def _distance(inner: FloatArray, outer: FloatArray) -> float:
    """How far the ends are apart: in Σ(a − b)²/c, relatively, which is what many users look at."""
    below, above = (float(np.sum((a - b) ** 2 / c)) for a, b, c in (inner, outer))
    return max(above / below - 1.0, _FLOOR) * min(below, 1.0)


def _shorter(
    end: Decomposition, costs: FloatArray, coarsen: _Coarsen, *, symmetric: bool
) -> Decomposition:
    """One end by itself, coarser if that makes it much shorter."""
    masses, rel_err = np.stack([end.a, end.b, end.c]), end.rel_err
    distances = np.abs(end.a - end.b) / (_ON_THE_AXIS * end.a)
    doubtful = (distances > 1.0 / _DOUBTFUL) & (distances < _DOUBTFUL)
    symmetric = symmetric and not doubtful.any()
    if symmetric:
        # The law is one half and its mirror image, so that what bounds the half does for both.
        on_the_axis = distances <= 1.0
        half = on_the_axis | (end.a > end.b)
        share = np.where(on_the_axis, 0.5, 1.0)[half]
        masses, costs = masses[:, half] * share, costs[half] * (2.0 * share)
        rel_err = compounded(rel_err, 2.0 * end.asymmetry)
    masses, rounding = coarsen(masses, costs)
    if symmetric:
        masses = np.concatenate([masses, masses[[1, 0, 2]]], axis=1)
    if masses.shape[1] > _SHORTER * len(end):
        return Decomposition(end.a, end.b, end.c, end.rel_err)
    a, b, c = masses
    return Decomposition(a, b, c, compounded(rel_err, rounding)).merge()


def _united(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """What the boxes hold."""
    # The mean square distance from the mean of an interval is a twelfth of its square.
    x, y = (Strips.of(ratios, costs / 12.0) for ratios in masses[:2] / masses[2])
    return _sums(x.strip * y.borders.size + y.strip, masses)


def _spread(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """What the corners of the boxes hold."""
    c = masses[2]
    # It is a sixth where masses are moved to its ends.
    x, y = (Strips.of(ratios, costs / 6.0) for ratios in masses[:2] / c)
    (columns, p), (rows, q) = x.ends(), y.ends()
    places = columns[:, None] * y.borders.size + rows
    shares = p[:, None] * q * c
    used = shares > 0.0
    at, labels = np.unique(places[used], return_inverse=True)
    (at_corners,), rounding = _sums(labels, shares[used][None])
    column, row = np.divmod(at, y.borders.size)
    found = np.stack([x.borders[column] * at_corners, y.borders[row] * at_corners, at_corners])
    return found, compounded(x.off, y.off, rounding)


def _sums(places: NDArray[np.int64], rows: FloatArray) -> tuple[FloatArray, float]:
    """Of each row over equal places, and their rounding: terms are good to a dozen roundings."""
    labels = np.unique(places, return_inverse=True)[1]
    # NumPy's stubs have bincount count, whether there are weights or not.
    sums = np.stack([np.bincount(labels, weights=row) for row in rows]).astype(np.float64)
    return sums, (12.0 + float(np.bincount(labels).max())) * _U


@dataclass(frozen=True)
class Strips:
    """Strips along an axis: component j of ratio ``ratios[j]`` is in ``strip[j]``.

    That is between its border of the same number and the next one. Where ratios differ by rounding
    only, there is one border, and no ratio is further from it than ``off``, relatively.
    """

    ratios: FloatArray
    borders: FloatArray
    strip: NDArray[np.int64]
    off: float = 0.0

    @staticmethod
    def of(ratios: FloatArray, costs: FloatArray) -> Strips:
        """Of positive ratios.

        `costs` are what components cost in a strip that is wide by one, in logarithms; they grow
        with the square of the width, and sum to about 1/2.
        """
        least, largest = float(ratios.min()), float(ratios.max())
        if largest - least <= _EQUAL * least:
            strip = np.zeros(ratios.size, dtype=np.int64)
            return Strips(ratios, np.array([least]), strip, (largest - least) / least)
        span = math.log(largest / least)
        places = np.log(ratios / least) / span
        weights, edges = np.histogram(places, _BINS, (0.0, 1.0), weights=costs)
        # The sum of costs times squared widths is least for a density of borders like the cube
        # root of that of costs.
        density = np.cbrt(weights)
        total = float(density.sum())
        wanted = span / _BINS * math.sqrt(2.0 * total * total * total) / (1.0 - _EVENLY)
        wanted = max(min(wanted, _MOST_STRIPS), span / (_WIDEST * _EVENLY))
        shares = (1.0 - _EVENLY) * density / (total or 1.0) + _EVENLY / _BINS
        reached = np.append(0.0, np.cumsum(shares))
        cuts = np.linspace(0.0, reached[-1], math.ceil(wanted) + 1)[1:-1]
        between = least * np.exp(np.interp(cuts, reached, edges) * span)
        borders = np.unique(np.clip([least, *between, largest], least, largest))
        return Strips(ratios, borders, np.searchsorted(borders[1:-1], ratios, side="right"))

    def ends(self) -> tuple[NDArray[np.int64], FloatArray]:
        """Numbers of the borders that each component goes to, and its shares, whose mean it is."""
        if self.borders.size == 1:
            return self.strip[None], np.ones((1, self.strip.size))
        below, above = self.borders[self.strip], self.borders[self.strip + 1]
        share = (self.ratios - below) / (above - below)
        return np.stack([self.strip, self.strip + 1]), np.stack([1.0 - share, share])
