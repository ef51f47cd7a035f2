"""Randomizers whose reports match an input or not, a form that many mechanisms share.

A report is drawn from a fixed law, but e^{ε₀} times as likely if it matches the user's input. All
inputs match equally often, and every report fails to match some input, so that the blanket is the
fixed law times a constant.

A common match of two inputs is a report that matches both. The worst pair is two inputs whose
common matches are as rare as possible. To see this, move mass from reports that match both inputs,
and as much from reports that match neither, to reports that match one of them. On this mass G had
the values e(1 − ζ) and 1 − ζ, where ζ = e^ε and e = e^{ε₀}, and now has e − ζ and 1 − eζ. The new
values have the same sum and enclose the old ones, so the divergence rises.

The mechanisms: k-subset (Wang, Huang, Nie, Xu, Yang, Li, Nie, Chen 2016; Ye and Barg 2018), PrivSet
for set-valued data (Wang, Huang, Nie, Wang, Xu and Yang, INFOCOM 2018), and Hadamard response with
blocks (Acharya, Sun and Zhang, AISTATS 2019).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import SMALLEST_MASS, FloatArray
from shufflebounds.core.validation import MAX_ENTRIES
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import (
    SpreadOfShares,
    Supports,
    bits_of_sets,
)
from shufflebounds.estimation.sampling import required
from shufflebounds.randomizers.base import (
    PRODUCT_ERR,
    Randomizer,
    crowd_of_rows,
    five_point,
    pairs_of_channel,
)

# The eight matching patterns of a report: whether it matches x₁⁰, x₁¹ and another user's input.
PATTERNS = tuple(itertools.product((True, False), repeat=3))
# Most kinds of three sets of items that are listed: those of 7 items are 402. All take 20 s.
_MAX_KINDS_OF_SETS = 500

# The masses of `PATTERNS`.
Masses = tuple[Fraction, ...]


class MatchingRandomizer(Randomizer):
    """A report of the fixed law is e^{ε₀} times as likely if it matches the input.

    `_miss_probability` describes inputs whose common matches are as rare as possible.
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    @property
    def _input_count(self) -> int:
        """The number of inputs in `dataset_pairs`: 3, or 2 if no third input exists."""
        return 3

    @abstractmethod
    def _miss_probability(self, inputs: int) -> Fraction:
        """Return the probability under the fixed law that a report matches none of the inputs."""

    def blanket(self) -> Decomposition:
        """Return the blanket of two inputs whose common matches are as rare as possible."""
        misses_one, misses_both = self._miss_probability(1), self._miss_probability(2)
        total = self._total()
        masses = (misses_one - misses_both, 1 - 2 * misses_one + misses_both, misses_both)
        return five_point(self.eps0, *(float(mass) / total for mass in masses))

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return two dataset pairs: all other users hold a third input, or they hold x₁¹.

        The common matches of any two of the three inputs are as rare as possible.
        """
        return pairs_of_channel(self._rows()[0], self.eps0)

    def crowds(self) -> tuple[Crowd, ...]:
        """Return one crowd that covers any three inputs, or none.

        The extremes of the crowd are those of `_triples`. There is no crowd if its blanket would
        depend on the third input or a mass is too small.
        """
        triples = self._triples()
        # The crowd's own laws are the mean of those in which common matches of the first two inputs
        # are rarest. This mean has mass on every pattern on which one of them has mass.
        least = min(sum(masses[:2]) for masses in triples)
        rarest = [masses for masses in triples if sum(masses[:2]) == least]
        mean = tuple(sum(masses) / Fraction(len(rarest)) for masses in zip(*rarest, strict=True))
        # The blanket's components must not depend on the other user: of two patterns that differ in
        # that user's match alone, both must have mass or neither.
        if any((x == 0) != (y == 0) for x, y in zip(mean[::2], mean[1::2], strict=True)):
            return ()
        crowds = []
        for masses in (mean, *triples):
            crowd = self._crowd(masses)
            if crowd is None:
                return ()
            crowds.append(crowd)
        return (replace(crowds[0], extremes=tuple(crowds[1:])),)

    def _triples(self) -> Sequence[Masses]:
        """Return masses of `PATTERNS` under the fixed law whose mixtures are those of any inputs.

        By default they are the vertices of a polytope: all inputs match equally often, and common
        matches of the first two are at least as frequent as those of `blanket`.
        """
        misses_one, misses_both = self._miss_probability(1), self._miss_probability(2)
        return _vertices(1 - misses_one, 1 - 2 * misses_one + misses_both)

    def _crowd(self, exact_masses: Masses) -> Crowd | None:
        """Return the crowd of masses of `PATTERNS`; None if one would be too small for a float."""
        masses = np.array([float(mass) for mass in exact_masses])
        if ((masses > 0.0) & (masses < SMALLEST_MASS * math.exp(self.eps0))).any():
            return None
        matched = np.array(PATTERNS).T
        blanket = masses / self._total()
        x0, x1, x2 = np.where(matched, math.exp(self.eps0), 1.0) * blanket
        return Crowd.of_laws(x0, x1, blanket, {"any": x2}, PRODUCT_ERR, attained=False)

    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the laws of the inputs, shape (inputs, patterns), and the blanket, (patterns,)."""
        patterns = self._patterns(self._input_count)
        matched = np.array([pattern for pattern, mass in patterns.items() if mass > 0]).T
        masses = np.array([float(mass) for mass in patterns.values() if mass > 0])
        rows = np.where(matched, math.exp(self.eps0), 1.0) * masses / self._total()
        return rows, masses / self._total()

    def _patterns(self, inputs: int) -> dict[tuple[bool, ...], Fraction]:
        """Return the probability under the fixed law that exactly the inputs of a pattern match."""
        probabilities = {}
        for pattern in itertools.product((True, False), repeat=inputs):
            matched = sum(pattern)
            probabilities[pattern] = sum(
                (-1) ** i * math.comb(matched, i) * self._miss_probability(inputs - matched + i)
                for i in range(matched + 1)
            )
        return probabilities

    def _total(self) -> float:
        """Return the mean likelihood, e^{ε₀} for a match and else 1, of the fixed law."""
        miss = self._miss_probability(1)
        return float(1 - miss) * math.exp(self.eps0) + float(miss)


