"""What every protocol of the shuffle model offers to the bounds."""

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
from shufflebounds.randomizers.base import Randomizer, named_inputs
from shufflebounds.randomizers.crowds import Composition
from shufflebounds.randomizers.joint import Joint

# The three numbers that variation-ratio knows of a protocol (Wang et al., PVLDB 17(8), 2024).

# Of numbers that were rounded a few times: larger ones describe the protocol, too.
_UP = 1.0 + 2.0**-50


@dataclass(frozen=True)
class Ratios:
    """p, β and q of a protocol, as `bounds.variation_ratio` defines them, each rounded up."""

    p: float
    beta: float
    q: float

    @classmethod
    def rounded_up(cls, p: float | Fraction, beta: float | Fraction, q: float | Fraction) -> Ratios:
        """Of numbers that are known exactly, or up to a few roundings."""
        p, q = float(p) * _UP, float(q) * _UP
        return cls(p, min(float(beta) * _UP, largest_variation(p)), q)


def of_reports(eps0: float, pairs: Iterable[Decomposition]) -> Ratios:
    """Those of reports: p = q = e^{ε₀}, and the largest β of the pairs, or of all if none is given.

    ``eps0`` is ε₀ of all that a user sends (natural log). Raises ValueError unless 0 < ε₀ ≤ 300.
    """
    ratio = math.exp(validation.eps0(eps0)) * _UP
    variations = [total_variation(pair) for pair in pairs]
    return Ratios(ratio, min(max(variations, default=1.0), largest_variation(ratio)), ratio)


def total_variation(pair: Decomposition) -> float:
    """Σ(a − b)₊ of the laws of the victim's report, rounded up."""
    outer = pair.bounds()[1]
    err = outer.rel_err + 2.0**-52
    apart = np.maximum(outer.a * (1.0 + err) - outer.b * (1.0 - err), 0.0)
    return min(math.fsum(apart) * _UP, 1.0)


def largest_variation(p: float) -> float:
    """(p − 1)/(p + 1), rounded up: no two laws with ratios of at most p lie further apart."""
    return 1.0 if math.isinf(p) else min((p - 1.0) / (p + 1.0) * _UP, 1.0)


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

    @property
    def name(self) -> tuple[str, str, str]:
        """What tells it from others of the same protocol."""
        return self.differing, self.others, self.inputs


class InfeasibleError(ValueError):
    """There is no protocol that does what was asked of it; a curve has no point there."""


class Observation(NamedTuple):
    """What is published of all that users send, in the words of answers and reports.

    ``name`` is a plural, and ``observer`` says what can be seen and what is hidden. ``hidden_by``
    is what a user relies on for that. ``page`` states the assumptions, and ``sources`` has the
    theorems of bounds, by their names, that are others here than those of reports.
    """

    name: str
    observer: str
    hidden_by: str
    page: str
    sources: Mapping[str, str] = MappingProxyType({})


REPORTS = Observation(
    "shuffled reports",
    "The observer sees every shuffled report and may know all other users' values. The shuffler "
    "hides everything else: who sent what, order, time and network address.",
    "the shuffler",
    "docs/variation-ratio.md",
)
MESSAGES = Observation(
    "shuffled messages",
    "The observer sees every shuffled message and may know all other users' values. The shuffler "
    "hides everything else: who sent what, which messages are one user's, order, time and network "
    "address.",
    "the shuffler",
    "docs/variation-ratio.md",
    MappingProxyType(
        {
            "upper": "docs/variation-ratio.md, section 9: one message among those of no input",
            "lower": "docs/variation-ratio.md, section 9: a pair of datasets",
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
            "tight": "docs/aggregation.md, Theorem A; docs/closing-the-gap.md, Theorem 1, bounds "
            "each sum",
            "upper": "docs/aggregation.md, Theorem A; a blanket bounds each sum",
            "lower": "docs/aggregation.md: a pair of datasets",
        }
    ),
)


class Shuffles(NamedTuple):
    """Shuffles of one kind: what users send in each, how many users, and how often."""

    protocol: Protocol
    n: int
    times: int


