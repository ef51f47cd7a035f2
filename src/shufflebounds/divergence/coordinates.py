"""`joint_supremum`: D of the worst dataset of a joint report, from moments of its coordinates.

What the coordinates may be, the victim's inputs and another user's, multiplies: eight attributes
have 5⁸ patterns, of which each has thousands of outputs. But moments of (a − e^ε b)/R(x) are sums
of products over coordinates, and a matrix product has those of all patterns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, Held, Kinds
from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U

# A pattern says of each coordinate what the victim's two inputs and another user's are. It has
# L(s) = Σ R(x) e^{s u/R(x)}, u = a − e^ε b, whose derivatives at θ are, but for L's own 1,
#
#     Σ_{k ≥ max(r, 1)} θ^{k−r}/(k−r)! Σ_{p+q=k} C(k, q) (−e^ε)^q Π_i μ_i(p, q),
#     μ_i(p, q) = Σ_y a^p b^q R(x)^{1−p−q} of coordinate i.
#
# With V the variance and E the mean of (G − G′)⁴ of the law of u/R(x) that is tilted by θ,
#
#     D(ε) ≤ max 1/(n(1 − τ)) Σ_j ω_j (τ + (1 − τ) L(θ) ψ(t_j))ⁿ + (1 − τΣc)^{n−1},
#     ψ(t)² = 1 − min(1, (t²V − t⁴E/24)₊),
#
# for any 0 < τ < 1, θ, η and h, which are the same for all patterns. docs/closing-the-gap.md,
# section 8, proves it, and that nothing is left out.

# Degrees at which series may end, and derivatives that are taken, L itself among them.
_DEGREES, _DERIVATIVES = (24, 40, 64), 5
# Powers of likelihood ratios keep within floats, and the first order of errors covers them.
_LARGEST_LOG, _MOST_DOUBT = 500.0, 1e-4
# How much the end of the series, and round-off, may add to the logarithm of D, and to nθ²V.
_NEGLIGIBLE, _SMALL = 1e-3, 1e-3
# Tilts that are tried in standard deviations of S, and the smoothing in terms of the tilt.
_TILTS, _SMOOTHINGS = np.geomspace(0.5, 40.0, 48), (0.06, 0.12, 0.25, 0.4)
# Heads on average: as many as make what is left of D where there are none a 3000th of it.
_HEADS, _MORE_HEADS, _FEWEST_HEADS, _MOST_HEADS, _MOST_TAU = 20.0, 8.0, 4.0, 700.0, 0.5
# Relative size of the modes beyond the last one.
_BEYOND = 1e-6
# Where another pattern has so much more than that which was aimed at, aim at it.
_AIM_AGAIN = 1.02
# Patterns looked at together, and modes times patterns.
_BLOCK, _MODES = 2**18, 2**20


@dataclass(frozen=True, eq=False)
class Moments:
    """Π_i μ_i(p, q) of all patterns: of one row of ``left`` and one of ``right`` each.

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

    def coefficients(self, eps: float, theta: float) -> FloatArray:
        """With which derivatives at θ are sums of the columns, shape (derivatives, columns)."""
        orders = np.arange(1.0, self.degree + 1.0)
        one, two = (np.cumprod(np.append(1.0, x / orders)) for x in (theta, -theta * math.exp(eps)))
        rows = [one[self.p] * two[self.q]]
        for r in range(1, _DERIVATIVES):
            rows.append(rows[-1] * (self.p + self.q - (r - 1.0)) / theta)
        return np.stack(rows)

    def errors(self, eps: float, theta: float, coefficients: FloatArray) -> FloatArray:
        """By how much derivatives of any pattern may be off, shape (derivatives,)."""
        rounding = (6.0 * (self.p + self.q) + 40.0 + self.p.size) * U
        found = np.abs(coefficients) @ (self.most * (self.rel_err + rounding))
        after = self.degree + 1.0
        for r, size in itertools.product(range(_DERIVATIVES), range(2)):
            slope = theta * math.exp(eps * size)
            part = slope * self.ratio / (after + 1.0 - r)
            if not part < 0.9:
                found[r] = math.inf
                continue
            log_first = after * math.log(slope) - r * math.log(theta) - math.lgamma(after + 1.0 - r)
            found[r] += 1.001 * self.ends[size] * math.exp(min(log_first, 700.0)) / (1.0 - part)
        return found


