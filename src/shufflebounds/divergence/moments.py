"""E[φ(P/Q)], φ(R) = R^α − 1 − α(R − 1), for Rényi divergences.

The outcomes of few users are enumerated. For many users the expectation is an integral of D(ε),
which is enclosed between chords and tangents of certified points. Proofs: docs/renyi.md.
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
from shufflebounds.divergence.law import U

# Powers of a ratio about 1: what E[R^α] consists of, without cancellation.
#
# For an order α > 1 the function φ(R) = R^α − 1 − α(R − 1) is convex and 0 at R = 1. Where E[R] =
# 1, E[R^α] − 1 is E[φ(R)], a sum of positive terms; docs/renyi.md proves the errors stated here.

# Terms of a series in αL < 2, of which the first is 1/2: the rest is below 10⁻²⁰.
_TERMS = 28
_LAST = 2.0**-64


def log_rise(order: FloatArray, loss: FloatArray) -> FloatArray:
    """Log φ(e^L) for L = `loss` ≥ 0, to within (4096 + 8αL)u; −inf at L = 0.

    Arguments broadcast.
    """
    return _by_size(order, loss, _far_rise, lambda alpha, x: _log_series(alpha, x, 1.0 / alpha))


def log_fall(order: FloatArray, loss: FloatArray) -> FloatArray:
    """Log φ(e^{−L}) for L = `loss` ≥ 0 (inf too), to within (4096 + 8αL)u; −inf at L = 0."""
    return _by_size(
        order,
        loss,
        _far_fall,
        lambda alpha, x: _log_series(alpha, x, (alpha - 1.0) / alpha) - alpha * x,
    )


def log_chord_weights(
    order: FloatArray, start: FloatArray, stop: FloatArray, *, ahead: bool
) -> tuple[FloatArray, FloatArray]:
    """What the values of a chord over [start, stop] count for, as logarithms.

    In y = e^ε the chord is a straight line between its values at ε = `start` and `stop` > `start`
    ≥ 0 (natural logs). The weights are those of the integral of α(α − 1)y^{α−2} times the line if
    `ahead`, of α(α − 1)y^{−α−1} times the line if not; to within (4096 + 16α stop)u. Arguments
    broadcast.
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
    """The error of `log_chord_weights`."""
    return (4096.0 + 16.0 * order * stop) * U


Formula = Callable[[FloatArray, FloatArray], FloatArray]


def _by_size(order: FloatArray, loss: FloatArray, far: Formula, near: Formula) -> FloatArray:
    """One formula where the other one would cancel."""
    order, loss = np.broadcast_arrays(order, loss)
    close = np.maximum(order - 1.0, 1.0) * loss < 1.0
    found = np.empty(loss.shape)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        found[close] = near(order[close], loss[close])
        found[~close] = far(order[~close], loss[~close])
    return found


def _far_rise(order: FloatArray, loss: FloatArray) -> FloatArray:
    excess = order - 1.0
    grown = -np.expm1(-excess * loss)
    share = -excess * np.expm1(-loss) * np.exp(-excess * loss) / grown
    return np.asarray(order * loss + np.log(grown) + np.log1p(-share))


def _far_fall(order: FloatArray, loss: FloatArray) -> FloatArray:
    excess = order - 1.0
    return np.log(-excess * np.expm1(-loss) + np.exp(-loss) * np.expm1(-excess * loss))


def _log_series(order: FloatArray, loss: FloatArray, ratio: FloatArray) -> FloatArray:
    """Log of α(α − 1)L² Σ_{k ≥ 2} (αL)^{k−2} c_k/k!, c₂ = 1, c_{k+1} = c_k + `ratio`^{k−1}."""
    total = _series(order * loss, ratio)
    return np.asarray(np.log(order * (order - 1.0)) + 2.0 * np.log(loss) + np.log(total))


def _series(x: FloatArray, ratio: FloatArray) -> FloatArray:
    """The sum of `_log_series`; its terms fall faster than those at the largest `x`."""
    total, term = np.full(x.shape, 0.5), np.full(x.shape, 0.5)
    count, power = np.ones(x.shape), ratio.copy()
    largest, most = float(x.max(initial=0.0)), 0.5
    for k in range(3, 3 + _TERMS):
        term *= x
        term /= k
        count += power
        power *= ratio
        total += term * count
        # c_k ≤ k − 1, and all further terms together are less than twice the next one's bound.
        most *= largest / k
        if most * k < _LAST:
            break
    return total


