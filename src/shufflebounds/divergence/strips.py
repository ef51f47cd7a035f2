"""Decompositions with few components whose D bounds that of one with many, closely near one ε.

D is a mean of convex functions of the components. It falls if components are united at their mean,
and grows if they are spread around the same mean. If components have nearly the same value
a/c − e^ε b/c at some ε, D depends little on their differences near that ε. So the plane of the
points (a/c, b/c) is cut along lines of equal values into strips. The lower end unites the
components of a strip, which is post-processing. The upper end spreads them, first to the borders of
their strip and then to the ends of each border; both steps are dilations. Either holds at every ε.

Proof: docs/engine.md, section 5.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.divergence.law import U, law_at
from shufflebounds.divergence.saddlepoint import cumulants, tilting_point

# Tilts of Chernoff's bounds around a point, as multiples of the tilt that suits D.
_TILTS = np.concatenate([2.0 ** np.arange(6.0, -12.5, -0.5), -(2.0 ** np.arange(-12.0, 6.5, 0.5))])
# Number of places of a sketch along the axis if only one of the two ratios varies.
_PLACES_ON_ONE_AXIS = 400
# Number of places of a sketch along each axis if both ratios vary.
_PLACES_ON_TWO_AXES = 28
# Decompositions of at most this many components stay as they are.
_MAX_UNCHANGED = 300
# Largest number of strips per component that are formed. Most strips are empty if the values have
# many orders of magnitude.
_MAX_STRIPS_PER_COMPONENT = 2.0
# Smallest mass of a component, so that products of shares stay in the range of floats.
_SMALLEST_MASS = 1e-200
# Smallest part of a component, for the same reason.
_SMALLEST_PART = 1e-290
# Largest ratio of two masses, for the same reason.
_WIDEST_RATIO = 1e70
# Largest ε, for the same reason.
_LARGEST_EPS = 350.0
# Relative distance below which places on a border, or ratios, differ by rounding only.
_EQUAL_PLACES = 1e-11
# Error of shares and corners in units of the round-off, in addition to that of the sums.
_ROUNDINGS = 64.0
# A strip of width h costs h² over this: if it is united, its values move by h²/12 in the mean
# square, which counts by half. Spreading moves values by twice as much, but most keep their place.
_SHARPNESS = 24.0
# Factor of the number of strips, to make up for the strips that are spread evenly.
_STRIP_MARGIN = 1.3
# Smallest number of strips that are formed: without it, one question in forty is refused
# (benchmarks/deployer_grid.py, "Laplace").
_MIN_STRIPS = 300.0
# Weight of even spacing beside the optimal spacing of strips.
_EVEN_SHARE = 0.3


class Focus(NamedTuple):
    """The ε near which a shorter decomposition should be accurate, and an estimate of what matters.

    Near `eps`, D is about δ, and log D may change by at most `loss`. The sum of the other draws has
    a density of about f at −g, where log f is the minimum of ``heights`` + ``tilts`` g. The tilts,
    shape (T,), descend; each gives the minimum up to its entry in ``reaches``, shape (T − 1,).
    These estimates bound nothing.
    """

    eps: float
    log_delta: float
    loss: float
    tilts: FloatArray
    heights: FloatArray
    reaches: FloatArray

    @staticmethod
    def about(likeness: Decomposition, eps: float, n: int, delta: float, loss: float) -> Focus:
        """Return the focus by Chernoff's bounds for a similar decomposition, `likeness`."""
        g = law_at(likeness, eps)
        tilts = heights = np.zeros(0)
        if g.values.size and g.values.max() > 0.0:
            theta = float(tilting_point([(g, n)]))
            tilts = theta * _TILTS
            with np.errstate(all="ignore"):
                x = tilts[:, None] * g.values
                top = np.maximum(x.max(axis=-1), 0.0)
                total = np.exp(x - top[:, None]) @ g.masses + g.residual * np.exp(-top)
                growth = np.expm1(x) @ g.masses
                k = np.where(top < 1.0, np.log1p(growth), top + np.log(total))
                variance = n * float(cumulants(g, np.asarray(theta)).variance) + 1.0 / theta**2
                heights = n * k - 0.5 * np.log(2.0 * math.pi * variance)
            finite = np.isfinite(heights)
            scale = math.ldexp(1.0, -int(g.exponent))
            tilts, heights = tilts[finite] * scale, heights[finite] + math.log(scale)
        reaches = np.maximum.accumulate(np.diff(heights) / -np.diff(tilts))
        return Focus(eps, math.log(delta), loss, tilts, heights, reaches)

    def log_importance(self, ascending: FloatArray) -> FloatArray:
        """Return log(f/δ) at each g, for ascending g."""
        ends = np.searchsorted(ascending, self.reaches)
        tilt_of_point = np.repeat(
            np.arange(self.tilts.size), np.diff(ends, prepend=0, append=ascending.size)
        )
        return self.heights[tilt_of_point] + self.tilts[tilt_of_point] * ascending - self.log_delta


