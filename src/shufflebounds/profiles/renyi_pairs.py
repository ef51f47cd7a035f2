"""The Rényi divergences of pairs of datasets, as sums over polygons through few nodes.

The nodes are as few as the requested width allows by estimates of the curves; they decide the width
of a divergence, never whether it holds. Outcomes of few users are summed one by one. Proofs:
docs/proofs/renyi.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.engine import LARGEST_EPS, log_divergences
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import few_moments, infinite, log1p_exp
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.profiles.direction import largest_loss
from shufflebounds.profiles.log_polygons import Bounds, CellPlan, Polygons
from shufflebounds.profiles.profile import Profile
from shufflebounds.profiles.rounds import dataset_pairs

# Largest loss that rounding of the entries alone may explain.
ROUNDING_LOSS = 1e-12
# A bound of the error of what underflows, divided by α − 1.
UNDERFLOW_ERR = 1e-300
# Smallest positive ε of the first nodes, in typical losses.
FIRST_NODE = 0.25
# Ratio of each of the other first nodes to the one before it.
NODES_RATIO = 1.5
# Relative width to which several pairs are computed first, to sort some of them out.
COARSE_RTOL = 0.1
# Share of the requested width for each of an inner and an outer decomposition, in units of that for
# their δ: divergences need many points.
ENDS_SHARE = 1.6
# Relative width of a divergence by estimates, in units of the requested one.
ESTIMATES_SHARE = 2.0
# Smallest relative width by estimates: finer nodes would show the errors of the estimates.
ESTIMATES_RTOL = 2e-3
# Most choices of nodes by estimates.
MAX_ESTIMATES = 16
# Factor of the requested width from one choice of nodes by bounds to the next.
REFINEMENT = 0.9
# Most choices of nodes by bounds.
MAX_CHOICES = 6


@dataclass(eq=False)
class RenyiPair:
    """A pair of datasets: its decompositions in one order, or in each, and n users.

    Nodes of earlier questions are kept.
    """

    directions: Sequence[Decomposition]
    n: int

    @cached_property
    def end(self) -> float:
        """An upper bound of all losses; inf if there is none."""
        return largest_loss_of(self.directions)

    @cached_property
    def _ends(self) -> FloatArray:
        """The ε = 0, and the largest losses of both orders."""
        ends = np.array([largest_loss_of([x]) for x in self.directions])
        return np.unique([0.0, *ends[(ends > 0.0) & (ends < self.end)], self.end])

    @cached_property
    def _estimates(self) -> Polygons:
        """Estimates of both curves in place of bounds, at first nodes."""
        [(_, first)] = falling_log_estimates(self.directions, self.n, np.zeros(1), np.zeros(1))[:1]
        smallest = FIRST_NODE * math.exp(min(float(first[0]), 0.0))
        smallest = min(max(smallest, 1e-9 * self.end), 0.25 * self.end)
        count = 2 + math.ceil(math.log(self.end / smallest) / math.log(NODES_RATIO))
        nodes = np.union1d(self._ends, np.geomspace(smallest, self.end, count)[:-1])
        return Polygons.of(partial(falling_log_estimates, self.directions, self.n), nodes)

    @cached_property
    def _polygons(self) -> Polygons:
        """Bounds of both curves."""
        return Polygons.of(partial(log_curves, self.directions, self.n), self._ends)

    def bounds(self, orders: FloatArray, goal: float) -> Bounds:
        """Return lower and upper ends of the larger divergence of both orders, (O,) each.

        They aim at a relative width of `goal`.
        """
        if any(infinite(direction) for direction in self.directions):
            return np.full(orders.shape, np.inf), np.full(orders.shape, np.inf)
        simple_bound = bound_by_largest_loss(self.end, orders)
        if self.end <= ROUNDING_LOSS:
            return np.zeros(orders.shape), simple_bound
        moments = [few_moments(direction, self.n, orders) for direction in self.directions]
        known = [x for x in moments if x is not None]
        if len(known) == len(moments):
            low, high = (np.max(ends, axis=0) for ends in zip(*known, strict=True))
        else:
            low, high = self._polygon_moments(orders, goal)
        low, high = divergences_of(orders, low, high)
        return np.minimum(low, simple_bound), np.minimum(high, simple_bound)

    def _polygon_moments(self, orders: FloatArray, goal: float) -> Bounds:
        """Return bounds of log(E[(P/Q)^α] − 1), the larger one of both orders, (O,)."""
        self._polygons.follow(self.plan(orders, goal))
        return self._polygons.refine(orders, goal, MAX_CHOICES, REFINEMENT)

    def plan(self, orders: FloatArray, goal: float) -> CellPlan:
        """Return nodes for relative widths of `goal` at orders, by estimates of the curves."""
        rtol = max(ESTIMATES_SHARE * goal, ESTIMATES_RTOL)
        moments = self._estimates.refine(orders, rtol, MAX_ESTIMATES)
        return self._estimates.plan(orders, moments, goal)

    @cached_property
    def largest_loss(self) -> tuple[float, float]:
        """Bounds of the largest loss of both orders."""
        lower = max(loss - slack for loss, slack in map(largest_loss, self.directions))
        return max(lower, 0.0), self.end


@dataclass(eq=False)
class RenyiPairs:
    """Several pairs of datasets, whose largest divergence counts.

    ``share`` is the part of a requested width that the ends of each may take.
    """

    pairs: Sequence[RenyiPair]
    share: float

    @staticmethod
    def of(profile: Profile, most: int | None = None) -> RenyiPairs:
        """Return the pairs of a profile that is the largest of pairs of datasets.

        If there are more than `most`, they are the first ones and those of the largest losses.
        """
        orders = list(dataset_pairs(profile))
        pairs = [
            RenyiPair([x.decomposition for x in dict.fromkeys(both)], int(both[0].n[0]))
            for both in orders
        ]
        if most is not None and len(pairs) > most:
            half = most // 2
            ranked = sorted(pairs[half:], key=lambda pair: -pair.end)
            pairs = pairs[:half] + ranked[:half]
        share = min(first.share for first, _ in orders)
        return RenyiPairs(pairs, min(ENDS_SHARE * share, 1.0))

    def bounds(self, orders: FloatArray, rtol: float) -> Bounds:
        """Return bounds of the largest divergence at orders, (O,) each.

        Several are computed coarsely first, and to a width of `rtol` only if they may be largest.
        """
        goal = self.share * rtol
        if len(self.pairs) == 1:
            return self.pairs[0].bounds(orders, goal)
        coarse = [pair.bounds(orders, COARSE_RTOL) for pair in self.pairs]
        low, high = (np.max(ends, axis=0) for ends in zip(*coarse, strict=True))
        fine_high = np.zeros(orders.shape)
        ranked = sorted(zip(self.pairs, coarse, strict=True), key=lambda x: -float(x[1][1][0]))
        for pair, ends in ranked:
            pair_low, pair_high = pair.bounds(orders, goal) if (ends[1] > low).any() else ends
            low, fine_high = np.maximum(low, pair_low), np.maximum(fine_high, pair_high)
        return low, np.minimum(high, fine_high)

    def largest(self, orders: FloatArray) -> list[RenyiPair]:
        """Return the pairs that have the largest divergence at an order, by rough bounds."""
        if len(self.pairs) == 1:
            return list(self.pairs)
        rough = [pair.bounds(orders, COARSE_RTOL)[1] for pair in self.pairs]
        return [self.pairs[i] for i in np.unique(np.argmax(rough, axis=0))]

    @cached_property
    def largest_loss(self) -> tuple[float, float]:
        """Bounds of the divergence of order ∞, the largest loss of all pairs in both orders."""
        lower, upper = zip(*(pair.largest_loss for pair in self.pairs), strict=True)
        return max(lower), max(upper)


def falling_log_estimates(
    directions: Sequence[Decomposition], n: int, eps: FloatArray, _: FloatArray
) -> list[Bounds]:
    """Return falling estimates of the log of each curve at ε, as if they were bounds."""
    end = largest_loss_of(directions)
    users = np.full(eps.shape, float(n))
    curves = []
    for direction in directions:
        with np.errstate(all="ignore"):
            logs = log_estimate(direction, np.minimum(eps, LARGEST_EPS), users).log
        logs = np.nan_to_num(np.clip(logs, -1e15, 0.0), nan=0.0)
        logs = np.where(eps >= min(end, largest_loss_of([direction])), -np.inf, logs)
        curves.append((logs, logs))
    return curves


def log_curves(
    directions: Sequence[Decomposition], n: int, eps: FloatArray, aims: FloatArray
) -> list[Bounds]:
    """Return bounds of the log of each curve at ε, (P,); −inf from its largest loss on."""
    return [log_curve(direction, n, eps, aims) for direction in directions]


def log_curve(direction: Decomposition, n: int, eps: FloatArray, aims: FloatArray) -> Bounds:
    """Return bounds of log D at ε in one order, (P,); −inf from its largest loss on."""
    is_zero = eps >= largest_loss_of([direction])
    low, high = np.full(eps.shape, -np.inf), np.full(eps.shape, -np.inf)
    if not is_zero.all():
        low[~is_zero], high[~is_zero] = log_divergences(direction, eps[~is_zero], n, aims[~is_zero])
    return low, high


def largest_loss_of(directions: Sequence[Decomposition]) -> float:
    """Return an upper bound of all losses in the given orders; inf if there is none."""
    return max(sum(largest_loss(x)) for x in directions) * (1.0 + 8.0 * U)


def divergences_of(orders: FloatArray, log_lower: FloatArray, log_upper: FloatArray) -> Bounds:
    """Return bounds of the divergences, given bounds of log(E[(P/Q)^α] − 1), (O,)."""
    low, high = (log1p_exp(x) / (orders - 1.0) for x in (log_lower, log_upper))
    high = high * (1.0 + 32.0 * U) + UNDERFLOW_ERR
    return np.clip(low * (1.0 - 32.0 * U) - UNDERFLOW_ERR, 0.0, high), high


def bound_by_largest_loss(end_of_losses: float, orders: FloatArray) -> FloatArray:
    """Return upper bounds of the divergence at orders, (O,), if no loss is above the first one."""
    square = end_of_losses * end_of_losses * (1.0 + 8.0 * U)
    return np.minimum(end_of_losses, 0.5 * orders * square)
