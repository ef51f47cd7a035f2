"""The free choices of the bound of the worst dataset: to aim with, not to claim.

Which part of the blanket heads report from, and where and how closely the line of integration is
sampled, decide how tight `supremum` is, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.estimates import estimates
from shufflebounds.divergence.window import rounded_down
from shufflebounds.masses import SMALLEST_MASS

# Users who report from the blanket, on average, and the most of the blanket they may use up.
_HEADS = 1.0 * np.array([2, 3, 4, 6, 8, 10, 12, 15, 18, 22, 27, 34])
_MOST_OF_BLANKET, _MOST_HEADS = 0.9, 0.5
# Of the standard deviation that smoothing adds, times θ: it costs half of the square.
_SMOOTHING = 0.08
# Relative size of the modes beyond the last one.
_BEYOND = 1e-7
_MOST_MODES = 2**20
_TILTS, _CLOSER = 48, (9, 9, 9)


@dataclass(frozen=True, eq=False)
class Aim:
    """The free choices of the bound, and a rough idea of what they give.

    ``tau`` (J,) is the share of the blanket that heads report from; ``theta`` is 0 where no value
    is above 0. ``modes`` of the sum are evaluated. ``log_main`` and ``log_rest`` are estimates.
    """

    tau: FloatArray
    theta: float
    eta: float
    step: float
    modes: int
    log_main: float
    log_rest: float

    def goal(self) -> float:
        """The logarithm of what the bound is expected to be."""
        return float(np.logaddexp(self.log_main, self.log_rest))

    @staticmethod
    def of(crowd: Crowd, eps: float, n: int, heads: float) -> Aim | None:
        """For so many heads on average; None where the blanket does not yield that many."""
        tau = _drained(crowd, eps, heads / (n - 1))
        if tau is None:
            return None
        masses, values = [], []
        for one in (crowd, *crowd.extremes):
            rest_of_all = np.array(list(one.others.values())) - tau * one.c
            excesses = one.a - math.exp(eps) * one.b
            masses.append(rest_of_all)
            values.append(np.where(rest_of_all > 0.0, excesses / rest_of_all, 0.0))
        share = float(tau @ crowd.c)
        blanket = crowd.c * (1.0 - tau) / (1.0 - share)
        if too_small(blanket):
            return None
        rest = Decomposition(crowd.a, crowd.b, blanket)
        left = estimates(rest, np.array([eps]), np.array([1.0 * n])).log
        log_rest = (n - 1) * math.log1p(-share)
        if not crowd.extremes:
            log_rest += min(0.0, float(np.nan_to_num(left[0])))
        largest = max(float(one.max()) for one in values)
        if not largest > 0.0:
            return Aim(tau, 0.0, 0.0, 0.0, 0, -math.inf, log_rest)
        theta, log_main, sigma = _tilt(np.vstack(values), np.vstack(masses), n)
        eta = _SMOOTHING / theta
        step = rounded_down(2.0 * math.pi / (8.0 * sigma + 16.0 / theta))
        cut = math.sqrt(-2.0 * math.log(_BEYOND))
        modes = max(1, math.ceil(cut / (eta * step)))
        if not (modes <= _MOST_MODES and math.isfinite(log_main)):
            return None
        return Aim(tau, theta, eta, step, modes, log_main, log_rest)


def best_aim(crowd: Crowd, eps: float, n: int) -> Aim | None:
    """Of some numbers of heads the one that promises the least; None where none does."""
    aims = [_aim(crowd, eps, n, heads) for heads in _HEADS.tolist()]
    return min((aim for aim in aims if aim is not None), key=Aim.goal, default=None)


def _aim(crowd: Crowd, eps: float, n: int, heads: float) -> Aim | None:
    """None where values are too far apart for floats: it is a choice, and any will do."""
    try:
        return Aim.of(crowd, eps, n, heads)
    except ValueError:  # of a logarithm
        return None


def too_small(masses: FloatArray) -> bool:
    """Whether products of some of them might not fit in floats."""
    return bool(((masses > 0.0) & (masses < SMALLEST_MASS)).any())


def _drained(crowd: Crowd, eps: float, share: float) -> FloatArray | None:
    """How much of each blanket component to use for `share` of mass in all, as fractions (J,).

    Using up a component raises (a − e^ε b)²/(R(x) − d), which is least where it does not exceed a
    level in |a − e^ε b|/(c − d). Components of one ratio have the same fraction.
    """
    excesses = np.abs(crowd.a - math.exp(eps) * crowd.b)
    count = int(crowd.classes.max()) + 1
    excess_, c = (
        np.bincount(crowd.classes, weights=x, minlength=count) for x in (excesses, crowd.c)
    )
    used = c > 0.0
    if not 0.0 < share < min(_MOST_OF_BLANKET * float(c.sum()), _MOST_HEADS):
        return None
    height = np.where(used, excess_ / np.where(used, c, 1.0), math.inf)

    def at(log_level: float) -> FloatArray:
        return np.clip(1.0 - height * math.exp(-log_level), 0.0, _MOST_OF_BLANKET)

    low, high = -700.0, 700.0
    for _ in range(64):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if float(at(middle) @ c) >= share else (middle, high)
    fractions = at(high)
    if not 0.0 < float(fractions @ c) < 1.0:
        return None
    # What only extremes have: inputs that are more alike, and further from the worst.
    found: FloatArray = np.where(crowd.c > 0.0, fractions[crowd.classes], _MOST_OF_BLANKET)
    return found


def _tilt(values: FloatArray, masses: FloatArray, n: int) -> tuple[float, float, float]:
    """θ at which the largest estimate over inputs is least, that estimate, and the spread of S.

    Both arrays have shape (inputs, J). The sums are about those of a normal density.
    """
    spread = math.sqrt(
        n * float(np.max(np.sum(masses * np.clip(values, -1e100, 1e100) ** 2, axis=1)))
    )
    low, high = math.log(0.1 / spread), math.log(60.0 / float(values.max()))
    grid = np.linspace(min(low, high - 1.0), high, _TILTS)
    for count in (*_CLOSER, 1):
        logs, sigmas = _log_estimates(values, masses, n, np.exp(grid))
        logs = np.where(np.isnan(logs), np.inf, logs)
        place = int(np.argmin(logs))
        centre, cell = float(grid[place]), float(grid[1] - grid[0]) if grid.size > 1 else 0.0
        grid = np.linspace(centre - cell, centre + cell, count) if count > 1 else np.array([centre])
    return math.exp(centre), float(logs[place]), float(sigmas[place])


def _log_estimates(
    values: FloatArray, masses: FloatArray, n: int, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The largest estimate over inputs at each θ, shape (T,), and the largest spread there."""
    x = theta[:, None, None] * values
    growth = (masses * np.expm1(x)).sum(axis=-1)
    weights = masses * np.exp(x) / (1.0 + growth)[..., None]
    mean = (weights * values).sum(axis=-1)
    variance = (weights * values**2).sum(axis=-1) - mean**2
    sigma = np.sqrt(n * np.maximum(variance, 0.0))
    y = theta[:, None] * sigma / math.sqrt(2.0)
    # e^{y²} erfc(y) is about 2/√π over this.
    normal = y + np.sqrt(y * y + 4.0 / math.pi)
    logs = n * np.log1p(growth) - np.log(normal * theta[:, None] * math.sqrt(math.pi) * n)
    return logs.max(axis=1), sigma.max(axis=1)
