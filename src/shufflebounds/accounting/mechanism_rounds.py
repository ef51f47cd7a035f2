"""A round of a mechanism: what is proven for all its datasets, and pairs of datasets it has."""

from __future__ import annotations

from shufflebounds import validation
from shufflebounds.accounting.all_datasets import directions
from shufflebounds.accounting.grid import typical_loss
from shufflebounds.accounting.mechanism import datasets
from shufflebounds.accounting.round_laws import Round
from shufflebounds.randomizers.base import Randomizer

# Pairs of inputs beyond which their blankets have to do, and pairs of datasets that are composed.
_FEW_CROWDS, _TRIES = 4, 4


def round_of(randomizer: Randomizer, n: int, times: int) -> Round:
    """`times` rounds of `n` users who share a randomizer.

    Upper ends hold whatever the others' inputs are, which may be chosen from what was seen
    (docs/composition.md, section 1). Raises ValueError for arguments out of range.
    """
    n = validation.users(n)
    attained = sorted(datasets(randomizer).values(), key=lambda one: -typical_loss(one, n))
    crowds = randomizer.crowds()
    return Round(
        tuple(randomizer.blankets().values()),
        n,
        times,
        tuple(attained[:_TRIES]),
        tuple(directions(crowds)) if len(crowds) <= _FEW_CROWDS else (),
    )
