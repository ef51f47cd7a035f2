"""Where the search for ε begins: roots of estimates of log D − log δ. They bound nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shufflebounds.accounting.problem import Problem, mean_square
from shufflebounds.accounting.root_search import Start
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.largest_draw import largest_draw_estimate
from shufflebounds.divergence.saddlepoint import largest_estimate

# Most Newton steps to a root of the estimates of log D − log δ. A typical one takes four.
MAX_START_STEPS = 60
# Relative step of ε after which a start is close enough, as Newton's method squares the error.
LAST_START_STEP = 3e-3
# Error of the saddlepoint estimate of log D beyond which the estimate by the largest draw is used.
LARGEST_DOUBT = 2.0
# Error of the estimate of log D by the largest draw.
LARGEST_DRAW_DOUBT = 0.3
# Distance of log D(0) from log δ at which D(0) is evaluated first, if estimates may be that wrong.
NEAR_ZERO = 0.1
# Halvings of log ε in search of the root of the estimate by the largest draw.
LARGEST_DRAW_STEPS = 16
# Smallest ε but 0 at which the largest draw is looked at.
SMALLEST_START = 1e-14


def starts(problems: Sequence[Problem], delta: Sequence[float], end: float) -> list[Start]:
    """Where to look for the smallest ε with D(ε) ≤ δ, in [0, end], of problems differing in n only.

    The start is 0 where even D(0) seems to be small enough.
    """
    directions = problems[0].outer
    n, target = np.array([float(problem.n) for problem in problems]), np.log(np.array(delta))
    eps, slope, doubt = _saddlepoint_roots(directions, n, target, end)
    rows = zip(problems, delta, eps.tolist(), slope.tolist(), doubt.tolist(), strict=True)
    return [
        Start(*start)
        if start[2] < LARGEST_DOUBT or not start[0] < end
        else _largest_draw_start(directions, problem.n, math.log(target_delta), end, start[1])
        for problem, target_delta, *start in rows
    ]


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


def _largest_draw_start(
    directions: list[Decomposition], n: int, target: float, end: float, slope: float
) -> Start:
    """From the root of the estimates that see rare, large draws, by halving in log ε."""

    def excess(eps: float) -> float:
        return max(largest_draw_estimate(outer, eps, n) for outer in directions) - target

    low, high = min(SMALLEST_START, 0.5 * end), end
    if excess(low) <= 0.0:
        return Start(0.0, slope, LARGEST_DRAW_DOUBT)
    if excess(high) > 0.0:
        return Start(high, slope, math.inf)
    for _ in range(LARGEST_DRAW_STEPS):
        middle = low * math.sqrt(high / low)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    above, below = excess(low), excess(high)
    slope = (below - above) / (high - low) if math.isfinite(below) else slope
    return Start(low, slope, LARGEST_DRAW_DOUBT)
