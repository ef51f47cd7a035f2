"""Unite below, spread above: laws and decompositions in fewer components that bound one of many.

D is a mean of convex functions of the components, so it falls where some are united at their mean,
and grows where they are spread with their mean kept. Proofs: docs/engine.md, sections 3 and 5.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded
from shufflebounds.divergence.law import Law, U, cumulants, law, tilting_point

# Laws with fewer values that bound a law with many, for the Fourier engine.
#
# E[S₊] is increasing and convex in every draw of G, so it grows with each value and with each
# mean-preserving spread. Values may then be split between two neighbouring vertices for an upper
# bound and united at their mean for a lower one. Both errors are of second order in the distance
# of the vertices, which lie densest where the tilted law has most of its mass.

# Values with more than this share of the mass are kept, as moving them would cost much width.
_HEAVY_VALUE = 0.1


def compress(law: Law, weights: FloatArray, cells: int) -> tuple[Law, Law]:
    """Laws with about `cells` values whose E[S₊] is never above and never below that of `law`.

    `weights` (J,) are the masses of the tilted law in which the losses should be small.
    """
    order = np.argsort(law.values)
    weights = weights[order]
    masses, err = law.masses[order], law.value_err[order]
    # Values moved by their uncertainty, the safe way each time.
    above = np.maximum.accumulate(np.nextafter(law.values[order] + err, np.inf))
    below = np.nextafter(law.values[order] - err, -np.inf)
    picks = spaced(above, weights, cells)
    return _united_law(law, below, masses, picks), _spread_law(law, above, masses, picks)


def spaced(values: FloatArray, weights: FloatArray, cells: int) -> NDArray[np.int64]:
    """Indices into the sorted `values`, both ends included, for cells of equal cost.

    A cell of width h costs its mass times h²; that is least for a density of vertices that goes
    like the cube root of the density of mass.
    """
    gaps = np.diff(values, append=values[-1])
    cost = np.cbrt(weights) * np.cbrt(gaps) ** 2
    total = np.cumsum(cost)
    picks = np.searchsorted(total, np.linspace(0.0, total[-1], cells + 1)[1:-1])
    # A heavy value costs its mass in any cell but its own.
    heavy = np.flatnonzero(weights[:-1] > _HEAVY_VALUE * weights.sum())
    return np.unique(np.concatenate([[0], picks, heavy, heavy + 1, [values.size - 1]]))


def between(
    values: FloatArray, vertices: FloatArray
) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
    """The vertices on either side of each value, by index, and its share of each: means are kept.

    The vertices ascend and reach from the least value to the largest. A share is a quotient of
    differences of floats, good to three roundings.
    """
    if vertices.size == 1:
        yield np.zeros(values.size, dtype=np.int64), np.ones(values.size)
        return
    left = np.clip(np.searchsorted(vertices, values, side="right") - 1, 0, vertices.size - 2)
    width = vertices[left + 1] - vertices[left]
    yield left, (vertices[left + 1] - values) / width
    yield left + 1, (values - vertices[left]) / width


def _spread_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    vertices = np.unique(values[picks])
    total = np.zeros(vertices.size)
    for place, share in between(values, vertices):
        part = masses * share
        # What underflows is rounded up to the smallest mass where more mass means more.
        part[(share > 0.0) & (part < 1e-300) & (vertices[place] > 0.0)] = 1e-300
        total += np.bincount(place, weights=part, minlength=vertices.size)
    kept = total > 0.0
    return _rebuilt(law, vertices[kept], total[kept], np.zeros(int(kept.sum())), values.size)


def _united_law(law: Law, values: FloatArray, masses: FloatArray, picks: NDArray[np.int64]) -> Law:
    rows = np.stack([masses, masses * values, masses * np.abs(values)])
    total, mean, size = np.add.reduceat(rows, picks, axis=1)
    mean, size = mean / total, size / total
    # Masses that are known only nearly move the mean of a cell, the more the wider it is.
    off = np.abs(values - np.repeat(mean, np.diff(picks, append=values.size)))
    width = np.add.reduceat(masses * off, picks) / total
    err = (2.0 * values.size + 4.0) * U * size + 2.1 * law.mass_err * width
    return _rebuilt(law, mean, total, err, values.size)


def _rebuilt(
    law: Law, values: FloatArray, masses: FloatArray, value_err: FloatArray, terms: int
) -> Law:
    """A law with other values; a sum of `terms` products and shares makes each of its masses."""
    # One that holds for all masses: laws with one for each are not compressed.
    mass_err = compounded(
        law.mass_err,  # type: ignore[arg-type]
        (terms + 8.0) * U,
    )
    return replace(law, values=values, masses=masses, value_err=value_err, mass_err=mass_err)


# Estimates of where D is made, which say where components must be fine and claim nothing; what they
# decide is speed and width (benchmarks/deployer_grid.py).
#
# Tilts that are tried, in terms of the one that suits D.
_TILTS = np.concatenate([2.0 ** np.arange(6.0, -12.5, -0.5), -(2.0 ** np.arange(-12.0, 6.5, 0.5))])
# How far around a value, relatively, others are as important.
_NEIGHBOURS = 0.15
# Components of a sketch: it is made of more, and has so many places along an axis where one or two
# of the ratios vary, by more than this.
_FEW_COMPONENTS, _ONE_AXIS, _TWO_AXES, _VARYING = 300, 400, 28, 1e-11


class Focus(NamedTuple):
    """D near an `eps`, where it is about δ, with log D to be off by at most `loss`.

    That is asked for as far as no more than `most` components are needed. The sum of the other
    draws has a density of about f at −g, log f being the least of ``heights`` + ``tilts`` g. The
    tilts, shape (T,), descend; each gives the least up to its entry in ``reaches``, (T − 1,).
    """

    eps: float
    log_delta: float
    loss: float
    most: float
    tilts: FloatArray
    heights: FloatArray
    reaches: FloatArray

    @staticmethod
    def about(
        like: Decomposition, eps: float, n: int, delta: float, loss: float, most: float = math.inf
    ) -> Focus:
        """By Chernoff's bounds for a similar decomposition, `like`."""
        g = law(like, eps)
        tilts = heights = np.zeros(0)
        if g.values.size and g.values.max() > 0.0:
            theta = tilting_point(g, n)
            tilts = theta * _TILTS
            with np.errstate(all="ignore"):
                x = tilts[:, None] * g.values
                top = np.maximum(x.max(axis=-1), 0.0)
                total = np.exp(x - top[:, None]) @ g.masses + g.residual * np.exp(-top)
                growth = np.expm1(x) @ g.masses
                k = np.where(top < 1.0, np.log1p(growth), top + np.log(total))
                spread = n * cumulants(g, theta)[2] + 1.0 / theta**2
                heights = n * k - 0.5 * np.log(2.0 * math.pi * spread)
            known = np.isfinite(heights)
            scale = math.ldexp(1.0, -g.exponent)
            tilts, heights = tilts[known] * scale, heights[known] + math.log(scale)
        reaches = np.maximum.accumulate(np.diff(heights) / -np.diff(tilts))
        return Focus(eps, math.log(delta), loss, most, tilts, heights, reaches)

    def log_importance(self, ascending: FloatArray) -> FloatArray:
        """The logarithm of f/δ for ascending g, the most that it is in the neighbourhood of g."""
        # It is concave, so that it is largest at the point which is closest to its peak.
        gains = int(np.sum(self.tilts > 0.0))
        peak = math.inf if gains == self.tilts.size else -math.inf
        peak = float(self.reaches[gains - 1]) if 0 < gains < self.tilts.size else peak
        around = _NEIGHBOURS * np.abs(ascending)
        points = np.clip(peak, ascending - around, ascending + around)
        ends = np.searchsorted(points, self.reaches)
        which = np.repeat(np.arange(self.tilts.size), np.diff(ends, prepend=0, append=points.size))
        return self.heights[which] + self.tilts[which] * points - self.log_delta


