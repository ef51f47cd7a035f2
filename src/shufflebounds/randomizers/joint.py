"""Joint composition: a user sends one report of every part together."""

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
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import LARGEST_JOINT, Decomposition
from shufflebounds.core.products import SMALLEST_MASS, distinct_products, log_ratios
from shufflebounds.core.work import fall_short
from shufflebounds.divergence.coordinates import pattern_count
from shufflebounds.randomizers.base import CoordinatePair, Randomizer, named_inputs, the_only
from shufflebounds.randomizers.coarsening import coarsened
from shufflebounds.randomizers.crowds import (
    Composition,
    by_others,
    check_sizes,
    checked,
    combinations,
    coordinate_crowds,
    coordinate_kinds,
    equal_places,
    joint_crowd,
    linked_crowd,
    linked_kinds,
    named,
    single_crowds,
)

# How large a joint composition gets, found out without composing.
#
# The cost of a product of decompositions is its pairs of components at every step. How many remain
# after merging depends on how many of their ratios a : b : c coincide.


def check_joint(factors: Sequence[Decomposition]) -> None:
    """Raise ValueError where the product of `factors` would not fit in memory or in floats.

    That of their inner or outer ends included.
    """
    factors = [factor.merge() for factor in factors]
    _check(factors)
    for end in ("inner", "outer"):
        if any(getattr(factor, end) is not None for factor in factors):
            _check([getattr(factor, end) or factor for factor in factors])


def _check(factors: Sequence[Decomposition]) -> None:
    for name in "abc":
        masses = [getattr(factor, name) for factor in factors]
        smallest = math.fsum(math.log(x[x > 0.0].min()) for x in masses if x.any())
        if smallest < math.log(SMALLEST_MASS):
            raise ValueError(
                f"a joint of {len(factors)} reports would have a component with {name} = "
                f"1e{smallest / math.log(10.0):.0f}, too small for floating point, which needs "
                f"{SMALLEST_MASS:g}: fewer reports are allowed"
            )
    pairs = _pairs_at_most(factors)
    if pairs > LARGEST_JOINT:
        pairs = _pairs(factors)
    if pairs > LARGEST_JOINT:
        raise ValueError(
            f"a joint of {len(factors)} reports with up to {max(map(len, factors))} components "
            f"each is too large for memory; at most {LARGEST_JOINT} pairs of components are allowed"
        )


def _pairs_at_most(factors: Sequence[Decomposition]) -> int:
    """The most pairs of a step, if ratios coincide only where equal factors change places."""
    most, size = 0, 1
    kinds: Counter[tuple[int, bytes]] = Counter()
    for factor in factors:
        most = max(most, size * len(factor))
        arrays = factor.a, factor.b, factor.c, factor.ties
        kinds[len(factor), b"".join(array.tobytes() for array in arrays)] += 1
        size = math.prod(math.comb(size + k - 1, k) for (size, _), k in kinds.items())
    return most


def _pairs(factors: Sequence[Decomposition]) -> int:
    """The most pairs of a step, told from the ratios alone, up to the first one too large.

    Of equal ratios, a product that is tied and one that is not stay apart.
    """
    nothing = np.zeros((2, 1), dtype=np.int64)
    most, tied, loose = 0, nothing, nothing[:, :0]
    for factor in factors:
        pairs = (tied.shape[1] + loose.shape[1]) * len(factor)
        if pairs > LARGEST_JOINT:
            return pairs
        most = max(most, pairs)
        ratios = log_ratios(factor.a, factor.b, factor.c)
        found = [_products(loose, ratios), _products(tied, ratios[:, ~factor.ties])]
        loose = _products(np.concatenate(found, axis=1), nothing)
        tied = _products(tied, ratios[:, factor.ties])
    return most


