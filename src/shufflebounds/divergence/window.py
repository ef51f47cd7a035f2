"""The frequencies that the Fourier engine samples, and bounds of what the others add up to.

The notation is that of `fourier`: X = S + θη² + ηZ under the tilted law, f(x) = x e^{−θx} 1{x > 0},
and f^P is its repetition with period P. Proofs: docs/engine.md, sections 4 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import (
    Law,
    Tilted,
    U,
    away_from_one,
    characteristic,
    log_mgf,
    tilted_moments,
)

# Multiples of u = √(−2 log tail)/σ that are tried first. Chernoff's bound holds at every u.
CHERNOFF_FACTORS = 10.0 ** np.linspace(-1.0, 1.0, 17)
# Multiples that are tried if the best of the first lies at an end.
_ALL_FACTORS = 10.0 ** np.linspace(-14.0, 14.0, 113)
# Largest number of frequencies times components for which φ is evaluated frequency by frequency.
# Speed only (benchmarks/deployer_grid.py).
_MAX_DIRECT_SIZE = 2**12
# Number of frequencies times components that are evaluated together, so that they stay in the
# cache. Speed only (benchmarks/deployer_grid.py).
_BLOCK = 2**16


@dataclass(frozen=True)
class Window:
    """The grid of frequencies mh, 0 ≤ m ≤ modes, and bounds of the errors that it causes.

    ``wrap`` bounds E[f^P(X) − f(X)]. ``cut_value`` and ``cut_density`` bound the sums over the
    modes beyond the grid, for E f and for the density at 0. Modes with |φ_X| below ``negligible``
    hardly change either.
    """

    eta: float
    step: float
    modes: int
    wrap: float
    cut_value: float
    cut_density: float
    negligible: float


def choose_window(
    g: Law, tilted: Tilted, n: int, eta: float, rtol: float, size: float = 0.0
) -> Window | None:
    """Return a window whose period and cut each cost some hundredths of rtol; None if none does.

    `size` is an estimate of E f(X), or 0 if there is none.
    """
    goal = Goal.of(tilted.theta, tilted.variance, n, eta, rtol, size)
    above, below = _tails(g, tilted, n, goal)
    if above is None or below is None:
        return None
    return fit_window(goal, above, below)


@dataclass(frozen=True)
class Goal:
    """The loss that a window may cause, and the scales that decide how wide it must be.

    ``sigma`` is the standard deviation of X, widened by that of f. ``allowed`` is an absolute loss
    of E f(X) that rtol has room for, ``log_tail`` the logarithm of the mass that may lie outside.
    """

    theta: float
    eta: float
    sigma: float
    allowed: float
    log_tail: float

    @staticmethod
    def of(
        theta: float, variance: float, n: int, eta: float, rtol: float, size: float = 0.0
    ) -> Goal:
        """Return the goal for a law with this tilted variance, and `size` as in `choose_window`."""
        sigma = math.sqrt(n * variance + eta**2 + 1.0 / theta**2)
        # E f(X) is about 1/(θ²σ√2π), and may lose a few hundredths of rtol. f itself is at most
        # 1/(eθ), which limits a wide upper bound.
        size = min(size, 1.0 / (math.e * theta)) or 1.0 / (2.5 * theta**2 * sigma)
        allowed = 0.04 * rtol * size
        return Goal(theta, eta, sigma, allowed, math.log(allowed * math.e * theta))

    @property
    def centre(self) -> float:
        """The u of Chernoff's bound that suits a normal X."""
        return math.sqrt(max(1.0, -2.0 * self.log_tail)) / self.sigma


def fit_window(goal: Goal, above: Chernoff, below: Chernoff) -> Window | None:
    """Return the window for these tails, None if it would need frequencies out of range."""
    theta, eta, allowed = goal.theta, goal.eta, goal.allowed
    decay = 4.0 - math.log(allowed * theta)
    right_end = max(above.reach(goal.log_tail), (decay + math.log(decay)) / theta)
    left_end = max(below.reach(goal.log_tail), 0.0)
    # A step with few digits makes every frequency mh exact. Rounding it down widens the window.
    step = round_down(2.0 * math.pi / (right_end + left_end))
    period = 2.0 * math.pi / step
    right_end = (period * (1.0 - 4.0 * U) - left_end) * (1.0 - 4.0 * U)
    # Such a window would lie almost entirely below 0.
    if not theta * right_end > 1.0:
        return None
    wrap = _wrap(theta, period, right_end, min(1.0, above.tail(right_end) + below.tail(left_end)))

    # The cut costs E f less than η² times what it costs the density.
    cut = math.sqrt(2.0 * max(1.0, math.log(eta / (3.0 * allowed))))
    if not cut / step < 1e15 * eta:
        return None
    modes = max(1, math.ceil(cut / (eta * step)))
    last = modes * step
    cut_density = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last) * (1.0 + 1e-9)
    sensitivity = 0.5 / theta + eta * cut / math.pi
    return Window(eta, step, modes, wrap, cut_density / last**2, cut_density, allowed / sensitivity)


