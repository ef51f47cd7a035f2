"""Losses of few outcomes, added up one by one: the divergence of composed pairs, nearly exact.

Where a round has few outcomes their losses need no lattice: those of several rounds are all sums,
and equal ones are united. Sums and masses are rounded up where a bound from above is wanted, and
down for one from below; docs/composition.md, section 5, says why that suffices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.enumeration import Outcomes, RankedOutcomes
from shufflebounds.divergence.law import U
from shufflebounds.divergence.losses import SMALLEST, bisect, connected

# Most pairs of losses that are added up for one composition. Speed only.
MAX_PAIRS = 2**21
# Distance below which two losses count as equal, as a share of the largest loss.
EQUAL = 1e-12
# Relative error of NumPy's pairwise sum of at most `MAX_PAIRS` terms, and of its terms.
SUM_ERR = 512.0 * U


@dataclass(frozen=True, eq=False)
class Losses:
    """P-masses of losses, ascending, shape (J,), and that of an infinite one.

    ``side`` is 1 where each is a bound from above, −1 where it is one from below.
    """

    values: FloatArray
    masses: FloatArray
    infinite: float
    side: int

    def delta(self, eps: float) -> float:
        """A bound of δ(ε) from this side."""
        start = int(np.searchsorted(self.values, eps, side="right"))
        gains = self.masses[start:] * -np.expm1(eps - self.values[start:])
        return (float(gains.sum()) + self.infinite) * (1.0 + self.side * SUM_ERR)

    def eps(self, delta: float) -> float:
        """An ε ≥ 0 where `delta` is met, hardly above the least, or missed, hardly below it.

        Of bounds from above ε is inf where none will do, of those from below 0.
        """
        if self.infinite * (1.0 + self.side * SUM_ERR) > delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        end = max(float(self.values[-1]), 0.0)
        low, high = bisect(lambda eps: self.delta(eps) > delta, 0.0, end)
        return high if self.side > 0 else low


def dominating_losses(curves: Sequence[RankedOutcomes], largest: float) -> Losses | None:
    """Return a pair above all curves: its own, which is symmetric, connects the kinks of theirs.

    None if there are no losses, too many for a sum of two, or one above `largest`.
    """
    ratios = np.concatenate([curve.ratios for curve in curves])
    ratios = np.unique(ratios[(ratios > 1.0) & np.isfinite(ratios)])
    if not ratios.size:
        return None
    losses = np.log(ratios)
    losses = losses[np.append(np.diff(losses) > EQUAL * losses[-1], True)]
    losses = losses[losses > EQUAL * losses[-1]]
    if losses.size**2 > MAX_PAIRS or losses[-1] > largest:
        return None
    # Beyond this point D is certainly that of infinite losses.
    losses[-1] += 16.0 * max(curve.err for curve in curves) + 1e-13
    losses = np.append(0.0, losses)
    upper = np.max([[curve.divergence(loss).upper for loss in losses] for curve in curves], axis=0)
    index, mirrored, centre, masses, infinite = connected(losses, upper)
    values = losses[index]
    values = np.concatenate([-values[::-1], [0.0], values])
    return Losses(values, np.concatenate([mirrored[::-1], [centre], masses]), infinite, 1)


def dominated_losses(outcomes: Outcomes) -> Losses:
    """Return a pair below that of the outcomes."""
    masses = np.exp(np.maximum(outcomes.log_lower, -1e4)) * outcomes.gain * (1.0 - outcomes.err)
    masses = np.where(masses < SMALLEST, 0.0, masses) * (1.0 - 8.0 * U)
    is_infinite = outcomes.cost == 0.0
    used = (masses > 0.0) & ~is_infinite
    log_gain, log_cost = np.log(outcomes.gain[used]), np.log(outcomes.cost[used])
    rounding = outcomes.ratio_err + 16.0 * U + 8.0 * U * (np.abs(log_gain) + np.abs(log_cost))
    infinite = math.fsum(masses[is_infinite]) * (1.0 - 4.0 * U)
    return _merge_equal(log_gain - log_cost - rounding, masses[used], infinite, -1)


def compose_losses(rounds: Sequence[tuple[Losses, int]]) -> Losses | None:
    """Return the sum of independent losses of one side, each with its number of rounds.

    None if that takes more than `MAX_PAIRS` pairs of losses.
    """
    side, pairs_left = rounds[0][0].side, MAX_PAIRS
    total: Losses | None = None
    for losses, times in rounds:
        power = losses
        while True:
            if times % 2:
                pairs_left -= power.values.size * (total.values.size if total else 0)
                if pairs_left < 0:
                    return None
                total = power if total is None else _sum(total, power, side)
            times //= 2
            if times == 0:
                break
            pairs_left -= power.values.size**2
            if pairs_left < 0:
                return None
            power = _sum(power, power, side)
    return total


def _sum(first: Losses, second: Losses, side: int) -> Losses:
    """Return the sum of two independent losses."""
    values = (first.values[:, None] + second.values).ravel()
    values = values + side * 2.0 * U * np.abs(values)
    masses = (first.masses[:, None] * second.masses).ravel()
    masses = np.where(masses < SMALLEST, SMALLEST if side > 0 else 0.0, masses)
    finite, other_finite = math.fsum(first.masses), math.fsum(second.masses)
    infinite = first.infinite * (other_finite + second.infinite) + finite * second.infinite
    return _merge_equal(values, masses, infinite * (1.0 + side * 8.0 * U), side)


def _merge_equal(values: FloatArray, masses: FloatArray, infinite: float, side: int) -> Losses:
    """Return losses where equal ones count as the largest, from above, or the smallest of them."""
    if not values.size:
        return Losses(np.zeros(1), np.zeros(1), infinite, side)
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    gap = EQUAL * float(np.max(np.abs(values)))
    starts: NDArray[np.int64] = np.append(0, np.flatnonzero(np.diff(values) > gap) + 1)
    counts = np.diff(starts, append=values.size)
    pick: Callable[..., FloatArray] = np.maximum.reduceat if side > 0 else np.minimum.reduceat
    sums = np.add.reduceat(masses, starts) * (1.0 + side * (counts + 4.0) * U)
    return Losses(pick(values, starts), sums, infinite, side)
