"""Convex polygons over a lattice e^{iΔ}, and the masses of their kinks.

H(x) = Σ p_j (1 − x e^{−L_j})₊ + p_∞ has a kink at each e^{L_j}, where its slope rises by
p_j e^{−L_j}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray


def hull(points: FloatArray, heights: FloatArray) -> NDArray[np.int64]:
    """Indices of the vertices of the lower convex hull of points in ascending order.

    Both arrays have shape (J,). The first and the last point are always vertices.
    """
    x, y = (points - points[0]).tolist(), heights.tolist()
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            if (y[k] - y[j]) * (x[i] - x[k]) < (y[i] - y[k]) * (x[k] - x[j]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, dtype=np.int64)


def kinks(losses: FloatArray, heights: FloatArray) -> FloatArray:
    """P-masses at all `losses` (J,) but the first of a polygon, constant beyond the last.

    The losses are natural logs of the points at which the polygon has these heights. To within
    rounding, where slopes rise; 0 where they fall.
    """
    width = np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    slopes = np.diff(heights) / width
    return np.maximum(np.diff(slopes, append=0.0), 0.0) * np.exp(losses[1:])


def curve(losses: FloatArray, masses: FloatArray, infinite: float) -> FloatArray:
    """H at each of the losses (J,), of P-masses (J − 1,) at all but the first, and p_∞.

    Sums of sums of positive terms: the relative error is at most (2J + 16)u, u = 2⁻⁵³.
    """
    falls = np.cumsum((masses * np.exp(-losses[1:]))[::-1])[::-1]
    drops = falls * np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    return np.append(np.cumsum(drops[::-1])[::-1], 0.0) + infinite
