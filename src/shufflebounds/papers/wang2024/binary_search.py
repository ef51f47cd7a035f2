"""The paper's own algorithm (its Algorithm 1 on Theorem 4.8), as a witness that shares no code.

In double precision and without error bounds: what it returns is not certified. Of the counts C of
clones it sums those that are likely, which is what makes the printed times possible.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

# Bernstein's inequality leaves e^−40 outside on either side, which counts as if all were told.
_DECAY = 40.0
_CHUNK = 1_000_000


def delta(
    p: float, beta: float, q: float, eps: float, n: int, *, everything: bool = False
) -> float:
    """δ of the published pair at ε (natural log) for n users.

    Finite p > 1 and 0 < β ≤ (p − 1)/(p + 1), 2r < 1. Sums over all counts of clones if `everything`
    is set, and else over the likely ones, to whose sum the probability of the others is added.
    """
    alpha = beta / (p - 1.0)
    r = alpha * p / q
    rest = max(0.0, 1.0 - alpha - p * alpha)
    clones = stats.binom(n - 1, 2.0 * r)
    first, last = 0, n - 1
    if not everything:
        spread = math.sqrt(2.0 * _DECAY * clones.var()) + _DECAY
        first = max(first, math.floor(clones.mean() - spread))
        last = min(last, math.ceil(clones.mean() + spread))
    scale = math.exp(eps)

    def low(c: NDArray) -> NDArray:
        apart = alpha * (scale + 1.0) * (p - 1.0)
        hidden = math.expm1(eps) * rest * r / (1.0 - 2.0 * r)
        return ((scale * p - 1.0) * alpha * c + hidden * (n - c)) / apart

    total = 0.0 if everything else 2.0 * math.exp(-_DECAY)
    for start in range(first, last + 1, _CHUNK):
        c = np.arange(start, min(start + _CHUNK, last + 1), dtype=np.float64)
        threshold = np.ceil(low(c + 1.0))
        seen = (p - scale) * alpha * _at_least(threshold - 1.0, c)
        seen += (1.0 - p * scale) * alpha * _at_least(threshold, c)
        if rest > 0.0:
            seen += (1.0 - scale) * rest * _at_least(np.ceil(low(c)), c)
        total += float(clones.pmf(c) @ seen)
    return total


def epsilon(
    p: float,
    beta: float,
    q: float,
    n: int,
    target: float,
    iterations: int,
    *,
    everything: bool = False,
) -> float:
    """The upper end of the ε that so many bisections leave, from [0, log p] on; δ is `target`."""
    low, high = 0.0, math.log(p)
    for _ in range(iterations):
        middle = (low + high) / 2.0
        if delta(p, beta, q, middle, n, everything=everything) > target:
            low = middle
        else:
            high = middle
    return high


def _at_least(k: NDArray, c: NDArray) -> NDArray:
    """Pr[Bin(c, 1/2) ≥ k] for whole numbers k."""
    inside = (k >= 1.0) & (k <= c)
    # An order of magnitude faster than `betainc`, and right to some seven digits at c = 10⁸.
    tail = special.bdtrc(np.where(inside, k, 1.0) - 1.0, c.astype(np.int64), 0.5)
    return np.where(inside, tail, (k < 1.0).astype(np.float64))
