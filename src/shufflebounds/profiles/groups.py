"""What is known of a victim among groups of users with randomizers of their own, as profiles.

Proofs: docs/proofs/personal-epsilon.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from shufflebounds.core.groups import GroupCrowd
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.enumeration import RankedOutcomes
from shufflebounds.divergence.group_supremum import Excess, group_supremum
from shufflebounds.divergence.law import log
from shufflebounds.divergence.linear_test import linear_test
from shufflebounds.profiles.axis_search import AxisSearch, Comparison, LossAxis
from shufflebounds.profiles.datasets import Supremum
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends, Max, Profile, Query
from shufflebounds.profiles.root_search import LARGEST_EPS

# Most pairs of datasets of a victim: those whose inputs make the sum of all reports vary most.
MAX_DATASETS = 12
# The same for victims of all groups over several rounds, where each is asked at a hundred ε.
MAX_COMPOSED_DATASETS = 2
# Most bounds for all datasets, one for each order of each pair of a victim's inputs, that are asked
# at all ε of several rounds. If there are more, there are chords between few ε. Speed and width.
MAX_COMPOSED_BOUNDS = 4
# Number of these ε times that of bounds: 24 bounds at 16 ε take ten seconds, 112 at 10 ε 14.
MAX_GROUP_KNOTS = 400
# The fewest and the most of these ε.
FEWEST_KNOTS, MOST_KNOTS = 10, 16
# Largest number of combinations of inputs of all groups that are listed for pairs of datasets.
# If there are more, equal inputs are changed one by one.
MAX_COMBINATIONS = 300
# Smallest ε of a lower end, or share of the largest ε if that is below 1.
SMALLEST_EPS = 1e-12
# Relative width of a lower end, as a share of the requested one.
WIDTH_SHARE = 0.3

# Returns the numbers of the victim's other users in each group, for n users in all groups.
Counts: TypeAlias = Callable[[int], tuple[int, ...]]


def knots_of_groups(size: int) -> int:
    """Return the number of ε at which so many bounds for all datasets are asked for chords."""
    return min(max(MAX_GROUP_KNOTS // size, FEWEST_KNOTS), MOST_KNOTS)


def supremum_of_groups(groups: GroupCrowd, n: FloatArray, counts: Counts) -> Supremum:
    """Return upper bounds of D(ε) over all datasets of groups, in one order of the inputs.

    `n` are users of all groups.
    """
    return Supremum(
        groups.crowd,
        n,
        Direction(groups.stand_in(counts(int(n.min()))), n, "blanket"),
        lambda eps, users, hopeless, enough: group_supremum(
            groups, counts(users), eps, hopeless, enough
        ),
    )


@dataclass(frozen=True, eq=False)
class GroupDataset(Direction):
    """D(ε) of one pair of datasets, in one order, in which each group has one input.

    ``decomposition`` has the mean of their laws, which only estimates D; ``groups`` has the laws,
    and ``above`` are bounds of D over all datasets.
    """

    has_gap: ClassVar[bool] = True

    groups: GroupCrowd | None = None
    above: Supremum | None = None
    counts: Counts = lambda n: (n - 1,)

    def at(self, rows: Any) -> GroupDataset:
        """See `Profile`."""
        assert self.above is not None
        return replace(self, n=self.n[rows], above=self.above.at(rows))

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return 0.0

    def few_outcomes(self) -> RankedOutcomes | None:
        """See `Direction`: none are enumerated."""
        return None

    @property
    def _laws(self) -> FloatArray:
        """The laws of the other users, a row for each group."""
        assert self.groups is not None
        return np.vstack(self.groups.laws)

    def lower_bound(self, eps: float, n: int) -> float:
        """Return a lower bound of D(ε) for n users."""
        if eps >= min(self.end, LARGEST_EPS):
            return 0.0
        rel_err = self.decomposition.rel_err
        u = Excess.of(self.decomposition.a, self.decomposition.b, eps, rel_err)
        return linear_test(u, self._laws, self.counts(n), rel_err)

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        eps = query.at
        rows = zip(eps.tolist(), self.n.tolist(), strict=True)
        lower = np.array([self.lower_bound(x, int(n)) for x, n in rows])
        assert self.above is not None
        upper = self.above.deltas(eps, query.rtol).upper
        return Ends.of(np.minimum(lower, upper), np.where(eps >= self.end, 0.0, upper), self.name)

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        arrays = (self.n, query.at, self.guesses(query.at), query.rtol)
        rows = zip(*(x.tolist() for x in arrays), strict=True)
        lower = np.array([self._root_below(int(n), *row) for n, *row in rows])
        ceiling = np.minimum(query.ceiling, min(self.end, LARGEST_EPS))
        assert self.above is not None
        upper = self.above.ends(replace(query, floor=lower, ceiling=ceiling)).upper
        return Ends.of(lower, np.minimum(upper, self.end), self.name)

    def _root_below(self, n: int, delta: float, guess: float, rtol: float) -> float:
        """Return about the largest ε with a lower bound of D of at least δ; 0 if there is none."""
        high = min(self.end, LARGEST_EPS)
        if high <= 0.0:
            return 0.0
        axis = LossAxis(SMALLEST_EPS * min(high, 1.0), high, WIDTH_SHARE * rtol)
        search = AxisSearch(axis)

        def compare(eps: float, _: float) -> Comparison:
            value = self.lower_bound(eps, n)
            margin = log(log(value) / math.log(delta))
            return Comparison(1 if value < delta else -1, margin, 0.0)

        search.run(compare, axis.scale(min(max(guess, axis.least_private), high)))
        return search.unsafe_end or 0.0


@dataclass(frozen=True, eq=False)
class LargestSupremum(Max):
    """The largest of bounds without lower ends: those below the largest are only known as such."""

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        first, *others = self._ranked(query.at)
        best = first.ends(query)
        for part in others:
            best = best.largest(
                part.ends(replace(query, floor=np.maximum(query.floor, best.upper)))
            )
        return best


@dataclass(frozen=True, eq=False)
class GroupProfiles:
    """The bounds for all datasets of a victim's crowds, one for each order that is not alike.

    ``counts`` are those of the pairs of datasets.
    """

    orders: tuple[tuple[tuple[GroupCrowd, Supremum], ...], ...]
    n: FloatArray
    counts: Counts

    @staticmethod
    def of(
        crowds: Sequence[GroupCrowd], n: FloatArray, fewest: Counts, counts: Counts
    ) -> GroupProfiles:
        """Return the bounds of several crowds for the fewest users of each group."""
        orders = [(x,) if x.symmetric else (x, x.swap()) for x in crowds]
        bounds = [tuple((x, supremum_of_groups(x, n, fewest)) for x in row) for row in orders]
        return GroupProfiles(tuple(bounds), n, counts)

    @property
    def size(self) -> int:
        """The number of bounds."""
        return sum(map(len, self.orders))

    def upper(self) -> Profile:
        """Return the largest bound."""
        parts: list[Profile] = [bound for row in self.orders for _, bound in row]
        return parts[0] if len(parts) == 1 else LargestSupremum(parts)

    def pairs(self, most: int, *, have_bounds: bool = False) -> list[tuple[float, Profile]]:
        """Return the D of promising pairs of datasets, each in both orders, the widest first.

        With each is its `_width`. If the pairs `have_bounds` of their own, these are smaller than
        those for all datasets.
        """
        used = np.max([self.counts(int(n)) for n in self.n.tolist()], axis=0).tolist()
        active = [i for i, count in enumerate(used) if count] or [0]
        sizes = [used[i] for i in active]
        candidates = []
        for row in self.orders:
            ranked = _widest_datasets(row[0][0].only(active), sizes)[:most]
            bounds = [] if have_bounds else [bound for _, bound in row]
            candidates += [(width, dataset, bounds) for width, dataset in ranked]
        candidates.sort(key=lambda candidate: -candidate[0])
        return [
            (width, self._pair(dataset, above, active))
            for width, dataset, above in candidates[:most]
        ]

    def _pair(
        self, dataset: GroupCrowd, above: Sequence[Supremum], active: Sequence[int]
    ) -> Profile:
        """Return the larger D of both orders of a pair of datasets of the active groups.

        It has upper bounds of its own unless those `above` are given.
        """

        def active_counts(n: int) -> tuple[int, ...]:
            every = self.counts(n)
            return tuple(every[i] for i in active)

        name = " ".join(x for names in dataset.names for x in names)
        name = f"{dataset.pair} among {name}" if dataset.pair else name
        is_alike = dataset.kinds() == dataset.swap().kinds()
        orders = [dataset] if is_alike else [dataset, dataset.swap()]
        if above:
            bounds = above if len(above) == len(orders) else [above[0]] * len(orders)
        else:
            laws = [replace(x, sure=tuple(rows.min(axis=0) for rows in x.laws)) for x in orders]
            bounds = [supremum_of_groups(x, self.n, active_counts) for x in laws]
        return Max(
            [
                GroupDataset(
                    x.stand_in(active_counts(int(self.n.max()))),
                    self.n,
                    name,
                    groups=x,
                    above=bound,
                    counts=active_counts,
                )
                for x, bound in zip(orders, bounds, strict=True)
            ]
        )


def _widest_datasets(crowd: GroupCrowd, counts: Sequence[int]) -> list[tuple[float, GroupCrowd]]:
    """Return datasets in which each group has one input, by falling `_width`, with that."""
    groups = range(len(counts))
    if math.prod(len(rows) for rows in crowd.laws) <= MAX_COMBINATIONS:
        listed = crowd.combinations(groups)
        ranked = [(_width(crowd, x, counts), x) for x in listed]
    else:
        ranked = _climbed_inputs(crowd, counts)
    ranked.sort(key=lambda pair: -pair[0])
    return [(width, crowd.dataset(x)) for width, x in ranked]


def _climbed_inputs(
    crowd: GroupCrowd, counts: Sequence[int]
) -> list[tuple[float, tuple[int, ...]]]:
    """Return inputs of the groups that are equal, or were changed one by one to be the widest."""
    tried: dict[tuple[int, ...], float] = {}

    def width(inputs: tuple[int, ...]) -> float:
        if inputs not in tried:
            tried[inputs] = _width(crowd, inputs, counts)
        return tried[inputs]

    kept: dict[tuple[int, ...], None] = {}
    for first in range(min(len(rows) for rows in crowd.laws)):
        inputs = (first,) * len(counts)
        kept[inputs] = None
        for i, rows in enumerate(crowd.laws):
            choices = [(*inputs[:i], x, *inputs[i + 1 :]) for x in range(len(rows))]
            inputs = max(choices, key=width)
        kept[inputs] = None
    best = max(kept, key=width)
    for i, rows in enumerate(crowd.laws):
        kept |= dict.fromkeys((*best[:i], x, *best[i + 1 :]) for x in range(len(rows)))
    return [(width(x), x) for x in kept]


def _width(crowd: GroupCrowd, inputs: Sequence[int], counts: Sequence[int]) -> float:
    """Return about how well the sum of all reports tells the victim's two inputs apart."""
    weights = np.array([float(n) for n in counts]) + 1e-9
    laws = [rows[x] for rows, x in zip(crowd.laws, inputs, strict=True)]
    mean = np.average(laws, axis=0, weights=weights)
    with np.errstate(all="ignore"):
        return float(np.nansum((crowd.a - crowd.b) ** 2 / mean))
