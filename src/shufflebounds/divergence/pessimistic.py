"""A discrete pair above a curve that is known from above; see docs/composition.md."""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.hull import curve, hull, kinks
from shufflebounds.divergence.law import U
from shufflebounds.divergence.losses import LossLaw

# How far the polygon begins above the bounds, relatively: more than rounding takes.
_SLACK = 1e-12
# Bounds of less than this would lose precision in products.
_TINY = 1e-290


def pessimistic(upper: FloatArray, step: float) -> LossLaw:
    """A pair (P, Q) above every symmetric curve H(x) = 1 − x + x H(1/x) with H(e^{iΔ}) ≤ `upper`.

    ``upper`` has shape (K + 1,), i = 0, …, K and K ≥ 1; `step` is Δ (natural log). The pair's
    curve connects the vertices of the convex hull of these points and is constant beyond the last.
    """
    bound = np.minimum(np.minimum.accumulate(upper), 1.0)
    bound = np.where(bound > 0.0, np.maximum(bound, _TINY), 0.0)
    # At x = 1 the curve lies below its chord from e^{−Δ} to e^Δ, too.
    chord = math.tanh(0.5 * step) + 2.0 * float(bound[1]) / (1.0 + math.exp(step))
    bound[0] = min(float(bound[0]), chord * (1.0 + 16.0 * U))
    raised = bound * (1.0 + _SLACK)
    losses = np.asarray(step * np.arange(bound.size), dtype=np.float64)
    index = hull(np.expm1(losses), raised)
    losses, bound, infinite = losses[index], bound[index], float(raised[-1])
    masses = kinks(losses, raised[index])

    # Whatever rounding did to the masses: more of all of them lifts the curve.
    least = curve(losses, masses, infinite) * (1.0 - (2.0 * index.size + 20.0) * U)
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.where(bound > 0.0, bound / least, 0.0)
    factor = max(1.0, float(short.max())) * (1.0 + 8.0 * U)
    masses, infinite = masses * factor, infinite * factor

    # Q-masses mirror P-masses, and what is left is told apart by nothing.
    mirrored = masses * np.exp(-losses[1:]) * (1.0 + 8.0 * U)
    centre = math.fsum([1.0, -infinite, *(-masses), *(-mirrored)])
    centre += 16.0 * U * float(mirrored.sum()) + 4.0 * U
    kept = masses > 0.0
    index, masses, mirrored = index[1:][kept], masses[kept], mirrored[kept]
    return LossLaw(
        step,
        0.0,
        np.concatenate([-index[::-1], [0], index]),
        np.concatenate([mirrored[::-1], [max(centre, U)], masses]),
        infinite,
    )
