"""How large E f(X) is for an X that is nearly normal, f(x) = x e^{−θx} 1{x > 0}: to aim with.

With F(m) for a normal X of mean m, the Edgeworth series of the law of X gives

    E f(X) ≈ F + κ₃/6 F⁽³⁾ + κ₄/24 F⁽⁴⁾ + κ₃²/72 F⁽⁶⁾.
"""

from __future__ import annotations

import math

# An estimate, which decides speed only (benchmarks/deployer_grid.py).
#
# Standard deviations of X, in units of 1/θ, from which f is narrow, and terms for it then.
_NARROW, _TERMS = 10.0, 9
# Corrections beyond this are not believed.
_LARGEST = 0.5


def log_mean(
    theta: float, mean: float, variance: float, third: float, fourth: float
) -> tuple[float, float]:
    """Log E f(X) from the cumulants of X, and a rough size of its error."""
    sigma = math.sqrt(variance)
    skewness, kurtosis = third / sigma**3, fourth / variance**2
    narrow = theta * sigma > _NARROW and mean < 0.25 * theta * variance
    log_scale, terms = (_narrow if narrow else _broad)(theta, mean / sigma, sigma)
    odd = skewness / 6.0 * terms[3] / terms[0]
    even = (kurtosis / 24.0 * terms[4] + skewness**2 / 72.0 * terms[6]) / terms[0]
    size = abs(odd) + math.sqrt(abs(even))
    # Atoms that stand out are not seen by the series.
    doubt = size**3 + (3.0 * kurtosis) ** 2
    found = log_scale + math.log(terms[0])
    if size > _LARGEST:
        return found, max(doubt, size)
    return found + math.log1p(odd + even), doubt


def _broad(theta: float, y: float, sigma: float) -> tuple[float, list[float]]:
    """Log of a scale, and σᵏ F⁽ᵏ⁾ for k = 0, …, 6 in units of it; y is the mean over σ."""
    t = theta * sigma
    h = y - t
    tail = 0.5 * math.erfc(-h / math.sqrt(2.0))
    bell = math.exp(-0.5 * h * h) / math.sqrt(2.0 * math.pi) if abs(h) < 38.0 else 0.0
    if h < 0.0:  # in units of the density at 0
        log_scale, tail, bell = -0.5 * y * y - 0.5 * math.log(2.0 * math.pi), tail / bell, 1.0
    else:
        log_scale = 0.5 * t * t - t * y
    # F′ = −θF + A, A′ = −θA + p, and p is the density at 0.
    values, a = [bell + h * tail], tail
    for p in _densities(y, 6):
        values.append(-t * values[-1] + a)
        a = -t * a + bell * p
    return log_scale + math.log(sigma), values[:7]


def _narrow(theta: float, y: float, sigma: float) -> tuple[float, list[float]]:
    """The same by ∫ x e^{−θx} q(x) dx ≈ Σ (j + 1) q⁽ʲ⁾(0)/θ^{j+2}."""
    t = theta * sigma
    densities = _densities(y, 6 + _TERMS)
    values = [
        sum((j + 1.0) * (-1.0) ** j * densities[k + j] / t ** (j + 2) for j in range(_TERMS))
        for k in range(7)
    ]
    return -0.5 * y * y - 0.5 * math.log(2.0 * math.pi) + math.log(sigma), values


def _densities(y: float, count: int) -> list[float]:
    """Derivatives in y of e^{−y²/2}, over it."""
    values = [1.0, -y]
    for k in range(1, count):
        values.append(-y * values[k] - k * values[k - 1])
    return values
