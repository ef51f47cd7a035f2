"""Saddlepoint estimates of D(ε) at one or many points, and where they pass a given δ.

No bounds: they say where to look. Arrays have shape (P,), one entry a point.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, cumulants, law, laws, tilting_point

# Most steps in search of a tilt, and of a root. Estimates steer and claim nothing: all that is
# tuned here decides speed only (benchmarks/deployer_grid.py, and arrays.py for many points).
_TILTS, _ROOTS = 60, 25
# Points times components held in memory at once.
_BLOCK = 2**16
# Newton's method doubles the digits: the root is then known to the square of this.
_LAST_STEP = 1e-4
# Corrections beyond this are not believed.
_LARGEST = 0.3


class Estimate(NamedTuple):
    """Estimates of log D(ε) and of its derivative in ε, and by how much the first may be off."""

    log: float
    slope: float
    doubt: float


def log_estimate(decomposition: Decomposition, eps: float, n: int) -> Estimate:
    """Saddlepoint estimates at one point; −inf where D(ε) vanishes or nearly so."""
    g = law(decomposition, eps)
    if _vanishes(g):
        return Estimate(-math.inf, -math.inf, math.inf)
    theta = tilting_point(g, n)
    found = _Saddlepoint.of(g, n, theta)
    positive = decomposition.c > 0.0
    sensitivity = decomposition.b[positive] / decomposition.c[positive]
    slope = -n * theta * math.exp(eps) * float(np.ldexp(found.weights @ sensitivity, -g.exponent))
    log = found.log - math.log(n) + g.exponent * math.log(2.0)
    return Estimate(log, slope, found.doubt)


def outlook(g: Law, n: int) -> tuple[float, float]:
    """A saddlepoint estimate of log E[S₊], and the excess kurtosis of the tilted S.

    The latter is, but for a constant, one over the number of draws that matter. −inf and 0 where no
    value is above 0; the estimate is not finite where it is beyond floats.
    """
    if not g.values.max(initial=0.0) > 0.0:
        return -math.inf, 0.0
    found = _Saddlepoint.of(g, n, tilting_point(g, n))
    return found.log, found.kurtosis


class _Saddlepoint(NamedTuple):
    """Log E[S₊], by how much it may be off, the tilted kurtosis over n, and the tilted masses."""

    log: float
    doubt: float
    kurtosis: float
    weights: FloatArray

    @staticmethod
    def of(g: Law, n: int, theta: float) -> _Saddlepoint:
        """E[S₊] is the integral of e^Φ/2πi, Φ(s) = nK(s) − 2 log s, over θ + iℝ (Daniels 1954)."""
        k, mean, variance = cumulants(g, theta)
        with np.errstate(all="ignore"):
            weights = g.masses * np.exp(theta * g.values - k)
            away = np.where(weights > 0.0, theta * (g.values - mean), 0.0)
            square = away * away
            third, fourth = float(weights @ (square * away)), float(weights @ (square * square))
            at_zero = g.residual * float(np.exp(-k))
        shift, spread = theta * mean, n * variance * theta * theta
        log = n * k - math.log(theta) - 0.5 * math.log(2.0 * math.pi * (spread + 2.0))
        if not 1e-100 < spread < 1e100:  # far from anything normal
            return _Saddlepoint(log, math.inf, 1e300 if fourth > 0.0 else 0.0, weights)
        u, kurtosis = 1.0 / (spread + 2.0), n * fourth / (spread * spread)
        third -= at_zero * shift * shift * shift
        fourth += at_zero * shift * shift * shift * shift
        fourth, third = n * fourth - 3.0 * spread * spread / n, n * third - 4.0
        # The next term, and of what −2 log s alone gives, the one after it.
        correction = u * u * ((fourth + 12.0) / 8.0 - 5.0 / 24.0 * third * third * u)
        own = u * u * (1.5 - 10.0 / 3.0 * u)
        after = u * u * u * (-5.0 + u * (41.125 - u * (105.0 - 85.556 * u)))
        # Atoms that stand out are not seen by the corrections.
        excess = 3.0 * fourth / (spread * spread)
        doubt = 2.0 * abs(correction - own) * math.sqrt(abs(correction - own))
        doubt += excess * excess + 0.7 * u * u * u
        correction += after
        if not abs(correction) < _LARGEST:
            return _Saddlepoint(log, math.inf if math.isnan(doubt) else doubt, kurtosis, weights)
        return _Saddlepoint(log + math.log1p(correction), doubt, kurtosis, weights)


def _vanishes(g: Law) -> NDArray[np.bool_]:
    """Whether no value is known to be above 0, or nothing of one; for each row of several laws."""
    with np.errstate(invalid="ignore"):
        return np.logical_not((g.values - g.value_err).max(axis=-1, initial=-np.inf) > 0.0)


class Estimates(NamedTuple):
    """Of log D, and of its derivative in ε; −inf where D vanishes or nearly so."""

    log: FloatArray
    slope: FloatArray


def estimates(decomposition: Decomposition, eps: FloatArray, n: FloatArray) -> Estimates:
    """Uncorrected saddlepoint estimates at the points (eps, n)."""
    block = max(1, _BLOCK // len(decomposition))
    parts = [
        _estimates(decomposition, eps[start : start + block], n[start : start + block])
        for start in range(0, eps.size, block)
    ]
    return Estimates(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def _estimates(decomposition: Decomposition, eps: FloatArray, n: FloatArray) -> Estimates:
    g = laws(decomposition, eps)
    if not g.masses.size:
        return Estimates(np.full(eps.shape, -np.inf), np.full(eps.shape, -np.inf))
    with np.errstate(all="ignore"):
        theta = tilting_points(g, n)
        k, _, variance, weights = _cumulants(g, theta)
        spread = n * variance + 2.0 / theta**2
        log = n * k - np.log(n) - 2.0 * np.log(theta) - 0.5 * np.log(2.0 * math.pi * spread)
        positive = decomposition.c > 0.0
        sensitivity = decomposition.b[positive] / decomposition.c[positive]
        slope = -n * theta * np.ldexp(np.exp(eps) * (weights @ sensitivity), -g.exponent)
        log = log + g.exponent * math.log(2.0)
        vanishes = _vanishes(g)
    return Estimates(np.where(vanishes, -np.inf, log), np.where(vanishes, -np.inf, slope))


def tilting_points(g: Law, n: FloatArray) -> FloatArray:
    """What `law.tilting_point` gives, for several laws at once."""
    with np.errstate(all="ignore"):
        mean = g.values @ g.masses
        spread = g.values**2 @ g.masses - mean**2
        theta = (np.sqrt(mean**2 + 8.0 * spread / n) - mean) / (2.0 * spread)
        theta = np.where(
            np.isfinite(theta) & (theta > 0.0), theta, 1.0 / np.abs(g.values).max(axis=-1)
        )
        low, high = np.zeros(theta.shape), np.full(theta.shape, np.inf)
        for _ in range(_TILTS):
            _, slope, curvature, _ = _cumulants(g, theta)
            excess = n * slope * theta - 2.0
            low, high = np.where(excess < 0.0, theta, low), np.where(excess < 0.0, high, theta)
            step = -excess / (n * curvature * theta**2 + 2.0)
            newton = theta * np.exp(np.clip(step, -3.0, 3.0))
            middle = np.sqrt(np.maximum(low, high * 1e-6) * high)
            middle = np.where(np.isinf(high), 2.0 * low, middle)
            inside = (low < newton) & (newton < high)
            close = np.abs(step) < 1e-3
            theta = np.where(inside | close, newton, middle)
            if close.all():
                break
    return theta


def _cumulants(g: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """K(θ), K′(θ), K″(θ) and the tilted masses, shape (P, J), of each law."""
    x = theta[:, None] * g.values
    top = np.maximum(x.max(axis=-1), 0.0)
    weights = g.masses * np.exp(x - top[:, None])
    at_zero = g.residual * np.exp(-top)
    total = weights.sum(axis=-1) + at_zero
    weights /= total[:, None]
    at_zero /= total
    values = np.where(weights > 0.0, g.values, 0.0)
    mean = np.vecdot(weights, values)
    variance = np.vecdot(weights, (values - mean[:, None]) ** 2) + at_zero * mean**2
    # Near 0 the logarithm of the total would be all rounding, and n multiplies it.
    growth = np.expm1(x) @ g.masses
    near = (top < 1.0) & (growth > -0.5)
    k = np.where(near, np.log1p(np.where(near, growth, 0.0)), top + np.log(total))
    return k, mean, variance, weights


def roots(
    directions: list[Decomposition], n: FloatArray, delta: FloatArray, end: float
) -> tuple[FloatArray, FloatArray]:
    """Where the largest estimate over some decompositions passes δ, and its slope there.

    The roots lie between 0 and `end`; NaN where none was found.
    """
    target = np.log(delta)
    values, masses = directions[0].gparv(0.0)
    with np.errstate(all="ignore"):
        normal = np.sqrt(-2.0 * float(masses @ values**2) * target / n)
        guess = np.minimum(normal, 0.9 * end)
        low, high = np.zeros(n.shape), np.full(n.shape, end)
        close = np.zeros(n.shape, dtype=bool)
        slope = np.full(n.shape, np.nan)
        for _ in range(_ROOTS):
            # A root once found stays as it is.
            log, steep = _largest(directions, guess, n)
            low, high = np.where(log > target, guess, low), np.where(log > target, high, guess)
            newton = guess - (log - target) / steep
            found = np.abs(newton - guess) <= _LAST_STEP * guess
            inside = (low < newton) & (newton < high)
            step = np.where(inside | found, newton, 0.5 * (low + high))
            guess, slope = np.where(close, guess, step), np.where(close, slope, steep)
            close |= found
            if close.all():
                break
    return np.where(close, guess, np.nan), slope


def _largest(directions: list[Decomposition], eps: FloatArray, n: FloatArray) -> Estimates:
    largest, *others = (estimates(one, eps, n) for one in directions)
    for other in others:
        more = other.log > largest.log
        largest = Estimates(
            np.where(more, other.log, largest.log), np.where(more, other.slope, largest.slope)
        )
    return largest


# An estimate of D(ε) for laws with rare, large values: the largest draw as it is, others normal.
#
# With |G| of the largest of n draws at a value v, the others are draws of the law cut off at |v|;
# their sum is taken for normal. The saddlepoint estimates of `estimates` take all of S for nearly
# normal, which is far off where few draws count. No bounds: it says where to look.

# Abramowitz and Stegun, 7.1.26: erfc, good to 10⁻⁷.
_P = 0.3275911
_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
# Deviations from which the tail's own series is better.
_FAR = 5.0


def largest_draw_estimate(decomposition: Decomposition, eps: float, n: int) -> float:
    """Log D(ε), roughly; −inf where D vanishes or nearly so."""
    g = law(decomposition, eps)
    if not (g.values.size and g.values.max() > 0.0):
        return -math.inf
    size = np.abs(g.values)
    order = np.argsort(size)
    size, values, masses = size[order], g.values[order], g.masses[order]
    # Of values with the same size, half are taken for larger ones.
    larger = masses.sum() - np.cumsum(masses) + 0.5 * masses
    others = n - 1.0
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        above = _above(values, masses, values, others)
        # What losses spread makes no gains.
        above = np.minimum(above, _above(values, masses, np.maximum(values, 0.0), others))
        total = float(np.nansum(masses * np.exp(-others * larger) * above))
    return math.log(total) + g.exponent * math.log(2.0) if total > 0.0 else -math.inf


def _above(values: FloatArray, masses: FloatArray, draws: FloatArray, others: float) -> FloatArray:
    """E (v + R)₊ for each value v, R the sum of the others' draws up to its size."""
    first, second = (np.cumsum(x) - 0.5 * x for x in (masses * draws, masses * draws**2))
    sigma = np.sqrt(others * np.maximum(second - first**2, 0.0))
    return _mean_positive_part(values + others * first, sigma)


def _mean_positive_part(mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """E X₊ of normal X: σ(ϕ(z) + zΦ(z)), z = mean/σ."""
    z = np.abs(mean) / sigma
    t = 1.0 / (1.0 + _P * z / math.sqrt(2.0))
    mills = math.sqrt(math.pi / 2.0) * t * np.polyval(_A[::-1], t)
    share = np.where(z < _FAR, 1.0 - z * mills, (1.0 - 3.0 / z**2) / z**2)
    tail = sigma * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * share
    return np.maximum(mean, 0.0) + np.where(sigma > 0.0, np.maximum(tail, 0.0), 0.0)
