"""The histograms of few users, enumerated in floats, so that D costs next to nothing at any ε.

A histogram h of n reports, h_j of them on component j and the others elsewhere, has probabilities
μ_h Σ_j h_j a_j/(n c_j) and μ_h Σ_j h_j b_j/(n c_j) under the two inputs, where μ is multinomial of
the masses c and the residual r = 1 − Σc. Components with c = 0 stand for themselves.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U

# Beyond so many it is left to the engines of many users: speed (benchmarks/deployer_grid.py).
MAX_HISTOGRAMS, MAX_USERS = 600_000, 1_500
# And of so many counts, one of each component in each histogram: memory.
_MAX_COUNTS, _EACH_COUNT = 1e7, 40.0

# Masses below the first are counted as this much, from above, and as nothing from below; quotients
# below the second are not dealt with: no product of both is below the range of floats.
_TINY, _LEAST = 1e-200, 1e-100


@dataclass(frozen=True, eq=False)
class RankedOutcomes:
    """Outcomes by falling ratio of P to Q, ``ratios`` (J,), and sums over the first 0, 1, …, J.

    ``lower`` and ``upper`` are pairs (P, Q) of such sums, shape (J + 1,), for the least and the
    largest residual; all are known to within the relative error ``err``.
    """

    ratios: FloatArray
    lower: tuple[FloatArray, FloatArray]
    upper: tuple[FloatArray, FloatArray]
    err: float

    def divergence(self, eps: float) -> Enclosure:
        """Enclosure of D(ε) in the direction (a, b), ε ≥ 0."""
        x, err = math.exp(eps), self.err
        # Any set of outcomes serves from below; from above, all that may count must.
        size = int(np.searchsorted(-self.ratios, -x, side="right"))
        p, q = (float(sums[size]) for sums in self.lower)
        low = p * (1.0 - err) - x * q * (1.0 + err)
        size = int(np.searchsorted(-self.ratios, -x * (1.0 - 4.0 * err), side="right"))
        p, q = (float(sums[size]) for sums in self.upper)
        high = p * (1.0 + 4.0 * err) - x * q * (1.0 - 4.0 * err) if size else 0.0
        return Enclosure(min(max(low, 0.0), max(high, 0.0)), max(high, 0.0))


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What n users may send, in the order of enumeration; arrays of shape (J,).

    An outcome has the probabilities e^w · ``gain`` and e^w · ``cost`` under both inputs, known to
    within the relative error ``err``, where w lies between ``log_lower`` and ``log_upper`` (for the
    least and the largest residual). ``ratio_err`` bounds that of ``gain`` over ``cost``.
    """

    gain: FloatArray
    cost: FloatArray
    log_lower: FloatArray
    log_upper: FloatArray
    err: float
    ratio_err: float


def outcomes(
    decomposition: Decomposition,
    n: int,
    *,
    max_histograms: int = MAX_HISTOGRAMS,
) -> Outcomes | None:
    """The outcomes of n ≥ 1 users; None where there are too many of them."""
    if n > MAX_USERS or histogram_count(decomposition, n) > max_histograms:
        return None
    counts_in_all = histogram_count(decomposition, n) * len(decomposition)
    if counts_in_all > _MAX_COUNTS:
        return None
    spend(_EACH_COUNT * counts_in_all)
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    shared, doubt = c > 0.0, decomposition.rel_err * float(c.sum())
    rest = decomposition.residual
    rests = (max(0.0, rest * (1.0 - 8.0 * U) - doubt * 1.01), rest * (1.0 + 8.0 * U) + doubt * 1.01)
    p, q = [a[~shared]], [b[~shared]]
    weights: list[list[FloatArray]] = [[np.zeros(p[0].size)], [np.zeros(p[0].size)]]
    size = 0.0
    if shared.any():
        counts = _counts(n, int(shared.sum()) + (rests[1] > 0.0))
        logs = _log_factorials(n)
        known, left = counts[:, : shared.sum()], n - counts[:, : shared.sum()].sum(axis=1)
        log_c = np.log(c[shared])
        log_mass = logs[n] - logs[counts].sum(axis=1) + known @ log_c
        size = float((logs[n] + logs[counts].sum(axis=1) + known @ np.abs(log_c)).max())
        for side, mass in zip(weights, rests, strict=True):
            log_rest = math.log(mass) if mass > 0.0 else -math.inf
            with np.errstate(invalid="ignore"):
                gone = np.where(left > 0, left * log_rest, 0.0)
            side.append(log_mass + gone)
            size = max(size, n * abs(log_rest) if mass > 0.0 else 0.0)
        p.append(known @ (a[shared] / c[shared]) / n)
        q.append(known @ (b[shared] / c[shared]) / n)
    gain, cost = np.concatenate(p), np.concatenate(q)
    err = 1.01 * (n + 3.0) * decomposition.rel_err
    err += U * (64.0 + 4.0 * len(decomposition) + 16.0 * size)
    ratio_err = 8.0 * decomposition.rel_err + U * (32.0 + 4.0 * len(decomposition))
    low, high = (np.concatenate(side) for side in weights)
    return Outcomes(gain, cost, low, high, err, ratio_err)


def ranked_outcomes(decomposition: Decomposition, n: int) -> RankedOutcomes | None:
    """The outcomes of n ≥ 1 users by their ratios; None where there are too many of them, or where
    floats cannot tell what they are worth.
    """
    found = outcomes(decomposition, n)
    if found is None or any(x[x > 0.0].min(initial=1.0) < _LEAST for x in (found.gain, found.cost)):
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(found.gain > 0.0, found.gain / found.cost, 0.0)
    order = np.argsort(-ratios, kind="stable")
    low, high = (
        np.exp(np.maximum(side, -1e4))[order] for side in (found.log_lower, found.log_upper)
    )
    low = np.where(low < _TINY, 0.0, low)
    high = np.where(high < _TINY, _TINY, high)
    gain, cost = found.gain[order], found.cost[order]
    err = found.err + U * ratios.size
    sums = [
        (np.append(0.0, np.cumsum(weight * gain)), np.append(0.0, np.cumsum(weight * cost)))
        for weight in (low, high)
    ]
    return RankedOutcomes(ratios[order], sums[0], sums[1], err) if err < 1e-6 else None


def histogram_count(decomposition: Decomposition, n: int) -> int:
    """How many histograms n reports have."""
    somewhere_else = decomposition.residual > 0.0 or decomposition.rel_err > 0.0
    return math.comb(n + int(np.count_nonzero(decomposition.c)) + somewhere_else - 1, n)


def _log_factorials(n: int) -> FloatArray:
    products = itertools.accumulate(range(1, n + 1), operator.mul, initial=1)
    return np.array([math.log(product) for product in products])


def _counts(n: int, cells: int) -> np.ndarray:
    """All ways to put n reports into some cells, one a row."""
    if n < cells:  # most cells stay empty
        places = np.array(list(itertools.combinations_with_replacement(range(cells), n)))
        found = np.zeros((len(places), cells), dtype=np.int64)
        np.add.at(found, (np.arange(len(places))[:, None], places), 1)
        return found
    found = np.arange(n + 1)[:, None] if cells > 1 else np.full((1, 1), n)
    for cell in range(1, cells):
        left = n - found.sum(axis=1)
        if cell == cells - 1:
            return np.column_stack([found, left])
        repeats = left + 1
        found = np.column_stack([np.repeat(found, repeats, axis=0), _each_from_zero(repeats)])
    return found


def _each_from_zero(sizes: np.ndarray) -> np.ndarray:
    """0, 1, …, size − 1 of every size in turn."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
