"""Dummy points: pureDUMP and mixDUMP (Li, Liu, Lou, Hong, Zhang, Qin and Ren 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import CLOSED_FORM_ERR, Candidate, MultiMessage
from shufflebounds.protocols.ratios import Ratios


@dataclass(frozen=True)
class Dump(MultiMessage):
    """A user sends its value, or with chance ``flip`` another one, and ``blankets`` random values.

    All ``domain_size`` values are equally likely for a dummy; the other value is uniform among the
    rest. flip = 0 is pureDUMP, flip > 0 mixDUMP. Raises ValueError unless the domain size d is an
    integer of at least 2 and flip is 0 or 10⁻¹⁰⁰ ≤ flip < (d − 1)/d.
    """

    domain_size: int = field()
    flip: float = field(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        flip = validation.probability("flip", self.flip)
        if not (flip == 0.0 or flip >= 1e-100) or Fraction(flip) >= Fraction(d - 1, d):
            raise ValueError(
                f"flip must be 0 or a number with 1e-100 <= flip < {(d - 1) / d:.6g}, "
                f"got {self.flip!r}"
            )

    def decomposition(self) -> Decomposition:
        """The messages x₁⁰ and x₁¹, and the others."""
        d, flip = self.domain_size, Fraction(self.flip)
        own, other, dummy = 1 - flip, flip / (d - 1), Fraction(1, d)
        rest = (d - 2) * other
        masses = [(own, other, dummy), (other, own, dummy), (rest, rest, 1 - 2 * dummy)]
        a, b, c = np.array(masses, dtype=np.float64).T
        return Decomposition(a, b, c, CLOSED_FORM_ERR).merge()

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """For pureDUMP the same, where the others hold a third value. None for mixDUMP."""
        if self.flip > 0.0 or self.domain_size < 3:
            return ()
        return (Candidate(self.decomposition(), others="third"),)

    def ratios(self) -> Ratios:
        """The victim's own value, another one, and a dummy."""
        d, flip = self.domain_size, Fraction(self.flip)
        own, other = 1 - flip, flip / (d - 1)
        p = own / other if other else math.inf
        return Ratios.rounded_up(p, own - other, own * d, same_leftovers=True)
