"""The bound for all datasets of a cohort as a profile. Proof: docs/proofs/cohorts.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shufflebounds.core.cohorts import in_cohort
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.cohort_supremum import cohort_supremum, laws_of_others
from shufflebounds.profiles.datasets import Supremum, largest_supremum
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Profile


@dataclass(frozen=True, eq=False)
class CohortSupremum(Supremum):
    """Upper bounds of D(ε) over all datasets of a cohort; ``n`` are the numbers who are drawn.

    ``laws`` are the decompositions of a member of the cohort for all inputs of another user.
    """

    laws: Sequence[Decomposition] = ()
    known: dict[tuple[float, int, float], float] = field(default_factory=dict)

    def at(self, rows: Any) -> CohortSupremum:
        """See `Profile`."""
        return replace(self, n=self.n[rows], blanket=self.blanket.at(rows))

    @property
    def limits(self) -> FloatArray:
        """See `Profile`."""
        return np.zeros(self.n.shape)

    def bound(self, eps: float, n: int, hopeless: float, enough: float = 0.0) -> float:
        """See `Supremum`."""
        point = eps, n, hopeless
        if point not in self.known:
            self.known[point] = cohort_supremum(self.laws, eps, n, hopeless)
        return self.known[point]


def all_cohort_datasets(crowds: Sequence[Crowd], share: Fraction, size: FloatArray) -> Profile:
    """Return the largest bound of several crowds, in both orders.

    Parameters
    ----------
    crowds
        The crowds of the reports of those who are drawn, which list all inputs of others.
    share
        The share of the users who are drawn.
    size
        Their number, shape (P,).

    Returns
    -------
    Profile
        The bound, of P curves.
    """
    suprema = []
    for crowd in both_directions(crowds):
        blanket = in_cohort(crowd.blanket(), share, is_upper=True)
        laws = [in_cohort(law, share, is_upper=True) for law in laws_of_others(crowd)]
        stand_in = Direction(blanket, size, "blanket")
        suprema.append(CohortSupremum(crowd, size, stand_in, laws=laws))
    return largest_supremum(suprema)
