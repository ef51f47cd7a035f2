"""Powers of a ratio about 1: what E[R^α] consists of, without cancellation.

For an order α > 1 the function φ(R) = R^α − 1 − α(R − 1) is convex and 0 at R = 1. Where E[R] = 1,
E[R^α] − 1 is E[φ(R)], a sum of positive terms; docs/renyi.md proves the errors stated here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import U

# Terms of a series in αL < 2, of which the first is 1/2: the rest is below 10⁻²⁰.
_TERMS = 28


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
    x = order * loss
    total, term = np.full(x.shape, 0.5), np.full(x.shape, 0.5)
    count, power = np.ones(x.shape), ratio
    for k in range(3, 3 + _TERMS):
        term = term * x / k
        count = count + power
        power = power * ratio
        total = total + term * count
    return np.asarray(np.log(order * (order - 1.0)) + 2.0 * np.log(loss) + np.log(total))
