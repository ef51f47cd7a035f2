"""The Rényi divergences of all datasets of a mechanism, crowd by crowd.

Both curves of any two datasets of a crowd lie below those of the blankets and below the bound for
all datasets of the crowd, which takes some milliseconds at each ε. It is computed only where it may
change the answer: any heights above a curve at any nodes give a proven divergence. Proof:
docs/proofs/renyi.md, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import budget
from shufflebounds.divergence.elementary import SMALLEST
from shufflebounds.divergence.law import U, log
from shufflebounds.divergence.moments import log1p_exp, log_sum
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.loss_moments import Kinks, kinks_above
from shufflebounds.profiles.profile import Max, Profile
from shufflebounds.profiles.renyi import (
    ROUNDING_LOSS,
    WIDEST,
    divergences_of,
    larger_order,
    largest_loss_of,
    log_curve,
    planned,
)

# Width that nodes for all datasets aim at, in units of the requested one. Chords alone add a
# fraction of the width that both ends of a pair have.
CHORDS_SHARE = 2.0
# Relative width that the nodes for blankets aim at; they matter where losses are rare only.
BLANKETS_RTOL = 0.1
# Share of the requested width below which further evaluations of a crowd's bound are left out.
TOLERANCE_SHARE = 0.25
# Among so many nodes one is used for a crowd's own blanket, which shows that most crowds do not
# decide.
OWN_STRIDE = 16
# Work that evaluations of the bound for all datasets may cost, in units. The heights of blankets
# remain after that, so that no question is refused. It covers Laplace noise on [0, 1] up to ε₀ = 2.
MAX_WORK = 1.2e10
# Largest exponent of an estimate, which could overflow.
MAX_EXPONENT = 300.0
# Logarithm of the smallest bound for all datasets.
LOG_SMALLEST = math.log(SMALLEST)


def all_datasets_upper(
    crowds: Iterable[Crowd],
    blankets: Sequence[Decomposition],
    lower: Profile,
    n: int,
    orders: FloatArray,
    goal: float,
) -> FloatArray:
    """Return upper bounds of the divergences of all datasets of n users in the crowds, (O,).

    The largest curve of the `blankets` bounds all datasets, too, and `lower` is a curve of specific
    datasets. `goal` is the relative width by which the nodes are chosen. The bounds are inf if
    losses have no bound.
    """
    directions = [order[1] for blanket in blankets for order in blanket.directions]
    end = largest_loss_of(directions)
    if not ROUNDING_LOSS < end < math.inf:
        return np.full(orders.shape, np.inf)

    def estimates_of(profile: Profile, eps: FloatArray) -> FloatArray:
        return profile.at(np.zeros(eps.size, int)).estimates(eps)

    upper = Max([pair(blanket, np.array([float(n)])).upper for blanket in blankets])
    plans = [
        planned(lambda x: estimates_of(lower, x), end, orders, CHORDS_SHARE * goal),
        planned(lambda x: estimates_of(upper, x), end, orders, max(BLANKETS_RTOL, goal)),
    ]
    nodes = np.array([0.0, end])
    for plan in plans:
        nodes = np.union1d(nodes, plan.nodes(nodes))
    aims = np.min([np.interp(nodes[:-1], plan.eps, plan.aims) for plan in plans], axis=0)
    heights = np.max([log_curve(x, n, nodes[:-1], aims)[1] for x in directions], axis=0)
    with np.errstate(divide="ignore"):
        floor = np.log(lower.at(np.zeros(aims.size, int)).deltas(nodes[:-1], aims).lower)
    search = _CrowdSearch(n, nodes, floor, _log_effects(nodes, orders, floor), MAX_WORK)
    best, moments = search.divergence(floor), np.full(orders.shape, -np.inf)
    for crowd in crowds:
        kinks = []
        for direction in both_directions([crowd]):
            lowered = search.lowered(direction, heights, best, TOLERANCE_SHARE * goal)
            best = np.maximum(best, search.divergence(search.convex(lowered)[1]))
            kinks.append(search.kinks(lowered))
        moments = np.maximum(moments, larger_order(orders, kinks))
    return divergences_of(orders, moments, moments)[1]


def _log_effects(nodes: FloatArray, orders: FloatArray, log_heights: FloatArray) -> FloatArray:
    """Return estimates of the log of what a height of 1 at a node adds to a divergence, (O, K).

    The unit is the divergence of the curve whose logs are `log_heights`, (K,), at all `nodes` but
    the last.
    """
    alpha, widths = orders[:, None], 0.5 * (nodes[1:] - np.append(0.0, nodes[:-2]))
    weights = np.log(alpha) + np.log(alpha - 1.0) + (alpha - 1.0) * nodes[:-1] + np.log(widths)
    log_moment = np.maximum(log_sum(weights + log_heights), -MAX_EXPONENT)
    log_power = log1p_exp(log_moment)
    return np.asarray(weights - (log_moment + np.log1p(log_power))[:, None])


@dataclass(eq=False)
class _CrowdSearch:
    """The nodes at which curves of n users are bounded, (K + 1,); every curve is 0 at the last one.

    Logs of heights have shape (K,), as has the ``floor``, below which no height is of use.
    ``effects`` are those of `_log_effects`. Further bounds may cost ``remaining`` units of work.
    """

    n: int
    nodes: FloatArray
    floor: FloatArray
    effects: FloatArray
    remaining: float

    def lowered(
        self, crowd: Crowd, log_heights: FloatArray, best: FloatArray, tolerance: float
    ) -> FloatArray:
        """Return upper bounds of the log of a crowd's curve, which `log_heights` are as well.

        They are lowered at one node after the other, until no estimate of a divergence is above
        `best`, (O,), or until that can save no more than `tolerance`.
        """
        heights = log_heights.copy()
        # The blanket of extremes does not cover all pairs of their crowd.
        if not (crowd.extremes or crowd.kinds):
            few = self.nodes[:-1:OWN_STRIDE]
            own = log_curve(crowd.blanket(), self.n, few, np.full(few.shape, WIDEST))[1]
            heights[::OWN_STRIDE] = np.minimum(heights[::OWN_STRIDE], own)
        is_open = heights > np.maximum(self.floor, LOG_SMALLEST)
        floor_parts = self._parts(self.floor)
        while True:
            parts = self._parts(self.convex(heights)[1])
            savings = np.where(is_open, np.maximum(parts - floor_parts, 0.0), 0.0)
            needs = np.minimum(savings.sum(axis=1) - tolerance, parts.sum(axis=1) - best)
            order = int(np.argmax(needs))
            if not needs[order] > 0.0 or self.remaining < 0.0:
                return heights
            # The median lowers chords on both of its sides.
            sums = np.cumsum(savings[order])
            node = int(np.searchsorted(sums, 0.5 * sums[-1]))
            is_open[node] = False
            heights[node] = min(heights[node], self._log_bound(crowd, float(self.nodes[node])))

    def _log_bound(self, crowd: Crowd, eps: float) -> float:
        """Return the log of the bound for all datasets, inf at the end of its work."""
        with budget(self.remaining) as work:
            try:
                return log(supremum(crowd, eps, self.n)) + 3000.0 * U
            except WorkError:
                return math.inf
            finally:
                self.remaining = work.remaining

    def convex(self, log_heights: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return the vertices of the largest convex curve below heights, and estimates of its log.

        Nodes with heights that are no floats count as vertices.
        """
        x = np.expm1(self.nodes).tolist()
        y = [*np.exp(log_heights).tolist(), 0.0]
        hull: list[int] = []
        for i in range(len(x)):
            while len(hull) > 1 and _is_above_chord(hull[-2], hull[-1], i, x, y):
                hull.pop()
            hull.append(i)
        is_vertex = log_heights < LOG_SMALLEST
        is_vertex[hull[:-1]] = True
        with np.errstate(divide="ignore"):
            logs = np.log(np.interp(x[:-1], [x[i] for i in hull], [y[i] for i in hull]))
        return is_vertex, np.where(is_vertex, log_heights, logs)

    def kinks(self, log_heights: FloatArray) -> Kinks:
        """Return the kinks of a polygon above a convex curve that is below all heights."""
        is_vertex = self.convex(log_heights)[0]
        return kinks_above(
            self.nodes[np.append(is_vertex, True)], np.append(log_heights[is_vertex], -np.inf)
        )

    def divergence(self, log_heights: FloatArray) -> FloatArray:
        """Return estimates of the divergence of a curve, (O,), in units of that of `floor`."""
        return np.asarray(self._parts(log_heights).sum(axis=1))

    def _parts(self, log_heights: FloatArray) -> FloatArray:
        """Return what the heights add to the divergences, (O, K)."""
        return np.asarray(np.exp(np.minimum(log_heights + self.effects, MAX_EXPONENT)))


def _is_above_chord(
    left: int, middle: int, right: int, x: Sequence[float], y: Sequence[float]
) -> bool:
    """Return whether a point is not below the chord of two others."""
    rise = (y[middle] - y[left]) * (x[right] - x[middle])
    return rise >= (y[right] - y[middle]) * (x[middle] - x[left])
