"""Mixtures of decompositions: every user runs one of several randomizers, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition, check_product, require
from shufflebounds.masses import FloatArray
from shufflebounds.uncertainty import compounded

_U = 2.0**-53


def parallel(parts: Iterable[tuple[float | Fraction, Decomposition]]) -> Decomposition:
    """Parallel composition: each user runs one randomizer, drawn by weight (Theorem 11).

    `parts` are pairs (weight, decomposition); the weights are probabilities that sum to 1.
    Raises ValueError where they do not.
    """
    parts = validation.pairs("parts", parts, "(weight, decomposition)")
    total = validation.weights([weight for weight, _ in parts])
    parts = [(float(weight), require("part", part)) for weight, part in parts]
    # Divided by their sum, lest Σc come out above 1 by more than a rounding.
    parts = [(weight / total, part) for weight, part in parts if weight > 0.0]

    def mixed(end: str | None) -> Decomposition:
        chosen = [(weight, (end and getattr(part, end)) or part) for weight, part in parts]
        a, b, c = (
            np.concatenate(
                [_scaled(name, float(weight), getattr(part, name)) for weight, part in chosen]
            )
            for name in "abc"
        )
        # Three roundings make a product and a weight, that of the total is the fourth, and a weight
        # itself may have been rounded.
        rel_err = compounded(
            max(part.rel_err for _, part in chosen), 6.0 * _U, 1.001 * abs(total - 1.0)
        )
        tied = np.concatenate([part.ties for _, part in chosen])
        return Decomposition(a, b, c, rel_err, tied=tied).merge()

    inner, outer = (
        mixed(end) if any(getattr(part, end) is not None for _, part in parts) else None
        for end in ("inner", "outer")
    )
    return replace(mixed(None), inner=inner, outer=outer)


def subsample(decomposition: Decomposition, rate: float) -> Decomposition:
    """Poisson subsampling: a user takes part with probability `rate`, else reports ⊥ (Ex. 4.4)."""
    validation.probability("rate", rate)
    absent = Decomposition(np.ones(1), np.ones(1), np.ones(1))
    return parallel([(rate, decomposition), (1 - validation.fraction(rate), absent)])


def _scaled(name: str, weight: float, masses: FloatArray) -> FloatArray:
    check_product(name, np.array([weight]), masses)
    return weight * masses
