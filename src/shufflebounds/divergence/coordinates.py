"""`joint_supremum`: D of the worst dataset of a joint report, from moments of its coordinates.

What the coordinates may be, the victim's inputs and another user's, multiplies: eight attributes
have 5⁸ patterns, of which each has thousands of outputs. But moments of (a − e^ε b)/R(x) are sums
of products over coordinates, and a matrix product has those of all patterns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, Kinds, OtherInput
from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U

# A pattern says of each coordinate what the victim's two inputs and another user's are. With
# L(s) = Σ R(x) e^{s u/R(x)}, u = a − e^ε b, and heads that report from d = τc,
#
#     D(ε) ≤ max 1/(n(1 − τ)) Σ_j ω_j (τ + (1 − τ)|L(z_j)|)ⁿ + (1 − τΣc)^{n−1}
#
# for any 0 < τ < 1, θ, η and h, which are the same for all patterns; L(θ) may take the place of
# |L(z_j)|. The series of L(s) − 1 has the terms
#
#     s^k {r Σ_{p+q=k} (−e^ε)^q/(p! q!) Π_i μ_i(p, q) + (1 − r) (1 − e^ε)^k/k!},
#
# μ_i(p, q) being Σ a^p b^q R(x)^{1−p−q} over the outputs of coordinate i, and r the probability
# that a user takes part.
# docs/closing-the-gap.md, section 8, proves it, and what is added for the end of the series.

# Patterns of the coordinates' inputs, the victim's and another user's, and of those of either side:
# a second for each ε, and a hundred megabytes.
_MOST_PATTERNS, _MOST_ROWS = 2_000_000, 5000
# All but the errors that are charged decides about speed and width only (benchmarks/mechanisms.py).
#
# Degrees at which series may end.
_DEGREES = (8, 14, 24, 40, 64)
# Powers of likelihood ratios keep within floats, and the first order of errors covers them.
_LARGEST_LOG, _MOST_DOUBT = 500.0, 1e-4
# By how much the product of up to a hundred rates may be off.
_RATE_ERR = 128.0 * U
# How much round-off and the end of the series may add to the logarithm of D; and what is aimed at
# where |z| is so many times the tilt.
_NEGLIGIBLE, _ENOUGH, _REACH = 1e-3, 0.1, 6.0
# Tilts that are tried in standard deviations of S, then around the best; smoothings in terms of the
# tilt.
_TILTS, _CLOSER = np.geomspace(0.5, 40.0, 60), np.geomspace(0.85, 1.18, 9)
# e^{y²} erfc(y) is about 2/√π over y + √(y² + this).
_NORMAL = 4.0 / math.pi
_SMOOTHINGS = (0.06, 0.12, 0.25, 0.4, 0.6, 0.8)
# Heads on average: at first, as many as make what is left of D where there are none e^−6 of it, at
# least and at most. What share of c they may take.
_HEADS, _MORE_HEADS, _FEWEST_HEADS, _MOST_HEADS, _MOST_TAU = 20.0, 6.0, 4.0, 700.0, 0.5
# Relative size of the modes beyond the last one. Standard deviations of S, and the share of the
# first mode, beyond which modes need not be evaluated.
_BEYOND, _NEAR, _FAR = 3e-3, 8.0, 1e-6
# Where another pattern has so much more than those which were aimed at, all are aimed at, up to
# so many times.
_AIM_AGAIN, _LOOKS = 1.02, 3
# Patterns of which L(θ) is looked at together, or |L(z_j)|, and of all the latter, how many modes
# and moments are taken.
_BLOCK, _TOGETHER, _MOST_LOOKED = 2**18, 1000, 2**23
# Levels of variances that are told apart before.
_VARIANCES = 100


@dataclass(frozen=True, eq=False)
class Moments:
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
        """What makes of products the terms of L, of users who take part with probability `rate`."""
        orders = np.arange(1.0, self.degree + 1.0)
        one, two = (np.cumprod(np.append(1.0, x / orders)) for x in (1.0, -math.exp(eps)))
        absent = np.cumprod(-math.expm1(eps) / orders)
        places = self.p + self.q - 1
        terms = np.zeros((places.size, self.degree))
        terms[np.arange(places.size), places] = rate * one[self.p] * two[self.q]
        terms[0] = (1.0 - rate) * absent
        rounding = (8.0 * self.degree + 192.0 + places.size) * U
        doubts = np.abs(terms) * (1.01 * (self.rel_err + rounding))[:, None]
        # The rate is a rounded product where users are sampled again and again.
        doubts[0] += _RATE_ERR * np.abs(absent)
        return Series(self, eps, terms, doubts)


@dataclass(frozen=True, eq=False)
class Series:
    """L − 1 of patterns: the coefficients are products times ``terms``, shape (columns, degree).

    They may be off by products times ``doubts``.
    """

    moments: Moments
    eps: float
    terms: FloatArray
    doubts: FloatArray

    def powers(self, z: NDArray) -> NDArray:
        """Of degrees 1, 2, …, shape (degree, Z)."""
        return np.cumprod(np.repeat(z[None], self.moments.degree, axis=0), axis=0)

    def errors(self, products: FloatArray, size: FloatArray) -> FloatArray:
        """By how much L may be off where |z| is of this size, shape (…, Z)."""
        found: FloatArray = products @ self.doubts @ self.powers(size)
        after = self.moments.degree + 1.0
        for k in range(2):
            slope = size * math.exp(self.eps * k)
            part = slope * self.moments.ratio / (after + 1.0)
            first = np.exp(np.minimum(after * np.log(slope) - math.lgamma(after + 1.0), 700.0))
            rest = 1.001 * float(self.moments.ends[k]) * first / (1.0 - part)
            found = found + np.where(part < 0.9, rest, math.inf)
        return found

    def derivative(self, theta: float, order: int) -> tuple[FloatArray, float]:
        """Weights of products that make a derivative of L at θ, and what it may be off by.

        Of order 0 it is L − 1. Of any pattern.
        """
        k = np.arange(1.0, self.moments.degree + 2.0)
        # k!/(k − d)! θ^{k−d}
        falling = np.prod([np.maximum(k - d, 0.0) for d in range(order)], axis=0)
        factors = falling * theta ** np.maximum(k - order, 0.0)
        off = float(self.moments.most @ self.doubts @ factors[:-1])
        after, left = k[-1], k[-1] - order
        size = left * math.log(theta) - math.lgamma(left + 1.0)
        for one in range(2):
            slope = theta * math.exp(self.eps * one)
            part = slope * self.moments.ratio / (left + 1.0)
            exponent = size + one * self.eps * after
            if not (part < 0.9 and exponent < 700.0):
                return self.terms @ factors[:-1], math.inf
            rest = 1.001 * float(self.moments.ends[one]) * math.exp(exponent) / (1.0 - part)
            off += rest
        return self.terms @ factors[:-1], off


@lru_cache(maxsize=8)
def moments(kinds: Kinds, degree: int) -> Moments | None:
    """Of all patterns; None where R(x) is 0 in one, or ratios are too far apart."""
    p, q = np.array([(k - q, q) for k in range(degree + 1) for q in range(k + 1)]).T
    left, right = np.ones((1, p.size)), np.ones((1, p.size))
    rel_err, logs, ends = np.zeros(p.size), np.zeros(2), np.ones(2)
    on_left = _sides(kinds)[0]
    for i, (count, crowds) in enumerate(kinds):
        found = [_Sums.of(crowd, held, degree + 1) for crowd, held in _held(crowds)]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        logs += count * np.max([one.logs for one in known], axis=0)
        if not logs.max() * (degree + 1.0) < _LARGEST_LOG:
            return None
        rel_err += count * (max(one.base for one in known) + U)
        rel_err += count * max(one.step for one in known) * (p + q)
        ends *= np.max([one.ends for one in known], axis=0) ** count
        columns = [one.products[p, q] for one in known]
        chosen = itertools.combinations_with_replacement(columns, count)
        rows = np.stack([reduce(np.multiply, one) for one in chosen])
        if i in on_left:
            left = (left[:, None] * rows).reshape(-1, p.size)
        else:
            right = (right[:, None] * rows).reshape(-1, p.size)
    if not float(rel_err.max()) < _MOST_DOUBT:
        return None
    left[:, 0], right[:, 0] = 1.0, 1.0
    most, ratio = left.max(axis=0) * right.max(axis=0), 1.01 * math.exp(float(logs[1]))
    return Moments(left, right, p, q, degree, 1.01 * rel_err, most, 1.01 * ends, ratio)


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
        """Up to this p and q; None where R(x) is 0 in some."""
        a, b = held.pieces(crowd.a), held.pieces(crowd.b)
        told = (a > 0.0) | (b > 0.0)
        a, b, law = a[told], b[told], held.law[told]
        if not (law > 0.0).all():
            return None
        ratios = np.stack([a / law, b / law])
        one, two = (np.vander(x, degree + 1, increasing=True).T for x in ratios)
        off, sums = compounded(crowd.rel_err, held.rel_err), (one * law) @ two.T
        base, step = off + (law.size + 4.0) * U, 2.0 * off + 4.0 * U
        logs = np.log(ratios[ratios > 0.0])
        largest = max(0.0, -float(logs.min())), max(0.0, float(logs.max()))
        return _Sums(sums, base, step, (float(sums[-1, 0]), float(sums[0, -1])), largest)


def _held(crowds: tuple[Crowd, ...]) -> list[tuple[Crowd, OtherInput]]:
    return [(crowd, held) for crowd in crowds for held in crowd.others.values()]


def _size(count: int, crowds: tuple[Crowd, ...]) -> int:
    return math.comb(len(_held(crowds)) + count - 1, count)


def _sides(kinds: Kinds) -> tuple[list[int], list[int]]:
    """Which kinds make rows on the left and on the right, about as many."""
    sides: tuple[list[int], list[int]] = ([], [])
    rows = [1, 1]
    for i in sorted(range(len(kinds)), key=lambda i: -_size(*kinds[i])):
        fewer = int(rows[0] > rows[1])
        sides[fewer].append(i)
        rows[fewer] *= _size(*kinds[i])
    return sides


def pattern_count(kinds: Kinds) -> int:
    """How many patterns there are."""
    return math.prod(_size(*one) for one in kinds)


def is_feasible(kinds: Kinds) -> bool:
    """Whether all patterns may be looked at."""
    rows = (math.prod(_size(*kinds[i]) for i in side) for side in _sides(kinds))
    return max(rows) <= _MOST_ROWS and pattern_count(kinds) <= _MOST_PATTERNS


@dataclass(frozen=True)
class _Line:
    """τ, and the line of integration: tilt, smoothing, step, modes, and how many of them count."""

    tau: float
    theta: float
    eta: float
    step: float
    modes: int
    near: int

    @staticmethod
    def of(tau: float, theta: float, smoothing: float, sigma: float) -> _Line:
        eta = smoothing / theta
        step = 2.0 * math.pi / (8.0 * sigma + 16.0 / theta)
        modes = max(1, math.ceil(math.sqrt(-2.0 * math.log(_BEYOND)) / (eta * step)))
        return _Line(tau, theta, eta, step, modes, min(modes, math.ceil(_NEAR / (sigma * step))))

    def weights(self, modes: int) -> FloatArray:
        """Of t = 0, ±h, … in the sum, without e^{η²θ²/2} and h/2π, shape (modes + 1,)."""
        t = np.arange(modes + 1.0) * self.step
        weights: FloatArray = np.where(t == 0.0, 1.0, 2.0) / (self.theta**2 + t**2)
        return weights * np.exp(-0.5 * (self.eta * t) ** 2 * (1.0 - 8.0 * U))

    def logs(self, growth: FloatArray, totals: FloatArray, n: int) -> FloatArray:
        """Logarithms of what patterns give in the maximum, shape (N,).

        By L(θ) − 1, and by what the modes' weights times powers of q = τ + (1 − τ)|L| sum to, in
        units of the power of the first.
        """
        top = n * np.log1p((1.0 - self.tau) * growth)
        last = self.modes * self.step
        beyond = math.exp(-0.5 * (self.eta * last) ** 2) / (math.pi * self.eta**2 * last**3)
        totals = (totals * self.step / (2.0 * math.pi) + beyond) * (1.0 + 1e-9)
        factor = 0.5 * (self.theta * self.eta) ** 2 - math.log(n) - math.log1p(-self.tau)
        found: FloatArray = top + np.log(totals) + factor
        return found + 1e-13 * (1.0 + np.abs(top) + math.log(n))

    def sums(self, sizes: FloatArray, n: int) -> FloatArray:
        """What the first modes' weights times powers sum to, by |L(z_j)| − 1, shape (N, modes)."""
        # |L(z_j)| is at most L(θ), and less than what rounding leaves of it near 0 is of no use.
        sizes = np.clip((1.0 - self.tau) * sizes, -1.0 + 1e-15, (1.0 - self.tau) * sizes[:, :1])
        logs = n * np.log1p(sizes)
        powers = np.exp(np.maximum(logs - logs[:, :1], -700.0))
        found: FloatArray = powers @ self.weights(sizes.shape[1] - 1)
        return found

    def smooth(self, shape: _Shape, variances: FloatArray, n: int) -> FloatArray:
        """The same mode by mode, shape (V, modes + 1), of at least these variances; from above."""
        t = np.arange(self.modes + 1.0) * self.step
        fourth = t**4 * shape.fourth / 24.0 if shape.fourth < math.inf else math.inf
        falls = np.maximum(t**2 * variances[:, None] - fourth, 0.0)
        powers = np.exp(-0.5 * n * shape.share * (1.0 - 1e-9) * falls)
        found: FloatArray = powers * self.weights(self.modes)
        return found


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
        """By the sums of patterns' products times weights."""
        moments, errors = [], []
        for order in (0, 1, 2, 4):
            weights, off = series.derivative(line.theta, order)
            moments.append(sums(weights))
            errors.append(off)
        growth = moments[0] + errors[0]
        least = 1.0 + moments[0] - errors[0] - 8.0 * U * (1.0 + np.abs(moments[0]))
        mean, second, fourth = (
            (np.abs(one) + off) / least for one, off in zip(moments[1:], errors[1:], strict=True)
        )
        variances = np.maximum(moments[2] - errors[2], 0.0) / (1.0 + growth) - mean**2
        variances *= 1.0 - 1e-9
        apart = 2.0 * fourth + 8.0 * mean * np.sqrt(second * fourth) + 6.0 * second**2
        sure = (1.0 - line.tau) * least
        if not (np.isfinite(apart).all() and (least > 0.0).all()):
            return _Shape(growth, np.zeros_like(growth), math.inf, 0.0)
        share = float((sure / (line.tau + sure)).min())
        return _Shape(growth, np.maximum(variances, 0.0), float(apart.max()) * (1 + 1e-9), share)


