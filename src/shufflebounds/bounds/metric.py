"""Variation-ratio decompositions under metric privacy; see docs/variation-ratio.md, section 8.

R(x) ≤ e^{d(x, x′)}R(x′) for all inputs. Two inputs at distance d₀₁ have p = e^{d₀₁}, and q₀ and q₁
are e to the largest distance that any input has from either.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from shufflebounds import validation
from shufflebounds.bounds.variation_ratio import variation_ratio
from shufflebounds.decomposition import Decomposition

NOISES = ("general", "laplace", "planar")
# The pair grows with p, β and q, so that these may be rounded up.
_UP = 1.0 + 2.0**-50
_UP_SPECIAL = 1.0 + 1e-9


def metric_variation_ratio(
    distance: float, farthest: float | tuple[float, float], noise: str = "general"
) -> Decomposition:
    """The pair of two inputs at `distance`, in a space where none is further off than `farthest`.

    It covers all pairs of inputs at most that far apart, of which none has an input further off,
    and says nothing of others. The model is that of `variation_ratio`.

    Parameters
    ----------
    distance
        d₀₁ in units of privacy (of the noise's scale), 0 < d₀₁ ≤ 300.
    farthest
        The largest distance of any input from either of the two, d₀₁ to 300, or a pair of those
        from the first and from the second.
    noise
        ``laplace`` on a line, ``planar`` (Laplace) in the plane, or ``general`` for any.

    Raises ValueError outside these ranges.
    """
    distance = validation.eps0(distance, "distance")
    both = farthest if isinstance(farthest, tuple) else (farthest, farthest)
    q = tuple(math.exp(validation.eps0(far, "farthest")) * _UP for far in both)
    if len(q) != 2 or min(both) < distance:
        raise ValueError(
            f"farthest must be a distance of at least {distance!r}, or two of them, got "
            f"{farthest!r}"
        )
    p = math.exp(distance) * _UP
    # `variation_ratio` cuts off at (p − 1)/(p + 1) exactly.
    largest = min((p - 1.0) / (p + 1.0) * _UP, 1.0)
    variation = min(_variation(validation.choice("noise", noise, NOISES), distance), largest)
    return variation_ratio(p, variation, q)


def metric_clone(distance: float, distances: Collection[tuple[float, float]]) -> Decomposition:
    """The clone of Wang et al., "Metric differential privacy in the shuffle model" (2023).

    Every other input x is sure of 1/(e^{d(x, x₀)} + e^{d(x, x₁)}) of the sum of the two inputs'
    laws; the smallest such number is that of a clone of each.

    Parameters
    ----------
    distance
        d₀₁ of the two inputs, 0 < d₀₁ ≤ 300, in units of privacy.
    distances
        (d(x, x₀), d(x, x₁)) of the inputs x among which that number is smallest: on a line, of
        both ends.

    Raises ValueError outside these ranges.
    """
    distance = validation.eps0(distance, "distance")
    pairs = validation.pairs("distances", distances, "of distances")
    if not pairs or not all(
        0.0 <= validation.finite("distance", d) <= 300.0 for d in sum(pairs, ())
    ):
        raise ValueError(f"distances must be pairs of numbers from 0 to 300, got {distances!r}")
    if not any(sum(pair) >= distance for pair in pairs):
        raise ValueError(
            f"distances must hold a pair of {distance!r} or more together, got {pairs!r}"
        )
    rare, common = (1.0 / (1.0 + math.exp(sign * distance)) for sign in (1.0, -1.0))
    sure = 1.0 / max(math.exp(one) + math.exp(other) for one, other in pairs)
    return Decomposition(
        np.array([common, rare]), np.array([rare, common]), np.array([sure, sure]), 2.0**-50
    )


def _variation(noise: str, distance: float) -> float:
    """The total variation distance of two inputs, rounded up."""
    half = distance / 2.0
    if noise == "laplace":
        return -math.expm1(-half) * _UP
    if noise == "planar":  # (2/π) ∫₀^half t K₁(t) dt, by parts
        from scipy.special import iti0k0, k0  # takes longer to load than an answer

        _, integral = iti0k0(half)
        return 2.0 / math.pi * (integral - half * k0(half)) * _UP_SPECIAL
    return 1.0
