"""One round of shuffling: what a report tells, and how many users send one.

Rounds of the same reports are joined: equal ones always, those with nearly equal numbers of users
if there are too many kinds. docs/proofs/composition.md, section 1, proves that this is sound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.datasets import both_directions
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import Relation, common_relation
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.datasets import all_datasets
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.mechanism import (
    decompositions_above,
    lower_bound,
    second_moment,
    upper_bound,
)
from shufflebounds.profiles.profile import Interval, Max, Min, Profile
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.randomizers.base import STRONGER_CLONE, Randomizer

# Up to this number of ordered pairs of inputs, the bound for all datasets is composed. More are
# replaced by few that cover all, if there are such. Each node of a round may ask for all of them.
# Speed and width only (benchmarks/mechanisms.py).
MAX_PAIRS = 30
# Largest number of laws of other users times components for that bound: eight reports of 256-RR
# have more. Speed and width only (benchmarks/mechanisms.py).
MAX_LAW_SIZE = 10_000
# Most dataset pairs whose lower ends are composed, those of the largest E G². Speed and width only.
MAX_DATASETS = 4
# Most components of a dataset pair for which more than one pair is composed: eight reports of
# 256-RR take ten times as long with four. Speed only.
MAX_COMPONENTS_COMPARED = 110
# Largest number of kinds of rounds that are kept apart if the caller gives no `rtol`. A kind of
# decompositions takes 0.02 s.
MAX_KINDS = 200
# Number of kinds that a randomizer counts for in `MAX_KINDS`.
KINDS_OF_RANDOMIZER = 2
# Largest ratio of numbers of users in a family. Its shared aim widens ε by up to 0.1 %.
FAMILY_RATIO = 1.1
# Fewest users of a family: for few, the bound for all datasets needs aims of their own.
FEWEST_IN_FAMILY = 1000
# Factor from one difference of numbers of users that is tried to the next.
DIFFERENCE_GROWTH = 1.2
# The first of these differences, as a share.
SMALLEST_DIFFERENCE = 1e-4


# What one report tells: one or several decompositions, or a mechanism. An epoch of training has
# decompositions that are made for one δ.
Subject = Randomizer | RandomAllocation | tuple[Decomposition, ...]


@dataclass(frozen=True, eq=False)
class Family:
    """Numbers of users for one randomizer, and its bound for all datasets, if it is affordable."""

    n: FloatArray
    suprema: Profile | None

    @staticmethod
    def of(randomizer: Randomizer, counts: Iterable[int]) -> Family:
        """Return the family of some numbers of users, which ascend."""
        n = np.array([float(count) for count in counts])
        return Family(n, affordable_suprema(randomizer, n, share_aims=n.size > 1))

    def suprema_for(self, n: int) -> Profile | None:
        """Return the bound for one of the numbers of users, None if it is not affordable."""
        [place] = np.flatnonzero(self.n == n)
        return None if self.suprema is None else self.suprema.at(np.array([place]))


@dataclass(frozen=True, eq=False)
class Round:
    """A number of rounds with n users each, of decompositions any of which may be the worst.

    A `Randomizer` in their place stands for all of its datasets. With ``is_ordered``, there is one
    decomposition, and the order of the two datasets is the same in every round. Some of the rounds
    may have more users, up to ``most``. As D falls with n, upper ends are those of n users, and
    lower ends those of ``most``. A ``family`` of rounds shares the work for the bound for all
    datasets.
    """

    subject: Subject
    n: int
    times: int
    is_ordered: bool = False
    most: int = 0
    family: Family | None = None

    def __post_init__(self) -> None:
        if isinstance(self.subject, tuple):
            if not self.subject:
                raise ValueError("decompositions must be one or more, got none")
            for decomposition in self.subject:
                require("decomposition", decomposition)
        object.__setattr__(self, "n", validation.users(self.n))
        object.__setattr__(self, "most", max(self.n, self.most))
        validation.rounds(self.times)

    def __contains__(self, other: Round) -> bool:
        """Return whether bounds of these rounds hold for others.

        They have the same reports, and their n to ``most`` are within these n to ``most``.
        """
        return self.n <= other.n and other.most <= self.most and self.key == other.key

    @property
    def relation(self) -> Relation:
        """The neighbouring relation; ValueError if decompositions are about different ones."""
        if isinstance(self.subject, tuple):
            return common_relation("decompositions", (x.relation for x in self.subject))
        return self.subject.relation

    @cached_property
    def key(self) -> tuple:
        """A hashable key that two rounds share only if they have the same reports."""
        is_mechanism = isinstance(self.subject, Randomizer | RandomAllocation)
        parts = (self.subject,) if is_mechanism else map(content_key, self.decompositions)
        return (*parts, self.is_ordered)

    @cached_property
    def decompositions(self) -> list[Decomposition]:
        """Decompositions whose largest divergence bounds a round from above."""
        if isinstance(self.subject, Randomizer):
            return list(decompositions_above(self.subject))
        if isinstance(self.subject, RandomAllocation):
            raise ValueError(
                "rounds must be those of shuffling, got epochs of training, whose decompositions "
                "are made for one delta"
            )
        return list(self.subject)

    def made_for(self, delta: float, epochs: int, cells: int) -> Round:
        """Return the round itself, or an epoch of training with a decomposition made for one δ."""
        if not isinstance(self.subject, RandomAllocation):
            return self
        decomposition = self.subject.decomposition(self.n, delta, epochs=epochs, cells=cells)
        return replace(self, subject=(decomposition,), is_ordered=True)

    @property
    def users(self) -> FloatArray:
        """The number of users as an array of one point."""
        return np.array([float(self.n)])

    @cached_property
    def simple(self) -> Interval:
        """What is known of a round without the bound for all datasets."""
        if self.most > self.n:
            fewest, most = replace(self, most=0), replace(self, n=self.most)
            return replace(fewest.simple, lower=most.simple.lower)
        if isinstance(self.subject, Randomizer):
            return _mechanism(self.subject, self.users)
        pairs = [pair(decomposition, self.users) for decomposition in self.decompositions]
        if self.is_ordered:
            [interval] = pairs
            return replace(interval, is_ordered=True)
        lower, upper = (Max([getattr(x, end) for x in pairs]) for end in ("lower", "upper"))
        return Interval(lower, lower if all(x.is_exact for x in pairs) else upper)

    @cached_property
    def best(self) -> Interval:
        """What is known of a round; it is ``simple`` where that is all that is affordable."""
        if isinstance(self.subject, Randomizer):
            family = self.family or Family.of(self.subject, [self.n])
            suprema = family.suprema_for(self.n)
            if suprema is not None:
                return Interval(self.simple.lower, Min([self.simple.upper, suprema]))
        return self.simple


def joined(rounds: Iterable[Round], ratio: float = 1.0) -> tuple[Round, ...]:
    """Return the rounds; those of the same reports are joined if their n differ by at most `ratio`.

    They keep the order in which the first of each is given.
    """
    return tuple(
        replace(x[0], times=sum(y.times for y in x), most=max(y.most for y in x))
        for x in _groups(rounds, ratio)
    )


def _groups(rounds: Iterable[Round], ratio: float) -> list[list[Round]]:
    """Return groups of rounds of the same reports whose n ascend, and differ by at most `ratio`."""
    by_key: dict[tuple, list[Round]] = {}
    for round_ in rounds:
        by_key.setdefault(round_.key, []).append(round_)
    groups = []
    for equal in by_key.values():
        group: list[Round] = []
        for round_ in sorted(equal, key=lambda x: x.n):
            if group and round_.most > ratio * group[0].n:
                groups.append(group)
                group = []
            group.append(round_)
        groups.append(group)
    return groups


def fewer_kinds(rounds: Iterable[Round]) -> tuple[Round, ...]:
    """Return the rounds, joined as little as is needed for few enough kinds to be told apart."""
    kinds, difference = joined(rounds), SMALLEST_DIFFERENCE
    coarsest = joined(kinds, math.inf)
    limit = max(MAX_KINDS, _cost(coarsest))
    fewer = kinds
    while _cost(fewer) > limit:
        fewer = joined(kinds, 1.0 + difference)
        difference *= DIFFERENCE_GROWTH
    return fewer


def _cost(kinds: Sequence[Round]) -> int:
    """Return the number of kinds, of which a randomizer counts for several."""
    return sum(KINDS_OF_RANDOMIZER if isinstance(x.subject, Randomizer) else 1 for x in kinds)


def with_families(kinds: Iterable[Round]) -> tuple[Round, ...]:
    """Return kinds of rounds in families: those of one randomizer with similar numbers of users."""
    rounds: list[Round] = []
    for group in _groups(kinds, FAMILY_RATIO):
        subject, n = group[0].subject, group[0].n
        if isinstance(subject, Randomizer) and len(group) > 1 and n >= FEWEST_IN_FAMILY:
            family = Family.of(subject, [x.n for x in group])
            group = [replace(x, family=family) for x in group]
        rounds += group
    return tuple(rounds)


def content_key(decomposition: Decomposition) -> tuple:
    """Return a hashable key that two decompositions share only if they are equal."""
    arrays = (getattr(decomposition, name).tobytes() for name in ("a", "b", "c", "ties"))
    ends = (end and content_key(end) for end in (decomposition.inner, decomposition.outer))
    return (*arrays, decomposition.rel_err, decomposition.relation, *ends)


def _mechanism(randomizer: Randomizer, n: FloatArray) -> Interval:
    """Return what dataset pairs, blankets and the simple bound say of a mechanism."""
    datasets = randomizer.known_datasets()
    names = sorted(datasets, key=lambda name: (-second_moment(datasets[name]), name))
    is_small = len(datasets[names[0]]) <= MAX_COMPONENTS_COMPARED
    kept = names[: MAX_DATASETS if is_small else 1]
    upper: list[Profile] = [upper_bound(randomizer.blankets().values(), n)]
    simple = randomizer.simple_bound()
    if simple is not None:
        upper.insert(0, pair(simple, n, STRONGER_CLONE).upper)
    return Interval(lower_bound({name: datasets[name] for name in kept}, n), Min(upper))


def affordable_suprema(
    randomizer: Randomizer, n: FloatArray, *, share_aims: bool = False
) -> Profile | None:
    """Return the bound for all datasets if it can be composed within the work budget.

    Several numbers of users `n` ascend.
    """
    for crowds in (randomizer.crowds(), randomizer.few_crowds()):
        ordered = both_directions(crowds)
        size = sum(crowd.size for crowd in ordered if not crowd.kinds)
        if ordered and len(ordered) <= MAX_PAIRS and size <= MAX_LAW_SIZE:
            # The bound for patterns of inputs that are not listed is trivial if the parts differ
            # too much.
            users = int(n[0])
            is_trivial = any(x.kinds and supremum(x, 0.0, users) >= 1.0 for x in ordered)
            return None if is_trivial else all_datasets(crowds, n, share_aims=share_aims)
    return None
