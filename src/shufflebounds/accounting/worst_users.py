"""The most users that any of several decompositions needs."""

from __future__ import annotations

from dataclasses import dataclass

from shufflebounds import validation
from shufflebounds.accounting import calibration
from shufflebounds.accounting.worst_case import Question
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure


@dataclass(frozen=True)
class FewestUsers(Question):
    """The smallest n with D(``eps``) ≤ ``delta``; D falls in n."""

    eps: float
    delta: float

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return calibration.fewest_users(decomposition, eps=self.eps, delta=self.delta)

    def point(self, found: float) -> tuple[float, float, int] | None:
        """See `Question`; there may be too few users in the world."""
        return (self.eps, self.delta, int(found)) if found <= validation.MAX_USERS else None
