"""The smallest ε with D(ε) ≤ δ, between certified ends, from enclosures of D at a few points.

A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
above it: enclosures at two points bound D everywhere (docs/engine.md, section 9). `Bracket` draws
these conclusions, and both ends are always its own. `smallest_eps` chooses the points, and that
decides speed only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.law import U, log

# D(ε), given ε and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# Largest ε at which D is evaluated: e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0
# Largest relative width of D that the search asks for.
COARSEST = 0.1
# Smallest relative width of D that the search asks for; below it, round-off dominates.
FINEST = 1e-12
# Most evaluations of D for one root. A typical root takes four.
MAX_PROBES = 60
# Distance of the last two probes from the estimated root, as a share of the width wanted. The last
# two probes lie on either side of the root.
ASIDE = 0.45
# Relative error of a step along the secant, as a share of the step in log D.
SECANT_ERROR = 0.1
# Relative width of D to aim at, as a share of what is needed.
CAUTION = 0.8
# Distance from an end of the bracket, as a share of its width, at which the search looks instead of
# at an estimate beyond that end.
INSET = 0.1
# Probes in a row that may leave more than half of the bracket before it is halved.
MAX_SLOW_PROBES = 3

# Relative error of expm1 and of log1p, which are good to two ulps.
_POINT = 4.0 * U
# Relative error of a chord, which takes five operations more.
_CHORD = 8.0 * U
# An absolute error that covers every product that underflows.
_FAINT = 1e-300
# An upper bound of D, however its entries were rounded.
_MOST = 2.0
# Largest ε at which e^ε is a float.
_LARGEST = 700.0


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

    def add(self, eps: float, divergence: Enclosure) -> None:
        """Draw conclusions from an enclosure of D(ε)."""
        growth = math.expm1(eps)
        # As D does not rise, a bound of it holds at a point moved to the side of the bound.
        below = _Point(growth * (1.0 - _POINT), divergence.lower)
        above = _Point(growth * (1.0 + _POINT), min(divergence.upper, _MOST))
        self._lower.append(below)
        self._upper.append(above)
        if divergence.lower > self._delta:
            self.low = max(self.low, eps)
        if divergence.upper <= self._delta:
            self.high = min(self.high, eps)
        roots = [_chord_root(point, above, self._delta) for point in self._upper]
        roots += [_chord_root(above, point, self._delta) for point in self._upper]
        self.high = min(self.high, *(math.log1p(x) * (1.0 + _POINT) for x in roots))
        roots = [_line_root(below, point, self._delta) for point in self._upper]
        roots += [_line_root(point, above, self._delta) for point in self._lower]
        self.low = max(self.low, *(math.log1p(x) * (1.0 - _POINT) for x in roots))
        self.low = min(self.low, self.high)

    def is_narrow(self, rtol: float) -> bool:
        """Whether the relative width is at most `rtol`."""
        return self.high < math.inf and self.high - self.low <= rtol * self.high


def _chord_root(left: _Point, right: _Point, delta: float) -> float:
    """Where the chord between two upper bounds falls to δ, rounded up; inf where it does not."""
    if not (left.growth < right.growth and right.bound <= delta < left.bound):
        return math.inf
    share = (left.bound - delta) / (left.bound - right.bound)
    step = (right.growth - left.growth) * share * (1.0 + _CHORD)
    return (left.growth + step) * (1.0 + _CHORD) + _FAINT


def _line_root(lower: _Point, upper: _Point, delta: float) -> float:
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


class Start(NamedTuple):
    """An estimate of the root, of the derivative of log D there, and the error of log D.

    NaN stands for an ε or a derivative that is not known; ε = 0 asks for D(0) first. ``noise`` is
    half of the width of the enclosure next to the root, and ``aim`` the width that it aimed at.
    """

    eps: float
    slope: float = math.nan
    doubt: float = 0.0
    noise: float = 0.0
    aim: float = math.inf


class _Probe(NamedTuple):
    """An enclosure of log D − log δ at ``eps``: its middle, half of its width, and the aim."""

    eps: float
    excess: float
    noise: float
    aim: float


def smallest_eps(
    evaluate: Evaluate, delta: float, start: Start, end: float, rtol: float
) -> Enclosure:
    """Enclose the smallest ε with D(ε) ≤ δ.

    Secant steps lead to the root of log D − log δ. Two probes, just below and just above it, then
    close the bracket. Where secant steps do not shrink the bracket, it is halved.

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
        Where D is 0 for certain; inf if no such ε is known.
    rtol
        The relative width to aim at.

    Returns
    -------
    Enclosure
        Of ε (natural log). The lower end is 0 if no ε with D(ε) > δ was found, and the upper one is
        `end` if none with D(ε) ≤ δ was.
    """
    bracket, probes = Bracket(delta, end), list[_Probe]()
    guess = start if math.isfinite(start.eps) else start._replace(eps=0.0)
    widths, asked = [math.inf], dict[float, float]()
    for _ in range(MAX_PROBES):
        if bracket.is_narrow(rtol) or bracket.low >= LARGEST_EPS:
            break
        eps, aim = _next_probe(bracket, guess, rtol)
        if len(widths) > MAX_SLOW_PROBES or asked.get(eps, math.inf) <= aim:
            eps, aim = _middle(bracket), COARSEST
            if asked.get(eps, math.inf) <= aim:
                break
        asked[eps] = aim
        divergence = evaluate(eps, aim)
        bracket.add(eps, divergence)
        probe = _probe(eps, divergence, delta, aim)
        if probe is not None:
            probes.append(probe)
        guess = _secant(probes, guess.slope) if probe is not None else Start(math.nan)
        width = bracket.high - bracket.low
        widths = [*widths, width] if width > 0.5 * widths[0] else [width]
    # D is 0 at `end`: an upper end that hardly differs from it says no more.
    high = end if bracket.high > end * (1.0 - 0.1 * rtol) else bracket.high
    return Enclosure(bracket.low, high)


def _probe(eps: float, divergence: Enclosure, delta: float, aim: float) -> _Probe | None:
    """Return log D − log δ as a probe; None where the enclosure is too wide to steer by."""
    high = log(max(divergence.lower, min(divergence.upper, 1.0)))
    width = high - log(divergence.lower)
    if not width <= (2.0 if divergence.lower <= delta < divergence.upper else 700.0):
        return None
    return _Probe(eps, high - 0.5 * width - math.log(delta), 0.5 * width, aim)


def _secant(probes: list[_Probe], slope: float) -> Start:
    """Estimate the root from the probe next to it and the slope to another one."""
    near, *others = sorted(probes, key=lambda probe: abs(probe.excess) + probe.noise)
    for other in others:
        rise, run = other.excess - near.excess, other.eps - near.eps
        if abs(rise) > 4.0 * (near.noise + other.noise) and rise * run < 0.0:
            slope = rise / run
            break
    if not -math.inf < slope < 0.0:
        return Start(math.nan)
    doubt = SECANT_ERROR * abs(near.excess)
    return Start(near.eps - near.excess / slope, slope, doubt, near.noise, near.aim)


def _next_probe(bracket: Bracket, guess: Start, rtol: float) -> tuple[float, float]:
    """Return the next ε to look at, and the relative width of D to aim at."""
    low, high = bracket.low, min(bracket.high, LARGEST_EPS)
    if not math.isfinite(guess.eps):
        return _middle(bracket), COARSEST
    eps, aim = guess.eps, COARSEST
    if -math.inf < guess.slope < 0.0:
        # Half of the width wanted, as a difference of log D; more if D is not known that well.
        aim = max(-ASIDE * rtol * abs(eps) * guess.slope, FINEST)
        doubt = guess.doubt + guess.noise
        if 2.0 * guess.noise > aim >= guess.aim:
            aim, doubt = 1.6 * guess.noise, guess.doubt
        if not doubt <= 0.5 * aim:
            aim = max(aim, 0.2 * doubt)
        elif eps - low > high - eps:
            eps += aim / guess.slope
        else:
            eps -= aim / guess.slope
    # Beyond an end of the bracket, look close to that end: the line that it rests on may be exact.
    if eps >= high:
        eps = high - INSET * (high - low)
    elif eps < low:
        eps = low + INSET * (min(high, 2.0 * low) - low)
    return max(eps, 0.0), min(max(CAUTION * aim, FINEST), COARSEST)


def _middle(bracket: Bracket) -> float:
    """Return the middle of a bracket; on a logarithmic scale if it is wide."""
    low, high = bracket.low, min(bracket.high, LARGEST_EPS)
    return math.sqrt(low * high) if high > 4.0 * low > 0.0 else 0.5 * (low + high)
