"""How much of the frequency axis the Fourier engine samples, and what the rest can amount to.

Notation as in `fourier`: X = S + θη² + ηZ under the tilted law, f(x) = x e^{−θx} 1{x > 0}, f^P its
repetition with period P.
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

# Multiples of u = √(−2 log tail)/σ to try: the neighbourhood, then everything. Chernoff's bound
# holds at all of them.
CHERNOFF_FACTORS = 10.0 ** np.linspace(-1.0, 1.0, 17)
_ALL_FACTORS = 10.0 ** np.linspace(-14.0, 14.0, 113)


@dataclass(frozen=True)
class Window:
    """The grid of frequencies mh, 0 ≤ m ≤ modes, and what it costs to stop there.

    ``wrap`` bounds E[f^P(X) − f(X)]; ``cut_value`` and ``cut_density`` the modes beyond the grid in
    the sums for E f and for the density at 0. ``negligible`` is a size of |φ_X| that matters to
    neither.
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
    """Choose period and cut so that both cost some hundredths of rtol; None where none will do.

    `size` is what E f(X) was found to be like, 0 where nobody knows.
    """
    goal = Goal.of(tilted.theta, tilted.variance, n, eta, rtol, size)
    above, below = _tails(g, tilted, n, goal)
    if above is None or below is None:
        return None
    return fitted(goal, above, below)


@dataclass(frozen=True)
class Goal:
    """What a window may lose, and the scales that decide how wide it must be.

    ``sigma`` is the standard deviation of X, widened by that of f; ``allowed`` a loss of E f(X)
    that rtol has room for, ``log_tail`` the logarithm of the mass that may lie outside.
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
        sigma = math.sqrt(n * variance + eta**2 + 1.0 / theta**2)
        # The size of E f(X) is about 1/(θ²σ√2π); losses are allowed a few hundredths of rtol of it.
        # f itself is at most 1/(eθ), whatever a wide upper bound says.
        size = min(size, 1.0 / (math.e * theta)) or 1.0 / (2.5 * theta**2 * sigma)
        allowed = 0.04 * rtol * size
        return Goal(theta, eta, sigma, allowed, math.log(allowed * math.e * theta))

    @property
    def centre(self) -> float:
        """The u of Chernoff's bound that would do for a normal X."""
        return math.sqrt(max(1.0, -2.0 * self.log_tail)) / self.sigma


def fitted(goal: Goal, above: Chernoff, below: Chernoff) -> Window | None:
    """The window for these tails; None where it would need frequencies out of range."""
    theta, eta, allowed = goal.theta, goal.eta, goal.allowed
    decay = 4.0 - math.log(allowed * theta)
    right_end = max(above.reach(goal.log_tail), (decay + math.log(decay)) / theta)
    left_end = max(below.reach(goal.log_tail), 0.0)
    # A step of few digits makes every frequency mh exact; rounding it down widens the window.
    step = rounded_down(2.0 * math.pi / (right_end + left_end))
    period = 2.0 * math.pi / step
    right_end = (period * (1.0 - 4.0 * U) - left_end) * (1.0 - 4.0 * U)
    if not theta * right_end > 1.0:  # nearly all of the window lies below 0
        return None
    wrap = _wrap(theta, period, right_end, min(1.0, above.tail(right_end) + below.tail(left_end)))

    # E f loses less than the density does, whose share is η² of it.
    cut = math.sqrt(2.0 * max(1.0, math.log(eta / (3.0 * allowed))))
    if not cut / step < 1e15 * eta:
        return None
    modes = max(1, math.ceil(cut / (eta * step)))
    last = modes * step
    beyond = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last) * (1.0 + 1e-9)
    share = 0.5 / theta + eta * cut / math.pi
    return Window(eta, step, modes, wrap, beyond / last**2, beyond, allowed / share)


@dataclass(frozen=True)
class Chernoff:
    """Pr[Y ≥ end] ≤ e^{log_moment − u·end} for Y = X or Y = −X and one u > 0."""

    u: float
    log_moment: float

    def reach(self, log_tail: float) -> float:
        """The end beyond which the probability is at most e^{log_tail}."""
        return (self.log_moment - log_tail) / self.u

    def tail(self, end: float, size: float = 0.0) -> float:
        """Bound of the probability beyond `end`, which was rounded from numbers of that `size`."""
        rounding = 16.0 * U * (abs(self.log_moment) + self.u * (abs(end) + size))
        return math.exp(min(0.0, self.log_moment - self.u * end + rounding))

    @staticmethod
    def best(u: FloatArray, log_moment: FloatArray, log_tail: float) -> Chernoff | None:
        """The one of several that reaches least far for e^{log_tail}; None where none holds."""
        usable = np.isfinite(log_moment) & (u > 0.0)
        if not usable.any():
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = np.where(usable, (log_moment - log_tail) / u, np.inf)
        where = int(np.argmin(reach))
        return Chernoff(float(u[where]), float(log_moment[where]))


