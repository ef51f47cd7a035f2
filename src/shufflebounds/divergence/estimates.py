"""Saddlepoint estimates of D(ε) at one or many points, and where they pass a given δ.

Estimates are no bounds: they say where to look. Arrays have shape (P,), one entry per point.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, cumulants, law, laws, tilting_point

# Largest number of steps in search of a tilt. Estimates claim nothing, so all numbers here decide
# speed only (benchmarks/deployer_grid.py, and benchmarks/arrays.py for many points).
_MAX_TILT_STEPS = 60
# Largest number of steps in search of a root.
_MAX_ROOT_STEPS = 25
# Largest number of points times components in memory at once.
_BLOCK = 2**16
# Relative length of a Newton step after which the search of a root stops. The error of the root is
# about its square.
_LAST_STEP = 1e-4
# Largest relative correction of the saddlepoint formula that is applied. Larger ones would be
# unreliable.
_LARGEST_CORRECTION = 0.3
# Scale of the argument in the approximation of erfc by Abramowitz and Stegun, formula 7.1.26.
_ERFC_SCALE = 0.3275911
# Coefficients of that approximation, whose absolute error is about 1e-7.
_ERFC_COEFFICIENTS = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
# Number of standard deviations from which on the tail's asymptotic series is more accurate.
_MIN_DEVIATION_OF_SERIES = 5.0


class Estimate(NamedTuple):
    """Estimates of log D(ε), of its derivative in ε, and of the error of the first."""

    log: float
    slope: float
    doubt: float


def log_estimate(decomposition: Decomposition, eps: float, n: int) -> Estimate:
    """Return saddlepoint estimates at one point, −inf if D(ε) vanishes or nearly so."""
    g = law(decomposition, eps)
    if _vanishes(g):
        return Estimate(-math.inf, -math.inf, math.inf)
    theta = tilting_point(g, n)
    saddlepoint = _Saddlepoint.of(g, n, theta)
    positive = decomposition.c > 0.0
    sensitivity = decomposition.b[positive] / decomposition.c[positive]
    slope = (
        -n * theta * math.exp(eps) * float(np.ldexp(saddlepoint.weights @ sensitivity, -g.exponent))
    )
    log = saddlepoint.log - math.log(n) + g.exponent * math.log(2.0)
    return Estimate(log, slope, saddlepoint.doubt)


def outlook(g: Law, n: int) -> tuple[float, float]:
    """Return a saddlepoint estimate of log E[S₊] and the excess kurtosis of the tilted S.

    The kurtosis is, but for a constant, one over the number of draws that matter. The answer is
    (−inf, 0) if no value is above 0. The estimate is not finite if it leaves the range of floats.
    """
    if not g.values.max(initial=0.0) > 0.0:
        return -math.inf, 0.0
    saddlepoint = _Saddlepoint.of(g, n, tilting_point(g, n))
    return saddlepoint.log, saddlepoint.kurtosis


class _Saddlepoint(NamedTuple):
    """Estimates of log E[S₊] and of its error, the kurtosis of S, and the tilted masses of G."""

    log: float
    doubt: float
    kurtosis: float
    weights: FloatArray

    @staticmethod
    def of(g: Law, n: int, theta: float) -> _Saddlepoint:
        """Return the expansion at θ of ∫ e^Φ ds/2πi = E[S₊], Φ(s) = nK(s) − 2 log s, over θ + iℝ.

        See Daniels, 1954.
        """
        k, mean, variance = cumulants(g, theta)
        with np.errstate(all="ignore"):
            weights = g.masses * np.exp(theta * g.values - k)
            offset = np.where(weights > 0.0, theta * (g.values - mean), 0.0)
            square = offset * offset
            third, fourth = float(weights @ (square * offset)), float(weights @ (square * square))
            at_zero = g.residual * float(np.exp(-k))
        shift, spread = theta * mean, n * variance * theta * theta
        log = n * k - math.log(theta) - 0.5 * math.log(2.0 * math.pi * (spread + 2.0))
        # The expansion about a normal law is meaningless for such a spread.
        if not 1e-100 < spread < 1e100:
            return _Saddlepoint(log, math.inf, 1e300 if fourth > 0.0 else 0.0, weights)
        u, kurtosis = 1.0 / (spread + 2.0), n * fourth / (spread * spread)
        third -= at_zero * shift * shift * shift
        fourth += at_zero * shift * shift * shift * shift
        fourth, third = n * fourth - 3.0 * spread * spread / n, n * third - 4.0
        # The correction has the next term of the expansion, and one more of the part that comes
        # from −2 log s alone.
        correction = u * u * ((fourth + 12.0) / 8.0 - 5.0 / 24.0 * third * third * u)
        expected = u * u * (1.5 - 10.0 / 3.0 * u)
        next_term = u * u * u * (-5.0 + u * (41.125 - u * (105.0 - 85.556 * u)))
        # The corrections do not account for large atoms, hence this part of the doubt.
        excess = 3.0 * fourth / (spread * spread)
        doubt = 2.0 * abs(correction - expected) * math.sqrt(abs(correction - expected))
        doubt += excess * excess + 0.7 * u * u * u
        correction += next_term
        if not abs(correction) < _LARGEST_CORRECTION:
            return _Saddlepoint(log, math.inf if math.isnan(doubt) else doubt, kurtosis, weights)
        return _Saddlepoint(log + math.log1p(correction), doubt, kurtosis, weights)


def _vanishes(g: Law) -> NDArray[np.bool_]:
    """Return whether no value is certainly above 0, for each law."""
    with np.errstate(invalid="ignore"):
        return np.logical_not((g.values - g.value_err).max(axis=-1, initial=-np.inf) > 0.0)


class Estimates(NamedTuple):
    """Estimates of log D and of its derivative in ε; −inf where D vanishes or nearly so."""

    log: FloatArray
    slope: FloatArray


def estimates(decomposition: Decomposition, eps: FloatArray, n: FloatArray) -> Estimates:
    """Return uncorrected saddlepoint estimates at the points (eps, n)."""
    block = max(1, _BLOCK // len(decomposition))
    parts = [
        _estimates_in_one_block(decomposition, eps[start : start + block], n[start : start + block])
        for start in range(0, eps.size, block)
    ]
    return Estimates(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def _estimates_in_one_block(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray
) -> Estimates:
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
    """Return the tilting point of each law, as `law.tilting_point` does for one law."""
    with np.errstate(all="ignore"):
        mean = g.values @ g.masses
        spread = g.values**2 @ g.masses - mean**2
        theta = (np.sqrt(mean**2 + 8.0 * spread / n) - mean) / (2.0 * spread)
        theta = np.where(
            np.isfinite(theta) & (theta > 0.0), theta, 1.0 / np.abs(g.values).max(axis=-1)
        )
        low, high = np.zeros(theta.shape), np.full(theta.shape, np.inf)
        for _ in range(_MAX_TILT_STEPS):
            _, slope, curvature, _ = _cumulants(g, theta)
            excess = n * slope * theta - 2.0
            low, high = np.where(excess < 0.0, theta, low), np.where(excess < 0.0, high, theta)
            step = -excess / (n * curvature * theta**2 + 2.0)
            newton = theta * np.exp(np.clip(step, -3.0, 3.0))
            middle = np.sqrt(np.maximum(low, high * 1e-6) * high)
            middle = np.where(np.isinf(high), 2.0 * low, middle)
            inside = (low < newton) & (newton < high)
            converged = np.abs(step) < 1e-3
            theta = np.where(inside | converged, newton, middle)
            if converged.all():
                break
    return theta


def _cumulants(g: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return K(θ), K′(θ), K″(θ) and the tilted masses, shape (P, J), of each law."""
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
    # Near 0 the logarithm of the total would be nothing but rounding, which n multiplies.
    growth = np.expm1(x) @ g.masses
    near = (top < 1.0) & (growth > -0.5)
    k = np.where(near, np.log1p(np.where(near, growth, 0.0)), top + np.log(total))
    return k, mean, variance, weights


