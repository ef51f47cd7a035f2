"""Users of several groups, each with a randomizer of its own, who share one shuffler."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.groups import GroupCrowd
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import common_relation
from shufflebounds.profiles.chords import Chords
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.groups import (
    MAX_COMPOSED_BOUNDS,
    MAX_COMPOSED_DATASETS,
    MAX_DATASETS,
    Counts,
    GroupProfiles,
    knots_of_groups,
)
from shufflebounds.profiles.profile import Interval, Max, Min, Profile
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.group_laws import group_crowds, require_one_form
from shufflebounds.subjects.base import ANY_AIM, Aim, PairName, Shuffle, Source, Subject
from shufflebounds.subjects.observation import REPORTS, Observation
from shufflebounds.subjects.reports import proven_eps0

# What the observer sees of groups, and the theorems of their bounds.
REPORTS_OF_GROUPS = REPORTS._replace(
    page="docs/proofs/personal-epsilon.md",
    sources=MappingProxyType(
        {
            "best": "docs/proofs/personal-epsilon.md, Theorem P",
            "blanket": "docs/proofs/variation-ratio.md; the blanket is what the users of all "
            "groups are sure to send",
            "lower": "docs/proofs/personal-epsilon.md, section 4: a test of two datasets",
        }
    ),
)

# Returns how many users of each group report, for n users of all groups and a victim of a group.
Sizes = Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True)
class FixedSizes:
    """The sizes of groups that are all there are."""

    sizes: tuple[int, ...]

    def __call__(self, n: int, victim: int) -> tuple[int, ...]:
        """Return the sizes."""
        return self.sizes


@dataclass(frozen=True)
class Shares:
    """The fewest users of groups that have at least these shares of n users.

    A share of the n users drop out, and some collude. Which groups they belong to is not known: all
    of them may be members of any group. So they are subtracted from every group. Sizes do not fall
    with n.
    """

    shares: tuple[Fraction, ...]
    dropout: Fraction
    colluding: int

    def __call__(self, n: int, victim: int) -> tuple[int, ...]:
        """Return the sizes, which for the victim's group are 1 or more."""
        # ⌊x⌋ − ⌈y⌉ may fall where x and y rise. It is at least ⌊x − y⌋ − 1.
        missing = self.colluding + (1 if self.dropout else 0)
        sizes = [max(math.floor(n * (x - self.dropout)) - missing, 0) for x in self.shares]
        sizes[victim] = max(sizes[victim], 1)
        return tuple(sizes)


@dataclass(frozen=True)
class PossibleSizes:
    """The sizes of groups on a day on which all n users are members of one of them.

    Those who drop out or collude are members of the victim's group, and users beyond the shares are
    members of the group ``spare``. So these sizes are those of a pair of datasets. For fewer users
    there is a day on which no group is larger.
    """

    fewest: Shares
    spare: int

    def __call__(self, n: int, victim: int) -> tuple[int, ...]:
        """Return the sizes, which for the victim's group are 1 or more."""
        dropout = self.fewest.dropout
        sizes = [math.floor(n * x) for x in self.fewest.shares]
        unassigned = n - sum(sizes)
        # ⌊x⌋ − ⌊y⌋ may fall where x and y rise. It is at most ⌊x − y⌋ + 1.
        honest = math.floor(n * (self.fewest.shares[victim] - dropout)) + (1 if dropout else 0)
        sizes[victim] = max(min(honest, sizes[victim]) - self.fewest.colluding, 1)
        sizes[self.spare] += unassigned
        return tuple(sizes)


