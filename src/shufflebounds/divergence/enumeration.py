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

# Largest number of histograms that are enumerated. Speed only (benchmarks/deployer_grid.py).
MAX_HISTOGRAMS = 600_000
# Largest number of users whose histograms are enumerated. Speed only (benchmarks/deployer_grid.py).
MAX_USERS = 1_500
# Largest number of counts, histograms times components, in memory at once.
_MAX_COUNTS = 1e7
# Work of one count, in the units of `work.spend`.
_WORK_PER_COUNT = 40.0
# Smallest mass of a histogram. Smaller masses count as this mass in upper bounds, and as 0 in lower
# ones.
_SMALLEST_MASS = 1e-200
# Smallest positive ``gain`` and ``cost``. Its product with the smallest mass is in the range of
# floats.
_SMALLEST_QUOTIENT = 1e-100


@dataclass(frozen=True, eq=False)
class RankedOutcomes:
    """Outcomes by falling ratio of P to Q, ``ratios`` (J,), and sums over the first 0, 1, …, J.

    ``lower`` and ``upper`` are pairs (P, Q) of such sums, shape (J + 1,), for the smallest and the
    largest residual. The relative error of all numbers is at most ``err``.
    """

    ratios: FloatArray
    lower: tuple[FloatArray, FloatArray]
    upper: tuple[FloatArray, FloatArray]
    err: float

    def divergence(self, eps: float) -> Enclosure:
        """Return an enclosure of D(ε) in the direction (a, b), ε ≥ 0."""
        x, err = math.exp(eps), self.err
        # Any set of outcomes gives a lower bound. The upper bound needs each that may contribute.
        size = int(np.searchsorted(-self.ratios, -x, side="right"))
        p, q = (float(sums[size]) for sums in self.lower)
        low = p * (1.0 - err) - x * q * (1.0 + err)
        size = int(np.searchsorted(-self.ratios, -x * (1.0 - 4.0 * err), side="right"))
        p, q = (float(sums[size]) for sums in self.upper)
        high = p * (1.0 + 4.0 * err) - x * q * (1.0 - 4.0 * err) if size else 0.0
        return Enclosure(min(max(low, 0.0), max(high, 0.0)), max(high, 0.0))


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The histograms of n users in the order of enumeration, as arrays of shape (J,).

    An outcome has the probabilities e^w · ``gain`` and e^w · ``cost`` under the two inputs, with
    relative errors of at most ``err``, where w lies between ``log_lower`` and ``log_upper`` (for
    the smallest and the largest residual). ``ratio_err`` bounds the relative error of ``gain`` over
    ``cost``.
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
    """Return the outcomes of n ≥ 1 users, None if there are too many."""
    if n > MAX_USERS or histogram_count(decomposition, n) > max_histograms:
        return None
    total_counts = histogram_count(decomposition, n) * len(decomposition)
    if total_counts > _MAX_COUNTS:
        return None
    spend(_WORK_PER_COUNT * total_counts)
    a, b, c = decomposition.a, decomposition.b, decomposition.c
    shared, residual_err = c > 0.0, decomposition.rel_err * float(c.sum())
    residual = decomposition.residual
    residual_bounds = (
        max(0.0, residual * (1.0 - 8.0 * U) - residual_err * 1.01),
        residual * (1.0 + 8.0 * U) + residual_err * 1.01,
    )
    p, q = [a[~shared]], [b[~shared]]
    weights: list[list[FloatArray]] = [[np.zeros(p[0].size)], [np.zeros(p[0].size)]]
    log_size = 0.0
    if shared.any():
        counts = _counts(n, int(shared.sum()) + (residual_bounds[1] > 0.0))
        logs = _log_factorials(n)
        shared_counts, unshared_counts = (
            counts[:, : shared.sum()],
            n - counts[:, : shared.sum()].sum(axis=1),
        )
        log_c = np.log(c[shared])
        log_mass = logs[n] - logs[counts].sum(axis=1) + shared_counts @ log_c
        log_size = float((logs[n] + logs[counts].sum(axis=1) + shared_counts @ np.abs(log_c)).max())
        for side, mass in zip(weights, residual_bounds, strict=True):
            log_residual = math.log(mass) if mass > 0.0 else -math.inf
            with np.errstate(invalid="ignore"):
                log_unshared = np.where(unshared_counts > 0, unshared_counts * log_residual, 0.0)
            side.append(log_mass + log_unshared)
            log_size = max(log_size, n * abs(log_residual) if mass > 0.0 else 0.0)
        p.append(shared_counts @ (a[shared] / c[shared]) / n)
        q.append(shared_counts @ (b[shared] / c[shared]) / n)
    gain, cost = np.concatenate(p), np.concatenate(q)
    err = 1.01 * (n + 3.0) * decomposition.rel_err
    err += U * (64.0 + 4.0 * len(decomposition) + 16.0 * log_size)
    ratio_err = 8.0 * decomposition.rel_err + U * (32.0 + 4.0 * len(decomposition))
    low, high = (np.concatenate(side) for side in weights)
    return Outcomes(gain, cost, low, high, err, ratio_err)


