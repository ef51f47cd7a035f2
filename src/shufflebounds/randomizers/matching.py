"""Randomizers whose reports match an input or not: the form that many mechanisms share.

A report is drawn from a fixed law, but e^{ε₀} times as likely if it matches the user's input. All
inputs match equally often, and some input fails to match whatever the report is, so that the
blanket is the fixed law times a constant. What two inputs have in common decides how far they lie
apart: moving mass from reports that both match, and as much from those that neither does, to
reports that one of them matches, raises the divergence. For G then takes the values e − ζ and
1 − eζ in place of e(1 − ζ) and 1 − ζ (ζ = e^ε, e = e^{ε₀}), which lie between them and have the
same sum. So the worst pair of inputs is one that matches together as rarely as possible.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import SMALLEST_MASS, FloatArray
from shufflebounds.randomizers import sampling
from shufflebounds.randomizers.accuracy import (
    SpreadOfShares,
    Supports,
    bits_of_sets,
)
from shufflebounds.randomizers.base import (
    Randomizer,
    crowd_of_rows,
    five_point,
    pairs_of_channel,
)
from shufflebounds.randomizers.sampling import required

# What matches x₁⁰, x₁¹ and another input.
_PATTERNS = tuple(itertools.product((True, False), repeat=3))
# A vertex's masses are rounded once, and their total sums to 1 in exact arithmetic.
_SUM_ERR = 2.0**-48


class MatchingRandomizer(Randomizer):
    """A report of the fixed law is e^{ε₀} times as likely if it matches the input.

    `_misses` describes inputs that match together as rarely as possible.
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    @property
    def _inputs(self) -> int:
        """How many `dataset_pairs` compares: x₁⁰, x₁¹ and, if there is one, a third."""
        return 3

    @abstractmethod
    def _misses(self, inputs: int) -> Fraction:
        """Probability under the fixed law that a report matches none of so many inputs."""

    def blanket(self) -> Decomposition:
        """Of two inputs that match together as rarely as possible."""
        one, none = self._misses(1), self._misses(2)
        total = self._total()
        masses = (one - none, 1 - 2 * one + none, none)
        return five_point(self.eps0, *(float(mass) / total for mass in masses))

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The others hold a third input, as far from the two as these from each other, or x₁¹."""
        return pairs_of_channel(self._rows()[0], self.eps0)

    def crowds(self) -> tuple[Crowd, ...]:
        """Of any three inputs, by the vertices of all that their matches may be together.

        The probabilities with which a report of the fixed law matches x₁⁰, x₁¹ and another input
        are eight numbers ≥ 0. Each input matches as often as any other; the first two match
        together as often as those of `blanket` at the least.
        """
        one, two = self._misses(1), self._misses(2)
        vertices = _vertices(1 - one, 1 - 2 * one + two)
        # The mean of those with the least in common has every component that any of them has.
        least = [vertex for vertex in vertices if sum(vertex[:2]) == 1 - 2 * one + two]
        mean = [sum(masses, Fraction(0)) / len(least) for masses in zip(*least, strict=True)]
        # What is taken of the blanket must not depend on the other user: both or none of two
        # components that differ in it alone.
        if any((x == 0) != (y == 0) for x, y in zip(mean[::2], mean[1::2], strict=True)):
            return ()
        found = [self._crowd(vertex) for vertex in (mean, *vertices)]
        known = [crowd for crowd in found if crowd is not None]
        return (replace(known[0], extremes=tuple(known[1:])),) if len(known) == len(found) else ()

    def _crowd(self, vertex: Sequence[Fraction]) -> Crowd | None:
        masses = np.array([float(mass) for mass in vertex])
        if ((masses > 0.0) & (masses < SMALLEST_MASS * math.exp(self.eps0))).any():
            return None
        matched = np.array(_PATTERNS).T
        sure = masses / self._total()
        x0, x1, x2 = np.where(matched, math.exp(self.eps0), 1.0) * sure
        return Crowd.of_laws(x0, x1, sure, {"any": x2}, _SUM_ERR, attained=False)

    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Laws of the inputs by what matches which of them, and the blanket."""
        patterns = self._patterns(self._inputs)
        matched = np.array([pattern for pattern, mass in patterns.items() if mass > 0]).T
        masses = np.array([float(mass) for mass in patterns.values() if mass > 0])
        rows = np.where(matched, math.exp(self.eps0), 1.0) * masses / self._total()
        return rows, masses / self._total()

    def _patterns(self, inputs: int) -> dict[tuple[bool, ...], Fraction]:
        """Probability under the fixed law of each set of inputs to match, and no others."""
        chances = {}
        for pattern in itertools.product((True, False), repeat=inputs):
            matched = sum(pattern)
            chances[pattern] = sum(
                (-1) ** i * math.comb(matched, i) * self._misses(inputs - matched + i)
                for i in range(matched + 1)
            )
        return chances

    def _total(self) -> float:
        """What the likelihoods e^{ε₀} and 1 have to be divided by."""
        miss = self._misses(1)
        return float(1 - miss) * math.exp(self.eps0) + float(miss)