class Protocol(ABC):
    """What users send, as decompositions and the number of draws from what others are sure of.

    Neighbouring datasets differ by the replacement of one user's input. All that is sent is
    independent given the inputs, and only what ``seen`` says is published of it.

    ``eps0`` is the local privacy parameter of all that one user sends (natural log), None where
    there is none.
    """

    eps0: float | None
    seen: ClassVar[Observation] = REPORTS

    @property
    def covered(self) -> str:
        """The users whom bounds cover, such as ``users of one level``; empty for all users."""
        return ""

    @property
    def caveat(self) -> str:
        """What its bounds take for granted beyond the rest, in a sentence; empty for nothing."""
        return ""

    @abstractmethod
    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Every pair that may be the worst: the largest divergence of them is an upper bound."""

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """Pairs of datasets to try, the divergence of each a lower bound; none unless known."""
        return ()

    def known_lower_candidates(self) -> tuple[Candidate, ...]:
        """The same; ValueError where there are none."""
        if found := self.lower_candidates():
            return found
        raise ValueError(f"no pair of datasets is known for a lower bound of {self!r}")

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

    def parts(self, n: int) -> tuple[Shuffles, ...]:
        """The shuffles that it takes, one after the other: itself, once, unless it is made of many.

        Of a protocol of several kinds of shuffles, candidates and draws are those of its parts.
        """
        return (Shuffles(self, n, 1),)

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

    def generic(self) -> Protocol:
        """What a bound sees that looks at ε₀ alone: the protocol itself, where it has none."""
        return self

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
    eps0: ClassVar[None] = None  # type: ignore[misc] # a single message may give its input away
    seen: ClassVar[Observation] = MESSAGES

    def __post_init__(self) -> None:
        validation.whole("blankets", self.blankets, minimum=1)

    @abstractmethod
    def decomposition(self) -> Decomposition:
        """Laws of the victim's message on two inputs, as far apart as can be, and of a blanket."""

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


# Every user sends one report of the same randomizer.


@dataclass(frozen=True)
class SingleMessage(Protocol):
    """One report a user, which may be composed of several that are sent together.

    ``eps0`` is that of the whole report (natural log); if left out, or if the parts' add up to a
    rounding more, it is the randomizer's.

    ``distance`` restricts the upper bound to inputs that differ in so many coordinates of a joint
    composition; None covers them all. Raises ValueError for a distance without a joint, or out of
    its range.
    """

    randomizer: Randomizer
    eps0: float | None = None
    distance: int | None = None

    def __post_init__(self) -> None:
        known = [eps0 for eps0 in (self.eps0, self.randomizer.eps0) if eps0 is not None]
        object.__setattr__(self, "eps0", max(known, default=None))
        if self.distance is None:
            return
        if not isinstance(self.randomizer, Joint):
            raise ValueError(
                "distance is only valid for the upper bound of a joint composition, "
                f"got {self.distance!r}"
            )
        self.randomizer.check_distance(self.distance)

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Every pair of inputs that may be the worst: one, where any two are alike.

        With a ``distance`` those that differ in so many coordinates.
        """
        randomizer = self.randomizer
        if not isinstance(randomizer, Joint):
            blankets = randomizer.blankets()
            return tuple(Candidate(one, "1", inputs=name) for name, one in blankets.items())
        blankets = randomizer.blankets(self.distance)
        if randomizer.is_alike:
            return tuple(Candidate(one, differing) for differing, one in blankets.items())
        differing = {one.inputs: one.differing for one in randomizer.patterns(self.distance)}
        return tuple(Candidate(one, differing[name], "", name) for name, one in blankets.items())

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """One for everything that all others may hold; the inputs differ in every coordinate."""
        count = len(self.randomizer.parts) if isinstance(self.randomizer, Joint) else 1
        everywhere = " ".join(str(i + 1) for i in range(count))
        named = ((named_inputs(name), one) for name, one in self.randomizer.dataset_pairs().items())
        return tuple(Candidate(one, everywhere, others, inputs) for (inputs, others), one in named)

    def generic(self) -> GenericReports:
        """Reports of the same ε₀; ValueError unless that is finite and more than 0."""
        return GenericReports(validation.eps0(self.eps0))

    def check_size(self) -> None:
        """Raise ValueError for a composition too large for memory, without composing it."""
        if isinstance(self.randomizer, Composition):
            self.randomizer.check_size()


@dataclass(frozen=True)
class GenericReports(Protocol):
    """Reports of which nothing is known but their ε₀, as for clones and generic bounds."""

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """None: the clones bring their own."""
        return ()


@dataclass(frozen=True)
class Calibrated(Protocol):
    """Reports of a mechanism of `values` values at the largest ε₀ that meets a target.

    That is (``target``, ``delta``) for ``n`` users, who report ``attributes`` attributes in one of
    the ways of `choose`, in ``rounds`` rounds that meet the target together; ``mechanism`` is its
    name, and ``by`` says what ε₀ rests on, ``mechanism`` or ``clone``. `bounds.ranking` finds
    ε₀ and the other parameters, and checks all of it.
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
    eps0: ClassVar[None] = None  # type: ignore[misc] # it is what is sought

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """None: ValueError, as what it leaks is the target, by definition."""
        raise ValueError("the protocol calibrated has errors only: its epsilon is the target")
