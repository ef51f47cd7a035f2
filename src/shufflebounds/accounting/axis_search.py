"""The points of an axis, of ε₀, users or rounds, between which a target (ε, δ) begins to be met.

Privacy grows along the scale of an axis. If D is small, log(−log D) has a slope of about 1 there.
The secant method finds where D falls to δ. Comparisons a little beyond that point and a little
before it give the ends. Estimates steer the search; both ends that it returns were compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shufflebounds.core.work import is_spent
from shufflebounds.divergence.law import log

# Largest number of points that one search compares, so that it ends whatever the margins are.
MAX_COMPARISONS = 200
# Longest step of a search, on the scale of the axis.
LONGEST_STEP = 4.0
# Error of the margin that is expected at the next point, as a share of the step towards it.
STEP_ERROR = 0.1
# Distance from the estimated root at which the next point is compared, in units of the error of
# that root, if no closer comparison is possible.
CLEAR_DISTANCE = 1.1
# Smallest distance of a new point from an end of the bracket, as a share of its distance from the
# estimated root: a point closer to that end would add nothing.
DISTANCE_FROM_END = 0.2
# Number of steps in a row that may leave more than half of the bracket before it is halved.
MAX_SLOW_STEPS = 2
# Smallest slope of the margin that the secant method uses.
SMALLEST_SLOPE = 0.02
# Largest slope of the margin that the secant method uses.
LARGEST_SLOPE = 50.0
# Difference of two margins, in units of the sum of their errors, above which it tells a slope.
CLEAR_RISE = 5.0


@dataclass(frozen=True)
class Comparison:
    """The divergence at one point, compared with the target.

    ``side`` is 1 if the target is certainly met there, −1 if it is certainly missed, else 0.
    ``margin`` estimates log(log D / log δ), which is positive if the target is met, up to
    ``error``. ``is_final`` says that no closer comparison is possible at this point.
    """

    side: int
    margin: float
    error: float
    is_final: bool = False


@dataclass(frozen=True)
class Eps0Axis:
    """ε₀ as an axis, to a relative width of ``rtol``.

    ``are_composed`` says that several rounds are compared, which take much longer.
    """

    least_private: float
    most_private: float
    rtol: float
    are_composed: bool

    def scale(self, eps0: float) -> float:
        """Return −log (e^{ε₀/2} − 1)²; the square is nearly the variance of G at ε = 0."""
        return -eps0 - 2.0 * log(-math.expm1(-0.5 * eps0))

    def point(self, y: float) -> float:
        """Return the point of the axis that is closest to `y` on the scale."""
        eps0 = max(-y, 0.0) + 2.0 * math.log1p(math.exp(-0.5 * abs(y)))
        return min(max(eps0, self.most_private), self.least_private)

    def resolution(self, y: float) -> float:
        """Return the distance from the root, on the scale, at which to compare."""
        if not self.are_composed:
            return 0.9 * self.rtol
        # A distance that the width of ε₀ does not require would take too long.
        eps0 = self.point(y)
        return 0.3 * self.rtol * eps0 / -math.expm1(-0.5 * eps0)

    def is_narrow(self, unsafe_end: float, safe_end: float) -> bool:
        """Return whether no point has to be compared between these two."""
        return unsafe_end - safe_end <= self.rtol * unsafe_end


@dataclass(frozen=True)
class CountAxis:
    """Numbers of users, or of rounds, as an axis of integers."""

    least_private: int
    most_private: int

    @property
    def _sign(self) -> int:
        return 1 if self.least_private < self.most_private else -1

    def scale(self, count: float) -> float:
        """Return log of a number of users, or −log of a number of rounds."""
        return self._sign * math.log(count)

    def point(self, y: float) -> int:
        """Return the point of the axis that is closest to `y` on the scale."""
        ends = sorted((self.least_private, self.most_private))
        return min(max(round(math.exp(min(self._sign * y, 40.0))), ends[0]), ends[1])

    def resolution(self, y: float) -> float:
        """Return the distance from the root, on the scale, at which to compare."""
        return 0.5 * math.exp(-self._sign * y)

    def is_narrow(self, unsafe_end: float, safe_end: float) -> bool:
        """Return whether no point has to be compared between these two."""
        return abs(safe_end - unsafe_end) <= 1


Axis = Eps0Axis | CountAxis

# Compares D with the target at a point, given roughly how large the margin is expected to be.
Compare = Callable[[float, float], Comparison]


def bracket_target(compare: Compare, axis: Axis, guess: float) -> tuple[float | None, float | None]:
    """Return the closest points that certainly miss and certainly meet the target.

    `guess` estimates on the scale of the axis where D falls to δ. None stands for an end that no
    comparison showed.
    """
    search = _AxisSearch(axis)
    point: float | None = axis.point(guess)
    while point is not None:
        search.add(point, compare(point, search.expected_margin))
        point = None if is_spent() else search.next_point()
    # If D hardly depends on the axis, no slope leads to its end.
    if search.unsafe_end is None and axis.least_private not in search.compared and not is_spent():
        search.record(axis.least_private, compare(axis.least_private, math.inf).side)
    return search.unsafe_end, search.safe_end


class _AxisSearch:
    """The state of `bracket_target`: `add` comparisons at each `next_point`, until it is None.

    ``unsafe_end`` and ``safe_end`` are the ends so far: the closest points that certainly
    miss and meet the target. ``expected_margin`` is an estimate of the margin at
    the next point, and inf if nothing is known.
    """

    def __init__(self, axis: Axis) -> None:
        self.unsafe_end: float | None = None
        self.safe_end: float | None = None
        self.compared: set[float] = set()
        self.expected_margin = math.inf
        self._axis = axis
        # The last point with a finite margin, on the scale, and its comparison.
        self._last: tuple[float, Comparison] | None = None
        # The last point and the estimated root, on the scale; a root of NaN asks for the middle.
        self._y = self._root = math.nan
        self._slope = 1.0
        # The smallest distance from the root, on the scale, at which comparisons tell the side.
        self._blur = 0.0
        self._slow_steps = 0

    def add(self, point: float, comparison: Comparison) -> None:
        """Draw conclusions from a comparison at a point."""
        width = self._width()
        self._y = self._axis.scale(point)
        self.compared.add(point)
        self._update_slope(comparison)
        self.record(point, comparison.side)
        self._update_blur(comparison)
        step = min(max(comparison.margin / self._slope, -LONGEST_STEP), LONGEST_STEP)
        self._root = self._y - step
        if self._blur == 0.0:
            self._slow_steps = self._slow_steps + 1 if self._width() > 0.5 * width else 0
            self._root = math.nan if self._slow_steps > MAX_SLOW_STEPS else self._root

    def record(self, point: float, side: int) -> None:
        """Move the end of the bracket on which a point certainly lies."""
        if side < 0:
            self.unsafe_end = point
        elif side > 0:
            self.safe_end = point

    def next_point(self) -> float | None:
        """Return the point to compare next, None if the search ends."""
        if self._is_done() or len(self.compared) >= MAX_COMPARISONS:
            return None
        point = self._point_next_to_root()
        if point is None:
            point = self._point_within_bracket()
        if point is None:
            return None
        y = self._axis.scale(point)
        margin = self._slope * (abs(y - self._root) + STEP_ERROR * abs(y - self._y))
        self.expected_margin = math.inf if math.isnan(margin) else margin
        return point

    def _is_done(self) -> bool:
        """Return whether the ends are close enough, or one of them is an end of the axis."""
        if self.unsafe_end == self._axis.most_private or self.safe_end == self._axis.least_private:
            return True
        if self.unsafe_end is None or self.safe_end is None:
            return False
        return self._axis.is_narrow(self.unsafe_end, self.safe_end)

    def _update_slope(self, comparison: Comparison) -> None:
        """Set the slope of the secant through the last two points, if their errors allow."""
        if not math.isfinite(comparison.margin):
            return
        if self._last is not None:
            y, earlier = self._last
            run, rise = self._y - y, comparison.margin - earlier.margin
            is_clear = abs(rise) > CLEAR_RISE * (comparison.error + earlier.error)
            if is_clear and rise * run > 0.0:
                self._slope = min(max(rise / run, SMALLEST_SLOPE), LARGEST_SLOPE)
        self._last = self._y, comparison

    def _update_blur(self, comparison: Comparison) -> None:
        """Move comparisons further away from the root if this one could not tell the side."""
        blur = min(comparison.error / self._slope, LONGEST_STEP)
        if comparison.side == 0:
            self._blur = max(2.0 * self._blur, 2.0 * self._axis.resolution(self._y), blur)
        if comparison.is_final:
            self._blur = max(self._blur, CLEAR_DISTANCE * blur)

    def _ends(self) -> tuple[float, float]:
        """Return the ends of the bracket on the scale; they are infinite if not known."""
        return (
            -math.inf if self.unsafe_end is None else self._axis.scale(self.unsafe_end),
            math.inf if self.safe_end is None else self._axis.scale(self.safe_end),
        )

    def _width(self) -> float:
        """Return the width of the bracket on the scale."""
        start, end = self._ends()
        return end - start

    def _point_next_to_root(self) -> float | None:
        """Return a new point just beyond the estimated root, else just before it, else None."""
        start, end = self._ends()
        if not start < self._root < end:
            return None
        distance = max(self._axis.resolution(self._root), self._blur)
        clearance = DISTANCE_FROM_END * distance
        for y in (self._root + distance, self._root - distance):
            if start + clearance < y < end - clearance:
                point = self._axis.point(y)
                if point not in self.compared:
                    return point
        return None

    def _point_within_bracket(self) -> float | None:
        """Return a new point in the middle of the bracket, or a step beyond its only end.

        None stands for a bracket that comparisons cannot narrow.
        """
        start, end = self._ends()
        stride = min(self._blur, LONGEST_STEP) or LONGEST_STEP
        if math.isinf(end):
            y = start + stride
        elif math.isinf(start):
            y = end - stride
        elif self._blur > 0.0:
            return None
        else:
            y = 0.5 * (start + end)
        point = self._axis.point(y)
        return point if point not in self.compared else None