def _vertices(match: Fraction, together: Fraction) -> list[list[Fraction]]:
    """Of the masses of `_PATTERNS` that sum to 1, when every input is matched with probability
    `match` and the first two together with probability `together` or more.

    At a vertex the third input takes all or nothing of what matches both, either or none of the
    first two. It takes what is missing of one of these where they are matched together as rarely or
    as often as possible; else its own probability tells how often they are.
    """
    found = set()
    for full in itertools.product((0, 1), repeat=4):
        alone = (full[1] + full[2]) * match + full[3] * (1 - 2 * match)
        slope = full[0] - full[1] - full[2] + full[3]
        tried = [(t, free) for t in (together, match) for free in range(4)]
        if slope:
            tried.append(((match - alone) / slope, 0))
        for both, free in tried:
            held = [both, match - both, match - both, 1 - 2 * match + both]
            taken = [x * y for x, y in zip(full, held, strict=True)]
            taken[free] += match - sum(taken)
            masses = [m for x, y in zip(taken, held, strict=True) for m in (x, y - x)]
            if both >= together and min(masses) >= 0:
                found.add(tuple(masses))
    return [list(vertex) for vertex in sorted(found)]


# Sets: of k values, e^{ε₀} times as likely if they hold one of the user's.

_MOST_ENTRIES = 10**7


class _Sets(MatchingRandomizer):
    """A report is a set of ``subset_size`` of the d values, of which the user holds ``items``."""

    domain_size: int
    items: int
    subset_size: int | None

    @property
    def _size(self) -> int:
        assert self.subset_size is not None  # since __post_init__
        return self.subset_size

    @property
    def _inputs(self) -> int:
        return 3 if 3 * self.items <= self.domain_size else 2

    def _misses(self, inputs: int) -> Fraction:
        """C(d − u, k)/C(d, k) for inputs of u values altogether."""
        taken = min(inputs * self.items, self.domain_size)
        return Fraction(
            math.prod(max(self.domain_size - self._size - i, 0) for i in range(taken)),
            math.prod(self.domain_size - i for i in range(taken)),
        )

    @property
    def bits(self) -> float:
        """Of one of C(d, k) sets."""
        return bits_of_sets(self.domain_size, self._size)

    def _supports(self) -> Supports:
        """A report supports the values in it.

        Of all sets k/d hold a value. It is another user's in a share m k/(d − s) of the sets that
        miss all of the user's s values, which are a share m of all.
        """
        miss, total = self._misses(1), Fraction(self._total())
        e = Fraction(math.exp(self.eps0))
        held = Fraction(self._size, self.domain_size)
        apart = miss * Fraction(self._size, self.domain_size - self.items)
        p = e * held / total
        q = (e * (held - apart) + apart) / total
        gap = apart * Fraction(math.expm1(self.eps0)) / total
        chances = float(p), float(1 - p), float(q), float(gap)
        return Supports(*chances, self.domain_size, self.items)

    def _held(self, inputs: ArrayLike) -> sampling.IntArray:
        """The values that users hold, a row a user."""
        return sampling.checked_values("inputs", inputs, self.domain_size, self.items)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Sets, a row a user."""
        d, s, k = self.domain_size, self.items, self._size
        # How many of the user's values are in a set, if all sets are equally likely.
        law = [float(self._misses(1))]
        for i in range(min(s, k)):
            law.append(law[-1] * (s - i) * (k - i) / ((i + 1) * (d - s - k + i + 1)))
        hits = np.array([law[0], *(math.exp(self.eps0) * mass for mass in law[1:])])
        return sampling.sets_with(self._held(inputs), d, k, hits / hits.sum(), rng)

    def _supporters(self, reports: NDArray) -> NDArray:
        found = sampling.checked_values("reports", reports, self.domain_size, self._size)
        return np.bincount(found.ravel(), minlength=self.domain_size)

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (C(d, s), C(d, k)): sets in lexicographic order.

        Raises ValueError where there are more than 10⁷.
        """
        d, sizes = self.domain_size, (self.items, self._size)
        if d > 1000 or math.prod(math.comb(d, size) for size in sizes) > _MOST_ENTRIES:
            raise ValueError(
                f"domain_size must leave at most {_MOST_ENTRIES} probabilities to enumerate, got "
                f"{d} with sets of {sizes[0]} and {sizes[1]}"
            )
        held, sent = (
            np.array([np.bincount(y, minlength=d) for y in itertools.combinations(range(d), size)])
            for size in sizes
        )
        together = held.astype(float) @ sent.T
        return np.where(together > 0.0, math.exp(self.eps0), 1.0) / (len(sent) * self._total())


