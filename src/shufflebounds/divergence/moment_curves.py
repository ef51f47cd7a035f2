"""Bounds of E_Q[(P/Q)^α] − 1 as integrals of the curves of D in both orders of a pair.

In x = e^ε the curve h(x) = D(P‖xQ) is convex: between certified points it lies below the chord of
its upper bounds, and above the lines that continue the neighbouring chords. Points are added where
the two are too far apart. docs/renyi.md proves the bounds; where the points lie decides their width
and speed, never their validity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.engine import log_divergence, log_divergences
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import (
    chord_weights_err,
    finite,
    log1p_exp,
    log_chord_weights,
    log_sum,
)

# Largest number of passes that refine the curves.
MAX_PASSES = 24
# Number of points above which the curves are not refined any more.
MAX_POINTS = 12_000
# Largest number of pieces into which one pass cuts a cell.
MAX_PIECES = 8
# Ratio of neighbouring ε among the first points.
FIRST_RATIO = 1.5
# Smallest positive ε among the first points, in typical losses.
FIRST_POINT = 0.25
# Share of the goal to which D is computed at the points.
POINT_SHARE = 0.06
# Relative width of D at first points in the tail, where narrow ones are slow and seldom needed.
TAIL_RTOL = 1e-2
# Smallest ε of that tail, in typical losses.
TAIL_START = 16.0
# Width that a pass aims at, in units of the allowed width.
AIM = 0.45
# Share of the width that a pass may leave, unless it is the last one.
MAX_REMAINING_SHARE = 0.8
# Width of a cell, in units of the allowed width, above which its size does not matter.
MAX_CELL_WIDTH = 1e4
# Smallest distance of a vertex from the ends of its cell, relative to the cell's width.
MIN_MARGIN = 1e-3
# Width of a cell, relative to ε, below which it is not cut.
MIN_CELL_WIDTH = 1e-9
# Bound of the relative error of e^{x − y} for logarithms of heights. If it is not 0, |x − y| < 746.
EXPONENTIAL_ERR = 2.0**-40
# Smallest lower bound, in units of the upper one at the beginning of its cell, that is not taken
# for 0, since smaller floats lose precision.
SMALLEST_HEIGHT = 1e-290


@dataclass(frozen=True, eq=False)
class ConvexCurve:
    """Bounds of log D at ε = `eps`, ascending from 0 to where D is certainly 0, shape (K + 1,)."""

    eps: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray

    def integrals(self, order: FloatArray, *, ahead: bool) -> tuple[FloatArray, FloatArray]:
        """Return bounds of log ∫ α(α − 1) y^{α−2} h(y) dy (y^{−α−1} if not `ahead`) for each cell.

        `order` has shape (O, 1), the bounds (O, K).
        """
        upper = upper_integrals(order, self.eps, self.log_upper, ahead=ahead)
        vertices, log_heights = self._vertices_below()
        eps = np.append(np.stack([self.eps[:-1], vertices], axis=1), self.eps[-1])
        heights = np.stack([self.log_lower[:-1], log_heights], axis=1)
        heights = np.append(heights, self.log_lower[-1])
        halves = _polygon_integrals(order, eps, heights, ahead=ahead)
        lower = np.logaddexp(halves[:, ::2], halves[:, 1::2])
        lower = lower - _integrals_err(order, self.eps, lower)
        return np.minimum(np.where(np.isfinite(log_heights), lower, -np.inf), upper), upper

    def cut(self, pieces: NDArray[np.int64]) -> FloatArray:
        """Return the new points if each cell is cut into `pieces`, (K,), evenly in ε."""
        # A cell must have many floats between its ends.
        width = np.diff(self.eps)
        pieces = np.where(width > MIN_CELL_WIDTH * self.eps[1:], pieces, 1)
        shares = [np.arange(1, count) / count for count in pieces]
        cells = np.repeat(np.arange(pieces.size), pieces - 1)
        eps = self.eps[cells] + width[cells] * np.concatenate(shares)
        return np.setdiff1d(eps, self.eps)

    def _vertices_below(self) -> tuple[FloatArray, FloatArray]:
        """Return a vertex in each cell of a polygon below h, and the log of its height, (K,) each.

        The polygon connects the vertices with the lower bounds at the points. A height of −inf
        stands for a cell in which h is only known to be at least 0.
        """
        begin, end = self.eps[:-1], self.eps[1:]
        width, scale = end - begin, self.log_upper[:-1]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            # The units are the upper bound, and x, at the beginning of the cell.
            start, stop = (
                np.exp(x - scale) * (1.0 - EXPONENTIAL_ERR)
                for x in (self.log_lower[:-1], self.log_lower[1:])
            )
            stop = np.where(stop > SMALLEST_HEIGHT, stop, 0.0)
            before, after = (
                np.exp(x - y) * (1.0 + EXPONENTIAL_ERR)
                for x, y in ((self.log_upper[:-2], scale[1:]), (self.log_upper[2:], scale[:-1]))
            )
            growth = np.expm1(width)
            # The curve falls by at most 1 if x rises by 1.
            fall = np.append(np.exp(-scale[0]), (before - start[1:]) / -np.expm1(-width[:-1]))
            fall = np.maximum(fall, 0.0) * (1.0 + EXPONENTIAL_ERR)
            rise = (stop[:-1] - after) / (np.exp(width[:-1]) * np.expm1(width[1:]))
            rise = np.append(np.maximum(rise, 0.0) * (1.0 - EXPONENTIAL_ERR), 0.0)
            crossing = np.log1p((start - stop - rise * growth) / (fall - rise))
            crossing = np.where(np.isfinite(crossing), crossing, 0.5 * width)
            vertex = begin + np.clip(crossing, MIN_MARGIN * width, (1.0 - MIN_MARGIN) * width)
            drop = fall * np.expm1(vertex - begin)
            lift = rise * np.exp(vertex - begin) * np.expm1(end - vertex)
            height = np.minimum(
                start - drop - EXPONENTIAL_ERR * (start + drop),
                (stop + lift) * (1.0 - EXPONENTIAL_ERR),
            )
            log_height = scale + np.log(np.where(height > 0.0, height, 0.0))
            log_height -= (16.0 + 8.0 * finite(log_height)) * U
        return vertex, np.where(np.isnan(log_height), -np.inf, log_height)


def upper_integrals(
    order: FloatArray, eps: FloatArray, log_upper: FloatArray, *, ahead: bool
) -> FloatArray:
    """Return upper bounds of the integrals of `ConvexCurve`, (O, K), given those of log D."""
    upper = _polygon_integrals(order, eps, log_upper, ahead=ahead)
    return upper + _integrals_err(order, eps, upper)


def _polygon_integrals(
    order: FloatArray, eps: FloatArray, log_heights: FloatArray, *, ahead: bool
) -> FloatArray:
    """Return the logs of the integrals of a polygon's sides, (O, K), before rounding errors."""
    first, last = log_chord_weights(order, eps[:-1], eps[1:], ahead=ahead)
    return np.logaddexp(first + log_heights[:-1], last + log_heights[1:])


