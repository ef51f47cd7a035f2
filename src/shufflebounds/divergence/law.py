"""The law of the GPARV at one ε with error bounds, its exponential tilts, and the choice of a tilt.

Notation: g_j are the values with masses p_j, the remaining mass sits at 0; S is the sum of n
independent copies; K(s) = log E e^{sG}. u = 2⁻⁵³ is the unit round-off.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray

# The unit round-off u of a float.
U = 2.0**-53
# Smallest value kept. A draw this far below the largest value makes S negative whatever the other
# draws are, for n ≤ 10¹⁵. How far exactly does not matter, and its square must not overflow.
_LOWEST = -1e100
# Error of K below which the second formula is not tried, because it can do no better.
_GOOD = 64 * U
# Relative error of a weight from which on the weight is only bounded. Such large errors are
# harmless because weights of values near 0 hardly count.
_LARGEST_WEIGHT_ERROR = 10.0
# Largest number of tilts times values in memory at once. Speed only (benchmarks/deployer_grid.py).
_BLOCK = 2**18
# Largest number of steps in search of the tilting point. Every tilt gives valid bounds, so this
# and the numbers below decide speed only (benchmarks/deployer_grid.py).
_MAX_STEPS = 200
# Length of a step of log θ after which the search stops.
_LAST_STEP = 5e-3
# Longest step of log θ.
_LONGEST_STEP = 15.0
# Largest number of Newton steps for the model of one step.
_MODEL_STEPS = 20
# Relative length of a Newton step for the model after which it stops.
_LAST_MODEL_STEP = 1e-3
# Smallest scaled value in search of the tilting point, chosen so that its square is finite.
_LOWEST_SCALED_VALUE = -1e140
# Largest tilt, chosen so that its square is finite.
_LARGEST_TILT = 1e150


def log(x: float) -> float:
    """Return the natural logarithm of x ≥ 0, −inf at 0."""
    return math.log(x) if x > 0.0 else -math.inf


def away_from_one(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return real and imaginary part of e^{iy} − 1, with relative errors of at most 20 u and 12 u.

    With τ = tan(y/2), sin y = 2τ/(1 + τ²) and cos y − 1 = −2τ²/(1 + τ²). A relative error of τ
    counts at most once in the first and twice in the second, however close to a pole:
    docs/engine.md, section 7.
    """
    tangent = np.tan(0.5 * y)
    square = tangent * tangent
    scale = 2.0 / (1.0 + square)
    tangent *= scale
    square *= scale
    return np.negative(square, out=square), tangent


@dataclass(frozen=True, eq=False)
class Law:
    """Values and masses of G, with bounds of their errors, and the mass of the residual atom.

    The values are those of G / 2^exponent, the largest in [½, 1) if any is positive.
    ``values`` and ``masses`` have shape (J,). The absolute errors of the values are at most
    ``value_err`` (J,), the relative errors of the masses at most ``mass_err``, a number or (J,).
    ``residual`` is the mass of the residual atom at 0, with an absolute error of at most
    ``residual_err``.

    One object can also hold the laws at P values of ε: ``values`` and ``value_err`` then have
    shape (P, J) and ``exponent`` (P,). The masses do not depend on ε.
    """

    values: FloatArray
    masses: FloatArray
    exponent: Any  # an int, or an NDArray[np.int32]
    value_err: FloatArray
    mass_err: float | FloatArray
    residual: float
    residual_err: float

    @property
    def sum_err(self) -> float:
        """The relative error of a dot product over the components, in any order of summation."""
        return 2.0 * (self.masses.size + 1) * U


def law(decomposition: Decomposition, eps: float) -> Law:
    """Return the GPARV's law at ε ≥ 0, over the components with c > 0."""
    return _law(decomposition, math.expm1(eps))


def laws(decomposition: Decomposition, eps: FloatArray) -> Law:
    """Return one object with the laws at all ε, shape (P,)."""
    return _law(decomposition, np.array([[math.expm1(x)] for x in eps.tolist()]))


