"""The Fourier engine: log E[S₊] of laws from a smoothed Fourier series at a saddlepoint.

With S the sum of n copies of G, Q the law tilted by θ, X = S + θη² + ηZ for an independent standard
normal Z, and f(x) = x e^{−θx} 1{x > 0},

    E[(S + ηZ)₊] = e^{nK(θ) + θ²η²/2} E_Q f(X)  ≥  E[S₊],

and E_Q f(X) is read off the characteristic function of X at the points t_m = mh, as a Fourier
series of f repeated with period P = 2π/h. Every step that is not exact has a bound, and both ends
of the result carry all of them:

* repeating f only adds to it: nothing for the upper end, `Window.wrap` for the lower one;
* leaving out modes: `Window`, `Scan` and `needed_modes`, from |φ_X(t)| ≤ |φ(t)|ⁿ e^{−η²t²/2};
* smoothing: at most e^{nK + θ²η²/2} η² p_X(0), p_X the density of X, a sum over the same modes;
* round-off of the data and of every operation: `law`, `frequencies` and `series`.

The engine takes P points, each a law and a number of users, as rows of arrays; a single question is
P = 1. The cost depends on the precision, not on n. Proofs: docs/engine.md, sections 2 to 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.frequencies import Points
from shufflebounds.divergence.law import BLOCK, Law, U, log, log_mgf, tilt
from shufflebounds.divergence.saddlepoint import tilting_point
from shufflebounds.divergence.series import Grids, mean_bounds, mode_sums, needed_modes
from shufflebounds.divergence.window import Chernoff, Goal, Scan, Window

# Default limit of the work of a window: modes evaluated, times components and `MODE_COST`.
MOST_WORK = 2.0**28
# What a mode costs beside its components, in components. Speed only (benchmarks/bench.py).
MODE_COST = 1000
# Most modes of a window, evaluated or not, at the default limit of work.
MOST_MODES = 2.0**20
# Most modes of a window times components, at the default limit of work.
MOST_SCANNED = 2.0**28
# Modes of several points that are evaluated together: memory.
MODES_TOGETHER = 2**19
# Most windows that are tried for a point.
PASSES = 8
# Share of the relative width that smoothing may take.
SMOOTHING_SHARE = 0.7
# Value of E f(X), in units of 1/(θ²σ), above which a window may be narrower; 0.4 is normal.
LARGE_VALUE = 10.0
# Share of the relative width beyond which wrapping asks for a wider window.
WRAP_SHARE = 0.2
# Smallest relative width to aim at: round-off is larger.
FINEST = 1e-12
# Values up to which no law is compressed. Speed only (benchmarks/deployer_grid.py, "Laplace").
FEW_VALUES = 1000
# Cells of a compressed law for a relative error of about 1/10 at the centre of the law of S.
CELLS = 4.0
# Share of the relative width that the series of a compressed law may take at first.
SERIES_SHARE = 0.5
# Factor by which a compression must narrow the bounds for another one to be tried.
WORTHWHILE = 0.7
# Largest factor between the numbers of cells of one compression and the next.
MOST_REFINED = 8.0
# Multiples of u = √(−2 log tail)/σ that are tried in Chernoff's bound.
CHERNOFF_FACTORS = 10.0 ** np.linspace(-1.0, 1.0, 17)
# Multiples of u that are tried if the best of the above is the first or the last.
MANY_CHERNOFF_FACTORS = 10.0 ** np.linspace(-14.0, 14.0, 113)

Bounds = tuple[FloatArray, FloatArray]


def fourier_bounds(
    law: Law,
    n: FloatArray,
    rtol: FloatArray,
    most_work: float = MOST_WORK,
    theta: FloatArray | None = None,
) -> Bounds:
    """Bounds of log E[S₊] at P points.

    Parameters
    ----------
    law
        P laws as rows.
    n, rtol
        Numbers of users and the distances of the bounds to aim at, shape (P,).
    most_work
        Limit of the modes evaluated for one window, times what each takes.
    theta
        The tilting points, shape (P,), if they are known.

    Returns
    -------
    tuple of two arrays
        Lower and upper bounds, shape (P,); −inf and inf where round-off leaves nothing.
    """
    low, high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    has_gains = law.values.max(axis=-1, initial=0.0) > 0.0
    usable = np.isfinite(law.value_err).all(axis=-1) & has_gains
    # With more cells than half of the values, compression gains nothing.
    is_short = law.masses.size <= np.maximum(FEW_VALUES, 2.0 * CELLS / np.sqrt(rtol))
    is_short |= np.ndim(law.mass_err) > 0  # errors that differ are not compressed
    theta = tilting_point(law, n) if theta is None else theta
    rows, size = np.flatnonzero(usable & is_short), points_at_once(law.masses.size)
    for part in (rows[i : i + size] for i in range(0, rows.size, size)):
        short = law.at(part) if part.size < n.size else law
        low[part], high[part] = series_bounds(short, n[part], rtol[part], most_work, theta[part])
    for row in np.flatnonzero(usable & ~is_short).tolist():
        low[row], high[row] = _compressed_bounds(
            law.at(row), float(n[row]), float(rtol[row]), most_work
        )
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


def _compressed_bounds(law: Law, n: float, rtol: float, most_work: float) -> tuple[float, float]:
    """Bounds for one law of many values, by laws of fewer values."""

    def bounds(one: Law, aim: float) -> tuple[float, float]:
        users, row = np.array([n]), one.as_row()
        theta = tilting_point(row, users)
        low, high = series_bounds(row, users, np.array([aim]), most_work, theta)
        return float(low[0]), float(high[0])

    tilted = tilt(law, tilting_point(law, n))
    if not math.isfinite(tilted.log_mgf_err):
        return -math.inf, math.inf
    # The loss counts for more the further out in the tail it is.
    depth = 1.0 + abs(n * float(tilted.log_mgf))
    cells = math.ceil(CELLS * math.sqrt(depth / rtol))
    low, high, share = -math.inf, math.inf, SERIES_SHARE
    while law.masses.size > 2 * cells:
        gap = high - low
        below, above = compress(law, tilted.weights, cells)
        low = max(low, bounds(below, share * rtol)[0])
        high = min(high, bounds(above, share * rtol)[1])
        share = 0.5 * SERIES_SHARE
        if high - low <= rtol or high - low > WORTHWHILE * gap:
            return low, high
        # Few users may need more cells than that, since far fewer values then make up S.
        cells = math.ceil(cells * min(1.2 * math.sqrt((high - low) / rtol), MOST_REFINED))
    ends = bounds(law, rtol)
    return max(low, ends[0]), min(high, ends[1])


@dataclass
class _Progress:
    """What is known of one point, and which window to try next.

    ``low`` and ``high`` bound log E[S₊] of the law's scaled values. ``eta`` is the standard
    deviation of the smoothing and ``size`` an estimate of E f(X), 0 if there is none. ``spent`` is
    the work done so far, as a share of what a window may cost.
    """

    row: int
    theta: float
    spread: float
    n: float
    rtol: float
    size: float = 0.0
    is_affordable: bool = True
    spent: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        self.eta = math.sqrt(SMOOTHING_SHARE * self.rtol) / self.theta

    def goal(self) -> Goal:
        """What the next window may lose."""
        return Goal.of(self.theta, self.spread, self.eta, self.rtol, self.size)

    def economize(self, cost: float) -> None:
        """Smooth more, as a window costs too much: the cost goes about like 1/η."""
        self.eta *= 1.2 * cost
        self.is_affordable = False

    def improve(self, window: Window, ends: tuple[float, float, float], scale: Scale) -> bool:
        """Use bounds of E f(X) and the gap that smoothing leaves; whether to try another window."""
        low, high, smoothing = ends
        log_low, log_high = scale.logs(low, high, self.theta * window.eta)
        self.low, self.high = max(self.low, log_low), min(self.high, log_high)
        if self.high - self.low <= self.rtol or self.spent > 1.0:
            return False
        shrink = _shrinking(smoothing, self.rtol * high)
        sigma = math.sqrt(self.spread + 1.0 / self.theta**2)
        if self.size == 0.0 and high * self.theta**2 * sigma > LARGE_VALUE:
            # E f is far larger than a normal density suggests: the window can be narrower.
            self.size, self.is_affordable = 0.5 * high, True
            self.eta = min(self.eta, math.sqrt(SMOOTHING_SHARE * self.rtol) / self.theta)
        elif window.wrap > WRAP_SHARE * self.rtol * high and not 0.0 < self.size <= high:
            # E f is far smaller: the window must be wider.
            self.size = 0.5 * high
        elif shrink == 1.0 or not self.is_affordable:
            return False
        self.eta *= shrink
        return True


def _shrinking(smoothing: float, allowed: float) -> float:
    """The factor by which η should shrink; 1 where smoothing costs no more than allowed.

    With atoms near 0 what it costs is of first order in η.
    """
    if smoothing <= 0.75 * allowed:
        return 1.0
    return min(0.7, max(1e-3, 0.6 * allowed / smoothing))


@dataclass(frozen=True)
class Scale:
    """The logarithm of e^{nK}, off by at most ``err``."""

    log: float
    err: float

    def logs(self, low: float, high: float, spread: float) -> tuple[float, float]:
        """Logarithms of both ends times e^{nK + θ²η²/2}, given θη."""
        smoothed = 0.5 * spread**2
        shift = self.log + smoothed
        slip = self.err + 8.0 * U * (1.0 + abs(self.log)) + 16.0 * U * smoothed
        ends = log(low), log(high)
        return (
            ends[0] + shift - slip - 8.0 * U * abs(ends[0]),
            ends[1] + shift + slip + 8.0 * U * abs(ends[1]),
        )


def series_bounds(
    law: Law, n: FloatArray, rtol: FloatArray, most_work: float, theta: FloatArray
) -> Bounds:
    """`fourier_bounds` with every value as it is; each law has a value above 0."""
    points = Points.of(law, n, theta)
    # Finer than round-off allows would only cost time.
    rtol = np.maximum(np.maximum(rtol, 4.0 * n * points.log_mgf_err), FINEST)
    columns = (x.tolist() for x in (points.theta, points.spread, n, rtol))
    progress = [_Progress(*row) for row in zip(range(n.size), *columns, strict=True)]
    active = [progress[row] for row in np.flatnonzero(points.usable())]
    for _ in range(PASSES):
        if not active:
            break
        active = _pass(points, active, most_work)
    exponents = law.exponent.tolist()
    ends = [unscaled(x.low, x.high, k) for x, k in zip(progress, exponents, strict=True)]
    low, high = np.array(ends).T
    return low, high


def _pass(points: Points, active: list[_Progress], most_work: float) -> list[_Progress]:
    """Try a window for every active point; return the points for which there is another one."""
    components, again, group = points.values.shape[1], [], list[tuple[_Progress, Window]]()
    modes = 0
    for point, window in zip(active, _windows(points, active), strict=True):
        if window is None:
            continue
        cost = window.modes * max(1.0 / MOST_MODES, components / MOST_SCANNED)
        cost *= MOST_WORK / most_work
        if cost > 1.0:
            point.economize(cost)
            again.append(point)
            continue
        modes += window.modes
        if modes > MODES_TOGETHER and group:
            again += _evaluate(points, group, most_work)
            group, modes = [], window.modes
        group.append((point, window))
    return again + _evaluate(points, group, most_work) if group else again


def _evaluate(
    points: Points, group: list[tuple[_Progress, Window]], most_work: float
) -> list[_Progress]:
    """Improve the bounds of some points by their windows; return those to be tried again."""
    windows = [window for _, window in group]
    points = points.at([point.row for point, _ in group])
    grids = Grids.of(windows)
    scans = [
        Scan.of(low, high, fourth, point.theta, point.n, window)
        for (low, high, fourth), (point, window) in zip(points.moments.tolist(), group, strict=True)
    ]
    spend(5e5 * len(group) + float(sum(window.modes for window in windows)))
    needed = needed_modes(points, grids, scans, windows)
    counts = np.bincount(needed.runs.owners, needed.runs.lengths, len(group))
    costs = counts * (points.values.shape[1] + MODE_COST) / most_work
    light = needed._replace(runs=needed.runs.at(costs[needed.runs.owners] <= 1.0))
    sums = np.array(mode_sums(points, grids, light)).T.tolist()
    scales = (points.n * np.array([points.log_mgf, points.log_mgf_err])).T.tolist()
    again = []
    rows = zip(group, costs.tolist(), sums, points.idle(), scales, strict=True)
    for (point, window), cost, row, idle, scale in rows:
        if cost > 1.0:
            point.economize(cost)
            again.append(point)
            continue
        point.spent += cost
        ends = mean_bounds(row, point.theta, window, idle)
        if point.improve(window, ends, Scale(*scale)):
            again.append(point)
    return again


def _windows(points: Points, active: list[_Progress]) -> list[Window | None]:
    """A window for each active point; None where there is none."""
    goals = [point.goal() for point in active]
    rows = np.array([point.row for point in active])
    tails = _tails(points.at(rows), goals, CHERNOFF_FACTORS)
    # The best factor may lie further out.
    far = [i for i, (_, is_inside) in enumerate(tails) if not is_inside]
    if far:
        more = _tails(points.at(rows[far]), [goals[i] for i in far], MANY_CHERNOFF_FACTORS)
        for i, tail in zip(far, more, strict=True):
            tails[i] = tail
    return [
        None if above is None or below is None else Window.fitted(goal, above, below)
        for goal, ((above, below), _) in zip(goals, tails, strict=True)
    ]


def _tails(
    points: Points, goals: list[Goal], factors: FloatArray
) -> list[tuple[list[Chernoff | None], bool]]:
    """Chernoff's bounds of X above and below, and whether no factor is the first or the last."""
    centre, eta = (
        np.array([getattr(goal, name) for goal in goals])[:, None, None]
        for name in ("centre", "eta")
    )
    theta, k_theta, n = (x[:, None, None] for x in (points.theta, points.log_mgf, points.n))
    # Estimates of K choose a factor for each side; bounds of K there make the bounds.
    u = centre * factors
    at = theta + np.array([[1.0], [-1.0]]) * u
    with np.errstate(all="ignore"):
        growth = np.expm1(at[..., None] * points.law.values[:, None, None, :]) @ points.law.masses
        normal = (at - theta) * theta * eta**2 + 0.5 * (u * eta) ** 2
        log_tail = np.array([goal.log_tail for goal in goals])[:, None, None]
        reach = (n * (np.log1p(growth) - k_theta) + normal - log_tail) / u
        best = np.argmin(np.where(np.isfinite(reach), reach, np.inf), axis=-1)
    is_inside = ((best > 0) & (best < factors.size - 1)).all(axis=-1)
    # K is evaluated at the floats θ ± u, without error; u is their distance from θ.
    at = np.take_along_axis(at, best[..., None], axis=-1)[..., 0]
    u = at - points.theta[:, None]
    log_moments = _log_moments(points, at, u, eta[..., 0])
    is_inside &= np.isfinite(log_moments).all(axis=-1)
    pairs = np.stack([np.abs(u), log_moments], axis=-1).tolist()
    return [
        ([_chernoff(*side) for side in pair], bool(inside))
        for pair, inside in zip(pairs, is_inside, strict=True)
    ]


