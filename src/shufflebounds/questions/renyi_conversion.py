"""The conversion of Rényi divergences to (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.number import Real
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
# Relative width of divergences at first, which excludes most orders.
_COARSE_RTOL = 0.05
# Share of the requested relative width that is left to the orders between those that are computed.
_ORDERS_SHARE = 0.5
# Share of the requested relative width that is left to divergences.
_DIVERGENCES_SHARE = 0.4

# Returns lower and upper ends of the divergence at orders, (O,) each, for a relative width.
Divergences = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]


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


class Conversion(NamedTuple):
    """An enclosure of the smallest converted ε, and an order that gives its upper end."""

    epsilon: Enclosure
    order: float


def least_epsilon(divergences: Divergences, delta: float, goal: float) -> Conversion:
    """Return the smallest converted ε over all orders from 1.05 to 5000.

    `divergences` returns bounds of a divergence, which rises with its order. Orders are added until
    the orders between them cannot give an ε that is smaller by more than half of the relative width
    `goal`, and divergences are narrow where they may decide.
    """
    curve = _DivergenceCurve(divergences, delta, goal)
    with enclosed_so_far(lambda: Enclosure(0.0, curve.smallest_epsilon())):
        return Conversion(_least_epsilon_of(curve, goal), curve.best_order())


def _least_epsilon_of(curve: _DivergenceCurve, goal: float) -> Enclosure:
    """Return the enclosure of `least_epsilon`, given a curve without orders."""
    first_orders = 1.0 + np.geomspace(SMALLEST_ORDER - 1.0, LARGEST_ORDER - 1.0, _FIRST_ORDERS)
    for start in range(0, _FIRST_ORDERS, _ORDERS_AT_ONCE):
        curve.add(first_orders[start : start + _ORDERS_AT_ONCE], _COARSE_RTOL)
        if curve.floors()[-1] >= curve.smallest_epsilon():
            break
    if math.isinf(curve.smallest_epsilon()):
        return Enclosure(math.inf, math.inf)
    for _ in range(_MAX_PASSES):
        smallest = curve.smallest_epsilon()
        is_open = curve.floors() < smallest * (1.0 - _ORDERS_SHARE * goal)
        if smallest <= 0.0 or not curve.narrow(is_open):
            break
    smallest = curve.smallest_epsilon()
    return Enclosure(max(0.0, min(float(curve.floors().min()), smallest)), smallest)


class _DivergenceCurve:
    """Bounds ``low`` and ``high`` of a divergence at ascending ``orders``, (O,) each.

    ``are_narrow`` says which have the relative width that ``goal`` needs.
    """

    def __init__(self, divergences: Divergences, delta: float, goal: float) -> None:
        self.orders, self.low, self.high = np.empty(0), np.empty(0), np.empty(0)
        self.are_narrow = np.empty(0, dtype=bool)
        self._divergences, self._delta, self._goal = divergences, delta, goal

    def add(self, orders: FloatArray, rtol: float) -> None:
        """Compute the divergence at further orders, or anew at some."""
        low, high = self._divergences(orders, rtol)
        is_kept = ~np.isin(self.orders, orders)
        orders = np.concatenate([self.orders[is_kept], orders])
        rank = np.argsort(orders, kind="stable")
        self.orders = orders[rank]
        self.low = np.concatenate([self.low[is_kept], low])[rank]
        self.high = np.concatenate([self.high[is_kept], high])[rank]
        is_narrow = np.full(low.shape, rtol < _COARSE_RTOL)
        self.are_narrow = np.concatenate([self.are_narrow[is_kept], is_narrow])[rank]

    def narrow(self, is_open: NDArray[np.bool_]) -> bool:
        """Narrow the divergences at which open intervals begin, or cut these where they are narrow.

        Return whether there was anything to do.
        """
        # Further orders do not reduce the widths of divergences, so that the upper ends count.
        floors = self.floors(self.high)
        is_cut = self.are_narrow & is_open
        is_cut &= floors < self.smallest_epsilon() * (1.0 - _ORDERS_SHARE * self._goal)
        is_cut[-1] = False
        orders = self.orders[is_open & ~self.are_narrow]
        orders = np.concatenate([orders, self._orders_within(np.flatnonzero(is_cut))])
        if orders.size:
            self.add(orders, _DIVERGENCES_SHARE * self._goal)
        return bool(orders.size)

    def smallest_epsilon(self) -> float:
        """Return the smallest ε ≥ 0 that an order gives, rounded up; inf without orders."""
        converted = _converted(self.orders, self.high, self._delta)
        return max(0.0, float(converted.min(initial=math.inf)))

    def best_order(self) -> float:
        """Return the order that gives the smallest ε."""
        return float(self.orders[np.argmin(_converted(self.orders, self.high, self._delta))])

    def floors(self, divergences: FloatArray | None = None) -> FloatArray:
        """Return the smallest ε of all orders from each one to the next, the last to 5000; (O,).

        `divergences` are the divergences at the orders, (O,), by default their lower ends.
        """
        ends = np.append(self.orders[1:], LARGEST_ORDER)
        values = self.low if divergences is None else divergences
        return _between(self.orders, ends, values, self._delta)

    def _orders_within(self, intervals: NDArray[np.int64]) -> FloatArray:
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
    return Real("divergence", ge=0).check(value)