def masses_of_patterns(match: Fraction, common: Masses, in_all: Fraction) -> Masses:
    """Return the masses of `PATTERNS` by inclusion and exclusion.

    An input matches with probability `match`, all three with `in_all`, and the first two, the first
    and the third, the second and the third with those of `common`.
    """
    both, first, second = (x - in_all for x in common)
    alone = [match - in_all - x - y for x, y in ((both, first), (both, second), (first, second))]
    matched = (in_all, both, first, alone[0], second, alone[1], alone[2])
    return (*matched, 1 - sum(matched, Fraction(0)))


def _vertices(match: Fraction, least_both: Fraction) -> list[Masses]:
    """Return the vertices of the polytope of the masses of `PATTERNS`, which sum to 1.

    Every input matches with probability `match`, and the first two inputs both match with
    probability `least_both` or more. There are four cases: both of the first two inputs match, the
    first alone, the second alone, or neither.

    There are two kinds of vertices. If the first two inputs both match as rarely or as often as
    possible, the third one matches always or never in three cases, and `match` determines how often
    it matches in the fourth. Otherwise it matches always or never in all four cases, and `match`
    determines how often the first two inputs both match.
    """
    vertices = set()
    # Whether the third input always matches (1) or never does (0) in each case.
    for matches in itertools.product((0, 1), repeat=4):
        # With these, the third input matches with probability constant + slope * both_mass.
        constant = (matches[1] + matches[2]) * match + matches[3] * (1 - 2 * match)
        slope = matches[0] - matches[1] - matches[2] + matches[3]
        points = [(both_mass, case) for both_mass in (least_both, match) for case in range(4)]
        if slope:
            points.append(((match - constant) / slope, 0))
        for both_mass, free_case in points:
            cases = [both_mass, match - both_mass, match - both_mass, 1 - 2 * match + both_mass]
            third = [x * y for x, y in zip(matches, cases, strict=True)]
            third[free_case] += match - sum(third)
            masses = [m for x, y in zip(third, cases, strict=True) for m in (x, y - x)]
            if both_mass >= least_both and min(masses) >= 0:
                vertices.add(tuple(masses))
    return sorted(vertices)


