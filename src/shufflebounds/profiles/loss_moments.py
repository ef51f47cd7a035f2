"""E_Q[(P/Q)^α] − 1 as a sum over the losses of polygons above and below the curves of a pair.

H(x) = D(P‖xQ) is convex, and E_Q[(P/Q)^α] − 1 is an integral of H and of the curve of the reverse
order with positive weights. Over a polygon that ends at 0 it is a finite sum: a polygon is Σ q (e^L
− x)₊ where its slope rises by q at x = e^L, and each term adds q φ(e^L), with φ(R) = R^α − 1 −
α(R − 1) ≥ 0. All heights are logarithms, since high orders rest on H far below the smallest float.
Proofs: docs/proofs/renyi.md, sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import finite, log_fall, log_rise, log_sum

# Largest distance of a kink from the beginning of its cell, as a share of the cell's width.
FARTHEST_KINK = 0.999
# Share by which a polygon ends before its line is certain to be at 0.
END_MARGIN = 1e-6
# A bound of the relative error of e^{x − y} for logarithms with |x − y| < 746, and of the sums and
# products that lines are made of.
EXPONENTIAL_ERR = 2.0**-40
# Smallest lower bound, in units of the one before, that lines use: smaller floats lose precision.
SMALLEST_HEIGHT = 1e-290


@dataclass(frozen=True, eq=False)
class Kinks:
    """Rises q of the slope of a polygon at e^L, where L are the ``losses``, (J,) each.

    ``logs`` are log |q|, and ``are_rises`` says where q is positive. They are bounds of q, from
    above if ``side`` is 1, and from below if it is −1.
    """

    losses: FloatArray
    logs: FloatArray
    are_rises: NDArray[np.bool_]
    side: float

    @staticmethod
    def of(eps: FloatArray, log_heights: FloatArray, side: float) -> Kinks:
        """Return the kinks of a polygon from ε = 0 to where its height is 0; (J + 1,) each.

        `eps` ascend, `log_heights` fall, and the last one is −inf.
        """
        widths = np.diff(eps)
        with np.errstate(all="ignore"):
            # The units are the height and the ε of the point before.
            height = np.exp(log_heights[1:] - log_heights[:-1])
            next_height = np.exp(np.append(log_heights[2:], -np.inf) - log_heights[:-1])
            before = -np.expm1(-widths)
            after = np.append(np.expm1(widths[1:]), 1.0)
            fall, next_fall = (1.0 - height) / before, (height - next_height) / after
            size = (1.0 + height) / before + (height + next_height) / after
            err = (48.0 + 4.0 * float(widths.max(initial=0.0))) * U * size
            rises = np.nan_to_num(fall - next_fall + side * err)
            logs = log_heights[:-1] - eps[1:] + np.log(np.abs(rises))
        is_used = (log_heights[:-1] > -np.inf) & (rises != 0.0)
        logs = np.where(is_used, logs, -np.inf)
        return Kinks(eps[1:], logs, rises > 0.0, side)

    def terms(self, orders: FloatArray, *, reverse: bool) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the log of the size of each kink's term, (O, J), and which terms are positive.

        `orders` have shape (O, 1). The curve is that of the reverse order of P and Q, if `reverse`.
        Each term is rounded to the side, and negative ones to the other.
        """
        powers = self.losses + log_fall(orders, self.losses)
        if not reverse:
            powers = log_rise(orders, self.losses)
        logs = self.logs + powers
        err = (8192.0 + 16.0 * orders * self.losses + 8.0 * (finite(logs) + finite(self.logs))) * U
        signs = np.where(self.are_rises, self.side, -self.side)
        are_positive = np.broadcast_to(self.are_rises, logs.shape)
        return logs + signs * err, are_positive


def log_moments(orders: FloatArray, forward: Kinks, backward: Kinks) -> FloatArray:
    """Return bounds of log(E_Q[(P/Q)^α] − 1) at orders (O,), −inf for one of 0.

    `forward` are the kinks of a polygon for D(P‖xQ), and `backward` those for D(Q‖xP); the bounds
    are from the side of both.
    """
    side = forward.side
    parts = (
        forward.terms(orders[:, None], reverse=False),
        backward.terms(orders[:, None], reverse=True),
    )
    logs, are_positive = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
    gain = _log_total(np.where(are_positive, logs, -np.inf), side)
    loss = _log_total(np.where(are_positive, -np.inf, logs), -side)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        share = np.exp(np.minimum(loss - gain, 0.0)) * (1.0 - side * EXPONENTIAL_ERR)
        total = gain + np.log1p(-np.minimum(np.nan_to_num(share), 1.0))
    return np.asarray(total + side * (16.0 + 8.0 * finite(gain) + 8.0 * finite(total)) * U)


def _log_total(logs: FloatArray, side: float) -> FloatArray:
    """Return log Σ e^x along the last axis, moved to `side`, 1 or −1, by more than its rounding."""
    total = log_sum(logs)
    return np.asarray(total + side * (2.0 * logs.shape[-1] + 64.0 + 8.0 * finite(total)) * U)


def kinks_above(eps: FloatArray, log_upper: FloatArray) -> Kinks:
    """Return the kinks of chords above a curve, given upper bounds of its log at `eps`, (K + 1,).

    The curve is 0 at the last ε.
    """
    return Kinks.of(eps, np.append(np.minimum.accumulate(log_upper[:-1]), -np.inf), 1.0)


def kinks_below(
    eps: FloatArray, log_lower: FloatArray, log_upper: FloatArray, log_reverse: float
) -> Kinks | None:
    """Return the kinks of a polygon below a curve, given bounds of its log at `eps`, (K + 1,).

    `log_lower` falls. `log_reverse` is an upper bound of the log of the reverse order's curve at
    the second ε. The answer is None if nothing is known to be positive.
    """
    size = int(np.count_nonzero(log_lower > -np.inf))
    if size == 0 or eps.size < 3:
        return None
    vertices, log_heights = _lowered_kinks(eps, log_lower, log_upper, log_reverse, size)
    if vertices[0] > 0.0:
        vertices, log_heights = np.append(0.0, vertices), np.append(log_lower[0], log_heights)
    return Kinks.of(vertices, np.minimum.accumulate(log_heights), -1.0)


def _lowered_kinks(
    eps: FloatArray, log_lower: FloatArray, log_upper: FloatArray, log_reverse: float, size: int
) -> tuple[FloatArray, FloatArray]:
    """Return a vertex in each of the first cells, and the log of a height below both lines there.

    `size` lower bounds are positive. The last vertex has the height 0.
    """
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
        vertex = begin + np.clip(distance, 0.0, FARTHEST_KINK * widths)

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
    logs -= (16.0 + 8.0 * finite(logs)) * U
    logs[-1] = -np.inf
    return vertex, np.where(np.isnan(logs), -np.inf, logs)
