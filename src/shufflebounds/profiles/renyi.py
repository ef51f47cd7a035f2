"""The Rényi divergences of a pair as sums over losses at few nodes.

Each curve is enclosed at some ε, the *nodes*, from which `loss_moments` makes the sums. The nodes
are as few as the requested width allows by estimates of the curves; they decide the width of a
divergence, never whether it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.engine import LARGEST_EPS, log_divergences
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import few_moments, infinite, log1p_exp, log_sum
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.profiles.direction import largest_loss
from shufflebounds.profiles.loss_moments import Kinks, kinks_above, kinks_below, log_moments

# Width of log E[(P/Q)^α] that losses cost at nodes of distance w, in units of their share and of
# w²α(α − 1): what was needed for the requested width in typical cases.
CELL_WIDTH = 0.42
# Share of the requested width that is left to the widths of the enclosures at the nodes.
NODES_SHARE = 0.05
# Share of the requested width for each of an inner and an outer decomposition.
CELLS_SHARE = 0.4
# Largest loss that rounding of the entries alone may explain.
ROUNDING_LOSS = 1e-12
# A bound of the error of what underflows, divided by α − 1.
UNDERFLOW_ERR = 1e-300
# Smallest positive ε of the first estimates, in typical losses.
FIRST_ESTIMATE = 0.25
# Ratio of each of the other ε to the one before it.
ESTIMATES_RATIO = 1.15
# Number of estimates in the last tenth of the losses, each half as far from the end as the last.
HALVINGS = 24
# Most nodes of a pair.
MAX_NODES = 12_000
# Largest distance of neighbouring nodes, as a share of the smaller ε.
LARGEST_GROWTH = 0.5
# Smallest width of a cell that is divided, as a share of its ε: a kink needs room.
SMALLEST_CELL = 1e-9
# Share of the requested width that a single cell with rare losses may take.
RARE_SHARE = 1e-3
# Largest relative width of D that is aimed at at a node.
WIDEST = 1e-2
# Most choices of nodes.
MAX_CHOICES = 6
# Factor of the requested width from one choice of nodes to the next.
REFINEMENT = 0.4
# Share of the width that a choice of nodes may leave, unless it is the last one.
MAX_REMAINING_SHARE = 0.8

Bounds = tuple[FloatArray, FloatArray]
Estimate = Callable[[FloatArray], FloatArray]


class Plan(NamedTuple):
    """How many nodes there are up to each of some ε, and the widths of log D to aim at there."""

    eps: FloatArray
    counts: FloatArray
    aims: FloatArray

    @staticmethod
    def of(eps: FloatArray, logs: FloatArray, orders: FloatArray, rtol: float) -> Plan:
        """Return the fewest nodes for all orders, given estimates of log D at ε, (K + 1,) each.

        At a loss L the nodes at distances w change log E[(P/Q)^α] by w² times a number and times
        the share of α(α − 1) q e^{αL} in E[(P/Q)^α]. The fewest nodes with a given sum are those
        whose distances fall with the cubic root of that. Where L is so rare that wide cells matter
        first, w is such that e^{αw} times the share of a cell stays small.
        """
        alpha, widths = orders[:, None], np.diff(eps)[:-1]
        # D falls like e^{−sε} in a cell; it is 0 at the last ε.
        fall = -np.diff(logs[:-1]) / widths
        with np.errstate(all="ignore"):
            powers = logs[:-1] + (alpha - 1.0) * eps[:-1]
            heights = np.maximum(powers[:, 1:], powers[:, :-1])
            steps = np.abs(np.diff(powers, axis=1))
            cells = heights + np.log(-np.expm1(-steps) / np.maximum(steps, 1e-300))
            cells = np.where(steps > 1e-9, cells, heights)
            log_powers = np.log(alpha) + np.log(alpha - 1.0)
            log_sums = log_sum(cells + np.log(widths))[:, None] + log_powers
            log_moment = log1p_exp(log_sums)
            scale = np.where(log_sums < -30.0, log_sums, log_moment + np.log(log_moment))
            cells, heights = (np.minimum(x + log_powers - scale, 300.0) for x in (cells, heights))
            roots = np.cbrt(np.exp(cells) * fall * (fall + 1.0))
            rates = roots * np.sqrt((roots @ widths)[:, None] * CELL_WIDTH / rtol)
            # Losses that move by w change the logarithm by no more than αw.
            allowed = rtol * log_moment
            room = np.log(RARE_SHARE * rtol) - heights + np.log(alpha)
            farthest = np.maximum(np.maximum(1.0, 0.25 * allowed), 0.5 * room) / alpha
            rates = np.maximum(np.where(allowed < 1.0, rates, 0.0), 1.0 / farthest).max(axis=0)
            rates = np.maximum(rates, 1.0 / (LARGEST_GROWTH * eps[:-2] + eps[1]))
            counts = np.append(0.0, np.cumsum(rates * widths))
            influences = np.maximum(np.exp(cells) / rates, 1e-300)
            total = influences.sum(axis=1, keepdims=True)
            aims = NODES_SHARE * rtol * (1.0 / total + 1.0 / (counts[-1] * influences)).min(axis=0)
        aims = np.append(np.clip(np.nan_to_num(aims, nan=WIDEST), 1e-10, WIDEST), [WIDEST, WIDEST])
        return Plan(eps, np.append(counts, counts[-1]), aims)

    def nodes(self, nodes: FloatArray) -> FloatArray:
        """Return further nodes that divide the cells of `nodes`."""
        counts = np.interp(nodes, self.eps, self.counts)
        pieces = np.ceil(np.diff(counts) - 0.1)
        pieces = np.where(np.diff(nodes) > SMALLEST_CELL * nodes[1:], pieces, 1.0)
        pieces = np.minimum(pieces, MAX_NODES)
        places = [
            np.linspace(counts[i], counts[i + 1], int(pieces[i]) + 1)[1:-1]
            for i in np.flatnonzero(pieces > 1.0)
        ]
        eps = np.interp(np.concatenate([np.empty(0), *places]), self.counts, self.eps)
        return np.setdiff1d(eps, nodes)


def first_estimates(estimate: Estimate, end: float) -> Bounds:
    """Return ε from 0 to `end`, where D is 0, and estimates of log D there.

    They are dense near 0, and near the end, where high orders have their losses.
    """
    first = float(np.minimum(np.nan_to_num(estimate(np.zeros(1))), 0.0)[0])
    smallest = min(max(FIRST_ESTIMATE * math.exp(first), 1e-9 * end), 0.25 * end)
    count = 2 + math.ceil(math.log(end / smallest) / math.log(ESTIMATES_RATIO))
    eps = np.geomspace(smallest, end, count)
    eps = np.union1d(eps[eps < 0.9 * end], end * (1.0 - 0.1 * 0.5 ** np.arange(HALVINGS)))
    eps = np.concatenate([[0.0], eps, [end]])
    return eps, _estimates(estimate, eps)


def _estimates(estimate: Estimate, eps: FloatArray) -> FloatArray:
    """Return falling estimates of log D, −inf at the last ε."""
    with np.errstate(all="ignore"):
        logs = np.minimum(estimate(eps[:-1]), 0.0)
    logs = np.minimum.accumulate(np.where(np.isnan(logs), 0.0, np.maximum(logs, -1e15)))
    return np.append(logs, -np.inf)


def planned(estimate: Estimate, end: float, orders: FloatArray, rtol: float) -> Plan:
    """Return a plan that rests on estimates of log D, which are finer where losses count."""
    eps, logs = first_estimates(estimate, end)
    plan = Plan.of(eps, logs, orders, max(rtol, 1e-2))
    eps = np.union1d(eps, plan.nodes(eps))
    return Plan.of(eps, _estimates(estimate, eps), orders, rtol)


@dataclass(eq=False)
class Curves:
    """Bounds of log D of each order of a pair at ``nodes``, (K + 1,), up to ``end``, where D is 0.

    There is one curve if both orders have the same. ``bounds`` are pairs of arrays (K + 1,), and
    ``aims`` the widths that they aimed at.
    """

    directions: Sequence[Decomposition]
    n: int
    end: float
    nodes: FloatArray = field(default_factory=lambda: np.zeros(0))
    aims: FloatArray = field(default_factory=lambda: np.zeros(0))
    bounds: list[Bounds] = field(default_factory=list)

    def __post_init__(self) -> None:
        ends = [largest_loss_of([x]) for x in self.directions]
        self.nodes = np.unique([0.0, *(x for x in ends if 0.0 < x < self.end), self.end])
        self.aims = np.full(self.nodes.shape, WIDEST)
        self.bounds = [log_curve(x, self.n, self.nodes, self.aims) for x in self.directions]

    def estimate(self, eps: FloatArray) -> FloatArray:
        """Return estimates of the larger log D."""
        n = np.full(eps.shape, float(self.n))
        return np.asarray(
            np.max(
                [log_estimate(x, np.minimum(eps, LARGEST_EPS), n).log for x in self.directions],
                axis=0,
            )
        )

    def log_moments(self, orders: FloatArray, goal: float) -> Bounds:
        """Return bounds of log(E[(P/Q)^α] − 1), the larger one of both orders of the pair, (O,).

        Nodes are added until the relative widths of the divergences are at most `goal`, or until
        that does not help.
        """
        last_width, rtol, open_orders = math.inf, goal, orders
        for choice in range(MAX_CHOICES + 1):
            low, high = self._sums(orders)
            with np.errstate(invalid="ignore"):
                widths = 1.0 - log1p_exp(low) / log1p_exp(high)
            open_orders = orders[widths > 0.99 * goal]
            width = float(widths.max())
            is_stuck = choice > 1 and width > MAX_REMAINING_SHARE * last_width
            if (
                not open_orders.size
                or is_stuck
                or self.nodes.size > MAX_NODES
                or choice == MAX_CHOICES
            ):
                break
            last_width = width
            spend(1e6 + 1e3 * self.nodes.size * orders.size)
            self._refine(open_orders, rtol)
            rtol *= REFINEMENT
        return low, high

    def _sums(self, orders: FloatArray) -> Bounds:
        """Return bounds of the larger log moment from the nodes so far."""
        above = [kinks_above(self.nodes, high) for _, high in self.bounds]
        reverse = [float(high[1]) for _, high in reversed(self.bounds)]
        below = [
            kinks_below(self.nodes, *bounds, log_reverse)
            for bounds, log_reverse in zip(self.bounds, reverse, strict=True)
        ]
        high = larger_order(orders, above)
        known = [kinks for kinks in below if kinks is not None]
        low = np.full(orders.shape, -np.inf)
        if len(known) == len(below):
            low = larger_order(orders, known)
        return np.minimum(low, high), high

    def _refine(self, orders: FloatArray, rtol: float) -> None:
        """Add nodes for a relative width at some orders, and narrow the bounds at others."""
        plan = planned(self.estimate, self.end, orders, rtol)
        nodes = np.concatenate([self.nodes, plan.nodes(self.nodes)])
        old = self.nodes.size
        aims = np.interp(nodes, plan.eps, plan.aims)
        is_wide = np.ones(nodes.size, bool)
        is_wide[:old] = (self.aims > 2.0 * aims[:old]) & (self.nodes < self.end)
        aims[:old] = np.where(is_wide[:old], aims[:old], self.aims)
        order = np.argsort(nodes, kind="stable")
        for i, direction in enumerate(self.directions):
            low, high = (
                np.append(x, np.full(nodes.size - old, y))
                for x, y in zip(self.bounds[i], (-np.inf, 0.0), strict=True)
            )
            new = log_curve(direction, self.n, nodes[is_wide], aims[is_wide])
            low[is_wide], high[is_wide] = (
                np.maximum(low[is_wide], new[0]),
                np.minimum(high[is_wide], new[1]),
            )
            low, high = low[order], high[order]
            # D falls.
            low = np.maximum.accumulate(low[::-1])[::-1]
            self.bounds[i] = low, np.minimum.accumulate(high)
        self.nodes, self.aims = nodes[order], aims[order]


def largest_loss_of(directions: Sequence[Decomposition]) -> float:
    """Return an upper bound of all losses in the given orders; inf if there is none."""
    return max(sum(largest_loss(x)) for x in directions) * (1.0 + 8.0 * U)


def log_curve(direction: Decomposition, n: int, eps: FloatArray, aims: FloatArray) -> Bounds:
    """Return bounds of log D at ε in one order, (P,); −inf from its largest loss on."""
    is_zero = eps >= largest_loss_of([direction])
    low, high = np.full(eps.shape, -np.inf), np.full(eps.shape, -np.inf)
    if not is_zero.all():
        low[~is_zero], high[~is_zero] = log_divergences(direction, eps[~is_zero], n, aims[~is_zero])
    return low, high


def larger_order(orders: FloatArray, kinks: Sequence[Kinks]) -> FloatArray:
    """Return the larger log moment of both orders of a pair, given the kinks of its curves."""
    pairs = zip(kinks, reversed(kinks), strict=True)
    return np.asarray(np.max([log_moments(orders, *pair) for pair in pairs], axis=0))


@dataclass(eq=False)
class RenyiPair:
    """A decomposition and n users.

    ``curves`` keeps what was enclosed for later orders, for the inner (0) and the outer end (1).
    """

    decomposition: Decomposition
    n: int
    curves: dict[int, Curves] = field(default_factory=dict)

    def bounds(self, orders: FloatArray, goal: float) -> Bounds:
        """Return lower and upper ends at all orders, (O,) each; `goal` is the width to aim at."""
        is_finite = self.decomposition.is_finite()
        goal *= 1.0 if is_finite else CELLS_SHARE
        outer = self._larger_direction(1, orders, goal)
        inner = outer if is_finite else self._larger_direction(0, orders, goal)
        return np.minimum(inner[0], outer[1]), outer[1]

    def largest_loss(self) -> tuple[float, float]:
        """Return bounds of the divergence of order ∞, the largest loss of both orders."""
        ends = []
        for end, sign in ((0, -1.0), (1, 1.0)):
            losses = (largest_loss(pair[end]) for pair in self.decomposition.directions)
            ends.append(max(loss + sign * slack for loss, slack in losses))
        return max(0.0, min(ends)), max(0.0, ends[1])

    @cached_property
    def end(self) -> float:
        """An upper bound of all losses; inf if there is none."""
        return largest_loss_of([outer for _, outer in self.decomposition.directions])

    def _larger_direction(self, end: int, orders: FloatArray, goal: float) -> Bounds:
        """Return bounds of the larger divergence of both orders, of inner (0) or outer ends (1)."""
        directions = [pair[end] for pair in self.decomposition.directions]
        if any(infinite(direction) for direction in directions):
            return np.full(orders.shape, np.inf), np.full(orders.shape, np.inf)
        end_of_losses = largest_loss_of(directions)
        simple_bound = bound_by_largest_loss(end_of_losses, orders)
        if end_of_losses <= ROUNDING_LOSS:
            return np.zeros(orders.shape), simple_bound
        moments = _enumerated_moments(directions, self.n, orders)
        if moments is None:
            if end not in self.curves:
                self.curves[end] = Curves(directions, self.n, end_of_losses)
            moments = self.curves[end].log_moments(orders, goal)
        low, high = divergences_of(orders, *moments)
        return np.minimum(low, simple_bound), np.minimum(high, simple_bound)


def divergences_of(orders: FloatArray, log_lower: FloatArray, log_upper: FloatArray) -> Bounds:
    """Return bounds of the divergences, given bounds of log(E[(P/Q)^α] − 1), (O,)."""
    low, high = (log1p_exp(x) / (orders - 1.0) for x in (log_lower, log_upper))
    high = high * (1.0 + 32.0 * U) + UNDERFLOW_ERR
    return np.clip(low * (1.0 - 32.0 * U) - UNDERFLOW_ERR, 0.0, high), high


def bound_by_largest_loss(end_of_losses: float, orders: FloatArray) -> FloatArray:
    """Return upper bounds of the divergence at orders, (O,), if no loss is above the first one."""
    square = end_of_losses * end_of_losses * (1.0 + 8.0 * U)
    return np.minimum(end_of_losses, 0.5 * orders * square)


def _enumerated_moments(
    directions: Sequence[Decomposition], n: int, orders: FloatArray
) -> Bounds | None:
    """Return bounds of log(E[(P/Q)^α] − 1), the larger one of all directions.

    The answer is None if a direction has too many outcomes.
    """
    moments = []
    for direction in directions:
        ends = few_moments(direction, n, orders)
        if ends is None:
            return None
        moments.append(ends)
    low, high = (np.max(ends, axis=0) for ends in zip(*moments, strict=True))
    return low, high
