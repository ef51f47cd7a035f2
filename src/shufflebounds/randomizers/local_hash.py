"""Local hashing into l values (Wang, Blocki, Li and Jha, USENIX Security 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from shufflebounds import validation
from shufflebounds.randomizers.bit_vectors import BitVectorRandomizer

# Chances of two values to hash to z, 1/l², stay far above the smallest float.
_MOST_VALUES = 10**135


@dataclass(frozen=True)
class LocalHash(BitVectorRandomizer):
    """LH: a uniformly random hash of the domain to l values, and the input's hash through l-RR.

    What a report (h, z) says is which values hash to z. These bits, which are the columns of
    `matrix`, are 1 with probability 1/l each, and e^{ε₀}/(e^{ε₀} + l − 1) for that of the input.
    l is ``hash_values``, at least 2 (BLH). None stands for the customary (optimal) choice
    ⌊e^{ε₀} + 1⌋, and the attribute then holds it.
    """

    hash_values: int | None = field(
        default=None,
        metadata={
            "help": "number of hash values, at least 2; if left out, e^eps0 + 1 rounded down"
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hash_values is None:
            object.__setattr__(self, "hash_values", math.floor(math.exp(self.eps0)) + 1)
        validation.whole("hash_values", self.hash_values, minimum=2, maximum=_MOST_VALUES)

    @property
    def odds(self) -> float:
        """Every other value hashes to z with probability 1/l."""
        assert self.hash_values is not None  # since __post_init__
        return float(self.hash_values - 1)