# k-subset mechanism (Wang, Huang, Nie, Xu, Yang, Li, Nie, Chen 2016; Ye and Barg 2018).


@dataclass(frozen=True)
class Subset(_Sets):
    """k-subset: k of the d values, a set with the true one e^{ε₀} times as likely as one without.

    Parameters
    ----------
    eps0
        Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.
    domain_size
        d, number of values, 2 to 2⁵³.
    subset_size
        k, 1 (`KRR`) to d − 1. None stands for the customary choice ⌈d/e^{ε₀}⌉, or d − 1 if that is
        less, and the attribute then holds it.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Wang et al. 2016; Ye and Barg 2018. Worst pair: docs/variation-ratio.md, section 9.

    Examples
    --------
    >>> R = sb.Subset(np.log(3.0), domain_size=3)
    >>> R.subset_size, R.matrix()[0].round(4).tolist()
    (1, [0.6, 0.2, 0.2])
    """

    composable = True  # the values may change places
    items = 1

    eps0: float
    domain_size: int = field(metadata={"help": "number of values, at least 2"})
    subset_size: int | None = field(
        default=None,
        metadata={"help": "values in a report; if left out, domain_size/e^eps0 rounded up"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        if self.subset_size is None:
            customary = min(math.ceil(d * math.exp(-self.eps0)), d - 1)
            object.__setattr__(self, "subset_size", customary)
        validation.whole("subset_size", self.subset_size, minimum=1, maximum=d - 1)

    def crowds(self) -> tuple[Crowd, ...]:
        """Any two values, and any third."""
        return crowd_of_rows(*self._rows())

    def _held(self, inputs: ArrayLike) -> sampling.IntArray:
        return sampling.checked_values("inputs", inputs, self.domain_size)[:, np.newaxis]


# Hadamard response with blocks (Acharya, Sun and Zhang, AISTATS 2019).

_MOST_COLUMNS = 4096


@dataclass(frozen=True)
class HadamardBlocks(MatchingRandomizer):
    """HR with B ≥ 2 blocks: a column of the input's block, or any, as its Hadamard matrix says.

    There are B blocks of b columns, b the least power of 2 that gives each of the d values a row of
    its own in some block: value x has row ⌊x/B⌋ + 1 of the Sylvester matrix of order b in block x
    mod B. The columns where it holds +1, half of its block, are e^{ε₀} times as likely as all
    others. Values of different blocks, the worst pair, have none in common, and b does not matter.

    Parameters
    ----------
    eps0
        Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.
    blocks
        B, number of blocks, 2 to 2⁵³. For one block see `HadamardResponse`.
    domain_size
        d, number of values, at least B; None stands for many, however many.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Acharya, Sun and Zhang (AISTATS 2019). Worst pair: docs/variation-ratio.md, section 9.

    Examples
    --------
    >>> sb.HadamardBlocks(np.log(3.0), blocks=2, domain_size=2).matrix().round(4).tolist()
    [[0.5, 0.1667, 0.1667, 0.1667], [0.1667, 0.1667, 0.5, 0.1667]]
    """

    eps0: float
    blocks: int = field(metadata={"help": "number of blocks, at least 2"})
    domain_size: int | None = field(
        default=None,
        metadata={"help": "number of values, no fewer than blocks; if left out, many"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.whole("blocks", self.blocks, minimum=2, maximum=2**53)
        if self.domain_size is not None:
            validation.whole("domain_size", self.domain_size, minimum=self.blocks)

    @property
    def _inputs(self) -> int:
        return min(self.blocks, 3)

    @property
    def bits(self) -> float:
        """Of one of B b columns."""
        if self.domain_size is None:
            return math.inf
        return math.log2(self.blocks) + math.ceil(self.domain_size / self.blocks).bit_length()

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfShares:
        """Of columns that count 1 for a value in its half of its block, −1 in the other half.

        Times s = (e + 2B − 1)/(e − 1) that has the mean 1 for the user's own value, 0 for others.
        Blocks are (e + 1)/(e + 2B − 1) and 2/(e + 2B − 1) of the reports: s² times that are the
        mean squares ``here`` and ``elsewhere``.
        """
        size, blocks = self.domain_size or math.inf, self.blocks
        # Of the reciprocals of chances, all but 1; what is left of 1 would cancel.
        u = 2.0 / math.expm1(self.eps0)
        t = blocks * u
        here, elsewhere = (1.0 + t) * (1.0 + u), (1.0 + t) * u
        held = t + u + t * u
        most = math.ceil(size / blocks) if self.domain_size else math.inf

        def total(block: float) -> float:
            """Of a user whose value is in a block of this size."""
            rest = size - block if self.domain_size else math.inf
            within = (block - 1) * here if block > 1 else 0.0
            return held + within + (rest * elsewhere if rest else 0.0)

        # Blocks have `most` values, or one fewer.
        smaller = blocks * most - size if self.domain_size else 0
        totals = [(total(most), size - smaller * (most - 1) if smaller else size)]
        totals += [(total(most - 1), smaller * (most - 1))] if smaller else []

        def at(shares: FloatArray) -> FloatArray:
            block = np.arange(shares.size) % blocks
            others = np.bincount(block, shares, minlength=blocks)[block] - shares
            return shares * held + others * here + (1.0 - shares - others) * elsewhere

        other = here if size > blocks else elsewhere
        return SpreadOfShares(values=size, at=at, own_value=held, other_value=other, totals=totals)

    def _order(self) -> int:
        """b, the columns of a block."""
        return 2 ** math.ceil(required("domain_size", self.domain_size) / self.blocks).bit_length()

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Columns, by number, block by block."""
        blocks, order = self.blocks, self._order()
        held = sampling.checked_values("inputs", inputs, self.domain_size or 0)
        plus = np.ones(held.size, dtype=bool)
        own = order * (held % blocks) + sampling.columns(held // blocks + 1, order, plus, rng)
        reports = rng.integers(order * blocks, size=held.size)
        gap = math.expm1(self.eps0) / (math.exp(self.eps0) + 2.0 * blocks - 1.0)
        return np.where(rng.random(held.size) < gap, own, reports)

    def _estimate(self, reports: NDArray) -> FloatArray:
        size, blocks, order = self.domain_size or 0, self.blocks, self._order()
        found = sampling.checked_values("reports", reports, order * blocks)
        counts = np.bincount(found, minlength=order * blocks).reshape(blocks, order)
        values = np.arange(size)
        scores = sampling.walsh(counts)[values % blocks, values // blocks + 1]
        scale = (math.exp(self.eps0) + 2.0 * blocks - 1.0) / math.expm1(self.eps0)
        return np.asarray(scale * scores / found.size)

    def _misses(self, inputs: int) -> Fraction:
        """Outside the half blocks of values in different blocks."""
        return 1 - Fraction(inputs, 2 * self.blocks)

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (d, B b): rows are inputs, columns outputs, block by block.

        Raises ValueError where d is None or there are more than 4096 columns.
        """
        size = self.domain_size or 2**53
        rows = math.ceil(size / self.blocks)
        order = 2 ** rows.bit_length()
        if order * self.blocks > _MOST_COLUMNS:
            raise ValueError(
                f"domain_size must leave at most {_MOST_COLUMNS} columns to enumerate, got "
                f"{self.domain_size!r}"
            )
        block, row = np.arange(size) % self.blocks, np.arange(size) // self.blocks
        columns = np.arange(order * self.blocks)
        plus = np.bitwise_count((row[:, np.newaxis] + 1) & (columns % order)) % 2 == 0
        matched = plus & (block[:, np.newaxis] == columns // order)
        return np.where(matched, math.exp(self.eps0), 1.0) / (columns.size * self._total())


# PrivSet for set-valued data (Wang, Huang, Nie, Wang, Xu and Yang, INFOCOM 2018).


@dataclass(frozen=True)
class PrivSet(_Sets):
    """PrivSet: k of d items, a set that holds one of the user's s items e^{ε₀} times as likely.

    The inputs are the sets of s items (users pad theirs to s). Two disjoint ones are the worst pair
    or, for 2s > d, two that make up the whole.

    Parameters
    ----------
    eps0
        Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.
    domain_size
        d, number of items, 2 to 2⁵³.
    items
        s, items of a user, 1 to 10 000 and at most d − 1.
    subset_size
        k, items in a report, 1 to d − s: beyond, a report would match every input.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Wang, Huang, Nie, Wang, Xu and Yang (INFOCOM 2018). Worst pair: docs/variation-ratio.md, section
    9.

    Examples
    --------
    >>> sb.PrivSet(np.log(3.0), domain_size=3, items=2, subset_size=1).matrix()[0].round(4).tolist()
    [0.4286, 0.4286, 0.1429]
    """

    eps0: float
    domain_size: int = field(metadata={"help": "number of items, at least 2"})
    items: int = field(metadata={"help": "items of a user, at least 1"})
    subset_size: int = field(metadata={"help": "items in a report, at least 1"})

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        # Products below have as many factors.
        validation.whole("items", self.items, minimum=1, maximum=min(d - 1, 10_000))
        validation.whole("subset_size", self.subset_size, minimum=1, maximum=d - self.items)
