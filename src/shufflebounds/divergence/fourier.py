"""The Fourier engine: log E f(S) of sums from a smoothed Fourier series at a saddlepoint.

S is a sum of independent draws, n_k of law k, and f(x) = (1 − e^{−κ(x − shift)})₊/κ, which is x₊
for a shuffle (`window.Kernel`). With Q the law tilted by θ, Z an independent standard normal and
X = S + (θ + κ/2)η² + ηZ − shift,

    E f(S + ηZ + κη²/2) = e^{ΣnK(θ) − θ shift + θ(θ + κ)η²/2} E_Q g(X)  ≥  E f(S),  g = e^{−θx}f,

and E_Q g(X) is read off the characteristic function of X at the points t_m = mh, as a Fourier
series of g repeated with period P = 2π/h. Every step that is not exact has a bound, and both ends
of the result carry all of them:

* repeating g only adds to it: nothing for the upper end, `Window.wrap` for the lower one;
* leaving out modes beyond the last one, and modes that are negligible: `Window`;
* smoothing: at most η² e^{κ²η²/8} times the density of the smoothed sum at 0, a sum over the same
  modes;
* round-off of the data and of every operation: `law`, `characteristic` and `series`.

The laws, their tilts and Chernoff's bounds are computed for P points together, as rows of arrays;
then each point has a series of its own. The cost depends on the precision, not on n. Proofs:
docs/proofs/engine.md, sections 2 to 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.characteristic import TiltedLaws
from shufflebounds.divergence.law import BLOCK, Law, U, log, log_mgf
from shufflebounds.divergence.saddlepoint import Kinds, tilting_point
from shufflebounds.divergence.series import mean_bounds, mode_sums
from shufflebounds.divergence.window import LOSS_SHARE, SHUFFLE, Chernoff, Kernel, Window

# Default limit of the work for a point: modes, times components and `MODE_COST`.
MOST_WORK = 2.0**28
# What a mode costs besides its components, in components. Speed only.
MODE_COST = 50
# Share of the work limit for the first window, which tells how much smoothing costs.
FIRST_SHARE = 0.1
# Most windows that are tried for a point.
MAX_WINDOWS = 8
# Share of the relative width that smoothing may take.
SMOOTHING_SHARE = 0.7
# Smallest relative width to aim at: round-off is larger.
FINEST = 1e-12
# Multiples of u = √(−2 log tail)/σ that are tried in Chernoff's bound: u itself if S is normal.
CHERNOFF_FACTORS = 10.0 ** np.concatenate(
    [np.arange(-14.0, -1.0, 2.0), np.linspace(-1.0, 1.0, 9), np.arange(2.0, 15.0, 2.0)]
)
# Mean error of θg up to which a tilt is tried in Chernoff's bound.
LARGEST_SLIP = 0.1

Bounds = tuple[FloatArray, FloatArray]


def fourier_bounds(
    law: Law,
    n: FloatArray,
    rtol: FloatArray,
    most_work: float = MOST_WORK,
    theta: FloatArray | None = None,
    enough: FloatArray | None = None,
) -> Bounds:
    """Return bounds of log E[S₊] at P points.

    Parameters
    ----------
    law
        P laws as rows.
    n, rtol
        Numbers of users and the distances of the bounds to aim at, shape (P,).
    most_work
        Limit of the work for one point: modes, times what each takes.
    theta
        The tilting points, shape (P,), if they are known.
    enough
        Values of log E[S₊] below which an upper bound is enough, shape (P,), if there are any.

    Returns
    -------
    tuple of two arrays
        Lower and upper bounds, shape (P,); −inf and inf where round-off leaves nothing.
    """
    return sum_bounds([(law, n)], SHUFFLE, rtol, most_work, theta, enough)


def sum_bounds(
    kinds: Kinds,
    kernel: Kernel,
    rtol: FloatArray,
    most_work: float = MOST_WORK,
    theta: FloatArray | None = None,
    enough: FloatArray | None = None,
) -> Bounds:
    """Return bounds of log E f(S) at P points, for sums of n draws of each law of `kinds`.

    The laws have P rows and one exponent, and `n` and the other arguments are those of
    `fourier_bounds`.
    """
    low, high = np.full(rtol.shape, -np.inf), np.full(rtol.shape, np.inf)
    is_finite = [np.isfinite(law.value_err).all(axis=-1) for law, _ in kinds]
    has_gains = [(law.values > 0.0).any(axis=-1) for law, _ in kinds]
    rows = np.flatnonzero(np.all(is_finite, axis=0) & np.any(has_gains, axis=0))
    size = points_at_once(max(law.masses.size for law, _ in kinds))
    theta = tilting_point(kinds, kernel) if theta is None else theta
    enough = np.full(rtol.shape, -np.inf) if enough is None else enough
    for part in (rows[i : i + size] for i in range(0, rows.size, size)):
        points = [TiltedLaws.of(law.at(part), n[part], theta[part]) for law, n in kinds]
        # Round-off allows nothing finer, and keeps the errors of the series below this.
        err = np.sum([point.n * point.log_mgf_err for point in points], axis=0)
        goals = np.maximum(np.maximum(rtol[part], 4.0 * err), FINEST)
        tails = _chernoff_tails(points, goals)
        is_usable = np.all([point.usable() for point in points], axis=0) & (err < 1.0)
        high[part] = np.where(is_usable, _chernoff_bounds(points, kernel), np.inf)
        for i in np.flatnonzero(is_usable & (high[part] > enough[part])).tolist():
            laws = [point.at(i) for point in points]
            ends = _point_bounds(laws, kernel, float(goals[i]), tails[i], most_work)
            low[part[i]], high[part[i]] = ends[0], min(ends[1], high[part[i]])
    return low, high


def points_at_once(components: int) -> int:
    """Return how many laws of so many components to evaluate together."""
    # Chernoff's bounds take two sides times the factors tried for each.
    return max(1, BLOCK // (2 * CHERNOFF_FACTORS.size * components))


def single_bounds(
    law: Law, n: float, rtol: float, most_work: float = MOST_WORK
) -> tuple[float, float]:
    """Return what `fourier_bounds` returns, for one law that is not a row."""
    low, high = fourier_bounds(law.as_row(), np.array([float(n)]), np.array([rtol]), most_work)
    return float(low[0]), float(high[0])


def _chernoff_bounds(points: Sequence[TiltedLaws], kernel: Kernel) -> FloatArray:
    """Return upper bounds of log E f(S): f(x) is at most x₊, and that is at most e^{θx}/(eθ)."""
    theta, exponent = points[0].theta, points[0].law.exponent * math.log(2.0)
    log_scale, size, err = _log_scale(points, kernel)
    log_size = log_scale - 1.0 - np.log(theta) + exponent
    rounding = 8.0 * U * (40.0 + size + np.abs(log_size) + np.abs(exponent))
    with np.errstate(invalid="ignore"):
        bounds: FloatArray = log_size + err + rounding
    return bounds


def _log_scale(
    points: Sequence[TiltedLaws], kernel: Kernel
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ΣnK(θ) − θ shift, the sum of the sizes of its terms, and a bound of its error.

    A single product nK without a shift has no error but that of K: its rounding is charged later.
    """
    terms = [point.n * point.log_mgf for point in points]
    total = np.sum(terms, axis=0)
    size = np.sum(np.abs(terms), axis=0)
    err = np.sum([point.n * point.log_mgf_err for point in points], axis=0)
    if kernel.shift or len(points) > 1:
        shift = points[0].theta * kernel.shift
        total, size = total - shift, size + np.abs(shift)
        err = err + (4.0 + len(points)) * U * size
    return total, size, err