@lru_cache(maxsize=8)
def moments(kinds: Kinds, degree: int) -> Moments | None:
    """Of all patterns of coordinates; None where R(x) is 0 in one, or ratios are too far apart."""
    p, q = np.array([(k - q, q) for k in range(1, degree + 1) for q in range(k + 1)]).T
    sides = [np.ones((1, p.size)), np.ones((1, p.size))]
    rel_err, logs, ends = np.zeros(p.size), np.zeros(2), np.ones(2)
    for count, crowds in sorted(kinds, key=lambda kind: -_size(*kind)):
        options = [_Option.of(*one, degree + 1) for one in _held(crowds)]
        known = [one for one in options if one is not None]
        if len(known) < len(options):
            return None
        logs += count * np.array([min(one.least for one in known), max(one.most for one in known)])
        if not np.abs(logs).max() * (degree + 1.0) < _LARGEST_LOG:
            return None
        rel_err += count * (max(one.base for one in known) + U)
        rel_err += count * max(one.step for one in known) * (p + q)
        last = [[one.products[degree + 1, 0], one.products[0, degree + 1]] for one in known]
        ends *= np.max(last, axis=0) ** count
        some = [one.products[p, q] for one in known]
        chosen = itertools.combinations_with_replacement(some, count)
        rows = np.stack([reduce(np.multiply, one) for one in chosen])
        fewer = int(len(sides[0]) > len(sides[1]))
        sides[fewer] = (sides[fewer][:, None] * rows).reshape(-1, p.size)
    if not float(rel_err.max()) < _MOST_DOUBT:
        return None
    most = sides[0].max(axis=0) * sides[1].max(axis=0)
    ratio = math.exp(float(logs[1])) * 1.01
    left, right = sides
    return Moments(left, right, p, q, degree, 1.01 * rel_err, most, 1.01 * ends, ratio)


@dataclass(frozen=True, eq=False)
class _Option:
    """μ(p, q) of a coordinate, off by ``base`` + (p + q) ``step``; ends of logarithms of ratios."""

    products: FloatArray
    base: float
    step: float
    least: float
    most: float

    @staticmethod
    def of(crowd: Crowd, held: Held, degree: int) -> _Option | None:
        a, b = held.pieces(crowd.a), held.pieces(crowd.b)
        told = (a > 0.0) | (b > 0.0)
        a, b, law = a[told], b[told], held.law[told]
        if not (law > 0.0).all():
            return None
        ratios = np.stack([a / law, b / law])
        one, two = (np.vander(x, degree + 1, increasing=True).T for x in ratios)
        off = compounded(crowd.rel_err, held.rel_err)
        logs = np.log(ratios[ratios > 0.0])
        return _Option(
            (one * law) @ two.T,
            off + (law.size + 4.0) * U,
            2.0 * off + 4.0 * U,
            float(logs.min()),
            float(logs.max()),
        )


def _held(crowds: tuple[Crowd, ...]) -> list[tuple[Crowd, Held]]:
    return [(crowd, held) for crowd in crowds for held in crowd.others.values()]


def _size(count: int, crowds: tuple[Crowd, ...]) -> int:
    return math.comb(len(_held(crowds)) + count - 1, count)


def patterns(kinds: Kinds) -> int:
    """How many there are."""
    return math.prod(_size(*kind) for kind in kinds)


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


