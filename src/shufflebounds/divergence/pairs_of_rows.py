"""An upper bound of D over all datasets and all pairs of inputs of a matrix without symmetries.

Nearly all pairs of inputs are far below the worst one. They are dismissed by bounds that are larger
than that of `divergence.supremum`. Two are quick to compute for many pairs: the *simple* bound has
one exponential for each output, and that of *spreads* has the variances of tilted laws. The *close*
bound of a pair has the moduli themselves where they matter. What is left is asked one pair at a
time, if they are few. Proof: docs/proofs/closing-the-gap.md, section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray, U
from shufflebounds.core.work import spend
from shufflebounds.divergence.coordinates import MAX_BLANKET_SHARE

# Relative distance below which the bounds of two pairs count as equal. It moves ε by a tenth of it.
NEARLY_EQUAL = 1e-3
# Largest numbers of pairs with close bounds, and of those that are asked. Others keep the bounds
# that they have, which happens if users are few.
_MAX_CLOSE_BOUNDS = 300
MAX_ASKED_PAIRS = 16
# Tilts that are tried, in units of the best one for normal values.
_TILTS = 2.0 ** np.linspace(-3.0, 1.0, 9)
# Standard deviation of the smoothing, times θ. It costs a fifth of a per cent of D.
_SMOOTHING = 0.06
# Largest modulus of η t: modes beyond have a weight of e^{−21}.
_LAST_MODE = 6.5
# Largest number of modes times inputs or outputs: 70 MB.
_MAX_MODES = 2**22
# Most modes of each pair for bounds by spreads. They are bounded one by one at first, and then in
# ranges whose ends have this ratio.
_MAX_SPREAD_MODES = 2**13
_SINGLE_MODES = 24
_RANGE_RATIO = 1.15
# Share of the bound of the first pair below which no other pair needs a closer bound.
_PROMISING_SHARE = 0.7
# Largest relative error of a sum of at most 2²⁰ positive terms and of its terms.
_SUM_ERR = 1e-9
# Bound of the relative rounding of a few operations.
_FEW_ROUNDINGS = 1e-12
# Work of one exponential among many, and of the close bound of a pair, in units of `core.work`.
_WORK_PER_EXPONENTIAL = 20.0
_WORK_PER_PAIR = 1e6

# Maps a pair of inputs to an upper bound of D of all datasets.
PairBound = Callable[[int, int], float]


def supremum_of_rows(
    screen: Screen,
    bound: PairBound,
    hopeless: float = 1.0,
    enough: float = 0.0,
    rtol: float = NEARLY_EQUAL,
) -> float:
    """Return an upper bound of D(ε) over all datasets and all ordered pairs of rows, at most 1.

    The `bound` of a pair is asked for few of them. If one is above `hopeless`, the result is 1. Any
    bound that is at most `enough` will do. Pairs within `rtol` of the largest are not asked.
    """
    if screen.n == 1:
        return screen.unhidden()
    uppers = screen.simple_bounds()
    first = pairs_above(uppers, -1.0)[0]
    uppers[first] = min(uppers[first], screen.close_bound(*first, enough))
    screen.spread(uppers, max(enough, _PROMISING_SHARE * float(uppers[first])))
    closed, asked = np.zeros(uppers.shape, bool), np.zeros(uppers.shape, bool)
    limit = enough
    while closed.sum() < _MAX_CLOSE_BOUNDS and asked.sum() < MAX_ASKED_PAIRS:
        pair = divmod(int(np.argmax(uppers)), len(uppers))
        if uppers[pair] <= limit or asked[pair]:
            break
        if not closed[pair]:
            uppers[pair] = min(uppers[pair], screen.close_bound(*pair, limit))
            closed[pair] = True
            continue
        uppers[pair] = min(uppers[pair], bound(*pair))
        if not asked.any() and uppers[pair] > hopeless:
            return 1.0
        asked[pair] = True
        limit = max(limit, float(uppers[pair]) * (1.0 + rtol))
    return min(float(uppers.max()), 1.0)


def pairs_above(uppers: FloatArray, limit: float) -> list[tuple[int, int]]:
    """Return the pairs of inputs with an upper bound above a limit, the largest first."""
    places = np.argsort(-uppers, axis=None)[: int((uppers > limit).sum())]
    return [divmod(place, len(uppers)) for place in places.tolist()]


@dataclass(frozen=True, eq=False)
class Screen:
    """Bounds of all pairs of inputs at one ε and n, in which a ``share`` of reports is of heads."""

    rows: FloatArray
    rel_err: float
    eps: float
    n: int
    share: float

    def unhidden(self) -> float:
        """Return the largest Σ(a − e^ε b)₊, which is D of a single user."""
        scale, rows = math.exp(self.eps), self.rows
        largest = max(float(np.maximum(row - scale * rows, 0.0).sum(axis=1).max()) for row in rows)
        err = 1.01 * (self.rel_err + (rows.shape[1] + 8.0) * U)
        return min(1.0, largest + err * (1.0 + scale))

    def refine(self, uppers: FloatArray, enough: float, most: int = _MAX_CLOSE_BOUNDS) -> None:
        """Put close bounds of the largest `uppers` above `enough` into them."""
        for pair in pairs_above(uppers, enough)[:most]:
            uppers[pair] = min(uppers[pair], self.close_bound(*pair, enough))

    def simple_bounds(self) -> FloatArray:
        """Return bounds by s₊ ≤ e^{θs}/(eθ) for all ordered pairs, shape (inputs, inputs)."""
        inputs, outputs = self.rows.shape
        spend(_WORK_PER_EXPONENTIAL * inputs**3 * outputs)
        with np.errstate(all="ignore"):
            bounds = np.array([self._pairs(x0).simple_bounds() for x0 in range(inputs)])
        np.fill_diagonal(bounds, 0.0)
        return np.where(np.isnan(bounds), math.inf, bounds)

    def spread(self, uppers: FloatArray, enough: float) -> None:
        """Put bounds by variances of tilted laws into the `uppers` above `enough`."""
        for x0 in range(len(uppers)):
            places = np.flatnonzero(uppers[x0] > enough)
            if places.size:
                spend(_WORK_PER_EXPONENTIAL * places.size * self.rows.size * 3.0)
                with np.errstate(all="ignore"):
                    bounds = self._pairs(x0, places).bounds_of_spreads()
                uppers[x0, places] = np.fmin(uppers[x0, places], bounds)

    def close_bound(self, x0: int, x1: int, enough: float = 0.0) -> float:
        """Return a bound of a pair that is closer where it is above `enough`."""
        with np.errstate(all="ignore"):
            return self._pairs(x0, slice(x1, x1 + 1)).close_bound(enough)

    def _pairs(self, x0: int, others: slice | NDArray[np.intp] = slice(None)) -> _Pairs:
        """Return the pairs of `x0` and some other inputs."""
        excess = self.rows[x0] - math.exp(self.eps) * self.rows[others]
        tau = _fractions(excess, self.rows.min(axis=0), self.share)
        return _Pairs(self.rows, self.rel_err, self.eps, self.n, excess, tau)


def _fractions(excess: FloatArray, sure: FloatArray, share: float) -> FloatArray:
    """Return τ, shape (P, Y), with Σ τc = `share` up to the limit of τ.

    |a − e^ε b|/(c − d) does not exceed a common level, as in `supremum.fractions_of_blanket`.
    """
    height = np.abs(excess) / sure
    order = np.argsort(height, axis=1)
    masses = np.cumsum(sure[order], axis=1) - share
    sums = np.cumsum(np.take_along_axis(np.abs(excess), order, axis=1), axis=1)
    level = np.where(masses > 0.0, sums / masses, math.inf).min(axis=1, keepdims=True)
    return np.clip(np.nan_to_num(1.0 - height / level), 0.0, MAX_BLANKET_SHARE)


def modes(theta: FloatArray, step: FloatArray, count: int) -> tuple[FloatArray, ...]:
    """Return t_j and ω_j, (P, count), and a bound of all modes beyond, (P, 1); see `_SMOOTHING`.

    θ and the steps have shape (P, 1).
    """
    t, eta = np.arange(count) * step, _SMOOTHING / theta
    weight = step / (2.0 * math.pi) * np.where(t == 0.0, 1.0, 2.0) / (theta**2 + t**2)
    weight *= np.exp(0.5 * eta**2 * (theta**2 - t**2))
    last = t[:, -1:]
    tail = np.exp(0.5 * eta**2 * (theta**2 - last**2)) / (math.pi * eta**2 * last**3)
    return t, weight, tail


def starts_of_ranges(count: int) -> NDArray[np.int64]:
    """Return the first modes of ranges that cover all of them, most of which are short."""
    growth = _RANGE_RATIO ** np.arange(math.ceil(math.log(max(count, 2), _RANGE_RATIO)))
    starts = np.concatenate([np.arange(_SINGLE_MODES), (_SINGLE_MODES * growth).astype(int)])
    return np.unique(starts[starts < count])


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Bounds of P pairs of inputs with one first input.

    ``excess`` is a − e^ε b, shape (P, Y). Heads report from d = τc, where ``tau`` has this shape.
    """

    rows: FloatArray
    rel_err: float
    eps: float
    n: int
    excess: FloatArray
    tau: FloatArray

    @cached_property
    def sure(self) -> FloatArray:
        """The mass c that every input is sure to send."""
        return np.asarray(self.rows.min(axis=0))

    @cached_property
    def rest(self) -> FloatArray:
        """R(x) − d, shape (P, X, Y)."""
        return self.rows - (self.tau * self.sure)[:, None]

    @cached_property
    def values(self) -> FloatArray:
        """The values (a − e^ε b)/(R(x) − d), shape (P, X, Y)."""
        return self.excess[:, None] / self.rest

    @cached_property
    def share(self) -> FloatArray:
        """The probability λ of heads, shape (P,)."""
        return self.tau @ self.sure

    @cached_property
    def value_err(self) -> float:
        """The relative error of (a + e^ε b)/(R(x) − d), in which R(x) − d ≥ (1 − τ) R(x)."""
        return 4.0 * (self.rel_err + 6.0 * U) / (1.0 - float(self.tau.max()))

    @cached_property
    def largest_value(self) -> float:
        """A bound of (a + e^ε b)/(R(x) − d)."""
        ratio = float((self.rows.max(axis=0) / self.sure).max())
        return 1.01 * (1.0 + math.exp(self.eps)) * ratio / (1.0 - float(self.tau.max()))

    def _err(self, theta: FloatArray) -> FloatArray:
        """Return the relative error of λ + M(θ)."""
        log_err = 1.01 * (self.value_err + (self.rows.shape[1] + 20.0) * U)
        err: FloatArray = 1.01 * theta * self.largest_value * self.value_err + log_err
        return err

    @cached_property
    def tilts(self) -> FloatArray:
        """θ for each pair, (P,), which is near the best one; every positive θ is valid."""
        # The inputs with the largest spread and with the largest value decide θ.
        squares = self.excess**2 @ (1.0 / self.rows.T)
        inputs = np.column_stack([squares.argmax(axis=1), self.values.max(axis=-1).argmax(axis=-1)])
        rest = np.take_along_axis(self.rest, inputs[..., None], axis=1)
        return self._best_tilts(squares.max(axis=1), rest, self.share)

    def _best_tilts(
        self, mean_square: FloatArray, rest: FloatArray, share: FloatArray
    ) -> FloatArray:
        """Return θ with about the smallest bound, (P,), for laws `rest` of shape (P, …, Y)."""
        mean = math.expm1(self.eps)
        variance = np.maximum(mean_square - mean**2, 1e-3 * mean_square)
        normal = (mean + np.sqrt(mean**2 + 4.0 * variance / self.n)) / (2.0 * variance)
        values, logs = self.excess[:, None] / rest, np.empty((_TILTS.size, normal.size))
        for i, theta in enumerate(np.multiply.outer(_TILTS, normal)):
            sums = (rest * np.exp(theta[:, None, None] * values)).sum(axis=-1).max(axis=-1)
            # The sum of modes is about that of a normal law; see `supremum`.
            y = theta * np.sqrt(0.5 * self.n * variance)
            logs[i] = self.n * np.log(share + sums) - np.log(theta * (y + np.sqrt(y * y + 1.27)))
        logs = np.nan_to_num(logs, nan=1e300, posinf=1e300)
        # A parabola through the three smallest values finds the tilt between those that are tried.
        best = np.clip(logs.argmin(axis=0), 1, _TILTS.size - 2)
        before, at, after = (logs[best + i, np.arange(best.size)] for i in (-1, 0, 1))
        offset = np.nan_to_num(0.5 * (before - after) / (before - 2.0 * at + after))
        powers = np.log(_TILTS[best]) + np.clip(offset, -1.0, 1.0) * math.log(_TILTS[1] / _TILTS[0])
        return np.asarray(normal * np.exp(powers))

    def simple_bounds(self) -> FloatArray:
        """Return bounds by s₊ ≤ e^{θs}/(eθ), (P,), and those of blankets where they are smaller."""
        powers = np.exp(self.tilts[:, None, None] * self.values)
        sums = np.einsum("ijk,ijk->ij", powers, self.rest).max(axis=1)
        main = self._simple_bound(self.share, sums, self.tilts)
        return np.fmin(main + self.no_heads, self._without_heads(0.0))

    def _simple_bound(self, share: FloatArray, sums: FloatArray, theta: FloatArray) -> FloatArray:
        """Return (λ + M)ⁿ/(e n θ), rounded up."""
        logs = self.n * (np.log(share + sums) + self._err(theta))
        bound: FloatArray = np.exp(logs) / (self.n * math.e * theta) * (1.0 + _SUM_ERR)
        return bound

    @cached_property
    def no_heads(self) -> FloatArray:
        """The smaller bound of (1 − λ)^{n−1} D_res, (P,): with D_res ≤ 1, and that of s₊."""
        err = float(self._err(np.zeros(())))
        probability = np.exp((self.n - 1) * np.log1p(-self.share * (1.0 - err))) * (1.0 + _SUM_ERR)
        return np.fmin(probability, self._without_heads(self.tau))

    def _without_heads(self, tau: FloatArray | float) -> FloatArray:
        """Return a bound of (1 − λ)^{n−1} D_res for any τ, (P,); for τ = 0 it is the blanket's."""
        rest, theta = (1.0 - tau) * self.sure, self._blanket_tilts
        sums = (rest * np.exp(theta[:, None] * self.excess / rest)).sum(axis=1)
        return self._simple_bound(self._unsure, sums, theta)

    @cached_property
    def _blanket_tilts(self) -> FloatArray:
        """θ for the blanket of each pair."""
        squares = (self.excess**2 / self.sure).sum(axis=1)
        return self._best_tilts(squares, self.sure[None, None], self._unsure)

    @cached_property
    def _unsure(self) -> FloatArray:
        """The mass 1 − Σc that is open, rounded up."""
        err = float(self._err(np.zeros(())))
        return np.array(max(0.0, 1.0 - float(self.sure.sum()) * (1.0 - err)) + err)

    def bounds_of_spreads(self) -> FloatArray:
        """Return bounds of the largest T_x, (P,), with |M(z)| bounded by the variance; maybe NaN.

        |M(z)| is at most M(θ) (1 − s/2), so that λ + |M(z)| ≤ (λ + M(θ)) e^{−κs/2}. As s is concave
        in t², its smallest value for a range of modes is that of the first or of the last.
        """
        theta = self.tilts
        weights = self.rest * np.exp(theta[:, None, None] * self.values)
        mass = weights.sum(axis=-1)
        weights /= mass[..., None]
        distance = self.values - (weights * self.values).sum(axis=-1, keepdims=True)
        variance, fourth = self._moments(weights, distance, theta[:, None])
        step = 2.0 * math.pi / (20.0 / theta + 16.0 * np.sqrt(self.n * variance.max(axis=1)))
        most = float(np.nan_to_num(_LAST_MODE * theta / (_SMOOTHING * step), posinf=0.0).max())
        size = int(min(most + 2.0, _MAX_SPREAD_MODES))
        t, weight, tail = modes(theta[:, None], step[:, None], size)
        starts = starts_of_ranges(size)
        first, last = t[:, None, starts] ** 2, t[:, None, np.append(starts[1:], size) - 1] ** 2
        low = variance[..., None] * (1.0 - _FEW_ROUNDINGS)
        high = fourth[..., None] / 24.0 * (1.0 + _FEW_ROUNDINGS)
        s = np.maximum(np.minimum((low - high * first) * first, (low - high * last) * last), 0.0)
        share, err = self.share[:, None], self._err(theta)[:, None]
        kappa = mass / (share + mass) * (1.0 - 4.0 * err - _FEW_ROUNDINGS)
        powers = np.exp(np.maximum(-0.5 * self.n * kappa[..., None] * s, -700.0))
        sums = np.einsum("ijk,ik->ij", powers, np.add.reduceat(weight, starts, axis=1)) + tail
        scale = np.exp(self.n * (np.log(share + mass) + err)) / self.n * (1.0 + _SUM_ERR)
        bounds: FloatArray = (scale * sums).max(axis=1) + self.no_heads
        return bounds

    def close_bound(self, enough: float) -> float:
        """Return a bound of the largest T_x of a single pair; inf if rounding prevents it.

        |M(z)| is bounded by the variance of the tilted law and, for the few inputs of others that
        are above `enough` and may have the largest bound, computed.
        """
        theta, values, share = float(self.tilts[0]), self.values[0], float(self.share[0])
        no_heads, eta = float(self.no_heads[0]), _SMOOTHING / theta
        weights = self.rest[0] * np.exp(theta * values)
        mass = weights.sum(axis=1)
        weights /= mass[:, None]
        distance = values - (weights * values).sum(axis=1, keepdims=True)
        variance, fourth = self._moments(weights, distance, theta)
        spread = 16.0 * math.sqrt(self.n * float(variance.max()))
        step = 2.0 * math.pi / (20.0 / theta + spread)
        count = _LAST_MODE / (eta * step) + 2.0
        if not count * max(self.rest[0].shape) <= _MAX_MODES:
            return math.inf
        size = int(count)
        spend(_WORK_PER_PAIR + _WORK_PER_EXPONENTIAL * size * len(mass))
        modes_of_pair = modes(np.array([[theta]]), np.array([[step]]), size)
        t, weight, (tail,) = (x[0] for x in modes_of_pair)
        # |M(z)| is at most M(θ) (1 − s/2), so that λ + |M(z)| ≤ (λ + M(θ)) e^{−κs/2}.
        s = np.maximum(
            np.multiply.outer(variance, t**2) * (1.0 - _FEW_ROUNDINGS)
            - np.multiply.outer(fourth, t**4 / 24.0) * (1.0 + _FEW_ROUNDINGS),
            0.0,
        )
        err = float(self._err(np.array(theta)))
        kappa = mass / (share + mass) * (1.0 - 4.0 * err - _FEW_ROUNDINGS)
        sums = np.exp(np.maximum(-0.5 * self.n * kappa[:, None] * s, -700.0)) @ weight + tail
        scale = np.exp(self.n * (np.log(share + mass) + err)) / self.n * (1.0 + _SUM_ERR)
        bounds = np.nan_to_num(scale * sums, nan=math.inf, posinf=math.inf)
        largest = max(0.0, enough - no_heads)
        for x in np.argsort(-bounds).tolist():
            if bounds[x] <= largest:
                break
            phases = np.exp(1j * np.multiply.outer(t, values[x]))
            spend(_WORK_PER_EXPONENTIAL * phases.size)
            moduli = np.minimum(np.abs(phases @ weights[x]) + 2.0 * err * (1.0 + t / theta), 1.0)
            logs = np.log((share + mass[x] * moduli) / (share + mass[x]))
            exact = scale[x] * (np.exp(np.maximum(self.n * logs, -700.0)) @ weight + tail)
            largest = max(largest, float(np.fmin(exact, bounds[x])))
        bound = min(largest, float(bounds.max())) + no_heads
        return math.inf if math.isnan(bound) else bound

    def _moments(
        self, weights: FloatArray, distance: FloatArray, theta: FloatArray | float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the variance, rounded down, and the fourth moment of a difference, rounded up.

        The `distance` of each value from the mean has an absolute error, and so do roots of
        moments. Both errors are those of values; weights have the relative error of exponents.
        """
        outputs = self.rows.shape[1]
        value_err = 4.0 * self.largest_value * (self.value_err + (outputs + 20.0) * U)
        weight_err = 4.0 * self._err(np.asarray(theta))
        square = (weights * distance**2).sum(axis=-1)
        fourth = 2.0 * (weights * distance**4).sum(axis=-1) + 6.0 * square**2
        low = np.maximum(np.sqrt(square) * (1.0 - _FEW_ROUNDINGS) - value_err, 0.0)
        high = np.sqrt(np.sqrt(fourth)) * (1.0 + _FEW_ROUNDINGS) + value_err
        return low**2 * (1.0 - weight_err), high**4 * (1.0 + 2.0 * weight_err)
