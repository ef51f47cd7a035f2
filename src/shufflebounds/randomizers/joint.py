"""Joint composition: a user sends one report of every part together.

The cost of a product of decompositions is the number of pairs of components at every step, which
depends on how many ratios a : b : c of a product coincide. `check_joint` finds it without
composing.

If the inputs of a part are not all alike, no single pair of inputs of the joint is the worst: it
may be worse not to differ in a coordinate, and it matters which of the two inputs is which. So all
combinations of pairs of the coordinates are examined (`patterns`), except for those that another
one exceeds. A pair that exceeds another in a coordinate exceeds it in a joint, too: with the masses
u, v, t of the other coordinates as factors, the f-divergence of the joint is a sum of
f(ua, vb, tc) over this coordinate (`shufflebounds.core.domination`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.clones import STRONGER_CLONE
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import LARGEST_JOINT, Decomposition
from shufflebounds.core.products import SMALLEST_MASS, distinct_products, log_ratios
from shufflebounds.divergence.coordinates import pattern_count
from shufflebounds.randomizers.base import Randomizer, named_inputs, single_blanket
from shufflebounds.randomizers.coarsening import coarsened
from shufflebounds.randomizers.composition import (
    Composition,
    check_parts,
    check_sizes,
    combine_dataset_pairs,
)
from shufflebounds.randomizers.crowds import (
    combinations,
    coordinate_crowds,
    coordinate_kinds,
    covering_crowd,
    equal_places,
    joint_crowd,
    linked_crowd,
    linked_kinds,
    name_by_differing,
    single_crowds,
)
from shufflebounds.randomizers.kinds import CoordinatePair

# Largest number of patterns of inputs of a joint, and of choices of coordinates that differ.
# Patterns that are others in reverse order count, too. It limits the time of a question.
MOST_PATTERNS = 2000
# Largest number of pairs of datasets that are tried for a joint of inputs that are not alike.
_MAX_TRIED_DATASETS = 300
# Largest number of patterns of inputs for which each choice of differing coordinates has a crowd of
# its own. For more patterns one crowd by moments takes a hundredth of the time, if there is one.
_MAX_PATTERNS_OF_CROWDS = 4500
# Largest number of choices of differing coordinates that have a crowd each, for more patterns.
_MAX_CROWDS = 40
# Components of either of two continuous parts: their product then has some thousand pieces for each
# input of another user. Speed and width only (benchmarks/mechanisms.py).
_COMPONENTS_OF_TWO_PARTS = 90
# Components of three or more continuous parts, added up. Speed and width only
# (benchmarks/mechanisms.py).
_COMPONENTS_OF_MORE_PARTS = 60


def check_joint(factors: Sequence[Decomposition]) -> None:
    """Raise ValueError if the product of `factors` would not fit in memory or in floats.

    The products of their inner and of their outer ends are checked as well.
    """
    factors = [factor.merge() for factor in factors]
    _check_product(factors)
    for end in ("inner", "outer"):
        if any(getattr(factor, end) is not None for factor in factors):
            _check_product([getattr(factor, end) or factor for factor in factors])


def _check_product(factors: Sequence[Decomposition]) -> None:
    """Raise ValueError if the product of the arrays of `factors` would be too large."""
    for name in "abc":
        masses = [getattr(factor, name) for factor in factors]
        smallest = math.fsum(math.log(x[x > 0.0].min()) for x in masses if x.any())
        if smallest < math.log(SMALLEST_MASS):
            raise ValueError(
                f"a joint of {len(factors)} reports would have a component with {name} = "
                f"1e{smallest / math.log(10.0):.0f}, too small for floating point, which needs "
                f"{SMALLEST_MASS:g}: fewer reports are allowed"
            )
    pairs = _max_pairs(factors)
    if pairs > LARGEST_JOINT:
        pairs = _count_pairs(factors)
    if pairs > LARGEST_JOINT:
        raise ValueError(
            f"a joint of {len(factors)} reports with up to {max(map(len, factors))} components "
            f"each is too large for memory; at most {LARGEST_JOINT} pairs of components are allowed"
        )


def _max_pairs(factors: Sequence[Decomposition]) -> int:
    """Return an upper bound on the pairs of a step: only equal factors have coinciding ratios."""
    largest, size = 0, 1
    kinds: Counter[tuple[int, bytes]] = Counter()
    for factor in factors:
        largest = max(largest, size * len(factor))
        arrays = factor.a, factor.b, factor.c, factor.ties
        kinds[len(factor), b"".join(array.tobytes() for array in arrays)] += 1
        size = math.prod(math.comb(size + k - 1, k) for (size, _), k in kinds.items())
    return largest


def _count_pairs(factors: Sequence[Decomposition]) -> int:
    """Return the largest number of pairs of a step, or the first one above `LARGEST_JOINT`.

    It follows from the ratios alone. A tied product and one that is not tied are not united.
    """
    unit = np.zeros((2, 1), dtype=np.int64)
    largest, tied, untied = 0, unit, unit[:, :0]
    for factor in factors:
        pairs = (tied.shape[1] + untied.shape[1]) * len(factor)
        if pairs > LARGEST_JOINT:
            return pairs
        largest = max(largest, pairs)
        ratios = log_ratios(factor.a, factor.b, factor.c)
        untied_products = [
            _ratios_of_products(untied, ratios),
            _ratios_of_products(tied, ratios[:, ~factor.ties]),
        ]
        untied = _ratios_of_products(np.concatenate(untied_products, axis=1), unit)
        tied = _ratios_of_products(tied, ratios[:, factor.ties])
    return largest


def _ratios_of_products(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `distinct_products`, which are none if one side is empty."""
    return distinct_products(left, right) if left.size and right.size else left[:, :0]


