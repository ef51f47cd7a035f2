"""`joint_supremum`: D of the worst dataset of a joint report, from moments of its coordinates.

A pattern fixes, for each coordinate, the victim's two inputs and another user's input. The number
of patterns is a product: eight attributes have 5⁸ patterns, and each has thousands of outputs. But
moments of (a − e^ε b)/R(x) are sums of products over coordinates, so that one matrix product has
the moments of all patterns.

With L(s) = Σ R(x) e^{s u/R(x)}, u = a − e^ε b, and heads that report from d = τc,

    D(ε) ≤ max 1/(n(1 − τ)) Σ_j ω_j (τ + (1 − τ)|L(z_j)|)ⁿ + (1 − τΣc)^{n−1}

for any 0 < τ < 1, θ, η and h, which are the same for all patterns; L(θ) may take the place of
|L(z_j)|. The series of L(s) − 1 has the terms

    s^k {r Σ_{p+q=k} (−e^ε)^q/(p! q!) Π_i μ_i(p, q) + (1 − r) (1 − e^ε)^k/k!},

where μ_i(p, q) is Σ a^p b^q R(x)^{1−p−q} over the outputs of coordinate i, and r is the probability
that a user takes part. docs/proofs/closing-the-gap.md, section 8, proves it, and bounds the
remainder of the series.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, Kinds, OtherInput
from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U

# Largest number of patterns, which takes about a second for each ε.
MAX_PATTERNS = 2_000_000
# Largest number of rows on either side, which takes about a hundred megabytes.
MAX_ROWS = 5000
# Degrees at which series may end, in the order of trial (with two of them, D may be 1.5 times as
# large). All constants below decide about speed and width only, except for the errors.
DEGREES = (8, 24, 64)
# Largest logarithm of a power of likelihood ratios, so that powers stay in the range of floats.
MAX_LOG_POWER = 500.0
# Relative error of masses or of products of moments beyond which there is no bound. Up to it, the
# factor 1.01 covers what the first order of errors leaves out.
MAX_RELATIVE_ERROR = 1e-4
# Relative error of the product of up to a hundred rates.
RATE_ERR = 128.0 * U
# Largest error of log D that round-off and the remainder of the series may cause.
MAX_LOG_ERROR = 1e-3
# Tilts that are tried, in units of one over the standard deviation of S.
TILTS = np.geomspace(0.5, 40.0, 30)
# Tilts that are tried then, in units of the best one: 7 % of D.
FINER_TILTS = np.geomspace(0.85, 1.18, 9)
# Standard deviations of the smoothing that are tried, times the tilt: 8 % of D against three.
SMOOTHINGS = (0.06, 0.12, 0.25, 0.4, 0.6, 0.8)
# Average number of heads of the first aim.
FIRST_HEADS = 20.0
# Negative logarithm of the share of D, at which later aims set the term without heads.
LOG_NO_HEADS = 6.0
# Largest share of the blanket that heads may use.
MAX_BLANKET_SHARE = 0.9
# Relative size of the modes beyond the last one.
SMALLEST_MODE = 3e-3
# Factor by which another pattern must exceed the estimate for another aim.
MIN_EXCESS = 1.02
# Largest number of aims; with one, D may be thousands of times as large.
MAX_AIMS = 2
# Number of patterns whose L(θ) is evaluated together.
BLOCK = 2**18
# Largest number of modes and moments over all patterns whose |L(z_j)| are evaluated. Without it, a
# sample of nine k-RR reports takes more than the budget of work where 100 users ask for δ = 10⁻³.
MAX_INSPECTED = 2**23


@dataclass(frozen=True, eq=False)
class CoordinateMoments:
    """Π_i μ_i(p, q) of patterns: those of a row of ``left`` times those of one of ``right``.

    Columns are the pairs (``p``, ``q``) with p + q ≤ ``degree``, of which the first, (0, 0), stands
    for the mass of all outputs. ``rel_err`` is by how much a product may be off, ``most`` the
    largest of any pattern, ``ends`` those of (degree + 1, 0) and (0, degree + 1), and ``ratio`` the
    largest likelihood ratio.
    """

    left: FloatArray
    right: FloatArray
    p: NDArray[np.int64]
    q: NDArray[np.int64]
    degree: int
    rel_err: FloatArray
    most: FloatArray
    ends: FloatArray
    ratio: float

    def series(self, eps: float, rate: float) -> Series:
        """Return the series of L in products, for users who take part with probability `rate`."""
        orders = np.arange(1.0, self.degree + 1.0)
        powers_of_a, powers_of_b = (
            np.cumprod(np.append(1.0, x / orders)) for x in (1.0, -math.exp(eps))
        )
        absent_terms = np.cumprod(-math.expm1(eps) / orders)
        degrees = self.p + self.q - 1
        terms = np.zeros((degrees.size, self.degree))
        terms[np.arange(degrees.size), degrees] = rate * powers_of_a[self.p] * powers_of_b[self.q]
        terms[0] = (1.0 - rate) * absent_terms
        rounding = (8.0 * self.degree + 192.0 + degrees.size) * U
        doubts = np.abs(terms) * (1.01 * (self.rel_err + rounding))[:, None]
        # The rate is a rounded product where users are sampled again and again.
        doubts[0] += RATE_ERR * np.abs(absent_terms)
        return Series(self, eps, terms, doubts)


@dataclass(frozen=True, eq=False)
class Series:
    """L − 1 of patterns: the coefficients are products times ``terms``, shape (columns, degree).

    They may be off by products times ``doubts``.
    """

    moments: CoordinateMoments
    eps: float
    terms: FloatArray
    doubts: FloatArray

    def powers(self, z: NDArray) -> NDArray:
        """Return the powers of z of degrees 1, 2, …, shape (degree, Z)."""
        return np.cumprod(np.repeat(z[None], self.moments.degree, axis=0), axis=0)

    def errors(self, products: FloatArray, size: FloatArray) -> FloatArray:
        """Return upper bounds of the error of L where |z| is `size`, shape (…, Z)."""
        total: FloatArray = products @ self.doubts @ self.powers(size)
        next_degree = self.moments.degree + 1.0
        for k in range(2):
            slope = size * math.exp(self.eps * k)
            ratio = slope * self.moments.ratio / (next_degree + 1.0)
            first = np.exp(
                np.minimum(next_degree * np.log(slope) - math.lgamma(next_degree + 1.0), 700.0)
            )
            remainder = 1.001 * float(self.moments.ends[k]) * first / (1.0 - ratio)
            total = total + np.where(ratio < 0.9, remainder, math.inf)
        return total

    def derivative(self, theta: float, order: int) -> tuple[FloatArray, float]:
        """Return the weights of products that make a derivative of L at θ, and an error bound.

        The derivative of order 0 is L − 1. The error bound holds for every pattern.
        """
        k = np.arange(1.0, self.moments.degree + 2.0)
        # k!/(k − d)! θ^{k−d}
        falling = np.prod([np.maximum(k - d, 0.0) for d in range(order)], axis=0)
        factors = falling * theta ** np.maximum(k - order, 0.0)
        err = float(self.moments.most @ self.doubts @ factors[:-1])
        next_degree, exponent_left = k[-1], k[-1] - order
        size = exponent_left * math.log(theta) - math.lgamma(exponent_left + 1.0)
        for side in range(2):
            slope = theta * math.exp(self.eps * side)
            ratio = slope * self.moments.ratio / (exponent_left + 1.0)
            exponent = size + side * self.eps * next_degree
            if not (ratio < 0.9 and exponent < 700.0):
                return self.terms @ factors[:-1], math.inf
            remainder = 1.001 * float(self.moments.ends[side]) * math.exp(exponent) / (1.0 - ratio)
            err += remainder
        return self.terms @ factors[:-1], err


@lru_cache(maxsize=8)
def coordinate_moments(kinds: Kinds, degree: int) -> CoordinateMoments | None:
    """Return those of all patterns; None if R(x) is 0 in one, or ratios are too far apart."""
    p, q = np.array([(k - q, q) for k in range(degree + 1) for q in range(k + 1)]).T
    parts = [_KindSums.of(count, crowds, degree + 1) for count, crowds in kinds]
    sums = [part for part in parts if part is not None]
    if len(sums) < len(parts):
        return None
    logs = np.sum([part.logs for part in sums], axis=0)
    rel_err = np.sum([part.base + part.step * (p + q) for part in sums], axis=0)
    if not (logs.max() * (degree + 1.0) < MAX_LOG_POWER and rel_err.max() < MAX_RELATIVE_ERROR):
        return None
    left, right = (
        reduce(_all_products, [sums[i].rows(p, q) for i in sorted(side)], np.ones((1, p.size)))
        for side in _sides(kinds)
    )
    left[:, 0], right[:, 0] = 1.0, 1.0
    largest, ratio = left.max(axis=0) * right.max(axis=0), 1.01 * math.exp(float(logs[1]))
    ends = 1.01 * np.prod([part.ends for part in sums], axis=0)
    return CoordinateMoments(left, right, p, q, degree, 1.01 * rel_err, largest, ends, ratio)


class _KindSums(NamedTuple):
    """The moments of ``times`` equal coordinates for all inputs, and bounds of their products.

    A product is off by at most ``base`` + (p + q) ``step``; ``ends`` and ``logs`` are those of
    `_Sums` for the product.
    """

    times: int
    products: list[FloatArray]
    base: float
    step: float
    ends: FloatArray
    logs: FloatArray

    @staticmethod
    def of(count: int, crowds: tuple[Crowd, ...], degree: int) -> _KindSums | None:
        """Return those up to this p and q; None if R(x) is 0 in one."""
        sums = [_Sums.of(crowd, held, degree) for crowd, held in _inputs_of_crowds(crowds)]
        valid_sums = [entry for entry in sums if entry is not None]
        if len(valid_sums) < len(sums):
            return None
        products, base, step, ends, logs = zip(*valid_sums, strict=True)
        return _KindSums(
            count,
            list(products),
            count * (max(base) + U),
            count * max(step),
            np.max(ends, axis=0) ** count,
            count * np.max(logs, axis=0),
        )

    def rows(self, p: NDArray[np.int64], q: NDArray[np.int64]) -> FloatArray:
        """Return the products at these p and q for all choices of inputs."""
        columns = [products[p, q] for products in self.products]
        choices = itertools.combinations_with_replacement(columns, self.times)
        return np.stack([reduce(np.multiply, choice) for choice in choices])


def _all_products(rows: FloatArray, other_rows: FloatArray) -> FloatArray:
    """Return the products of each row with each other row."""
    return (rows[:, None] * other_rows).reshape(-1, rows.shape[1])


class _Sums(NamedTuple):
    """μ(p, q) of a coordinate, off by ``base`` + (p + q) ``step``; ``ends`` are those of one ratio.

    ``logs`` are those of the largest of 1/ratio and of ratio, of all likelihood ratios.
    """

    products: FloatArray
    base: float
    step: float
    ends: tuple[float, float]
    logs: tuple[float, float]

    @staticmethod
    def of(crowd: Crowd, held: OtherInput, degree: int) -> _Sums | None:
        """Return the sums for p and q up to `degree`; None if R(x) is 0 at a victim's report."""
        a, b = held.pieces(crowd.a), held.pieces(crowd.b)
        possible = (a > 0.0) | (b > 0.0)
        a, b, law = a[possible], b[possible], held.law[possible]
        if not (law > 0.0).all():
            return None
        ratios = np.stack([a / law, b / law])
        powers_of_a, powers_of_b = (np.vander(x, degree + 1, increasing=True).T for x in ratios)
        err, sums = compounded(crowd.rel_err, held.rel_err), (powers_of_a * law) @ powers_of_b.T
        base, step = err + (law.size + 4.0) * U, 2.0 * err + 4.0 * U
        logs = np.log(ratios[ratios > 0.0])
        largest = max(0.0, -float(logs.min())), max(0.0, float(logs.max()))
        return _Sums(sums, base, step, (float(sums[-1, 0]), float(sums[0, -1])), largest)


