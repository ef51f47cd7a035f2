"""Randomizers made of randomizers: joint and parallel composition, Poisson subsampling.

They are randomizers themselves and may be nested. What must be bounded is every pair of inputs,
pairs that differ in a few coordinates only among them. For parts whose blankets are symmetric under
the exchange of x₁⁰ and x₁¹ the worst pair differs in all of them: with x and y the masses that the
other coordinates give the two inputs (y times e^ε), a coordinate with masses a ≥ b on a component
and b, a on its mirror image contributes the values

    x a − y b, x b − y a  where it differs,    x a − y a, x b − y b  where it does not,

over the same c. Either two have the same sum, and the former lie further apart. So a further
coordinate that differs raises the GPARV in convex order, and with it D at every ε and n. That
settles a question which Section 8 of the paper leaves open. It takes parts of which any two inputs
are alike, since the others may share a third value. Of other parts a joint looks at every choice of
two inputs, if they can tell their `choices` (`patterns`), and a parallel composition refuses them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition, parallel, subsample
from shufflebounds.merging import component_gap, merge_arrays
from shufflebounds.randomizers.base import Choice, Randomizer, the_only
from shufflebounds.randomizers.composed_crowds import joint_crowd, parallel_crowd
from shufflebounds.randomizers.joint_size import check_joint
from shufflebounds.randomizers.patterns import Pattern, dataset_choices, patterns

_MOST_PAIRS = 1000
# Parts of a joint, and of a parallel composition, any of which two inputs may differ in.
_MOST_COORDINATES, _MOST_ALTERNATIVES = 8, 4
# Entries of a matrix times its rows, and how closely components must agree.
_LARGEST_COMPARED, _ALIKE = 10**7, 1e-12


@dataclass(frozen=True)
class Joint(Randomizer):
    """Joint composition: a user sends one report of every part together (Theorems 8 and 9).

    ``parts`` are randomizers, each of its own coordinate of the user's input. Raises ValueError
    where there is none, or where the bound would not cover every pair of inputs.
    """

    parts: Sequence[Randomizer]
    # Of which parts any two inputs are alike.
    _alike: tuple[bool, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts, alike = _checked(self.parts, several=True)
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
        return total if sum(map(Fraction, budgets)) <= total else math.nextafter(total, math.inf)

    def blanket(self) -> Decomposition:
        """Of inputs that differ in every coordinate, the worst of all pairs (see above).

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
        return _by_others(part.dataset_pairs() for part in self.parts)

    def crowds(self) -> tuple[Crowd, ...]:
        """Of inputs that differ in any number of coordinates; none where these are too many."""
        crowds = _single_crowds(self.parts)
        # Where inputs are not alike, which of a part's two goes with which of another's matters.
        if crowds is None or not self.is_alike or len(self.parts) > _MOST_COORDINATES:
            return ()
        return _whole(
            len(self.parts),
            {
                differing: joint_crowd(_factors(crowds, differing), _kinds(self.parts, differing))
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
        _check_sizes(self.parts)
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


@dataclass(frozen=True)
class Parallel(Randomizer):
    """Parallel composition: a user runs one of the parts, drawn by weight (Theorems 10 and 11).

    ``parts`` are pairs (weight, randomizer); the weights are probabilities that sum to 1. The parts
    may look at the same value or each at its own coordinate. Raises ValueError where the weights
    are none, and where the bound would not cover every pair of inputs.
    """

    parts: Sequence[tuple[float, Randomizer]]

    def __post_init__(self) -> None:
        parts = validation.pairs("parts", self.parts, "(weight, randomizer)")
        weights = [weight for weight, _ in parts]
        randomizers, _ = _checked(randomizer for _, randomizer in parts)
        validation.weights(weights)
        object.__setattr__(self, "parts", tuple(zip(weights, randomizers, strict=True)))

    @property
    def label(self) -> str:
        """Such as 10-RR or BLH."""
        return " or ".join(part.label for _, part in self.parts)

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """The largest ε₀ of the parts; None where a part has none."""
        budgets = [part.eps0 for _, part in self.parts if part.eps0 is not None]
        return max(budgets) if len(budgets) == len(self.parts) else None

    def blanket(self) -> Decomposition:
        """Of inputs that differ for every part."""
        return parallel([(weight, part.blanket()) for weight, part in self.parts])

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The inputs differ for every part; all take the same x₂ as far as they have it."""
        weights = [weight for weight, _ in self.parts]
        return {
            name: parallel(zip(weights, pairs, strict=True))
            for name, pairs in _by_others(part.dataset_pairs() for _, part in self.parts).items()
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Of inputs that differ for any of the parts; none where these are too many."""
        weights, parts = zip(*self.parts, strict=True)
        crowds = _single_crowds(parts)
        if crowds is None or len(parts) > _MOST_ALTERNATIVES:
            return ()
        kinds = list(zip(weights, parts, strict=True))
        return _whole(
            len(parts),
            {
                differing: parallel_crowd(
                    weights, _factors(crowds, differing), _kinds(kinds, differing)
                )
                for differing in _subsets(len(parts))
            },
        )

    def check_size(self) -> None:
        """Raise ValueError for joints among the parts that are too large for memory."""
        _check_sizes(part for _, part in self.parts)


@dataclass(frozen=True)
class Subsampled(Randomizer):
    """Poisson subsampling: the user takes part with probability ``rate``, else reports ⊥ (Ex. 4.4).

    Raises ValueError unless 0 ≤ ``rate`` ≤ 1.
    """

    randomizer: Randomizer
    rate: float

    def __post_init__(self) -> None:
        # ⊥ shifts the GPARV, which may change which pair of inputs is the worst.
        _checked([self.randomizer], several=True)
        validation.probability("rate", self.rate)

    @property
    def label(self) -> str:
        """Such as 10-RR at rate 0.1."""
        return f"{self.randomizer.label} at rate {self.rate:g}"

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """That of the randomizer; ⊥ says nothing."""
        return self.randomizer.eps0

    def blanket(self) -> Decomposition:
        """Of the same inputs, ⊥ being sure of its share of every user's reports."""
        return subsample(self.randomizer.blanket(), self.rate)

    def crowds(self) -> tuple[Crowd, ...]:
        """Of the same inputs."""
        return tuple(crowd.subsample(self.rate) for crowd in self.randomizer.crowds())

    def blankets(self) -> dict[str, Decomposition]:
        """Of the same pairs of inputs."""
        pairs = self.randomizer.blankets()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def choices(self, *, apart: bool = False) -> tuple[Choice, ...]:
        """See `Randomizer`; ⊥ adds the same to f of any of them."""
        return tuple(
            replace(one, decomposition=subsample(one.decomposition, self.rate))
            for one in self.randomizer.choices(apart=apart)
        )

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Of the same datasets."""
        pairs = self.randomizer.dataset_pairs()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def check_size(self) -> None:
        """Raise ValueError for joints in the randomizer that are too large for memory."""
        _check_sizes([self.randomizer])


Composition = Joint | Parallel | Subsampled


def _single_crowds(parts: Sequence[Randomizer]) -> list[Crowd] | None:
    """The crowd of every part; None unless each has one that stands for all pairs."""
    found = [part.crowds() for part in parts]
    if any(len(crowds) != 1 or crowds[0].extremes for crowds in found):
        return None
    return [crowd for (crowd,) in found]


def _factors(crowds: Sequence[Crowd], differing: Sequence[int]) -> list[Crowd]:
    return [crowd if i in differing else crowd.same_input() for i, crowd in enumerate(crowds)]


def _kinds(parts: Sequence[Hashable], differing: Sequence[int]) -> list[Hashable]:
    return [(part, i in differing) for i, part in enumerate(parts)]


def _subsets(size: int) -> Iterator[tuple[int, ...]]:
    for count in range(1, size + 1):
        yield from itertools.combinations(range(size), count)


def _whole(size: int, crowds: Mapping[tuple[int, ...], Crowd | None]) -> tuple[Crowd, ...]:
    """All of them by the coordinates that differ, out of so many; none if one is missing."""
    found = []
    for differing, crowd in crowds.items():
        if crowd is None:
            return ()
        name = "" if len(differing) == size else " ".join(str(i + 1) for i in differing)
        found.append(replace(crowd, differing=name))
    return tuple(found)


def repeated(part: Randomizer, k: int) -> Randomizer:
    """k-joint: `k` independent reports of the same randomizer sent together; `part` for k = 1."""
    return part if validation.whole("k_joint", k, minimum=1) == 1 else Joint([part] * k)


def _checked(
    parts: Iterable[Randomizer], *, several: bool = False
) -> tuple[tuple[Randomizer, ...], tuple[bool, ...]]:
    """The parts, and which of them have inputs any two of which are alike.

    All of them must, unless `several` allows for those that know their `choices`.
    """
    if not isinstance(parts, Iterable):
        raise ValueError(f"parts must be a list of randomizers, got {parts!r}")
    parts = tuple(parts)
    if not parts:
        raise ValueError("parts must hold at least one randomizer, got none")
    alike: dict[Randomizer, bool] = {}
    for part in dict.fromkeys(parts):
        if not isinstance(part, Randomizer):
            raise ValueError(
                f"parts must be randomizers, such as KRR(k=10, eps0=1.0), got {part!r}"
            )
        why = _unlike(part)
        if why and not (several and part.choices()):
            raise ValueError(f"parts must {why}, got {part!r}")
        alike[part] = not why
    return parts, tuple(alike[part] for part in parts)


def _unlike(part: Randomizer) -> str:
    """What the part must have for compositions to rest on its blanket alone; empty if it does."""
    match part:
        # Of compositions the parts have been looked at.
        case Joint():
            one_joint = "not be joints of inputs that are not alike: all of it may be one joint"
            return "" if part.is_alike else one_joint
        case Parallel():
            return ""
        case Subsampled(inner, _):
            return _unlike(inner)
    blankets = list(part.blankets().values())
    if len(blankets) == 1 and not blankets[0].is_symmetric():
        return (
            "have blankets that are their own mirror images, for nobody knows the worst pair of "
            "other ones"
        )
    if len(blankets) > 1 or not (part.composable or _inputs_are_alike(part)):
        return (
            "have inputs any two of which are alike, by a matrix() that shows it or an attribute "
            "composable = True that says so"
        )
    return ""


def _inputs_are_alike(part: Randomizer) -> bool:
    """Whether the matrix R(x)(y) makes `blanket` of every two inputs, up to rounding."""
    try:
        # Those that have none raise AttributeError.
        rows = np.asarray(part.matrix())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
    if rows.size * len(rows) > _LARGEST_COMPARED:
        return False
    blanket, least = part.blanket().merge(), rows.min(axis=0)
    expected = np.stack([blanket.a, blanket.b, blanket.c])
    gaps = (
        component_gap(expected, np.stack(merge_arrays(x, y, least)[:3]))
        for x, y in itertools.combinations(rows, 2)
    )
    return all(gap <= _ALIKE for gap in gaps)


def _check_sizes(parts: Iterable[Randomizer]) -> None:
    for part in parts:
        if isinstance(part, Composition):
            part.check_size()


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
    return reduce(Decomposition.joint, factors)


def _by_others(
    pairs: Iterable[Mapping[str, Decomposition]],
) -> dict[str, list[Decomposition]]:
    """The parts' dataset pairs with every x₂ that one of them has; it takes its first for others.

    What the parts take makes the name: ``third third 1``, or ``x1`` where they take the same.
    """
    pairs = list(pairs)
    names = dict.fromkeys(name for part in pairs for name in part)
    taken = [[name if name in part else next(iter(part)) for part in pairs] for name in names]
    return {
        " ".join(choice if len(set(choice)) > 1 else choice[:1]): [
            part[name] for part, name in zip(pairs, choice, strict=True)
        ]
        for choice in taken
    }
