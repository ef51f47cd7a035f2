"""The Fourier engine: D(ε) of a decomposition from a smoothed Fourier series at a saddlepoint.

With S the sum of n copies of G, Q the law tilted by θ, X = S + θη² + ηZ for an independent standard
normal Z, and f(x) = x e^{−θx} 1{x > 0},

    E[(S + ηZ)₊] = e^{nK(θ) + θ²η²/2} E_Q f(X)  ≥  E[S₊],

and E_Q f(X) is read off the characteristic function of X at the points t_m = mh, as a Fourier
series of f repeated with period P = 2π/h. Every step that is not exact has a bound, and both ends
of the result carry all of them:

* repeating f only adds to it, which costs the upper end nothing and the lower one `Window.wrap`;
* the modes that are left out are bounded in `Window` and `sum_series`, from
  |φ_X(t)| ≤ |φ(t)|ⁿ e^{−η²t²/2};
* smoothing adds at most e^{nK + θ²η²/2} η² p_X(0), where the density p_X of X is a sum over the
  same modes;
* `law` and `sum_series` bound the round-off of the data and of every operation.

The cost depends on the precision, not on n.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.law import (
    Law,
    Tilted,
    U,
    away_from_one,
    exp_down,
    log,
    tilt,
    tilting_point,
)
from shufflebounds.divergence.window import (
    NeededModes,
    Samples,
    Window,
    choose_window,
    needed_modes,
    samples,
)

# All numbers below decide about speed and width, never about validity
# (benchmarks/deployer_grid.py).
#
# Largest number of modes of a window, most of which large n may skip.
_MAX_MODES = 2**20
# Largest number of modes of a window times components.
_MAX_MODES_TIMES_VALUES = 2**28
# Largest work of one pass: modes evaluated times the work of each, which is the number of
# components plus `_WORK_PER_MODE`.
_MAX_WORK = 2**28
# Part of the work of one mode that does not depend on the number of components.
_WORK_PER_MODE = 1000
# Largest number of windows that are tried; the result and cost of each set the width of the next.
_MAX_PASSES = 8
# Size of E f(X), in units of 1/(θ²σ), above which the window is chosen again with this size. A
# normal X has size 0.4.
_LARGE_SIZE = 10.0
# Largest share of the width that wrapping may cost; a wider window is tried above it.
_MAX_WRAP_SHARE = 0.2
# Number of cells of a compressed law for a relative error of about 1/10 at the centre of the law
# of S.
_CELLS = 4.0
# Largest number of values for which compression costs more than it saves.
_MAX_UNCOMPRESSED_VALUES = 1000
# Share of the width that the series of a compressed law may take; half of it after the first pair.
_SERIES_SHARE = 0.5
# More cells are tried as long as they narrow the gap to this share of it.
_WORTHWHILE = 0.7
# Largest factor by which the number of cells grows at once.
_MAX_CELL_GROWTH = 8.0


def sum_series(
    g: Law, tilted: Tilted, n: int, window: Window, needed: NeededModes
) -> tuple[float, float, float]:
    """Return bounds of E[S₊] e^{−nK − θ²η²/2}, and the part of their gap due to smoothing."""
    sums = mode_sums(samples(g, tilted, needed.modes), n, tilted.theta, window.eta)
    sums = ModeSums(
        sums.value,
        sums.value_err + needed.skipped_value,
        sums.density,
        sums.density_err + needed.skipped_density,
    )
    moving_mass = float(g.masses.sum()) * (1.0 + float(np.max(g.mass_err, initial=0.0)) + g.sum_err)
    idle_probability = idle_mass(moving_mass, tilted.log_mgf, tilted.log_mgf_err, n)
    return mean_bounds(sums, tilted.theta, window, idle_probability)


def mean_bounds(
    sums: ModeSums, theta: float, window: Window, idle_probability: float
) -> tuple[float, float, float]:
    """Return what `sum_series` does, given the sums, whose errors count all modes left out.

    `idle_probability` is at most the tilted probability that all n draws are 0.
    """
    # A sum that is no number bounds nothing.
    if not all(map(math.isfinite, vars(sums).values())):
        return -math.inf, math.inf, 0.0
    eta = window.eta
    # The unit is 1/P = h/2π, where the step h is exact and π is not.
    unit = window.step / (2.0 * math.pi)
    value, density = sums.value * unit, sums.density * unit
    value_err = sums.value_err * unit * (1.0 + 1e-9)
    value_err += window.cut_value + 8.0 * U * value
    density_err = sums.density_err * unit * (1.0 + 1e-9)
    density_err += window.cut_density + 8.0 * U * density

    smoothing = eta**2 * (density + density_err) * (1.0 + 8.0 * U)
    # Draws that are all 0 add nothing to E[S₊], but smoothing adds their share.
    idle_share = idle_probability * math.exp(-0.5 * (theta * eta) ** 2)
    idle_share *= eta / math.sqrt(2.0 * math.pi) * (1.0 - 1e-12)
    upper = max(0.0, value + value_err - idle_share) * (1.0 + 4.0 * U)
    lower = (value - value_err - window.wrap - smoothing) * (1.0 - 4.0 * U)
    return lower, upper, max(0.0, smoothing - idle_share)


def idle_mass(moving_mass: float, k: float, k_err: float, n: int) -> float:
    """Return a lower bound of the tilted probability that all n draws are 0.

    `moving_mass` is at least the mass of the values away from 0. `k` is K(θ), with an error of at
    most `k_err`.
    """
    if moving_mass >= 1.0:
        return 0.0
    log_idle = math.log1p(-moving_mass)
    log_err = k_err + 8.0 * U * (abs(log_idle) + abs(k))
    return exp_down(n * (log_idle - k - log_err))


@dataclass(frozen=True)
class ModeSums:
    """Σ φ_X(t)/z² and Σ φ_X(t) over t and −t, z = θ + it, each with a bound of its round-off."""

    value: float
    value_err: float
    density: float
    density_err: float


def mode_sums(sample_blocks: Iterable[Samples], n: int, theta: float, eta: float) -> ModeSums:
    """Return the sums over the frequencies of all blocks, each of which stands for t and −t."""
    rows: list[tuple[float, ...]] = [(0.0, 0.0, 0.0, 0.0)]
    for block in sample_blocks:
        terms = Terms.of(block.away, block.err, n, theta, eta, block.t)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = (terms.value, terms.value_err, terms.density, terms.density_err)
            rows.append(tuple(float(np.sum(x)) for x in columns))
    return ModeSums(*(_exact_sum(column) for column in zip(*rows, strict=True)))


def _exact_sum(numbers: tuple[float, ...]) -> float:
    """Return the sum, rounded once, or NaN if it overflows."""
    with contextlib.suppress(OverflowError):
        if all(map(math.isfinite, numbers)):
            return math.fsum(numbers)
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
        """Return the terms for φ(t) − 1 and its error; n, θ and η may depend on the frequency."""
        real, imag, err = _power(away, away_err, n, theta, eta, t)
        multiplicity = np.where(t == 0.0, 1.0, 2.0)
        # Modes that consist of error only may overflow; `mean_bounds` then claims nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            weight = multiplicity / (theta**2 + t**2)
            rotated = real * (theta**2 - t**2) + 2.0 * theta * t * imag
            value = rotated * weight / (theta**2 + t**2)
            return Terms(value, weight * err, multiplicity * real, multiplicity * err)


def _power(
    away: NDArray[np.complex128],
    away_err: FloatArray,
    n: int | FloatArray,
    theta: float | FloatArray,
    eta: float | FloatArray,
    t: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the real and imaginary part of φ_X, and a bound of its error."""
    # Contiguous arrays are several times as fast as the strided parts of complex numbers.
    real, imag = np.ascontiguousarray(away.real), np.ascontiguousarray(away.imag)
    double, product = 2.0 * real, real * real + imag * imag
    # This is |φ|² − 1.
    square = double + product
    squared_modulus = np.maximum(1.0 + square, 0.0)
    modulus = np.sqrt(squared_modulus)
    reliable = modulus > 2.0 * away_err + 1e-8
    safe_modulus = np.where(reliable, modulus, 1.0)
    log_square = np.log1p(np.where(reliable, square, 0.0))
    angle = np.arctan2(imag, 1.0 + real)
    damping = -0.5 * (eta * t) ** 2
    log_amplitude = 0.5 * n * log_square + damping
    drift = t * (theta * eta**2)
    turns = n * angle
    with np.errstate(all="ignore"):
        condition = (np.abs(double) + product) / (safe_modulus * safe_modulus)
        log_err = n * (
            away_err / safe_modulus
            + U * (2.0 * np.abs(log_square) + 4.0 * condition + 6.0 * np.abs(angle))
        ) + U * (80.0 + 4.0 * (np.abs(turns) + drift + np.abs(log_amplitude)))
        amplitude = np.exp(log_amplitude)
        # |φ̃ⁿ − φⁿ| ≤ (|φ̃| + Δ)ⁿ − |φ̃|ⁿ ≤ |φ̃|ⁿ (e^{nΔ/|φ̃|} − 1), unless φ̃ is error only.
        err = amplitude * np.expm1(log_err)
        # If this overflows, φ̃ differs from 1 by error only, and its power means nothing.
        reliable &= np.isfinite(err)
        if not reliable.all():
            # Near 0, the error of the square root is at most the root of the rounding error.
            ceiling = np.sqrt(squared_modulus + 16.0 * U) + away_err
            unreliable_bound = 2.0 * np.exp(n * np.log(ceiling) + damping)
            amplitude, err = (
                np.where(reliable, amplitude, 0.0),
                np.where(reliable, err, np.minimum(unreliable_bound, 2.0)),
            )
    cosine, sine = away_from_one(turns + drift)
    return amplitude + amplitude * cosine, amplitude * sine, err