def roots(
    directions: list[Decomposition], n: FloatArray, delta: FloatArray, end: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ε at which the largest estimate over the `directions` passes δ, and its slope.

    The roots lie between 0 and `end`; they are NaN where the search fails.
    """
    target = np.log(delta)
    values, masses = directions[0].gparv(0.0)
    with np.errstate(all="ignore"):
        normal = np.sqrt(-2.0 * float(masses @ values**2) * target / n)
        guess = np.minimum(normal, 0.9 * end)
        low, high = np.zeros(n.shape), np.full(n.shape, end)
        converged = np.zeros(n.shape, dtype=bool)
        slope = np.full(n.shape, np.nan)
        for _ in range(_MAX_ROOT_STEPS):
            # Converged roots stay as they are.
            log, derivative = _largest(directions, guess, n)
            low, high = np.where(log > target, guess, low), np.where(log > target, high, guess)
            newton = guess - (log - target) / derivative
            short_step = np.abs(newton - guess) <= _LAST_STEP * guess
            inside = (low < newton) & (newton < high)
            step = np.where(inside | short_step, newton, 0.5 * (low + high))
            guess, slope = np.where(converged, guess, step), np.where(converged, slope, derivative)
            converged |= short_step
            if converged.all():
                break
    return np.where(converged, guess, np.nan), slope


def _largest(directions: list[Decomposition], eps: FloatArray, n: FloatArray) -> Estimates:
    """Return the largest estimate over the `directions` at each point."""
    largest, *candidates = (estimates(direction, eps, n) for direction in directions)
    for candidate in candidates:
        larger = candidate.log > largest.log
        largest = Estimates(
            np.where(larger, candidate.log, largest.log),
            np.where(larger, candidate.slope, largest.slope),
        )
    return largest


def largest_draw_estimate(decomposition: Decomposition, eps: float, n: int) -> float:
    """Return an estimate of log D(ε) for laws with rare, large values; −inf where D vanishes.

    If |G| is largest for the draw v, the other draws have the law cut off at |v|, and their sum is
    taken for normal. The saddlepoint estimates take all of S for nearly normal, which is far off
    if few draws count.
    """
    g = law(decomposition, eps)
    if not (g.values.size and g.values.max() > 0.0):
        return -math.inf
    size = np.abs(g.values)
    order = np.argsort(size)
    size, values, masses = size[order], g.values[order], g.masses[order]
    # Half of the mass at the same size counts as larger.
    larger = masses.sum() - np.cumsum(masses) + 0.5 * masses
    other_users = n - 1.0
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        above = _mean_with_other_draws(values, masses, values, other_users)
        # The spread of the losses must not add to the gains.
        above = np.minimum(
            above, _mean_with_other_draws(values, masses, np.maximum(values, 0.0), other_users)
        )
        total = float(np.nansum(masses * np.exp(-other_users * larger) * above))
    return math.log(total) + g.exponent * math.log(2.0) if total > 0.0 else -math.inf


def _mean_with_other_draws(
    values: FloatArray, masses: FloatArray, draws: FloatArray, other_users: float
) -> FloatArray:
    """Return E (v + R)₊ for each value v, where R sums the other draws, of at most its size."""
    mean, mean_square = (np.cumsum(x) - 0.5 * x for x in (masses * draws, masses * draws**2))
    sigma = np.sqrt(other_users * np.maximum(mean_square - mean**2, 0.0))
    return _mean_positive_part(values + other_users * mean, sigma)


def _mean_positive_part(mean: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return E X₊ of normal X: σ(ϕ(z) + zΦ(z)), z = mean/σ."""
    z = np.abs(mean) / sigma
    t = 1.0 / (1.0 + _ERFC_SCALE * z / math.sqrt(2.0))
    mills = math.sqrt(math.pi / 2.0) * t * np.polyval(_ERFC_COEFFICIENTS[::-1], t)
    share = np.where(z < _MIN_DEVIATION_OF_SERIES, 1.0 - z * mills, (1.0 - 3.0 / z**2) / z**2)
    tail = sigma * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * share
    return np.maximum(mean, 0.0) + np.where(sigma > 0.0, np.maximum(tail, 0.0), 0.0)
