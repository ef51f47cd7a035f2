"""Bounds of E_Q[(P/Q)^α] − 1 as integrals of the curves of D in both orders of a pair.

The curves are convex, so that enclosures at a few hundred points bracket them. Points are added
where the bracket is too wide. docs/renyi.md proves the bounds; where the points lie decides their
width and speed, never their validity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.engine import log_divergence
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import Knots, finite, log_sum

# Largest number of passes that refine the curves.
MAX_PASSES = 24
# Number of points above which the curves are not refined any more.
MAX_KNOTS = 12_000
# Largest number of pieces into which one pass cuts a cell.
MAX_PIECES = 8
# Number of first passes in which the widths of the bounds at the points do not stop the refinement,
# because the first points are rough.
ROUGH_PASSES = 2
# Share of the goal to which the bounds at the points are computed.
KNOT_SHARE = 0.06
# Smallest share of the excess width that one pass leaves.
MIN_REMAINING_SHARE = 0.02
# Width of a cell, in units of the width allowed, above which its size does not matter.
MAX_CELL_WIDTH = 1e4


class _CurveWidths(NamedTuple):
    """Widths in units of the width that is allowed.

    ``total`` is the width of the bracket, and ``by_cell`` how much of it each cell adds, shape
    (K,), cells of all curves in one row. ``blur`` is the width due to the bounds at the points,
    which more points do not reduce.
    """

    total: float
    by_cell: FloatArray
    blur: float


@dataclass(eq=False)
class MomentCurves:
    """D in each order of a pair at points of ε; one curve if both orders have the same."""

    knots: list[Knots]

    @staticmethod
    def of(directions: list[Decomposition], n: int, end: float, goal: float) -> MomentCurves:
        """Return curves at points that are dense near 0, up to `end`, where D is 0 in both orders.

        `goal` is the relative width that the divergence is going to have.
        """
        spread = 0.0
        for direction in directions:
            spread = max(spread, math.exp(log_divergence(direction, 0.0, n, 1e-3)[1]))
        size = min(max(math.sqrt(2.0 * math.pi) * spread, 1e-9 * end), 0.5 * end)
        near = size * np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.3, 1.6, 2.0, 2.4, 2.8])
        far = np.arange(3.2 * size, min(12.0 * size, end), 0.5 * size)
        tail = np.geomspace(size, end, 2 + math.ceil(math.log(end / size) / math.log(1.25)))
        eps = np.concatenate([near, far, tail[tail > 12.0 * size]])
        eps = np.append(np.unique(eps[eps < 0.999 * end]), end)
        rtol = min(max(KNOT_SHARE * goal, 1e-10), 1e-3)
        return MomentCurves([Knots.at(direction, n, rtol, eps) for direction in directions])

    def moments(self, orders: FloatArray, goal: float) -> list[tuple[FloatArray, FloatArray]]:
        """Return bounds of log(E[(P/Q)^α] − 1), (O,) each, in each order of the pair.

        The curves are refined until the relative width of the divergences is at most `goal`, or
        until refining them does not help.
        """
        last_blur = math.inf
        for number in range(MAX_PASSES):
            cells = self._cells(orders[:, None])
            sums = [tuple(log_sum(end) for end in ends) for ends in cells]
            widths = self._widths(cells, sums, goal)
            if widths.total <= 1.0 or self._knot_count() > MAX_KNOTS:
                break
            if number >= ROUGH_PASSES:
                # If the bounds at the points are too wide already, more points do not help.
                if widths.blur > max(1.0, 0.8 * widths.total, 0.8 * last_blur):
                    break
                last_blur = widths.blur
            if not self._refine(_pieces(widths.by_cell), orders.size):
                break
        slip = (2.0 * self._knot_count() + 64.0) * U
        return [
            (low - slip - 8.0 * U * finite(low), high + slip + 8.0 * U * finite(high))
            for low, high in sums
        ]

    def _knot_count(self) -> int:
        return sum(curve.eps.size for curve in self.knots)

    def _refine(self, pieces: NDArray[np.int64], order_count: int) -> bool:
        """Cut the cells of all curves into pieces; return whether there are new points.

        Raises WorkError if this step would spend the work budget.
        """
        spend(1e6 + 1e3 * self._knot_count() * order_count)
        ends = np.cumsum([curve.eps.size - 1 for curve in self.knots])[:-1]
        coarse = self.knots
        self.knots = [
            curve.split(part) for curve, part in zip(coarse, np.split(pieces, ends), strict=True)
        ]
        return any(curve is not fine for curve, fine in zip(coarse, self.knots, strict=True))

    def _cells(self, order: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return bounds of the log of what each cell adds, (O, K) each, in each order of the pair.

        Cells of both curves stand in one row; `order` has the shape (O, 1).
        """
        forward, reverse = self.knots[0], self.knots[-1]
        bounds = []
        for curve, other in ((forward, reverse), (reverse, forward))[: len(self.knots)]:
            parts = (
                curve.integrals(order, other, ahead=True),
                other.integrals(order, curve, ahead=False),
            )
            low, high = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
            bounds.append((low, high))
        return bounds

    def _widths(
        self,
        cells: list[tuple[FloatArray, FloatArray]],
        sums: list[tuple[FloatArray, ...]],
        goal: float,
    ) -> _CurveWidths:
        """Return the widths at the order of the moment where they are largest."""
        # The allowed width rests on the lower ends, since the upper ones may still be far off.
        log_moment = log1p_exp(np.max([low for low, _ in sums], axis=0))
        with np.errstate(divide="ignore"):
            allowed = log_moment + np.log(-np.expm1(-np.minimum(0.98 * goal * log_moment, 0.7)))
        by_cell = np.zeros(cells[0][0].shape[1])
        total = blur = 0.0
        knot_blurs = [curve.blur() for curve in (self.knots[0], self.knots[-1])]
        for number, (low, high) in enumerate(cells):
            with np.errstate(invalid="ignore", over="ignore", under="ignore"):
                size = np.nan_to_num(np.exp(high - allowed[:, None]), nan=0.0)
                width = size * -np.expm1(low - high)
                cell_blur = np.concatenate(knot_blurs[:: -1 if number else 1])
                blur = max(blur, float((size * cell_blur).sum(axis=1).max()))
            width = np.minimum(np.nan_to_num(width, nan=0.0), MAX_CELL_WIDTH)
            total = max(total, float(width.sum(axis=1).max()))
            # The second row has the cells of the other curve first.
            turn = self.knots[1].eps.size - 1 if number else 0
            by_cell = np.maximum(by_cell, np.roll(width.max(axis=0), -turn))
        if len(self.knots) == 1:
            by_cell = by_cell.reshape(2, -1).sum(axis=0)
        return _CurveWidths(total, by_cell, blur)


def _pieces(widths: FloatArray) -> NDArray[np.int64]:
    """Return the number of pieces for each cell, whose width falls with the square of it."""
    aim = max(0.7, MIN_REMAINING_SHARE * float(widths.sum()))
    roots = np.cbrt(widths)
    count = np.ceil(roots * math.sqrt(float(roots.sum()) / aim))
    return np.clip(count, 1, MAX_PIECES).astype(np.int64)


def log1p_exp(x: FloatArray) -> FloatArray:
    """Return log(1 + e^x) with a relative error of at most 4u, for any x."""
    with np.errstate(over="ignore", under="ignore"):
        small = np.log1p(np.exp(np.minimum(x, 30.0)))
        return np.where(x > 30.0, x + np.log1p(np.exp(-np.abs(x))), small)