def ranked_outcomes(decomposition: Decomposition, n: int) -> RankedOutcomes | None:
    """Return the outcomes of n ≥ 1 users sorted by their ratios.

    The answer is None if there are too many, or if floats lack the range or precision for them.
    """
    unsorted = outcomes(decomposition, n)
    if unsorted is None or any(
        x[x > 0.0].min(initial=1.0) < _SMALLEST_QUOTIENT for x in (unsorted.gain, unsorted.cost)
    ):
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(unsorted.gain > 0.0, unsorted.gain / unsorted.cost, 0.0)
    order = np.argsort(-ratios, kind="stable")
    low, high = (
        np.exp(np.maximum(side, -1e4))[order] for side in (unsorted.log_lower, unsorted.log_upper)
    )
    low = np.where(low < _SMALLEST_MASS, 0.0, low)
    high = np.where(high < _SMALLEST_MASS, _SMALLEST_MASS, high)
    gain, cost = unsorted.gain[order], unsorted.cost[order]
    err = unsorted.err + U * ratios.size
    sums = [
        (np.append(0.0, np.cumsum(weight * gain)), np.append(0.0, np.cumsum(weight * cost)))
        for weight in (low, high)
    ]
    return RankedOutcomes(ratios[order], sums[0], sums[1], err) if err < 1e-6 else None


def histogram_count(decomposition: Decomposition, n: int) -> int:
    """Return the number of histograms of n reports."""
    somewhere_else = decomposition.residual > 0.0 or decomposition.rel_err > 0.0
    return math.comb(n + int(np.count_nonzero(decomposition.c)) + somewhere_else - 1, n)


def _log_factorials(n: int) -> FloatArray:
    """Return log 0!, …, log n!."""
    products = itertools.accumulate(range(1, n + 1), operator.mul, initial=1)
    return np.array([math.log(product) for product in products])


def _counts(n: int, cells: int) -> np.ndarray:
    """Return all ways to put n reports into `cells` cells, one per row."""
    # Most cells stay empty in this case.
    if n < cells:
        places = np.array(list(itertools.combinations_with_replacement(range(cells), n)))
        histograms = np.zeros((len(places), cells), dtype=np.int64)
        np.add.at(histograms, (np.arange(len(places))[:, None], places), 1)
        return histograms
    histograms = np.arange(n + 1)[:, None] if cells > 1 else np.full((1, 1), n)
    for cell in range(1, cells):
        remaining = n - histograms.sum(axis=1)
        if cell == cells - 1:
            return np.column_stack([histograms, remaining])
        repeats = remaining + 1
        histograms = np.column_stack([np.repeat(histograms, repeats, axis=0), _ranges(repeats)])
    return histograms


def _ranges(sizes: np.ndarray) -> np.ndarray:
    """Return 0, 1, …, size − 1 for each size, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
