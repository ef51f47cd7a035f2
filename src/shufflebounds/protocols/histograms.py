"""Protocols of several histograms or sums.

- Range queries by hierarchical histograms: Cormode, Kulkarni and Srivastava, PVLDB 2019.
- Decision trees from shuffled histograms: Wang et al., Appl. Sci. 15(3), 2025, Section 8.2.
- Sums of noisy bit vectors, of which secure aggregation reveals the sum of every coordinate alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition, parallel
from shufflebounds.core.products import FloatArray
from shufflebounds.protocols.messages import BallsIntoBins
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer, crowd_of_rows
from shufflebounds.randomizers.bit_vectors import OUE, RAPPOR, BitVectorRandomizer
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.subjects.base import (
    ANY_AIM,
    Aim,
    GivenSource,
    InfeasibleError,
    Shuffle,
    Source,
    Subject,
)
from shufflebounds.subjects.observation import MESSAGES, SUMS, Observation
from shufflebounds.subjects.reports import source_of

# Largest height of a decision tree, whose last level has 2^height categories.
_MAX_HEIGHT = 40
# Mechanisms that make bit vectors, by name.
_BIT_VECTORS = {"rappor": RAPPOR, "oue": OUE}


@dataclass(frozen=True)
class HierarchicalHistogram(Subject):
    """A user draws one of log₂ d levels and sends its node there by randomized response.

    Levels are equally likely and have 2, 4, …, d nodes, each of which is half of a node above it.
    Inputs in different halves differ on all levels and are the worst (docs/proofs/engine.md,
    section 10), so that all pairs of inputs are covered. Raises ValueError unless 0 < ε₀ ≤ 300 and
    ``domain_size``, d, is a power of 2, at least 2.
    """

    eps0: float
    domain_size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        d = validation.values("domain_size", self.domain_size)
        if d.bit_count() != 1:
            raise ValueError(f"domain_size must be a power of 2, got {d}")

    @cached_property
    def source(self) -> Source:
        """What one report tells: the parallel composition of the levels.

        In the pairs of datasets, the others hold x₁¹, or a third value in its half, not its
        quarter.
        """
        levels = [KRR(2 ** (i + 1), self.eps0) for i in range(self.domain_size.bit_length() - 1)]
        share = 1.0 / len(levels)
        pairs = [level.dataset_pairs() for level in levels]
        return GivenSource(
            {"": parallel([(share, level.blanket()) for level in levels])},
            {
                name: parallel([(share, pair.get(name, pair["x1"])) for pair in pairs])
                for name in (("third", "x1") if len(levels) > 1 else ("x1",))
            },
            self.eps0,
            self,
        )

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [Shuffle(self.source, n)]


@dataclass(frozen=True)
class SeparateHistograms(Subject):
    """The same queries without sampling: each level has its own share of the users.

    ⌊n/log₂ d⌋ users report on a level of ``nodes`` nodes by randomized response, and only they hide
    each other. The bounds cover the users of that level. The bounds of the level of 2 nodes cover
    all users: its blanket is the stronger clone, which bounds every randomizer with this ε₀. n
    counts the users of all levels. Raises ValueError unless 0 < ε₀ ≤ 300, ``domain_size`` d is a
    power of 2, at least 2, and ``nodes`` a power of 2 from 2 to d.
    """

    eps0: float
    domain_size: int
    nodes: int = 2

    def __post_init__(self) -> None:
        HierarchicalHistogram(self.eps0, self.domain_size)
        nodes = validation.whole("nodes", self.nodes, minimum=2, maximum=self.domain_size)
        if nodes.bit_count() != 1:
            raise ValueError(f"nodes must be a power of 2, got {nodes}")

    @property
    def covered(self) -> str:
        """The users of the level; empty for the level of 2 nodes."""
        return "" if self.nodes == 2 else f"users who report on the level of {self.nodes} nodes"

    @property
    def caveat(self) -> str:
        """A sentence that says which number of nodes covers all users."""
        covers_all = "nodes = 2 has answers that cover all users"
        return f"These answers cover {self.covered} only: {covers_all}." if self.covered else ""

    @cached_property
    def source(self) -> Source:
        """What one report tells: randomized response of the level's nodes."""
        response = KRR(self.nodes, self.eps0)
        return GivenSource({"": response.blanket()}, response.dataset_pairs(), self.eps0, self)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [Shuffle(self.source, self.draws(n))]

    def draws(self, n: int) -> int:
        """Return the number of users of one level; raise `InfeasibleError` if it is 0."""
        users = validation.users(n) // (self.domain_size.bit_length() - 1)
        if not users:
            raise InfeasibleError(
                f"n must leave a user for each level of {self.domain_size}, got {n}"
            )
        return users


