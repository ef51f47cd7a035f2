"""Hadamard response with blocks (Acharya, Sun and Zhang, AISTATS 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.randomizers.matching import MatchingRandomizer

_MOST_COLUMNS = 4096


@dataclass(frozen=True)
class HadamardBlocks(MatchingRandomizer):
    """HR with B ≥ 2 blocks: a column of the input's block, or any, as its Hadamard matrix says.

    There are B blocks of b columns, b the least power of 2 that gives each of the d values a row of
    its own in some block: value x has row ⌊x/B⌋ + 1 of the Sylvester matrix of order b in block
    x mod B. The columns where it holds +1, half of its block, are e^{ε₀} times as likely as all
    others. Values of different blocks, the worst pair, have none in common, and b does not matter.
    For one block see `HadamardResponse`.

    Raises ValueError unless 0 < ε₀ ≤ 300, and B and d are integers with 2 ≤ B ≤ d; d = None stands
    for more values than blocks, however many.
    """

    eps0: float
    blocks: int = field(metadata={"help": "number of blocks, at least 2"})
    domain_size: int | None = field(
        default=None,
        metadata={"help": "number of values, no fewer than blocks; if left out, many"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.whole("blocks", self.blocks, minimum=2, maximum=2**53)
        if self.domain_size is not None:
            validation.whole("domain_size", self.domain_size, minimum=self.blocks)

    @property
    def _inputs(self) -> int:
        return min(self.blocks, 3)

    def _misses(self, inputs: int) -> Fraction:
        """Outside the half blocks of values in different blocks."""
        return 1 - Fraction(inputs, 2 * self.blocks)

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (d, B b): rows are inputs, columns outputs, block by block.

        Raises ValueError where d is None or there are more than 4096 columns.
        """
        size = self.domain_size or 2**53
        rows = math.ceil(size / self.blocks)
        order = 2 ** rows.bit_length()
        if order * self.blocks > _MOST_COLUMNS:
            raise ValueError(
                f"domain_size must leave at most {_MOST_COLUMNS} columns to enumerate, got "
                f"{self.domain_size!r}"
            )
        block, row = np.arange(size) % self.blocks, np.arange(size) // self.blocks
        columns = np.arange(order * self.blocks)
        plus = np.bitwise_count((row[:, np.newaxis] + 1) & (columns % order)) % 2 == 0
        matched = plus & (block[:, np.newaxis] == columns // order)
        return np.where(matched, math.exp(self.eps0), 1.0) / (columns.size * self._total())
