"""The GPARV at one ε with error bounds, and its exponentially tilted laws.

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


def log(x: float) -> float:
    """Natural log of x ≥ 0, −inf at 0."""
    return math.log(x) if x > 0.0 else -math.inf


# e^{iy} − 1 from the tangent of y/2: one function for sine and cosine, good relatively.
#
# With τ = tan(y/2), sin y = 2τ/(1 + τ²) and cos y − 1 = −2τ²/(1 + τ²). A relative error of τ
# counts at most once in the first and twice in the second, however close to a pole:
# docs/engine.md, section 7.


def away_from_one(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What cos y − 1 is, good to 20 u of it, and sin y, good to 12 u of it."""
    tangent = np.tan(0.5 * y)
    square = tangent * tangent
    scale = 2.0 / (1.0 + square)
    tangent *= scale
    square *= scale
    return np.negative(square, out=square), tangent


U = 2.0**-53
# A draw this far below the largest value makes S negative whatever else is drawn, n ≤ 10¹⁵ times:
# how far exactly does not matter, and squares of it must not overflow.
_LOWEST = -1e100
# Errors of K below this are as small as those of the second formula can get: it is not tried.
_GOOD = 64 * U
# Weights known no better than this, relatively, are only bounded. Less will do, since even vague
# ones of values near 0 hardly count.
_VAGUE = 10.0
# Tilts times values held in memory at once.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class Law:
    """Values and masses of G away from the residual atom, each with what it may be off by.

    The values are those of G / 2^exponent, the largest in [½, 1) if any is positive.
    ``values`` and ``masses`` have shape (J,); the true values lie within ``value_err`` (J,) of
    them, the true masses within the relative distance ``mass_err``, a number or (J,).
    ``rest`` is the mass of the residual atom at 0, known to within ``rest_err``.

    The laws at several ε are one object, too: ``values`` and ``value_err`` have shape (P, J) then
    and ``exponent`` (P,), whereas the masses do not depend on ε.
    """

    values: FloatArray
    masses: FloatArray
    exponent: Any  # an int, or an NDArray[np.int32]
    value_err: FloatArray
    mass_err: float | FloatArray
    rest: float
    rest_err: float

    @property
    def sum_err(self) -> float:
        """Relative error of a dot product over the components, whatever the order of summation."""
        return 2.0 * (self.masses.size + 1) * U


def law(decomposition: Decomposition, eps: float) -> Law:
    """GPARV of a decomposition at ε ≥ 0 over its components with c > 0."""
    return _law(decomposition, math.expm1(eps))


def laws(decomposition: Decomposition, eps: FloatArray) -> Law:
    """The same at several ε, shape (P,)."""
    return _law(decomposition, np.array([[math.expm1(x)] for x in eps.tolist()]))


def _law(decomposition: Decomposition, growth: float | FloatArray) -> Law:
    """`law` at e^ε − 1, a float or of shape (P, 1)."""
    positive = decomposition.c > 0.0
    a, b, c = (x[positive] for x in (decomposition.a, decomposition.b, decomposition.c))
    tied = decomposition.ties[positive]
    several = not isinstance(growth, float)
    difference = (a - b) - growth * b
    gain = np.where(difference > 0.0, difference, 0.0) / c
    largest = gain.max(axis=-1, keepdims=several, initial=0.0)
    exponent: Any = np.frexp(largest)[1] if several else math.frexp(largest)[1]
    rounding = U * (np.abs(a - b) + 3.0 * growth * b + 2.0 * np.abs(difference))
    # Where a − b is 0 whatever they are, only e^ε − 1 times b is uncertain.
    data = 2.01 * decomposition.rel_err * (np.where(tied, 0.0, a + b) + growth * b)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        difference = np.ldexp(difference, -exponent)
        values = difference / c
        value_err = np.ldexp(rounding + data, -exponent) / c
        # Scaling by a power of two is exact unless it underflows.
        value_err += np.where(np.abs(difference) < 2.0**-960, 2.0**-1070 / c, 0.0)
        bottom, top = values - value_err, values + value_err
        lowest = np.fmin(_LOWEST, -1e20 * top.max(axis=-1, keepdims=several, initial=0.0))
        cut = bottom < lowest
        bottom, top = np.maximum(bottom, lowest), np.maximum(top, lowest)
        values = np.where(cut, 0.5 * (top + bottom), values)
        value_err = np.where(cut, 0.5 * (top - bottom) * (1.0 + 8.0 * U), value_err)
    rest = decomposition.residual
    rest_err = decomposition.rel_err * float(c.sum()) + 2.0 * U * rest
    scale = exponent[:, 0] if several else exponent
    return Law(values, c, scale, value_err, decomposition.rel_err, rest, rest_err)


