"""The collision mechanism for sets of items (Wang et al., IEEE TMC 2023)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.randomizers.base import Randomizer

# Of three factors, three probabilities and the total.
_ERR = 2.0**-48


@dataclass(frozen=True)
class Collision(Randomizer):
    """Collision: one of l hash values, those of the user's s items e^{ε₀} times as likely or less.

    A report is a uniformly random hash h of the items to l values, and z among these: with
    probability e/Ω each for the k values of the user's own items, e = e^{ε₀} and
    Ω = se + l − s, and the rest evenly. So the others have u_k/Ω, u_k = ((s − k)e + l − s)/(l − k).
    For s = 1 it is `LocalHash`.

    Over hashes and even z, what disjoint inputs get is independent: a factor e with probability
    k/l, else u_k. Inputs that share items have nothing worse: given the shared hash values, what
    they get is independent and, for either, stochastically larger where z is among these, and less
    the more there are (u_k falls with k). So it is positively quadrant dependent, and of all such
    laws with the same margins the independent one has the largest E φ(x − e^ε y) for every convex
    φ, which is submodular in (x, y) (Tchen 1980).

    s is ``items`` and l ``hash_values``. Raises ValueError unless 0 < ε₀ ≤ 300 and s < l are
    integers from 1 on, s at most 20.
    """

    eps0: float
    items: int = field(metadata={"help": "items of a user, at least 1"})
    hash_values: int = field(metadata={"help": "number of hash values, more than items"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.whole("items", self.items, minimum=1, maximum=20)
        validation.whole("hash_values", self.hash_values, minimum=self.items + 1, maximum=2**53)

    def blanket(self) -> Decomposition:
        """Of disjoint inputs in a large domain, where some input gets 1/Ω of every report.

        In a small one it bounds from above.
        """
        a, b = self._rows(2)
        return Decomposition(a, b, self._base(2) / self._total, _ERR).merge()

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The others hold a third disjoint input, or x₁¹."""
        x0, x1, third = self._rows(3)
        others = {"third": third, "x1": x1}
        return {name: Decomposition(x0, x1, c, _ERR).merge() for name, c in others.items()}

    @cached_property
    def _total(self) -> float:
        return self.items * math.exp(self.eps0) / self.hash_values + (
            1.0 - self.items / self.hash_values
        )

    @cached_property
    def _factors(self) -> tuple[tuple[float, float], ...]:
        """What one input may get, e or u_k, and the probabilities under hashes and even z."""
        s, l, e = self.items, self.hash_values, math.exp(self.eps0)  # noqa: E741
        used = {0: Fraction(1)}  # law of the number of different hash values of so many items
        for _ in range(s):
            grown = dict.fromkeys(range(1, s + 1), Fraction(0))
            for k, chance in used.items():
                if k:
                    grown[k] += chance * Fraction(k, l)
                if k < s:
                    grown[k + 1] += chance * Fraction(l - k, l)
            used = grown
        hit = sum(chance * Fraction(k, l) for k, chance in used.items())
        missed = [
            (((s - k) * e + (l - s)) / (l - k), float(chance * Fraction(l - k, l)))
            for k, chance in used.items()
            if chance
        ]
        return (e, float(hit)), *missed

    def _base(self, inputs: int) -> np.ndarray:
        """Probabilities of what so many disjoint inputs may get together."""
        chances = [chance for _, chance in self._factors]
        return np.array([math.prod(x) for x in itertools.product(chances, repeat=inputs)])

    def _rows(self, inputs: int) -> np.ndarray:
        factors = [factor for factor, _ in self._factors]
        combined = np.array(list(itertools.product(factors, repeat=inputs))).T
        return combined * (self._base(inputs) / self._total)
