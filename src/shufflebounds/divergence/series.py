"""The Fourier series of the Fourier engine, summed over the modes that can matter."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.frequencies import Samples, samples
from shufflebounds.divergence.law import Law, Tilted, U, exp_down
from shufflebounds.divergence.modes import NeededModes
from shufflebounds.divergence.turns import away_from_one
from shufflebounds.divergence.window import Window


def sum_series(
    g: Law, tilted: Tilted, n: int, window: Window, needed: NeededModes
) -> tuple[float, float, float]:
    """Bounds of E f over draws, lower and upper, and the part of their gap due to smoothing."""
    sums = mode_sums(samples(g, tilted, needed.modes), n, tilted.theta, window.eta)
    sums = ModeSums(
        sums.value,
        sums.value_err + needed.skipped_value,
        sums.density,
        sums.density_err + needed.skipped_density,
    )
    moved = float(g.masses.sum()) * (1.0 + float(np.max(g.mass_err, initial=0.0)) + g.sum_err)
    idle = idle_mass(moved, tilted.log_mgf, tilted.log_mgf_err, n)
    return mean_bounds(sums, tilted.theta, window, idle)


def mean_bounds(
    sums: ModeSums, theta: float, window: Window, idle: float
) -> tuple[float, float, float]:
    """`sum_series` from the sums; their errors count all modes that were left out of them.

    `idle` is at most the tilted probability that all n draws are 0.
    """
    if not all(map(math.isfinite, vars(sums).values())):  # what is no number bounds nothing
        return -math.inf, math.inf, 0.0
    eta = window.eta
    # 1/P = h/2π; the step h is exact, π is not.
    unit = window.step / (2.0 * math.pi)
    value, density = sums.value * unit, sums.density * unit
    value_err = sums.value_err * unit * (1.0 + 1e-9)
    value_err += window.cut_value + 8.0 * U * value
    density_err = sums.density_err * unit * (1.0 + 1e-9)
    density_err += window.cut_density + 8.0 * U * density

    smoothing = eta**2 * (density + density_err) * (1.0 + 8.0 * U)
    # Draws that are all 0 add nothing to E[S₊], but smoothing gives them a share.
    peeled = idle * math.exp(-0.5 * (theta * eta) ** 2)
    peeled *= eta / math.sqrt(2.0 * math.pi) * (1.0 - 1e-12)
    upper = max(0.0, value + value_err - peeled) * (1.0 + 4.0 * U)
    lower = (value - value_err - window.wrap - smoothing) * (1.0 - 4.0 * U)
    return lower, upper, max(0.0, smoothing - peeled)


def idle_mass(moved: float, k: float, k_err: float, n: int) -> float:
    """Lower bound of the tilted probability that all n draws are 0.

    `moved` is at least the mass of the values away from 0, `k` is K(θ), off by at most `k_err`.
    """
    if moved >= 1.0:
        return 0.0
    log_rest = math.log1p(-moved)
    slip = k_err + 8.0 * U * (abs(log_rest) + abs(k))
    return exp_down(n * (log_rest - k - slip))


@dataclass(frozen=True)
class ModeSums:
    """Σ φ_X(t)/z² and Σ φ_X(t) over t and −t, z = θ + it, each with a bound of its round-off."""

    value: float
    value_err: float
    density: float
    density_err: float


def mode_sums(sampled: Iterable[Samples], n: int, theta: float, eta: float) -> ModeSums:
    """Sums over frequencies t ≥ 0 at which φ was sampled, each of which stands for t and −t."""
    parts: list[tuple[float, ...]] = [(0.0, 0.0, 0.0, 0.0)]
    for part in sampled:
        terms = Terms.of(part.away, part.err, n, theta, eta, part.t)
        with np.errstate(over="ignore", invalid="ignore"):
            each = (terms.value, terms.value_err, terms.density, terms.density_err)
            parts.append(tuple(float(np.sum(x)) for x in each))
    return ModeSums(*(_exact_sum(column) for column in zip(*parts, strict=True)))


def _exact_sum(parts: tuple[float, ...]) -> float:
    """Rounded once, however many parts there are; NaN where it overflows."""
    with contextlib.suppress(OverflowError):
        if all(map(math.isfinite, parts)):
            return math.fsum(parts)
    return math.nan


@dataclass(frozen=True, eq=False)
class Terms:
    """The summands of `ModeSums`, one per frequency, each for t and −t together."""

    value: FloatArray
    value_err: FloatArray
    density: FloatArray
    density_err: FloatArray

    @staticmethod
    def of(
        away: NDArray[np.complex128],
        away_err: FloatArray,
        n: int | FloatArray,
        theta: float | FloatArray,
        eta: float | FloatArray,
        t: FloatArray,
    ) -> Terms:
        """From φ(t) − 1 and its error at frequencies t; n, θ and η may differ among them."""
        real, imag, err = _power(away, away_err, n, theta, eta, t)
        twice = np.where(t == 0.0, 1.0, 2.0)
        # Of modes that are all error, it may overflow; `mean_bounds` claims nothing then.
        with np.errstate(over="ignore", invalid="ignore"):
            weight = twice / (theta**2 + t**2)
            rotated = real * (theta**2 - t**2) + 2.0 * theta * t * imag
            value = rotated * weight / (theta**2 + t**2)
            return Terms(value, weight * err, twice * real, twice * err)


def _power(
    away: NDArray[np.complex128],
    away_err: FloatArray,
    n: int | FloatArray,
    theta: float | FloatArray,
    eta: float | FloatArray,
    t: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Real and imaginary part of φ_X, and a bound of its error."""
    # One after the other in memory; far from it, they take several times as long.
    real, imag = np.ascontiguousarray(away.real), np.ascontiguousarray(away.imag)
    twice, product = 2.0 * real, real * real + imag * imag
    square = twice + product  # |φ|² − 1
    inside = np.maximum(1.0 + square, 0.0)
    modulus = np.sqrt(inside)
    solid = modulus > 2.0 * away_err + 1e-8
    safe = np.where(solid, modulus, 1.0)
    log_square = np.log1p(np.where(solid, square, 0.0))
    angle = np.arctan2(imag, 1.0 + real)
    damping = -0.5 * (eta * t) ** 2
    log_size = 0.5 * n * log_square + damping
    drift = t * (theta * eta**2)
    turns = n * angle
    with np.errstate(all="ignore"):
        squares = (np.abs(twice) + product) / (safe * safe)
        slip = n * (
            away_err / safe + U * (2.0 * np.abs(log_square) + 4.0 * squares + 6.0 * np.abs(angle))
        ) + U * (80.0 + 4.0 * (np.abs(turns) + drift + np.abs(log_size)))
        size = np.exp(log_size)
        # |φ̃ⁿ − φⁿ| ≤ (|φ̃| + Δ)ⁿ − |φ̃|ⁿ ≤ |φ̃|ⁿ (e^{nΔ/|φ̃|} − 1), unless φ̃ is all error.
        err = size * np.expm1(slip)
        # φ̃ is off 1 by error alone where this overflows, and its power means nothing.
        solid &= np.isfinite(err)
        if not solid.all():
            # The root of a difference near 0 is off by that of its rounding.
            ceiling = np.sqrt(inside + 16.0 * U) + away_err
            lost = 2.0 * np.exp(n * np.log(ceiling) + damping)
            size, err = np.where(solid, size, 0.0), np.where(solid, err, np.minimum(lost, 2.0))
    cosine, sine = away_from_one(turns + drift)
    return size + size * cosine, size * sine, err
