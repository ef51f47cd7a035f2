"""Where to tilt a composition: estimates that steer, and claim nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shufflebounds.divergence.losses import Composition

# The tilts that are tried: from the smallest, as a logarithm, to where losses that are a step apart
# differ by this factor, as a logarithm, and one of them is all that counts.
_SMALLEST, _LARGEST = -60.0, 50.0


def tilt_at_eps(composition: Composition, eps: float) -> float:
    """A θ that serves δ(ε): the minimiser of K(θ) − θε − log θ − log(1 + θ), to about 10⁻³."""
    return _bisect(composition.step, lambda theta: _saddle(composition, theta)[0] > eps)


def tilt_at_delta(composition: Composition, delta: float) -> tuple[float, float]:
    """A θ that serves where δ(ε) = δ, and an estimate of that ε."""
    goal = math.log(max(delta - composition.infinite[1], 1e-12 * delta))
    theta = _bisect(composition.step, lambda theta: _saddle(composition, theta)[1] < goal)
    return theta, _saddle(composition, theta)[0]


def _saddle(composition: Composition, theta: float) -> tuple[float, float]:
    """The ε that θ is the best tilt for, and an estimate of log δ(ε) there."""
    k = slope = curvature = 0.0
    for law, times in composition.rounds:
        values = law.law.values
        x = theta * values
        top = float(x.max())
        weights = law.masses * np.exp(x - top)
        size = float(weights.sum())
        mean = float(weights @ values) / size
        k += times * (top + math.log(size))
        slope += times * mean
        curvature += times * float(weights @ (values - mean) ** 2) / size
    eps = slope - 1.0 / theta - 1.0 / (1.0 + theta)
    spread = curvature + theta**-2 + (1.0 + theta) ** -2
    value = k - theta * eps - math.log(theta) - math.log1p(theta)
    return eps, value - 0.5 * math.log(2.0 * math.pi * spread)


def _bisect(step: float, beyond: Callable[[float], bool]) -> float:
    """e^x for the x at which `beyond` becomes true, to about 10⁻³."""
    low, high = _SMALLEST, math.log(_LARGEST / step)
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if beyond(math.exp(middle)) else (middle, high)
    return math.exp(0.5 * (low + high))
