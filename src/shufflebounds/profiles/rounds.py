"""Many rounds as an interval of two profiles, made of discrete losses of every round.

The upper profile dominates rounds that are chosen adaptively, the lower one that of independent
rounds on one pair of datasets; docs/proofs/composition.md proves both. Each kind of round is
enclosed at some ε, the *nodes*, and the losses above and below it are those of `losses`.
`Rounds.sums` chooses the nodes: with as few of them as possible, for one δ or ε at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.progress import steps
from shufflebounds.divergence.enumeration import outcomes
from shufflebounds.profiles.chosen_orders import ChosenOrders, bound_of_chosen_orders
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.loss_sum import LossSum, Tilt
from shufflebounds.profiles.losses import (
    EQUAL,
    CurveBounds,
    Losses,
    losses_above,
    losses_below,
    losses_of,
)
from shufflebounds.profiles.one_order import losses_above_order
from shufflebounds.profiles.profile import Interval, Max, Profile, Quantity
from shufflebounds.profiles.root_search import LARGEST_EPS
from shufflebounds.profiles.round_estimates import (
    Points,
    Reach,
    enclosures_at,
    estimated_curve,
)

# Variance that nodes at distance w add to a loss above a curve and take from one below it, together
# and in units of w², for a loss that is spread evenly over the cells (docs/proofs/composition.md).
CELL_VARIANCE = 5.5 / 12.0
# Share of the requested width that is left to the distances of the nodes.
NODE_SHARE = 0.75
# Share of the requested width for what is beyond the last node. The widths of the enclosures at the
# nodes have the same share.
SMALL_SHARE = 0.05
# Shares of the requested width for the distances of the nodes, and for the widths of the enclosures
# there, if bounds of a round are in cells: these stay apart anyway, and finer enclosures would take
# several times as long.
SHARES_IN_CELLS = (0.3, 0.5)
# Largest distance of a node from the last one, as a share of its ε.
LARGEST_GROWTH = 0.2
# Largest fall of log δ from a node to the next: lines below a curve must not fall below 0.
LARGEST_FALL = 0.8
# Most kinks of a curve with which all of them become nodes.
MAX_KINKS = 1000
# Most nodes of a kind.
MAX_NODES = 4000
# Largest relative width of δ to aim at in a node.
WIDEST = 0.05
# Factor of the requested width from one choice of nodes to the next.
REFINEMENT = 0.1
# The same for epochs of training.
FINE_REFINEMENT = 0.5
# Smallest ratio of the relative width of δ to that of ε, which falls to 0 at ε = 0.
SMALLEST_SENSITIVITY = 0.1
# Distance of a node from all nodes of another choice, as a share of its distance from those of its
# own, beyond which both are used. The lines between nodes that are closer magnify their errors.
APART = 0.4
# Smallest distance of a kink from a node, as a share of the last node.
LEAST_DISTANCE = 1e-9
# Most choices of nodes.
MAX_CHOICES = 4
# Ratio of the bounds of the interval's orders from which on its upper profile is asked, too.
CLOSE_RATIO = 1.01
# Most pairs of datasets between which rounds are free to choose by `chosen_orders`. Speed only.
MAX_CHOSEN_PAIRS = 4


class RoundQuestion(NamedTuple):
    """A question about many rounds: ε at a δ, or δ at an ε, to a relative width."""

    quantity: Quantity
    at: float
    rtol: float

    def tilt(self, loss_sum: LossSum) -> Tilt:
        """Return the tilt at the answer."""
        if self.quantity is Quantity.DELTA:
            return loss_sum.tilt_at_eps(self.at)
        tilt = loss_sum.tilt_at_delta(max(self.at - loss_sum.infinite[1], 1e-9 * self.at))
        return tilt if tilt.eps > 0.0 else loss_sum.tilt_at_eps(0.0)

    def sensitivity(self, tilt: Tilt) -> float:
        """Return the relative width of δ that the requested one allows.

        It does not fall further near ε = 0, where the relative width of ε means little.
        """
        if self.quantity is Quantity.DELTA:
            return self.rtol
        return self.rtol * max(tilt.theta * tilt.eps, SMALLEST_SENSITIVITY)

    def reach(self, times: int) -> Reach:
        """Return where δ of one of so many rounds is negligible."""
        share = SMALL_SHARE * min(self.rtol, 1.0) / times
        if self.quantity is Quantity.EPSILON:
            return Reach(share * self.at)
        return Reach(1e-290, self.at, share)

    def end(self, loss_sum: LossSum | ChosenOrders, side: float) -> float:
        """Return the answer for a sum of losses, rounded up if `side` is 1, down if it is −1."""
        if self.quantity is Quantity.EPSILON:
            return loss_sum.root(self.at, self.rtol, side)
        enclosure = loss_sum.delta(self.at, 0.1 * self.rtol)
        return min(enclosure.upper if side > 0.0 else enclosure.lower, 1.0)


# The two orders of a pair of datasets, of which the first is that of P and Q.
Orders = tuple[Direction, Direction]


@dataclass(frozen=True, eq=False)
class RoundKind:
    """Rounds of one kind: the interval of one of them, and how many there are.

    ``pairs`` are the pairs of datasets of the lower profile, in one order. Kinds of one ``family``
    have the same nodes, if it is not None.
    """

    interval: Interval
    times: int
    pairs: tuple[Orders, ...]
    family: object = None

    @staticmethod
    def of(
        interval: Interval, times: int, most_pairs: int | None = None, family: object = None
    ) -> RoundKind:
        """Return a kind of rounds; the lower profile is the largest of pairs of datasets.

        The first `most_pairs` are kept if the upper profile is a bound of its own, and all if it is
        the largest of these pairs.
        """
        pairs = tuple(dataset_pairs(interval.lower))
        pairs = pairs if interval.is_exact else pairs[:most_pairs]
        return RoundKind(interval, times, pairs, family)

    @cached_property
    def orders(self) -> tuple[tuple[Profile, Profile], ...]:
        """The orders (a, b) and (b, a) of the pairs whose largest curve is the upper profile.

        It is empty if there are none, if they are many, or if the orders of each pair are the same.
        """
        upper, pairs = self.interval.upper, self.interval.orders
        if not pairs and is_largest_of_pairs(upper):
            pairs = tuple(dataset_pairs(upper))
        is_asymmetric = any(first is not second for first, second in pairs)
        return pairs if is_asymmetric and len(pairs) <= MAX_CHOSEN_PAIRS else ()

    @property
    def is_in_cells(self) -> bool:
        """Whether both profiles are about one curve, and stay apart because of cells."""
        return self.interval.is_of_one_curve and not self.interval.is_exact

    @property
    def upper_parts(self) -> list[Profile]:
        """The upper profile, or the orders whose largest curve it is if they differ."""
        return list(dict.fromkeys(x for pair in self.orders for x in pair)) or [self.interval.upper]

    @cached_property
    def kinks(self) -> FloatArray:
        """The ε > 0 at which the upper profile has kinks, if they are few; each is a node."""
        kinks = np.concatenate([part.kinks() for part in self.upper_parts])
        kinks = np.unique(kinks[(kinks > 0.0) & (kinks < LARGEST_EPS)])
        return kinks[np.append(np.diff(kinks) > EQUAL * kinks[-1], True)] if kinks.size else kinks

    @property
    def is_symmetric(self) -> bool:
        """Whether the two orders of each pair of datasets are the same."""
        return all(first is second for first, second in self.pairs)


def dataset_pairs(profile: Profile) -> Iterator[Orders]:
    """Yield the orders (a, b) and (b, a) of each pair of a profile that is the largest of pairs."""
    parts = profile.parts if isinstance(profile, Max) else [profile]
    directions = [part for part in parts if isinstance(part, Direction)]
    if directions:
        yield directions[0], directions[-1]
    for part in parts:
        if not isinstance(part, Direction):
            yield from dataset_pairs(part)


def is_largest_of_pairs(profile: Profile) -> bool:
    """Return whether a profile is the largest of pairs of datasets, in both orders."""
    if isinstance(profile, Max):
        return all(is_largest_of_pairs(part) for part in profile.parts)
    return isinstance(profile, Direction)


def kinks_of(direction: Direction) -> FloatArray | None:
    """Return the ε > 0 at which a curve has kinks, and its end, if its outcomes are few."""
    ranked = direction.few_outcomes()
    if ranked is None:
        return None
    ratios = ranked.ratios[(ranked.ratios > 1.0) & np.isfinite(ranked.ratios)]
    kinks = np.log(ratios)
    # D is certainly constant a little beyond the last kink.
    last = kinks.max(initial=0.0) + 16.0 * ranked.err + 1e-13
    kinks = np.append(kinks[kinks < last], last)
    return kinks if last < LARGEST_EPS else None


@dataclass(eq=False)
class RoundCurve:
    """What is known of the δ(ε) of a kind of round, at ``nodes`` that ascend.

    ``upper`` has a row for each of the kind's ``upper_parts``, or one if the kind is exact.
    ``former`` are nodes of a coarser curve.
    """

    kind: RoundKind
    nodes: FloatArray = field(default_factory=lambda: np.zeros(0))
    upper: FloatArray = field(default_factory=lambda: np.zeros((1, 0)))
    pairs: dict[Direction, CurveBounds] = field(default_factory=dict)
    exact: dict[Direction, Losses] = field(default_factory=dict)
    estimates: Points = (np.zeros(0), np.zeros(0))
    former: FloatArray = field(default_factory=lambda: np.zeros(0))

    def use_kinks(self, rtol: float) -> None:
        """Use the exact losses of the pairs of datasets if their kinks are few.

        The kinks are the nodes, too, if the upper profile is that of these pairs.
        """
        directions = {x: None for orders in self.kind.pairs for x in orders}
        if self.kind.is_in_cells or not directions:
            return
        places = [kinks_of(direction) for direction in directions]
        if any(x is None for x in places):
            return
        kinks = np.unique(np.concatenate([x for x in places if x is not None]))
        # The largest of equal kinks is kept: the last one is where the curve is certainly constant.
        kinks = kinks[np.append(np.diff(kinks) > EQUAL * kinks[-1], True)]
        nodes = np.append(0.0, kinks[kinks > EQUAL * kinks[-1]])
        if not 1 < nodes.size <= MAX_KINKS:
            return
        for direction in directions:
            counted = outcomes(direction.decomposition, int(direction.n[0]))
            assert counted is not None
            self.exact[direction] = losses_of(counted)
        if self.kind.interval.is_exact:
            self.add(nodes, np.full(nodes.size, rtol), 0.0)

    @property
    def is_exact(self) -> bool:
        """Whether the nodes are all kinks of both profiles."""
        return bool(self.exact) and self.kind.interval.is_exact

    def restarted(self) -> RoundCurve:
        """Return a curve that will enclose the profiles anew at the nodes of this one."""
        estimates = self.nodes, self.largest
        return RoundCurve(self.kind, exact=self.exact, estimates=estimates, former=self.nodes)

    def add(self, nodes: FloatArray, rtol: FloatArray, level: float) -> None:
        """Enclose the profiles at more nodes, to relative widths of about `rtol`.

        A δ below `level` is negligible.
        """
        is_new = ~np.isin(nodes, self.nodes)
        nodes, rtol = nodes[is_new], rtol[is_new]
        order = np.argsort(np.concatenate([self.nodes, nodes]))
        upper = self._add_to_pairs(nodes, rtol, level, order)
        largest = upper.max(axis=0, initial=0.0)
        interval = self.kind.interval
        upper = upper if interval.is_ordered else largest[None]
        if not interval.is_exact and nodes.size:
            parts, floor = self.kind.upper_parts, np.maximum(largest, level)
            if len(parts) > 1:
                floor = np.full(nodes.size, level)
            profiles = [part.at(np.zeros(nodes.size, int)) for part in parts]
            found = [x.deltas(nodes, rtol, floor=floor) for x in profiles]
            upper = np.array([x.upper for x in found])
            lower = np.maximum(np.max([x.lower for x in found], axis=0), level)
            is_open = upper.max(axis=0) > CLOSE_RATIO * lower
            if interval.orders and not interval.keeps_order and is_open.any():
                rest = interval.upper.at(np.zeros(int(is_open.sum()), int))
                caps = rest.deltas(nodes[is_open], rtol[is_open], floor=floor[is_open]).upper
                upper[:, is_open] = np.minimum(upper[:, is_open], caps)
        self.nodes = np.concatenate([self.nodes, nodes])[order]
        count = max(len(self.upper), len(upper))
        rows = [np.broadcast_to(x, (count, x.shape[1])) for x in (self.upper, upper)]
        self.upper = np.concatenate(rows, axis=1)[:, order]

    def _add_to_pairs(
        self, nodes: FloatArray, rtol: FloatArray, level: float, order: NDArray[np.intp]
    ) -> FloatArray:
        """Enclose the pairs of datasets at more nodes; return their upper ends there, a row each.

        The `order` is that of all nodes, with the new ones at the end.
        """
        uppers = []
        for direction in {x: None for orders in self.kind.pairs for x in orders}:
            ends = enclosures_at(direction, nodes, rtol, level)
            uppers.append(ends.upper)
            known = self.pairs.get(direction, CurveBounds(np.zeros(0), np.zeros(0)))
            limit = min(direction.limit, float(ends.upper.min(initial=math.inf)))
            lower, upper = (
                np.concatenate(x)[order]
                for x in ((known.lower, ends.lower), (known.upper, ends.upper))
            )
            self.pairs[direction] = CurveBounds(lower, upper, limit)
        return np.array(uppers).reshape(len(uppers), nodes.size)

    def places(self, nodes: FloatArray) -> FloatArray:
        """Return those of new nodes that it needs, or with them the former ones apart from them."""
        if self.nodes.size:
            return apart_from(nodes, self.nodes)
        if self.former.size:
            nodes = np.union1d(nodes, apart_from(self.former, nodes))
        if self.kind.kinks.size:
            nodes = np.union1d(nodes, self.kind.kinks[self.kind.kinks < nodes[-1]])
            nodes = nodes[np.append(True, np.diff(nodes) > LEAST_DISTANCE * nodes[-1])]
        return nodes

    def copy(self) -> RoundCurve:
        """Return a copy that further nodes do not change."""
        return replace(self, pairs=dict(self.pairs), exact=dict(self.exact))

    def reach(self, level: float) -> None:
        """Add nodes until δ is at most `level` above its limit at the last one."""
        end = min(self.kind.interval.upper.end, LARGEST_EPS)
        floor = self.kind.interval.upper.limit * (1.0 + 1e-6) + level
        while self.largest[-1] > floor and self.nodes[-1] < end:
            growth = (1.0 + LARGEST_GROWTH) ** np.arange(1.0, 7.0)
            nodes = np.unique(np.minimum(self.nodes[-1] * growth, end))
            self.add(nodes, np.full(nodes.size, WIDEST), level)

    @property
    def largest(self) -> FloatArray:
        """Upper bounds of δ at the nodes, for both orders."""
        return np.asarray(self.upper.max(axis=0))

    @property
    def sides(self) -> int:
        """The number of orders of the two datasets that the upper profile has: 1 or 2."""
        return len(self.upper) if self.kind.interval.is_ordered else 1

    def above(self, side: int = 0) -> Losses:
        """Return losses above the upper profile, of the order `side` if rounds have the same."""
        if self.sides == 1 and not self.kind.interval.keeps_order:
            return losses_above(self.nodes, self.largest)
        return losses_above_order(self.nodes, self.upper[side], self.upper[1 - side])

    def above_orders(self) -> list[Losses]:
        """Return losses above each order of each pair whose largest curve is the upper profile.

        There are none if the orders do not differ, or are not chosen.
        """
        kind = self.kind
        if not kind.orders or kind.interval.is_ordered or kind.interval.keeps_order:
            return []
        bounds: dict[Profile, FloatArray] = dict(zip(kind.upper_parts, self.upper, strict=False))
        if kind.interval.is_exact:
            bounds = {direction: x.upper for direction, x in self.pairs.items()}
        return [
            losses_above_order(self.nodes, bounds[first], bounds[second])
            for pair in kind.orders
            for first, second in dict.fromkeys((pair, pair[::-1]))
        ]

    def below(self, orders: Orders) -> Losses | None:
        """Return losses below those of a pair of datasets; None if no dataset is known."""
        if not self.kind.interval.is_attained:
            return None
        if orders[0] in self.exact:
            return self.exact[orders[0]]
        first, second = (self.pairs[direction] for direction in orders)
        return losses_below(self.nodes, first, second)

    def below_upper(self) -> Losses | None:
        """Return losses below the curve that `above` is above, if `upper` is that curve itself."""
        if self.is_exact:
            return losses_above(self.nodes, np.max([x.lower for x in self.pairs.values()], axis=0))
        if not self.kind.interval.is_exact:
            rows = self.upper[[0, -1]] if self.kind.interval.keeps_order else [self.largest] * 2
            return losses_below(self.nodes, *(CurveBounds(row, row) for row in rows))
        pairs = list(self.pairs.values())
        largest = CurveBounds(
            np.max([x.lower for x in pairs], axis=0),
            np.max([x.upper for x in pairs], axis=0),
            max(x.limit for x in pairs),
        )
        return losses_below(self.nodes, largest, largest)

    def above_pair(self, orders: Orders) -> Losses | None:
        """Return losses above those of a pair of datasets, up to roundings if they are exact.

        None if no dataset is known.
        """
        if not self.kind.interval.is_attained:
            return None
        if orders[0] in self.exact:
            return self.exact[orders[0]]
        if orders[0].has_gap and (losses := self.below(orders)) is not None:
            return losses
        forward, backward = (self.pairs[direction].upper for direction in orders)
        return losses_above_order(self.nodes, forward, backward)


@dataclass(eq=False)
class Rounds:
    """Rounds of several kinds.

    Their ``curves`` have the nodes of all targets so far, and ``latest`` are the last sums. With
    ``is_strict``, the requested width counts.
    """

    kinds: Sequence[RoundKind]
    is_strict: bool = False
    curves: list[RoundCurve] = field(init=False)
    latest: Sums | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.curves = [RoundCurve(kind) for kind in self.kinds]

    @property
    def is_symmetric(self) -> bool:
        """Whether every round has one pair of datasets whose two orders are the same."""
        return all(kind.is_symmetric for kind in self.kinds)

    @property
    def have_gap(self) -> bool:
        """Whether theory may leave a gap between both ends, however many nodes there are.

        Rounds of the same order have none, and those of one pair of datasets that is symmetric.
        """
        if any(kind.interval.is_ordered for kind in self.kinds):
            return False
        return not all(
            (x.interval.is_exact or (self.is_strict and x.is_in_cells))
            and len(x.pairs) == 1
            and x.is_symmetric
            for x in self.kinds
        )

    def is_epoch(self, kind: RoundKind) -> bool:
        """Return whether a kind is like an epoch of training.

        It has one order, or is in cells that must be fine enough for a width, and few draws matter.
        """
        is_in_cells = self.is_strict and kind.is_in_cells
        return kind.interval.is_ordered or (is_in_cells and kind.interval.upper.has_rough_estimates)

    def orders(self) -> list[list[Orders]]:
        """Return lists of the orders of one pair of datasets in each kind of round.

        There is a list for each pair and order. A kind with fewer pairs than another repeats its
        last one, which is sound: any choice is one pair of datasets.
        """
        count = max(len(kind.pairs) for kind in self.kinds)
        return [
            [
                (x[1], x[0]) if is_reverse else x
                for kind in self.kinds
                for x in [kind.pairs[min(i, len(kind.pairs) - 1)]]
            ]
            for is_reverse in ((False,) if self.is_symmetric else (False, True))
            for i in range(count)
        ]

    def delta_limit(self) -> float:
        """Return a lower bound of δ at every ε, from outputs that only one input can produce."""
        logs = [
            sum(
                kind.times * math.log1p(-limit) if (limit := x[0].limit) < 1.0 else -math.inf
                for kind, x in zip(self.kinds, orders, strict=True)
                if kind.interval.is_attained
            )
            for orders in self.orders()
        ]
        return -math.expm1(min(logs)) * (1.0 - 1e-12)

    def sums(self, target: RoundQuestion) -> Iterator[Sums]:
        """Yield sums of losses above and below those of all rounds, closer and closer together.

        The first ones are those of earlier targets, if there were any: their nodes are kept.
        """
        if self.latest is not None:
            yield self.latest
            if self.latest.are_exact:
                return
        factor = FINE_REFINEMENT if any(map(self.is_epoch, self.kinds)) else REFINEMENT
        for choice in range(MAX_CHOICES):
            if choice > 0:
                # Coarse enclosures would spoil the tents of finer ones next to them.
                self.curves = [x if x.is_exact else x.restarted() for x in self.curves]
            sums = self.sums_for([target])
            yield sums
            if sums.are_exact:
                return
            target = target._replace(rtol=factor * target.rtol)

    def sums_for(self, targets: Sequence[RoundQuestion]) -> Sums:
        """Return sums of losses that serve several targets, and all earlier ones."""
        if self.latest is None:
            for curve in self.curves:
                curve.use_kinks(min(target.rtol for target in targets))
        for target in targets:
            self._add_nodes(target)
        self.latest = Sums(self, [curve.copy() for curve in self.curves])
        return self.latest

    def _add_nodes(self, target: RoundQuestion) -> None:
        """Add the nodes that a target needs to the curves whose nodes are not kinks.

        The first curve of a family stands for all of them.
        """
        families: dict[object, list[RoundCurve]] = {}
        for i, curve in enumerate(self.curves):
            families.setdefault(curve.kind.family or i, []).append(curve)
        groups = list(families.values())
        times = [sum(x.kind.times for x in group) for group in groups]
        points = [
            self._known_points(group[0], target.reach(number * len(groups)))
            for group, number in zip(groups, times, strict=True)
        ]
        are_in_cells = all(x.is_in_cells and self.is_epoch(x) for x in self.kinds)
        shares = SHARES_IN_CELLS if are_in_cells else (NODE_SHARE, SMALL_SHARE)
        nodes, rtols, levels = NodePlan.of(points, times, target, shares)
        work = [(curve, i) for i, group in enumerate(groups) for curve in group]
        for curve, i in steps(work, "losses of rounds"):
            if not curve.is_exact:
                places = curve.places(nodes[i])
                curve.add(places, np.interp(places, nodes[i], rtols[i]), levels[i])
                curve.reach(levels[i])

    def _known_points(self, curve: RoundCurve, reach: Reach) -> Points:
        """Return the nodes of a curve with δ there, or estimates if it has no nodes yet."""
        if curve.nodes.size:
            return curve.nodes, curve.largest
        if not curve.estimates[0].size:
            needed = reach if self.is_epoch(curve.kind) else None
            curve.estimates = estimated_curve(curve.kind.interval.upper, needed)
        return curve.estimates


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of losses that curves give.

    The numbers of rounds are those of the kinds, or others for the same kinds.
    """

    rounds: Rounds
    curves: Sequence[RoundCurve]

    @property
    def are_exact(self) -> bool:
        """Whether all losses are those of the outcomes themselves."""
        return all(curve.is_exact for curve in self.curves)

    @cached_property
    def _above(self) -> list[list[Losses]]:
        """Losses above each kind, in each order if some rounds have the same order."""
        count = max(curve.sides for curve in self.curves)
        return [[curve.above(side) for curve in self.curves] for side in range(count)]

    @cached_property
    def _below(self) -> list[list[Losses | None]]:
        """Losses below each kind, for each pair of datasets in each order."""
        return [
            [curve.below(x) for curve, x in zip(self.curves, orders, strict=True)]
            for orders in self.rounds.orders()
        ]

    def upper(self, times: Sequence[int] | None = None) -> list[LossSum]:
        """Return sums one of which is above all rounds: one sum, or one for each order.

        There are two if some rounds have the same order of the two datasets.
        """
        sums = (self._sum(losses, times) for losses in self._above)
        return [x for x in sums if x is not None]

    def chosen_orders(self, target: RoundQuestion) -> ChosenOrders | LossSum | None:
        """Return what bounds rounds of one kind if each of them has some order of some pair.

        None if there are several kinds, or nothing to choose.
        """
        laws = self.curves[0].above_orders() if len(self.curves) == 1 else []
        times = self.rounds.kinds[0].times
        if not laws or times == 1:
            return None
        [largest] = self.upper()
        tilt = target.tilt(largest)
        width = target.sensitivity(tilt)
        return bound_of_chosen_orders(laws, self.curves[0].above(), times, tilt, width)

    def lower(self, times: Sequence[int] | None = None) -> list[LossSum]:
        """Return sums below the rounds, for each pair of datasets in each order.

        A round of which no losses are known is left out: more rounds do not lower δ.
        """
        return [x for _, x in self.named_lower(times)]

    def named_lower(self, times: Sequence[int] | None = None) -> list[tuple[str, LossSum]]:
        """Return the same sums, each with the name that its pairs share, or an empty one."""
        sums = [self._sum(losses, times) for losses in self._below]
        names = [{x[0].name for x in orders} for orders in self.rounds.orders()]
        return [
            (min(name) if len(name) == 1 else "", x)
            for name, x in zip(names, sums, strict=True)
            if x is not None
        ]

    def floor(self) -> LossSum | None:
        """Return a sum that shows how far more nodes may lower `upper`; it need not be a bound."""
        return self._sum([curve.below_upper() for curve in self.curves], None)

    def ceiling(self) -> list[LossSum]:
        """Return sums above those of `lower`: more nodes raise these no further."""
        sums = (
            self._sum([x.above_pair(y) for x, y in zip(self.curves, orders, strict=True)], None)
            for orders in self.rounds.orders()
        )
        return [x for x in sums if x is not None]

    def _sum(self, losses: Sequence[Losses | None], times: Sequence[int] | None) -> LossSum | None:
        """Return the sum of the losses that are known, each so many times; None if there are none.

        The numbers are those of the kinds if they are not given.
        """
        numbers = [kind.times for kind in self.rounds.kinds] if times is None else times
        known = [(x, n) for x, n in zip(losses, numbers, strict=True) if x is not None and n]
        return LossSum(known) if known else None

    def epsilon(self, delta: float, rtol: float, times: Sequence[int] | None = None) -> Enclosure:
        """Return an enclosure of ε at a δ; `rtol` is about the width that the sums add to it."""
        upper = max(x.root(delta, rtol, 1.0) for x in self.upper(times))
        lower = max((x.root(delta, rtol, -1.0) for x in self.lower(times)), default=0.0)
        return Enclosure(min(lower, upper), upper)

    def epsilons(
        self, delta: float, rtol: float, times: Iterable[Sequence[int]]
    ) -> Iterator[Enclosure]:
        """Yield what `epsilon` returns for several numbers of rounds, each similar to the last.

        The ratio of a root to its estimate changes slowly, so the last one tells where to begin.
        The pair of datasets of all lower ends is the one whose first lower end is the largest.
        """
        ratios: dict[tuple[float, int], float] = {}
        best = None
        for numbers in times:
            upper, lower = self.upper(numbers), self.lower(numbers)
            estimate = upper[0].tilt_at_delta(delta)
            roots: dict[tuple[float, int], float] = {}
            for side, sums in ((1.0, upper), (-1.0, lower)):
                for place, loss_sum in enumerate(sums):
                    if side > 0.0 or best in (None, place):
                        ratio = ratios.get((side, place), math.nan)
                        near = ratio * estimate.eps
                        start = estimate._replace(eps=near) if 0.0 < near < math.inf else None
                        roots[side, place] = loss_sum.root(delta, rtol, side, start)
            ratios = {key: root / estimate.eps for key, root in roots.items() if estimate.eps > 0.0}
            high = max(root for (side, _), root in roots.items() if side > 0.0)
            low, best = max(
                ((root, place) for (side, place), root in roots.items() if side < 0.0),
                default=(0.0, None),
            )
            yield Enclosure(min(low, high), high)