def fourier_bounds(
    g: Law, n: int, rtol: float, most_work: float = _MAX_WORK
) -> tuple[float, float]:
    """Return bounds of log E[S₊], from a compressed law if it has more values than `rtol` needs.

    `most_work` is that of `log_mean_positive_part`.
    """
    if not np.isfinite(g.value_err).all():
        return -math.inf, math.inf
    # With fewer values, the cells would number at least half as many as the values.
    max_values = max(_MAX_UNCOMPRESSED_VALUES, 2.0 * _CELLS / math.sqrt(rtol))
    if g.values.size <= max_values or not g.values.max() > 0.0:
        return log_mean_positive_part(g, n, rtol, most_work)
    tilted = tilt(g, tilting_point(g, n))
    if not math.isfinite(tilted.log_mgf_err):
        return -math.inf, math.inf
    # The error of compression grows with the depth in the tail.
    depth = 1.0 + abs(n * tilted.log_mgf)
    cells = math.ceil(_CELLS * math.sqrt(depth / rtol))
    low, high, share = -math.inf, math.inf, _SERIES_SHARE
    while g.values.size > 2 * cells:
        gap = high - low
        below, above = compress(g, tilted.weights, cells)
        low = max(low, log_mean_positive_part(below, n, share * rtol, most_work)[0])
        high = min(high, log_mean_positive_part(above, n, share * rtol, most_work)[1])
        share = 0.5 * _SERIES_SHARE
        if high - low <= rtol or high - low > _WORTHWHILE * gap:
            return low, high
        # For few users, S has few draws, and may need more cells than that.
        cells = math.ceil(cells * min(1.2 * math.sqrt((high - low) / rtol), _MAX_CELL_GROWTH))
    ends = log_mean_positive_part(g, n, rtol, most_work)
    return max(low, ends[0]), min(high, ends[1])


