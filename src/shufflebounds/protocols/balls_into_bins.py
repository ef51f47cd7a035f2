"""Balls into bins (Luo, Wang and Yi, CCS 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import CLOSED_FORM_ERR, Candidate, MultiMessage
from shufflebounds.protocols.ratios import Ratios
from shufflebounds.setting import OverN

# Relative rounding of a closed form, with room to spare.
_ROUNDED = 1.0 + 2.0**-46
# The authors' bound is proven up to here in docs/variation-ratio.md.
_LARGEST_ORIGINAL = 2.0


@dataclass(frozen=True)
class BallsIntoBins(MultiMessage):
    """A user drops one ball in a bin of its value, and ``blankets`` balls in any of the ``bins``.

    A value has ``special`` bins of its own, one of which is chosen at random. Two values without a
    bin in common are the worst: bins in common make reports that tell nothing of those that tell
    most. It is exact if others may hold values without any of these bins. Raises ValueError unless
    bins and special are positive integers with 2 special ≤ bins.
    """

    bins: int = field()
    special: int = field(default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.whole("bins", self.bins, minimum=2, maximum=2**53)
        validation.whole("special", self.special, minimum=1, maximum=self.bins // 2)

    def decomposition(self) -> Decomposition:
        """The bins of x₁⁰, those of x₁¹, and the others."""
        share = Fraction(self.special, self.bins)
        masses = np.array([[1, 0, share], [0, 1, share], [0, 0, 1 - 2 * share]], dtype=np.float64)
        a, b, c = masses.T
        return Decomposition(a, b, c, CLOSED_FORM_ERR).merge()

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The same, where a third value has bins of its own and the others hold it."""
        if 3 * self.special > self.bins:
            return ()
        return (Candidate(self.decomposition(), others="third"),)

    def ratios(self) -> Ratios:
        """Two values exclude each other; every bin is as likely for a blanket."""
        share = Fraction(self.bins, self.special)
        return Ratios.rounded_up(math.inf, 1, share, same_leftovers=True)

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """ε = √(32 log(2/δ) d/(s m)) for m blanket messages, d bins and s special ones; up to 2."""
        messages = self.draws(n) - 1
        log_inverse = math.log(2.0) - math.log(delta)
        eps = math.sqrt(32.0 * log_inverse * self.bins / (self.special * messages)) * _ROUNDED
        return eps if eps <= _LARGEST_ORIGINAL else None


def designed(
    target: float, delta: float | OverN, bins: int, special: int = 1, blankets: int = 1
) -> BallsIntoBins:
    """The protocol, for as many users as `designed_users` says."""
    return BallsIntoBins(bins, special, blankets=blankets)


def designed_users(
    target: float, delta: float | OverN, bins: int, special: int = 1, blankets: int = 1
) -> int:
    """The fewest users of whom its authors say (``target``, δ): 32 log(2/δ) d/(s ε²) messages.

    `target` is ε (natural log). Raises ValueError for arguments out of range.
    """
    target = validation.eps0(target, "target")
    blankets = designed(target, delta, bins, special, blankets).blankets

    def needed(n: int) -> int:
        at = delta.at(n) if isinstance(delta, OverN) else validation.delta(delta)
        log_inverse = math.log(2.0) - math.log(at)
        return math.ceil(32.0 * log_inverse * bins / (special * target**2) / blankets)

    # The right side grows like log n: from below, this rises to the least solution.
    n = max(1, needed(validation.MAX_USERS) // 100)
    while (more := needed(n)) > n:
        n = more
    return validation.users(n)
