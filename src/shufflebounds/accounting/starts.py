"""Where the search for ε begins: roots of estimates of log D − log δ, certified by nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shufflebounds.accounting.problem import Problem
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence import largest_draw
from shufflebounds.divergence.estimates import Refined, refined_estimate

# Where saddlepoint estimates may be off by so much, as a logarithm, others are used, which may be
# off by so much.
_LOST, _ROUGH = 2.0, 0.1
# Steps in search of a root, and how far from δ an estimate may be for the last of them, as a
# logarithm or as a share of ε.
_STEPS, _CLOSE, _LAST_STEP = 60, 0.002, 1e-3
# The same for rare draws; the smallest ε looked at but 0.
_RARE_STEPS, _RARE_CLOSE, _RARE_STEP, _LEAST = 40, 0.02, 5e-3, 1e-14
# By how much more than to the root a step goes that should lead beyond it, and by which factor at
# least; how many times as low as the other side is high a cliff counts at most.
_BEYOND, _SHORTEST, _CLIFF = 1.5, 1.02, 2.0
# D(0) is asked for where it seems to be above δ by no more, as a logarithm, and that may be wrong.
_MAYBE = 0.1
_STANDARD_STEPS = 12


class Start(NamedTuple):
    """A guess of ε, the derivative of log D there, and by how much D there may be off δ."""

    eps: float
    slope: float
    doubt: float


def start_of(problem: Problem, delta: float, end: float) -> Start:
    """From the root of the estimated log D − log δ; 0 where even D(0) seems to be small enough."""
    target = math.log(delta)
    directions = [outer for _, outer in problem.directions]
    guess = min(_normal_eps(directions[0], problem.n, delta), 0.9 * end)
    start = Start(guess, math.nan, math.inf)
    for one in directions:
        found = refined_estimate(one, start.eps, problem.n)
        if one is directions[0] or found.log > target:
            start = _saddle_root(one, problem.n, target, end, start.eps, found)
    if start.doubt < _LOST or not start.eps < end:
        return start
    return _rare_start(directions, problem.n, target, end, start)


def _normal_eps(decomposition: Decomposition, n: int, delta: float) -> float:
    """The ε > 0 at which D falls to δ if the mean of n draws is normal, and e^ε close to 1."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        sigma = math.sqrt(float(masses @ values**2) / n)
    if not 0.0 < sigma < math.inf:
        return sigma
    target = math.log(delta) - math.log(sigma)
    z = math.sqrt(-2.0 * math.log(delta))
    for _ in range(_STANDARD_STEPS):
        tail = 0.5 * math.erfc(z / math.sqrt(2.0))
        mean = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) - z * tail
        if not (mean > 0.0 and tail > 0.0):
            break
        step = (math.log(mean) - target) * mean / tail
        z = max(z + step, 0.1 * z)
        if not abs(step) > _LAST_STEP * z:
            break
    return z * sigma


def _saddle_root(
    decomposition: Decomposition, n: int, target: float, end: float, guess: float, found: Refined
) -> Start:
    """Root of the saddlepoint estimates of one direction, from a guess and what they are there."""
    low, high = 0.0, end
    for _ in range(_STEPS):
        excess = found.log - target
        low, high = (guess, high) if excess > 0.0 else (low, guess)
        step = -excess / found.slope if found.slope < 0.0 else math.nan
        if abs(step) <= _LAST_STEP * guess or (abs(excess) <= _CLOSE and low < guess + step < high):
            near_zero = -found.slope * (guess + step) <= min(found.doubt, _MAYBE)
            return Start(0.0 if near_zero else guess + step, found.slope, found.doubt)
        if low == 0.0 and not guess + step > 0.0:
            at_zero = refined_estimate(decomposition, 0.0, n)
            if at_zero.log - min(at_zero.doubt, _MAYBE) <= target:
                return Start(0.0, found.slope, found.doubt)
        guess = guess + step if low < guess + step < high else 0.5 * (low + high)
        found = refined_estimate(decomposition, guess, n)
    return Start(guess, found.slope, found.doubt)


def _rare_start(
    directions: list[Decomposition], n: int, target: float, end: float, start: Start
) -> Start:
    """From the root of estimates that see rare, large draws, by steps in log ε."""

    def excess(eps: float) -> float:
        return max(largest_draw.log_estimate(one, eps, n) for one in directions) - target

    low = high = start.eps if start.eps > _LEAST else min(_LEAST, end)
    above = below = excess(low)
    fall = -start.slope * low
    factor = min(max(1.0 + _BEYOND * abs(above) / fall, _SHORTEST), 2.0) if fall > 0.0 else 2.0
    while below > 0.0 and high < end:
        low, above = high, below
        high = min(end, factor * high)
        below, factor = excess(high), max(2.0, factor**2)
    while above <= 0.0 and low > _LEAST:
        high, below = low, above
        low = low / factor
        above, factor = excess(low), max(2.0, factor**2)
    if above <= 0.0:
        return start._replace(eps=0.0)
    if below > 0.0:
        return start._replace(doubt=math.inf)
    weights = {True: 1.0, False: 1.0}
    for _ in range(_RARE_STEPS):
        # Cliffs count as if they were no steeper than the other side is high.
        up, down = above * weights[True], max(below, -_CLIFF * above) * weights[False]
        eps = low * (high / low) ** (up / (up - down))
        steep = (above - below) / math.log(high / low)
        close = min(above, -below) <= min(_RARE_CLOSE, _RARE_STEP * steep)
        if close or high - low <= _LAST_STEP * high:
            break
        found = excess(eps)
        side = found > 0.0
        low, above, high, below = (eps, found, high, below) if side else (low, above, eps, found)
        weights = {side: 1.0, not side: 0.5 * weights[not side]}
    slope = (below - above) / (high - low) if math.isfinite(below) else start.slope
    return Start(eps, slope, _ROUGH)
