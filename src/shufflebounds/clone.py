"""The clones: decompositions that serve every ε₀-LDP randomizer."""

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


def stronger_clone(eps0: float) -> Decomposition:
    """The best decomposition that knows ε₀ alone: other users' clones are as many as can be.

    Every other user sends one of two reports with probability 1/(e^{ε₀} + 1) each, the victim one
    of them e^{ε₀} times as likely as the other. Feldman, McMillan and Talwar proposed it (SODA
    2023) and restricted its proof in an erratum. docs/variation-ratio.md proves it for every ε₀-LDP
    randomizer that all users share. It is the blanket of 2-RR, so that no decomposition that knows
    ε₀ alone can be smaller.

    Raises ValueError unless 0 < ε₀ ≤ 300.
    """
    eps0 = validation.eps0(eps0)
    rare, common = math.exp(-eps0) / (1.0 + math.exp(-eps0)), 1.0 / (1.0 + math.exp(-eps0))
    return Decomposition(
        np.array([common, rare]),
        np.array([rare, common]),
        np.array([rare, rare]),
        rel_err=2.0**-50,
    )
