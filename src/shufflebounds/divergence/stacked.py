"""The certified engine at several points of one decomposition at once.

The bounds are those of `saddle` (see there), with one row of each array a point, so that the cost
of calling NumPy is shared. Sums run over rows or over segments, in another order than there; the
errors of `law.Law.sum_err` hold for any order, and `_segment_sums` counts its own. Only what
goes smoothly is done here: one pass, all weights used, tails found at once, not too many modes.
Elsewhere the bounds are the trivial ones, and the caller may turn to `saddle`.

Arrays have shape (P,), P points, or (P, J), J components with c > 0. Frequencies of all points
stand in one row, in the order of their ``owner``, the index of the point.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.estimates import tilting_points
from shufflebounds.divergence.law import Law, Tilted, U, laws, log_mgfs
from shufflebounds.divergence.saddle import assembled, excess, trivial_bounds, unscaled, with_factor
from shufflebounds.divergence.series import (
    ModeSums,
    Plan,
    Terms,
    idle_mass,
    mean_bounds,
    runs,
    stretches,
)
from shufflebounds.divergence.window import (
    CHERNOFF_FACTORS,
    Chernoff,
    Goal,
    Window,
    fitted,
    log_moments,
)

Indices = NDArray[np.int64]

# Rows times components held in memory at once: what a cache holds. And points.
_BLOCK, _MOST_POINTS = 2**16, 128
# Modes, and stretches of them, of a point.
_MOST_MODES, _MOST_STRETCHES = 2**13, 2**11


def stacked(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of D(ε), in this one direction, at the points (eps, n).

    Each aims at its relative width, and holds whether it reaches it or not. `n` are whole numbers.
    """
    cost = max(CHERNOFF_FACTORS.size * 2 * len(decomposition), _BLOCK // _MOST_POINTS)
    # What overflows leaves bounds that say nothing.
    with np.errstate(all="ignore"):
        ends = [
            _stacked(decomposition, eps[part], n[part], rtol[part])
            for part in _blocks(eps.size, cost)
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
        with contextlib.suppress(OverflowError):
            found = _log_bounds(laws(decomposition, eps[wide]), n[wide], rtol[wide])
            log_low[wide], log_high[wide] = found
    ends = [
        assembled((a, b), (c, d), (e, f), users)
        for a, b, c, d, e, f, users in zip(
            *(x.tolist() for x in (*apart, low, high, log_low, log_high, n)), strict=True
        )
    ]
    return tuple(np.array(ends).T)


def _log_bounds(g: Law, n: FloatArray, rtol: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of log E[S₊] of each law; (−inf, inf) where `_Stack.smooth` finds an obstacle."""
    low, high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    rows = np.isfinite(g.value_err).all(axis=-1) & (g.values.max(axis=-1) > 0.0)
    rows = np.flatnonzero(rows)
    if not rows.size:
        return low, high
    stack = _Stack.tilted(_laws_at(g, rows), n[rows], rtol[rows])
    smooth = stack.smooth()
    rows, stack = rows[smooth], stack.at(smooth)
    if not rows.size:
        return low, high
    stack, windows, kept = _windows(stack)
    rows = rows[kept]
    if not rows.size:
        return low, high
    plans = [
        Plan.of(*moments, theta, users, window)
        for *moments, theta, users, window in zip(
            *(x.tolist() for x in (*_moments(stack), stack.theta, stack.n)), windows, strict=True
        )
    ]
    light = np.array([_light(*pair) for pair in zip(plans, windows, strict=True)])
    rows, stack = rows[light], stack.at(light)
    plans, windows = (list(itertools.compress(x, light)) for x in (plans, windows))
    if rows.size:
        low[rows], high[rows] = _series(stack, plans, windows)
    return low, high


def _blocks(size: int, cost: int) -> list[slice]:
    """Stretches of `size` items that take `cost` numbers each."""
    step = max(1, _BLOCK // cost)
    return [slice(start, start + step) for start in range(0, size, step)]


def _laws_at(g: Law, rows: Indices | NDArray[np.bool_]) -> Law:
    return replace(g, values=g.values[rows], value_err=g.value_err[rows], exponent=g.exponent[rows])


@dataclass(frozen=True, eq=False)
class _Stack:
    """Tilted laws of several points; the fields of `Tilted` without what is left out there."""

    law: Law
    n: FloatArray
    rtol: FloatArray
    theta: FloatArray
    log_mgf: FloatArray
    log_mgf_err: FloatArray
    weights: FloatArray
    weight_err: FloatArray
    mean: FloatArray
    variance: FloatArray

    @staticmethod
    def tilted(g: Law, n: FloatArray, rtol: FloatArray) -> _Stack:
        theta = tilting_points(g, n)
        k, err = (x[:, 0] for x in log_mgfs(g, theta[:, None]))
        exponent = theta[:, None] * g.values
        # In two halves, since p may be as small as e^exponent is large.
        half = np.exp(0.5 * (exponent - k[:, None]))
        weights = g.masses * half * half
        slip = 1.01 * g.mass_err + 14.0 * U
        slip = slip + 2.0 * U * (np.abs(exponent) + np.abs(k)[:, None])
        slip = slip + err[:, None] + theta[:, None] * g.value_err
        mean = np.vecdot(weights, g.values)
        variance = np.vecdot(weights, (g.values - mean[:, None]) ** 2)
        variance += np.maximum(0.0, 1.0 - weights.sum(axis=-1)) * mean**2
        # Finer than round-off allows would only cost time.
        rtol = np.maximum(np.maximum(rtol, 4.0 * n * err), 1e-12)
        return _Stack(g, n, rtol, theta, k, err, weights, np.expm1(slip), mean, variance)

    def smooth(self) -> NDArray[np.bool_]:
        """Where all weights can be computed with, and round-off leaves something."""
        used = ((self.weights > 1e-290) & (self.weight_err < 1.0)).all(axis=-1)
        used &= (self.n * self.log_mgf_err < 1.0) & (self.variance > 0.0)
        # Far from where their powers leave the range of floats.
        used &= (self.theta > 1e-60) & (self.theta < 1e60)
        return used & (self.variance < 1e100)

    def at(self, rows: NDArray[np.bool_]) -> _Stack:
        if rows.all():
            return self
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return _Stack(law=_laws_at(self.law, rows), **fields)

    def columns(self) -> Tilted:
        """What `log_moments` needs, to broadcast against two sides."""
        theta, k, err = (x[:, None] for x in (self.theta, self.log_mgf, self.log_mgf_err))
        return Tilted(theta, k, err, *(self.weights, self.weight_err), None, 0.0, 0.0, 0.0)


def _windows(stack: _Stack) -> tuple[_Stack, list[Window], NDArray[np.bool_]]:
    """A window for each point, the points that have one, and which of the given they are."""
    eta = np.sqrt(0.7 * stack.rtol) / stack.theta
    goals = [
        Goal.of(*row)
        for row in zip(
            *(x.tolist() for x in (stack.theta, stack.variance, stack.n, eta, stack.rtol)),
            strict=True,
        )
    ]
    centre, log_tail = (
        np.array([getattr(goal, name) for goal in goals]) for name in ("centre", "log_tail")
    )
    # Above and below, the factor that reaches least far by estimates of K.
    masses, n, eta2 = stack.law.masses, stack.n[:, None, None], (eta**2)[:, None, None]
    sides, theta = np.array([[1.0], [-1.0]]), stack.theta[:, None, None]
    point = theta + centre[:, None, None] * (sides * CHERNOFF_FACTORS)
    u = np.abs(point - theta)
    k = np.log1p(np.expm1(point[..., None] * stack.law.values[:, None, None, :]) @ masses)
    normal = u * (sides * (stack.theta * eta**2)[:, None, None] + 0.5 * u * eta2)
    growth = n * (k - stack.log_mgf[:, None, None]) + normal
    reach = np.where(u > 0.0, (growth - log_tail[:, None, None]) / u, np.nan)
    reach = np.where(np.isfinite(reach), reach, np.inf)
    best = np.argmin(reach, axis=-1)
    inner = ((best > 0) & (best < CHERNOFF_FACTORS.size - 1)).all(axis=-1)
    point, u = (np.take_along_axis(x, best[..., None], axis=-1)[..., 0] for x in (point, u))
    # As in `window`, u is what lies between the floats at which K is evaluated.
    log_moment = log_moments(
        *log_mgfs(stack.law, point), point, stack.columns(), stack.n[:, None], eta[:, None]
    )
    inner &= np.isfinite(log_moment).all(axis=-1)
    windows = [
        fitted(goal, *(Chernoff(*pair) for pair in zip(*ends, strict=True))) if usable else None
        for goal, usable, *ends in zip(goals, inner, u.tolist(), log_moment.tolist(), strict=True)
    ]
    kept = np.array([window is not None for window in windows])
    return stack.at(kept), [window for window in windows if window is not None], kept


def _moments(stack: _Stack) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`series._tilted_moments` where no weight is left out."""
    g, w, err = stack.law, stack.weights, stack.weight_err
    mean = np.abs(stack.mean)
    h = g.values - stack.mean[:, None]
    off = g.value_err + 4.0 * U * (np.abs(g.values) + mean[:, None])
    at_zero = np.maximum(0.0, 1.0 - w.sum(axis=-1))
    zero_err = np.vecdot(w, err) + 8.0 * U
    distance = np.vecdot(w, err * np.abs(g.values) + (1.0 + err) * off) + 8.0 * U * mean
    variance = np.vecdot(w, h**2) + at_zero * mean**2
    slip = np.vecdot(w, err * h**2 + (1.0 + err) * (2.0 * np.abs(h) + off) * off)
    slip += zero_err * mean**2 + distance**2 + 1e-9 * variance
    reach = np.abs(h) + off + distance[:, None]
    fourth = np.vecdot((1.0 + err) * w, reach**4) + (at_zero + zero_err) * (mean + distance) ** 4
    return variance - slip, variance + slip, fourth * (1.0 + 1e-9)


def _light(plan: Plan, window: Window) -> bool:
    """Whether the point can share memory with others."""
    stretched = (window.modes - plan.start) // plan.stride if plan.stride > 1 else 0
    return window.modes <= _MOST_MODES and stretched <= _MOST_STRETCHES


def _series(
    stack: _Stack, plans: list[Plan], windows: list[Window]
) -> tuple[FloatArray, FloatArray]:
    """Bounds of log E[S₊] from the modes of each point."""
    g = stack.law
    all_sums = _mode_sums(stack, plans, windows)
    moved = float(g.masses.sum()) * (1.0 + g.mass_err + g.sum_err)
    lists = (stack.theta, stack.n, stack.log_mgf, stack.log_mgf_err, g.exponent)
    ends = []
    for sums, window, theta, n, k, k_err, exponent in zip(
        all_sums, windows, *(x.tolist() for x in lists), strict=True
    ):
        if not all(map(math.isfinite, vars(sums).values())):
            ends.append((-math.inf, math.inf))
            continue
        low, high, _ = mean_bounds(sums, theta, window, idle_mass(moved, k, k_err, n))
        factor = with_factor(low, high, n * k, n * k_err, theta * window.eta)
        ends.append(unscaled(max(-math.inf, factor[0]), min(math.inf, factor[1]), exponent))
    low, high = np.array(ends).T
    return low, high


def _mode_sums(stack: _Stack, plans: list[Plan], windows: list[Window]) -> list[ModeSums]:
    """The sums over the modes of each point, what is left out counted as error."""
    step, eta = (np.array([getattr(w, name) for w in windows]) for name in ("step", "eta"))
    value_err, density_err = (
        np.array([getattr(plan, name) for plan in plans]) for name in ("value", "density")
    )
    modes, owner, skipped = _needed(stack, plans, windows, step, eta)
    value_err, density_err = value_err + skipped[0], density_err + skipped[1]
    t = modes * step[owner]
    away, err = _characteristic(stack, owner, t)
    terms = Terms.of(away, err, stack.n[owner], stack.theta[owner], eta[owner], t)
    starts = np.searchsorted(owner, np.arange(len(plans)))
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
    stack: _Stack, plans: list[Plan], windows: list[Window], step: FloatArray, eta: FloatArray
) -> tuple[FloatArray, Indices, tuple[FloatArray, FloatArray]]:
    """Modes to evaluate, their owners, and bounds of the value and density of those skipped."""
    near, start, stride = np.array([(plan.near, plan.start, plan.stride) for plan in plans]).T
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
        _, high, _ = _moments(stack)
        columns = (x[:, None] for x in (stride * step, high, stack.n, eta))
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
    starts, lengths, owners = (np.concatenate(x) for x in (starts, lengths, owners))
    order = np.argsort(owners, kind="stable")
    modes = runs(starts[order].astype(np.float64), lengths[order])
    return modes, np.repeat(owners[order], lengths[order]), skipped


def _square(stack: _Stack, start: FloatArray, stride: FloatArray, t: FloatArray) -> FloatArray:
    """Upper bounds of |φ|² at the frequencies t = start + k · stride, shape (P, K).

    With k = iB + j, e^{itg} is e^{i(start + j stride)g} times e^{i(iB stride)g}, and φ for all i
    and j a product of matrices. Both frequencies are exact, and their sum is t.
    """
    g, w, err = stack.law, stack.weights, stack.weight_err
    width = math.isqrt(t.shape[1] - 1) + 1
    inner = start[:, None] + stride[:, None] * np.arange(width)
    outer = stride[:, None] * (width * np.arange(-(-t.shape[1] // width)))
    short, long = (_turns(x[..., None] * g.values[:, None, :]) for x in (inner, outer))
    phi = (w[:, None, :] * long) @ short.swapaxes(1, 2)
    phi = phi.reshape(t.shape[0], -1)[:, : t.shape[1]] + (1.0 - w.sum(axis=-1))[:, None]
    # |ΔE| ≤ 6u of either factor, 4u for their product and w; weights count twice, as 1 − Σw.
    relative = np.vecdot(w, 2.0 * err + 32.0 * U + 4.0 * g.sum_err) + 8.0 * U
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(g.values) + g.value_err)
    return (np.abs(phi) + relative[:, None] + t * absolute[:, None]) ** 2 + 8.0 * U


def _turns(y: FloatArray) -> NDArray[np.complex128]:
    """e^{iy}."""
    turns = np.empty(y.shape, dtype=np.complex128)
    turns.real, turns.imag = np.cos(y), np.sin(y)
    return turns


def _characteristic(
    stack: _Stack, owner: Indices, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """`law.characteristic` at frequencies t of the points `owner`, both of shape (R,)."""
    g, w, err = stack.law, stack.weights, stack.weight_err
    relative = w * (err + 20.0 * U + g.sum_err)
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(g.values) + g.value_err)
    away, away_err = np.empty(t.size, dtype=np.complex128), np.empty(t.size)
    for part in _blocks(t.size, w.shape[-1]):
        of = owner[part]
        y = t[part, None] * g.values[of]
        half = np.sin(0.5 * y)
        away.real[part] = -2.0 * np.vecdot(half * half, w[of])
        away.imag[part] = np.vecdot(np.sin(y), w[of])
        size = np.minimum(np.abs(y), 2.0)
        away_err[part] = np.vecdot(size, relative[of]) + t[part] * absolute[of] + 2.0**-1000
    return away, away_err
