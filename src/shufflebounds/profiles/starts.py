"""Where the search for ε begins: roots of estimates of log D − log δ. They bound nothing."""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.profiles.root_search import Start

# Most Newton steps to a root of the estimates of log D − log δ. A typical one takes four.
MAX_START_STEPS = 60
# Relative step of ε after which a start is close enough, as Newton's method squares the error.
LAST_START_STEP = 3e-3
# Distance of log D(0) from log δ at which D(0) is evaluated first, if estimates may be that wrong.
NEAR_ZERO = 0.1


def starts(
    decomposition: Decomposition, n: FloatArray, delta: FloatArray, end: float
) -> list[Start]:
    """Return where to look in [0, end] for the smallest ε with D(ε) ≤ δ, of each n and δ, (P,).

    The start is 0 where even D(0) seems to be small enough.
    """
    target = np.log(delta)
    eps, slope, doubt = _saddlepoint_roots(decomposition, n, target, end)
    rows = zip(*(x.tolist() for x in (eps, slope, doubt)), strict=True)
    return [Start(*row) for row in rows]


def _saddlepoint_roots(
    decomposition: Decomposition, n: FloatArray, target: FloatArray, end: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return roots of the saddlepoint estimate, its slopes there, and its errors; shape (P,)."""
    with np.errstate(all="ignore"):
        guess = np.minimum(_normal_eps(decomposition, n, target), 0.9 * end)
        low, high = np.zeros(n.shape), np.full(n.shape, end)
        for _ in range(MAX_START_STEPS):
            estimate = log_estimate(decomposition, guess, n)
            excess = estimate.log - target
            low, high = np.where(excess > 0.0, guess, low), np.where(excess > 0.0, high, guess)
            newton = guess - excess / estimate.slope
            is_close = np.abs(newton - guess) <= LAST_START_STEP * guess
            # Even D(0) is close to δ, for all that estimates can tell.
            margin = np.minimum(estimate.doubt, NEAR_ZERO)
            is_zero = (guess == 0.0) & (excess <= margin)
            is_zero |= is_close & (-estimate.slope * newton <= margin)
            is_inside = (low < newton) & (newton < high)
            following = np.where(is_close | is_inside, newton, 0.5 * (low + high))
            # Where a step leads below 0, D(0) tells whether it had better be 0.
            is_below = (newton <= 0.0) & (low == 0.0) & (guess > 0.0)
            guess = np.where(is_zero | is_below, 0.0, following)
            if (is_close | is_zero).all():
                break
    return guess, estimate.slope, estimate.doubt


def _normal_eps(decomposition: Decomposition, n: FloatArray, target: FloatArray) -> FloatArray:
    """Return ε > 0 where log D is `target` if the mean of n draws is normal and e^ε close to 1."""
    sigma = np.sqrt(mean_square(decomposition) / n)
    z = np.sqrt(-2.0 * target)
    for _ in range(3):
        # E (Z − z)₊ is about ϕ(z)/z².
        square = 2.0 * (np.log(sigma) - target) - math.log(2.0 * math.pi) - 4.0 * np.log(z)
        z = np.sqrt(np.maximum(square, 1.0))
    return np.where(np.isfinite(sigma), z * sigma, sigma)


def mean_square(decomposition: Decomposition) -> float:
    """Return E G² at ε = 0, which is the variance of G."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        return float(masses @ values**2)
