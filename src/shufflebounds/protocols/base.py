"""Protocols of several messages, and reports at the ε₀ that meets a target."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.subjects.base import ANY_AIM, Aim, GivenSource, Shuffle, Source, Subject
from shufflebounds.subjects.observation import MESSAGES, Observation
from shufflebounds.subjects.ratios import Ratios


@dataclass(frozen=True)
class MultiMessage(Subject):
    """Protocols in which a user sends one message about its input and ``blankets`` about no input.

    A user's messages are independent of each other, and n counts the victim and the others who
    follow the protocol. The bounds assume that the observer knows the other users' messages about
    their inputs, which can only help the observer. What remains is the victim's message among the
    blanket messages of all n users, the victim's included. The blanket messages are independent and
    have one law c. Therefore the components of the decomposition (a, b, c) are messages, the masses
    c sum to 1, and the number of draws is 1 + n·blankets (docs/proofs/variation-ratio.md).
    """

    blankets: int = field(default=1, kw_only=True)
    # There is no ε₀, since a single message may reveal its input.
    eps0: ClassVar[None] = None  # type: ignore[misc]
    seen: ClassVar[Observation] = MESSAGES

    def __post_init__(self) -> None:
        validation.whole("blankets", self.blankets, minimum=1)

    @abstractmethod
    def decomposition(self) -> Decomposition:
        """Return the laws of the victim's message for the two worst inputs, and of a blanket."""

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return pairs of datasets by what the others hold, possibly none, for lower bounds."""
        return {}

    @abstractmethod
    def ratios(self) -> Ratios:
        """Return p, β and q."""

    @cached_property
    def worst_pair(self) -> Decomposition:
        """The decomposition, which is the worst by symmetry."""
        return self.decomposition()

    @cached_property
    def source(self) -> Source:
        """What one message tells."""
        return GivenSource({"": self.worst_pair}, self.dataset_pairs(), None, self, self.ratios)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [Shuffle(self.source, self.draws(n), lower_draws=self.lower_draws(n))]

    def lower_draws(self, n: int) -> int:
        """Return the number of messages that hide the victim in lower bounds."""
        return self.draws(n)

    def draws(self, n: int) -> int:
        """Return the number of blanket messages and the victim's message, 1 + n·blankets."""
        draws = 1 + validation.users(n) * self.blankets
        if draws > validation.MAX_USERS:
            raise ValueError(
                f"n must leave at most {validation.MAX_USERS:.0e} blanket messages, got {n!r} "
                f"with {self.blankets} a user"
            )
        return draws


@dataclass(frozen=True)
class Calibrated(Subject):
    """Reports by one mechanism at the largest ε₀ that meets a target.

    The target is ε = ``target`` and δ = ``delta`` for ``n`` users and all ``rounds`` rounds
    together. Each user reports ``attributes`` attributes of ``values`` values each, in the ``way``
    that is one of those of `choose`, in at most ``most_messages`` messages per shuffle.
    ``mechanism`` is the name of the mechanism. ``by`` names what proves ε₀: ``mechanism`` or
    ``clone``. `questions.ranking` validates these parameters and finds ε₀ and the other parameters.
    """

    target: float
    n: int
    delta: float
    mechanism: str
    values: int
    attributes: int = 1
    way: str = "separate"
    by: str = "mechanism"
    rounds: int = 1
    most_messages: int = 1
    # `questions.ranking` finds ε₀.
    eps0: ClassVar[None] = None  # type: ignore[misc]

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """Raise ValueError, because the ε of this protocol is its target by definition."""
        raise ValueError("the protocol calibrated has errors only: its epsilon is the target")
