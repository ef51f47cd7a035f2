"""ε at δ where an inner and an outer decomposition surround the randomizer: each end by itself.

With D_inner ≤ D ≤ D_outer at every ε, the ε at which D falls to δ lies between those of the two
(docs/engine.md, section 9). Each end is searched for alone, in decompositions of the few components
that tell at this question. Where the search begins is estimated from still fewer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from shufflebounds.accounting.end_search import EndSearch
from shufflebounds.accounting.inversion import LARGEST_EPS
from shufflebounds.accounting.problem import Problem
from shufflebounds.accounting.starts import Start, start_of
from shufflebounds.accounting.trials import Guess, Trials
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.question import Question, sketch
from shufflebounds.divergence.strips import spread, united
from shufflebounds.enclosure import Enclosure

# What of the width wanted may be due to fewer components, and what each end may be wide at least
# and at most, both of which count by half.
_STRIPS, _LEAST, _MOST = 0.03, 0.3, 0.4
# Starts that may be off by so much, as a logarithm of D, are rough. There log D may be off by so
# much more due to fewer components, by less if ε is 0, and there are so many strips at most.
_ROUGH, _ROUGH_LOSS, _LOSS_AT_ZERO, _ROUGH_STRIPS = 0.1, 0.01, 1e-4, 500.0
# Ends that are so many times as wide as was aimed at are no success.
_CLOSE = 5.0
# How close the ε must be known, relatively, for which there are strips.
_NEAR = 1e-2
# Rough estimates have kinks: log D hardly falls by more than this times a relative step of ε.
_STEEPEST = 200.0
# How far both ends usually are apart, relatively, the factor by which that may differ, unless log D
# falls by less than this if ε grows by its e-th part; and what of it is close enough.
_USUAL_GAP, _UNUSUAL, _FLAT, _OF_GAP = 8e-5, 5.0, 1.0, 0.2
# Steps of Newton's method with refined estimates; the largest, relatively.
_STEPS, _LARGEST_STEP = 3, 0.5
# Estimates that may be off by more, as a logarithm of D, are no better.
_LOST = 2.0


class Apart(NamedTuple):
    """An enclosure, and whether both its ends are about as close to the truth as they should be.

    Where they are, a wider one than was aimed at tells how far inner and outer lie apart.
    """

    enclosure: Enclosure
    close: bool


def epsilon_apart(problem: Problem, delta: float, goal: float) -> Apart | None:
    """Enclosure of the smallest ε with D(ε) ≤ δ; None where there is nothing to start from.

    It aims at the relative width `goal`, or little more than what both ends lie apart.
    """
    end = problem.largest_loss()
    few = _Few.of(problem, delta, goal)
    start = start_of(few.sketched, delta, min(end, LARGEST_EPS))
    if not (0.0 <= start.eps < min(end, LARGEST_EPS) and start.slope < 0.0):
        return None
    if start.eps == 0.0:
        start = start._replace(doubt=math.inf)
    above = few.above(start)
    better = _refined(above, start, delta)
    if abs(better.eps - start.eps) > _NEAR * start.eps:
        above = few.above(better)
        better = _refined(above, better, delta)
    start, gap = better, _USUAL_GAP
    guess = Guess(start.eps, start.doubt)
    if start.doubt < _ROUGH:
        search = EndSearch(above.delta, delta, end, goal, Trials(start.slope, start.doubt))
        below = few.below(start)
        gap = _gap(below, above, start, delta)
    else:
        slope = max(start.slope, -_STEEPEST / start.eps) if start.eps > 0.0 else start.slope
        search = EndSearch(above.delta, delta, end, _NEAR, Trials(slope, start.doubt))
        found = search.run(guess)
        if found.upper == 0.0:
            return Apart(found, True)
        guess = search.trials.guess() if search.trials.made else guess
        eps = min(max(guess.eps, found.lower), found.upper, end * (1.0 - _NEAR))
        if not eps > 0.0:
            return None
        start = Start(eps, search.trials.slope if search.trials.slope < 0.0 else slope, 0.0)
        # What did for a coarse look need not do now.
        few = _Few.of(problem, delta, goal)
        above, below = few.above(start), few.below(start)
        if -start.slope * start.eps < _FLAT:
            gap = _gap(below, above, start, delta)
    # Near 0, where D is flat, the ends may be much further apart than that.
    width = max(min(max(goal - gap, _LEAST * goal), _MOST * goal), _OF_GAP * gap)
    search = search.resumed(above.delta, width)
    upper = search.run(guess).upper
    if not search.is_narrow(_CLOSE):
        # What keeps this end from being known keeps the other one, too, probe after probe.
        return Apart(Enclosure(0.0, upper), False)
    doubt = 0.1 * gap * upper * -start.slope
    inner = search.shifted(below.delta, gap)
    lower = inner.run(Guess(upper * (1.0 - gap), doubt)).lower
    close = search.is_narrow(_CLOSE) and inner.is_narrow(_CLOSE)
    return Apart(Enclosure(min(lower, upper), upper), close)


@dataclass(frozen=True)
class _Few:
    """A problem in few components: roughly, ``sketched``, and bounds of either end near some ε."""

    problem: Problem
    sketched: Problem
    delta: float
    goal: float

    @staticmethod
    def of(problem: Problem, delta: float, goal: float) -> _Few:
        problem = dataclasses.replace(problem, target=delta)
        sketched = _only(problem, (sketch(outer) for _, outer in problem.directions))
        return _Few(problem, sketched, delta, goal)

    def above(self, start: Start) -> Problem:
        """Of outer decompositions."""
        ends = zip(self.problem.directions, self._questions(start), strict=True)
        return _only(self.problem, (spread(outer, question) for (_, outer), question in ends))

    def below(self, start: Start) -> Problem:
        """Of inner decompositions."""
        ends = zip(self.problem.directions, self._questions(start), strict=True)
        return _only(self.problem, (united(inner, question) for (inner, _), question in ends))

    def _questions(self, start: Start) -> list[Question]:
        loss, most, delta = _STRIPS * self.goal * -start.slope * start.eps, math.inf, self.delta
        if not start.doubt < _ROUGH:
            loss, most = _ROUGH_LOSS if start.eps > 0.0 else _LOSS_AT_ZERO, _ROUGH_STRIPS
            delta = max(delta, math.exp(self.sketched.rare_estimate(start.eps)))
        return [
            Question.about(like, start.eps, self.problem.n, delta, loss, most)
            for like, _ in self.sketched.directions
        ]


def _only(problem: Problem, decompositions: Iterable[Decomposition]) -> Problem:
    """The same of decompositions that are the whole truth."""
    return dataclasses.replace(problem, directions=tuple((one, one) for one in decompositions))


def _refined(problem: Problem, start: Start, delta: float) -> Start:
    """The root of refined estimates near a start; as it is where they tell nothing."""
    eps, slope, doubt = start
    for _ in range(_STEPS):
        log, slope, doubt = problem.refined_estimate(eps)
        step = (log - math.log(delta)) / slope if slope < 0.0 else math.nan
        if not (doubt < _LOST and abs(step) < _LARGEST_STEP * eps):
            return start
        eps -= step
        if abs(step) < _NEAR * eps:
            break
    return Start(eps, slope, doubt)


def _gap(below: Problem, above: Problem, start: Start, delta: float) -> float:
    """How far both ends seem to be apart, relatively."""
    low, high = (one.estimate(start.eps)[0] for one in (below, above))
    if not abs(high - math.log(delta)) < _LOST:
        low, high = (one.rare_estimate(start.eps) for one in (below, above))
    steep = -start.slope * start.eps
    gap = (high - low) / steep
    if not gap > 0.0:
        return _USUAL_GAP
    most = _USUAL_GAP * _UNUSUAL
    if steep < _FLAT:
        most /= steep
    return min(max(gap, _USUAL_GAP / _UNUSUAL), most)
