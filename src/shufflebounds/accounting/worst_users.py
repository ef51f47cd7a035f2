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
    """The smallest n with D(``eps``) ≤ ``delta`` after ``rounds``; D falls in n.

    Several rounds are asked of few decompositions only, each of which is answered.
    """

    eps: float
    delta: float
    rounds: int = 1

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return calibration.fewest_users(
            decomposition, eps=self.eps, delta=self.delta, rounds=self.rounds
        )

    def point(self, found: float) -> tuple[float, float, int] | None:
        """See `Question`; there may be too few users in the world."""
        if self.rounds > 1 or found > validation.MAX_USERS:
            return None
        return self.eps, self.delta, int(found)
