"""Rounds that differ: subjects, their numbers of users, and how often each is used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from shufflebounds.core.relation import Relation, common_relation
from shufflebounds.subjects.base import ANY_AIM, Aim, Shuffle, Subject


class Phase(NamedTuple):
    """``times`` rounds of a subject, each of ``n`` users."""

    subject: Subject
    n: int
    times: int


@dataclass(frozen=True, eq=False)
class Schedule(Subject):
    """Rounds that differ. A round of it consists of all phases, whatever n a question names.

    In different rounds the others may hold different values, so that any choice of their pairs of
    datasets is one pair of datasets. Draws of different phases are independent.
    """

    phases: Sequence[Phase]

    def __post_init__(self) -> None:
        common_relation("rounds", (phase.subject.relation for phase in self.phases))
        if sum(phase.subject.keeps_draws for phase in self.phases) > 1:
            raise ValueError(
                "bins must not be kept in more than one phase, since an example keeps its step in "
                "all of them: ask about all epochs as one phase, with the smallest noise multiplier"
            )

    @property
    def relation(self) -> Relation:  # type: ignore[override]
        """See `Subject`."""
        return self.phases[0].subject.relation

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """The sum of the ε₀ of all rounds, rounded up; None if one has none."""
        total = self.pure_eps(1)
        return None if math.isinf(total) else total

    def pure_eps(self, rounds: int) -> float:
        """See `Subject`."""
        parts = [phase.subject.pure_eps(rounds * phase.times) for phase in self.phases]
        total = math.fsum(parts)
        if math.isinf(total) or Fraction(total) >= sum(map(Fraction, parts)):
            return total
        return math.nextafter(total, math.inf)

    @property
    def has_costly_rounds(self) -> bool:  # type: ignore[override]
        """See `Subject`."""
        return any(phase.subject.has_costly_rounds for phase in self.phases)

    @property
    def rounds_rtol(self) -> float:  # type: ignore[override]
        """See `Subject`."""
        return max(phase.subject.rounds_rtol for phase in self.phases)

    @property
    def is_made_for_delta(self) -> bool:
        """See `Subject`."""
        return any(phase.subject.is_made_for_delta for phase in self.phases)

    def most_cells(self, rounds: int) -> int:
        """See `Subject`."""
        total = self.total(rounds)
        return max(phase.subject.most_cells(total) for phase in self.phases)

    def total(self, rounds: int) -> int:
        """See `Subject`."""
        return rounds * sum(phase.subject.total(phase.times) for phase in self.phases)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        aim = aim._replace(rounds=self.total(aim.rounds))
        return [
            shuffle
            for phase in self.phases
            for shuffle in phase.subject.shuffles_of(phase.n, phase.times, aim)
        ]
