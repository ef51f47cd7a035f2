"""Decision trees from shuffled histograms (Wang et al., Appl. Sci. 15(3), 2025, Section 8.2)."""

from __future__ import annotations

from dataclasses import dataclass

from shufflebounds import validation
from shufflebounds.protocols.balls_into_bins import BallsIntoBins
from shufflebounds.protocols.base import Candidate, Part, Protocol

# 2^{h+1} categories have to fit.
_HIGHEST = 40


@dataclass(frozen=True)
class DecisionTrees(Protocol):
    """``trees`` trees of ``height`` levels, one after the other, over binary ``attributes``.

    At level h = 0, 1, …, each of the attributes that are left, d − h of them, is counted in all 2^h
    nodes by one histogram of 2^{h+1} categories: a query, in which all users take part with one
    message of their own category and ``messages`` − 1 uniform ones. Raises ValueError unless the
    height is 1 to 40, there are at least as many attributes, at least 2 messages and 1 tree.
    """

    height: int
    attributes: int
    messages: int
    trees: int = 1

    def __post_init__(self) -> None:
        validation.whole("height", self.height, minimum=1, maximum=_HIGHEST)
        validation.whole("attributes", self.attributes, minimum=self.height)
        validation.whole("messages", self.messages, minimum=2)
        validation.whole("trees", self.trees, minimum=1)

    @property
    def eps0(self) -> None:  # type: ignore[override]
        """None: a single message gives its category away."""
        return

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """Those of the parts."""
        raise TypeError("trees take several shuffles: ask their parts")

    def parts(self, n: int) -> tuple[Part, ...]:
        """The queries of each level."""
        return tuple(
            Part(
                BallsIntoBins(bins=2 ** (level + 1), blankets=self.messages - 1),
                n,
                self.trees * (self.attributes - level),
            )
            for level in range(self.height)
        )