def apart_from(nodes: FloatArray, others: FloatArray) -> FloatArray:
    """Return those nodes that are not too close to any of the others."""
    if nodes.size < 2:
        return nodes
    gaps = np.diff(nodes)
    gap = np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
    distance = np.abs(nodes[:, None] - others).min(axis=1)
    return nodes[distance > APART * gap]


class NodePlan(NamedTuple):
    """Nodes for each kind, the relative widths to aim at there, and the δ beyond the last."""

    nodes: list[FloatArray]
    rtols: list[FloatArray]
    levels: list[float]

    @staticmethod
    def of(
        points: Sequence[Points],
        times: Sequence[int],
        target: RoundQuestion,
        shares: tuple[float, float] = (NODE_SHARE, SMALL_SHARE),
    ) -> NodePlan:
        """Return the fewest nodes for a target, given estimates of the curves.

        `shares` of the requested width are left to the distances of the nodes and to the
        enclosures there.

        With a density q of tilted losses at L, nodes at distances w lower or raise log δ by
        θ(θ + 1) Σ T ∫ q w² times a number. The fewest nodes with a given sum have w ~ (Tq)^{−1/3}.
        """
        laws = [losses_above(*curve) for curve in points]
        total = LossSum(list(zip(laws, times, strict=True)))
        tilt = target.tilt(total)
        width, theta = target.sensitivity(tilt), tilt.theta
        densities = [_densities(law, n, theta) for law, n in zip(laws, times, strict=True)]
        roots = [(edges, np.cbrt(density)) for edges, density in densities]
        total_root = sum(float(root @ np.diff(edges)) for edges, root in roots)
        budget = shares[0] * width / (CELL_VARIANCE * theta * (theta + 1.0))
        rates = [root * math.sqrt(total_root / budget) for _, root in roots]
        is_delta = target.quantity is Quantity.DELTA
        delta = math.exp(min(tilt.log_delta, 0.0)) if is_delta else target.at
        neglected = SMALL_SHARE * min(width, 1.0) * max(delta, 1e-290) / len(laws)
        levels = [max(neglected / n, 1e-290) for n in times]
        nodes = [
            _places(curve, edges, rate, level)
            for curve, (edges, _), rate, level in zip(points, roots, rates, levels, strict=True)
        ]
        influences = [
            _influences(curve, places, theta, n, law)
            for curve, places, n, law in zip(points, nodes, times, laws, strict=True)
        ]
        share = 0.5 * shares[1] * width
        sum_of_influences = sum(float(x.sum()) for x in influences)
        count = sum(x.size for x in nodes)
        rtols = [
            np.clip(share / sum_of_influences + share / (count * x), 1e-10, WIDEST)
            for x in influences
        ]
        return NodePlan(nodes, rtols, levels)


