"""Which atoms of a measure to unite, or to split between: for the doubling engine.

With x from a measure and y from that of the other draws, E(x + y)₊ bends where x = −y. Splitting or
uniting the atoms x of a cell costs nothing where no −y lies inside it, and otherwise at most the
product of both masses and a quarter of the cell's width. No bounds: the choice decides about width
and cost only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.measures import Measure

# Cells per factor of ten in the distance from the likeliest atom.
_PER_DECADE = 4.0
# What a cell costs for masses spread evenly, between 1/12 and the largest, 1/4.
_TYPICAL = 0.125


class _Sums(NamedTuple):
    """Running sums of masses from the left and from the right, (M + 1,): small ones at both ends
    keep their precision.
    """

    left: FloatArray
    right: FloatArray

    @staticmethod
    def of(masses: FloatArray) -> _Sums:
        left, right = np.zeros(masses.size + 1), np.zeros(masses.size + 1)
        np.cumsum(masses, out=left[1:])
        right[:-1] = np.cumsum(masses[::-1])[::-1]
        return _Sums(left, right)

    def between(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> FloatArray:
        """Sums of masses i, …, j − 1."""
        low, high = self.left[j] - self.left[i], self.right[i] - self.right[j]
        return np.maximum(np.where(self.left[j] < self.right[i], low, high), 0.0)


@dataclass(frozen=True, eq=False)
class Mirrored:
    """The measure of −y, y what the other draws add up to: its atoms, and what may lie between."""

    values: FloatArray
    atoms: _Sums
    edges: FloatArray
    spread: _Sums

    @staticmethod
    def of(others: Measure) -> Mirrored:
        values, masses = -others.values[::-1], others.masses[::-1]
        first, last = (2.0 * values[0] - values[1:2]), (2.0 * values[-1] - values[-2:-1])
        # An atom may stand for many, on either side of it up to the next.
        gaps = np.concatenate([masses[:1], masses[1:] + masses[:-1], masses[-1:]])
        if values.size == 1:
            return Mirrored(values, _Sums.of(masses), values, _Sums.of(masses[:0]))
        edges = np.concatenate([first, values, last])
        return Mirrored(values, _Sums.of(masses), edges, _Sums.of(gaps))

    def across(self, x: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64], _Sums]:
        """For places x: how many atoms lie below, how many not above, and what is spread below."""
        spread = _Sums(*(np.interp(x, self.edges, sums) for sums in self.spread))
        below = np.searchsorted(self.values, x, side="left")
        return below, np.searchsorted(self.values, x, side="right"), spread


def by_distance(x: Measure) -> NDArray[np.int64]:
    """First atoms of cells that widen with the distance from the likeliest atom.

    That atom is a cell of its own, and so is the last.
    """
    mode = int(np.argmax(x.masses))
    away = x.values - x.values[mode]
    decade = np.floor(_PER_DECADE * np.log10(np.where(away == 0.0, 1.0, np.abs(away))))
    # Below, at and above the mode; floors of logarithms of floats stay below 2000 in size.
    key = np.where(away == 0.0, 0.0, np.sign(away) * (4000.0 + decade))
    first = np.concatenate([[True], key[1:] != key[:-1]])
    first[[mode, min(mode + 1, x.size - 1), x.size - 1]] = True
    return np.flatnonzero(first)


def by_cost(x: Measure, others: Mirrored, each: float, up: bool) -> NDArray[np.int64]:
    """First atoms of cells that cost about `each` at most, as fine as `by_distance` at least."""
    masses = _Sums.of(x.masses)
    below, not_above, spread = others.across(x.values)
    i, j = np.array([0]), np.array([x.size - 1])
    edges = [by_distance(x), j]
    while i.size:
        # A vertex is not moved, but atoms are united with the first of them.
        inside = masses.between(i + up, np.maximum(j, i + up))
        bends = others.atoms.between(not_above[i], np.maximum(below[j], not_above[i]))
        bends += spread.between(i, j)
        with np.errstate(over="ignore", invalid="ignore"):
            cost = inside * bends * (x.values[j] - x.values[i]) * _TYPICAL
        wide = ~(cost <= each) & (j - i > 1)
        edges.append(i[~wide])
        i, j = i[wide], j[wide]
        middle = (i + j) // 2
        i, j = np.concatenate([i, middle]), np.concatenate([middle, j])
    return np.unique(np.concatenate(edges))
