"""The Fourier series of one sum in one window: the sums over its modes, and bounds of E g(X).

The sum has n_k independent draws of law k, for finitely many k.

Notation as in `fourier`. Proofs: docs/proofs/engine.md, sections 2, 4 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.characteristic import TiltedLaws, characteristic
from shufflebounds.divergence.law import U, away_from_one
from shufflebounds.divergence.window import SHUFFLE, Kernel, Window

# Modes that are computed at once: what a cache holds. Several laws share it.
CHUNK = 2**14
# Fewest modes that are computed at once.
SMALLEST_CHUNK = 2**10


class ModeSums(NamedTuple):
    """Σ φ_X(t)/(z(z + κ)) and Σ φ_X(t) over t and −t, z = θ + it, and bounds of their errors."""

    value: float
    value_err: float
    density: float
    density_err: float


def mean_bounds(sums: ModeSums, window: Window) -> tuple[float, float, float]:
    """Return bounds of E g over the sum of all draws, lower and upper, and the gap that η leaves.

    The bounds are infinite where round-off leaves nothing.
    """
    # 1/P = h/2π; the step h is exact, π is not.
    unit = window.step / (2.0 * math.pi)
    value, value_err, density, density_err = (x * unit for x in sums)
    value_err = value_err * (1.0 + 1e-9) + window.cut_value + 8.0 * U * abs(value)
    density_err = density_err * (1.0 + 1e-9) + window.cut_density + 8.0 * U * abs(density)
    smoothing = window.eta**2 * (density + density_err) * (1.0 + 8.0 * U)
    if window.kernel.kappa:
        smoothing *= math.exp((window.kernel.kappa * window.eta) ** 2 / 8.0) * (1.0 + 1e-9)
    upper = (value + value_err) * (1.0 + 4.0 * U)
    lower = (value - value_err - window.wrap - smoothing) * (1.0 - 4.0 * U)
    if not (0.0 < upper < math.inf and math.isfinite(lower)):
        return -math.inf, math.inf, 0.0
    return lower, upper, smoothing


def mode_sums(points: Sequence[TiltedLaws], window: Window) -> ModeSums:
    """Return the sums over all modes of a window; negligible ones count as error.

    `points` are the laws of the sum, each with its number of draws, tilted by the same θ.
    """
    theta, eta, kernel, count = float(points[0].theta), window.eta, window.kernel, window.modes + 1
    chunk = max(CHUNK // len(points), SMALLEST_CHUNK)
    n = [float(point.n) for point in points]
    log_negligible, summed, skipped = math.log(window.negligible), 0, 0
    sums, sizes = np.zeros(4), np.zeros(2)
    for first in range(0, count, chunk):
        size = min(chunk, count - first)
        parts = [characteristic(point, window.step, first, size) for point in points]
        t = np.arange(float(first), float(first + size)) * window.step
        log_bound = log_sizes(parts, n, eta * t)
        needed = np.flatnonzero(~(log_bound <= log_negligible))
        parts = [(away[needed], err[needed]) for away, err in parts]
        terms = series_terms(parts, n, log_bound[needed], t[needed], theta, eta, kernel)
        sums += [term.sum() for term in terms]
        sizes += [np.abs(term).sum() for term in terms[::2]]
        summed += needed.size
        skipped += size - needed.size
    # A sum of sums of at most `chunk` terms each loses less than this share of their sizes.
    rounding = (min(summed, chunk) + math.ceil(count / chunk) + 4.0) * U
    value, value_err, density, density_err = sums.tolist()
    charge = window.negligible * (1.0 + 1e-9)
    value_err += rounding * float(sizes[0])
    density_err += rounding * float(sizes[1]) + 2.0 * charge * skipped
    if skipped:
        # Σ 2/(x² + t²) over all modes is at most π/(xh) + 2/x².
        squares = [math.pi / (x * window.step) + 2.0 / x**2 for x in (theta, theta + kernel.kappa)]
        value_err += charge * math.sqrt(math.prod(squares))
    return ModeSums(value, value_err * (1.0 + 1e-9), density, density_err * (1.0 + 1e-9))


# φ − 1 at some modes, and bounds of its error.
Part = tuple[NDArray[np.complex128], FloatArray]


def log_sizes(parts: Sequence[Part], n: Sequence[float], damping: FloatArray) -> FloatArray:
    """Return upper bounds of log |φ_X|, from φ − 1 of each law and from ηt; all of shape (N,)."""
    log_bound = np.zeros(damping.shape)
    for (away, err), draws in zip(parts, n, strict=True):
        square = 2.0 * away.real + (away.real * away.real + away.imag * away.imag)
        # The 16 u are more than the roundings under the root for every modulus up to 1.
        ceiling = np.sqrt(np.maximum(1.0 + square, 0.0) + 16.0 * U) + err
        log_bound += draws * np.log(np.minimum(ceiling, 1.0))
    return log_bound - 0.5 * damping**2


def series_terms(
    parts: Sequence[Part],
    n: Sequence[float],
    log_bound: FloatArray,
    t: FloatArray,
    theta: float,
    eta: float,
    kernel: Kernel = SHUFFLE,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the summands of `ModeSums`, for t and −t together, from φ(t) − 1; shape (N,)."""
    drift = (theta + 0.5 * kernel.kappa) * eta**2
    turns = t * (drift - kernel.shift)
    turns_err = U * 8.0 * t * (drift + abs(kernel.shift))
    real, imag, err = product_power(parts, n, log_bound, eta * t, turns, turns_err)
    twice = np.where(t == 0.0, 1.0, 2.0)
    pole = theta + kernel.kappa
    # Of modes that are all error, it may overflow; `mean_bounds` claims nothing then.
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.sqrt((theta**2 + t**2) * (pole**2 + t**2))  # |z(z + κ)|
        weight = twice / size
        rotated = real * (theta * pole - t**2) + (theta + pole) * t * imag
        value = rotated * weight / size
        return value, weight * err, twice * real, twice * err


