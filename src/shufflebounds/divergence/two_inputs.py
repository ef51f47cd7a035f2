"""D(ε) of every dataset whose users hold one of two inputs, and the largest of them.

The victim has the law a or b, and so has every other user. With up to three outputs, the law of the
others' reports is a sum of positive terms in one or two dimensions. Dropping users whose input is
open bounds many datasets at once. Proof: docs/proofs/closing-the-gap.md, "Two inputs".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U

# Most outputs of different ratio a : b.
MAX_OUTPUTS = 3
# Most multiplications for the law of one dataset.
MAX_PRODUCTS = 1e9
# Units of work of a multiplication.
WORK_OF_PRODUCT = 0.3
# Units of work of an outcome, which is sorted by its ratio.
WORK_OF_OUTCOME = 200.0
# Smallest mass that is counted; what is below is left out.
SMALLEST = 1e-250
# Largest relative error of a mass: comparisons of ratios assume that its square is negligible.
LARGEST_ERR = 1e-7
# Most datasets whose laws are kept.
MAX_KEPT = 60
# Most cells into which datasets are divided.
MAX_CELLS = 150


class SortedOutcomes(NamedTuple):
    """Sums of P and Q over the outcomes of a dataset with the largest P/Q, for both orders.

    ``ratios`` (J,) fall. ``p`` and ``q`` (J + 1,) are the sums over the first outcomes. Each is
    known to a relative ``err``, but for a mass of at most ``missing`` that is left out.
    """

    ratios: FloatArray
    p: FloatArray
    q: FloatArray
    err: float
    missing: float

    @staticmethod
    def of(p: FloatArray, q: FloatArray, err: float, missing: float) -> SortedOutcomes:
        """Sort the outcomes of masses p and q, (J,)."""
        with np.errstate(divide="ignore"):
            ratios = p / q
        order = np.argsort(-ratios)
        p_sums, q_sums = (np.append(0.0, np.cumsum(x[order])) for x in (p, q))
        return SortedOutcomes(ratios[order], p_sums, q_sums, err + (p.size + 8.0) * U, missing)

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


@dataclass(frozen=True, eq=False)
class TwoInputs:
    """Two laws ``first`` and ``second`` of a report, (K,), to a relative ``err``, K = 2 or 3.

    ``log_tail`` is the logarithm of what is left out of each law of the others' reports.
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
        if crowd.extremes or crowd.kinds or not crowd.attained:
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
        if not 2 <= a.size <= MAX_OUTPUTS or not (a.all() and b.all()):
            return None
        # The output that is most frequent is counted by what the others leave.
        order = np.argsort(a + b)
        return TwoInputs(a[order], b[order], err, log_tail)

    def outcomes(self, first: int, second: int) -> tuple[SortedOutcomes, SortedOutcomes] | None:
        """Return the outcomes in both orders if so many others hold either input.

        None if there are too many.
        """
        key = first, second
        if key not in self._outcomes:
            others = self._others(first, second)
            if others is None:
                return None
            if len(self._outcomes) >= MAX_KEPT:
                self._outcomes.pop(next(iter(self._outcomes)))
            law, err, missing = others
            p, q = (self._with_victim(law, x).ravel() for x in (self.first, self.second))
            used = (p > SMALLEST) & (q > SMALLEST)
            missing += float(np.maximum(p, q)[~used].sum()) * (1.0 + 1e-9)
            spend(WORK_OF_OUTCOME * p.size)
            p, q, err = p[used], q[used], err + 4.0 * self.err + 16.0 * U
            self._outcomes[key] = (
                SortedOutcomes.of(p, q, err, missing),
                SortedOutcomes.of(q, p, err, missing),
            )
        return self._outcomes[key]

    def products(self, first: int, second: int) -> float | None:
        """Return the number of multiplications for a law of the others; None if it is too large."""
        lasts = [
            [self._last(n, float(x)) + 1.0 for x in law[:-1]]
            for n, law in ((first, self.first), (second, self.second))
        ]
        width = sum(x[-1] for x in lasts)
        sizes = [x[0] * (width if len(x) == 2 else 1.0) for x in lasts]
        return sizes[0] * sizes[1] if sizes[0] * sizes[1] <= MAX_PRODUCTS else None

    def _with_victim(self, law: FloatArray, report: FloatArray) -> FloatArray:
        """Return the law of all reports but those of the last output, which follow."""
        padded = np.pad(law, (0, 1)) * report[-1]
        for axis in range(law.ndim):
            part = np.pad(law, [(1, 0) if i == axis else (0, 1) for i in range(law.ndim)])
            padded = padded + report[axis] * part
        return padded

    def _others(self, first: int, second: int) -> tuple[FloatArray, float, float] | None:
        """Return masses of the others' reports, their relative error, and the mass left out."""
        products = self.products(first, second)
        if products is None:
            return None
        laws = [self._law(n, x) for n, x in ((first, self.first), (second, self.second))]
        shape = [x + y - 1 for x, y in zip(laws[0].shape, laws[1].shape, strict=True)]
        # Rows are laid end to end, so that one sum of products serves all dimensions.
        rows = [
            np.pad(x, [(0, 0), (0, shape[1] - x.shape[1])]).ravel() if x.ndim == 2 else x
            for x in laws
        ]
        spend(WORK_OF_PRODUCT * products)
        law = np.convolve(rows[0], rows[1])[: math.prod(shape)].reshape(shape)
        users = first + second + 1.0
        # Logarithms of factorials are good to a few ulps; powers have the errors of their bases.
        rounding = 64.0 * U * (users + 2.0) * (math.log(users + 2.0) + 2.0)
        rounding += 2.0 * (users + 1.0) * self.err + 8.0 * U * float(min(x.size for x in rows))
        missing = 8.0 * math.exp(self.log_tail) + 2.0 * SMALLEST * law.size
        err = math.expm1(rounding) * (1.0 + 1e-9)
        return (law, err, missing) if err < LARGEST_ERR else None

    def _law(self, n: int, report: FloatArray) -> FloatArray:
        """Return the law of n reports, as counts of all outputs but the last, from 0 on."""
        lasts = [self._last(n, float(x)) for x in report[:-1]]
        counts = np.meshgrid(*(np.arange(x + 1.0) for x in lasts), indexing="ij")
        rest = n - sum(counts)
        log_law = gammaln(n + 1.0) - gammaln(np.maximum(rest, 0.0) + 1.0)
        log_law = log_law + rest * math.log(report[-1])
        for count, mass in zip(counts, report[:-1].tolist(), strict=True):
            log_law = log_law + count * math.log(mass) - gammaln(count + 1.0)
        is_used = (rest >= 0.0) & (log_law > math.log(SMALLEST))
        return np.where(is_used, np.exp(np.where(is_used, log_law, 0.0)), 0.0)

    def _last(self, n: int, mass: float) -> int:
        """Return a count that is exceeded with at most e^``log_tail``, by Chernoff's bound."""
        mean = n * mass * (1.0 + self.err)
        if n == 0 or mean * math.exp(1.0) >= n:
            return n
        count = mean + 1.0
        while count < n and count * math.log(count / mean) - count + mean < -self.log_tail:
            count += max(1.0, 0.05 * math.sqrt(mean))
        return min(math.ceil(count), n)