def _law(decomposition: Decomposition, growth: float | FloatArray) -> Law:
    """Return the law, or P laws, at e^ε − 1, a float or of shape (P, 1)."""
    positive = decomposition.c > 0.0
    a, b, c = (x[positive] for x in (decomposition.a, decomposition.b, decomposition.c))
    ties = decomposition.ties[positive]
    is_stack = not isinstance(growth, float)
    difference = (a - b) - growth * b
    gain = np.where(difference > 0.0, difference, 0.0) / c
    largest = gain.max(axis=-1, keepdims=is_stack, initial=0.0)
    exponent: Any = np.frexp(largest)[1] if is_stack else math.frexp(largest)[1]
    rounding = U * (np.abs(a - b) + 3.0 * growth * b + 2.0 * np.abs(difference))
    # Where a equals b exactly, only (e^ε − 1) b is uncertain.
    data = 2.01 * decomposition.rel_err * (np.where(ties, 0.0, a + b) + growth * b)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        difference = np.ldexp(difference, -exponent)
        values = difference / c
        value_err = np.ldexp(rounding + data, -exponent) / c
        # Scaling by a power of two is exact unless it underflows.
        value_err += np.where(np.abs(difference) < 2.0**-960, 2.0**-1070 / c, 0.0)
        bottom, top = values - value_err, values + value_err
        lowest = np.fmin(_LOWEST, -1e20 * top.max(axis=-1, keepdims=is_stack, initial=0.0))
        below_lowest = bottom < lowest
        bottom, top = np.maximum(bottom, lowest), np.maximum(top, lowest)
        values = np.where(below_lowest, 0.5 * (top + bottom), values)
        value_err = np.where(below_lowest, 0.5 * (top - bottom) * (1.0 + 8.0 * U), value_err)
    residual = decomposition.residual
    residual_err = decomposition.rel_err * float(c.sum()) + 2.0 * U * residual
    scale = exponent[:, 0] if is_stack else exponent
    return Law(values, c, scale, value_err, decomposition.rel_err, residual, residual_err)


@dataclass(frozen=True, eq=False)
class Tilted:
    """The law of one G under dQ/dP = e^{θG − K(θ)}.

    ``weights`` (J,) are the tilted masses of the values away from 0, ``weight_err`` (J,) their
    relative errors. The weights that are not ``used`` (J,) sum to at most ``left_out``.
    ``log_mgf`` is K(θ), with an absolute error of at most ``log_mgf_err``. For P laws, numbers
    here have shape (P,) and arrays (P, J).
    """

    theta: Any
    log_mgf: Any
    log_mgf_err: Any
    weights: FloatArray
    weight_err: FloatArray
    used: NDArray[np.bool_]
    left_out: Any
    mean: Any
    variance: Any


def tilt(law: Law, theta: float) -> Tilted:
    """Return the law tilted by θ > 0."""
    result = tilted(law, np.array(theta))
    return replace(
        result,
        theta=theta,
        log_mgf=float(result.log_mgf),
        log_mgf_err=float(result.log_mgf_err),
        left_out=float(result.left_out),
        mean=float(result.mean),
        variance=float(result.variance),
    )


def tilted(law: Law, theta: FloatArray) -> Tilted:
    """Return a law tilted by θ of shape (), or P laws tilted by θ of shape (P,)."""
    column = theta[..., None]
    k, err = log_mgfs(law, column)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = column * law.values
        # The exponential is applied in two halves because p may be as small as it is large.
        half = np.exp(0.5 * (exponent - k))
        weights = law.masses * half * half
        positive = weights > 0.0
        magnitude = np.where(positive, np.abs(exponent), 0.0)
        log_err = 1.01 * law.mass_err + 14.0 * U + 2.0 * U * (magnitude + np.abs(k)) + err
        log_err = log_err + column * law.value_err
        weight_err = np.expm1(log_err)
        # Weights that are too small to compute with, or too uncertain, are only bounded.
        used = (weights > 1e-290) & (weight_err < _LARGEST_WEIGHT_ERROR)
        exponent = np.where(positive, exponent, exponent * (1.0 - 4.0 * U))
        half = np.exp(0.5 * (exponent - k + log_err))
        left_out = np.where(used, 0.0, law.masses * half * half).sum(axis=-1)
        left_out = left_out * (1.0 + 1e-9) + np.where(used.all(axis=-1), 0.0, 2.0**-1000)
        used_weights, values = np.where(used, weights, 0.0), np.where(used, law.values, 0.0)
        mean = np.vecdot(used_weights, values)
        variance = np.vecdot(used_weights, (values - mean[..., None]) ** 2)
        variance += np.maximum(0.0, 1.0 - used_weights.sum(axis=-1)) * mean**2
    log_mgf, log_mgf_err = k[..., 0], err[..., 0]
    return Tilted(theta, log_mgf, log_mgf_err, weights, weight_err, used, left_out, mean, variance)


