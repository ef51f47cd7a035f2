"""The worst of all datasets, found by enumerating them for few users and outputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray, ratio_labels
from shufflebounds.core.validation import Count
from shufflebounds.divergence.law import U
from shufflebounds.profiles.root_search import LARGEST_EPS, Start, smallest_eps
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer

# Largest number of histograms times datasets times inputs to enumerate: some ten seconds for each
# ε.
MAX_WORK = 10**8
# Relative width of ε to aim at.
EPS_RTOL = 1e-6
# Probabilities are multiplied by 2 to this power, so that e^ε is not multiplied by underflown ones.
SCALE_BITS = 1000
# An upper bound, in these units, of what underflow takes from any probability: n times the number
# of outputs is at most `MAX_WORK`.
SCALED_UNDERFLOW = 1e-305


@dataclass(frozen=True)
class WorstDataset:
    """A pair of neighbouring datasets that no other exceeds, but for the width of ``enclosure``.

    Parameters
    ----------
    victim
        The victim's input and what it is replaced by, as rows of the randomizer's matrix.
    others
        How many other users hold each input; they sum to n − 1.
    enclosure
        Of the mechanism's own δ, or ε (natural log), whichever `worst_dataset` was asked for.

    Examples
    --------
    >>> worst = sb.worst_dataset(sb.KRR(k=2, eps0=1.0), n=1, eps=0.0)
    >>> worst.victim, worst.others
    ((0, 1), (0, 0))
    """

    victim: tuple[int, int]
    others: tuple[int, ...]
    enclosure: Enclosure


def worst_dataset(
    randomizer: Randomizer, n: Count, *, eps: float | None = None, delta: float | None = None
) -> WorstDataset:
    """Find the worst of all datasets of n users by enumerating every one.

    Every histogram of reports is enumerated, too: exact but for roundings, which are charged.

    Parameters
    ----------
    randomizer
        The randomizer that all users share; it needs a ``matrix()`` of few inputs and outputs.
    n
        Number of users, at least 1.
    eps
        ε ≥ 0 (natural log) to find the largest δ at; exactly one of `eps` and `delta` is given.
    delta
        δ, 10⁻³⁰⁰ ≤ δ < 1, to find the largest ε at.

    Returns
    -------
    WorstDataset
        The datasets, and an enclosure of the mechanism's δ or ε there.

    Raises
    ------
    ValueError
        For other arguments, and where there is too much to enumerate (some seconds' work).

    Examples
    --------
    All users but the victim holding the same third value need not be the worst:

    >>> worst = sb.worst_dataset(sb.KRR(k=3, eps0=1.0), n=5, eps=0.5)
    >>> sorted(worst.others), f"{worst.enclosure.upper:.4f}"
    ([0, 1, 3], '0.0522')
    """
    n = validation.users(n)
    if (eps is None) == (delta is None):
        raise ValueError(f"exactly one of eps and delta must be given, got {eps!r} and {delta!r}")
    rows, rel_err = _merged_outputs(_matrix(randomizer))
    work = math.comb(n - 1 + len(rows), len(rows)) * len(rows)
    if work > MAX_WORK or work * (n + 1) ** (rows.shape[1] - 1) > MAX_WORK:
        raise ValueError(
            f"n must be small enough to enumerate all datasets, got {n} with {len(rows)} inputs "
            f"and {rows.shape[1]} outputs"
        )
    err = (n + 1.0) * (rel_err + (rows.shape[1] + 4.0) * U) * 1.01
    if eps is not None:
        return _worst_at(rows, n, validation.eps(eps), err)
    target = validation.delta(delta)
    worst: list[WorstDataset] = []

    def evaluate(loss: float, _: float) -> Enclosure:
        worst.append(_worst_at(rows, n, loss, err))
        return worst[-1].enclosure

    with np.errstate(divide="ignore"):
        ratios = np.log(rows.max(axis=0)) - np.log(rows.min(axis=0))
    end = float(ratios.max()) * (1.0 + 1e-12) + 2.0 * err
    limit = _worst_at(rows, n, math.inf, err)
    if math.isinf(end) and limit.enclosure.lower > target:
        return WorstDataset(limit.victim, limit.others, Enclosure(math.inf, math.inf))
    enclosure = smallest_eps(evaluate, target, Start(math.nan), end, EPS_RTOL)
    last = worst[-1] if worst else _worst_at(rows, n, 0.0, err)
    return WorstDataset(last.victim, last.others, enclosure)


def _matrix(randomizer: Randomizer) -> FloatArray:
    """Return the matrix of a randomizer; raise ValueError if it has none."""
    if not isinstance(randomizer, Randomizer) or not hasattr(randomizer, "matrix"):
        raise ValueError(
            "randomizer must have a matrix() to enumerate, and be that of all users, "
            f"got {randomizer!r}"
        )
    rows: FloatArray = np.asarray(randomizer.matrix(), dtype=np.float64)
    return rows


def _merged_outputs(rows: FloatArray) -> tuple[FloatArray, float]:
    """Return the matrix with outputs of equal likelihood ratios merged, and the relative error."""
    rows = rows[:, rows.any(axis=0)]
    largest, labels = rows.max(axis=0), np.zeros(rows.shape[1], dtype=np.int64)
    for first, second in itertools.pairwise(rows):
        pairs = labels * rows.shape[1] + ratio_labels(first, second, largest)
        labels = np.unique(pairs, return_inverse=True)[1]
    count = int(labels.max()) + 1
    sums = np.array([np.bincount(labels, weights=row, minlength=count) for row in rows])
    missing = float(np.max(np.abs([math.fsum([-1.0, *row]) for row in rows.tolist()])))
    # Equal ratios that rounding made different differ by some hundred roundings.
    return sums, CLOSED_FORM_ERR + missing + 600.0 * rows.size * U


def _worst_at(rows: FloatArray, n: int, eps: float, err: float) -> WorstDataset:
    """Return the worst dataset at ε.

    At ε = inf, only histograms count that a single one of the two inputs can produce.
    """
    best = WorstDataset((0, 1), (n - 1, *(0,) * (len(rows) - 1)), Enclosure(0.0, 0.0))
    upper = 0.0
    likely = math.exp(min(eps, LARGEST_EPS))
    # If e^ε is not a float, the lower end is that at inf, as D does not rise.
    below = likely * (1.0 - 4.0 * U) * (1.0 - err)
    above = likely * (1.0 + 4.0 * U) * (1.0 + err) if eps <= LARGEST_EPS else math.inf
    laws = zip(_histograms(rows, n - 1), _histograms(rows > 0.0, n - 1), strict=True)
    for (others, histogram), (_, possible) in laws:
        reports = [_with_report(histogram, row) for row in rows]
        supports = [_with_report(possible, row > 0.0) for row in rows]
        for pair in itertools.permutations(range(len(rows)), 2):
            p, q = (reports[x] for x in pair)
            with np.errstate(over="ignore", under="ignore"):
                upper_q = np.where(supports[pair[1]], above * (q + SCALED_UNDERFLOW), 0.0)
                lower_q = (
                    upper_q if math.isinf(eps) else below * np.maximum(q - SCALED_UNDERFLOW, 0.0)
                )
                high, low = p * (1.0 + err) - lower_q, p * (1.0 - err) - SCALED_UNDERFLOW - upper_q
            total = float(np.maximum(high, 0.0).sum()) * (1.0 + (p.size + 8.0) * U)
            if total <= upper:
                continue
            upper = total
            best = WorstDataset(pair, others, Enclosure(_lower_sum(low), 1.0))
    upper = math.nextafter(math.ldexp(upper + MAX_WORK * SCALED_UNDERFLOW, -SCALE_BITS), math.inf)
    enclosure = Enclosure(best.enclosure.lower, min(1.0, upper))
    return WorstDataset(best.victim, best.others, enclosure)


def _lower_sum(low: FloatArray) -> float:
    """Return Σ (low)₊ in units of 1, rounded down."""
    total = float(np.maximum(low, 0.0).sum()) * (1.0 - (low.size + 8.0) * U)
    return math.nextafter(math.ldexp(total, -SCALE_BITS), 0.0)


def _histograms(rows: NDArray, users: int) -> Iterator[tuple[tuple[int, ...], NDArray]]:
    """Yield every dataset of `users` users with the law of its histogram of reports.

    The law has an axis for the count of each output but the last, with room for one more report,
    and is in units of 2^−`SCALE_BITS`. If `rows` holds truth values, which outputs are possible,
    the law holds which histograms are possible.
    """
    start = np.zeros((users + 2,) * (rows.shape[1] - 1), dtype=rows.dtype)
    start[(0,) * start.ndim] = 2.0**SCALE_BITS

    def extend(
        first: int, counts: tuple[int, ...], law: NDArray
    ) -> Iterator[tuple[tuple[int, ...], NDArray]]:
        remaining = users - sum(counts)
        if first == len(rows) - 1:
            for _ in range(remaining):
                law = _with_report(law, rows[first])
            yield (*counts, remaining), law
            return
        for count in range(remaining + 1):
            yield from extend(first + 1, (*counts, count), law)
            if count < remaining:
                law = _with_report(law, rows[first])

    return extend(0, (), start)


def _with_report(law: NDArray, row: NDArray) -> NDArray:
    """Return the law of the counts after another report; the last place of each axis must be 0."""
    with np.errstate(under="ignore"):
        shifted = np.asarray(row[-1] * law)
        for axis in range(law.ndim):
            after, before = ([slice(None)] * law.ndim for _ in range(2))
            after[axis], before[axis] = slice(1, None), slice(None, -1)
            shifted[tuple(after)] += row[axis] * law[tuple(before)]
    return shifted
