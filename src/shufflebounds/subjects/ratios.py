"""p, β and q of what users send, for variation-ratio bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition

# Factor that exceeds the error of a few roundings of p, β or q. Larger numbers are valid as well.
RATIOS_UP = 1.0 + 2.0**-50


@dataclass(frozen=True)
class Ratios:
    """p, β and q of a protocol, as `bounds.variation_ratio` defines them, each rounded up.

    The source is Wang et al., PVLDB 17(8), 2024.
    """

    p: float
    beta: float
    q: float

    @classmethod
    def rounded_up(cls, p: float | Fraction, beta: float | Fraction, q: float | Fraction) -> Ratios:
        """Return the ratios, rounded up, of numbers that are exact or off by a few roundings."""
        p, q = float(p) * RATIOS_UP, float(q) * RATIOS_UP
        return cls(p, min(float(beta) * RATIOS_UP, largest_variation(p)), q)


def ratios_of_reports(eps0: float, pairs: Iterable[Decomposition]) -> Ratios:
    """Return p = q = e^{ε₀} and the largest β of the pairs; without pairs, the largest possible β.

    ``eps0`` is ε₀ of everything a user sends (natural log). Raises ValueError unless 0 < ε₀ ≤ 300.
    """
    ratio = math.exp(validation.eps0(eps0)) * RATIOS_UP
    variations = [total_variation(pair) for pair in pairs]
    return Ratios(ratio, min(max(variations, default=1.0), largest_variation(ratio)), ratio)


def total_variation(pair: Decomposition) -> float:
    """Return Σ(a − b)₊ for the laws of the victim's report, rounded up."""
    outer = pair.bounds()[1]
    err = outer.rel_err + 2.0**-52
    differences = np.maximum(outer.a * (1.0 + err) - outer.b * (1.0 - err), 0.0)
    return min(math.fsum(differences) * RATIOS_UP, 1.0)


def largest_variation(p: float) -> float:
    """Return (p − 1)/(p + 1), rounded up: the largest distance of laws with ratios of at most p."""
    return 1.0 if math.isinf(p) else min((p - 1.0) / (p + 1.0) * RATIOS_UP, 1.0)
