"""The largest D(ε) over all datasets whose users hold one of two inputs, as a profile.

Where few users give a rare report, the bound for all datasets of `profiles.datasets` is loose. For
two inputs the largest divergence is found exactly, by branch and bound (`divergence.two_inputs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.cohort_two_inputs import CohortOfTwoInputs
from shufflebounds.divergence.two_inputs import (
    MAX_CELLS,
    Datasets,
    Largest,
    LargestRoot,
    TwoInputs,
)
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends, Profile, Query

# Largest number of users times masses that both inputs share, without outputs that say nothing:
# with more, the bound for all datasets is close. Speed only.
MAX_SHARED_REPORTS = 60.0
# Relative gap between an upper bound and a lower one below which the largest divergence is not
# looked for.
SUFFICIENT_GAP_OF_ALL = 5e-3
# Least relative width of δ to aim at. It widens ε by a tenth of that.
LEAST_RTOL = 1e-3
# Least relative width of ε to aim at.
LEAST_EPS_RTOL = 1e-4
# Share of a negligible δ that may be left out of the laws, on each side of a count.
TAIL_SHARE = 1e-6
# Smallest mass that is left out of the laws.
SMALLEST_TAIL = 1e-240
# Fewest times by which the variance of one law of two outputs must exceed that of the other for the
# worst of many datasets to be found soon: else all of them are nearly equal. Speed only.
LEAST_VARIANCE_RATIO = 2.0
# Most datasets each of which may be asked.
FEW_DATASETS = 500
# Most kinks of a curve of a dataset that are given.
MAX_KINKS = 300
# Mass that is left out of the laws where it is asked how large they are.
TYPICAL_TAIL = 1e-12
# Most answers that are kept.
MAX_ANSWERS = 8
NAME = "all datasets"
# What is between the victim's inputs and those of others in the name of a pair of datasets.
AMONG = " among "


@dataclass(frozen=True, eq=False)
class Memory:
    """The crowd of two inputs, and what was computed of it.

    ``drawn`` is the size of a cohort, and the number of users from whom it is drawn; None if all
    report. It is asked if users share at most ``most_shared`` reports and if laws are not too large
    with ``typical_tail``, the mass that is left out of them. It divides datasets into at most
    ``most_cells``.
    """

    crowd: Crowd
    drawn: tuple[int, int] | None = None
    most_shared: float = MAX_SHARED_REPORTS
    typical_tail: float = TYPICAL_TAIL
    most_cells: int = MAX_CELLS
    answers: dict[tuple, list[Largest]] = field(default_factory=dict)
    laws: dict[float, TwoInputs] = field(default_factory=dict)

    def laws_for(self, level: float) -> TwoInputs:
        """Return the laws for D of which `level` is small."""
        log_tail = float(math.floor(math.log(max(TAIL_SHARE * level, SMALLEST_TAIL))))
        if log_tail not in self.laws:
            laws = self._laws(log_tail)
            assert laws is not None
            self.laws.clear()
            self.laws[log_tail] = laws
        return self.laws[log_tail]

    def _laws(self, log_tail: float) -> TwoInputs | None:
        """Return the laws of reports; None if they have other inputs, or too many outputs."""
        if self.drawn is None:
            return TwoInputs.of(self.crowd, log_tail)
        return CohortOfTwoInputs.of_cohort(self.crowd, log_tail, *self.drawn)

    def others(self, draws: int) -> int:
        """Return the number of users besides the victim if so many report."""
        return (draws if self.drawn is None else self.drawn[1]) - 1

    def is_asked(self, draws: int) -> bool:
        """Return whether users share few reports, there are two inputs, and laws are small."""
        if draws * self._shared > self.most_shared:
            return False
        laws, others = self._typical_laws, self.others(draws)
        return laws is not None and laws.are_affordable(others // 2, others - others // 2)

    @cached_property
    def _shared(self) -> float:
        """The mass that both inputs share, without outputs that say nothing."""
        return float(self.crowd.c[self.crowd.a != self.crowd.b].sum())

    @cached_property
    def _typical_laws(self) -> TwoInputs | None:
        """The laws by which it is asked how large they are."""
        return self._laws(math.log(self.typical_tail))

    def largest(
        self,
        eps: FloatArray,
        counts: tuple[int, int],
        others: int,
        rtol: float,
        floor: FloatArray,
    ) -> list[Largest]:
        """Return the largest D(ε), as `Datasets.largest` does."""
        key = eps.tobytes(), counts, others, rtol, floor.tobytes()
        if key not in self.answers:
            laws = self.laws_for(float(floor.min(initial=1.0)))
            if len(self.answers) >= MAX_ANSWERS:
                self.answers.pop(next(iter(self.answers)))
            datasets = Datasets(laws, counts, others, self.most_cells)
            self.answers[key] = datasets.largest(eps, rtol, floor)
        return self.answers[key]


@dataclass(frozen=True, eq=False)
class LargestOfTwoInputs(Profile):
    """The largest D(ε) over datasets, of the ``orders``: 0 for (P, Q), 1 for (Q, P).

    They are the datasets where a share of the others between ``shares`` holds the first input. Ends
    are named by the dataset of the lower end if there are names of the ``inputs``, after the
    ``victim``'s. Nothing is known for numbers of users who share too many reports.
    """

    memory: Memory
    blankets: tuple[Direction, ...]
    n: FloatArray
    orders: tuple[int, ...]
    shares: tuple[float, float] = (0.0, 1.0)
    inputs: tuple[str, ...] = ()
    victim: str = ""
    name: str = NAME
    is_costly: bool = True
    least_gap: float = SUFFICIENT_GAP_OF_ALL

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max(x.end for x in self.blankets)

    def at(self, rows: Any) -> LargestOfTwoInputs:
        """See `Profile`."""
        blankets = tuple(x.at(rows) for x in self.blankets)
        return replace(self, n=self.n[rows], blankets=blankets)

    def delta_ends(self, query: Query) -> Ends:
        """See `Profile`; the lower ends are those of a dataset."""
        eps, aim = query.at, max(LEAST_RTOL, float(np.min(query.rtol, initial=1.0)))
        lower, upper = np.zeros(eps.shape), np.ones(eps.shape)
        names = np.full(eps.shape, self.name, dtype=object)
        for n in np.unique(self.n):
            if not self.memory.is_asked(int(n)):
                continue
            rows, others = self.n == n, self.memory.others(int(n))
            counts = self._counts(others)
            ends = self.memory.largest(eps[rows], counts, others, aim, query.floor[rows])
            for order in (ends[i] for i in self.orders):
                better = order.lower > lower[rows]
                texts = [self._label(x, others) for x in order.first.tolist()]
                names[rows] = np.where(better, texts, names[rows])
                lower[rows] = np.maximum(lower[rows], order.lower)
            upper[rows] = np.max([ends[i].upper for i in self.orders], axis=0)
        is_zero = eps >= self.end
        lower, upper = (np.where(is_zero, 0.0, np.minimum(x, 1.0)) for x in (lower, upper))
        return Ends(lower, upper, names, np.zeros(eps.shape, dtype=bool))

    def root_ends(self, query: Query) -> Ends:
        """See `Profile`."""
        arrays = (self.n, query.at, query.floor, query.ceiling, query.rtol)
        rows = zip(*(x.tolist() for x in arrays), strict=True)
        roots = [self._root(int(n), goal, (x, y), rtol) for n, goal, x, y, rtol in rows]
        lower, upper, first = (np.array(x) for x in zip(*roots, strict=True))
        counts = zip(first.tolist(), self.n.tolist(), strict=True)
        texts = [self._label(x, self.memory.others(int(n))) for x, n in counts]
        names = np.array(texts, dtype=object)
        return Ends(lower, upper, names, np.zeros(upper.shape, dtype=bool))

    def kinks(self) -> FloatArray:
        """See `Profile`; those of the dataset in which the fewest others hold the first input."""
        others = self.memory.others(int(self.n[0]))
        first = self._counts(others)[0]
        outcomes = self.memory.laws_for(1.0).outcomes(first, others - first)
        if outcomes is None or outcomes[0].ratios.size > MAX_KINKS:
            return np.zeros(0)
        return np.log(np.concatenate([outcomes[i].ratios for i in self.orders]))

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.asarray(np.max([x.estimates(eps) for x in self.blankets], axis=0))

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        return np.asarray(np.max([x.guesses(delta) for x in self.blankets], axis=0))

    def _root(
        self, draws: int, delta: float, ends: tuple[float, float], rtol: float
    ) -> LargestRoot:
        """Return the root between two ε; its upper end is inf if it is not below the second one."""
        if not self.memory.is_asked(draws):
            return LargestRoot(0.0, math.inf, 0)
        others = self.memory.others(draws)
        laws = self.memory.laws_for(delta)
        datasets = Datasets(laws, self._counts(others), others, self.memory.most_cells)
        low, high = (min(x, self.end) for x in ends)
        return datasets.root(delta, (low, high), max(rtol, LEAST_EPS_RTOL), self.orders)

    def _label(self, first: int, others: int) -> str:
        """Return the name of a dataset, such as ``89 of x0, 3 of x1``, or that of the bound."""
        if not self.inputs:
            return self.name
        return f"{self.victim}{first} of {self.inputs[0]}, {others - first} of {self.inputs[1]}"

    def _counts(self, others: int) -> tuple[int, int]:
        """Return how many others hold the first input, at least and at most."""
        start, stop = (math.floor(share * others) for share in self.shares)
        return min(start + (self.shares[0] > 0.0), others), stop


def memory_of_two_inputs(
    crowds: Sequence[Crowd], n: FloatArray, drawn: tuple[int, int] | None = None
) -> Memory | None:
    """Return the only crowd if some n users have two inputs and few shared reports, else None."""
    if len(crowds) != 1 or not crowds[0].attained:
        return None
    memory = Memory(crowds[0], drawn)
    return memory if memory.is_asked(int(n.min())) else None


@lru_cache(maxsize=4)
def memory_of_two_laws(crowd: Crowd, draws: int) -> Memory | None:
    """Return the memory of a crowd of two outputs, None if the worst dataset is not found soon.

    No dataset need attain it.
    """
    variances = [float(law.prod()) for law in (crowd.a, crowd.b)]
    is_few = draws <= FEW_DATASETS
    if not is_few and max(variances) < LEAST_VARIANCE_RATIO * min(variances):
        return None
    cells = 4 * (FEW_DATASETS if is_few else MAX_CELLS)
    memory = Memory(crowd, None, math.inf, SMALLEST_TAIL, cells)
    return memory if memory.is_asked(draws) else None


def largest_of_each_order(memory: Memory, n: FloatArray) -> tuple[Profile, Profile]:
    """Return the largest D(ε) over all datasets in the order (P, Q), and in the order (Q, P)."""
    first = _largest(memory, n, (0,))
    return first, (first if memory.crowd.symmetric else _largest(memory, n, (1,)))


def largest_of_two_inputs(memory: Memory, n: FloatArray) -> LargestOfTwoInputs:
    """Return the largest D(ε) over all datasets, in both orders."""
    return _largest(memory, n, (0,) if memory.crowd.symmetric else (0, 1))


def mixed_datasets(largest: LargestOfTwoInputs, pair: str) -> LargestOfTwoInputs:
    """Return the same profile with names of datasets, which are like that of a `pair`."""
    crowd = largest.memory.crowd
    names = {
        i: name
        for name, input_ in list(crowd.others.items())[::-1]
        for i, law in enumerate((crowd.a, crowd.b))
        if np.allclose(input_.law, input_.pieces(law), rtol=1e-9, atol=0.0)
    }
    victim = "".join(pair.rpartition(AMONG)[:2])
    inputs = tuple(names.get(i, f"x{i}") for i in (0, 1))
    return replace(largest, inputs=inputs, victim=victim)


def orders_of_two_inputs(memory: Memory, n: FloatArray) -> tuple[tuple[Profile, Profile], ...]:
    """Return pairs of profiles, one of which bounds every dataset, each in its own order.

    They are about the datasets where at most half of the others hold the first input, and about the
    rest. If a permutation of outputs exchanges the inputs, it exchanges these, and the orders.
    """
    halves = [(0.0, 0.5)] if memory.crowd.symmetric else [(0.0, 0.5), (0.5, 1.0)]
    pairs = [[_largest(memory, n, (place,), half) for place in (0, 1)] for half in halves]
    return tuple((first, second) for first, second in pairs)


def _largest(
    memory: Memory,
    n: FloatArray,
    orders: tuple[int, ...],
    shares: tuple[float, float] = (0.0, 1.0),
) -> LargestOfTwoInputs:
    """Return the profile of some orders and datasets, with the blankets of the same orders."""
    crowds = [(memory.crowd, memory.crowd.swap())[i] for i in orders]
    blankets = tuple(Direction(crowd.blanket(), n, "blanket") for crowd in crowds)
    return LargestOfTwoInputs(memory, blankets, n, orders, shares)
