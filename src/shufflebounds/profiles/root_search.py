"""Where to evaluate D(ε) in search of the smallest ε with D(ε) ≤ δ, and how finely.

`bracket` proves both ends from the enclosures of D at these places; the choice of the places
changes only the speed (benchmarks/deployer_grid.py) and how narrow the answer is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.law import log
from shufflebounds.profiles.bracket import Bracket

# A function that encloses D(ε), given ε and a relative width to aim at.
Evaluate = Callable[[float, float], Enclosure]

# Largest ε at which D is evaluated: e^ε and quotients by masses must stay finite.
LARGEST_EPS = 690.0
# Largest relative width of D that the search asks for.
COARSEST = 0.3
# Smallest relative width of D that the search asks for; below it, round-off dominates.
FINEST = 1e-12
# Most rounds of probes for one root. A typical root takes two.
MAX_ROUNDS = 60
# Relative width of D at the root that is aimed at, as a share of what the width wanted allows.
SHARE = 0.9
# Fall of log D from the root to the point further on, in units of the width of D at the root.
FALL = 40.0
# Smallest fall of log D from the root to that point, for roots near 0.
SMALLEST_FALL = 1e-3
# Largest fall of log D from the root to that point.
LARGEST_FALL = 0.5
# Relative width of D at that point, as a share of the fall.
SUPPORT_SHARE = 0.1
# Relative error of a step along the secant, as a share of the step in log D.
SECANT_ERROR = 0.2
# Error of log D at the estimated root, in units of what is needed, up to which the next probe is as
# fine as needed.
FINE_AT_ONCE = 200.0
# Distance from an end of the bracket, as a share of its width, at which the search looks instead of
# at an estimate beyond that end.
INSET = 0.1
# Factor of the relative width of D that is aimed at where it did not tell the side of the root.
CLOSER = 0.1
# Rounds in a row that may leave more than half of the bracket before it is halved. One is enough
# if the estimate is outside the bracket.
MAX_SLOW_ROUNDS = 2


class Start(NamedTuple):
    """A guess of the root, the derivative of log D there, and the error of log D at the guess.

    NaN stands for an unknown guess or derivative. A guess of 0 lets the search begin with D(0).
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

    Interpolation leads to the root of log D − log δ. A fine enclosure of D next to it and a coarse
    one further on, which bounds the slope of D, then close the bracket. Where estimates do not
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
        self._rounds = 0
        # The relative width of D that tells on which side of the root a place is.
        self._side_aim = COARSEST

    def next_probes(self) -> list[Probe]:
        """Return where to evaluate D next, and how finely; nothing if the search is over."""
        self._rounds += 1
        is_beyond = self._bracket.low >= LARGEST_EPS
        if is_beyond or self._is_narrow() or self._rounds > MAX_ROUNDS:
            return []
        probes = [] if self._is_slow() else self._new(self._guessed_probes())
        return probes or self._new([self._middle()])

    def _is_narrow(self) -> bool:
        """Return whether the bracket is as narrow as requested."""
        low, high = self._bracket.low, self._bracket.high
        return high < math.inf and high - low <= self._rtol * high

    def _is_slow(self) -> bool:
        """Return whether the latest guesses of the root have hardly narrowed the bracket."""
        is_outside = not self._bracket.low <= self._guess.eps < self._bracket.high
        return len(self._widths) > (1 if is_outside else MAX_SLOW_ROUNDS)

    def add(self, probes: list[Probe], divergences: Sequence[Enclosure]) -> None:
        """Narrow the bracket by enclosures of D at the probes, and guess the root anew."""
        for probe, divergence in zip(probes, divergences, strict=True):
            self._bracket.add(probe.eps, divergence)
            self._aims[probe.eps] = probe.aim
            excess = _excess(probe, divergence, self._delta)
            if excess is not None:
                self._excesses.append(excess)
        is_undecided = divergence.lower <= self._delta < divergence.upper
        if not is_undecided:
            self._side_aim = COARSEST
        elif divergence.relative_width <= 2.0 * probe.aim:  # a closer look may tell
            self._side_aim = _within(CLOSER * self._side_aim)
        # Where an enclosure says nothing, a secant leads to the same place again.
        self._guess = Start(math.nan) if excess is None else self._interpolated()
        width, first = self._bracket.high - self._bracket.low, self._widths[0]
        self._widths = [*self._widths, width] if width > 0.5 * first else [width]

    def enclosure(self) -> Enclosure:
        """Return the certified ends of the root."""
        low, high = self._bracket.low, self._bracket.high
        # D is 0 at `end`. An upper end just below it adds nothing, so the answer is `end` itself.
        return Enclosure(low, self._end if high > self._end * (1.0 - 0.1 * self._rtol) else high)

    def _new(self, probes: list[Probe]) -> list[Probe]:
        """Return the probes at places where D is not known as finely yet."""
        return [probe for probe in probes if self._aims.get(probe.eps, math.inf) > probe.aim]

    def _guessed_probes(self) -> list[Probe]:
        """Return a probe at the guess, and one beyond it that bounds the slope of D."""
        eps, slope, doubt = self._guess
        if not math.isfinite(eps):
            return []
        if not -math.inf < slope < 0.0:
            return [Probe(self._inside(eps), COARSEST)]
        # What the width wanted amounts to, as a difference of log D.
        need = -SHARE * self._rtol * abs(eps) * slope
        if doubt > FINE_AT_ONCE * need:
            return [Probe(self._inside(eps), _within(0.2 * doubt))]
        root = Probe(self._inside(eps), _within(need))
        fall = min(max(FALL * need, SMALLEST_FALL), LARGEST_FALL)
        further = min(root.eps - fall / slope, 0.5 * (root.eps + self._end), LARGEST_EPS)
        return [root, Probe(further, _within(SUPPORT_SHARE * fall))]

    def _inside(self, eps: float) -> float:
        """Return `eps`, or a place close to the end of the bracket where the root may be instead.

        An estimate above the bracket overrates the curvature of D. If D is linear in e^ε, the root
        is at the lower end.
        """
        low, high = self._bracket.low, min(self._bracket.high, LARGEST_EPS)
        if eps >= high and low > 0.0:
            eps = low + min(0.5 * self._rtol * high, INSET * (high - low))
        elif eps >= high:
            eps = (1.0 - INSET) * high
        elif eps < low:
            eps = low + INSET * (min(high, 2.0 * low) - low)
        return max(eps, 0.0)

    def _middle(self) -> Probe:
        """Return a probe in the middle of the bracket, of the logarithms if the bracket is wide.

        D(0) comes first: if it is at most δ, the middle would lead to 0 in many steps.
        """
        low, high = self._bracket.low, min(self._bracket.high, LARGEST_EPS)
        if low == 0.0 and self._aims.get(0.0, math.inf) > self._side_aim:
            return Probe(0.0, self._side_aim)
        is_wide = high > 4.0 * low
        middle = math.sqrt(max(low, 0.01 * high) * high) if is_wide else 0.5 * (low + high)
        return Probe(middle, self._side_aim)

    def _interpolated(self) -> Start:
        """Return a guess of the root from the two or three probes closest to it."""
        near, *others = sorted(self._excesses, key=lambda x: abs(x.middle) + x.noise)
        others = [x for x in others if x.is_comparable(near)]
        slope = others[0].slope_to(near) if others else self._guess.slope
        if not -math.inf < slope < 0.0:
            return Start(math.nan, slope)
        eps, doubt = near.eps - near.middle / slope, SECANT_ERROR * abs(near.middle)
        third = next((x for x in others[1:] if x.is_comparable(others[0])), None)
        if third is not None:
            secant, eps = eps, _inverse_quadratic_root(near, others[0], third)
            doubt = min(doubt, abs((eps - secant) * slope))
        return Start(eps, slope, doubt + near.noise)


