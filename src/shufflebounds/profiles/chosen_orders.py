"""Rounds whose order of the two datasets is chosen in each round, from what was seen before.

Neither order of a round need be the worse one. `losses.losses_above` takes the larger of both
curves at every ε, which no single round has. Here the choice is made by a recursion: W_t(x), the
largest D(P‖xQ) of t rounds, is at most the largest mean of W_{t−1}(x e^{−L}) over the losses L of
one order of a round. Proof: docs/proofs/composition.md, section 12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U
from shufflebounds.profiles.loss_sum import LossSum, Tilt
from shufflebounds.profiles.losses import UNDERFLOW_ERR, Losses, losses_above

# Share of the requested width of δ that the lattice may take.
LATTICE_SHARE = 0.1
# How far the lattice reaches beyond the answer, in units of what lowers δ by a factor e.
REACH = 8.0
# Most multiplications of the recursion: half a second. If there are more, orders are chosen within
# blocks of rounds only.
MOST_PRODUCTS = 6e9
# Units of work of a multiplication.
WORK_OF_PRODUCT = 0.2
# Significant bits of the distance of lattice points, so that their multiples are exact.
STEP_BITS = 20
# Largest ε of a lattice point: e^ε must stay a float.
LARGEST_POINT = 600.0
# Largest distance of lattice points.
LARGEST_STEP = 0.5
# Smallest share of losses other than 0 that the distance of lattice points suits.
SMALLEST_MOVING = 1e-12
# Factor from one number of blocks that is tried to the next.
BLOCK_GROWTH = 1.5
# Logarithm of the smallest δ that blocks reach to.
SMALLEST_LOG = -690.0


class LatticeLosses(NamedTuple):
    """P-masses (J,) of losses at multiples of a step, from ``first`` times the step on, and p_∞."""

    first: int
    masses: FloatArray
    infinite: float

    @staticmethod
    def above(losses: Losses, step: float) -> LatticeLosses:
        """Return a pair above one of losses, each of which is split between neighbouring points.

        Both masses of a loss are kept, up to roundings upwards.
        """
        values = losses.values + 8.0 * U * (np.abs(losses.values) + step)
        place = np.floor(values / step)
        beyond = np.clip(values - place * step, 0.0, step)
        upper, lower = (
            losses.masses * -np.expm1(-beyond) / -math.expm1(-step),
            losses.masses * np.expm1(step - beyond) / math.expm1(step),
        )
        first = int(place.min())
        index, size = place.astype(np.int64) - first, int(place.max()) - first + 2
        split = np.bincount(index, lower, size) + np.bincount(index + 1, upper, size)
        # NumPy's stubs say that bincount returns integers, which is wrong with weights.
        masses = split.astype(np.float64) * (1.0 + (values.size + 32.0) * U)
        return LatticeLosses(first, masses, losses.infinite)

    @property
    def last(self) -> int:
        """The last lattice point, in units of the step."""
        return self.first + self.masses.size - 1


@dataclass(frozen=True, eq=False)
class ChosenOrders:
    """Upper bounds of W(e^ε) at ε = i·``step``, i = 0, …, K; ``heights`` has shape (K + 1,).

    W is the largest curve of some rounds. It is convex and falls, so it lies below chords.
    """

    step: float
    heights: FloatArray

    @staticmethod
    def of(laws: Sequence[LatticeLosses], step: float, size: int, times: int) -> ChosenOrders:
        """Return bounds for so many rounds, each of which has one of the laws."""
        first, last = min(x.first for x in laws), max(x.last for x in laws)
        spend(WORK_OF_PRODUCT * times * (size + 1) * sum(x.masses.size for x in laws))
        left = np.arange(-last, 0)
        factors, distances = np.exp(left * step) * (1.0 + 4.0 * U), -np.expm1(left * step)
        mirror = np.minimum(-left, size)
        heights = np.zeros(size + 1)
        for _ in range(times):
            before = (distances + factors * heights[mirror]) * (1.0 + 8.0 * U)
            beyond = np.full(max(-first, 0), heights[-1])
            points = np.concatenate([before, heights, beyond])
            heights = np.max([_mean(x, points, last, size) for x in laws], axis=0)
            heights = np.minimum.accumulate(np.minimum(heights, 1.0))
        return ChosenOrders(step, heights)

    def delta(self, eps: float, rtol: float) -> Enclosure:
        """Return an upper bound of δ at ε ≥ 0; the lower end is 0."""
        last = self.heights.size - 1
        place = min(int(eps / self.step), last)
        place -= place * self.step > eps
        start, stop = (float(self.heights[min(i, last)]) for i in (place, place + 1))
        # The share of the way to the next point is rounded down.
        growth = math.expm1(min(eps - place * self.step, self.step))
        share = growth / math.expm1(self.step) * (1.0 - 16.0 * U)
        return Enclosure(0.0, min((start - share * (start - stop)) * (1.0 + 8.0 * U), 1.0))

    def root(self, delta: float, rtol: float, side: float) -> float:
        """Return an upper bound of the smallest ε with δ(ε) ≤ `delta`; inf beyond the lattice."""
        is_below = self.heights <= delta
        if not is_below[-1]:
            return math.inf
        place = int(np.argmax(is_below))
        if place == 0:
            return 0.0
        start, stop = (float(x) for x in self.heights[place - 1 : place + 1])
        share = min((start - delta) / (start - stop) * (1.0 + 8.0 * U), 1.0)
        eps = (place - 1) * self.step + math.log1p(math.expm1(self.step) * share)
        return min(eps * (1.0 + 16.0 * U), place * self.step)

    def block(self) -> Losses:
        """Return losses above the curve, for sums of several such blocks of rounds."""
        nodes: FloatArray = np.arange(float(self.heights.size)) * self.step
        return losses_above(nodes, self.heights)


def _mean(law: LatticeLosses, points: FloatArray, offset: int, size: int) -> FloatArray:
    """Return upper bounds of the mean of W(x e^{−L}) at the points from 0 to `size`.

    `points` are bounds of W at the points from −`offset` on.
    """
    start = offset - law.last
    stop = offset + size - law.first + 1
    means = np.convolve(points[start:stop], law.masses, "valid") + law.infinite
    return np.asarray(means * (1.0 + (2.0 * law.masses.size + 16.0) * U) + UNDERFLOW_ERR)


def bound_of_chosen_orders(
    laws: Sequence[Losses], largest: Losses, times: int, tilt: Tilt, width: float
) -> ChosenOrders | LossSum | None:
    """Return what bounds δ of so many rounds, each of which has one of the laws.

    Parameters
    ----------
    laws
        Losses above each order of each pair of datasets.
    largest
        Losses above all of them.
    times
        The number of rounds.
    tilt
        The tilt at the answer, which the lattice suits.
    width
        The relative width of δ of which the lattice may take a share.

    Returns
    -------
    ChosenOrders or LossSum or None
        If there are too many rounds, orders are chosen within blocks of them, and the answer is the
        sum of the blocks. None if even two rounds are too much work.
    """
    if not math.isfinite(tilt.log_delta):
        return None
    step = _lattice_step(largest, times, tilt, width)
    span = sum(float(np.ptp(x.values)) / step + 2.0 for x in laws)
    blocks, rounds = 1, times
    while rounds > 1:
        end = tilt.eps + REACH / tilt.theta
        if blocks > 1:
            level = math.exp(max(tilt.log_delta - REACH, SMALLEST_LOG)) / blocks
            end = LossSum([(largest, rounds)]).tilt_at_delta(level).eps
        size = math.ceil(min(max(end, step), LARGEST_POINT) / step)
        if rounds * size * span <= MOST_PRODUCTS:
            lattice = [LatticeLosses.above(x, step) for x in laws]
            chosen = ChosenOrders.of(lattice, step, size, rounds)
            return chosen if blocks == 1 else LossSum([(chosen.block(), blocks)])
        blocks = math.ceil(BLOCK_GROWTH * blocks)
        rounds = math.ceil(times / blocks)
    return None


def _lattice_step(largest: Losses, times: int, tilt: Tilt, width: float) -> float:
    """Return the distance of lattice points, a float of few significant bits.

    A loss that is split between points at a distance w raises log E e^{θL} by θ(θ + 1) w²/12 on
    average, unless it is 0.
    """
    x = tilt.theta * largest.values
    weights = largest.masses * np.exp(x - x.max())
    moving = float(weights[largest.values != 0.0].sum() / weights.sum())
    rate = tilt.theta * (tilt.theta + 1.0) * times * max(moving, SMALLEST_MOVING) / 12.0
    mantissa, exponent = math.frexp(min(math.sqrt(LATTICE_SHARE * width / rate), LARGEST_STEP))
    return math.ldexp(math.floor(math.ldexp(mantissa, STEP_BITS)), exponent - STEP_BITS)
