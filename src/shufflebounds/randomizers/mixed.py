"""Mixtures: parallel composition, where a user runs one of the parts, and Poisson subsampling."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition, parallel, subsample
from shufflebounds.core.products import FloatArray
from shufflebounds.estimation.accuracy import Spread
from shufflebounds.randomizers.base import Randomizer, single_blanket
from shufflebounds.randomizers.composition import (
    Composition,
    check_parts,
    check_sizes,
    combine_dataset_pairs,
    has_proven_pairs,
    missing_property,
)
from shufflebounds.randomizers.crowds import (
    coordinate_crowds,
    coordinate_kinds,
    name_by_differing,
    parallel_crowd,
    single_crowds,
)
from shufflebounds.randomizers.kinds import CoordinatePair

# Largest number of parts for which there is a crowd for every set of parts that differ.
_MAX_PARTS_OF_CROWDS = 4


@dataclass(frozen=True)
class Parallel(Composition):
    """Parallel composition: a user runs one of the parts, drawn by weight.

    Every user draws the part anew for each report, in secret. For groups of users with fixed
    parts, ask about each group by itself, with the number of its members as n: every user has the
    epsilon of the own group, and all users have the largest.

    Parameters
    ----------
    parts
        Pairs (weight, randomizer); the weights are probabilities that sum to 1. All parts may
        report the same value, or each part its own coordinate.

    Raises
    ------
    ValueError
        If the weights do not sum to 1 within 10⁻¹², or if the bound would not cover every pair of
        inputs.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Theorems 10 and 11.

    Examples
    --------
    >>> R = sb.Parallel([(0.5, sb.KRR(k=10, eps0=2.0)), (0.5, sb.BLH(2.0))])
    >>> f"{sb.epsilon(R.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.079'
    """

    parts: Sequence[tuple[float, Randomizer]]

    def __post_init__(self) -> None:
        parts = validation.pairs("parts", self.parts, "(weight, randomizer)")
        weights = [weight for weight, _ in parts]
        randomizers, _ = check_parts(randomizer for _, randomizer in parts)
        validation.weights(weights)
        object.__setattr__(self, "parts", tuple(zip(weights, randomizers, strict=True)))

    @property
    def label(self) -> str:
        """The parts' labels, such as 10-RR or BLH."""
        return " or ".join(part.label for _, part in self.parts)

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """The largest ε₀ of the parts; None if a part has none."""
        budgets = [part.eps0 for _, part in self.parts if part.eps0 is not None]
        return max(budgets) if len(budgets) == len(self.parts) else None

    def lacking(self) -> str:
        """See `Composition`."""
        return ""

    def blanket(self) -> Decomposition:
        """Return the blanket of inputs that differ for every part."""
        return parallel([(weight, part.blanket()) for weight, part in self.parts])

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs whose inputs differ for every part; the parts use the same x₂.

        A part without this x₂ uses its first one.
        """
        weights = [weight for weight, _ in self.parts]
        return {
            name: parallel(zip(weights, pairs, strict=True))
            for name, pairs in combine_dataset_pairs(
                part.dataset_pairs() for _, part in self.parts
            ).items()
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowds of inputs that differ for any of the parts; none of too many parts."""
        weights, parts = zip(*self.parts, strict=True)
        crowds = single_crowds(parts)
        if crowds is None or len(parts) > _MAX_PARTS_OF_CROWDS:
            return ()
        kinds = list(zip(weights, parts, strict=True))
        return name_by_differing(
            len(parts),
            (
                (
                    differing,
                    parallel_crowd(
                        weights,
                        coordinate_crowds(crowds, differing),
                        coordinate_kinds(kinds, differing),
                    ),
                )
                for differing in _subsets(len(parts))
            ),
        )

    def _reported(self) -> Sequence[tuple[float, Randomizer]]:
        """Return the parts with their weights."""
        return self.parts

    def _reporting_users(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Return for each part whether each user draws it."""
        choice = rng.choice(len(self.parts), size=users, p=[weight for weight, _ in self.parts])
        return [choice == i for i in range(len(self.parts))]

    @property
    def bits(self) -> float:
        """The number of bits of a report of any part."""
        return float(np.logaddexp2.reduce([part.bits for _, part in self.parts]))

    def check_size(self) -> None:
        """Raise ValueError for joints among the parts that are too large for memory."""
        check_sizes(part for _, part in self.parts)


def _subsets(size: int) -> Iterator[tuple[int, ...]]:
    """Yield the nonempty sets of the numbers below `size`, the largest first."""
    for count in range(size, 0, -1):
        yield from itertools.combinations(range(size), count)


@dataclass(frozen=True)
class Subsampled(Composition):
    """Poisson subsampling: a user takes part with a fixed probability, else reports ⊥.

    Over several rounds, the sample is drawn again in every round. A panel, which is drawn once and
    kept, has a larger epsilon: ask about it by itself, with the number of its members as n.

    Parameters
    ----------
    randomizer
        The randomizer of a user who takes part.
    rate
        Probability of taking part, 0 to 1, independent of everything else. n counts all users,
        including those who do not take part.

    Raises
    ------
    ValueError
        For a rate outside this range, and if the bound would not cover every pair of inputs.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Example 4.4.

    Examples
    --------
    >>> R = sb.Subsampled(sb.KRR(k=10, eps0=2.0), rate=0.1)
    >>> f"{sb.epsilon(R.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.023'
    """

    randomizer: Randomizer
    rate: float

    def __post_init__(self) -> None:
        # ⊥ shifts the GPARV, which may change which pair of inputs is the worst at some ε.
        if not has_proven_pairs(self.randomizer):
            check_parts([self.randomizer], several=True)
        validation.probability("rate", self.rate)

    @property
    def label(self) -> str:
        """The randomizer's label and the rate, such as 10-RR at rate 0.1."""
        return f"{self.randomizer.label} at rate {self.rate:g}"

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """ε₀ of the randomizer; ⊥ does not depend on the input."""
        return self.randomizer.eps0

    def for_delta(self, delta: float) -> Subsampled:
        """Return it with bounds of the randomizer that are close at δ."""
        randomizer = self.randomizer.for_delta(delta)
        return self if randomizer is self.randomizer else Subsampled(randomizer, self.rate)

    def lacking(self) -> str:
        """See `Composition`; ⊥ has the same masses for all inputs."""
        return missing_property(self.randomizer)

    def blanket(self) -> Decomposition:
        """Return the blanket of the same inputs; every user reports ⊥ with the same probability."""
        return single_blanket(self.blankets())

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowds of the same inputs."""
        return tuple(crowd.subsample(self.rate) for crowd in self.randomizer.crowds())

    def few_crowds(self) -> tuple[Crowd, ...]:
        """Return the few crowds of the same inputs."""
        return tuple(crowd.subsample(self.rate) for crowd in self.randomizer.few_crowds())

    def blankets(self) -> dict[str, Decomposition]:
        """Return the blankets of the same pairs of inputs."""
        pairs = self.randomizer.blankets()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def choices(self, *, apart: bool = False) -> tuple[CoordinatePair, ...]:
        """See `Randomizer`; ⊥ adds the same to every f-divergence."""
        return tuple(
            replace(pair, decomposition=subsample(pair.decomposition, self.rate))
            for pair in self.randomizer.choices(apart=apart)
        )

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs of the same datasets."""
        pairs = self.randomizer.dataset_pairs()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def known_datasets(self) -> dict[str, Decomposition]:
        """Return the pairs of the same datasets."""
        pairs = self.randomizer.known_datasets()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def _reported(self) -> list[tuple[float, Randomizer]]:
        """Return the randomizer with the probability of taking part."""
        return [(self.rate, self.randomizer)]

    def _reporting_users(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Return whether each user takes part."""
        return [rng.random(users) < self.rate]

    @property
    def bits(self) -> float:
        """The number of bits of a report, or of none."""
        return float(np.logaddexp2(self.randomizer.bits, 0.0))

    def sample(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:  # type: ignore[override]
        """Draw the reports of the users who take part.

        Parameters
        ----------
        inputs
            The inputs of all users; see `Randomizer`.
        rng
            See `Randomizer`.

        Returns
        -------
        ndarray
            One report for each user who takes part.
        """
        (reports,) = super().sample([inputs], rng)
        return reports

    def estimate(self, reports: ArrayLike) -> FloatArray:  # type: ignore[override]
        """Estimate from the reports of the users who take part, a sample of all users.

        Parameters
        ----------
        reports
            Reports of `sample`.

        Returns
        -------
        ndarray
            See `Randomizer`; nan for every value if nobody takes part.
        """
        (shares,) = super().estimate([reports])
        return shares

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Return the variances, which include that of the sample of users."""
        return self.randomizer._variances(frequencies).sampled(self.rate)

    def check_size(self) -> None:
        """Raise ValueError for joints in the randomizer that are too large for memory."""
        check_sizes([self.randomizer])
