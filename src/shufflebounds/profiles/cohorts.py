"""The bound for all datasets of a cohort as a profile. Proof: docs/proofs/cohorts.md."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from shufflebounds.core.cohorts import in_cohort
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.cohort_supremum import cohort_supremum, laws_of_others
from shufflebounds.profiles.datasets import Supremum, largest_supremum
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Profile


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

    def supremum_of(crowd: Crowd) -> Supremum:
        blanket = in_cohort(crowd.blanket(), share, is_upper=True)
        laws = [in_cohort(law, share, is_upper=True) for law in laws_of_others(crowd)]
        return Supremum(
            crowd,
            size,
            Direction(blanket, size, "blanket"),
            lambda eps, n, hopeless, _: cohort_supremum(laws, eps, n, hopeless),
        )

    return largest_supremum([supremum_of(crowd) for crowd in both_directions(crowds)])