class _Sets(MatchingRandomizer):
    """A report is a set of ``subset_size`` of the d values, of which the user holds ``items``."""

    domain_size: int
    items: int
    subset_size: int | None

    @property
    def _size(self) -> int:
        """The number of values in a report, which `__post_init__` sets."""
        assert self.subset_size is not None
        return self.subset_size

    @property
    def _input_count(self) -> int:
        """The number of inputs in `dataset_pairs`: 3 if there are three disjoint sets, else 2."""
        return 3 if 3 * self.items <= self.domain_size else 2

    def _miss_probability(self, inputs: int) -> Fraction:
        """See `MatchingRandomizer`."""
        return self._miss_of_values(min(inputs * self.items, self.domain_size))

    def _miss_of_values(self, u: int) -> Fraction:
        """Return C(d − u, k)/C(d, k), the probability that a report has none of u values."""
        return Fraction(
            math.prod(max(self.domain_size - self._size - i, 0) for i in range(u)),
            math.prod(self.domain_size - i for i in range(u)),
        )

    @property
    def bits(self) -> float:
        """The number of bits of one of C(d, k) sets."""
        return bits_of_sets(self.domain_size, self._size)

    def _supports(self) -> Supports:
        """Return the supports: a report supports the values in it.

        Of all sets, a share k/d contains a given value, and a share m contains none of the user's s
        values. Of the latter, a share k/(d − s) contains a given other value.
        """
        miss, total = self._miss_probability(1), Fraction(self._total())
        e = Fraction(math.exp(self.eps0))
        has_value = Fraction(self._size, self.domain_size)
        has_other_value_only = miss * Fraction(self._size, self.domain_size - self.items)
        p = e * has_value / total
        q = (e * (has_value - has_other_value_only) + has_other_value_only) / total
        gap = has_other_value_only * Fraction(math.expm1(self.eps0)) / total
        probabilities = float(p), float(1 - p), float(q), float(gap)
        return Supports(*probabilities, self.domain_size, self.items)

    def _user_values(self, inputs: ArrayLike) -> sampling.IntArray:
        """Return the values of the users, a row for each user."""
        return sampling.checked_values("inputs", inputs, self.domain_size, self.items)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return sets, a row for each user."""
        d, s, k = self.domain_size, self.items, self._size
        # Under the fixed law, the number of the user's values in a set is hypergeometric.
        law = [float(self._miss_probability(1))]
        for i in range(min(s, k)):
            law.append(law[-1] * (s - i) * (k - i) / ((i + 1) * (d - s - k + i + 1)))
        weights = np.array([law[0], *(math.exp(self.eps0) * mass for mass in law[1:])])
        return sampling.sets_with(self._user_values(inputs), d, k, weights / weights.sum(), rng)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports that contain each value."""
        sets = sampling.checked_values("reports", reports, self.domain_size, self._size)
        return np.bincount(sets.ravel(), minlength=self.domain_size)

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y), shape (C(d, s), C(d, k)): sets in lexicographic order.

        Raises ValueError if there are more than 2²⁴ probabilities or more than 1000 values.
        """
        d, sizes = self.domain_size, (self.items, self._size)
        if d > 1000 or math.prod(math.comb(d, size) for size in sizes) > MAX_ENTRIES:
            raise ValueError(
                f"domain_size must leave at most {MAX_ENTRIES} probabilities to "
                f"enumerate, got {d} with sets of {sizes[0]} and {sizes[1]}"
            )
        inputs, outputs = (
            np.array([np.bincount(y, minlength=d) for y in itertools.combinations(range(d), size)])
            for size in sizes
        )
        common = inputs.astype(float) @ outputs.T
        return np.where(common > 0.0, math.exp(self.eps0), 1.0) / (len(outputs) * self._total())


@shares_documentation("eps0")
@dataclass(frozen=True)
class Subset(_Sets):
    """k-subset: a set of k of the d values, e^{ε₀} times as likely if it contains the true value.

    Parameters
    ----------
    domain_size
        d, number of values, 2 to 2⁵³.
    subset_size
        k, 1 (`KRR`) to d − 1. None stands for the customary choice ⌈d/e^{ε₀}⌉, or d − 1 if that is
        smaller; the attribute then has this value.

    Notes
    -----
    Wang et al. 2016; Ye and Barg 2018. Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    >>> R = sb.Subset(np.log(3.0), domain_size=3)
    >>> R.subset_size, R.matrix()[0].round(4).tolist()
    (1, [0.6, 0.2, 0.2])
    """

    # A permutation of the values does not change the mechanism.
    composable = True
    pairs_are_proven = True
    items = 1

    eps0: float
    domain_size: int = field(metadata={"help": "number of values, at least 2"})
    subset_size: int | None = field(
        default=None,
        metadata={
            "help": "values in a report; if left out, domain_size/e^eps0 rounded up",
            "example": 2,
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.values("domain_size", self.domain_size)
        if self.subset_size is None:
            customary = min(math.ceil(d * math.exp(-self.eps0)), d - 1)
            object.__setattr__(self, "subset_size", customary)
        validation.whole("subset_size", self.subset_size, minimum=1, maximum=d - 1)

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of the victim's two values; other users hold one of them or a third."""
        return crowd_of_rows(*self._rows())

    def _user_values(self, inputs: ArrayLike) -> sampling.IntArray:
        """Return the values of the users, one in each row."""
        return sampling.checked_values("inputs", inputs, self.domain_size)[:, np.newaxis]


