"""Where the search for ε begins: roots of estimates of log D − log δ, certified by nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

from shufflebounds.accounting.problem import Problem

# The last step of Newton's method with plain estimates, relatively; better ones follow, so often,
# as long as they agree so far.
_LAST_STEP, _REFINED, _CLOSE = 1e-3, 2, 0.1


class Start(NamedTuple):
    """A guess of ε, the derivative of log D there, and by how much D there may be off δ."""

    eps: float
    slope: float
    doubt: float


def start_of(problem: Problem, delta: float, end: float) -> Start:
    """From the root of the estimated log D − log δ; 0 where even D(0) seems to be small enough."""
    target = math.log(delta)
    guess, slope = _saddle_root(problem, delta, end)
    doubt = math.inf
    for _ in range(_REFINED):
        if not 0.0 < guess < end:
            break
        log, slope, doubt = problem.refined_estimate(guess)
        step = (log - target) / slope if slope < 0.0 else math.nan
        if not abs(step) < _CLOSE * guess:
            break
        guess -= step
    return Start(guess, slope, doubt)


def _saddle_root(problem: Problem, delta: float, end: float) -> tuple[float, float]:
    """Root of the saddlepoint estimates, to about four digits, and the slope there."""
    target, low, high = math.log(delta), 0.0, end
    guess, slope = min(problem.typical_eps(delta), 0.9 * end), -1.0
    for _ in range(60):
        value, slope = problem.estimate(guess)
        low, high = (guess, high) if value > target else (low, guess)
        newton = guess - (value - target) / slope if slope < 0.0 else math.nan
        if abs(newton - guess) <= _LAST_STEP * guess:
            return newton, slope
        if newton <= 0.0 == low and problem.estimate(0.0)[0] <= target:
            return 0.0, slope
        if not low < newton < high:
            newton = 0.5 * (low + high)
        guess = newton
    return guess, slope