def _inputs_of_crowds(crowds: tuple[Crowd, ...]) -> list[tuple[Crowd, OtherInput]]:
    return [(crowd, held) for crowd in crowds for held in crowd.others.values()]


def _size(count: int, crowds: tuple[Crowd, ...]) -> int:
    return math.comb(len(_inputs_of_crowds(crowds)) + count - 1, count)


def _sides(kinds: Kinds) -> tuple[list[int], list[int]]:
    """Return the kinds that make rows on the left and on the right, about equally many."""
    sides: tuple[list[int], list[int]] = ([], [])
    rows = [1, 1]
    for i in sorted(range(len(kinds)), key=lambda i: -_size(*kinds[i])):
        fewer = int(rows[0] > rows[1])
        sides[fewer].append(i)
        rows[fewer] *= _size(*kinds[i])
    return sides


def pattern_count(kinds: Kinds) -> int:
    """Return the number of patterns."""
    return math.prod(_size(*kind) for kind in kinds)


def is_feasible(kinds: Kinds) -> bool:
    """Return whether the number of patterns is within the limits."""
    rows = (math.prod(_size(*kinds[i]) for i in side) for side in _sides(kinds))
    return max(rows) <= MAX_ROWS and pattern_count(kinds) <= MAX_PATTERNS


