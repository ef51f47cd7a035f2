"""Where the search for ε begins: roots of estimates of log D − log δ, certified by nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

from shufflebounds.accounting.problem import Problem

# Where saddlepoint estimates may be off by so much, as a logarithm, others are used, which may be
# off by so much.
_LOST, _ROUGH = 2.0, 0.1
# Steps and the last one, relatively, in search of their root; and the smallest ε looked at but 0.
_STEPS, _NEAR, _LEAST = 30, 3e-3, 1e-14
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
        if not guess < end:
            break
        log, slope, doubt = problem.refined_estimate(guess)
        step = (log - target) / slope if slope < 0.0 else math.nan
        if not abs(step) < _CLOSE * guess:
            break
        guess -= step
    if doubt < _LOST or not guess < end:
        return Start(guess, slope, doubt)
    return _rare_start(problem, target, end, Start(guess or _LEAST, slope, math.inf))


def _rare_start(problem: Problem, target: float, end: float, start: Start) -> Start:
    """From the root of estimates that see rare, large draws; a wide bracket is halved in log ε."""

    def excess(eps: float) -> float:
        return problem.rare_estimate(eps) - target

    low = high = start.eps
    above = below = excess(start.eps)
    factor = 2.0
    while below > 0.0 and high < end:
        low, above = high, below
        high = min(end, factor * high)
        below, factor = excess(high), factor**2
    while above <= 0.0 and low > _LEAST:
        high, below = low, above
        low = low / factor
        above, factor = excess(low), factor**2
    if above <= 0.0:
        return start._replace(eps=0.0)
    if below > 0.0:
        return start
    for _ in range(_STEPS):
        if high - low <= _NEAR * high:
            break
        share = above / (above - below) if math.isfinite(below) else 0.5
        eps = low * (high / low) ** min(max(share, 0.1), 0.9)
        found = excess(eps)
        low, above, high, below = (
            (eps, found, high, below) if found > 0.0 else (low, above, eps, found)
        )
    slope = (below - above) / (high - low) if math.isfinite(below) else start.slope
    return Start(high, slope, _ROUGH)


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
