"""The GPARV at given ε with error bounds, and its exponentially tilted laws.

Notation: g_j are the values with masses p_j, the remaining mass sits at 0; S is the sum of n
independent copies; K(s) = log E e^{sG}. u = 2⁻⁵³ is the unit round-off. All functions take one law,
or the laws at P values of ε as rows of arrays: "…" below stands for the shape () or (P,). Proofs:
docs/proofs/engine.md, sections 6 and 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray

# Unit round-off.
U = 2.0**-53
# Values below this, in units of the largest value, are raised to it. One such draw makes S negative
# whatever the others are, for n ≤ 10¹⁵; how negative does not matter, and its square is a float.
LOWEST_VALUE = -1e100
# Error of K below which no other formula is tried: the second one gets no better.
GOOD_LOG_MGF_ERR = 64 * U
# Relative error beyond which a tilted weight is only bounded from above.
LARGEST_WEIGHT_ERR = 10.0
# Numbers held in memory at once: what a cache holds. Speed only.
BLOCK = 2**16


def log(x: float) -> float:
    """Return the natural log of x ≥ 0, −inf at 0."""
    return math.log(x) if x > 0.0 else -math.inf


def exp_down(x: float) -> float:
    """Return e^x rounded down; 0 where it leaves the range in which floats keep their precision."""
    return 0.0 if x < -700.0 else math.exp(min(x, 700.0)) * (1.0 - 8.0 * U)


def away_from_one(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return cos y − 1, good to 20 u of it, and sin y, good to 12 u of it.

    With τ = tan(y/2), sin y = 2τ/(1 + τ²) and cos y − 1 = −2τ²/(1 + τ²). A relative error of τ
    counts at most once in the first and twice in the second, however close to a pole:
    docs/proofs/engine.md, section 7.
    """
    tangent = np.tan(0.5 * y)
    square = tangent * tangent
    scale = 2.0 / (1.0 + square)
    tangent *= scale
    square *= scale
    return np.negative(square, out=square), tangent


def underflow(growth: float | FloatArray, b: FloatArray, product: FloatArray) -> FloatArray:
    """Return an upper bound of the error of growth · b that its relative error does not cover."""
    return np.where((growth > 0.0) & (b > 0.0) & (product < 2.0**-960), 2.0**-1072, 0.0)


@dataclass(frozen=True, eq=False)
class Law:
    """Values and masses of G away from the residual atom, each with its uncertainty.

    ``values`` and ``value_err`` have shape (…, J). The values are those of G / 2^``exponent``, of
    shape (…), so that the largest is in [½, 1) if any is positive; the true values lie within
    ``value_err`` of them. ``masses`` have shape (J,) and do not depend on ε; the true masses lie
    within the relative distance ``mass_err``, a number or (J,). ``residual`` is the mass of the
    residual atom at 0, known to within ``residual_err``.
    """

    values: FloatArray
    masses: FloatArray
    exponent: NDArray[np.integer]
    value_err: FloatArray
    mass_err: float | FloatArray
    residual: float
    residual_err: float

    @property
    def sum_err(self) -> float:
        """Relative error of a dot product over the components, whatever the order of summation."""
        return 2.0 * (self.masses.size + 1) * U

    def at(self, rows: Any) -> Law:
        """Return the laws of some rows, given by their indices; one law for a single index."""
        values, value_err = self.values[rows], self.value_err[rows]
        exponent = np.asarray(self.exponent[rows])
        return replace(self, values=values, exponent=exponent, value_err=value_err)

    def as_row(self) -> Law:
        """Return the same law as one row of arrays."""
        return self.at(None)


def law_at(decomposition: Decomposition, eps: float | FloatArray) -> Law:
    """Return the GPARV at ε ≥ 0, a number or of shape (P,), over the components with c > 0."""
    # Python's expm1 raises OverflowError where NumPy's would return inf.
    growth = np.array([math.expm1(x) for x in np.ravel(eps).tolist()]).reshape((*np.shape(eps), 1))
    positive = decomposition.c > 0.0
    a, b, c = (x[positive] for x in (decomposition.a, decomposition.b, decomposition.c))
    tied = decomposition.ties[positive]
    product = growth * b
    difference = (a - b) - product
    gain = np.where(difference > 0.0, difference, 0.0) / c
    exponent = np.frexp(gain.max(axis=-1, keepdims=True, initial=0.0))[1]
    rounding = U * (np.abs(a - b) + 3.0 * product + 2.0 * np.abs(difference))
    rounding += underflow(growth, b, product)
    # Where a − b is 0 whatever they are, only e^ε − 1 times b is uncertain.
    data = 2.01 * decomposition.rel_err * (np.where(tied, 0.0, a + b) + product)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        difference = np.ldexp(difference, -exponent)
        values = difference / c
        value_err = np.ldexp(rounding + data, -exponent) / c
        # Scaling by a power of two is exact unless it underflows.
        value_err += np.where(np.abs(difference) < 2.0**-960, 2.0**-1070 / c, 0.0)
        bottom, top = values - value_err, values + value_err
        largest = top.max(axis=-1, keepdims=True, initial=0.0)
        lowest = np.fmin(LOWEST_VALUE, -1e20 * largest)
        low = bottom < lowest
        bottom, top = np.maximum(bottom, lowest), np.maximum(top, lowest)
        values = np.where(low, 0.5 * (top + bottom), values)
        value_err = np.where(low, 0.5 * (top - bottom) * (1.0 + 8.0 * U), value_err)
    residual = decomposition.residual
    residual_err = decomposition.rel_err * float(c.sum()) + 2.0 * U * residual
    rel_err = decomposition.rel_err
    return Law(values, c, exponent[..., 0], value_err, rel_err, residual, residual_err)


