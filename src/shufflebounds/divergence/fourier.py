"""The Fourier engine: D(ε) of a decomposition from a smoothed Fourier series at a saddlepoint.

With S the sum of n copies of G, Q the law tilted by θ, X = S + θη² + ηZ for an independent standard
normal Z, and f(x) = x e^{−θx} 1{x > 0},

    E[(S + ηZ)₊] = e^{nK(θ) + θ²η²/2} E_Q f(X)  ≥  E[S₊],

and E_Q f(X) is read off the characteristic function of X at the points t_m = mh, as a Fourier
series of f repeated with period P = 2π/h. Every step that is not exact has a bound, and both ends
of the result carry all of them:

* repeating f only adds to it: nothing for the upper end, `Window.wrap` for the lower one;
* leaving out modes: `Window` and `sum_series`, from |φ_X(t)| ≤ |φ(t)|ⁿ e^{−η²t²/2};
* smoothing: at most e^{nK + θ²η²/2} η² p_X(0), p_X the density of X, a sum over the same modes;
* round-off of the data and of every operation: `law` and `sum_series`.

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

# The Fourier series, summed over the modes that can matter.


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


# All that follows decides speed and width (benchmarks/deployer_grid.py), never what holds.
#
# Limits of one pass: modes, most of which large n may skip, and modes evaluated times what each
# takes, which is its components and a share that does not depend on them.
_MOST_MODES, _MOST_SCANNED = 2**20, 2**28
_MOST_WORK, _EACH_MODE = 2**28, 1000
# Most windows to try; the result and cost of each set the width of the next.
_PASSES = 8
# E f(X), in units of 1/(θ²σ), from which a window made for less wastes much; 0.4 is normal.
_MUCH = 10.0
# What wrapping may cost of the width before a wider window is tried.
_WRAPPED = 0.2
# Cells of compression for a relative error of about 1/10 at the centre of the law of S.
_CELLS = 4.0
# So many values cost less than what it takes to make them fewer.
_FEW_VALUES = 1000
# What each series of a compressed law may take of the width; half as much after the first.
_SERIES = 0.5
# More cells are tried for as long as they narrow the gap to this share of it.
_WORTHWHILE, _MOST_REFINED = 0.7, 8.0


def fourier_bounds(
    g: Law, n: int, rtol: float, most_work: float = _MOST_WORK
) -> tuple[float, float]:
    """Bounds of log E[S₊], from fewer values where there are more than the precision needs.

    `most_work` is that of `log_mean_positive_part`.
    """
    if not np.isfinite(g.value_err).all():
        return -math.inf, math.inf
    # More cells than values would be used, or half as many.
    few = max(_FEW_VALUES, 2.0 * _CELLS / math.sqrt(rtol))
    if g.values.size <= few or not g.values.max() > 0.0:
        return log_mean_positive_part(g, n, rtol, most_work)
    tilted = tilt(g, tilting_point(g, n))
    if not math.isfinite(tilted.log_mgf_err):
        return -math.inf, math.inf
    # The loss counts for more the further out in the tail it is.
    depth = 1.0 + abs(n * tilted.log_mgf)
    cells = math.ceil(_CELLS * math.sqrt(depth / rtol))
    low, high, share = -math.inf, math.inf, _SERIES
    while g.values.size > 2 * cells:
        gap = high - low
        below, above = compress(g, tilted.weights, cells)
        low = max(low, log_mean_positive_part(below, n, share * rtol, most_work)[0])
        high = min(high, log_mean_positive_part(above, n, share * rtol, most_work)[1])
        share = 0.5 * _SERIES
        if high - low <= rtol or high - low > _WORTHWHILE * gap:
            return low, high
        # Few users may need more cells than that, since far fewer values then make up S.
        cells = math.ceil(cells * min(1.2 * math.sqrt((high - low) / rtol), _MOST_REFINED))
    ends = log_mean_positive_part(g, n, rtol, most_work)
    return max(low, ends[0]), min(high, ends[1])


def log_mean_positive_part(
    g: Law, n: int, rtol: float, most_work: float = _MOST_WORK
) -> tuple[float, float]:
    """Bounds of log E[S₊]; (−inf, inf) where round-off leaves nothing.

    `most_work` limits the modes evaluated in one pass, times what each takes, and scales other
    limits; after as many in all there is no other pass.
    """
    nothing = (-math.inf, math.inf)
    if not g.values.max() > 0.0:
        return nothing
    tilted = tilt(g, tilting_point(g, n))
    if not (n * tilted.log_mgf_err < 1.0 and tilted.left_out < 1.0):
        return nothing
    # Finer than round-off allows would only cost time.
    rtol = max(rtol, 4.0 * n * tilted.log_mgf_err, 1e-12)
    best_low, best_high = nothing
    sigma = math.sqrt(n * tilted.variance + 1.0 / tilted.theta**2)
    eta, affordable, size = math.sqrt(0.7 * rtol) / tilted.theta, True, 0.0
    spent = 0.0
    for _ in range(_PASSES):
        window = choose_window(g, tilted, n, eta, rtol, size)
        if window is None:
            break
        needed = None
        cost = window.modes * max(1.0 / _MOST_MODES, g.values.size / _MOST_SCANNED)
        cost *= _MOST_WORK / most_work
        if cost <= 1.0:
            needed = needed_modes(g, tilted, n, window)
            cost = needed.modes.size * (g.values.size + _EACH_MODE) / most_work
        if cost > 1.0:  # both go about like 1/η
            eta, affordable = 1.2 * cost * eta, False
            continue
        assert needed is not None  # the cost is at most 1
        spent += cost
        spend(1e6 + window.modes + needed.modes.size * (100.0 + 5.0 * g.values.size))
        low, high, smoothing = sum_series(g, tilted, n, window, needed)
        log_low, log_high = with_factor(
            low, high, n * tilted.log_mgf, n * tilted.log_mgf_err, tilted.theta * eta
        )
        best_low, best_high = max(best_low, log_low), min(best_high, log_high)
        if best_high - best_low <= rtol or spent > 1.0:
            break
        shrink = shrinking(smoothing, rtol * high)
        # E f may be far larger than a normal density suggests: the window can then be smaller.
        if size == 0.0 and high * tilted.theta**2 * sigma > _MUCH:
            size, affordable = 0.5 * high, True
            eta = min(eta, math.sqrt(0.7 * rtol) / tilted.theta)
        # Or far smaller: the window must then be wider.
        elif window.wrap > _WRAPPED * rtol * high and not 0.0 < size <= high:
            size = 0.5 * high
        elif shrink == 1.0 or not affordable:
            break
        eta *= shrink
    return unscaled(best_low, best_high, g.exponent)


def shrinking(smoothing: float, allowed: float) -> float:
    """The factor by which η should shrink; 1 where smoothing costs no more than allowed.

    With atoms near 0 what it costs is of first order in η.
    """
    if smoothing <= 0.75 * allowed:
        return 1.0
    return min(0.7, max(1e-3, 0.6 * allowed / smoothing))


def with_factor(
    low: float, high: float, log_factor: float, log_factor_err: float, spread: float
) -> tuple[float, float]:
    """Logarithms of both ends times e^{nK + θ²η²/2}, given nK, its error and θη."""
    smoothed = 0.5 * spread**2
    shift = log_factor + smoothed
    slip = log_factor_err + 8.0 * U * (1.0 + abs(log_factor)) + 16.0 * U * smoothed
    ends = log(low), log(high)
    return (
        ends[0] + shift - slip - 8.0 * U * abs(ends[0]),
        ends[1] + shift + slip + 8.0 * U * abs(ends[1]),
    )


def unscaled(log_low: float, log_high: float, exponent: int) -> tuple[float, float]:
    """Logarithms of both ends times 2^exponent."""
    scale = exponent * math.log(2.0)
    # Of these sums, and of subtracting log n, which is at most 35.
    low_err, high_err = (
        8.0 * U * (40.0 + abs(scale) + abs(end)) if math.isfinite(end) else 0.0
        for end in (log_low, log_high)
    )
    return log_low + scale - low_err, log_high + scale + high_err
