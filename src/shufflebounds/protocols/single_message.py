"""Every user sends one report of the same randomizer."""

from __future__ import annotations

from dataclasses import dataclass

from shufflebounds import validation
from shufflebounds.protocols.base import Candidate, Protocol
from shufflebounds.randomizers.base import Randomizer, named_inputs
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
