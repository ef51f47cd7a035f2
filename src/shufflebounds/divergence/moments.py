"""E[φ(P/Q)], φ(R) = R^α − 1 − α(R − 1), for Rényi divergences.

For an order α > 1 the function φ is convex, and 0 at R = 1. If E[R] = 1, E[R^α] − 1 is E[φ(R)], a
sum of positive terms without cancellation.

The outcomes of few users are enumerated. For many users the expectation is an integral of D(ε).
In x = e^ε the curve h(x) = D(P‖xQ) is convex: between certified points it lies below the chord of
its upper bounds, and above the lines that continue the neighbouring chords. docs/renyi.md proves
this and all errors that are stated here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.engine import log_divergences
from shufflebounds.divergence.enumeration import MAX_HISTOGRAMS, Outcomes, outcomes
from shufflebounds.divergence.law import BLOCK, U

# Largest number of terms of a series in αL < 2. Its first term is 1/2, and the remainder after all
# terms is below 1e-20.
_MAX_SERIES_TERMS = 28
# Bound of a term below which the series stops.
_LAST_SERIES_TERM = 2.0**-64
# Number of terms, orders times outcomes, beyond which integrals are faster than enumeration. Speed
# only (benchmarks/arrays.py).
_MAX_ENUMERATED_TERMS = 1_500_000
# Number of outcomes that are enumerated for any number of orders. Speed only
# (benchmarks/arrays.py).
_MIN_OUTCOME_LIMIT = 50_000
# Largest number of neighbours that support the line in a cell. This and the numbers below decide
# about speed and width, never about validity.
_NEIGHBOURS = 3
# Smallest distance of a vertex from the ends of its cell, relative to the cell's width.
_MIN_MARGIN = 1e-3
# Width of a cell, relative to ε, below which it is not split.
_MIN_CELL_WIDTH = 1e-9
# Number of first points that are computed with the full precision.
_ACCURATE_POINTS = 24
# Relative width of the other first points, and of points deep in the tail.
_COARSE_WIDTH = 1e-2

Formula = Callable[[FloatArray, FloatArray], FloatArray]
Terms = Callable[[FloatArray], FloatArray]


def log_rise(order: FloatArray, loss: FloatArray) -> FloatArray:
    """Return log φ(e^L) for L = `loss` ≥ 0 with an error of at most (4096 + 8αL)u; −inf at L = 0.

    Arguments broadcast.
    """
    return _choose_formula(
        order, loss, _large_log_rise, lambda alpha, x: _log_series(alpha, x, 1.0 / alpha)
    )


def log_fall(order: FloatArray, loss: FloatArray) -> FloatArray:
    """Return log φ(e^{−L}) for 0 ≤ L = `loss` ≤ inf, −inf at L = 0.

    The error is at most (4096 + 8αL)u. Arguments broadcast.
    """
    return _choose_formula(
        order,
        loss,
        _large_log_fall,
        lambda alpha, x: _log_series(alpha, x, (alpha - 1.0) / alpha) - alpha * x,
    )


def log_chord_weights(
    order: FloatArray, start: FloatArray, stop: FloatArray, *, ahead: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of the weights of a chord's two values in the integral over it.

    In y = e^ε the chord is a straight line between its values at ε = `start` and `stop` > `start`
    ≥ 0 (natural logs). The integrand is the line times α(α − 1)y^{α−2} if `ahead`, else times
    α(α − 1)y^{−α−1}. The error is at most (4096 + 16α stop)u. Arguments broadcast.
    """
    width = stop - start
    rise, fall = log_rise(order, width), log_fall(order, width)
    across = width + np.log(-np.expm1(-width))
    if ahead:
        begin = (order - 1.0) * start - across
        return begin + rise, begin + order * width + fall
    begin = -order * start - across
    return begin + width + fall, begin - order * width + rise


def chord_weights_err(order: FloatArray, stop: FloatArray) -> FloatArray:
    """Return a bound of the error of `log_chord_weights`."""
    return (4096.0 + 16.0 * order * stop) * U


def _choose_formula(
    order: FloatArray, loss: FloatArray, large_formula: Formula, small_formula: Formula
) -> FloatArray:
    """Return the values of one formula for large losses, and of the other for small losses.

    The formula for large losses would cancel for small ones.
    """
    order, loss = np.broadcast_arrays(order, loss)
    is_small = np.maximum(order - 1.0, 1.0) * loss < 1.0
    logs = np.empty(loss.shape)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        logs[is_small] = small_formula(order[is_small], loss[is_small])
        logs[~is_small] = large_formula(order[~is_small], loss[~is_small])
    return logs


