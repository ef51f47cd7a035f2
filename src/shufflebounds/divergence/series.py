"""The Fourier series of one point in one window: the sums over its modes, and bounds of E f(X).

Notation as in `fourier`. Proofs: docs/engine.md, sections 2, 4 and 7.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.characteristic import TiltedLaws, characteristic
from shufflebounds.divergence.law import U, away_from_one
from shufflebounds.divergence.window import Window

# Modes that are computed at once: what a cache holds.
CHUNK = 2**14


class ModeSums(NamedTuple):
    """Σ φ_X(t)/z² and Σ φ_X(t) over t and −t, z = θ + it, and bounds of their errors."""

    value: float
    value_err: float
    density: float
    density_err: float


def mean_bounds(sums: ModeSums, window: Window) -> tuple[float, float, float]:
    """Return bounds of E f over the sum of all draws, lower and upper, and the gap that η leaves.

    The bounds are infinite where round-off leaves nothing.
    """
    # 1/P = h/2π; the step h is exact, π is not.
    unit = window.step / (2.0 * math.pi)
    value, value_err, density, density_err = (x * unit for x in sums)
    value_err = value_err * (1.0 + 1e-9) + window.cut_value + 8.0 * U * abs(value)
    density_err = density_err * (1.0 + 1e-9) + window.cut_density + 8.0 * U * abs(density)
    smoothing = window.eta**2 * (density + density_err) * (1.0 + 8.0 * U)
    upper = (value + value_err) * (1.0 + 4.0 * U)
    lower = (value - value_err - window.wrap - smoothing) * (1.0 - 4.0 * U)
    if not (0.0 < upper < math.inf and math.isfinite(lower)):
        return -math.inf, math.inf, 0.0
    return lower, upper, smoothing


def mode_sums(point: TiltedLaws, window: Window) -> ModeSums:
    """Return the sums over all modes of a window; negligible ones count as error."""
    n, theta, eta, count = float(point.n), float(point.theta), window.eta, window.modes + 1
    log_negligible, summed, skipped = math.log(window.negligible), 0, 0
    sums, sizes = np.zeros(4), np.zeros(2)
    for first in range(0, count, CHUNK):
        away, err = characteristic(point, window.step, first, min(CHUNK, count - first))
        t = np.arange(float(first), float(first + away.size)) * window.step
        log_bound = log_sizes(away, err, n, eta * t)
        needed = np.flatnonzero(~(log_bound <= log_negligible))
        terms = series_terms(away[needed], err[needed], log_bound[needed], t[needed], n, theta, eta)
        sums += [term.sum() for term in terms]
        sizes += [np.abs(term).sum() for term in terms[::2]]
        summed += needed.size
        skipped += away.size - needed.size
    # A sum of sums of at most `CHUNK` terms each loses less than this share of their sizes.
    rounding = (min(summed, CHUNK) + math.ceil(count / CHUNK) + 4.0) * U
    value, value_err, density, density_err = sums.tolist()
    # Σ 2/(θ² + t²) over all modes is at most π/(θh) + 2/θ².
    charge = window.negligible * (1.0 + 1e-9)
    value_err += rounding * float(sizes[0])
    density_err += rounding * float(sizes[1]) + 2.0 * charge * skipped
    if skipped:
        value_err += charge * (math.pi / (theta * window.step) + 2.0 / theta**2)
    return ModeSums(value, value_err * (1.0 + 1e-9), density, density_err * (1.0 + 1e-9))


def log_sizes(
    away: NDArray[np.complex128], err: FloatArray, n: float, damping: FloatArray
) -> FloatArray:
    """Return upper bounds of log |φ_X|, from φ − 1 and its error and from ηt; all of shape (N,)."""
    square = 2.0 * away.real + (away.real * away.real + away.imag * away.imag)
    # The 16 u are more than the roundings under the root for every modulus up to 1.
    ceiling = np.sqrt(np.maximum(1.0 + square, 0.0) + 16.0 * U) + err
    return n * np.log(np.minimum(ceiling, 1.0)) - 0.5 * damping**2


def series_terms(
    away: NDArray[np.complex128],
    away_err: FloatArray,
    log_bound: FloatArray,
    t: FloatArray,
    n: float,
    theta: float,
    eta: float,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the summands of `ModeSums`, for t and −t together, from φ(t) − 1; shape (N,)."""
    real, imag, err = _power(away, away_err, log_bound, n, eta * t, t * (theta * eta**2))
    twice = np.where(t == 0.0, 1.0, 2.0)
    # Of modes that are all error, it may overflow; `mean_bounds` claims nothing then.
    with np.errstate(over="ignore", invalid="ignore"):
        weight = twice / (theta**2 + t**2)
        rotated = real * (theta**2 - t**2) + 2.0 * theta * t * imag
        value = rotated * weight / (theta**2 + t**2)
        return value, weight * err, twice * real, twice * err


def _power(
    away: NDArray[np.complex128],
    away_err: FloatArray,
    log_bound: FloatArray,
    n: float,
    damping: FloatArray,
    drift: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return real and imaginary part of φ_X, and a bound of its error."""
    real, imag = away.real, away.imag
    product = real * real + imag * imag
    square = np.maximum(2.0 * real + product, -1.0)  # |φ|² − 1
    angle = np.arctan2(imag, 1.0 + real)
    turns = n * angle
    with np.errstate(all="ignore"):
        log_square = np.log1p(square)
        log_size = 0.5 * n * log_square - 0.5 * damping**2
        modulus = np.sqrt(1.0 + square)
        squares = (2.0 * np.abs(real) + product) / (1.0 + square)
        slip = n * (
            away_err / modulus
            + U * (2.0 * np.abs(log_square) + 4.0 * squares + 6.0 * np.abs(angle))
        ) + U * (80.0 + 4.0 * (np.abs(turns) + np.abs(log_size)) + 8.0 * drift)
        size, bound = np.exp(log_size), np.exp(log_bound) * (1.0 + 1e-9)
        # |φ̃ⁿ − φⁿ| ≤ (|φ̃| + Δ)ⁿ − |φ̃|ⁿ ≤ |φ̃|ⁿ (e^{nΔ/|φ̃|} − 1). The true power is in the disc of
        # radius `bound`, so that a point outside comes closer to it at the border of the disc.
        # A power that underflows says nothing of its error.
        err = np.where(log_size > -700.0, size * np.expm1(slip), np.inf)
        err = np.fmin(err, 2.0 * bound)
        size = np.fmin(size, bound)
    cosine, sine = away_from_one(turns + drift)
    return size + size * cosine, size * sine, err