def joint_supremum(kinds: Kinds, eps: float, n: int, hopeless: float = 1.0) -> float:
    """Upper bound of D(ε) of n ≥ 2 users over all datasets and pairs of inputs of a joint report.

    1 where nothing better can be claimed, or the bound promises to be above `hopeless`.
    """
    start, sure = moments(kinds, _DEGREES[0]), _sure(kinds)
    if start is None or not sure > 0.0:
        return 1.0
    spreads = (start.left * _second(start, eps)) @ start.right.T
    i, j = (int(x) for x in np.unravel_index(int(np.argmax(spreads)), spreads.shape))
    found = 1.0
    for _ in range(2):
        aim = _aim(kinds, i, j, sure, eps, n)
        if aim is None or not aim[0] < hopeless:
            break
        promised, line = aim
        main, i, j = _largest(kinds, line, eps, n)
        chance = math.exp((n - 1) * math.log1p(-line.tau * sure) * (1.0 - 8.0 * U))
        found = min(found, (main + chance * (1.0 + 8.0 * U)) * (1.0 + 8.0 * U))
        if not main > _AIM_AGAIN * promised or not main < hopeless:
            break
    return found if found < 1.0 else 1.0


def _sure(kinds: Kinds) -> float:
    """What all others are sure to send in all, from below."""
    found = 1.0
    for count, crowds in kinds:
        rounding = max(one.rel_err + (one.c.size + 8.0) * U for one in crowds)
        found *= (min(float(one.c.sum()) for one in crowds) * (1.0 - 1.01 * rounding)) ** count
    return found * (1.0 - 1e-12)


def _second(start: Moments, eps: float) -> FloatArray:
    """Coefficients of the mean of (u/R)²."""
    found: FloatArray = np.where(start.p + start.q == 2.0, start.coefficients(eps, 1.0)[2], 0.0)
    return found


def _aim(
    kinds: Kinds, i: int, j: int, sure: float, eps: float, n: int
) -> tuple[float, _Line] | None:
    """The line that suits one pattern, and its T; None where the blanket has too few heads."""
    spend(1e8)
    laws, heads = list(_laws(kinds, i, j, eps, n)), _HEADS
    for _ in range(2):
        tau = heads / ((n - 1) * sure)
        if not (tau < _MOST_TAU and laws):
            return None
        lines = (
            (law, _Line.of(tau, theta, smoothing, math.sqrt(n * float(law.variance[0]))))
            for theta, law in laws
            for smoothing in _SMOOTHINGS
        )
        found = ((float(_log_bounds(law, n, line)[0]), line) for law, line in lines)
        least, line = min(found, key=lambda one: one[0])
        heads = min(max(_MORE_HEADS - least, _FEWEST_HEADS), _MOST_HEADS)
    return math.exp(min(least, 1.0)), line


def _laws(kinds: Kinds, i: int, j: int, eps: float, n: int) -> Iterator[tuple[float, _Tilted]]:
    """Tilts, and what is known of one pattern there."""
    start = moments(kinds, _DEGREES[0])
    assert start is not None
    spread = n * float(_second(start, eps) @ (start.left[i] * start.right[j]))
    for theta in (_TILTS / math.sqrt(spread)).tolist() if spread > 0.0 else []:
        found = _series(kinds, eps, theta, n)
        if found is None:
            return
        some, coefficients, errors = found
        values = coefficients @ (some.left[i] * some.right[j])
        yield theta, _tilted([np.atleast_1d(x) for x in values], errors)


def _series(
    kinds: Kinds, eps: float, theta: float, n: int
) -> tuple[Moments, FloatArray, FloatArray] | None:
    """Of the least degree that is enough at θ, with coefficients and errors."""
    for degree in _DEGREES:
        some = moments(kinds, degree)
        if some is None:
            return None
        coefficients = some.coefficients(eps, theta)
        errors = some.errors(eps, theta, coefficients)
        if n * errors[0] < _NEGLIGIBLE and n * theta**2 * errors[2] < _SMALL:
            return some, coefficients, errors
    return None


class _Tilted(NamedTuple):
    """L(θ) − 1 from above, V from below and E from above, of patterns, shape (N,) each."""

    growth: FloatArray
    variance: FloatArray
    fourth: FloatArray


