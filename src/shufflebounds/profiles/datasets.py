"""The bound for all datasets of a mechanism as a profile, crowd by crowd.

Proof: docs/proofs/closing-the-gap.md.

`divergence.supremum` bounds D(ε) of every dataset of a crowd from above, in some milliseconds. The
search for a root assumes that suprema fall with ε; no answer rests on that.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import log
from shufflebounds.divergence.pairs_of_rows import MAX_ASKED_PAIRS, NEARLY_EQUAL, pairs_above
from shufflebounds.divergence.supremum import SharedAims, bound_of_rows, screen_of, supremum
from shufflebounds.profiles.axis_search import AxisSearch, Comparison, LossAxis
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import SUFFICIENT_GAP, Ends, Max, Min, Profile, Query

# Ratio of a supremum to δ above which its value does not matter.
MAX_SUPREMUM_RATIO = 1e3
# Smallest ε that is searched for, as a share of the largest that matters.
SMALLEST_SHARE = 1e-6
# Largest number of values of ε at which all pairs of rows are screened in search of a root. Two are
# enough where heads are not too few.
MAX_SCREENS = 4
# Share of all pairs of rows that are left by a screen beyond which no other one is tried.
MANY_PAIRS = 0.25
# Largest relative distance below which the bounds of two pairs of rows count as equal.
LARGEST_RTOL = 0.03
# Name of the bound where it decides an answer.
NAME = "all datasets"


@dataclass(frozen=True, eq=False)
class Supremum(Profile):
    """Upper bounds of D(ε) over all datasets of a crowd, in its own order; ``n`` has shape (P,).

    ``compute`` returns the bound at ε for n users, given a value above which it may be 1, and one
    below which any bound will do. ``known`` keeps what it returned.
    """

    crowd: Crowd
    n: FloatArray
    blanket: Direction
    compute: Callable[[float, int, float, float], float]
    known: dict[tuple[float, int, float], float] = field(default_factory=dict)
    name: str = NAME
    is_costly: bool = True

    @staticmethod
    def of(crowd: Crowd, n: FloatArray, *, share_aims: bool = False) -> Supremum:
        """Return the suprema of a crowd, with or without shared aims."""
        if crowd.rows is not None:
            return SupremumOfRows(
                crowd,
                n,
                Direction(crowd.blanket(), n, "blanket"),
                lambda eps, users, hopeless, enough: bound_of_rows(
                    crowd, eps, users, hopeless, enough
                ),
            )
        shared = SharedAims(crowd, int(n.min())) if share_aims and n.min() > 1 else None
        return Supremum(
            crowd,
            n,
            Direction(crowd.blanket(), n, "blanket"),
            lambda eps, users, hopeless, _: supremum(crowd, eps, users, hopeless, shared),
        )

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max(self.blanket.end, self.crowd.largest_loss)

    def at(self, rows: Any) -> Self:
        """See `Profile`."""
        return replace(self, n=self.n[rows], blanket=self.blanket.at(rows))

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`; the lower ends are 0."""
        # Below the target it does not matter how far, as below the floor.
        arrays = (query.at, self.n, query.target, np.fmax(query.floor, query.target))
        rows = zip(*(x.tolist() for x in arrays), strict=True)
        upper = np.array([self.bound(x, int(n), _hopeless(goal), low) for x, n, goal, low in rows])
        return Ends.of(np.zeros(upper.shape), upper, self.name)

    def bound(self, eps: float, n: int, hopeless: float, enough: float = 0.0) -> float:
        """Return an upper bound of D(ε) for n users, which is 1 if it is above `hopeless`.

        Any bound that is at most `enough` will do.
        """
        point = eps, n, hopeless
        if point in self.known:
            return self.known[point]
        bound = self.compute(*point, enough)
        if not bound <= enough:
            self.known[point] = bound
        return bound

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`; the lower ends are those of the floor, and an upper end may be inf."""
        arrays = (self.n, query.at, query.floor, query.ceiling)
        rows = zip(*(x.tolist() for x in arrays), strict=True)
        upper = np.array([self._root(int(n), *row) for n, *row in rows])
        return Ends.of(np.minimum(query.floor, upper), upper, self.name)

    def _root(self, n: int, delta: float, low: float, high: float) -> float:
        """Return the smallest ε found in [low, high) where the supremum is at most δ, else inf.

        `low` need not be a certain lower end.
        """
        if math.isinf(high):
            high = self.end
        if not low < high < math.inf:
            return math.inf
        low = max(low, SMALLEST_SHARE * high)
        search = AxisSearch(LossAxis(low, high, SUFFICIENT_GAP), (low, high))

        def compare(eps: float, _: float) -> Comparison:
            value = self.bound(eps, n, _hopeless(delta), delta)
            # A NaN counts as above δ.
            return Comparison(1 if value <= delta else -1, log(log(value) / math.log(delta)), 0.0)

        # The bound is mostly that close to the lower end, which two datasets attain.
        search.run(compare, search.axis.scale(low * (1.0 + 0.9 * SUFFICIENT_GAP)))
        end = search.safe_end
        return end if end is not None and end < high else math.inf

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.blanket.estimates(eps)

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.blanket.guesses(delta)


@dataclass(frozen=True, eq=False)
class SupremumOfRows(Supremum):
    """The largest supremum of all ordered pairs of rows of a matrix.

    As D falls with ε, a pair that is settled at some ε is settled at all larger ones. So the roots
    of few pairs are searched for, each from that of the one before.
    """

    def delta_ends(self, query: Query) -> Ends:
        """See `Supremum`; pairs within the width that is asked for count as equal."""
        enough = np.fmax(query.floor, query.target)
        arrays = (query.at, self.n, query.target, enough, query.rtol)
        upper = np.array(
            [
                bound_of_rows(
                    self.crowd,
                    eps,
                    int(n),
                    _hopeless(target),
                    settled,
                    min(max(rtol, NEARLY_EQUAL), LARGEST_RTOL),
                )
                for eps, n, target, settled, rtol in zip(*(x.tolist() for x in arrays), strict=True)
            ]
        )
        return Ends.of(np.zeros(upper.shape), upper, self.name)

    def _root(self, n: int, delta: float, low: float, high: float) -> float:
        """See `Supremum`."""
        if math.isinf(high):
            high = self.end
        if not (n > 1 and low < high < math.inf):
            return super()._root(n, delta, low, high)
        eps = max(low * (1.0 + 0.9 * SUFFICIENT_GAP), SMALLEST_SHARE * high)
        # Values too far apart for floats raise errors.
        with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ZeroDivisionError):
            return self._root_from(eps, n, delta, high)
        return math.inf

    def _root_from(self, eps: float, n: int, delta: float, high: float) -> float:
        """Return the smallest ε found, from `eps` on, where all bounds are at most δ, else inf."""
        growth = SUFFICIENT_GAP
        for _ in range(MAX_SCREENS):
            screen, start = screen_of(self.crowd, eps, n), eps
            uppers = screen.simple_bounds()
            screen.spread(uppers, delta)
            if (uppers > delta).sum() > max(MANY_PAIRS * uppers.size, MAX_ASKED_PAIRS):
                # Heads are too few.
                return math.inf
            screen.refine(uppers, delta)
            pairs = pairs_above(uppers, delta)
            for pair in pairs[:MAX_ASKED_PAIRS]:
                eps = self._root_of_pair(pair, n, delta, eps, high)
            if len(pairs) <= MAX_ASKED_PAIRS or not eps < high:
                return eps if eps < high else math.inf
            # Fewer pairs are open at the roots of these, mostly. Else ε grows faster.
            growth = growth if eps > start else 4.0 * growth
            eps = max(eps, start * (1.0 + growth))
        return math.inf

    def _root_of_pair(
        self, pair: tuple[int, int], n: int, delta: float, low: float, high: float
    ) -> float:
        """Return the smallest ε found, from `low` on, where the bound of a pair is at most δ."""
        crowd, count = self.crowd.of_pair(*pair), np.array([float(n)])
        if not low < high or supremum(crowd, low, n, _hopeless(delta)) <= delta:
            return low
        parts = Direction(crowd.blanket().merge(), count, "blanket"), Supremum.of(crowd, count)
        root = Min(parts).roots(np.array([delta]), SUFFICIENT_GAP, low, high)
        return max(low, float(root.upper[0]))


def _hopeless(target: float) -> float:
    """Return the value above which a supremum need not be known, given what it is compared with."""
    return 1.0 if math.isnan(target) else min(MAX_SUPREMUM_RATIO * target, 1.0)


def all_datasets(crowds: Sequence[Crowd], n: FloatArray, *, share_aims: bool = False) -> Profile:
    """Return the largest bound of several crowds, in both orders.

    With `share_aims`, which suits nearly equal n, answers at one ε cost little for all n but one.
    """
    return largest_supremum(
        [Supremum.of(x, n, share_aims=share_aims) for x in both_directions(crowds)]
    )


def largest_supremum(suprema: Sequence[Supremum]) -> Profile:
    """Return the largest of bounds, one for each order of each crowd.

    If there are several, most of them are settled by their own blankets. The blanket of a crowd of
    extremes does not cover all of its pairs.
    """
    if len(suprema) == 1:
        return suprema[0]
    parts: list[Profile] = [
        Min([part.blanket, part]) if part.crowd.is_of_one_pair else part for part in suprema
    ]
    return Max(parts)
