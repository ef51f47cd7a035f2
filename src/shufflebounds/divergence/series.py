"""The Fourier series of given windows: which modes can matter, their sums, and bounds of E f(X).

Notation as in `fourier`. Arrays have shape (P,), one entry a point, or (N,), one a mode. Proofs:
docs/engine.md, sections 2, 4 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.frequencies import Indices, Points, Runs, sample
from shufflebounds.divergence.law import U, away_from_one
from shufflebounds.divergence.window import Scan, Window

# Modes whose terms are computed at once: what a cache holds.
CHUNK = 2**14


@dataclass(frozen=True, eq=False)
class Grids:
    """What the series of each point needs of its window; shape (P,)."""

    step: FloatArray
    eta: FloatArray
    log_negligible: FloatArray

    @staticmethod
    def of(windows: list[Window]) -> Grids:
        rows = [(window.step, window.eta, math.log(window.negligible)) for window in windows]
        return Grids(*np.array(rows).T)


class NeededModes(NamedTuple):
    """The modes to evaluate, and bounds of Σ 2|φ_X|/|z|² and of Σ 2|φ_X| over all others (P,)."""

    runs: Runs
    skipped_value: FloatArray
    skipped_density: FloatArray


def needed_modes(
    points: Points, grids: Grids, scans: list[Scan], windows: list[Window]
) -> NeededModes:
    """Return the modes of each window that can matter, and bounds of all others."""
    rows = [(scan.near, scan.start, scan.stride, scan.value, scan.density) for scan in scans]
    near, start, stride, value, density = np.array(rows, dtype=np.float64).T
    end = np.array([window.modes + 1.0 for window in windows])
    all_points = np.arange(len(scans))
    # The modes near 0 of each point, then all others of points without stretches.
    owners, starts = [all_points, all_points], [np.zeros(near.shape), start]
    lengths = [near, np.where(stride == 1.0, end - start, 0.0)]
    if (stride > 1.0).any():
        stretches = _stretches(points, grids, start, stride, end)
        skipped = stretches.log_bound < grids.log_negligible[stretches.owner]
        kept = ~skipped
        owners.append(stretches.owner[kept])
        starts.append(stretches.first[kept])
        lengths.append(stretches.length[kept])
        owner, t = stretches.owner[skipped], stretches.t[skipped]
        size = np.exp(np.minimum(stretches.log_bound[skipped], 0.0))
        charge = 2.0 * stretches.length[skipped] * size * (1.0 + 1e-9)
        density = density + np.bincount(owner, charge, near.size)
        charge = charge / (points.theta[owner] ** 2 + t**2) * (1.0 + 1e-9)
        value = value + np.bincount(owner, charge, near.size)
    owner, first, length = (np.concatenate(x) for x in (owners, starts, lengths))
    order = np.argsort(owner, kind="stable")
    runs = Runs(owner, first, np.ones(owner.size), length.astype(np.int64)).at(order)
    return NeededModes(runs.at(runs.lengths > 0), value, density)


class _Stretches(NamedTuple):
    """Stretches of neighbouring modes, and upper bounds of log |φ_X| on each; shape (K,).

    A stretch begins with the mode ``first``, of frequency ``t``, and has ``length`` modes.
    """

    owner: Indices
    first: FloatArray
    t: FloatArray
    length: FloatArray
    log_bound: FloatArray


def _stretches(
    points: Points, grids: Grids, start: FloatArray, stride: FloatArray, end: FloatArray
) -> _Stretches:
    """Return the stretches of `stride` > 1 modes from `start` to `end`, shape (P,)."""
    rows = np.flatnonzero(stride > 1.0)
    edge_counts = np.ceil((end - start) / stride)[rows] + 1.0
    edges = Runs(rows, start[rows], stride[rows], edge_counts.astype(np.int64))
    owner, t, away, err = sample(points, edges, grids.step)
    first = edges.modes()[1]
    square = (np.abs(1.0 + away) + err) ** 2 + 16.0 * U
    # A stretch lies between neighbouring frequencies of one point.
    left = np.flatnonzero(owner[1:] == owner[:-1])
    owner, t, first = owner[left], t[left], first[left]
    width = stride[owner] * grids.step[owner]
    ceiling = np.maximum(square[left], square[left + 1])
    ceiling += 0.25 * points.moments[owner, 1] * width**2
    log_bound = 0.5 * points.n[owner] * np.log(np.minimum(ceiling, 1.0))
    log_bound -= 0.5 * (grids.eta[owner] * t) ** 2
    length = np.minimum(first + stride[owner], end[owner]) - first
    return _Stretches(owner, first, t, length, log_bound)


class ModeSums(NamedTuple):
    """Σ φ_X(t)/z² and Σ φ_X(t) over t and −t, z = θ + it, and bounds of their errors; (P,)."""

    value: FloatArray
    value_err: FloatArray
    density: FloatArray
    density_err: FloatArray


def mode_sums(points: Points, grids: Grids, needed: NeededModes) -> ModeSums:
    """The sums over all modes of each point; what was left out counts as error."""
    owner, t, away, err = sample(points, needed.runs, grids.step)
    sums, sizes = np.zeros((4, points.n.size)), np.zeros((2, points.n.size))
    for part in (slice(i, i + CHUNK) for i in range(0, t.size, CHUNK)):
        of = owner[part]
        terms = series_terms(
            away[part], err[part], points.n[of], points.theta[of], grids.eta[of], t[part]
        )
        for total, term in zip(sums, terms, strict=True):
            total += np.bincount(of, term, points.n.size)
        for total, term in zip(sizes, (terms.value, terms.density), strict=True):
            total += np.bincount(of, np.abs(term), points.n.size)
    # A sum of N terms in chunks loses less than this share of their sizes.
    count = np.bincount(owner, minlength=points.n.size)
    rounding = (np.minimum(count, CHUNK) + count / CHUNK + 4.0) * U
    value, value_err, density, density_err = sums
    value_err = value_err + rounding * sizes[0] + needed.skipped_value
    density_err = density_err + rounding * sizes[1] + needed.skipped_density
    return ModeSums(value, value_err * (1.0 + 1e-9), density, density_err * (1.0 + 1e-9))


def series_terms(
    away: NDArray[np.complex128],
    away_err: FloatArray,
    n: FloatArray,
    theta: FloatArray,
    eta: FloatArray,
    t: FloatArray,
) -> ModeSums:
    """The summands of `ModeSums`, for t and −t together, from φ(t) − 1 and its error; (N,)."""
    real, imag, err = _power(away, away_err, n, theta, eta, t)
    twice = np.where(t == 0.0, 1.0, 2.0)
    # Of modes that are all error, it may overflow; `mean_bounds` claims nothing then.
    with np.errstate(over="ignore", invalid="ignore"):
        weight = twice / (theta**2 + t**2)
        rotated = real * (theta**2 - t**2) + 2.0 * theta * t * imag
        value = rotated * weight / (theta**2 + t**2)
        return ModeSums(value, weight * err, twice * real, twice * err)


def _power(
    away: NDArray[np.complex128],
    away_err: FloatArray,
    n: FloatArray,
    theta: FloatArray,
    eta: FloatArray,
    t: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Real and imaginary part of φ_X, and a bound of its error."""
    # One after the other in memory; far from it, they take several times as long.
    real, imag = np.ascontiguousarray(away.real), np.ascontiguousarray(away.imag)
    twice, product = 2.0 * real, real * real + imag * imag
    square = twice + product  # |φ|² − 1
    inside = np.maximum(1.0 + square, 0.0)
    modulus = np.sqrt(inside)
    is_known = modulus > 2.0 * away_err + 1e-8
    safe = np.where(is_known, modulus, 1.0)
    log_square = np.log1p(np.where(is_known, square, 0.0))
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
        is_known &= np.isfinite(err)
        if not is_known.all():
            # The root of a difference near 0 is off by that of its rounding.
            ceiling = np.sqrt(inside + 16.0 * U) + away_err
            lost = 2.0 * np.exp(n * np.log(ceiling) + damping)
            size, err = (
                np.where(is_known, size, 0.0),
                np.where(is_known, err, np.minimum(lost, 2.0)),
            )
    cosine, sine = away_from_one(turns + drift)
    return size + size * cosine, size * sine, err


