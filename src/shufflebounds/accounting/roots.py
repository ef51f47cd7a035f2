"""δ at ε and ε at δ of composed discrete pairs."""

from __future__ import annotations

import math

from shufflebounds.divergence.lattice import TiltedSum, tilted_sum
from shufflebounds.divergence.losses import Composition
from shufflebounds.divergence.tilting import tilt_at_delta, tilt_at_eps
from shufflebounds.enclosure import Enclosure


def delta_at(composition: Composition, eps: float) -> Enclosure:
    """δ(ε) of discrete pairs, for ε ≥ 0."""
    told = Enclosure(*composition.infinite)
    if eps >= composition.largest:
        return told
    found = tilted_sum(composition, tilt_at_eps(composition, eps), eps)
    return Enclosure(told.lower, math.inf) if found is None else found.delta(eps)


def smallest_eps(composition: Composition, delta: float) -> float:
    """An ε ≥ 0 at which δ(ε) of discrete pairs is certainly at most δ, hardly above the least."""
    if composition.infinite[1] > delta:
        return math.inf
    end = max(composition.largest, 0.0)
    found = _near(composition, delta)
    if found is None:
        return end
    eps = _root(found, delta)
    margin = 1e-8 * eps + 1e-300
    while eps < end and found.delta(eps).upper > delta:
        eps, margin = min(eps + margin, end), 4.0 * margin
    return eps


def largest_eps(composition: Composition, delta: float) -> float:
    """An ε ≥ 0 at which δ(ε) of discrete pairs is certainly at least δ, hardly below the most.

    0 where none was found.
    """
    if composition.infinite[0] > delta:
        return math.inf
    found = _near(composition, delta)
    if found is None:
        return 0.0
    eps = _root(found, delta)
    margin = 1e-8 * eps + 1e-300
    while eps > 0.0 and found.delta(eps).lower < delta:
        eps, margin = max(eps - margin, 0.0), 4.0 * margin
    return eps


def _near(composition: Composition, delta: float) -> TiltedSum | None:
    theta, eps = tilt_at_delta(composition, delta)
    if eps <= 0.0:  # δ may be more than δ(0)
        theta, eps = tilt_at_eps(composition, 0.0), 0.0
    return tilted_sum(composition, theta, min(eps, max(composition.largest, 0.0)))


def _root(found: TiltedSum, delta: float) -> float:
    """Where δ(ε) is about δ, or 0; log δ falls at a rate of about θ where no loss is infinite."""
    told, eps = found.composition.infinite[1], found.eps
    goal = max(delta - told, 1e-9 * delta)
    for _ in range(30):
        excess = found.delta(eps).upper - told
        move = math.log(excess / goal) / found.theta if excess > 0.0 else -1.0 / found.theta
        eps = max(min(eps + move, found.composition.largest), 0.0)
        if abs(move) <= 1e-9 * eps:
            break
    return eps
