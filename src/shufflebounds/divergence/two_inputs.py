"""D(ε) of every dataset whose users hold one of two inputs, and the largest of them.

The victim has the law a or b, and so has every other user. The law of the others' reports is a sum
of positive terms in a few dimensions. Dropping users whose input is open bounds many datasets at
once. Proof: docs/proofs/closing-the-gap.md, "Two inputs".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.products import FloatArray, merge_rows
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U

# Most outputs of different ratio a : b.
MAX_OUTPUTS = 4
# Most multiplications for the law of one dataset: a tenth of a second.
MAX_PRODUCTS = 3e8
# Most outcomes of one dataset: a tenth of a second.
MAX_OUTCOMES = 6e5
# Units of work of a multiplication.
WORK_OF_PRODUCT = 0.3
# Units of work of an outcome, which is sorted by its ratio.
WORK_OF_OUTCOME = 200.0
# Smallest mass that is counted; what is below is left out.
SMALLEST = 1e-250
# Largest relative error of a mass: comparisons of ratios assume that its square is negligible.
LARGEST_ERR = 1e-7
# Multiplications that take as long as a call of NumPy. Speed only.
MULTIPLICATIONS_PER_CALL = 1e5
# Most datasets whose outcomes are kept.
MAX_KEPT = 60
# Most cells into which datasets are divided.
MAX_CELLS = 150
# Number of ε at which a step of a search for a root of one dataset asks.
POINTS_PER_STEP = 40
# Most steps of such a search: each divides the distance of the ends by the number of points.
MAX_STEPS = 12


class SortedOutcomes(NamedTuple):
    """Sums of P and Q over the outcomes of a dataset with the largest P/Q.

    ``ratios`` (J,) fall. ``p`` and ``q`` (J + 1,) are the sums over the first outcomes. Each mass
    is known to a relative ``err``, but for a mass of at most ``missing`` that is left out.
    """

    ratios: FloatArray
    p: FloatArray
    q: FloatArray
    err: float
    missing: float

    @staticmethod
    def of_both_orders(
        p: FloatArray, q: FloatArray, err: float, missing: float
    ) -> tuple[SortedOutcomes, SortedOutcomes]:
        """Sort the outcomes of positive masses p and q, (J,), by P/Q and by Q/P."""
        ratios = p / q
        order = np.argsort(-ratios)
        ratios, p, q = ratios[order], p[order], q[order]
        err += (p.size + 8.0) * U
        return (
            SortedOutcomes(ratios, _sums(p), _sums(q), err, missing),
            SortedOutcomes(1.0 / ratios[::-1], _sums(q[::-1]), _sums(p[::-1]), err, missing),
        )

    def divergences(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of D(P‖e^ε Q) at several ε."""
        x = np.exp(eps)
        # Where rounding leaves the sign of P − xQ open, the term is counted from above only.
        low, high = (
            np.searchsorted(-self.ratios, -x * (1.0 + side * 2.0 * self.err), "left")
            for side in (0.0, -1.0)
        )
        slack = (self.err + 8.0 * U) * (1.0 + 1e-6)
        lower = self.p[low] * (1.0 - slack) - x * self.q[low] * (1.0 + slack)
        upper = self.p[high] * (1.0 + slack) - x * self.q[high] * (1.0 - slack)
        upper = np.maximum(upper, 0.0) * (1.0 + 8.0 * U) + self.missing * (1.0 + 8.0 * U)
        # Outcomes next to those that are left out may have too little of either mass.
        lower = lower * (1.0 - 8.0 * U) - x * self.missing * (1.0 + 8.0 * U)
        return np.maximum(lower, 0.0), upper

    def root(self, delta: float, ends: tuple[float, float], rtol: float) -> tuple[float, float]:
        """Return ε between which the smallest one with D ≤ `delta` lies, to a relative width.

        The lower one is 0 and the upper one inf if the smallest one is not between `ends`.
        """
        start, stop, low, high = *ends, 0.0, math.inf
        for _ in range(MAX_STEPS):
            eps = np.linspace(start, stop, POINTS_PER_STEP)
            lower, upper = self.divergences(eps)
            above, below = np.flatnonzero(lower > delta), np.flatnonzero(upper <= delta)
            low = max(low, float(eps[above[-1]])) if above.size else low
            high = min(high, float(eps[below[0]])) if below.size else high
            if not below.size or below[0] == 0 or high - eps[below[0] - 1] <= rtol * high:
                break
            start, stop = float(eps[below[0] - 1]), high
        return min(low, high), high


def _sums(masses: FloatArray) -> FloatArray:
    """Return the sums of the first masses, of none to all of them."""
    return np.append(0.0, np.cumsum(masses))


class LawOfOthers(NamedTuple):
    """Masses of the others' reports, their relative error, and the mass that is left out."""

    masses: FloatArray
    err: float
    missing: float


