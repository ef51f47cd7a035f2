"""Rounds of a subject as a bound sees them, and their ε and δ: where widths are promised."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import enclosed_so_far
from shufflebounds.profiles.profile import Interval, Quantity
from shufflebounds.questions.enclose import NamedEnds, enclose
from shufflebounds.questions.intervals import View, interval_of, shuffle_count
from shufflebounds.subjects.base import ANY_AIM, Aim, Shuffle, Subject

# Relative width of ε and δ of one shuffle where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-4
# Relative width of δ at ε > 0 of several shuffles. There, a relative error of the losses costs more
# than at ε = 0.
DEFAULT_ROUNDS_DELTA_RTOL = 0.05
# Relative widths of ε and of δ, of one round and of several, if δ of a round takes long.
CELLS_RTOLS = {Quantity.EPSILON: (1e-3, 1e-2), Quantity.DELTA: (2e-2, 0.1)}
# Share of the requested width of one round that is left to the numerical error for the ends that
# cells give.
NUMERICAL_SHARE = 0.7
# Most choices of cells for one answer.
MAX_CHOICES = 4
# Most δ that cells are made for before the answer is asked for.
MAX_GUESSES = 12
# Largest ratio of the δ that cells are made for to the answer, and of the answer to it.
LARGEST_RATIO = 30.0
ENDS = ("lower", "upper")


class MakeInterval(Protocol):
    """Returns what is known of rounds of a subject; `interval_of` is one."""

    def __call__(
        self, subject: Subject, counts: Sequence[int], aim: Aim, /, *, rtol: float | None
    ) -> Interval:
        """Return the profiles for numbers of users, and for answers of a width if it counts."""


# The bound by the decompositions that cover all datasets.
BLANKETS: MakeInterval = partial(interval_of, view=View.BLANKET)
# The bound by pairs of datasets.
LOWER: MakeInterval = partial(interval_of, view=View.LOWER)


@dataclass(frozen=True, eq=False)
class OneShuffle(Subject):
    """A single one of the shuffles of a round."""

    shuffle: Shuffle

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """ε₀ of a message."""
        return self.shuffle.source.eps0

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [self.shuffle._replace(times=1)]


@dataclass(frozen=True, eq=False)
class Plan:
    """Rounds of a subject. It keeps what it computes for the next question.

    Parameters
    ----------
    subject
        What users send in a round.
    rounds
        The number of rounds.
    make
        Returns what is known of them.
    """

    subject: Subject
    rounds: int = 1
    make: MakeInterval = interval_of
    _intervals: dict[tuple, Interval] = field(default_factory=dict)

    def interval(
        self, counts: Sequence[int], aim: Aim | None = None, *, rtol: float | None = None
    ) -> Interval:
        """Return what is known for some numbers of users."""
        if aim is None or not self.subject.is_made_for_delta:
            aim = Aim(rounds=self.rounds)
        key = tuple(counts), aim, rtol
        if key not in self._intervals:
            self._intervals[key] = self.make(self.subject, counts, aim, rtol=rtol)
        return self._intervals[key]

    def single_shuffles(self, n: int) -> list[tuple[Interval, int]]:
        """Return what is known of each kind of shuffle alone, and how many there are."""
        shuffles = self.subject.shuffles_of(n, self.rounds, Aim(rounds=self.rounds))
        return [(self.make(OneShuffle(x), [n], Aim(), rtol=None), x.times) for x in shuffles]

    @cached_property
    def cheap(self) -> Plan | None:
        """The same by the simple bounds of reports with an ε₀; None if this is not a best bound."""
        if self.make is not interval_of or self.subject.eps0 is None:
            return None
        return Plan(self.subject, self.rounds, partial(interval_of, view=View.CLONE))

    def has_several_rounds(self, n: int) -> bool:
        """Return whether there is more than one shuffle in all rounds."""
        several = self.subject.total(self.rounds) > 1
        return several or shuffle_count(self.subject, n, self.rounds) > 1

    def default_rtol(self, quantity: Quantity, n: int, at: float) -> float:
        """Return the relative width that is aimed at where the caller gives none."""
        if self.subject.has_costly_rounds:
            return CELLS_RTOLS[quantity][self.subject.total(self.rounds) > 1]
        if not self.has_several_rounds(n):
            return DEFAULT_RTOL
        is_small = quantity is Quantity.DELTA and at > 0.0
        return DEFAULT_ROUNDS_DELTA_RTOL if is_small else self.subject.rounds_rtol

    def answer(
        self,
        quantity: Quantity,
        at: Sequence[tuple[float, float]],
        counts: Sequence[int],
        rtol: float | None = None,
    ) -> NamedEnds:
        """Return ends of ε at δ or δ at ε at P points, and where they are wider than promised.

        Parameters
        ----------
        quantity
            What is asked.
        at
            Pairs of floats between which δ or ε is; mostly equal ones.
        counts
            The number of users of each point.
        rtol
            The relative width to aim at; None stands for the default.
        """
        left, right = (np.array(x) for x in zip(*at, strict=True))
        goal = self.default_rtol(quantity, counts[0], float(left.min()))
        goal = goal if rtol is None else validation.rtol(rtol)
        if self.subject.most_cells(self.rounds):
            points = zip(left.tolist(), counts, strict=True)
            ends = _unnamed([self._in_cells(quantity, *point, goal) for point in points])
            return self._judged(ends, quantity, left, counts, goal, self._has_datasets)
        aim = Aim(rounds=self.rounds)
        if quantity is Quantity.EPSILON:
            aim = aim._replace(delta=float(left.min()))
        interval = self.interval(counts, aim, rtol=rtol)
        ends = enclose(interval, quantity, left, goal)
        if (left != right).any():
            # Both quantities fall.
            ends = replace(ends, lower=enclose(interval, quantity, right, goal).lower)
        ends = self._within_known_limits(ends, quantity, left, counts)
        is_promised = interval.is_exact and not interval.has_gap
        is_promised |= rtol is not None and interval.is_of_one_curve
        is_promised |= rtol is not None and self.has_several_rounds(counts[0])
        # No width is promised where no lower end but 0 is known.
        is_promised &= interval.is_attained
        certain_end = interval.upper.end - interval.upper.end_err
        return self._judged(ends, quantity, left, counts, goal, is_promised, certain_end)

    def _within_known_limits(
        self, ends: NamedEnds, quantity: Quantity, at: FloatArray, counts: Sequence[int]
    ) -> NamedEnds:
        """Return ends that take into account what holds without a shuffler or a secret draw.

        δ is 0 from the ε₀ of all rounds on. Of training, an ε for known steps is known.
        """
        limit = self.subject.pure_eps(self.rounds)
        if quantity is Quantity.DELTA:
            lower, upper = (np.where(at >= limit, 0.0, x) for x in (ends.lower, ends.upper))
            return replace(ends, lower=lower, upper=upper)
        points = zip(counts, at.tolist(), strict=True)
        known = [self.subject.epsilon_of_known_steps(n, self.rounds, x) for n, x in points]
        limits = np.minimum([math.inf if x is None else x for x in known], limit)
        lower, upper = np.minimum(ends.lower, limits), np.minimum(ends.upper, limits)
        return replace(ends, lower=lower, upper=upper)

    def _judged(
        self,
        ends: NamedEnds,
        quantity: Quantity,
        at: FloatArray,
        counts: Sequence[int],
        goal: float,
        is_promised: bool,
        certain_end: float = math.inf,
    ) -> NamedEnds:
        """Return the ends with sentences on those that are wider than promised.

        A δ below all that may be asked, or that rounding cannot tell from 0, is narrow enough.
        """
        sentences = []
        rows = zip(ends.enclosures(), at.tolist(), counts, ends.is_short.tolist(), strict=True)
        for enclosure, x, n, is_short in rows:
            is_wide = enclosure.relative_width > goal and (is_promised or is_short)
            if quantity is Quantity.DELTA:
                is_wide &= enclosure.upper > validation.MIN_DELTA and x < certain_end
            sentences.append(self._shortfall(quantity, enclosure, x, n, goal) if is_wide else "")
        return replace(ends, shortfalls=sentences)

    def _shortfall(
        self, quantity: Quantity, enclosure: Enclosure, at: float, n: int, goal: float
    ) -> str:
        """Return a sentence on an enclosure that is too wide."""
        given = "delta" if quantity is Quantity.EPSILON else "eps"
        total = self.subject.total(self.rounds)
        where = f"{total} rounds" if total > 1 else f"n = {n}"
        sources = [shuffle.source for shuffle in self.subject.shuffles(n)]
        is_finite = all(x.is_finite() for source in sources for x in source.blankets.values())
        others = () if is_finite else ("more cells",)
        what, width = f"{quantity} at {given} = {at!r}, {where}", enclosure.relative_width
        return validation.shortfall(what, astuple(enclosure), width, goal, *others)

    def _in_cells(self, quantity: Quantity, at: float, n: int, goal: float) -> Enclosure:
        """Return an answer from bounds in cells: ever more of them, made for ever better δ.

        All bounds hold, whatever δ they are made for.
        """
        best = Enclosure(0.0, 1.0)
        if quantity is Quantity.EPSILON:
            known = self.subject.epsilon_of_known_steps(n, self.rounds, at)
            best = Enclosure(0.0, math.inf if known is None else known)
        with enclosed_so_far(lambda: best):
            aim = Aim(at, self.rounds)
            if quantity is Quantity.DELTA:
                for guess, enclosure in self._guesses(at, n):
                    aim, best = guess, intersection(best, enclosure)
            for enclosure in self._with_more_cells(quantity, at, n, aim, goal):
                best = intersection(best, enclosure)
                is_close = best.relative_width <= goal or math.isinf(best.lower)
                if is_close or not self._has_datasets:
                    break
        return best

    @property
    def _has_datasets(self) -> bool:
        """Whether lower ends are known, of which a width is promised, of what was asked so far."""
        return all(interval.is_attained for interval in self._intervals.values())

    def _with_more_cells(
        self, quantity: Quantity, at: float, n: int, aim: Aim, goal: float
    ) -> Iterator[Enclosure]:
        """Yield answers from more and more cells.

        A single choice may be wider than the one before, where a kink lies within a cell.
        """
        most = self.subject.most_cells(self.rounds)
        # The losses of several rounds leave room for cells themselves.
        share = NUMERICAL_SHARE if self.subject.total(self.rounds) == 1 else 1.0
        for _ in range(MAX_CHOICES):
            enclosure = self._once(quantity, at, n, aim, max(share * goal, 1e-9))
            yield enclosure
            if aim.cells >= most:
                break
            factor = min(max(1.3 * math.sqrt(enclosure.relative_width / goal), 1.5), 4.0)
            aim = aim._replace(cells=min(math.ceil(factor * aim.cells), most))

    def _guesses(self, eps: float, n: int) -> Iterator[tuple[Aim, Enclosure]]:
        """Yield aims whose δ come closer to that at ε, and rough answers from them.

        The δ that cells are made for is bracketed: below δ(ε), and above.
        """
        low, high = validation.MIN_DELTA, 0.5
        delta = Aim().delta
        for _ in range(MAX_GUESSES):
            aim = Aim(delta, self.rounds)
            rough = self._once(Quantity.DELTA, eps, n, aim, validation.MAX_RTOL)
            yield aim._replace(delta=min(max(rough.upper, low), high)), rough
            if rough.upper < delta / LARGEST_RATIO and delta > low:
                high = delta
            elif rough.lower > LARGEST_RATIO * delta and delta < high:
                low = delta
            else:
                break
            guess = min(max(rough.upper, validation.MIN_DELTA), 0.5)
            delta = guess if low < guess < high else math.sqrt(low * high)

    def _once(self, quantity: Quantity, at: float, n: int, aim: Aim, rtol: float) -> Enclosure:
        """Return the answer from one choice of cells, however wide it is."""
        interval = self.interval([n], aim, rtol=rtol)
        try:
            return enclose(interval, quantity, np.array([at]), rtol).enclosures()[0]
        except WorkError as error:
            if isinstance(error.enclosure, Enclosure) and error.enclosure.upper < math.inf:
                return error.enclosure
            raise


def intersection(first: Enclosure, second: Enclosure) -> Enclosure:
    """Return what two enclosures of one number say together."""
    upper = min(first.upper, second.upper)
    return Enclosure(min(max(first.lower, second.lower), upper), upper)


def _unnamed(enclosures: Sequence[Enclosure]) -> NamedEnds:
    """Return ends without names."""
    lower, upper = (np.array([getattr(x, end) for x in enclosures]) for end in ENDS)
    names, is_short = np.full(upper.shape, "", dtype=object), np.zeros(upper.shape, dtype=bool)
    return NamedEnds(lower, upper, names, names, is_short)
