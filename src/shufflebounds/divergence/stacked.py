"""The Fourier engine at several points of one decomposition at once.

The bounds are those of `fourier` (see there), with one row of each array a point, so that the cost
of calling NumPy is shared. Sums run over rows or over segments, in another order than there; the
errors of `law.Law.sum_err` hold for any order, and `stacked_series` counts its own. Only what
goes smoothly is done here: few passes, tails found at once, not too many modes.
Elsewhere the bounds are the trivial ones, and the caller may turn to `fourier`.

Arrays have shape (P,), P points, or (P, J), J components with c > 0.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.enclosing import assembled, excess, trivial_bounds
from shufflebounds.divergence.fourier import shrinking, unscaled, with_factor
from shufflebounds.divergence.law import Law, laws, log_mgfs
from shufflebounds.divergence.modes import Plan
from shufflebounds.divergence.series import idle_mass, mean_bounds
from shufflebounds.divergence.stack import BLOCK, Stack, blocks, laws_at, moments
from shufflebounds.divergence.stacked_series import stacked_sums
from shufflebounds.divergence.window import (
    CHERNOFF_FACTORS,
    Chernoff,
    Goal,
    Window,
    fitted,
    log_moments,
)

_MOST_POINTS, _PASSES = 128, 4
# Modes, and stretches of them, of a point; modes of points that are done together.
_MOST_MODES, _MOST_STRETCHES, _MODES_TOGETHER = 2**15, 2**11, 2**19


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
        with contextlib.suppress(OverflowError):
            found = _log_bounds(laws(decomposition, eps[wide]), n[wide], rtol[wide])
            log_low[wide], log_high[wide] = found
    ends = [
        assembled((a, b), (c, d), (e, f), users)
        for a, b, c, d, e, f, users in zip(
            *(x.tolist() for x in (*apart, low, high, log_low, log_high, n)), strict=True
        )
    ]
    lower, upper = np.array(ends).T
    return lower, upper


def _log_bounds(g: Law, n: FloatArray, rtol: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of log E[S₊] of each law; (−inf, inf) where `Stack.smooth` finds an obstacle."""
    low, high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    rows = np.flatnonzero(np.isfinite(g.value_err).all(axis=-1) & (g.values.max(axis=-1) > 0.0))
    if not rows.size:
        return low, high
    stack = Stack.tilted(laws_at(g, rows), n[rows], rtol[rows])
    usable = stack.smooth()
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
    stack, windows = stack.at(usable), [window for window in found if window is not None]
    columns = [x.tolist() for x in (*moments(stack), stack.theta, stack.n)]
    plans = [Plan.of(*row) for row in zip(*columns, windows, strict=True)]
    light = np.array([_light(*pair) for pair in zip(plans, windows, strict=True)], dtype=np.bool_)
    usable[usable] = light
    if not light.any():
        return usable, *np.empty((3, 0))
    plans = list(itertools.compress(plans, light))
    windows = list(itertools.compress(windows, light))
    stack = stack.at(light)
    together = np.cumsum([window.modes for window in windows]) // _MODES_TOGETHER
    parts = []
    for number in np.unique(together):
        rows = together == number
        some = list(itertools.compress(plans, rows)), list(itertools.compress(windows, rows))
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


def _light(plan: Plan, window: Window) -> bool:
    """Whether the point can share memory with others."""
    stretched = (window.modes - plan.start) // plan.stride if plan.stride > 1 else 0
    return window.modes <= _MOST_MODES and stretched <= _MOST_STRETCHES


def _series(
    stack: Stack, plans: list[Plan], windows: list[Window]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bounds of log E[S₊] from the modes of each point, and by what factor η should shrink."""
    g = stack.law
    all_sums = stacked_sums(stack, plans, windows)
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
        factor = with_factor(low, high, n * k, n * k_err, theta * window.eta)
        ends = unscaled(max(-math.inf, factor[0]), min(math.inf, factor[1]), exponent)
        rows.append((*ends, shrinking(smoothing, rtol * high)))
    lows, highs, shrinks = np.array(rows).T
    return lows, highs, shrinks