class OutcomeMasses(NamedTuple):
    """Masses P and Q of outcomes, (J,), their relative error, and the mass that is left out."""

    p: FloatArray
    q: FloatArray
    err: float
    missing: float


@dataclass(frozen=True, eq=False)
class TwoInputs:
    """Two laws ``first`` and ``second`` of a report, (K,), to a relative ``err``, K = 2 to 4.

    ``log_tail`` is the logarithm of what is left out of each law of the others' reports on each
    side of each count.
    """

    first: FloatArray
    second: FloatArray
    err: float
    log_tail: float
    _outcomes: dict[tuple[int, int], tuple[SortedOutcomes, SortedOutcomes]] = field(
        default_factory=dict
    )

    @staticmethod
    def of(crowd: Crowd, log_tail: float) -> TwoInputs | None:
        """Return the laws of a crowd if every other user has one of the victim's two laws."""
        err = crowd.rel_err + 1e-14
        # The listed inputs of a crowd of many pairs are not all that there are.
        if not crowd.is_of_one_pair:
            return None
        for input_ in crowd.others.values():
            if not any(
                np.allclose(input_.law, input_.pieces(x), rtol=err, atol=0.0)
                for x in (crowd.a, crowd.b)
            ):
                return None
            err = max(err, 2.0 * (crowd.rel_err + input_.rel_err) + 1e-14)
        used = (crowd.a > 0.0) | (crowd.b > 0.0)
        a, b = crowd.a[used], crowd.b[used]
        if not (a.all() and b.all()):
            return None
        # Only the ratio a : b of a report counts, as all users have these two laws.
        rows, spread = merge_rows(np.stack([a, b, np.minimum(a, b)]))
        a, b = rows[:2]
        if not 2 <= a.size <= MAX_OUTPUTS:
            return None
        # The output that is most frequent is counted by what the others leave.
        order = np.argsort(a + b)
        return TwoInputs(a[order], b[order], err + spread, log_tail)

    def outcomes(self, first: int, second: int) -> tuple[SortedOutcomes, SortedOutcomes] | None:
        """Return the outcomes in both orders if so many others hold either input.

        None if there are too many.
        """
        key = first, second
        if key not in self._outcomes:
            masses = self.masses(first, second)
            if masses is None:
                return None
            if len(self._outcomes) >= MAX_KEPT:
                self._outcomes.pop(next(iter(self._outcomes)))
            p, q = masses.p, masses.q
            spend(WORK_OF_OUTCOME * p.size)
            # What has less mass than this is negligible in sum, too.
            smallest = max(math.exp(self.log_tail) / p.size, SMALLEST)
            used = (p > smallest) | (q > smallest)
            used &= (p > SMALLEST) & (q > SMALLEST)
            missing = masses.missing + float(np.maximum(p, q)[~used].sum()) * (1.0 + 1e-6)
            self._outcomes[key] = SortedOutcomes.of_both_orders(
                p[used], q[used], masses.err, missing
            )
        return self._outcomes[key]

    def masses(self, first: int, second: int) -> OutcomeMasses | None:
        """Return the masses of all outcomes; None if they are too many or not known well."""
        others = self._others(first, second)
        if others is None:
            return None
        p, q = (self._with_victim(others.masses, x) for x in (self.first, self.second))
        err = others.err + 4.0 * self.err + 16.0 * U
        return OutcomeMasses(p, q, err, others.missing)

    def are_affordable(self, first: int, second: int) -> bool:
        """Return whether the law of so many others is not too large."""
        sizes = [
            [stop - start + 1.0 for start, stop in self.windows(n, law)]
            for n, law in ((first, self.first), (second, self.second))
        ]
        is_small = math.prod(x + y for x, y in zip(*sizes, strict=True)) <= MAX_OUTCOMES
        is_small &= math.prod(sizes[0]) * math.prod(sizes[1]) <= MAX_PRODUCTS
        size = min(math.prod(x) for x in sizes)
        return is_small and self._err_of_others(first + second, size) < LARGEST_ERR

    def _err_of_others(self, users: int, size: float) -> float:
        """Return the relative error of the law of so many others, a sum of `size` products."""
        users += 2
        # Logarithms of factorials are good to a few ulps; powers have the errors of their bases.
        rounding = 64.0 * U * users * (math.log(users) + 2.0) - 8.0 * U * math.log(SMALLEST)
        rounding += 2.0 * users * self.err + 8.0 * U * size
        return math.expm1(rounding) * (1.0 + 1e-9)

    def _with_victim(self, law: FloatArray, report: FloatArray) -> FloatArray:
        """Return the masses of all reports with the victim's, flat."""
        padded = np.zeros([x + 1 for x in law.shape])
        inner = tuple(slice(0, x) for x in law.shape)
        padded[inner] = law * report[-1]
        for axis, mass in enumerate(report[:-1].tolist()):
            shifted = tuple(slice(i == axis, x + (i == axis)) for i, x in enumerate(law.shape))
            padded[shifted] += mass * law
        return padded.ravel()

    def _others(self, first: int, second: int) -> LawOfOthers | None:
        """Return the law of the others' reports; None if it is too large or not known well."""
        if not self.are_affordable(first, second):
            return None
        laws = [self.law(n, x) for n, x in ((first, self.first), (second, self.second))]
        size = min(x.size for x in laws)
        spend(WORK_OF_PRODUCT * float(laws[0].size) * float(laws[1].size))
        law = convolved(*laws)
        cuts = sum(
            (start > 0) + (stop < n)
            for n, x in ((first, self.first), (second, self.second))
            for start, stop in self.windows(n, x)
        )
        missing = 1.001 * cuts * math.exp(self.log_tail) + 2.0 * SMALLEST * law.size
        err = self._err_of_others(first + second, size)
        return LawOfOthers(law, err, missing) if err < LARGEST_ERR else None

    def law(self, n: int, report: FloatArray) -> FloatArray:
        """Return the law of n reports, as counts of all outputs but the last in their windows."""
        counts = [np.arange(x, y + 1.0) for x, y in self.windows(n, report)]
        total = np.zeros([x.size for x in counts])
        log_law = np.full(total.shape, math.lgamma(n + 1.0))
        for axis, (count, mass) in enumerate(zip(counts, report.tolist(), strict=False)):
            shape = [-1 if i == axis else 1 for i in range(len(counts))]
            total += count.reshape(shape)
            log_law += (count * math.log(mass) - _log_gammas(count)).reshape(shape)
        start = n - total.max()
        rest = np.maximum(n - total, 0.0)
        factorials = _log_gammas(np.arange(max(start, 0.0), rest.max() + 1.0))
        log_law += rest * math.log(report[-1])
        log_law -= factorials[(rest - max(start, 0.0)).astype(np.int64)]
        is_used = (total <= n) & (log_law > math.log(SMALLEST))
        return np.where(is_used, np.exp(np.where(is_used, log_law, 0.0)), 0.0)

    def windows(self, n: int, report: FloatArray) -> list[tuple[int, int]]:
        """Return the first and the last count of each output but the last that are kept.

        Smaller ones and larger ones have at most a mass of e^``log_tail`` each, by Chernoff's
        bound.
        """
        return [self._window(n, float(x)) for x in report[:-1]]

    def _window(self, n: int, mass: float) -> tuple[int, int]:
        """Return the window of the count of one output."""
        mean = n * mass

        def is_negligible(count: float) -> bool:
            # Rounding and the error of the mass change the exponent by far less than 1.
            exponent = count * math.log(count / mean) - count + mean if count else mean
            return exponent > 1.0 - self.log_tail

        spread = math.sqrt(2.0 * mean * (1.0 - self.log_tail)) + 1.0
        start, stop = mean, mean
        while start > 0.0 and not is_negligible(start):
            start = max(start - 0.1 * spread, 0.0)
        while stop < n and not is_negligible(stop):
            stop += 0.1 * spread
        return math.floor(start), min(math.ceil(stop), n)