@dataclass(frozen=True)
class _Line:
    """τ, and the line of integration: tilt, smoothing, step and number of modes."""

    tau: float
    theta: float
    eta: float
    step: float
    modes: int

    @staticmethod
    def of(tau: float, theta: float, smoothing: float, sigma: float) -> _Line:
        """Return the line for a sum with standard deviation `sigma`; `smoothing` is ηθ."""
        eta = smoothing / theta
        step = 2.0 * math.pi / (8.0 * sigma + 16.0 / theta)
        modes = max(1, math.ceil(math.sqrt(-2.0 * math.log(SMALLEST_MODE)) / (eta * step)))
        return _Line(tau, theta, eta, step, modes)

    def weights(self) -> FloatArray:
        """Return the weights of t = 0, ±h, …, without e^{η²θ²/2} and h/2π, shape (modes + 1,)."""
        t = np.arange(self.modes + 1.0) * self.step
        weights: FloatArray = np.where(t == 0.0, 1.0, 2.0) / (self.theta**2 + t**2)
        return weights * np.exp(-0.5 * (self.eta * t) ** 2 * (1.0 - 8.0 * U))

    def logs(self, growth: FloatArray, totals: FloatArray, n: int) -> FloatArray:
        """Return the logarithms of what patterns give in the maximum, shape (N,).

        ``growth`` is L(θ) − 1. ``totals`` are the sums over the modes of their weights times powers
        of q = τ + (1 − τ)|L|, in units of the power of the first mode.
        """
        top = n * np.log1p((1.0 - self.tau) * growth)
        last = self.modes * self.step
        tail = math.exp(-0.5 * (self.eta * last) ** 2) / (math.pi * self.eta**2 * last**3)
        totals = (totals * self.step / (2.0 * math.pi) + tail) * (1.0 + 1e-9)
        factor = 0.5 * (self.theta * self.eta) ** 2 - math.log(n) - math.log1p(-self.tau)
        log_values: FloatArray = top + np.log(totals) + factor
        return log_values + 1e-13 * (1.0 + np.abs(top) + math.log(n))

    def sums(self, sizes: FloatArray, n: int) -> FloatArray:
        """Return the sums of the modes' weights times powers, shape (N,).

        ``sizes`` are |L(z_j)| − 1, shape (N, modes + 1).
        """
        # |L(z_j)| is at most L(θ), and less than what rounding leaves of it near 0 is of no use.
        sizes = np.clip((1.0 - self.tau) * sizes, -1.0 + 1e-15, (1.0 - self.tau) * sizes[:, :1])
        logs = n * np.log1p(sizes)
        powers = np.exp(np.maximum(logs - logs[:, :1], -700.0))
        totals: FloatArray = powers @ self.weights()
        return totals

    def smooth(self, shape: _Shape, variances: FloatArray, n: int) -> FloatArray:
        """Return upper bounds of the terms of `sums`, shape (V, modes + 1).

        They hold for patterns with at least these variances, shape (V,).
        """
        t = np.arange(self.modes + 1.0) * self.step
        fourth = t**4 * shape.fourth / 24.0 if shape.fourth < math.inf else math.inf
        falls = np.maximum(t**2 * variances[:, None] - fourth, 0.0)
        powers = np.exp(-0.5 * n * shape.share * (1.0 - 1e-9) * falls)
        terms: FloatArray = powers * self.weights()
        return terms