class _Excess(NamedTuple):
    """An enclosure of log D − log δ at ``eps``: its middle, and half of its width."""

    eps: float
    middle: float
    noise: float

    def is_comparable(self, other: _Excess) -> bool:
        """Return whether log D certainly falls from one place to the other."""
        rise, run = other.middle - self.middle, other.eps - self.eps
        return rise * run < 0.0 and abs(rise) > 4.0 * (self.noise + other.noise)

    def slope_to(self, other: _Excess) -> float:
        """Return the slope of the secant."""
        return (other.middle - self.middle) / (other.eps - self.eps)


def _inverse_quadratic_root(*points: _Excess) -> float:
    """Return the value at 0 of ε as a quadratic function of log D − log δ, given three points."""
    root = 0.0
    for point in points:
        others = [x.middle for x in points if x is not point]
        root += point.eps * math.prod(x / (x - point.middle) for x in others)
    return root


def _excess(probe: Probe, divergence: Enclosure, delta: float) -> _Excess | None:
    """Return log D − log δ; None if the enclosure is too wide for a guess."""
    high = log(max(divergence.lower, min(divergence.upper, 1.0)))
    width = high - log(divergence.lower)
    if not width <= (2.0 if divergence.lower <= delta < divergence.upper else 700.0):
        return None
    return _Excess(probe.eps, high - 0.5 * width - math.log(delta), 0.5 * width)


def _within(aim: float) -> float:
    """Return the relative width to aim at, `aim` if that is in the range of aims."""
    return min(max(aim, FINEST), COARSEST)
