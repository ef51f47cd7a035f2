"""Curves of different profiles, one below the other, as for arrays of numbers of users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.profiles.profile import Ends, Interval, Profile, Query


@dataclass(frozen=True, eq=False)
class Stacked(Profile):
    """The curves of profiles of one curve each."""

    parts: Sequence[Profile]
    name: str = ""

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max((part.end for part in self.parts), default=0.0)

    @property
    def end_err(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max((part.end_err for part in self.parts), default=0.0)

    @property
    def is_costly(self) -> bool:  # type: ignore[override]
        """See `Profile`."""
        return any(part.is_costly for part in self.parts)

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return min((part.limit for part in self.parts), default=0.0)

    def at(self, rows: Any) -> Stacked:
        """See `Profile`."""
        return replace(
            self, parts=[self.parts[i] for i in np.arange(len(self.parts))[rows].tolist()]
        )

    def ends(self, query: Query) -> Ends:
        """See `Profile`; if the work budget is spent, the error says nothing of any curve."""
        listed = []
        for i, part in enumerate(self.parts):
            try:
                listed.append(part.ends(query.rows(slice(i, i + 1))))
            except WorkError as error:
                raise WorkError(str(error), Enclosure(0.0, np.inf)) from None
        fields = zip(*(vars(ends).values() for ends in listed), strict=True)
        return Ends(*(np.concatenate(x) for x in fields))

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        rows = (part.estimates(eps[i : i + 1]) for i, part in enumerate(self.parts))
        return np.concatenate([np.zeros(0), *rows])

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        rows = (part.guesses(delta[i : i + 1]) for i, part in enumerate(self.parts))
        return np.concatenate([np.zeros(0), *rows])


def stacked(intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the curves of intervals of one curve each."""
    lower = Stacked([x.lower for x in intervals])
    is_exact = all(x.is_exact for x in intervals)
    upper = lower if is_exact else Stacked([x.upper for x in intervals])
    return Interval(
        lower,
        upper,
        is_ordered=intervals[0].is_ordered,
        is_attained=all(x.is_attained for x in intervals),
        is_of_one_curve=all(x.is_of_one_curve for x in intervals),
    )