@shares_documentation("eps0")
@dataclass(frozen=True)
class HadamardBlocks(MatchingRandomizer):
    """HR with B ≥ 2 blocks: some columns of the input's block are e^{ε₀} times as likely.

    There are B blocks of b columns, where b is the smallest power of 2 such that each of the d
    values has its own row in some block: value x has row ⌊x/B⌋ + 1 of the Sylvester matrix of order
    b in block x mod B. The columns in which this row is +1, half of its block, are e^{ε₀} times as
    likely as all others. Values of different blocks, the worst pair, have no common column, and b
    does not matter.

    Parameters
    ----------
    blocks
        B, number of blocks, 2 to 2⁵³. For one block see `HadamardResponse`.
    domain_size
        d, number of values, at least B; None stands for any large number.

    Notes
    -----
    Acharya, Sun and Zhang (AISTATS 2019). Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    >>> sb.HadamardBlocks(np.log(3.0), blocks=2, domain_size=2).matrix().round(4).tolist()
    [[0.5, 0.1667, 0.1667, 0.1667], [0.1667, 0.1667, 0.5, 0.1667]]
    """

    pairs_are_proven = True

    eps0: float
    blocks: int = field(metadata={"help": "number of blocks, at least 2"})
    domain_size: int | None = field(
        default=None,
        metadata={"help": "number of values, no fewer than blocks; if left out, many"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.values("blocks", self.blocks)
        if self.domain_size is not None:
            validation.domain_size(self.domain_size, minimum=self.blocks)

    @property
    def _input_count(self) -> int:
        """3, or 2 if there are only two values."""
        return 2 if self.domain_size == 2 else 3

    @property
    def bits(self) -> float:
        """The number of bits of one of B b columns."""
        if self.domain_size is None:
            return math.inf
        return math.log2(self.blocks) + math.ceil(self.domain_size / self.blocks).bit_length()

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfShares:
        """Return the variances of estimates by signs of columns.

        A column counts 1 for a value in its half of its block, −1 in the other half. Multiplied by
        s = (e + 2B − 1)/(e − 1), the mean is 1 for the user's value, 0 for others. The report lies
        in the user's block with probability (e + 1)/(e + 2B − 1), and in any other block with
        2/(e + 2B − 1). Multiplied by s², these are the mean squares ``same_block`` and
        ``other_block``.
        """
        size, blocks = self.domain_size or math.inf, self.blocks
        # `own_value` is `same_block` − 1, expanded to avoid the cancellation of the 1.
        u = 2.0 / math.expm1(self.eps0)
        t = blocks * u
        same_block, other_block = (1.0 + t) * (1.0 + u), (1.0 + t) * u
        own_value = t + u + t * u
        largest_block = math.ceil(size / blocks) if self.domain_size else math.inf

        def total(block_size: float) -> float:
            """Return the total variance for a user whose value is in a block of this size."""
            outside = size - block_size if self.domain_size else math.inf
            within = (block_size - 1) * same_block if block_size > 1 else 0.0
            return own_value + within + (outside * other_block if outside else 0.0)

        # Every block has the largest size, or one value less.
        small_blocks = blocks * largest_block - size if self.domain_size else 0
        in_large_blocks = size - small_blocks * (largest_block - 1) if small_blocks else size
        totals = [(total(largest_block), in_large_blocks)]
        if small_blocks:
            totals.append((total(largest_block - 1), small_blocks * (largest_block - 1)))

        def at(shares: FloatArray) -> FloatArray:
            """Return the variance of each value if users hold the values with these shares."""
            block = np.arange(shares.size) % blocks
            block_mates = np.bincount(block, shares, minlength=blocks)[block] - shares
            return (
                shares * own_value
                + block_mates * same_block
                + (1.0 - shares - block_mates) * other_block
            )

        other_value = same_block if size > blocks else other_block
        return SpreadOfShares(
            values=size, at=at, own_value=own_value, other_value=other_value, totals=totals
        )

    def _order(self) -> int:
        """Return b, the number of columns of a block."""
        return 2 ** math.ceil(required("domain_size", self.domain_size) / self.blocks).bit_length()

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return numbers of columns, counted block by block."""
        blocks, order = self.blocks, self._order()
        values = sampling.checked_values("inputs", inputs, self.domain_size or 0)
        plus = np.ones(values.size, dtype=bool)
        matching = order * (values % blocks) + sampling.hadamard_columns(
            values // blocks + 1, order, plus, rng
        )
        uniform = rng.integers(order * blocks, size=values.size)
        gap = math.expm1(self.eps0) / (math.exp(self.eps0) + 2.0 * blocks - 1.0)
        return np.where(rng.random(values.size) < gap, matching, uniform)

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the share of each value by the signs of its row."""
        size, blocks, order = self.domain_size or 0, self.blocks, self._order()
        columns = sampling.checked_values("reports", reports, order * blocks)
        counts = np.bincount(columns, minlength=order * blocks).reshape(blocks, order)
        values = np.arange(size)
        scores = sampling.walsh(counts)[values % blocks, values // blocks + 1]
        scale = (math.exp(self.eps0) + 2.0 * blocks - 1.0) / math.expm1(self.eps0)
        return np.asarray(scale * scores / columns.size)

    def _miss_probability(self, inputs: int) -> Fraction:
        """Return the share outside the columns of values in different blocks, half a block each."""
        return 1 - Fraction(inputs, 2 * self.blocks)

    def _patterns(self, inputs: int) -> dict[tuple[bool, ...], Fraction]:
        """See `MatchingRandomizer`; of two blocks, that of the first value has the third one."""
        if inputs < 3 or self.blocks > 2:
            return super()._patterns(inputs)
        match = Fraction(1, 4)
        masses = masses_of_patterns(match, (Fraction(0), match / 2, Fraction(0)), Fraction(0))
        return dict(zip(PATTERNS, masses, strict=True))

    def _triples(self) -> Sequence[Masses]:
        """Return those of all values, by the blocks that they share.

        The rows of one block are orthogonal, and so are three unless one is the product of the
        others. The columns of the product are those that match both rows or neither.
        """
        match, none = Fraction(1, 2 * self.blocks), Fraction(0)
        half, quarter = match / 2, match / 4
        # Common matches of the first two values, each of them and the third, and all three.
        kinds = [
            # Two blocks. The third value is one of the two, or in one of their blocks.
            ((none, match, none), none),
            ((none, none, match), none),
            ((none, half, none), none),
            ((none, none, half), none),
            # One block. The third value is one of the two, any other row, the product, or outside.
            ((half, match, half), half),
            ((half, half, match), half),
            ((half, half, half), quarter),
            ((half, half, half), half),
            ((half, none, none), none),
        ]
        if self.blocks > 2:
            kinds.append(((none, none, none), none))
        return [masses_of_patterns(match, *kind) for kind in kinds]

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y), shape (d, B b); columns are counted block by block.

        Raises ValueError if d is None or if there are more than 2²⁴ probabilities.
        """
        size = self.domain_size or validation.MAX_VALUES
        rows = math.ceil(size / self.blocks)
        order = 2 ** rows.bit_length()
        if size * order * self.blocks > MAX_ENTRIES:
            raise ValueError(
                f"domain_size must leave at most {MAX_ENTRIES} probabilities to enumerate, got "
                f"{self.domain_size!r}"
            )
        block, row = np.arange(size) % self.blocks, np.arange(size) // self.blocks
        columns = np.arange(order * self.blocks)
        plus = np.bitwise_count((row[:, np.newaxis] + 1) & (columns % order)) % 2 == 0
        matched = plus & (block[:, np.newaxis] == columns // order)
        return np.where(matched, math.exp(self.eps0), 1.0) / (columns.size * self._total())


@shares_documentation("eps0")
@dataclass(frozen=True)
class PrivSet(_Sets):
    """PrivSet: a set of k of d items, e^{ε₀} times as likely if it has any of the user's s items.

    The inputs are the sets of s items; users pad their sets to s. The worst pair is two disjoint
    sets or, for 2s > d, two sets that contain all items together.

    Parameters
    ----------
    domain_size
        d, number of items, 2 to 2⁵³.
    items
        s, number of items of a user, 1 to 10 000 and at most d − 1.
    subset_size
        k, number of items in a report, 1 to d − s: larger reports would match every input.

    Notes
    -----
    Wang, Huang, Nie, Wang, Xu and Yang (INFOCOM 2018). Worst pair: docs/proofs/variation-ratio.md,
    section 9.

    Examples
    --------
    >>> sb.PrivSet(np.log(3.0), domain_size=3, items=2, subset_size=1).matrix()[0].round(4).tolist()
    [0.4286, 0.4286, 0.1429]
    """

    pairs_are_proven = True

    eps0: float
    domain_size: int = field(metadata={"help": "number of items, at least 2"})
    items: int = field(metadata={"help": "items of a user, at least 1", "example": 2})
    subset_size: int = field(metadata={"help": "items in a report, at least 1", "example": 2})

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.values("domain_size", self.domain_size)
        # `items` is limited because `_miss_probability` multiplies as many factors.
        validation.whole("items", self.items, minimum=1, maximum=min(d - 1, 10_000))
        validation.whole("subset_size", self.subset_size, minimum=1, maximum=d - self.items)

    def _triples(self) -> Sequence[Masses]:
        """Return those of all sets by their common items, or if these are many, of the polytope."""
        kinds = list(itertools.islice(self._kinds(), _MAX_KINDS_OF_SETS + 1))
        if len(kinds) > _MAX_KINDS_OF_SETS:
            return super()._triples()
        match = 1 - self._miss_of_values(self.items)

        @cache
        def match_both(common: int) -> Fraction:
            return 2 * match - 1 + self._miss_of_values(2 * self.items - common)

        triples = set()
        for numbers, union in kinds:
            common = tuple(match_both(x) for x in numbers)
            in_all = 1 - self._miss_of_values(union) - 3 * match + sum(common)
            triples.add(masses_of_patterns(match, common, in_all))
        return sorted(triples)

    def _kinds(self) -> Iterator[tuple[tuple[int, int, int], int]]:
        """Yield how many items three sets have in common, two by two, and how many altogether.

        The first two sets differ. The pairs are those of `masses_of_patterns`.
        """
        s, d = self.items, self.domain_size
        for both in range(max(0, 2 * s - d), s):
            for in_all in range(both + 1):
                # Items of the third set that no other set has.
                for new in range(min(s - in_all, d - 2 * s + both) + 1):
                    rest = s - in_all - new
                    for first in range(max(0, rest - (s - both)), min(s - both, rest) + 1):
                        common = (both, in_all + first, in_all + rest - first)
                        yield common, 2 * s - both + new
