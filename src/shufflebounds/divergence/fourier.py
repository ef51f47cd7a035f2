"""The Fourier engine: log E[S₊] of laws from a smoothed Fourier series at a saddlepoint.

With S the sum of n copies of G, Q the law tilted by θ, X = S + θη² + ηZ for an independent standard
normal Z, and f(x) = x e^{−θx} 1{x > 0},

    E[(S + ηZ)₊] = e^{nK(θ) + θ²η²/2} E_Q f(X)  ≥  E[S₊],

and E_Q f(X) is read off the characteristic function of X at the points t_m = mh, as a Fourier
series of f repeated with period P = 2π/h. Every step that is not exact has a bound, and both ends
of the result carry all of them:

* repeating f only adds to it: nothing for the upper end, `Window.wrap` for the lower one;
* leaving out modes beyond the last one, and modes that are negligible: `Window`;
* smoothing: at most e^{nK + θ²η²/2} η² p_X(0), p_X the density of X, a sum over the same modes;
* round-off of the data and of every operation: `law`, `characteristic` and `series`.

The laws, their tilts and Chernoff's bounds are computed for P points together, as rows of arrays;
then each point has a series of its own. The cost depends on the precision, not on n. Proofs:
docs/engine.md, sections 2 to 7.
"""

from __future__ import annotations

import math

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.characteristic import TiltedLaws
from shufflebounds.divergence.law import BLOCK, Law, U, log, log_mgf
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.series import mean_bounds, mode_sums
from shufflebounds.divergence.window import LOSS_SHARE, Chernoff, Window

# Default limit of the work for a point: modes, times components and `MODE_COST`.
MOST_WORK = 2.0**28
# What a mode costs beside its components, in components. Speed only.
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
    """Bounds of log E[S₊] at P points.

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
    low, high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    is_usable = np.isfinite(law.value_err).all(axis=-1) & (law.values > 0.0).any(axis=-1)
    rows, size = np.flatnonzero(is_usable), points_at_once(law.masses.size)
    theta = tilting_point(law, n) if theta is None else theta
    enough = np.full(n.shape, -np.inf) if enough is None else enough
    for part in (rows[i : i + size] for i in range(0, rows.size, size)):
        points = TiltedLaws.of(law.at(part), n[part], theta[part])
        # Round-off allows nothing finer, and keeps the errors of the series below this.
        goals = np.maximum(np.maximum(rtol[part], 4.0 * points.n * points.log_mgf_err), FINEST)
        tails = _chernoff_tails(points, goals)
        high[part] = np.where(points.usable(), _chernoff_bounds(points), np.inf)
        needed = points.usable() & (high[part] > enough[part])
        for i in np.flatnonzero(needed).tolist():
            ends = _point_bounds(points.at(i), float(goals[i]), tails[i], most_work)
            low[part[i]], high[part[i]] = ends[0], min(ends[1], high[part[i]])
    return low, high


def points_at_once(components: int) -> int:
    """Return how many laws of so many components to evaluate together."""
    # Chernoff's bounds take two sides times the factors tried for each.
    return max(1, BLOCK // (2 * CHERNOFF_FACTORS.size * components))


def single_bounds(
    law: Law, n: float, rtol: float, most_work: float = MOST_WORK
) -> tuple[float, float]:
    """`fourier_bounds` of one law, which is no row."""
    low, high = fourier_bounds(law.as_row(), np.array([float(n)]), np.array([rtol]), most_work)
    return float(low[0]), float(high[0])


def _chernoff_bounds(points: TiltedLaws) -> FloatArray:
    """Return upper bounds of log E[S₊]: S₊ is at most e^{θS}/(eθ)."""
    n, exponent = points.n, points.law.exponent * math.log(2.0)
    log_size = n * points.log_mgf - 1.0 - np.log(points.theta) + exponent
    rounding = 8.0 * U * (40.0 + n * np.abs(points.log_mgf) + np.abs(log_size) + np.abs(exponent))
    bounds: FloatArray = log_size + n * points.log_mgf_err + rounding
    return bounds


def _chernoff_tails(points: TiltedLaws, rtol: FloatArray) -> list[tuple[Chernoff, Chernoff]]:
    """Return Chernoff's bounds of S above and below at each point, for losses of about `rtol`."""
    log_tail = np.log(LOSS_SHARE * rtol)[:, None, None]
    theta, k_theta, k_theta_err, n, spread = (
        x[:, None, None]
        for x in (points.theta, points.log_mgf, points.log_mgf_err, points.n, points.spread)
    )
    with np.errstate(all="ignore"):
        normal = np.sqrt(np.maximum(1.0, -2.0 * log_tail) / (spread + theta**-2.0))
        # Estimates of K choose a factor for each side, where its error is small.
        at = theta + np.array([[1.0], [-1.0]]) * normal * CHERNOFF_FACTORS
        growth = np.expm1(at[..., None] * points.law.values[:, None, None, :]) @ points.law.masses
        slip = np.abs(at) * np.vecdot(points.weights, points.value_err)[:, None, None]
        reach = (n * (np.log1p(growth) - k_theta) - log_tail) / np.abs(at - theta)
        is_usable = np.isfinite(reach) & (slip < LARGEST_SLIP)
        best = np.argmin(np.where(is_usable, reach, np.inf), axis=-1)[..., None]
        # K is evaluated at the floats θ ± u, without error; u is their distance from θ.
        at = np.take_along_axis(at, best, axis=-1)
        k, k_err = (x[..., None] for x in log_mgf(points.law, at[..., 0]))
        log_moment = n * (k - k_theta) + n * (k_err + k_theta_err)
        log_moment += 8.0 * U * n * (np.abs(k) + np.abs(k_theta))
    ends = np.concatenate([np.abs(at - theta), log_moment], axis=-1).tolist()
    return [(Chernoff(*above), Chernoff(*below)) for above, below in ends]


