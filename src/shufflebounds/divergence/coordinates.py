"""`joint_supremum`: D of the worst dataset of a joint report, from moments of its coordinates.

What the coordinates may be, the victim's inputs and another user's, multiplies: eight attributes
have 5⁸ patterns, of which each has thousands of outputs. But moments of (a − e^ε b)/R(x) are sums
of products over coordinates, and a matrix product has those of all patterns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, Held, Kinds
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
#     s^k Σ_{p+q=k} (−e^ε)^q/(p! q!) Π_i μ_i(p, q),
#
# μ_i(p, q) being Σ a^p b^q R(x)^{1−p−q} over the outputs of coordinate i.
# docs/closing-the-gap.md, section 8, proves it, and what is added for the end of the series.

# Patterns of the coordinates' inputs, the victim's and another user's, and of those of either side:
# a second for each ε, and a hundred megabytes.
_MOST_PATTERNS, _MOST_ROWS = 2_000_000, 5000
# Degrees at which series may end.
_DEGREES = (24, 40, 64)
# Powers of likelihood ratios keep within floats, and the first order of errors covers them.
_LARGEST_LOG, _MOST_DOUBT = 500.0, 1e-4
# How much round-off and the end of the series may add to the logarithm of D; and what is aimed at
# where |z| is so many times the tilt.
_NEGLIGIBLE, _ENOUGH, _REACH = 1e-3, 0.1, 6.0
# Tilts that are tried in standard deviations of S, then around the best; smoothings in terms of the
# tilt.
_TILTS, _CLOSER = np.geomspace(0.5, 40.0, 24), np.geomspace(0.85, 1.18, 9)
_SMOOTHINGS = (0.06, 0.12, 0.25, 0.4, 0.6, 0.8)
# Heads on average: at first, as many as make what is left of D where there are none e^−6 of it, at
# least and at most. What share of c they may take.
_HEADS, _MORE_HEADS, _FEWEST_HEADS, _MOST_HEADS, _MOST_TAU = 20.0, 6.0, 4.0, 700.0, 0.5
# Relative size of the modes beyond the last one.
_BEYOND = 1e-6
# Where another pattern has so much more than that which was aimed at, aim at it.
_AIM_AGAIN = 1.02
# Patterns of which L(θ) is looked at together, entries of other arrays, and of how many patterns
# all |L(z_j)| are taken.
_BLOCK, _ENTRIES, _MOST_LOOKED = 2**18, 2**21, 15_000


@dataclass(frozen=True, eq=False)
class Moments:
    """Π_i μ_i(p, q) of patterns: those of a row of ``left`` times those of one of ``right``.

    Columns are the pairs (``p``, ``q``) with 1 ≤ p + q ≤ ``degree``. ``rel_err`` is by how much a
    product may be off, ``most`` the largest of any pattern, ``ends`` those of (degree + 1, 0) and
    (0, degree + 1), and ``ratio`` the largest likelihood ratio.
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

    def series(self, eps: float) -> Series:
        """What makes of a pattern's products the terms of its L."""
        orders = np.arange(1.0, self.degree + 1.0)
        one, two = (np.cumprod(np.append(1.0, x / orders)) for x in (1.0, -math.exp(eps)))
        values, places = one[self.p] * two[self.q], self.p + self.q - 1
        terms = np.zeros((values.size, self.degree))
        terms[np.arange(values.size), places] = values
        rounding = (8.0 * places + 60.0 + values.size) * U
        doubts = np.abs(terms) * (1.01 * (self.rel_err + rounding))[:, None]
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


@lru_cache(maxsize=8)
def moments(kinds: Kinds, degree: int) -> Moments | None:
    """Of all patterns; None where R(x) is 0 in one, or ratios are too far apart."""
    p, q = np.array([(k - q, q) for k in range(1, degree + 1) for q in range(k + 1)]).T
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
    def of(crowd: Crowd, held: Held, degree: int) -> _Sums | None:
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


