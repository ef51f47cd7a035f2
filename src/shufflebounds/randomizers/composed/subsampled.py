"""Poisson subsampling: the user takes part with some probability."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shufflebounds import validation
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.mixtures import subsample
from shufflebounds.randomizers.base import Choice, Randomizer
from shufflebounds.randomizers.composed.parts import Composition, check_sizes, checked, lacking


@dataclass(frozen=True)
class Subsampled(Composition):
    """Poisson subsampling: the user takes part with probability ``rate``, else reports ⊥ (Ex. 4.4).

    Raises ValueError unless 0 ≤ ``rate`` ≤ 1.
    """

    randomizer: Randomizer
    rate: float

    def __post_init__(self) -> None:
        # ⊥ shifts the GPARV, which may change which pair of inputs is the worst.
        checked([self.randomizer], several=True)
        validation.probability("rate", self.rate)

    @property
    def label(self) -> str:
        """Such as 10-RR at rate 0.1."""
        return f"{self.randomizer.label} at rate {self.rate:g}"

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """That of the randomizer; ⊥ says nothing."""
        return self.randomizer.eps0

    def lacking(self) -> str:
        """See `Composition`; ⊥ has the same masses for all inputs."""
        return lacking(self.randomizer)

    def blanket(self) -> Decomposition:
        """Of the same inputs, ⊥ being sure of its share of every user's reports."""
        return subsample(self.randomizer.blanket(), self.rate)

    def crowds(self) -> tuple[Crowd, ...]:
        """Of the same inputs."""
        return tuple(crowd.subsample(self.rate) for crowd in self.randomizer.crowds())

    def blankets(self) -> dict[str, Decomposition]:
        """Of the same pairs of inputs."""
        pairs = self.randomizer.blankets()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def choices(self, *, apart: bool = False) -> tuple[Choice, ...]:
        """See `Randomizer`; ⊥ adds the same to f of any of them."""
        return tuple(
            replace(one, decomposition=subsample(one.decomposition, self.rate))
            for one in self.randomizer.choices(apart=apart)
        )

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Of the same datasets."""
        pairs = self.randomizer.dataset_pairs()
        return {name: subsample(pair, self.rate) for name, pair in pairs.items()}

    def check_size(self) -> None:
        """Raise ValueError for joints in the randomizer that are too large for memory."""
        check_sizes([self.randomizer])