@dataclass(frozen=True)
class Pattern:
    """A pair of inputs of a joint, coordinate by coordinate."""

    choices: tuple[CoordinatePair, ...]

    @property
    def differing(self) -> str:
        """The coordinates that differ, such as ``1 2 4``."""
        return " ".join(str(i + 1) for i, pair in enumerate(self.choices) if pair.differs)

    @property
    def inputs(self) -> str:
        """The inputs, such as ``0 against 3, 1 in both``."""
        return ", ".join(pair.inputs for pair in self.choices)

    @property
    def factors(self) -> list[Decomposition]:
        """The decompositions of the coordinates, whose product is that of the joint."""
        return [pair.decomposition for pair in self.choices]


def patterns(
    parts: Sequence[Randomizer], alike: Sequence[bool], distance: int | None
) -> list[Pattern]:
    """Return every pattern that may be the worst, only those at `distance` if it is given.

    `alike` says for each part whether any two of its inputs are alike. `distance` is a Hamming
    distance. Raises ValueError if there are more than `MOST_PATTERNS`, or if their products would
    be too large for memory.
    """
    groups = equal_places(parts)
    options = [_options(parts[i], alike[i], distance) for i, *_ in groups]
    count = math.prod(
        math.comb(len(group_options) + len(group) - 1, len(group))
        for group_options, group in zip(options, groups, strict=True)
    )
    if count > MOST_PATTERNS:
        raise ValueError(
            f"parts must leave at most {MOST_PATTERNS} combinations of inputs that may be the "
            f"worst, got {count} of {len(parts)} parts"
        )
    size = math.prod(
        max(len(pair.decomposition) for pair in options[i]) ** len(group)
        for i, group in enumerate(groups)
    )
    if count * size > LARGEST_JOINT:
        raise ValueError(
            f"a joint of {len(parts)} reports has {count} combinations of inputs that may be the "
            f"worst, with {size:.2g} components each; at most {LARGEST_JOINT:.2g} components of "
            "all combinations are allowed: fewer reports are possible"
        )
    return list(_different_orders(groups, options, distance))


def dataset_choices(parts: Sequence[Randomizer]) -> dict[str, list[Decomposition]]:
    """Return factors of dataset pairs to try, such as ``0 against 3, 1 against 2 among 5, 0``."""
    count = max(1, int((_MAX_TRIED_DATASETS + 0.5) ** (1.0 / len(parts))))
    datasets = [
        list(itertools.islice(_datasets(part, bool(i)), count)) for i, part in enumerate(parts)
    ]
    factors = {}
    for combination in itertools.product(*datasets):
        inputs = ", ".join(inputs or "any two" for inputs, _, _ in combination)
        other_inputs = ", ".join(x2 for _, x2, _ in combination)
        factors[f"{inputs} among {other_inputs}"] = [pair for _, _, pair in combination]
    return factors