def _chernoff(u: float, log_moment: float) -> Chernoff | None:
    """The bound; None where it overflows, or where θ is so large that θ + u is θ."""
    return Chernoff(u, log_moment) if u > 0.0 and math.isfinite(log_moment) else None


def _log_moments(points: Points, at: FloatArray, u: FloatArray, eta: FloatArray) -> FloatArray:
    """Upper bounds of log E_Q e^{uX} for θ + u = `at`, shape (P, 2)."""
    columns = (points.theta, points.log_mgf, points.log_mgf_err, points.n)
    theta, k_theta, k_theta_err, n = (x[:, None] for x in columns)
    k, k_err = log_mgf(points.law, at)
    with np.errstate(over="ignore", invalid="ignore"):
        normal = u * theta * eta**2 + 0.5 * (u * eta) ** 2
        rounding = 8.0 * U * (n * (np.abs(k) + np.abs(k_theta)) + np.abs(normal))
        return n * (k - k_theta) + normal + n * (k_err + k_theta_err) + rounding


def unscaled(log_low: float, log_high: float, exponent: int) -> tuple[float, float]:
    """Logarithms of both ends times 2^exponent."""
    scale = exponent * math.log(2.0)
    # Of these sums, and of subtracting log n, which is at most 35.
    low_err, high_err = (
        8.0 * U * (40.0 + abs(scale) + abs(end)) if math.isfinite(end) else 0.0
        for end in (log_low, log_high)
    )
    return log_low + scale - low_err, log_high + scale + high_err
