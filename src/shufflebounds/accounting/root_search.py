"""The smallest ε with D(ε) ≤ δ, between certified ends, from enclosures of D at a few points.

A hockey-stick divergence is Σ (p − e^ε q)₊, a sum of functions that are convex in e^ε and do not
rise; so is the larger of two. Between two points D is therefore below the chord, and beyond them
above it: enclosures at two points bound D everywhere (docs/engine.md, section 9). `Bracket` draws
these conclusions, and both ends are always its own. `smallest_eps` chooses the points, and that
decides speed only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
# Most rounds of probes for one root. A typical root takes two.
MAX_ROUNDS = 60
# Relative width of D at the root that is aimed at, as a share of what the width wanted allows.
SHARE = 0.5
# Factor by which that share shrinks from one fine probe to the next.
NARROWING = 0.5
# Fall of log D from the root to the point further on, in units of the width of D at the root.
FALL = 40.0
# Largest fall of log D from the root to that point.
LARGEST_FALL = 0.5
# Relative width of D at that point, as a share of the fall.
SUPPORT_SHARE = 0.1
# Relative error of a step along the secant, as a share of the step in log D.
SECANT_ERROR = 0.1
# Error of log D at the estimated root, in units of what is needed, up to which the next probe is as
# fine as needed.
FINE_AT_ONCE = 200.0
# Distance from an end of the bracket, as a share of its width, at which the search looks instead of
# at an estimate beyond that end.
INSET = 0.1
# Rounds in a row that may leave more than half of the bracket before it is halved.
MAX_SLOW_ROUNDS = 3

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

    NaN stands for an ε or a derivative that is not known; ε = 0 asks for D(0) first.
    """

    eps: float
    slope: float = math.nan
    doubt: float = 0.0


class Probe(NamedTuple):
    """A place to evaluate D, and the relative width to aim at."""

    eps: float
    aim: float


