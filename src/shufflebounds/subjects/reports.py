"""One report per user: of a randomizer, of a decomposition, or of several."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from shufflebounds.core.clones import STRONGER_CLONE
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.relation import Relation, common_relation
from shufflebounds.randomizers.base import Randomizer, named_inputs
from shufflebounds.randomizers.composition import Composition
from shufflebounds.randomizers.joint import Joint
from shufflebounds.subjects.base import (
    ANY_AIM,
    Aim,
    GivenSource,
    PairName,
    Shuffle,
    Source,
    Subject,
)

# Randomizers whose sources are kept. A source of a large matrix may take a hundred MB.
MAX_KEPT_SOURCES = 8


class RandomizerSource(Source):
    """What one report of a randomizer tells.

    The simple bound is the stronger clone of its ε₀ (docs/proofs/variation-ratio.md, section 5).
    """

    def __init__(self, randomizer: Randomizer) -> None:
        self.randomizer = randomizer
        self.eps0 = proven_eps0(randomizer)

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        """See `Source`."""
        return self.randomizer

    @cached_property
    def blankets(self) -> Mapping[str, Decomposition]:  # type: ignore[override]
        """The blanket of every pair of inputs that may be the worst."""
        return self.randomizer.blankets()

    @cached_property
    def few_blankets(self) -> Mapping[str, Decomposition] | None:  # type: ignore[override]
        """The blankets of the crowds, if these cover all pairs; a list of blankets may be long."""
        if self.crowds and all(crowd.tried for crowd in self.crowds):
            return {str(i): crowd.blanket() for i, crowd in enumerate(self.crowds)}
        return None

    @cached_property
    def datasets(self) -> Mapping[str, Decomposition]:  # type: ignore[override]
        """See `Source`."""
        return self.randomizer.known_datasets()

    @cached_property
    def crowds(self) -> tuple[Crowd, ...]:  # type: ignore[override]
        """See `Source`."""
        return self.randomizer.crowds()

    @cached_property
    def few_crowds(self) -> tuple[Crowd, ...]:  # type: ignore[override]
        """See `Source`."""
        return self.randomizer.few_crowds()

    @cached_property
    def simple(self) -> Decomposition | None:  # type: ignore[override]
        """See `Source`."""
        return self.randomizer.simple_bound()

    is_given = False

    def blanket_inputs(self, name: str) -> PairName:
        """See `Source`."""
        if name == STRONGER_CLONE:
            return PairName()
        return PairName(*self.randomizer.named_blanket(name))

    def dataset_inputs(self, name: str) -> PairName:
        """See `Source`."""
        return PairName(self.randomizer.coordinates, *named_inputs(name))


def proven_eps0(randomizer: Randomizer) -> float | None:
    """Return ε₀ of a randomizer; none is believed that its matrix contradicts."""
    eps0 = getattr(randomizer, "eps0", None)
    if eps0 is None or randomizer.by_matrix is None:
        return eps0
    return max(eps0, randomizer.by_matrix.eps0)


@lru_cache(MAX_KEPT_SOURCES)
def source_of(randomizer: Randomizer) -> RandomizerSource:
    """Return the source of a randomizer, which is kept for the next question."""
    return RandomizerSource(randomizer)


class DistantSource(RandomizerSource):
    """The same for the victim's inputs that differ in a number of coordinates of a joint."""

    def __init__(self, randomizer: Joint, distance: int) -> None:
        super().__init__(randomizer)
        randomizer.check_distance(distance)
        self.distance, self.joint = distance, randomizer

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        """See `Source`."""
        return self.randomizer, self.distance

    @cached_property
    def blankets(self) -> Mapping[str, Decomposition]:  # type: ignore[override]
        """See `Source`."""
        return self.joint.blankets(self.distance)

    few_blankets = None
    crowds = few_crowds = ()
    simple = None


@dataclass(frozen=True)
class Reports(Subject):
    """One report per user, which may be composed of several reports that are sent together.

    Parameters
    ----------
    randomizer
        The randomizer that all users share.
    eps0
        ε₀ of the whole report (natural log). If it is left out or smaller than the randomizer's,
        which rounding may cause, it is the randomizer's.
    distance
        Restricts upper bounds to inputs that differ in exactly this number of coordinates of a
        joint composition; None covers all inputs.

    Raises
    ------
    ValueError
        For a distance that is out of range, or if the randomizer is no joint composition.
    """

    randomizer: Randomizer
    eps0: float | None = None
    distance: int | None = None

    def __post_init__(self) -> None:
        budgets = [x for x in (self.eps0, proven_eps0(self.randomizer)) if x is not None]
        object.__setattr__(self, "eps0", max(budgets, default=None))
        if self.distance is None:
            return
        if not isinstance(self.randomizer, Joint):
            raise ValueError(
                "distance is only valid for the blanket of a joint composition, "
                f"got {self.distance!r}"
            )
        self.randomizer.check_distance(self.distance)

    @property
    def label(self) -> str:
        """The mechanism's name, with its parameters."""
        return self.randomizer.label

    @property
    def caveat(self) -> str:
        """See `Subject`."""
        return self.randomizer.caveat or ""

    @cached_property
    def is_made_for_delta(self) -> bool:
        """See `Subject`."""
        return self.randomizer.for_delta(Aim().delta) != self.randomizer

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        if self.distance is not None:
            return [Shuffle(self._distant, n)]
        return [Shuffle(source_of(self.randomizer.for_delta(aim.delta / aim.rounds)), n)]

    def check_size(self) -> None:
        """Raise ValueError for a composition too large for memory, without composing it."""
        if isinstance(self.randomizer, Composition):
            self.randomizer.check_size()

    @cached_property
    def _distant(self) -> Source:
        """The source of inputs at a distance."""
        assert isinstance(self.randomizer, Joint)
        assert self.distance is not None
        return DistantSource(self.randomizer, self.distance)


@dataclass(frozen=True, eq=False)
class Decompositions(Subject):
    """One report per user that is given by decompositions, any of which may be the worst."""

    by_name: Mapping[str, Decomposition]
    eps0: ClassVar[None] = None  # type: ignore[misc]

    def __post_init__(self) -> None:
        common_relation("decompositions", (x.relation for x in self.by_name.values()))

    @property
    def relation(self) -> Relation:  # type: ignore[override]
        """See `Subject`."""
        return next(iter(self.by_name.values())).relation

    @cached_property
    def source(self) -> Source:
        """What one report tells."""
        return GivenSource(self.by_name)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [Shuffle(self.source, n)]


def subject_of(sent: object) -> Subject:
    """Return the subject of what a public question takes; ValueError for anything else."""
    if isinstance(sent, Subject):
        return sent
    if isinstance(sent, Randomizer):
        return Reports(sent)
    if isinstance(sent, Decomposition):
        return Decompositions({"0": sent})
    raise ValueError(
        "decomposition must be a Decomposition, such as R.blanket(), or a randomizer R, "
        f"got {sent!r}"
    )


def subject_of_round(sent: object) -> Subject:
    """Return the subject of a round, for which several decompositions may be given, too."""
    several = tuple(sent) if isinstance(sent, Iterable) else ()
    if several and all(isinstance(x, Decomposition) for x in several):
        return Decompositions({str(i): x for i, x in enumerate(several)})
    return subject_of(sent)
