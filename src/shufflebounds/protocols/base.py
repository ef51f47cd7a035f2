"""The interface of protocols of the shuffle model, and protocols of single messages."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.relation import Relation
from shufflebounds.randomizers.base import STRONGER_CLONE, Randomizer, named_inputs
from shufflebounds.randomizers.composition import Composition
from shufflebounds.randomizers.joint import Joint

# Factor that exceeds the error of a few roundings of p, β or q. Larger numbers are valid as well.
RATIOS_UP = 1.0 + 2.0**-50


@dataclass(frozen=True)
class Ratios:
    """p, β and q of a protocol, as `bounds.variation_ratio` defines them, each rounded up.

    The source is Wang et al., PVLDB 17(8), 2024.
    """

    p: float
    beta: float
    q: float

    @classmethod
    def rounded_up(cls, p: float | Fraction, beta: float | Fraction, q: float | Fraction) -> Ratios:
        """Return the ratios, rounded up, of numbers that are exact or off by a few roundings."""
        p, q = float(p) * RATIOS_UP, float(q) * RATIOS_UP
        return cls(p, min(float(beta) * RATIOS_UP, largest_variation(p)), q)


def ratios_of_reports(eps0: float, pairs: Iterable[Decomposition]) -> Ratios:
    """Return p = q = e^{ε₀} and the largest β of the pairs; without pairs, the largest possible β.

    ``eps0`` is ε₀ of all that a user sends (natural log). Raises ValueError unless 0 < ε₀ ≤ 300.
    """
    ratio = math.exp(validation.eps0(eps0)) * RATIOS_UP
    variations = [total_variation(pair) for pair in pairs]
    return Ratios(ratio, min(max(variations, default=1.0), largest_variation(ratio)), ratio)


def total_variation(pair: Decomposition) -> float:
    """Return Σ(a − b)₊ for the laws of the victim's report, rounded up."""
    outer = pair.bounds()[1]
    err = outer.rel_err + 2.0**-52
    differences = np.maximum(outer.a * (1.0 + err) - outer.b * (1.0 - err), 0.0)
    return min(math.fsum(differences) * RATIOS_UP, 1.0)


def largest_variation(p: float) -> float:
    """Return (p − 1)/(p + 1), rounded up: the largest distance of laws with ratios of at most p."""
    return 1.0 if math.isinf(p) else min((p - 1.0) / (p + 1.0) * RATIOS_UP, 1.0)


def pure_eps(eps0: float | None, rounds: int) -> float:
    """Return ε₀ times rounds, rounded up: the ε at which δ is 0. It is inf if there is no ε₀."""
    return math.inf if eps0 is None else Enclosure(eps0, eps0).times(rounds).upper


@dataclass(frozen=True)
class Candidate:
    """A pair of datasets whose divergence a bound has to consider, and its names.

    ``differing`` lists the coordinates in which the two inputs differ, such as ``1 2 4``; it is
    empty if a bound looks at no inputs. ``others`` is the input of all other users in a lower
    bound. ``inputs`` names the two inputs, such as ``0 against 3``, unless all pairs are alike.
    """

    decomposition: Decomposition
    differing: str = ""
    others: str = ""
    inputs: str = ""

    @property
    def name(self) -> tuple[str, str, str]:
        """The names that distinguish this candidate from others of the same protocol."""
        return self.differing, self.others, self.inputs


class InfeasibleError(ValueError):
    """No protocol has the requested parameters; a curve has no point there."""


class Observation(NamedTuple):
    """What the observer sees of all that users send, as text for answers and reports.

    ``name`` says what is seen, in the plural. ``observer`` states what is seen and what is hidden,
    ``hidden_by`` names the part of the system that hides it, and ``page`` is the document with the
    assumptions. ``sources`` maps the name of a bound to its theorem if this differs from the one
    for shuffled reports. ``labels`` maps the name of a bound to its label if this differs, too.
    """

    name: str
    observer: str
    hidden_by: str
    page: str
    sources: Mapping[str, str] = MappingProxyType({})
    labels: Mapping[str, str] = MappingProxyType({})


