"""What users send in a round: the one description that every question takes.

A *source* is what one message tells an observer. A *shuffle* is a number of such messages that are
mixed. A *subject* says which shuffles a round of n users consists of.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import Relation
from shufflebounds.profiles.datasets import all_datasets
from shufflebounds.profiles.profile import Interval, Profile
from shufflebounds.profiles.two_inputs import Memory, memory_of_two_inputs
from shufflebounds.subjects.observation import REPORTS, Observation
from shufflebounds.subjects.ratios import Ratios, ratios_of_reports

# Number of cells of bounds that are made for one δ, unless an answer needs more.
DEFAULT_CELLS = 200


class Aim(NamedTuple):
    """What bounds are made for that are close at one δ only; all others ignore it.

    ``delta`` is δ of all ``rounds`` together. The bounds have about so many ``cells``. They serve
    all larger δ as well if they are ``for_curve``.
    """

    delta: float = 1e-6
    rounds: int = 1
    cells: int = DEFAULT_CELLS
    for_curve: bool = False


# An aim for subjects that ignore it.
ANY_AIM = Aim()


class PairName(NamedTuple):
    """The inputs of a pair of datasets or of a blanket, in words.

    ``differing`` lists the coordinates in which the victim's two inputs differ, such as ``1 2 4``;
    it is empty if a bound looks at no inputs. ``inputs`` names the two, such as ``0 against 3``,
    unless all pairs are alike. ``others`` is the input of all other users.
    """

    differing: str = ""
    inputs: str = ""
    others: str = ""


class Source:
    """What one message tells an observer; the parts are made when they are asked for.

    The largest divergence of ``blankets`` bounds all datasets. So do that of ``few_blankets``,
    which are fewer and larger, the bound of the ``crowds``, and ``simple``, if there are such.
    ``datasets`` holds pairs of datasets by name, on which lower bounds rest. ``few_crowds`` stand
    for all crowds if those are too many for several rounds.

    ``eps0`` is ε₀ of the message (natural log), None if there is none. Sources with one ``key`` are
    equal. ``relative_work`` compares the work of the bound for all datasets with the usual one.

    A source ``has_own_interval`` if its bounds do not follow from decompositions, and
    ``is_of_one_mechanism`` if all users have the same one, as bounds by ε₀ alone assume.
    """

    key: Hashable
    relative_work: float = 1.0
    has_own_interval: ClassVar[bool] = False
    is_of_one_mechanism: ClassVar[bool] = True
    eps0: float | None = None
    blankets: Mapping[str, Decomposition]
    datasets: Mapping[str, Decomposition]
    few_blankets: Mapping[str, Decomposition] | None = None
    crowds: tuple[Crowd, ...] = ()
    few_crowds: tuple[Crowd, ...] = ()
    simple: Decomposition | None = None
    # Whether all users report, as closed forms assume.
    has_whole_crowd: bool = True

    @property
    def kin(self) -> Hashable:
        """A key of sources whose D falls with their `rank`, and which differ by it alone."""
        return self.key

    def rank(self, draws: int) -> int:
        """Return what D of so many draws falls with."""
        return draws

    def seen(self, see: Callable[[Source], Source]) -> Source:
        """Return what stands for this source if `see` says what stands for a report."""
        return see(self)

    @property
    def has_many_pairs(self) -> bool:
        """Whether one of the crowds stands for many pairs of inputs with a blanket each."""
        return any(crowd.rows is not None for crowd in self.crowds)

    @cached_property
    def is_given(self) -> bool:
        """Whether the pairs of datasets are the decompositions that cover all of them."""
        return list(self.blankets.values()) == list(self.datasets.values())

    def own_interval(self, n: FloatArray, *, is_best: bool, is_composed: bool) -> Interval | None:
        """Return what is known that does not follow from decompositions; by default None.

        Parameters
        ----------
        n
            P numbers of draws, shape (P,).
        is_best
            Whether to use costly upper bounds.
        is_composed
            Whether the draws are one of several rounds, for which few pairs of datasets are used.
        """
        return None

    def suprema(
        self, crowds: Sequence[Crowd], n: FloatArray, *, share_aims: bool = False
    ) -> Profile:
        """Return the bound for all datasets of some of its crowds, for P numbers of draws `n`.

        Parameters
        ----------
        crowds
            All of ``crowds``, or of ``few_crowds``.
        n
            The numbers of draws, shape (P,).
        share_aims
            Whether answers at one ε should cost little for all n but one.

        Returns
        -------
        Profile
            The largest bound of all crowds.
        """
        return all_datasets(crowds, n, share_aims=share_aims)

    def two_inputs(self, n: FloatArray) -> Memory | None:
        """Return what finds the worst dataset if users have two inputs and few rare reports.

        Parameters
        ----------
        n
            The numbers of draws, shape (P,).
        """
        return memory_of_two_inputs(self.crowds, n)

    def users(self, draws: int) -> int:
        """Return how many users provide cover for each other if there are so many draws."""
        return draws

    def members(self, draws: int) -> int:
        """Return how many of so many draws are messages of users who may be the victim."""
        return draws

    @property
    def has_datasets(self) -> bool:
        """Whether pairs of datasets are known."""
        return bool(self.datasets)

    def ratios(self) -> Ratios:
        """Return p, β and q: with an ε₀, p = q = e^{ε₀} and the β of its blankets."""
        return ratios_of_reports(self.require_eps0("variation-ratio"), self.blankets.values())

    def require_eps0(self, bound: str) -> float:
        """Return a finite ε₀; raise ValueError, with the name of the bound, if there is none."""
        if self.eps0 is None or math.isinf(self.eps0):
            raise ValueError(f"{bound} needs a randomizer with an eps0, got one without")
        return self.eps0

    def blanket_inputs(self, name: str) -> PairName:
        """Return which inputs of the victim a blanket is about."""
        return PairName()

    def dataset_inputs(self, name: str) -> PairName:
        """Return what the victim and the others hold in a pair of datasets."""
        return PairName(others=name)


class GivenSource(Source):
    """A source of given decompositions.

    Parameters
    ----------
    blankets
        Decompositions whose largest divergence bounds all datasets.
    datasets
        Pairs of datasets; by default the same.
    eps0
        ε₀ of the message.
    key
        A key that equal sources share; by default that of the numbers.
    ratios
        Returns p, β and q, if they are others than those of ε₀.
    """

    def __init__(
        self,
        blankets: Mapping[str, Decomposition],
        datasets: Mapping[str, Decomposition] | None = None,
        eps0: float | None = None,
        key: Hashable = None,
        ratios: Callable[[], Ratios] | None = None,
    ) -> None:
        self.blankets, self.eps0 = blankets, eps0
        self.datasets = blankets if datasets is None else datasets
        self._key, self._ratios = key, ratios

    def ratios(self) -> Ratios:
        """See `Source`."""
        return super().ratios() if self._ratios is None else self._ratios()

    @cached_property
    def key(self) -> Hashable:  # type: ignore[override]
        """See `Source`."""
        if self._key is not None:
            return self._key
        return tuple(content_key(x) for x in (*self.blankets.values(), *self.datasets.values()))


class Shuffle(NamedTuple):
    """``times`` shuffles of ``draws`` messages of one source.

    Upper bounds may assume that the observer knows messages that in fact hide the victim. Lower
    bounds count them: they are those of ``lower_draws`` messages, by default as many. If
    ``is_ordered``, the two datasets keep their order in every shuffle.

    ``pairs`` are the pairs of datasets, by default those of the source. If a round has several
    shuffles, the pairs of the same place in all of them belong to the same two datasets; the last
    one stands for those that are missing.

    If a round has two shuffles of one source that are each other's mirror image, their ``order`` is
    0 and 1: one has the inputs (a, b) of the source if and only if the other one has (b, a). The
    order of any other shuffle is None.
    """

    source: Source
    draws: int
    times: int = 1
    lower_draws: int | None = None
    is_ordered: bool = False
    pairs: Sequence[tuple[str, Decomposition]] | None = None
    order: int | None = None

    @property
    def rank(self) -> int:
        """What D of shuffles of sources of one kin falls with."""
        return self.source.rank(self.draws)

    @property
    def most_draws(self) -> int:
        """The number of messages that lower bounds count."""
        return self.draws if self.lower_draws is None else self.lower_draws

    @property
    def dataset_pairs(self) -> Mapping[str, Decomposition]:
        """The pairs of datasets by name."""
        return self.source.datasets if self.pairs is None else dict(self.pairs)

    @property
    def is_given(self) -> bool:
        """Whether the decompositions that cover all datasets are pairs of datasets themselves."""
        return self.source.is_given and self.most_draws == self.draws and self.pairs is None


class Subject(ABC):
    """What users send in a round. A new subject defines `shuffles`; all else has a default.

    ``eps0`` is ε₀ of everything a user sends in a round (natural log), or None.
    """

    eps0: float | None
    seen: ClassVar[Observation] = REPORTS

    # Whether δ does not rise with n.
    is_hidden_by_number: ClassVar[bool] = True
    # Whether δ of a round takes so long that wider answers are promised.
    has_costly_rounds: ClassVar[bool] = False
    # Relative width of ε, and of δ at ε = 0, of several shuffles where the caller gives no `rtol`.
    rounds_rtol: ClassVar[float] = 1e-3
    # The fewest users that a round can have.
    fewest_users: int = 1
    # How neighbouring datasets differ.
    relation: ClassVar[Relation] = Relation.REPLACE

    @property
    def label(self) -> str:
        """What is sent, with its parameters."""
        return repr(self)

    @property
    def covered(self) -> str:
        """The users whom the bounds cover, such as ``users of one level``; empty for all users."""
        return ""

    @property
    def caveat(self) -> str:
        """A sentence with further assumptions of the bounds; empty if there are none."""
        return ""

    @abstractmethod
    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> Sequence[Shuffle]:
        """Return the shuffles of a round of n users who follow the protocol."""

    def shuffles_of(self, n: int, rounds: int, aim: Aim = ANY_AIM) -> Sequence[Shuffle]:
        """Return the shuffles of so many rounds of n users; by default, each round is a new one.

        Parameters
        ----------
        n
            The number of users.
        rounds
            The number of rounds.
        aim
            What bounds are made for.

        Returns
        -------
        sequence of Shuffle
            The shuffles of all rounds.
        """
        return [x._replace(times=x.times * rounds) for x in self.shuffles(n, aim)]

    def check_size(self) -> None:
        """Raise ValueError for what is too large for memory; by default, nothing is."""
        return

    @property
    def keeps_draws(self) -> bool:
        """Whether one secret draw serves all rounds, so that no two phases are independent."""
        return False

    @property
    def is_made_for_delta(self) -> bool:
        """Whether its bounds depend on the δ that they are made for; by default, none do."""
        return False

    def most_cells(self, rounds: int) -> int:
        """Return the most cells that an answer may need; 0 if their number is not chosen.

        Parameters
        ----------
        rounds
            The number of rounds.

        Returns
        -------
        int
            The number of cells.
        """
        return 0

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """Return the ε that the protocol's authors proved.

        Parameters
        ----------
        n
            The number of users.
        delta
            δ.

        Returns
        -------
        float or None
            ε (natural log), rounded up; None outside the range of their proof.

        Raises
        ------
        ValueError
            If the authors proved no ε.
        """
        raise ValueError(f"no analysis of its authors is known of {self.label}")

    def least_noise(self, rounds: int) -> float:
        """Return the smallest noise multiplier of so many rounds of training.

        Parameters
        ----------
        rounds
            The number of rounds.

        Returns
        -------
        float
            The noise multiplier.

        Raises
        ------
        ValueError
            If the subject has none.
        """
        raise ValueError(f"there is no noise multiplier to choose for {self.label}")

    def epsilon_of_known_steps(self, n: int, rounds: int, delta: float) -> float | None:
        """Return an ε at δ that holds even if all steps are known; None if there are no steps.

        Parameters
        ----------
        n
            The number of users.
        rounds
            The number of rounds.
        delta
            δ.

        Returns
        -------
        float or None
            ε (natural log), rounded up.
        """
        return None

    def total(self, rounds: int) -> int:
        """Return the number of rounds in so many of the subject, which may consist of several.

        Parameters
        ----------
        rounds
            The number of rounds of the subject.

        Returns
        -------
        int
            The number of rounds.
        """
        return rounds

    def pure_eps(self, rounds: int) -> float:
        """Return an ε at which δ of so many rounds is 0.

        Parameters
        ----------
        rounds
            The number of rounds.

        Returns
        -------
        float
            ε₀ times the number of rounds, rounded up; inf if there is no ε₀.
        """
        return (
            math.inf if self.eps0 is None else Enclosure(self.eps0, self.eps0).times(rounds).upper
        )


def content_key(decomposition: Decomposition) -> tuple:
    """Return a hashable key that two decompositions share only if they are equal."""
    arrays = (getattr(decomposition, name).tobytes() for name in ("a", "b", "c", "ties"))
    ends = (end and content_key(end) for end in (decomposition.inner, decomposition.outer))
    return (*arrays, decomposition.rel_err, decomposition.relation, *ends)


class InfeasibleError(ValueError):
    """No protocol has the requested parameters; a curve has no point there."""
