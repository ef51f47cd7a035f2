"""ε at δ and δ at ε of an interval of two profiles: what all questions come down to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import RESERVE, budget
from shufflebounds.profiles.profile import Ends, Interval, Profile, Quantity, Query, one_or_many


@dataclass(frozen=True, eq=False)
class NamedEnds:
    """Ends of P numbers, shape (P,), and the names of the profiles that decided them.

    ``is_short`` marks those that more work would bring closer together. ``shortfalls`` are
    sentences on ends that are wider than promised, empty where they are not.
    """

    lower: FloatArray
    upper: FloatArray
    lower_names: NDArray[np.object_]
    upper_names: NDArray[np.object_]
    is_short: NDArray[np.bool_]
    shortfalls: Sequence[str] = ()

    def enclosures(self) -> Enclosures:
        """Return the ends as enclosures."""
        return Enclosures(np.minimum(self.lower, self.upper), self.upper)

    def required(self) -> Enclosures:
        """Return the enclosures; raise `PrecisionError` if one is wider than promised."""
        enclosures = self.enclosures()
        if wide := [sentence for sentence in self.shortfalls if sentence]:
            points = len(self.shortfalls)
            where = f" (so at {len(wide)} of {points} points)" if points > 1 else ""
            raise PrecisionError(wide[0] + where, one_or_many(enclosures.lower, enclosures.upper))
        return enclosures


def enclose(interval: Interval, quantity: Quantity, at: FloatArray, rtol: float) -> NamedEnds:
    """Return ends of ε at δ or δ at ε of each curve of an interval, (P,).

    If the work budget is spent, the error holds valid ends of all points.
    """
    query = Query.of(quantity, at, rtol)
    if interval.is_exact:
        ends = _ask(interval.upper, query)
        return NamedEnds(ends.lower, ends.upper, ends.names, ends.names, ends.is_short)
    if interval.is_attained:
        return _enclose_ends(interval, query)
    try:
        known = _enclose_ends(interval, query)
    except WorkError as error:
        upper = np.atleast_1d(error.enclosure.upper)
        raise WorkError(str(error), one_or_many(np.zeros(upper.shape), upper)) from None
    return replace(known, lower=np.zeros(at.shape))


def _enclose_ends(interval: Interval, query: Query) -> NamedEnds:
    """Return the ends of two different profiles, whether or not the lower one is attained."""
    lower = _lower_ends(interval, query)
    upper = _ask(interval.upper, replace(query, floor=lower.lower))
    lower = _with_mixed(interval, query, lower, upper)
    return NamedEnds(lower.lower, upper.upper, lower.names, upper.names, upper.is_short)


def _with_mixed(interval: Interval, query: Query, lower: Ends, upper: Ends) -> Ends:
    """Return the lower ends, raised by further datasets where the upper ones are not close."""
    if interval.mixed is None:
        return lower
    is_wide = upper.upper > lower.lower * (1.0 + interval.mixed.least_gap)
    if not is_wide.any():
        return lower
    mixed = _ask(interval.mixed.at(is_wide), replace(query, floor=lower.lower).rows(is_wide))
    return lower.where(is_wide, lower.at(is_wide).largest(mixed))


def _ask(profile: Profile, query: Query) -> Ends:
    """Return the ends of a profile's ε or δ; a `WorkError` has valid ends of all points."""
    try:
        return profile.ends(query)
    except WorkError as error:
        if error.enclosure != Enclosure(0.0, math.inf):
            raise
        message = str(error)
    end = profile.end if query.quantity is Quantity.EPSILON else 1.0
    upper = np.full(query.at.shape, end)
    raise WorkError(message, one_or_many(np.minimum(query.floor, upper), upper))


def _lower_ends(interval: Interval, query: Query) -> Ends:
    """Return the ends of the lower profile; a `WorkError` gets the best upper bound."""
    try:
        return _ask(interval.lower, query)
    except WorkError as error:
        message, enclosure = str(error), error.enclosure
    with budget(RESERVE):
        try:
            upper = _ask(interval.upper, query).upper
        except WorkError as error:
            enclosure = error.enclosure
        else:
            enclosure = one_or_many(np.zeros(upper.shape), upper)
    raise WorkError(message, enclosure)
