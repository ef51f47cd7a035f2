"""The Fourier engine at several points of one decomposition at once, as rows of arrays.

Arrays have shape (P,), P points, or (P, J), J components with c > 0.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import WorkError, spend
from shufflebounds.divergence.engine import (
    bounds_of_parts,
    combine_bounds,
    excess,
    log_bounds,
    trivial_bounds,
)
from shufflebounds.divergence.estimates import tilting_points
from shufflebounds.divergence.fourier import (
    ModeSums,
    Terms,
    idle_mass,
    mean_bounds,
    multiply_ends,
    rescale_ends,
    shrink_factor,
)
from shufflebounds.divergence.law import (
    Law,
    Tilted,
    U,
    away_from_one,
    laws,
    log,
    log_mgfs,
    tilted,
    tilted_moments,
)
from shufflebounds.divergence.window import (
    CHERNOFF_FACTORS,
    Chernoff,
    Goal,
    Scan,
    Window,
    consecutive,
    fitted,
    log_moments,
    stretches,
)

Indices = NDArray[np.int64]

# Numbers held in memory at once: what a cache holds.
BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class Stack:
    """Tilted laws of several points; the fields of `Tilted`.

    ``values``, ``weights`` and their errors are 0 where they are not used, ``law`` has them all.
    ``eta`` is the standard deviation of the smoothing, ``rtol`` the relative width to aim at.
    """

    law: Law
    n: FloatArray
    rtol: FloatArray
    eta: FloatArray
    theta: FloatArray
    log_mgf: FloatArray
    log_mgf_err: FloatArray
    values: FloatArray
    value_err: FloatArray
    weights: FloatArray
    weight_err: FloatArray
    left_out: FloatArray
    mean: FloatArray
    variance: FloatArray

    @staticmethod
    def tilted(g: Law, n: FloatArray, rtol: FloatArray) -> Stack:
        """Laws at their tilting points, and an η to begin with."""
        theta = tilting_points(g, n)
        found = tilted(g, theta)
        known = (g.values, g.value_err, found.weights, found.weight_err)
        values, value_err, weights, weight_err = (np.where(found.used, x, 0.0) for x in known)
        # Finer than round-off allows would only cost time.
        rtol = np.maximum(np.maximum(rtol, 4.0 * n * found.log_mgf_err), 1e-12)
        eta = np.sqrt(0.7 * rtol) / theta
        return Stack(
            law=g,
            n=n,
            rtol=rtol,
            eta=eta,
            theta=theta,
            log_mgf=found.log_mgf,
            log_mgf_err=found.log_mgf_err,
            values=values,
            value_err=value_err,
            weights=weights,
            weight_err=weight_err,
            left_out=found.left_out,
            mean=found.mean,
            variance=found.variance,
        )

    def usable(self) -> NDArray[np.bool_]:
        """Where round-off leaves something."""
        used = (self.n * self.log_mgf_err < 1.0) & (self.left_out < 1.0) & (self.variance > 0.0)
        # Far from where their powers leave the range of floats.
        used &= (self.theta > 1e-60) & (self.theta < 1e60)
        return used & (self.variance < 1e100)

    def at(self, rows: NDArray[np.bool_]) -> Stack:
        """The part for some of the points."""
        if rows.all():
            return self
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return Stack(law=laws_at(self.law, rows), **fields)

    def columns(self) -> Tilted:
        """What `log_moments` needs, to broadcast against two sides."""
        theta, k, err = (x[:, None] for x in (self.theta, self.log_mgf, self.log_mgf_err))
        rest: dict[str, Any] = {"used": None, "left_out": 0.0, "mean": 0.0, "variance": 0.0}
        return Tilted(theta, k, err, self.weights, self.weight_err, **rest)


def moments(stack: Stack) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`law.tilted_moments` of each point."""
    rows = stack.values, stack.value_err, stack.weights, stack.weight_err
    largest = np.abs(stack.law.values).max(axis=-1)
    return tilted_moments(*rows, stack.left_out, stack.mean, largest)


def laws_at(g: Law, rows: Indices | NDArray[np.bool_]) -> Law:
    """The laws of some of the points."""
    return replace(g, values=g.values[rows], value_err=g.value_err[rows], exponent=g.exponent[rows])


