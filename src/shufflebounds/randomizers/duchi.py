"""The mechanism of Duchi, Jordan and Wainwright for numbers, and Harmony for vectors of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer, crowd_of_rows, five_point, from_channel


@dataclass(frozen=True)
class Duchi(Randomizer):
    """Duchi: for x in [−1, 1] one of two reports, the first with chance (1 + x tanh(ε₀/2))/2.

    Inputs −1 and 1 are the worst pair, of which it is 2-RR: the law of a report is linear in x, so
    that any pair mixes pairs of −1 and 1, and D is convex in either law. Harmony (Nguyên, Xiao,
    Yang, Hui, Shin and Shin 2016) draws a coordinate of a vector at random and reports on it, and
    has the same bounds: opposite corners are the worst pair (docs/engine.md, section 10), and
    uniting the coordinates changes nothing. Raises ValueError unless 0 < ε₀ ≤ 300.
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    def blanket(self) -> Decomposition:
        """That of 2-RR."""
        return five_point(self.eps0, 1.0 / (math.exp(self.eps0) + 1.0), 0.0, 0.0)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The victim holds −1 or 1; all others hold 0, whose reports are even, or 1."""
        ends = self.matrix()
        middle = np.full(2, 0.5)
        return {"third": from_channel([*ends, middle]), "x1": from_channel([*ends, ends[1]])}

    def crowds(self) -> tuple[Crowd, ...]:
        """The inputs −1 and 1, of which all laws are mixtures."""
        ends = self.matrix()
        return crowd_of_rows(ends, ends.min(axis=0))

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities of the two reports for the inputs −1 and 1, shape (2, 2)."""
        e = math.exp(self.eps0)
        return np.array([[e, 1.0], [1.0, e]]) / (e + 1.0)