@functools.lru_cache(maxsize=16)
def sketch(decomposition: Decomposition) -> Decomposition:
    """A rough likeness in some hundreds of components, to estimate with."""
    masses = np.stack([decomposition.a, decomposition.b, decomposition.c])
    if len(decomposition) <= _FEW_COMPONENTS or not masses.min() > 0.0:
        return decomposition
    logs = np.log(masses[:2] / masses[2])
    spans = np.ptp(logs, axis=1)
    varying = spans > _VARYING
    number = _TWO_AXES if varying.all() else _ONE_AXIS
    labels = np.zeros(len(decomposition), dtype=np.int64)
    for ratios, span in zip(logs[varying], spans[varying], strict=True):
        places = (ratios - ratios.min()) * (number / span)
        labels = labels * number + np.minimum(places, number - 1).astype(np.int64)
    held = np.stack([np.bincount(labels, weights=row) for row in masses]).astype(np.float64)
    a, b, c = held[:, held[2] > 0.0]
    return Decomposition(a, b, c, decomposition.rel_err)


# Decompositions in fewer components that bound one of many, close to it near one ε.
#
# Where components have nearly the same value a/c − e^ε b/c at some ε, D hardly tells them apart at
# that ε and near it. So the plane of the points (a/c, b/c) is cut along lines of equal values,
# into strips: the lower end *unites* what a strip holds, which is post-processing; the upper end
# *spreads* it, first to the borders of its strip and then to the ends of what lies on each border:
# dilations. Both hold at every ε. docs/engine.md, section 5, proves it.