def _tails(g: Law, tilted: Tilted, n: int, goal: Goal) -> list[Chernoff | None]:
    """The bounds that reach least far for tails of e^{log_tail}, above and below.

    u may lie many decades from its normal value, hence the logarithmic scale.
    """
    for factors in (CHERNOFF_FACTORS, _ALL_FACTORS):
        # K is evaluated at the floats θ ± u, without error; u is their distance from θ, to a
        # rounding for which `tail` and `log_moments` pay.
        point = tilted.theta + np.outer([1.0, -1.0], goal.centre * factors)
        u = np.abs(point - tilted.theta)
        k, k_err = (x.reshape(point.shape) for x in log_mgf(g, point.ravel()))
        moments = log_moments(k, k_err, point, tilted, n, goal.eta)
        found = [Chernoff.best(*row, goal.log_tail) for row in zip(u, moments, strict=True)]
        ends = zip(found, u[:, 0], u[:, -1], strict=True)
        if all(one is not None and low < one.u < high for one, low, high in ends):
            break
    return found


def log_moments(
    k: FloatArray,
    k_err: FloatArray,
    point: FloatArray,
    tilted: Tilted,
    n: int | FloatArray,
    eta: float | FloatArray,
) -> FloatArray:
    """Upper bounds of log E_Q e^{uX} for θ + u = `point`, u of either sign, from K there.

    All arrays broadcast, those in `tilted` too.
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
    """Bound of E f^P(X) − E f(X) when X is in [right_end − period, right_end) but for `outside`."""
    q = math.exp(-theta * period)
    copies = period * q / (1.0 - q) ** 2
    inside = math.exp(-theta * right_end) * (
        right_end / (1.0 - q) + copies
    )  # f falls beyond 1/θ, and right_end lies there
    return (inside + outside * (1.0 / (math.e * theta) + copies)) * (1.0 + 1e-9)


def rounded_down(x: float) -> float:
    """The largest float of 20 significant bits that is not above x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(mantissa * 2**20), exponent - 20)


# The characteristic function of a tilted law at runs of equally spaced frequencies.
#
# Notation as in `law`: φ(t) = E_Q e^{itG}. With t = t′ + t″ on a grid,
#
#     e^{itg} − 1 = (e^{it′g} − 1) + (e^{it″g} − 1) + (e^{it′g} − 1)(e^{it″g} − 1),
#
# so that φ − 1 at R·C frequencies takes R + C times J tangents and a product of matrices. Each
# factor keeps its relative precision near 0. The errors are derived in docs/engine.md, section 7.

# Frequencies times components: up to so many one by one, and so many at once as caches hold. Speed
# only (benchmarks/deployer_grid.py).
_FEW, _BLOCK = 2**12, 2**16


@dataclass(frozen=True, eq=False)
class Runs:
    """Frequencies (start + k·stride)·step for k = 0, …, length − 1 of each run, all exact floats.

    ``starts`` and ``lengths`` have shape (R,) and hold whole numbers; ``stride`` is one, too.
    """

    starts: FloatArray
    lengths: NDArray[np.int64]
    stride: int
    step: float

    @property
    def size(self) -> int:
        """How many frequencies there are."""
        return int(self.lengths.sum())

    def cut(self, width: int) -> Runs:
        """The same frequencies, in runs of at most `width`."""
        pieces = -(-self.lengths // width)
        piece = consecutive(np.zeros(pieces.size), pieces)
        lengths = np.minimum(np.repeat(self.lengths, pieces) - piece * width, width)
        starts = np.repeat(self.starts, pieces) + piece * float(width * self.stride)
        return Runs(starts, lengths.astype(np.int64), self.stride, self.step)

    def frequencies(self) -> FloatArray:
        """All of them, shape (size,)."""
        first = np.repeat(self.starts, self.lengths)
        return (first + consecutive(np.zeros(self.starts.size), self.lengths) * self.stride) * (
            self.step
        )


def consecutive(starts: FloatArray, lengths: NDArray[np.int64]) -> FloatArray:
    """Whole numbers that follow each start, as many as its length, the starts among them."""
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)


@dataclass(frozen=True, eq=False)
class Samples:
    """φ − 1 at frequencies t ≥ 0, and a bound of its error, all of shape (T,)."""

    t: FloatArray
    away: NDArray[np.complex128]
    err: FloatArray