class GroupSource(Source):
    """What the report of a member of some of the groups tells.

    Parameters
    ----------
    randomizers
        Those of all groups.
    sizes
        Returns how many users of each group report at least. None of the numbers falls with n.
    lower_sizes
        Returns how many there are in a pair of datasets. D of those must not grow with n.
    victims
        The groups that the victim may be a member of.
    """

    is_given = False
    has_datasets = has_own_interval = True
    is_of_one_mechanism = False
    relative_work = 4.0
    datasets: Mapping[str, Decomposition] = {}

    def __init__(
        self,
        randomizers: tuple[Randomizer, ...],
        sizes: Sizes,
        lower_sizes: Sizes,
        victims: tuple[int, ...],
    ) -> None:
        require_one_form(randomizers)
        self.randomizers, self.victims = randomizers, victims
        self.sizes, self.lower_sizes = sizes, lower_sizes
        budgets = [proven_eps0(randomizers[i]) for i in victims]
        self.eps0 = None if None in budgets else max(x for x in budgets if x is not None)

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        """See `Source`."""
        return self.randomizers, self.sizes, self.lower_sizes, self.victims

    def require_eps0(self, bound: str) -> float:
        """Raise ValueError, since bounds by ε₀ alone hold if all users share one mechanism."""
        raise ValueError(f"{bound} needs one mechanism of all users, got groups with their own")

    def users(self, draws: int) -> int:
        """See `Source`."""
        return min(sum(self.sizes(draws, i)) for i in self.victims)

    def members(self, draws: int) -> int:
        """See `Source`."""
        return min(self.sizes(draws, i)[i] for i in self.victims)

    @cached_property
    def group_crowds(self) -> dict[int, tuple[GroupCrowd, ...]]:
        """The crowds of a victim of each of the groups."""
        crowds = {i: group_crowds(self.randomizers, i) for i in self.victims}
        for i, listed in crowds.items():
            if not listed:
                raise ValueError(
                    f"groups are too large for a common bound with {self.randomizers[i].label}: "
                    "their matrices must have fewer inputs, or their eps0 must be smaller; the "
                    "bound of a group without the other ones is valid, too"
                )
        return crowds

    @cached_property
    def blankets(self) -> Mapping[str, Decomposition]:  # type: ignore[override]
        """The blankets of what the users of all groups are sure to send, for n users in all."""
        return {
            f"group {i + 1} {crowd.pair}".rstrip(): crowd.crowd.blanket().merge()
            for i, crowds in self.group_crowds.items()
            for crowd in crowds
        }

    def blanket_inputs(self, name: str) -> PairName:
        """See `Source`."""
        return PairName(inputs=name)

    def own_interval(self, n: FloatArray, *, is_best: bool, is_composed: bool) -> Interval:
        """See `Source`."""
        victims = {
            i: GroupProfiles.of(crowds, n, _others(self.sizes, i), _others(self.lower_sizes, i))
            for i, crowds in self.group_crowds.items()
        }
        size = sum(profiles.size for profiles in victims.values())
        has_chords = is_composed and size > MAX_COMPOSED_BOUNDS
        most = MAX_COMPOSED_DATASETS if is_composed else MAX_DATASETS
        most_of_each = 1 if has_chords else most
        lower: list[tuple[float, Profile]] = []
        for profiles in victims.values():
            lower += profiles.pairs(most_of_each, have_bounds=has_chords)
        if is_composed:
            lower = sorted(lower, key=lambda pair: -pair[0])[:most_of_each]
        upper = self._upper(victims, n, is_best=is_best)
        if has_chords and is_best:
            upper = Chords(upper, n, knots_of_groups(size))
        return Interval(Max([x for _, x in lower], is_selective=True), upper)

    def _upper(
        self, victims: Mapping[int, GroupProfiles], n: FloatArray, *, is_best: bool
    ) -> Profile:
        """Return the smallest bound for all victims: of all groups together, or of each one."""
        parts: list[Profile] = []
        for i, profiles in victims.items():
            own = np.array([float(self.sizes(int(x), i)[i]) for x in n.tolist()])
            blankets = self.randomizers[i].blankets().values()
            bounds: list[Profile] = [Max([pair(x, own, "own group").upper for x in blankets])]
            if is_best:
                bounds.append(profiles.upper())
            parts.append(Min(bounds))
        users = np.array([float(self.users(int(x))) for x in n.tolist()])
        blanket = Max([pair(x, users, "blanket").upper for x in self.blankets.values()])
        return Min([blanket, Max(parts) if len(parts) > 1 else parts[0]])


def _label(randomizer: Randomizer) -> str:
    """Return the name of a mechanism with its ε₀."""
    eps0 = proven_eps0(randomizer)
    return randomizer.label if eps0 is None else f"{randomizer.label} (eps0 = {eps0:.6g})"


def _others(sizes: Sizes, victim: int) -> Counts:
    """Return the function that returns the numbers of other users of a victim of a group."""

    def counts(n: int) -> tuple[int, ...]:
        return tuple(x - (i == victim) for i, x in enumerate(sizes(n, victim)))

    return counts


