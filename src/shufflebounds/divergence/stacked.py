"""The certified engine at several points of one decomposition at once.

The bounds are those of `saddle` (see there), with one row of each array a point, so that the cost
of calling NumPy is shared. Sums run over rows or over segments, in another order than there; the
errors of `law.Law.sum_err` hold for any order, and `_segment_sums` counts its own. Only what
goes smoothly is done here: one pass, all weights used, tails found at once, no more modes than
`_MOST`. Elsewhere the bounds are the trivial ones, and the caller may turn to `saddle`.

Arrays have shape (P,), P points, or (P, J), J components with c > 0. Frequencies of all points
stand in one row, in the order of their ``owner``, the index of the point.
"""

from __future__ import annotations

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

# Rows times components held in memory at once: what a cache holds.
_BLOCK = 2**16
# Modes and stretches of a point.
_MOST = 2**12


def stacked(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of D(ε), in this one direction, at the points (eps, n).

    Each aims at its relative width, and holds whether it reaches it or not. `n` are whole numbers.
    """
    ends = [
        _stacked(decomposition, eps[part], n[part], rtol[part])
        for part in _blocks(eps.size, CHERNOFF_FACTORS.size * 2 * len(decomposition))
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
        g = laws(decomposition, eps[wide])
        log_low[wide], log_high[wide] = _log_bounds(g, n[wide], rtol[wide])
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
    light = np.array([_modes_at_most(*pair) <= _MOST for pair in zip(plans, windows, strict=True)])
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
        with np.errstate(all="ignore"):
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
        return used & (self.theta > 1e-100) & (self.theta < 1e100)

    def at(self, rows: NDArray[np.bool_]) -> _Stack:
        if rows.all():
            return self
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return _Stack(law=_laws_at(self.law, rows), **fields)

    def columns(self) -> Tilted:
        """What `log_moments` needs, to broadcast against sides and factors."""
        theta, k, err = (x[:, None, None] for x in (self.theta, self.log_mgf, self.log_mgf_err))
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
    theta = stack.theta[:, None, None]
    offset = np.stack([CHERNOFF_FACTORS, -CHERNOFF_FACTORS])
    # As in `window`: u is what lies between the floats at which K is evaluated.
    point = theta + centre[:, None, None] * offset
    u = np.abs(point - theta)
    flat = point.reshape(len(goals), -1)
    k, k_err = (x.reshape(point.shape) for x in log_mgfs(stack.law, flat))
    columns = (stack.n[:, None, None], eta[:, None, None])
    log_moment = log_moments(k, k_err, point, stack.columns(), *columns)
    usable = np.isfinite(log_moment) & (u > 0.0)
    reach = np.where(usable, log_moment - log_tail[:, None, None], np.inf)
    reach /= np.where(usable, u, 1.0)
    best = np.argmin(reach, axis=-1)[..., None]
    inner = (best > 0) & (best < CHERNOFF_FACTORS.size - 1)
    inner &= np.isfinite(np.take_along_axis(reach, best, axis=-1))
    bounds = [np.take_along_axis(x, best, axis=-1)[..., 0].tolist() for x in (u, log_moment)]
    windows = [
        fitted(goal, *(Chernoff(*pair) for pair in zip(*sides, strict=True))) if usable else None
        for goal, usable, *sides in zip(goals, inner.all(axis=(1, 2)), *bounds, strict=True)
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


def _modes_at_most(plan: Plan, window: Window) -> int:
    """Modes and ends of stretches, at least; the stretches that are kept come on top."""
    return plan.near + (window.modes - plan.start) // plan.stride + 2


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
    points = np.arange(len(plans))
    near = np.array([plan.near for plan in plans])
    tail = np.array(
        [
            (plan.start, window.modes + 1 - plan.start if plan.stride == 1 else 0)
            for plan, window in zip(plans, windows, strict=True)
        ]
    )
    starts, lengths = [0.0 * near, tail[:, 0].astype(float)], [near, tail[:, 1]]
    owners = [points, points]
    skipped = np.zeros(near.shape), np.zeros(near.shape)
    edges = [
        plan.edges(window) if plan.stride > 1 else np.empty(0)
        for plan, window in zip(plans, windows, strict=True)
    ]
    of = np.repeat(points, [x.size for x in edges])
    if of.size:
        first = np.concatenate(edges)
        t = first * step[of]
        away, err = _characteristic(stack, of, t)
        square = (np.abs(1.0 + away) + err) ** 2 + 8.0 * U
        # Between the points of different owners there is no stretch.
        inside = of[1:] == of[:-1]
        of, count = of[:-1], np.where(inside, np.diff(first), 0.0)
        width = np.zeros(near.shape)
        np.maximum.at(width, of, count)
        _, high, _ = _moments(stack)
        bounds = stretches(square, t, (width * step)[of], high[of], stack.n[of], eta[of])
        negligible = np.array([math.log(window.negligible) for window in windows])
        skip = bounds < negligible[of]
        with np.errstate(under="ignore"):
            each = np.where(skip, 2.0 * count * np.exp(np.minimum(bounds, 0.0)), 0.0)
        share = each / (stack.theta[of] ** 2 + t[:-1] ** 2)
        skipped = tuple(np.bincount(of, x, near.size) * (1.0 + 1e-9) for x in (share, each))
        kept = inside & ~skip
        starts.append(first[:-1][kept])
        lengths.append(count[kept].astype(np.int64))
        owners.append(of[kept])
    starts, lengths, owners = (np.concatenate(x) for x in (starts, lengths, owners))
    order = np.argsort(owners, kind="stable")
    return (
        runs(starts[order], lengths[order]),
        np.repeat(owners[order], lengths[order]),
        skipped,
    )


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
