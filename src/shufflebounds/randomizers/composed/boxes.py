"""Boxes that components lie in, at the ratios (a/c, b/c), small where precision costs most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray

# An axis has 2**_LEVELS strips, of equal width in logarithms.
_LEVELS = 12
STRIPS = 2**_LEVELS
# No box is wider, in logarithms: shares of masses at its corners keep within floats.
_WIDEST = 4.0
# Ratios no further apart differ by rounding; strips are wider than some roundings then.
_EQUAL = 1e-11


@dataclass(frozen=True)
class Side:
    """Where boxes lie along an axis: component j of ratio ``ratios[j]`` in ``lower[j]`` and up.

    ``borders`` are floats that ascend, and ``lower`` and ``upper`` numbers of those on either side
    of a ratio. Where ratios differ by rounding only, there is one border, and no ratio is further
    from it than ``spread``, relatively.
    """

    ratios: FloatArray
    borders: FloatArray
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    spread: float


@dataclass(frozen=True)
class Boxes:
    """A box for every component. ``labels`` are 0, 1, … without a gap; ``sides`` a/c and b/c."""

    labels: NDArray[np.int64]
    sides: tuple[Side, Side]


def cut(ratios: FloatArray, costs: FloatArray, least: int = 0) -> Boxes:
    """Boxes around the points `ratios`, shape (2, J) and > 0, whose costs sum to at most 1.

    `costs`, shape (2, J), are what a component costs if its box is wide by one in the logarithm of
    either ratio; they grow with the square of the width. Boxes are halved where they cost most, and
    on until there are `least`.
    """
    borders = [_borders(axis) for axis in ratios]
    steps = np.array([math.log(edges[-1] / edges[0]) / STRIPS for edges in borders])
    strips = np.stack([_strips(*axis) for axis in zip(ratios, borders, strict=True)])
    # A box is 2**size strips wide.
    sizes = np.repeat([[_first_size(step)] for step in steps], ratios.shape[1], axis=1)
    labels = _numbered(*(strips >> sizes))
    # In the end most boxes cost about as much.
    limit = 1e-2
    while True:
        cost = _costs(labels, sizes, steps, costs)
        total, count = float(cost.sum()), cost.shape[1]
        if not total > 0.0 or (total <= 1.0 and count >= least):
            break
        dear = cost.sum(axis=0) > limit
        if not dear.any():
            limit /= 2.0
            continue
        longer = np.argmax(cost, axis=0)
        halved = np.stack([dear & (longer == 0), dear & (longer == 1)])[:, labels]
        sizes = sizes - halved
        labels = _numbered(labels, np.where(halved, strips >> sizes & 1, 0).max(axis=0))
    one, two = (_side(*axis) for axis in zip(ratios, borders, strips, sizes, strict=True))
    return Boxes(labels, (one, two))


def _borders(ratios: FloatArray) -> FloatArray:
    least, largest = float(ratios.min()), float(ratios.max())
    if largest - least <= _EQUAL * least:
        return np.array([least])
    step = math.log1p((largest - least) / least) / STRIPS
    borders: FloatArray = least + least * np.expm1(step * np.arange(STRIPS + 1))
    borders[-1] = largest
    return borders


def _strips(ratios: FloatArray, borders: FloatArray) -> NDArray[np.int64]:
    """The last border, but for the topmost, that is no larger than the ratio."""
    return np.searchsorted(borders[1:-1], ratios, side="right")


def _first_size(step: float) -> int:
    return math.floor(min(_LEVELS, math.log2(_WIDEST / step))) if step else 0


def _costs(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], steps: FloatArray, costs: FloatArray
) -> FloatArray:
    """Of every box along either axis, shape (2, number of boxes); 0 where it is not to be cut."""
    member = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    member[labels] = np.arange(labels.size)
    size = sizes[:, member]
    widths = np.where(size > 0, steps[:, None] * 2.0**size, 0.0)
    return np.stack([np.bincount(labels, weights=row) for row in costs]) * widths**2


def _numbered(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers 0, 1, … of the distinct pairs; `two` is below `STRIPS`."""
    return np.unique(one * STRIPS + two, return_inverse=True)[1]


def _side(
    ratios: FloatArray, borders: FloatArray, strips: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Side:
    if borders.size == 1:
        spread = float(np.ptp(ratios)) / borders[0]
        return Side(ratios, borders, strips, strips, spread)
    lower = strips >> sizes << sizes
    return Side(ratios, borders, lower, lower + (1 << sizes), 0.0)


def corners(sides: Sequence[Side]) -> tuple[NDArray[np.int64], FloatArray]:
    """Numbers of the corners of all boxes, shape (corners, J), and each component's share there.

    Either ratio's mean over the corners of its box is the ratio.
    """
    (i, p), (j, q) = (_ends(side) for side in sides)
    places = (i[:, None] * (STRIPS + 1) + j).reshape(-1, i.shape[1])
    return places, (p[:, None] * q).reshape(places.shape)


def _ends(side: Side) -> tuple[NDArray[np.int64], FloatArray]:
    if side.borders.size == 1:
        return side.lower[None], np.ones((1, side.lower.size))
    below, above = side.borders[side.lower], side.borders[side.upper]
    share = (side.ratios - below) / (above - below)
    return np.stack([side.lower, side.upper]), np.stack([1.0 - share, share])
