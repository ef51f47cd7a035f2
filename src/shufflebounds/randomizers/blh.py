"""Binary local hashing (Wang, Blocki, Li and Jha, USENIX Security 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.randomizers.bit_vectors import BitVectorRandomizer


@dataclass(frozen=True)
class BLH(BitVectorRandomizer):
    """BLH: a uniformly random hash of the domain to {0, 1}, and the input's hash through 2-RR.

    What a report (h, z) says is which values hash to z. These bits are 1 with odds 1, but for the
    input's, which tells the truth with probability e^{ε₀}/(e^{ε₀} + 1).
    """

    @property
    def odds(self) -> float:
        """Every other value hashes to z or not with equal probability."""
        return 1.0

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(h, z), shape (domain_size, 2^{domain_size + 1}).

        Column 2^{domain_size}·(1 − z) + Σ_x h(x)·2^x belongs to (h, z). Raises ValueError where
        the domain is infinite or too large to enumerate.
        """
        # The bits are h itself where z = 1, its complement where z = 0, each half the time.
        halves = super().matrix() / 2.0
        return np.hstack([halves, halves[:, ::-1]])
