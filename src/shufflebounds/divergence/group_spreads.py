"""A bound of D over all datasets of groups that is quick, and larger than `group_supremum`.

Blocks have one user each. The modulus of M(z) is bounded by the variance of the tilted law instead
of being computed, for all inputs of a group at once (Lemma J6 of docs/proofs/closing-the-gap.md),
and each group has the largest mode of all of its inputs at every z. Proof:
docs/proofs/personal-epsilon.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U
from shufflebounds.divergence.pairs_of_rows import modes, starts_of_ranges

# Most modes of the sum; those beyond are bounded together.
MAX_MODES = 2**13
# Bound of the relative rounding of a few operations.
FEW_ROUNDINGS = 1e-12
# Largest relative error of a tilted mass with which anything is claimed.
MAX_SLIP = 1e-3


class GroupTails(NamedTuple):
    """ρ of all inputs of a group, (X, K), its relative error, its weight, and its other users."""

    masses: FloatArray
    rel_err: float
    weight: float
    number: int


class GroupModes(NamedTuple):
    """Upper bounds of log Q(θ) and lower ones of the fall of log Q(z) from there.

    The first has shape (X,), the second (X, ranges) for the modes of `starts`; ``moment`` bounds
    all M(θ).
    """

    logs: FloatArray
    falls: FloatArray
    moment: float


def log_of_spreads(
    groups: Sequence[GroupTails],
    u: FloatArray,
    u_err: FloatArray,
    share: float,
    theta: float,
    step: float,
    count: int,
) -> tuple[float, float] | None:
    """Return bounds of the log of the sum of modes, from above, and of Λ, from below.

    `u` are a − e^ε b with absolute errors `u_err`, `share` is at least λ of a group of weight 1, in
    units of which Λ is. The answer is None if round-off prevents any.
    """
    t, weight, tail = (x[0] for x in modes(np.array([[theta]]), np.array([[step]]), count))
    starts = starts_of_ranges(count)
    ends = t[np.array([starts, np.append(starts[1:], count) - 1])] ** 2
    log_scale, falls, heads = 0.0, np.zeros(starts.size), 0.0
    for group in groups:
        spend(1e5 + 40.0 * group.masses.size + 20.0 * starts.size * len(group.masses))
        bounds = _modes_of_group(group, u, u_err, share, theta, ends)
        if bounds is None:
            return None
        largest = float(bounds.logs.max())
        log_scale += group.number * largest
        falls = falls + group.number * (largest - bounds.logs[:, None] + bounds.falls).min(axis=0)
        heads += group.number * group.weight / (share * group.weight + bounds.moment)
    terms = np.exp(np.maximum(-falls * (1.0 - FEW_ROUNDINGS), -700.0))
    total = (float(np.add.reduceat(weight, starts) @ terms) + float(tail[0])) * (1.0 + 1e-9)
    slack = 16.0 * U * (len(groups) + 1.0) * abs(log_scale)
    log = log_scale + slack + math.log(total) + 1e-12
    return (log, heads * (1.0 - FEW_ROUNDINGS)) if math.isfinite(log) else None


def _modes_of_group(
    group: GroupTails,
    u: FloatArray,
    u_err: FloatArray,
    share: float,
    theta: float,
    ends: FloatArray,
) -> GroupModes | None:
    """Return bounds of a group's modes, at the squares t² of the ends of ranges, (2, ranges)."""
    masses, gains = group.masses, group.weight * u
    used = masses > 0.0
    divisor = np.where(used, masses, 1.0)
    values = np.where(used, gains / divisor, 0.0)
    sizes = np.abs(gains) * (1.01 * group.rel_err + 4.0 * U) + 1.01 * group.weight * u_err
    value_err = np.where(used, sizes / divisor, 0.0)
    # The relative error of ρ e^{θg}, and of sums of such terms.
    slip = (
        group.rel_err
        + 1.01 * theta * value_err
        + (u.size + 16.0 + 4.0 * theta * np.abs(values)) * U
    )
    weights = masses * np.exp(theta * values)
    moments = weights.sum(axis=1)
    errors = 1.01 * (weights * slip).sum(axis=1) / moments
    largest_slip = float(slip[weights > 0.0].max(initial=0.0))
    if not (largest_slip < MAX_SLIP and np.isfinite(moments).all() and (moments > 0.0).all()):
        return None
    heads = share * group.weight
    logs = np.log(heads + moments) + 1.01 * errors
    logs += 4.0 * U * (1.0 + np.abs(logs))
    weights /= moments[:, None]
    distance = values - (weights * values).sum(axis=1, keepdims=True)
    square = (weights * distance**2).sum(axis=1)
    fourth = 2.0 * (weights * distance**4).sum(axis=1) + 6.0 * square**2
    # Errors of values, and of the mean that is subtracted from them.
    shift = 4.0 * (value_err.max(axis=1) + (u.size + 20.0) * U * np.abs(values).max(axis=1))
    low = np.maximum(np.sqrt(square) * (1.0 - FEW_ROUNDINGS) - shift, 0.0) ** 2
    high = (np.sqrt(np.sqrt(fourth)) * (1.0 + FEW_ROUNDINGS) + shift) ** 4
    low, high = low * (1.0 - 4.0 * largest_slip), high * (1.0 + 8.0 * largest_slip)
    s = np.multiply.outer(low, ends) - np.multiply.outer(high / 24.0, ends**2)
    s = np.maximum(s.min(axis=1), 0.0) * (1.0 - FEW_ROUNDINGS)
    kappa = moments / (heads + moments) * (1.0 - 4.0 * errors - FEW_ROUNDINGS)
    falls = 0.5 * np.maximum(kappa, 0.0)[:, None] * s
    moment = float((moments * (1.0 + 1.01 * errors)).max()) * (1.0 + FEW_ROUNDINGS)
    return GroupModes(logs, falls, moment)
