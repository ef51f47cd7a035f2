"""Every user sends one report of the same randomizer."""

from __future__ import annotations

from dataclasses import dataclass

from shufflebounds import validation
from shufflebounds.protocols.base import Candidate, Protocol
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.composed import Composition, Joint


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
        """The blanket, or one for every choice of as many coordinates as ``distance`` says."""
        # Only a joint has a distance.
        if self.distance is None or not isinstance(self.randomizer, Joint):
            return (Candidate(self.randomizer.blanket(), self._everywhere),)
        blankets = self.randomizer.blankets(self.distance)
        return tuple(Candidate(blanket, differing) for differing, blanket in blankets.items())

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """One for everything that all others may hold; the inputs differ in every coordinate."""
        pairs = self.randomizer.dataset_pairs()
        return tuple(Candidate(pair, self._everywhere, others) for others, pair in pairs.items())

    def check_size(self) -> None:
        """Raise ValueError for a composition too large for memory, without composing it."""
        if isinstance(self.randomizer, Composition):
            self.randomizer.check_size()

    @property
    def _everywhere(self) -> str:
        """All coordinates."""
        count = len(self.randomizer.parts) if isinstance(self.randomizer, Joint) else 1
        return " ".join(str(i + 1) for i in range(count))


@dataclass(frozen=True)
class GenericReports(Protocol):
    """Reports of which nothing is known but their ε₀, as for clones and generic bounds."""

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    def upper_candidates(self) -> tuple[Candidate, ...]:
        """None: the clones bring their own."""
        return ()
