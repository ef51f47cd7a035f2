"""The three numbers that variation-ratio knows of a protocol (Wang et al., PVLDB 17(8), 2024)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition

# Of numbers that were rounded a few times: larger ones describe the protocol, too.
_UP = 1.0 + 2.0**-50


@dataclass(frozen=True)
class Ratios:
    """p, β and q of a protocol, as `bounds.variation_ratio` defines them, each rounded up.

    ``same_leftovers`` says that what the victim's two laws have in common and what hides it follow
    one law. Then the published pair is the protocol's divergence, and so it is proven; with β at
    its maximum there is nothing in common.
    """

    p: float
    beta: float
    q: float
    same_leftovers: bool = False

    @classmethod
    def rounded_up(
        cls,
        p: float | Fraction,
        beta: float | Fraction,
        q: float | Fraction,
        *,
        same_leftovers: bool = False,
    ) -> Ratios:
        """Of numbers that are known exactly, or up to a few roundings."""
        p, q = float(p) * _UP, float(q) * _UP
        return cls(p, min(float(beta) * _UP, largest_variation(p)), q, same_leftovers)

    @property
    def proven(self) -> bool:
        """Whether the published pair is an upper bound: there w = 0, or leftovers are alike."""
        if self.same_leftovers or math.isinf(self.p):
            return self.same_leftovers or self.beta == 1.0
        p = Fraction(self.p)
        return Fraction(self.beta) * (p + 1) >= p - 1


def of_reports(eps0: float, pairs: Iterable[Decomposition]) -> Ratios:
    """Those of reports: p = q = e^{ε₀}, and the largest β of the pairs, or of all if none is given.

    ``eps0`` is ε₀ of all that a user sends (natural log). Raises ValueError unless 0 < ε₀ ≤ 300.
    """
    ratio = math.exp(validation.eps0(eps0)) * _UP
    variations = [total_variation(pair) for pair in pairs]
    return Ratios(ratio, min(max(variations, default=1.0), largest_variation(ratio)), ratio)


def total_variation(pair: Decomposition) -> float:
    """Σ(a − b)₊ of the laws of the victim's report, rounded up."""
    outer = pair.bounds()[1]
    err = outer.rel_err + 2.0**-52
    apart = np.maximum(outer.a * (1.0 + err) - outer.b * (1.0 - err), 0.0)
    return min(math.fsum(apart) * _UP, 1.0)


def largest_variation(p: float) -> float:
    """(p − 1)/(p + 1), rounded up: no two laws with ratios of at most p lie further apart."""
    return 1.0 if math.isinf(p) else min((p - 1.0) / (p + 1.0) * _UP, 1.0)
