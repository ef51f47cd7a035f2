"""Bounds over all datasets: by enumerating them for few users and outputs, or by suprema."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import Problem
from shufflebounds.accounting.root_search import LARGEST_EPS, Start, smallest_eps
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray, ratio_labels
from shufflebounds.core.work import is_scarce, is_spent
from shufflebounds.divergence.law import U
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer

# Histograms times datasets times inputs that are looked at: some ten seconds for each ε.
_MOST_WORK = 10**8
# The relative width of ε.
_RTOL = 1e-6
# Beyond, e^ε b would be no float.
_MOST_LOSS = 300.0
# Probabilities are kept in units of 2^−1000, lest e^ε be of something that has underflown. In these
# units that takes less than so much from any of them, as n times outputs is at most `_MOST_WORK`.
_SCALE, _FAINT = 1000, 1e-305


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
    >>> found = sb.worst_dataset(sb.KRR(k=2, eps0=1.0), n=1, eps=0.0)
    >>> found.victim, found.others
    ((0, 1), (0, 0))
    """

    victim: tuple[int, int]
    others: tuple[int, ...]
    enclosure: Enclosure


def worst_dataset(
    randomizer: Randomizer, n: int, *, eps: float | None = None, delta: float | None = None
) -> WorstDataset:
    """Find the worst of all datasets of n users by enumerating every one.

    Every histogram of reports is enumerated, too: exact but for roundings, which are charged.

    Parameters
    ----------
    randomizer
        That all users share, with a ``matrix()`` of few inputs and outputs.
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

    >>> found = sb.worst_dataset(sb.KRR(k=3, eps0=1.0), n=5, eps=0.5)
    >>> sorted(found.others), f"{found.enclosure.upper:.4f}"
    ([0, 1, 3], '0.0522')
    """
    n = validation.users(n)
    if (eps is None) == (delta is None):
        raise ValueError(f"exactly one of eps and delta must be given, got {eps!r} and {delta!r}")
    rows, rel_err = _united(_matrix(randomizer))
    work = math.comb(n - 1 + len(rows), len(rows)) * len(rows)
    if work > _MOST_WORK or work * (n + 1) ** (rows.shape[1] - 1) > _MOST_WORK:
        raise ValueError(
            f"n must be small enough to enumerate all datasets, got {n} with {len(rows)} inputs "
            f"and {rows.shape[1]} outputs"
        )
    err = (n + 1.0) * (rel_err + (rows.shape[1] + 4.0) * U) * 1.01
    if eps is not None:
        return _at(rows, n, validation.eps(eps), err)
    target = validation.delta(delta)
    worst: list[WorstDataset] = []

    def evaluate(loss: float, _: float) -> Enclosure:
        worst.append(_at(rows, n, loss, err))
        return worst[-1].enclosure

    with np.errstate(divide="ignore"):
        ratios = np.log(rows.max(axis=0)) - np.log(rows.min(axis=0))
    end = float(ratios.max()) * (1.0 + 1e-12) + 2.0 * err
    limit = _at(rows, n, math.inf, err)
    if math.isinf(end) and limit.enclosure.lower > target:
        return WorstDataset(limit.victim, limit.others, Enclosure(math.inf, math.inf))
    found = smallest_eps(evaluate, target, Start(math.nan), end, _RTOL)
    last = worst[-1] if worst else _at(rows, n, 0.0, err)
    return WorstDataset(last.victim, last.others, found)


def _matrix(randomizer: Randomizer) -> FloatArray:
    if not isinstance(randomizer, Randomizer) or not hasattr(randomizer, "matrix"):
        raise ValueError(f"randomizer must have a matrix() to enumerate, got {randomizer!r}")
    rows: FloatArray = np.asarray(randomizer.matrix(), dtype=np.float64)
    return rows


def _united(rows: FloatArray) -> tuple[FloatArray, float]:
    """The matrix with outputs of one likelihood ratio as one, and the error of its entries."""
    rows = rows[:, rows.any(axis=0)]
    largest, labels = rows.max(axis=0), np.zeros(rows.shape[1], dtype=np.int64)
    for one, other in itertools.pairwise(rows):
        pairs = labels * rows.shape[1] + ratio_labels(one, other, largest)
        labels = np.unique(pairs, return_inverse=True)[1]
    count = int(labels.max()) + 1
    sums = np.array([np.bincount(labels, weights=row, minlength=count) for row in rows])
    missing = float(np.max(np.abs([math.fsum([-1.0, *row]) for row in rows.tolist()])))
    # Neighbouring ratios that rounding has split differ by some hundred roundings.
    return sums, CLOSED_FORM_ERR + missing + 600.0 * rows.size * U