def blocks(size: int, cost: int) -> list[slice]:
    """Stretches of `size` items that take `cost` numbers each."""
    step = max(1, BLOCK // cost)
    return [slice(start, start + step) for start in range(0, size, step)]


# The Fourier series of several points at once, for `stacked`: `fourier.sum_series` on arrays.
#
# Frequencies of all points stand in one row, in the order of their ``owner``, the index of the
# point.


def stacked_sums(stack: Stack, scans: list[Scan], windows: list[Window]) -> list[ModeSums]:
    """The sums over the modes of each point, what is left out counted as error."""
    step, eta = np.array([window.step for window in windows]), stack.eta
    value_err, density_err = (
        np.array([getattr(scan, name) for scan in scans]) for name in ("value", "density")
    )
    modes, owner, skipped = _needed(stack, scans, windows, step)
    value_err, density_err = value_err + skipped[0], density_err + skipped[1]
    t = modes * step[owner]
    away, err = _characteristic(stack, owner, t)
    terms = Terms.of(away, err, stack.n[owner], stack.theta[owner], eta[owner], t)
    starts = np.searchsorted(owner, np.arange(len(scans)))
    value, slip = _segment_sums(terms.value, terms.value_err, starts)
    density, density_slip = _segment_sums(terms.density, terms.density_err, starts)
    columns = (value, value_err + slip, density, density_err + density_slip)
    return [ModeSums(*row) for row in zip(*(x.tolist() for x in columns), strict=True)]


def _segment_sums(
    terms: FloatArray, errs: FloatArray, starts: Indices
) -> tuple[FloatArray, FloatArray]:
    """Sums of the segments that begin at `starts`, and bounds of their errors."""
    count = np.diff(starts, append=terms.size)
    sums, sizes, err = (np.add.reduceat(x, starts) for x in (terms, np.abs(terms), errs))
    return sums, (err + count * U * sizes) * (1.0 + 1e-9)


def _needed(
    stack: Stack, scans: list[Scan], windows: list[Window], step: FloatArray
) -> tuple[FloatArray, Indices, tuple[FloatArray, FloatArray]]:
    """Modes to evaluate, their owners, and bounds of the value and density of those skipped."""
    near, start, stride = np.array([(scan.near, scan.start, scan.stride) for scan in scans]).T
    end = np.array([window.modes + 1 for window in windows])
    tail = np.where(stride == 1, end - start, 0)
    points = np.arange(near.size)
    starts, lengths, owners = [0 * near, start], [near, tail], [points, points]
    skipped = np.zeros(near.shape), np.zeros(near.shape)
    count = np.where(stride == 1, 0, -((start - end) // stride))
    if count.any():
        negligible = np.array([math.log(window.negligible) for window in windows])
        first = start[:, None] + stride[:, None] * np.arange(count.max() + 1)
        t = first * step[:, None]
        square = _square(stack, start * step, stride * step, t)
        _, high, _ = moments(stack)
        columns = (x[:, None] for x in (stride * step, high, stack.n, stack.eta))
        bounds = stretches(square, t, *columns)
        length = np.minimum(first[:, 1:], end[:, None]) - first[:, :-1]
        skip = bounds < negligible[:, None]
        inside = np.arange(count.max()) < count[:, None]
        each = 2.0 * length * np.exp(np.minimum(bounds, 0.0))
        each = np.where(skip & inside, each, 0.0)
        share = each / (stack.theta[:, None] ** 2 + t[:, :-1] ** 2)
        skipped = tuple(x.sum(axis=-1) * (1.0 + 1e-9) for x in (share, each))
        kept = inside & ~skip
        starts.append(first[:, :-1][kept])
        lengths.append(length[kept])
        owners.append(np.nonzero(kept)[0])
    begin, size, owner = (np.concatenate(x) for x in (starts, lengths, owners))
    order = np.argsort(owner, kind="stable")
    modes = consecutive(begin[order].astype(np.float64), size[order])
    return modes, np.repeat(owner[order], size[order]), skipped


def _square(stack: Stack, start: FloatArray, stride: FloatArray, t: FloatArray) -> FloatArray:
    """Upper bounds of |φ|² at the frequencies t = start + k · stride, shape (P, K).

    With k = iB + j, e^{itg} is e^{i(start + j stride)g} times e^{i(iB stride)g}, and φ for all i
    and j a product of matrices. Both frequencies are exact, and their sum is t.
    """
    g, w, err = stack.law, stack.weights, stack.weight_err
    width = math.isqrt(t.shape[1] - 1) + 1
    inner = start[:, None] + stride[:, None] * np.arange(width)
    outer = stride[:, None] * (width * np.arange(-(-t.shape[1] // width)))
    short, long = (_turns(x[..., None] * stack.values[:, None, :]) for x in (inner, outer))
    phi = (w[:, None, :] * long) @ short.swapaxes(1, 2)
    phi = phi.reshape(t.shape[0], -1)[:, : t.shape[1]] + (1.0 - w.sum(axis=-1))[:, None]
    # |ΔE| ≤ 6u of either factor, 4u for their product and w; weights count twice, as 1 − Σw.
    relative = np.vecdot(w, 2.0 * err + 32.0 * U + 4.0 * g.sum_err) + 8.0 * U
    relative += 2.0 * stack.left_out
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(stack.values) + stack.value_err)
    return (np.abs(phi) + relative[:, None] + t * absolute[:, None]) ** 2 + 8.0 * U


def _turns(y: FloatArray) -> NDArray[np.complex128]:
    """e^{iy}."""
    turns = np.empty(y.shape, dtype=np.complex128)
    turns.real, turns.imag = np.cos(y), np.sin(y)
    return turns


def _characteristic(
    stack: Stack, owner: Indices, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """`law.characteristic` at frequencies t of the points `owner`, both of shape (R,)."""
    g, w, err = stack.law, stack.weights, stack.weight_err
    relative = w * (err + 24.0 * U + g.sum_err)
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(stack.values) + stack.value_err)
    left_out = 2.0 * stack.left_out + 2.0**-1000
    spend(t.size * (100.0 + 15.0 * w.shape[-1]))
    away, away_err = np.empty(t.size, dtype=np.complex128), np.empty(t.size)
    for part in blocks(t.size, w.shape[-1]):
        of = owner[part]
        y = t[part, None] * stack.values[of]
        cosine, sine = away_from_one(y)
        away.real[part] = np.vecdot(cosine, w[of])
        away.imag[part] = np.vecdot(sine, w[of])
        size = np.minimum(np.abs(y), 2.0)
        away_err[part] = np.vecdot(size, relative[of]) + t[part] * absolute[of] + left_out[of]
    return away, away_err


# The Fourier engine at several points of one decomposition at once.
#
# The bounds are those of `fourier` (see there), with one row of each array a point, so that the
# cost of calling NumPy is shared. Sums run over rows or over segments, in another order than
# there; the errors of `law.Law.sum_err` hold for any order, and `fourier_rows` counts its own.
# Only what goes smoothly is done here: few passes, tails found at once, not too many modes.
# Elsewhere the bounds are the trivial ones, and the caller may turn to `fourier`.
#
# Arrays have shape (P,), P points, or (P, J), J components with c > 0.

# What is smooth enough: this decides speed only (benchmarks/arrays.py).
_MOST_POINTS, _PASSES = 128, 4
# Modes, and stretches of them, of a point; modes of points that are done together.
_MOST_MODES, _MOST_STRETCHES, _MODES_TOGETHER = 2**14, 2**14, 2**19


def stacked(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of D(ε), in this one direction, at the points (eps, n).

    Each aims at its relative width, and holds whether it reaches it or not. `n` are whole numbers.
    """
    cost = max(CHERNOFF_FACTORS.size * 2 * len(decomposition), BLOCK // _MOST_POINTS)
    # What overflows leaves bounds that say nothing.
    with np.errstate(all="ignore"):
        ends = [
            _stacked(decomposition, eps[part], n[part], rtol[part])
            for part in blocks(eps.size, cost)
        ]
    return np.concatenate([x for x, _ in ends]), np.concatenate([x for _, x in ends])


def _stacked(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    growth = np.array([[math.expm1(x)] for x in eps.tolist()])
    alone = decomposition.c == 0.0
    apart = excess(decomposition, growth, alone)
    low, high = trivial_bounds(decomposition, growth, n, ~alone)
    log_low, log_high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    wide = np.flatnonzero(high - low > rtol * high)
    if wide.size:
        with contextlib.suppress(OverflowError, WorkError):
            found = _row_bounds(laws(decomposition, eps[wide]), n[wide], rtol[wide])
            log_low[wide], log_high[wide] = found
    ends = [
        combine_bounds((a, b), (c, d), (e, f), users)
        for a, b, c, d, e, f, users in zip(
            *(x.tolist() for x in (*apart, low, high, log_low, log_high, n)), strict=True
        )
    ]
    lower, upper = np.array(ends).T
    return lower, upper


def _row_bounds(g: Law, n: FloatArray, rtol: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of log E[S₊] of each law; (−inf, inf) where `Stack.usable` finds an obstacle."""
    low, high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    rows = np.flatnonzero(np.isfinite(g.value_err).all(axis=-1) & (g.values.max(axis=-1) > 0.0))
    if not rows.size:
        return low, high
    stack = Stack.tilted(laws_at(g, rows), n[rows], rtol[rows])
    usable = stack.usable()
    rows, stack = rows[usable], stack.at(usable)
    for _ in range(_PASSES):
        usable, *ends, shrink = _pass(stack)
        rows, stack = rows[usable], stack.at(usable)
        low[rows], high[rows] = np.maximum(low[rows], ends[0]), np.minimum(high[rows], ends[1])
        # As in `fourier`: atoms near 0 ask for a smaller η, by as much as was measured.
        again = (high[rows] - low[rows] > stack.rtol) & (shrink < 1.0)
        rows, stack = rows[again], stack.at(again)
        if not rows.size:
            break
        stack = replace(stack, eta=stack.eta * shrink[again])
    return low, high


def _pass(stack: Stack) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, FloatArray]:
    """Which points could be dealt with; for these bounds of log E[S₊] and how much to shrink η."""
    found = _windows(stack) if stack.n.size else []
    usable = np.array([window is not None for window in found], dtype=np.bool_)
    spend(3e5 + 5e4 * usable.size)
    stack, windows = stack.at(usable), [window for window in found if window is not None]
    columns = [x.tolist() for x in (*moments(stack), stack.theta, stack.n)]
    scans = [Scan.of(*row) for row in zip(*columns, windows, strict=True)]
    light = np.array([_light(*pair) for pair in zip(scans, windows, strict=True)], dtype=np.bool_)
    usable[usable] = light
    if not light.any():
        return usable, *np.empty((3, 0))
    scans = list(itertools.compress(scans, light))
    windows = list(itertools.compress(windows, light))
    stack = stack.at(light)
    together = np.cumsum([window.modes for window in windows]) // _MODES_TOGETHER
    parts = []
    for number in np.unique(together):
        rows = together == number
        some = list(itertools.compress(scans, rows)), list(itertools.compress(windows, rows))
        parts.append(_series(stack.at(rows), *some))
    low, high, shrink = (np.concatenate(x) for x in zip(*parts, strict=True))
    return usable, low, high, shrink


def _windows(stack: Stack) -> list[Window | None]:
    """A window for each point, None for those that have none or none that is easily found."""
    aims = (stack.theta, stack.variance, stack.n, stack.eta, stack.rtol)
    goals = [Goal.of(*row) for row in zip(*(x.tolist() for x in aims), strict=True)]
    centre, log_tail = (
        np.array([getattr(goal, name) for goal in goals])[:, None, None]
        for name in ("centre", "log_tail")
    )
    # Above and below, the factor that reaches least far by estimates of K.
    columns = (stack.theta, stack.log_mgf, stack.n, stack.eta)
    theta, log_mgf, n, eta = (x[:, None, None] for x in columns)
    sides = np.array([[1.0], [-1.0]])
    point = theta + centre * (sides * CHERNOFF_FACTORS)
    u = np.abs(point - theta)
    growth = np.expm1(point[..., None] * stack.law.values[:, None, None, :]) @ stack.law.masses
    reach = n * (np.log1p(growth) - log_mgf) + u * eta**2 * (sides * theta + 0.5 * u) - log_tail
    reach = np.where(np.isfinite(reach) & (u > 0.0), reach / u, np.inf)
    best = np.argmin(reach, axis=-1)
    inner = ((best > 0) & (best < CHERNOFF_FACTORS.size - 1)).all(axis=-1)
    point, u = (np.take_along_axis(x, best[..., None], axis=-1)[..., 0] for x in (point, u))
    # As in `window`, u is what lies between the floats at which K is evaluated.
    log_moment = log_moments(
        *log_mgfs(stack.law, point), point, stack.columns(), stack.n[:, None], stack.eta[:, None]
    )
    inner &= np.isfinite(log_moment).all(axis=-1)
    return [
        fitted(goal, *(Chernoff(*pair) for pair in zip(*ends, strict=True))) if usable else None
        for goal, usable, *ends in zip(goals, inner, u.tolist(), log_moment.tolist(), strict=True)
    ]


def _light(scan: Scan, window: Window) -> bool:
    """Whether the point can share memory with others."""
    stretched = (window.modes - scan.start) // scan.stride if scan.stride > 1 else 0
    return window.modes <= _MOST_MODES and stretched <= _MOST_STRETCHES


def _series(
    stack: Stack, scans: list[Scan], windows: list[Window]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bounds of log E[S₊] from the modes of each point, and by what factor η should shrink."""
    g = stack.law
    all_sums = stacked_sums(stack, scans, windows)
    # One uncertainty holds for all masses here.
    moved = float(g.masses.sum()) * (1.0 + float(g.mass_err) + g.sum_err)
    lists = (stack.theta, stack.n, stack.log_mgf, stack.log_mgf_err, g.exponent, stack.rtol)
    rows = []
    for sums, window, theta, n, k, k_err, exponent, rtol in zip(
        all_sums, windows, *(x.tolist() for x in lists), strict=True
    ):
        if not all(map(math.isfinite, vars(sums).values())):
            rows.append((-math.inf, math.inf, 1.0))
            continue
        low, high, smoothing = mean_bounds(sums, theta, window, idle_mass(moved, k, k_err, n))
        factor = multiply_ends(low, high, n * k, n * k_err, theta * window.eta)
        ends = rescale_ends(max(-math.inf, factor[0]), min(math.inf, factor[1]), exponent)
        rows.append((*ends, shrink_factor(smoothing, rtol * high)))
    lows, highs, shrinks = np.array(rows).T
    return lows, highs, shrinks


# Logarithms of divergences that may be far too small for floats.

# Beyond so many components the points are better off one by one.
_MOST_COMPONENTS = 512
# What misses its aim by less is not computed again.
_ENOUGH = 2.0
# Floats below it are left to the logarithms.
_SMALLEST = 1e-290
# e^ε must stay a float.
_LARGEST_EPS = 690.0


def log_divergences(
    decomposition: Decomposition, eps: FloatArray, n: int, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of log D(ε) of (a, b, c), in this one direction, at ε ≥ 0.

    The bounds have the shape (P,) of `eps`; −inf where D is, or cannot be told from, 0. They aim
    at a distance of `rtol`, (P,) too, and hold whether they reach it or not.
    """
    within = np.minimum(eps, _LARGEST_EPS)
    low, high = np.full(eps.shape, -np.inf), np.zeros(eps.shape)
    wide = np.ones(eps.shape, dtype=np.bool_)
    if len(decomposition) <= _MOST_COMPONENTS:
        users = np.full(eps.shape, float(n))
        lower, upper = stacked(decomposition, within, users, rtol)
        with np.errstate(divide="ignore"):
            # A logarithm is off by an ulp, which is at most 2u times 700.
            low, high = np.log(lower) - 1500.0 * U, np.minimum(np.log(upper) + 1500.0 * U, 0.0)
        wide = (upper > 0.0) & ~((upper - lower <= _ENOUGH * rtol * upper) & (lower > _SMALLEST))
    for i in np.flatnonzero(wide):
        low[i], high[i] = log_divergence(decomposition, float(within[i]), n, float(rtol[i]))
    # D falls: what is known at one ε bounds it at others.
    low[eps > _LARGEST_EPS] = -np.inf
    return low, high


def log_divergence(
    decomposition: Decomposition, eps: float, n: int, rtol: float
) -> tuple[float, float]:
    """Bounds of log D(ε) at one ε, 0 ≤ ε ≤ 690; see `engine.enclose`, whose bounds they are."""
    apart, (low, high), ends = bounds_of_parts(decomposition, eps, n, rtol, log_bounds)
    each = (
        max(log(low), ends[0] - math.log(n)),
        min(log(high), ends[1] - math.log(n)),
    )
    sums = [
        float(np.logaddexp(log(part), end)) if end < math.inf else math.inf
        for part, end in zip(apart, each, strict=True)
    ]
    lower, upper = (
        end + side * 16.0 * U * (1.0 + abs(end)) if math.isfinite(end) else end
        for side, end in zip((-1.0, 1.0), sums, strict=True)
    )
    return (-math.inf if math.isnan(lower) else lower), (0.0 if math.isnan(upper) else upper)