def product_power(
    parts: Sequence[Part],
    n: Sequence[float],
    log_bound: FloatArray,
    damping: FloatArray,
    drift: FloatArray,
    drift_err: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return real and imaginary part of φ_X, and a bound of its error."""
    turns, turned, slip = (np.zeros(damping.shape) for _ in range(3))
    log_size = -0.5 * damping**2
    with np.errstate(all="ignore"):
        for (away, away_err), draws in zip(parts, n, strict=True):
            real, imag = away.real, away.imag
            product = real * real + imag * imag
            square = np.maximum(2.0 * real + product, -1.0)  # |φ|² − 1
            angle = np.arctan2(imag, 1.0 + real)
            log_square = np.log1p(square)
            log_size = log_size + 0.5 * draws * log_square
            turns = turns + draws * angle
            turned = turned + draws * np.abs(angle)
            squares = (2.0 * np.abs(real) + product) / (1.0 + square)
            slip = slip + draws * (
                away_err / np.sqrt(1.0 + square)
                + U * (2.0 * np.abs(log_square) + 4.0 * squares + 6.0 * np.abs(angle))
            )
        slip = slip + U * (80.0 + (3.0 + len(parts)) * (turned + np.abs(log_size))) + drift_err
        size, bound = np.exp(log_size), np.exp(log_bound) * (1.0 + 1e-9)
        # |Πφ̃ⁿ − Πφⁿ| ≤ Π(|φ̃| + Δ)ⁿ − Π|φ̃|ⁿ ≤ Π|φ̃|ⁿ (e^{ΣnΔ/|φ̃|} − 1). The true product is in the
        # disc of radius `bound`, so that a point outside comes closer to it at the border of the
        # disc. A power that underflows says nothing of its error.
        err = np.where(log_size > -700.0, size * np.expm1(slip), np.inf)
        err = np.fmin(err, 2.0 * bound)
        size = np.fmin(size, bound)
    cosine, sine = away_from_one(turns + drift)
    return size + size * cosine, size * sine, err