def _at(rows: FloatArray, n: int, eps: float, err: float) -> WorstDataset:
    """The worst dataset at ε, which may be inf: then histograms count that only one input makes."""
    best = WorstDataset((0, 1), (n - 1, *(0,) * (len(rows) - 1)), Enclosure(0.0, 0.0))
    upper = 0.0
    likely = math.exp(min(eps, LARGEST_EPS))
    # Where e^ε is no float the lower end is that at inf, as D falls.
    below = likely * (1.0 - 4.0 * U) * (1.0 - err)
    above = likely * (1.0 + 4.0 * U) * (1.0 + err) if eps <= LARGEST_EPS else math.inf
    laws = zip(_histograms(rows, n - 1), _histograms(rows > 0.0, n - 1), strict=True)
    for (others, histogram), (_, possible) in laws:
        reports = [_sent(histogram, row) for row in rows]
        supports = [_sent(possible, row > 0.0) for row in rows]
        for pair in itertools.permutations(range(len(rows)), 2):
            p, q = (reports[x] for x in pair)
            with np.errstate(over="ignore", under="ignore"):
                most_q = np.where(supports[pair[1]], above * (q + _FAINT), 0.0)
                least_q = most_q if math.isinf(eps) else below * np.maximum(q - _FAINT, 0.0)
                high, low = p * (1.0 + err) - least_q, p * (1.0 - err) - _FAINT - most_q
            most = float(np.maximum(high, 0.0).sum()) * (1.0 + (p.size + 8.0) * U)
            if most <= upper:
                continue
            upper = most
            best = WorstDataset(pair, others, Enclosure(_total(low), 1.0))
    upper = math.nextafter(math.ldexp(upper + _MOST_WORK * _FAINT, -_SCALE), math.inf)
    known = Enclosure(best.enclosure.lower, min(1.0, upper))
    return WorstDataset(best.victim, best.others, known)


def _total(low: FloatArray) -> float:
    """Σ (low)₊ in units of 1, rounded down."""
    least = float(np.maximum(low, 0.0).sum()) * (1.0 - (low.size + 8.0) * U)
    return math.nextafter(math.ldexp(least, -_SCALE), 0.0)


def _histograms(rows: NDArray, users: int) -> Iterator[tuple[tuple[int, ...], NDArray]]:
    """Every dataset of so many users, and the law of the counts of all outputs but the last.

    In units of 2^−`_SCALE`. The law has as many axes, each with room for one report more. Of truth
    values, which outputs are possible, it is which histograms are.
    """
    start = np.zeros((users + 2,) * (rows.shape[1] - 1), dtype=rows.dtype)
    start[(0,) * start.ndim] = 2.0**_SCALE

    def extended(
        first: int, held: tuple[int, ...], law: NDArray
    ) -> Iterator[tuple[tuple[int, ...], NDArray]]:
        left = users - sum(held)
        if first == len(rows) - 1:
            for _ in range(left):
                law = _sent(law, rows[first])
            yield (*held, left), law
            return
        for count in range(left + 1):
            yield from extended(first + 1, (*held, count), law)
            if count < left:
                law = _sent(law, rows[first])

    return extended(0, (), start)


def _sent(law: NDArray, row: NDArray) -> NDArray:
    """The law of the counts after another report; the last place of every axis must be empty."""
    with np.errstate(under="ignore"):
        found = np.asarray(row[-1] * law)
        for axis in range(law.ndim):
            after, before = ([slice(None)] * law.ndim for _ in range(2))
            after[axis], before[axis] = slice(1, None), slice(None, -1)
            found[tuple(after)] += row[axis] * law[tuple(before)]
    return found


# What holds for all datasets, by the suprema of crowds.
#
# Each search returns a point at which the suprema themselves were found to be at most δ, or the
# one it was given. That they grow or fall along the axis steers it, and no more rests on that.