@dataclass(frozen=True)
class Groups(Subject):
    """One report per user, of groups with randomizers of their own, mixed by one shuffler.

    Which user belongs to which group is public, fixed, and independent of their inputs. The bounds
    hold for the members of every group, or of one `victim` group.

    Parameters
    ----------
    groups
        Pairs of the number of users of a group who report, 1 or more, and their randomizer. All
        reports have the same outputs: k-RR of one k, hashes to as many values, or matrices with
        equally many columns, which mean the same in all groups.
    victim
        The number of the group that the victim belongs to, from 1; None stands for all of them.

    Raises
    ------
    ValueError
        For no groups, sizes that are no whole numbers, and different outputs.

    Examples
    --------
    >>> groups = sb.Groups([(4000, sb.KRR(12, 0.5)), (4000, sb.KRR(12, 3.0))])
    >>> [f"{sb.epsilon(x, n=8000, delta=1e-6).upper:.4f}" for x in groups.members()]
    ['0.0106', '0.1540']
    """

    groups: Sequence[tuple[int, Randomizer]]
    victim: int | None = None
    seen: ClassVar[Observation] = REPORTS_OF_GROUPS
    rounds_rtol: ClassVar[float] = 2e-3

    def __post_init__(self) -> None:
        listed = validation.pairs("groups", self.groups, "(number of users, randomizer)")
        if not listed:
            raise ValueError("groups must be one or more pairs (number of users, randomizer)")
        checked = []
        for i, (size, randomizer) in enumerate(listed, start=1):
            if not isinstance(randomizer, Randomizer):
                raise ValueError(f"group {i} must have a randomizer, got {randomizer!r}")
            try:
                checked.append((validation.users(size), randomizer))
            except ValueError as error:
                raise ValueError(str(error).replace("n must", f"n of group {i} must", 1)) from None
        object.__setattr__(self, "groups", tuple(checked))
        common_relation("groups", (r.relation for r in self.randomizers))
        require_one_form(self.randomizers)
        if self.victim is not None:
            validation.whole("victim", self.victim, 1, len(checked))

    @property
    def randomizers(self) -> tuple[Randomizer, ...]:
        """The randomizers of the groups."""
        return tuple(randomizer for _, randomizer in self.groups)

    @property
    def n(self) -> int:
        """The number of users of all groups."""
        return sum(size for size, _ in self.groups)

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """ε₀ of the members, the largest of all groups that the victim may belong to."""
        return self.source.eps0

    @property
    def label(self) -> str:
        """The groups."""
        return ", ".join(f"{n} users of {_label(r)}" for n, r in self.groups)

    @property
    def covered(self) -> str:
        """See `Subject`."""
        return "" if self.victim is None else f"members of group {self.victim}"

    @property
    def caveat(self) -> str:
        """See `Subject`."""
        return "Groups must not depend on inputs: which users are members of a group is public."

    def members(self) -> tuple[Groups, ...]:
        """Return for each group the subject whose bounds hold for its members only."""
        return tuple(replace(self, victim=i) for i in range(1, len(self.groups) + 1))

    def scaled(self, n: int) -> Groups:
        """Return groups of n users in all who have the same shares of them, up to rounding.

        Parameters
        ----------
        n
            The number of users of all groups.

        Returns
        -------
        Groups
            The groups. Their sizes are shares of n, rounded up or down.

        Raises
        ------
        ValueError
            If a group has no user.
        """
        total = self.n
        sizes = [n * size // total for size, _ in self.groups]
        # The largest remainders are rounded up.
        remainders = [n * size % total for size, _ in self.groups]
        for i in sorted(range(len(sizes)), key=lambda i: -remainders[i])[: n - sum(sizes)]:
            sizes[i] += 1
        if 0 in sizes:
            raise ValueError(
                f"n must be large enough for a user of group {sizes.index(0) + 1}, got {n}"
            )
        return replace(self, groups=tuple(zip(sizes, self.randomizers, strict=True)))

    @cached_property
    def source(self) -> GroupSource:
        """What one report tells."""
        victims = range(len(self.groups)) if self.victim is None else (self.victim - 1,)
        sizes = FixedSizes(tuple(n for n, _ in self.groups))
        return GroupSource(self.randomizers, sizes, sizes, tuple(victims))

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        if n != self.n:
            raise ValueError(f"n must be {self.n}, the number of users of all groups, got {n}")
        return [Shuffle(self.source, n)]
