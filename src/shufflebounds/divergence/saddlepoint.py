"""By how much to tilt a law, so that the sum of its draws is near 0: to aim with, not to claim."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law

# Steps in all, and one of log θ that needs no other after it.
_STEPS, _LAST = 200, 5e-3
# The longest step of log θ; steps of the model of one, and the last of them, relatively.
_LONGEST, _MODEL_STEPS, _CLOSE = 15.0, 20, 1e-3
# Values and θ whose squares are finite.
_LOWEST, _HIGHEST = -1e140, 1e150


@functools.lru_cache(maxsize=1)
def tilting_point(law: Law, n: int) -> float:
    """The minimiser θ > 0 of nK(θ) − 2 log θ to about 10⁻³; every θ gives valid bounds.

    Needs a positive value, and is finite whatever the law. The last answer is kept, as whoever
    chooses an engine and the engine ask for the same. With M = e^K, the root is that of

        log E[G₊ e^{θG}] − log(E[G₋ e^{θG}] + 2M/(nθ)).

    For large and rare gains K′ grows like e^θ, whereas this is nearly a multiple of θ and of log θ
    each: a step of Newton's method, inside a bracket, takes it for such a sum.
    """
    # Squares of values must neither underflow nor overflow; θ goes with their inverse.
    shift = math.frexp(float(law.values.max()))[1]
    with np.errstate(all="ignore"):
        values = np.maximum(np.ldexp(law.values, -shift), _LOWEST)
        theta = float(np.ldexp(_tilting_point(replace(law, values=values), n), -shift))
    return min(theta, _HIGHEST)


def _tilting_point(law: Law, n: int) -> float:
    """The same where the largest value is in [½, 1)."""
    positive = law.values > 0.0
    gains, losses = law.values[positive], law.values[~positive]
    p, q = law.masses[positive], law.masses[~positive]
    largest = float(gains.max())
    with np.errstate(all="ignore"):
        gains_squared, losses_squared = gains * gains, losses * losses
        theta = min(_normal_tilt(law, n), _steepest_tilt(gains, p, -float(q @ losses), n))
        low, high = 0.0, math.inf
        for _ in range(_STEPS):
            top = theta * largest
            up, down = p * np.exp(theta * gains - top), q * np.exp(theta * losses - top)
            gained, held = float(up @ gains), -float(down @ losses)
            pull = 2.0 / (n * theta)
            change = pull * (gained - held) - float(down @ losses_squared)
            pulled = pull * (float(up.sum() + down.sum()) + law.rest * math.exp(-top))
            held += pulled
            if not (0.0 < gained < math.inf and 0.0 < held < math.inf):
                break
            excess = math.log(gained) - math.log(held)
            low, high = (theta, high) if excess < 0.0 else (low, theta)
            steep = theta * (float(up @ gains_squared) / gained - change / held)
            step = _step(excess, max(steep, 0.0), pulled / held)
            proposal = theta * math.exp(step)
            if abs(step) < _LAST:
                return proposal
            if not low < proposal < high:
                proposal = (
                    2.0 * low if math.isinf(high) else math.sqrt(max(low, high * 1e-6) * high)
                )
            theta = proposal
    return theta


def _step(excess: float, steep: float, bent: float) -> float:
    """The u at which excess + steep (e^u − 1) + bent u is 0, for steep, bent ≥ 0.

    The sum is convex: Newton's method comes from above.
    """
    if not steep + bent > 0.0:
        return math.copysign(_LONGEST, -excess)
    u = 0.0
    if excess < 0.0:
        u = -excess / bent if bent > 0.0 else math.inf
        u = min(u, math.log1p(-excess / steep)) if steep > 0.0 else u
    for _ in range(_MODEL_STEPS):
        growth = steep * math.exp(u)
        step = (excess + growth - steep + bent * u) / (growth + bent)
        u -= step
        if abs(step) <= _CLOSE * abs(u):
            break
    return min(max(u, -_LONGEST), _LONGEST)


def _normal_tilt(law: Law, n: int) -> float:
    """What it would be if G were normal."""
    mean = float(law.masses @ law.values)
    # Products, unlike powers of Python's floats, may overflow to inf.
    spread = float(law.masses @ law.values**2) - mean * mean
    if spread > 0.0:
        theta = (math.sqrt(mean * mean + 8.0 * spread / n) - mean) / (2.0 * spread)
        if math.isfinite(theta) and theta > 0.0:
            return theta
    return 1.0 / float(law.values.max())


def _steepest_tilt(gains: FloatArray, masses: FloatArray, loss: float, n: int) -> float:
    """Where the largest gain alone makes up for all of E[G₋], were M = 1."""
    largest = float(gains.max())
    alone = float(masses[np.argmax(gains)]) * largest
    if not alone > 0.0:
        return math.inf
    return max(1.0, math.log((loss + 2.0 * largest / n) / alone)) / largest
