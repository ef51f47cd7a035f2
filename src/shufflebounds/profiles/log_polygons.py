"""Polygons above and below the curves of a pair of datasets, whose heights are logarithms.

H(x) = D(P‖xQ) is convex, and E_Q[(P/Q)^α] − 1 is an integral of H and of the curve of the reverse
order with positive weights (`divergence.moments`). High orders rest on H far below the smallest
float, so that all heights are logarithms. Proofs: docs/proofs/renyi.md, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import (
    finite_size,
    log1p_exp,
    log_polygon_terms,
    log_sum,
    log_total,
)

# Largest distance of a vertex from the beginning of its cell, as a share of the cell's width.
FARTHEST_VERTEX = 0.999
# Share by which a polygon ends before its line is certain to be at 0.
END_MARGIN = 1e-6
# A bound of the relative error of e^{x − y} for logarithms with |x − y| < 746, and of the sums and
# products that lines are made of.
EXPONENTIAL_ERR = 2.0**-40
# Smallest lower bound, in units of the one before, that lines use: smaller floats lose precision.
SMALLEST_HEIGHT = 1e-290
# Share of the requested width that is left to the widths of the cells.
CELLS_SHARE = 0.62
# Share of the requested width for the enclosures of the curves at the nodes.
NODE_SHARE = 0.1
# Largest logarithm of the ratio of both bounds of E − 1 that cells may leave.
LARGEST_ALLOWED = 30.0
# Largest relative width of a curve that is aimed at at a node.
WIDEST = 1e-2
# Fewest pieces of a cell: two cells are joined at most.
FEWEST_PIECES = 0.5
# Largest fall of the log of a curve in a cell that is joined to another.
STEEPEST_FALL = 1.0
# Most pieces into which a cell is cut at once.
MAX_PIECES = 8
# Largest logarithm of a cell's gap, in units of what is allowed, that counts for other cells.
LARGEST_EXCESS = 6.0
# Distance of the logarithms of both bounds of E − 1 from which on the lower one does not count, if
# the logarithms are small.
FARTHEST_LOWER = 60.0
# The same distance in units of the upper logarithm, for large ones.
FARTHEST_SHARE = 0.9
# Smallest width of a cell that is cut, as a share of its ε: a kink needs room.
SMALLEST_CELL = 1e-9
# Most nodes of a pair.
MAX_NODES = 12_000
# Share of the width that a choice of nodes may leave for another one to be made.
MAX_REMAINING_SHARE = 0.8

Bounds = tuple[FloatArray, FloatArray]
# Bounds of the log of each curve at ε, given the relative widths to aim at, (P,) each.
Curves = Callable[[FloatArray, FloatArray], list[Bounds]]


class CellPlan(NamedTuple):
    """Into how many pieces to cut each cell of some ε, (K,), and the widths to aim at there."""

    eps: FloatArray
    pieces: FloatArray
    aims: FloatArray

    def new_nodes(self, nodes: FloatArray) -> FloatArray:
        """Return places between `nodes` that cut their cells as finely."""
        counts = np.append(0.0, np.cumsum(self.pieces))
        places = np.interp(nodes, self.eps, counts)
        sizes = np.maximum(np.diff(places), 1.0)
        # If a share s of the cells is cut into two, the gaps fall to 1 − 3s/4.
        sizes = np.where(
            sizes < 2.0, 1.0 + (1.0 - sizes**-2.0) / 0.75, np.minimum(sizes, MAX_NODES)
        )
        pieces = np.diff(np.floor(np.append(0.0, np.cumsum(sizes)) + 0.5))
        pieces = np.where(np.diff(nodes) > SMALLEST_CELL * nodes[1:], pieces, 1.0)
        new = [
            np.linspace(places[i], places[i + 1], int(pieces[i]) + 1)[1:-1]
            for i in np.flatnonzero(pieces > 1.0)
        ]
        return np.setdiff1d(np.interp(np.concatenate([np.empty(0), *new]), counts, self.eps), nodes)

    def aims_at(self, eps: FloatArray) -> FloatArray:
        """Return the widths to aim at at some ε."""
        return np.interp(eps, self.eps, self.aims)


@dataclass(eq=False)
class Polygons:
    """Bounds of the logs of each order's curve of a pair at ``nodes``, (K + 1,), from 0 to the end.

    There is one curve if both orders have the same. All are 0 at the last node. ``bounds`` are
    pairs of arrays (K + 1,), and ``aims`` the widths that they aimed at.
    """

    curves: Curves
    nodes: FloatArray = field(default_factory=lambda: np.empty(0))
    aims: FloatArray = field(default_factory=lambda: np.empty(0))
    bounds: list[Bounds] = field(default_factory=list)

    @staticmethod
    def of(curves: Curves, nodes: FloatArray) -> Polygons:
        """Return rough bounds of curves at first nodes."""
        polygons = Polygons(curves)
        polygons.add(nodes, np.full(nodes.shape, WIDEST))
        return polygons

    def moments(self, orders: FloatArray) -> Bounds:
        """Return bounds of log(E[(P/Q)^α] − 1), the larger one of both orders of the pair, (O,)."""
        high = larger_order([(self.nodes, high) for _, high in self.bounds], orders, 1.0)
        return np.minimum(larger_order(self._below(), orders, -1.0), high), high

    def refine(self, orders: FloatArray, goal: float, most: int, factor: float = 1.0) -> Bounds:
        """Return the `moments` at orders, at most `most` times adding nodes before.

        Nodes are added until the relative widths of the divergences are at most `goal`, or until
        that does not help.
        """
        last_width = np.inf
        for choice in range(most + 1):
            low, high = self.moments(orders)
            widths = _widths(low, high)
            is_open, width = widths > goal, float(widths.max())
            is_stuck = choice > 2 and width > MAX_REMAINING_SHARE * last_width
            if not is_open.any() or is_stuck or choice == most or self.nodes.size > MAX_NODES:
                break
            last_width = width
            spend(1e6 + 1e3 * self.nodes.size * orders.size)
            moments = low[is_open], high[is_open]
            plan = self.plan(orders[is_open], moments, goal * factor ** (choice + 1))
            if not self.follow(plan._replace(pieces=np.minimum(plan.pieces, MAX_PIECES))):
                break
        return low, high

    def _below(self) -> list[Bounds]:
        """Return polygons below the curves: ε, and the logs of the heights there."""
        polygons = []
        for (low, high), (_, reverse) in zip(self.bounds, reversed(self.bounds), strict=True):
            vertices, logs = vertices_below(self.nodes, low, high, float(reverse[1]))
            if vertices.size and vertices[0] > 0.0:
                vertices, logs = np.append(0.0, vertices), np.append(low[0], logs)
            polygons.append((vertices, np.minimum.accumulate(logs)))
        return polygons

    def plan(self, orders: FloatArray, moments: Bounds, goal: float) -> CellPlan:
        """Return how finely to cut the cells and to enclose the curves for a width of `goal`.

        `moments` are those at orders, (O,). What is between both polygons in a cell is about its
        share of E − 1 times s(s + w), where log D falls by s over a width of w. It falls with the
        square of the number of pieces. The fewest pieces with a given sum of gaps grow with the
        cubic root of a cell's.
        """
        low, high = moments
        heights, empty = np.max([x for _, x in self.bounds], axis=0), np.full(orders.shape, -np.inf)
        with np.errstate(all="ignore"):
            terms = np.logaddexp(*log_polygon_terms(self.nodes, heights, orders, 0.0))
            first, last = np.split(terms, 2, axis=1)
            falls = heights[:-1] - heights[1:]
            gaps = np.logaddexp(first, last)
            gaps += np.log(np.minimum(falls * (falls + np.diff(self.nodes)), 1.0))
            gaps += (high + np.log(-np.expm1(low - high)) - log_sum(gaps))[:, None]
            gaps -= log_allowed(low, high, CELLS_SHARE * goal)[:, None]
            roots = np.exp(np.clip(gaps / 3.0, -50.0, LARGEST_EXCESS))
            pieces = roots * np.sqrt(roots.sum(axis=1, keepdims=True))
            # Where chords are far above a curve, their logarithms fall faster than that.
            most = np.clip(1.5 * np.sqrt(_widths(low, high) / goal), 2.0, None)[:, None]
            # Where a curve falls steeply, the chord of two cells may be far above it.
            fewest = np.where(falls < STEEPEST_FALL, FEWEST_PIECES, 1.0)
            pieces = np.maximum(np.minimum(pieces, most).max(axis=0), fewest)
            shares = np.logaddexp(np.c_[first, empty], np.c_[empty, last])
            shares = np.exp(np.maximum(shares - log_sum(shares)[:, None], -600.0))
            aims = (1.0 + 1.0 / (self.nodes.size * shares)) * _allowed(high, goal)[:, None]
            aims = np.clip(0.5 * NODE_SHARE * aims.min(axis=0), 1e-10, WIDEST)
        return CellPlan(self.nodes, pieces, aims)

    def follow(self, plan: CellPlan) -> bool:
        """Add the nodes of a plan, and enclose old ones anew where it is far finer than they are.

        Return whether there are any.
        """
        is_coarse = self.aims[:-1] > 2.0 * plan.aims_at(self.nodes[:-1])
        nodes = np.append(self.nodes[:-1][is_coarse], plan.new_nodes(self.nodes))
        if nodes.size:
            self.add(nodes, plan.aims_at(nodes))
        return bool(nodes.size)

    def add(self, nodes: FloatArray, aims: FloatArray) -> None:
        """Enclose the curves at nodes, which may be old ones."""
        places, rows = np.unique(np.append(self.nodes, nodes), return_inverse=True)
        known = self.bounds or [(self.nodes, self.nodes)] * 2
        new_bounds = []
        for ends in zip(known, self.curves(nodes, aims), strict=False):
            lows, highs = (np.concatenate(x) for x in zip(*ends, strict=True))
            low, high = np.full(places.shape, -np.inf), np.zeros(places.shape)
            np.maximum.at(low, rows, lows)
            np.minimum.at(high, rows, highs)
            # D falls.
            low = np.maximum.accumulate(low[::-1])[::-1]
            new_bounds.append((low, np.minimum.accumulate(high)))
        self.bounds = new_bounds
        aims = np.append(self.aims, aims)
        self.nodes, self.aims = places, np.full(places.shape, np.inf)
        np.minimum.at(self.aims, rows, aims)


def _widths(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the relative widths of divergences, given bounds of log(E − 1), (O,)."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(1.0 - log1p_exp(low) / log1p_exp(high))


def _allowed(log_moments: FloatArray, goal: float) -> FloatArray:
    """Return the width of log(E − 1) that a relative width of the divergence allows, (O,)."""
    width = goal * log1p_exp(log_moments) * (1.0 + np.exp(-log_moments))
    return np.minimum(width, LARGEST_ALLOWED)


def log_allowed(low: FloatArray, high: FloatArray, goal: float) -> FloatArray:
    """Return logs of the width of E − 1 that a relative width of the divergence allows, (O,).

    `low` and `high` are bounds of log(E − 1), (O,).
    """
    logs = np.maximum(low, high - FARTHEST_LOWER - FARTHEST_SHARE * np.abs(high))
    return np.asarray(logs + np.log(np.expm1(_allowed(logs, goal))))


def log_effects(eps: FloatArray, orders: FloatArray) -> FloatArray:
    """Return logs of what a height of 1 of both curves at one ε adds to E − 1, (O, K + 1)."""
    empty = np.full((orders.size, 1), -np.inf)
    terms = np.logaddexp(*log_polygon_terms(eps, np.zeros(eps.shape), orders, 0.0))
    first, last = np.split(terms, 2, axis=1)
    return np.logaddexp(np.append(first, empty, axis=1), np.append(empty, last, axis=1))


def larger_order(
    polygons: Sequence[tuple[FloatArray, FloatArray]], orders: FloatArray, side: float
) -> FloatArray:
    """Return log(E[(P/Q)^α] − 1) at orders (O,), the larger one of both orders of a pair.

    `polygons` are (ε, logs of heights) for each order, and the result is rounded to `side`.
    """
    terms = [log_polygon_terms(eps, logs, orders, side) for eps, logs in polygons]
    pairs = zip(terms, reversed(terms), strict=True)
    moments = [
        log_total(np.concatenate([forward, backward], axis=1), side)
        for (forward, _), (_, backward) in pairs
    ]
    return np.asarray(np.max(moments, axis=0))


def vertices_below(
    eps: FloatArray, log_lower: FloatArray, log_upper: FloatArray, log_reverse: float
) -> tuple[FloatArray, FloatArray]:
    """Return a vertex in each of the first cells, and the log of a height below both lines there.

    The curve is convex, and its log has the bounds `log_lower`, which falls, and `log_upper` at
    `eps`, (K + 1,). `log_reverse` is an upper bound of the log of the reverse order's curve at the
    second ε. The last vertex has the height 0. There are none if nothing is known to be positive.
    """
    size = int(np.count_nonzero(log_lower > -np.inf))
    if size == 0 or eps.size < 3:
        return np.empty(0), np.empty(0)
    widths, begin = np.diff(eps)[:size], eps[:size]
    scale = log_lower[:size]
    with np.errstate(all="ignore"):
        # The units are the lower bound, and x, at the beginning of each cell.
        stop = np.append(np.exp(log_lower[1:size] - scale[:-1]), 0.0) * (1.0 - EXPONENTIAL_ERR)
        stop = np.where(stop > SMALLEST_HEIGHT, stop, 0.0)
        before = np.exp(np.append(log_reverse - widths[0], log_upper[: size - 1]) - scale)
        after = np.exp(np.append(log_upper[2:], -np.inf)[:size] - scale)
        before, after = before * (1.0 + EXPONENTIAL_ERR), after * (1.0 + EXPONENTIAL_ERR)
        fall = (before - 1.0) / -np.expm1(-np.append(widths[0], widths[:-1]))
        # At x = 1 the line bounds H(x) − 1 + x.
        fall[0] += np.exp(-scale[0]) * (1.0 + EXPONENTIAL_ERR)
        fall_size = np.abs(fall) + (before + 1.0) / -np.expm1(-np.append(widths[0], widths[:-1]))
        fall = np.maximum(fall + EXPONENTIAL_ERR * fall_size, 0.0)
        next_widths = np.append(np.diff(eps)[1:], np.inf)[:size]
        rise = (stop - after) / np.expm1(next_widths)
        rise = np.maximum(rise - EXPONENTIAL_ERR * (stop + after) / np.expm1(next_widths), 0.0)
        rise[-1] = 0.0
        inward = -np.expm1(-widths)
        growth = (1.0 - stop - rise * inward) / (fall - rise * (1.0 - inward))
        distance = np.nan_to_num(np.log1p(growth)) * (1.0 - END_MARGIN)
        vertex = begin + np.clip(distance, 0.0, FARTHEST_VERTEX * widths)

        def heights(vertex: FloatArray) -> FloatArray:
            drop = np.where(vertex > begin, fall * np.expm1(vertex - begin), 0.0)
            lift = rise * -np.expm1(vertex - eps[1 : size + 1])
            first = scale + np.log(1.0 - drop - EXPONENTIAL_ERR * (1.0 + drop))
            second = scale + np.log((stop + lift) * (1.0 - EXPONENTIAL_ERR))
            # The second line does not rise with x.
            second = np.maximum(second, log_lower[1 : size + 1])
            return np.minimum(first, second)

        logs = heights(vertex)
        # A line that falls too steeply says nothing; the other one holds in the whole cell.
        is_useless = ~(logs >= log_lower[1 : size + 1] - 1.0)
        vertex = np.where(is_useless, begin, vertex)
        logs = np.where(is_useless, heights(begin), logs)
    logs -= (16.0 + 8.0 * finite_size(logs)) * U
    logs[-1] = -np.inf
    return vertex, np.where(np.isnan(logs), -np.inf, logs)
