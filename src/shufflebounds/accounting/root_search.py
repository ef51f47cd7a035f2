"""The search for the ε at which D(ε) falls to δ, with certified ends, from enclosures of D.

A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
above it: enclosures at two points bound D everywhere (docs/engine.md, section 9). `Bracket` draws
these conclusions and holds both ends. `Search` decides where to evaluate D, and how finely, which
changes only the speed (benchmarks/deployer_grid.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.law import U, log

# A function that encloses D(ε), given ε and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# Largest ε at which D is evaluated: e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0
# Largest relative width of D that a probe aims at.
COARSEST = 0.1
# Smallest relative width of D that a probe aims at.
FINEST = 1e-12

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

# All constants below decide speed only (benchmarks/deployer_grid.py).

# Most probes of a search.
MAX_PROBES = 60
# Most probes whose enclosures say nothing.
MAX_BLIND_PROBES = 8
# Share of the requested width of ε that a probe of D may take up.
PROBE_SHARE = 0.5
# Factor of that share when it turned out to be too large.
PROBE_SHARE_FACTOR = 0.4
# Relative width of a probe, as a share of the error of log D at the guess.
DOUBT_SHARE = 0.2
# Largest error of log D at the guess, in units of the needed width, at which the probe is made as
# fine as needed at once.
MAX_TAMED_DOUBT = 200.0
# Fall of log D from the root to the probe beyond it that bounds the slope.
SUPPORT_FALL = 0.5
# Relative width of that probe.
SUPPORT_WIDTH = 0.04
# Factor of both when such a probe was not close enough.
SUPPORT_FACTOR = 0.3
# Share of a step's change of log D by which a slope may mislead.
SLOPE_ERR = 0.05
# Noises by which two probes must differ for a slope between them.
SLOPE_NOISES = 5.0
# Distance between a guess and a probe, in units of the requested width, below which both count as
# the same.
SAME_POINT = 0.6
# Width of a bracket, in units of the requested width, below which it is halved.
HALVING_WIDTH = 4.0
# Most refinements in the same place.
MAX_REFINEMENTS = 12
# Largest factor by which one step may approach 0.
MAX_SHRINK = 8.0
# Most steps towards 0 by that factor before D(0) is evaluated.
MAX_SHRINKS = 2
# Relative widths at which D(0) is evaluated, in turn, until it is known whether D(0) exceeds δ.
WIDTHS_AT_ZERO = (0.05, 0.02, 1e-3, 1e-5, 1e-7, 1e-9)
# Number of steps by factors of 4 near 0 before the factor grows to this power of 4.
NEAR_STEPS = 12
# Most halvings after guesses that led nowhere.
MAX_HALVINGS = 36
# Largest share of a bracket that such a halving may leave before it aims at a smaller width.
MAX_HALVED_SHARE = 0.9
# Width of D, in units of the aim, above which a probe counts as wider than asked for.
SHORT_FACTOR = 1.5
# Number of probes that must narrow the bracket to `SLOW_SHARE`; else it is halved.
SLOW_PROBES = 3
# Largest share of the bracket that so many probes may leave.
SLOW_SHARE = 0.5
# Distance from the lower end of a bracket, as a share of it, to which a guess below it is moved.
# It is small because the root is at the lower end where D falls as a straight line.
LOWER_MARGIN = 0.05
# Distance from the upper end, as a share, to which a guess above it is moved.
UPPER_MARGIN = 0.3
# Distance of an upper end from where D is 0, in units of the requested width, below which the
# answer is that point.
END_DISTANCE = 0.1


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


class Start(NamedTuple):
    """A guess of the root, the derivative of log D there, and the error of log D at the guess.

    NaN stands for an unknown guess or derivative. A guess of 0 lets the search begin with D(0).
    """

    eps: float
    slope: float = math.nan
    doubt: float = 0.0


class _Probe(NamedTuple):
    """log D − log δ at ε with an error of ``noise``; ``is_short`` if wider than the aim."""

    eps: float
    excess: float
    noise: float
    is_short: bool

    @property
    def distance(self) -> float:
        """The largest possible distance from the root, in log D."""
        return abs(self.excess) + self.noise


def smallest_eps(
    evaluate: Evaluate, delta: float, start: Start, end: float, rtol: float
) -> Enclosure:
    """Return an enclosure of the smallest ε with D(ε) ≤ δ.

    Parameters
    ----------
    evaluate
        Encloses D(ε), given ε and a relative width to aim at. D does not rise, is convex in e^ε
        and at most 1, as hockey-stick divergences are.
    delta
        δ > 0.
    start
        Where the search begins.
    end
        An ε where D is certainly 0; inf if none is known.
    rtol
        The relative width to aim at.

    The lower end is 0 where no ε with D(ε) > δ is known, the upper one `end` where none with
    D(ε) ≤ δ is.

    """
    return Search(evaluate, delta, end, rtol).run(start)


class Search:
    """The state of a search: the bracket of the root and the probes so far.

    Probes are coarse as long as the root is uncertain. Then a fine one next to the root, and a
    coarse one a little beyond it that bounds the slope of D, are enough.
    """

    def __init__(self, evaluate: Evaluate, delta: float, end: float, rtol: float) -> None:
        self.evaluate, self.delta, self.end, self.rtol = evaluate, delta, end, rtol
        self.root, self.slope = Bracket(delta, end), math.nan
        self._probes: list[_Probe] = []
        self._aims: dict[float, float] = {}
        self._probe_share, self._support_fall, self._support_width = (
            PROBE_SHARE,
            SUPPORT_FALL,
            SUPPORT_WIDTH,
        )
        self._refinements = self._blind_probes = self._shrinks = 0
        self._evaluated_zero = False

    def run(self, start: Start) -> Enclosure:
        """Return the bracket after probing until it is narrow, or does not get narrower."""
        self.slope = start.slope if start.slope < 0.0 else self.slope
        guess, doubt = start.eps, start.doubt
        widths = list[float]()
        for _ in range(MAX_PROBES):
            if self.is_narrow():
                break
            if guess <= 0.0 == self.root.low and not self._evaluated_zero:
                if not self._exceeds_at_zero():
                    break
                guess, doubt = self.guess()
                continue
            plan = self._plan(guess, doubt)
            if plan is None or self._aims.get(plan[0], math.inf) <= plan[1]:
                break
            is_useful = self._probe(*plan)
            guess, doubt = self.guess() if is_useful else (self._retry_point(plan[0]), math.inf)
            if self._blind_probes > MAX_BLIND_PROBES:
                break
            widths.append(self.root.high - self.root.low)
            if SLOW_SHARE * min(widths[:-SLOW_PROBES], default=math.inf) < widths[-1] < math.inf:
                # Guesses converge slowly next to a kink of D.
                guess, doubt = self._middle(), math.inf
                widths.clear()
        self._halve()
        return Enclosure(self.root.low, self._upper())

    def guess(self) -> tuple[float, float]:
        """Return the root by the slope at the nearest probe, and the error of log D there."""
        if not self._probes:
            return math.nan, math.inf
        nearest, *farther = sorted(self._probes, key=lambda x: x.distance)
        slopes = (
            (x.excess - nearest.excess) / (x.eps - nearest.eps)
            for x in farther
            if x.eps != nearest.eps
            and abs(x.excess - nearest.excess) > SLOPE_NOISES * (x.noise + nearest.noise)
        )
        slope = next(slopes, math.nan)
        self.slope = slope if slope < 0.0 else self.slope
        if not self.slope < 0.0:
            return math.nan, math.inf
        doubt = SLOPE_ERR * abs(nearest.excess) + nearest.noise
        eps = nearest.eps - nearest.excess / self.slope
        left = max((x.eps for x in self._probes if x.excess > x.noise), default=-math.inf)
        right = min((x.eps for x in self._probes if x.excess < -x.noise), default=math.inf)
        if -math.inf < left < right < math.inf:
            if left < eps < right:
                return eps, doubt
            is_wide = right > 2.0 * left > 0.0
            return math.sqrt(left * right) if is_wide else 0.5 * (left + right), doubt
        if len(self._probes) > 1 and left < right and abs(nearest.excess) > nearest.noise:
            # All probes lie on one side of the root: step beyond the estimated root.
            eps, doubt = eps + (len(self._probes) - 1.0) * (eps - nearest.eps), abs(nearest.excess)
        if eps < nearest.eps / MAX_SHRINK:
            self._shrinks += 1
            return nearest.eps / MAX_SHRINK if self._shrinks <= MAX_SHRINKS else 0.0, math.inf
        return eps, doubt

    def is_narrow(self, times: float = 1.0) -> bool:
        """Return whether the bracket is at most `times` as wide as requested."""
        low, high = self.root.low, self._upper()
        return high < math.inf and high - low <= times * self.rtol * high

    def _upper(self) -> float:
        """Return the upper end, or the point where D is 0 if that is very close."""
        high = self.root.high
        return self.end if high > self.end * (1.0 - END_DISTANCE * self.rtol) else high

    def _middle(self) -> float:
        """Return the middle of the bracket."""
        return 0.5 * (self.root.low + self.root.high)

    def _probe(self, eps: float, aim: float) -> bool:
        """Evaluate D, and return whether the enclosure can steer the search."""
        self._aims[eps] = aim
        return self._record(eps, self.evaluate(eps, aim), aim)

    def _record(self, eps: float, enclosure: Enclosure, aim: float) -> bool:
        """Use an enclosure of D, and return whether it can steer the search."""
        self.root.add(eps, enclosure)
        # An upper end may be inf. D is at most 1, apart from the rounding of its entries.
        high = log(max(enclosure.lower, min(enclosure.upper, 1.0)))
        width = high - log(enclosure.lower)
        is_undecided = enclosure.lower <= self.delta < enclosure.upper
        if not math.isfinite(width) or (is_undecided and width > 2.0):
            return False
        middle = high - 0.5 * width - math.log(self.delta)
        self._probes.append(_Probe(eps, middle, 0.5 * width, width > SHORT_FACTOR * aim))
        return True

    def _plan(self, guess: float, doubt: float) -> tuple[float, float] | None:
        """Return the next ε and the relative width of D there; None if no probe would help."""
        eps = self._move_inside(guess)
        width = self._needed_width(eps)
        if width >= COARSEST and self.is_narrow(HALVING_WIDTH):
            # If D falls steeply, halving is as good, and D is easy to evaluate away from the root.
            return self._middle(), COARSEST
        nearest = min(self._probes, key=lambda x: (abs(x.eps - eps), x.noise), default=None)
        if nearest is not None and (nearest.noise <= width or nearest.is_short):
            reach = SAME_POINT * self.rtol * eps
            reach = max(reach, nearest.noise / -self.slope) if nearest.is_short else reach
            if abs(nearest.eps - eps) <= reach:
                return self._support(nearest, eps)
        aim = width if doubt <= MAX_TAMED_DOUBT * width else DOUBT_SHARE * doubt
        return eps, max(min(aim, COARSEST), FINEST)

    def _needed_width(self, eps: float) -> float:
        """Return the relative width of D that gives ε the requested width."""
        change = -self.slope * eps * self.rtol
        return max(FINEST, self._probe_share * change) if change > 0.0 else COARSEST

    def _support(self, nearest: _Probe, guess: float) -> tuple[float, float] | None:
        """Return a probe beyond the nearest one, to bound the slope at the root, or a finer probe.

        Return None if neither would narrow the bracket.
        """
        self._refinements += 1
        if self._refinements > MAX_REFINEMENTS or not self.slope < 0.0:
            return None
        has_support = any(
            4.0 * (nearest.noise + x.noise) < nearest.excess - x.excess <= 1.5 * self._support_fall
            for x in self._probes
            if x.eps > nearest.eps
        )
        if nearest.is_short and (has_support or self._support_fall < SUPPORT_FALL):
            return None  # a closer probe could not be distinguished from the nearest one
        if has_support or (self.is_narrow(HALVING_WIDTH) and not nearest.is_short):
            self._probe_share *= PROBE_SHARE_FACTOR
            eps = self._middle() if self.is_narrow(HALVING_WIDTH) else guess
            return eps, min(self._needed_width(eps), COARSEST)
        eps = min(
            nearest.eps - self._support_fall / self.slope,
            0.5 * (nearest.eps + self.end),
            LARGEST_EPS,
        )
        aim = self._support_width
        self._support_fall, self._support_width = (
            SUPPORT_FACTOR * self._support_fall,
            SUPPORT_FACTOR * self._support_width,
        )
        return eps, aim

    def _move_inside(self, guess: float) -> float:
        """Return the guess, moved into the bracket if it lies outside."""
        low, high = self.root.low, self.root.high
        if math.isinf(high):
            return min(guess if guess > low else max(2.0 * low, 1.0), LARGEST_EPS)
        if not guess > 0.0:
            guess = math.sqrt(low * high) if low > 0.0 else 0.25 * high
        if guess <= low:
            guess = low + LOWER_MARGIN * (min(high, 2.0 * low) - low)
        elif guess >= high:
            guess = high - UPPER_MARGIN * (high - max(low, 0.5 * high))
        return min(guess, LARGEST_EPS)

    def _retry_point(self, probe: float) -> float:
        """Return a point in the bracket away from a probe that said nothing; NaN if unknown."""
        low, high = self.root.low, self.root.high
        if not low < probe < high:
            return math.nan
        self._blind_probes += 1
        if self._blind_probes % 2 == 1:
            return math.sqrt(probe * high) if high < math.inf else 2.0 * probe
        return math.sqrt(low * probe) if low > 0.0 else 0.25 * probe

    def _halve(self) -> None:
        """Evaluate D(0) if that was not done, and halve the bracket as long as it narrows."""
        if self.root.low == 0.0 and not self._evaluated_zero and not self.is_narrow():
            self._exceeds_at_zero()
        aim = COARSEST
        for _ in range(MAX_HALVINGS):
            low, high = self.root.low, self.root.high
            if self.is_narrow() or not low < high < math.inf:
                break
            middle = min(self._middle(), LARGEST_EPS)
            enclosure = self.evaluate(middle, aim)
            self.root.add(middle, enclosure)
            if self.root.high - self.root.low > MAX_HALVED_SHARE * (high - low):
                if aim <= FINEST or enclosure.relative_width > 2.0 * aim:
                    break
                aim = max(0.1 * aim, FINEST)

    def _exceeds_at_zero(self) -> bool:
        """Evaluate D(0) until its side of δ is known, and return whether it certainly exceeds δ."""
        self._evaluated_zero = True
        for aim in WIDTHS_AT_ZERO:
            enclosure = self.evaluate(0.0, aim)
            if (
                not enclosure.lower <= self.delta < enclosure.upper
                or enclosure.relative_width > 2.0 * aim
            ):
                break
        self._record(0.0, enclosure, aim)
        if enclosure.lower <= self.delta < enclosure.upper:
            self._search_near_zero(enclosure)
        return enclosure.lower > self.delta

    def _search_near_zero(self, at_zero: Enclosure) -> None:
        """Search near 0 for an ε with D(ε) ≤ δ, given an enclosure of D(0) that contains δ."""
        width = min(max(at_zero.relative_width, FINEST), COARSEST)
        # The slope may be infinite where D is constant up to rounding.
        eps = 3.0 * width / max(1e-3, -self.slope) or FINEST
        for step in itertools.count():
            if eps >= min(self.root.high, LARGEST_EPS):
                break
            enclosure = self.evaluate(eps, width)
            self.root.add(eps, enclosure)
            if enclosure.upper <= self.delta:
                break
            # If many near points fail, larger steps reach a point sooner.
            eps *= 4.0 if step < NEAR_STEPS else 4.0**NEAR_STEPS
