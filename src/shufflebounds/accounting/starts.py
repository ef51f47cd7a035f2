"""Where the search for ε begins: roots of estimates of log D − log δ. They bound nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shufflebounds.accounting.problem import Problem, mean_square
from shufflebounds.accounting.root_search import Start
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.saddlepoint import largest_estimate

# Most Newton steps to a root of the estimates of log D − log δ. A typical one takes four.
MAX_START_STEPS = 60
# Relative step of ε after which a start is close enough, as Newton's method squares the error.
LAST_START_STEP = 3e-3
# Distance of log D(0) from log δ at which D(0) is evaluated first, if estimates may be that wrong.
NEAR_ZERO = 0.1


def starts(problems: Sequence[Problem], delta: Sequence[float], end: float) -> list[Start]:
    """Where to look for the smallest ε with D(ε) ≤ δ, in [0, end], of problems differing in n only.

    The start is 0 where even D(0) seems to be small enough.
    """
    directions = problems[0].outer
    n, target = np.array([float(problem.n) for problem in problems]), np.log(np.array(delta))
    eps, slope, doubt = _saddlepoint_roots(directions, n, target, end)
    return list(map(Start, eps.tolist(), slope.tolist(), doubt.tolist()))


def _saddlepoint_roots(
    directions: list[Decomposition], n: FloatArray, target: FloatArray, end: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Roots of the larger saddlepoint estimate, its slopes there, and its errors; shape (P,)."""
    with np.errstate(all="ignore"):
        guess = np.minimum(_normal_eps(directions[0], n, target), 0.9 * end)
        low, high = np.zeros(n.shape), np.full(n.shape, end)
        for _ in range(MAX_START_STEPS):
            estimate = largest_estimate(directions, guess, n)
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
    """The ε > 0 at which log D is `target` if the mean of n draws is normal, and e^ε close to 1."""
    sigma = np.sqrt(mean_square(decomposition) / n)
    z = np.sqrt(-2.0 * target)
    for _ in range(3):
        # E (Z − z)₊ is about ϕ(z)/z².
        square = 2.0 * (np.log(sigma) - target) - math.log(2.0 * math.pi) - 4.0 * np.log(z)
        z = np.sqrt(np.maximum(square, 1.0))
    return np.where(np.isfinite(sigma), z * sigma, sigma)