class _Shape(NamedTuple):
    """What is known of L near θ, of several patterns.

    ``growth`` is at least L(θ) − 1 and ``variances`` at most that of X = u/R(x) under the tilted
    law; ``fourth`` at least the fourth moment of the difference of two independent X there, of any
    of them, and ``share`` at most (1 − τ)L(θ)/q(θ).
    """

    growth: FloatArray
    variances: FloatArray
    fourth: float
    share: float

    @staticmethod
    def of(series: Series, line: _Line, sums: Callable[[FloatArray], FloatArray]) -> _Shape:
        """Return the shape; `sums` takes weights to the weighted sums of patterns' products."""
        moments, errors = [], []
        for order in (0, 1, 2, 4):
            weights, err = series.derivative(line.theta, order)
            moments.append(sums(weights))
            errors.append(err)
        growth = moments[0] + errors[0]
        lower = 1.0 + moments[0] - errors[0] - 8.0 * U * (1.0 + np.abs(moments[0]))
        mean, second, fourth = (
            (np.abs(moment) + err) / lower
            for moment, err in zip(moments[1:], errors[1:], strict=True)
        )
        variances = np.maximum(moments[2] - errors[2], 0.0) / (1.0 + growth) - mean**2
        variances *= 1.0 - 1e-9
        fourth_difference = 2.0 * fourth + 8.0 * mean * np.sqrt(second * fourth) + 6.0 * second**2
        scaled = (1.0 - line.tau) * lower
        if not (np.isfinite(fourth_difference).all() and (lower > 0.0).all()):
            return _Shape(growth, np.zeros_like(growth), math.inf, 0.0)
        share = float((scaled / (line.tau + scaled)).min())
        return _Shape(
            growth, np.maximum(variances, 0.0), float(fourth_difference.max()) * (1 + 1e-9), share
        )