def _places(curve: Points, edges: FloatArray, rate: FloatArray, level: float) -> FloatArray:
    """Return nodes up to where δ is at most `level`; `rate` is their number per unit of ε."""
    eps, heights = curve
    is_last = heights <= heights[-1] * (1.0 + 1e-6) + level
    last = float(eps[max(int(np.argmax(is_last)), 1)])
    widest = LARGEST_GROWTH * edges[:-1] + float(eps[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        falls = -np.diff(np.log(heights)) / np.diff(eps)
    middles = 0.5 * (edges[1:] + edges[:-1])
    falls = np.nan_to_num(falls, posinf=0.0)[np.searchsorted(eps[1:-1], middles)]
    steps = np.diff(edges) * np.maximum(np.maximum(rate, falls / LARGEST_FALL), 1.0 / widest)
    counts = np.append(0.0, np.cumsum(steps))
    size = float(np.interp(last, edges, counts))
    number = min(max(4, math.ceil(size)), MAX_NODES)
    places = np.interp(np.linspace(0.0, size, number + 1), counts, edges)
    places[-1] = last
    is_apart = np.diff(places) > 1e-7 * last
    return places[np.append(True, is_apart)]


def _influences(
    curve: Points, places: FloatArray, theta: float, times: int, losses: Losses
) -> FloatArray:
    """Estimate the relative change of δ of all rounds for that of one round's δ at each node.

    They rest on E e^{θL} = 1 + θ(θ + 1) ∫ H e^{θε} dε, of which a node has one cell.
    """
    eps, heights = curve
    with np.errstate(divide="ignore"):
        logs = np.interp(places, eps, np.log(np.maximum(heights, 1e-300)))
    x = theta * losses.values
    log_mgf = float(x.max()) + math.log(float(losses.masses @ np.exp(x - x.max())))
    widths = np.gradient(places)
    sizes = np.exp(np.minimum(logs + theta * places - log_mgf, 300.0))
    return np.maximum(times * theta * (theta + 1.0) * widths * sizes, 1e-300)


def _densities(losses: Losses, times: int, theta: float) -> tuple[FloatArray, FloatArray]:
    """Return the edges of cells of |L|, and how many tilted losses there are for each unit of L."""
    x = theta * losses.values
    weights = losses.masses * np.exp(x - x.max())
    weights *= times / weights.sum()
    places, inverse = np.unique(np.abs(losses.values), return_inverse=True)
    sums = np.bincount(inverse, weights=weights)
    edges = np.concatenate([[0.0], 0.5 * (places[1:] + places[:-1]), places[-1:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.nan_to_num(sums / np.diff(edges), posinf=0.0)
    # Outcomes without any loss need no nodes.
    density[0] = density[1] if density.size > 1 else density[0]
    return edges, np.maximum(density, 1e-12 * density.max())
