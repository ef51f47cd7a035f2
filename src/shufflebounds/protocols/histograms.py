"""Range queries by hierarchical histograms (Cormode, Kulkarni and Srivastava, PVLDB 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition, parallel
from shufflebounds.core.products import FloatArray
from shufflebounds.protocols.base import Candidate, InfeasibleError, Protocol, Shuffles
from shufflebounds.protocols.messages import BallsIntoBins
from shufflebounds.randomizers.base import CLOSED_FORM_ERR
from shufflebounds.randomizers.bit_vectors import OUE, RAPPOR, BitVectorRandomizer
from shufflebounds.randomizers.discrete import KRR


@dataclass(frozen=True)
class HierarchicalHistogram(Protocol):
    """A user draws one of log₂ d levels and sends its node there by randomized response.

    Levels are equally likely, and have 2, 4, …, d nodes, each the half of one above it. Inputs in
    different halves differ on all levels and are the worst (docs/engine.md, section 10), so that
    all pairs of inputs are covered. Raises ValueError unless
    0 < ε₀ ≤ 300 and ``domain_size``, d, is a power of 2, at least 2.
    """

    eps0: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        if d.bit_count() != 1:
            raise ValueError(f"domain_size must be a power of 2, got {d}")

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """The parallel composition of the levels."""
        levels = self.domain_size.bit_length() - 1
        parts = [KRR(2 ** (level + 1), self.eps0).blanket() for level in range(levels)]
        return (Candidate(parallel([(1.0 / levels, part) for part in parts])),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The others hold x₁¹, or a third value that shares a half with it and nothing else."""
        levels = [
            KRR(2 ** (level + 1), self.eps0).dataset_pairs()
            for level in range(self.domain_size.bit_length() - 1)
        ]
        return tuple(
            Candidate(
                parallel([(1.0 / len(levels), level.get(name, level["x1"])) for level in levels]),
                others=name,
            )
            for name in (("third", "x1") if len(levels) > 1 else ("x1",))
        )