def _chernoff_tails(
    points: Sequence[TiltedLaws], rtol: FloatArray
) -> list[tuple[Chernoff, Chernoff]]:
    """Return Chernoff's bounds of S above and below at each point, for losses of about `rtol`."""
    log_tail = np.log(LOSS_SHARE * rtol)[:, None, None]
    theta = points[0].theta[:, None, None]
    spread = np.sum([point.spread for point in points], axis=0)[:, None, None]
    with np.errstate(all="ignore"):
        normal = np.sqrt(np.maximum(1.0, -2.0 * log_tail) / (spread + theta**-2.0))
        # Estimates of K choose a factor for each side, where its error is small.
        at = theta + np.array([[1.0], [-1.0]]) * normal * CHERNOFF_FACTORS
        rough_moment, is_usable = np.zeros(at.shape), np.ones(at.shape, dtype=bool)
        for point in points:
            n, k_theta = (x[:, None, None] for x in (point.n, point.log_mgf))
            growth = np.expm1(at[..., None] * point.law.values[:, None, None, :])
            rough_moment += n * (np.log1p(growth @ point.law.masses) - k_theta)
            slip = np.abs(at) * np.vecdot(point.weights, point.value_err)[:, None, None]
            is_usable &= slip < LARGEST_SLIP
        reach = (rough_moment - log_tail) / np.abs(at - theta)
        is_usable &= np.isfinite(reach)
        best = np.argmin(np.where(is_usable, reach, np.inf), axis=-1)[..., None]
        # K is evaluated at the floats θ ± u, without error; u is their distance from θ.
        at = np.take_along_axis(at, best, axis=-1)
        log_moment = np.zeros(at.shape)
        for point in points:
            n, k_theta, k_theta_err = (
                x[:, None, None] for x in (point.n, point.log_mgf, point.log_mgf_err)
            )
            k, k_err = (x[..., None] for x in log_mgf(point.law, at[..., 0]))
            log_moment += n * (k - k_theta) + n * (k_err + k_theta_err)
            # Each addition of several sums is charged with one rounding of their sizes.
            log_moment += (7.0 + len(points)) * U * n * (np.abs(k) + np.abs(k_theta))
    ends = np.concatenate([np.abs(at - theta), log_moment], axis=-1).tolist()
    return [(Chernoff(*above), Chernoff(*below)) for above, below in ends]


