"""Noisy bit vectors of which only the sum of every coordinate is revealed (secure aggregation)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting.composed import Composed, compose
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.protocols.base import Candidate, Part, Protocol
from shufflebounds.randomizers.base import CLOSED_FORM_ERR
from shufflebounds.randomizers.bit_vectors import BitVectorRandomizer
from shufflebounds.randomizers.oue import OUE
from shufflebounds.randomizers.rappor import RAPPOR

_BITS = {"rappor": RAPPOR, "oue": OUE}


@dataclass(frozen=True)
class CoordinateSums(Protocol):
    """Users send bit vectors, as RAPPOR or OUE make them, and how many ones each bit had is seen.

    Given all values, bits are independent of each other, so that the sums are. Where the victim
    holds x₁⁰ or x₁¹, two of them differ in law: that of the bit of x₁⁰, and that of x₁¹ with both
    laws exchanged. Either is a shuffle of a binary randomizer, and ``parts`` are both of them
    (docs/aggregation.md). ε₀ of ``randomizer`` is that of a whole vector.

    Raises ValueError for a randomizer that does not make bit vectors.
    """

    randomizer: BitVectorRandomizer

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, BitVectorRandomizer):
            raise ValueError(
                "randomizer must make bit vectors, such as RAPPOR(eps0=2.0) or OUE(eps0=2.0), "
                f"got {self.randomizer!r}"
            )

    @property
    def eps0(self) -> float:  # type: ignore[override]
        """That of a whole vector."""
        return self.randomizer.eps0

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Those of the parts."""
        raise TypeError("the sums are several shuffles: ask their parts")

    def parts(self, n: int) -> tuple[Part, ...]:
        """The sums of the coordinates x₁⁰ and x₁¹."""
        return tuple(Part(_Coordinate(self.randomizer, i), n, 1) for i in (0, 1))

    def upper_rounds(self, n: int, times: int = 1) -> Composed:
        """What bounds `times` aggregations of n users from above.

        Raises ValueError for n or `times` out of range, as `compose` does.
        """
        return self._composed(
            [part.protocol.upper_candidates()[0] for part in self.parts(n)], n, times
        )

    def lower_rounds(self, n: int, times: int = 1) -> dict[str, Composed]:
        """What is attained by what all others hold: ``third``, if there is one, or ``x1``."""
        first, second = (part.protocol.lower_candidates() for part in self.parts(n))
        return {one.others: self._composed([first[0], one], n, times) for one in second}

    @staticmethod
    def _composed(of_parts: list[Candidate], n: int, times: int) -> Composed:
        return compose([(one.decomposition, n, times) for one in of_parts])


@dataclass(frozen=True)
class _Coordinate(Protocol):
    """The sum of the bit of x₁⁰ (``index`` 0) or of x₁¹ (1)."""

    randomizer: BitVectorRandomizer
    index: int

    @property
    def eps0(self) -> float:  # type: ignore[override]
        """More than that of a bit."""
        return self.randomizer.eps0

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Every other user's bit has one of the two laws that the victim's may have."""
        own, other = self._laws()
        return (Candidate(self._pair(np.minimum(own, other))),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """All others hold a third value, or x₁¹; in the first coordinate both look alike."""
        own, other = self._laws()
        third = (Candidate(self._pair(other), "", "third"),)
        if self.index == 0:
            return third
        x1 = (Candidate(self._pair(own), "", "x1"),)
        return x1 if self.randomizer.domain_size == 2 else third + x1

    def _pair(self, c: FloatArray) -> Decomposition:
        own, other = self._laws()
        a, b = (own, other) if self.index == 0 else (other, own)
        return Decomposition(a, b, c, rel_err=CLOSED_FORM_ERR)

    def _laws(self) -> tuple[FloatArray, FloatArray]:
        """Of a bit, (1, 0): of the user's own value, and of another one."""
        e, odds = math.exp(self.randomizer.eps0), self.randomizer.odds
        return np.array([e, odds]) / (odds + e), np.array([1.0, odds]) / (1.0 + odds)


def coordinate_sums(bits: str, eps0: float, domain_size: int | None = None) -> CoordinateSums:
    """Of vectors of ``rappor`` or ``oue``, with ε₀ of a whole vector.

    Raises ValueError for another name, and for what these refuse.
    """
    return CoordinateSums(_BITS[validation.choice("bits", bits, _BITS)](eps0, domain_size))
