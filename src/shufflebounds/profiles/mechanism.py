"""What is known of a decomposition or of a mechanism, as an interval of two profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.profiles.datasets import all_datasets
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.profile import Interval, Max, Min, Profile
from shufflebounds.randomizers.base import STRONGER_CLONE, Randomizer, require_mechanism

# Largest number of dataset pairs that are asked. They are those with the largest E G².
MAX_DATASET_PAIRS = 300


@dataclass(frozen=True, eq=False)
class Parts:
    """What a decomposition or a mechanism is bounded by, for any number of users.

    ``datasets`` holds dataset pairs by name, on which lower bounds rest. The largest divergence of
    ``above`` bounds all datasets. So do that of ``finer``, which are more and smaller, the bound of
    the ``crowds``, and ``simple``, if there are such. ``name`` is that of the bound ``above``.
    """

    datasets: Mapping[str, Decomposition]
    above: Sequence[Decomposition]
    finer: Sequence[Decomposition] = ()
    crowds: tuple[Crowd, ...] = ()
    simple: Decomposition | None = None
    name: str = "blanket"

    @staticmethod
    def of(subject: Decomposition | Randomizer) -> Parts:
        """Return the parts; raise ValueError for anything else.

        The simple bound of a randomizer is the stronger clone of its ε₀
        (docs/proofs/variation-ratio.md, section 5).
        """
        subject = require_mechanism(subject)
        if isinstance(subject, Decomposition):
            return Parts({"": subject}, [subject])
        blankets, crowds, simple = subject.blankets(), subject.crowds(), subject.simple_bound()
        above, finer = list(blankets.values()), list[Decomposition]()
        name = STRONGER_CLONE if STRONGER_CLONE in blankets else "blanket"
        # The list of a composition's blankets may be long.
        if crowds and all(crowd.tried for crowd in crowds):
            above, finer, name = [crowd.blanket() for crowd in crowds], above, "blanket"
        return Parts(subject.known_datasets(), above, finer, crowds, simple, name)

    @property
    def decomposition(self) -> Decomposition | None:
        """The decomposition, if that is all there is."""
        pairs = list(self.datasets.values())
        return pairs[0] if list(self.above) == pairs else None

    def lower(self, n: FloatArray) -> Profile:
        """Return the largest divergence of dataset pairs; the name is what all others hold."""
        return lower_bound(self.datasets, n)

    def blankets(self, n: FloatArray) -> Profile:
        """Return the largest divergence of few decompositions that bound all datasets."""
        return upper_bound(self.above, n, self.name)

    def upper(self, n: FloatArray) -> Profile:
        """Return the smallest of all upper bounds, which are asked in this order."""
        bounds = [self.blankets(n)]
        if self.simple is not None:
            bounds.append(pair(self.simple, n, STRONGER_CLONE).upper)
        if self.crowds:
            bounds.append(all_datasets(self.crowds, n))
        if self.finer:
            bounds.append(upper_bound(self.finer, n))
        return Min(bounds)

    def interval(self, n: FloatArray) -> Interval:
        """Return what is known of P numbers of users n."""
        if self.decomposition is not None:
            return pair(self.decomposition, n)
        return Interval(self.lower(n), self.upper(n))


def interval_of(subject: Decomposition | Randomizer, n: FloatArray) -> Interval:
    """Return what is known of n users who share a decomposition or a randomizer, (P,) numbers n."""
    return Parts.of(subject).interval(n)


def decompositions_above(subject: Decomposition | Randomizer) -> Sequence[Decomposition]:
    """Return few decompositions whose largest divergence bounds all datasets from above."""
    return Parts.of(subject).above


def upper_bound(
    decompositions: Iterable[Decomposition], n: FloatArray, name: str = "blanket"
) -> Profile:
    """Return an upper bound of the largest divergence of decompositions."""
    return Max([pair(decomposition, n, name).upper for decomposition in decompositions])


def lower_bound(datasets: Mapping[str, Decomposition], n: FloatArray) -> Profile:
    """Return the largest divergence of dataset pairs; the name is what all others hold."""
    names = list(datasets)
    if len(names) > MAX_DATASET_PAIRS:
        names.sort(key=lambda name: -second_moment(datasets[name]))
    pairs = [pair(datasets[name], n, name).lower for name in names[:MAX_DATASET_PAIRS]]
    return Max(pairs, is_selective=True)


def second_moment(decomposition: Decomposition) -> float:
    """Return E G² at ε = 0."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        terms = (decomposition.a - decomposition.b) ** 2 / decomposition.c
    return float(np.nansum(terms))
