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
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer, five_point, pairs_of_channel


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
        return pairs_of_channel(self._rows()[0])

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
