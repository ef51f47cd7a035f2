"""Joint composition: a user sends one report of every part together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer, the_only
from shufflebounds.randomizers.composed.coarsening import coarsened
from shufflebounds.randomizers.composed.crowds import (
    coordinate_crowds,
    coordinate_kinds,
    joint_crowd,
    named,
    single_crowds,
)
from shufflebounds.randomizers.composed.joint_size import check_joint
from shufflebounds.randomizers.composed.parts import Composition, by_others, check_sizes, checked
from shufflebounds.randomizers.composed.patterns import Pattern, dataset_choices, patterns

_MOST_PAIRS = 1000
# Parts any of which two inputs of a crowd may differ in.
_MOST_COORDINATES = 8


@dataclass(frozen=True)
class Joint(Composition):
    """Joint composition: a user sends one report of every part together (Theorems 8 and 9).

    ``parts`` are randomizers, each of its own coordinate of the user's input. Raises ValueError
    where there is none, or where the bound would not cover every pair of inputs.
    """

    parts: Sequence[Randomizer]
    # Of which parts any two inputs are alike.
    _alike: tuple[bool, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts, alike = checked(self.parts, several=True)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "_alike", alike)

    @property
    def is_alike(self) -> bool:
        """Whether any two inputs are alike that differ in every coordinate."""
        return all(self._alike)

    @property
    def label(self) -> str:
        """Such as 10-RR and BLH together, or 4 × 10-RR."""
        if len(set(self.parts)) == 1:
            return f"{len(self.parts)} × {self.parts[0].label}"
        *first, last = (part.label for part in self.parts)
        return f"{', '.join(first)} and {last} together" if first else last

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """The sum of the parts' ε₀, rounded up; None where a part has none."""
        budgets = [part.eps0 for part in self.parts if part.eps0 is not None]
        if len(budgets) < len(self.parts):
            return None
        total = math.fsum(budgets)
        if math.isinf(total):  # of outputs that one input never has
            return total
        return total if sum(map(Fraction, budgets)) <= total else math.nextafter(total, math.inf)

    def lacking(self) -> str:
        """See `Composition`."""
        if self.is_alike:
            return ""
        return "not be joints of inputs that are not alike: all of it may be one joint"

    def blanket(self) -> Decomposition:
        """Of inputs that differ in every coordinate, the worst of all pairs (see `composed`).

        Raises ValueError where the product is too large for memory, and where other pairs may be
        worse: `blankets` has them all.
        """
        if not self.is_alike:
            return the_only(self.blankets())
        return _product([part.blanket() for part in self.parts])

    def blankets(self, distance: int | None = None) -> dict[str, Decomposition]:
        """Of inputs at this Hamming distance, by the coordinates that differ, such as ``1 2 4``.

        One of every kind: which of several equal parts differ does not matter. Of parts whose
        inputs are not alike, those of all `patterns`, by names such as ``0 against 3, 1 in both``.
        Without a distance those of all that may be the worst. Raises ValueError unless
        1 ≤ `distance` ≤ number of parts, and where there are too many kinds.
        """
        if not self.is_alike:
            return {one.inputs: _product(one.factors) for one in self.patterns(distance)}
        return {
            " ".join(str(i + 1) for i in differing): _product(self._factors(differing))
            for differing in self._pairs(len(self.parts) if distance is None else distance)
        }

    def patterns(self, distance: int | None = None) -> list[Pattern]:
        """What the two inputs may be in the coordinates, where not any two are alike.

        At a Hamming distance, or all that may be the worst. What is raised is as for `blankets`.
        """
        if distance is not None:
            validation.whole("distance", distance, minimum=1, maximum=len(self.parts))
        return patterns(self.parts, self._alike, distance)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """All coordinates differ; the parts take the same x₂ as far as they have it.

        Of parts whose inputs are not alike, those that tell them apart best, in either order.
        """
        return {name: _product(factors) for name, factors in self._dataset_factors().items()}

    def _dataset_factors(self) -> dict[str, list[Decomposition]]:
        if not self.is_alike:
            return dataset_choices(self.parts)
        return by_others(part.dataset_pairs() for part in self.parts)

    def crowds(self) -> tuple[Crowd, ...]:
        """Of inputs that differ in any number of coordinates; none where these are too many."""
        crowds = single_crowds(self.parts)
        # Where inputs are not alike, which of a part's two goes with which of another's matters.
        if crowds is None or not self.is_alike or len(self.parts) > _MOST_COORDINATES:
            return ()
        return named(
            len(self.parts),
            {
                differing: joint_crowd(
                    coordinate_crowds(crowds, differing), coordinate_kinds(self.parts, differing)
                )
                for distance in range(1, len(self.parts) + 1)
                for differing in self._pairs(distance)
            },
        )

    def check_distance(self, distance: int) -> None:
        """Raise ValueError where `blankets` would, but for the size of its products."""
        if self.is_alike:
            self._pairs(distance)
        else:
            self.patterns(distance)

    def check_size(self) -> None:
        """Raise ValueError for products too large for memory, without multiplying them out."""
        check_sizes(self.parts)
        if self.is_alike:
            check_joint([part.blanket() for part in self.parts])
        else:
            check_joint(self.patterns()[0].factors)
        for factors in self._dataset_factors().values():
            check_joint(factors)

    def _factors(self, differing: Sequence[int]) -> list[Decomposition]:
        blankets = [part.blanket() for part in self.parts]
        return [
            blanket if i in differing else blanket.same_input()
            for i, blanket in enumerate(blankets)
        ]

    def _pairs(self, distance: int) -> list[tuple[int, ...]]:
        validation.whole("distance", distance, minimum=1, maximum=len(self.parts))
        groups = [
            [i for i, other in enumerate(self.parts) if other == part]
            for part in dict.fromkeys(self.parts)
        ]
        counts = _counts([len(group) for group in groups], distance)
        kinds = list(itertools.islice(counts, _MOST_PAIRS + 1))
        if len(kinds) > _MOST_PAIRS:
            raise ValueError(
                f"distance must leave at most {_MOST_PAIRS} choices of coordinates to differ, "
                f"got {distance} of {len(self.parts)} parts"
            )
        return [
            tuple(sorted(i for group, c in zip(groups, count, strict=True) for i in group[:c]))
            for count in kinds
        ]


def repeated(part: Randomizer, k: int) -> Randomizer:
    """k-joint: `k` independent reports of the same randomizer sent together; `part` for k = 1."""
    return part if validation.whole("k_joint", k, minimum=1) == 1 else Joint([part] * k)


def _counts(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """All ways to take `total` things from groups of these sizes, by how many of each."""
    if not sizes:
        yield ()
        return
    size, *others = sizes
    for count in range(max(0, total - sum(others)), min(size, total) + 1):
        for rest in _counts(others, total - count):
            yield count, *rest


def _product(factors: Sequence[Decomposition]) -> Decomposition:
    check_joint(factors)
    return coarsened(reduce(Decomposition.joint, factors))
