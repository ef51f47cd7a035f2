"""What enclosures of D(ε) prove about the smallest ε with D(ε) ≤ δ.

A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
above it: enclosures at two points bound D everywhere. Proof: docs/proofs/engine.md, section 9.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.law import U

# Relative error of a point e^ε − 1: expm1 and log1p are good to two ulps.
POINT_ERR = 4.0 * U
# Relative error of a chord's root: it takes five more operations.
CHORD_ERR = 8.0 * U
# An upper bound of numbers that underflow.
UNDERFLOW = 1e-300
# An upper bound of D, with room for the rounding of its entries.
MAX_DIVERGENCE = 2.0
# Largest end, where D is 0, that counts as a point: e^ε must be a float there.
MAX_END = 700.0


class _Point(NamedTuple):
    """A bound of D at e^ε − 1 = ``growth``."""

    growth: float
    bound: float


class Bracket:
    """Certified ends ``low`` ≤ ε ≤ ``high`` of the smallest ε with D(ε) ≤ δ.

    At first ``low`` is 0 and ``high`` is `end`, where D is 0; it is inf if no such point is known.
    """

    def __init__(self, delta: float, end: float) -> None:
        self.low, self.high = 0.0, end
        self._delta = delta
        self._upper, self._lower = [_Point(0.0, MAX_DIVERGENCE)], list[_Point]()
        if end <= MAX_END:
            self._upper.append(_Point(math.expm1(end) * (1.0 + POINT_ERR), 0.0))

    def add(self, eps: float, enclosure: Enclosure) -> None:
        """Narrow the ends by an enclosure of D(ε)."""
        growth = math.expm1(eps)
        # As D does not rise, a bound of it holds at a point moved to the side of the bound.
        below = _Point(growth * (1.0 - POINT_ERR), enclosure.lower)
        above = _Point(growth * (1.0 + POINT_ERR), min(enclosure.upper, MAX_DIVERGENCE))
        self._lower.append(below)
        self._upper.append(above)
        if enclosure.lower > self._delta:
            self.low = max(self.low, eps)
        if enclosure.upper <= self._delta:
            self.high = min(self.high, eps)
        roots = [_chord_root(point, above, self._delta) for point in self._upper]
        roots += [_chord_root(above, point, self._delta) for point in self._upper]
        self.high = min(self.high, *(math.log1p(x) * (1.0 + POINT_ERR) for x in roots))
        roots = [_line_root(below, point, self._delta) for point in self._upper]
        roots += [_line_root(point, above, self._delta) for point in self._lower]
        self.low = max(self.low, *(math.log1p(x) * (1.0 - POINT_ERR) for x in roots))
        self.low = min(self.low, self.high)


def _chord_root(left: _Point, right: _Point, delta: float) -> float:
    """Return where the chord between two upper bounds falls to δ, rounded up; inf if nowhere."""
    if not (left.growth < right.growth and right.bound <= delta < left.bound):
        return math.inf
    share = (left.bound - delta) / (left.bound - right.bound)
    step = (right.growth - left.growth) * share * (1.0 + CHORD_ERR)
    return (left.growth + step) * (1.0 + CHORD_ERR) + UNDERFLOW


def _line_root(lower: _Point, upper: _Point, delta: float) -> float:
    """Return up to where the line through a lower and an upper bound shows D > δ; 0 if nowhere.

    On the far side of the lower bound, as seen from the upper one, D is above that line.
    """
    fall = lower.bound - upper.bound
    run = upper.growth - lower.growth
    if run > 0.0 and lower.bound <= delta and fall > 0.0:
        step = (delta - lower.bound) / fall * run * (1.0 + CHORD_ERR)
        return max((lower.growth - step) * (1.0 - CHORD_ERR) - UNDERFLOW, 0.0)
    if run < 0.0 and lower.bound > delta and fall < 0.0:
        step = (lower.bound - delta) / fall * run * (1.0 - CHORD_ERR)
        x = max((lower.growth + step) * (1.0 - CHORD_ERR) - UNDERFLOW, 0.0)
        return x if x < math.inf else 0.0
    return 0.0
