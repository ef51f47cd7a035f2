"""The Rényi divergence of rounds of a subject, certified, at any real order, and ε from it.

`profiles.renyi` has the divergences of one shuffle; those of several add up. docs/proofs/renyi.md
proves both ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import cast, overload

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import Count
from shufflebounds.core.work import RESERVE, budget, enclosed_so_far, limited
from shufflebounds.divergence.law import U
from shufflebounds.profiles.renyi import Renyi, RenyiEnds
from shufflebounds.profiles.renyi_pairs import ROUNDING_LOSS, bound_by_largest_loss
from shufflebounds.questions.answers import Sent
from shufflebounds.questions.arguments import ArrayOf, checked, is_array_like
from shufflebounds.questions.plan import Plan
from shufflebounds.questions.renyi_conversion import (
    LARGEST_ORDER,
    SMALLEST_ORDER,
    Conversion,
    epsilon_of_orders,
    least_epsilon,
)
from shufflebounds.subjects.base import Aim, Subject
from shufflebounds.subjects.reports import subject_of

# Relative width of a divergence if the caller does not state one.
DEFAULT_RTOL = 2e-3
# Orders at which the bound for all datasets is converted to ε: α − 1 in units of that of the best
# order of the lower end.
ORDER_RATIOS = (0.9, 1.0, 1.1)
# Relative width of ε by Rényi accounting of a bound that is aimed at.
ACCOUNTED_RTOL = 1.5e-3


@dataclass(frozen=True, eq=False)
class RoundDivergences:
    """The divergences of shuffles one after the other: each, and how many there are."""

    parts: Sequence[tuple[Renyi, int]]

    @staticmethod
    def of(plan: Plan, n: int) -> RoundDivergences:
        """Return those of the rounds of a plan, which keeps those of single shuffles."""
        shuffles = plan.subject.shuffles(n, Aim(rounds=plan.rounds))
        if any(shuffle.is_ordered for shuffle in shuffles):
            raise ValueError(
                "decomposition must be that of a shuffle, got random allocation, whose upper "
                "bounds treat rare losses as infinite; every Renyi divergence would be; ask "
                "epsilon or delta"
            )
        return RoundDivergences([(Renyi(x), times) for x, times in plan.single_shuffles(n)])

    def times(self, rounds: int) -> RoundDivergences:
        """Return those of so many times all rounds."""
        return RoundDivergences([(part, times * rounds) for part, times in self.parts])

    @property
    def has_lower(self) -> bool:
        """Whether a lower end other than 0 is known.

        The divergences of several kinds of shuffles may be largest in different directions.
        """
        return len(self.parts) == 1 and self.parts[0][0].has_lower

    def bounds(self, orders: FloatArray, rtol: float) -> RenyiEnds:
        """Return ends of the sum at orders, (O,).

        If the work budget is spent, the error holds ends that follow from the largest losses.
        """
        with enclosed_so_far(lambda: Enclosures(np.zeros(orders.shape), self._cheap_bound(orders))):
            rows = [(*part.bounds(orders, rtol), times) for part, times in self.parts]
        low = self.scaled([(x[0], x[3]) for x in rows], -1.0)
        low = low if self.has_lower else np.zeros(orders.shape)
        return RenyiEnds(
            low,
            self.scaled([(x[1], x[3]) for x in rows], 1.0),
            np.max([x[2] for x in rows], axis=0),
        )

    def _cheap_bound(self, orders: FloatArray) -> FloatArray:
        """Return upper ends at orders that follow from the largest losses."""
        with budget(RESERVE):
            return self.of_upper(lambda part: bound_by_largest_loss(part.largest_loss[1], orders))

    def of_upper(self, ask: Callable[[Renyi], FloatArray]) -> FloatArray:
        """Return the sum of upper ends that `ask` returns."""
        return self.scaled([(ask(part), times) for part, times in self.parts], 1.0)

    @property
    def largest_loss(self) -> tuple[float, float]:
        """Bounds of the divergence of order ∞."""
        rows = [(part.largest_loss, times) for part, times in self.parts]
        low, high = (
            float(self.scaled([(np.array([x[i]]), times) for x, times in rows], side)[0])
            for i, side in ((0, -1.0), (1, 1.0))
        )
        return (low if self.has_lower else 0.0), high

    @staticmethod
    def scaled(rows: Sequence[tuple[FloatArray, int]], side: float) -> FloatArray:
        """Return Σ times · ends, rounded up if `side` is 1, down if it is −1."""
        if len(rows) == 1 and rows[0][1] == 1:
            return rows[0][0]
        total = np.sum([times * ends for ends, times in rows], axis=0)
        return np.asarray(total * (1.0 + side * 2.0 * U * (1 + len(rows))))


@overload
def renyi(
    decomposition: Sent,
    n: Count,
    order: float,
    rtol: float | None = ...,
    *,
    rounds: int = ...,
) -> Enclosure: ...


@overload
def renyi(
    decomposition: Sent,
    n: Count,
    order: ArrayOf[float],
    rtol: float | None = ...,
    *,
    rounds: int = ...,
) -> Enclosures: ...


@limited
def renyi(
    decomposition: Sent,
    n: Count,
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
    plan = Plan(subject_of(decomposition), validation.rounds(rounds))
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    orders = np.array(checked("order", order, validation.order))
    divergences = RoundDivergences.of(plan, validation.users(n))

    def of_orders(enclosures: Enclosures) -> Enclosure | Enclosures:
        return enclosures if is_array_like(order) else enclosures[0]

    try:
        low, high, widths = divergences.bounds(orders, goal)
    except WorkError as error:
        raise WorkError(str(error), of_orders(cast(Enclosures, error.enclosure))) from None
    answer = of_orders(Enclosures(np.minimum(low, high), high))
    # The share is less than 1 where a pair has an inner and an outer end.
    is_finite = all(part.blankets.share == 1.0 for part, _ in divergences.parts)
    for i in np.flatnonzero(widths > goal) if rtol is not None or is_finite else ():
        # Two inputs that may be the same up to rounding have no relative width.
        if low[i] > 0.0 or high[i] > plan.rounds * orders[i] * ROUNDING_LOSS**2:
            what = f"the Renyi divergence at order {float(orders[i])!r} and n = {n}"
            ends = float(low[i]), float(high[i])
            raise PrecisionError(validation.shortfall(what, ends, float(widths[i]), goal), answer)
    return answer


@limited
def renyi_epsilon(
    decomposition: Sent,
    n: Count,
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
    plan = Plan(subject_of(decomposition), validation.rounds(rounds))
    n, delta = validation.users(n), validation.delta(delta)
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    divergences = RoundDivergences.of(plan, n)
    if not all(part.interval.is_of_one_curve for part, _ in divergences.parts):
        _require_bounded_losses(divergences, plan.subject)
        return _mechanism_epsilon(divergences, delta, goal)
    eps = converted(divergences, delta, goal).epsilon
    is_width_promised = rtol is not None or all(x.interval.is_exact for x, _ in divergences.parts)
    if is_width_promised and eps.relative_width > goal and eps.upper > 0.0:
        what, width = f"epsilon by Renyi divergences at delta = {delta!r}", eps.relative_width
        raise PrecisionError(validation.shortfall(what, astuple(eps), width, goal), eps)
    return eps


def converted(
    divergences: RoundDivergences,
    delta: float,
    goal: float,
    bounds: Callable[[FloatArray, float], tuple[FloatArray, FloatArray]] | None = None,
    largest_loss: tuple[float, float] | None = None,
) -> Conversion:
    """Return the ε that divergences give, at any order: all of them, or those of `bounds`."""

    def both_ends(orders: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
        ends = divergences.bounds(orders, rtol)
        return ends.lower, ends.upper

    # The divergence of order ∞ needs no conversion.
    low, high = divergences.largest_loss if largest_loss is None else largest_loss

    def no_larger_than_losses(by_orders: Enclosure) -> Enclosure:
        upper = min(by_orders.upper, high * (1.0 + 2.0 * U))
        return Enclosure(min(by_orders.lower, low * (1.0 - 2.0 * U), upper), upper)

    try:
        eps, order = least_epsilon(bounds or both_ends, delta, goal)
    except WorkError as error:
        raise WorkError(str(error), no_larger_than_losses(error.enclosure)) from None
    return Conversion(no_larger_than_losses(eps), order)


def accounted_epsilon(divergences: RoundDivergences, delta: float) -> Enclosure:
    """Return the ε by Rényi accounting of a bound."""
    return converted(divergences, delta, ACCOUNTED_RTOL).epsilon


def _require_bounded_losses(divergences: RoundDivergences, subject: Subject) -> None:
    low, high = divergences.largest_loss
    if math.isinf(high) and math.isfinite(low):
        raise ValueError(
            "decomposition must have bounded losses, since upper bounds treat rare losses as "
            f"infinite, got {subject.label}; give it a clamp, or ask epsilon or delta"
        )


def _mechanism_epsilon(divergences: RoundDivergences, delta: float, goal: float) -> Enclosure:
    """Return the ε of specific datasets, and the smallest one that is proven for all."""

    def of(which: str) -> Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]:
        def bounds(orders: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
            rows = [(getattr(part, which).bounds(orders, rtol), t) for part, t in divergences.parts]
            lower, upper = (
                divergences.scaled([(ends[i], times) for ends, times in rows], side)
                for i, side in ((0, -1.0), (1, 1.0))
            )
            return lower, upper

        return bounds

    lower, upper = 0.0, divergences.largest_loss[1]
    with enclosed_so_far(lambda: Enclosure(min(lower, upper), upper)):
        by_datasets, order = converted(divergences, delta, goal, of("lower"))
        lower = by_datasets.lower if divergences.has_lower else 0.0
        orders = 1.0 + (order - 1.0) * np.array(ORDER_RATIOS)
        orders = np.clip(orders, SMALLEST_ORDER, LARGEST_ORDER)
        suprema = divergences.of_upper(lambda part: part.bounds(orders, goal).upper)
        upper = min(upper, epsilon_of_orders(orders, suprema, delta))
        if upper > by_datasets.lower * (1.0 + 2.0 * goal):
            upper = min(upper, converted(divergences, delta, goal, of("blankets")).epsilon.upper)
    return Enclosure(min(lower, upper), upper)
