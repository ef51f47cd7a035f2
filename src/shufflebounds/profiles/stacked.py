"""Curves of different profiles, one below the other, as for arrays of numbers of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.profiles.profile import Ends, Interval, Profile


@dataclass(frozen=True, eq=False)
class Stacked(Profile):
    """The curves of profiles of one curve each."""

    parts: Sequence[Profile]
    name: str = ""

    @property
    def size(self) -> int:
        """See `Profile`."""
        return len(self.parts)

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
    def limits(self) -> FloatArray:
        """See `Profile`."""
        return np.concatenate([np.zeros(0), *(part.limits for part in self.parts)])

    def at(self, rows: Any) -> Stacked:
        """See `Profile`."""
        return replace(self, parts=[self.parts[i] for i in np.arange(self.size)[rows].tolist()])

    def deltas(
        self,
        eps: FloatArray,
        rtol: float | FloatArray,
        target: float | FloatArray = np.nan,
        floor: float | FloatArray = 0.0,
    ) -> Ends:
        """See `Profile`."""
        return self._each(lambda part, *row: part.deltas(*row), eps, rtol, target, floor)

    def roots(
        self,
        delta: FloatArray,
        rtol: float,
        floor: float | FloatArray = 0.0,
        ceiling: float | FloatArray = np.inf,
    ) -> Ends:
        """See `Profile`."""
        return self._each(
            lambda part, delta, *row: part.roots(delta, rtol, *row), delta, floor, ceiling
        )

    def _each(self, ask: Callable[..., Ends], *points: float | FloatArray) -> Ends:
        """Return the ends of each part at its row of the points.

        If the work budget is spent, the error says nothing of any curve.
        """
        columns = [np.broadcast_to(x, (self.size,)) for x in points]
        listed = []
        for i, part in enumerate(self.parts):
            try:
                listed.append(ask(part, *(x[i : i + 1] for x in columns)))
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
