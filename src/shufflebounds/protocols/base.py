"""What every protocol of the shuffle model offers to the bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from shufflebounds.decomposition import Decomposition


@dataclass(frozen=True)
class Candidate:
    """A pair of datasets whose divergence a bound has to consider, and what it is called.

    ``differing`` lists the coordinates in which the two inputs differ, such as ``1 2 4`` (empty
    where a bound looks at no inputs); ``others`` is what all other users hold in a lower bound.
    """

    decomposition: Decomposition
    differing: str = ""
    others: str = ""


class Protocol(ABC):
    """What users send, as decompositions and the number of draws from what others are sure of.

    ``eps0`` is the local privacy parameter of all that one user sends (natural log), None where
    there is none.
    """

    eps0: float | None

    @abstractmethod
    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Every pair that may be the worst: the largest divergence of them is an upper bound."""

    @abstractmethod
    def lower_candidates(self) -> tuple[Candidate, ...]:
        """Pairs of datasets to try: the divergence of each is a lower bound."""

    def draws(self, n: int) -> int:
        """How many draws of the GPARV `n` users make: n unless they send blanket messages."""
        return n
