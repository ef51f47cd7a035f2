"""What every local randomizer offers, and the form that most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import Decomposition

# Closed forms below take a handful of roundings each.
CLOSED_FORM_ERR = 2.0**-49


class Randomizer(ABC):
    """A local randomizer: an ε₀-LDP channel from one user's value to one report.

    A mechanism is a frozen dataclass with ``eps0`` (natural log) and its own parameters, in a
    module of this package that bears the mechanism's name. Arguments are checked on construction
    (ValueError).
    """

    eps0: float

    @abstractmethod
    def blanket(self) -> Decomposition:
        """The optimal upper bound: R(x₁⁰), R(x₁¹), inf_x R(x) (Theorems 5-7, 13)."""

    @abstractmethod
    def dataset_pair(self) -> Decomposition:
        """A lower bound, all others at x₂: R(x₁⁰), R(x₁¹), R(x₂) (Theorem 14)."""


def five_point(eps0: float, p: float, q: float, r: float) -> Decomposition:
    """Blanket of an input-symmetric mechanism with the extreme property (Section 4.4, Table 2).

    Blanket masses p, p, q, r on the ratio pairs (e,1), (1,e), (e,e), (1,1) with e = e^{ε₀}.
    """
    e = np.exp(eps0)
    ratios = np.array([[e, 1.0], [1.0, e], [e, e], [1.0, 1.0]])
    c = np.array([p, p, q, r])
    used = c > 0.0
    return Decomposition(
        (ratios[:, 0] * c)[used],
        (ratios[:, 1] * c)[used],
        c[used],
        rel_err=CLOSED_FORM_ERR,
    )


def from_channel(rows: NDArray[np.float64]) -> Decomposition:
    """Merged decomposition of three rows of a probability matrix, shape (3, outputs): a, b, c."""
    a, b, c = rows
    return Decomposition(a, b, c, rel_err=CLOSED_FORM_ERR).merge()
