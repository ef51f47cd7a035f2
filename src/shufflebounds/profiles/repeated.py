"""Several shuffles, one after the other, as an interval of two profiles.

Both ends of an answer come from the same losses (`profiles.rounds`). `Repeated` keeps them for the
next question, and `interval` gives its two sides as profiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import MIN_DELTA
from shufflebounds.core.work import RESERVE, budget
from shufflebounds.divergence.law import U
from shufflebounds.profiles.profile import (
    Ends,
    Interval,
    Max,
    Profile,
    Quantity,
    Query,
    one_or_many,
)
from shufflebounds.profiles.rounds import RoundKind, RoundQuestion, Rounds, Sums

# Relative width that is asked for when the work budget is spent.
ROUGH_RTOL = 0.1
# Share of its width that an enclosure must lose for another choice of nodes to follow.
LEAST_GAIN = 0.1
# Share of the gap that theory leaves by which nodes may widen it at either end, up to a share of ε
# or δ.
SHARE_OF_GAP, MOST_OF_GAP = 0.2, 0.004
# Share of the requested width that nodes aim at if bounds of a round are in cells, which add to it.
SHARE_IN_CELLS = 0.7
# Relative width to which the ends of single rounds are computed when the work budget is spent.
SINGLE_RTOL = 1e-4
# Number of δ for which the losses of a whole curve have nodes.
CURVE_TARGETS = 5
# Largest of these δ.
LARGEST_CURVE_DELTA = 0.1


class RoundAnswer(NamedTuple):
    """Ends of an answer, and whether closer nodes or more work would bring them closer together.

    ``name`` is that of the pairs of datasets at the lower end; empty if they have several.
    """

    lower: float
    upper: float
    is_short: bool
    name: str = ""

    def narrowed(self, lower: float, upper: float, name: str) -> RoundAnswer:
        """Return the answer with two further ends, and the name at the lower one."""
        high, is_better = min(self.upper, upper), lower > self.lower
        low, name = (lower, name) if is_better else (self.lower, self.name)
        return RoundAnswer(min(low, high), high, self.is_short, name)

    @property
    def enclosure(self) -> Enclosure:
        """Both ends."""
        return Enclosure(self.lower, self.upper)


@dataclass(eq=False)
class Repeated:
    """Several shuffles of some kinds.

    With ``is_strict``, the requested width counts. Else an answer may be as wide as theory makes
    it: the pairs of datasets of the lower end need not be the worst ones, nor keep their order.
    ``reserve`` returns the same shuffles in fewer kinds, with cheap bounds, for the time after the
    work budget is spent.
    """

    kinds: Sequence[RoundKind]
    is_strict: bool = False
    reserve: Callable[[], Sequence[RoundKind]] | None = None

    def __post_init__(self) -> None:
        self._answers: dict[tuple[Quantity, float], tuple[float, RoundAnswer]] = {}
        self._failures: dict[RoundQuestion, WorkError] = {}
        self._curve: tuple[tuple[float, float], Sums] | None = None

    @cached_property
    def rounds(self) -> Rounds:
        """The rounds, whose losses serve all questions so far."""
        return Rounds(self.kinds, self.is_strict)

    @property
    def is_exact(self) -> bool:
        """Whether both ends bound the same number."""
        return all(x.interval.is_exact and len(x.pairs) == 1 and x.is_symmetric for x in self.kinds)

    @property
    def times(self) -> int:
        """The number of shuffles."""
        return sum(kind.times for kind in self.kinds)

    @cached_property
    def end(self) -> float:
        """An ε from which δ is 0: the sum of those of all rounds."""
        return math.fsum(x.times * x.interval.upper.end for x in self.kinds) * (1.0 + 8.0 * U)

    @cached_property
    def limit(self) -> float:
        """A lower bound of δ at every ε, from outputs that only one input can produce."""
        return self.rounds.delta_limit()

    def answer(self, question: RoundQuestion) -> RoundAnswer:
        """Return the ends of ε or δ, as close as is asked for or as theory allows.

        If the work budget is spent before, the error holds the ends that were reached.
        """
        if question in self._failures:
            raise self._failures[question]
        rtol, answer = self._answers.get(question[:2], (math.inf, None))
        if answer is None or question.rtol < min(rtol, answer.enclosure.relative_width):
            answer = self._search(question)
            self._answers[question[:2]] = question.rtol, answer
        return answer

    def sums_of_curve(self, smallest: float, rtol: float) -> Sums:
        """Return losses that give ε at every δ from `smallest` on, to about a relative width."""
        key = smallest, rtol
        if self._curve is None or self._curve[0] != key:
            self._curve = key, self._sums_of_curve(smallest, rtol)
        return self._curve[1]

    def _sums_of_curve(self, smallest: float, rtol: float) -> Sums:
        largest = max(smallest, LARGEST_CURVE_DELTA)
        deltas = np.geomspace(smallest, largest, CURVE_TARGETS).tolist()
        return self.rounds.sums_for([RoundQuestion(Quantity.EPSILON, x, rtol) for x in deltas])

    def _search(self, question: RoundQuestion) -> RoundAnswer:
        """Return an answer from closer and closer nodes."""
        first = answer = RoundAnswer(
            0.0, self.end if question.quantity is Quantity.EPSILON else 1.0, True
        )
        failure = ""
        try:
            for answer in self._answers_of_nodes(question, first):
                if not answer.is_short:
                    return answer
        except WorkError as error:
            failure = str(error)
        answer = self._with_reserve(question, answer)
        if not failure:
            return answer
        if answer.enclosure.relative_width <= question.rtol:
            return answer._replace(is_short=False)
        self._failures[question] = WorkError(failure, answer.enclosure)
        raise self._failures[question]

    def _answers_of_nodes(
        self, question: RoundQuestion, answer: RoundAnswer
    ) -> Iterator[RoundAnswer]:
        """Yield narrower and narrower answers; the last one is not short if it is close enough."""
        width, aim = math.inf, self._aim(question.rtol)
        for sums in self.rounds.sums(question._replace(rtol=aim)):
            before, answer = answer, answer.narrowed(*_ends(question, sums))
            if answer.enclosure.relative_width > question.rtol:
                yield answer
                answer = answer.narrowed(*_chosen_end(question, sums))
            previous, width = width, answer.enclosure.relative_width
            if answer.upper <= MIN_DELTA or width <= question.rtol:
                yield answer._replace(is_short=False)
            yield answer
            reach = self._reach(question._replace(rtol=aim), sums, answer)
            moved = max(before.upper - answer.upper, answer.lower - before.lower)
            if previous < math.inf and self.rounds.have_gap and moved <= aim * answer.upper:
                # Much finer nodes have hardly moved the ends.
                reach = answer.lower, answer.upper
            if not self.is_strict and _is_close(answer, reach, aim):
                yield answer._replace(is_short=False)
            is_hopeless = self.is_strict and _is_hopeless(answer, reach, question.rtol)
            if is_hopeless or width > (1.0 - LEAST_GAIN) * previous:
                return

    def _aim(self, rtol: float) -> float:
        """Return the relative width that nodes aim at, and at which an end is that of theory."""
        if self.is_strict and any(self.rounds.is_epoch(x) and x.is_in_cells for x in self.kinds):
            return SHARE_IN_CELLS * rtol
        if self.is_strict or all(kind.interval.is_exact for kind in self.kinds):
            return rtol
        # No width is promised. Many kinds share the work.
        return min(rtol * math.sqrt(len(self.kinds)), max(ROUGH_RTOL, rtol))

    def _reach(
        self, question: RoundQuestion, sums: Sums, answer: RoundAnswer
    ) -> tuple[float, float]:
        """Return how far more nodes may raise the lower end, and lower the upper one, at most.

        They are estimates: no bound rests on them.
        """
        if not self.rounds.have_gap:
            return math.inf, 0.0
        below = sums.floor()
        floor = question.end(below, -1.0) if below else 0.0
        if not self.is_strict and answer.upper - floor > question.rtol * answer.upper:
            return math.inf, floor
        return max((question.end(x, 1.0) for x in sums.ceiling()), default=answer.lower), floor

    def _with_reserve(self, question: RoundQuestion, answer: RoundAnswer) -> RoundAnswer:
        """Return the answer with what little more work gives, even if the budget is spent."""
        kinds = self.kinds
        if self.reserve is not None:
            # Even cheap bounds may cost too much, as the blankets of thousands of pairs.
            with budget(RESERVE), suppress(WorkError):
                kinds = self.reserve()
        target = question._replace(rtol=ROUGH_RTOL)
        for step in (self._rough_ends, self._ends_of_single_rounds):
            with budget(RESERVE), suppress(WorkError):
                for ends in step(kinds, target):
                    answer = answer.narrowed(*ends)
        return answer

    @staticmethod
    def _rough_ends(
        kinds: Sequence[RoundKind], question: RoundQuestion
    ) -> Iterator[tuple[float, float, str]]:
        """Yield ends from few nodes."""
        sums = Rounds(kinds).sums_for([question])
        yield _ends(question, sums)

    @staticmethod
    def _ends_of_single_rounds(
        kinds: Sequence[RoundKind], question: RoundQuestion
    ) -> Iterator[tuple[float, float, str]]:
        """Yield the lower end of each round alone, and the upper end of basic composition."""

        def ends(profile: Profile, at: float) -> Ends:
            return profile.ends(Query.of(question.quantity, np.array([at]), SINGLE_RTOL))

        for kind in kinds:
            if kind.interval.is_attained:
                lower = ends(kind.interval.lower, question.at)
                yield float(lower.lower[0]), math.inf, str(lower.names[0])
        share = question.at / sum(kind.times for kind in kinds) * (1.0 - 1e-12)
        if share >= MIN_DELTA or question.quantity is Quantity.DELTA:
            uppers = [
                kind.times * float(ends(kind.interval.upper, share).upper[0]) for kind in kinds
            ]
            yield 0.0, math.fsum(uppers) * (1.0 + 8.0 * U), ""


def _is_close(answer: RoundAnswer, reach: tuple[float, float], aim: float) -> bool:
    """Return whether more nodes would move either end by no more than a share `aim`.

    It is enough that they would move it by little compared with the gap that theory leaves.
    """
    ceiling, floor = reach
    gap = max(answer.upper - floor, ceiling - answer.lower)
    little = min(SHARE_OF_GAP * (floor - ceiling), MOST_OF_GAP * answer.upper)
    return answer.upper < math.inf and gap <= max(aim * answer.upper, little)


def _is_hopeless(answer: RoundAnswer, reach: tuple[float, float], rtol: float) -> bool:
    """Return whether theory keeps the ends too far apart, so that more nodes gain too little."""
    ceiling, floor = reach
    gap = floor - ceiling
    is_near = answer.upper - answer.lower <= gap / (1.0 - LEAST_GAIN)
    return gap > rtol * answer.upper and is_near


def _ends(question: RoundQuestion, sums: Sums) -> tuple[float, float, str]:
    """Return both ends that sums of losses give, and the name at the lower one."""
    lowers = [(question.end(x, -1.0), name) for name, x in sums.named_lower()]
    lower, name = max(lowers, key=lambda x: x[0], default=(0.0, ""))
    return lower, max(question.end(x, 1.0) for x in sums.upper()), name


def _chosen_end(question: RoundQuestion, sums: Sums) -> tuple[float, float, str]:
    """Return the upper end for rounds each of which has one order, chosen from what was seen."""
    chosen = sums.chosen_orders(question)
    return 0.0, math.inf if chosen is None else question.end(chosen, 1.0), ""


@dataclass(frozen=True, eq=False)
class RoundSide(Profile):
    """The lower (−1) or the upper (1) profile of several shuffles, for P numbers of users."""

    rows: Sequence[Repeated]
    side: float
    name: str = ""

    @property
    def has_pairs(self) -> bool:
        """Whether it is that of pairs of datasets."""
        return self.side < 0.0 or all(row.is_exact for row in self.rows)

    @property
    def is_costly(self) -> bool:  # type: ignore[override]
        """See `Profile`."""
        return any(kind.interval.upper.is_costly for row in self.rows for kind in row.kinds)

    @property
    def end(self) -> float:  # type: ignore[override]
        """See `Profile`."""
        return max(row.end for row in self.rows)

    @property
    def limit(self) -> float:
        """See `Profile`."""
        return min(row.limit for row in self.rows)

    def at(self, rows: Any) -> RoundSide:
        """See `Profile`."""
        return replace(self, rows=[self.rows[i] for i in np.arange(len(self.rows))[rows].tolist()])

    def prepared(self, smallest: float, rtol: float, side: float) -> Profile:
        """See `Profile`."""
        [row] = self.rows
        sums = row.sums_of_curve(smallest, rtol)
        return Max(sums.upper() if side > 0.0 else sums.lower())

    def ends(self, query: Query) -> Ends:
        """See `Profile`."""
        answers, failure = [], ""
        is_delta = query.quantity is Quantity.DELTA
        points = zip(self.rows, query.at.tolist(), query.rtol.tolist(), strict=True)
        for row, at, rtol in points:
            if row.end <= at if is_delta else row.limit > at:
                end = 0.0 if is_delta else math.inf
                answers.append(RoundAnswer(end, end, False))
                continue
            try:
                answers.append(row.answer(RoundQuestion(query.quantity, at, rtol)))
            except WorkError as error:
                failure = failure or str(error)
                answers.append(RoundAnswer(error.enclosure.lower, error.enclosure.upper, True))
        lower, upper = (np.array([x[i] for x in answers]) for i in (0, 1))
        if failure:
            raise WorkError(failure, one_or_many(lower, upper))
        names = np.array([x.name if self.has_pairs else self.name for x in answers], dtype=object)
        return Ends(lower, upper, names, np.array([x.is_short for x in answers]))

    def estimates(self, eps: FloatArray) -> FloatArray:
        """See `Profile`: those of a normal loss with the same spread at ε = 0."""
        return np.log([max(_spread(row), 1e-300) for row in self.rows]) + 0.0 * eps

    def guesses(self, delta: FloatArray) -> FloatArray:
        """See `Profile`: those of a normal loss."""
        spreads = np.array([_spread(row) for row in self.rows])
        return np.asarray(np.sqrt(-4.0 * math.pi * np.log(delta)) * spreads)


def _spread(rounds: Repeated) -> float:
    """Return an estimate of δ(0) of all rounds, as if losses were normal."""
    logs = [float(kind.interval.upper.estimates(np.zeros(1))[0]) for kind in rounds.kinds]
    rows = zip(rounds.kinds, logs, strict=True)
    return math.sqrt(math.fsum(kind.times * math.exp(2.0 * min(x, 0.0)) for kind, x in rows))


def interval_of_rounds(rows: Sequence[Repeated]) -> Interval:
    """Return what is known of several shuffles, for P numbers of users."""
    upper = RoundSide(rows, 1.0)
    if all(row.is_exact for row in rows):
        return Interval(upper, upper, is_of_one_curve=True)
    is_attained = all(any(kind.interval.is_attained for kind in row.kinds) for row in rows)
    return Interval(RoundSide(rows, -1.0), upper, is_attained=is_attained)
