"""The base classes of local randomizers, and decompositions that several of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.clones import clone_of_mechanism
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import POWER_ERR, SMALLEST_MASS, BoolArray, FloatArray
from shufflebounds.core.relation import Relation
from shufflebounds.estimation.reporter import Reporter
from shufflebounds.randomizers.kinds import CoordinatePair
from shufflebounds.randomizers.matrix_pairs import MatrixPairs

# Relative error of the entries of a closed form, which takes at most 16 roundings.
CLOSED_FORM_ERR = 2.0**-49
# Relative error of products of several closed forms and a total: at most 32 roundings.
PRODUCT_ERR = 2.0**-48


class Randomizer(Reporter, ABC):
    """A local randomizer: a map from one user's value to the law of one report.

    What is said here is its privacy; `Reporter` says what one does with its reports.

    A mechanism of your own is a frozen dataclass of its parameters, which checks them on
    construction (ValueError) and has `blanket` and `dataset_pairs`. Its ``eps0`` (natural log) is
    its ε₀ if it is ε₀-LDP, else None. It is no argument if the other parameters determine it. A
    field's metadata may hold a ``help`` for the command line and an ``example`` for tests. A class
    method ``from_probabilities`` may make it from other numbers, which ``PROBABILITIES`` explains.
    `shufflebounds.randomizers.registry` lists the mechanisms.

    If it has a ``matrix()`` of probabilities R(x)(y), with a row for every input (or for enough
    inputs that every other row is a mixture of theirs), all pairs of rows are examined
    (`by_matrix`).

    Examples
    --------
    A report that tells the truth three times out of four:

    >>> class Coin(sb.Randomizer):
    ...     eps0 = np.log(3.0)
    ...
    ...     def blanket(self):
    ...         return sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    ...
    ...     def dataset_pairs(self):
    ...         return {"x1": sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.75])}
    >>> f"{sb.epsilon(Coin(), n=1000, delta=1e-6).upper:.3f}"
    '0.168'
    """

    # The mechanism's name in figures, if it is not the name of the class.
    NAME: ClassVar[str] = ""
    # Whether compositions may use `blanket` for all pairs of inputs, since any two inputs are alike
    # in the sense of docs/proofs/engine.md, section 10. If it is False, compositions examine the
    # `matrix`.
    composable: ClassVar[bool] = False
    # Whether docs/ proves which pairs of inputs are the worst, so that the `matrix` is not needed.
    # A derived class does not inherit it.
    pairs_are_proven: ClassVar[bool] = False
    # How neighbouring datasets differ; the same for all randomizers.
    relation: ClassVar[Relation] = Relation.REPLACE
    # Names of the parameters that are paths of files on which the results depend.
    FILES: ClassVar[tuple[str, ...]] = ()
    # Parameters that ``from_probabilities`` of the class takes in place of ε₀, and what they mean.
    PROBABILITIES: ClassVar[Mapping[str, str]] = MappingProxyType({})

    eps0: float | None

    @classmethod
    def completed(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters, completed by digests of the files that they name.

        Parameters
        ----------
        parameters
            Arguments of the class by name.

        Returns
        -------
        dict
            The same arguments, and possibly more.
        """
        return dict(parameters)

    @property
    def label(self) -> str:
        """The mechanism's name in figures, with its parameters other than ε₀."""
        return self.NAME or type(self).__name__

    @property
    def caveat(self) -> str | None:
        """A sentence on what is unproven about the mechanism's bounds; None if all is proven."""
        return None

    @abstractmethod
    def blanket(self) -> Decomposition:
        """Return the blanket: R(x₁⁰), R(x₁¹), inf_x R(x) (Theorems 5-7, 13)."""

    def blankets(self) -> dict[str, Decomposition]:
        """Return the blanket of every pair of inputs that may be the worst, by their names.

        There is one, with an empty name, if any two inputs are alike or if one pair is the worst.
        They are those of `by_matrix` if there is one.
        """
        return {"": self.blanket()} if self.by_matrix is None else self.by_matrix.blankets()

    @property
    def coordinates(self) -> str:
        """The coordinates of a report, such as ``1 2 3`` of a joint."""
        return "1"

    def named_blanket(self, name: str) -> tuple[str, str]:
        """Split a name of `blankets` into the coordinates that differ and the two inputs.

        Parameters
        ----------
        name
            A name of `blankets`.

        Returns
        -------
        tuple of str
            Coordinates such as ``1 2``, and inputs such as ``0 against 2``; either may be empty.
        """
        return self.coordinates, name

    @cached_property
    def by_matrix(self) -> MatrixPairs | None:
        """The pairs of inputs of the ``matrix()``, which bound this randomizer.

        It is None if there is no matrix or if it is too large, and for a class of which
        ``pairs_are_proven``. Then `blanket`, `dataset_pairs` and `crowds` are believed. Raises
        ValueError if the rows are not probabilities.
        """
        make = getattr(self, "matrix", None)
        if vars(type(self)).get("pairs_are_proven") or not callable(make):
            return None
        return MatrixPairs.examined(self, make)

    def simple_bound(self) -> Decomposition | None:
        """Return a bound for all pairs of inputs that takes milliseconds: the stronger clone of ε₀.

        Returns
        -------
        Decomposition or None
            None if the mechanism has no ε₀ of at most 690.
        """
        eps0 = getattr(self, "eps0", None)
        if self.by_matrix is not None and eps0 is not None:
            # No ε₀ is believed that the matrix contradicts.
            eps0 = max(eps0, self.by_matrix.eps0)
        return clone_of_mechanism(eps0)

    def choices(self, *, apart: bool = False) -> tuple[CoordinatePair, ...]:
        """Return the ordered pairs of inputs that may be the worst in one coordinate of a joint.

        Pairs of equal inputs are among them.

        Parameters
        ----------
        apart
            Whether to compare pairs of different inputs only with each other, and pairs of equal
            inputs only with each other.

        Returns
        -------
        tuple of CoordinatePair
            The pairs that no other one exceeds (`shufflebounds.core.domination`). It is empty if
            they are unknown, and for a ``composable`` randomizer.
        """
        return () if self.by_matrix is None else self.by_matrix.choices(apart=apart)

    @abstractmethod
    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the lower bounds R(x₁⁰), R(x₁¹), R(x₂) by the input x₂ of all others (Theorem 14).

        The customary x₂ comes first. Its name is ``third`` for an input that is neither x₁⁰ nor
        x₁¹, ``x1`` for x₁¹, or the input itself. If there are several pairs of inputs, the name has
        them as well, as in ``0 against 3 among 5``.
        """

    def dataset_pair(self) -> Decomposition:
        """Return the lower bound with the customary x₂.

        Raises ValueError if no pair of datasets is known.
        """
        if not (pairs := self.dataset_pairs()):
            raise ValueError(f"no pair of datasets is known of {self.label}")
        return next(iter(pairs.values()))

    def crowds(self) -> tuple[Crowd, ...]:
        """Return a crowd for every pair of the victim's inputs, and one for pairs that are alike.

        By default, the inputs are those of `by_matrix`. The result is empty if the mechanism does
        not list its inputs. Then only `blanket` bounds all datasets.
        """
        return () if self.by_matrix is None else self.by_matrix.crowds()

    @property
    def report_form(self) -> Hashable:
        """What reports look like, such as one of k values; None if only the matrix says so.

        Reports of one form have the same law given what they say of the values in `value_laws`,
        whatever their ε₀.
        """
        return None

    def value_laws(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the laws of some values, or of all if there are fewer, and what is sure.

        The values may change places.

        Parameters
        ----------
        count
            The number of values, 2 or more.

        Returns
        -------
        tuple of two arrays
            The probabilities of what a report says of these values, shape (values, K), and the
            masses that users are sure to send, whatever their values, shape (K,).
        """
        raise NotImplementedError

    def few_crowds(self) -> tuple[Crowd, ...]:
        """Return `crowds`, or few crowds that stand for all of them if those are many.

        By default, one crowd stands for all pairs of inputs of a matrix without zeros.
        """
        few = None if self.by_matrix is None else self.by_matrix.crowd_of_all_pairs
        return self.crowds() if few is None else (few,)

    def coarser(self, components: int) -> Randomizer:
        """Return a randomizer of fewer components of which this one is a post-processing.

        Parameters
        ----------
        components
            About the largest number of components of its `crowds`, at least 3.

        Returns
        -------
        Randomizer
            Upper bounds for it hold for this one. It is this one if no coarser one is known.
        """
        return self

    def coordinate_crowds(self, coordinates: int) -> tuple[Crowd, ...]:
        """Return crowds of all pairs of inputs in both orders, and of equal ones.

        They are those of a coordinate of a joint report, in which it matters which pair goes with
        which pair of another coordinate. A pair may be left out if a permutation of outputs maps
        the inputs of a listed pair, in their order, and all listed inputs of others, to its own.

        Parameters
        ----------
        coordinates
            The number of coordinates. The more there are, the fewer crowds.

        Returns
        -------
        tuple of Crowd
            It is empty if no such list is known.
        """
        crowds = self.crowds()
        if len(crowds) != 1 or not crowds[0].symmetric or not crowds[0].is_of_one_pair:
            return ()
        return crowds[0], crowds[0].same_input()

    def for_delta(self, delta: float) -> Randomizer:
        """Return the same mechanism with bounds that are close at a δ.

        Parameters
        ----------
        delta
            The target δ of a round.

        Returns
        -------
        Randomizer
            Itself, unless it has ends that depend on δ.
        """
        return self

    def known_datasets(self) -> dict[str, Decomposition]:
        """Return `dataset_pairs` and the datasets of `crowds`: all others hold one input.

        They are those of `by_matrix` if there is one.
        """
        if self.by_matrix is not None:
            return self.by_matrix.known_datasets()
        pairs = dict(self.dataset_pairs())
        for crowd in self.crowds():
            if crowd.attained:
                pairs = {**pairs, **crowd.datasets(), **pairs}
        return pairs


