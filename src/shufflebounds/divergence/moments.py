"""E[φ(P/Q)] of outcomes that are known one by one, φ(R) = R^α − 1 − α(R − 1).

Few users are enumerated. Two components that leave no residual have n + 1 outcomes, their counts
are binomial, and a window of them is summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.histograms import Outcomes, outcomes
from shufflebounds.divergence.law import U
from shufflebounds.divergence.powers import log_fall, log_rise

_BLOCK = 2**18
# Counts on either side of the most likely one, and terms of all orders.
_MOST_REACH, _MOST_TERMS = 2_000_000, 30_000_000
# Reports that a residual of rounding may hide.
_MOST_HIDDEN = 1e-3
# Masses below it are left to others.
_LEAST_SHARE = 1e-12
# A share of the whole that is counted in full from above.
_NEGLIGIBLE = 1e-7
_MAX_USERS, _MAX_HISTOGRAMS = 1_500, 600_000
# Terms of all orders, and histograms that are enumerated whatever the number of orders.
_MOST_FEW_TERMS, _FEW = 1_500_000, 50_000


def few_moments(
    decomposition: Decomposition, n: int, orders: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of log E_Q[φ(P/Q)] at all orders, shape (O,); None where there are too many outcomes.

    Every outcome of P must be one of Q.
    """
    # Beyond, curves are quicker.
    most = max(_FEW, min(_MAX_HISTOGRAMS, _MOST_FEW_TERMS // orders.size))
    found = outcomes(decomposition, n, max_users=_MAX_USERS, max_histograms=most)
    return None if found is None or found.err > 1e-3 else _moments(found, orders)


def _moments(found: Outcomes, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = _log_terms(found)
    return _each(orders, found.gain.size, low), _each(orders, found.gain.size, high)


Terms = Callable[[FloatArray], FloatArray]


def _log_terms(found: Outcomes) -> tuple[Terms, Terms]:
    """Functions from orders (O, 1) to bounds of the logs of all terms, shape (O, J)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(found.cost > 0.0, np.log(found.gain / found.cost), 0.0)
        log_cost = np.log(found.cost)
    size = np.abs(loss)
    slip = 1.01 * found.ratio_err + 4.0 * U * (1.0 + _finite(size))
    # Of either sign, the loss counts as a gain: φ(e^L) is at least φ(e^{−L}).
    ahead = loss > -slip

    def terms(side: float, weight: FloatArray) -> Terms:
        at = np.maximum(size + side * slip, 0.0)
        known = weight + log_cost
        known_err = 16.0 * U * (_finite(weight) + _finite(log_cost))

        def logs(order: FloatArray) -> FloatArray:
            powers = np.empty((order.size, at.size))
            powers[:, ahead] = log_rise(order, at[ahead])
            powers[:, ~ahead] = log_fall(order, at[~ahead])
            err = 1.01 * found.err + (8192.0 + 16.0 * order * _finite(at)) * U + known_err
            found_logs = known + powers
            return np.asarray(found_logs + side * (err + 8.0 * U * _finite(found_logs)))

        return logs

    return terms(-1.0, found.log_lower), terms(1.0, found.log_upper)


def _each(orders: FloatArray, size: int, terms: Terms) -> FloatArray:
    """Sums of `size` terms, shape (O,); rounding is what `_log_terms` counts."""
    block = max(1, _BLOCK // max(1, size))
    parts = [
        log_sum(terms(orders[start : start + block, None]))
        for start in range(0, orders.size, block)
    ]
    return np.concatenate(parts)


def binomial_moments(
    decomposition: Decomposition, n: int, orders: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """As `few_moments`, of two components that leave no residual but what rounding may hide.

    None for other decompositions, and where that is too much work, or the residual too much.
    """
    if len(decomposition) != 2 or not decomposition.c.min() > _LEAST_SHARE:
        return None
    rest = decomposition.residual * (1.0 + 8.0 * U)
    rest += 1.01 * decomposition.rel_err * float(decomposition.c.sum())
    if n * rest > _MOST_HIDDEN:
        return None
    single = few_moments(decomposition, 1, orders)
    whole = _windowed(decomposition, n, orders)
    if whole is None or single is None:
        return None
    if rest == 0.0:
        return whole
    # So many of the others may report elsewhere; E falls with how many do not.
    low, high = whole
    spared = 0
    while True:
        log_chance = (spared + 1) * (math.log(n * rest) + 1e-12) - math.lgamma(spared + 2)
        left = min(0.0, log_chance + 1e-9) + single[1]
        if np.all(left < high + math.log(_NEGLIGIBLE)):
            return low, np.logaddexp(high, left) + 8.0 * U * (1.0 + _finite(high))
        spared = 8 * (spared + 1)
        fewer = _windowed(decomposition, n - spared, orders) if spared < n else None
        if fewer is None:
            return None
        high = np.logaddexp(high, min(0.0, log_chance + 1e-9) + fewer[1])
        high += 8.0 * U * (1.0 + _finite(high))


def _windowed(
    decomposition: Decomposition, n: int, orders: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of the sum over k of Bin(n, c₁/(c₁ + c₂)); None where no window is wide enough."""
    share = decomposition.c[0] / decomposition.c.sum()
    spread = math.sqrt(n * share * (1.0 - share))
    reach = 16 + math.ceil(12.0 * spread)
    while reach <= _MOST_REACH and orders.size * min(reach, n) <= _MOST_TERMS:
        found = _Binomial.about(decomposition, n, reach)
        ends = found.bounds(decomposition, orders)
        if ends is not None:
            return ends
        reach *= 2
    return None


@dataclass(frozen=True, eq=False)
class _Binomial:
    """Counts on the first component about the most likely one, and logs of their weights.

    ``blocks`` tell of the counts outside, on either side: those (B + 1,) at which blocks begin and
    end, from the window on, and upper bounds of the logs of the blocks' weights (B,).
    """

    n: int
    counts: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray
    blocks: list[tuple[FloatArray, FloatArray]]

    @staticmethod
    def about(decomposition: Decomposition, n: int, reach: int) -> _Binomial:
        odds = float(decomposition.c[0] / decomposition.c[1])
        slip = 8.0 * U + 2.1 * decomposition.rel_err
        centre = min(n, int((n + 1) * (odds / (1.0 + odds))))
        sides, blocks = [], []
        for most, ratio in ((n - centre, odds), (centre, 1.0 / odds)):
            here = float(n - most)  # counts of the component that gains
            steps = np.arange(min(reach, most), dtype=np.float64)
            logs = np.log((n - here - steps) / (here + steps + 1.0) * ratio)
            sums = np.cumsum(logs)
            err = (steps + 1.0) * (
                slip + 2.0 * U * np.abs(logs)
            ) + steps * U * np.maximum.accumulate(np.abs(sums))
            sides.append((sums, 1.01 * err))
            if steps.size < most:
                blocks.append(_blocks(n, here + steps.size, sums[-1] + err[-1], ratio, slip))
            else:
                blocks.append((np.empty(0), np.empty(0)))
        up, down = sides
        middle, err = (np.concatenate([y[::-1], [0.0], x]) for x, y in zip(up, down, strict=True))
        counts = centre + np.arange(-down[0].size, up[0].size + 1, dtype=np.float64)
        blocks[1] = (n - blocks[1][0], blocks[1][1])
        total = float(log_sum(middle - err)) - 4.0 * U * counts.size
        outside = [x[1] for x in blocks]
        most_total = float(log_sum(np.concatenate([middle + err, *outside])))
        most_total += 4.0 * U * counts.size
        return _Binomial(
            n,
            counts,
            middle - err - most_total,
            middle + err - total,
            [(at, weight - total) for at, weight in blocks],
        )

    def outcomes(
        self, decomposition: Decomposition, counts: FloatArray, low: FloatArray, high: FloatArray
    ) -> Outcomes:
        """Of users none of whom reports elsewhere: each lies on one of both for certain."""
        shares = np.column_stack([counts, self.n - counts]) / self.n
        sure = decomposition.c / decomposition.c.sum()
        gain, cost = (shares @ (x / sure) for x in (decomposition.a, decomposition.b))
        err = 4.0 * decomposition.rel_err + 64.0 * U + 4.0 * U * counts.size
        return Outcomes(gain, cost, low, high, err, 8.0 * decomposition.rel_err + 48.0 * U)

    def bounds(
        self, decomposition: Decomposition, orders: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Of the whole sum; None where what lies outside the window matters."""
        inside = self.outcomes(decomposition, self.counts, self.log_lower, self.log_upper)
        low, high = _moments(inside, orders)
        for at, weight in self.blocks:
            if not weight.size:
                continue
            ends = self.outcomes(decomposition, at, np.zeros(at.size), np.zeros(at.size))
            terms = _log_terms(ends)[1](orders[:, None])
            # Convex in the count, so that no term of a block is above those at its ends.
            outside = log_sum(weight + np.maximum(terms[:, :-1], terms[:, 1:]))
            if not np.all(outside < high + math.log(_NEGLIGIBLE)):
                return None
            high = np.logaddexp(high, outside) + 8.0 * U * (1.0 + _finite(high))
        return low, high


def _blocks(
    n: int, start: float, log_weight: float, ratio: float, slip: float
) -> tuple[FloatArray, FloatArray]:
    """Counts from `start` to n that begin and end blocks, and bounds of the logs of their weights.

    Ratios of neighbours fall, so that the weights of a block are at most that at its beginning.
    """
    ends, weights, length = [start], [], 1.0 + start / 4096.0
    while ends[-1] < n:
        here = ends[-1]
        size = min(n - here, math.floor(length))
        step = math.log((n - here) / (here + 1.0) * ratio) + slip
        weights.append(log_weight + math.log(size + 1.0) + 16.0 * U * (1.0 + abs(log_weight)))
        log_weight += size * min(0.0, step) + 8.0 * U * abs(log_weight)
        ends.append(here + size)
        length *= 1.1
    return np.array(ends), np.array(weights)


def log_sum(logs: FloatArray) -> FloatArray:
    """Log Σ e^x along the last axis, −inf for nothing."""
    top = np.max(logs, axis=-1, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(logs - base).sum(axis=-1)) + base[..., 0])


def infinite(decomposition: Decomposition) -> bool:
    """Whether some outcome is possible under the first input only."""
    return bool(np.any((decomposition.a > 0.0) & (decomposition.b == 0.0)))


def _finite(x: FloatArray) -> FloatArray:
    return np.where(np.isfinite(x), np.abs(x), 0.0)
