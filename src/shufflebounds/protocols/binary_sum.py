"""Counting ones exactly, up to coins (Balcer and Cheu 2020; Balcer, Cheu, Joseph and Mao 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import CLOSED_FORM_ERR, Candidate, MultiMessage
from shufflebounds.protocols.ratios import Ratios

_LEAST_CHANCE = 1e-100


@dataclass(frozen=True)
class BinarySum(MultiMessage):
    """Every user sends its bit as it is, and ``blankets`` coins that are 1 with chance ``coin``.

    Exact: the other users' bits are no secret in the worst case. Balcer and Cheu's coin is biased,
    that of Balcer et al. fair. With a biased one the two directions differ. Raises ValueError
    unless 10⁻¹⁰⁰ ≤ coin < 1.
    """

    coin: float = field(default=0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _LEAST_CHANCE <= validation.probability("coin", self.coin) < 1.0:
            raise ValueError(f"coin must be a number with 1e-100 <= coin < 1, got {self.coin!r}")

    def decomposition(self) -> Decomposition:
        """Messages 0 and 1."""
        coins = np.array([1.0 - self.coin, self.coin])
        return Decomposition(np.array([1.0, 0.0]), np.array([0.0, 1.0]), coins, CLOSED_FORM_ERR)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The same: what others send of their bits is known once these are."""
        return (Candidate(self.decomposition(), others="x1"),)

    def ratios(self) -> Ratios:
        """As Wang et al. have them: one q for both bits, too large where the coin is biased."""
        coin = Fraction(self.coin)
        return Ratios.rounded_up(math.inf, 1, 1 / min(coin, 1 - coin))
