"""Certified ends of the ε at which D(ε) falls to δ, from D at any points: D is convex in e^ε.

A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
above it: what was found at two points bounds D everywhere (docs/engine.md, section 9).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from shufflebounds.divergence.law import U
from shufflebounds.enclosure import Enclosure

# expm1 and log1p are good to two ulps; a chord takes five operations more.
_POINT, _CHORD = 4.0 * U, 8.0 * U
# More than what underflows.
_FAINT = 1e-300
# More than D can be, and than the ε at which e^ε is a float.
_MOST, _LARGEST = 2.0, 700.0


class _Point(NamedTuple):
    """A bound of D at e^ε − 1 = ``growth``."""

    growth: float
    bound: float


class Bracket:
    """Between which ends D(ε) falls to δ: ``low`` ≤ ε ≤ ``high``.

    ε is the smallest with D(ε) ≤ δ. ``low`` is 0 and ``high`` is `end` where nothing better is
    known; D is 0 at `end`, which is inf where nobody knows such a point.
    """

    def __init__(self, delta: float, end: float) -> None:
        self.low, self.high = 0.0, end
        self._delta = delta
        self._upper, self._lower = [_Point(0.0, _MOST)], list[_Point]()
        if end <= _LARGEST:
            self._upper.append(_Point(math.expm1(end) * (1.0 + _POINT), 0.0))

    def from_above(self) -> Bracket:
        """What the upper bounds tell: a bracket for any D that they hold for, too."""
        other = Bracket(self._delta, math.inf)
        other.high, other._upper = self.high, list(self._upper)
        return other

    def add(self, eps: float, found: Enclosure) -> None:
        """Make use of an enclosure of D(ε)."""
        growth = math.expm1(eps)
        # As D does not rise, a bound of it holds at a point moved to the side of the bound.
        below = _Point(growth * (1.0 - _POINT), found.lower)
        above = _Point(growth * (1.0 + _POINT), min(found.upper, _MOST))
        self._lower.append(below)
        self._upper.append(above)
        if found.lower > self._delta:
            self.low = max(self.low, eps)
        if found.upper <= self._delta:
            self.high = min(self.high, eps)
        roots = [_crossed(one, above, self._delta) for one in self._upper]
        roots += [_crossed(above, one, self._delta) for one in self._upper]
        self.high = min(self.high, *(math.log1p(x) * (1.0 + _POINT) for x in roots))
        roots = [_preceded(below, one, self._delta) for one in self._upper]
        roots += [_preceded(one, above, self._delta) for one in self._lower]
        self.low = max(self.low, *(math.log1p(x) * (1.0 - _POINT) for x in roots))
        self.low = min(self.low, self.high)


def _crossed(left: _Point, right: _Point, delta: float) -> float:
    """Where the chord between two upper bounds falls to δ, rounded up; inf where it does not."""
    if not (left.growth < right.growth and right.bound <= delta < left.bound):
        return math.inf
    share = (left.bound - delta) / (left.bound - right.bound)
    step = (right.growth - left.growth) * share * (1.0 + _CHORD)
    return (left.growth + step) * (1.0 + _CHORD) + _FAINT


def _preceded(lower: _Point, upper: _Point, delta: float) -> float:
    """Up to where the line through a lower and an upper bound shows that D exceeds δ; 0 if nowhere.

    Beyond the lower bound, seen from the upper one, D is above that line.
    """
    fall = lower.bound - upper.bound
    run = upper.growth - lower.growth
    if run > 0.0 and lower.bound <= delta and fall > 0.0:
        step = (delta - lower.bound) / fall * run * (1.0 + _CHORD)
        return max((lower.growth - step) * (1.0 - _CHORD) - _FAINT, 0.0)
    if run < 0.0 and lower.bound > delta and fall < 0.0:
        step = (lower.bound - delta) / fall * run * (1.0 - _CHORD)
        x = max((lower.growth + step) * (1.0 - _CHORD) - _FAINT, 0.0)
        return x if x < math.inf else 0.0
    return 0.0