class Largest(NamedTuple):
    """Bounds of the largest D(ε) of some datasets: of one of them, and of all."""

    lower: FloatArray
    upper: FloatArray


def largest_of(
    laws: TwoInputs,
    eps: FloatArray,
    counts: tuple[int, int],
    others: int,
    rtol: float,
    floor: FloatArray | float = 0.0,
) -> list[Largest]:
    """Return the largest D(ε) over datasets, in the order (P, Q) and in the order (Q, P).

    Parameters
    ----------
    laws
        The two laws.
    eps
        Several ε ≥ 0, (J,).
    counts
        The fewest and the most of the others who hold the first input.
    others
        The number of others.
    rtol
        The relative width to aim at.
    floor
        Values of D below which an upper bound is enough.

    Returns
    -------
    list of Largest
        For each order. Upper bounds are 1 where laws are too large.
    """

    def ask(first: int, second: int) -> list[Largest]:
        found = laws.outcomes(first, second)
        if found is None:
            return [Largest(np.zeros(eps.shape), np.ones(eps.shape)) for _ in range(2)]
        return [Largest(*order.divergences(eps)) for order in found]

    best = [
        Largest(*(np.maximum(x, y) for x, y in zip(*ends, strict=True)))
        for ends in zip(*(ask(m, others - m) for m in counts), strict=True)
    ]
    stack, cells = [counts], 0
    while stack:
        start, stop = stack.pop()
        bounds = ask(start, others - stop)
        is_done = cells >= MAX_CELLS or start == stop
        is_done = is_done or all(
            (bound.upper <= np.maximum((1.0 + rtol) * top.lower, floor)).all()
            for bound, top in zip(bounds, best, strict=True)
        )
        if not is_done:
            middle = (start + stop) // 2
            found = ask(middle, others - middle)
            best = [
                Largest(np.maximum(top.lower, x.lower), top.upper)
                for top, x in zip(best, found, strict=True)
            ]
            stack += [(middle + 1, stop), (start, middle)]
            continue
        cells += 1
        best = [
            Largest(
                np.maximum(top.lower, x.lower if start == stop else 0.0),
                np.maximum(top.upper, x.upper),
            )
            for top, x in zip(best, bounds, strict=True)
        ]
    return best
