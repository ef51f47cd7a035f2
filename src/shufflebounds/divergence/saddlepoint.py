"""Saddlepoint estimates of K, of log E[S₊] and of D(ε): they say where to look, and claim nothing.

Notation as in `law`. All functions take one law, or P laws as rows of arrays; "…" stands for the
shape () or (P,).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, law_at
from shufflebounds.divergence.window import SHUFFLE, Kernel

# Most steps to a tilt. A typical law takes four to eight, and none of 11 000 took more than 14.
MAX_TILT_STEPS = 40
# Smallest θ that is returned, so that it is positive.
SMALLEST_TILT = 1e-300
# Largest θ that is returned, so that its square is a float.
LARGEST_TILT = 1e150
# Largest growth of log(nK′θ) with log θ that is taken for that of an exponential.
LARGEST_GROWTH = 100.0
# Length that stands for the step of log θ before the first one: Newton's first step may be half.
FIRST_STEP = 2.0
# Largest θ times the largest value at which the root is looked for: masses are above e⁻⁷⁴⁵.
LARGEST_EXPONENT = 2000.0
# Step of log θ after which θ is close enough, as Newton's method squares the error.
LAST_TILT_STEP = 1e-2
# Corrections of log E[S₊] beyond this are not believed.
LARGEST_CORRECTION = 0.3


class Cumulants(NamedTuple):
    """K(θ), K′(θ) and K″(θ), of shape (…), and the tilted masses (…, J); no error bounds."""

    log_mgf: FloatArray
    mean: FloatArray
    variance: FloatArray
    weights: FloatArray


def cumulants(law: Law, theta: FloatArray) -> Cumulants:
    """Estimate K and its derivatives at θ of shape (…)."""
    with np.errstate(all="ignore"):
        x = theta[..., None] * law.values
        top = np.maximum(x.max(axis=-1), 0.0) if law.residual else x.max(axis=-1)
        weights = law.masses * np.exp(x - top[..., None])
        at_zero = law.residual * np.exp(-top)
        total = weights.sum(axis=-1) + at_zero
        weights = weights / total[..., None]
        values = np.where(weights > 0.0, law.values, 0.0)
        mean = np.vecdot(weights, values)
        variance = np.vecdot(weights, (values - mean[..., None]) ** 2)
        variance = variance + at_zero / total * mean**2
        # Near 0 the logarithm of the total would be all rounding, and n multiplies it.
        growth = np.expm1(x) @ law.masses
        is_near = (top < 1.0) & (growth > -0.5)
        k = np.where(is_near, np.log1p(np.where(is_near, growth, 0.0)), top + np.log(total))
    return Cumulants(k, mean, variance, weights)


# Independent draws of several laws: pairs (law, number of draws), of shape (…).
Kinds = Sequence[tuple[Law, Any]]


def tilting_point(kinds: Kinds, kernel: Kernel = SHUFFLE) -> FloatArray:
    """Return the minimiser θ > 0 of ΣnK(θ) − θ shift − log θ(θ + κ), to about 10⁻³, shape (…).

    Newton's method for θ(ΣnK′(θ) − shift) = 1 + θ/(θ + κ) in log θ as long as each step is at most
    half of the last one, bisection otherwise. Any number stands for the θ of laws without a
    positive value. Every θ gives valid bounds.
    """
    draws = sum(n for _, n in kinds)
    shift = kernel.shift / draws
    parts = [(law, n / draws) for law, n in kinds]
    with np.errstate(all="ignore"):
        # All are per draw.
        mean = _total(parts, lambda law: law.values @ law.masses) - shift
        square = _total(
            parts, lambda law: law.values**2 @ law.masses - (law.values @ law.masses) ** 2
        )
        largest = _total(parts, lambda law: law.values.max(axis=-1, initial=0.0)) - shift
        # K′ is below the largest value, and close to it where e^{θ largest} exceeds 1/mass.
        low, high = 1.0 / (draws * largest), LARGEST_EXPONENT / largest
        if not kernel.kappa:
            low = 2.0 * low
        # The root if G were normal.
        theta = (np.sqrt(mean**2 + 8.0 * square / draws) - mean) / (2.0 * square)
        theta = np.where((low < theta) & (theta < high), theta, np.sqrt(low * high))
        length = np.full(theta.shape, FIRST_STEP)
        for _ in range(MAX_TILT_STEPS):
            moments = [(cumulants(law, theta), share) for law, share in parts]
            slope = sum(share * x.mean for x, share in moments) - shift
            curvature = sum(share * x.variance for x, share in moments)
            pull, spread = draws * slope * theta, draws * curvature * theta**2
            target = 1.0 + theta / (theta + kernel.kappa)
            low, high = np.where(pull < target, theta, low), np.where(pull < target, high, theta)
            # Above the root the pull may grow exponentially with θ, if the largest value dominates.
            step = np.where(
                (pull > target) & (spread < LARGEST_GROWTH * pull),
                -np.log(pull / target) / (1.0 + spread / pull),
                (target - pull) / (spread + target),
            )
            is_close = (np.abs(step) < LAST_TILT_STEP) | (largest == 0.0)
            newton = theta * np.exp(step)
            is_trusted = (low < newton) & (newton < high) & (np.abs(step) < 0.5 * length)
            following = np.where(is_trusted | is_close, newton, np.sqrt(low * high))
            length, theta = np.abs(np.log(following / theta)), following
            if is_close.all():
                break
    return np.fmin(np.fmax(theta, SMALLEST_TILT), LARGEST_TILT)


def _total(parts: Kinds, moment: Callable[[Law], FloatArray]) -> FloatArray:
    """Return the weighted sum of a moment of several laws."""
    return sum(share * moment(law) for law, share in parts)


class Saddlepoint(NamedTuple):
    """Estimates of log E[S₊] and its error, and the excess kurtosis of the tilted S; shape (…).

    The kurtosis is, but for a constant, one over the number of draws that matter.
    """

    log: FloatArray
    doubt: FloatArray
    kurtosis: FloatArray


def saddlepoint(law: Law, n: float | FloatArray) -> tuple[Saddlepoint, FloatArray, FloatArray]:
    """Return estimates of log E[S₊], the tilting points, and the tilted masses.

    E[S₊] is the integral of e^Φ/2πi, Φ(s) = nK(s) − 2 log s, over θ + iℝ (Daniels 1954). The value
    is −inf where no value of G is above 0.
    """
    theta = tilting_point([(law, n)])
    k, mean, variance, weights = cumulants(law, theta)
    with np.errstate(all="ignore"):
        away = theta[..., None] * (law.values - mean[..., None])
        away = np.where(weights > 0.0, away, 0.0)
        square, at_zero = away * away, law.residual * np.exp(-k)
        shift, spread = theta * mean, n * variance * theta**2
        third = np.vecdot(weights, square * away) - at_zero * shift**3
        fourth = np.vecdot(weights, square * square) + at_zero * shift**4
        log = n * k - np.log(theta) - 0.5 * np.log(2.0 * math.pi * (spread + 2.0))
        u, excess = 1.0 / (spread + 2.0), n * fourth - 3.0 * spread**2 / n
        third = n * third - 4.0
        # The next term.
        correction = u**2 * ((excess + 12.0) / 8.0 - 5.0 / 24.0 * third**2 * u)
        is_small = np.abs(correction) < LARGEST_CORRECTION
        log = log + np.where(is_small, np.log1p(np.where(is_small, correction, 0.0)), 0.0)
        # Atoms that stand out are not seen by the correction.
        doubt = 2.0 * np.abs(correction) ** 1.5 + (3.0 * excess / spread**2) ** 2
        kurtosis = n * fourth / spread**2
        # Far from anything normal.
        is_odd = ~((spread > 1e-100) & (spread < 1e100))
        doubt = np.where(is_odd | np.isnan(doubt), np.inf, doubt)
        kurtosis = np.where(is_odd, np.where(fourth > 0.0, 1e300, 0.0), kurtosis)
        has_gains = law.values.max(axis=-1, initial=0.0) > 0.0
        log = np.where(has_gains, log, -np.inf)
        kurtosis = np.where(has_gains, kurtosis, 0.0)
    return Saddlepoint(log, doubt, kurtosis), theta, weights


class Estimate(NamedTuple):
    """Estimates of log D(ε), of its derivative in ε, and of the error of the first; shape (…)."""

    log: FloatArray
    slope: FloatArray
    doubt: FloatArray


def log_estimate(
    decomposition: Decomposition, eps: float | FloatArray, n: float | FloatArray
) -> Estimate:
    """Estimate log D at ε and n of shape (…), in this one direction; −inf where D vanishes."""
    g = law_at(decomposition, eps)
    if not g.masses.size:
        nothing = np.full(np.shape(eps), -np.inf)
        return Estimate(nothing, nothing, -nothing)
    estimate, theta, weights = saddlepoint(g, n)
    positive = decomposition.c > 0.0
    sensitivity = decomposition.b[positive] / decomposition.c[positive]
    with np.errstate(all="ignore"):
        slope = -n * theta * np.ldexp(np.exp(eps) * (weights @ sensitivity), -g.exponent)
        log = estimate.log - np.log(n) + g.exponent * math.log(2.0)
        vanishes = ~((g.values - g.value_err).max(axis=-1) > 0.0)
    return Estimate(
        np.where(vanishes, -np.inf, log),
        np.where(vanishes, -np.inf, slope),
        np.where(vanishes, np.inf, estimate.doubt),
    )