REPORTS = Observation(
    "shuffled reports",
    "The observer sees every shuffled report and may know all other users' values. The shuffler "
    "hides everything else: who sent what, order, time and network address.",
    "the shuffler",
    "docs/proofs/variation-ratio.md",
)
MESSAGES = Observation(
    "shuffled messages",
    "The observer sees every shuffled message and may know all other users' values. The shuffler "
    "hides everything else: who sent what, which messages are one user's, order, time and network "
    "address.",
    "the shuffler",
    "docs/proofs/variation-ratio.md",
    MappingProxyType(
        {
            "blanket": "docs/proofs/variation-ratio.md, section 9: one message among blanket "
            "messages",
            "lower": "docs/proofs/variation-ratio.md, section 9: a pair of datasets",
        }
    ),
)
SUMS = Observation(
    "sums of all coordinates",
    "The observer sees how many users sent a one in each coordinate, nothing else, and may know "
    "all other users' values. Secure aggregation hides single bit vectors and partial sums.",
    "secure aggregation",
    "docs/aggregation.md",
    MappingProxyType(
        {
            "best": "docs/aggregation.md, Theorem A; docs/proofs/closing-the-gap.md, Theorem 1, "
            "bounds each sum",
            "blanket": "docs/aggregation.md, Theorem A; a blanket bounds each sum",
            "lower": "docs/aggregation.md: a pair of datasets",
        }
    ),
)


class Shuffles(NamedTuple):
    """Shuffles of one kind: the protocol, the number of users, and the number of shuffles."""

    protocol: Protocol
    n: int
    times: int