# A blanket that is so close to the lower end is as good as the bound for all datasets.
AS_CLOSE = 3e-4
# The search ends where the bound cannot be lowered by more than about this share, or with so many
# probes. Speed and width only (benchmarks/mechanisms.py).
WITHIN = 1e-4
PROBES = 40
# So few pairs of inputs are all looked at; others only if a coarse bound does not settle them.
_FEW_CROWDS, _COARSE_SUPREMUM = 4, 0.05
# About by which power of ε, n or 1/ε₀ suprema fall, before it is known.
_STEEP = 20.0
# Suprema so many times as large as δ need not be known, and after one so much larger no others.
_HOPELESS, _FAR = 1e3, 2.0
# What a supremum of 0 counts for where the secant takes its logarithm.
_SMALLEST = 1e-304


def unsettled(crowds: Sequence[Crowd], eps: float, delta: float, n: int) -> list[Crowd]:
    """Those of many whose blankets leave it open whether D(ε) is above δ, in both directions.

    The others' datasets have at most δ at `eps` and beyond, whatever a finer bound would say. Of
    extremes the blanket is not that of all their pairs. One is kept, so that there is an answer.
    """
    if len(crowds) <= _FEW_CROWDS:
        return list(crowds)
    open_ = [one for one in crowds if one.extremes or not _is_settled(one.blanket(), eps, delta, n)]
    return open_ or [crowds[0]]


def _is_settled(blanket: Decomposition, eps: float, delta: float, n: int) -> bool:
    problem = Problem.of(blanket, n)
    return problem.delta(min(eps, LARGEST_EPS), _COARSE_SUPREMUM).upper <= delta


def all_datasets_delta(crowds: Sequence[Crowd], eps: float, n: int, high: float) -> float:
    """The largest supremum of all crowds and both directions, if it is below the bound `high`."""
    found = (supremum(crowd, eps, n) for crowd in both_directions(crowds))
    return min(high, max(found, default=math.inf))


def all_datasets_epsilon(
    crowds: Sequence[Crowd], n: int, delta: float, low: float, high: float
) -> float:
    """The least ε found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    The lower end of what it searches need not be certain.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = both_directions(crowds)
    return least(lambda eps: excess(both, eps, n, delta), low, high, WITHIN, PROBES)


def excess(both: list[Crowd], eps: float, n: int, delta: float) -> tuple[bool, float]:
    """Whether suprema are at most δ, and the logarithm of the largest over δ.

    Where they are not, those crowds are dropped whose suprema are. Beyond that point, where D is
    no larger, they are settled. Nobody looks further than at one that is far above δ. Of no crowds
    nothing is known.
    """
    if not both:
        return False, math.inf
    found: list[float] = []
    for crowd in both:
        found.append(supremum(crowd, eps, n, _HOPELESS * delta))
        if is_scarce():
            return False, math.inf
        if found[-1] > _FAR * delta:
            break
    above = [crowd for crowd, one in zip(both, found, strict=False) if not one <= delta]  # or NaN
    both[:] = [*above, *both[len(found) :]] if above else both
    return not above, math.log(max(*found, _SMALLEST)) - math.log(delta)


def least(
    holds: Callable[[float], tuple[bool, float]], low: float, high: float, within: float, most: int
) -> float:
    """The least point found in [low, high) at which it holds; else `high`.

    Secants of the logarithm. It holds from some point on.
    """
    left, right = low, high
    points: list[tuple[float, float]] = []
    # That close to a lower end which two datasets attain the bound mostly is.
    probe = min(low * (1.0 + AS_CLOSE), high)
    for _ in range(most):
        met, found = holds(probe)
        points.append((probe, found))
        left, right = (left, min(right, probe)) if met else (max(left, probe), right)
        if is_spent() or found == math.inf:
            break  # nothing more will be known
        if right - left <= max(within, (1.01 * AS_CLOSE) * (len(points) == 1)) * right:
            break
        root = _secant(points, left, right) if len(points) > 1 else probe * math.exp(found / _STEEP)
        if right < high and right - root <= within * right:
            break
        # Just beyond the root, where the supremum should be small enough.
        probe = min(max(root * (1.0 + 0.4 * within), left + 0.01 * (right - left)), right)
        if probe >= right:
            # The blanket's end was not looked at: a little below it decides who wins.
            probe = max(0.5 * (left + right), right * (1.0 - within))
    return right


def _secant(points: list[tuple[float, float]], left: float, right: float) -> float:
    """Where the line through the last two points vanishes; the middle where that says nothing."""
    (x, f), (y, g) = points[-2:]
    root = y - g * (y - x) / (g - f) if f != g else left
    return root if left < root < right else 0.5 * (left + right)
