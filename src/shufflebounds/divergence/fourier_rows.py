"""The Fourier engine at several points of one decomposition at once, as rows of arrays.

The bounds are those of `fourier` (see there). Each point is one row of each array, so that the
points share the cost of calling NumPy. Sums run over rows or over segments, in another order than
in `fourier`; the errors of `law.Law.sum_err` hold for any order, and this module counts its own.
Only easy points are done here: those with few passes, a window that is quickly found, and not too
many modes. The others get trivial bounds, and the caller may turn to `fourier`.

Arrays have shape (P,), P points, or (P, J), J components with c > 0. Frequencies of all points
stand in one row, in the order of their ``owner``, the index of the point.
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
    fit_window,
    log_moments,
    stretch_bounds,
)

Indices = NDArray[np.int64]

# Largest number of floats in one array, so that a block stays in the cache. This and the numbers
# below decide speed only (benchmarks/arrays.py).
BLOCK = 2**16
# Largest number of points that are handled together.
_MAX_POINTS = 128
# Largest number of windows that are tried for one point.
_MAX_PASSES = 4
# Largest number of modes of one point.
_MAX_MODES = 2**14
# Largest number of stretches of modes of one point.
_MAX_STRETCHES = 2**14
# Number of modes of several points that are evaluated together.
_MODES_PER_BATCH = 2**19
# Largest number of components for which points are evaluated together.
_MAX_COMPONENTS = 512
# A point whose width exceeds its aim by at most this factor is not computed again.
_WIDTH_TOLERANCE = 2.0
# Smallest lower bound that `stacked` computes as a float; below it, `log_divergence` takes over.
_SMALLEST_FLOAT = 1e-290
# Largest ε, so that e^ε stays a float.
_LARGEST_EPS = 690.0


@dataclass(frozen=True, eq=False)
class Stack:
    """Tilted laws of several points, with the fields of `Tilted`.

    ``values``, ``weights`` and their errors are 0 where they are not used; ``law`` has all values.
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
        """Return the laws at their tilting points, with the first η to try."""
        theta = tilting_points(g, n)
        laws_at_tilt = tilted(g, theta)
        arrays = (g.values, g.value_err, laws_at_tilt.weights, laws_at_tilt.weight_err)
        values, value_err, weights, weight_err = (
            np.where(laws_at_tilt.used, x, 0.0) for x in arrays
        )
        # A width that round-off prevents would only cost time.
        rtol = np.maximum(np.maximum(rtol, 4.0 * n * laws_at_tilt.log_mgf_err), 1e-12)
        eta = np.sqrt(0.7 * rtol) / theta
        return Stack(
            law=g,
            n=n,
            rtol=rtol,
            eta=eta,
            theta=theta,
            log_mgf=laws_at_tilt.log_mgf,
            log_mgf_err=laws_at_tilt.log_mgf_err,
            values=values,
            value_err=value_err,
            weights=weights,
            weight_err=weight_err,
            left_out=laws_at_tilt.left_out,
            mean=laws_at_tilt.mean,
            variance=laws_at_tilt.variance,
        )

    def usable(self) -> NDArray[np.bool_]:
        """Return which points round-off leaves bounds for."""
        in_range = (self.n * self.log_mgf_err < 1.0) & (self.left_out < 1.0) & (self.variance > 0.0)
        # Powers of θ and of the variance must stay in the range of floats.
        in_range &= (self.theta > 1e-60) & (self.theta < 1e60)
        return in_range & (self.variance < 1e100)

    def at(self, rows: NDArray[np.bool_]) -> Stack:
        """Return the part for the points marked True."""
        if rows.all():
            return self
        fields = {name: x[rows] for name, x in vars(self).items() if name != "law"}
        return Stack(law=laws_at(self.law, rows), **fields)

    def columns(self) -> Tilted:
        """Return the fields that `log_moments` needs, as columns to broadcast against two sides."""
        theta, k, err = (x[:, None] for x in (self.theta, self.log_mgf, self.log_mgf_err))
        unused: dict[str, Any] = {"used": None, "left_out": 0.0, "mean": 0.0, "variance": 0.0}
        return Tilted(theta, k, err, self.weights, self.weight_err, **unused)


