"""What a trusted curator's answer is off by: the Gaussian mechanism, calibrated exactly."""

from __future__ import annotations

import math

from shufflebounds.core import validation

_BISECTIONS = 200


def gaussian_noise(eps: float, delta: float) -> float:
    """The standard deviation per L2 sensitivity at which Gaussian noise is (ε, δ)-DP, and no less.

    Balle and Wang (ICML 2018), Theorem 8: s with Φ(1/(2s) − εs) − e^ε Φ(−1/(2s) − εs) = δ. T
    rounds are one with √T times the sensitivity. For comparisons only: nothing is certified.
    """
    from scipy.special import log_ndtr  # takes longer to load than most answers

    eps, delta = validation.eps(eps), validation.delta(delta)

    def log_divergence(s: float) -> float:
        first = float(log_ndtr(0.5 / s - eps * s))
        second = eps + float(log_ndtr(-0.5 / s - eps * s))
        return first + math.log(-math.expm1(second - first)) if second < first else -math.inf

    low, high = 1e-6, 1.0
    while log_divergence(high) > math.log(delta) and high < 1e300:
        high *= 2.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if log_divergence(middle) > math.log(delta):
            low = middle
        else:
            high = middle
    return high


def curator_mse(
    values: int, n: int, eps: float, delta: float, *, items: int = 1, sums: int = 1
) -> float:
    """Total mean squared error of a histogram of n users that a trusted curator publishes.

    Users hold so many `items` of the `values` values, and `sums` histograms (attributes times
    rounds) together are (ε, δ)-DP: to replace a user changes them by √(2·items·sums)/n.
    """
    return values * 2.0 * items * sums * (gaussian_noise(eps, delta) / n) ** 2


def curator_mse_of_mean(n: int, eps: float, delta: float, *, sums: int = 1) -> float:
    """The same of the mean of numbers in [−1, 1], which one user changes by 2/n."""
    return 4.0 * sums * (gaussian_noise(eps, delta) / n) ** 2