def _held(crowds: tuple[Crowd, ...]) -> list[tuple[Crowd, Held]]:
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
    """τ, and the line of integration: tilt, smoothing, step, and modes that are evaluated."""

    tau: float
    theta: float
    eta: float
    step: float
    modes: int

    @staticmethod
    def of(tau: float, theta: float, smoothing: float, sigma: float) -> _Line:
        eta = smoothing / theta
        step = 2.0 * math.pi / (8.0 * sigma + 16.0 / theta)
        modes = math.ceil(math.sqrt(-2.0 * math.log(_BEYOND)) / (eta * step))
        return _Line(tau, theta, eta, step, max(1, modes))

    def log_bounds(self, growth: FloatArray, sizes: FloatArray, n: int) -> FloatArray:
        """Logarithms of what patterns give in the maximum, shape (N,).

        By q − 1, q = τ + (1 − τ)|L|, of L(θ), shape (N,), and of L(z_j), (N, modes + 1).
        """
        t = np.arange(self.modes + 1.0) * self.step
        weights = np.where(t == 0.0, 1.0, 2.0) / (self.theta**2 + t**2)
        weights *= np.exp(-0.5 * (self.eta * t) ** 2 * (1.0 - 8.0 * U))
        top = n * np.log1p(growth)
        # |L(z_j)| is at most L(θ), and less than what rounding leaves of it near 0 is of no use.
        exponents = n * np.log1p(np.clip(sizes, -1.0 + 1e-15, growth[:, None])) - top[:, None]
        total = np.exp(np.maximum(exponents, -700.0)) @ weights
        last = float(t[-1])
        beyond = math.exp(-0.5 * (self.eta * last) ** 2) / (math.pi * self.eta**2 * last**3)
        total = (total * self.step / (2.0 * math.pi) + beyond) * (1.0 + 1e-9)
        factor = 0.5 * (self.theta * self.eta) ** 2 - math.log(n) - math.log1p(-self.tau)
        found: FloatArray = top + np.log(total) + factor
        return found + 1e-13 * (1.0 + np.abs(top) + math.log(n))


def joint_supremum(kinds: Kinds, eps: float, n: int, hopeless: float = 1.0) -> float:
    """Upper bound of D(ε) of n ≥ 2 users over all datasets and pairs of inputs of a joint report.

    1 where nothing better can be claimed, or the bound promises to be above `hopeless`.
    """
    asked, found = _Asked(kinds, eps, n), 1.0
    i, j = asked.widest()
    for _ in range(2):
        aim = asked.aim(i, j)
        if aim is None or not aim[0] < hopeless:
            break
        promised, line = aim
        main, worst = asked.largest(line)
        found = min(found, (main + asked.no_heads(line)) * (1.0 + 8.0 * U))
        if worst is None or not _AIM_AGAIN * promised < main < hopeless:
            break
        i, j = worst
    return found if found < 1.0 else 1.0


