"""The privacy profile: δ(ε) as a certified falling curve, and the largest or smallest of several.

Everything that is known of a mechanism is a profile: one order of a pair of datasets, the blanket,
the bound for all datasets, the clone, several rounds. A *profile* here is P such curves at once,
one for each number of users; P is mostly 1. Each falls, and is convex in e^ε.

A `Query` asks for δ at ε, or for the smallest ε with δ(ε) ≤ δ, the root at δ. The root of the
largest of several curves is the largest of their roots, and that of the smallest is the smallest: a
part is only asked if it may decide.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.enclosure import Enclosure, Enclosures, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import RESERVE, budget

# Relative width to which δ of a part is enclosed first: this mostly shows that the part does not
# decide.
COARSE_RTOL = 0.05
# Relative gap between an upper bound and a lower one below which no costly upper bound is tried: it
# would hardly be smaller.
SUFFICIENT_GAP = 3e-4
# The same gap as a share of the requested relative width. It takes up the widths of both bounds
# where they agree, as the blanket of k-ary randomized response and its worst dataset do.
GAP_SHARE = 0.2
# Share by which one bound must be smaller than another to be named as the one that decides.
NAMED_GAIN = 1e-4


@dataclass(frozen=True, eq=False)
class Ends:
    """Certified ends of P numbers, shape (P,), and the names of the profiles that decided them.

    ``is_short`` marks ends of several rounds that more work would bring closer together.
    """

    lower: FloatArray
    upper: FloatArray
    names: NDArray[np.object_]
    is_short: NDArray[np.bool_]

    @staticmethod
    def of(lower: FloatArray, upper: FloatArray, name: str) -> Ends:
        """Return ends that one profile decided."""
        names = np.full(upper.shape, name, dtype=object)
        return Ends(lower, upper, names, np.zeros(upper.shape, dtype=bool))

    def where(self, rows: NDArray[np.bool_], other: Ends) -> Ends:
        """Return a copy whose marked rows come from `other`, which has only these rows."""
        ends = [x.copy() for x in vars(self).values()]
        for mine, theirs in zip(ends, vars(other).values(), strict=True):
            mine[rows] = theirs
        return Ends(*ends)

    def at(self, rows: Any) -> Ends:
        """Return the ends of some rows."""
        return Ends(*(x[rows] for x in vars(self).values()))

    def largest(self, other: Ends) -> Ends:
        """Return the larger of each two numbers; the name is that of the larger lower end."""
        names = np.where(other.lower > self.lower, other.names, self.names)
        lower, upper = np.maximum(self.lower, other.lower), np.maximum(self.upper, other.upper)
        return Ends(lower, upper, names, self.is_short | other.is_short)

    def smallest(self, other: Ends) -> Ends:
        """Return the smaller of each two numbers; `other` is named if it is clearly smaller."""
        is_smaller = other.upper < self.upper * (1.0 - NAMED_GAIN)
        names = np.where(is_smaller, other.names, self.names)
        lower, upper = np.minimum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        return Ends(lower, upper, names, self.is_short & other.is_short)

    def enclosures(self) -> Enclosures:
        """Return the ends as enclosures."""
        return Enclosures(np.minimum(self.lower, self.upper), self.upper)


class Quantity(StrEnum):
    """What is asked of a profile."""

    EPSILON = "epsilon"
    DELTA = "delta"


@dataclass(frozen=True, eq=False)
class Query:
    """What P curves are asked at a point of each: δ at an ε ≥ 0, or the smallest ε at a δ > 0.

    Answers aim at a relative width of ``rtol``, and hold whatever width they reach. They may be
    wide where they are hardly above ``floor``, a lower bound of the answer; those that are not
    below ``ceiling`` may have the ends ``ceiling`` and inf. So may a δ be where it is certain on
    which side of ``target`` it is: a costly bound above that may be left out. All shapes are (P,).
    """

    quantity: Quantity
    at: FloatArray
    rtol: FloatArray
    floor: FloatArray
    ceiling: FloatArray
    target: FloatArray

    @staticmethod
    def of(
        quantity: Quantity,
        at: FloatArray,
        rtol: float | FloatArray,
        floor: float | FloatArray = 0.0,
        ceiling: float | FloatArray = math.inf,
        target: float | FloatArray = math.nan,
    ) -> Query:
        """Return a query; numbers count for all curves."""
        others = (np.broadcast_to(x, at.shape) for x in (rtol, floor, ceiling, target))
        return Query(quantity, at, *others)

    def rows(self, rows: Any) -> Query:
        """Return the query of some curves."""
        arrays = (self.at, self.rtol, self.floor, self.ceiling, self.target)
        return Query(self.quantity, *(x[rows] for x in arrays))


class Profile(ABC):
    """P curves δ(ε), ε ≥ 0, each of which falls and is convex in e^ε.

    It answers by `ends`, or by both `delta_ends` and `root_ends`. ``name`` says what it is where it
    decides an answer. ``end`` is an ε beyond which every curve is 0, inf if no such ε is known;
    rounding cannot tell it from one that is ``end_err`` smaller. ``is_costly`` says that each δ
    takes many milliseconds. Then it is only asked where other bounds leave a relative gap above
    ``least_gap``. ``is_last_resort`` says that it is hardly smaller than other bounds where they
    claim anything.
    """

    name: str
    end: float
    end_err: float = 0.0
    is_costly: bool = False
    least_gap: float = SUFFICIENT_GAP
    is_last_resort: ClassVar[bool] = False

    @property
    def limit(self) -> float:
        """A lower bound of δ at every ε, from reports that only one input can produce."""
        return 0.0

    def kinks(self) -> FloatArray:
        """Return numbers with those ε at which the first curve has kinks, if they are few."""
        return np.zeros(0)

    @property
    def has_rough_estimates(self) -> bool:
        """Whether `estimates` may be off by orders of magnitude where δ can be enclosed quickly."""
        return False

    @abstractmethod
    def at(self, rows: Any) -> Self:
        """Return the curves of some rows, given by indices (which may repeat) or a mask."""

    def prepared(self, smallest: float, rtol: float, side: float) -> Profile:
        """Return the profile for many questions about one curve, with δ from `smallest` on.

        Over several rounds, the answers then come from losses that are computed once, and have a
        relative width of about `rtol` in ε. Only one of their ends is a bound of the curve: the
        lower one if the `side` is −1, the upper one if it is 1.
        """
        return self

    def deltas(
        self,
        eps: FloatArray,
        rtol: float | FloatArray,
        target: float | FloatArray = math.nan,
        floor: float | FloatArray = 0.0,
    ) -> Ends:
        """Return ends of δ of each curve at an ε ≥ 0 of its own, (P,); see `Query`."""
        return self.ends(Query.of(Quantity.DELTA, eps, rtol, floor, 1.0, target))

    def roots(
        self,
        delta: FloatArray,
        rtol: float,
        floor: float | FloatArray = 0.0,
        ceiling: float | FloatArray = math.inf,
    ) -> Ends:
        """Return ends of the smallest ε at which each curve is at most its δ > 0, (P,)."""
        return self.ends(Query.of(Quantity.EPSILON, delta, rtol, floor, ceiling))

    def ends(self, query: Query) -> Ends:
        """Return ends of what is asked; those of an ε are inf if no finite one suffices."""
        is_delta = query.quantity is Quantity.DELTA
        return self.delta_ends(query) if is_delta else self.root_ends(query)

    def delta_ends(self, query: Query) -> Ends:
        """Return ends of δ, as `ends` does."""
        raise NotImplementedError

    def root_ends(self, query: Query) -> Ends:
        """Return ends of ε, as `ends` does."""
        raise NotImplementedError

    @abstractmethod
    def estimates(self, eps: FloatArray) -> FloatArray:
        """Return estimates of log δ at an ε of each curve, (P,). They are not bounds."""

    @abstractmethod
    def guesses(self, delta: FloatArray) -> FloatArray:
        """Return estimates of the roots at δ, (P,). They are not bounds."""


@dataclass(frozen=True, eq=False)
class Several(Profile):
    """What the largest and the smallest of several profiles have in common."""

    parts: Sequence[Profile]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts must be one or more profiles, got none")

    @property
    def is_costly(self) -> bool:  # type: ignore[override]
        """See `Profile`."""
        return any(part.is_costly for part in self.parts)

    @property
    def end_err(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max(part.end_err for part in self.parts)

    def at(self, rows: Any) -> Self:
        """See `Profile`."""
        return replace(self, parts=[part.at(rows) for part in self.parts])

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`; the first part stands for all."""
        return self.parts[0].guesses(delta)