def log_mean_positive_part(
    g: Law, n: int, rtol: float, most_work: float = _MAX_WORK
) -> tuple[float, float]:
    """Return bounds of log E[S₊], which are (−inf, inf) if round-off prevents any.

    `most_work` limits the work of one pass, in modes evaluated times the work of each, and scales
    the other limits. Once all passes together have spent as much, there is no further pass.
    """
    no_bounds = (-math.inf, math.inf)
    if not g.values.max() > 0.0:
        return no_bounds
    tilted = tilt(g, tilting_point(g, n))
    if not (n * tilted.log_mgf_err < 1.0 and tilted.left_out < 1.0):
        return no_bounds
    # A width that round-off prevents would only cost time.
    rtol = max(rtol, 4.0 * n * tilted.log_mgf_err, 1e-12)
    best_low, best_high = no_bounds
    sigma = math.sqrt(n * tilted.variance + 1.0 / tilted.theta**2)
    eta, affordable, size = math.sqrt(0.7 * rtol) / tilted.theta, True, 0.0
    total_cost = 0.0
    for _ in range(_MAX_PASSES):
        window = choose_window(g, tilted, n, eta, rtol, size)
        if window is None:
            break
        needed = None
        cost = window.modes * max(1.0 / _MAX_MODES, g.values.size / _MAX_MODES_TIMES_VALUES)
        cost *= _MAX_WORK / most_work
        if cost <= 1.0:
            needed = needed_modes(g, tilted, n, window)
            cost = needed.modes.size * (g.values.size + _WORK_PER_MODE) / most_work
        # Both costs are about proportional to 1/η.
        if cost > 1.0:
            eta, affordable = 1.2 * cost * eta, False
            continue
        assert needed is not None
        total_cost += cost
        spend(1e6 + window.modes + needed.modes.size * (100.0 + 5.0 * g.values.size))
        low, high, smoothing = sum_series(g, tilted, n, window, needed)
        log_low, log_high = multiply_ends(
            low, high, n * tilted.log_mgf, n * tilted.log_mgf_err, tilted.theta * eta
        )
        best_low, best_high = max(best_low, log_low), min(best_high, log_high)
        if best_high - best_low <= rtol or total_cost > 1.0:
            break
        shrink = shrink_factor(smoothing, rtol * high)
        # E f may be far larger than that of a normal X: the window can then be smaller.
        if size == 0.0 and high * tilted.theta**2 * sigma > _LARGE_SIZE:
            size, affordable = 0.5 * high, True
            eta = min(eta, math.sqrt(0.7 * rtol) / tilted.theta)
        # It may also be far smaller: the window must then be wider.
        elif window.wrap > _MAX_WRAP_SHARE * rtol * high and not 0.0 < size <= high:
            size = 0.5 * high
        elif shrink == 1.0 or not affordable:
            break
        eta *= shrink
    return rescale_ends(best_low, best_high, g.exponent)


