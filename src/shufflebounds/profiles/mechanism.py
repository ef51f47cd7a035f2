"""What is known of a decomposition or of a mechanism, as an interval of two profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.profiles.datasets import all_datasets
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.profile import Interval, Max, Min, Profile
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Largest number of dataset pairs that are asked. They are those with the largest E G².
MAX_DATASET_PAIRS = 300


def interval_of(subject: Decomposition | Randomizer, n: FloatArray) -> Interval:
    """Return what is known of n users who share a decomposition or a randomizer, (P,) numbers n.

    A decomposition has the larger divergence of both its orders. A randomizer has the largest one
    of its dataset pairs below, and above the smallest of three bounds: the stronger clone of its ε₀
    (docs/variation-ratio.md, section 5), which takes milliseconds, its blankets, and the bound for
    all datasets. Raises ValueError for anything else.
    """
    subject = require_mechanism(subject)
    if isinstance(subject, Decomposition):
        return pair(subject, n)
    upper: list[Profile] = [upper_bound(decompositions_above(subject), n)]
    crowds = subject.crowds()
    if crowds:
        upper.append(all_datasets(crowds, n))
    if are_tried(crowds):
        upper.append(upper_bound(subject.blankets().values(), n))
    simple = subject.simple_bound()
    if simple is not None:
        upper.insert(1, pair(simple, n, "simple bound").upper)
    return Interval(lower_bound(subject.known_datasets(), n), Min(upper))


def decompositions_above(subject: Decomposition | Randomizer) -> list[Decomposition]:
    """Return few decompositions whose largest divergence bounds all datasets from above."""
    if isinstance(subject, Decomposition):
        return [subject]
    crowds = subject.crowds()
    # The list of a composition's blankets may be long.
    if are_tried(crowds):
        return [crowd.blanket() for crowd in crowds]
    return list(subject.blankets().values())


def are_tried(crowds: Sequence[Crowd]) -> bool:
    """Return whether crowds are those of a composition, whose blankets may be many."""
    return bool(crowds) and all(crowd.tried for crowd in crowds)


def upper_bound(blankets: Iterable[Decomposition], n: FloatArray) -> Profile:
    """Return the largest divergence of decompositions, one of which covers every pair of inputs."""
    return Max([pair(blanket, n, "blanket").upper for blanket in blankets])


def lower_bound(datasets: Mapping[str, Decomposition], n: FloatArray) -> Profile:
    """Return the largest divergence of dataset pairs; the name is what all others hold."""
    names = list(datasets)
    if len(names) > MAX_DATASET_PAIRS:
        names = sorted(names, key=lambda name: -second_moment(datasets[name]))[:MAX_DATASET_PAIRS]
    return Max([pair(datasets[name], n, name).lower for name in names], is_selective=True)


def second_moment(decomposition: Decomposition) -> float:
    """Return E G² at ε = 0."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        terms = (decomposition.a - decomposition.b) ** 2 / decomposition.c
    return float(np.nansum(terms))
