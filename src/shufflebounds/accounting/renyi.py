"""The Rényi divergence of shuffled reports, certified, at any real order.

The divergences of a pair and of all datasets are those of `profiles.renyi`; docs/proofs/renyi.md
proves both ends.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from shufflebounds.accounting.arguments import ArrayOf, checked, is_array_like
from shufflebounds.accounting.renyi_conversion import (
    LARGEST_ORDER,
    SMALLEST_ORDER,
    Conversion,
    epsilon_of_orders,
    least_epsilon,
)
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import RESERVE, budget, enclosed_so_far, limited
from shufflebounds.divergence.law import U
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.mechanism import Parts, interval_of
from shufflebounds.profiles.renyi import Renyi
from shufflebounds.profiles.renyi_pairs import ROUNDING_LOSS, RenyiPairs, bound_by_largest_loss
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Relative width of a divergence if the caller does not state one.
DEFAULT_RTOL = 2e-3
# Orders at which the bound for all datasets is converted to ε: α − 1 in units of that of the best
# order of the lower end.
ORDER_RATIOS = (0.9, 1.0, 1.1)


@overload
def renyi(
    decomposition: Decomposition | Randomizer,
    n: int,
    order: float,
    rtol: float | None = ...,
    *,
    rounds: int = ...,
) -> Enclosure: ...


@overload
def renyi(
    decomposition: Decomposition | Randomizer,
    n: int,
    order: ArrayOf[float],
    rtol: float | None = ...,
    *,
    rounds: int = ...,
) -> Enclosures: ...


@limited
def renyi(
    decomposition: Decomposition | Randomizer,
    n: int,
    order: float | ArrayOf[float],
    rtol: float | None = None,
    *,
    rounds: int = 1,
) -> Enclosure | Enclosures:
    """Enclose the Rényi divergence of n shuffled reports, the larger of both directions.

    D_α(P‖Q) = log(E_Q[(P/Q)^α])/(α − 1). The assumptions are those of `epsilon`.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    n
        Number of users, 1 to 10¹⁵.
    order
        α, 1 < α ≤ 10⁶; or a 1-d array of such, at hardly more cost.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 2·10⁻³ and does not
        count the distance between ``inner`` and ``outer``. The time grows like 1/√rtol. For a
        randomizer it is the width to which each of its decompositions is evaluated.
    rounds
        How many rounds, 1 to 10⁶: divergences add up.

    Returns
    -------
    Enclosure
        Of the divergence (natural log); `Enclosures` for an array of orders. The shuffled reports
        are (α, ``upper``)-RDP, even if each round depends on earlier outputs. ``lower`` is the
        divergence of the decomposition's own histograms, the same in all rounds. For a randomizer
        ``upper`` is proven for all datasets, and two specific datasets achieve ``lower``. Both are
        inf if an output is possible under one input only.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        If the width stays above `rtol`. It holds the enclosures of all orders. For a randomizer
        the width of each of its decompositions counts, not the distance between them.

    Notes
    -----
    Girgis et al. (CCS 2021) ask this question of clones. Proof: docs/proofs/renyi.md.

    Examples
    --------
    A single report of 2-RR at ε₀ = log 3 has D₂ = log(3/4·3 + 1/4·1/3) = log(7/3).

    >>> divergence = sb.renyi(sb.KRR(k=2, eps0=np.log(3.0)).blanket(), n=1, order=2.0)
    >>> f"{np.exp(divergence.upper):.1f}"
    '2.3'
    """
    _require_shuffle(decomposition)
    n = validation.users(n)
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    times = validation.rounds(rounds)
    orders = np.array(checked("order", order, validation.order))

    def enclosure_by_simple_bound() -> Enclosure | Enclosures:
        with budget(RESERVE):
            high = times * _simple_upper(decomposition, n, orders) * (1.0 + 2.0 * U)
        enclosures = Enclosures(np.zeros(orders.shape), high)
        return enclosures if is_array_like(order) else enclosures[0]

    parts = Parts.of(decomposition)
    with enclosed_so_far(enclosure_by_simple_bound):
        *ends, widths = Renyi(parts.interval(np.array([float(n)]))).bounds(orders, goal)
    if parts.decomposition is not None:
        widths = Enclosures(*ends).relative_width
    low, high = (times * end for end in ends)
    if times > 1:
        low, high = low * (1.0 - 2.0 * U), high * (1.0 + 2.0 * U)
    divergences = Enclosures(low, high)
    answer = divergences if is_array_like(order) else divergences[0]
    is_width_promised = rtol is not None or all(part.is_finite() for part in parts.above)
    for i in np.flatnonzero(widths > goal) if is_width_promised else ():
        # Two inputs that may be the same up to rounding have no relative width.
        if low[i] > 0.0 or high[i] > times * orders[i] * ROUNDING_LOSS**2:
            raise PrecisionError(
                f"the Renyi divergence at order {float(orders[i])!r} and n = {n} is known only to "
                f"lie in [{float(low[i])!r}, {float(high[i])!r}]: relative width "
                f"{widths[i]:.1e} where rtol = {goal:g} was asked for"
                f"{validation.rtol_advice(float(widths[i]))}",
                answer,
            )
    return answer


@limited
def renyi_epsilon(
    decomposition: Decomposition | Randomizer,
    n: int,
    delta: float,
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure:
    """Enclose the ε that Rényi accounting derives from exact divergences.

    Orders are 1.05 to 5000, and ∞, whose divergence is the largest loss, such as ε₀. The
    assumptions are those of `epsilon`. Conversion: `epsilon_of_orders`; proof:
    docs/proofs/renyi.md, section 6.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    n
        Number of users, 1 to 10¹⁵.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    rounds
        How many rounds of n users together, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 2·10⁻³ and does not
        count the distance between ``inner`` and ``outer``. For a randomizer it is the width to
        which each of its decompositions is evaluated.

    Returns
    -------
    Enclosure
        You can claim ``upper`` (natural log). No ε by this way of accounting is below ``lower``;
        the true ε may be. For a randomizer ``upper`` is proven for all datasets, and ``lower`` is
        the one of specific datasets.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and for Gaussian noise without a clamp.
    PrecisionError
        If the width stays above `rtol`, for a randomizer only if the answer would cost too much
        work.

    Examples
    --------
    >>> U = sb.KRR(k=10, eps0=4.0).blanket()
    >>> f"{sb.renyi_epsilon(U, n=10_000, delta=1e-6).upper:.2f}"
    '0.41'
    >>> f"{sb.epsilon(U, n=10_000, delta=1e-6).upper:.2f}"
    '0.38'
    """
    _require_shuffle(decomposition)
    n, delta, times = validation.users(n), validation.delta(delta), validation.rounds(rounds)
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)

    if isinstance(decomposition, Randomizer):
        return _mechanism_epsilon(decomposition, n, delta, times, goal)
    eps = _converted(_divergences(decomposition, n), delta, times, goal).epsilon
    is_width_promised = rtol is not None or decomposition.is_finite()
    if is_width_promised and eps.relative_width > goal and eps.upper > 0.0:
        raise PrecisionError(
            f"epsilon by Renyi divergences at delta = {delta!r} is known only to lie in "
            f"[{eps.lower!r}, {eps.upper!r}]: relative width {eps.relative_width:.1e} where "
            f"rtol = {goal:g} was asked for",
            eps,
        )
    return eps


def _require_shuffle(subject: object) -> None:
    """Raise ValueError for anything but a decomposition or a randomizer."""
    if isinstance(subject, RandomAllocation):
        raise ValueError(
            "decomposition must be that of a shuffle, got random allocation, whose upper bounds "
            "count rare losses as infinite; every Renyi divergence would be; ask epsilon or delta"
        )
    require_mechanism(subject)


def _divergences(decomposition: Decomposition, n: int) -> Renyi:
    """Return the divergences of a decomposition for n users."""
    return Renyi(pair(decomposition, np.array([float(n)])))


def _simple_upper(subject: Decomposition | Randomizer, n: int, orders: FloatArray) -> FloatArray:
    """Return an upper bound of the divergence at orders (O,) that takes milliseconds.

    It is that of the stronger clone of a randomizer, or rests on the largest loss.
    """
    if isinstance(subject, Decomposition):
        return bound_by_largest_loss(_divergences(subject, n).largest_loss[1], orders)
    simple = subject.simple_bound()
    if simple is None:
        return np.full(orders.shape, np.inf)
    return _divergences(simple, n).bounds(orders, DEFAULT_RTOL).upper


def _converted(pairs: Renyi | RenyiPairs, delta: float, rounds: int, goal: float) -> Conversion:
    """Return the ε that divergences give, at any order."""

    def divergences(orders: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
        low, high = pairs.bounds(orders, rtol)[:2]
        return rounds * low * (1.0 - 2.0 * U), rounds * high * (1.0 + 2.0 * U)

    # The divergence of order ∞ needs no conversion.
    low, high = (rounds * loss for loss in pairs.largest_loss)

    def no_larger_than_losses(by_orders: Enclosure) -> Enclosure:
        upper = min(by_orders.upper, high * (1.0 + 2.0 * U))
        return Enclosure(min(by_orders.lower, low * (1.0 - 2.0 * U), upper), upper)

    try:
        eps, order = least_epsilon(divergences, delta, goal)
    except WorkError as error:
        raise WorkError(str(error), no_larger_than_losses(error.enclosure)) from None
    return Conversion(no_larger_than_losses(eps), order)


def _mechanism_epsilon(
    randomizer: Randomizer, n: int, delta: float, rounds: int, goal: float
) -> Enclosure:
    """Return the ε of specific datasets, and the smallest one that is proven for all."""
    divergences = Renyi(interval_of(randomizer, np.array([float(n)])))
    simple, lower, upper = randomizer.simple_bound(), 0.0, math.inf
    losses = [_divergences(x, n).largest_loss for x in randomizer.blankets().values()]
    if simple is None and all(low < high == math.inf for low, high in losses):
        raise ValueError(
            "decomposition must have bounded losses, since upper bounds count rare losses as "
            f"infinite, got {randomizer!r}; give it a clamp, or ask epsilon or delta"
        )
    if simple is not None:
        upper = _converted(_divergences(simple, n), delta, rounds, goal).epsilon.upper
    with enclosed_so_far(lambda: Enclosure(min(lower, upper), upper)):
        by_datasets, order = _converted(divergences.lower, delta, rounds, goal)
        lower = by_datasets.lower
        orders = 1.0 + (order - 1.0) * np.array(ORDER_RATIOS)
        orders = np.clip(orders, SMALLEST_ORDER, LARGEST_ORDER)
        suprema = divergences.all_datasets(orders, goal)
        upper = min(upper, epsilon_of_orders(orders, suprema, delta, rounds=rounds))
        if upper > lower * (1.0 + 2.0 * goal):
            upper = min(upper, _converted(divergences.blankets, delta, rounds, goal).epsilon.upper)
    return Enclosure(min(lower, upper), upper)
