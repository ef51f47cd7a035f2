"""PrivSet for set-valued data (Wang, Huang, Nie, Wang, Xu and Yang, INFOCOM 2018)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.randomizers.matching import MatchingRandomizer

_MOST_ENTRIES = 1_000_000


@dataclass(frozen=True)
class PrivSet(MatchingRandomizer):
    """PrivSet: k of d items, a set that holds one of the user's s items e^{ε₀} times as likely.

    The inputs are the sets of s items (users pad theirs to s). Two disjoint ones are the worst pair
    or, for 2s > d, two that make up the whole.

    d is ``domain_size``, s ``items`` and k ``subset_size``. Raises ValueError unless 0 < ε₀ ≤ 300
    and they are positive integers with s + k ≤ d: beyond, a report would match every input.
    """

    eps0: float
    domain_size: int = field(metadata={"help": "number of items, at least 2"})
    items: int = field(metadata={"help": "items of a user, at least 1"})
    subset_size: int = field(metadata={"help": "items in a report, at least 1"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        # Products below have as many factors.
        validation.whole("items", self.items, minimum=1, maximum=min(d - 1, 10_000))
        validation.whole("subset_size", self.subset_size, minimum=1, maximum=d - self.items)

    @property
    def _inputs(self) -> int:
        return 3 if 3 * self.items <= self.domain_size else 2

    def _misses(self, inputs: int) -> Fraction:
        """C(d − u, k)/C(d, k) for inputs of u items altogether."""
        taken = min(inputs * self.items, self.domain_size)
        return Fraction(
            math.prod(max(self.domain_size - self.subset_size - i, 0) for i in range(taken)),
            math.prod(self.domain_size - i for i in range(taken)),
        )

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (C(d, s), C(d, k)): sets in lexicographic order.

        Raises ValueError where there are more than a million.
        """
        sizes, d = (self.items, self.subset_size), self.domain_size
        if d > 1000 or math.prod(math.comb(d, size) for size in sizes) > _MOST_ENTRIES:
            raise ValueError(
                f"domain_size must leave at most {_MOST_ENTRIES} probabilities to enumerate, "
                f"got {d}"
            )
        held, sent = (
            [set(members) for members in itertools.combinations(range(d), size)] for size in sizes
        )
        matched = np.array([[not x.isdisjoint(y) for y in sent] for x in held])
        return np.where(matched, math.exp(self.eps0), 1.0) / (len(sent) * self._total())
