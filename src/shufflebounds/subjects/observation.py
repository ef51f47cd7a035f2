"""What the observer sees of all that users send, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Words(NamedTuple):
    """How answers call those whom neighbouring datasets differ in, and what questions count.

    Parameters
    ----------
    person
        Whom neighbouring datasets differ in.
    unit
        What ``n`` counts.
    period
        What ``rounds`` counts.
    certainty
        What an attacker may be certain of if ε is large.
    attack
        What an attacker sees and tells apart.
    conditions
        Who must do what, in reports.
    not_covered
        What the answer leaves out, in reports.
    rounds
        What holds for several ``{rounds}``, by the bound with the label ``{upper}``.
    no_cover
        Why nobody may collude or drop out; empty if they may.
    """

    person: str = "user"
    unit: str = "user"
    period: str = "round"
    certainty: str = (
        "an attacker may be certain of a user's value, since a guess between two values may be "
        "wrong less than once in 20000 times"
    )
    attack: str = (
        "The attacker sees all that is shuffled, knows all other users' values, and tells which of "
        "two values the victim had. A false positive takes the first value for the second, a false "
        "negative the second for the first."
    )
    conditions: str = (
        "All users run the stated mechanism with their own randomness. Those who do not, or who "
        "collude with the observer, provide no cover for others: colluding and dropout subtract "
        "them from n."
    )
    not_covered: str = (
        "Not covered: anything a user sends outside the protocol, and errors of the software that "
        "implements it."
    )
    rounds: str = (
        "{rounds} are separate, with fresh randomness. The {upper} covers everything published "
        "together."
    )
    no_cover: str = ""

    @property
    def counts(self) -> dict[str, str]:
        """The names of counts, which are options of the command line, by those of settings."""
        return {"n": f"{self.unit}s", "rounds": f"{self.period}s"}


class Observation(NamedTuple):
    """What the observer sees of all that users send, as text for answers and reports.

    ``name`` says what is seen, in the plural. ``observer`` states what is seen and what is hidden,
    ``hidden_by`` names the part of the system that hides it, and ``page`` is the document with the
    assumptions. ``sources`` maps the name of a bound to its theorem if this differs from the one
    for shuffled reports. ``labels`` maps the name of a bound to its label if this differs, too.
    ``upper`` is the name of the upper bound without crowds, and ``words`` are those of answers.
    """

    name: str
    observer: str
    hidden_by: str
    page: str
    sources: Mapping[str, str] = MappingProxyType({})
    labels: Mapping[str, str] = MappingProxyType({})
    upper: str = "blanket"
    words: Words = Words()


REPORTS = Observation(
    "shuffled reports",
    "The observer sees every shuffled report and may know all other users' values. The shuffler "
    "hides everything else: who sent what, order, time and network address.",
    "the shuffler",
    "docs/proofs/variation-ratio.md",
)
COHORT_REPORTS = Observation(
    "shuffled reports",
    "The observer sees every shuffled report and may know all users' values. The shuffler hides "
    "everything else: who was drawn, who sent what, order, time and network address.",
    "the shuffler",
    "docs/proofs/cohorts.md",
    MappingProxyType(
        {
            "best": "docs/proofs/cohorts.md, Theorem 2, or the blanket where that is smaller",
            "blanket": "docs/proofs/cohorts.md, Theorem 1: the blanket",
            "lower": "docs/proofs/cohorts.md, Theorem 1: a pair of datasets",
            "stronger_clone": "docs/proofs/cohorts.md, section 2: the stronger clone",
        }
    ),
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
    "docs/proofs/aggregation.md",
    MappingProxyType(
        {
            "best": "docs/proofs/aggregation.md, Theorem A; docs/proofs/closing-the-gap.md, "
            "Theorem 1, bounds each sum",
            "blanket": "docs/proofs/aggregation.md, Theorem A; a blanket bounds each sum",
            "lower": "docs/proofs/aggregation.md: a pair of datasets",
        }
    ),
)
