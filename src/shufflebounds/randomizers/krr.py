"""k-ary randomized response (Warner 1965)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer, crowd_of_rows, five_point, pairs_of_channel

# Of a matrix, which has that many rows and columns.
_MOST_VALUES = 4096


@dataclass(frozen=True)
class KRR(Randomizer):
    """k-RR: the true value out of k ≥ 2 with probability e^{ε₀}/(e^{ε₀} + k − 1), else another."""

    composable = True  # the values may change places

    k: int = field(metadata={"help": "number of values, at least 2"})
    eps0: float

    def __post_init__(self) -> None:
        # Beyond this floats skip integers.
        validation.whole("k", self.k, minimum=2, maximum=2**53)
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    @property
    def label(self) -> str:
        """Such as 10-RR."""
        return f"{self.k}-RR"

    def blanket(self) -> Decomposition:
        """Table 2 of the paper: p = 1/(e^{ε₀} + k − 1), q = 0, r = (k − 2)p."""
        p = 1.0 / (math.exp(self.eps0) + self.k - 1)
        return five_point(self.eps0, p, 0.0, (self.k - 2) * p)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The others hold a third input or, for k = 2 always, x₁¹."""
        return pairs_of_channel(self._rows(), self.eps0)

    def crowds(self) -> tuple[Crowd, ...]:
        """Any two values, and any third."""
        rows = self._rows()
        return crowd_of_rows(rows, rows.min(axis=0))

    def _rows(self) -> NDArray[np.float64]:
        """Of three inputs if there are as many; the last column is what none of them holds."""
        p = 1.0 / (math.exp(self.eps0) + self.k - 1)
        inputs = min(self.k, 3)
        outputs = np.full((inputs, inputs), p)
        np.fill_diagonal(outputs, math.exp(self.eps0) * p)
        others = np.full((inputs, 1), (self.k - inputs) * p)
        return np.hstack([outputs, others])

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (k, k): rows are inputs, columns outputs.

        Raises ValueError where k is more than 4096.
        """
        validation.whole("k", self.k, minimum=2, maximum=_MOST_VALUES)
        e = math.exp(self.eps0)
        return np.where(np.eye(self.k, dtype=bool), e, 1.0) / (e + self.k - 1)
