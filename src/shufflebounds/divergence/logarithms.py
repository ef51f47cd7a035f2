"""Logarithms of divergences that may be far too small for floats."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.certified import log_bounds
from shufflebounds.divergence.enclosing import excess, trivial_bounds
from shufflebounds.divergence.law import U, law
from shufflebounds.divergence.stacked import stacked
from shufflebounds.floats import log

# Beyond so many components the points are better off one by one.
_MOST_COMPONENTS = 512
# What misses its aim by less is not computed again.
_ENOUGH = 2.0
# Floats below it are left to the logarithms.
_SMALLEST = 1e-290
# e^ε must stay a float.
_LARGEST_EPS = 690.0


def log_divergences(
    decomposition: Decomposition, eps: FloatArray, n: int, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of log D(ε) of (a, b, c), in this one direction, at ε ≥ 0.

    The bounds have the shape (P,) of `eps`; −inf where D is, or cannot be told from, 0. They aim
    at a distance of `rtol`, (P,) too, and hold whether they reach it or not.
    """
    within = np.minimum(eps, _LARGEST_EPS)
    low, high = np.full(eps.shape, -np.inf), np.zeros(eps.shape)
    wide = np.ones(eps.shape, dtype=np.bool_)
    if len(decomposition) <= _MOST_COMPONENTS:
        users = np.full(eps.shape, float(n))
        lower, upper = stacked(decomposition, within, users, rtol)
        with np.errstate(divide="ignore"):
            # A logarithm is off by an ulp, which is at most 2u times 700.
            low, high = np.log(lower) - 1500.0 * U, np.minimum(np.log(upper) + 1500.0 * U, 0.0)
        wide = (upper > 0.0) & ~((upper - lower <= _ENOUGH * rtol * upper) & (lower > _SMALLEST))
    for i in np.flatnonzero(wide):
        low[i], high[i] = log_divergence(decomposition, float(within[i]), n, float(rtol[i]))
    # D falls: what is known at one ε bounds it at others.
    low[eps > _LARGEST_EPS] = -np.inf
    return low, high


def log_divergence(
    decomposition: Decomposition, eps: float, n: int, rtol: float
) -> tuple[float, float]:
    """Bounds of log D(ε) at one ε, 0 ≤ ε ≤ 690; see `enclosing.enclose`, whose bounds they are."""
    growth = np.array([[math.expm1(eps)]])
    alone = decomposition.c == 0.0
    apart = (float(x[0]) for x in excess(decomposition, growth, alone))
    low, high = (
        float(x[0]) for x in trivial_bounds(decomposition, growth, np.array([float(n)]), ~alone)
    )
    ends = -math.inf, math.inf
    if high - low > rtol * high:
        with contextlib.suppress(OverflowError):  # values too far apart for floats
            ends = log_bounds(law(decomposition, eps), n, rtol)
    each = (
        max(log(low), ends[0] - math.log(n)),
        min(log(high), ends[1] - math.log(n)),
    )
    sums = [
        float(np.logaddexp(log(part), end)) if end < math.inf else math.inf
        for part, end in zip(apart, each, strict=True)
    ]
    lower, upper = (
        end + side * 16.0 * U * (1.0 + abs(end)) if math.isfinite(end) else end
        for side, end in zip((-1.0, 1.0), sums, strict=True)
    )
    return (-math.inf if math.isnan(lower) else lower), (0.0 if math.isnan(upper) else upper)