def _point_bounds(
    points: Sequence[TiltedLaws],
    kernel: Kernel,
    rtol: float,
    tails: tuple[Chernoff, Chernoff],
    most_work: float,
) -> tuple[float, float]:
    """Return bounds of log E f(S) at one point, which has a positive value."""
    theta, kappa = float(points[0].theta), kernel.kappa
    spread = math.fsum(float(point.spread) for point in points)
    eta, size = math.sqrt(SMOOTHING_SHARE * rtol) / math.sqrt(theta * (theta + kappa)), 0.0
    eta = min(eta, 1.0 / kappa) if kappa else eta
    low, high, work = -math.inf, math.inf, 0.0
    limit, power = FIRST_SHARE * most_work, 0.5
    mode_cost = sum(point.values.size + MODE_COST for point in points)
    for _ in range(MAX_WINDOWS):
        window = Window.fitted(theta, spread, eta, tails, rtol, size, kernel)
        if window is None:
            break
        cost = window.modes * mode_cost
        if cost > limit:
            # Smooth more: the cost goes about like 1/η.
            eta *= 1.2 * cost / limit
            continue
        work += cost
        spend(2e5 + cost)
        lower, upper, smoothing = mean_bounds(mode_sums(points, window), window)
        ends = _log_bounds(points, kernel, lower, upper, eta)
        low, high = max(low, ends[0]), min(high, ends[1])
        is_smooth = smoothing <= 0.75 * rtol * upper
        if high - low <= rtol or (is_smooth and upper > 0.5 * window.size):
            break
        limit = most_work - work
        if not 0.0 < upper < math.inf or cost > limit:
            break
        if not is_smooth:
            # What smoothing costs is of second order in η, or of first order with atoms near 0.
            eta *= max(1e-3, min(0.7, (0.6 * rtol * upper / smoothing) ** power))
            power = 1.0
        size = 0.5 * upper
    return low, high


def _log_bounds(
    points: Sequence[TiltedLaws], kernel: Kernel, lower: float, upper: float, eta: float
) -> tuple[float, float]:
    """Return logarithms of both ends times the factor of E g and the scale of the values."""
    scale, size, err = (float(x) for x in _log_scale(points, kernel))
    theta, kappa = float(points[0].theta), kernel.kappa
    smoothed = 0.5 * (theta * eta) ** 2 + 0.5 * kappa * theta * eta**2
    err += 8.0 * U * (size - abs(scale))
    return scaled_logs((lower, upper), scale, err, smoothed, int(points[0].law.exponent))


def scaled_logs(
    ends: tuple[float, float], log_scale: float, err: float, smoothed: float, exponent: int
) -> tuple[float, float]:
    """Return logarithms of both ends times e^{log_scale + smoothed} 2^exponent, rounded outwards.

    `err` bounds the error of `log_scale`. There is room for the error of subtracting log n too.
    """
    slip = err + 8.0 * U * (1.0 + abs(log_scale)) + 16.0 * U * smoothed
    power = exponent * math.log(2.0)
    low, high = (
        end + log_scale + smoothed + side * (slip + 8.0 * U * abs(end)) if end > -math.inf else end
        for side, end in zip((-1.0, 1.0), map(log, ends), strict=True)
    )
    # log n is at most 35.
    low_err, high_err = (
        8.0 * U * (40.0 + abs(power) + abs(end)) if math.isfinite(end) else 0.0
        for end in (low, high)
    )
    return low + power - low_err, high + power + high_err
