"""The best that decompositions of a randomizer can say, from above and from below."""

from __future__ import annotations

from operator import methodcaller

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound
from shufflebounds.bounds.renyi_accounting import accounted
from shufflebounds.protocols.base import Candidate, Protocol


def lower_candidates(protocol: Protocol) -> tuple[Candidate, ...]:
    """The pairs of datasets that are known of a protocol; ValueError where there are none."""
    found = protocol.lower_candidates()
    if not found:
        raise ValueError(f"no pair of datasets is known for a lower bound of {protocol!r}")
    return found


UPPER = divergence_bound(
    "upper",
    Kind.UPPER,
    label="upper bound",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorems 5-8 and 13: the blanket",
    knows_mechanism=True,
    candidates=methodcaller("upper_candidates"),
)

LOWER = divergence_bound(
    "lower",
    Kind.LOWER,
    label="lower bound",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorem 14: a pair of datasets",
    knows_mechanism=True,
    candidates=lower_candidates,
)

UPPER_ACCOUNTED = accounted(UPPER, "upper_renyi", "upper bound, Rényi accounting")