def _log_gammas(counts: FloatArray) -> FloatArray:
    """Return the logarithms of the factorials of counts, (J,)."""
    return np.array([math.lgamma(x + 1.0) for x in counts.tolist()])


def convolved(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the full convolution of two arrays of positive numbers, by products of matrices."""
    x, y, axis = min(
        ((*pair, axis) for pair in ((x, y), (y, x)) for axis in range(x.ndim)),
        key=lambda plan: _products_of_convolution(*plan),
    )
    # Each row of the first array along the axis is a matrix that multiplies the second one.
    x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, 0)
    size, width = y.shape[0], x.shape[-1]
    rest = [i + j - 1 for i, j in zip(x.shape[:-1], y.shape[1:], strict=True)]
    total = np.zeros([width + size - 1, *rest])
    table = np.ascontiguousarray(y.reshape(size, -1)[::-1])
    padded = np.zeros(width + 2 * (size - 1))
    for place in product(*(range(i) for i in x.shape[:-1])):
        padded[size - 1 : size - 1 + width] = x[place]
        rows = np.ascontiguousarray(sliding_window_view(padded, size))
        where = tuple(slice(i, i + j) for i, j in zip(place, y.shape[1:], strict=True))
        total[(slice(None), *where)] += (rows @ table).reshape(-1, *y.shape[1:])
    return np.moveaxis(total, 0, axis)


def _products_of_convolution(x: FloatArray, y: FloatArray, axis: int) -> float:
    """Return about how many multiplications a convolution along an axis takes."""
    growth = 1.0 + y.shape[axis] / x.shape[axis]
    return x.size * y.size * growth + MULTIPLICATIONS_PER_CALL * x.size / x.shape[axis]


class Largest(NamedTuple):
    """Bounds of the largest D(ε) of some datasets, (J,): of one of them, and of all.

    ``first`` says how many others hold the first input in the dataset of each lower bound.
    """

    lower: FloatArray
    upper: FloatArray
    first: NDArray[np.int64]


class LargestRoot(NamedTuple):
    """Ends of the largest root, and how many others hold the first input at the lower end."""

    lower: float
    upper: float
    first: int


@dataclass(frozen=True, eq=False)
class Datasets:
    """Datasets of ``others`` users besides the victim, ``counts`` of whom hold the first input.

    ``counts`` are the fewest and the most. They are divided into at most ``most_cells``.
    """

    laws: TwoInputs
    counts: tuple[int, int]
    others: int
    most_cells: int = MAX_CELLS

    def largest(
        self, eps: FloatArray, rtol: float, floor: FloatArray | float = 0.0
    ) -> list[Largest]:
        """Return the largest D(ε) over the datasets, in the orders (P, Q) and (Q, P).

        Parameters
        ----------
        eps
            Several ε ≥ 0, (J,).
        rtol
            The relative width to aim at.
        floor
            Values of D below which an upper bound is enough.

        Returns
        -------
        list of Largest
            For each order. Upper bounds are 1 where laws are too large.
        """
        attained, upper, first = (np.zeros((2, eps.size)) for _ in range(3))
        cells, remaining = self._first_cells(), self.most_cells
        while cells:
            start, stop = cells.pop()
            lower, high = self._bounds(eps, start, stop)
            if start == stop:
                first = np.where(lower > attained, start, first)
                attained = np.maximum(attained, lower)
            is_done = (high <= np.maximum((1.0 + rtol) * attained, floor)).all()
            if is_done or start == stop or remaining <= 0:
                upper = np.maximum(upper, high)
            else:
                cells += _halves(start, stop)
            remaining -= 1
        return [Largest(*x) for x in zip(attained, upper, first.astype(np.int64), strict=True)]

    def root(
        self, delta: float, ends: tuple[float, float], rtol: float, orders: tuple[int, ...]
    ) -> LargestRoot:
        """Return the largest of the smallest ε at which D of each dataset is at most `delta`.

        Parameters
        ----------
        delta
            δ.
        ends
            ε between which the root matters. A lower end may be 0 if no root is above the first
            one, and the upper one is inf if not all are below the second one.
        rtol
            The relative width to aim at.
        orders
            0 for (P, Q), 1 for (Q, P).
        """
        attained, upper, first = 0.0, ends[0], self.counts[0]
        cells, remaining = self._first_cells(), self.most_cells
        while cells:
            start, stop = cells.pop()
            outcomes = self.laws.outcomes(start, self.others - stop)
            if outcomes is None:
                return LargestRoot(0.0, math.inf, first)
            goal = max(attained, ends[0]) * (1.0 + rtol)
            open_orders = [
                order
                for order in (outcomes[i] for i in orders)
                if order.divergences(np.array([goal]))[1][0] > delta
            ]
            if not open_orders:
                upper = max(upper, goal)
            elif start == stop or remaining <= 0:
                roots = [order.root(delta, ends, 0.1 * rtol) for order in open_orders]
                upper = max(upper, goal, *(high for _, high in roots))
                low = max(low for low, _ in roots)
                if start == stop and low > attained:
                    attained, first = low, start
            else:
                cells += _halves(start, stop)
            remaining -= 1
        return LargestRoot(min(attained, upper), upper, first)

    def _bounds(self, eps: FloatArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        """Return bounds of D, (2, J), in both orders if `start` to `stop` hold the first input.

        The lower ones are those of the dataset without users whose input is open.
        """
        outcomes = self.laws.outcomes(start, self.others - stop)
        if outcomes is None:
            return np.zeros((2, eps.size)), np.ones((2, eps.size))
        lower, upper = zip(*(order.divergences(eps) for order in outcomes), strict=True)
        return np.array(lower), np.array(upper)

    def _first_cells(self) -> list[tuple[int, int]]:
        """Return the cell of all datasets, and those of its ends, which come last."""
        start, stop = self.counts
        return list(dict.fromkeys([self.counts, (start, start), (stop, stop)]))


def _halves(start: int, stop: int) -> list[tuple[int, int]]:
    """Return both halves of a cell, and the cell of the dataset in its middle, which comes last."""
    middle = (start + stop) // 2
    return list(dict.fromkeys([(middle + 1, stop), (start, middle), (middle, middle)]))
