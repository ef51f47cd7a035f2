"""One bit for every value of the domain: what RAPPOR, OUE and local hashing have in common."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import DomainRandomizer, crowd_of_rows, five_point

# Of other values' bits, the most that are looked at; a power that high errs by as many roundings.
_MOST_BITS = 40


class BitVectorRandomizer(DomainRandomizer):
    """One bit for every value of the domain, independent of each other given the input.

    With e = e^{ε₀}, a bit is 1 with probability 1/(1 + odds), the bit of the input with
    e/(odds + e). Whether the bit of x is 1 or 0 changes the likelihood of x by the factor e, so
    that every choice of ``odds`` > 0 is ε₀-LDP.
    """

    # Beyond this the 2^D outputs no longer count as small.
    LARGEST_MATRIX = 12

    @property
    @abstractmethod
    def odds(self) -> float:
        """The odds that the bit of another value is 0."""

    def blanket(self) -> Decomposition:
        """Table 2 of the paper, as multiples of p.

        The least likelihood of a report is that of an input whose bit is 0, unless all bits are 1.
        ``all_ones`` is the probability of that for the bits other than those of x₁⁰ and x₁¹.
        """
        e, odds = math.exp(self.eps0), self.odds
        # From 2⁻²⁰⁰⁰ on they are 0 as floats.
        bits = 2000 if self.domain_size is None else min(self.domain_size - 2, 2000)
        all_ones = (1.0 + odds) ** -bits
        p = odds / ((1.0 + odds) * (odds + e))
        q = p * (1.0 - all_ones) / odds
        r = p * (odds + all_ones * e / odds)
        return five_point(self.eps0, p, q, r)

    def crowds(self) -> tuple[Crowd, ...]:
        """The victim holds 0 or 1, another user one of these or a third value.

        The bits of the three say it all, and whether all other bits are 1, where no value is
        unlikely.
        """
        size = min(self.domain_size or 3, 3)
        rows = self._channel(size)
        sure = rows.min(axis=0)
        if self.domain_size is None or self.domain_size > size:
            e, odds = math.exp(self.eps0), self.odds
            bits = math.inf if self.domain_size is None else self.domain_size - size
            # To leave out a rare report is to be sure of a little less.
            all_ones = (1.0 + odds) ** -bits if bits <= _MOST_BITS else 0.0
            # What a value whose bit is 0 would have: the last report is that of three ones.
            zero = (1.0 + odds) ** (1 - size) / (odds + e) * np.ones(rows.shape[1])
            zero[:-1] = sure[:-1]
            rows = np.hstack([rows * (1.0 - all_ones), rows * all_ones])
            sure = np.concatenate([zero * (1.0 - all_ones), sure * all_ones])
        return crowd_of_rows(rows, sure)

    def _channel(self, size: int) -> NDArray[np.float64]:
        """Column y belongs to the bits of the integer y, the lowest that of input 0."""
        e, odds = math.exp(self.eps0), self.odds
        ones = (np.arange(2**size) >> np.arange(size)[:, np.newaxis]) & 1 == 1
        own = np.where(ones, e, odds) / (odds + e)
        other = np.where(ones, 1.0, odds) / (1.0 + odds)
        is_own = np.eye(size, dtype=bool)[:, :, np.newaxis]
        return np.where(is_own, own, other).prod(axis=1)