def moments(stack: Stack) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `law.tilted_moments` of each point."""
    rows = stack.values, stack.value_err, stack.weights, stack.weight_err
    largest = np.abs(stack.law.values).max(axis=-1)
    return tilted_moments(*rows, stack.left_out, stack.mean, largest)


def laws_at(g: Law, rows: Indices | NDArray[np.bool_]) -> Law:
    """Return the laws of the points in `rows`."""
    return replace(g, values=g.values[rows], value_err=g.value_err[rows], exponent=g.exponent[rows])


def blocks(size: int, cost: int) -> list[slice]:
    """Return slices of `size` items, which take `cost` floats each, that fit into `BLOCK`."""
    step = max(1, BLOCK // cost)
    return [slice(start, start + step) for start in range(0, size, step)]


def stacked_sums(stack: Stack, scans: list[Scan], windows: list[Window]) -> list[ModeSums]:
    """Return the sums over the modes of each point; modes that are left out count as error."""
    step, eta = np.array([window.step for window in windows]), stack.eta
    value_err, density_err = (
        np.array([getattr(scan, name) for scan in scans]) for name in ("value", "density")
    )
    modes, owner, skipped = _needed_modes(stack, scans, windows, step)
    value_err, density_err = value_err + skipped[0], density_err + skipped[1]
    t = modes * step[owner]
    away, err = _characteristic(stack, owner, t)
    terms = Terms.of(away, err, stack.n[owner], stack.theta[owner], eta[owner], t)
    starts = np.searchsorted(owner, np.arange(len(scans)))
    value, value_rounding = _segment_sums(terms.value, terms.value_err, starts)
    density, density_rounding = _segment_sums(terms.density, terms.density_err, starts)
    columns = (value, value_err + value_rounding, density, density_err + density_rounding)
    return [ModeSums(*row) for row in zip(*(x.tolist() for x in columns), strict=True)]


def _segment_sums(
    terms: FloatArray, errs: FloatArray, starts: Indices
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the segments that begin at `starts`, and bounds of their errors."""
    count = np.diff(starts, append=terms.size)
    sums, sizes, err = (np.add.reduceat(x, starts) for x in (terms, np.abs(terms), errs))
    return sums, (err + count * U * sizes) * (1.0 + 1e-9)


