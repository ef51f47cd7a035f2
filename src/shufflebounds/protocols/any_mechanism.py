"""Reports of which nothing but ε₀ is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from shufflebounds.core import validation
from shufflebounds.core.clones import stronger_clone
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.subjects.base import ANY_AIM, Aim, GivenSource, Shuffle, Source, Subject
from shufflebounds.subjects.observation import REPORTS, Observation

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
class AnyMechanism(Subject):
    """Any mechanism with this ε₀: one report per user, of one mechanism that all users share.

    The upper bound is the stronger clone. The lower bound is that of randomized response of two or
    of three values. A smaller claim is false for that mechanism, but may be true for others.

    Raises ValueError unless 0 < ε₀ ≤ 300.
    """

    eps0: float
    seen: ClassVar[Observation] = REPORTS_OF_ANY

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    @property
    def caveat(self) -> str:
        """A sentence that says what is assumed, and what the lower bound is about."""
        return (
            "All users must share one mechanism with this eps0; the lower bound is that of "
            "randomized response of two or three values, and another mechanism may leak less."
        )

    @cached_property
    def source(self) -> Source:
        """What one report tells: the stronger clone, and pairs of datasets of two mechanisms.

        In these, all others hold a third value, or the victim's second.
        """
        two, three = (KRR(k, self.eps0).dataset_pairs() for k in (2, 3))
        pairs = {"third": three["third"], "x1": two["x1"]}
        return GivenSource({"": stronger_clone(self.eps0)}, pairs, self.eps0, self)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [Shuffle(self.source, n)]