@dataclass(frozen=True)
class Chernoff:
    """Pr[Y ≥ end] ≤ e^{log_moment − u·end} for Y = X or Y = −X and one u > 0."""

    u: float
    log_moment: float

    def reach(self, log_tail: float) -> float:
        """Return the end beyond which the probability is at most e^{log_tail}."""
        return (self.log_moment - log_tail) / self.u

    def tail(self, end: float, size: float = 0.0) -> float:
        """Return a bound of the probability beyond `end`, a rounded sum of numbers of `size`."""
        rounding = 16.0 * U * (abs(self.log_moment) + self.u * (abs(end) + size))
        return math.exp(min(0.0, self.log_moment - self.u * end + rounding))

    @staticmethod
    def best(u: FloatArray, log_moment: FloatArray, log_tail: float) -> Chernoff | None:
        """Return the bound that reaches least far for e^{log_tail}; None if no bound is finite."""
        usable = np.isfinite(log_moment) & (u > 0.0)
        if not usable.any():
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = np.where(usable, (log_moment - log_tail) / u, np.inf)
        index = int(np.argmin(reach))
        return Chernoff(float(u[index]), float(log_moment[index]))


def _tails(g: Law, tilted: Tilted, n: int, goal: Goal) -> list[Chernoff | None]:
    """Return the bounds that reach least far for tails of e^{log_tail}, above and below.

    The best u may lie many decades from that of a normal law, hence the logarithmic scale.
    """
    for factors in (CHERNOFF_FACTORS, _ALL_FACTORS):
        # K is evaluated at the floats θ ± u exactly. `tail` and `log_moments` account for the
        # rounding of u, their distance from θ.
        point = tilted.theta + np.outer([1.0, -1.0], goal.centre * factors)
        u = np.abs(point - tilted.theta)
        k, k_err = (x.reshape(point.shape) for x in log_mgf(g, point.ravel()))
        moments = log_moments(k, k_err, point, tilted, n, goal.eta)
        tails = [Chernoff.best(*row, goal.log_tail) for row in zip(u, moments, strict=True)]
        ends = zip(tails, u[:, 0], u[:, -1], strict=True)
        if all(tail is not None and low < tail.u < high for tail, low, high in ends):
            break
    return tails


def log_moments(
    k: FloatArray,
    k_err: FloatArray,
    point: FloatArray,
    tilted: Tilted,
    n: int | FloatArray,
    eta: float | FloatArray,
) -> FloatArray:
    """Return upper bounds of log E_Q e^{uX} for u = `point` − θ of either sign.

    `k` is K at `point`, with errors of at most `k_err`. All arrays broadcast, including those in
    `tilted`.
    """
    u = point - tilted.theta
    with np.errstate(over="ignore", invalid="ignore"):
        normal = u * tilted.theta * eta**2 + 0.5 * (u * eta) ** 2
        rounding = n * (np.abs(k) + np.abs(tilted.log_mgf)) + np.abs(normal)
        return (
            n * (k - tilted.log_mgf)
            + normal
            + n * (k_err + tilted.log_mgf_err)
            + 8.0 * U * rounding
        )


def _wrap(theta: float, period: float, right_end: float, outside: float) -> float:
    """Return a bound of E f^P(X) − E f(X).

    X lies in [right_end − period, right_end] except with a probability of at most `outside`.
    """
    q = math.exp(-theta * period)
    copies = period * q / (1.0 - q) ** 2
    # f falls beyond 1/θ, and right_end lies there.
    inside = math.exp(-theta * right_end) * (right_end / (1.0 - q) + copies)
    return (inside + outside * (1.0 / (math.e * theta) + copies)) * (1.0 + 1e-9)


def round_down(x: float) -> float:
    """Return the largest float of 20 significant bits that is not above x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(mantissa * 2**20), exponent - 20)


@dataclass(frozen=True, eq=False)
class Runs:
    """Frequencies (start + k·stride)·step for k = 0, …, length − 1 of each run, all exact floats.

    ``starts`` and ``lengths`` have shape (R,) and hold whole numbers, and so is ``stride``.
    """

    starts: FloatArray
    lengths: NDArray[np.int64]
    stride: int
    step: float

    @property
    def size(self) -> int:
        """The number of frequencies."""
        return int(self.lengths.sum())

    def cut(self, width: int) -> Runs:
        """Return the same frequencies, in runs of at most `width`."""
        piece_counts = -(-self.lengths // width)
        position = consecutive(np.zeros(piece_counts.size), piece_counts)
        lengths = np.minimum(np.repeat(self.lengths, piece_counts) - position * width, width)
        starts = np.repeat(self.starts, piece_counts) + position * float(width * self.stride)
        return Runs(starts, lengths.astype(np.int64), self.stride, self.step)

    def frequencies(self) -> FloatArray:
        """Return all frequencies, shape (size,)."""
        first = np.repeat(self.starts, self.lengths)
        return (first + consecutive(np.zeros(self.starts.size), self.lengths) * self.stride) * (
            self.step
        )


def consecutive(starts: FloatArray, lengths: NDArray[np.int64]) -> FloatArray:
    """Return start, start + 1, …, start + length − 1 for each run, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)


