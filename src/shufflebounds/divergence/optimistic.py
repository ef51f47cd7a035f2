"""A discrete pair below a curve that is known through enclosures; see docs/composition.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.hull import curve, hull, kinks
from shufflebounds.divergence.law import U
from shufflebounds.divergence.losses import LossLaw

# How far the polygon begins below the bounds, relatively, until rounding leaves it there.
_SLACKS = (1e-11, 1e-8, 1e-5)
# Bounds of less than this would lose precision in products.
_TINY = 1e-290


@dataclass(frozen=True, eq=False)
class Side:
    """Bounds of H(x) = D(P‖xQ) for one order of a pair: at e^{iΔ}, i = 0, …, K, and in the limit.

    ``lower`` and ``upper`` have shape (K + 1,), K ≥ 2; ``limit`` ≥ 0 is a lower bound of H(∞).
    """

    lower: FloatArray
    upper: FloatArray
    limit: float


def optimistic(forward: Side, backward: Side, step: float) -> LossLaw | None:
    """A pair below every (P, Q) with D(P‖xQ) within `forward` and D(Q‖xP) within `backward`.

    Its losses are odd multiples of Δ/2 (`step` is Δ, natural log). None where the bounds leave no
    room for one.
    """
    middle = max(float(forward.lower[0]), float(backward.lower[0]))
    ahead = _tents(forward, middle, float(backward.upper[1]), step)
    behind = _tents(backward, middle, float(forward.upper[1]), step)
    for slack in _SLACKS:
        right = _Polygon.below(ahead, forward.limit, slack, step)
        left = _Polygon.below(behind, backward.limit, slack, step)
        found = _joined(right, left, step) if right and left else None
        if found is not None:
            return found
    return _telling(forward.limit, step) if 0.0 < forward.limit < 1.0 else None


def _telling(limit: float, step: float) -> LossLaw:
    """What outcomes of infinite loss alone say; all others count as if they spoke for Q."""
    index = -math.ceil(-math.log1p(-limit) / step * (1.0 + 8.0 * U)) - 1
    return LossLaw(
        step, 0.5 * step, np.array([index]), np.array([(1.0 - limit) * (1.0 - U)]), limit
    )


def _tents(side: Side, middle: float, other: float, step: float) -> FloatArray:
    """Bounds w_i of H at y_i = e^{(i + ½)Δ} such that chords between neighbours lie below H.

    Above x_i, H is at least the line through (x_{i−1}, upper) and (x_i, lower); below x_i, at least
    the line through (x_i, lower) and (x_{i+1}, upper). w_i is the smaller of what the lines through
    x_i and x_{i+1} say of y_i. `middle` is a lower bound of H(1) and `other` an upper one of the
    other order at x₁. Shape (K,).
    """
    upper = side.upper
    lower = np.append(middle, side.lower[1:])
    rise = math.expm1(0.5 * step) / -math.expm1(-step)
    fall = -math.expm1(-0.5 * step) / math.expm1(step)
    before = np.append(0.0, upper[:-2])
    from_left = lower[:-1] - rise * (before - lower[:-1])
    # At x = 1, in terms of H(x) − 1 + x, which is x times the other order at 1/x.
    from_left[0] = middle + rise * (middle - math.exp(-step) * other) - math.expm1(0.5 * step)
    from_right = lower[1:] + fall * (lower[1:] - np.append(upper[2:], lower[-1]))
    size = lower[:-1] + lower[1:] + before
    size[0] += other + math.expm1(step)
    return np.minimum(from_left, from_right) - 16.0 * U * (1.0 + rise) * size


@dataclass(frozen=True, eq=False)
class _Polygon:
    """A convex polygon below the bounds at y_0, y_1, … of one order, and constant at the end.

    ``bounds`` (J,) are those bounds, ``heights`` (J,) a little less; the last is ``limit``.
    ``vertices`` are indices, of which `_joined` drops the first where the centre needs it.
    """

    bounds: FloatArray
    heights: FloatArray
    limit: float
    vertices: NDArray[np.int64]
    step: float

    @staticmethod
    def below(bounds: FloatArray, limit: float, slack: float, step: float) -> _Polygon | None:
        above = bounds * (1.0 - 2.0 * slack) > max(limit, _TINY)
        size = bounds.size if above.all() else int(np.argmin(above))
        if size == 0:
            return None
        heights = bounds[:size] * (1.0 - slack)
        heights[-1] = limit
        vertices = hull(np.expm1(step * (np.arange(size) + 0.5)), heights)
        return _Polygon(bounds[:size], heights, limit, vertices, step)

    def losses(self, index: NDArray[np.int64]) -> FloatArray:
        return np.asarray(self.step * (index + 0.5), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Half:
    """The masses beyond the first vertex of a polygon, at loss ``start``, and their curve.

    ``index`` and ``masses`` are theirs, ``told`` their masses under the other measure. ``height``
    is the curve at ``start``, known to within the relative error ``err``.
    """

    start: float
    index: NDArray[np.int64]
    masses: FloatArray
    told: FloatArray
    height: float
    err: float

    @staticmethod
    def of(polygon: _Polygon) -> _Half | None:
        """None where rounding lifts the curve above a bound."""
        vertices = polygon.vertices
        masses = kinks(polygon.losses(vertices), polygon.heights[vertices])
        everywhere = np.arange(vertices[0], polygon.heights.size)
        dense = np.zeros(everywhere.size - 1)
        dense[vertices[1:] - vertices[0] - 1] = masses
        losses = polygon.losses(everywhere)
        heights = curve(losses, dense, polygon.limit)
        err = (2.0 * everywhere.size + 20.0) * U
        if not np.all(heights[:-1] * (1.0 + err) <= polygon.bounds[everywhere[:-1]]):
            return None
        index = vertices[1:]
        told = masses * np.exp(-polygon.losses(index))
        return _Half(float(losses[0]), index, masses, told, float(heights[0]), err)

    def centre(self, other: _Half) -> tuple[float, float, float]:
        """Of the mass of the other measure: Σ at and beyond ``start``, how much of it sits there.

        From the line that joins both halves; the third number bounds the error of each.
        """
        width = math.exp(-other.start) * math.expm1(self.start + other.start)
        gap, height = -math.expm1(-other.start), math.exp(-other.start) * other.height
        total = (gap + height - self.height) / width
        beyond = float(self.told.sum())
        err = (self.err + other.err + 16.0 * U) * (gap + height + self.height) / width
        err += (self.err + 16.0 * U) * (abs(total) + beyond)
        return total, total - beyond, err


def _joined(right: _Polygon, left: _Polygon, step: float) -> LossLaw | None:
    """The pair of two polygons and the line between them; None where rounding spoils it."""
    while True:
        ahead, behind = _Half.of(right), _Half.of(left)
        if ahead is None or behind is None:
            return None
        q, q_first, q_err = ahead.centre(behind)
        p, p_first, p_err = behind.centre(ahead)
        # A slope that falls at a vertex: the line passes below it.
        if q_first >= q_err and p_first >= p_err:
            break
        spoilt = right if q_first < q_err else left
        if spoilt.vertices.size == 1:
            return None
        shorter = replace(spoilt, vertices=spoilt.vertices[1:])
        right, left = (shorter, left) if spoilt is right else (right, shorter)
    for polygon, half, slope in ((right, ahead, q + q_err), (left, behind, p + p_err)):
        dropped = np.arange(polygon.vertices[0])
        losses = polygon.losses(dropped)
        line = slope * np.exp(losses) * np.expm1(half.start - losses) * (1.0 + 16.0 * U)
        if not np.all(half.height * (1.0 + half.err) + line <= polygon.bounds[dropped]):
            return None
    # Less mass lowers the curve, so that all masses may be rounded down.
    down = 1.0 - 16.0 * U
    first = (q_first - q_err) * math.exp(ahead.start) * down
    firsts = np.array([(p_first - p_err) * down, first])
    masses = np.concatenate([behind.told[::-1] * down, firsts, ahead.masses])
    start = np.array([-left.vertices[0] - 1, right.vertices[0]])
    index = np.concatenate([-behind.index[::-1] - 1, start, ahead.index])
    kept = masses > 0.0
    if not kept.any():
        return None
    return LossLaw(step, 0.5 * step, index[kept], masses[kept], right.limit)