@functools.lru_cache(maxsize=16)
def sketch(decomposition: Decomposition) -> Decomposition:
    """Return a similar decomposition of some hundreds of components, for estimates."""
    masses = np.stack([decomposition.a, decomposition.b, decomposition.c])
    if len(decomposition) <= _MAX_UNCHANGED or not masses.min() > 0.0:
        return decomposition
    logs = np.log(masses[:2] / masses[2])
    spans = np.ptp(logs, axis=1)
    varying = spans > _EQUAL_PLACES
    place_count = _PLACES_ON_TWO_AXES if varying.all() else _PLACES_ON_ONE_AXIS
    labels = np.zeros(len(decomposition), dtype=np.int64)
    for ratios, span in zip(logs[varying], spans[varying], strict=True):
        positions = (ratios - ratios.min()) * (place_count / span)
        labels = labels * place_count + np.minimum(positions, place_count - 1).astype(np.int64)
    sums = np.stack([np.bincount(labels, weights=row) for row in masses]).astype(np.float64)
    a, b, c = sums[:, sums[2] > 0.0]
    return Decomposition(a, b, c, decomposition.rel_err)


def united(decomposition: Decomposition, focus: Focus) -> Decomposition:
    """Return a decomposition of no larger D at any ε, in which each strip is one component.

    The answer is `decomposition` itself if that would have nearly as many components.
    """
    strips = _Strips.of(decomposition, focus)
    if strips is None:
        return decomposition
    labels = np.repeat(np.arange(strips.starts.size), strips.counts())
    a, b, c = (
        _sums_by_label(labels, row[strips.order])
        for row in (decomposition.a, decomposition.b, decomposition.c)
    )
    largest_count = float(strips.counts().max())
    return Decomposition(a, b, c, compounded(decomposition.rel_err, (4.0 + largest_count) * U))


def spread(decomposition: Decomposition, focus: Focus) -> Decomposition:
    """Return a decomposition of no smaller D at any ε, with components at the ends of borders only.

    The answer is `decomposition` itself if that would have nearly as many components.
    """
    strips = _Strips.of(decomposition, focus)
    if strips is None:
        return decomposition
    borders = strips.borders()
    if borders.size < 2:
        return decomposition
    c = decomposition.c[strips.order]
    x, y = decomposition.a[strips.order] / c, decomposition.b[strips.order] / c
    # Values may be equal to those of the outermost borders.
    inner = np.searchsorted(strips.values, borders[1:-1])
    left_border = np.repeat(np.arange(borders.size - 1), np.diff(inner, prepend=0, append=c.size))
    parts = _move_to_borders(x, y, c, strips.slope, borders, left_border)
    at_ends = _move_to_ends(parts, borders.size)
    if at_ends is None:
        return decomposition
    rows = [_masses(borders, strips.slope, *end) for end in at_ends.ends]
    masses = np.concatenate(rows, axis=1)
    if masses.min() < _SMALLEST_MASS:
        return decomposition
    rounding = (_ROUNDINGS + float(np.bincount(parts.border).max())) * U
    a, b, c = masses
    return Decomposition(
        a, b, c, compounded(decomposition.rel_err, rounding, at_ends.relative_width)
    )


class _Strips(NamedTuple):
    """The assignment of components to strips.

    ``values`` ascend, and ``order`` are the components that have them. ``starts`` are the positions
    in that order at which a strip begins, and ``slope`` is e^ε.
    """

    values: FloatArray
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    slope: float

    @staticmethod
    def of(decomposition: Decomposition, focus: Focus) -> _Strips | None:
        """Return strips whose widths h cost Σ p f h²/24 δ; None if there are too many."""
        a, b, c = decomposition.a, decomposition.b, decomposition.c
        if c.size <= _MAX_UNCHANGED or not focus.tilts.size or focus.eps > _LARGEST_EPS:
            return None
        smallest = min(a.min(), b.min(), c.min())
        if (
            not smallest > _SMALLEST_MASS
            or max(a.max(), b.max(), c.max()) > _WIDEST_RATIO * smallest
        ):
            return None
        slope = math.exp(focus.eps)
        values = a / c - slope * (b / c)
        order = np.argsort(values)
        values = values[order]
        with np.errstate(under="ignore"):
            weights = c[order] * np.exp(np.minimum(focus.log_importance(values), 600.0))
        gaps = np.diff(values, append=values[-1])
        # The sum of masses times squared widths is smallest if the density of the borders is
        # proportional to the cube root of the density of the mass.
        costs = np.cbrt(weights) * np.cbrt(gaps) ** 2
        total = float(costs.sum())
        strip_target = _STRIP_MARGIN * math.sqrt(total * total * total / (_SHARPNESS * focus.loss))
        strip_count = max(strip_target, _MIN_STRIPS)
        if not strip_count <= _MAX_STRIPS_PER_COMPONENT * c.size:
            return None
        spans = np.arcsinh(gaps / (1.0 + np.abs(values)))
        progress = np.cumsum(costs / (total or 1.0) + _EVEN_SHARE * spans / (spans.sum() or 1.0))
        starts = np.searchsorted(
            progress, np.linspace(0.0, progress[-1], math.ceil(strip_count) + 1)
        )
        starts = np.unique(np.append(np.minimum(starts, c.size - 1), [0, c.size - 1]))
        return _Strips(values, order, starts, slope) if starts.size < c.size else None

    def counts(self) -> NDArray[np.int64]:
        """Return the number of components of each strip."""
        return np.diff(self.starts, append=self.order.size)

    def borders(self) -> FloatArray:
        """Return the values at the borders, ascending, with 0 if it lies between them."""
        values = np.unique(self.values[self.starts])
        return np.union1d(values, 0.0) if values[0] < 0.0 < values[-1] else values