def single_blanket(blankets: Mapping[str, Decomposition]) -> Decomposition:
    """Return the blanket of `Randomizer.blankets` if it is the only one.

    Raises ValueError if there are several, as none of them is a bound by itself.
    """
    (name, blanket), *further_pairs = blankets.items()
    if further_pairs:
        raise ValueError(
            "all pairs of inputs must have the same blanket for there to be a single one, got "
            f"{name} and {len(further_pairs)} more: ask worst_epsilon of blankets() instead"
        )
    return blanket


def named_inputs(name: str) -> tuple[str, str]:
    """Split a name of `dataset_pairs` into the pair of inputs, which may be empty, and x₂."""
    inputs, _, other_input = name.rpartition(" among ")
    return inputs, other_input


@dataclass(frozen=True)
class DomainRandomizer(Randomizer):
    """A randomizer of the values 0, …, ``domain_size`` − 1; None is the limit of large domains.

    ``eps0`` is the local privacy parameter ε₀ (natural log). Raises ValueError unless
    0 < ε₀ ≤ 300 and ``domain_size`` is None or an integer of at least 2.
    """

    # The values of the domain may change places.
    composable = True
    LARGEST_MATRIX: ClassVar[int]

    eps0: float
    domain_size: int | None = field(
        default=None,
        metadata={"help": "number of values, at least 2; if left out, the limit of many"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        if self.domain_size is not None:
            validation.domain_size(self.domain_size, minimum=2)

    @property
    def label(self) -> str:
        """The name with the size of the domain, unless that is the limit."""
        size = "" if self.domain_size is None else f", D = {self.domain_size}"
        return f"{super().label}{size}"

    @abstractmethod
    def _channel(self, size: int) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y) over `size` values, shape (size, outputs)."""

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs of a victim with input 0 or 1 among others with input 2 or 1.

        Over a domain of two values, all others have input 1. The decompositions do not depend on
        the number of further values.
        """
        return pairs_of_channel(self._channel(min(self.domain_size or 3, 3)), self.eps0)

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y), shape (domain_size, outputs), a row for each input.

        Raises ValueError if the domain is infinite or too large to enumerate its outputs, or if a
        probability is too small for a float.
        """
        if self.domain_size is None or self.domain_size > self.LARGEST_MATRIX:
            raise ValueError(
                "domain_size must be an integer from 2 to "
                f"{self.LARGEST_MATRIX} to enumerate the outputs, got {self.domain_size!r}"
            )
        probabilities = self._channel(self.domain_size)
        if probabilities.min() < SMALLEST_MASS:
            raise ValueError(
                f"eps0 must be smaller to enumerate the outputs over {self.domain_size} values, "
                f"got {self.eps0!r}: probabilities would fall below {SMALLEST_MASS:g}, "
                "which floating point cannot represent"
            )
        return probabilities


def five_point(
    eps0: float, p: float, q: float, r: float, rel_err: float = CLOSED_FORM_ERR
) -> Decomposition:
    """Return the blanket of an input-symmetric mechanism with the extreme property.

    It has the masses p, p, q, r on the ratio pairs (e,1), (1,e), (e,e), (1,1) with e = e^{ε₀}
    (Section 4.4, Table 2). The masses have a relative error of at most `rel_err`.
    """
    e = np.exp(eps0)
    ratios = np.array([[e, 1.0], [1.0, e], [e, e], [1.0, 1.0]])
    c = np.array([p, p, q, r])
    used = c > 0.0
    return Decomposition(
        (ratios[:, 0] * c)[used],
        (ratios[:, 1] * c)[used],
        c[used],
        rel_err=rel_err,
        tied=np.array([False, False, True, True])[used],
    )


def pairs_of_channel(
    inputs: NDArray[np.float64], eps0: float | None = None
) -> dict[str, Decomposition]:
    """Return the dataset pairs of the rows of x₁⁰, x₁¹ and, in larger domains, a third input.

    Pass `eps0` only for a mechanism with the extreme property: the probabilities of an output under
    x₁⁰ and x₁¹ are equal, or one is e^{ε₀} times the other. Then equal floats stand for equal
    numbers, and such outputs are tied.
    """
    names = ["third", "x1"] if len(inputs) == 3 else ["x1"]
    row_of_name = {"third": -1, "x1": 1}
    # At the smallest ε₀, different numbers may have the same float.
    extreme = eps0 is not None and eps0 > 4.0 * CLOSED_FORM_ERR
    tied = inputs[0] == inputs[1] if extreme else None
    # ε₀ may be the float above the number that it stands for, such as log 3.
    rel_err = CLOSED_FORM_ERR + 2.0**-52 * (eps0 or 0.0)
    return {name: from_channel(inputs[[0, 1, row_of_name[name]]], tied, rel_err) for name in names}


def pairs_of_disjoint_inputs(
    laws: Sequence[FloatArray] | NDArray[np.float64], rel_err: float
) -> dict[str, Decomposition]:
    """Return the dataset pairs of the laws of up to three inputs: x₁⁰, x₁¹ and a third one."""
    others = dict(zip(("x1", "third"), laws[1:], strict=False))
    return {
        name: Decomposition(laws[0], laws[1], others[name], rel_err).merge()
        for name in sorted(others)
    }


def crowd_of_rows(rows: NDArray[np.float64], sure: NDArray[np.float64]) -> tuple[Crowd, ...]:
    """Return the crowd of the rows of x₁⁰, x₁¹ and possibly a third input.

    `sure` is the mass that all users are sure to send. The first two inputs may change places.
    Returns no crowd if a probability is too small for a float.
    """
    used = rows.any(axis=0)
    if (rows[:, used] < SMALLEST_MASS).any():
        return ()
    laws_by_name = dict(zip(("x0", "x1", "third"), rows[:, used], strict=False))
    laws = rows[0][used], rows[1][used], sure[used]
    return (Crowd.of_laws(*laws, laws_by_name, POWER_ERR, symmetric=True),)


def from_channel(
    rows: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    tied: BoolArray | None = None,
    rel_err: float = CLOSED_FORM_ERR,
) -> Decomposition:
    """Return the merged decomposition of three rows a, b, c of a matrix, shape (3, outputs).

    `tied` marks the outputs at which a and b are the same in exact arithmetic.
    """
    a, b, c = rows
    return Decomposition(a, b, c, rel_err=rel_err, tied=tied).merge()


def require_private(kind: str, randomizer: Randomizer) -> None:
    """Raise ValueError if a blanket has a larger loss than ε₀, on which other bounds rely."""
    try:
        blankets = randomizer.blankets()
    except ValueError as error:
        raise ValueError(f"the blanket of {kind} is not a decomposition: {error}") from None
    if randomizer.eps0 is None:
        return
    for blanket in blankets.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.abs(np.log(blanket.a) - np.log(blanket.b))
        largest = np.max(losses, where=~np.isnan(losses), initial=0.0)
        # The tolerance covers the rounding of the entries and of their logarithms.
        if largest > randomizer.eps0 + 2.1 * blanket.rel_err + 1e-12 * (1.0 + randomizer.eps0):
            raise ValueError(
                f"the blanket of {kind} must be that of an eps0-LDP randomizer, got a component "
                f"with a loss |log a/b| of {largest:.6g} at eps0 = {randomizer.eps0!r}"
            )
