"""The privacy loss distribution of Section 6: what Theorem 2 truncates, and Algorithm 1 as printed.

Wang et al., Appl. Sci. 15(3):1595, 2025. C counts the others who are clones, binomial of n − 1 with
chance s = 2pα/q, and A those of the first kind, binomial of C with chance 1/2. In floats, for
comparison: nothing here is certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from shufflebounds.bounds.variation_ratio import published_vector_bits

TOLERANCE = 2.0**-30


def truncated(bits: int, eps0: float, n: int) -> tuple[float, int, float]:
    """Of Theorem 2: the mass that it drops, its number of terms, and what the proof allows.

    The theorem claims that the mass is at most `TOLERANCE`, τ, and the proof that at most
    (√(2(n − 1)L) + 1)² terms are left, L = log(4/τ).
    """
    clones, log_inverse = _clones(bits, eps0, n), math.log(4.0 / TOLERANCE)
    spread = math.sqrt(log_inverse * (n - 1) / 2.0)
    kept, terms = 0.0, 0
    for c in _counts(clones.mean(), spread, n - 1):
        first, last = _span(c / 2.0, math.sqrt(log_inverse * c / 2.0), c)
        terms += last - first + 1
        inside = stats.binom.cdf(last, c, 0.5) - stats.binom.cdf(first - 1, c, 0.5)
        kept += clones.pmf(c) * inside
    return max(0.0, 1.0 - kept), terms, (math.sqrt(2.0 * (n - 1) * log_inverse) + 1.0) ** 2


def listed(bits: int, eps0: float, n: int, eps: float, *, mended: bool) -> tuple[float, float]:
    """Of the list of Algorithm 1: its mass, and the δ at ε (natural log) that follows from it.

    With `mended` lines 9 and 10 have the factor i that they lack, and the denominator of line 13
    its p. Lines 12 and 16 add the mass of P₀, the victim being a clone of the first kind, where the
    theorem has that of P.
    """
    clones, log_inverse = _clones(bits, eps0, n), math.log(1.0 / TOLERANCE)
    pair = published_vector_bits(bits, eps0)
    common, rare, rest = pair.a.tolist()
    chance = 2.0 * pair.c[0]
    mass = delta = 0.0
    for i in _counts(clones.mean(), math.sqrt(log_inverse * (n - 1) / 2.0), n - 1):
        spread = math.sqrt(log_inverse / (2.0 * (i + 1))) * (i if mended else 1)
        # Rounded outward, in its favour: the text at hand has lost the brackets.
        first, last = _span(i / 2.0, math.ceil(spread), i)
        j = np.arange(first, last + 1)
        masses = clones.pmf(i) * stats.binom.pmf(j, i, 0.5)
        hidden = rest * (n - 1 - i) * chance / (1.0 - chance)
        above = 2.0 * common * (j + 1) + 2.0 * rare * (i - j) + hidden
        below = 2.0 * rare * (j + 1) + 2.0 * (common if mended else rare) * (i - j) + hidden
        mass += float(masses.sum())
        delta += float(masses @ np.maximum(0.0, -np.expm1(eps - np.log(above / below))))
    return mass, delta


def _clones(bits: int, eps0: float, n: int) -> stats.rv_discrete:
    return stats.binom(n - 1, 2.0 * published_vector_bits(bits, eps0).c[0])


def _counts(mean: float, spread: float, most: int) -> Iterator[int]:
    first, last = _span(mean, spread, most)
    return iter(range(first, last + 1))


def _span(mean: float, spread: float, most: int) -> tuple[int, int]:
    return max(0, math.ceil(mean - spread)), min(most, math.floor(mean + spread))