def shrink_factor(smoothing: float, allowance: float) -> float:
    """Return the factor by which η should shrink, 1 if smoothing costs no more than `allowance`.

    The cost is of first order in η if there are atoms near 0.
    """
    if smoothing <= 0.75 * allowance:
        return 1.0
    return min(0.7, max(1e-3, 0.6 * allowance / smoothing))


def multiply_ends(
    low: float, high: float, log_factor: float, log_factor_err: float, spread: float
) -> tuple[float, float]:
    """Return bounds of log(low e^{nK + θ²η²/2}) and log(high e^{nK + θ²η²/2}).

    `log_factor` is nK, with an error of at most `log_factor_err`, and `spread` is θη.
    """
    smoothed = 0.5 * spread**2
    shift = log_factor + smoothed
    shift_err = log_factor_err + 8.0 * U * (1.0 + abs(log_factor)) + 16.0 * U * smoothed
    ends = log(low), log(high)
    return (
        ends[0] + shift - shift_err - 8.0 * U * abs(ends[0]),
        ends[1] + shift + shift_err + 8.0 * U * abs(ends[1]),
    )


def rescale_ends(log_low: float, log_high: float, exponent: int) -> tuple[float, float]:
    """Return the logarithms of both ends times 2^exponent, rounded outward."""
    scale = exponent * math.log(2.0)
    # The error is that of these sums, and of subtracting log n, which is at most 35.
    low_err, high_err = (
        8.0 * U * (40.0 + abs(scale) + abs(end)) if math.isfinite(end) else 0.0
        for end in (log_low, log_high)
    )
    return log_low + scale - low_err, log_high + scale + high_err
