"""Where D(ε) falls to δ, between certified ends, from enclosures of D at points of its choice.

A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
above it: what was found at two points bounds D everywhere (docs/engine.md, section 9). `Bracket`
draws these conclusions, and every end is its own. `Search` decides where to evaluate D, and how
finely, which is a matter of speed (benchmarks/deployer_grid.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.law import U, log

# D(ε), given ε and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0
# Relative widths worth aiming at.
COARSEST, FINEST = 0.1, 1e-12

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


# Probes in all, and where enclosures say nothing.
_PROBES, _BLIND = 60, 8
# The share of the width that one enclosure of D may take; what comes next where that was too much.
_CARE, _MORE_CARE = 0.5, 0.4
# How much of what log D may be off at a guess a probe there may be wide, unless that is so little
# in units of what is needed that it is made as fine as needed at once.
_SHARP, _TAMED = 0.2, 200.0
# By how much log D should fall from the root to a neighbour that bounds the slope there, how wide
# the latter may be, and what of both comes next.
_FALL, _LOOSE, _CLOSER = 0.5, 0.04, 0.3
# How far a slope is trusted: what this share of a step changes may be wrong.
_TRUST = 0.05
# Noises by which probes must differ to tell a slope.
_TOLD = 5.0
# Guesses this close to a probe, in units of the width wanted, are the same.
_SAME = 0.6
# A bracket this wide, in units of the width wanted, is halved.
_NEARLY = 4.0
# Refinements in the same place before it is left at that.
_SETTLED = 12
# How far towards 0 one step may lead, as a factor, before D(0) is asked for.
_SHRINK, _SHRUNK = 8.0, 2
# Widths at which D(0) is evaluated, in turn, until it is known whether it exceeds δ.
_AT_ZERO = (0.05, 0.02, 1e-3, 1e-5, 1e-7, 1e-9)
# Steps by factors of 4 to where D is below δ for certain, before they grow by this power of 4.
_NEAR = 12
# Halvings where guesses led nowhere, each of which must leave no more than this share.
_HALVINGS, _SHRUNKEN = 36, 0.9
# D is wider than was asked for if it is so much wider.
_SHORT = 1.5
# After so many probes that leave more than this share of a bracket, it is halved.
_CREEPING, _HARDLY = 3, 0.5
# How far from the lower and from the upper end of the bracket a guess is moved that lies beyond it,
# as a share: where D falls as a straight line, the root is at the lower end.
_MARGIN, _INSIDE = 0.05, 0.3
# An upper end this close to where D is 0, in units of the width wanted, is told as that.
_END = 0.1


class Start(NamedTuple):
    """A guess of the root, the derivative of log D there, and by how much log D may be off log δ.

    NaN stands for a guess or a derivative that nobody knows; a guess of 0 asks for D(0) first.
    """

    eps: float
    slope: float = math.nan
    doubt: float = 0.0


class _Probe(NamedTuple):
    """log D − log δ at ε, known to within ``noise``, which may be more than was asked for."""

    eps: float
    excess: float
    noise: float
    short: bool

    @property
    def distance(self) -> float:
        """How far off the root it may be, as a logarithm of D."""
        return abs(self.excess) + self.noise


def smallest_eps(
    evaluate: Evaluate, delta: float, start: Start, end: float, rtol: float
) -> Enclosure:
    """Enclosure of the smallest ε with D(ε) ≤ δ.

    Parameters
    ----------
    evaluate
        Encloses D(ε), given ε and a relative width to aim at. D does not rise, is convex in e^ε
        and at most 1, as hockey-stick divergences are.
    delta
        δ > 0.
    start
        Where to look first.
    end
        Where D is 0 for certain; inf if nobody knows.
    rtol
        The relative width to aim at.

    The lower end is 0 where no ε with D(ε) > δ is known, the upper one `end` where none with
    D(ε) ≤ δ is.

    """
    return Search(evaluate, delta, end, rtol).run(start)


class Search:
    """A question, what its answer is known to lie between, and the probes made so far.

    Probes are coarse as long as the root is not known well; a fine one next to the root, and a
    coarse one a little beyond it that bounds the slope of D, then are enough.
    """

    def __init__(self, evaluate: Evaluate, delta: float, end: float, rtol: float) -> None:
        self.evaluate, self.delta, self.end, self.rtol = evaluate, delta, end, rtol
        self.root, self.slope = Bracket(delta, end), math.nan
        self._probes: list[_Probe] = []
        self._asked: dict[float, float] = {}
        self._care, self._fall, self._loose = _CARE, _FALL, _LOOSE
        self._settled = self._blind = self._shrunk = 0
        self._zero_asked = False

    def run(self, start: Start) -> Enclosure:
        """Probe until the bracket is narrow, or will not become so."""
        self.slope = start.slope if start.slope < 0.0 else self.slope
        guess, doubt = start.eps, start.doubt
        widths = list[float]()
        for _ in range(_PROBES):
            if self.is_narrow():
                break
            if guess <= 0.0 == self.root.low and not self._zero_asked:
                if not self._exceeds_at_zero():
                    break
                guess, doubt = self.guess()
                continue
            plan = self._planned(guess, doubt)
            if plan is None or self._asked.get(plan[0], math.inf) <= plan[1]:
                break
            told = self._probe(*plan)
            guess, doubt = self.guess() if told else (self._elsewhere(plan[0]), math.inf)
            if self._blind > _BLIND:
                break
            widths.append(self.root.high - self.root.low)
            if _HARDLY * min(widths[:-_CREEPING], default=math.inf) < widths[-1] < math.inf:
                # As next to a kink of D.
                guess, doubt = self._middle(), math.inf
                widths.clear()
        self._make_do()
        return Enclosure(self.root.low, self._upper())

    def guess(self) -> tuple[float, float]:
        """Where the root seems to be by the slope at the probe next to it, and its doubt there."""
        if not self._probes:
            return math.nan, math.inf
        near, *others = sorted(self._probes, key=lambda x: x.distance)
        slopes = (
            (x.excess - near.excess) / (x.eps - near.eps)
            for x in others
            if x.eps != near.eps and abs(x.excess - near.excess) > _TOLD * (x.noise + near.noise)
        )
        slope = next(slopes, math.nan)
        self.slope = slope if slope < 0.0 else self.slope
        if not self.slope < 0.0:
            return math.nan, math.inf
        doubt = _TRUST * abs(near.excess) + near.noise
        eps = near.eps - near.excess / self.slope
        left = max((x.eps for x in self._probes if x.excess > x.noise), default=-math.inf)
        right = min((x.eps for x in self._probes if x.excess < -x.noise), default=math.inf)
        if -math.inf < left < right < math.inf:
            if left < eps < right:
                return eps, doubt
            far = right > 2.0 * left > 0.0
            return math.sqrt(left * right) if far else 0.5 * (left + right), doubt
        if len(self._probes) > 1 and left < right and abs(near.excess) > near.noise:
            # All on one side: beyond where the root seems to be.
            eps, doubt = eps + (len(self._probes) - 1.0) * (eps - near.eps), abs(near.excess)
        if eps < near.eps / _SHRINK:
            self._shrunk += 1
            return near.eps / _SHRINK if self._shrunk <= _SHRUNK else 0.0, math.inf
        return eps, doubt

    def is_narrow(self, times: float = 1.0) -> bool:
        """Whether the bracket is at most so many times as wide as it is wanted."""
        low, high = self.root.low, self._upper()
        return high < math.inf and high - low <= times * self.rtol * high

    def _upper(self) -> float:
        """The upper end; where D is 0, if it differs from that by hardly anything."""
        high = self.root.high
        return self.end if high > self.end * (1.0 - _END * self.rtol) else high

    def _middle(self) -> float:
        return 0.5 * (self.root.low + self.root.high)

    def _probe(self, eps: float, aim: float) -> bool:
        """Evaluate D; whether that told anything to steer by."""
        self._asked[eps] = aim
        return self._learn(eps, self.evaluate(eps, aim), aim)

    def _learn(self, eps: float, found: Enclosure, aim: float) -> bool:
        self.root.add(eps, found)
        # An engine that knows nothing says inf; D is at most 1, but for roundings of its entries.
        high = log(max(found.lower, min(found.upper, 1.0)))
        width = high - log(found.lower)
        undecided = found.lower <= self.delta < found.upper
        if not math.isfinite(width) or (undecided and width > 2.0):
            return False
        middle = high - 0.5 * width - math.log(self.delta)
        self._probes.append(_Probe(eps, middle, 0.5 * width, width > _SHORT * aim))
        return True

    def _planned(self, guess: float, doubt: float) -> tuple[float, float] | None:
        """Where to evaluate D next, and how finely; None where that would not help."""
        eps = self._inside(guess)
        need = self._need(eps)
        if need >= COARSEST and self.is_narrow(_NEARLY):
            # Down a cliff halves narrow no less, and D is no trouble to evaluate away from it.
            return self._middle(), COARSEST
        near = min(self._probes, key=lambda x: (abs(x.eps - eps), x.noise), default=None)
        if near is not None and (near.noise <= need or near.short):
            reach = _SAME * self.rtol * eps
            reach = max(reach, near.noise / -self.slope) if near.short else reach
            if abs(near.eps - eps) <= reach:
                return self._supported(near, eps)
        aim = need if doubt <= _TAMED * need else _SHARP * doubt
        return eps, max(min(aim, COARSEST), FINEST)

    def _need(self, eps: float) -> float:
        """The width of D that an ε of the width wanted allows."""
        steep = -self.slope * eps * self.rtol
        return max(FINEST, self._care * steep) if steep > 0.0 else COARSEST

    def _supported(self, near: _Probe, guess: float) -> tuple[float, float] | None:
        """A probe beyond one next to the root, to bound the slope there; or a finer one."""
        self._settled += 1
        if self._settled > _SETTLED or not self.slope < 0.0:
            return None
        known = any(
            4.0 * (near.noise + x.noise) < near.excess - x.excess <= 1.5 * self._fall
            for x in self._probes
            if x.eps > near.eps
        )
        if near.short and (known or self._fall < _FALL):
            return None  # nothing closer would be told apart from it
        if known or (self.is_narrow(_NEARLY) and not near.short):
            self._care *= _MORE_CARE
            eps = self._middle() if self.is_narrow(_NEARLY) else guess
            return eps, min(self._need(eps), COARSEST)
        eps = min(near.eps - self._fall / self.slope, 0.5 * (near.eps + self.end), LARGEST_EPS)
        aim = self._loose
        self._fall, self._loose = _CLOSER * self._fall, _CLOSER * self._loose
        return eps, aim

    def _inside(self, guess: float) -> float:
        """A guess, or what comes close to it within the bracket."""
        low, high = self.root.low, self.root.high
        if math.isinf(high):
            return min(guess if guess > low else max(2.0 * low, 1.0), LARGEST_EPS)
        if not guess > 0.0:
            guess = math.sqrt(low * high) if low > 0.0 else 0.25 * high
        if guess <= low:
            guess = low + _MARGIN * (min(high, 2.0 * low) - low)
        elif guess >= high:
            guess = high - _INSIDE * (high - max(low, 0.5 * high))
        return min(guess, LARGEST_EPS)

    def _elsewhere(self, probe: float) -> float:
        """Anywhere in the bracket; away from a probe that told nothing, for another result."""
        low, high = self.root.low, self.root.high
        if not low < probe < high:
            return math.nan
        self._blind += 1
        if self._blind % 2 == 1:
            return math.sqrt(probe * high) if high < math.inf else 2.0 * probe
        return math.sqrt(low * probe) if low > 0.0 else 0.25 * probe

    def _make_do(self) -> None:
        """Where guesses led nowhere: ask for D(0) at last, and halve as long as that tells."""
        if self.root.low == 0.0 and not self._zero_asked and not self.is_narrow():
            self._exceeds_at_zero()
        aim = COARSEST
        for _ in range(_HALVINGS):
            low, high = self.root.low, self.root.high
            if self.is_narrow() or not low < high < math.inf:
                break
            middle = min(self._middle(), LARGEST_EPS)
            found = self.evaluate(middle, aim)
            self.root.add(middle, found)
            if self.root.high - self.root.low > _SHRUNKEN * (high - low):
                if aim <= FINEST or found.relative_width > 2.0 * aim:
                    break
                aim = max(0.1 * aim, FINEST)

    def _exceeds_at_zero(self) -> bool:
        """Ask for D(0), as narrow as it takes or as it gets; whether it is above δ for certain."""
        self._zero_asked = True
        for aim in _AT_ZERO:
            found = self.evaluate(0.0, aim)
            if not found.lower <= self.delta < found.upper or found.relative_width > 2.0 * aim:
                break
        self._learn(0.0, found, aim)
        if found.lower <= self.delta < found.upper:
            self._beyond_zero(found)
        return found.lower > self.delta

    def _beyond_zero(self, found: Enclosure) -> None:
        """Look for an ε with D(ε) ≤ δ near 0, where D was `found` not to differ from δ."""
        width = min(max(found.relative_width, FINEST), COARSEST)
        # An infinite slope, where D is flat up to rounding, does not say how far to go.
        eps = 3.0 * width / max(1e-3, -self.slope) or FINEST
        for tried in itertools.count():
            if eps >= min(self.root.high, LARGEST_EPS):
                break
            further = self.evaluate(eps, width)
            self.root.add(eps, further)
            if further.upper <= self.delta:
                break
            # Where nothing near will do, far steps cost no less.
            eps *= 4.0 if tried < _NEAR else 4.0**_NEAR
