"""Parallel composition: a user runs one of the parts, drawn by weight."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.mixtures import parallel
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.composed.crowds import (
    coordinate_crowds,
    coordinate_kinds,
    named,
    parallel_crowd,
    single_crowds,
)
from shufflebounds.randomizers.composed.parts import Composition, by_others, check_sizes, checked

# Parts any of which two inputs of a crowd may differ in.
_MOST_ALTERNATIVES = 4


@dataclass(frozen=True)
class Parallel(Composition):
    """Parallel composition: a user runs one of the parts, drawn by weight (Theorems 10 and 11).

    ``parts`` are pairs (weight, randomizer); the weights are probabilities that sum to 1. The parts
    may look at the same value or each at its own coordinate. Raises ValueError where the weights
    are none, and where the bound would not cover every pair of inputs.
    """

    parts: Sequence[tuple[float, Randomizer]]

    def __post_init__(self) -> None:
        parts = validation.pairs("parts", self.parts, "(weight, randomizer)")
        weights = [weight for weight, _ in parts]
        randomizers, _ = checked(randomizer for _, randomizer in parts)
        validation.weights(weights)
        object.__setattr__(self, "parts", tuple(zip(weights, randomizers, strict=True)))

    @property
    def label(self) -> str:
        """Such as 10-RR or BLH."""
        return " or ".join(part.label for _, part in self.parts)

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """The largest ε₀ of the parts; None where a part has none."""
        budgets = [part.eps0 for _, part in self.parts if part.eps0 is not None]
        return max(budgets) if len(budgets) == len(self.parts) else None

    def lacking(self) -> str:
        """See `Composition`."""
        return ""

    def blanket(self) -> Decomposition:
        """Of inputs that differ for every part."""
        return parallel([(weight, part.blanket()) for weight, part in self.parts])

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The inputs differ for every part; all take the same x₂ as far as they have it."""
        weights = [weight for weight, _ in self.parts]
        return {
            name: parallel(zip(weights, pairs, strict=True))
            for name, pairs in by_others(part.dataset_pairs() for _, part in self.parts).items()
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Of inputs that differ for any of the parts; none where these are too many."""
        weights, parts = zip(*self.parts, strict=True)
        crowds = single_crowds(parts)
        if crowds is None or len(parts) > _MOST_ALTERNATIVES:
            return ()
        kinds = list(zip(weights, parts, strict=True))
        return named(
            len(parts),
            {
                differing: parallel_crowd(
                    weights,
                    coordinate_crowds(crowds, differing),
                    coordinate_kinds(kinds, differing),
                )
                for differing in _subsets(len(parts))
            },
        )

    def check_size(self) -> None:
        """Raise ValueError for joints among the parts that are too large for memory."""
        check_sizes(part for _, part in self.parts)


def _subsets(size: int) -> Iterator[tuple[int, ...]]:
    for count in range(1, size + 1):
        yield from itertools.combinations(range(size), count)
