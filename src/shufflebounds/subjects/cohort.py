"""A cohort of fixed size: in every round exactly s of the n users are drawn and report."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from shufflebounds.core import validation
from shufflebounds.core.cohorts import in_cohort
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.words import counted
from shufflebounds.profiles.cohorts import all_cohort_datasets
from shufflebounds.profiles.profile import Profile
from shufflebounds.profiles.two_inputs import Memory, memory_of_two_inputs
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.subjects.base import (
    ANY_AIM,
    Aim,
    InfeasibleError,
    PairName,
    Shuffle,
    Source,
    Subject,
)
from shufflebounds.subjects.observation import COHORT_REPORTS, Observation
from shufflebounds.subjects.ratios import Ratios
from shufflebounds.subjects.reports import Reports


class CohortSource(Source):
    """What the report of one of ``size`` users tells who are drawn from n.

    Parameters
    ----------
    source
        What a report tells.
    size
        The number of users who are drawn, below n.
    n
        The number of users from whom they are drawn.
    """

    is_given = False
    has_whole_crowd = False

    def __init__(self, source: Source, size: int, n: int) -> None:
        self.source, self.size, self.n = source, size, n
        self.share, self.eps0 = Fraction(size, n), source.eps0

    @property
    def key(self) -> Hashable:  # type: ignore[override]
        """See `Source`."""
        return self.kin, self.n

    @property
    def kin(self) -> Hashable:
        """See `Source`; D falls with n (docs/proofs/cohorts.md, section 4)."""
        return "cohort", self.source.key, self.size

    def rank(self, draws: int) -> int:
        """See `Source`."""
        return self.n

    def seen(self, see: Callable[[Source], Source]) -> Source:
        """See `Source`."""
        return CohortSource(self.source.seen(see), self.size, self.n)

    @cached_property
    def blankets(self) -> Mapping[str, Decomposition]:  # type: ignore[override]
        """See `Source`."""
        return self._in_cohort(self.source.blankets, is_upper=True)

    @cached_property
    def few_blankets(self) -> Mapping[str, Decomposition] | None:  # type: ignore[override]
        """See `Source`."""
        few = self.source.few_blankets
        return None if few is None else self._in_cohort(few, is_upper=True)

    @cached_property
    def datasets(self) -> Mapping[str, Decomposition]:  # type: ignore[override]
        """See `Source`; all others hold one input."""
        return self._in_cohort(self.source.datasets, is_upper=False)

    @cached_property
    def simple(self) -> Decomposition | None:  # type: ignore[override]
        """See `Source`."""
        simple = self.source.simple
        return None if simple is None else in_cohort(simple, self.share, is_upper=True)

    def _in_cohort(
        self, decompositions: Mapping[str, Decomposition], *, is_upper: bool
    ) -> dict[str, Decomposition]:
        """Return the decompositions of a member of the cohort."""
        pairs = decompositions.items()
        return {name: in_cohort(x, self.share, is_upper=is_upper) for name, x in pairs}

    @cached_property
    def crowds(self) -> tuple[Crowd, ...]:  # type: ignore[override]
        """The crowds of a report, unless they do not list the inputs of others."""
        return self._listed(self.source.crowds)

    @cached_property
    def few_crowds(self) -> tuple[Crowd, ...]:  # type: ignore[override]
        """See `Source`, as for ``crowds``."""
        return self._listed(self.source.few_crowds)

    @staticmethod
    def _listed(crowds: tuple[Crowd, ...]) -> tuple[Crowd, ...]:
        """Return crowds if all of them list the inputs of others, else none."""
        is_listed = all(not crowd.kinds and crowd.rows is None for crowd in crowds)
        return crowds if is_listed else ()

    def suprema(
        self, crowds: Sequence[Crowd], n: FloatArray, *, share_aims: bool = False
    ) -> Profile:
        """See `Source`."""
        return all_cohort_datasets(crowds, self.share, n)

    def two_inputs(self, n: FloatArray) -> Memory | None:
        """See `Source`."""
        return memory_of_two_inputs(self.crowds, n, (self.size, self.n))

    def users(self, draws: int) -> int:
        """See `Source`."""
        return self.n

    def ratios(self) -> Ratios:
        """See `Source`; those of a report that is always sent are no smaller."""
        return self.source.ratios()

    def blanket_inputs(self, name: str) -> PairName:
        """See `Source`."""
        return self.source.blanket_inputs(name)

    def dataset_inputs(self, name: str) -> PairName:
        """See `Source`."""
        return self.source.dataset_inputs(name)


@dataclass(frozen=True)
class Cohort(Subject):
    """Reports of exactly `size` of the n users, who are drawn anew in every round, in secret.

    All sets of `size` users are equally likely, independently of what they hold and of earlier
    rounds. All who are drawn report. n counts all users, and is public.

    Parameters
    ----------
    randomizer
        The randomizer of a user who is drawn.
    size
        The number of users who are drawn, 1 to n. If it is n, all users report.
    eps0
        ε₀ of a report, as for reports of all users; that of the randomizer if it is left out.

    Raises
    ------
    ValueError
        For a size that is not a number of users, and for anything but a randomizer. Questions raise
        it if n is below the size.

    Examples
    --------
    >>> R = sb.Cohort(sb.KRR(k=10, eps0=2.0), size=1000)
    >>> f"{sb.epsilon(R, n=10_000, delta=1e-6).upper:.3f}"
    '0.023'
    """

    randomizer: Randomizer
    size: int
    eps0: float | None = None
    seen: ClassVar[Observation] = COHORT_REPORTS

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Randomizer):
            raise ValueError(
                f"randomizer must be a Randomizer, such as KRR, got {self.randomizer!r}"
            )
        object.__setattr__(self, "size", validation.users(self.size, "size"))
        object.__setattr__(self, "eps0", Reports(self.randomizer, self.eps0).eps0)

    @cached_property
    def reports(self) -> Reports:
        """The reports of users all of whom report."""
        return Reports(self.randomizer, self.eps0)

    @property
    def label(self) -> str:
        """The mechanism's name, and the size of the cohort."""
        return f"{self.randomizer.label} by cohorts of {self.size}"

    @property
    def fewest_users(self) -> int:  # type: ignore[override]
        """See `Subject`."""
        return self.size

    @property
    def caveat(self) -> str:
        """See `Subject`."""
        drawn = counted(self.size, "user")
        verb = "is" if self.size == 1 else "are"
        return (
            f"In every round exactly {drawn} {verb} drawn anew, in secret, and all sets of as many "
            f"are equally likely. {self.reports.caveat}"
        ).rstrip()

    @property
    def is_made_for_delta(self) -> bool:
        """See `Subject`."""
        return self.reports.is_made_for_delta

    def check_size(self) -> None:
        """See `Subject`."""
        self.reports.check_size()

    def require_users(self, n: int) -> None:
        """Raise InfeasibleError, a ValueError, for fewer users than the cohort has.

        Parameters
        ----------
        n
            The number of users.
        """
        if n < self.size:
            raise InfeasibleError(
                f"n must be at least {self.size}, the size of the cohort, got {n}"
            )

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        self.require_users(n)
        shuffles = self.reports.shuffles(self.size, aim)
        if n == self.size:
            return shuffles
        return [x._replace(source=CohortSource(x.source, self.size, n)) for x in shuffles]