@dataclass(frozen=True)
class _Asked:
    """D of so many users of a joint report at ε."""

    kinds: Kinds
    eps: float
    n: int

    @property
    def sure(self) -> float:
        """The sum of c, of any pattern, from below."""
        found = 1.0
        for count, crowds in self.kinds:
            rounding = max(one.rel_err + (one.c.size + 8.0) * U for one in crowds)
            found *= (min(float(one.c.sum()) for one in crowds) * (1.0 - 1.01 * rounding)) ** count
        return found * (1.0 - 1e-12)

    def no_heads(self, line: _Line) -> float:
        """Upper bound of (1 − λ)^{n−1}."""
        exponent = (self.n - 1) * math.log1p(-line.tau * self.sure)
        return math.exp(exponent * (1.0 - 8.0 * U)) * (1.0 + 8.0 * U)

    def widest(self) -> tuple[int, int]:
        """The pattern with the largest mean of (u/R(x))², at first."""
        series = _series(self.kinds, _DEGREES[0], self.eps)
        if series is None:
            return 0, 0
        spreads = (series.moments.left * series.terms[:, 1]) @ series.moments.right.T
        i, j = np.unravel_index(int(np.argmax(spreads)), spreads.shape)
        return int(i), int(j)

    def series(self, theta: float) -> Series | None:
        """Of the least degree that is enough, if any is."""
        found = None
        for degree in _DEGREES:
            one = _series(self.kinds, degree, self.eps)
            if one is None:
                break
            near, far = one.errors(one.moments.most, theta * np.array([1.0, _REACH])) * self.n
            found = one if near < _NEGLIGIBLE else found
            if near < _NEGLIGIBLE and far < _ENOUGH:
                break
        return found

    def log_bounds(self, series: Series, products: FloatArray, line: _Line) -> FloatArray:
        """Logarithms of what patterns give, by their products of moments, shape (N, columns)."""
        z = line.theta + 1j * line.step * np.append(0.0, np.arange(line.modes + 1.0))
        away, off = products @ series.terms @ series.powers(z), series.errors(products, np.abs(z))
        real, imag = away.real, away.imag
        # |1 + x| − 1, with no cancellation but that of the numerator.
        more = (2.0 * real + (real**2 + imag**2)) / (np.hypot(1.0 + real, imag) + 1.0)
        more = more + off + 32.0 * U * (np.abs(real) + np.abs(imag))
        more *= 1.0 - line.tau
        found = line.log_bounds(more[:, 0], more[:, 1:], self.n)
        return np.where(np.isnan(found), math.inf, found)

    def aim(self, i: int, j: int) -> tuple[float, _Line] | None:
        """What suits one pattern, and its bound; None where the blanket has too few heads."""
        start = _series(self.kinds, _DEGREES[0], self.eps)
        if start is None or not self.sure > 0.0:
            return None
        products = start.moments.left[i] * start.moments.right[j]
        sigma = math.sqrt(max(2.0 * self.n * float(products @ start.terms[:, 1]), 1e-300))
        heads = _HEADS
        for _ in range(2):
            tau, centre = heads / ((self.n - 1) * self.sure), 1.0 / sigma
            if not tau < _MOST_TAU:
                return None
            for around in (_TILTS, _CLOSER):
                tried = list(self._tried(i, j, tau, centre * around, sigma))
                if not tried:
                    return None
                found = min(tried, key=lambda one: one[0])
                centre = found[1].theta
            heads = min(max(_MORE_HEADS - found[0], _FEWEST_HEADS), _MOST_HEADS)
        return math.exp(min(found[0], 1.0)), found[1]

    def _tried(
        self, i: int, j: int, tau: float, tilts: FloatArray, sigma: float
    ) -> Iterator[tuple[float, _Line]]:
        """Logarithms of what lines give for one pattern, and the lines."""
        for theta in tilts.tolist():
            series = self.series(theta)
            if series is None:
                return
            products = (series.moments.left[i] * series.moments.right[j])[None]
            for smoothing in _SMOOTHINGS:
                line = _Line.of(tau, theta, smoothing, sigma)
                spend(1e3 * line.modes)
                yield float(self.log_bounds(series, products, line)[0]), line

    def largest(self, line: _Line) -> tuple[float, tuple[int, int] | None]:
        """The largest of all patterns, and its rows on the left and on the right, if known."""
        series = self.series(line.theta)
        if series is None:
            return math.inf, None
        left, right = series.moments.left, series.moments.right
        spend(0.2 * len(left) * len(right) * right.shape[1])
        tilt = np.array([line.theta])
        sums, off = (
            (series.terms @ series.powers(tilt))[:, 0],
            float(series.errors(series.moments.most, tilt)[0]),
        )
        # With no phases at all.
        flat = float(line.log_bounds(np.zeros(1), np.zeros((1, line.modes + 1)), self.n)[0])
        best, looked = -math.inf, 0
        where: tuple[int, int] | None = None
        rows = max(1, _BLOCK // len(right))
        size = max(1, _ENTRIES // (right.shape[1] + line.modes))
        for first in range(0, len(left), rows):
            growth = (left[first : first + rows] * sums) @ right.T
            top = self.n * np.log1p((1.0 - line.tau) * (growth + off)) + flat
            top += 1e-9 * (1.0 + np.abs(top))
            if np.isnan(top).any():
                return math.inf, None
            open_ = np.argwhere(top > best)
            open_ = open_[np.argsort(-top[tuple(open_.T)])]
            for start in range(0, len(open_), size):
                i, j = open_[start : start + size].T
                if top[i[0], j[0]] <= best:
                    break
                if looked > _MOST_LOOKED:
                    best, where = float(top[i[0], j[0]]), None
                    break
                looked += len(i)
                products = left[first + i] * right[j]
                spend(5.0 * products.size + 60.0 * len(i) * line.modes)
                logs = self.log_bounds(series, products, line)
                k = int(np.argmax(logs))
                if logs[k] > best:
                    best, where = float(logs[k]), (first + int(i[k]), int(j[k]))
        return math.exp(best) if best < 1.0 else math.inf, where


@lru_cache(maxsize=8)
def _series(kinds: Kinds, degree: int, eps: float) -> Series | None:
    some = moments(kinds, degree)
    return None if some is None else some.series(eps)