@dataclass(frozen=True, eq=False)
class Tilted:
    """The law of one G under dQ/dP = e^{θG − K(θ)}.

    ``weights`` (…, J) are the tilted masses of the values away from 0, ``weight_err`` their
    relative errors; the weights that are not ``used`` (…, J) sum to at most ``left_out``.
    ``log_mgf`` is K(θ), off by at most ``log_mgf_err``. ``mean`` and ``variance`` are estimates.
    Numbers have shape (…).
    """

    theta: FloatArray
    log_mgf: FloatArray
    log_mgf_err: FloatArray
    weights: FloatArray
    weight_err: FloatArray
    used: NDArray[np.bool_]
    left_out: FloatArray
    mean: FloatArray
    variance: FloatArray


def tilt(law: Law, theta: float | FloatArray) -> Tilted:
    """Tilt laws by θ > 0 of shape (…)."""
    theta = np.asarray(theta, dtype=np.float64)
    column = theta[..., None]
    k, err = log_mgf(law, column)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = column * law.values
        # In two halves, since p may be as small as e^exponent is large.
        half = np.exp(0.5 * (exponent - k))
        weights = law.masses * half * half
        positive = weights > 0.0
        size = np.where(positive, np.abs(exponent), 0.0)
        slip = 1.01 * law.mass_err + 14.0 * U + 2.0 * U * (size + np.abs(k)) + err
        slip = slip + column * law.value_err
        weight_err = np.expm1(slip)
        # Weights too small to compute with, or hardly known at all, are only bounded.
        used = (weights > 1e-290) & (weight_err < LARGEST_WEIGHT_ERR)
        # Weights that underflow have negative exponents, which this rounds upwards.
        exponent = np.where(positive, exponent, exponent * (1.0 - 4.0 * U))
        half = np.exp(0.5 * (exponent - k + slip))
        left_out = np.where(used, 0.0, law.masses * half * half).sum(axis=-1)
        left_out = left_out * (1.0 + 1e-9) + np.where(used.all(axis=-1), 0.0, 2.0**-1000)
        used_weights, values = np.where(used, weights, 0.0), np.where(used, law.values, 0.0)
        mean = np.vecdot(used_weights, values)
        variance = np.vecdot(used_weights, (values - mean[..., None]) ** 2)
        variance += np.maximum(0.0, 1.0 - used_weights.sum(axis=-1)) * mean**2
    log_mgf_, log_mgf_err = k[..., 0], err[..., 0]
    return Tilted(theta, log_mgf_, log_mgf_err, weights, weight_err, used, left_out, mean, variance)


def log_mgf(law: Law, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return K(θ) and a bound of its error, for θ of any sign, shape (…, T); inf if it overflows.

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

        if near_err.max() < GOOD_LOG_MGF_ERR:
            return near, near_err

        top = x.max(axis=-1)
        if law.residual or law.residual_err:
            top = np.maximum(top, 0.0)
        down = x - top[..., None]
        terms = law.masses * np.exp(down)
        total = terms.sum(axis=-1) + law.residual * np.exp(-top)
        far = top + np.log(total)
        slip = terms * (m + 8.0 * U + s + 2.0 * U * np.abs(top)[..., None])
        slip += law.masses * rise(down, x_err)
        # A mass that underflows here would still count below the smallest normal float.
        lost = law.residual_err * np.exp(-top) + law.masses.size * 2.0**-1021
        far_err = 2.0 * ((slip.sum(axis=-1) + lost) / total + s) + 4.0 * U * (
            np.abs(far) + np.abs(top)
        )
    near_err[~(np.isfinite(near) & (near_err <= 0.5))] = np.inf
    far_err[~(np.isfinite(far) & (far_err <= 0.5))] = np.inf
    use_near = near_err <= far_err
    return np.where(use_near, near, far), np.where(use_near, near_err, far_err)


def rise(x: FloatArray, err: FloatArray) -> FloatArray:
    """Return how far e^{x + err} may lie above e^x, err ≥ 0."""
    return np.where(err < 1.0, np.exp(x) * np.expm1(np.minimum(err, 1.0)), np.exp(x + err))
