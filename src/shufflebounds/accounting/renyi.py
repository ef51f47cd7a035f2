"""The Rényi divergence of shuffled reports, certified, at any real order.

E_Q[(P/Q)^α] − 1 is an integral of hockey-stick divergences of both orders. These are convex curves
in e^ε, so that a few hundred enclosures of them bracket it; few users are enumerated.
docs/renyi.md proves both ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import largest_loss
from shufflebounds.accounting.renyi_conversion import least_epsilon
from shufflebounds.accounting.simple_bounds import no_worse_than_simple_bound
from shufflebounds.accounting.single_shuffle import ArrayOf, checked, is_array_like
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import WorkError, is_spent, limited, require_work, spend
from shufflebounds.divergence.engine import log_divergence
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import (
    Knots,
    few_moments,
    finite,
    infinite,
    log_sum,
)
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers.base import Randomizer, require_mechanism

DEFAULT_RTOL = 2e-3

# Where the curve is looked at, and how closely, decides speed and width, never what holds (no
# benchmark asks for Rényi divergences so far).
#
# Passes of refinement, points in the end, and into how many pieces one pass may cut a cell.
_PASSES, _MOST_KNOTS, _MOST_PIECES = 24, 12_000, 8
# So few decompositions are all looked into at once, others first to this width; and so many
# datasets are tried of either kind.
_FEW, _COARSE, _TRIES = 4, 0.1, 16
# Passes until the first, rough points count for little.
_FIRST = 2
# Share of the width that bounds at the points may take, and by which a pass narrows it at most.
_SHARE, _STRIDE = 0.06, 0.02
# More than this of it says no more of a cell than that it is far too wide.
_MOST_EXCESS = 1e4
# The first of many datasets is enough if it comes so close to the blankets, in terms of the width.
_AS_CLOSE = 1.5
# Share of the width for each of two decompositions that lie apart.
_APART = 0.4
# Losses that rounding of the entries alone may explain.
_NOTHING = 1e-12
# What holds for all datasets is looked at up to so many typical losses, so many of them apart, and
# beyond in steps of this factor.
_BULK, _APART_BY, _FURTHER = 8.0, 0.25, 1.15
# Crowds beyond which one that stands for all of them is asked, if there is one.
_MOST_CROWDS = 4
# More than the error of what underflows, over α − 1.
_TINY = 1e-300


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


@no_worse_than_simple_bound()
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

    D_α(P‖Q) = log(E_Q[(P/Q)^α])/(α − 1). What is assumed is as for `epsilon`.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    n
        Number of users, 1 to 10¹⁵.
    order
        α, 1 < α ≤ 10⁶; or a 1-d array of such, at hardly more cost.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 2·10⁻³, and leaves out of
        account how far ``inner`` and ``outer`` lie apart. Costs grow like 1/√rtol. Of a randomizer,
        the width to which its decompositions are evaluated.
    rounds
        How many rounds, 1 to 10⁶: divergences add up.

    Returns
    -------
    Enclosure
        Of the divergence (natural log); `Enclosures` for an array of orders. The shuffled reports
        are (α, ``upper``)-RDP, also over rounds each of which depends on what was seen. ``lower``
        is that of the decomposition's own histograms, the same in all rounds. Of a randomizer
        ``upper`` is proven for all datasets, and two known datasets attain ``lower``. Both are inf
        where some output is possible under one input only.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`; it holds what was found of all orders. Of a randomizer
        the widths count to which its decompositions are known, not what lies between them.

    Notes
    -----
    Girgis et al. (CCS 2021) ask this question of clones. Proof: docs/renyi.md.

    Examples
    --------
    A single report of 2-RR at ε₀ = log 3 has D₂ = log(3/4·3 + 1/4·1/3) = log(7/3).

    >>> found = sb.renyi(sb.KRR(k=2, eps0=np.log(3.0)).blanket(), n=1, order=2.0)
    >>> f"{np.exp(found.upper):.1f}"
    '2.3'
    """
    require_mechanism(decomposition)
    n = validation.users(n)
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    times = validation.rounds(rounds)
    orders = np.array(checked("order", order, validation.order))
    if isinstance(decomposition, Randomizer):
        ends, known = _of_mechanism(decomposition, n, orders, goal)
        parts: Collection[Decomposition] = decomposition.blankets().values()
    else:
        ends, parts = bounds(decomposition, n, orders, goal), [decomposition]
        known = Enclosures(*ends).relative_width
    promised = rtol is not None or all(one.is_finite() for one in parts)
    low, high = (times * end for end in ends)
    if times > 1:
        low, high = low * (1.0 - 2.0 * U), high * (1.0 + 2.0 * U)
    found = Enclosures(low, high)
    for i in np.flatnonzero(known > goal) if promised else ():
        # Inputs that may well be one and the same have no relative width.
        if low[i] > 0.0 or high[i] > times * orders[i] * _NOTHING**2:
            raise PrecisionError(
                f"the Renyi divergence at order {float(orders[i])!r} and n = {n} is known only to "
                f"lie in [{float(low[i])!r}, {float(high[i])!r}]: relative width "
                f"{known[i]:.1e} where rtol = {goal:g} was asked for; a larger rtol would help",
                found if is_array_like(order) else found[0],
            )
    return found if is_array_like(order) else found[0]


