"""The largest D(ε) over all datasets whose users hold one of two inputs, as a profile.

Where few users give a rare report, the bound for all datasets of `profiles.datasets` is loose. For
two inputs the largest divergence is found exactly, by branch and bound (`divergence.two_inputs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.two_inputs import Largest, TwoInputs, largest_of
from shufflebounds.profiles.direction import Direction
from shufflebounds.profiles.profile import Ends, Profile

# Largest number of users times masses that both inputs share, without outputs that say nothing:
# with more, the bound for all datasets is close. Speed only.
MAX_SHARED_REPORTS = 60.0
# Least relative width of δ to aim at. It widens ε by a tenth of that.
LEAST_RTOL = 1e-3
# Share of a negligible δ that may be left out of the laws.
TAIL_SHARE = 1e-3
# Smallest mass that is left out of the laws.
SMALLEST_TAIL = 1e-240
# Mass that is left out of the laws where it is asked how large they are.
TYPICAL_TAIL = 1e-40
# Number of ε at which a step of a search for a root asks.
POINTS_PER_STEP = 6
# Most steps of such a search.
MAX_STEPS = 12
NAME = "all datasets"


@dataclass(frozen=True, eq=False)
class Memory:
    """The crowd of two inputs, and what was computed of it."""

    crowd: Crowd
    answers: dict[tuple, list[Largest]] = field(default_factory=dict)
    laws: dict[float, TwoInputs] = field(default_factory=dict)

    def largest(
        self, eps: FloatArray, users: int, has_all: bool, rtol: float, floor: FloatArray
    ) -> list[Largest]:
        """Return `largest_of` for all others, or only where at most half hold the first input."""
        others = users - 1
        counts = 0, others if has_all else others // 2
        key = eps.tobytes(), users, has_all, rtol, floor.tobytes()
        if key not in self.answers:
            tail = max(TAIL_SHARE * float(floor.min(initial=1.0)), SMALLEST_TAIL)
            log_tail = float(math.floor(math.log(tail)))
            if log_tail not in self.laws:
                found = TwoInputs.of(self.crowd, log_tail)
                assert found is not None
                self.laws.clear()
                self.laws[log_tail] = found
            self.answers.clear()
            self.answers[key] = largest_of(self.laws[log_tail], eps, counts, others, rtol, floor)
        return self.answers[key]


@dataclass(frozen=True, eq=False)
class LargestOfTwoInputs(Profile):
    """The largest D(ε) over datasets, of the order `place`: 0 for (P, Q), 1 for (Q, P).

    With ``has_all`` they are all datasets, else those where at most half of the others hold the
    victim's first input.
    """

    memory: Memory
    blanket: Direction
    n: FloatArray
    place: int
    has_all: bool
    name: str = NAME
    is_costly: bool = True

    @property
    def size(self) -> int:
        """See `Profile`."""
        return int(self.n.size)

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return self.blanket.end

    @property
    def limits(self) -> FloatArray:
        """See `Profile`."""
        return np.zeros(self.n.shape)

    def at(self, rows: Any) -> LargestOfTwoInputs:
        """See `Profile`."""
        return replace(self, n=self.n[rows], blanket=self.blanket.at(rows))

    def deltas(
        self,
        eps: FloatArray,
        rtol: float | FloatArray,
        target: float | FloatArray = math.nan,
        floor: float | FloatArray = 0.0,
    ) -> Ends:
        """See `Profile`; the lower ends are those of a dataset."""
        aim = max(LEAST_RTOL, float(np.min(rtol, initial=1.0)))
        negligible = np.broadcast_to(floor, eps.shape)
        lower, upper = np.zeros(eps.shape), np.ones(eps.shape)
        for n in np.unique(self.n):
            rows = self.n == n
            found = self.memory.largest(eps[rows], int(n), self.has_all, aim, negligible[rows])
            lower[rows], upper[rows] = found[self.place]
        is_zero = eps >= self.end
        return Ends.of(
            np.where(is_zero, 0.0, lower),
            np.where(is_zero, 0.0, np.minimum(upper, 1.0)),
            self.name,
        )

    def roots(
        self,
        delta: FloatArray,
        rtol: float,
        floor: float | FloatArray = 0.0,
        ceiling: float | FloatArray = math.inf,
    ) -> Ends:
        """See `Profile`."""
        low, high = (np.broadcast_to(x, delta.shape).tolist() for x in (floor, ceiling))
        rows = zip(range(delta.size), delta.tolist(), low, high, strict=True)
        ends = np.array([self.at(np.array([i]))._root(goal, x, y, rtol) for i, goal, x, y in rows])
        return Ends.of(ends[:, 0], ends[:, 1], self.name)

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.blanket.estimates(eps)

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`."""
        return self.blanket.guesses(delta)

    def _root(self, delta: float, low: float, high: float, rtol: float) -> tuple[float, float]:
        """Return ends of the root; the upper one is inf if it is not below `high`.

        Each step asks at several ε, with one pass over the datasets.
        """
        start, stop, upper = low, min(high, self.end), math.inf
        lower = 0.0
        for _ in range(MAX_STEPS):
            eps = np.linspace(start, stop, POINTS_PER_STEP)
            rows = self.at(np.zeros(eps.size, int))
            ends = rows.deltas(eps, LEAST_RTOL, floor=0.5 * delta)
            is_met = ends.upper <= delta
            if not is_met.any():
                break
            first = int(np.argmax(is_met))
            upper = min(upper, float(eps[first]))
            above = np.flatnonzero(ends.lower > delta)
            lower = max(lower, float(eps[above[-1]])) if above.size else lower
            if first == 0 or upper - eps[first - 1] <= rtol * upper:
                break
            start, stop = float(eps[first - 1]), upper
        return min(lower, upper), upper


def of_two_inputs(crowds: Sequence[Crowd], n: FloatArray) -> list[Memory]:
    """Return a list of the only crowd if it has two inputs and few shared reports, else nothing."""
    if len(crowds) != 1:
        return []
    [crowd] = crowds
    telling = crowd.a != crowd.b
    shared = float(n.max()) * float(crowd.c[telling].sum())
    if shared > MAX_SHARED_REPORTS:
        return []
    laws = TwoInputs.of(crowd, math.log(TYPICAL_TAIL))
    half = int(n.max() - 1.0) // 2
    if laws is None or laws.products(half, int(n.max()) - 1 - half) is None:
        return []
    return [Memory(crowd)]


def largest_of_two_inputs(memory: Memory, n: FloatArray) -> list[Profile]:
    """Return the largest D(ε) over all datasets, one for each order if they differ."""
    crowd = memory.crowd
    places = (0,) if crowd.symmetric else (0, 1)
    return [_largest_of_order(memory, n, place, True) for place in places]


def _largest_of_order(memory: Memory, n: FloatArray, place: int, has_all: bool) -> Profile:
    """Return the profile of one order, with the blanket of the same order."""
    crowd = memory.crowd.swap() if place else memory.crowd
    return LargestOfTwoInputs(memory, Direction(crowd.blanket(), n, "blanket"), n, place, has_all)


def orders_of_two_inputs(memory: Memory, n: FloatArray) -> tuple[tuple[Profile, Profile], ...]:
    """Return the two orders of datasets where at most half of the others hold the first input.

    If a permutation of outputs exchanges the inputs, it exchanges these datasets and the others. If
    there is none, no orders are returned.
    """
    if not memory.crowd.symmetric:
        return ()
    first, second = (_largest_of_order(memory, n, place, False) for place in (0, 1))
    return ((first, second),)