def _needed_modes(
    stack: Stack, scans: list[Scan], windows: list[Window], step: FloatArray
) -> tuple[FloatArray, Indices, tuple[FloatArray, FloatArray]]:
    """Return the modes to evaluate, their owners, and bounds of the terms of the skipped modes.

    The bounds are two arrays of shape (P,), for the value and for the density.
    """
    low_modes, start, stride = np.array(
        [(scan.low_modes, scan.start, scan.stride) for scan in scans]
    ).T
    end = np.array([window.modes + 1 for window in windows])
    tail = np.where(stride == 1, end - start, 0)
    points = np.arange(low_modes.size)
    starts, lengths, owners = [0 * low_modes, start], [low_modes, tail], [points, points]
    skipped = np.zeros(low_modes.shape), np.zeros(low_modes.shape)
    count = np.where(stride == 1, 0, -((start - end) // stride))
    if count.any():
        log_negligible = np.array([math.log(window.negligible) for window in windows])
        first = start[:, None] + stride[:, None] * np.arange(count.max() + 1)
        t = first * step[:, None]
        square = _square(stack, start * step, stride * step, t)
        _, high, _ = moments(stack)
        columns = (x[:, None] for x in (stride * step, high, stack.n, stack.eta))
        bounds = stretch_bounds(square, t, *columns)
        length = np.minimum(first[:, 1:], end[:, None]) - first[:, :-1]
        negligible_stretch = bounds < log_negligible[:, None]
        inside = np.arange(count.max()) < count[:, None]
        density = 2.0 * length * np.exp(np.minimum(bounds, 0.0))
        density = np.where(negligible_stretch & inside, density, 0.0)
        value = density / (stack.theta[:, None] ** 2 + t[:, :-1] ** 2)
        skipped = tuple(x.sum(axis=-1) * (1.0 + 1e-9) for x in (value, density))
        needed = inside & ~negligible_stretch
        starts.append(first[:, :-1][needed])
        lengths.append(length[needed])
        owners.append(np.nonzero(needed)[0])
    first_mode, mode_count, owner = (np.concatenate(x) for x in (starts, lengths, owners))
    order = np.argsort(owner, kind="stable")
    modes = consecutive(first_mode[order].astype(np.float64), mode_count[order])
    return modes, np.repeat(owner[order], mode_count[order]), skipped


def _square(stack: Stack, start: FloatArray, stride: FloatArray, t: FloatArray) -> FloatArray:
    """Return upper bounds of |φ|² at the frequencies t = start + k · stride, shape (P, K).

    With k = iB + j, e^{itg} is e^{i(start + j stride)g} times e^{i(iB stride)g}, so that φ for all
    i and j is a product of matrices. Both frequencies are exact, and their sum is t.
    """
    g, w, err = stack.law, stack.weights, stack.weight_err
    width = math.isqrt(t.shape[1] - 1) + 1
    inner = start[:, None] + stride[:, None] * np.arange(width)
    outer = stride[:, None] * (width * np.arange(-(-t.shape[1] // width)))
    short, long = (_unit_circle(x[..., None] * stack.values[:, None, :]) for x in (inner, outer))
    phi = (w[:, None, :] * long) @ short.swapaxes(1, 2)
    phi = phi.reshape(t.shape[0], -1)[:, : t.shape[1]] + (1.0 - w.sum(axis=-1))[:, None]
    # The error is 6u for either factor, and 4u for their product and w. The errors of the weights
    # count twice because 1 − Σw has them, too.
    relative = np.vecdot(w, 2.0 * err + 32.0 * U + 4.0 * g.sum_err) + 8.0 * U
    relative += 2.0 * stack.left_out
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(stack.values) + stack.value_err)
    return (np.abs(phi) + relative[:, None] + t * absolute[:, None]) ** 2 + 8.0 * U


def _unit_circle(y: FloatArray) -> NDArray[np.complex128]:
    """Return e^{iy}."""
    turns = np.empty(y.shape, dtype=np.complex128)
    turns.real, turns.imag = np.cos(y), np.sin(y)
    return turns


def _characteristic(
    stack: Stack, owner: Indices, t: FloatArray
) -> tuple[NDArray[np.complex128], FloatArray]:
    """Return `law.characteristic` at frequencies t of the points `owner`, both of shape (R,)."""
    g, w, err = stack.law, stack.weights, stack.weight_err
    relative = w * (err + 24.0 * U + g.sum_err)
    absolute = np.vecdot(w * (1.0 + err), 2.0 * U * np.abs(stack.values) + stack.value_err)
    left_out = 2.0 * stack.left_out + 2.0**-1000
    spend(t.size * (100.0 + 15.0 * w.shape[-1]))
    away, away_err = np.empty(t.size, dtype=np.complex128), np.empty(t.size)
    for part in blocks(t.size, w.shape[-1]):
        rows = owner[part]
        y = t[part, None] * stack.values[rows]
        cosine, sine = away_from_one(y)
        away.real[part] = np.vecdot(cosine, w[rows])
        away.imag[part] = np.vecdot(sine, w[rows])
        size = np.minimum(np.abs(y), 2.0)
        away_err[part] = np.vecdot(size, relative[rows]) + t[part] * absolute[rows] + left_out[rows]
    return away, away_err


def stacked(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of D(ε), in this one direction, at the points (eps, n).

    They aim at the relative widths `rtol`, and hold even if they miss them. `n` are whole numbers.
    """
    cost = max(CHERNOFF_FACTORS.size * 2 * len(decomposition), BLOCK // _MAX_POINTS)
    # After an overflow the bounds are trivial.
    with np.errstate(all="ignore"):
        ends = [
            _stacked(decomposition, eps[part], n[part], rtol[part])
            for part in blocks(eps.size, cost)
        ]
    return np.concatenate([x for x, _ in ends]), np.concatenate([x for _, x in ends])


def _stacked(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what `stacked` does, in one block."""
    growth = np.array([[math.expm1(x)] for x in eps.tolist()])
    unshared = decomposition.c == 0.0
    unshared_bounds = excess(decomposition, growth, unshared)
    low, high = trivial_bounds(decomposition, growth, n, ~unshared)
    log_low, log_high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    wide = np.flatnonzero(high - low > rtol * high)
    if wide.size:
        with contextlib.suppress(OverflowError, WorkError):
            log_ends = _row_bounds(laws(decomposition, eps[wide]), n[wide], rtol[wide])
            log_low[wide], log_high[wide] = log_ends
    ends = [
        combine_bounds((a, b), (c, d), (e, f), users)
        for a, b, c, d, e, f, users in zip(
            *(x.tolist() for x in (*unshared_bounds, low, high, log_low, log_high, n)), strict=True
        )
    ]
    lower, upper = np.array(ends).T
    return lower, upper


def _row_bounds(g: Law, n: FloatArray, rtol: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds of log E[S₊] of each law, which are (−inf, inf) for points not done here."""
    low, high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    rows = np.flatnonzero(np.isfinite(g.value_err).all(axis=-1) & (g.values.max(axis=-1) > 0.0))
    if not rows.size:
        return low, high
    stack = Stack.tilted(laws_at(g, rows), n[rows], rtol[rows])
    usable = stack.usable()
    rows, stack = rows[usable], stack.at(usable)
    for _ in range(_MAX_PASSES):
        usable, *ends, shrink = _pass(stack)
        rows, stack = rows[usable], stack.at(usable)
        low[rows], high[rows] = np.maximum(low[rows], ends[0]), np.minimum(high[rows], ends[1])
        # As in `fourier`, atoms near 0 need a smaller η, by the measured factor.
        unfinished = (high[rows] - low[rows] > stack.rtol) & (shrink < 1.0)
        rows, stack = rows[unfinished], stack.at(unfinished)
        if not rows.size:
            break
        stack = replace(stack, eta=stack.eta * shrink[unfinished])
    return low, high


def _pass(stack: Stack) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, FloatArray]:
    """Return which points are done, and for these bounds of log E[S₊] and the factor for η."""
    candidates = _windows(stack) if stack.n.size else []
    usable = np.array([window is not None for window in candidates], dtype=np.bool_)
    spend(3e5 + 5e4 * usable.size)
    stack, windows = stack.at(usable), [window for window in candidates if window is not None]
    columns = [x.tolist() for x in (*moments(stack), stack.theta, stack.n)]
    scans = [Scan.of(*row) for row in zip(*columns, windows, strict=True)]
    light = np.array(
        [_fits_in_batch(*pair) for pair in zip(scans, windows, strict=True)], dtype=np.bool_
    )
    usable[usable] = light
    if not light.any():
        return usable, *np.empty((3, 0))
    scans = list(itertools.compress(scans, light))
    windows = list(itertools.compress(windows, light))
    stack = stack.at(light)
    batch_of_row = np.cumsum([window.modes for window in windows]) // _MODES_PER_BATCH
    bounds = []
    for batch_number in np.unique(batch_of_row):
        rows = batch_of_row == batch_number
        scans_and_windows = (
            list(itertools.compress(scans, rows)),
            list(itertools.compress(windows, rows)),
        )
        bounds.append(_series(stack.at(rows), *scans_and_windows))
    low, high, shrink = (np.concatenate(x) for x in zip(*bounds, strict=True))
    return usable, low, high, shrink


def _windows(stack: Stack) -> list[Window | None]:
    """Return a window for each point, None where there is none or none is easily found."""
    columns_of_goals = (stack.theta, stack.variance, stack.n, stack.eta, stack.rtol)
    goals = [Goal.of(*row) for row in zip(*(x.tolist() for x in columns_of_goals), strict=True)]
    centre, log_tail = (
        np.array([getattr(goal, name) for goal in goals])[:, None, None]
        for name in ("centre", "log_tail")
    )
    # Estimates of K choose the factor whose bound reaches least far, above and below.
    columns = (stack.theta, stack.log_mgf, stack.n, stack.eta)
    theta, log_mgf, n, eta = (x[:, None, None] for x in columns)
    sides = np.array([[1.0], [-1.0]])
    point = theta + centre * (sides * CHERNOFF_FACTORS)
    u = np.abs(point - theta)
    growth = np.expm1(point[..., None] * stack.law.values[:, None, None, :]) @ stack.law.masses
    reach = n * (np.log1p(growth) - log_mgf) + u * eta**2 * (sides * theta + 0.5 * u) - log_tail
    reach = np.where(np.isfinite(reach) & (u > 0.0), reach / u, np.inf)
    nearest = np.argmin(reach, axis=-1)
    is_inner = ((nearest > 0) & (nearest < CHERNOFF_FACTORS.size - 1)).all(axis=-1)
    point, u = (np.take_along_axis(x, nearest[..., None], axis=-1)[..., 0] for x in (point, u))
    # As in `window`, u is the distance of the floats at which K is evaluated.
    log_moment = log_moments(
        *log_mgfs(stack.law, point), point, stack.columns(), stack.n[:, None], stack.eta[:, None]
    )
    is_inner &= np.isfinite(log_moment).all(axis=-1)
    return [
        fit_window(goal, *(Chernoff(*pair) for pair in zip(*ends, strict=True))) if usable else None
        for goal, usable, *ends in zip(
            goals, is_inner, u.tolist(), log_moment.tolist(), strict=True
        )
    ]


def _fits_in_batch(scan: Scan, window: Window) -> bool:
    """Return whether the point is small enough to be evaluated together with others."""
    stretch_count = (window.modes - scan.start) // scan.stride if scan.stride > 1 else 0
    return window.modes <= _MAX_MODES and stretch_count <= _MAX_STRETCHES


def _series(
    stack: Stack, scans: list[Scan], windows: list[Window]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return bounds of log E[S₊] of each point, and the factor by which η should shrink."""
    g = stack.law
    all_sums = stacked_sums(stack, scans, windows)
    # All masses have the same relative error here.
    moving_mass = float(g.masses.sum()) * (1.0 + float(g.mass_err) + g.sum_err)
    columns = (stack.theta, stack.n, stack.log_mgf, stack.log_mgf_err, g.exponent, stack.rtol)
    rows = []
    for sums, window, theta, n, k, k_err, exponent, rtol in zip(
        all_sums, windows, *(x.tolist() for x in columns), strict=True
    ):
        if not all(map(math.isfinite, vars(sums).values())):
            rows.append((-math.inf, math.inf, 1.0))
            continue
        low, high, smoothing = mean_bounds(sums, theta, window, idle_mass(moving_mass, k, k_err, n))
        factor = multiply_ends(low, high, n * k, n * k_err, theta * window.eta)
        ends = rescale_ends(max(-math.inf, factor[0]), min(math.inf, factor[1]), exponent)
        rows.append((*ends, shrink_factor(smoothing, rtol * high)))
    lows, highs, shrinks = np.array(rows).T
    return lows, highs, shrinks


def log_divergences(
    decomposition: Decomposition, eps: FloatArray, n: int, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of log D(ε) of (a, b, c), in this one direction, at ε ≥ 0.

    D may be far too small for floats. The bounds have the shape (P,) of `eps`; the lower one is
    −inf where D is 0 or indistinguishable from 0. They aim at a distance of `rtol`, shape (P,),
    and hold even if they miss it.
    """
    capped_eps = np.minimum(eps, _LARGEST_EPS)
    low, high = np.full(eps.shape, -np.inf), np.zeros(eps.shape)
    wide = np.ones(eps.shape, dtype=np.bool_)
    if len(decomposition) <= _MAX_COMPONENTS:
        users = np.full(eps.shape, float(n))
        lower, upper = stacked(decomposition, capped_eps, users, rtol)
        with np.errstate(divide="ignore"):
            # The error of a logarithm is one ulp, at most 2u times 700.
            low, high = np.log(lower) - 1500.0 * U, np.minimum(np.log(upper) + 1500.0 * U, 0.0)
        wide = (upper > 0.0) & ~(
            (upper - lower <= _WIDTH_TOLERANCE * rtol * upper) & (lower > _SMALLEST_FLOAT)
        )
    for i in np.flatnonzero(wide):
        low[i], high[i] = log_divergence(decomposition, float(capped_eps[i]), n, float(rtol[i]))
    # D falls in ε, so the upper bound at the largest ε still holds.
    low[eps > _LARGEST_EPS] = -np.inf
    return low, high


def log_divergence(
    decomposition: Decomposition, eps: float, n: int, rtol: float
) -> tuple[float, float]:
    """Return bounds of log D(ε) at one ε, 0 ≤ ε ≤ 690, from those that `engine.enclose` uses."""
    unshared, (low, high), ends = bounds_of_parts(decomposition, eps, n, rtol, log_bounds)
    log_parts = (
        max(log(low), ends[0] - math.log(n)),
        min(log(high), ends[1] - math.log(n)),
    )
    sums = [
        float(np.logaddexp(log(part), end)) if end < math.inf else math.inf
        for part, end in zip(unshared, log_parts, strict=True)
    ]
    lower, upper = (
        end + side * 16.0 * U * (1.0 + abs(end)) if math.isfinite(end) else end
        for side, end in zip((-1.0, 1.0), sums, strict=True)
    )
    return (-math.inf if math.isnan(lower) else lower), (0.0 if math.isnan(upper) else upper)
