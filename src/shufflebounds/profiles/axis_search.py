"""Where on an axis, of ε, ε₀, users or rounds, does a target (ε, δ) begin to be met?

Privacy grows along the scale of an axis. If D is small, log(−log D) has a slope of about 1 there.
The secant method finds where D falls to δ. Comparisons a little beyond that point and a little
before it give the ends. Estimates steer the search; both ends that it returns were compared.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.law import log

# Largest number of points that one search compares, so that it ends whatever the margins are.
MAX_COMPARISONS = 200
# Longest step of a search, on the scale of the axis.
LONGEST_STEP = 4.0
# Error of the margin that is expected at the next point, as a share of the step towards it.
STEP_ERROR = 0.1
# Smallest distance of a new point from an end of the bracket, as a share of its distance from the
# estimated root: a point closer to that end would add nothing.
DISTANCE_FROM_END = 0.2
# Number of steps in a row that may leave more than half of the bracket before it is halved.
MAX_SLOW_STEPS = 2
# Largest slope of the margin that the secant method uses, and the inverse of the smallest one.
LARGEST_SLOPE = 50.0
# Largest y at which a count e^y is taken for a float.
LARGEST_LOG_COUNT = 40.0


@dataclass(frozen=True)
class Comparison:
    """The divergence at one point, compared with the target.

    ``side`` is 1 if the target is certainly met there, −1 if it is certainly missed, else 0.
    ``margin`` estimates log(log D / log δ), which is positive if the target is met, up to
    ``error``.
    """

    side: int
    margin: float
    error: float


@dataclass(frozen=True)
class SearchAxis(ABC):
    """An axis between its least and its most private point, searched to a width of ``rtol``.

    ``slope`` is about how fast margins grow along the scale.
    """

    slope: ClassVar[float] = 1.0

    least_private: float
    most_private: float
    rtol: float

    @abstractmethod
    def scale(self, point: float) -> float:
        """Return the place of a point on the scale, which rises with privacy."""

    @abstractmethod
    def point(self, y: float) -> float:
        """Return the point of the axis that is closest to `y` on the scale."""

    @abstractmethod
    def resolution(self, y: float) -> float:
        """Return the distance from the root, on the scale, at which to compare."""

    def enclosure(self, unsafe_end: float | None, safe_end: float | None) -> Enclosure:
        """Enclose the axis' last point that meets the target, given the ends; None is unknown.

        Here privacy falls along the numbers.
        """
        return Enclosure(
            0.0 if safe_end is None else safe_end, math.inf if unsafe_end is None else unsafe_end
        )

    def is_narrow(self, unsafe_end: float, safe_end: float) -> bool:
        """Return whether no point has to be compared between these two."""
        return abs(unsafe_end - safe_end) <= self.rtol * max(unsafe_end, safe_end)

    def _clip(self, point: float) -> float:
        """Return the point, or the end of the axis beyond which it lies."""
        ends = self.least_private, self.most_private
        return min(max(point, min(ends)), max(ends))


@dataclass(frozen=True)
class LossAxis(SearchAxis):
    """ε as an axis, of positive numbers."""

    def scale(self, point: float) -> float:
        """Return 2 log ε: log D goes like −ε²."""
        return 2.0 * math.log(point)

    def point(self, y: float) -> float:
        """See `SearchAxis`."""
        return self._clip(math.exp(0.5 * y))

    def resolution(self, y: float) -> float:
        """See `SearchAxis`."""
        return 0.8 * self.rtol


@dataclass(frozen=True)
class Eps0Axis(SearchAxis):
    """ε₀ as an axis.

    ``are_composed`` says that several rounds are compared, which take much longer.
    """

    are_composed: bool

    def scale(self, point: float) -> float:
        """Return −log (e^{ε₀/2} − 1)²; the square is nearly the variance of G at ε = 0."""
        return -point - 2.0 * log(-math.expm1(-0.5 * point))

    def point(self, y: float) -> float:
        """See `SearchAxis`."""
        return self._clip(max(-y, 0.0) + 2.0 * math.log1p(math.exp(-0.5 * abs(y))))

    def resolution(self, y: float) -> float:
        """See `SearchAxis`."""
        if not self.are_composed:
            return 0.9 * self.rtol
        # A distance that the width of ε₀ does not require would take too long.
        eps0 = self.point(y)
        return 0.3 * self.rtol * eps0 / -math.expm1(-0.5 * eps0)


@dataclass(frozen=True)
class CountAxis(SearchAxis):
    """Numbers of users, or of rounds, as an axis of integers; a width of 1 is always enough."""

    def scale(self, point: float) -> float:
        """Return log of a number of users, or −log of a number of rounds."""
        return self._sign * math.log(point)

    def point(self, y: float) -> int:
        """See `SearchAxis`."""
        return int(self._clip(round(math.exp(min(self._sign * y, LARGEST_LOG_COUNT)))))

    def resolution(self, y: float) -> float:
        """See `SearchAxis`."""
        return max(0.4 * self.rtol, 0.5 * math.exp(-self._sign * y))

    def is_narrow(self, unsafe_end: float, safe_end: float) -> bool:
        """See `SearchAxis`."""
        return abs(safe_end - unsafe_end) <= 1 or super().is_narrow(unsafe_end, safe_end)

    def enclosure(self, unsafe_end: float | None, safe_end: float | None) -> Enclosure:
        """Enclose the fewest users that meet the target, or the most rounds."""
        if self._sign < 0:
            return super().enclosure(None if unsafe_end is None else unsafe_end - 1, safe_end)
        return Enclosure(
            self.least_private if unsafe_end is None else unsafe_end + 1,
            math.inf if safe_end is None else safe_end,
        )

    @property
    def _sign(self) -> int:
        return 1 if self.least_private < self.most_private else -1


# Compares D with the target at a point, given roughly how large the margin is expected to be.
Compare = Callable[[float, float], Comparison]


class AxisSearch:
    """The closest points found that certainly miss and certainly meet the target.

    ``unsafe_end`` misses it and ``safe_end`` meets it; None stands for an end that no comparison
    showed. Ends that are known before may be given. If they are, only the safe end counts: the
    search ends where the safe end is close to the estimated root.
    """

    def __init__(self, axis: SearchAxis, ends: tuple[float, float] | None = None) -> None:
        self.axis, self._is_one_sided = axis, ends is not None
        self.unsafe_end: float | None = None if ends is None else ends[0]
        self.safe_end: float | None = None if ends is None else ends[1]
        self._compared: set[float] = set()
        # The last point with a finite margin, on the scale, and its comparison.
        self._last: tuple[float, Comparison] | None = None
        # The last point and the estimated root, on the scale; a root of NaN asks for the middle.
        self._y = self._root = math.nan
        self._slope = axis.slope
        # The smallest distance from the root, on the scale, at which comparisons tell the side.
        self._blur = 0.0
        self._slow_steps = 0

    def run(self, compare: Compare, guess: float, max_comparisons: int = MAX_COMPARISONS) -> None:
        """Narrow the ends; `guess` estimates on the scale where the target begins to be met."""
        point: float | None = self.axis.point(guess)
        while point is not None and len(self._compared) < max_comparisons:
            self._add(point, compare(point, self._expected_margin(point)))
            point = self._next_point()
        # If D hardly depends on the axis, no slope leads to its end.
        least = self.axis.least_private
        if self.unsafe_end is None and least not in self._compared:
            self._record(least, compare(least, math.inf).side)

    def _expected_margin(self, point: float) -> float:
        """Return about how large the margin at a new point may be; inf if nothing is known."""
        y = self.axis.scale(point)
        margin = self._slope * (abs(y - self._root) + STEP_ERROR * abs(y - self._y))
        return math.inf if math.isnan(margin) else margin

    def _add(self, point: float, comparison: Comparison) -> None:
        """Draw conclusions from a comparison at a point."""
        width, y = self._width(), self.axis.scale(point)
        self._y = y
        self._compared.add(point)
        self._update_slope(y, comparison)
        self._record(point, comparison.side)
        if comparison.side == 0:  # compare further away from the root
            blur = min(comparison.error / self._slope, LONGEST_STEP)
            self._blur = max(2.0 * self._blur, 2.0 * self.axis.resolution(y), blur)
        self._root = y - min(max(comparison.margin / self._slope, -LONGEST_STEP), LONGEST_STEP)
        if self._blur == 0.0:
            self._slow_steps = self._slow_steps + 1 if self._width() > 0.5 * width else 0
            self._root = math.nan if self._slow_steps > MAX_SLOW_STEPS else self._root

    def _record(self, point: float, side: int) -> None:
        """Move the end of the bracket on which a point certainly lies."""
        if side < 0:
            self.unsafe_end = point
        elif side > 0:
            self.safe_end = point

    def _next_point(self) -> float | None:
        """Return the point to compare next, None if the search ends."""
        if self._is_done():
            return None
        point = self._point_next_to_root()
        return self._point_within_bracket() if point is None else point

    def _is_done(self) -> bool:
        """Return whether the ends are close enough, or one of them is an end of the axis."""
        if self.unsafe_end == self.axis.most_private or self.safe_end == self.axis.least_private:
            return True
        if self.unsafe_end is None or self.safe_end is None:
            return False
        unsafe_end = self.unsafe_end
        if self._is_one_sided and self.safe_end in self._compared and not math.isnan(self._root):
            unsafe_end = self.axis.point(max(self._root, self.axis.scale(unsafe_end)))
        return self.axis.is_narrow(unsafe_end, self.safe_end)

    def _update_slope(self, y: float, comparison: Comparison) -> None:
        """Set the slope of the secant through the last two points, if their margins differ."""
        if not math.isfinite(comparison.margin):
            return
        if self._last is not None:
            last_y, earlier = self._last
            run, rise = y - last_y, comparison.margin - earlier.margin
            if abs(rise) > comparison.error + earlier.error and rise * run > 0.0:
                self._slope = min(max(rise / run, 1.0 / LARGEST_SLOPE), LARGEST_SLOPE)
        self._last = y, comparison

    def _ends(self) -> tuple[float, float]:
        """Return the ends of the bracket on the scale; they are infinite if not known."""
        return (
            -math.inf if self.unsafe_end is None else self.axis.scale(self.unsafe_end),
            math.inf if self.safe_end is None else self.axis.scale(self.safe_end),
        )

    def _width(self) -> float:
        """Return the width of the bracket on the scale."""
        start, end = self._ends()
        return end - start

    def _point_next_to_root(self) -> float | None:
        """Return a new point just beyond the estimated root, else just before it, else None.

        If the estimate is outside the bracket, the end next to it is taken for the root.
        """
        if math.isnan(self._root):
            return None
        start, end = self._ends()
        root = min(max(self._root, start), end)
        distance = max(self.axis.resolution(root), self._blur)
        clearance = DISTANCE_FROM_END * distance
        for step in (distance, -distance, 2.0 * distance, -2.0 * distance):
            if start + clearance < root + step < end - clearance:
                point = self.axis.point(root + step)
                if point not in self._compared:
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
        point = self.axis.point(y)
        return point if point not in self._compared else None
