"""Where a decreasing function that was evaluated at some points, more or less well, passes 0."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.floats import log
from shufflebounds.divergence.law import U

# Ends of a bracket this far apart are interpolated by the logarithm of ε.
_DECADES = 2.0
# The share of a bracket that an interpolated point keeps away from its ends.
_CROSSING_MARGIN = 0.03


class Trial(NamedTuple):
    """log D − log δ at ε, known to within ``noise``, which is ``short`` of what was asked for."""

    eps: float
    excess: float
    noise: float
    short: bool = False


class Crossing(NamedTuple):
    """A guess of the ε at which the excess is 0, and of how much it may be there instead."""

    eps: float
    doubt: float


def bracketed(trials: list[Trial]) -> Crossing | None:
    """Inverse interpolation between the last trial above 0 and the first one below it.

    None where there are no two such trials in this order. Quadratic where a third trial fits in,
    which then tells how far to trust it; after several trials on one side linear, the end on the
    other side counting for less each time (Illinois). Trials that tell no side only count if none
    was finer.
    """
    finest = min((x.noise for x in trials), default=0.0)
    trials = [x for x in trials if abs(x.excess) > x.noise or x.noise <= 2.0 * finest]
    left = max((x for x in trials if x.excess > 0.0), default=None)
    right = min((x for x in trials if x.excess < 0.0), default=None)
    if left is None or right is None or left.eps >= right.eps:
        return None
    drop = left.excess - right.excess
    near = min(left, right, key=lambda x: abs(x.excess))
    share = left.excess / drop
    doubt = 0.3 * abs(near.excess) + near.noise
    others = [x for x in trials if not left.eps <= x.eps <= right.eps]
    streak = streak_of(trials)
    if streak > 1:
        weights = [1.0 if side is trials[-1] else 0.5 ** (streak - 1) for side in (left, right)]
        share = weights[0] * left.excess
        share /= weights[0] * left.excess - weights[1] * right.excess
    elif others:
        third = min(others, key=lambda x: abs(x.excess))
        quadratic = _quadratic(left, right, third)
        if quadratic is not None:
            doubt = min(doubt, 0.5 * drop * abs(quadratic - share) + near.noise)
            share = quadratic
    least = _CROSSING_MARGIN if left.eps > 0.0 else 0.0
    eps = _between(left.eps, right.eps, min(max(share, least), 1.0 - _CROSSING_MARGIN))
    if left.eps == 0.0 and left.excess < -right.excess:
        # Near 0 the logarithm tends to fall faster than further out.
        eps = min(eps, 0.25 * right.eps)
    inside = _CROSSING_MARGIN <= share <= 1.0 - _CROSSING_MARGIN
    return Crossing(eps, doubt if inside else max(doubt, 0.5 * abs(near.excess)))


def streak_of(trials: list[Trial]) -> int:
    """How many trials the last of them is the last of that lie on one side."""
    side = trials[-1].excess > 0.0
    return next(
        (i for i, x in enumerate(reversed(trials)) if (x.excess > 0.0) != side), len(trials)
    )


def _quadratic(left: Trial, right: Trial, third: Trial) -> float | None:
    """Where between the first two the inverse quadratic through all three passes 0, as a share.

    None where the excess does not fall from each to the next.
    """
    if not (third.excess > left.excess if third.eps < left.eps else third.excess < right.excess):
        return None
    x = _position(left.eps, right.eps, third.eps)
    if not math.isfinite(x):
        return None
    a, b, c = left.excess, right.excess, third.excess
    # Lagrange: `left` is at 0, `right` at 1.
    share = a * c / ((b - a) * (b - c)) + x * a * b / ((c - a) * (c - b))
    return share if 0.0 < share < 1.0 else None


def _position(start: float, end: float, eps: float) -> float:
    """The share of the way from `start` to `end`, by logarithms where they are far apart."""
    if start > 0.0 and end > _DECADES * start:
        if not eps > 0.0:
            return math.nan
        # Not the logarithm of a quotient, which may underflow.
        return (math.log(eps) - math.log(start)) / (math.log(end) - math.log(start))
    return (eps - start) / (end - start)


def _between(start: float, end: float, share: float) -> float:
    """The inverse of `_position`."""
    if start > 0.0 and end > _DECADES * start:
        return start * math.exp(share * math.log(end / start))
    return start + share * (end - start)


# What evaluations of D at some ε tell of where it falls to δ: to aim with, not to claim.

# How far a derivative of log D is trusted: what this share of a step changes may be wrong.
_STEEPER = 0.02
# Probes on one side after which steps grow, each time by this factor.
_CREEPING_GUESSES, _STRIDE = 1, 2.0
# How far towards 0 one step may lead, as a factor, before D(0) is asked for.
_SHRINK, _SHRUNK = 8.0, 2
# Noises by which two probes must differ to tell a slope, by which they must differ to be told
# apart, and within which the root must lie for its noise to be all that is left.
_TOLD, _UNTOLD, _DROWNED = 5.0, 2.0, 4.0
# How far, as a logarithm of D, a probe next to the root may be off it.
_NEXT_TO = 0.5
# What share of a step to where an end of D is δ is made from beyond it and from before it, and how
# much more of it each time.
_INWARD, _OUTWARD, _FURTHER = 0.8, 1.05, 1.4


class Guess(NamedTuple):
    """An ε, and by how much log D may be off log δ there; 0 or less asks for D(0)."""

    eps: float
    doubt: float


class Trials:
    """Probes made so far. ``slope`` is the derivative of log D in ε near the root, NaN if unknown.

    At first that is the one given, where log D may be off by `doubt`.
    """

    def __init__(self, slope: float, doubt: float) -> None:
        self.slope = slope
        self._distrust = _STEEPER + min(doubt, 0.5)
        self._all: list[Trial] = []
        self._shrunk = 0
        self._outward = {1.0: _OUTWARD, -1.0: _OUTWARD}

    def add(self, trial: Trial) -> None:
        """One more, by which the slope is corrected."""
        self._all.append(trial)
        near, *others = sorted(self._all, key=_distance)
        for other in others:
            fall = other.excess - near.excess
            if abs(fall) > _TOLD * (other.noise + near.noise) and other.eps != near.eps:
                slope = fall / (other.eps - near.eps)
                self.slope = slope if slope < 0.0 else self.slope
                break

    @property
    def made(self) -> tuple[Trial, ...]:
        """All of them, in the order in which they were added."""
        return tuple(self._all)

    def guess(self) -> Guess:
        """Where the root seems to be."""
        crossing = bracketed(self._all)
        if crossing is not None:
            return Guess(*crossing)
        if not self.slope < 0.0:
            return Guess(math.nan, math.inf)
        near = min(self._all, key=_distance)
        doubt = self._distrust * abs(near.excess) + near.noise
        step = -near.excess / self.slope
        run = streak_of(self._all)
        if run > _CREEPING_GUESSES and abs(near.excess) > near.noise:
            step *= _STRIDE ** (run - _CREEPING_GUESSES)
            doubt = abs(near.excess)
        if near.eps + step < min(near.eps, near.eps / _SHRINK):
            self._shrunk += 1
            return Guess(near.eps / _SHRINK if self._shrunk <= _SHRUNK else 0.0, math.inf)
        return Guess(near.eps + step, doubt)

    def nearest(self, eps: float, noise: float) -> Trial | None:
        """The probe closest to a point of those next to the root, with no more noise."""
        known = [x for x in self._all if x.noise <= noise and _distance(x) <= _NEXT_TO]
        return min(known, key=lambda x: (abs(x.eps - eps), x.noise), default=None)

    def noise(self, eps: float) -> float:
        """The least noise of those that a point is not told apart from; inf if there are none."""
        return min((x.noise for x in self._untold(eps)), default=math.inf)

    def drowned(self, eps: float) -> float | None:
        """The noise that D kept where a point is not told apart from; None if it had none left."""
        drowned = [x for x in self._untold(eps) if x.short and _distance(x) <= _DROWNED * x.noise]
        return min(drowned, key=_distance).noise if drowned else None

    def _untold(self, eps: float) -> list[Trial]:
        return [
            x
            for x in self._all
            if x.noise < 1.0 and abs((x.eps - eps) * self.slope) <= _UNTOLD * x.noise
        ]

    def is_supported(self, near: Trial, fall: float) -> bool:
        """Whether log D is known a little beyond a probe, by `fall` below it at most."""
        return any(
            4.0 * (near.noise + x.noise) < near.excess - x.excess <= fall
            for x in self._all
            if x.eps > near.eps
        )

    def where_end_is_delta(self, side: float) -> float:
        """Just beyond where the upper (1) or the lower (−1) end of D seems to be δ."""
        near = min(self._all, key=lambda x: abs(x.excess + side * x.noise))
        off = near.excess + side * near.noise
        if side * off < 0.0:
            return near.eps - _INWARD * off / self.slope
        step = self._outward[side] * off / self.slope
        self._outward[side] *= _FURTHER
        return near.eps - step


def _distance(trial: Trial) -> float:
    """How far off the root a probe may be, as a logarithm of D."""
    return abs(trial.excess) + trial.noise


# Certified ends of the ε at which D(ε) falls to δ, from D at any points: D is convex in e^ε.
#
# A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
# rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
# above it: what was found at two points bounds D everywhere (docs/engine.md, section 9).

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


# The root of a falling function, convex in e^ε, that is known only through enclosures.

# D(ε), given ε and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0

# Probes in all, and where enclosures say nothing.
_PROBES, _BLIND = 60, 8
# Relative widths worth aiming at.
COARSEST, FINEST = 0.1, 1e-12
# The share of the width that one enclosure of D may take; less where that was not enough.
_CARE, _MORE_CARE = 0.5, 0.4
# How much of what log D may be off at a guess a probe there may be wide.
_SHARP, _TAMED = 0.2, 200.0
# By how much log D should fall from the root to a neighbour that supports it, how wide the latter
# may be, and what of both comes next.
_FALL, _LOOSE, _CLOSER = 0.5, 0.04, 0.3
# Where D cannot be known any better: what share of the bracket another probe must be worth, and how
# wide D may be there, in units of the noise.
_WORTH, _FINER = 0.05, 0.25
# A bracket this wide, in units of the width wanted, is halved.
NEARLY = 4.0
# Supports and finer probes in the same place before it is left at that.
_SETTLED = 12
# Widths of D(0) to tell whether it is above δ, each for what the one before cannot tell.
_AT_ZERO = (0.05, 0.02, 1e-3, 1e-5, 1e-7, 1e-9)
# Steps by factors of 4 to where D is below δ for certain, before they grow by this power of 4.
_NEAR = 12
# Halvings where guesses led nowhere, each of which must leave no more than this share.
_HALVINGS, _SHRUNKEN = 40, 0.9
# D is wider than was asked for if it is so much wider.
_SHORT = 1.5
# After so many probes that leave more than twice a bracket of this share, it is halved.
_CREEPING, _HARDLY = 3, 0.5
# Guesses this close to a probe, in units of the width wanted, are the same.
_SAME = 0.6
# How far from the lower and from the upper end of the bracket a guess is moved that lies beyond it,
# as a share: where D falls as a straight line, the root is at the lower end.
_MARGIN, _INSIDE = 0.05, 0.3
# An upper end this close to where D is 0, in units of the width wanted, is told as that.
_END = 0.1


def smallest_eps(
    evaluate: Evaluate,
    delta: float,
    start: float,
    slope: float,
    end: float,
    rtol: float,
    doubt: float = 0.0,
) -> Enclosure:
    """Enclosure of the smallest ε with D(ε) ≤ δ.

    Parameters
    ----------
    evaluate
        Encloses D(ε), given ε and a relative width to aim at. D does not rise, is convex in e^ε
        and at most 1, as hockey-stick divergences are.
    delta
        δ > 0.
    start, slope
        A guess of the root (NaN if there is none) and of the derivative of log D there.
    end
        Where D is 0 for certain; inf if nobody knows.
    rtol
        The relative width to aim at.
    doubt
        By how much log D may differ from log δ at the guess, roughly.

    The ends are those of a `Bracket`: probes only decide how narrow it becomes. They are coarse as
    long as the root is not known well; a fine one next to the root, and a coarse one a little
    beyond it that bounds the slope of D, then are enough. A guess of 0 or less asks for D(0), which
    settles it where it is at most δ, or not to be told from δ. The lower end is 0 where no ε with
    D(ε) > δ is known, the upper one `end` where none with D(ε) ≤ δ is.

    """
    trials = Trials(slope, doubt)
    return Search(evaluate, delta, end, rtol, trials).run(Guess(start, doubt))


class Plan(NamedTuple):
    """Where to evaluate D next, and the relative width to aim at."""

    eps: float
    aim: float


class Search:
    """A question, what its answer is known to lie between, and the probes made so far."""

    def __init__(
        self, evaluate: Evaluate, delta: float, end: float, rtol: float, trials: Trials
    ) -> None:
        self.evaluate, self.delta, self.end, self.rtol = evaluate, delta, end, rtol
        self.root, self.trials = Bracket(delta, end), trials
        self.asked: dict[float, float] = {}
        self.care, self.fall, self.loose = _CARE, _FALL, _LOOSE
        self.settled = self.blind = 0
        self.zero_asked = False
        self.widths: list[float] = []

    def run(self, guess: Guess) -> Enclosure:
        """Probe until the bracket is narrow, or will not become so."""
        for _ in range(_PROBES):
            if self.is_narrow():
                break
            if guess.eps <= 0.0 == self.root.low and not self.zero_asked:
                if not self.exceeds_at_zero():
                    break
                guess = self.trials.guess()
                continue
            plan = self.planned(guess)
            if plan is None or self.asked.get(plan.eps, math.inf) <= plan.aim:
                break
            guess = self.trials.guess() if self.learn(plan) else self.elsewhere(plan.eps)
            if self.blind > _BLIND:
                break
            if self.creeps():
                guess = Guess(0.5 * (self.root.low + self.root.high), math.inf)
        self.make_do()
        return Enclosure(self.root.low, self.upper())

    def make_do(self) -> None:
        """Where guesses led nowhere: ask for D(0) at last, and halve as long as that tells."""
        if self.root.low == 0.0 and not self.zero_asked and not self.is_narrow():
            self.exceeds_at_zero()
        for _ in range(_HALVINGS):
            low, high = self.root.low, self.root.high
            if self.is_narrow() or not low < high < math.inf:
                break
            middle = min(0.5 * (low + high), LARGEST_EPS)
            self.root.add(middle, self.evaluate(middle, COARSEST))
            if self.root.high - self.root.low > _SHRUNKEN * (high - low):
                break

    def upper(self) -> float:
        """The upper end; where D is 0, if it differs from that by hardly anything."""
        high = self.root.high
        return self.end if high > self.end * (1.0 - _END * self.rtol) else high

    def is_narrow(self, times: float = 1.0) -> bool:
        """Whether the bracket is at most so many times as wide as it is wanted."""
        low, high = self.root.low, self.upper()
        return high < math.inf and high - low <= times * self.rtol * high

    def creeps(self) -> bool:
        """Whether the bracket has hardly become narrower for a while, as next to a kink of D."""
        self.widths.append(self.root.high - self.root.low)
        if len(self.widths) <= _CREEPING:
            return False
        creeps = _HARDLY * self.widths[-1 - _CREEPING] < self.widths[-1] < math.inf
        if creeps:
            self.widths.clear()
        return creeps and self.root.low > 0.0

    def learn(self, plan: Plan) -> bool:
        """Evaluate D; whether that told anything to steer by."""
        eps = min(plan.eps, LARGEST_EPS)
        self.asked[eps] = plan.aim
        found = self.evaluate(eps, plan.aim)
        self.root.add(eps, found)
        undecided = found.lower <= self.delta < found.upper
        trial = self.trial(eps, found, plan.aim)
        if not math.isfinite(trial.noise) or (undecided and trial.noise > 1.0):
            return False
        self.trials.add(trial)
        return True

    def trial(self, eps: float, found: Enclosure, aim: float) -> Trial:
        # An engine that knows nothing says inf; D is at most 1, but for roundings of its entries.
        high = log(max(found.lower, min(found.upper, 1.0)))
        width = high - log(found.lower)
        middle = high - 0.5 * width
        return Trial(eps, middle - math.log(self.delta), 0.5 * width, width > _SHORT * aim)

    def planned(self, guess: Guess) -> Plan | None:
        """The next probe; None where no other would narrow the bracket."""
        eps = self.inside(guess.eps)
        drowned = self.trials.drowned(eps)
        if drowned is not None:
            return self.aside(drowned)
        need = self.need(eps)
        if need >= COARSEST and self.is_narrow(NEARLY):
            # Down a cliff halves narrow no less, and D is no trouble to evaluate away from it.
            return Plan(0.5 * (self.root.low + self.root.high), COARSEST)
        near = self.trials.nearest(eps, need)
        if near is not None and abs(near.eps - eps) <= _SAME * self.rtol * eps:
            return self.support(near, eps)
        aim = need if guess.doubt <= _TAMED * need else _SHARP * guess.doubt
        aim = max(min(aim, _SHARP * self.trials.noise(eps)), min(aim, need))
        return Plan(eps, max(min(aim, COARSEST), FINEST))

    def need(self, eps: float) -> float:
        """The width of D that an ε of the width wanted allows."""
        steep = -self.trials.slope * eps * self.rtol
        return max(FINEST, self.care * steep) if steep > 0.0 else COARSEST

    def support(self, near: Trial, guess: float) -> Plan | None:
        """A probe beyond one next to the root, to bound the slope there; or a finer one."""
        if self.is_settled():
            return None
        narrow = self.is_narrow(NEARLY)
        if narrow or self.trials.is_supported(near, 1.5 * self.fall):
            self.care *= _MORE_CARE
            eps = 0.5 * (self.root.low + self.root.high) if narrow else guess
            return Plan(eps, min(self.need(eps), COARSEST))
        eps = min(near.eps - self.fall / self.trials.slope, 0.5 * (near.eps + self.end))
        plan = Plan(eps, self.loose)
        self.fall, self.loose = _CLOSER * self.fall, _CLOSER * self.loose
        return plan

    def aside(self, noise: float) -> Plan | None:
        """Probes where either end of D should be δ, if no more than `noise` can be known of D."""
        if self.is_settled():
            return None
        low, high = self.root.low, self.root.high
        worth = _WORTH * (high - low) if high < math.inf else 0.0
        aim = max(_FINER * noise, FINEST)
        right = self.trials.where_end_is_delta(1.0)
        if right < high - worth:
            # A slope from probes beyond may lead below 0.
            return Plan(max(right, 0.0), aim)
        left = self.trials.where_end_is_delta(-1.0)
        return Plan(left, aim) if left > low + worth else None

    def is_settled(self) -> bool:
        """Whether enough was tried in one place; without a slope nothing more can be."""
        self.settled += 1
        return self.settled > _SETTLED or not self.trials.slope < 0.0

    def inside(self, guess: float) -> float:
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

    def elsewhere(self, probe: float) -> Guess:
        """Anywhere in the bracket; away from a probe that told nothing, for another result."""
        low, high = self.root.low, self.root.high
        if not low < probe < high:
            return Guess(math.nan, math.inf)
        self.blind += 1
        if self.blind % 2 == 1:
            return Guess(math.sqrt(probe * high) if high < math.inf else 2.0 * probe, math.inf)
        return Guess(math.sqrt(low * probe) if low > 0.0 else 0.25 * probe, math.inf)

    def exceeds_at_zero(self) -> bool:
        """Ask for D(0), as narrow as it takes or as it gets; whether it is above δ for certain."""
        self.zero_asked = True
        for aim in _AT_ZERO:
            found = self.evaluate(0.0, aim)
            if not found.lower <= self.delta < found.upper or found.relative_width > 2.0 * aim:
                break
        self.root.add(0.0, found)
        if found.lower > self.delta:
            self.trials.add(self.trial(0.0, found, aim))
            return True
        if found.upper > self.delta:
            self.beyond(found)
        return False

    def beyond(self, found: Enclosure) -> None:
        """Look for an ε with D(ε) ≤ δ near 0, where D was `found` not to differ from δ."""
        width = min(max(found.relative_width, FINEST), COARSEST)
        # An infinite slope, where D is flat up to rounding, does not say how far to go.
        eps = 3.0 * width / max(1e-3, -self.trials.slope) or FINEST
        for tried in itertools.count():
            if eps >= min(self.root.high, LARGEST_EPS):
                break
            further = self.evaluate(eps, width)
            self.root.add(eps, further)
            if further.upper <= self.delta:
                break
            # Where nothing near will do, far steps cost no less.
            eps *= 4.0 if tried < _NEAR else 4.0**_NEAR
