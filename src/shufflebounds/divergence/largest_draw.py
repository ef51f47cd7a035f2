"""An estimate of D(ε) for laws with rare, large values: the largest draw as it is, others normal.

With |G| of the largest of n draws at a value v, the others are draws of the law cut off at |v|;
their sum is taken for normal. The estimates of `saddlepoint` take all of S for nearly normal, which
is far off where few draws count. No bounds: it says where to look.
"""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import law_at

# Standard deviations below 0 from which E X₊ is taken from the first terms of its series.
FAR_BELOW = -5.0

_erfc = np.frompyfunc(math.erfc, 1, 1)


def largest_draw_estimate(decomposition: Decomposition, eps: float, n: int) -> float:
    """Log D(ε), roughly; −inf where D vanishes or nearly so."""
    g = law_at(decomposition, eps)
    if not (g.values.size and g.values.max() > 0.0):
        return -math.inf
    order = np.argsort(np.abs(g.values))
    values, masses = g.values[order], g.masses[order]
    # Of values with the same size, half are taken for larger ones.
    larger = masses.sum() - np.cumsum(masses) + 0.5 * masses
    others = n - 1.0
    with np.errstate(all="ignore"):
        above = _mean_with_others(values, masses, values, others)
        # What losses spread makes no gains.
        gains = np.maximum(values, 0.0)
        above = np.minimum(above, _mean_with_others(values, masses, gains, others))
        total = float(np.nansum(masses * np.exp(-others * larger) * above))
    return math.log(total) + float(g.exponent) * math.log(2.0) if total > 0.0 else -math.inf


def _mean_with_others(
    values: FloatArray, masses: FloatArray, draws: FloatArray, others: float
) -> FloatArray:
    """E (v + R)₊ for each value v, R the sum of the others' draws up to its size."""
    first, second = (np.cumsum(x) - 0.5 * x for x in (masses * draws, masses * draws**2))
    sigma = np.sqrt(others * np.maximum(second - first**2, 0.0))
    return _mean_positive_part(values + others * first, sigma)


def _mean_positive_part(mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """E X₊ of normal X: σ(ϕ(z) + zΦ(z)), z = mean/σ."""
    z = mean / sigma
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    twice_probability = np.asarray(_erfc(np.maximum(-z, -9.0) / math.sqrt(2.0)), dtype=np.float64)
    near = density + 0.5 * z * twice_probability
    tail = density * (1.0 - 3.0 / z**2) / z**2
    return np.where(sigma > 0.0, sigma * np.where(z < FAR_BELOW, tail, near), np.maximum(mean, 0.0))