@dataclass(frozen=True, eq=False)
class Samples:
    """φ − 1 at frequencies t ≥ 0, and a bound of its error, all of shape (T,)."""

    t: FloatArray
    away: NDArray[np.complex128]
    err: FloatArray


def samples(law: Law, tilted: Tilted, runs: Runs) -> Iterator[Samples]:
    """Yield φ(t) − 1, φ(t) = E_Q e^{itG}, at all t in `runs.frequencies()`, in blocks.

    With t = t′ + t″ on a grid,

        e^{itg} − 1 = (e^{it′g} − 1) + (e^{it″g} − 1) + (e^{it′g} − 1)(e^{it″g} − 1),

    so that φ − 1 at R·C frequencies takes R + C times J tangents and a product of matrices. Each
    factor keeps its relative precision near 0. The errors are derived in docs/engine.md, section 7.
    """
    if runs.size * law.values.size <= _MAX_DIRECT_SIZE:
        t = runs.frequencies()
        yield Samples(t, *characteristic(law, tilted, t))
        return
    used = tilted.used
    g, w, weight_err = law.values[used], tilted.weights[used], tilted.weight_err[used]
    widest = max(1, _BLOCK // max(1, g.size))
    width = min(math.isqrt(runs.size - 1) + 1, int(runs.lengths.max()), widest)
    rows = runs.cut(width)
    inner = _exponential_minus_one(np.arange(float(width)) * (runs.stride * runs.step), g)
    inner_sum = inner @ w
    relative = w * (weight_err + 140.0 * U + 6.0 * law.sum_err)
    absolute = float((w * (1.0 + weight_err)) @ (2.0 * U * np.abs(g) + law.value_err[used]))
    left_out = 2.0 * tilted.left_out + 2.0**-1000
    count = max(1, _BLOCK // max(g.size, width))
    columns = np.arange(width)
    for block in (slice(i, i + count) for i in range(0, rows.starts.size, count)):
        starts = rows.starts[block]
        outer = w * _exponential_minus_one(starts * runs.step, g)
        away = outer @ inner.T
        away += outer.sum(axis=1)[:, None]
        away += inner_sum
        t = (starts[:, None] + columns * float(runs.stride)) * runs.step
        largest_t = t[:, -1]
        err_of_row = np.minimum(np.multiply.outer(largest_t, np.abs(g)), 2.0) @ relative
        err_of_row += largest_t * absolute + left_out
        inside_run = columns < rows.lengths[block, None]
        yield Samples(t[inside_run], away[inside_run], np.repeat(err_of_row, rows.lengths[block]))


def _exponential_minus_one(t: FloatArray, g: FloatArray) -> NDArray[np.complex128]:
    """Return e^{itg} − 1, shape (T, J), with small relative errors of real and imaginary part."""
    y = np.multiply.outer(t, g)
    away = np.empty(y.shape, dtype=np.complex128)
    away.real, away.imag = away_from_one(y)
    return away


@dataclass(frozen=True, eq=False)
class NeededModes:
    """The modes to evaluate, and bounds of the sums over the other modes.

    ``skipped_value`` bounds Σ 2|φ_X|/|z|² over the modes left out, ``skipped_density`` Σ 2|φ_X|.
    """

    modes: Runs
    skipped_value: float
    skipped_density: float


def needed_modes(g: Law, tilted: Tilted, n: int, window: Window) -> NeededModes:
    """Return the modes of a window that can matter.

    Modes are left out where |φ_X| is negligible. Near 0, this follows from
    |φ|² ≤ 1 − t²σ² + t⁴(2μ₄ + 6σ⁴)/24 as long as the right side is at most 1 − t²σ²/2. Further out
    it follows from |φ|² at both ends of a stretch of width H: in between, |φ|² is higher by at most
    σ²H²/4.
    """
    used = tilted.used
    rows = g.values[used], g.value_err[used], tilted.weights[used], tilted.weight_err[used]
    largest = np.abs(g.values).max()
    bounds = tilted_moments(*rows, tilted.left_out, np.array(tilted.mean), largest)
    low, high, fourth = map(float, bounds)
    scan = Scan.of(low, high, fourth, tilted.theta, n, window)
    starts, lengths = np.array([0.0, scan.start]), np.array([scan.low_modes, 0])
    if scan.stride == 1:
        lengths[1] = window.modes + 1 - scan.start
        return NeededModes(_nonempty(starts, lengths, window.step), scan.value, scan.density)
    edges, count = scan.stretches(window)
    edge_runs = Runs(edges[:1], np.array([edges.size]), scan.stride, window.step)
    blocks = list(samples(g, tilted, edge_runs))
    t = np.concatenate([block.t for block in blocks])
    square = np.concatenate([(np.abs(1.0 + block.away) + block.err) ** 2 for block in blocks])
    width = scan.stride * window.step
    log_bound = stretch_bounds(square + 8.0 * U, t, width, high, n, window.eta)
    negligible = log_bound < math.log(window.negligible)
    with np.errstate(under="ignore"):
        skipped = 2.0 * count[negligible] * np.exp(log_bound[negligible])
    density = scan.density + float(skipped.sum()) * (1.0 + 1e-9)
    skipped_value = skipped / (tilted.theta**2 + t[:-1][negligible] ** 2)
    value = scan.value + float(np.sum(skipped_value)) * (1.0 + 1e-9)
    starts = np.concatenate([starts, edges[:-1][~negligible]])
    lengths = np.concatenate([lengths, count[~negligible]])
    return NeededModes(_nonempty(starts, lengths, window.step), value, density)


def _nonempty(starts: FloatArray, lengths: NDArray[np.int64], step: float) -> Runs:
    """Return runs of consecutive modes, without those of length 0."""
    return Runs(starts[lengths > 0], lengths[lengths > 0], 1, step)


@dataclass(frozen=True)
class Scan:
    """The modes to evaluate in any case, and the stretches of modes to inspect.

    Modes 0 … low_modes − 1 are evaluated. Modes low_modes … start − 1 are left out, at the cost of
    ``value`` and ``density`` (see `NeededModes`). From ``start`` to the last, the modes come in
    stretches of ``stride``; if that is 1, each mode is evaluated.
    """

    low_modes: int
    start: int
    stride: int
    value: float
    density: float

    @staticmethod
    def of(low: float, high: float, fourth: float, theta: float, n: int, window: Window) -> Scan:
        """Return the scan for lower and upper bounds of the tilted variance and a fourth moment."""
        eta, step = window.eta, window.step
        last = window.modes * step
        depth = -math.log(window.negligible)
        rate = 0.25 * n * low + 0.5 * eta**2
        low_end = math.sqrt(depth / rate) if low > 0.0 else math.inf
        if not low_end < 0.5 * last or not low > 0.0:
            return Scan(0, 0, 1, 0.0, 0.0)
        # The moments of very small values may underflow, which must not enlarge the quotient much.
        quadratic_end = math.sqrt(12.0 * low / (2.0 * fourth + 6.0 * high * high + 1e-300))
        quadratic_end = last if quadratic_end >= last else quadratic_end
        value = density = 0.0
        start = low_modes = math.floor(low_end / step) + 1
        if quadratic_end > low_end:
            first = start * step
            size = math.exp(-rate * first**2)
            density = 2.0 * size * (1.0 + 1.0 / (2.0 * rate * first * step))
            value = density / (theta**2 + first**2)
            start = max(start, math.floor(quadratic_end / step) + 1)
        # To be negligible, |φ|² must stay below about 1 − 2 depth/n; σ²H²/4 should leave room.
        square_rise = min(max(depth / n, 0.0036), 0.0625)
        stride = min(window.modes + 1, math.floor(2.0 * math.sqrt(square_rise / high) / step))
        if start >= window.modes or stride < 4:
            stride = 1
        return Scan(low_modes, start, stride, value, density)

    def stretches(self, window: Window) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return the first mode of each stretch and of one more, and the size of each stretch."""
        number = -((self.start - window.modes - 1) // self.stride)
        edges = self.start + self.stride * np.arange(number + 1.0)
        count = np.minimum(edges[1:], window.modes + 1.0) - edges[:-1]
        return edges, count.astype(np.int64)


def stretch_bounds(
    square: FloatArray,
    t: FloatArray,
    width: float | FloatArray,
    high: float | FloatArray,
    n: int | FloatArray,
    eta: float | FloatArray,
) -> FloatArray:
    """Return bounds of log |φ_X| between neighbouring frequencies t, from bounds of |φ|² at them.

    `t` and `square` have shape (…, E), the bounds (…, E − 1). Neighbours are at most `width` apart,
    and `high` is an upper bound of the tilted variance.
    """
    ceiling = np.maximum(square[..., :-1], square[..., 1:]) + 0.25 * high * width**2
    return 0.5 * n * np.log(np.minimum(ceiling, 1.0)) - 0.5 * (eta * t[..., :-1]) ** 2
