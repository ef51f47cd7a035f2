"""What the observer sees of all that users send, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


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
