"""From Rényi divergences to (ε, δ): what Rényi accounting lets one claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U

SMALLEST_ORDER, LARGEST_ORDER = 1.05, 5000.0

# Orders of the first look, those looked at together, pieces of an interval that is cut, and passes.
_LADDER, _TOGETHER, _CUTS, _REFINEMENTS = 61, 6, 6, 8

# Of orders (O,): lower and upper ends of the divergence.
Divergences = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def epsilon_of_orders(
    orders: ArrayLike, divergences: ArrayLike, delta: float, *, rounds: int = 1
) -> float:
    """Convert Rényi divergences to the least ε with (ε, δ)-DP that they give.

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
        How many rounds of these divergences add up, 1 to 10⁶.

    Returns
    -------
    float
        The least ε ≥ 0 (natural log) over the orders, rounded up.

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
    losses = np.array([_divergence(x) for x in np.atleast_1d(divergences).tolist()])
    if alpha.ndim != 1 or alpha.shape != losses.shape or not alpha.size:
        raise ValueError(
            "orders and divergences must be arrays of the same, positive length, got "
            f"{alpha.size} and {losses.size} entries"
        )
    times = validation.rounds(rounds)
    return max(0.0, float(_converted(alpha, times * losses, validation.delta(delta)).min()))


def least_epsilon(divergences: Divergences, delta: float, spare: float) -> Enclosure:
    """Enclosure of the least converted ε over all orders from 1.05 to 5000.

    `divergences` gives bounds of a divergence, which rises with its order. Orders are added until
    those between them cannot give less by more than the share `spare`.
    """
    ladder = 1.0 + np.geomspace(SMALLEST_ORDER - 1.0, LARGEST_ORDER - 1.0, _LADDER)
    orders, low, high = np.empty(0), np.empty(0), np.empty(0)

    def learn(more: Sequence[float]) -> None:
        nonlocal orders, low, high
        ends = divergences(np.array(more))
        orders, low, high = (
            np.concatenate(pair) for pair in ((orders, more), (low, ends[0]), (high, ends[1]))
        )
        rank = np.argsort(orders, kind="stable")
        orders, low, high = orders[rank], low[rank], high[rank]

    for start in range(0, _LADDER, _TOGETHER):
        learn(ladder[start : start + _TOGETHER].tolist())
        least = float(_converted(orders, high, delta).min())
        beyond = _between(orders[-1:], np.array([LARGEST_ORDER]), low[-1:], delta)
        if beyond[0] >= least:
            break
    if math.isinf(least):
        return Enclosure(math.inf, math.inf)
    for _ in range(_REFINEMENTS):
        # What is due to the divergences' own widths no further order would mend.
        floors = _between(orders[:-1], orders[1:], high[:-1], delta)
        least = float(_converted(orders, high, delta).min())
        open_ends = np.flatnonzero(floors < least * (1.0 - spare))
        if not open_ends.size or least <= 0.0:
            break
        learn(
            [
                1.0 + (orders[i] - 1.0) * ((orders[i + 1] - 1.0) / (orders[i] - 1.0)) ** share
                for i in open_ends
                for share in np.arange(1, _CUTS) / _CUTS
            ]
        )
    floors = _between(orders[:-1], orders[1:], low[:-1], delta)
    least = float(_converted(orders, high, delta).min())
    below = min(float(floors.min()), float(beyond[0]))
    return Enclosure(max(0.0, min(below, least)), max(0.0, least))


def _converted(orders: FloatArray, losses: FloatArray, delta: float) -> FloatArray:
    """The formula at each order, rounded up."""
    gain, cost = _gain(orders), (-math.log(delta) - np.log(orders)) / (orders - 1.0)
    return np.asarray(losses + gain + cost + _slip(losses, gain, orders, orders, delta))


def _between(start: FloatArray, stop: FloatArray, low: FloatArray, delta: float) -> FloatArray:
    """What the formula gives at least over all orders from `start` to `stop`.

    `low` are lower bounds of the divergence at `start`.
    """
    gain, numerator = _gain(start), -math.log(delta) - np.log(stop)
    cost = numerator / (np.where(numerator >= 0.0, stop, start) - 1.0)
    return np.asarray(low + gain + cost - _slip(low, gain, start, stop, delta))


def _gain(orders: FloatArray) -> FloatArray:
    """log(1 − 1/α), where 1/α itself would lose what is left at orders near 1."""
    return np.asarray(-np.log1p(1.0 / (orders - 1.0)))


def _slip(
    losses: FloatArray, gain: FloatArray, start: FloatArray, stop: FloatArray, delta: float
) -> FloatArray:
    """More than the roundings of the formula."""
    sizes = np.where(np.isfinite(losses), losses, 0.0) + np.abs(gain)
    sizes = sizes + (abs(math.log(delta)) + np.log(stop)) / (start - 1.0)
    return np.asarray(16.0 * U * sizes)


def _divergence(value: object) -> float:
    if value == math.inf:
        return math.inf
    loss = validation.finite("divergence", value)
    if loss < 0.0:
        raise ValueError(f"divergence must be a number >= 0, got {value!r}")
    return loss