def _integrals_err(order: FloatArray, eps: FloatArray, logs: FloatArray) -> FloatArray:
    """Return a bound of the error of integrals, given as logarithms."""
    return chord_weights_err(order, eps[1:]) + (96.0 + 8.0 * finite(logs)) * U


def log_total(logs: FloatArray, side: float) -> FloatArray:
    """Return log Σ e^x along the last axis, moved to `side`, 1 or −1, by more than its rounding."""
    total = log_sum(logs)
    return np.asarray(total + side * (2.0 * logs.shape[-1] + 64.0 + 8.0 * finite(total)) * U)


class MomentCurves:
    """D in each order of a pair at points of ε; one curve if both orders have the same.

    Points are dense near 0 at first, up to `end`, where D is 0 in both orders. `goal` is the
    relative width that divergences are going to have.
    """

    def __init__(self, directions: list[Decomposition], n: int, end: float, goal: float) -> None:
        self._directions, self._n, self._goal = directions, n, goal
        self._rtol = min(max(POINT_SHARE * goal, 1e-10), 1e-3)
        log_spread = max(log_divergence(direction, 0.0, n, 1e-3)[1] for direction in directions)
        first = min(max(FIRST_POINT * math.exp(log_spread), 1e-9 * end), 0.5 * end)
        count = 2 + math.ceil(math.log(end / first) / math.log(FIRST_RATIO))
        eps = np.append(0.0, np.geomspace(first, end, count))
        eps[-1] = end
        tail = TAIL_START * math.exp(log_spread)
        aims = np.where(eps[:-1] < tail, self._rtol, max(self._rtol, TAIL_RTOL))
        empty = ConvexCurve(eps[-1:], *np.full((2, 1), -np.inf))
        self._curves = [self._with_points(x, empty, eps[:-1], aims) for x in directions]

    def _with_points(
        self, direction: Decomposition, curve: ConvexCurve, eps: FloatArray, aims: FloatArray
    ) -> ConvexCurve:
        """Return a curve with further points, at which D has about the relative widths `aims`."""
        low, high = log_divergences(direction, eps, self._n, aims)
        eps = np.concatenate([eps, curve.eps])
        rank = np.argsort(eps, kind="stable")
        low, high = (
            np.concatenate(ends)[rank] for ends in ((low, curve.log_lower), (high, curve.log_upper))
        )
        # D does not rise.
        low = np.maximum.accumulate(low[::-1])[::-1]
        return ConvexCurve(eps[rank], low, np.minimum.accumulate(high))

    def log_moments(self, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds of log(E[(P/Q)^α] − 1), the larger one of both orders of the pair, (O,).

        The curves are refined until the relative width of the divergences is at most the goal, or
        until that does not help.
        """
        last_width = math.inf
        for _ in range(MAX_PASSES):
            ahead, behind = (
                [curve.integrals(orders[:, None], ahead=x) for curve in self._curves]
                for x in (True, False)
            )
            low, high = (
                np.max(
                    [
                        log_total(np.concatenate([one[end], other[end]], axis=1), side)
                        for one, other in zip(ahead, reversed(behind), strict=True)
                    ],
                    axis=0,
                )
                for end, side in ((0, -1.0), (1, 1.0))
            )
            allowed = self._log_allowed_width(low)[:, None]
            widths = [[_widths(x, allowed) for x in integrals] for integrals in (ahead, behind)]
            width = max(
                float(np.max(one.sum(axis=1) + other.sum(axis=1)))
                for one, other in zip(widths[0], reversed(widths[1]), strict=True)
            )
            total = sum(curve.eps.size for curve in self._curves)
            is_stuck = MAX_REMAINING_SHARE * last_width < width < MAX_CELL_WIDTH
            if width <= 1.0 or is_stuck or total > MAX_POINTS:
                break
            last_width = width
            spend(1e6 + 1e3 * total * orders.size)
            if not self._refine(
                [_pieces((one + other).max(axis=0)) for one, other in zip(*widths, strict=True)]
            ):
                break
        return low, high

    def _log_allowed_width(self, low: FloatArray) -> FloatArray:
        """Return the log of the width of E[(P/Q)^α] that gives the divergence the goal's width.

        It rests on the lower ends `low`, since the upper ones may still be far off.
        """
        log_moment = log1p_exp(low)
        with np.errstate(divide="ignore"):
            share = -np.expm1(-np.minimum(0.98 * self._goal * log_moment, 0.7))
            return np.asarray(log_moment + np.log(share))

    def _refine(self, pieces: list[NDArray[np.int64]]) -> bool:
        """Cut the cells of each curve into pieces; return whether there are new points."""
        new_points = [curve.cut(x) for curve, x in zip(self._curves, pieces, strict=True)]
        self._curves = [
            self._with_points(direction, curve, eps, np.full(eps.shape, self._rtol))
            if eps.size
            else curve
            for direction, curve, eps in zip(
                self._directions, self._curves, new_points, strict=True
            )
        ]
        return any(eps.size for eps in new_points)


def _widths(cells: tuple[FloatArray, FloatArray], log_unit: FloatArray) -> FloatArray:
    """Return what each cell adds to the width, (O, K), in a unit."""
    low, high = cells
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        width = np.exp(high - log_unit) * -np.expm1(low - high)
    return np.minimum(np.nan_to_num(width, nan=0.0), MAX_CELL_WIDTH)


def _pieces(widths: FloatArray) -> NDArray[np.int64]:
    """Return the number of pieces for each cell, whose width falls with the square of it."""
    roots = np.cbrt(widths)
    count = np.ceil(roots * math.sqrt(float(roots.sum()) / AIM))
    return np.clip(count, 1, MAX_PIECES).astype(np.int64)
