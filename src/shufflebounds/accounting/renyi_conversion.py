"""The conversion of Rényi divergences to (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import enclosed_so_far
from shufflebounds.divergence.law import U

# Smallest order at which divergences are converted.
SMALLEST_ORDER = 1.05
# Largest order at which divergences are converted.
LARGEST_ORDER = 5000.0
# Number of orders of the first pass, in equal ratios of α − 1.
_FIRST_ORDERS = 61
# Number of these orders that are computed at once.
_ORDERS_AT_ONCE = 6
# Number of pieces into which a pass cuts an interval of orders.
_PIECES = 6
# Largest number of passes that cut intervals.
_MAX_PASSES = 8

# Returns lower and upper ends of the divergence at orders, (O,) each.
Divergences = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def epsilon_of_orders(
    orders: ArrayLike, divergences: ArrayLike, delta: float, *, rounds: int = 1
) -> float:
    """Convert Rényi divergences to the smallest ε for which they prove (ε, δ)-DP.

    If the divergence of order α is at most ε_α, then ε = ε_α + log(1 − 1/α) − log(αδ)/(α − 1)
    (Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 12).

    Parameters
    ----------
    orders
        α, 1 < α ≤ 10⁶, shape (O,), O ≥ 1.
    divergences
        Upper bounds ε_α ≥ 0 (natural log, inf allowed), shape (O,).
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    rounds
        Number of rounds whose divergences add up, 1 to 10⁶.

    Returns
    -------
    float
        The smallest ε ≥ 0 (natural log) over the orders, rounded up.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and for arrays of different lengths.

    Examples
    --------
    log(1/2) − log(2·10⁻⁶) = log(2.5·10⁵) at order 2.

    >>> f"{np.exp(sb.epsilon_of_orders([2.0], [0.0], delta=1e-6)):.0f}"
    '250000'
    """
    alpha = np.array([validation.order(x) for x in np.atleast_1d(orders).tolist()])
    losses = np.array([_validate_divergence(x) for x in np.atleast_1d(divergences).tolist()])
    if alpha.ndim != 1 or alpha.shape != losses.shape or not alpha.size:
        raise ValueError(
            "orders and divergences must be arrays of the same, positive length, got "
            f"{alpha.size} and {losses.size} entries"
        )
    times = validation.rounds(rounds)
    return max(0.0, float(_converted(alpha, times * losses, validation.delta(delta)).min()))


def least_epsilon(divergences: Divergences, delta: float, share: float) -> Enclosure:
    """Return an enclosure of the smallest converted ε over all orders from 1.05 to 5000.

    `divergences` returns bounds of a divergence, which rises with its order. Orders are added until
    the orders between them cannot give an ε that is smaller by more than `share` of it.
    """
    curve = _DivergenceCurve(divergences, delta)
    with enclosed_so_far(lambda: Enclosure(0.0, curve.smallest_epsilon())):
        return _least_epsilon_of(curve, share)


def _least_epsilon_of(curve: _DivergenceCurve, share: float) -> Enclosure:
    """Return the enclosure of `least_epsilon`, given a curve without orders."""
    first_orders = 1.0 + np.geomspace(SMALLEST_ORDER - 1.0, LARGEST_ORDER - 1.0, _FIRST_ORDERS)
    for start in range(0, _FIRST_ORDERS, _ORDERS_AT_ONCE):
        curve.add(first_orders[start : start + _ORDERS_AT_ONCE])
        smallest = curve.smallest_epsilon()
        after_last = curve.floor_after_last()
        if after_last >= smallest:
            break
    if math.isinf(smallest):
        return Enclosure(math.inf, math.inf)
    for _ in range(_MAX_PASSES):
        # The upper ends count, since further orders do not reduce the widths of divergences.
        floors = curve.floors(curve.high)
        smallest = curve.smallest_epsilon()
        open_intervals = np.flatnonzero(floors < smallest * (1.0 - share))
        if not open_intervals.size or smallest <= 0.0:
            break
        curve.add(curve.orders_within(open_intervals))
    smallest = curve.smallest_epsilon()
    floor = min(float(curve.floors(curve.low).min()), after_last)
    return Enclosure(max(0.0, min(floor, smallest)), smallest)


class _DivergenceCurve:
    """Bounds ``low`` and ``high`` of a divergence at ascending ``orders``, (O,) each."""

    def __init__(self, divergences: Divergences, delta: float) -> None:
        self.orders, self.low, self.high = np.empty(0), np.empty(0), np.empty(0)
        self._divergences, self._delta = divergences, delta

    def add(self, new_orders: FloatArray) -> None:
        """Compute the divergence at further orders."""
        low, high = self._divergences(new_orders)
        orders = np.concatenate([self.orders, new_orders])
        rank = np.argsort(orders, kind="stable")
        self.orders = orders[rank]
        self.low = np.concatenate([self.low, low])[rank]
        self.high = np.concatenate([self.high, high])[rank]

    def smallest_epsilon(self) -> float:
        """Return the smallest ε ≥ 0 that an order gives, rounded up; inf without orders."""
        converted = _converted(self.orders, self.high, self._delta)
        return max(0.0, float(converted.min(initial=math.inf)))

    def floors(self, divergences: FloatArray) -> FloatArray:
        """Return the smallest ε of all orders between neighbours, (O − 1,).

        `divergences` are the divergences at the orders, (O,).
        """
        return _between(self.orders[:-1], self.orders[1:], divergences[:-1], self._delta)

    def floor_after_last(self) -> float:
        """Return a lower bound of ε at all orders after the last one."""
        end = np.array([LARGEST_ORDER])
        return float(_between(self.orders[-1:], end, self.low[-1:], self._delta)[0])

    def orders_within(self, intervals: NDArray[np.int64]) -> FloatArray:
        """Return the orders that cut each interval into pieces, in equal ratios of α − 1."""
        excess = self.orders - 1.0
        return np.array(
            [
                1.0 + excess[i] * (excess[i + 1] / excess[i]) ** share
                for i in intervals
                for share in np.arange(1, _PIECES) / _PIECES
            ]
        )


def _converted(orders: FloatArray, losses: FloatArray, delta: float) -> FloatArray:
    """Return the ε of the formula at each order, rounded up."""
    gain, cost = _gain(orders), (-math.log(delta) - np.log(orders)) / (orders - 1.0)
    return np.asarray(losses + gain + cost + _slip(losses, gain, orders, orders, delta))


def _between(start: FloatArray, stop: FloatArray, low: FloatArray, delta: float) -> FloatArray:
    """Return the smallest ε of the formula over all orders from `start` to `stop`.

    `low` are the divergences at `start`, which rise with the order.
    """
    gain, numerator = _gain(start), -math.log(delta) - np.log(stop)
    cost = numerator / (np.where(numerator >= 0.0, stop, start) - 1.0)
    return np.asarray(low + gain + cost - _slip(low, gain, start, stop, delta))


def _gain(orders: FloatArray) -> FloatArray:
    """Return log(1 − 1/α), precise also at orders near 1."""
    return np.asarray(-np.log1p(1.0 / (orders - 1.0)))


def _slip(
    losses: FloatArray, gain: FloatArray, start: FloatArray, stop: FloatArray, delta: float
) -> FloatArray:
    """Return a bound of the rounding error of the formula."""
    sizes = np.where(np.isfinite(losses), losses, 0.0) + np.abs(gain)
    sizes = sizes + (abs(math.log(delta)) + np.log(stop)) / (start - 1.0)
    return np.asarray(16.0 * U * sizes)


def _validate_divergence(value: object) -> float:
    """Return a valid divergence, which may be inf; raise ValueError otherwise."""
    if value == math.inf:
        return math.inf
    loss = validation.finite("divergence", value)
    if loss < 0.0:
        raise ValueError(f"divergence must be a number >= 0, got {value!r}")
    return loss
