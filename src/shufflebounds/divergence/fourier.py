"""The Fourier engine: D(ε) of a decomposition from a smoothed Fourier series at a saddlepoint.

With S the sum of n copies of G, Q the law tilted by θ, X = S + θη² + ηZ for an independent standard
normal Z, and f(x) = x e^{−θx} 1{x > 0},

    E[(S + ηZ)₊] = e^{nK(θ) + θ²η²/2} E_Q f(X)  ≥  E[S₊],

and E_Q f(X) is read off the characteristic function of X at the points t_m = mh, as a Fourier
series of f repeated with period P = 2π/h. Every step that is not exact has a bound, and both ends
of the result carry all of them:

* repeating f only adds to it: nothing for the upper end, `Window.wrap` for the lower one;
* leaving out modes: `Window` and `series`, from |φ_X(t)| ≤ |φ(t)|ⁿ e^{−η²t²/2};
* smoothing: at most e^{nK + θ²η²/2} η² p_X(0), p_X the density of X, a sum over the same modes;
* round-off of the data and of every operation: `law` and `series`.

The cost depends on the precision, not on n.
"""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.compress import compress
from shufflebounds.divergence.enclosing import enclose
from shufflebounds.divergence.law import Law, U, tilt
from shufflebounds.divergence.modes import needed_modes
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.series import sum_series
from shufflebounds.divergence.window import choose_window
from shufflebounds.enclosure import Enclosure
from shufflebounds.floats import log

# Limits of one pass: modes, most of which large n may skip, and modes evaluated times what each
# takes, which is its components and a share that does not depend on them.
_MOST_MODES, _MOST_SCANNED = 2**20, 2**28
_MOST_WORK, _EACH_MODE = 2**28, 1000
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


def fourier(decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of the divergence D(ε) of (a, b, c), in this one direction, for n ≥ 1 users.

    Aims at a relative width of `rtol`; where that is out of reach (few users with few components,
    or ε so close to its end that the data's own rounding decides) the enclosure is wider but still
    holds. Raises ValueError for eps < 0 or n < 1.
    """
    return enclose(decomposition, eps, n, rtol, log_bounds)


def log_bounds(g: Law, n: int, rtol: float, most_work: float = _MOST_WORK) -> tuple[float, float]:
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
