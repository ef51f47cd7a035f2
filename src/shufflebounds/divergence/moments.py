"""E[φ(P/Q)], φ(R) = R^α − 1 − α(R − 1), for Rényi divergences.

For an order α > 1 the function φ is convex, and 0 at R = 1. If E[R] = 1, E[R^α] − 1 is E[φ(R)], a
sum of positive terms without cancellation.

Here are φ, its sum over the enumerated outcomes of few users, and its sum over the cells of a
polygon. docs/proofs/renyi.md proves all errors that are stated here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.enumeration import MAX_HISTOGRAMS, Outcomes, outcomes
from shufflebounds.divergence.law import BLOCK, U

# Largest number of terms of a series in αL < 2. Its first term is 1/2, and the remainder after all
# terms is below 1e-20.
_MAX_SERIES_TERMS = 28
# Bound of a term below which the series stops.
_LAST_SERIES_TERM = 2.0**-64
# Number of terms, orders times outcomes, beyond which integrals are faster than enumeration. Speed
# only (benchmarks/arrays.py).
_MAX_ENUMERATED_TERMS = 100_000

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
    total = _weighted_series(order * loss, ratio)
    return np.asarray(np.log(order * (order - 1.0)) + 2.0 * np.log(loss) + np.log(total))


def _weighted_series(x: FloatArray, ratio: FloatArray) -> FloatArray:
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
    max_outcomes = min(MAX_HISTOGRAMS, _MAX_ENUMERATED_TERMS // orders.size)
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
    loss_err = 1.01 * outcomes_.ratio_err + 4.0 * U * (1.0 + finite_size(loss_size))
    # A loss of uncertain sign counts as a gain, since φ(e^L) is at least φ(e^{−L}).
    is_gain = loss > -loss_err

    def terms(side: float, weight: FloatArray) -> Terms:
        shifted_loss = np.maximum(loss_size + side * loss_err, 0.0)
        constant = weight + log_cost
        constant_err = 16.0 * U * (finite_size(weight) + finite_size(log_cost))

        def logs(order: FloatArray) -> FloatArray:
            powers = np.empty((order.size, shifted_loss.size))
            powers[:, is_gain] = log_rise(order, shifted_loss[is_gain])
            powers[:, ~is_gain] = log_fall(order, shifted_loss[~is_gain])
            err = (
                1.01 * outcomes_.err
                + (8192.0 + 16.0 * order * finite_size(shifted_loss)) * U
                + constant_err
            )
            log_terms = constant + powers
            return np.asarray(log_terms + side * (err + 8.0 * U * finite_size(log_terms)))

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


def log_polygon_terms(
    eps: FloatArray, logs: FloatArray, orders: FloatArray, side: float
) -> tuple[FloatArray, FloatArray]:
    """Return logs of terms whose sum is the share of a curve in E[φ(P/Q)], (O, 2K) each.

    The curve is a polygon through the points (e^ε, e^`logs`), shape (K + 1,) each, `eps` ascending,
    with `orders` of shape (O,). The first terms are those of α(α − 1) ∫ y^{α−2} h(y) dy for the
    curve of (P, Q), the second ones those with y^{−α−1} for the curve of (Q, P). Each term is
    rounded to `side`, 1 or −1. The first K terms are those of the heights at the beginning of each
    cell, the others those at its end.
    """
    alpha, widths, begin = orders[:, None], np.diff(eps), eps[:-1]
    is_empty = widths <= 0.0
    widths = np.where(is_empty, 1.0, widths)
    first, last = log_rise(alpha, widths), log_fall(alpha, widths) + alpha * widths
    log_widths = widths + np.log(-np.expm1(-widths))
    starts = (alpha - 1.0) * begin - log_widths, -alpha * begin - log_widths
    # The powers of y in the reverse order are those of the order 1 − α.
    weights = (first, last), (last - (alpha - 1.0) * widths, first - alpha * widths)
    heights, are_empty = np.append(logs[:-1], logs[1:]), np.tile(is_empty, 2)
    sizes = 8192.0 + np.tile(16.0 * alpha * eps[1:], 2) + 8.0 * finite_size(heights)
    forward, backward = (
        np.where(are_empty, -np.inf, np.concatenate(ends, axis=1) + np.tile(start, 2) + heights)
        for ends, start in zip(weights, starts, strict=True)
    )
    return (
        np.asarray(forward + side * (sizes + 8.0 * finite_size(forward)) * U),
        np.asarray(backward + side * (sizes + 8.0 * finite_size(backward)) * U),
    )


def log_total(logs: FloatArray, side: float) -> FloatArray:
    """Return log Σ e^x along the last axis, moved to `side`, 1 or −1, by more than its rounding."""
    total = log_sum(logs)
    return np.asarray(total + side * (2.0 * logs.shape[-1] + 64.0 + 8.0 * finite_size(total)) * U)


def log_sum(logs: FloatArray) -> FloatArray:
    """Return log Σ e^x along the last axis, −inf for an empty sum."""
    top = np.max(logs, axis=-1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(logs - base).sum(axis=-1)) + base[..., 0])


def log1p_exp(x: FloatArray) -> FloatArray:
    """Return log(1 + e^x) with a relative error of at most 4u, for any x."""
    with np.errstate(over="ignore", under="ignore"):
        small = np.log1p(np.exp(np.minimum(x, 30.0)))
        return np.where(x > 30.0, x + np.log1p(np.exp(-np.abs(x))), small)


def infinite(decomposition: Decomposition) -> bool:
    """Return whether an outcome is possible under the first input only."""
    return bool(np.any((decomposition.a > 0.0) & (decomposition.b == 0.0)))


def finite_size(x: FloatArray) -> FloatArray:
    """Return |x|, or 0 if it is not finite."""
    return np.where(np.isfinite(x), np.abs(x), 0.0)