def _products(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """`distinct_products`, of which there are none where one side has none."""
    return distinct_products(one, two) if one.size and two.size else one[:, :0]


# Which two inputs of a joint composition may be the worst, coordinate by coordinate.
#
# Where two inputs of a part may be alike or not, no one pair is the worst of all: it may be worse
# not to differ in a coordinate, and which of the two inputs is which matters. So all combinations
# of what the coordinates may be are looked at, but for those that another one exceeds. What one
# choice of a coordinate exceeds it exceeds in a joint, too, whatever the other coordinates are:
# with masses of theirs as factors, f of the joint is a sum of f(ua, vb, tc) of this coordinate
# (`domination`).

# Before those are left out that are others in the reverse order.
MOST_PATTERNS = 2000
# Pairs of datasets to try.
_TRIES = 300


@dataclass(frozen=True)
class Pattern:
    """Two inputs of a joint: a choice for every coordinate."""

    choices: tuple[CoordinatePair, ...]

    @property
    def differing(self) -> str:
        """The coordinates that differ, such as ``1 2 4``."""
        return " ".join(str(i + 1) for i, one in enumerate(self.choices) if one.differs)

    @property
    def inputs(self) -> str:
        """The inputs, such as ``0 against 3, 1 in both``."""
        return ", ".join(one.inputs for one in self.choices)

    @property
    def factors(self) -> list[Decomposition]:
        """What the joint is the product of."""
        return [one.decomposition for one in self.choices]


def patterns(
    parts: Sequence[Randomizer], alike: Sequence[bool], distance: int | None
) -> list[Pattern]:
    """Every pattern that may be the worst, at a Hamming distance if one is given.

    `alike` tells of which parts any two inputs are alike. Raises ValueError where there are more
    than `MOST_PATTERNS`, or their products would be too large for memory.
    """
    groups = equal_places(parts)
    options = [_options(parts[i], alike[i], distance) for i, *_ in groups]
    count = math.prod(
        math.comb(len(some) + len(group) - 1, len(group))
        for some, group in zip(options, groups, strict=True)
    )
    if count > MOST_PATTERNS:
        raise ValueError(
            f"parts must leave at most {MOST_PATTERNS} combinations of inputs that may be the "
            f"worst, got {count} of {len(parts)} parts"
        )
    size = math.prod(
        max(len(one.decomposition) for one in options[i]) ** len(group)
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
    """Factors of dataset pairs to try, by names as in ``0 against 3, 1 against 2 among 5, 0``."""
    most = max(1, int((_TRIES + 0.5) ** (1.0 / len(parts))))
    tried = [list(itertools.islice(_datasets(part, bool(i)), most)) for i, part in enumerate(parts)]
    found = {}
    for chosen in itertools.product(*tried):
        inputs = ", ".join(inputs or "any two" for inputs, _, _ in chosen)
        others = ", ".join(others for _, others, _ in chosen)
        found[f"{inputs} among {others}"] = [pair for _, _, pair in chosen]
    return found


def _options(part: Randomizer, alike: bool, distance: int | None) -> tuple[CoordinatePair, ...]:
    if not alike:
        return part.choices(apart=distance is not None)
    differing = CoordinatePair("any two", True, part.blanket())
    # Differing is worse, whatever the other coordinates are (docs/engine.md, section 10).
    if distance is None:
        return (differing,)
    return differing, CoordinatePair("any in both", False, part.blanket().same_input())


def _different_orders(
    groups: Sequence[Sequence[int]],
    options: Sequence[Sequence[CoordinatePair]],
    distance: int | None,
) -> Iterator[Pattern]:
    """All combinations, one of two that are each other in the reverse order."""
    seen = set()
    for choices in combinations(options, groups):
        names = [[choices[i].inputs for i in group] for group in groups]
        if _key(names) in seen:
            continue
        seen.add(_key([[_reversed(name) for name in some] for some in names]))
        differing = sum(one.differs for one in choices)
        if differing == distance or (distance is None and differing):
            yield Pattern(choices)


def _key(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(sorted(some)) for some in names)


def _reversed(inputs: str) -> str:
    return " against ".join(reversed(inputs.split(" against ")))


def _datasets(part: Randomizer, both_orders: bool) -> Iterator[tuple[str, str, Decomposition]]:
    """Names of inputs and x₂, and the pair; the order matters relative to other coordinates."""
    for name, pair in part.dataset_pairs().items():
        inputs, others = named_inputs(name)
        yield inputs, others, pair
        if inputs and both_orders:
            yield _reversed(inputs), others, pair.swap()


_MOST_PAIRS = 1000
# The same of all distances, for crowds, unless they have few patterns in all.
_MOST_CROWDS, _FEW_PATTERNS = 40, 4500
# Components of two continuous parts, and of more parts together, whose product has some thousand
# pieces for each input of another user. Speed and width only (benchmarks/mechanisms.py).
_OF_TWO, _OF_MORE = 90, 60


@dataclass(frozen=True)
class Joint(Composition):
    """Joint composition: a user sends one report of every part together.

    Parameters
    ----------
    parts
        Randomizers, each of its own coordinate of the user's input, with randomness of its own.

    Raises
    ------
    ValueError
        Where there is none, or where the bound would not cover every pair of inputs.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Theorems 8 and 9; worst pair of inputs:
    docs/engine.md, section 10.

    Examples
    --------
    >>> R = sb.Joint([sb.KRR(k=10, eps0=1.0), sb.BLH(2.0)])
    >>> f"{sb.epsilon(R.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.109'
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
        """Of inputs that differ in every coordinate, the worst of all pairs.

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
        Of all distances, where these are too many or too large, the stronger clone of ε₀, which
        bounds all pairs.

        Parameters
        ----------
        distance
            In how many coordinates the inputs differ, 1 to the number of parts; None stands for all
            that may be the worst.

        Returns
        -------
        dict of str to Decomposition
            The pairs of inputs any of which may be the worst.

        Raises
        ------
        ValueError
            For a distance outside this range, where there are too many kinds at a distance, and
            where a part has no ε₀ either.
        """
        try:
            return self._blankets_at(distance)
        except ValueError:
            clone = self.simple_bound()
            if distance is not None or clone is None:
                raise
            fall_short()
            return {"any two": clone}

    def _blankets_at(self, distance: int | None) -> dict[str, Decomposition]:
        if not self.is_alike:
            return {one.inputs: _product(one.factors) for one in self.patterns(distance)}
        return {
            " ".join(str(i + 1) for i in differing): _product(self._factors(differing))
            for differing in self._pairs(len(self.parts) if distance is None else distance)
        }

    def patterns(self, distance: int | None = None) -> list[Pattern]:
        """What the two inputs may be in the coordinates, where not any two are alike.

        Parameters
        ----------
        distance
            As for `blankets`.

        Returns
        -------
        list of Pattern
            All that may be the worst. What is raised is as for `blankets`.
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
        coarser = _coarser(self.parts)
        crowds = single_crowds(coarser)
        # Where inputs are not alike, which of a part's two goes with which of another's matters.
        if crowds is None or not self.is_alike:
            return ()
        pairs = math.prod(count + 1 for count in Counter(self.parts).values()) - 1
        are_few = pattern_count(linked_kinds(crowds, self.parts)) <= _FEW_PATTERNS
        places = (
            differing
            for distance in range(len(self.parts), 0, -1)
            for differing in self._pairs(distance)
        )
        found = (
            (
                differing,
                joint_crowd(
                    coordinate_crowds(crowds, differing), coordinate_kinds(self.parts, differing)
                ),
            )
            for differing in (places if pairs <= _MOST_CROWDS or are_few else ())
        )
        return named(len(self.parts), found) or self._linked()

    def few_crowds(self) -> tuple[Crowd, ...]:
        """One by moments of the parts, where there is one (docs/closing-the-gap.md, section 8)."""
        return (self._linked() if self.is_alike else ()) or self.crowds()

    def _linked(self) -> tuple[Crowd, ...]:
        coarse, exact = single_crowds(_coarser(self.parts)), single_crowds(self.parts)
        if coarse is None:
            return ()
        linked = linked_crowd(exact or coarse, self.parts, coarse)
        return () if linked is None else (linked,)

    def check_distance(self, distance: int) -> None:
        """Raise ValueError where `blankets` would, but for the size of its products.

        Parameters
        ----------
        distance
            As for `blankets`.
        """
        if self.is_alike:
            self._pairs(distance)
        else:
            self.patterns(distance)

    def _reported(self) -> list[tuple[float, Randomizer]]:
        """All of them."""
        return [(1.0, part) for part in self.parts]

    def _asked(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        return [np.ones(users, dtype=bool)] * len(self.parts)

    @property
    def bits(self) -> float:
        """Of all parts."""
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
        blankets = [part.blanket() for part in self.parts]
        return [
            blanket if i in differing else blanket.same_input()
            for i, blanket in enumerate(blankets)
        ]

    def _pairs(self, distance: int) -> list[tuple[int, ...]]:
        validation.whole("distance", distance, minimum=1, maximum=len(self.parts))
        groups = equal_places(self.parts)
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


def _coarser(parts: Sequence[Randomizer]) -> list[Randomizer]:
    """Continuous ones with few enough components for a product."""
    count = sum(part.coarser(3) != part for part in parts)
    if count < 2:
        return list(parts)
    most = _OF_TWO if count == 2 else max(3, round(_OF_MORE / count))
    return [part.coarser(most) for part in parts]


def _product(factors: Sequence[Decomposition]) -> Decomposition:
    check_joint(factors)
    return coarsened(reduce(Decomposition.joint, factors))
