"""The GPARV at one ε with error bounds, and its exponentially tilted laws.

Notation: g_j are the values with masses p_j, the remaining mass sits at 0; S is the sum of n
independent copies; K(s) = log E e^{sG}. u = 2⁻⁵³ is the unit round-off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.turns import away_from_one

U = 2.0**-53
# A draw this far below the largest value makes S negative whatever else is drawn, n ≤ 10¹⁵ times:
# how far exactly does not matter, and squares of it must not overflow.
_LOWEST = -1e100
# Errors of K below this are as small as those of the second formula can get.
_GOOD = 64 * U
# Weights known no better than this, relatively, are only bounded. Less will do, since even vague
# ones of values near 0 hardly count.
VAGUE = 10.0
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
    ``log_mgf`` is K(θ), off by at most ``log_mgf_err``.
    """

    theta: float
    log_mgf: float
    log_mgf_err: float
    weights: FloatArray
    weight_err: FloatArray
    used: NDArray[np.bool_]
    left_out: float
    mean: float
    variance: float


def tilt(law: Law, theta: float) -> Tilted:
    """Tilt a law by θ > 0."""
    k, err = (float(x[0]) for x in log_mgf(law, np.array([theta])))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = theta * law.values
        # In two halves, since p may be as small as e^exponent is large.
        half = np.exp(0.5 * (exponent - k))
        weights = law.masses * half * half
        kept = weights > 0.0
        size = np.where(kept, np.abs(exponent), 0.0)
        slip = 1.01 * law.mass_err + 14.0 * U + 2.0 * U * (size + abs(k)) + err
        slip = slip + theta * law.value_err
        weight_err = np.expm1(slip)
        # Weights too small to compute with, or hardly known at all, are only bounded.
        used = (weights > 1e-290) & (weight_err < VAGUE)
        exponent = np.where(kept, exponent, exponent * (1.0 - 4.0 * U))
        half = np.exp(0.5 * (exponent - k + slip))
        left_out = float(np.sum(np.where(used, 0.0, law.masses * half * half)))
        left_out = left_out * (1.0 + 1e-9) + (0.0 if used.all() else 2.0**-1000)
    known, values = np.where(used, weights, 0.0), np.where(used, law.values, 0.0)
    at_zero = max(0.0, 1.0 - float(known.sum()))
    mean = float(known @ values)
    variance = float(known @ (values - mean) ** 2) + at_zero * mean**2
    return Tilted(theta, k, err, weights, weight_err, used, left_out, mean, variance)


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
