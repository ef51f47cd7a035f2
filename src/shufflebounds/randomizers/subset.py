"""k-subset mechanism (Wang, Huang, Nie, Xu, Yang, Li, Nie, Chen 2016; Ye and Barg 2018)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.randomizers.base import crowd_of_rows
from shufflebounds.randomizers.matching import MatchingRandomizer

_MOST_OUTPUTS = 20_000


@dataclass(frozen=True)
class Subset(MatchingRandomizer):
    """k-subset: k of the d values, a set with the true one e^{ε₀} times as likely as one without.

    k, or ``subset_size``, runs from 1 (k-ary randomized response) to d − 1. None stands for the
    customary choice ⌈d/e^{ε₀}⌉, or d − 1 if that is less, and the attribute then holds it. Raises
    ValueError unless 0 < ε₀ ≤ 300 and 1 ≤ k < d are integers.
    """

    eps0: float
    composable = True  # the values may change places

    domain_size: int = field(metadata={"help": "number of values, at least 2"})
    subset_size: int | None = field(
        default=None,
        metadata={"help": "values in a report; if left out, domain_size/e^eps0 rounded up"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        if self.subset_size is None:
            customary = min(math.ceil(d * math.exp(-self.eps0)), d - 1)
            object.__setattr__(self, "subset_size", customary)
        validation.whole("subset_size", self.subset_size, minimum=1, maximum=d - 1)

    @property
    def _inputs(self) -> int:
        return min(self.domain_size, 3)

    def _misses(self, inputs: int) -> Fraction:
        """Of the C(d, k) sets."""
        d, k = self.domain_size, self.subset_size
        assert k is not None  # since __post_init__
        return math.prod(
            (Fraction(max(d - k - i, 0), d - i) for i in range(inputs)), start=Fraction(1)
        )

    def crowds(self) -> tuple[Crowd, ...]:
        """Any two values, and any third."""
        return crowd_of_rows(*self._rows())

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (d, C(d, k)): sets in lexicographic order.

        Raises ValueError where there are more than 20 000.
        """
        d, k = self.domain_size, self.subset_size
        assert k is not None  # since __post_init__
        if d > _MOST_OUTPUTS or math.comb(d, k) > _MOST_OUTPUTS:
            raise ValueError(
                "domain_size and subset_size must leave at most "
                f"{_MOST_OUTPUTS} sets to enumerate, got {d} and {k}"
            )
        outputs = math.comb(d, k)
        held = np.zeros((d, outputs), dtype=bool)
        for y, members in enumerate(itertools.combinations(range(d), k)):
            held[list(members), y] = True
        return np.where(held, math.exp(self.eps0), 1.0) / (outputs * self._total())
