"""Where along an axis, of ε₀ or of n, D(ε) falls to δ: probes that close in from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from shufflebounds.floats import log

X = TypeVar("X", bound=float)

_MOST_PROBES = 200
_LONGEST_STEP = 4.0


@dataclass(frozen=True)
class Probe:
    """D(ε) at one point: ``side`` is 1 if certainly at most δ, −1 if certainly above, 0 if neither.

    ``excess`` estimates log(log D / log δ), with an error of ``doubt``.
    """

    side: int
    excess: float
    doubt: float


@dataclass(frozen=True)
class LocalPrivacy:
    """ε₀ as an axis, to a relative width of ``rtol``."""

    least_private: float
    most_private: float
    rtol: float

    def scale(self, eps0: float) -> float:
        """−log (e^{ε₀/2} − 1)²; the square goes about like the variance of G at ε = 0."""
        return -eps0 - 2.0 * log(-math.expm1(-0.5 * eps0))

    def at(self, y: float) -> float:
        """The point of the axis nearest to `y` on the scale."""
        eps0 = max(-y, 0.0) + 2.0 * math.log1p(math.exp(-0.5 * abs(y)))
        return min(max(eps0, self.most_private), self.least_private)

    def near(self, _: float) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""
        return 0.9 * self.rtol

    def is_done(self, above: float, below: float) -> bool:
        return above - below <= self.rtol * above


@dataclass(frozen=True)
class Users:
    """n as an axis, number by number."""

    least_private: int
    most_private: int

    def scale(self, n: int) -> float:
        return math.log(n)

    def at(self, y: float) -> int:
        """The point of the axis nearest to `y` on the scale."""
        return min(max(round(math.exp(min(y, 40.0))), self.least_private), self.most_private)

    def near(self, y: float) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""
        return 0.5 * math.exp(-y)

    def is_done(self, above: int, below: int) -> bool:
        return below - above <= 1


class Axis(Protocol[X]):
    """Where to look for the point at which D falls to δ."""

    @property
    def least_private(self) -> X:
        """The end where D is largest."""

    @property
    def most_private(self) -> X:
        """The end where D is smallest."""

    def scale(self, point: X, /) -> float:
        """Privacy grows along it."""

    def at(self, y: float) -> X:
        """The point of the axis nearest to `y` on the scale."""

    def near(self, y: float, /) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""

    def is_done(self, above: X, below: X) -> bool:
        """Whether two points are close enough."""


def narrow(probe: Callable[[X], Probe], axis: Axis[X], guess: float) -> tuple[X | None, X | None]:
    """The closest points with D(ε) certainly above δ and certainly not, None where none was found.

    Privacy grows along the scale of the axis, and where D is small log(−log D) has a slope of about
    1 there. The secant method finds where D falls to δ, from a first guess on the scale; probes
    a little beyond and a little before it then give the ends. Where the engine cannot tell the
    side of a point, others follow further and further out.
    """
    above: X | None = None
    below: X | None = None
    last: tuple[float, Probe] | None = None
    slope, reach, idle = 1.0, 0.0, 0
    x, tried = axis.at(guess), set()
    for _ in range(_MOST_PROBES):
        y, found, before = axis.scale(x), probe(x), _width(axis, above, below)
        tried.add(x)
        if found.side == 0:
            reach = max(2.0 * reach, 2.0 * axis.near(y), min(found.doubt / slope, _LONGEST_STEP))
        elif found.side < 0:
            above = x
        else:
            below = x
        if above == axis.most_private or below == axis.least_private:
            break
        if above is not None and below is not None and axis.is_done(above, below):
            break
        if math.isfinite(found.excess):
            slope = _slope(last, (y, found)) or slope
            last = y, found
        guess = y - min(max(found.excess / slope, -_LONGEST_STEP), _LONGEST_STEP)
        if reach == 0.0:
            idle = idle + 1 if _width(axis, above, below) > 0.5 * before else 0
            guess = math.nan if idle > 2 else guess
        following = _next(axis, above, below, guess, reach, tried)
        if following is None:
            break
        x = following
    if above is None and axis.least_private not in tried:
        # Where D hardly depends on the axis, no slope leads to its end.
        side = probe(axis.least_private).side
        above = axis.least_private if side < 0 else None
        below = axis.least_private if side > 0 else below
    return above, below


def _width(axis: Axis[X], above: X | None, below: X | None) -> float:
    """Of a bracket on the scale."""
    return math.inf if above is None or below is None else axis.scale(below) - axis.scale(above)


def _slope(last: tuple[float, Probe] | None, here: tuple[float, Probe]) -> float | None:
    """Of the excess between two probes, None where it drowns in their doubts."""
    if last is None:
        return None
    run, rise = here[0] - last[0], here[1].excess - last[1].excess
    if abs(rise) <= 5.0 * (here[1].doubt + last[1].doubt) or rise * run <= 0.0:
        return None
    return min(max(rise / run, 0.02), 50.0)


def _next(
    axis: Axis[X],
    above: X | None,
    below: X | None,
    guess: float,
    reach: float,
    tried: set[X],
) -> X | None:
    """Just beyond the guess, else just before it, else in the middle; None if nothing is left."""
    start = -math.inf if above is None else axis.scale(above)
    end = math.inf if below is None else axis.scale(below)
    if start < guess < end:
        margin = max(axis.near(guess), reach)
        for y in (guess + margin, guess - margin):
            # Next to an end that is known, another probe would say nothing new.
            if start + 0.2 * margin < y < end - 0.2 * margin and axis.at(y) not in tried:
                return axis.at(y)
    stride = min(reach, _LONGEST_STEP) or _LONGEST_STEP
    if math.isinf(end):
        middle = start + stride
    elif math.isinf(start):
        middle = end - stride
    elif reach > 0.0:
        return None
    else:
        middle = 0.5 * (start + end)
    return axis.at(middle) if axis.at(middle) not in tried else None
