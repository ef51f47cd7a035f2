"""The clone's δ and ε as an average over a binomial number of clones, in O(n) time.

Theorem 4.8 and Algorithm 1 of Wang et al., "Privacy Amplification via Shuffling: Unified,
Simplified, and Tightened" (VLDB 2024), in plain NumPy and SciPy: what a careful user would write
without the library, hence the yardstick of the benchmark, and a witness that shares no code with
the engines. Floating point only: accurate, not certified.

The variation-ratio parameters p = e^{ε₀}, β = (p − 1)/(p + 1), q = 2p²/(p + 1) give the standard
clone: with α = β/(p − 1) = 1/(p + 1) the victim's report is one of two values with probabilities
pα and α, nothing is left over (1 − α − pα = 0), and any other user sends each value as a clone
with probability r = αp/q = 1/(2p). With C ~ Bin(n − 1, 2r) clones and A ~ Bin(C, 1/2) of them on
the first value,

    D(ε) = α E[(p − e^ε) P(A ≥ k − 1 | C) − (p e^ε − 1) P(A ≥ k | C)],
    k = ⌈(C + 1)(p e^ε − 1)/((p − 1)(e^ε + 1))⌉.

Swapping x₁⁰ and x₁¹ exchanges the two values, so that one direction serves for both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import binom


def delta(eps0: float, eps: float, n: int, tail: float = 0.0) -> float:
    """D(ε) of the standard clone for n ≥ 1 users, 0 ≤ `eps` < `eps0` (natural logs).

    With `tail` > 0, numbers of clones of total probability at most `tail` are left out and `tail`
    is added, as none contributes more than its probability: an upper bound, in O(√n).
    """
    clones, weights = _numbers_of_clones(eps0, n, tail)
    return _average(eps0, eps, clones, weights) + tail


def epsilon(
    eps0: float, n: int, delta: float, tail: float = 0.0, rtol: float = 1e-4
) -> tuple[float, float]:
    """Two ends, `rtol` apart, of the least ε with D(ε) ≤ `delta`: Algorithm 1, by bisection."""
    clones, weights = _numbers_of_clones(eps0, n, tail)
    if _average(eps0, 0.0, clones, weights) + tail <= delta:
        return 0.0, 0.0
    low, high = 0.0, eps0
    while high - low > rtol * high:
        middle = 0.5 * (low + high)
        if _average(eps0, middle, clones, weights) + tail > delta:
            low = middle
        else:
            high = middle
    return low, high


def _numbers_of_clones(
    eps0: float, n: int, tail: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values of C to sum over, and their probabilities."""
    rate = np.exp(-eps0)
    first, last = 0.0, n - 1.0
    if tail > 0.0:
        # Bernstein: C is this far from its mean with probability at most tail/2 on either side.
        mean, variance, log = (n - 1) * rate, (n - 1) * rate * (1.0 - rate), np.log(2.0 / tail)
        reach = log / 3.0 + np.sqrt(log**2 / 9.0 + 2.0 * log * variance)
        first, last = max(first, np.floor(mean - reach)), min(last, np.ceil(mean + reach))
    clones = np.arange(first, last + 1.0)
    return clones, binom.pmf(clones, n - 1, rate)


def _average(
    eps0: float, eps: float, clones: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    p, growth = np.exp(eps0), np.expm1(eps)
    # p e^ε − 1 and p − e^ε, without the cancellation at small ε₀.
    rise, fall = np.expm1(eps0 + eps), np.exp(eps) * np.expm1(eps0 - eps)
    k = np.ceil((clones + 1.0) * (rise / (np.expm1(eps0) * (2.0 + growth))))
    # P(A ≥ k − 1) = P(A = k − 1) + P(A ≥ k), and (p e^ε − 1) − (p − e^ε) = (p + 1)(e^ε − 1): apart,
    # the two tails would cancel. k lies between 1 and C + 1, where the second one is 0.
    tails = betainc(k, clones - k + 1.0, 0.5, where=k <= clones, out=np.zeros_like(clones))
    inner = fall * binom.pmf(k - 1.0, clones, 0.5) - (p + 1.0) * growth * tails
    return float(weights @ np.maximum(inner, 0.0)) / (p + 1.0)
