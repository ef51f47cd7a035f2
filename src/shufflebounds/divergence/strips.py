"""Decompositions in fewer components that bound one of many, close to it near one ε.

Where components have nearly the same value a/c − e^ε b/c at some ε, D hardly tells them apart at
that ε and near it. So the plane of the points (a/c, b/c) is cut along lines of equal values, into
strips: the lower end *unites* what a strip holds, which is post-processing; the upper end *spreads*
it, first to the borders of its strip and then to the ends of what lies on each border: dilations.
Both hold at every ε. docs/engine.md, section 5, proves it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.law import U
from shufflebounds.divergence.question import Question
from shufflebounds.uncertainty import compounded

# Decompositions this short are left as they are, and so are those that would hardly be shorter.
_FEW, _SHORTER = 300, 0.8
# So many strips for each component are looked at: most are empty where values are of many sizes.
_MANY = 2.0
# With smaller masses or ratios further apart, products of shares might not fit in floats.
_SMALLEST_MASS, _LEAST_PART, _WIDEST_RATIO, _LARGEST_EPS = 1e-200, 1e-290, 1e70, 350.0
# Points of a border this close, relatively, differ by rounding.
_EQUAL = 1e-11
# What shares and corners may be off by, in roundings, beside the sums.
_ROUNDINGS = 64.0
# A strip of width h moves a value by h²/12 in the mean square where it is united, by twice that
# where it is spread, and both count by half; most of what is spread keeps its place.
_UNITED, _SPREAD = 24.0, 20.0
# Some strips are spread evenly, for each of which others are; what share of them; and the fewest.
_MARGIN, _EVENLY, _FEWEST = 1.3, 0.3, 300.0
# A component of this share of its strip's weight is a border, as spreading it would cost much.
_HEAVY = 0.3


def united(decomposition: Decomposition, question: Question) -> Decomposition:
    """One of no larger D at any ε: what a strip holds becomes one component.

    As it is where that would be nearly as many.
    """
    strips = _Strips.of(decomposition, question, _UNITED)
    if strips is None:
        return decomposition
    labels = np.repeat(np.arange(strips.starts.size), strips.counts())
    a, b, c = (
        _sums(labels, row[strips.order])
        for row in (decomposition.a, decomposition.b, decomposition.c)
    )
    most = float(strips.counts().max())
    return Decomposition(a, b, c, compounded(decomposition.rel_err, (4.0 + most) * U))


def spread(decomposition: Decomposition, question: Question) -> Decomposition:
    """One of no smaller D at any ε: what a strip holds goes to the ends of its borders.

    As it is where that would be nearly as many.
    """
    strips = _Strips.of(decomposition, question, _SPREAD)
    if strips is None:
        return decomposition
    borders = strips.borders()
    if borders.size < 2:
        return decomposition
    c = decomposition.c[strips.order]
    x, y = decomposition.a[strips.order] / c, decomposition.b[strips.order] / c
    # Values may be those of the outermost borders.
    inner = np.searchsorted(strips.values, borders[1:-1])
    left = np.repeat(np.arange(borders.size - 1), np.diff(inner, prepend=0, append=c.size))
    parts = _on_borders(x, y, c, strips.slope, borders, left)
    at_ends = _at_ends(parts, borders.size)
    if at_ends is None:
        return decomposition
    rows = [_masses(borders, strips.slope, *end) for end in at_ends.ends]
    masses = np.concatenate(rows, axis=1)
    if masses.min() < _SMALLEST_MASS:
        return decomposition
    rounding = (_ROUNDINGS + float(np.bincount(parts.border).max())) * U
    a, b, c = masses
    return Decomposition(a, b, c, compounded(decomposition.rel_err, rounding, at_ends.off))


class _Strips(NamedTuple):
    """Which components lie in which strip.

    ``values`` ascend, ``order`` are the components that have them, and ``starts`` says which of
    these begin a strip; those that weigh much in theirs are ``heavy``. ``slope`` is e^ε.
    """

    values: FloatArray
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    heavy: NDArray[np.int64]
    slope: float

    @staticmethod
    def of(decomposition: Decomposition, question: Question, sharpness: float) -> _Strips | None:
        """Strips of widths h that cost Σ p f h²/`sharpness` δ; None where they are many."""
        a, b, c = decomposition.a, decomposition.b, decomposition.c
        if c.size <= _FEW or not question.tilts.size or question.eps > _LARGEST_EPS:
            return None
        least = min(a.min(), b.min(), c.min())
        if not least > _SMALLEST_MASS or max(a.max(), b.max(), c.max()) > _WIDEST_RATIO * least:
            return None
        slope = math.exp(question.eps)
        values = a / c - slope * (b / c)
        order = np.argsort(values)
        values = values[order]
        with np.errstate(under="ignore"):
            weights = c[order] * np.exp(np.minimum(question.log_importance(values), 600.0))
        gaps = np.diff(values, append=values[-1])
        # The sum of masses times squared widths is least for a density of borders like the cube
        # root of the density of mass.
        costs = np.cbrt(weights) * np.cbrt(gaps) ** 2
        total = float(costs.sum())
        wanted = _MARGIN * math.sqrt(total * total * total / (sharpness * question.loss))
        cells = max(min(wanted, question.most), _FEWEST)
        if not cells <= _MANY * c.size:
            return None
        spans = np.arcsinh(gaps / (1.0 + np.abs(values)))
        reached = np.cumsum(costs / (total or 1.0) + _EVENLY * spans / (spans.sum() or 1.0))
        starts = np.searchsorted(reached, np.linspace(0.0, reached[-1], math.ceil(cells) + 1))
        starts = np.unique(np.append(np.minimum(starts, c.size - 1), [0, c.size - 1]))
        if not starts.size < _SHORTER * c.size:
            return None
        counts = np.diff(starts, append=c.size)
        heavy = weights > _HEAVY * np.repeat(np.add.reduceat(weights, starts), counts)
        return _Strips(values, order, starts, np.flatnonzero(heavy), slope)

    def counts(self) -> NDArray[np.int64]:
        """How many components each strip has."""
        return np.diff(self.starts, append=self.order.size)

    def borders(self) -> FloatArray:
        """Values at the borders, ascending; 0 is one of them if it lies between others."""
        found = np.unique(self.values[np.concatenate([self.starts, self.heavy])])
        return np.union1d(found, 0.0) if found[0] < 0.0 < found[-1] else found


class _Parts(NamedTuple):
    """What of c is on which border, and where: at this b/c for values ≥ 0, at this a/c below."""

    border: NDArray[np.int64]
    place: FloatArray
    mass: FloatArray


def _on_borders(
    x: FloatArray,
    y: FloatArray,
    c: FloatArray,
    slope: float,
    borders: FloatArray,
    left: NDArray[np.int64],
) -> _Parts:
    """Components at (x, y) moved to both borders of their strips, the means of x and y being kept.

    Those of values ≥ 0 keep y, others x: neither ratio becomes negative then.
    """
    low, high = borders[left], borders[left + 1]
    gains = low >= 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        # Each share is a quotient of differences from the point that is closer to 0.
        ends = low + slope * y, high + slope * y
        rightwards = (x - ends[0]) / (ends[1] - ends[0])
        ends = (x - low) / slope, (x - high) / slope
        leftwards = (y - ends[1]) / (ends[0] - ends[1])
    share = np.clip(np.nan_to_num(np.where(gains, rightwards, leftwards)), 0.0, 1.0)
    to_left, to_right = np.where(gains, 1.0 - share, share), np.where(gains, share, 1.0 - share)
    kept = np.where(gains, y, x)
    # On the border of value 0 even losses are told by their b/c.
    at_right = np.where(~gains & (high >= 0.0), x / slope, kept)
    border, place = np.concatenate([left, left + 1]), np.concatenate([kept, at_right])
    mass = np.concatenate([c * to_left, c * to_right])
    used = mass > 0.0
    return _Parts(border[used], place[used], mass[used])


class _AtEnds(NamedTuple):
    """Places and masses at the lower and at the upper end of each border.

    No more than ``off``, relatively, lie the places apart that are taken for one.
    """

    ends: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    off: float


def _at_ends(parts: _Parts, borders: int) -> _AtEnds | None:
    """What is on each border moved to both of its ends; None where a part would be too small."""
    lowest, highest = np.full(borders, np.inf), np.zeros(borders)
    np.minimum.at(lowest, parts.border, parts.place)
    np.maximum.at(highest, parts.border, parts.place)
    lowest = np.minimum(lowest, highest)  # the same where nothing is
    width = highest - lowest
    single = width <= _EQUAL * lowest
    share = np.where(single, 0.0, 1.0)[parts.border] * (parts.place - lowest[parts.border])
    share /= np.where(single, 1.0, width)[parts.border]
    ends = parts.mass * (1.0 - share), parts.mass * share
    if min(end[end > 0.0].min(initial=1.0) for end in (parts.mass, *ends)) < _LEAST_PART:
        return None
    masses = [_sums(parts.border, end, borders) for end in ends]
    used = single & (lowest > 0.0)
    off = float(np.max(width[used] / lowest[used], initial=0.0))
    return _AtEnds(((lowest, masses[0]), (highest, masses[1])), off)


def _sums(labels: NDArray[np.int64], masses: FloatArray, least: int = 0) -> FloatArray:
    """Of masses with equal labels 0, 1, …, at least so many."""
    return np.bincount(labels, weights=masses, minlength=least).astype(np.float64)


def _masses(borders: FloatArray, slope: float, place: FloatArray, c: FloatArray) -> FloatArray:
    """The masses a, b, c > 0 at one place of each border."""
    gains = borders >= 0.0
    x = np.where(gains, borders + slope * place, place)
    y = np.where(gains, place, (place - borders) / slope)
    return np.stack([x * c, y * c, c])[:, c > 0.0]
