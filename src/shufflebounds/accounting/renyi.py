"""The Rényi divergence of shuffled reports, certified, at any real order.

E_Q[(P/Q)^α] − 1 is a sum over outcomes for few users. For many users it is an integral of
hockey-stick divergences of both orders (`moment_curves`). docs/renyi.md proves both ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from shufflebounds.accounting.arguments import ArrayOf, checked, is_array_like
from shufflebounds.accounting.renyi_conversion import least_epsilon
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import enclosed_so_far, limited
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moment_curves import MomentCurves, log_total, upper_integrals
from shufflebounds.divergence.moments import few_moments, infinite, log1p_exp
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.direction import largest_loss
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Relative width of a divergence if the caller does not state one.
DEFAULT_RTOL = 2e-3
# Largest number of decompositions that are all computed to the goal at once.
MAX_ALL_PRECISE = 4
# Relative width to which more decompositions are computed first, to sort some of them out.
COARSE_RTOL = 0.1
# Number of datasets that are tried of either kind: the first in order, and those of largest loss.
DATASETS_OF_EITHER_KIND = 16
# Distance between the first of many datasets and the blankets, in units of the goal, up to which no
# other dataset is tried.
SUFFICIENT_GAP_IN_GOALS = 1.5
# Share of the goal for each of the two decompositions of a mechanism in cells.
CELLS_SHARE = 0.4
# Largest loss that rounding of the entries alone may explain.
ROUNDING_LOSS = 1e-12
# Largest ε of the evenly spaced points of the bound for all datasets, in typical losses.
BULK_LOSSES = 8.0
# Distance between these points, in typical losses.
BULK_STEP = 0.25
# Ratio of neighbouring ε beyond these points.
TAIL_RATIO = 1.15
# Number of crowds above which few crowds that stand for all of them are bounded instead.
MAX_CROWDS = 4
# A bound of the error of what underflows, divided by α − 1.
UNDERFLOW_ERR = 1e-300


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
    Girgis et al. (CCS 2021) ask this question of clones. Proof: docs/renyi.md.

    Examples
    --------
    A single report of 2-RR at ε₀ = log 3 has D₂ = log(3/4·3 + 1/4·1/3) = log(7/3).

    >>> divergence = sb.renyi(sb.KRR(k=2, eps0=np.log(3.0)).blanket(), n=1, order=2.0)
    >>> f"{np.exp(divergence.upper):.1f}"
    '2.3'
    """
    require_mechanism(decomposition)
    n = validation.users(n)
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    times = validation.rounds(rounds)
    orders = np.array(checked("order", order, validation.order))

    simple_upper = _simple_upper(decomposition, n, orders, goal)

    def enclosure_by_simple_bound() -> Enclosure | Enclosures:
        high = times * simple_upper * (1.0 + 2.0 * U)
        enclosures = Enclosures(np.zeros(orders.shape), high)
        return enclosures if is_array_like(order) else enclosures[0]

    with enclosed_so_far(enclosure_by_simple_bound):
        if isinstance(decomposition, Randomizer):
            ends, widths = _mechanism_bounds(decomposition, n, orders, goal)
            upper = np.minimum(ends[1], simple_upper)
            ends = np.minimum(ends[0], upper), upper
            parts: Collection[Decomposition] = decomposition.blankets().values()
        else:
            ends, parts = renyi_bounds(decomposition, n, orders, goal), [decomposition]
            widths = Enclosures(*ends).relative_width
    low, high = (times * end for end in ends)
    if times > 1:
        low, high = low * (1.0 - 2.0 * U), high * (1.0 + 2.0 * U)
    divergences = Enclosures(low, high)
    answer = divergences if is_array_like(order) else divergences[0]
    is_width_promised = rtol is not None or all(part.is_finite() for part in parts)
    for i in np.flatnonzero(widths > goal) if is_width_promised else ():
        # Two inputs that may be the same up to rounding have no relative width.
        if low[i] > 0.0 or high[i] > times * orders[i] * ROUNDING_LOSS**2:
            raise PrecisionError(
                f"the Renyi divergence at order {float(orders[i])!r} and n = {n} is known only to "
                f"lie in [{float(low[i])!r}, {float(high[i])!r}]: relative width "
                f"{widths[i]:.1e} where rtol = {goal:g} was asked for; a larger rtol would help",
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
    assumptions are those of `epsilon`. Conversion: `epsilon_of_orders`; proof: docs/renyi.md,
    section 6.

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
        the true ε may be. For a randomizer ``upper`` is the one of its ``blankets()`` and
        ``lower`` the one of specific datasets.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
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
    require_mechanism(decomposition)
    n, delta, times = validation.users(n), validation.delta(delta), validation.rounds(rounds)
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)

    if isinstance(decomposition, Randomizer):
        simple = decomposition.simple_bound()
        upper = math.inf
        if simple is not None:
            upper = _converted_epsilon([simple], n, delta, times, goal).upper
        with enclosed_so_far(lambda: Enclosure(0.0, upper)):
            blankets = decomposition.blankets().values()
            upper = min(upper, _converted_epsilon(blankets, n, delta, times, goal).upper)
        with enclosed_so_far(lambda: Enclosure(0.0, upper)):
            datasets = _datasets_to_try(decomposition)
            lower = _converted_epsilon(datasets, n, delta, times, goal).lower
        return Enclosure(min(lower, upper), upper)
    eps = _converted_epsilon([decomposition], n, delta, times, goal)
    is_width_promised = rtol is not None or decomposition.is_finite()
    if is_width_promised and eps.relative_width > goal and eps.upper > 0.0:
        raise PrecisionError(
            f"epsilon by Renyi divergences at delta = {delta!r} is known only to lie in "
            f"[{eps.lower!r}, {eps.upper!r}]: relative width {eps.relative_width:.1e} where "
            f"rtol = {goal:g} was asked for",
            eps,
        )
    return eps


