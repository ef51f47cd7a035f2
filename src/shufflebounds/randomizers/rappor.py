"""Basic one-time RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shufflebounds.randomizers.bit_vectors import BitVectorRandomizer


@dataclass(frozen=True)
class RAPPOR(BitVectorRandomizer):
    """RAPPOR: the one-hot encoding, every bit kept with probability h/(h + 1), h = e^{ε₀/2}."""

    @property
    def odds(self) -> float:
        """A zero stays a zero with odds h."""
        return math.exp(self.eps0 / 2.0)