# Where strips lie decides speed and width (benchmarks/deployer_grid.py), never what holds; what
# does are the masses, ratios and roundings below.
#
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


def united(decomposition: Decomposition, focus: Focus) -> Decomposition:
    """One of no larger D at any ε: what a strip holds becomes one component.

    As it is where that would be nearly as many.
    """
    strips = _Strips.of(decomposition, focus, _UNITED)
    if strips is None:
        return decomposition
    labels = np.repeat(np.arange(strips.starts.size), strips.counts())
    a, b, c = (
        _sums(labels, row[strips.order])
        for row in (decomposition.a, decomposition.b, decomposition.c)
    )
    most = float(strips.counts().max())
    return Decomposition(a, b, c, compounded(decomposition.rel_err, (4.0 + most) * U))


def spread(decomposition: Decomposition, focus: Focus) -> Decomposition:
    """One of no smaller D at any ε: what a strip holds goes to the ends of its borders.

    As it is where that would be nearly as many.
    """
    strips = _Strips.of(decomposition, focus, _SPREAD)
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
    def of(decomposition: Decomposition, focus: Focus, sharpness: float) -> _Strips | None:
        """Strips of widths h that cost Σ p f h²/`sharpness` δ; None where they are many."""
        a, b, c = decomposition.a, decomposition.b, decomposition.c
        if c.size <= _FEW or not focus.tilts.size or focus.eps > _LARGEST_EPS:
            return None
        least = min(a.min(), b.min(), c.min())
        if not least > _SMALLEST_MASS or max(a.max(), b.max(), c.max()) > _WIDEST_RATIO * least:
            return None
        slope = math.exp(focus.eps)
        values = a / c - slope * (b / c)
        order = np.argsort(values)
        values = values[order]
        with np.errstate(under="ignore"):
            weights = c[order] * np.exp(np.minimum(focus.log_importance(values), 600.0))
        gaps = np.diff(values, append=values[-1])
        # The sum of masses times squared widths is least for a density of borders like the cube
        # root of the density of mass.
        costs = np.cbrt(weights) * np.cbrt(gaps) ** 2
        total = float(costs.sum())
        wanted = _MARGIN * math.sqrt(total * total * total / (sharpness * focus.loss))
        cells = max(min(wanted, focus.most), _FEWEST)
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
