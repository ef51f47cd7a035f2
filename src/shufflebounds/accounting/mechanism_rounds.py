"""A round of a mechanism: what is proven for all its datasets, and pairs of datasets it has."""

from __future__ import annotations

from shufflebounds import validation
from shufflebounds.accounting.all_datasets import directions
from shufflebounds.accounting.grid import typical_loss
from shufflebounds.accounting.mechanism import datasets
from shufflebounds.accounting.round_laws import Round
from shufflebounds.randomizers.base import Randomizer

# Ordered pairs of inputs, and laws of others times components, beyond which the blankets have to
# do: every point of a round asks for all of them. And pairs of datasets that are composed.
_MOST_PAIRS, _LARGEST, _TRIES = 8, 10_000, 4


def round_of(randomizer: Randomizer, n: int, times: int) -> Round:
    """`times` rounds of `n` users who share a randomizer.

    Upper ends hold whatever the others' inputs are, which may be chosen from what was seen
    (docs/composition.md, section 1). Raises ValueError for arguments out of range.
    """
    n = validation.users(n)
    attained = sorted(datasets(randomizer).values(), key=lambda one: -typical_loss(one, n))
    crowds = directions(randomizer.crowds())
    size = sum(len(one.others) * (1 + len(one.extremes)) * one.c.size for one in crowds)
    return Round(
        tuple(randomizer.blankets().values()),
        n,
        times,
        tuple(attained[:_TRIES]),
        tuple(crowds) if len(crowds) <= _MOST_PAIRS and size <= _LARGEST else (),
    )
