"""PrivUnit's cap (Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.randomizers.matching import MatchingRandomizer


@dataclass(frozen=True)
class PrivUnit(MatchingRandomizer):
    """PrivUnit: a point of the sphere, e^{ε₀} times as dense in a cap around the user's direction.

    ``cap`` is the share of the sphere's area that a cap has. The caps of opposite directions are
    disjoint up to a half. The dimension does not matter, and the factor that makes the report
    unbiased is public. Raises ValueError unless 0 < ε₀ ≤ 300 and 10⁻¹⁰⁰ ≤ cap ≤ 1/2.

    The upper bound holds for every randomizer whose likelihoods lie between 1 and e^{ε₀} times
    those of a fixed law over 1 + cap (e^{ε₀} − 1).
    """

    eps0: float
    cap: float = field(metadata={"help": "share of the sphere in a cap, at most 1/2"})
    _inputs = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        if not 1e-100 <= validation.probability("cap", self.cap) <= 0.5:
            raise ValueError(f"cap must be a number with 1e-100 <= cap <= 0.5, got {self.cap!r}")

    def _misses(self, inputs: int) -> Fraction:
        """Outside the caps of two opposite directions, or of one."""
        return 1 - inputs * Fraction(self.cap)

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities of two opposite caps and of the rest for either direction, shape (2, 3)."""
        areas = np.array([self.cap, self.cap, 1.0 - 2.0 * self.cap])
        e = math.exp(self.eps0)
        return areas * np.array([[e, 1.0, 1.0], [1.0, e, 1.0]]) / self._total()