def samples(law: Law, tilted: Tilted, runs: Runs) -> Iterator[Samples]:
    """φ − 1 at all frequencies of some runs, in the order of `Runs.frequencies`, by blocks."""
    if runs.size * law.values.size <= _FEW:
        t = runs.frequencies()
        yield Samples(t, *characteristic(law, tilted, t))
        return
    used = tilted.used
    g, w, err = law.values[used], tilted.weights[used], tilted.weight_err[used]
    widest = max(1, _BLOCK // max(1, g.size))
    width = min(math.isqrt(runs.size - 1) + 1, int(runs.lengths.max()), widest)
    rows = runs.cut(width)
    short = _away(np.arange(float(width)) * (runs.stride * runs.step), g)
    short_sum = short @ w
    relative = w * (err + 140.0 * U + 6.0 * law.sum_err)
    absolute = float((w * (1.0 + err)) @ (2.0 * U * np.abs(g) + law.value_err[used]))
    left_out = 2.0 * tilted.left_out + 2.0**-1000
    count = max(1, _BLOCK // max(g.size, width))
    inside = np.arange(width)
    for part in (slice(i, i + count) for i in range(0, rows.starts.size, count)):
        starts = rows.starts[part]
        long = w * _away(starts * runs.step, g)
        away = long @ short.T
        away += long.sum(axis=1)[:, None]
        away += short_sum
        t = (starts[:, None] + inside * float(runs.stride)) * runs.step
        reach = t[:, -1]
        slip = np.minimum(np.multiply.outer(reach, np.abs(g)), 2.0) @ relative
        slip += reach * absolute + left_out
        kept = inside < rows.lengths[part, None]
        yield Samples(t[kept], away[kept], np.repeat(slip, rows.lengths[part]))


def _away(t: FloatArray, g: FloatArray) -> NDArray[np.complex128]:
    """e^{itg} − 1, shape (T, J), real and imaginary part each good relatively."""
    y = np.multiply.outer(t, g)
    away = np.empty(y.shape, dtype=np.complex128)
    away.real, away.imag = away_from_one(y)
    return away


# Which modes of a window can matter, and what those left out can add up to.
#
# Proofs: docs/engine.md, section 4.


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
    used = tilted.used
    rows = g.values[used], g.value_err[used], tilted.weights[used], tilted.weight_err[used]
    largest = np.abs(g.values).max()
    bounds = tilted_moments(*rows, tilted.left_out, np.array(tilted.mean), largest)
    low, high, fourth = map(float, bounds)
    scan = Scan.of(low, high, fourth, tilted.theta, n, window)
    starts, lengths = np.array([0.0, scan.start]), np.array([scan.near, 0])
    if scan.stride == 1:
        lengths[1] = window.modes + 1 - scan.start
        return NeededModes(_nonempty(starts, lengths, window.step), scan.value, scan.density)
    edges, count = scan.stretches(window)
    looked_at = Runs(edges[:1], np.array([edges.size]), scan.stride, window.step)
    found = list(samples(g, tilted, looked_at))
    t = np.concatenate([part.t for part in found])
    square = np.concatenate([(np.abs(1.0 + part.away) + part.err) ** 2 for part in found])
    width = scan.stride * window.step
    log_bound = stretches(square + 8.0 * U, t, width, high, n, window.eta)
    skip = log_bound < math.log(window.negligible)
    with np.errstate(under="ignore"):
        each = 2.0 * count[skip] * np.exp(log_bound[skip])
    density = scan.density + float(each.sum()) * (1.0 + 1e-9)
    share = each / (tilted.theta**2 + t[:-1][skip] ** 2)
    value = scan.value + float(np.sum(share)) * (1.0 + 1e-9)
    starts = np.concatenate([starts, edges[:-1][~skip]])
    lengths = np.concatenate([lengths, count[~skip]])
    return NeededModes(_nonempty(starts, lengths, window.step), value, density)


def _nonempty(starts: FloatArray, lengths: NDArray[np.int64], step: float) -> Runs:
    """Runs of modes next to each other, without those of length 0."""
    return Runs(starts[lengths > 0], lengths[lengths > 0], 1, step)


@dataclass(frozen=True)
class Scan:
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
    def of(low: float, high: float, fourth: float, theta: float, n: int, window: Window) -> Scan:
        """From bounds of the tilted variance, lower and upper, and of the fourth moment."""
        eta, step = window.eta, window.step
        last = window.modes * step
        depth = -math.log(window.negligible)
        rate = 0.25 * n * low + 0.5 * eta**2
        near = math.sqrt(depth / rate) if low > 0.0 else math.inf
        if not near < 0.5 * last or not low > 0.0:
            return Scan(0, 0, 1, 0.0, 0.0)
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
        return Scan(evaluated, start, stride, value, density)

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