@dataclass(frozen=True)
class DecisionTrees(Subject):
    """``trees`` trees of ``height`` levels, one after the other, over binary ``attributes``.

    At level h = 0, 1, …, each of the d − h remaining attributes is counted in all 2^h nodes by one
    histogram of 2^{h+1} categories. In each of these queries every user sends one message of its
    category and ``messages`` − 1 uniform messages. Raises ValueError unless the height is 1 to 40,
    there are at least as many attributes, at least 2 messages and 1 tree.
    """

    height: int
    attributes: int
    messages: int
    trees: int = 1
    # A single message gives its category away.
    eps0: ClassVar[None] = None  # type: ignore[misc]
    seen: ClassVar[Observation] = MESSAGES

    def __post_init__(self) -> None:
        validation.whole("height", self.height, minimum=1, maximum=_MAX_HEIGHT)
        validation.whole("attributes", self.attributes, minimum=self.height)
        validation.whole("messages", self.messages, minimum=2)
        validation.whole("trees", self.trees, minimum=1)

    @cached_property
    def queries(self) -> list[tuple[BallsIntoBins, int]]:
        """A query of each level, and how many such there are."""
        return [
            (
                BallsIntoBins(bins=2 ** (level + 1), blankets=self.messages - 1),
                self.trees * (self.attributes - level),
            )
            for level in range(self.height)
        ]

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Return the queries of each level."""
        return [
            shuffle._replace(times=times)
            for query, times in self.queries
            for shuffle in query.shuffles(n)
        ]


@dataclass(frozen=True)
class CoordinateSums(Subject):
    """Users send bit vectors by RAPPOR or OUE, and the observer sees the sum of each coordinate.

    Given all values, the bits are independent of each other, and so are the sums. If the victim's
    value x₁¹ replaces x₁⁰, only the sums of these two coordinates change their laws. Each of them
    is a shuffle of one noisy bit per user, and ``parts`` are both shuffles
    (docs/proofs/aggregation.md). ε₀ of ``randomizer`` is that of a whole vector.

    Raises ValueError for a randomizer that does not make bit vectors.
    """

    randomizer: BitVectorRandomizer
    seen: ClassVar[Observation] = SUMS

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, BitVectorRandomizer):
            raise ValueError(
                "randomizer must make bit vectors, such as RAPPOR(eps0=2.0) or OUE(eps0=2.0), "
                f"got {self.randomizer!r}"
            )

    @property
    def eps0(self) -> float:  # type: ignore[override]
        """ε₀ of a whole vector."""
        return self.randomizer.eps0

    @property
    def caveat(self) -> str:
        """An assumption of the lower bound, if the number of values is left out."""
        if self.randomizer.domain_size is not None:
            return ""
        return "The lower bound holds for three values or more: for two, set domain_size to 2."

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Return the sums of both coordinates; in both, the others hold the same value."""
        bit = Bit(self.randomizer)
        return [
            Shuffle(source_of(bit), n, pairs=list(pairs.items()), order=order)
            for order, pairs in enumerate((bit.dataset_pairs(), bit.dataset_pairs_of_x1()))
        ]


@dataclass(frozen=True)
class Bit(Randomizer):
    """The bit of the coordinate x₁⁰, which tells whether the value is that one."""

    vector: BitVectorRandomizer

    @property
    def eps0(self) -> float:  # type: ignore[override]
        """ε₀ of the whole vector, which is larger than that of a bit."""
        return self.vector.eps0

    def blanket(self) -> Decomposition:
        """Return the blanket: every other user's bit has one of the victim's two laws."""
        return _bit_bounds(self.vector)[0]

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowds: any number of the others may hold the value of the coordinate."""
        return _bit_bounds(self.vector)[1]

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs whose others hold a third value, if there is one, or x₁¹."""
        true_law, false_law = _bit_laws(self.vector)
        return self._pairs_among(true_law, false_law, {"third": false_law, "x1": false_law})

    def dataset_pairs_of_x1(self) -> dict[str, Decomposition]:
        """Return the pairs of the same datasets for the bit of the coordinate x₁¹."""
        true_law, false_law = _bit_laws(self.vector)
        return self._pairs_among(false_law, true_law, {"third": false_law, "x1": true_law})

    def _pairs_among(
        self, a: FloatArray, b: FloatArray, laws: dict[str, FloatArray]
    ) -> dict[str, Decomposition]:
        """Return the pairs of a and b among others with the laws, if there is such a value."""
        if self.vector.domain_size == 2:
            laws = {"x1": laws["x1"]}
        return {name: Decomposition(a, b, c, CLOSED_FORM_ERR) for name, c in laws.items()}


def _bit_laws(vector: BitVectorRandomizer) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of 1 and 0 for the bit of the user's value, and of another one."""
    e, odds = math.exp(vector.eps0), vector.odds
    return np.array([e, odds]) / (odds + e), np.array([1.0, odds]) / (1.0 + odds)


@cache
def _bit_bounds(vector: BitVectorRandomizer) -> tuple[Decomposition, tuple[Crowd, ...]]:
    """Return the blanket and the crowds of a bit of the coordinate x₁⁰.

    Those of x₁¹ have the victim's inputs exchanged. No dataset attains both: a user who holds the
    value of a coordinate does not hold the other one.
    """
    true_law, false_law = _bit_laws(vector)
    rows, c = np.stack([true_law, false_law]), np.minimum(true_law, false_law)
    blanket = Decomposition(true_law, false_law, c, CLOSED_FORM_ERR)
    return blanket, tuple(
        replace(crowd, symmetric=isinstance(vector, RAPPOR), attained=False)
        for crowd in crowd_of_rows(rows, c)
    )


def coordinate_sums(bits: str, eps0: float, domain_size: int | None = None) -> CoordinateSums:
    """Return the sums of vectors by ``rappor`` or ``oue``, with ε₀ of a whole vector.

    Raises ValueError for another name, and for arguments that these refuse.
    """
    make = _BIT_VECTORS[validation.choice("bits", bits, _BIT_VECTORS)]
    return CoordinateSums(make(eps0, domain_size))