def joint_supremum(kinds: Kinds, rate: float, eps: float, n: int, hopeless: float = 1.0) -> float:
    """Return an upper bound of D(ε) over all datasets and pairs of inputs of a joint report.

    There are n ≥ 2 users, each of whom takes part with probability `rate`. The bound is 1 if
    nothing better can be claimed, or if its estimate is above `hopeless`.
    """
    question, bound = _JointQuestion(kinds, rate, eps, n), 1.0
    patterns = [question.widest()]
    for _ in range(MAX_AIMS):
        aim = question.aim(patterns)
        if aim is None or not aim[0] < hopeless:
            break
        estimate, line = aim
        main, worst = question.largest(line, patterns)
        bound = min(bound, (main + question.no_heads(line)) * (1.0 + 8.0 * U))
        if main <= MIN_EXCESS * estimate or worst in patterns:
            break
        # An aim that suits one pattern may not suit another.
        patterns.append(worst)
    return bound if bound < 1.0 else 1.0


# The rows of a pattern on the left and on the right.
_Pattern = tuple[int, int]


@dataclass(frozen=True)
class _JointQuestion:
    """The question for D(ε) of n users of a joint report, each of whom takes part at a rate."""

    kinds: Kinds
    rate: float
    eps: float
    n: int

    @property
    def sure(self) -> float:
        """A lower bound of the sum of c of any pattern."""
        product = 1.0
        for count, crowds in self.kinds:
            rounding = max(crowd.rel_err + (crowd.c.size + 8.0) * U for crowd in crowds)
            product *= (
                min(float(crowd.c.sum()) for crowd in crowds) * (1.0 - 1.01 * rounding)
            ) ** count
        absent = max(0.0, 1.0 - self.rate - RATE_ERR)
        return (self.rate * product + absent) * (1.0 - 1e-12)

    def no_heads(self, line: _Line) -> float:
        """Return an upper bound of (1 − λ)^{n−1}."""
        exponent = (self.n - 1) * math.log1p(-line.tau * self.sure)
        return math.exp(exponent * (1.0 - 8.0 * U)) * (1.0 + 8.0 * U)

    def widest(self) -> _Pattern:
        """Return the pattern with the largest mean of (u/R(x))², at first."""
        series = _series(self.kinds, DEGREES[0], self.eps, self.rate)
        if series is None:
            return 0, 0
        spreads = (series.moments.left * series.terms[:, 1]) @ series.moments.right.T
        i, j = np.unravel_index(int(np.argmax(spreads)), spreads.shape)
        return int(i), int(j)

    def series(self, line: _Line, modes: int) -> Series | None:
        """Return the series of the smallest degree that suffices for `modes`, or the best one."""
        best = None
        largest_z = math.hypot(line.theta, modes * line.step)
        for degree in DEGREES:
            candidate = _series(self.kinds, degree, self.eps, self.rate)
            if candidate is None:
                break
            sizes = np.array([line.theta, largest_z])
            near_err, far_err = candidate.errors(candidate.moments.most, sizes) * self.n
            best = candidate if near_err < MAX_LOG_ERROR else best
            if max(near_err, far_err) < MAX_LOG_ERROR:
                break
        return best

    def log_bounds(self, i: NDArray[np.int64], j: NDArray[np.int64], line: _Line) -> FloatArray:
        """Return bounds of the log sums of the patterns with rows i and j, inf if unknown."""
        series = self.series(line, line.modes)
        if series is None:
            return np.full(i.size, math.inf)
        products = series.moments.left[i] * series.moments.right[j]
        spend(5.0 * products.size + 60.0 * i.size * line.modes)
        sizes = self._sizes(series, products, line)
        logs = line.logs(sizes[:, 0], line.sums(sizes, self.n), self.n)
        bounds: FloatArray = np.where(np.isnan(logs), math.inf, logs)
        return bounds

    def _sizes(self, series: Series, products: FloatArray, line: _Line) -> FloatArray:
        """Return upper bounds of |L(z_j)| − 1, shape (N, modes + 1)."""
        z = line.theta + 1j * line.step * np.arange(line.modes + 1.0)
        away = products @ series.terms @ series.powers(z)
        real, imag = away.real, away.imag
        # |1 + x| − 1, with no cancellation but that of the numerator.
        excess = (2.0 * real + (real**2 + imag**2)) / (np.hypot(1.0 + real, imag) + 1.0)
        err = series.errors(products, np.abs(z)) + 32.0 * U * (np.abs(real) + np.abs(imag))
        sizes: FloatArray = excess + err
        return sizes

    def aim(self, patterns: list[_Pattern]) -> tuple[float, _Line] | None:
        """Return an estimate and the line that suits these patterns, None with too few heads."""
        start = _series(self.kinds, DEGREES[0], self.eps, self.rate)
        if start is None or not self.sure > 0.0:
            return None
        i, j = np.array(patterns).T
        squares = (start.moments.left[i] * start.moments.right[j]) @ start.terms[:, 1]
        sigma = math.sqrt(max(2.0 * self.n * float(squares.max()), 1e-300))
        theta, heads = self._tilt(i, j, TILTS / sigma), FIRST_HEADS
        smoothings: tuple[float, ...] = SMOOTHINGS
        for tilts in (np.ones(1), FINER_TILTS):
            tau = heads / ((self.n - 1) * self.sure)
            if not tau < MAX_BLANKET_SHARE:
                return None
            lines = [
                _Line.of(tau, t, x, sigma) for t in (theta * tilts).tolist() for x in smoothings
            ]
            spend(3e5 * len(lines))
            log_values = [float(self.log_bounds(i, j, line).max()) for line in lines]
            best = int(np.argmin(log_values))
            # The same smoothing will do for other heads.
            theta, smoothings = lines[best].theta, (lines[best].eta * lines[best].theta,)
            heads = max(LOG_NO_HEADS - log_values[best], 1.0)
        return math.exp(min(log_values[best], 1.0)), lines[best]

    def _tilt(self, i: NDArray[np.int64], j: NDArray[np.int64], tilts: FloatArray) -> float:
        """Return the tilt with the smallest estimate for the patterns, with normal sums."""
        for degree in DEGREES:
            series = _series(self.kinds, degree, self.eps, self.rate)
            if series is None:
                break
            products = series.moments.left[i] * series.moments.right[j]
            k = np.arange(1.0, degree + 1.0)
            growth, slope, curvature = (
                (products @ series.terms * factor) @ series.powers(tilts)
                for factor in (1.0, k, k * (k - 1.0))
            )
            with np.errstate(all="ignore"):
                spread = curvature / (1.0 + growth) - (slope / (1.0 + growth)) ** 2
                y = np.sqrt(0.5 * self.n * np.maximum(spread, 0.0))
                # e^{y²} erfc(y) is about 2/√π divided by `normal`.
                normal = y + np.sqrt(y**2 + 4.0 / math.pi)
                logs = self.n * np.log1p(growth) - np.log(tilts * normal)
            err = series.errors(series.moments.most, tilts) * self.n
            logs = np.where((err < MAX_LOG_ERROR) & np.isfinite(logs), logs, math.inf).max(axis=0)
            best = int(np.argmin(logs))
            if best + 1 < tilts.size and logs[best + 1] < math.inf:
                break
        return float(tilts[best])

    def largest(self, line: _Line, patterns: list[_Pattern]) -> tuple[float, _Pattern]:
        """Return the largest of all patterns, and which it is, or seems to be.

        Those given are looked at first.
        """
        # This series need not be accurate far from θ.
        series = self.series(line, 0)
        if series is None:
            return math.inf, patterns[0]
        left, right = series.moments.left, series.moments.right
        spend(len(left) * len(right) * (30.0 + 0.2 * right.shape[1]))
        given_left, given_right = np.array(patterns).T
        logs = self.log_bounds(given_left, given_right, line)
        best, best_pattern = float(logs.max()), patterns[int(np.argmax(logs))]
        rows, budget = max(1, BLOCK // len(right)), float(MAX_INSPECTED)
        for first in range(0, len(left), rows):
            sums = partial(_sums_of_products, left[first : first + rows], right)
            top = self._tops(_Shape.of(series, line, sums), line)
            if np.isnan(top).any():
                return math.inf, patterns[0]
            open_patterns = np.argwhere(top > best)
            open_patterns = open_patterns[np.argsort(-top[tuple(open_patterns.T)])]
            for start in range(0, len(open_patterns), BLOCK // 256):
                batch = open_patterns[start : start + BLOCK // 256]
                highest, i, j = float(top[tuple(batch[0])]), first + batch[:, 0], batch[:, 1]
                if highest <= best:
                    break
                if budget < 0.0:
                    best, best_pattern = highest, (int(i[0]), int(j[0]))
                    break
                budget -= len(batch) * (line.modes + right.shape[1])
                logs = self.log_bounds(i, j, line)
                k = int(np.argmax(logs))
                if logs[k] > best:
                    best, best_pattern = float(logs[k]), (int(i[k]), int(j[k]))
        return math.exp(best) if best < 1.0 else math.inf, best_pattern

    def _tops(self, shape: _Shape, line: _Line) -> FloatArray:
        """Return rough upper bounds of the logarithms of all patterns' sums."""
        low, high = float(shape.variances.min()), float(shape.variances.max())
        levels = np.linspace(low, high, 30)
        level_index = np.searchsorted(levels, shape.variances, side="right") - 1
        totals = line.smooth(shape, levels, self.n).sum(axis=1)
        logs = line.logs(shape.growth, totals[level_index], self.n)
        return logs + 1e-9 * (1.0 + np.abs(logs))


def _sums_of_products(left: FloatArray, right: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sums of weights times products for all pairs of rows."""
    sums: FloatArray = (left * weights) @ right.T
    return sums


@lru_cache(maxsize=8)
def _series(kinds: Kinds, degree: int, eps: float, rate: float) -> Series | None:
    moments_ = coordinate_moments(kinds, degree)
    return None if moments_ is None else moments_.series(eps, rate)