def _large_log_rise(order: FloatArray, loss: FloatArray) -> FloatArray:
    excess = order - 1.0
    growth = -np.expm1(-excess * loss)
    share = -excess * np.expm1(-loss) * np.exp(-excess * loss) / growth
    return np.asarray(order * loss + np.log(growth) + np.log1p(-share))


def _large_log_fall(order: FloatArray, loss: FloatArray) -> FloatArray:
    excess = order - 1.0
    return np.log(-excess * np.expm1(-loss) + np.exp(-loss) * np.expm1(-excess * loss))


def _log_series(order: FloatArray, loss: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return log(α(α − 1)L² Σ_{k ≥ 2} (αL)^{k−2} c_k/k!), c₂ = 1, c_{k+1} = c_k + `ratio`^{k−1}."""
    total = _series(order * loss, ratio)
    return np.asarray(np.log(order * (order - 1.0)) + 2.0 * np.log(loss) + np.log(total))


def _series(x: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return the sum in `_log_series`, whose terms fall faster than those at the largest `x`."""
    total, term = np.full(x.shape, 0.5), np.full(x.shape, 0.5)
    count, power = np.ones(x.shape), ratio.copy()
    largest, largest_term = float(x.max(initial=0.0)), 0.5
    for k in range(3, 3 + _MAX_SERIES_TERMS):
        term *= x
        term /= k
        count += power
        power *= ratio
        total += term * count
        # c_k ≤ k − 1, and all further terms together are less than twice the bound of the next.
        largest_term *= largest / k
        if largest_term * k < _LAST_SERIES_TERM:
            break
    return total


def few_moments(
    decomposition: Decomposition, n: int, orders: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return bounds of log E_Q[φ(P/Q)] at all orders, shape (O,); None with too many outcomes.

    Every outcome of P must be possible under Q.
    """
    max_outcomes = max(
        _MIN_OUTCOME_LIMIT, min(MAX_HISTOGRAMS, _MAX_ENUMERATED_TERMS // orders.size)
    )
    enumerated = outcomes(decomposition, n, max_histograms=max_outcomes)
    return None if enumerated is None or enumerated.err > 1e-3 else _moments(enumerated, orders)


def _moments(outcomes_: Outcomes, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = _log_terms(outcomes_)
    return _sums_by_order(orders, outcomes_.gain.size, low), _sums_by_order(
        orders, outcomes_.gain.size, high
    )


def _log_terms(outcomes_: Outcomes) -> tuple[Terms, Terms]:
    """Return functions from orders (O, 1) to bounds of the logs of all terms, shape (O, J)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(outcomes_.cost > 0.0, np.log(outcomes_.gain / outcomes_.cost), 0.0)
        log_cost = np.log(outcomes_.cost)
    loss_size = np.abs(loss)
    loss_err = 1.01 * outcomes_.ratio_err + 4.0 * U * (1.0 + finite(loss_size))
    # A loss of uncertain sign counts as a gain, since φ(e^L) is at least φ(e^{−L}).
    is_gain = loss > -loss_err

    def terms(side: float, weight: FloatArray) -> Terms:
        shifted_loss = np.maximum(loss_size + side * loss_err, 0.0)
        constant = weight + log_cost
        constant_err = 16.0 * U * (finite(weight) + finite(log_cost))

        def logs(order: FloatArray) -> FloatArray:
            powers = np.empty((order.size, shifted_loss.size))
            powers[:, is_gain] = log_rise(order, shifted_loss[is_gain])
            powers[:, ~is_gain] = log_fall(order, shifted_loss[~is_gain])
            err = (
                1.01 * outcomes_.err
                + (8192.0 + 16.0 * order * finite(shifted_loss)) * U
                + constant_err
            )
            log_terms = constant + powers
            return np.asarray(log_terms + side * (err + 8.0 * U * finite(log_terms)))

        return logs

    return terms(-1.0, outcomes_.log_lower), terms(1.0, outcomes_.log_upper)


def _sums_by_order(orders: FloatArray, size: int, terms: Terms) -> FloatArray:
    """Return the log sums of `size` terms, shape (O,), whose rounding `_log_terms` counts."""
    block = max(1, BLOCK // max(1, size))
    parts = [
        log_sum(terms(orders[start : start + block, None]))
        for start in range(0, orders.size, block)
    ]
    return np.concatenate(parts)


def log_sum(logs: FloatArray) -> FloatArray:
    """Return log Σ e^x along the last axis, −inf for an empty sum."""
    top = np.max(logs, axis=-1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(logs - base).sum(axis=-1)) + base[..., 0])


def infinite(decomposition: Decomposition) -> bool:
    """Return whether an outcome is possible under the first input only."""
    return bool(np.any((decomposition.a > 0.0) & (decomposition.b == 0.0)))


def finite(x: FloatArray) -> FloatArray:
    """Return |x|, or 0 if it is not finite."""
    return np.where(np.isfinite(x), np.abs(x), 0.0)


@dataclass(frozen=True, eq=False)
class Knots:
    """Bounds of log D at ε = `eps`, ascending from 0 to where D is certainly 0, shape (K + 1,).

    They belong to one decomposition in one order and n users. Each aims at the relative width
    `rtol`.
    """

    decomposition: Decomposition
    n: int
    rtol: float
    eps: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray

    @staticmethod
    def at(decomposition: Decomposition, n: int, rtol: float, eps: FloatArray) -> Knots:
        """Return the bounds at the points `eps`; D is 0 at the last of them."""
        # Points far out are computed with less precision at first.
        aims = np.where(np.arange(eps.size - 1) < _ACCURATE_POINTS, rtol, max(rtol, _COARSE_WIDTH))
        low, high = log_divergences(decomposition, eps[:-1], n, aims)
        return Knots(decomposition, n, rtol, eps, *_decreasing_bounds(low, high))

    def split(self, pieces: NDArray[np.int64]) -> Knots:
        """Return the knots with each cell cut into `pieces`, shape (K,), evenly in ε."""
        # A cell must have many floats between its ends.
        pieces = np.where(np.diff(self.eps) > _MIN_CELL_WIDTH * self.eps[1:], pieces, 1)
        cell = np.repeat(np.arange(pieces.size), pieces - 1)
        if not cell.size:
            return self
        piece_number = np.concatenate([np.arange(1, count) for count in pieces])
        width = np.diff(self.eps)
        new_eps = self.eps[cell] + width[cell] * (piece_number / pieces[cell])
        new_eps = np.setdiff1d(new_eps, self.eps)
        # If D has fallen by e^{−x}, it matters to orders at which log E[R^α] is about x.
        cell_of_point = np.searchsorted(self.eps, new_eps) - 1
        depth = np.minimum(self.log_upper[0] - self.log_upper[cell_of_point], 1e6)
        aims = np.clip(0.5 * self.rtol * depth, self.rtol, max(self.rtol, _COARSE_WIDTH))
        new_bounds = log_divergences(self.decomposition, new_eps, self.n, aims)
        eps = np.concatenate([self.eps, new_eps])
        order = np.argsort(eps, kind="stable")
        low = np.concatenate([self.log_lower, new_bounds[0]])[order]
        high = np.concatenate([self.log_upper, new_bounds[1]])[order]
        return Knots(
            self.decomposition,
            self.n,
            self.rtol,
            eps[order],
            *_decreasing_bounds(low[:-1], high[:-1]),
        )

    def blur(self) -> FloatArray:
        """Return the smaller relative width of D at the ends of each cell, (K,), 0 if D is 0."""
        with np.errstate(invalid="ignore"):
            blur = -np.expm1(self.log_lower - self.log_upper)
        blur = np.nan_to_num(blur, nan=0.0)
        return np.asarray(np.minimum(blur[:-1], blur[1:]))

    def integrals(self, order: FloatArray, other: Knots, *, ahead: bool) -> tuple[FloatArray, ...]:
        """Return bounds of log ∫ α(α − 1) y^{α−2} h(y) dy (y^{−α−1} if not `ahead`) for each cell.

        `order` has shape (O, 1), the bounds (O, K); `other` is the divergence in the other order.
        """
        err = chord_weights_err(order, self.eps[1:]) + 64.0 * U
        first, last = log_chord_weights(order, self.eps[:-1], self.eps[1:], ahead=ahead)
        upper = np.logaddexp(first + self.log_upper[:-1], last + self.log_upper[1:])
        middle, heights = self._floor(other)
        left = log_chord_weights(order, self.eps[:-1], middle, ahead=ahead)
        right = log_chord_weights(order, middle, self.eps[1:], ahead=ahead)
        halves = [
            np.logaddexp(weights[0] + heights[i], weights[1] + heights[i + 1])
            for i, weights in enumerate((left, right))
        ]
        lower = np.logaddexp(*halves)
        return np.minimum(
            lower - err - _exponential_err(lower, 0.0), upper
        ), upper + err + _exponential_err(upper, 0.0)

    def _floor(self, other: Knots) -> tuple[FloatArray, FloatArray]:
        """Return a polygon below h: its vertex in each cell, (K,), and the logs of its heights.

        The heights (3, K) are those at the beginning of the cell, the vertex and the end.
        """
        begin, end = self.eps[:-1], self.eps[1:]
        width, scale = end - begin, self.log_upper[:-1]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            start, stop = np.exp(self.log_lower[:-1] - scale), np.exp(self.log_lower[1:] - scale)
            start = start * (1.0 - _exponential_err(self.log_lower[:-1], scale))
            stop = stop * (1.0 - _exponential_err(self.log_lower[1:], scale))
            growth = np.expm1(width)
            down, up = self._falls(start, scale, other), self._rises(stop, scale, width)
            # The unit is x, or h, at the beginning of the cell.
            crossing = (start - stop - up * growth) / (down - up)
            crossing = np.clip(np.where(np.isnan(crossing), 0.5 * growth, crossing), 0.0, growth)
            log_distance = np.clip(
                np.log1p(crossing), _MIN_MARGIN * width, (1.0 - _MIN_MARGIN) * width
            )
            middle = begin + log_distance
            middle = np.where((begin < middle) & (middle < end), middle, 0.5 * (begin + end))
            left_growth = np.expm1(middle - begin)
            left_drop, right_rise = (
                down * left_growth,
                up * np.exp(middle - begin) * np.expm1(end - middle),
            )
            height = np.minimum(
                start - left_drop - 16.0 * U * (start + left_drop),
                stop + right_rise - 16.0 * U * (stop + right_rise),
            )
            # If both lines are below 0 at the vertex, the polygon has the height at the end.
            reaches_end = height > 0.0
            heights = np.log(
                [np.where(reaches_end, start, stop), np.where(reaches_end, height, stop), stop]
            )
        heights = np.where(np.isfinite(scale), scale + heights, -np.inf)
        return middle, heights - _exponential_err(heights, 0.0)

    def _falls(self, start: FloatArray, scale: FloatArray, other: Knots) -> FloatArray:
        """Return upper bounds of the slope with which h falls from the beginning of each cell."""
        slopes = np.full(start.size, np.inf)
        for back in range(1, min(_NEIGHBOURS, start.size - 1) + 1):
            high = np.exp(self.log_upper[: -1 - back] - scale[back:])
            high = high * (1.0 + _exponential_err(self.log_upper[: -1 - back], scale[back:]))
            gap = -np.expm1(self.eps[: -1 - back] - self.eps[back:-1])
            slope = np.maximum(high - start[back:], 0.0) / gap * (1.0 + 16.0 * U)
            slopes[back:] = np.fmin(slopes[back:], slope)
        # At x = 1, the other order bounds H for x < 1: H(x) − 1 + x is x times it at 1/x.
        reverse_eps = other.eps[1 : 1 + _NEIGHBOURS]
        gap = -np.expm1(-reverse_eps)
        high = np.exp(other.log_upper[1 : 1 + _NEIGHBOURS] - reverse_eps)
        height_at_one = start[0] * np.exp(scale[0])
        sizes = gap + high + height_at_one
        slope = ((gap - height_at_one) + high + 32.0 * U * sizes) / gap * (1.0 + 16.0 * U)
        unit = np.exp(scale[:1]) * (1.0 - _exponential_err(scale[:1], 0.0))
        # A unit of 0 and 0/0 give no bound.
        slopes[0] = np.minimum(1.0, np.fmin.reduce(slope)) / unit[0] * (1.0 + 16.0 * U)
        return np.maximum(slopes, 0.0)

    def _rises(self, stop: FloatArray, scale: FloatArray, width: FloatArray) -> FloatArray:
        """Return lower bounds of the slope with which h falls to the end of each cell."""
        slopes = np.zeros(stop.size)
        for on in range(1, min(_NEIGHBOURS, stop.size - 1) + 1):
            high = np.exp(self.log_upper[1 + on :] - scale[:-on])
            high = high * (1.0 + _exponential_err(self.log_upper[1 + on :], scale[:-on]))
            gap = np.exp(width[:-on]) * np.expm1(self.eps[1 + on :] - self.eps[1:-on])
            slope = (stop[:-on] - high) / gap * (1.0 - 16.0 * U)
            slopes[:-on] = np.fmax(slopes[:-on], slope)
        return slopes


def _decreasing_bounds(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bounds made non-increasing, as D is, with −inf at one more point."""
    low = np.maximum.accumulate(low[::-1])[::-1]
    return np.append(low, -np.inf), np.append(np.minimum.accumulate(high), -np.inf)


def _exponential_err(log_value: FloatArray, log_scale: FloatArray | float) -> FloatArray:
    """Return a bound of the relative error of e^{log_value − log_scale}."""
    distance = np.abs(log_value - log_scale)
    return 8.0 * U * (2.0 + np.where(np.isfinite(distance), distance, 0.0))
