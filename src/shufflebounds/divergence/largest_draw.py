"""An estimate of D(ε) for laws with rare, large values: the largest draw as it is, others normal.

With |G| of the largest of n draws at a value v, the others are draws of the law cut off at |v|;
their sum is taken for normal. The saddlepoint estimates of `estimates` take all of S for nearly
normal, which is far off where few draws count. No bounds: it says where to look.
"""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.law import law

# Abramowitz and Stegun, 7.1.26: erfc, good to 10⁻⁷.
_P = 0.3275911
_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
# Deviations from which the tail's own series is better.
_FAR = 5.0


def log_estimate(decomposition: Decomposition, eps: float, n: int) -> float:
    """Log D(ε), roughly; −inf where D vanishes or nearly so."""
    g = law(decomposition, eps)
    if not (g.values.size and g.values.max() > 0.0):
        return -math.inf
    size = np.abs(g.values)
    order = np.argsort(size)
    size, values, masses = size[order], g.values[order], g.masses[order]
    # Of values with the same size, half are taken for larger ones.
    larger = masses.sum() - np.cumsum(masses) + 0.5 * masses
    others = n - 1.0
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        above = _above(values, masses, values, others)
        # What losses spread makes no gains.
        above = np.minimum(above, _above(values, masses, np.maximum(values, 0.0), others))
        total = float(np.nansum(masses * np.exp(-others * larger) * above))
    return math.log(total) + g.exponent * math.log(2.0) if total > 0.0 else -math.inf


def _above(values: FloatArray, masses: FloatArray, draws: FloatArray, others: float) -> FloatArray:
    """E (v + R)₊ for each value v, R the sum of the others' draws up to its size."""
    first, second = (np.cumsum(x) - 0.5 * x for x in (masses * draws, masses * draws**2))
    sigma = np.sqrt(others * np.maximum(second - first**2, 0.0))
    return _mean_positive_part(values + others * first, sigma)


def _mean_positive_part(mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """E X₊ of normal X: σ(ϕ(z) + zΦ(z)), z = mean/σ."""
    z = np.abs(mean) / sigma
    t = 1.0 / (1.0 + _P * z / math.sqrt(2.0))
    mills = math.sqrt(math.pi / 2.0) * t * np.polyval(_A[::-1], t)
    share = np.where(z < _FAR, 1.0 - z * mills, (1.0 - 3.0 / z**2) / z**2)
    tail = sigma * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * share
    return np.maximum(mean, 0.0) + np.where(sigma > 0.0, np.maximum(tail, 0.0), 0.0)
