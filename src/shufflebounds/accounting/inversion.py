"""The root of a decreasing function that is known only through enclosures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from shufflebounds.accounting.crossing import Trial, bracketed
from shufflebounds.enclosure import Enclosure

# A function of ε that is decreasing, and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0

# Probes in all, and where enclosures say nothing.
_PROBES, _BLIND = 80, 8
# Where log D is this flat in log ε, estimates of its root are worth little.
FLAT = 1.0
# Relative widths worth aiming at.
COARSEST, FINEST = 0.1, 1e-12
# A guess that may be off by so many times what separates the two ends is far from the root; so many
# probes may be, if each tells its side.
_FAR, _SEARCH = 4.0, 20
# Two probes on one side of a bracket lead on slowly where the excess fell by less than this factor.
_STUCK = 0.5
# How far a derivative of log D is trusted: what this share of a step changes may be wrong.
_STEEPER = 0.02
# Widths of D(0) to tell whether it is above δ, each for what the one before cannot tell.
_AT_ZERO = (0.05, 0.02, 1e-3, 1e-5, 1e-7, 1e-9)
# Steps by factors of 4 to where D is below δ for certain, before they grow by this power of 4.
_NEAR = 12


def smallest_eps(
    evaluate: Evaluate,
    delta: float,
    start: float,
    slope: float,
    end: float,
    rtol: float,
    doubt: float = 0.0,
) -> Enclosure:
    """Enclosure of the smallest ε with D(ε) ≤ δ; both ends are points where D was evaluated.

    Parameters
    ----------
    evaluate
        Encloses D(ε), given ε and a relative width to aim at.
    delta
        δ > 0.
    start, slope
        A guess of the root (NaN if there is none) and of the derivative of log D there.
    end
        Where D is at most δ for certain; inf if nobody knows.
    rtol
        The relative width to aim at.
    doubt
        By how much log D may differ from log δ at the guess, roughly.

    While it is not known well where the root is, probes are coarse and at the guess. After that,
    the first probe lies a little above the guess and the next a little below; each corrects the
    guess by Newton's or the secant method. A guess of 0 or less asks for D(0), which settles it
    where it is at most δ, or not to be told from δ. The lower end is 0 where no ε with D(ε) ≥ δ was
    found, the upper one `end` where none with D(ε) ≤ δ was.

    """
    target = math.log(delta)
    low, high = 0.0, end
    guess, half, care, reached, within = start, 0.45 * rtol, 0.3, 0.0, rtol
    last: tuple[float, float, float] | None = None
    trials: list[Trial] = []
    distrust = _STEEPER + min(doubt, 0.5)
    side, run, zero_tried, close, blind, searching = 0, 0, False, False, 0, _SEARCH
    for _ in range(_PROBES):
        if high < math.inf and high - low <= within * high:
            break
        if guess <= 0.0 and low == 0.0 and not zero_tried:
            zero_tried, found = True, _at_zero(evaluate, delta)
            if found.lower < delta:
                return Enclosure(0.0, _beyond(evaluate, delta, 0.0, found, slope, high))
            noise = 0.5 * (_log(found.upper) - _log(found.lower))
            last = (0.0, _log(found.upper) - noise, noise)
            trials.append(Trial(0.0, last[1] - target, noise))
            guess = (last[1] - target) / -slope if slope < 0.0 else math.nan
            doubt = distrust * abs(last[1] - target) + noise
            close = True  # anything coarser would not tell D from D(0)
        far = searching > 0 and low < guess < high and doubt > _FAR * abs(slope) * half * guess
        probe = guess if far else _next_probe(guess, low, high, half, rtol)
        if probe is None:
            break
        if half > 0.3:  # nothing closer can be told from the root
            if last is not None:
                high = _beyond(evaluate, delta, last[0], found, slope, high)
            break
        need = max(FINEST, care * abs(slope) * half * probe)
        close = close or abs(slope) * probe > FLAT
        aim = min(COARSEST, max(need if close else max(need, 0.2 * COARSEST), reached))
        if far:
            aim = min(COARSEST, max(need, 0.3 * doubt))
        found = evaluate(probe, aim)
        noise = 0.5 * (_log(found.upper) - _log(found.lower))
        middle = _log(found.upper) - noise

        verdict = 1 if found.upper <= delta else -1 if found.lower >= delta else 0
        low, high = (probe if verdict < 0 else low), (probe if verdict > 0 else high)
        side, run = (verdict, run + 1) if verdict == side else (verdict, 1)
        if not math.isfinite(middle) or (verdict == 0 and noise > 1.0):
            guess = math.nan  # nothing to steer by
            if verdict == 0:
                blind += 1
                guess = _elsewhere(probe, low, high, blind % 2 == 1)
            if blind > _BLIND:
                break
            continue
        searching = searching - 1 if far and verdict != 0 else 0 if far else searching
        if verdict == 0 and not far:
            if (
                noise > aim or aim <= FINEST
            ):  # it can do no better, and to ask for it again would cost as much
                if last is not None and probe == last[0]:
                    # Between the ends there is nowhere else to look.
                    high = _beyond(evaluate, delta, probe, found, slope, high)
                    break
                reached, steep = noise, abs(slope) * probe
                half = max(1.1 * half, 1.2 * noise / steep if steep > 0.0 else 1.0)
                within = max(rtol, min(2.5 * half, 0.5))
            elif not close:
                close = True
            elif care > 0.05:
                care *= 0.4
            else:
                half *= 1.5
        stride = abs(probe - last[0]) if last is not None else 0.0
        if last is not None and abs(middle - last[1]) > 5.0 * (noise + last[2]):
            slope = (middle - last[1]) / (probe - last[0])
        last = (probe, middle, noise)
        trials.append(Trial(probe, middle - target, noise))
        away = far or abs(middle - target) > 3.0 * _FAR * abs(slope) * half * probe
        crossing = bracketed(trials) if searching > 0 and away else None
        if crossing is not None and low < crossing.eps < high:
            guess, doubt = crossing
            if far and run >= 2 and abs(trials[-1].excess) > _STUCK * abs(trials[-2].excess):
                guess = _middle(low, high)  # the other end of the bracket hides the way
            continue
        guess = probe - (middle - target) / slope if slope < 0.0 else math.nan
        doubt = distrust * abs(middle - target) + noise
        creeping = verdict != 0 and run >= 3
        if verdict < 0 and high == end < math.inf and (creeping or not guess < end):
            # D is convex, and 0 at its end: a straight line leads beyond the root.
            guess = end - max((end - probe) * math.exp(target - middle), 0.9 * rtol * end)
            doubt = abs(middle - target)
        elif creeping:  # reach beyond the root
            known = low > 0.0 and high < end
            reach = 2.0 ** (run - 1) * max(stride, half * probe)
            guess = math.sqrt(low * high) if known else probe - verdict * reach
    return Enclosure(low, high)


def _at_zero(evaluate: Evaluate, delta: float) -> Enclosure:
    """D(0), as narrow as it takes to tell which side of δ it is on, or as it gets."""
    for aim in _AT_ZERO:
        found = evaluate(0.0, aim)
        if found.upper <= delta or found.lower >= delta or found.relative_width > 2.0 * aim:
            break
    return found


def _beyond(
    evaluate: Evaluate, delta: float, start: float, found: Enclosure, slope: float, high: float
) -> float:
    """An ε with D(ε) ≤ δ above `start`, where D was `found` not to differ from δ; or `high`."""
    if found.upper <= delta:
        return start
    width = min(max(found.relative_width, FINEST), COARSEST)
    # An infinite slope, where D is flat up to rounding, does not say how far to go.
    step = 3.0 * width / max(-slope, 1e-3) or FINEST
    for tried in itertools.count():
        if start + step >= min(high, LARGEST_EPS):
            break
        if evaluate(start + step, width).upper <= delta:
            return start + step
        # Where nothing near will do, far steps cost no less.
        step *= 4.0 if tried < _NEAR else 4.0**_NEAR
    return high


def _next_probe(guess: float, low: float, high: float, half: float, rtol: float) -> float | None:
    """Just above the guess, then just below it; else inside the bracket. None at its end."""
    if low < guess < high:
        above, below = guess * (1.0 + half), guess * (1.0 - half)
        if above * (1.0 + 0.05 * rtol) < high:
            return min(above, LARGEST_EPS)
        if below > low:
            return below
    if high == math.inf:
        further = max(2.0 * low, 1.0)
        return further if further <= LARGEST_EPS else None
    middle = _middle(low, high)
    return middle if low < middle < high else None


def _middle(low: float, high: float) -> float:
    return math.sqrt(low * high) if low > 0.0 else 0.25 * high


def _elsewhere(probe: float, low: float, high: float, above: bool) -> float:
    """A point on one side of a probe that told nothing, far enough for another result."""
    if above:
        return math.sqrt(probe * high) if high < math.inf else 2.0 * probe
    return math.sqrt(low * probe) if low > 0.0 else 0.25 * probe


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf
