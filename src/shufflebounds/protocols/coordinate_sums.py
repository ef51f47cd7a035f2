"""Noisy bit vectors of which only the sum of every coordinate is revealed (secure aggregation)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting.composed import Composed, compose
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, BitVectorRandomizer


@dataclass(frozen=True)
class CoordinateSums:
    """Users send bit vectors, as RAPPOR or OUE make them, and how many ones each bit had is seen.

    Given all values, bits are independent of each other, so that the sums are. Where the victim
    holds x₁⁰ or x₁¹, two of them differ in law: one of n bits of which the victim's is that of its
    own value or of another one, and one the other way round. Either is a shuffle of a binary
    randomizer, and both are composed (docs/aggregation.md). ε₀ of ``randomizer`` is that of a
    whole vector.

    Raises ValueError for a randomizer that does not make bit vectors.
    """

    randomizer: BitVectorRandomizer

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, BitVectorRandomizer):
            raise ValueError(
                "randomizer must make bit vectors, such as RAPPOR(eps0=2.0) or OUE(eps0=2.0), "
                f"got {self.randomizer!r}"
            )

    def upper_rounds(self, n: int, times: int = 1) -> Composed:
        """What bounds n users' sums from above, in `times` rounds of both coordinates.

        Raises ValueError for n or `times` out of range, as `compose` does.
        """
        own, other = self._bit()
        blanket = self._pair(own, other, np.minimum(own, other))
        return compose([(blanket, n, 2 * self._checked(times))])

    def lower_rounds(self, n: int, times: int = 1) -> dict[str, Composed]:
        """What is attained by what all others hold, by its name: ``third`` or ``x1``.

        ``third`` is a value that is neither x₁⁰ nor x₁¹, and left out where there is none.
        """
        own, other = self._bit()
        times = self._checked(times)
        found = {}
        if self.randomizer.domain_size != 2:
            zeros = self._pair(own, other, other)
            found["third"] = compose([(zeros, n, times), (zeros.swap(), n, times)])
        # Their bits are those of another value in the first coordinate, of their own in the second.
        first, second = self._pair(own, other, other), self._pair(other, own, own)
        found["x1"] = compose([(first, n, times), (second, n, times)])
        return found

    def _bit(self) -> tuple[np.ndarray, np.ndarray]:
        """Laws of a bit, (1, 0): of the user's own value, and of another one."""
        e, odds = math.exp(self.randomizer.eps0), self.randomizer.odds
        return np.array([e, odds]) / (odds + e), np.array([1.0, odds]) / (1.0 + odds)

    @staticmethod
    def _pair(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Decomposition:
        return Decomposition(a, b, c, rel_err=CLOSED_FORM_ERR)

    @staticmethod
    def _checked(times: int) -> int:
        return validation.whole("times", times, minimum=1, maximum=validation.MAX_ROUNDS // 2)