def _tilted(derivatives: Sequence[FloatArray], errors: FloatArray) -> _Tilted:
    """Of derivatives at θ, known to within errors."""
    growth, *others = derivatives
    low, high = 1.0 + growth - errors[0], 1.0 + growth + errors[0]
    sizes = [(np.abs(x) + e) / low for x, e in zip(others, errors[1:], strict=True)]
    mean, second, third, fourth = sizes
    variance = (others[1] - errors[2]) / high * (1.0 - 1e-9) - mean**2 * (1.0 + 1e-9)
    central = fourth + 4.0 * mean * third + 6.0 * mean**2 * second
    spread = (2.0 * central + 6.0 * second**2) * (1.0 + 1e-9)
    safe = low > 0.0
    return _Tilted(
        np.where(safe, growth + errors[0], math.inf),
        np.where(safe, np.maximum(variance, 0.0), 0.0),
        np.where(safe, spread, math.inf),
    )


def _log_bounds(laws: _Tilted, n: int, line: _Line) -> FloatArray:
    """Logarithms of what patterns give in the maximum, shape (N,); inf where nothing is known."""
    growth, variance, fourth = laws
    t = np.arange(line.modes + 1.0) * line.step
    weights = np.where(t == 0.0, 1.0, 2.0) / (line.theta**2 + t**2)
    weights *= np.exp(-0.5 * (line.eta * t) ** 2 * (1.0 - 8.0 * U))
    square = t * t
    lost = np.clip(variance[:, None] * square - fourth[:, None] * (square**2 / 24.0), 0.0, 1.0)
    less = np.expm1(0.5 * np.log1p(-np.minimum(lost, 1.0 - 1e-15)))  # ψ − 1
    gain = (1.0 - line.tau) * (growth[:, None] * (1.0 + less) + less)
    top = n * np.log1p((1.0 - line.tau) * growth)
    exponents = n * np.log1p(np.maximum(gain, -1.0 + 1e-15)) - top[:, None]
    total = np.exp(np.maximum(exponents, -700.0)) @ weights
    last = float(t[-1])
    beyond = math.exp(-0.5 * (line.eta * last) ** 2) / (math.pi * line.eta**2 * last**3)
    total = (total * line.step / (2.0 * math.pi) + beyond) * (1.0 + 1e-9)
    factor = 0.5 * (line.theta * line.eta) ** 2 - math.log(n) - math.log1p(-line.tau)
    found: FloatArray = top + np.log(total) + factor + 1e-13 * (1.0 + np.abs(top) + math.log(n))
    return np.where(np.isnan(found), math.inf, found)


def _largest(kinds: Kinds, line: _Line, eps: float, n: int) -> tuple[float, int, int]:
    """The largest T of all patterns, and which has it: its rows on the left and on the right."""
    series = _series(kinds, eps, line.theta, n)
    if series is None:
        return math.inf, 0, 0
    some, coefficients, errors = series
    spend(0.5 * patterns(kinds) * some.p.size)
    # With no phases at all.
    flat = _log_bounds(_Tilted(*np.zeros((3, 1))), n, line)[0]
    best, where = -math.inf, (0, 0)
    rows = max(1, _BLOCK // some.right.shape[0])
    for first in range(0, some.left.shape[0], rows):
        left = some.left[first : first + rows]
        growth = (left * coefficients[0]) @ some.right.T
        top = n * np.log1p((1.0 - line.tau) * (growth + errors[0])) + flat
        if np.isnan(top).any():
            return math.inf, 0, 0
        open_ = np.argwhere(~(top + 1e-9 * (1.0 + np.abs(top)) <= best))
        open_ = open_[np.argsort(-top[tuple(open_.T)])]
        size = max(1, _MODES // line.modes)
        for start in range(0, len(open_), size):
            i, j = open_[start : start + size].T
            if top[i[0], j[0]] + 1e-9 * (1.0 + abs(top[i[0], j[0]])) <= best:
                break
            pairs = left[i] * some.right[j]
            spend(4.0 * pairs.size + 20.0 * len(i) * line.modes)
            law = _tilted([growth[i, j], *(coefficients[1:] @ pairs.T)], errors)
            logs = _log_bounds(law, n, line)
            k = int(np.argmax(logs))
            if not logs[k] <= best:
                best, where = float(logs[k]), (first + int(i[k]), int(j[k]))
    return (math.exp(best) if best < 1.0 else math.inf), *where
