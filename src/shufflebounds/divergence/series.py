"""The Fourier series of the certified engine, summed over the modes that can matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, Tilted, U, characteristic, exp_down
from shufflebounds.divergence.window import Window

# Modes times components held in memory at once.
_BLOCK = 2**19


@dataclass(frozen=True, eq=False)
class NeededModes:
    """Indices m of the modes to evaluate, and bounds of what the others add up to.

    ``skipped_value`` bounds Σ 2|φ_X|/|z|² over the modes left out, ``skipped_density`` Σ 2|φ_X|.
    """

    modes: FloatArray
    skipped_value: float
    skipped_density: float


def needed_modes(g: Law, tilted: Tilted, n: int, window: Window) -> NeededModes:
    """Find the modes of a window that can matter.

    Left out is where |φ_X| is negligible: first while |φ|² ≤ 1 − t²σ² + t⁴(2μ₄ + 6σ⁴)/24 is at
    most 1 − t²σ²/2, then wherever |φ|² at both ends of a stretch of width H says so: between them
    it is higher by at most σ²H²/4.
    """
    theta, eta, step = tilted.theta, window.eta, window.step
    last = window.modes * step
    everything = np.arange(window.modes + 1, dtype=np.float64)
    low, high, fourth = _tilted_moments(g, tilted)
    depth = -math.log(window.negligible)
    rate = 0.25 * n * low + 0.5 * eta**2
    near = math.sqrt(depth / rate) if low > 0.0 else math.inf
    if not near < 0.5 * last or not low > 0.0:
        return NeededModes(everything, 0.0, 0.0)
    flat = min(last, math.sqrt(12.0 * low / (2.0 * fourth + 6.0 * high**2)))
    value = density = 0.0
    evaluated = [np.arange(0.0, math.floor(near / step) + 1.0)]
    start = evaluated[0].size
    if flat > near:
        first = start * step
        size = math.exp(-rate * first**2)
        density = 2.0 * size * (1.0 + 1.0 / (2.0 * rate * first * step))
        value = density / (theta**2 + first**2)
        start = max(start, math.floor(flat / step) + 1)
    if start >= window.modes:
        return NeededModes(np.concatenate([evaluated[0], everything[start:]]), value, density)

    # To be negligible, |φ|² must stay below about 1 − 2 depth/n; σ²H²/4 should leave room for that.
    rise = min(max(depth / n, 0.0036), 0.0625)
    stride = max(1, math.floor(2.0 * math.sqrt(rise / high) / step))
    if stride < 4:
        evaluated.append(everything[start:])
        return NeededModes(np.concatenate(evaluated), value, density)
    edges = np.append(np.arange(start, window.modes, stride, dtype=np.float64), window.modes + 1.0)
    t = edges * step
    square = np.empty(edges.size)
    block = max(1, _BLOCK // g.values.size)
    for i in range(0, edges.size, block):
        away, err = characteristic(g, tilted, t[i : i + block])
        square[i : i + block] = (np.abs(1.0 + away) + err) ** 2 + 8.0 * U
    width = float(np.diff(edges).max()) * step
    ceiling = np.maximum(square[:-1], square[1:]) + 0.25 * high * width**2
    log_bound = 0.5 * n * np.log(np.minimum(ceiling, 1.0)) - 0.5 * (eta * t[:-1]) ** 2
    skip = log_bound < -depth
    count = np.diff(edges)[skip]
    with np.errstate(under="ignore"):
        each = 2.0 * count * np.exp(log_bound[skip])
    density += float(each.sum()) * (1.0 + 1e-9)
    value += float(np.sum(each / (theta**2 + t[:-1][skip] ** 2))) * (1.0 + 1e-9)
    for i in np.flatnonzero(~skip):
        evaluated.append(np.arange(edges[i], edges[i + 1]))
    return NeededModes(np.concatenate(evaluated), value, density)


def _tilted_moments(g: Law, tilted: Tilted) -> tuple[float, float, float]:
    """Bounds of the tilted variance, lower and upper, and an upper one of the fourth moment.

    Central moments about the computed mean; about the true one the variance is at most lower by the
    square of their distance, which the slack covers.
    """
    used = tilted.used
    w, err = tilted.weights[used], tilted.weight_err[used]
    h = g.values[used] - tilted.mean
    off = g.value_err[used] + 4.0 * U * (np.abs(g.values[used]) + abs(tilted.mean))
    at_zero = max(0.0, 1.0 - float(w.sum()))
    zero_err = float(w @ err) + tilted.left_out + 8.0 * U
    mean = tilted.mean
    distance = float(w @ (err * np.abs(g.values[used]) + (1.0 + err) * off)) + 8.0 * U * abs(mean)
    # What was left out may be anywhere.
    far = float(np.abs(g.values).max()) + abs(mean)
    distance += tilted.left_out * far
    variance = float(w @ h**2) + at_zero * mean**2
    slip = float(w @ (err * h**2 + (1.0 + err) * (2.0 * np.abs(h) + off) * off))
    slip += zero_err * mean**2 + distance * distance + 1e-9 * variance + tilted.left_out * far * far
    reach = np.abs(h) + off + distance
    fourth = float(((1.0 + err) * w) @ reach**4)
    # Products, since powers of Python's floats raise where these go to inf.
    off_zero = abs(mean) + distance
    fourth += (at_zero + zero_err) * off_zero * off_zero * off_zero * off_zero
    fourth += tilted.left_out * far * far * far * far
    return variance - slip, variance + slip, fourth * (1.0 + 1e-9)


def sum_series(
    g: Law, tilted: Tilted, n: int, window: Window, needed: NeededModes
) -> tuple[float, float, float]:
    """Bounds of E f over draws, lower and upper, and the part of their gap due to smoothing."""
    theta, eta = tilted.theta, window.eta
    sums = mode_sums(g, tilted, n, eta, needed.modes * window.step)
    # 1/P = h/2π; the step h is exact, π is not.
    unit = window.step / (2.0 * math.pi)
    value, density = sums.value * unit, sums.density * unit
    value_err = (sums.value_err + needed.skipped_value) * unit * (1.0 + 1e-9)
    value_err += window.cut_value + 8.0 * U * value
    density_err = (sums.density_err + needed.skipped_density) * unit * (1.0 + 1e-9)
    density_err += window.cut_density + 8.0 * U * density

    smoothing = eta**2 * (density + density_err) * (1.0 + 8.0 * U)
    # Draws that are all 0 add nothing to E[S₊], but smoothing gives them a share.
    peeled = _idle_mass(g, tilted, n) * math.exp(-0.5 * (theta * eta) ** 2)
    peeled *= eta / math.sqrt(2.0 * math.pi) * (1.0 - 1e-12)
    upper = max(0.0, value + value_err - peeled) * (1.0 + 4.0 * U)
    lower = (value - value_err - window.wrap - smoothing) * (1.0 - 4.0 * U)
    return lower, upper, max(0.0, smoothing - peeled)


def _idle_mass(g: Law, tilted: Tilted, n: int) -> float:
    """Lower bound of the tilted probability that all n draws are 0."""
    moved = float(g.masses.sum()) * (1.0 + float(np.max(g.mass_err, initial=0.0)) + g.sum_err)
    if moved >= 1.0:
        return 0.0
    log_rest, k = math.log1p(-moved), tilted.log_mgf
    slip = tilted.log_mgf_err + 8.0 * U * (abs(log_rest) + abs(k))
    return exp_down(n * (log_rest - k - slip))


@dataclass(frozen=True)
class ModeSums:
    """Σ φ_X(t)/z² and Σ φ_X(t) over t and −t, z = θ + it, each with a bound of its round-off."""

    value: float
    value_err: float
    density: float
    density_err: float


def mode_sums(g: Law, tilted: Tilted, n: int, eta: float, t: FloatArray) -> ModeSums:
    """Sums over the frequencies t ≥ 0, shape (M,), each of which stands for t and −t."""
    theta = tilted.theta
    value = value_err = density = density_err = 0.0
    block = max(1, _BLOCK // g.values.size)
    for part in (t[start : start + block] for start in range(0, t.size, block)):
        phi = _Modes.at(g, tilted, n, eta, part)
        twice = np.where(part == 0.0, 1.0, 2.0)
        weight = twice / (theta**2 + part**2)
        rotated = phi.real * (theta**2 - part**2) + 2.0 * theta * part * phi.imag
        value += float(np.sum(rotated * weight / (theta**2 + part**2)))
        value_err += float(np.sum(weight * phi.err))
        density += float(np.sum(twice * phi.real))
        density_err += float(np.sum(twice * phi.err))
    return ModeSums(value, value_err, density, density_err)


@dataclass(frozen=True, eq=False)
class _Modes:
    """Real and imaginary part of φ_X at some frequencies, and a bound of the error of φ_X."""

    real: FloatArray
    imag: FloatArray
    err: FloatArray

    @staticmethod
    def at(g: Law, tilted: Tilted, n: int, eta: float, t: FloatArray) -> _Modes:
        away, away_err = characteristic(g, tilted, t)
        real, imag = away.real, away.imag
        square = 2.0 * real + real * real + imag * imag  # |φ|² − 1
        modulus = np.sqrt(np.maximum(1.0 + square, 0.0))
        solid = modulus > 2.0 * away_err + 1e-8
        safe = np.where(solid, modulus, 1.0)
        log_square = np.log1p(np.where(solid, square, 0.0))
        angle = np.arctan2(imag, 1.0 + real)
        damping = -0.5 * (eta * t) ** 2
        log_size = 0.5 * n * log_square + damping
        drift = t * tilted.theta * eta**2
        turn = n * angle + drift
        with np.errstate(all="ignore"):
            squares = (2.0 * np.abs(real) + real * real + imag * imag) / safe**2
            slip = n * (
                away_err / safe
                + U * (2.0 * np.abs(log_square) + 4.0 * squares + 6.0 * np.abs(angle))
            ) + U * (64.0 + 4.0 * (n * np.abs(angle) + drift + np.abs(log_size)))
            size = np.exp(log_size)
            # |φ̃ⁿ − φⁿ| ≤ (|φ̃| + Δ)ⁿ − |φ̃|ⁿ ≤ |φ̃|ⁿ (e^{nΔ/|φ̃|} − 1), unless φ̃ is all error.
            err = size * np.expm1(slip)
            # The root of a difference near 0 is off by that of its rounding.
            ceiling = np.sqrt(np.maximum(1.0 + square, 0.0) + 16.0 * U) + away_err
            lost = 2.0 * np.exp(n * np.log(ceiling) + damping)
        size = np.where(solid, size, 0.0)
        err = np.where(solid & np.isfinite(err), err, np.minimum(lost, 2.0))
        return _Modes(size * np.cos(turn), size * np.sin(turn), err)