@dataclass(frozen=True)
class SeparateHistograms(Protocol):
    """The same queries without sampling: each level is asked of its own share of the users.

    ⌊n/log₂ d⌋ users report on a level of ``nodes`` nodes by randomized response, and only they hide
    each other. The level of 2 nodes is the worst, and all that you can claim for the users as a
    whole; that of d is the best. n counts the users of all levels. Raises ValueError unless
    0 < ε₀ ≤ 300, ``domain_size`` d is a power of 2, at least 2, and ``nodes`` a power of 2 from 2
    to d.
    """

    eps0: float
    domain_size: int
    nodes: int = 2

    def __post_init__(self) -> None:
        HierarchicalHistogram(self.eps0, self.domain_size)
        nodes = validation.whole("nodes", self.nodes, minimum=2, maximum=self.domain_size)
        if nodes.bit_count() != 1:
            raise ValueError(f"nodes must be a power of 2, got {nodes}")

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """The randomized response of that level."""
        return (Candidate(KRR(self.nodes, self.eps0).blanket()),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The others of that level hold a third node, or the victim's second one."""
        pairs = KRR(self.nodes, self.eps0).dataset_pairs()
        return tuple(Candidate(pair, others=name) for name, pair in pairs.items())

    def draws(self, n: int) -> int:
        """Users of one level; `InfeasibleError` where there is none."""
        users = validation.users(n) // (self.domain_size.bit_length() - 1)
        if not users:
            raise InfeasibleError(
                f"n must leave a user for each level of {self.domain_size}, got {n}"
            )
        return users


# Decision trees from shuffled histograms (Wang et al., Appl. Sci. 15(3), 2025, Section 8.2).

# 2^{h+1} categories have to fit.
_HIGHEST = 40


@dataclass(frozen=True)
class DecisionTrees(Protocol):
    """``trees`` trees of ``height`` levels, one after the other, over binary ``attributes``.

    At level h = 0, 1, …, each of the attributes that are left, d − h of them, is counted in all 2^h
    nodes by one histogram of 2^{h+1} categories: a query, in which all users take part with one
    message of their own category and ``messages`` − 1 uniform ones. Raises ValueError unless the
    height is 1 to 40, there are at least as many attributes, at least 2 messages and 1 tree.
    """

    height: int
    attributes: int
    messages: int
    trees: int = 1
    eps0: ClassVar[None] = None  # type: ignore[misc] # a single message gives its category away

    def __post_init__(self) -> None:
        validation.whole("height", self.height, minimum=1, maximum=_HIGHEST)
        validation.whole("attributes", self.attributes, minimum=self.height)
        validation.whole("messages", self.messages, minimum=2)
        validation.whole("trees", self.trees, minimum=1)

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Those of the parts."""
        raise TypeError("trees take several shuffles: ask their parts")

    def parts(self, n: int) -> tuple[Shuffles, ...]:
        """The queries of each level."""
        return tuple(
            Shuffles(
                BallsIntoBins(bins=2 ** (level + 1), blankets=self.messages - 1),
                n,
                self.trees * (self.attributes - level),
            )
            for level in range(self.height)
        )


# Noisy bit vectors of which only the sum of every coordinate is revealed (secure aggregation).

_BITS = {"rappor": RAPPOR, "oue": OUE}
# A decomposition, the number of users, and how often.
Rounds: TypeAlias = tuple[Decomposition, int, int]


@dataclass(frozen=True)
class CoordinateSums(Protocol):
    """Users send bit vectors, as RAPPOR or OUE make them, and how many ones each bit had is seen.

    Given all values, bits are independent of each other, so that the sums are. Where the victim
    holds x₁⁰ or x₁¹, two of them differ in law: that of the bit of x₁⁰, and that of x₁¹ with both
    laws exchanged. Either is a shuffle of a binary randomizer, and ``parts`` are both of them
    (docs/aggregation.md). ε₀ of ``randomizer`` is that of a whole vector.

    Raises ValueError for a randomizer that does not make bit vectors.
    """

    randomizer: BitVectorRandomizer

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, BitVectorRandomizer):
            raise ValueError(
                "randomizer must make bit vectors, such as RAPPOR(eps0=2.0) or OUE(eps0=2.0), "
                f"got {self.randomizer!r}"
            )

    @property
    def eps0(self) -> float:  # type: ignore[override]
        """That of a whole vector."""
        return self.randomizer.eps0

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Those of the parts."""
        raise TypeError("the sums are several shuffles: ask their parts")

    def parts(self, n: int) -> tuple[Shuffles, ...]:
        """The sums of the coordinates x₁⁰ and x₁¹."""
        return tuple(Shuffles(_Coordinate(self.randomizer, i), n, 1) for i in (0, 1))

    def upper_rounds(self, n: int, rounds: int = 1) -> list[Rounds]:
        """What bounds `rounds` aggregations of n users from above, as `compose` takes it."""
        upper = (part.protocol.upper_candidates()[0] for part in self.parts(n))
        return [(one.decomposition, n, rounds) for one in upper]

    def lower_rounds(self, n: int, rounds: int = 1) -> dict[str, list[Rounds]]:
        """What is attained by what all others hold: ``third``, if there is one, or ``x1``."""
        first, second = (part.protocol.lower_candidates() for part in self.parts(n))
        return {
            two.others: [(one.decomposition, n, rounds) for one in (first[0], two)]
            for two in second
        }


@dataclass(frozen=True)
class _Coordinate(Protocol):
    """The sum of the bit of x₁⁰ (``index`` 0) or of x₁¹ (1)."""

    randomizer: BitVectorRandomizer
    index: int

    @property
    def eps0(self) -> float:  # type: ignore[override]
        """More than that of a bit."""
        return self.randomizer.eps0

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Every other user's bit has one of the two laws that the victim's may have."""
        own, other = self._laws()
        return (Candidate(self._pair(np.minimum(own, other))),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """All others hold a third value, or x₁¹; in the first coordinate both look alike."""
        own, other = self._laws()
        third = (Candidate(self._pair(other), "", "third"),)
        if self.index == 0:
            return third
        x1 = (Candidate(self._pair(own), "", "x1"),)
        return x1 if self.randomizer.domain_size == 2 else third + x1

    def _pair(self, c: FloatArray) -> Decomposition:
        own, other = self._laws()
        a, b = (own, other) if self.index == 0 else (other, own)
        return Decomposition(a, b, c, rel_err=CLOSED_FORM_ERR)

    def _laws(self) -> tuple[FloatArray, FloatArray]:
        """Of a bit, (1, 0): of the user's own value, and of another one."""
        e, odds = math.exp(self.randomizer.eps0), self.randomizer.odds
        return np.array([e, odds]) / (odds + e), np.array([1.0, odds]) / (1.0 + odds)


def coordinate_sums(bits: str, eps0: float, domain_size: int | None = None) -> CoordinateSums:
    """Of vectors of ``rappor`` or ``oue``, with ε₀ of a whole vector.

    Raises ValueError for another name, and for what these refuse.
    """
    return CoordinateSums(_BITS[validation.choice("bits", bits, _BITS)](eps0, domain_size))
