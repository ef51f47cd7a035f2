"""Optimized unary encoding (Wang, Blocki, Li and Jha, USENIX Security 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shufflebounds.randomizers.bit_vectors import BitVectorRandomizer


@dataclass(frozen=True)
class OUE(BitVectorRandomizer):
    """OUE: the one-hot encoding, whose one is kept with probability 1/2.

    Its zeros are kept with probability e^{ε₀}/(e^{ε₀} + 1).
    """

    @property
    def odds(self) -> float:
        """A zero stays a zero with odds e^{ε₀}."""
        return math.exp(self.eps0)
