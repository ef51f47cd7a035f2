"""Reports of which nothing but ε₀ is known."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from shufflebounds.core.clones import stronger_clone
from shufflebounds.protocols.base import REPORTS, Candidate, GenericReports, Observation
from shufflebounds.randomizers.discrete import KRR

REPORTS_OF_ANY = REPORTS._replace(
    sources=MappingProxyType(
        {
            "blanket": "docs/proofs/variation-ratio.md, section 5: the stronger clone",
            "lower": "datasets of randomized response of two or three values",
        }
    ),
    labels=MappingProxyType({"blanket": "stronger clone"}),
)


@dataclass(frozen=True)
class AnyMechanism(GenericReports):
    """Any mechanism with this ε₀: one report per user, of one mechanism that all users share.

    What holds for every such mechanism holds for it. The upper bound is the stronger clone. The
    lower bound is that of randomized response of two or of three values. A smaller claim is false
    for that mechanism, and therefore no statement about all of them.

    Raises ValueError unless 0 < ε₀ ≤ 300.
    """

    seen: ClassVar[Observation] = REPORTS_OF_ANY

    @property
    def caveat(self) -> str:
        """A sentence that says what is assumed, and what the lower bound is about."""
        return (
            "All users must share one mechanism with this eps0; the lower bound is that of "
            "randomized response of two or three values, and another mechanism may leak less."
        )

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Return the stronger clone."""
        return (Candidate(stronger_clone(self.eps0)),)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """Return pairs of two mechanisms: all others hold a third value, or the victim's second."""
        two, three = (KRR(k, self.eps0).dataset_pairs() for k in (2, 3))
        return Candidate(three["third"], others="third"), Candidate(two["x1"], others="x1")

    def generic(self) -> GenericReports:
        """Return the reports for bounds that look at ε₀ alone."""
        return GenericReports(self.eps0)
