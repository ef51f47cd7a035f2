"""What every measure of the doubling engine looks like, roughly: on one grid for all of them.

The grid is linear around 0 and logarithmic beyond, with some points more up to the threshold. As it
is the same for all, where sums of its points lie is found once. No bounds: the estimate decides
about width and cost only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.measures import Jumps, Measure, weighed
from shufflebounds.divergence.steps import Steps

# Points per decade of the grid, and at most, on either side of 0.
_PER_DECADE, _MOST_POINTS = 12.0, 40
# Distances below so many times the scale of S, or of the threshold, are no more told apart.
_FINEST, _FINEST_OF_THRESHOLD = 0.03, 0.1
# How far the grid reaches beyond the largest jump and the threshold, and in standard deviations.
_REACH, _DEVIATIONS = 30.0, 10.0
# Nothing is told apart below so many times that.
_LEAST = 1e-40
# Points at equal distances, and how many times the threshold they reach to.
_LINEAR, _LINEAR_REACH = 8, 2.0
# Where so many draws are expected to leave the base, more than three hardly ever do.
_FEW = 0.2


@dataclass(frozen=True, eq=False)
class Rough:
    """Masses on the points of a grid ``x`` (k,), which holds 0 and ``threshold``.

    ``found`` (L, k) are the measures of what draws add up to, as seen from the base, before the
    first step and after each; ``facing`` (L, k) are those of minus what all other draws do, and of
    the threshold. Neither has the mass of where no draw leaves the base. ``size`` is E[S₊].
    """

    x: FloatArray
    threshold: float
    found: FloatArray
    facing: FloatArray
    size: float


@dataclass(frozen=True, eq=False)
class _Grid:
    x: FloatArray
    theta: float
    index: NDArray[np.int64]
    share: FloatArray

    @staticmethod
    def of(x: FloatArray, theta: float) -> _Grid:
        return _Grid(x, theta, *_between(x, theta, np.add.outer(x, x).ravel()))

    def placed(self, values: FloatArray, masses: FloatArray) -> FloatArray:
        """Masses, each split between the two points around its value."""
        return _spread(*_between(self.x, self.theta, values), masses, self.x.size)

    def sum(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """The convolution of two."""
        return _spread(self.index, self.share, np.multiply.outer(one, two).ravel(), self.x.size)


def _between(
    x: FloatArray, theta: float, values: FloatArray
) -> tuple[NDArray[np.int64], FloatArray]:
    """The point to the left, and the share of the other one such that the mean of e^{θv} stays.

    Were it that of v, tails would grow with every step.
    """
    index = np.clip(np.searchsorted(x, values, side="right") - 1, 0, x.size - 2)
    left, right = x[index], x[index + 1]
    inside = np.clip(values, left, right)
    share = np.expm1(theta * (left - inside)) / np.expm1(theta * (left - right))
    return index, np.exp(theta * (inside - right)) * share


def _spread(
    index: NDArray[np.int64], share: FloatArray, masses: FloatArray, size: int
) -> FloatArray:
    right = masses * share
    spread = weighed(index, masses - right, size)
    spread[1:] += weighed(index, right, size)[:-1]
    return spread


def rough(jumps: Jumps, steps: Steps, theta: float) -> Rough:
    """An estimate for all steps, where S is of the scale 1/θ."""
    n, threshold = steps.n, -steps.n * jumps.base
    x = _points(jumps.others, n, abs(threshold), theta)
    grid = _Grid.of(x, theta)
    draws = np.array(steps.draws, dtype=float)
    few = int(np.searchsorted(draws * float(jumps.others.masses.sum()), _FEW, side="right"))
    few = max(few, 1)
    found = _found(grid, jumps, steps, few)
    rest = np.zeros_like(found)
    rest[-1] = grid.placed(x - threshold, grid.sum(found[-1], found[0]) if steps.odd else found[-1])
    size = float(found[-1] @ np.maximum(np.add.outer(x, x), 0.0) @ rest[-1])
    for k in range(draws.size - 1, few - 1, -1):
        rest[k - 1] = grid.sum(rest[k], found[k - 1 if steps.doubles[k - 1] else 0])
    # All others are hardly fewer than all.
    rest[: few - 1] = rest[few - 1]
    facing = rest[:, ::-1].copy()
    for measures, at, idle in ((found, 0.0, draws), (facing, threshold, n - draws)):
        column = measures[:, int(np.argmin(np.abs(x - at)))]
        column -= np.minimum(np.exp(idle * _log_idle(jumps)), column)
    return Rough(x, threshold, found, facing, size)


def _found(grid: _Grid, jumps: Jumps, steps: Steps, few: int) -> FloatArray:
    """The measures of all steps; of the first `few`, by the number of draws that leave the base."""
    one = grid.placed(jumps.others.values, jumps.others.masses)
    found = np.zeros((len(steps.draws), grid.x.size))
    draws = np.array(steps.draws[:few], dtype=float)
    sums, weight = one, draws * np.exp((draws - 1.0) * _log_idle(jumps))
    for k in (1, 2, 3):
        found[:few] += np.multiply.outer(weight, sums)
        sums = grid.sum(one, sums)
        weight = weight * np.maximum(draws - k, 0.0) / ((k + 1) * jumps.idle)
    found[:few, grid.x.size // 2] += 1.0 - found[:few].sum(axis=1)
    for k in range(few, len(steps.draws)):
        found[k] = grid.sum(found[k - 1], found[k - 1 if steps.doubles[k - 1] else 0])
    return found


def _log_idle(jumps: Jumps) -> float:
    """An upper bound of a probability may exceed 1."""
    return math.log(min(jumps.idle, 1.0))


def _points(others: Measure, n: int, threshold: float, theta: float) -> FloatArray:
    """The grid: symmetric, with 0 and the threshold."""
    finest = _FINEST / theta
    if threshold > 0.0:
        finest = min(finest, _FINEST_OF_THRESHOLD * threshold)
    upper = np.maximum(others.values, 0.0)
    deviation = math.sqrt(n * float(others.masses @ upper**2))
    reach = _REACH * max(float(upper.max()), threshold) + _DEVIATIONS * deviation
    finest = max(finest, _LEAST * reach)
    span = math.asinh(reach / finest)
    count = min(max(math.ceil(span / math.log(10.0) * _PER_DECADE), 8), _MOST_POINTS)
    right = finest * np.sinh(np.linspace(0.0, span, count + 1))
    right = np.union1d(right, threshold * np.linspace(0.0, _LINEAR_REACH, _LINEAR + 1))
    return np.concatenate([-right[:0:-1], right])
