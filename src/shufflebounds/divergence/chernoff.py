"""Chernoff's bound of the divergence: hardly ever close, and cheap."""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.divergence.enclosing import enclose
from shufflebounds.divergence.fourier import unscaled
from shufflebounds.divergence.law import Law, U, log_mgf, tilting_point


def ceiling(decomposition: Decomposition, eps: float, n: int) -> float:
    """An upper bound of D(ε) of (a, b, c), in this one direction: x₊ ≤ e^{θx}/(eθ).

    Raises ValueError for eps < 0 or n < 1.
    """
    return enclose(decomposition, eps, n, 0.0, _log_bounds).upper


def _log_bounds(g: Law, n: int, rtol: float) -> tuple[float, float]:
    if not (g.values.max(initial=0.0) > 0.0 and np.isfinite(g.value_err).all()):
        return -math.inf, math.inf
    theta = tilting_point(g, n)
    k, err = (float(x[0]) for x in log_mgf(g, np.array([theta])))
    log_high = n * k - 1.0 - math.log(theta)
    log_high += n * err + 8.0 * U * (n * abs(k) + 2.0 + abs(math.log(theta)))
    return unscaled(-math.inf, log_high, g.exponent)