@dataclass(frozen=True, eq=False)
class Max(Several):
    """The largest of several profiles.

    An upper bound needs all of its parts. A lower bound does not: if ``is_selective``, parts that
    seem to be smaller than others are left out.
    """

    is_selective: bool = False

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max(part.end for part in self.parts)

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return max(part.limit for part in self.parts)

    @property
    def has_rough_estimates(self) -> bool:
        """See `Profile`."""
        return any(part.has_rough_estimates for part in self.parts)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.asarray(np.max([part.estimates(eps) for part in self.parts], axis=0))

    def ends(self, query: Query) -> Ends:
        """See `Profile`."""
        return self.parts[0].ends(query) if len(self.parts) == 1 else super().ends(query)

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`; parts whose δ is far from the largest are known less closely."""
        rough_query = replace(query, rtol=np.maximum(query.rtol, COARSE_RTOL))
        first, *others = self._ranked(query.at)
        best = first.ends(query)
        for part in others:
            with np.errstate(over="ignore"):
                if self.is_selective and (np.exp(part.estimates(query.at)) <= best.lower).all():
                    continue
            ends = part.ends(rough_query)
            is_open = ends.upper > np.maximum(best.lower, query.floor)
            is_open &= ends.upper - ends.lower > query.rtol * ends.upper
            if is_open.any():
                ends = ends.where(is_open, part.at(is_open).ends(query.rows(is_open)))
            best = best.largest(ends)
        return best

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`; one δ of another part mostly shows that its root is no larger."""
        delta = query.at
        first, *others = self._ranked(self.guesses(delta))
        best = first.ends(query)
        for part in others:
            is_open = best.upper < query.ceiling
            if self.is_selective and is_open.any():
                is_open &= part.estimates(np.minimum(best.lower, part.end)) > np.log(delta)
            if is_open.any():
                rows, open_delta = part.at(is_open), delta[is_open]
                ends = rows.deltas(best.upper[is_open], COARSE_RTOL, open_delta)
                is_open[is_open] = ends.upper > open_delta
            if is_open.any():
                ends = part.at(is_open).ends(query.rows(is_open))
                best = best.where(is_open, best.at(is_open).largest(ends))
        return best

    def _ranked(self, eps: FloatArray) -> list[Profile]:
        """Return the parts by falling estimates of δ at ε."""
        logs = [float(np.mean(np.maximum(part.estimates(eps), -1e4))) for part in self.parts]
        return [self.parts[i] for i in np.argsort([-x for x in logs], kind="stable")]


@dataclass(frozen=True, eq=False)
class Min(Several):
    """The smallest of several profiles, as of several upper bounds.

    The parts are asked in their order. Costly ones, and those that follow them, are only asked if
    the others are not close to the lower bound, and a last resort if no other claims anything.
    """

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return min(part.end for part in self.parts)

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return min(part.limit for part in self.parts)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.asarray(np.min([part.estimates(eps) for part in self.parts], axis=0))

    def ends(self, query: Query) -> Ends:
        """See `Profile`: the smallest answer, at most the ceiling; any below the target will do.

        No more parts are asked where the answer is within a share of the width of the floor. If the
        work budget is spent, the cheap parts that follow are still asked, and the error holds the
        best ends.
        """
        floor, failure, gap = query.floor, "", GAP_SHARE * query.rtol
        best = Ends.of(query.ceiling, query.ceiling, self.name)
        for part in self.parts:
            gap = np.maximum(part.least_gap, GAP_SHARE * query.rtol) if part.is_costly else gap
            rows = best.upper > floor * (1.0 + gap)
            rows &= ~(best.upper <= query.target)
            if part.is_last_resort:
                rows &= best.upper >= query.ceiling
            if not rows.any() or (failure and part.is_costly):
                continue
            try:
                with budget(RESERVE) if failure else nullcontext():
                    ends = part.at(rows).ends(replace(query, ceiling=best.upper).rows(rows))
            except WorkError as error:
                failure = failure or str(error)
            else:
                best = best.where(rows, best.at(rows).smallest(ends))
        if failure:
            raise WorkError(failure, one_or_many(np.minimum(floor, best.upper), best.upper))
        return best


@dataclass(frozen=True, eq=False)
class OnDemand(Profile):
    """A profile that is made when it is first asked for δ, a root or a guess.

    It is a last resort whose making costs much. Others can ask for its end, limit and estimates
    without making it: it claims no end and no limit, and its estimates are above all others.
    """

    make: Callable[[], Profile]
    name: str
    end: float = math.inf
    is_last_resort: ClassVar[bool] = True

    @cached_property
    def profile(self) -> Profile:
        """The profile."""
        return self.make()

    def at(self, rows: Any) -> OnDemand:
        """See `Profile`."""
        return OnDemand(lambda: self.profile.at(rows), self.name)

    def ends(self, query: Query) -> Ends:
        """See `Profile`."""
        return self.profile.ends(query)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.full(eps.shape, math.inf)

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.profile.guesses(delta)


def one_or_many(lower: FloatArray, upper: FloatArray) -> Enclosure | Enclosures:
    """Return the only enclosure, or several."""
    enclosures = Enclosures(lower, upper)
    return enclosures if len(enclosures) > 1 else enclosures[0]


@dataclass(frozen=True, eq=False)
class Interval:
    """Two profiles between which the truth lies.

    Two datasets attain ``lower``, unless it is not ``is_attained``: then no dataset is known, and
    it only says how close ``upper`` has to be known. ``upper`` holds for all datasets. Both are the
    same object if the truth itself is known, as for a finite decomposition. If it
    ``is_of_one_curve``, both approximate one curve, as for a decomposition in cells; else theory
    may keep them apart. If ``is_ordered``, both consist of one direction for each order of the two
    datasets, and the order is the same in every round. Every dataset is bounded by both profiles of
    one of the ``orders``, if there are any: by the first in its own order, by the second in the
    other one, or the other way round. If it ``keeps_order``, the other way round is another shuffle
    of the same round, and ``orders`` is one pair, whose larger one is ``upper``. The ``mixed``
    profile has lower ends of further datasets, which are asked where `lower` and `upper` are more
    than its ``least_gap`` apart. If it ``has_gap``, the ends of its profiles stay apart whatever
    width is requested.
    """

    lower: Profile
    upper: Profile
    is_ordered: bool = False
    is_attained: bool = True
    is_of_one_curve: bool = False
    orders: tuple[tuple[Profile, Profile], ...] = ()
    keeps_order: bool = False
    mixed: Profile | None = None
    has_gap: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether both profiles are the same."""
        return self.lower is self.upper

    def at(self, rows: Any) -> Interval:
        """Return the curves of some rows."""
        lower, mixed = self.lower.at(rows), self.mixed and self.mixed.at(rows)
        upper = lower if self.is_exact else self.upper.at(rows)
        return replace(self, lower=lower, upper=upper, mixed=mixed)