def _point_bounds(
    point: TiltedLaws, rtol: float, tails: tuple[Chernoff, Chernoff], most_work: float
) -> tuple[float, float]:
    """Return bounds of log E[S₊] at one point, which has a positive value."""
    theta, spread = float(point.theta), float(point.spread)
    eta, size = math.sqrt(SMOOTHING_SHARE * rtol) / theta, 0.0
    low, high, work = -math.inf, math.inf, 0.0
    limit, power = FIRST_SHARE * most_work, 0.5
    for _ in range(MAX_WINDOWS):
        window = Window.fitted(theta, spread, eta, tails, rtol, size)
        if window is None:
            break
        cost = window.modes * (point.values.size + MODE_COST)
        if cost > limit:
            # Smooth more: the cost goes about like 1/η.
            eta *= 1.2 * cost / limit
            continue
        work += cost
        spend(2e5 + cost)
        lower, upper, smoothing = mean_bounds(mode_sums(point, window), window)
        ends = _log_bounds(point, lower, upper, eta)
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


def _log_bounds(point: TiltedLaws, lower: float, upper: float, eta: float) -> tuple[float, float]:
    """Return logarithms of both ends times e^{nK + θ²η²/2} and the scale of the values."""
    n, k, theta = float(point.n), float(point.log_mgf), float(point.theta)
    return scaled_logs(
        (lower, upper), n * k, n * float(point.log_mgf_err), theta * eta, int(point.law.exponent)
    )


def scaled_logs(
    ends: tuple[float, float], log_scale: float, err: float, spread: float, exponent: int
) -> tuple[float, float]:
    """Return logarithms of both ends times e^{scale + spread²/2} 2^exponent, rounded outwards.

    `err` bounds the error of `log_scale`. There is room for the error of subtracting log n too.
    """
    smoothed = 0.5 * spread**2
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