@dataclass(frozen=True, eq=False)
class Tilted:
    """The law of one G under dQ/dP = e^{θG − K(θ)}.

    ``weights`` (J,) are the tilted masses of the values away from 0, ``weight_err`` (J,) their
    relative errors; the weights that are not ``used`` (J,) sum to at most ``left_out``.
    ``log_mgf`` is K(θ), off by at most ``log_mgf_err``. Of several laws, numbers here have shape
    (P,) and arrays (P, J).
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
    """Tilt a law by θ > 0."""
    found = tilted(law, np.array(theta))
    return replace(
        found,
        theta=theta,
        log_mgf=float(found.log_mgf),
        log_mgf_err=float(found.log_mgf_err),
        left_out=float(found.left_out),
        mean=float(found.mean),
        variance=float(found.variance),
    )


def tilted(law: Law, theta: FloatArray) -> Tilted:
    """Tilt a law by θ of shape (), or several laws by θ of shape (P,): that of numbers in it."""
    column = theta[..., None]
    k, err = log_mgfs(law, column)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = column * law.values
        # In two halves, since p may be as small as e^exponent is large.
        half = np.exp(0.5 * (exponent - k))
        weights = law.masses * half * half
        kept = weights > 0.0
        size = np.where(kept, np.abs(exponent), 0.0)
        slip = 1.01 * law.mass_err + 14.0 * U + 2.0 * U * (size + np.abs(k)) + err
        slip = slip + column * law.value_err
        weight_err = np.expm1(slip)
        # Weights too small to compute with, or hardly known at all, are only bounded.
        used = (weights > 1e-290) & (weight_err < _VAGUE)
        exponent = np.where(kept, exponent, exponent * (1.0 - 4.0 * U))
        half = np.exp(0.5 * (exponent - k + slip))
        left_out = np.where(used, 0.0, law.masses * half * half).sum(axis=-1)
        left_out = left_out * (1.0 + 1e-9) + np.where(used.all(axis=-1), 0.0, 2.0**-1000)
        known, values = np.where(used, weights, 0.0), np.where(used, law.values, 0.0)
        mean = np.vecdot(known, values)
        variance = np.vecdot(known, (values - mean[..., None]) ** 2)
        variance += np.maximum(0.0, 1.0 - known.sum(axis=-1)) * mean**2
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
    """Bounds of the tilted variance, lower and upper, and an upper one of the fourth moment.

    Of values and weights, shape (…, J), those that are not used left out or 0; no value is further
    from 0 than `largest`. Central moments about the computed `mean`; about the true one the
    variance is at most lower by the square of their distance, which the slack covers.
    """
    size = np.abs(mean)
    h = values - mean[..., None]
    off = value_err + 4.0 * U * (np.abs(values) + size[..., None])
    at_zero = np.maximum(0.0, 1.0 - weights.sum(axis=-1))
    zero_err = np.vecdot(weights, weight_err) + left_out + 8.0 * U
    moved = weight_err * np.abs(values) + (1.0 + weight_err) * off
    # What was left out may be anywhere.
    far = largest + size
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.vecdot(weights, moved) + 8.0 * U * size + left_out * far
        variance = np.vecdot(weights, h**2) + at_zero * size**2
        moved = weight_err * h**2 + (1.0 + weight_err) * (2.0 * np.abs(h) + off) * off
        slip = np.vecdot(weights, moved) + zero_err * size**2 + distance**2
        slip += 1e-9 * variance + left_out * far**2
        reach = np.abs(h) + off + distance[..., None]
        # Not by powers of `far`, which may overflow where nothing is left out.
        fourth = (
            np.vecdot((1.0 + weight_err) * weights, reach**4) + left_out * far * far * far * far
        )
        fourth += (at_zero + zero_err) * (size + distance) ** 4
    return variance - slip, variance + slip, fourth * (1.0 + 1e-9)


def log_mgf(law: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """K(θ) and a bound of its error, for θ of any sign and shape (T,); inf where it overflows."""
    block = max(1, _BLOCK // law.values.size)
    parts = [log_mgfs(law, theta[start : start + block]) for start in range(0, theta.size, block)]
    return np.concatenate([k for k, _ in parts]), np.concatenate([err for _, err in parts])


def log_mgfs(law: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`log_mgf` in one block; of several laws at once for θ of shape (P, T).

    Two formulas, and the one with the smaller error wins: log1p(Σ p expm1(θg)), which keeps the
    relative precision that n multiplies when K is small, and log-sum-exp, which keeps the absolute
    one when K is large or close to the logarithm of a tiny mass. Each error counts the roundings of
    every operation to first order; the factor 2 pays for the second.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        x = theta[..., None] * law.values[..., None, :]
        x_err = 2.0 * U * np.abs(x) + np.abs(theta)[..., None] * law.value_err[..., None, :]
        s, m = law.sum_err, law.mass_err

        growth = law.masses * np.expm1(x)
        near = np.log1p(growth.sum(axis=-1))
        slip = (m + 6.0 * U + s) * np.abs(growth) + law.masses * rise(x, x_err)
        near_err = 2.0 * slip.sum(axis=-1) * np.exp(-near) + 4.0 * U * np.abs(near) + 2.0**-1000

        if near_err.max() < _GOOD:
            return near, near_err

        top = np.maximum(x.max(axis=-1), 0.0)
        down = x - top[..., None]
        terms = law.masses * np.exp(down)
        rest = law.rest * np.exp(-top)
        total = terms.sum(axis=-1) + rest
        far = top + np.log(total)
        slip = terms * (m + 8.0 * U + s + 2.0 * U * top[..., None])
        slip += law.masses * rise(down, x_err)
        # A mass that underflows here would still count below the smallest normal float.
        lost = law.rest_err * np.exp(-top) + law.masses.size * 2.0**-1021
        far_err = 2.0 * ((slip.sum(axis=-1) + lost) / total + s) + 4.0 * U * (np.abs(far) + top)
    near_err[~(np.isfinite(near) & (near_err <= 0.5))] = np.inf
    far_err[~(np.isfinite(far) & (far_err <= 0.5))] = np.inf
    use_near = near_err <= far_err
    return np.where(use_near, near, far), np.where(use_near, near_err, far_err)


def rise(x: FloatArray, err: FloatArray) -> FloatArray:
    """How far e^{x + err} may lie above e^x, err ≥ 0."""
    return np.where(err < 1.0, np.exp(x) * np.expm1(np.minimum(err, 1.0)), np.exp(x + err))


def cumulants(law: Law, theta: float) -> tuple[float, float, float]:
    """K(θ), K′(θ) and K″(θ) without error bounds: to aim with, not to claim."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        x = theta * law.values
        top = max(float(x.max()), 0.0)
        weights = law.masses * np.exp(x - top)
        at_zero = law.rest * math.exp(-top)
        total = float(weights.sum()) + at_zero
        values = np.where(weights > 0.0, law.values, 0.0)
        mean = float(weights @ values) / total
        variance = (float(weights @ (values - mean) ** 2) + at_zero * mean * mean) / total
        # Near 0 the logarithm of the total would be all rounding, and n multiplies it.
        growth = float(law.masses @ np.expm1(x)) if top < 1.0 else math.inf
    k = math.log1p(growth) if -0.5 < growth < math.inf else top + math.log(total)
    return k, mean, variance