def _simple_upper(
    subject: Decomposition | Randomizer, n: int, orders: FloatArray, goal: float
) -> FloatArray:
    """Return an upper bound of the divergence at orders (O,) that takes milliseconds.

    It is that of the stronger clone of a randomizer, or rests on the largest loss.
    """
    if isinstance(subject, Decomposition):
        end = _end_of_losses(outer for _, outer in subject.directions)
        return _bound_by_largest_loss(end, orders)
    simple = subject.simple_bound()
    if simple is None:
        return np.full(orders.shape, np.inf)
    return _RenyiPair(simple, n).bounds(orders, goal)[1]


def _converted_epsilon(
    decompositions: Iterable[Decomposition], n: int, delta: float, rounds: int, goal: float
) -> Enclosure:
    """Return the ε that the largest divergences of the decompositions give, at any order."""
    pairs = [_RenyiPair(decomposition, n) for decomposition in decompositions]

    def divergences(orders: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = _largest_bounds(pairs, orders, 0.4 * goal)
        return rounds * low * (1.0 - 2.0 * U), rounds * high * (1.0 + 2.0 * U)

    # The divergence of order ∞ needs no conversion.
    losses = [pair.largest_loss() for pair in pairs]
    low, high = (rounds * max(ends) for ends in zip(*losses, strict=True))

    def no_larger_than_losses(by_orders: Enclosure) -> Enclosure:
        upper = min(by_orders.upper, high * (1.0 + 2.0 * U))
        return Enclosure(min(by_orders.lower, low * (1.0 - 2.0 * U), upper), upper)

    try:
        return no_larger_than_losses(least_epsilon(divergences, delta, 0.5 * goal))
    except WorkError as error:
        raise WorkError(str(error), no_larger_than_losses(error.enclosure)) from None


def _mechanism_bounds(
    randomizer: Randomizer, n: int, orders: FloatArray, goal: float
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """Return bounds of the mechanism's divergence at orders (O,), and a relative width.

    The lower bound is the largest of specific datasets, and the upper one that of the blankets or
    of all datasets. The width is the larger one to which blankets and datasets were computed.
    """
    blankets = [_RenyiPair(blanket, n) for blanket in randomizer.blankets().values()]
    by_blankets = Enclosures(*_largest_bounds(blankets, orders, goal))
    datasets = [_RenyiPair(dataset, n) for dataset in _datasets_to_try(randomizer)]
    if len(datasets) > MAX_ALL_PRECISE:
        low, _ = datasets[0].bounds(orders, COARSE_RTOL)
        if (low >= (1.0 - SUFFICIENT_GAP_IN_GOALS * goal) * by_blankets.upper).all():
            datasets = datasets[:1]
    by_datasets = Enclosures(*_largest_bounds(datasets, orders, goal))
    width = np.maximum(by_datasets.relative_width, by_blankets.relative_width)
    upper = by_blankets.upper
    if (upper > by_datasets.upper * (1.0 + goal)).any():
        crowds = randomizer.crowds()
        if len(crowds) > MAX_CROWDS:
            crowds = randomizer.few_crowds()
        upper = np.minimum(upper, _all_datasets_bound(crowds, n, orders))
    return (np.minimum(by_datasets.lower, upper), upper), width


def _all_datasets_bound(crowds: Sequence[Crowd], n: int, orders: FloatArray) -> FloatArray:
    """Return upper bounds of the divergence of any two datasets, (O,); inf without a bound.

    They rest on chords of bounds of the largest curve of all datasets; docs/renyi.md, section 1.
    """
    curve = _all_datasets_curve(both_directions(crowds), n)
    if curve is None:
        return np.full(orders.shape, np.inf)
    parts = [upper_integrals(orders[:, None], *curve, ahead=x) for x in (True, False)]
    log_moment = log_total(np.concatenate(parts, axis=1), 1.0)
    return log1p_exp(log_moment) / (orders - 1.0) * (1.0 + 32.0 * U) + UNDERFLOW_ERR


def _all_datasets_curve(crowds: Sequence[Crowd], n: int) -> tuple[FloatArray, FloatArray] | None:
    """Return points of ε and upper bounds of log D of any two datasets; None if trivial."""
    end = max((sum(largest_loss(crowd.blanket())) for crowd in crowds), default=math.inf)
    if not ROUNDING_LOSS < end < math.inf:
        return None
    end *= 1.0 + 8.0 * U
    divergence_at_zero = _largest_supremum(crowds, n, 0.0)
    if divergence_at_zero >= 1.0:
        return None
    size = min(max(math.sqrt(2.0 * math.pi) * divergence_at_zero, 1e-9 * end), 0.5 * end)
    eps = np.append(np.arange(0.0, min(BULK_LOSSES * size, 0.99 * end), BULK_STEP * size), end)
    count = max(2, math.ceil(math.log(end / eps[-2]) / math.log(TAIL_RATIO)))
    eps = np.append(eps[:-2], np.geomspace(eps[-2], end, count))
    high = np.array([_largest_supremum(crowds, n, x) for x in eps[:-1].tolist()])
    with np.errstate(divide="ignore"):
        logs = np.append(np.minimum.accumulate(np.log(high)), -np.inf)
    return eps, logs


def _largest_supremum(crowds: Sequence[Crowd], n: int, eps: float) -> float:
    """Return the largest supremum of D at ε."""
    return max(supremum(crowd, eps, n) for crowd in crowds)


def _datasets_to_try(randomizer: Randomizer) -> list[Decomposition]:
    """Return the randomizer's datasets; of many, the first ones and those of the largest losses."""
    datasets = list(randomizer.known_datasets().values())
    count = DATASETS_OF_EITHER_KIND
    if len(datasets) <= 2 * count:
        return datasets
    losses = [max(largest_loss(inner)[0] for inner, _ in pair.directions) for pair in datasets]
    ranked = sorted(range(count, len(datasets)), key=lambda i: -losses[i])
    return datasets[:count] + [datasets[i] for i in ranked[:count]]


def renyi_bounds(
    decomposition: Decomposition, n: int, orders: FloatArray, goal: float
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper ends at all orders, (O,) each; `goal` is the width to aim at."""
    return _RenyiPair(decomposition, n).bounds(orders, goal)


@dataclass(eq=False)
class _RenyiPair:
    """A decomposition and n users.

    ``curves`` keeps the curves that were enclosed for later orders: by 0 or 1 for inner or outer
    ends, and by the goal.
    """

    decomposition: Decomposition
    n: int
    curves: dict[tuple[int, float], MomentCurves] = field(default_factory=dict)

    def bounds(self, orders: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """See `renyi_bounds`."""
        is_finite = self.decomposition.is_finite()
        goal *= 1.0 if is_finite or goal == COARSE_RTOL else CELLS_SHARE
        outer = self._larger_direction(1, orders, goal)
        inner = outer if is_finite else self._larger_direction(0, orders, goal)
        return np.minimum(inner[0], outer[1]), outer[1]

    def largest_loss(self) -> tuple[float, float]:
        """Return bounds of the divergence of order ∞, the largest loss of both orders."""
        ends = []
        for end, sign in ((0, -1.0), (1, 1.0)):
            losses = (largest_loss(pair[end]) for pair in self.decomposition.directions)
            ends.append(max(loss + sign * slack for loss, slack in losses))
        return max(0.0, min(ends)), max(0.0, ends[1])

    def _larger_direction(
        self, end: int, orders: FloatArray, goal: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the larger divergence of both orders, of inner (0) or outer ends (1)."""
        directions = [pair[end] for pair in self.decomposition.directions]
        if any(infinite(direction) for direction in directions):
            return np.full(orders.shape, np.inf), np.full(orders.shape, np.inf)
        end_of_losses = _end_of_losses(directions)
        simple_bound = _bound_by_largest_loss(end_of_losses, orders)
        if end_of_losses <= ROUNDING_LOSS:
            return np.zeros(orders.shape), simple_bound
        moments = _enumerated_moments(directions, self.n, orders)
        if moments is None:
            if (end, goal) not in self.curves:
                self.curves[end, goal] = MomentCurves(directions, self.n, end_of_losses, goal)
            moments = self.curves[end, goal].log_moments(orders)
        low, high = moments
        low, high = (log1p_exp(x) / (orders - 1.0) for x in (low, high))
        high = np.minimum(high * (1.0 + 32.0 * U) + UNDERFLOW_ERR, simple_bound)
        return np.clip(low * (1.0 - 32.0 * U) - UNDERFLOW_ERR, 0.0, high), high


def _end_of_losses(directions: Iterable[Decomposition]) -> float:
    """Return an upper bound of all losses; inf if there is none."""
    return max(map(sum, map(largest_loss, directions))) * (1.0 + 8.0 * U)


def _bound_by_largest_loss(end_of_losses: float, orders: FloatArray) -> FloatArray:
    """Return upper bounds of the divergence at orders, (O,), if no loss is above the first one."""
    square = end_of_losses * end_of_losses * (1.0 + 8.0 * U)
    return np.minimum(end_of_losses, 0.5 * orders * square)


def _largest_bounds(
    pairs: Sequence[_RenyiPair], orders: FloatArray, goal: float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of the largest divergence of the pairs at orders (O,).

    Many pairs are computed coarsely first, and to the goal only if they may have the largest one.
    """
    are_many = len(pairs) > MAX_ALL_PRECISE
    bounds = [pair.bounds(orders, COARSE_RTOL if are_many else goal) for pair in pairs]
    low, high = (np.max(ends, axis=0) for ends in zip(*bounds, strict=True))
    if not are_many:
        return low, high
    precise_high = np.zeros(orders.shape)
    ranked = sorted(zip(pairs, bounds, strict=True), key=lambda x: -float(x[1][1][0]))
    for pair, ends in ranked:
        pair_low, pair_high = pair.bounds(orders, goal) if (ends[1] > low).any() else ends
        low, precise_high = np.maximum(low, pair_low), np.maximum(precise_high, pair_high)
    return low, np.minimum(high, precise_high)


def _enumerated_moments(
    directions: list[Decomposition], n: int, orders: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return bounds of log(E[(P/Q)^α] − 1), the larger one of all directions.

    The answer is None if a direction has too many outcomes.
    """
    moments = []
    for direction in directions:
        ends = few_moments(direction, n, orders)
        if ends is None:
            return None
        moments.append(ends)
    low, high = (np.max(ends, axis=0) for ends in zip(*moments, strict=True))
    return low, high
