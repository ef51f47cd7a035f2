"""Joint reports of continuous randomizers in fewer components, at little cost of precision.

The ends of a product, `inner` and `outer`, have a component per pair of components of its factors,
many more than it takes to tell one end from the other. Components lie in the plane at (a/c, b/c),
which is cut into `boxes`, small where precision is worth most (`stakes`). The inner end *unites*
what a box holds, which is post-processing. The outer end *spreads* it to the corners of the box,
with the means of a/c and b/c kept: a dilation. docs/engine.md, section 5, proves both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.randomizers.composed.boxes import STRIPS, corners, cut
from shufflebounds.randomizers.composed.stakes import stakes
from shufflebounds.uncertainty import compounded

# Ends this short are left as they are, and so are those that would hardly become shorter. Fewer
# boxes than this save nothing.
_FEW, _SHORTER, _LEAST_BOXES = 6000, 0.95, 2000
# How far either end may move, in terms of how far they are apart at most. That is a sum of worst
# cases: by 2.1e-5 at most were they found to move apart, relatively in ε (docs/engine.md).
_INNER_SHARE, _OUTER_SHARE = 0.3, 0.6
# Beyond, masses at the corners or squares of ratios might not fit in floats.
_SMALLEST_MASS, _WIDEST_RATIO = 1e-250, 1e70
# Components this close to their own mirror image belong to both halves of a symmetric law. None may
# be only about so close, or its own image might be on the other side of the limit.
_ON_THE_AXIS, _DOUBTFUL = 1e-9, 1.01
_U = 2.0**-53

# Fewer masses a, b, c, shape (3, J), and their rounding, from masses and costs as in `cut`.
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
    found = stakes(inner, outer)
    symmetric = joint.is_symmetric()
    below = _shorter(
        bounds[0], found.inner / (_INNER_SHARE * found.distance), _united, symmetric=symmetric
    )
    above = _shorter(
        bounds[1], found.outer / (_OUTER_SHARE * found.distance), _spread, symmetric=symmetric
    )
    if joint.inner is None:
        return Decomposition(below.a, below.b, below.c, below.rel_err, outer=above)
    return Decomposition(above.a, above.b, above.c, above.rel_err, inner=below)


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
        masses, costs = masses[:, half] * share, costs[:, half] * (2.0 * share)
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
    labels = cut(masses[:2] / masses[2], costs / 12.0, _LEAST_BOXES).labels
    return _sums(labels, masses), _rounding(labels)


def _spread(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """What the corners of the boxes hold."""
    c = masses[2]
    # It is a sixth where masses are moved to its ends.
    sides = cut(masses[:2] / c, costs / 6.0, _LEAST_BOXES).sides
    places, shares = corners(sides)
    used = shares > 0.0
    numbers, labels = np.unique(places[used], return_inverse=True)
    x, y = (
        side.borders[number]
        for side, number in zip(sides, np.divmod(numbers, STRIPS + 1), strict=True)
    )
    at_corners = _sums(labels, (shares * c)[used][None])[0]
    rounding = compounded(*(side.spread for side in sides), _rounding(labels))
    return np.stack([x * at_corners, y * at_corners, at_corners]), rounding


def _sums(labels: NDArray[np.int64], rows: FloatArray) -> FloatArray:
    """Of each row over equal labels."""
    return np.stack([np.bincount(labels, weights=row) for row in rows])


def _rounding(labels: NDArray[np.int64]) -> float:
    """Relatively, of sums of positive terms that are good to a dozen roundings each."""
    return (12.0 + float(np.bincount(labels).max())) * _U
