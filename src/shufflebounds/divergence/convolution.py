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
from shufflebounds.divergence.losses import connected

# Pairs of losses that are added up in all, losses of a round beyond which two rounds have too many,
# and losses this close, of the largest, that are united: speed and width.
_MOST_PAIRS, _MOST_LOSSES, _EQUAL = 2**21, 1500, 1e-12
# Masses below this count as this much from above, and as nothing from below.
_LEAST = 1e-290
# More than numpy's pairwise sums of so many terms, and the terms, are off by.
_SUMMED = 512.0 * U
# Bisections of ε.
_HALVINGS = 60


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
        return (float(gains.sum()) + self.infinite) * (1.0 + self.side * _SUMMED)

    def eps(self, delta: float) -> float:
        """An ε ≥ 0 where `delta` is met, hardly above the least, or missed, hardly below it.

        Of bounds from above ε is inf where none will do, of those from below 0.
        """
        if self.infinite * (1.0 + self.side * _SUMMED) > delta:
            return math.inf
        low, high = 0.0, max(float(self.values[-1]), 0.0)
        if self.delta(0.0) <= delta:
            return 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high if self.side > 0 else low


def above(ends: Sequence[RankedOutcomes], most: float) -> Losses | None:
    """A pair above all these: its curve, which is symmetric, connects the kinks of theirs.

    None where there are too many losses, or none, or one beyond `most`.
    """
    ratios = np.concatenate([end.ratios for end in ends])
    ratios = np.unique(ratios[(ratios > 1.0) & np.isfinite(ratios)])
    if not ratios.size:
        return None
    losses = np.log(ratios)
    losses = losses[np.append(np.diff(losses) > _EQUAL * losses[-1], True)]
    losses = losses[losses > _EQUAL * losses[-1]]
    if losses.size > _MOST_LOSSES or losses[-1] > most:
        return None
    # There, D is certainly that of infinite losses.
    losses[-1] += 16.0 * max(end.err for end in ends) + 1e-13
    losses = np.append(0.0, losses)
    upper = np.max([[end.divergence(loss).upper for loss in losses] for end in ends], axis=0)
    index, mirrored, centre, masses, infinite = connected(losses, upper)
    values = losses[index]
    values = np.concatenate([-values[::-1], [0.0], values])
    return Losses(values, np.concatenate([mirrored[::-1], [centre], masses]), infinite, 1)


def below(outcomes: Outcomes) -> Losses:
    """A pair below that of these outcomes."""
    masses = np.exp(np.maximum(outcomes.log_lower, -1e4)) * outcomes.gain * (1.0 - outcomes.err)
    masses = np.where(masses < _LEAST, 0.0, masses) * (1.0 - 8.0 * U)
    telling = outcomes.cost == 0.0
    used = (masses > 0.0) & ~telling
    values = np.log(outcomes.gain[used]) - np.log(outcomes.cost[used])
    slip = outcomes.ratio_err + 16.0 * U
    slip = slip + 8.0 * U * (
        np.abs(np.log(outcomes.gain[used])) + np.abs(np.log(outcomes.cost[used]))
    )
    infinite = math.fsum(masses[telling]) * (1.0 - 4.0 * U)
    return _united(values - slip, masses[used], infinite, -1)


def composed(rounds: Sequence[tuple[Losses, int]]) -> Losses | None:
    """Independent losses of one side, each so many times; None where there are too many of them."""
    side, left = rounds[0][0].side, _MOST_PAIRS
    total: Losses | None = None
    for one, times in rounds:
        power = one
        while True:
            if times % 2:
                left -= power.values.size * (total.values.size if total else 0)
                if left < 0:
                    return None
                total = power if total is None else _sum(total, power, side)
            times //= 2
            if times == 0:
                break
            left -= power.values.size**2
            if left < 0:
                return None
            power = _sum(power, power, side)
    return total


def _sum(one: Losses, other: Losses, side: int) -> Losses:
    values = (one.values[:, None] + other.values).ravel()
    values = values + side * 2.0 * U * np.abs(values)
    masses = (one.masses[:, None] * other.masses).ravel()
    floor = _LEAST if side > 0 else 0.0
    masses = np.where(masses < _LEAST, floor, masses)
    finite = math.fsum(one.masses)
    infinite = one.infinite * (math.fsum(other.masses) + other.infinite) + finite * other.infinite
    return _united(values, masses, infinite * (1.0 + side * 8.0 * U), side)


def _united(values: FloatArray, masses: FloatArray, infinite: float, side: int) -> Losses:
    """Equal losses count as the largest of them, from above, or the smallest."""
    if not values.size:
        return Losses(np.zeros(1), np.zeros(1), infinite, side)
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    close = _EQUAL * float(np.max(np.abs(values)))
    starts: NDArray[np.int64] = np.append(0, np.flatnonzero(np.diff(values) > close) + 1)
    count = np.diff(starts, append=values.size)
    pick: Callable[..., FloatArray] = np.maximum.reduceat if side > 0 else np.minimum.reduceat
    sums = np.add.reduceat(masses, starts) * (1.0 + side * (count + 4.0) * U)
    return Losses(pick(values, starts), sums, infinite, side)