def mean_bounds(
    sums: Sequence[float], theta: float, window: Window, idle: float
) -> tuple[float, float, float]:
    """Bounds of E f over the sum of all draws, lower and upper, and the gap that η leaves.

    `sums` are the `ModeSums` of one point; `idle` is at most the tilted probability that all draws
    are 0.
    """
    if not all(map(math.isfinite, sums)):
        return -math.inf, math.inf, 0.0
    eta = window.eta
    # 1/P = h/2π; the step h is exact, π is not.
    unit = window.step / (2.0 * math.pi)
    value, value_err, density, density_err = (x * unit for x in sums)
    value_err *= 1.0 + 1e-9
    value_err += window.cut_value + 8.0 * U * abs(value)
    density_err *= 1.0 + 1e-9
    density_err += window.cut_density + 8.0 * U * abs(density)

    smoothing = eta**2 * (density + density_err) * (1.0 + 8.0 * U)
    # Draws that are all 0 add nothing to E[S₊], but smoothing gives them a share.
    peeled = idle * math.exp(-0.5 * (theta * eta) ** 2)
    peeled *= eta / math.sqrt(2.0 * math.pi) * (1.0 - 1e-12)
    upper: float = max(0.0, value + value_err - peeled) * (1.0 + 4.0 * U)
    lower = (value - value_err - window.wrap - smoothing) * (1.0 - 4.0 * U)
    return lower, upper, max(0.0, smoothing - peeled)
