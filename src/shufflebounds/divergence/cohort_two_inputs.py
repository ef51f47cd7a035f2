"""D(ε) of every dataset of two inputs if exactly s of n users are drawn and report.

The victim takes the place of one of s others with probability s/n. A cell of datasets is bounded by
publishing which of the users whose input is open are drawn, and what they report: how many of them
there are is hypergeometric. Proof: docs/proofs/cohorts.md, section 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.law import U
from shufflebounds.divergence.two_inputs import (
    LARGEST_ERR,
    SMALLEST,
    WORK_OF_PRODUCT,
    OutcomeMasses,
    TwoInputs,
)

# Largest cohort: a dataset of 300 takes up to half a second.
MAX_SIZE = 300
# Multiplications that take as long as the sum of two numbers of reports. Speed only.
MULTIPLICATIONS_PER_SUM = 1e4


@dataclass(frozen=True, eq=False)
class CohortOfTwoInputs(TwoInputs):
    """The same for cohorts of ``size`` of ``users``, if reports have two outputs."""

    size: int = 1
    users: int = 2
    _reports: dict[tuple[int, int], tuple[int, FloatArray]] = field(default_factory=dict)
    _inputs: dict[tuple[int, int], tuple[int, FloatArray]] = field(default_factory=dict)

    @staticmethod
    def of_cohort(crowd: Crowd, log_tail: float, size: int, users: int) -> CohortOfTwoInputs | None:
        """Return the laws of a crowd if every user has one of two laws on two outputs."""
        laws = TwoInputs.of(crowd, log_tail)
        if laws is None or laws.first.size != 2 or size > MAX_SIZE:
            return None
        return CohortOfTwoInputs(
            laws.first, laws.second, laws.err, log_tail, size=size, users=users
        )

    def masses(self, first: int, second: int) -> OutcomeMasses | None:
        """See `TwoInputs`; the users who are left out are published."""
        rest = first + second + 1
        counts, weights = self._drawn(self.users, rest, self.size)
        laws: dict[int, FloatArray] = {}
        columns = []
        for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
            if count == 0:
                columns.append(np.full((2, 1), weight))
                continue
            for number in {count - 1, min(count, rest - 1)} - laws.keys():
                laws[number] = self._law_of_drawn(number, first, second)
            share = count / rest
            others = laws[count] * ((rest - count) / rest) if count < rest else 0.0
            victim = [np.convolve(laws[count - 1], law[::-1]) for law in (self.first, self.second)]
            columns.append(weight * (share * np.array(victim) + others))
        p, q = np.concatenate(columns, axis=1)
        # Each hypergeometric weight is the exponential of sums of at most s logarithms.
        size = self.size + 2.0
        rounding = 8.0 * U * size**2 * (math.log(self.users + 2.0) + 2.0)
        rounding += 64.0 * U * size * (math.log(size) + 2.0) - 8.0 * U * math.log(SMALLEST)
        rounding += 2.0 * size * self.err + 16.0 * U * size + 4.0 * self.err + 64.0 * U
        missing = 6.01 * math.exp(self.log_tail) + 2.0 * SMALLEST * (p.size + size)
        err = math.expm1(rounding) * (1.0 + 1e-9)
        return OutcomeMasses(p, q, err, missing) if err < LARGEST_ERR else None

    def are_affordable(self, first: int, second: int) -> bool:
        """See `TwoInputs`."""
        return self.size <= MAX_SIZE

    def _drawn(self, users: int, marked: int, size: int) -> tuple[NDArray[np.int64], FloatArray]:
        """Return how many of the `marked` users may be among `size` drawn ones, and the masses.

        What is left out has at most the mass e^``log_tail``.
        """
        start, stop = max(0, size - (users - marked)), min(size, marked)
        counts = np.arange(start, stop + 1)
        chosen, rest = _log_choices(marked, size), _log_choices(users - marked, size)
        masses = np.exp(
            np.maximum(chosen[counts] + rest[size - counts] - _log_choices(users, size)[-1], -745.0)
        )
        used = masses > math.exp(self.log_tail) / (size + 1.0)
        return counts[used], masses[used]

    def _law_of_drawn(self, size: int, first: int, second: int) -> FloatArray:
        """Return the law of the count of the first output if so many others are drawn, (s + 1,)."""
        total = np.zeros(size + 1)
        counts, weights = self._drawn(first + second, first, size)
        spend(MULTIPLICATIONS_PER_SUM * WORK_OF_PRODUCT * counts.size)
        for count, weight in zip(counts.tolist(), weights.tolist(), strict=True):
            start, law = self._law_of_reports(count, size - count)
            total[start : start + law.size] += weight * law
        return total

    def _law_of_reports(self, first: int, second: int) -> tuple[int, FloatArray]:
        """Return the first count of the first output, and the masses from there on."""
        key = first, second
        if key not in self._reports:
            (start, law), (other_start, other) = (
                self._law_of_input(place, number) for place, number in enumerate(key)
            )
            spend(WORK_OF_PRODUCT * (law.size * other.size + MULTIPLICATIONS_PER_SUM))
            self._reports[key] = start + other_start, np.convolve(law, other)
        return self._reports[key]

    def _law_of_input(self, place: int, number: int) -> tuple[int, FloatArray]:
        """Return the same for so many reports of one input."""
        key = place, number
        if key not in self._inputs:
            report = (self.first, self.second)[place]
            [(start, _)] = self.windows(number, report)
            self._inputs[key] = start, self.law(number, report)
        return self._inputs[key]


def _log_choices(users: int, size: int) -> FloatArray:
    """Return the logarithms of the numbers of sets of 0 to `size` of some users; −inf for none."""
    counts = np.arange(1.0, size + 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(users - counts + 1.0, 0.0) / counts)
    return np.append(0.0, np.cumsum(logs))
