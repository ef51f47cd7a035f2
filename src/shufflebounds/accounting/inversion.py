"""The root of a falling function, convex in e^ε, that is known only through enclosures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

from shufflebounds.accounting.bracket import Bracket
from shufflebounds.accounting.crossing import Trial
from shufflebounds.accounting.trials import Guess, Trials
from shufflebounds.enclosure import Enclosure
from shufflebounds.floats import log

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