def joint_supremum(kinds: Kinds, rate: float, eps: float, n: int, hopeless: float = 1.0) -> float:
    """Upper bound of D(ε) of n ≥ 2 users over all datasets and pairs of inputs of a joint report.

    Each user takes part with probability `rate`. 1 where nothing better can be claimed, or the
    bound promises to be above `hopeless`.
    """
    asked, found = _Asked(kinds, rate, eps, n), 1.0
    patterns = [asked.widest()]
    for _ in range(_LOOKS):
        aim = asked.aim(patterns)
        if aim is None or not aim[0] < hopeless:
            break
        promised, line = aim
        main, worst = asked.largest(line, patterns)
        found = min(found, (main + asked.no_heads(line)) * (1.0 + 8.0 * U))
        if main <= _AIM_AGAIN * promised or worst in patterns:
            break
        # What suits one of them may not suit another.
        patterns.append(worst)
    return found if found < 1.0 else 1.0


# Its rows on the left and on the right.
_Pattern = tuple[int, int]


@dataclass(frozen=True)
class _Asked:
    """D of so many users of a joint report at ε, each of whom takes part at a rate."""

    kinds: Kinds
    rate: float
    eps: float
    n: int

    @property
    def sure(self) -> float:
        """The sum of c, of any pattern, from below."""
        found = 1.0
        for count, crowds in self.kinds:
            rounding = max(one.rel_err + (one.c.size + 8.0) * U for one in crowds)
            found *= (min(float(one.c.sum()) for one in crowds) * (1.0 - 1.01 * rounding)) ** count
        absent = max(0.0, 1.0 - self.rate - _RATE_ERR)
        return (self.rate * found + absent) * (1.0 - 1e-12)

    def no_heads(self, line: _Line) -> float:
        """Upper bound of (1 − λ)^{n−1}."""
        exponent = (self.n - 1) * math.log1p(-line.tau * self.sure)
        return math.exp(exponent * (1.0 - 8.0 * U)) * (1.0 + 8.0 * U)

    def widest(self) -> _Pattern:
        """The pattern with the largest mean of (u/R(x))², at first."""
        series = _series(self.kinds, _DEGREES[0], self.eps, self.rate)
        if series is None:
            return 0, 0
        spreads = (series.moments.left * series.terms[:, 1]) @ series.moments.right.T
        i, j = np.unravel_index(int(np.argmax(spreads)), spreads.shape)
        return int(i), int(j)

    def series(self, line: _Line, modes: int) -> Series | None:
        """Of the least degree that is enough for so many modes, if any is."""
        found = None
        most = min(math.hypot(line.theta, modes * line.step), _REACH * line.theta)
        for degree in _DEGREES:
            one = _series(self.kinds, degree, self.eps, self.rate)
            if one is None:
                break
            sizes = np.array([line.theta, most])
            near, far = one.errors(one.moments.most, sizes) * self.n
            found = one if near < _NEGLIGIBLE else found
            if near < _NEGLIGIBLE and far < _ENOUGH:
                break
        return found

    def log_bounds(
        self, i: NDArray[np.int64], j: NDArray[np.int64], line: _Line, *, near: bool = True
    ) -> tuple[FloatArray, int, int]:
        """Logarithms of what patterns give, by their rows on either side; infinite if unknown.

        And how many modes and moments that took. Of all modes unless the `near` ones may do.
        """
        for modes in (line.near, line.modes)[not near :]:
            series = self.series(line, modes)
            if series is None:
                break
            products = series.moments.left[i] * series.moments.right[j]
            spend(5.0 * products.size + 60.0 * i.size * modes)
            shape = _Shape.of(series, line, products.__matmul__)
            rest = line.smooth(shape, shape.variances.min(keepdims=True), self.n)[0, modes + 1 :]
            far = float(rest.sum())
            if far < _FAR * float(line.weights(0)[0]):
                sizes = self._sizes(series, products, line, modes)
                growth = np.maximum(shape.growth, sizes[:, 0])
                found = line.logs(growth, line.sums(sizes, self.n) + far, self.n)
                return np.where(np.isnan(found), math.inf, found), modes, products.shape[1]
        return np.full(i.size, math.inf), line.modes, 0

    def _sizes(self, series: Series, products: FloatArray, line: _Line, modes: int) -> FloatArray:
        """Upper bounds of |L(z_j)| − 1, shape (N, modes + 1)."""
        z = line.theta + 1j * line.step * np.arange(modes + 1.0)
        away = products @ series.terms @ series.powers(z)
        real, imag = away.real, away.imag
        # |1 + x| − 1, with no cancellation but that of the numerator.
        more = (2.0 * real + (real**2 + imag**2)) / (np.hypot(1.0 + real, imag) + 1.0)
        off = series.errors(products, np.abs(z)) + 32.0 * U * (np.abs(real) + np.abs(imag))
        found: FloatArray = more + off
        return found

    def aim(self, patterns: list[_Pattern]) -> tuple[float, _Line] | None:
        """What suits these patterns, and their bound; None where the blanket has too few heads."""
        start = _series(self.kinds, _DEGREES[0], self.eps, self.rate)
        if start is None or not self.sure > 0.0:
            return None
        i, j = np.array(patterns).T
        squares = (start.moments.left[i] * start.moments.right[j]) @ start.terms[:, 1]
        sigma = math.sqrt(max(2.0 * self.n * float(squares.max()), 1e-300))
        heads, smoothings = _HEADS, list(_SMOOTHINGS)
        theta = self._tilt(i, j, _TILTS / sigma)
        for tilts in (np.ones(1), _CLOSER):
            tau = heads / ((self.n - 1) * self.sure)
            if not tau < _MOST_TAU:
                return None
            tried = self._tried(i, j, tau, theta * tilts, sigma, smoothings)
            found = min(tried, key=lambda one: one[0])
            # The same smoothing will do for other heads.
            theta, smoothings = found[1].theta, [found[1].eta * found[1].theta]
            heads = min(max(_MORE_HEADS - found[0], _FEWEST_HEADS), _MOST_HEADS)
        return math.exp(min(found[0], 1.0)), found[1]

    def _tilt(self, i: NDArray[np.int64], j: NDArray[np.int64], tilts: FloatArray) -> float:
        """That at which an estimate of what the patterns give is least, with normal sums."""
        for degree in _DEGREES:
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
                logs = self.n * np.log1p(growth) - np.log(tilts * (y + np.sqrt(y**2 + _NORMAL)))
            off = series.errors(series.moments.most, tilts) * self.n
            logs = np.where((off < _NEGLIGIBLE) & np.isfinite(logs), logs, math.inf).max(axis=0)
            best = int(np.argmin(logs))
            if best + 1 < tilts.size and logs[best + 1] < math.inf:
                break
        return float(tilts[best])

    def _tried(
        self,
        i: NDArray[np.int64],
        j: NDArray[np.int64],
        tau: float,
        tilts: FloatArray,
        sigma: float,
        smoothings: list[float],
    ) -> Iterator[tuple[float, _Line]]:
        """Logarithms of what lines give for some patterns, and the lines."""
        lost = math.inf
        for theta in tilts.tolist():
            for smoothing in smoothings:
                line = _Line.of(tau, theta, smoothing, sigma)
                spend(3e5)
                last = line.modes * line.step
                logs, modes, _ = self.log_bounds(i, j, line, near=last < lost)
                if modes == line.modes > line.near:
                    lost = min(lost, last)
                yield float(logs.max()), line
                if modes < line.modes:
                    break  # more smoothing would only cost

    def largest(self, line: _Line, patterns: list[_Pattern]) -> tuple[float, _Pattern]:
        """The largest of all patterns, and which it is, or seems to be.

        Those given are looked at first.
        """
        # Of what is known near θ only, and with its errors.
        series = self.series(line, line.near // 3)
        if series is None:
            return math.inf, patterns[0]
        left, right = series.moments.left, series.moments.right
        spend(len(left) * len(right) * (30.0 + 0.2 * right.shape[1]))
        i, j = np.array(patterns).T
        logs, modes, _ = self.log_bounds(i, j, line)
        best, looked, near = float(logs.max()), 0, modes < line.modes
        where = patterns[int(np.argmax(logs))]
        rows = max(1, _BLOCK // len(right))
        for first in range(0, len(left), rows):
            sums = partial(_summed, left[first : first + rows], right)
            top = self._tops(_Shape.of(series, line, sums), line)
            if np.isnan(top).any():
                return math.inf, patterns[0]
            open_ = np.argwhere(top > best)
            open_ = open_[np.argsort(-top[tuple(open_.T)])]
            for start in range(0, len(open_), _TOGETHER):
                some = open_[start : start + _TOGETHER]
                highest = float(top[tuple(some[0])])
                if highest <= best:
                    break
                if looked > _MOST_LOOKED:
                    best, where = highest, (first + int(some[0, 0]), int(some[0, 1]))
                    break
                above, beside = first + some[:, 0], some[:, 1]
                logs, modes, columns = self.log_bounds(above, beside, line, near=near)
                near, looked = modes < line.modes, looked + len(some) * (modes + columns)
                k = int(np.argmax(logs))
                if logs[k] > best:
                    best, where = float(logs[k]), (int(above[k]), int(beside[k]))
        return math.exp(best) if best < 1.0 else math.inf, where

    def _tops(self, shape: _Shape, line: _Line) -> FloatArray:
        """Logarithms of what patterns give at most, roughly."""
        low, high = float(shape.variances.min()), float(shape.variances.max())
        levels = np.linspace(low, high, _VARIANCES)
        at = np.searchsorted(levels, shape.variances, side="right") - 1
        totals = line.smooth(shape, levels, self.n).sum(axis=1)
        found = line.logs(shape.growth, totals[at], self.n)
        return found + 1e-9 * (1.0 + np.abs(found))


def _summed(left: FloatArray, right: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of weights times products, of all pairs of rows."""
    found: FloatArray = (left * weights) @ right.T
    return found


@lru_cache(maxsize=8)
def _series(kinds: Kinds, degree: int, eps: float, rate: float) -> Series | None:
    some = moments(kinds, degree)
    return None if some is None else some.series(eps, rate)