def smallest_eps(
    evaluate: Evaluate, delta: float, start: Start, end: float, rtol: float
) -> Enclosure:
    """Enclose the smallest ε with D(ε) ≤ δ.

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
    search = Search(delta, start, end, rtol)
    while probes := search.next_probes():
        search.add(probes, [evaluate(*probe) for probe in probes])
    return search.enclosure()


class Search:
    """The search for the smallest ε with D(ε) ≤ δ; the arguments are those of `smallest_eps`.

    Secant steps lead to the root of log D − log δ. A fine enclosure of D next to it and a coarse
    one further on, which bounds the slope of D, then close the bracket. Where secant steps do not
    shrink the bracket, it is halved. Ask for `next_probes`, evaluate D there, and `add` the
    enclosures, until there are no more probes.
    """

    def __init__(self, delta: float, start: Start, end: float, rtol: float) -> None:
        self._delta, self._end, self._rtol = delta, end, rtol
        self._bracket = Bracket(delta, end)
        self._guess = start if math.isfinite(start.eps) else start._replace(eps=0.0)
        self._excesses: list[_Excess] = []
        self._aims: dict[float, float] = {}
        self._widths = [math.inf]
        self._rounds, self._share = 0, SHARE

    def next_probes(self) -> list[Probe]:
        """Where to evaluate D next, and how closely; nothing where the search ends."""
        bracket, self._rounds = self._bracket, self._rounds + 1
        width = self._rtol * bracket.high
        is_narrow = bracket.high < math.inf and bracket.high - bracket.low <= width
        if is_narrow or bracket.low >= LARGEST_EPS or self._rounds > MAX_ROUNDS:
            return []
        probes = self._new(self._guessed_probes() if len(self._widths) <= MAX_SLOW_ROUNDS else [])
        return probes or self._new([self._middle()])

    def add(self, probes: list[Probe], divergences: Sequence[Enclosure]) -> None:
        """Draw conclusions from enclosures of D at the probes."""
        for probe, divergence in zip(probes, divergences, strict=True):
            self._bracket.add(probe.eps, divergence)
            self._aims[probe.eps] = probe.aim
            excess = _excess(probe, divergence, self._delta)
            self._excesses += [] if excess is None else [excess]
        # Where an enclosure says nothing, a secant leads to the same place again.
        self._guess = Start(math.nan) if excess is None else self._secant()
        width, first = self._bracket.high - self._bracket.low, self._widths[0]
        self._widths = [*self._widths, width] if width > 0.5 * first else [width]

    def enclosure(self) -> Enclosure:
        """What is known of the root."""
        low, high = self._bracket.low, self._bracket.high
        # D is 0 at `end`: an upper end that hardly differs from it says no more.
        return Enclosure(low, self._end if high > self._end * (1.0 - 0.1 * self._rtol) else high)

    def _new(self, probes: list[Probe]) -> list[Probe]:
        """The probes that have not been looked at as closely before."""
        return [probe for probe in probes if self._aims.get(probe.eps, math.inf) > probe.aim]

    def _guessed_probes(self) -> list[Probe]:
        """The estimated root, and beside it a point further on that bounds the slope of D."""
        eps, slope, doubt = self._guess
        if not math.isfinite(eps):
            return []
        if not -math.inf < slope < 0.0:
            return [Probe(self._inside(eps), COARSEST)]
        # What the width wanted amounts to, as a difference of log D.
        need = -self._share * self._rtol * abs(eps) * slope
        if doubt > FINE_AT_ONCE * need:
            return [Probe(self._inside(eps), _within(0.2 * doubt))]
        self._share *= NARROWING
        root = Probe(self._inside(eps), _within(need))
        fall = min(FALL * need, LARGEST_FALL)
        further = min(root.eps - fall / slope, 0.5 * (root.eps + self._end), LARGEST_EPS)
        # Another point of that kind may be known.
        if any(root.eps < x.eps and -3.0 * fall < x.middle < -0.3 * fall for x in self._excesses):
            return [root]
        return [root, Probe(further, _within(SUPPORT_SHARE * fall))]

    def _inside(self, eps: float) -> float:
        """An ε, or one close to the end of the bracket that it is beyond.

        The line that an end rests on may be exact, and the root at that end.
        """
        low, high = self._bracket.low, min(self._bracket.high, LARGEST_EPS)
        if eps >= high:
            eps = high - INSET * (high - low)
        elif eps < low:
            eps = low + INSET * (min(high, 2.0 * low) - low)
        return max(eps, 0.0)

    def _middle(self) -> Probe:
        """The middle of the bracket; on a logarithmic scale if it is wide."""
        low, high = self._bracket.low, min(self._bracket.high, LARGEST_EPS)
        is_wide = high > 4.0 * low > 0.0
        return Probe(math.sqrt(low * high) if is_wide else 0.5 * (low + high), COARSEST)

    def _secant(self) -> Start:
        """Estimate the root from the probe next to it and the slope to another one."""
        near, *others = sorted(self._excesses, key=lambda x: abs(x.middle) + x.noise)
        slope = self._guess.slope
        for other in others:
            rise, run = other.middle - near.middle, other.eps - near.eps
            if abs(rise) > 4.0 * (near.noise + other.noise) and rise * run < 0.0:
                slope = rise / run
                break
        if not -math.inf < slope < 0.0:
            return Start(math.nan, slope)
        doubt = SECANT_ERROR * abs(near.middle) + near.noise
        return Start(near.eps - near.middle / slope, slope, doubt)


class _Excess(NamedTuple):
    """An enclosure of log D − log δ at ``eps``: its middle, and half of its width."""

    eps: float
    middle: float
    noise: float


def _excess(probe: Probe, divergence: Enclosure, delta: float) -> _Excess | None:
    """Return log D − log δ; None where the enclosure is too wide to steer by."""
    high = log(max(divergence.lower, min(divergence.upper, 1.0)))
    width = high - log(divergence.lower)
    if not width <= (2.0 if divergence.lower <= delta < divergence.upper else 700.0):
        return None
    return _Excess(probe.eps, high - 0.5 * width - math.log(delta), 0.5 * width)


def _within(aim: float) -> float:
    """What to aim at where D must be known to within `aim`."""
    return min(max(aim, FINEST), COARSEST)
