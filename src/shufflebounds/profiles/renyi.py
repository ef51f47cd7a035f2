"""The Rényi divergences of an interval of two profiles: pairs of datasets, and all datasets.

All that a question needs is `Renyi`. Both curves of any two datasets of a crowd lie below those of
the blankets and below the bound for all datasets of the crowd, which takes some milliseconds at
each ε. It is computed only where it may change the answer: any heights above a curve at any nodes
give a proven divergence. Proof: docs/proofs/renyi.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.enclosure import Enclosures, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import budget
from shufflebounds.divergence.elementary import SMALLEST
from shufflebounds.divergence.law import U, log
from shufflebounds.profiles.datasets import Supremum
from shufflebounds.profiles.log_polygons import (
    WIDEST,
    Bounds,
    larger_order,
    log_allowed,
    log_effects,
)
from shufflebounds.profiles.losses import hull
from shufflebounds.profiles.profile import Interval, Max, Min, Profile
from shufflebounds.profiles.renyi_pairs import (
    ROUNDING_LOSS,
    RenyiPair,
    RenyiPairs,
    divergences_of,
    log_curve,
)
from shufflebounds.profiles.rounds import dataset_pairs
from shufflebounds.profiles.two_inputs import LargestOfTwoInputs

# Largest number of datasets that are tried: half of them are the first in order, and the others
# those of the largest losses.
MAX_DATASETS = 32
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


class RenyiEnds(NamedTuple):
    """Ends of divergences at orders, (O,), and the relative widths that are not due to theory."""

    lower: FloatArray
    upper: FloatArray
    widths: FloatArray


@dataclass(eq=False)
class Renyi:
    """The Rényi divergences of an interval of one shuffle.

    Nodes of earlier questions are kept.
    """

    interval: Interval

    @cached_property
    def lower(self) -> RenyiPairs:
        """Pairs of datasets that attain the lower profile, the most promising ones of many."""
        most = None if self.interval.is_exact else MAX_DATASETS
        return RenyiPairs.of(self.interval.lower, most)

    @cached_property
    def uppers(self) -> list[RenyiPairs]:
        """Pairs of datasets for each upper bound that is the largest divergence of such pairs."""
        if self.interval.is_exact:
            return [self.lower]
        return [RenyiPairs.of(part) for part in self._upper_parts if not part.is_costly]

    @property
    def blankets(self) -> RenyiPairs:
        """The pairs of the first upper bound."""
        return self.uppers[0]

    @cached_property
    def has_lower(self) -> bool:
        """Whether pairs of datasets are known, and given by their decompositions.

        If not, the divergences are those of a blanket or estimates, and only 0 is a lower end.
        """
        if not self.interval.is_attained:
            return False
        pairs = dataset_pairs(self.interval.lower)
        return not any(direction.has_gap for orders in pairs for direction in orders)

    @cached_property
    def largest_loss(self) -> tuple[float, float]:
        """Bounds of the divergence of order ∞."""
        upper = min(pairs.largest_loss[1] for pairs in self.uppers)
        lower = self.lower.largest_loss[0] if self.has_lower else 0.0
        return min(lower, upper), upper

    @property
    def _upper_parts(self) -> Sequence[Profile]:
        """The upper bounds of which the smallest counts, but for those of two inputs.

        The nodes are chosen for bounds that take milliseconds at each of them.
        """
        upper = self.interval.upper
        parts = upper.parts if isinstance(upper, Min) else [upper]
        return [part for part in parts if not isinstance(part, LargestOfTwoInputs)]

    def bounds(self, orders: FloatArray, rtol: float) -> RenyiEnds:
        """Return ends at all orders, (O,), that aim at a relative width of `rtol`."""
        lower = self.lower.bounds(orders, rtol)
        first = lower if self.interval.is_exact else self.blankets.bounds(orders, rtol)
        widths = np.max([Enclosures(*x).relative_width for x in (lower, first)], axis=0)
        upper, further = first[1], self._further_uppers(orders, rtol)
        # An upper bound close to the lower one needs no other.
        while (upper > lower[1] * (1.0 + rtol)).any():
            bound = next(further, None)
            if bound is None:
                break
            upper = np.minimum(upper, bound)
        attained = lower[0] if self.has_lower else np.zeros(orders.shape)
        return RenyiEnds(np.minimum(attained, upper), upper, widths)

    def _further_uppers(self, orders: FloatArray, rtol: float) -> Iterator[FloatArray]:
        """Yield upper ends by each further bound at orders, (O,)."""
        for pairs in self.uppers[1:]:
            yield pairs.bounds(orders, rtol)[1]
        yield self.all_datasets(orders, rtol)

    def all_datasets(self, orders: FloatArray, rtol: float) -> FloatArray:
        """Return upper ends by the bound for all datasets at orders, (O,); inf without one."""
        upper = np.full(orders.shape, np.inf)
        for part in self._upper_parts:
            if part.is_costly:
                ends = all_datasets_upper(part, self.lower, self.blankets, orders, rtol)
                upper = np.minimum(upper, ends)
        return upper


def suprema_of(profile: Profile) -> Iterator[list[Any]]:
    """Yield the bounds of each crowd of a bound for all datasets: one, or one for each order."""
    suprema = iter([*_suprema(profile)])
    for supremum in suprema:
        yield [supremum] if supremum.crowd.symmetric else [supremum, next(suprema)]


def _suprema(profile: Profile) -> Iterator[Any]:
    """Yield the bounds of a profile that is the largest of them, each beside cheaper bounds."""
    if isinstance(profile, Max):
        for part in profile.parts:
            yield from _suprema(part)
    elif isinstance(profile, Min):
        yield from _suprema(profile.parts[-1])
    elif isinstance(profile, Supremum):
        yield profile
    else:
        raise TypeError(f"profile must be the largest of suprema, got {profile!r}")


def all_datasets_upper(
    profile: Profile, lower: RenyiPairs, blankets: RenyiPairs, orders: FloatArray, goal: float
) -> FloatArray:
    """Return upper bounds of the divergences of all datasets, (O,).

    They are bounded by a `profile`, which is the largest of its crowds, and by the `blankets`.
    `lower` are pairs of specific datasets, and `goal` is the relative width by which the nodes are
    chosen. The bounds are inf if losses have no bound.
    """
    end = blankets.largest_loss[1]
    if not ROUNDING_LOSS < end < math.inf:
        return np.full(orders.shape, np.inf)
    lowest = [pair for pair in lower.largest(orders) if pair.end > ROUNDING_LOSS]
    plans = [(pair, CHORDS_SHARE * goal) for pair in lowest]
    plans += [(pair, max(BLANKETS_RTOL, goal)) for pair in blankets.largest(orders)]
    nodes = np.array([0.0, end])
    for pair, rtol in plans:
        inner = np.append(nodes[nodes < pair.end], pair.end)
        nodes = np.union1d(nodes, pair.plan(orders, rtol).new_nodes(inner))
    n, aims = blankets.pairs[0].n, np.full(nodes.size - 1, WIDEST)

    def curves(pairs: Sequence[RenyiPair], side: int) -> FloatArray:
        """Return the largest bounds of all orders of pairs at the nodes but the last."""
        logs = [log_curve(x, n, nodes[:-1], aims)[side] for pair in pairs for x in pair.directions]
        return np.asarray(np.max([np.full(aims.shape, -np.inf), *logs], axis=0))

    heights, floor = curves(blankets.pairs, 1), curves(lowest, 0)
    search = _CrowdSearch.of(n, nodes, floor, orders, goal)
    best, moments = search.parts(floor).sum(axis=1), np.full(orders.shape, -np.inf)
    for suprema in suprema_of(profile):
        polygons = []
        for supremum in suprema:
            lowered = search.lowered(supremum, heights, best)
            best = np.maximum(best, search.parts(search.convex(lowered)[1]).sum(axis=1))
            polygons.append(search.polygon(lowered))
        moments = np.maximum(moments, larger_order(polygons, orders, 1.0))
    return divergences_of(orders, moments, moments)[1]


@dataclass(eq=False)
class _CrowdSearch:
    """The nodes at which curves of n users are bounded, (K + 1,); every curve is 0 at the last one.

    Logs of heights have shape (K,), as has the ``floor``, below which no height is of use.
    ``effects`` are logs of what a height of 1 at a node adds to a divergence, in units of the
    requested width, (O, K). Further bounds may cost ``remaining`` units of work.
    """

    n: int
    nodes: FloatArray
    floor: FloatArray
    effects: FloatArray
    remaining: float

    @staticmethod
    def of(
        n: int, nodes: FloatArray, floor: FloatArray, orders: FloatArray, goal: float
    ) -> _CrowdSearch:
        """Return the search for a relative width of `goal`, given lower bounds of the curves."""
        moments = larger_order([(nodes, np.append(floor, -np.inf))], orders, 0.0)
        with np.errstate(all="ignore"):
            moments = np.maximum(moments, -MAX_EXPONENT)
            effects = (
                log_effects(nodes, orders)[:, :-1] - log_allowed(moments, moments, goal)[:, None]
            )
        return _CrowdSearch(n, nodes, floor, effects, MAX_WORK)

    def lowered(self, supremum: Supremum, log_heights: FloatArray, best: FloatArray) -> FloatArray:
        """Return upper bounds of the log of a crowd's curve, which `log_heights` are as well.

        They are lowered at one node after the other, until no estimate of a divergence is above
        `best`, (O,), or until that can save no more than a share of the requested width.
        """
        heights, crowd = log_heights.copy(), supremum.crowd
        # The blanket of one pair does not cover a crowd of many.
        if crowd.is_of_one_pair:
            few = self.nodes[:-1:OWN_STRIDE]
            own = log_curve(crowd.blanket(), self.n, few, np.full(few.shape, WIDEST))[1]
            heights[::OWN_STRIDE] = np.minimum(heights[::OWN_STRIDE], own)
        is_open = heights > np.maximum(self.floor, LOG_SMALLEST)
        floor_parts = self.parts(self.floor)
        while True:
            parts = self.parts(self.convex(heights)[1])
            savings = np.where(is_open, np.maximum(parts - floor_parts, 0.0), 0.0)
            needs = np.minimum(savings.sum(axis=1) - TOLERANCE_SHARE, parts.sum(axis=1) - best)
            order = int(np.argmax(needs))
            if not needs[order] > 0.0 or self.remaining < 0.0:
                return heights
            # The median lowers chords on both of its sides.
            sums = np.cumsum(savings[order])
            node = int(np.searchsorted(sums, 0.5 * sums[-1]))
            is_open[node] = False
            heights[node] = min(heights[node], self._log_bound(supremum, node))

    def _log_bound(self, supremum: Supremum, node: int) -> float:
        """Return the log of the bound for all datasets, inf at the end of its work."""
        with budget(self.remaining) as work:
            try:
                ends = supremum.deltas(self.nodes[node : node + 1], WIDEST)
                return log(float(ends.upper[0])) + 3000.0 * U
            except WorkError:
                return math.inf
            finally:
                self.remaining = work.remaining

    def convex(self, log_heights: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
        """Return the vertices of the largest convex curve below heights, and estimates of its log.

        Nodes with heights that are no floats count as vertices.
        """
        x, y = np.expm1(self.nodes), np.append(np.exp(log_heights), 0.0)
        vertices = hull(x, y)
        is_vertex = log_heights < LOG_SMALLEST
        is_vertex[vertices[:-1]] = True
        with np.errstate(divide="ignore"):
            logs = np.log(np.interp(x[:-1], x[vertices], y[vertices]))
        return is_vertex, np.where(is_vertex, log_heights, logs)

    def polygon(self, log_heights: FloatArray) -> Bounds:
        """Return the vertices, and logs of heights there, of a polygon above a crowd's curve."""
        used = np.append(self.convex(log_heights)[0], True)
        heights = np.minimum.accumulate(np.append(log_heights, -np.inf)[used])
        return self.nodes[used], heights

    def parts(self, log_heights: FloatArray) -> FloatArray:
        """Return what the heights add to the divergences, (O, K)."""
        return np.asarray(np.exp(np.minimum(log_heights + self.effects, MAX_EXPONENT)))