class _Parts(NamedTuple):
    """Masses c on the borders; ``place`` is b/c on borders of values ≥ 0, and a/c below."""

    border: NDArray[np.int64]
    place: FloatArray
    mass: FloatArray


def _move_to_borders(
    x: FloatArray,
    y: FloatArray,
    c: FloatArray,
    slope: float,
    borders: FloatArray,
    left_border: NDArray[np.int64],
) -> _Parts:
    """Return the components at (x, y), moved to both borders of their strips with the same means.

    Components of values ≥ 0 keep y, the others x, so that neither ratio becomes negative.
    """
    low, high = borders[left_border], borders[left_border + 1]
    gains = low >= 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        # Each share is a quotient of differences from the point that is closer to 0.
        ends = low + slope * y, high + slope * y
        rightwards = (x - ends[0]) / (ends[1] - ends[0])
        ends = (x - low) / slope, (x - high) / slope
        leftwards = (y - ends[1]) / (ends[0] - ends[1])
    share = np.clip(np.nan_to_num(np.where(gains, rightwards, leftwards)), 0.0, 1.0)
    to_left, to_right = np.where(gains, 1.0 - share, share), np.where(gains, share, 1.0 - share)
    coordinate = np.where(gains, y, x)
    # On the border of value 0 the place is b/c for losses, too.
    at_right = np.where(~gains & (high >= 0.0), x / slope, coordinate)
    border, place = (
        np.concatenate([left_border, left_border + 1]),
        np.concatenate([coordinate, at_right]),
    )
    mass = np.concatenate([c * to_left, c * to_right])
    positive = mass > 0.0
    return _Parts(border[positive], place[positive], mass[positive])


class _AtEnds(NamedTuple):
    """Places and masses at the lower and at the upper end of each border.

    Places that count as one have a relative distance of at most ``relative_width``.
    """

    ends: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    relative_width: float


def _move_to_ends(parts: _Parts, borders: int) -> _AtEnds | None:
    """Return the parts, moved to both ends of their borders; None if a part would be too small."""
    lowest, highest = np.full(borders, np.inf), np.zeros(borders)
    np.minimum.at(lowest, parts.border, parts.place)
    np.maximum.at(highest, parts.border, parts.place)
    # Both are 0 on borders without any part.
    lowest = np.minimum(lowest, highest)
    width = highest - lowest
    is_point = width <= _EQUAL_PLACES * lowest
    share = np.where(is_point, 0.0, 1.0)[parts.border] * (parts.place - lowest[parts.border])
    share /= np.where(is_point, 1.0, width)[parts.border]
    ends = parts.mass * (1.0 - share), parts.mass * share
    if min(end[end > 0.0].min(initial=1.0) for end in (parts.mass, *ends)) < _SMALLEST_PART:
        return None
    masses = [_sums_by_label(parts.border, end, borders) for end in ends]
    merged = is_point & (lowest > 0.0)
    relative_width = float(np.max(width[merged] / lowest[merged], initial=0.0))
    return _AtEnds(((lowest, masses[0]), (highest, masses[1])), relative_width)


def _sums_by_label(labels: NDArray[np.int64], masses: FloatArray, min_size: int = 0) -> FloatArray:
    """Return the sums of the masses with label 0, 1, …, in an array of at least `min_size`."""
    return np.bincount(labels, weights=masses, minlength=min_size).astype(np.float64)


def _masses(borders: FloatArray, slope: float, place: FloatArray, c: FloatArray) -> FloatArray:
    """Return the masses a, b, c > 0 at one place of each border."""
    gains = borders >= 0.0
    x = np.where(gains, borders + slope * place, place)
    y = np.where(gains, place, (place - borders) / slope)
    return np.stack([x * c, y * c, c])[:, c > 0.0]