def tilted_moments(
    values: FloatArray,
    value_err: FloatArray,
    weights: FloatArray,
    weight_err: FloatArray,
    left_out: FloatArray | float,
    mean: FloatArray,
    largest: FloatArray | float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return lower and upper bounds of the tilted variance, and an upper one of the fourth moment.

    `values` and `weights` have shape (…, J); those that are not used are left out or 0. No value is
    further from 0 than `largest`. The moments are central ones about the computed `mean`. About
    the true mean, the variance is lower by at most the square of their distance, which the slack
    covers.
    """
    mean_size = np.abs(mean)
    offset = values - mean[..., None]
    offset_err = value_err + 4.0 * U * (np.abs(values) + mean_size[..., None])
    at_zero = np.maximum(0.0, 1.0 - weights.sum(axis=-1))
    zero_err = np.vecdot(weights, weight_err) + left_out + 8.0 * U
    term_err = weight_err * np.abs(values) + (1.0 + weight_err) * offset_err
    # The values that were left out may be anywhere.
    radius = largest + mean_size
    with np.errstate(over="ignore", invalid="ignore"):
        mean_err = np.vecdot(weights, term_err) + 8.0 * U * mean_size + left_out * radius
        variance = np.vecdot(weights, offset**2) + at_zero * mean_size**2
        term_err = (
            weight_err * offset**2
            + (1.0 + weight_err) * (2.0 * np.abs(offset) + offset_err) * offset_err
        )
        variance_err = np.vecdot(weights, term_err) + zero_err * mean_size**2 + mean_err**2
        variance_err += 1e-9 * variance + left_out * radius**2
        largest_offset = np.abs(offset) + offset_err + mean_err[..., None]
        # No power of `radius` is taken: it may overflow even if nothing is left out.
        fourth = (
            np.vecdot((1.0 + weight_err) * weights, largest_offset**4)
            + left_out * radius * radius * radius * radius
        )
        fourth += (at_zero + zero_err) * (mean_size + mean_err) ** 4
    return variance - variance_err, variance + variance_err, fourth * (1.0 + 1e-9)


def log_mgf(law: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return K(θ) and a bound of its error, inf on overflow, for θ of any sign, shape (T,)."""
    block = max(1, _BLOCK // law.values.size)
    parts = [log_mgfs(law, theta[start : start + block]) for start in range(0, theta.size, block)]
    return np.concatenate([k for k, _ in parts]), np.concatenate([err for _, err in parts])


def log_mgfs(law: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what `log_mgf` does, in one block; θ has shape (T,), or (P, T) for P laws.

    There are two formulas, and the one with the smaller error wins. log1p(Σ p expm1(θg)) keeps the
    relative precision, which n multiplies, when K is small. Log-sum-exp keeps the absolute
    precision when K is large or close to the logarithm of a tiny mass. Each error counts the
    roundings of every operation to first order; the factor 2 pays for the second.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        x = theta[..., None] * law.values[..., None, :]
        x_err = 2.0 * U * np.abs(x) + np.abs(theta)[..., None] * law.value_err[..., None, :]
        sum_err, mass_err = law.sum_err, law.mass_err

        growth = law.masses * np.expm1(x)
        small_k = np.log1p(growth.sum(axis=-1))
        term_err = (mass_err + 6.0 * U + sum_err) * np.abs(growth) + law.masses * rise(x, x_err)
        small_k_err = (
            2.0 * term_err.sum(axis=-1) * np.exp(-small_k) + 4.0 * U * np.abs(small_k) + 2.0**-1000
        )

        if small_k_err.max() < _GOOD:
            return small_k, small_k_err

        top = np.maximum(x.max(axis=-1), 0.0)
        shifted = x - top[..., None]
        terms = law.masses * np.exp(shifted)
        at_zero = law.residual * np.exp(-top)
        total = terms.sum(axis=-1) + at_zero
        large_k = top + np.log(total)
        term_err = terms * (mass_err + 8.0 * U + sum_err + 2.0 * U * top[..., None])
        term_err += law.masses * rise(shifted, x_err)
        # A mass that underflows here would still count below the smallest normal float.
        lost_mass = law.residual_err * np.exp(-top) + law.masses.size * 2.0**-1021
        large_k_err = 2.0 * ((term_err.sum(axis=-1) + lost_mass) / total + sum_err) + 4.0 * U * (
            np.abs(large_k) + top
        )
    small_k_err[~(np.isfinite(small_k) & (small_k_err <= 0.5))] = np.inf
    large_k_err[~(np.isfinite(large_k) & (large_k_err <= 0.5))] = np.inf
    prefer_small = small_k_err <= large_k_err
    return np.where(prefer_small, small_k, large_k), np.where(
        prefer_small, small_k_err, large_k_err
    )


def rise(x: FloatArray, err: FloatArray) -> FloatArray:
    """Return e^{x + err} − e^x for err ≥ 0, or more than that."""
    return np.where(err < 1.0, np.exp(x) * np.expm1(np.minimum(err, 1.0)), np.exp(x + err))


def cumulants(law: Law, theta: float) -> tuple[float, float, float]:
    """Return K(θ), K′(θ) and K″(θ) without error bounds, for estimates only."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        x = theta * law.values
        top = max(float(x.max()), 0.0)
        weights = law.masses * np.exp(x - top)
        at_zero = law.residual * math.exp(-top)
        total = float(weights.sum()) + at_zero
        values = np.where(weights > 0.0, law.values, 0.0)
        mean = float(weights @ values) / total
        variance = (float(weights @ (values - mean) ** 2) + at_zero * mean * mean) / total
        # Near 0 the logarithm of the total would be nothing but rounding, which n multiplies.
        growth = float(law.masses @ np.expm1(x)) if top < 1.0 else math.inf
    k = math.log1p(growth) if -0.5 < growth < math.inf else top + math.log(total)
    return k, mean, variance


def characteristic(
    law: Law, tilted: Tilted, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return φ(t) − 1 for φ(t) = E_Q e^{itG} and a bound of its error, at t ≥ 0, shape (T,)."""
    used = tilted.used
    g, w, err = law.values[used], tilted.weights[used], tilted.weight_err[used]
    y = t[:, None] * g
    cosine, sine = away_from_one(y)
    real, imag = cosine @ w, sine @ w
    size = np.minimum(np.abs(y), 2.0)
    relative = w * (err + 24.0 * U + law.sum_err)
    absolute = (w * (1.0 + err)) @ (2.0 * U * np.abs(g) + law.value_err[used])
    # Weights that were left out count twice, since |e^{itG} − 1| ≤ 2.
    left_out = 2.0 * tilted.left_out + 2.0**-1000
    return real + 1j * imag, size @ relative + t * absolute + left_out


def exp_down(x: float) -> float:
    """Return e^x rounded down; 0 where e^x leaves the range of floats with full precision."""
    return 0.0 if x < -700.0 else math.exp(min(x, 700.0)) * (1.0 - 8.0 * U)


@functools.lru_cache(maxsize=1)
def tilting_point(law: Law, n: int) -> float:
    """Return the minimiser θ > 0 of nK(θ) − 2 log θ to about 10⁻³; every θ gives valid bounds.

    The law must have a positive value. The answer is always finite. The last answer is cached,
    because the choice of an engine and the engine need the same θ. With M = e^K, the minimiser is
    the root of

        log E[G₊ e^{θG}] − log(E[G₋ e^{θG}] + 2M/(nθ)).

    For large and rare gains K′ grows like e^θ, whereas this difference is nearly a multiple of θ
    plus a multiple of log θ. A step of Newton's method, inside a bracket, models it as such a sum.
    """
    # Squares of values must neither underflow nor overflow; θ scales with their inverse.
    shift = math.frexp(float(law.values.max()))[1]
    with np.errstate(all="ignore"):
        values = np.maximum(np.ldexp(law.values, -shift), _LOWEST_SCALED_VALUE)
        theta = float(np.ldexp(_scaled_tilting_point(replace(law, values=values), n), -shift))
    return min(theta, _LARGEST_TILT)


def _scaled_tilting_point(law: Law, n: int) -> float:
    """Return the tilting point of a law whose largest value is in [½, 1)."""
    positive = law.values > 0.0
    gains, losses = law.values[positive], law.values[~positive]
    gain_masses, loss_masses = law.masses[positive], law.masses[~positive]
    largest = float(gains.max())
    with np.errstate(all="ignore"):
        gains_squared, losses_squared = gains * gains, losses * losses
        theta = min(
            _normal_tilt(law, n),
            _steepest_tilt(gains, gain_masses, -float(loss_masses @ losses), n),
        )
        low, high = 0.0, math.inf
        for _ in range(_MAX_STEPS):
            top = theta * largest
            up_weights, down_weights = (
                gain_masses * np.exp(theta * gains - top),
                loss_masses * np.exp(theta * losses - top),
            )
            gain, loss = float(up_weights @ gains), -float(down_weights @ losses)
            pull = 2.0 / (n * theta)
            loss_change = pull * (gain - loss) - float(down_weights @ losses_squared)
            pull_term = pull * (
                float(up_weights.sum() + down_weights.sum()) + law.residual * math.exp(-top)
            )
            loss += pull_term
            if not (0.0 < gain < math.inf and 0.0 < loss < math.inf):
                break
            excess = math.log(gain) - math.log(loss)
            low, high = (theta, high) if excess < 0.0 else (low, theta)
            steepness = theta * (float(up_weights @ gains_squared) / gain - loss_change / loss)
            step = _log_tilt_step(excess, max(steepness, 0.0), pull_term / loss)
            proposal = theta * math.exp(step)
            if abs(step) < _LAST_STEP:
                return proposal
            if not low < proposal < high:
                proposal = (
                    2.0 * low if math.isinf(high) else math.sqrt(max(low, high * 1e-6) * high)
                )
            theta = proposal
    return theta


def _log_tilt_step(excess: float, exponential: float, linear: float) -> float:
    """Return the root u of excess + exponential·(e^u − 1) + linear·u, both coefficients ≥ 0.

    The sum is convex, so Newton's method converges from above.
    """
    if not exponential + linear > 0.0:
        return math.copysign(_LONGEST_STEP, -excess)
    u = 0.0
    if excess < 0.0:
        u = -excess / linear if linear > 0.0 else math.inf
        u = min(u, math.log1p(-excess / exponential)) if exponential > 0.0 else u
    for _ in range(_MODEL_STEPS):
        growth = exponential * math.exp(u)
        step = (excess + growth - exponential + linear * u) / (growth + linear)
        u -= step
        if abs(step) <= _LAST_MODEL_STEP * abs(u):
            break
    return min(max(u, -_LONGEST_STEP), _LONGEST_STEP)


def _normal_tilt(law: Law, n: int) -> float:
    """Return the tilting point of a normal G with the same mean and variance."""
    mean = float(law.masses @ law.values)
    # Products may overflow to inf, whereas powers of Python's floats raise an error.
    spread = float(law.masses @ law.values**2) - mean * mean
    if spread > 0.0:
        theta = (math.sqrt(mean * mean + 8.0 * spread / n) - mean) / (2.0 * spread)
        if math.isfinite(theta) and theta > 0.0:
            return theta
    return 1.0 / float(law.values.max())


def _steepest_tilt(gains: FloatArray, masses: FloatArray, loss: float, n: int) -> float:
    """Return the θ at which the largest gain alone offsets all of E[G₋], for M = 1."""
    largest = float(gains.max())
    largest_gain = float(masses[np.argmax(gains)]) * largest
    if not largest_gain > 0.0:
        return math.inf
    return max(1.0, math.log((loss + 2.0 * largest / n) / largest_gain)) / largest
