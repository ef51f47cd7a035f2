"""What every protocol of the shuffle model offers to the bounds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.ratios import Ratios, of_reports

# A few roundings of closed forms.
CLOSED_FORM_ERR = 2.0**-50


@dataclass(frozen=True)
class Candidate:
    """A pair of datasets whose divergence a bound has to consider, and what it is called.

    ``differing`` lists the coordinates in which the two inputs differ, such as ``1 2 4`` (empty
    where a bound looks at no inputs); ``others`` is what all other users hold in a lower bound.
    ``inputs`` names the two inputs where not any two are alike, such as ``0 against 3``.
    """

    decomposition: Decomposition
    differing: str = ""
    others: str = ""
    inputs: str = ""


class InfeasibleError(ValueError):
    """There is no protocol that does what was asked of it; a curve has no point there."""


class Reduction(NamedTuple):
    """What n users reduce to: decompositions, any of which may be the worst, and draws."""

    candidates: tuple[Candidate, ...]
    draws: int


class Part(NamedTuple):
    """Shuffles of one kind: what users send in each, how many users, and how often."""

    protocol: Protocol
    n: int
    times: int


class Protocol(ABC):
    """What users send, as decompositions and the number of draws from what others are sure of.

    Neighbouring datasets differ by the replacement of one user's input. All that is sent is
    independent given the inputs, and only the multiset of messages is seen.

    ``eps0`` is the local privacy parameter of all that one user sends (natural log), None where
    there is none.
    """

    eps0: float | None

    @abstractmethod
    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Every pair that may be the worst: the largest divergence of them is an upper bound."""

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """Pairs of datasets to try, the divergence of each a lower bound; none unless known."""
        return ()

    def of_lower_bounds(self) -> Protocol:
        """The protocol whose `lower_candidates` and `draws` make lower bounds.

        It is another one where messages that an upper bound gives away hide the victim too.
        """
        return self

    def draws(self, n: int) -> int:
        """How many draws of the GPARV `n` users make: n unless they send blanket messages.

        The users who follow the protocol and keep what they send secret: those who collude send
        nothing that hides anybody, so leave them out of `n`.
        """
        return validation.users(n)

    def parts(self, n: int) -> tuple[Part, ...]:
        """The shuffles that it takes, one after the other: itself, once, unless it is made of many.

        Of a protocol of several kinds of shuffles, candidates and draws are those of its parts.
        """
        return (Part(self, n, 1),)

    def reduce(self, n: int) -> Reduction:
        """What decides the upper bound for `n` users; ValueError for an n out of range."""
        return Reduction(self.upper_candidates(), self.draws(n))

    def ratios(self) -> Ratios:
        """The three numbers that variation-ratio knows; ValueError where there are none.

        For a protocol with an ε₀: p = q = e^{ε₀}, and β of its pairs.
        """
        if self.eps0 is None or math.isinf(self.eps0):
            raise ValueError(
                "variation-ratio needs a protocol with an eps0, or with ratios of its own, got "
                f"{type(self).__name__}"
            )
        return of_reports(self.eps0, (pair.decomposition for pair in self.upper_candidates()))

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """ε that the protocol's authors proved for `n` users, rounded up; None outside its range.

        ValueError for a protocol without such an analysis.
        """
        raise ValueError(f"{type(self).__name__} has no analysis of its authors")


@dataclass(frozen=True)
class MultiMessage(Protocol):
    """Protocols in which a user sends one message of its input, and ``blankets`` of no input.

    A user's messages are independent of each other, and n counts the victim and the others who
    follow the protocol. The observer is told what the other users' inputs made them send, which can
    only help it. What remains is the victim's message among the blanket messages of all n users,
    its own included, which are independent and of one law c. So the components of (a, b, c) are
    those of messages, c is all of that law, and 1 + n·blankets is the number of draws
    (docs/variation-ratio.md).
    """

    blankets: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        validation.whole("blankets", self.blankets, minimum=1)

    @abstractmethod
    def decomposition(self) -> Decomposition:
        """Laws of the victim's message on two inputs, as far apart as can be, and of a blanket."""

    @property
    def eps0(self) -> None:  # type: ignore[override]
        """None: a single message may give its input away."""
        return

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """One decomposition, which the protocol's symmetry makes the worst."""
        return (Candidate(self.decomposition()),)

    def draws(self, n: int) -> int:
        """The victim's message and all blanket messages, 1 + n·blankets."""
        draws = 1 + validation.users(n) * self.blankets
        if draws > validation.MAX_USERS:
            raise ValueError(
                f"n must leave at most {validation.MAX_USERS:.0e} blanket messages, got {n!r} "
                f"with {self.blankets} a user"
            )
        return draws
