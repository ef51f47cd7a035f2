"""Which modes of a window can matter, and what those left out can add up to.

Proofs: docs/engine.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.frequencies import Runs, samples
from shufflebounds.divergence.law import Law, Tilted, U
from shufflebounds.divergence.window import Window


@dataclass(frozen=True, eq=False)
class NeededModes:
    """The modes to evaluate, and bounds of what the others add up to.

    ``skipped_value`` bounds Σ 2|φ_X|/|z|² over the modes left out, ``skipped_density`` Σ 2|φ_X|.
    """

    modes: Runs
    skipped_value: float
    skipped_density: float


def needed_modes(g: Law, tilted: Tilted, n: int, window: Window) -> NeededModes:
    """Find the modes of a window that can matter.

    Left out is where |φ_X| is negligible: first while |φ|² ≤ 1 − t²σ² + t⁴(2μ₄ + 6σ⁴)/24 is at
    most 1 − t²σ²/2, then wherever |φ|² at both ends of a stretch of width H says so: between them
    it is higher by at most σ²H²/4.
    """
    low, high, fourth = _tilted_moments(g, tilted)
    plan = Plan.of(low, high, fourth, tilted.theta, n, window)
    starts, lengths = np.array([0.0, plan.start]), np.array([plan.near, 0])
    if plan.stride == 1:
        lengths[1] = window.modes + 1 - plan.start
        return NeededModes(_nonempty(starts, lengths, window.step), plan.value, plan.density)
    edges, count = plan.stretches(window)
    looked_at = Runs(edges[:1], np.array([edges.size]), plan.stride, window.step)
    found = list(samples(g, tilted, looked_at))
    t = np.concatenate([part.t for part in found])
    square = np.concatenate([(np.abs(1.0 + part.away) + part.err) ** 2 for part in found])
    width = plan.stride * window.step
    log_bound = stretches(square + 8.0 * U, t, width, high, n, window.eta)
    skip = log_bound < math.log(window.negligible)
    with np.errstate(under="ignore"):
        each = 2.0 * count[skip] * np.exp(log_bound[skip])
    density = plan.density + float(each.sum()) * (1.0 + 1e-9)
    share = each / (tilted.theta**2 + t[:-1][skip] ** 2)
    value = plan.value + float(np.sum(share)) * (1.0 + 1e-9)
    starts = np.concatenate([starts, edges[:-1][~skip]])
    lengths = np.concatenate([lengths, count[~skip]])
    return NeededModes(_nonempty(starts, lengths, window.step), value, density)


def _nonempty(starts: FloatArray, lengths: NDArray[np.int64], step: float) -> Runs:
    """Runs of modes next to each other, without those of length 0."""
    return Runs(starts[lengths > 0], lengths[lengths > 0], 1, step)


@dataclass(frozen=True)
class Plan:
    """Which modes to evaluate for certain, and which to look at in stretches.

    Modes 0 … near − 1 are evaluated; those from there to ``start`` are charged with ``value`` and
    ``density`` (see `NeededModes`); from there to the last they come in stretches of ``stride``,
    each of them evaluated if that is 1.
    """

    near: int
    start: int
    stride: int
    value: float
    density: float

    @staticmethod
    def of(low: float, high: float, fourth: float, theta: float, n: int, window: Window) -> Plan:
        """From bounds of the tilted variance, lower and upper, and of the fourth moment."""
        eta, step = window.eta, window.step
        last = window.modes * step
        depth = -math.log(window.negligible)
        rate = 0.25 * n * low + 0.5 * eta**2
        near = math.sqrt(depth / rate) if low > 0.0 else math.inf
        if not near < 0.5 * last or not low > 0.0:
            return Plan(0, 0, 1, 0.0, 0.0)
        # Of values this small the moments may underflow, which must not make them smaller.
        flat = math.sqrt(12.0 * low / (2.0 * fourth + 6.0 * high * high + 1e-300))
        flat = last if flat >= last else flat
        value = density = 0.0
        start = evaluated = math.floor(near / step) + 1
        if flat > near:
            first = start * step
            size = math.exp(-rate * first**2)
            density = 2.0 * size * (1.0 + 1.0 / (2.0 * rate * first * step))
            value = density / (theta**2 + first**2)
            start = max(start, math.floor(flat / step) + 1)
        # To be negligible, |φ|² must stay below about 1 − 2 depth/n; σ²H²/4 should leave room.
        rise = min(max(depth / n, 0.0036), 0.0625)
        stride = min(window.modes + 1, math.floor(2.0 * math.sqrt(rise / high) / step))
        if start >= window.modes or stride < 4:
            stride = 1
        return Plan(evaluated, start, stride, value, density)

    def stretches(self, window: Window) -> tuple[FloatArray, NDArray[np.int64]]:
        """The first mode of each stretch and of one more, and how many modes each has."""
        number = -((self.start - window.modes - 1) // self.stride)
        edges = self.start + self.stride * np.arange(number + 1.0)
        count = np.minimum(edges[1:], window.modes + 1.0) - edges[:-1]
        return edges, count.astype(np.int64)


def stretches(
    square: FloatArray,
    t: FloatArray,
    width: float | FloatArray,
    high: float | FloatArray,
    n: int | FloatArray,
    eta: float | FloatArray,
) -> FloatArray:
    """Bounds of log |φ_X| between neighbouring frequencies t, given bounds of |φ|² at them.

    `t` and `square` have shape (…, E), the bounds (…, E − 1); neighbours are at most `width` apart,
    and `high` is an upper bound of the tilted variance.
    """
    ceiling = np.maximum(square[..., :-1], square[..., 1:]) + 0.25 * high * width**2
    return 0.5 * n * np.log(np.minimum(ceiling, 1.0)) - 0.5 * (eta * t[..., :-1]) ** 2


def _tilted_moments(g: Law, tilted: Tilted) -> tuple[float, float, float]:
    """Bounds of the tilted variance, lower and upper, and an upper one of the fourth moment.

    Central moments about the computed mean; about the true one the variance is at most lower by the
    square of their distance, which the slack covers.
    """
    used = tilted.used
    w, err = tilted.weights[used], tilted.weight_err[used]
    h = g.values[used] - tilted.mean
    off = g.value_err[used] + 4.0 * U * (np.abs(g.values[used]) + abs(tilted.mean))
    at_zero = max(0.0, 1.0 - float(w.sum()))
    zero_err = float(w @ err) + tilted.left_out + 8.0 * U
    mean = tilted.mean
    distance = float(w @ (err * np.abs(g.values[used]) + (1.0 + err) * off)) + 8.0 * U * abs(mean)
    # What was left out may be anywhere.
    far = float(np.abs(g.values).max()) + abs(mean)
    distance += tilted.left_out * far
    variance = float(w @ h**2) + at_zero * mean**2
    slip = float(w @ (err * h**2 + (1.0 + err) * (2.0 * np.abs(h) + off) * off))
    slip += zero_err * mean**2 + distance * distance + 1e-9 * variance + tilted.left_out * far * far
    reach = np.abs(h) + off + distance
    with np.errstate(over="ignore"):
        fourth = float(((1.0 + err) * w) @ reach**4)
    # Products, since powers of Python's floats raise where these go to inf.
    off_zero = abs(mean) + distance
    fourth += (at_zero + zero_err) * off_zero * off_zero * off_zero * off_zero
    fourth += tilted.left_out * far * far * far * far
    return variance - slip, variance + slip, fourth * (1.0 + 1e-9)