class Protocol(ABC):
    """What users send, as decompositions and a number of draws of G, the GPARV (docs/glossary.md).

    Neighbouring datasets differ by the replacement of one user's input. All messages are
    independent given the inputs, and the observer sees only what ``seen`` says.

    ``eps0`` is the local privacy parameter of all that one user sends (natural log), or None.
    """

    eps0: float | None
    seen: ClassVar[Observation] = REPORTS
    relation: ClassVar[Relation] = Relation.REPLACE

    @property
    def covered(self) -> str:
        """The users whom the bounds cover, such as ``users of one level``; empty for all users."""
        return ""

    @property
    def caveat(self) -> str:
        """A sentence with further assumptions of the bounds; empty if there are none."""
        return ""

    @abstractmethod
    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Return every pair that may be the worst: the largest divergence is an upper bound."""

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """Return pairs of datasets, possibly none; the divergence of each is a lower bound."""
        return ()

    def known_lower_candidates(self) -> tuple[Candidate, ...]:
        """Return the `lower_candidates`; raise ValueError if there are none."""
        if candidates := self.lower_candidates():
            return candidates
        raise ValueError(f"no pair of datasets is known for a lower bound of {self!r}")

    def of_lower_bounds(self) -> Protocol:
        """Return the protocol whose `lower_candidates` and `draws` give lower bounds.

        Upper bounds may assume that the observer knows messages that in fact hide the victim. Lower
        bounds must count these messages, so they need another protocol.
        """
        return self

    def draws(self, n: int) -> int:
        """Return the number of draws of the GPARV: n unless users send blanket messages.

        `n` counts only users who follow the protocol and keep their messages secret. The messages
        of colluding users hide nobody.
        """
        return validation.users(n)

    def parts(self, n: int) -> tuple[Shuffles, ...]:
        """Return the shuffles that the protocol consists of; by default, one shuffle of itself.

        If there are several kinds of shuffles, each part has its own candidates and draws.
        """
        return (Shuffles(self, n, 1),)

    def pure_eps(self, rounds: int) -> float:
        """Return an ε at which δ is 0 over so many rounds: `pure_eps`, or inf if there is none."""
        return pure_eps(self.eps0, rounds)

    def ratios(self) -> Ratios:
        """Return p, β and q of the protocol; raise ValueError if there are none.

        A protocol with an ε₀ has p = q = e^{ε₀}, and the β of its pairs.
        """
        if self.eps0 is None or math.isinf(self.eps0):
            raise ValueError(
                "variation-ratio needs a protocol with an eps0, or with ratios of its own, got "
                f"{type(self).__name__}"
            )
        return ratios_of_reports(
            self.eps0, (pair.decomposition for pair in self.upper_candidates())
        )

    def generic(self) -> Protocol:
        """Return the protocol for bounds that look at ε₀ alone; itself if it has no ε₀."""
        return self

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """Return the ε that the protocol's authors proved for `n` users, rounded up.

        Return None outside the range of their proof. Raise ValueError if the authors proved no ε.
        """
        raise ValueError(f"{type(self).__name__} has no analysis of its authors")


@dataclass(frozen=True)
class MultiMessage(Protocol):
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

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Return one decomposition, which is the worst by symmetry."""
        return (Candidate(self.decomposition()),)

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
class SingleReport(Protocol):
    """One report per user, which may be composed of several reports that are sent together.

    ``eps0`` is that of the whole report (natural log). If it is left out or smaller than the
    randomizer's, which rounding may cause, it is the randomizer's.

    ``distance`` restricts the upper bound to inputs that differ in exactly this number of
    coordinates of a joint composition; None covers all inputs. Raises ValueError for a distance
    that is out of range, or if the randomizer is no joint composition.
    """

    randomizer: Randomizer
    eps0: float | None = None
    distance: int | None = None

    def __post_init__(self) -> None:
        budgets = [eps0 for eps0 in (self.eps0, self.randomizer.eps0) if eps0 is not None]
        object.__setattr__(self, "eps0", max(budgets, default=None))
        if self.distance is None:
            return
        if not isinstance(self.randomizer, Joint):
            raise ValueError(
                "distance is only valid for the blanket of a joint composition, "
                f"got {self.distance!r}"
            )
        self.randomizer.check_distance(self.distance)

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Return every pair of inputs that may be the worst: one pair if all are alike.

        With a ``distance``, the two inputs differ in that number of coordinates.
        """
        randomizer = self.randomizer
        if not isinstance(randomizer, Joint):
            blankets = randomizer.blankets()
            return tuple(Candidate(blanket, "1", inputs=name) for name, blanket in blankets.items())
        blankets = randomizer.blankets(self.distance)
        if STRONGER_CLONE in blankets:
            return (Candidate(blankets[STRONGER_CLONE]),)
        if randomizer.is_alike:
            return tuple(Candidate(blanket, differing) for differing, blanket in blankets.items())
        differing = {
            pattern.inputs: pattern.differing for pattern in randomizer.patterns(self.distance)
        }
        return tuple(
            Candidate(blanket, differing[name], "", name) for name, blanket in blankets.items()
        )

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """Return the dataset pairs; the victim's inputs differ in every coordinate."""
        count = len(self.randomizer.parts) if isinstance(self.randomizer, Joint) else 1
        all_coordinates = " ".join(str(i + 1) for i in range(count))
        candidates = []
        randomizer = self.randomizer.by_matrix or self.randomizer
        for name, pair in randomizer.dataset_pairs().items():
            inputs, others = named_inputs(name)
            candidates.append(Candidate(pair, all_coordinates, others, inputs))
        return tuple(candidates)

    def generic(self) -> GenericReports:
        """Return reports of the same ε₀; raise ValueError unless it is finite and above 0."""
        return GenericReports(validation.eps0(self.eps0))

    def check_size(self) -> None:
        """Raise ValueError for a composition too large for memory, without composing it."""
        if isinstance(self.randomizer, Composition):
            self.randomizer.check_size()


@dataclass(frozen=True)
class GenericReports(Protocol):
    """Reports of which only ε₀ is known, for clones and generic bounds."""

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Return no pair: the clones have their own."""
        return ()


@dataclass(frozen=True)
class Calibrated(Protocol):
    """Reports by one mechanism at the largest ε₀ that meets a target.

    The target is ε = ``target`` and δ = ``delta`` for ``n`` users and all ``rounds`` rounds
    together. Each user reports ``attributes`` attributes of ``values`` values each, in the ``way``
    that is one of those of `choose`, in at most ``most_messages`` messages per shuffle.
    ``mechanism`` is the name of the mechanism. ``by`` names what proves ε₀: ``mechanism`` or
    ``clone``. `bounds.ranking` validates these parameters and finds ε₀ and the other parameters.
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
    # `bounds.ranking` finds ε₀.
    eps0: ClassVar[None] = None  # type: ignore[misc]

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Raise ValueError, because the ε of this protocol is its target by definition."""
        raise ValueError("the protocol calibrated has errors only: its epsilon is the target")


# Deprecated name of `SingleReport`.
SingleMessage = SingleReport