def characteristic(
    law: Law, tilted: Tilted, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """φ(t) − 1 for φ(t) = E_Q e^{itG}, and a bound of its error; t has shape (T,), t ≥ 0."""
    used = tilted.used
    g, w, err = law.values[used], tilted.weights[used], tilted.weight_err[used]
    y = t[:, None] * g
    cosine, sine = away_from_one(y)
    real, imag = cosine @ w, sine @ w
    size = np.minimum(np.abs(y), 2.0)
    relative = w * (err + 24.0 * U + law.sum_err)
    absolute = (w * (1.0 + err)) @ (2.0 * U * np.abs(g) + law.value_err[used])
    # Weights left out count in full, twice: |e^{itG} − 1| ≤ 2.
    left_out = 2.0 * tilted.left_out + 2.0**-1000
    return real + 1j * imag, size @ relative + t * absolute + left_out


def exp_down(x: float) -> float:
    """e^x rounded down; 0 where it leaves the range in which floats keep their precision."""
    return 0.0 if x < -700.0 else math.exp(min(x, 700.0)) * (1.0 - 8.0 * U)


# By how much to tilt a law, so that the sum of its draws is near 0: to aim with, not to claim.

# Bounds hold at every θ: what is tuned here decides speed only (benchmarks/deployer_grid.py).
#
# Steps in all, and one of log θ that needs no other after it.
_STEPS, _LAST = 200, 5e-3
# The longest step of log θ; steps of the model of one, and the last of them, relatively.
_LONGEST, _MODEL_STEPS, _CLOSE = 15.0, 20, 1e-3
# Values and θ whose squares are finite.
_LOWEST_TILT, _HIGHEST = -1e140, 1e150


@functools.lru_cache(maxsize=1)
def tilting_point(law: Law, n: int) -> float:
    """The minimiser θ > 0 of nK(θ) − 2 log θ to about 10⁻³; every θ gives valid bounds.

    Needs a positive value, and is finite whatever the law. The last answer is kept, as whoever
    chooses an engine and the engine ask for the same. With M = e^K, the root is that of

        log E[G₊ e^{θG}] − log(E[G₋ e^{θG}] + 2M/(nθ)).

    For large and rare gains K′ grows like e^θ, whereas this is nearly a multiple of θ and of log θ
    each: a step of Newton's method, inside a bracket, takes it for such a sum.
    """
    # Squares of values must neither underflow nor overflow; θ goes with their inverse.
    shift = math.frexp(float(law.values.max()))[1]
    with np.errstate(all="ignore"):
        values = np.maximum(np.ldexp(law.values, -shift), _LOWEST_TILT)
        theta = float(np.ldexp(_tilting_point(replace(law, values=values), n), -shift))
    return min(theta, _HIGHEST)


def _tilting_point(law: Law, n: int) -> float:
    """The same where the largest value is in [½, 1)."""
    positive = law.values > 0.0
    gains, losses = law.values[positive], law.values[~positive]
    p, q = law.masses[positive], law.masses[~positive]
    largest = float(gains.max())
    with np.errstate(all="ignore"):
        gains_squared, losses_squared = gains * gains, losses * losses
        theta = min(_normal_tilt(law, n), _steepest_tilt(gains, p, -float(q @ losses), n))
        low, high = 0.0, math.inf
        for _ in range(_STEPS):
            top = theta * largest
            up, down = p * np.exp(theta * gains - top), q * np.exp(theta * losses - top)
            gained, held = float(up @ gains), -float(down @ losses)
            pull = 2.0 / (n * theta)
            change = pull * (gained - held) - float(down @ losses_squared)
            pulled = pull * (float(up.sum() + down.sum()) + law.rest * math.exp(-top))
            held += pulled
            if not (0.0 < gained < math.inf and 0.0 < held < math.inf):
                break
            excess = math.log(gained) - math.log(held)
            low, high = (theta, high) if excess < 0.0 else (low, theta)
            steep = theta * (float(up @ gains_squared) / gained - change / held)
            step = _step(excess, max(steep, 0.0), pulled / held)
            proposal = theta * math.exp(step)
            if abs(step) < _LAST:
                return proposal
            if not low < proposal < high:
                proposal = (
                    2.0 * low if math.isinf(high) else math.sqrt(max(low, high * 1e-6) * high)
                )
            theta = proposal
    return theta


def _step(excess: float, steep: float, bent: float) -> float:
    """The u at which excess + steep (e^u − 1) + bent u is 0, for steep, bent ≥ 0.

    The sum is convex: Newton's method comes from above.
    """
    if not steep + bent > 0.0:
        return math.copysign(_LONGEST, -excess)
    u = 0.0
    if excess < 0.0:
        u = -excess / bent if bent > 0.0 else math.inf
        u = min(u, math.log1p(-excess / steep)) if steep > 0.0 else u
    for _ in range(_MODEL_STEPS):
        growth = steep * math.exp(u)
        step = (excess + growth - steep + bent * u) / (growth + bent)
        u -= step
        if abs(step) <= _CLOSE * abs(u):
            break
    return min(max(u, -_LONGEST), _LONGEST)


def _normal_tilt(law: Law, n: int) -> float:
    """What it would be if G were normal."""
    mean = float(law.masses @ law.values)
    # Products, unlike powers of Python's floats, may overflow to inf.
    spread = float(law.masses @ law.values**2) - mean * mean
    if spread > 0.0:
        theta = (math.sqrt(mean * mean + 8.0 * spread / n) - mean) / (2.0 * spread)
        if math.isfinite(theta) and theta > 0.0:
            return theta
    return 1.0 / float(law.values.max())


def _steepest_tilt(gains: FloatArray, masses: FloatArray, loss: float, n: int) -> float:
    """Where the largest gain alone makes up for all of E[G₋], were M = 1."""
    largest = float(gains.max())
    alone = float(masses[np.argmax(gains)]) * largest
    if not alone > 0.0:
        return math.inf
    return max(1.0, math.log((loss + 2.0 * largest / n) / alone)) / largest
