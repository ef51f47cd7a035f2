"""What every local randomizer offers, and the forms that most of them share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.clones import clone_of_mechanism
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import SMALLEST_MASS, BoolArray, FloatArray
from shufflebounds.randomizers import accuracy, sampling
from shufflebounds.randomizers.accuracy import Error, Spread, Supports
from shufflebounds.randomizers.sampling import checked_values

# Closed forms below take a handful of roundings each.
CLOSED_FORM_ERR = 2.0**-49
# Values whose shares are estimated at once.
_MOST_ESTIMATED = 10**7
_SMALLEST_NORMAL = 2.0**-1022
# Of crowds, in which powers of up to 40 are as many roundings.
_CROWD_ERR = 2.0**-46


@dataclass(frozen=True, eq=False)
class CoordinatePair:
    """What the two inputs may be in one coordinate of a joint, and what its part makes of them.

    ``inputs`` names them, such as ``0 against 3`` or, where they do not differ, ``3 in both``.
    """

    inputs: str
    differs: bool
    decomposition: Decomposition


class Randomizer(ABC):
    """A local randomizer: a channel from one user's value to one report.

    A mechanism of your own is a frozen dataclass with its parameters, which are checked on
    construction (ValueError), with `blanket` and `dataset_pairs`, and with ``eps0`` (natural log)
    if it is ε₀-LDP for some ε₀, else None. One that has an ε₀ of its own does not take it as an
    argument. A field's metadata may hold a ``help`` for the command line.
    `shufflebounds.randomizers.registry` lists the mechanisms.

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

    # How people call it, where that is not the name of the class.
    NAME: ClassVar[str] = ""
    # Whether compositions may rest on `blanket`: any two inputs are alike, as docs/engine.md asks
    # in section 10. Where a class does not say so, they look at its `matrix`.
    composable: ClassVar[bool] = False
    # Parameters that name files, which its results depend on.
    FILES: ClassVar[tuple[str, ...]] = ()

    eps0: float | None

    @classmethod
    def completed(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, with what else decides the results where they name files.

        Parameters
        ----------
        parameters
            Arguments of the class by name.

        Returns
        -------
        dict
            The same, or more.
        """
        return dict(parameters)

    @property
    def label(self) -> str:
        """How figures call the mechanism, with its parameters other than ε₀."""
        return self.NAME or type(self).__name__

    @property
    def caveat(self) -> str | None:
        """What nobody has proved of a mechanism's bounds, for people to read; None if nothing."""
        return None

    @abstractmethod
    def blanket(self) -> Decomposition:
        """The optimal upper bound: R(x₁⁰), R(x₁¹), inf_x R(x) (Theorems 5-7, 13)."""

    def blankets(self) -> dict[str, Decomposition]:
        """`blanket` for every pair of inputs that may be the worst, by the names of the inputs.

        One that needs no name where any two inputs are alike, or one pair is known to be the worst.
        """
        return {"": self.blanket()}

    def simple_bound(self) -> Decomposition | None:
        """A bound for all pairs of inputs that takes milliseconds: the stronger clone of ε₀.

        Returns
        -------
        Decomposition or None
            None if the mechanism has no ε₀ of at most 690.
        """
        return clone_of_mechanism(getattr(self, "eps0", None))

    def choices(self, *, apart: bool = False) -> tuple[CoordinatePair, ...]:
        """What two inputs of a joint may be in this coordinate, in either order, equal ones too.

        Parameters
        ----------
        apart
            Leave a choice out for another one that exceeds it only if either both differ or
            neither.

        Returns
        -------
        tuple of CoordinatePair
            Those that no other one exceeds (`shufflebounds.core.domination`). None for a randomizer
            of which `composable` says all there is.
        """
        return ()

    @abstractmethod
    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Lower bounds by what all others hold, x₂: R(x₁⁰), R(x₁¹), R(x₂) (Theorem 14).

        The customary x₂ comes first. Its name is ``third`` for an input that is neither x₁⁰ nor
        x₁¹, ``x1`` for x₁¹, or the input itself. Where there are several pairs of inputs these are
        named as well, as in ``0 against 3 among 5``.
        """

    def dataset_pair(self) -> Decomposition:
        """The lower bound with the customary x₂."""
        return next(iter(self.dataset_pairs().values()))

    def crowds(self) -> tuple[Crowd, ...]:
        """Every pair of the victim's inputs, with all that other users may hold.

        One for all pairs that are alike. None at all where nobody has listed them: `blanket` is
        what is known of all datasets then.
        """
        return ()

    def few_crowds(self) -> tuple[Crowd, ...]:
        """As `crowds`, or one that stands for all of them where there are many."""
        return self.crowds()

    def coarser(self, components: int) -> Randomizer:
        """One of about so many components at most of which this one is a post-processing.

        Parameters
        ----------
        components
            Of `crowds`, at least 3.

        Returns
        -------
        Randomizer
            Upper bounds for it hold for this one. Itself where nobody knows a coarser one.
        """
        return self

    @property
    def bits(self) -> float:
        """How many bits tell a report from all others; inf for the limit of many values."""
        return math.log2(self._channel_matrix().shape[1])

    def error(self, n: int, frequencies: ArrayLike | None = None) -> Error:
        """How far the estimate of `estimate` lies off, whose mean is the truth.

        Parameters
        ----------
        n
            Number of users who report, 1 to 10¹⁵.
        frequencies
            Share of the users who hold each value; None leaves it open. Of a mechanism that is
            given by its matrix the estimator is the best linear one for these, or for equal ones.

        Returns
        -------
        Error
            Of the shares of all values or, of numbers, of their mean.

        Raises
        ------
        ValueError
            For an argument out of its range, and for a mechanism from whose reports nobody can
            estimate this, or nothing that is known here.

        Notes
        -----
        Proofs: docs/accuracy.md.

        Examples
        --------
        >>> f"{sb.OUE(1.0, domain_size=16).error(n=10_000).mse:.4f}"
        '0.0060'
        """
        return self._variances(frequencies).error(validation.users(n), frequencies)

    def sample(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Draw the reports of users for a simulation.

        Parameters
        ----------
        inputs
            What each user holds: an integer from 0, the items of a set in a row, or a number.
        rng
            Where randomness comes from, such as ``np.random.default_rng(1)``; it is no source of
            secrets, which reports of real users need.

        Returns
        -------
        ndarray
            A report a user, in the order of `inputs`, in the form that the mechanism says.

        Raises
        ------
        ValueError
            For inputs that the mechanism does not have, and where it cannot be sampled from here.

        Examples
        --------
        >>> R, rng = sb.KRR(k=4, eps0=3.0), np.random.default_rng(1)
        >>> reports = R.sample(rng.integers(4, size=100_000), rng)
        >>> bool(np.abs(R.estimate(reports) - 0.25).max() < 0.01)
        True
        """
        sampling.require_generator(rng)
        return self._drawn(inputs, rng)

    def estimate(self, reports: ArrayLike) -> FloatArray:
        """Estimate shares of users, or the mean of their numbers, from all reports.

        Parameters
        ----------
        reports
            As `sample` returns them, in any order.

        Returns
        -------
        ndarray
            The share of the users who hold each value, or the mean alone; unbiased, so that it may
            be below 0. `error` says how far it lies off.

        Raises
        ------
        ValueError
            For reports that the mechanism does not send, and where there is no estimator.

        Examples
        --------
        >>> sb.KRR(k=2, eps0=np.log(3.0)).estimate([0, 0, 0, 1]).tolist()
        [1.0, 0.0]
        """
        supports = self._supports()
        if supports is None:
            return self._estimate(np.asarray(reports))
        if not supports.values <= _MOST_ESTIMATED:
            raise ValueError(
                f"{self.label} must have at most {_MOST_ESTIMATED:.0e} values to estimate, got "
                f"{supports.values:g}"
            )
        found = np.asarray(reports)
        return supports.shares(self._supporters(found), len(found))

    def _drawn(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """See `sample`: columns of the matrix, unless there is a faster way."""
        matrix = self._channel_matrix()
        return sampling.outputs(matrix, checked_values("inputs", inputs, len(matrix)), rng)

    def _supporters(self, reports: NDArray) -> NDArray:
        """How many reports support each value, for a mechanism with `_supports`."""
        raise NotImplementedError

    def _estimate(self, reports: NDArray) -> FloatArray:
        """See `estimate`: the best linear estimator for equal shares, unless there is another."""
        matrix = self._channel_matrix()
        columns = checked_values("reports", reports, matrix.shape[1])
        counts = np.bincount(columns, minlength=matrix.shape[1])
        best = accuracy.best_linear(matrix, accuracy.uniform(len(matrix)))
        return np.asarray(best @ counts / columns.size)

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Variances of what one report says: of supports, or else of the matrix."""
        supports = self._supports()
        if supports is not None:
            return supports.spread
        return accuracy.of_matrix(self._channel_matrix(), frequencies)

    def _supports(self) -> Supports | None:
        """Of a mechanism whose reports support values, and nothing else; None for others."""
        return None

    def _channel_matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y); ValueError for a mechanism without a matrix."""
        if not hasattr(self, "matrix"):
            raise ValueError(
                f"{self.label} has no estimator that is known here: it has neither a matrix() of "
                "probabilities nor an error() of its own"
            )
        return np.asarray(self.matrix())

    def known_datasets(self) -> dict[str, Decomposition]:
        """Pairs of datasets in which all others hold one input: those listed, and of the crowds."""
        found = dict(self.dataset_pairs())
        for crowd in self.crowds():
            if crowd.attained:
                found = {**found, **crowd.datasets(), **found}
        return found


def refuse_frequencies(randomizer: Randomizer, frequencies: ArrayLike | None) -> None:
    """ValueError where some are given to a mechanism of numbers."""
    if frequencies is not None:
        raise ValueError(
            f"frequencies must be left out of {randomizer.label}, which estimates a mean of "
            f"numbers, got {frequencies!r}"
        )


def require_mechanism(given: object) -> Decomposition | Randomizer:
    """`given` if it is either; ValueError otherwise."""
    if isinstance(given, Decomposition | Randomizer):
        return given
    raise ValueError(
        "decomposition must be a Decomposition, such as R.blanket(), or a randomizer R, "
        f"got {given!r}"
    )


def the_only(blankets: Mapping[str, Decomposition]) -> Decomposition:
    """The one of `Randomizer.blankets`; ValueError for several, none of which is a bound alone."""
    (name, first), *more = blankets.items()
    if more:
        raise ValueError(
            "all pairs of inputs must have the same blanket for there to be a single one, got "
            f"{name} and {len(more)} more: ask worst_epsilon of blankets() instead"
        )
    return first


def named_inputs(name: str) -> tuple[str, str]:
    """The pair of inputs (empty where it has no name) and x₂ in a name of `dataset_pairs`."""
    inputs, _, others = name.rpartition(" among ")
    return inputs, others


@dataclass(frozen=True)
class DomainRandomizer(Randomizer):
    """A randomizer of the values 0, …, ``domain_size`` − 1; None is the limit of large domains.

    ``eps0`` is the local privacy parameter ε₀ (natural log). Raises ValueError unless
    0 < ε₀ ≤ 300 and ``domain_size`` is None or an integer of at least 2.
    """

    composable = True  # the values of the domain may change places
    LARGEST_MATRIX: ClassVar[int]

    eps0: float
    domain_size: int | None = field(
        default=None,
        metadata={"help": "number of values, at least 2; if left out, the limit of many"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        if self.domain_size is not None:
            validation.whole("domain_size", self.domain_size, minimum=2)

    @property
    def label(self) -> str:
        """With the size of its domain, unless that is the limit."""
        size = "" if self.domain_size is None else f", D = {self.domain_size}"
        return f"{super().label}{size}"

    @abstractmethod
    def _channel(self, size: int) -> NDArray[np.float64]:
        """Probabilities R(x)(y) over a domain of `size` values, shape (size, outputs)."""

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """The victim holds 0 or 1, all others 2 or, over a domain of two always, 1.

        What a report says of these three does not depend on how many other values there are.
        """
        return pairs_of_channel(self._channel(min(self.domain_size or 3, 3)), self.eps0)

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(y), shape (domain_size, outputs): rows are inputs, columns outputs.

        Raises ValueError where the domain is infinite or too large to enumerate its outputs, and
        where a probability is too small for a float.
        """
        if self.domain_size is None or self.domain_size > self.LARGEST_MATRIX:
            raise ValueError(
                "domain_size must be an integer from 2 to "
                f"{self.LARGEST_MATRIX} to enumerate the outputs, got {self.domain_size!r}"
            )
        probabilities = self._channel(self.domain_size)
        if probabilities.min() < _SMALLEST_NORMAL:
            raise ValueError(
                f"eps0 must be smaller to enumerate the outputs over {self.domain_size} values, "
                f"got {self.eps0!r}: probabilities would fall below {_SMALLEST_NORMAL:.3g}, "
                "which floating point cannot represent"
            )
        return probabilities


def five_point(eps0: float, p: float, q: float, r: float) -> Decomposition:
    """Blanket of an input-symmetric mechanism with the extreme property (Section 4.4, Table 2).

    Blanket masses p, p, q, r on the ratio pairs (e,1), (1,e), (e,e), (1,1) with e = e^{ε₀}.
    """
    e = np.exp(eps0)
    ratios = np.array([[e, 1.0], [1.0, e], [e, e], [1.0, 1.0]])
    c = np.array([p, p, q, r])
    used = c > 0.0
    return Decomposition(
        (ratios[:, 0] * c)[used],
        (ratios[:, 1] * c)[used],
        c[used],
        rel_err=CLOSED_FORM_ERR,
        tied=np.array([False, False, True, True])[used],
    )


def pairs_of_channel(
    inputs: NDArray[np.float64], eps0: float | None = None
) -> dict[str, Decomposition]:
    """Dataset pairs from the rows of x₁⁰, x₁¹ and, in a domain of more, a third input.

    `eps0` is given of a mechanism with the extreme property: what x₁⁰ and x₁¹ give an output is the
    same, or one is e^{ε₀} times the other. Then equal floats stand for equal numbers.
    """
    names = ["third", "x1"] if len(inputs) == 3 else ["x1"]
    others = {"third": -1, "x1": 1}
    # At the smallest ε₀ numbers that differ may have the same float.
    extreme = eps0 is not None and eps0 > 4.0 * CLOSED_FORM_ERR
    tied = inputs[0] == inputs[1] if extreme else None
    return {name: from_channel(inputs[[0, 1, others[name]]], tied) for name in names}


def crowd_of_rows(rows: NDArray[np.float64], sure: NDArray[np.float64]) -> tuple[Crowd, ...]:
    """The rows of x₁⁰, x₁¹ and, if there is one, a third input, with what all users send.

    The first two may change places. None where probabilities are too small for floats.
    """
    used = rows.any(axis=0)
    if (rows[:, used] < SMALLEST_MASS).any():
        return ()
    others = dict(zip(("x0", "x1", "third"), rows[:, used], strict=False))
    laws = rows[0][used], rows[1][used], sure[used]
    return (Crowd.of_laws(*laws, others, _CROWD_ERR, symmetric=True),)


def from_channel(
    rows: NDArray[np.float64] | Sequence[NDArray[np.float64]], tied: BoolArray | None = None
) -> Decomposition:
    """Merged decomposition of three rows of a probability matrix, shape (3, outputs): a, b, c.

    `tied` are the outputs at which a and b are the same in exact arithmetic, if any are.
    """
    a, b, c = rows
    return Decomposition(a, b, c, rel_err=CLOSED_FORM_ERR, tied=tied).merge()


# Whether a mechanism is as private as it says, as far as its blanket shows.


def require_private(kind: str, made: Randomizer) -> None:
    """ValueError for a mistake in a mechanism that its blanket betrays; other bounds rely on ε₀."""
    try:
        blankets = made.blankets()
    except ValueError as error:
        raise ValueError(f"the blanket of {kind} is not a decomposition: {error}") from None
    if made.eps0 is None:
        return
    for blanket in blankets.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.abs(np.log(blanket.a) - np.log(blanket.b))
        largest = np.max(losses, where=~np.isnan(losses), initial=0.0)
        # The entries' own rounding, and that of their logarithms.
        if largest > made.eps0 + 2.1 * blanket.rel_err + 1e-12 * (1.0 + made.eps0):
            raise ValueError(
                f"the blanket of {kind} must be that of an eps0-LDP randomizer, got a component "
                f"with a loss |log a/b| of {largest:.6g} at eps0 = {made.eps0!r}"
            )
