"""Randomizers whose reports match an input or not: the form that many mechanisms share.

A report is drawn from a fixed law, but e^{ε₀} times as likely if it matches the user's input. All
inputs match equally often, and some input fails to match whatever the report is, so that the
blanket is the fixed law times a constant. What two inputs have in common decides how far they lie
apart: moving mass from reports that both match, and as much from those that neither does, to
reports that one of them matches, raises the divergence. For G then takes the values e − λ and
1 − eλ in place of e(1 − λ) and 1 − λ (λ = e^ε, e = e^{ε₀}), which lie between them and have the
same sum. So the worst pair of inputs is one that matches together as rarely as possible.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.masses import SMALLEST_MASS
from shufflebounds.randomizers.base import Randomizer, five_point, pairs_of_channel

# What matches x₁⁰, x₁¹ and another input.
_PATTERNS = tuple(itertools.product((True, False), repeat=3))
# A vertex's masses are rounded once, and their total sums to 1 in exact arithmetic.
_SUM_ERR = 2.0**-48


class MatchingRandomizer(Randomizer):
    """A report of the fixed law is e^{ε₀} times as likely if it matches the input.

    `_misses` describes inputs that match together as rarely as possible.
    """

    eps0: float

    @property
    def _inputs(self) -> int:
        """How many `dataset_pairs` compares: x₁⁰, x₁¹ and, if there is one, a third."""
        return 3

    @abstractmethod
    def _misses(self, inputs: int) -> Fraction:
        """Probability under the fixed law that a report matches none of so many inputs."""

    def blanket(self) -> Decomposition:
        """Of two inputs that match together as rarely as possible."""
        one, none = self._misses(1), self._misses(2)
        total = self._total()
        masses = (one - none, 1 - 2 * one + none, none)
        return five_point(self.eps0, *(float(mass) / total for mass in masses))

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The others hold a third input, as far from the two as these from each other, or x₁¹."""
        return pairs_of_channel(self._rows()[0], self.eps0)

    def crowds(self) -> tuple[Crowd, ...]:
        """Of any three inputs, by the vertices of all that their matches may be together.

        The probabilities with which a report of the fixed law matches x₁⁰, x₁¹ and another input
        are eight numbers ≥ 0. Each input matches as often as any other; the first two match
        together as often as those of `blanket` at the least.
        """
        one, two = self._misses(1), self._misses(2)
        vertices = list(_vertices(1 - one, 1 - 2 * one + two))
        # The mean of those with the least in common has every component that any of them has.
        least = [vertex for vertex in vertices if sum(vertex[:2]) == 1 - 2 * one + two]
        mean = [sum(masses, Fraction(0)) / len(least) for masses in zip(*least, strict=True)]
        # What is taken of the blanket must not depend on the other user: both or none of two
        # components that differ in it alone.
        if any((x == 0) != (y == 0) for x, y in zip(mean[::2], mean[1::2], strict=True)):
            return ()
        found = [self._crowd(vertex) for vertex in (mean, *vertices)]
        known = [crowd for crowd in found if crowd is not None]
        return (replace(known[0], extremes=tuple(known[1:])),) if len(known) == len(found) else ()

    def _crowd(self, vertex: Sequence[Fraction]) -> Crowd | None:
        masses = np.array([float(mass) for mass in vertex])
        if ((masses > 0.0) & (masses < SMALLEST_MASS * math.exp(self.eps0))).any():
            return None
        matched = np.array(_PATTERNS).T
        sure = masses / self._total()
        x0, x1, x2 = np.where(matched, math.exp(self.eps0), 1.0) * sure
        return Crowd(x0, x1, sure, {"any": x2}, _SUM_ERR, attained=False)

    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Laws of the inputs by what matches which of them, and the blanket."""
        patterns = self._patterns(self._inputs)
        matched = np.array([pattern for pattern, mass in patterns.items() if mass > 0]).T
        masses = np.array([float(mass) for mass in patterns.values() if mass > 0])
        rows = np.where(matched, math.exp(self.eps0), 1.0) * masses / self._total()
        return rows, masses / self._total()

    def _patterns(self, inputs: int) -> dict[tuple[bool, ...], Fraction]:
        """Probability under the fixed law of each set of inputs to match, and no others."""
        chances = {}
        for pattern in itertools.product((True, False), repeat=inputs):
            matched = sum(pattern)
            chances[pattern] = sum(
                (-1) ** i * math.comb(matched, i) * self._misses(inputs - matched + i)
                for i in range(matched + 1)
            )
        return chances

    def _total(self) -> float:
        """What the likelihoods e^{ε₀} and 1 have to be divided by."""
        miss = self._misses(1)
        return float(1 - miss) * math.exp(self.eps0) + float(miss)


def _vertices(match: Fraction, together: Fraction) -> Iterator[list[Fraction]]:
    """Of the masses of `_PATTERNS` that sum to 1, when every input is matched with probability
    `match` and the first two together with probability `together` or more.
    """
    rows = [[Fraction(1)] * 8 + [Fraction(0)]]
    rows += [[Fraction(pattern[i]) for pattern in _PATTERNS] + [Fraction(0)] for i in range(3)]
    # The ninth number is by how much the first two are matched together more often.
    rows.append([Fraction(x and y) for x, y, _ in _PATTERNS] + [Fraction(-1)])
    right = [Fraction(1), match, match, match, together]
    found = set()
    for basis in itertools.combinations(range(9), 5):
        solved = _solution([[row[j] for j in basis] for row in rows], right)
        if solved is not None and min(solved) >= 0:
            masses = dict(zip(basis, solved, strict=True))
            found.add(tuple(masses.get(j, Fraction(0)) for j in range(8)))
    yield from (list(vertex) for vertex in sorted(found))


def _solution(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Of linear equations, by elimination; None where they have none or several."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next((j for j in range(i, len(rows)) if rows[j][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i and rows[j][i] != 0:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]
