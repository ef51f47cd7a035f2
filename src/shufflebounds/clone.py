"""The standard clone: a decomposition that serves every ε₀-LDP randomizer."""

from __future__ import annotations

import math

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition


def standard_clone(eps0: float) -> Decomposition:
    """Decomposition of Feldman, McMillan and Talwar (FOCS 2021); the paper's Theorem 1.

    Every other user sends a clone of the victim's report under x₁⁰ or x₁¹ with probability
    e^{−ε₀}/2 each. Raises ValueError unless 0 < ε₀ ≤ 300.
    """
    eps0 = validation.eps0(eps0)
    rare, common = math.exp(-eps0) / (1.0 + math.exp(-eps0)), 1.0 / (1.0 + math.exp(-eps0))
    sure = math.exp(-eps0) / 2.0
    return Decomposition(
        np.array([common, rare]),
        np.array([rare, common]),
        np.array([sure, sure]),
        rel_err=2.0**-50,
    )