# Terms (orders times outcomes) held in memory at once.
_BLOCK = 2**18
# Terms (orders times outcomes) beyond which curves are quicker than enumeration. Speed only.
_MOST_FEW_TERMS = 1_500_000
# Outcomes that are enumerated whatever the number of orders. Speed only.
_FEW = 50_000


def few_moments(
    decomposition: Decomposition, n: int, orders: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of log E_Q[φ(P/Q)] at all orders, shape (O,); None where there are too many outcomes.

    Every outcome of P must be one of Q.
    """
    # Beyond, curves are quicker.
    most = max(_FEW, min(MAX_HISTOGRAMS, _MOST_FEW_TERMS // orders.size))
    found = outcomes(decomposition, n, max_histograms=most)
    return None if found is None or found.err > 1e-3 else _moments(found, orders)


def _moments(found: Outcomes, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = _log_terms(found)
    return _each(orders, found.gain.size, low), _each(orders, found.gain.size, high)


Terms = Callable[[FloatArray], FloatArray]


def _log_terms(found: Outcomes) -> tuple[Terms, Terms]:
    """Functions from orders (O, 1) to bounds of the logs of all terms, shape (O, J)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(found.cost > 0.0, np.log(found.gain / found.cost), 0.0)
        log_cost = np.log(found.cost)
    size = np.abs(loss)
    slip = 1.01 * found.ratio_err + 4.0 * U * (1.0 + finite(size))
    # Of either sign, the loss counts as a gain: φ(e^L) is at least φ(e^{−L}).
    ahead = loss > -slip

    def terms(side: float, weight: FloatArray) -> Terms:
        at = np.maximum(size + side * slip, 0.0)
        known = weight + log_cost
        known_err = 16.0 * U * (finite(weight) + finite(log_cost))

        def logs(order: FloatArray) -> FloatArray:
            powers = np.empty((order.size, at.size))
            powers[:, ahead] = log_rise(order, at[ahead])
            powers[:, ~ahead] = log_fall(order, at[~ahead])
            err = 1.01 * found.err + (8192.0 + 16.0 * order * finite(at)) * U + known_err
            found_logs = known + powers
            return np.asarray(found_logs + side * (err + 8.0 * U * finite(found_logs)))

        return logs

    return terms(-1.0, found.log_lower), terms(1.0, found.log_upper)


def _each(orders: FloatArray, size: int, terms: Terms) -> FloatArray:
    """Sums of `size` terms, shape (O,); rounding is what `_log_terms` counts."""
    block = max(1, _BLOCK // max(1, size))
    parts = [
        log_sum(terms(orders[start : start + block, None]))
        for start in range(0, orders.size, block)
    ]
    return np.concatenate(parts)


def log_sum(logs: FloatArray) -> FloatArray:
    """Log Σ e^x along the last axis, −inf for nothing."""
    top = np.max(logs, axis=-1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(logs - base).sum(axis=-1)) + base[..., 0])


def infinite(decomposition: Decomposition) -> bool:
    """Whether some outcome is possible under the first input only."""
    return bool(np.any((decomposition.a > 0.0) & (decomposition.b == 0.0)))


def finite(x: FloatArray) -> FloatArray:
    """Sizes, 0 for what is infinite."""
    return np.where(np.isfinite(x), np.abs(x), 0.0)


# A divergence between bounds at some ε, and what its convexity says of integrals.
#
# In x = e^ε the curve h(x) = D(P‖xQ) is convex: between points it lies below the chord of its
# upper bounds, and above the lines that continue the chords next to it; see docs/renyi.md.

# Where the curve is looked at, and how closely, decides speed and width, never what holds.
#
# So many neighbours may support a line, and so near an end of a cell two lines may meet.
_NEIGHBOURS, _ASIDE = 3, 1e-3
# The relative width of cells that are not cut any more.
_NARROWEST = 1e-9
# Of the first points, so many are computed with care; the others, and deep tails, to this width.
_CAREFUL, _COARSEST = 24, 1e-2


@dataclass(frozen=True, eq=False)
class Knots:
    """Bounds of log D at ε = `eps`, ascending from 0 to where D is certainly 0, shape (K + 1,).

    They are of one decomposition in one order and n users, each computed with a relative width of
    `rtol` in mind.
    """

    decomposition: Decomposition
    n: int
    rtol: float
    eps: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray

    @staticmethod
    def at(decomposition: Decomposition, n: int, rtol: float, eps: FloatArray) -> Knots:
        """At the points `eps`, of which D is 0 at the last."""
        # Far out the first look is a rough one.
        aims = np.where(np.arange(eps.size - 1) < _CAREFUL, rtol, max(rtol, _COARSEST))
        low, high = log_divergences(decomposition, eps[:-1], n, aims)
        return Knots(decomposition, n, rtol, eps, *_falling(low, high))

    def split(self, pieces: NDArray[np.int64]) -> Knots:
        """Cells cut into so many pieces each, shape (K,), evenly in ε."""
        # Floats between must be many.
        pieces = np.where(np.diff(self.eps) > _NARROWEST * self.eps[1:], pieces, 1)
        cell = np.repeat(np.arange(pieces.size), pieces - 1)
        if not cell.size:
            return self
        number = np.concatenate([np.arange(1, count) for count in pieces])
        width = np.diff(self.eps)
        more = self.eps[cell] + width[cell] * (number / pieces[cell])
        more = np.setdiff1d(more, self.eps)
        # Where D has fallen by e^{−x}, it matters to orders at which log E[R^α] is about x.
        at = np.searchsorted(self.eps, more) - 1
        depth = np.minimum(self.log_upper[0] - self.log_upper[at], 1e6)
        aims = np.clip(0.5 * self.rtol * depth, self.rtol, max(self.rtol, _COARSEST))
        found = log_divergences(self.decomposition, more, self.n, aims)
        eps = np.concatenate([self.eps, more])
        order = np.argsort(eps, kind="stable")
        low = np.concatenate([self.log_lower, found[0]])[order]
        high = np.concatenate([self.log_upper, found[1]])[order]
        return Knots(
            self.decomposition, self.n, self.rtol, eps[order], *_falling(low[:-1], high[:-1])
        )

    def blur(self) -> FloatArray:
        """The smaller relative width of D at both ends of each cell, (K,), 0 where D is 0."""
        with np.errstate(invalid="ignore"):
            blur = -np.expm1(self.log_lower - self.log_upper)
        blur = np.nan_to_num(blur, nan=0.0)
        return np.asarray(np.minimum(blur[:-1], blur[1:]))

    def integrals(self, order: FloatArray, other: Knots, *, ahead: bool) -> tuple[FloatArray, ...]:
        """Bounds of log ∫ α(α − 1) y^{α−2} h(y) dy, or with y^{−α−1} if not `ahead`, cell by cell.

        `order` has shape (O, 1), the bounds (O, K); `other` is the divergence in the other order.
        """
        err = chord_weights_err(order, self.eps[1:]) + 64.0 * U
        first, last = log_chord_weights(order, self.eps[:-1], self.eps[1:], ahead=ahead)
        upper = np.logaddexp(first + self.log_upper[:-1], last + self.log_upper[1:])
        middle, heights = self._floor(other)
        left = log_chord_weights(order, self.eps[:-1], middle, ahead=ahead)
        right = log_chord_weights(order, middle, self.eps[1:], ahead=ahead)
        halves = [
            np.logaddexp(one[0] + heights[i], one[1] + heights[i + 1])
            for i, one in enumerate((left, right))
        ]
        lower = np.logaddexp(*halves)
        return np.minimum(lower - err - _slip(lower, 0.0), upper), upper + err + _slip(upper, 0.0)

    def _floor(self, other: Knots) -> tuple[FloatArray, FloatArray]:
        """A polygon below h: its vertex in each cell, (K,), and logs of its heights.

        Those at the beginning of the cell, the vertex and the end, (3, K).
        """
        begin, end = self.eps[:-1], self.eps[1:]
        width, scale = end - begin, self.log_upper[:-1]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            start, stop = np.exp(self.log_lower[:-1] - scale), np.exp(self.log_lower[1:] - scale)
            start = start * (1.0 - _slip(self.log_lower[:-1], scale))
            stop = stop * (1.0 - _slip(self.log_lower[1:], scale))
            whole = np.expm1(width)
            down, up = self._falls(start, scale, other), self._rises(stop, scale, width)
            # In units of x and of h at the beginning of the cell.
            meet = (start - stop - up * whole) / (down - up)
            meet = np.clip(np.where(np.isnan(meet), 0.5 * whole, meet), 0.0, whole)
            aside = np.clip(np.log1p(meet), _ASIDE * width, (1.0 - _ASIDE) * width)
            middle = begin + aside
            middle = np.where((begin < middle) & (middle < end), middle, 0.5 * (begin + end))
            along = np.expm1(middle - begin)
            before, after = down * along, up * np.exp(middle - begin) * np.expm1(end - middle)
            height = np.minimum(
                start - before - 16.0 * U * (start + before),
                stop + after - 16.0 * U * (stop + after),
            )
            # A line that does not come so far leaves the height at the end.
            good = height > 0.0
            heights = np.log([np.where(good, start, stop), np.where(good, height, stop), stop])
        heights = np.where(np.isfinite(scale), scale + heights, -np.inf)
        return middle, heights - _slip(heights, 0.0)

    def _falls(self, start: FloatArray, scale: FloatArray, other: Knots) -> FloatArray:
        """How fast h may fall beyond the beginning of each cell, at most."""
        found = np.full(start.size, np.inf)
        for back in range(1, min(_NEIGHBOURS, start.size - 1) + 1):
            high = np.exp(self.log_upper[: -1 - back] - scale[back:])
            high = high * (1.0 + _slip(self.log_upper[: -1 - back], scale[back:]))
            gap = -np.expm1(self.eps[: -1 - back] - self.eps[back:-1])
            steep = np.maximum(high - start[back:], 0.0) / gap * (1.0 + 16.0 * U)
            found[back:] = np.fmin(found[back:], steep)
        # At x = 1, by what the other order says of x < 1: H(x) − 1 + x is x times it at 1/x.
        near = other.eps[1 : 1 + _NEIGHBOURS]
        gap = -np.expm1(-near)
        high = np.exp(other.log_upper[1 : 1 + _NEIGHBOURS] - near)
        here = start[0] * np.exp(scale[0])
        sizes = gap + high + here
        steep = ((gap - here) + high + 32.0 * U * sizes) / gap * (1.0 + 16.0 * U)
        unit = np.exp(scale[:1]) * (1.0 - _slip(scale[:1], 0.0))
        # A unit of 0 says nothing, neither does 0/0.
        found[0] = np.minimum(1.0, np.fmin.reduce(steep)) / unit[0] * (1.0 + 16.0 * U)
        return np.maximum(found, 0.0)

    def _rises(self, stop: FloatArray, scale: FloatArray, width: FloatArray) -> FloatArray:
        """How fast h rises before the end of each cell, at least."""
        found = np.zeros(stop.size)
        for on in range(1, min(_NEIGHBOURS, stop.size - 1) + 1):
            high = np.exp(self.log_upper[1 + on :] - scale[:-on])
            high = high * (1.0 + _slip(self.log_upper[1 + on :], scale[:-on]))
            gap = np.exp(width[:-on]) * np.expm1(self.eps[1 + on :] - self.eps[1:-on])
            steep = (stop[:-on] - high) / gap * (1.0 - 16.0 * U)
            found[:-on] = np.fmax(found[:-on], steep)
        return found


def _falling(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds that fall as D does, 0 at a further point."""
    low = np.maximum.accumulate(low[::-1])[::-1]
    return np.append(low, -np.inf), np.append(np.minimum.accumulate(high), -np.inf)


def _slip(log_value: FloatArray, log_scale: FloatArray | float) -> FloatArray:
    """The relative error of e^{difference}."""
    apart = np.abs(log_value - log_scale)
    return 8.0 * U * (2.0 + np.where(np.isfinite(apart), apart, 0.0))