@no_worse_than_simple_bound()
@limited
def renyi_epsilon(
    decomposition: Decomposition | Randomizer,
    n: int,
    delta: float,
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure:
    """Enclose the ε that Rényi accounting gives of exact divergences.

    Orders are 1.05 to 5000, and ∞, whose divergence is the largest loss, such as ε₀. What is
    assumed is as for `epsilon`. Conversion: `epsilon_of_orders`; proof: docs/renyi.md, section 6.

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
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 2·10⁻³, and leaves out of
        account how far ``inner`` and ``outer`` lie apart. Of a randomizer, the width to which its
        decompositions are evaluated.

    Returns
    -------
    Enclosure
        You can claim ``upper`` (natural log). ``lower`` bounds what this way of accounting can
        give; the truth may lie below. Of a randomizer ``upper`` is that of its ``blankets()``,
        ``lower`` that of known datasets, and what lies between them is not known.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where the width stays above `rtol`; never of a randomizer.

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

    def least(some: Iterable[Decomposition]) -> Enclosure:
        pairs = ordered_pairs(some, n)

        def divergences(orders: FloatArray) -> tuple[FloatArray, FloatArray]:
            low, high = largest_divergence(pairs, orders, 0.4 * goal)
            return times * low * (1.0 - 2.0 * U), times * high * (1.0 + 2.0 * U)

        by_orders = least_epsilon(divergences, delta, 0.5 * goal)
        # The divergence of order ∞ needs no conversion.
        losses = [pair.largest_loss() for pair in pairs]
        low, high = (times * max(ends) for ends in zip(*losses, strict=True))
        upper = min(by_orders.upper, high * (1.0 + 2.0 * U))
        return Enclosure(min(by_orders.lower, low * (1.0 - 2.0 * U), upper), upper)

    if isinstance(decomposition, Randomizer):
        upper = least(decomposition.blankets().values()).upper
        lower = least(telling_datasets(decomposition)).lower
        return Enclosure(min(lower, upper), upper)
    found = least([decomposition])
    promised = rtol is not None or decomposition.is_finite()
    if promised and found.relative_width > goal and found.upper > 0.0:
        raise PrecisionError(
            f"epsilon by Renyi divergences at delta = {delta!r} is known only to lie in "
            f"[{found.lower!r}, {found.upper!r}]: relative width {found.relative_width:.1e} where "
            f"rtol = {goal:g} was asked for",
            found,
        )
    return found


def _of_mechanism(
    randomizer: Randomizer, n: int, orders: FloatArray, goal: float
) -> tuple[tuple[FloatArray, FloatArray], FloatArray]:
    """The largest that known datasets attain, and the largest of the blankets, at orders (O,).

    And the larger relative width to which either is known.
    """
    above = Enclosures(
        *largest_divergence(ordered_pairs(randomizer.blankets().values(), n), orders, goal)
    )
    pairs = ordered_pairs(telling_datasets(randomizer), n)
    if len(pairs) > _FEW:
        rough, _ = pairs[0].bounds(orders, _COARSE)
        if (rough >= (1.0 - _AS_CLOSE * goal) * above.upper).all():
            del pairs[1:]
    below = Enclosures(*largest_divergence(pairs, orders, goal))
    known = np.maximum(below.relative_width, above.relative_width)
    upper = above.upper
    if (upper > below.upper * (1.0 + goal)).any():
        crowds = randomizer.crowds()
        if len(crowds) > _MOST_CROWDS:
            crowds = randomizer.few_crowds()
        upper = np.minimum(upper, _of_all_datasets(crowds, n, orders))
    return (np.minimum(below.lower, upper), upper), known


def _of_all_datasets(crowds: Sequence[Crowd], n: int, orders: FloatArray) -> FloatArray:
    """Upper bounds of the divergence of any two datasets, at orders (O,); inf of no crowds.

    From chords of bounds of the largest curve of all datasets; docs/renyi.md, section 1.
    """
    both = both_directions(crowds)
    end = max((sum(largest_loss(one.blanket())) for one in both), default=math.inf)
    if not _NOTHING < end < math.inf:
        return np.full(orders.shape, np.inf)
    end *= 1.0 + 8.0 * U
    found: list[FloatArray] = []
    with suppress(WorkError):
        worst = partial(_worst, both, n)
        first = worst(0.0)
        if first >= 1.0:  # nothing is proven
            return np.full(orders.shape, np.inf)
        size = min(max(math.sqrt(2.0 * math.pi) * first, 1e-9 * end), 0.5 * end)
        eps = np.append(np.arange(0.0, min(_BULK * size, 0.99 * end), _APART_BY * size), end)
        count = max(2, math.ceil(math.log(end / eps[-2]) / math.log(_FURTHER)))
        eps = np.append(eps[:-2], np.geomspace(eps[-2], end, count))
        high = np.array([worst(x) for x in eps[:-1].tolist()])
        with np.errstate(divide="ignore"):
            logs = np.append(np.minimum.accumulate(np.log(high)), -np.inf)
        curve = Knots(both[0].blanket(), n, 1.0, eps, np.full(eps.size, -np.inf), logs)
        parts = [curve.integrals(orders[:, None], curve, ahead=x)[1] for x in (True, False)]
        log_moment = log_sum(np.concatenate(parts, axis=1))
        slip = (2.0 * eps.size + 64.0) * U
        log_moment = log_moment + slip + 8.0 * U * finite(log_moment)
        found.append(_log1p_exp(log_moment) / (orders - 1.0) * (1.0 + 32.0 * U) + _TINY)
    return found[0] if found else np.full(orders.shape, np.inf)


def _worst(both: Sequence[Crowd], n: int, eps: float) -> float:
    found = max(supremum(crowd, eps, n) for crowd in both)
    require_work()
    return found


def telling_datasets(randomizer: Randomizer) -> list[Decomposition]:
    """Datasets that are known, of many those first in order and those of the largest losses."""
    found = list(randomizer.known_datasets().values())
    if len(found) <= 2 * _TRIES:
        return found
    losses = [max(largest_loss(inner)[0] for inner, _ in one.directions) for one in found]
    rest = sorted(range(_TRIES, len(found)), key=lambda i: -losses[i])[:_TRIES]
    return found[:_TRIES] + [found[i] for i in rest]


def bounds(
    decomposition: Decomposition, n: int, orders: FloatArray, goal: float
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends at all orders (O,), aimed at a relative width of `goal`."""
    return _Pair(decomposition, n).bounds(orders, goal)


@dataclass(eq=False)
class _Pair:
    """A decomposition and n users; curves that were enclosed serve further orders, by end and goal.

    Not narrow ones of few components: too many of their points matter to the orders before only.
    """

    decomposition: Decomposition
    n: int
    kept: dict[tuple[int, float], _Curves] = field(default_factory=dict)

    def bounds(self, orders: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """See `bounds`."""
        is_finite = self.decomposition.is_finite()
        goal *= 1.0 if is_finite or goal == _COARSE else _APART
        above = self._larger(1, orders, goal)
        below = above if is_finite else self._larger(0, orders, goal)
        return np.minimum(below[0], above[1]), above[1]

    def largest_loss(self) -> tuple[float, float]:
        """Bounds of the divergence of order ∞, the largest loss of both orders."""
        ends = []
        for end, sign in ((0, -1.0), (1, 1.0)):
            losses = (largest_loss(pair[end]) for pair in self.decomposition.directions)
            ends.append(max(loss + sign * slack for loss, slack in losses))
        return max(0.0, min(ends)), max(0.0, ends[1])

    def _larger(self, end: int, orders: FloatArray, goal: float) -> tuple[FloatArray, FloatArray]:
        """Bounds of the larger divergence of both orders, of inner (0) or outer ends (1)."""
        directions = [pair[end] for pair in self.decomposition.directions]
        if any(infinite(one) for one in directions):
            return np.full(orders.shape, np.inf), np.full(orders.shape, np.inf)
        loss, slack = (max(x) for x in zip(*map(largest_loss, directions), strict=True))
        last = (loss + slack) * (1.0 + 8.0 * U)
        most = np.minimum(last, 0.5 * orders * last * last * (1.0 + 8.0 * U))
        if last <= _NOTHING:
            return np.zeros(orders.shape), most
        try:
            moments = _summed(directions, self.n, orders)
            if len(moments) < len(directions):
                curves = self.kept.get((end, goal))
                curves = curves or _Curves.of(directions, self.n, last, _SHARE * goal)
                moments = curves.enclosed(orders, goal)
                if goal == _COARSE or not self.decomposition.is_finite():
                    self.kept[end, goal] = curves
        except WorkError:
            return np.zeros(orders.shape), most
        low, high = (np.max([pair[i] for pair in moments], axis=0) for i in (0, 1))
        low, high = (_log1p_exp(x) / (orders - 1.0) for x in (low, high))
        high = np.minimum(high * (1.0 + 32.0 * U) + _TINY, most)
        return np.clip(low * (1.0 - 32.0 * U) - _TINY, 0.0, high), high


def ordered_pairs(some: Iterable[Decomposition], n: int) -> list[_Pair]:
    return [_Pair(one, n) for one in some]


def largest_divergence(
    some: Sequence[_Pair], orders: FloatArray, goal: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the largest of their divergences; of many only what may be that is looked into."""
    rough = [one.bounds(orders, _COARSE if len(some) > _FEW else goal) for one in some]
    low, high = (np.max(ends, axis=0) for ends in zip(*rough, strict=True))
    if len(some) <= _FEW:
        return low, high
    settled = np.zeros(orders.shape)
    for one, ends in sorted(zip(some, rough, strict=True), key=lambda pair: -float(pair[1][1][0])):
        closer = one.bounds(orders, goal) if (ends[1] > low).any() else ends
        low, settled = np.maximum(low, closer[0]), np.maximum(settled, closer[1])
    return low, np.minimum(high, settled)


def _summed(
    directions: list[Decomposition], n: int, orders: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Bounds of log(E[(P/Q)^α] − 1) from sums over outcomes; fewer where there are too many."""
    found = []
    for one in directions:
        pair = few_moments(one, n, orders)
        if pair is None:
            break
        found.append(pair)
    return found


@dataclass(eq=False)
class _Curves:
    """D of each order of a pair, as knots: one where both are the same."""

    knots: list[Knots]

    @staticmethod
    def of(directions: list[Decomposition], n: int, end: float, rtol: float) -> _Curves:
        """At points that are dense about 0, up to `end`, where D is 0 in both orders."""
        spread = 0.0
        for one in directions:
            spread = max(spread, math.exp(log_divergence(one, 0.0, n, 1e-3)[1]))
        size = min(max(math.sqrt(2.0 * math.pi) * spread, 1e-9 * end), 0.5 * end)
        near = size * np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.3, 1.6, 2.0, 2.4, 2.8])
        far = np.arange(3.2 * size, min(12.0 * size, end), 0.5 * size)
        further = np.geomspace(size, end, 2 + math.ceil(math.log(end / size) / math.log(1.25)))
        eps = np.concatenate([near, far, further[further > 12.0 * size]])
        eps = np.append(np.unique(eps[eps < 0.999 * end]), end)
        aim = min(max(rtol, 1e-10), 1e-3)
        return _Curves([Knots.at(one, n, aim, eps) for one in directions])

    def enclosed(self, orders: FloatArray, goal: float) -> list[tuple[FloatArray, FloatArray]]:
        """Bounds of log(E[(P/Q)^α] − 1) in each order of the pair, refined until narrow enough."""
        blurred = math.inf
        for number in range(_PASSES):
            points = sum(one.eps.size for one in self.knots)
            cells = self._cells(orders[:, None])
            sums = [tuple(log_sum(end) for end in ends) for ends in cells]
            total, taken, noise = self._excess(cells, sums, goal)
            if total <= 1.0 or points > _MOST_KNOTS:
                break
            # Where the bounds at the points are too wide already, more points are of no use.
            if number >= _FIRST and noise > max(1.0, 0.8 * total, 0.8 * blurred):
                break
            blurred = noise if number >= _FIRST else math.inf
            ends = np.cumsum([one.eps.size - 1 for one in self.knots])[:-1]
            pieces = np.split(_pieces(taken), ends)
            before = self.knots
            if is_spent():
                break
            spend(1e6 + 1e3 * points * orders.size)
            self.knots = [one.split(part) for one, part in zip(before, pieces, strict=True)]
            if all(one is other for one, other in zip(before, self.knots, strict=True)):
                break
        slip = (2.0 * sum(one.eps.size for one in self.knots) + 64.0) * U
        return [
            (low - slip - 8.0 * U * finite(low), high + slip + 8.0 * U * finite(high))
            for low, high in sums
        ]

    def _cells(self, order: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Bounds of the logs of what each cell adds, cells of both curves in one row, (O, K)."""
        ahead, behind = self.knots[0], self.knots[-1]
        found = []
        for one, other in ((ahead, behind), (behind, ahead))[: len(self.knots)]:
            parts = (
                one.integrals(order, other, ahead=True),
                other.integrals(order, one, ahead=False),
            )
            low, high = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
            found.append((low, high))
        return found

    def _excess(
        self,
        cells: list[tuple[FloatArray, FloatArray]],
        sums: list[tuple[FloatArray, ...]],
        goal: float,
    ) -> tuple[float, FloatArray, float]:
        """The width in units of what is allowed, how much of it each cell takes, and how much is
        due to the bounds at the points, however close these are.
        """
        # The upper end may still be far off.
        log_e = _log1p_exp(np.max([low for low, _ in sums], axis=0))
        with np.errstate(divide="ignore"):
            allowed = log_e + np.log(-np.expm1(-np.minimum(0.98 * goal * log_e, 0.7)))
        taken = np.zeros(cells[0][0].shape[1])
        total = noise = 0.0
        blurs = [one.blur() for one in (self.knots[0], self.knots[-1])]
        for number, (low, high) in enumerate(cells):
            with np.errstate(invalid="ignore", over="ignore", under="ignore"):
                size = np.nan_to_num(np.exp(high - allowed[:, None]), nan=0.0)
                width = size * -np.expm1(low - high)
                blur = np.concatenate(blurs[:: -1 if number else 1])
                noise = max(noise, float((size * blur).sum(axis=1).max()))
            width = np.minimum(np.nan_to_num(width, nan=0.0), _MOST_EXCESS)
            total = max(total, float(width.sum(axis=1).max()))
            # The second row has the cells of the other curve first.
            turn = self.knots[1].eps.size - 1 if number else 0
            taken = np.maximum(taken, np.roll(width.max(axis=0), -turn))
        if len(self.knots) == 1:
            return total, taken.reshape(2, -1).sum(axis=0), noise
        return total, taken, noise


def _pieces(excess: FloatArray) -> NDArray[np.int64]:
    """Into how many pieces each cell is cut; what a cell takes falls with their square."""
    aim = max(0.7, _STRIDE * float(excess.sum()))
    roots = np.cbrt(excess)
    count = np.ceil(roots * math.sqrt(float(roots.sum()) / aim))
    return np.clip(count, 1, _MOST_PIECES).astype(np.int64)


def _log1p_exp(x: FloatArray) -> FloatArray:
    """log(1 + e^x), to a relative 4u, where e^x may be large or small."""
    with np.errstate(over="ignore", under="ignore"):
        small = np.log1p(np.exp(np.minimum(x, 30.0)))
        return np.where(x > 30.0, x + np.log1p(np.exp(-np.abs(x))), small)
