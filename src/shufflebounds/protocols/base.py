"""What every protocol offers: the decompositions that bound it, and how often to draw from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition

# A few roundings of closed forms.
CLOSED_FORM_ERR = 2.0**-50


class Reduction(NamedTuple):
    """A protocol's n users as decompositions and the number of users to evaluate them at.

    Any of the ``candidates`` may be the worst; each stands for both of its directions.
    """

    candidates: Mapping[str, Decomposition]
    draws: int


class Protocol(ABC):
    """A shuffle protocol whose privacy is that of a decomposition at some number of draws."""

    @abstractmethod
    def reduce(self, n: int) -> Reduction:
        """The reduction for `n` users who follow the protocol and keep what they send secret.

        Users who collude send nothing that hides anybody: leave them out of `n`. Raises ValueError
        unless n is an integer of at least 1 that leaves at most 10¹⁵ draws.
        """


@dataclass(frozen=True)
class MultiMessage(Protocol):
    """Protocols in which a user sends one message of its input, and ``blankets`` of no input.

    The observer is told what the other users' inputs made them send, which can only help it. What
    remains is the victim's message among the blanket messages of all n users, its own included,
    which are independent and of one law c. So the components of (a, b, c) are those of messages,
    c is all of that law, and 1 + n·blankets is the number of draws (docs/variation-ratio.md).
    """

    blankets: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        validation.whole("blankets", self.blankets, minimum=1)

    @abstractmethod
    def decomposition(self) -> Decomposition:
        """Laws of the victim's message on two inputs, as far apart as can be, and of a blanket."""

    def reduce(self, n: int) -> Reduction:
        """One decomposition, which the protocol's symmetry makes the worst, and 1 + n·blankets."""
        n = validation.users(n)
        draws = 1 + n * self.blankets
        if draws > validation.MAX_USERS:
            raise ValueError(
                f"n must leave at most {validation.MAX_USERS:.0e} blanket messages, got {n!r} "
                f"with {self.blankets} a user"
            )
        return Reduction({"": self.decomposition()}, draws)