def _options(part: Randomizer, alike: bool, distance: int | None) -> tuple[CoordinatePair, ...]:
    """Return the pairs of inputs of a part that may belong to a worst pair of the joint."""
    if not alike:
        return part.choices(apart=distance is not None)
    differing = CoordinatePair("any two", True, part.blanket())
    # Different inputs are worse for all inputs in other coordinates (docs/proofs/engine.md, section
    # 10).
    if distance is None:
        return (differing,)
    return differing, CoordinatePair("any in both", False, part.blanket().same_input())


def _different_orders(
    groups: Sequence[Sequence[int]],
    options: Sequence[Sequence[CoordinatePair]],
    distance: int | None,
) -> Iterator[Pattern]:
    """Yield all patterns, but only one of two that are each other in reverse order."""
    reversed_keys = set()
    for choices in combinations(options, groups):
        names = [[choices[i].inputs for i in group] for group in groups]
        if _order_free_key(names) in reversed_keys:
            continue
        reversed_names = [[_reversed(name) for name in group_names] for group_names in names]
        reversed_keys.add(_order_free_key(reversed_names))
        differing = sum(pair.differs for pair in choices)
        if differing == distance or (distance is None and differing):
            yield Pattern(choices)


def _order_free_key(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the names of each group, sorted."""
    return tuple(tuple(sorted(group_names)) for group_names in names)


def _reversed(inputs: str) -> str:
    """Return the name of a pair of inputs in reverse order, such as ``3 against 0``."""
    return " against ".join(reversed(inputs.split(" against ")))


def _datasets(part: Randomizer, both_orders: bool) -> Iterator[tuple[str, str, Decomposition]]:
    """Yield the names of the inputs and of x₂, and the dataset pair.

    With `both_orders`, pairs with names also come in reverse order, which matters relative to the
    other coordinates.
    """
    for name, pair in (part.by_matrix or part).dataset_pairs().items():
        inputs, x2 = named_inputs(name)
        yield inputs, x2, pair
        if inputs and both_orders:
            yield _reversed(inputs), x2, pair.swap()


@dataclass(frozen=True)
class Joint(Composition):
    """Joint composition: a user sends one report of every part together.

    Parameters
    ----------
    parts
        Randomizers, each for its own coordinate of the user's input, with its own randomness.

    Raises
    ------
    ValueError
        If there are no parts, or if the bound would not cover every pair of inputs.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Theorems 8 and 9; worst pair of inputs:
    docs/proofs/engine.md, section 10.

    Examples
    --------
    >>> R = sb.Joint([sb.KRR(k=10, eps0=1.0), sb.BLH(2.0)])
    >>> f"{sb.epsilon(R.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.109'
    """

    parts: Sequence[Randomizer]
    # Whether any two inputs are alike, for each part.
    _alike: tuple[bool, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts, alike = check_parts(self.parts, several=True)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "_alike", alike)

    @property
    def is_alike(self) -> bool:
        """Whether any two inputs that differ in every coordinate are alike."""
        return all(self._alike)

    @property
    def label(self) -> str:
        """The parts' labels, such as 10-RR and BLH together, or 4 × 10-RR."""
        if len(set(self.parts)) == 1:
            return f"{len(self.parts)} × {self.parts[0].label}"
        *first, last = (part.label for part in self.parts)
        return f"{', '.join(first)} and {last} together" if first else last

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """The sum of the parts' ε₀, rounded up; None if a part has none."""
        budgets = [part.eps0 for part in self.parts if part.eps0 is not None]
        if len(budgets) < len(self.parts):
            return None
        total = math.fsum(budgets)
        if math.isinf(total):
            return total
        return total if sum(map(Fraction, budgets)) <= total else math.nextafter(total, math.inf)

    @property
    def coordinates(self) -> str:
        """See `Randomizer`."""
        return " ".join(str(i + 1) for i in range(len(self.parts)))

    def named_blanket(self, name: str) -> tuple[str, str]:
        """See `Randomizer`."""
        if self.is_alike:
            return name, ""
        differing = {x.inputs: x.differing for x in self.patterns()}
        return differing.get(name, self.coordinates), name

    def lacking(self) -> str:
        """See `Composition`."""
        if self.is_alike:
            return ""
        return "not be joints of inputs that are not alike: all of it may be one joint"

    def blanket(self) -> Decomposition:
        """Return the blanket of inputs that differ in every coordinate, the worst of all pairs.

        Raises ValueError if the product is too large for memory, or if other pairs may be worse:
        `blankets` has them all.
        """
        if not self.is_alike:
            return single_blanket(self.blankets())
        return _joint_product([part.blanket() for part in self.parts])

    def for_delta(self, delta: float) -> Joint:
        """Return it with bounds of the parts that are close at their shares of δ."""
        parts = [part.for_delta(delta / len(self.parts)) for part in self.parts]
        return self if parts == list(self.parts) else Joint(parts)

    def blankets(self, distance: int | None = None) -> dict[str, Decomposition]:
        """Return blankets by the coordinates in which the inputs differ, such as ``1 2 4``.

        There is one for every kind of pair: it does not matter which of several equal parts differ.
        If the inputs of a part are not alike, the blankets are those of all `patterns`, with names
        such as ``0 against 3, 1 in both``. If no distance is given and these are too many or too
        large, the stronger clone of ε₀ stands for all pairs, with the name ``stronger clone``.

        Parameters
        ----------
        distance
            The number of coordinates in which the inputs differ, 1 to the number of parts; None
            stands for all that may be the worst.

        Returns
        -------
        dict of str to Decomposition
            The blankets of all pairs of inputs that may be the worst.

        Raises
        ------
        ValueError
            For a distance outside this range, if there are too many kinds at a distance, and if
            there are too many kinds in all but a part has no ε₀.
        """
        try:
            return self._blankets_at(distance)
        except ValueError:
            clone = self.simple_bound()
            if distance is not None or clone is None:
                raise
            return {STRONGER_CLONE: clone}

    def _blankets_at(self, distance: int | None) -> dict[str, Decomposition]:
        """Return `blankets`; raise ValueError if they are too many or too large."""
        if not self.is_alike:
            return {
                pattern.inputs: _joint_product(pattern.factors)
                for pattern in self.patterns(distance)
            }
        return {
            " ".join(str(i + 1) for i in differing): _joint_product(self._factors(differing))
            for differing in self._differing_choices(
                len(self.parts) if distance is None else distance
            )
        }

    def patterns(self, distance: int | None = None) -> list[Pattern]:
        """Return the patterns of pairs of inputs of a joint whose inputs are not all alike.

        Parameters
        ----------
        distance
            See `blankets`.

        Returns
        -------
        list of Pattern
            All patterns that may be the worst. It raises the errors of `blankets`.
        """
        if distance is not None:
            validation.whole("distance", distance, minimum=1, maximum=len(self.parts))
        return patterns(self.parts, self._alike, distance)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs whose inputs differ in all coordinates; the parts use the same x₂.

        A part without this x₂ uses its first one. If the inputs of a part are not alike, the pairs
        are those that distinguish them best, in either order.
        """
        return {name: _joint_product(factors) for name, factors in self._dataset_factors().items()}

    def _dataset_factors(self) -> dict[str, list[Decomposition]]:
        """Return the factors of `dataset_pairs`, one for each part."""
        if not self.is_alike:
            return dataset_choices(self.parts)
        return combine_dataset_pairs(part.dataset_pairs() for part in self.parts)

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowds of inputs that differ in any coordinates; none if they are too many."""
        coarser = _coarser(self.parts)
        crowds = single_crowds(coarser)
        # If inputs are not alike, it matters which input of a part goes with which of another part.
        if not self.is_alike:
            return ()
        if crowds is None:
            number = len(self.parts)
            covering = covering_crowd(
                *([part.coordinate_crowds(number) for part in x] for x in (self.parts, coarser))
            )
            return () if covering is None else (covering,)
        if pattern_count(linked_kinds(crowds, self.parts)) > _MAX_PATTERNS_OF_CROWDS:
            choices = math.prod(count + 1 for count in Counter(self.parts).values()) - 1
            linked = self._linked()
            if linked or choices > _MAX_CROWDS:
                return linked
        joint_crowds = (
            (
                differing,
                joint_crowd(
                    coordinate_crowds(crowds, differing), coordinate_kinds(self.parts, differing)
                ),
            )
            for distance in range(len(self.parts), 0, -1)
            for differing in self._differing_choices(distance)
        )
        return name_by_differing(len(self.parts), joint_crowds) or self._linked()

    def few_crowds(self) -> tuple[Crowd, ...]:
        """Return one crowd by moments of the parts if there is one, else `crowds`.

        The proof is in docs/proofs/closing-the-gap.md, section 8.
        """
        return (self._linked() if self.is_alike else ()) or self.crowds()

    def _linked(self) -> tuple[Crowd, ...]:
        """Return the crowd by moments, or none."""
        coarse, exact = single_crowds(_coarser(self.parts)), single_crowds(self.parts)
        if coarse is None:
            return ()
        linked = linked_crowd(exact or coarse, self.parts, coarse)
        return () if linked is None else (linked,)

    def check_distance(self, distance: int) -> None:
        """Raise the ValueError that `blankets` would raise, except for too large products.

        Parameters
        ----------
        distance
            See `blankets`.
        """
        if self.is_alike:
            self._differing_choices(distance)
        else:
            self.patterns(distance)

    def _reported(self) -> list[tuple[float, Randomizer]]:
        """Return all parts, each with probability 1."""
        return [(1.0, part) for part in self.parts]

    def _reporting_users(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Return that all users report on each part."""
        return [np.ones(users, dtype=bool)] * len(self.parts)

    @property
    def bits(self) -> float:
        """The number of bits of the reports of all parts."""
        return math.fsum(part.bits for part in self.parts)

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
        """Return the parts' blankets for inputs that differ in the coordinates `differing`."""
        blankets = [part.blanket() for part in self.parts]
        return [
            blanket if i in differing else blanket.same_input()
            for i, blanket in enumerate(blankets)
        ]

    def _differing_choices(self, distance: int) -> list[tuple[int, ...]]:
        """Return the choices of `distance` coordinates that differ, one for each kind."""
        validation.whole("distance", distance, minimum=1, maximum=len(self.parts))
        groups = equal_places(self.parts)
        counts = _ways_to_take([len(group) for group in groups], distance)
        kinds = list(itertools.islice(counts, MOST_PATTERNS + 1))
        if len(kinds) > MOST_PATTERNS:
            raise ValueError(
                f"distance must leave at most {MOST_PATTERNS} choices of coordinates "
                f"to differ, got {distance} of {len(self.parts)} parts"
            )
        return [
            tuple(sorted(i for group, c in zip(groups, count, strict=True) for i in group[:c]))
            for count in kinds
        ]


def joint_of(part: Randomizer, k: int) -> Randomizer:
    """Return the joint of `k` independent reports of one randomizer; `part` itself for k = 1."""
    return part if validation.whole("k_joint", k, minimum=1) == 1 else Joint([part] * k)


def _ways_to_take(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to take `total` things from groups of these sizes: a number for each group."""
    if not sizes:
        yield ()
        return
    size, *later_sizes = sizes
    for count in range(max(0, total - sum(later_sizes)), min(size, total) + 1):
        for later_counts in _ways_to_take(later_sizes, total - count):
            yield count, *later_counts


def _coarser(parts: Sequence[Randomizer]) -> list[Randomizer]:
    """Return the parts, several continuous ones with few enough components for a product."""
    count = sum(part.coarser(3) != part for part in parts)
    if count < 2:
        return list(parts)
    size = (
        _COMPONENTS_OF_TWO_PARTS if count == 2 else max(3, round(_COMPONENTS_OF_MORE_PARTS / count))
    )
    return [part.coarser(size) for part in parts]


def _joint_product(factors: Sequence[Decomposition]) -> Decomposition:
    """Return the product of the factors, its ends coarsened; ValueError if it is too large."""
    check_joint(factors)
    return coarsened(reduce(Decomposition.joint, factors))
