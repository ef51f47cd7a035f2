"""The root of a falling function, convex in e^ε, that is known only through enclosures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from shufflebounds.accounting.bracket import Bracket
from shufflebounds.accounting.crossing import Trial, bracketed
from shufflebounds.enclosure import Enclosure

# D(ε), given ε and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0

# Probes in all, and where enclosures say nothing.
_PROBES, _BLIND = 60, 8
# Where log D is this flat in log ε, estimates of its root are worth little.
FLAT = 1.0
# Relative widths worth aiming at.
COARSEST, FINEST = 0.1, 1e-12
# The share of the width that one enclosure of D may take; less where that was not enough.
_CARE, _MORE_CARE = 0.35, 0.4
# How much of what log D may be off at a guess a probe there may be wide.
_SHARP, _TAMED = 0.2, 25.0
# How far a derivative of log D is trusted: what this share of a step changes may be wrong.
_STEEPER = 0.02
# By how much log D should fall from the root to a neighbour that supports it, how wide the latter
# may be, and what of both comes next.
_FALL, _LOOSE, _CLOSER = 0.4, 0.04, 0.3
# Where D cannot be known any better: what share of a step to where its end is δ is made from beyond
# and from before it, how much more of it each time, what share of the bracket it must be worth, and
# how wide D may be there, in units of the noise.
_INWARD, _OUTWARD, _FURTHER, _WORTH, _FINER = 0.8, 1.05, 1.4, 0.05, 0.25
# A bracket this wide, in units of the width wanted, is halved.
_NEARLY = 4.0
# Supports and finer probes in the same place before it is left at that.
_SETTLED = 12
# Widths of D(0) to tell whether it is above δ, each for what the one before cannot tell.
_AT_ZERO = (0.05, 0.02, 1e-3, 1e-5, 1e-7, 1e-9)
# Steps by factors of 4 to where D is below δ for certain, before they grow by this power of 4.
_NEAR = 12
# Guesses this close to a probe, in units of the width wanted, are the same.
_SAME = 0.3
# How far from the lower and from the upper end of the bracket a guess is moved that lies beyond it,
# as a share: where D falls as a straight line, the root is at the lower end.
_MARGIN, _INSIDE = 0.05, 0.3
# An upper end this close to where D is 0, in units of the width wanted, is told as that.
_END = 0.1
# How far towards 0 one step may lead, as a factor, before D(0) is asked for.
_SHRINK, _SHRUNK = 8.0, 2


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
    return _Search(evaluate, delta, end, rtol).run(start, slope, doubt)


class _Plan(NamedTuple):
    """Where to evaluate D next, and the relative width to aim at."""

    eps: float
    aim: float


class _Search:
    """Probes made so far, and what they say about the root."""

    def __init__(self, evaluate: Evaluate, delta: float, end: float, rtol: float) -> None:
        self.evaluate, self.delta, self.end, self.rtol = evaluate, delta, end, rtol
        self.target, self.root = math.log(delta), Bracket(delta, end)
        self.trials: list[Trial] = []
        # Of log D at the root, and how far it is trusted.
        self.slope, self.distrust = math.nan, _STEEPER
        # The widths asked for, and where D stayed wider.
        self.asked: dict[float, float] = {}
        self.short: set[float] = set()
        self.care, self.fall, self.loose = _CARE, _FALL, _LOOSE
        self.outward = {1.0: _OUTWARD, -1.0: _OUTWARD}
        self.settled = self.blind = self.shrunk = 0
        self.zero_asked = False

    def run(self, guess: float, slope: float, doubt: float) -> Enclosure:
        """Probe until the bracket is narrow, or will not become so."""
        self.slope, self.distrust = slope, _STEEPER + min(doubt, 0.5)
        for _ in range(_PROBES):
            if self.is_narrow():
                break
            if guess <= 0.0 == self.root.low and not self.zero_asked:
                if not self.exceeds_at_zero():
                    break
                guess, doubt = self.guessed()
                continue
            plan = self.planned(guess, doubt)
            if plan is None or self.asked.get(plan.eps, math.inf) <= plan.aim:
                break
            if self.learn(*plan):
                guess, doubt = self.guessed()
                continue
            guess, doubt = math.nan, math.inf
            if self.root.low < plan.eps < self.root.high:
                self.blind += 1
                guess = self.elsewhere(plan.eps)
            if self.blind > _BLIND:
                break
        return Enclosure(self.root.low, self.upper())

    def upper(self) -> float:
        """The upper end; where D is 0, if it differs from that by hardly anything."""
        high = self.root.high
        return self.end if high > self.end * (1.0 - _END * self.rtol) else high

    def is_narrow(self, times: float = 1.0) -> bool:
        """Whether the bracket is at most so many times as wide as it is wanted."""
        low, high = self.root.low, self.upper()
        return high < math.inf and high - low <= times * self.rtol * high

    def learn(self, eps: float, aim: float) -> bool:
        """Evaluate D; whether that told anything to steer by."""
        self.asked[eps] = aim
        found = self.evaluate(eps, aim)
        self.root.add(eps, found)
        width = _log(found.upper) - _log(found.lower)
        undecided = found.lower <= self.delta < found.upper
        if not math.isfinite(width) or (undecided and width > 2.0):
            return False
        if width > 1.5 * aim:
            self.short.add(eps)
        self.trials.append(Trial(eps, _log(found.upper) - 0.5 * width - self.target, 0.5 * width))
        self.slope = self.secant() or self.slope
        return True

    def near(self) -> Trial:
        """The probe that seems to be closest to the root."""
        return min(self.trials, key=_distance)

    def secant(self) -> float | None:
        """Slope of log D between the two probes closest to the root that are told apart."""
        near, *others = sorted(self.trials, key=_distance)
        for other in others:
            fall = other.excess - near.excess
            if abs(fall) > 5.0 * (other.noise + near.noise):
                slope = fall / (other.eps - near.eps)
                return slope if slope < 0.0 else None
        return None

    def guessed(self) -> tuple[float, float]:
        """Where the root seems to be, and by how much log D may be off δ there."""
        crossing = bracketed(self.trials)
        if crossing is not None:
            return crossing
        near = self.near()
        if not self.slope < 0.0:
            return math.nan, math.inf
        doubt = self.distrust * abs(near.excess) + near.noise
        step = -near.excess / self.slope
        run = _streak(self.trials)
        if run > 2 and abs(near.excess) > near.noise:
            step *= 2.0 ** (run - 2)  # creeping
            doubt = abs(near.excess)
        guess = near.eps + step
        if step < 0.0 and guess < near.eps / _SHRINK:
            self.shrunk += 1
            guess = near.eps / _SHRINK if self.shrunk <= _SHRUNK else 0.0
            doubt = math.inf
        return guess, doubt

    def planned(self, guess: float, doubt: float) -> _Plan | None:
        """The next probe; None where no other would narrow the bracket."""
        guess = self.inside(guess)
        need = self.need(guess)
        aim = need if doubt <= _TAMED * need else _SHARP * doubt
        if self.trials:
            # Those that do not tell the guess from where they were made.
            untold = [
                x
                for x in self.trials
                if x.noise < 1.0 and abs((x.eps - guess) * self.slope) <= 2.0 * x.noise
            ]
            drowned = [x for x in untold if x.eps in self.short and _distance(x) <= 4.0 * x.noise]
            if drowned:
                return self.aside(min(drowned, key=_distance))
            near = min(self.trials, key=lambda x: (abs(x.eps - guess), x.noise))
            if abs(near.eps - guess) <= _SAME * self.rtol * guess and near.noise <= need:
                return self.support(near)
            if untold:
                aim = max(min(aim, _SHARP * min(x.noise for x in untold)), need)
        return _Plan(guess, max(min(aim, COARSEST), FINEST))

    def need(self, eps: float) -> float:
        """The width of D that an ε of the width wanted allows."""
        steep = -self.slope * eps * self.rtol
        return max(FINEST, self.care * steep) if steep > 0.0 else COARSEST

    def support(self, near: Trial) -> _Plan | None:
        """A probe beyond one next to the root, to bound the slope there; or a finer one."""
        self.settled += 1
        if self.settled > _SETTLED or not self.slope < 0.0:
            return None
        if self.is_narrow(_NEARLY):
            self.care *= _MORE_CARE
            middle = 0.5 * (self.root.low + self.root.high)
            return _Plan(middle, min(self.need(middle), COARSEST))
        supports = (
            4.0 * (near.noise + x.noise) < near.excess - x.excess <= 1.5 * self.fall
            for x in self.trials
            if x.eps > near.eps
        )
        if any(supports):
            self.care *= _MORE_CARE
            return _Plan(near.eps, min(self.need(near.eps), COARSEST))
        eps = min(near.eps - self.fall / self.slope, 0.5 * (near.eps + self.end))
        plan = _Plan(eps, self.loose)
        self.fall, self.loose = _CLOSER * self.fall, _CLOSER * self.loose
        return plan

    def aside(self, near: Trial) -> _Plan | None:
        """Probes where either end of D should be δ, next to one that cannot be known any better."""
        low, high = self.root.low, self.root.high
        self.settled += 1
        if self.settled > _SETTLED or not self.slope < 0.0:
            return None
        worth = _WORTH * (high - low) if high < math.inf else 0.0
        aim = max(_FINER * near.noise, FINEST)
        right = self.where_end_is_delta(1.0)
        if right < high - worth:
            return _Plan(right, aim)
        left = self.where_end_is_delta(-1.0)
        return _Plan(left, aim) if left > low + worth else None

    def where_end_is_delta(self, side: float) -> float:
        """Just beyond where the upper (1) or the lower (−1) end of D seems to be δ."""
        near = min(self.trials, key=lambda x: abs(x.excess + side * x.noise))
        off = near.excess + side * near.noise
        if side * off < 0.0:
            return near.eps - _INWARD * off / self.slope
        self.outward[side] *= _FURTHER
        return near.eps - self.outward[side] * off / self.slope

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

    def elsewhere(self, probe: float) -> float:
        """Away from a probe that told nothing, far enough for another result."""
        low, high = self.root.low, self.root.high
        if self.blind % 2 == 1:
            return math.sqrt(probe * high) if high < math.inf else 2.0 * probe
        return math.sqrt(low * probe) if low > 0.0 else 0.25 * probe

    def exceeds_at_zero(self) -> bool:
        """Ask for D(0), as narrow as it takes or as it gets; whether it is above δ for certain."""
        self.zero_asked = True
        for aim in _AT_ZERO:
            found = self.evaluate(0.0, aim)
            if not found.lower <= self.delta < found.upper or found.relative_width > 2.0 * aim:
                break
        self.root.add(0.0, found)
        if found.lower > self.delta:
            noise = 0.5 * (_log(found.upper) - _log(found.lower))
            self.trials.append(Trial(0.0, _log(found.upper) - noise - self.target, noise))
            return True
        if found.upper > self.delta:
            self.beyond(found)
        return False

    def beyond(self, found: Enclosure) -> None:
        """Look for an ε with D(ε) ≤ δ near 0, where D was `found` not to differ from δ."""
        width = min(max(found.relative_width, FINEST), COARSEST)
        # An infinite slope, where D is flat up to rounding, does not say how far to go.
        eps = 3.0 * width / max(-self.slope, 1e-3) or FINEST
        for tried in itertools.count():
            if eps >= min(self.root.high, LARGEST_EPS):
                break
            further = self.evaluate(eps, width)
            self.root.add(eps, further)
            if further.upper <= self.delta:
                break
            # Where nothing near will do, far steps cost no less.
            eps *= 4.0 if tried < _NEAR else 4.0**_NEAR


def _distance(trial: Trial) -> float:
    """How far off the root a probe may be, as a logarithm of D."""
    return abs(trial.excess) + trial.noise


def _streak(trials: list[Trial]) -> int:
    """How many probes the last of them is the last of that lie on one side."""
    side = trials[-1].excess > 0.0
    return sum(1 for _ in itertools.takewhile(lambda x: (x.excess > 0.0) == side, trials[::-1]))


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf
