"""Discrete losses above one order of a pair of datasets, for rounds that all have the same order.

If a user may be added or removed, the order is the same in every round. Then the sum of losses need
not lie above both orders at once, as that of `losses.losses_above` does. Proof:
docs/proofs/random-allocation.md, section 2.
"""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U
from shufflebounds.profiles.losses import SMALLEST, Half, Losses, curve_err, hull, kinks, loss_curve


def half_above(nodes: FloatArray, bound: FloatArray) -> Half:
    """Return the half whose curve connects the vertices of the convex hull of the bounds."""
    vertices = hull(np.expm1(nodes), bound)
    losses, bound = nodes[vertices], bound[vertices]
    masses, infinite = kinks(losses, bound), float(bound[-1])
    heights, err = loss_curve(losses, masses, infinite), curve_err(losses)
    # A common factor of all masses lifts the curve above the bounds in spite of rounding.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bound > 0.0, bound / (heights * (1.0 - err)), 0.0)
    factor = max(1.0, float(ratio.max())) * (1.0 + 8.0 * U)
    return Half(losses[1:], masses * factor, infinite * factor, float(heights[0]) * factor, err)


def losses_above_order(nodes: FloatArray, upper: FloatArray, reverse: FloatArray) -> Losses:
    """Return a pair above every (P, Q) with D(P‖e^ε Q) ≤ `upper` and D(Q‖e^ε P) ≤ `reverse`.

    `nodes` ascend from 0. All arrays have shape (K + 1,), K ≥ 1.
    """
    forward, backward = (
        np.maximum(np.minimum(np.minimum.accumulate(x), 1.0), SMALLEST) for x in (upper, reverse)
    )
    # At x = 1 both curves are the same number, which lies below each chord from e^{−L} to e^L.
    beyond = np.minimum(nodes[1:], 700.0)
    chords = np.tanh(0.5 * beyond) + (forward[1:] + backward[1:]) / (1.0 + np.exp(beyond))
    height = min(float(forward[0]), float(backward[0]), float(chords.min()) * (1.0 + 16.0 * U))
    forward[0] = backward[0] = height
    right, left = half_above(nodes, forward), half_above(nodes, backward)
    # P must not have less mass than Q, so the right half may not be lower than the left one.
    share = max(1.0, left.height / right.height * (1.0 + right.err + left.err + 64.0 * U))
    masses, infinite = right.masses * share, right.infinite * share
    mirrored = left.masses * np.exp(-left.losses) * (1.0 + 8.0 * U)
    # The remaining mass of P has loss 0. Its total is at least 1.
    centre = math.fsum([1.0, -infinite, *(-masses), *(-mirrored)])
    centre += 16.0 * U * float(mirrored.sum()) + 4.0 * U
    values = np.concatenate([-left.losses[::-1], [0.0], right.losses])
    masses = np.concatenate([mirrored[::-1], [max(centre, U)], masses])
    used = masses > 0.0
    return Losses(values[used], masses[used], infinite)
