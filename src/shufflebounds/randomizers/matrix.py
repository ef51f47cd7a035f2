"""Randomizers by their matrices of probabilities: given as arrays, and k-fold compositions."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import POWER_ERR
from shufflebounds.core.validation import MAX_ENTRIES
from shufflebounds.randomizers.base import Randomizer, single_blanket
from shufflebounds.randomizers.composition import missing_property
from shufflebounds.randomizers.joint import Joint
from shufflebounds.randomizers.matrix_pairs import MatrixPairs, check_matrix


@dataclass(frozen=True, eq=False)
class MatrixRandomizer(Randomizer):
    """A randomizer by its matrix: rows are inputs, columns outputs, entries probabilities.

    Its symmetries are unknown, so every pair of inputs may be the worst: `blankets` has them all,
    except for those that are the same up to the order of outputs. If an output has probability 0
    for one input and not for another, ε₀ is infinite. The bounds are valid then, too.

    Parameters
    ----------
    P
        Probabilities, shape (inputs, outputs), at least two rows; 0 or at least 10⁻³⁰⁰, rows sum to
        1 within 10⁻⁹. Bounds are those of rows divided by their sums. The distance of the sums from
        1 is added to the uncertainty of the entries, so that bounds hold for ``P`` itself, too.

    Raises
    ------
    ValueError
        For any other table, naming the row.

    Examples
    --------
    >>> R = sb.MatrixRandomizer([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]])
    >>> f"{R.eps0:.4f}", list(R.blankets())
    ('1.7918', ['0 against 2'])
    """

    P: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "P", check_matrix(self.P))

    @cached_property
    def by_matrix(self) -> MatrixPairs:
        """The pairs of inputs."""
        return MatrixPairs(self.matrix())

    @property
    def eps0(self) -> float | None:  # type: ignore[override]  # mechanisms are frozen: read-only
        """The largest log P(x)(y)/P(x′)(y), rounded up (natural log); inf next to a zero."""
        return self.by_matrix.eps0

    @property
    def composable(self) -> bool:  # type: ignore[override]
        """Whether counting shows that all pairs of inputs have one kind, so that they are alike."""
        return self.by_matrix.are_alike

    def blanket(self) -> Decomposition:
        """Return the blanket if it is the same for all pairs of inputs; raise ValueError otherwise.

        None of several blankets is a bound by itself: take the largest bound over `blankets`.
        """
        return single_blanket(self.blankets())

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return P(x₁⁰), P(x₁¹), P(x₂) for all pairs and x₂, such as ``0 against 3 among 5``.

        Pairs that distinguish the inputs best come first.
        """
        return self.by_matrix.dataset_pairs()

    def matrix(self) -> NDArray[np.float64]:
        """Return ``P``, read-only."""
        return np.asarray(self.P)


@dataclass(frozen=True)
class KFold(MatrixRandomizer):
    """k-fold composition: a user sends k independent reports of one value together.

    It is a `Joint` of k equal parts in which all coordinates of a user have the same value. Other
    users are sure of more mass then, so that the bound is no larger. The order of the k outputs
    says nothing about the value. So a column of the matrix stands for a multiset of outputs, in the
    order of `itertools.combinations_with_replacement`.

    Parameters
    ----------
    randomizer
        The randomizer of one report, with finitely many values and outputs and a ``matrix``.
    k
        Number of reports, at least 1.

    Raises
    ------
    ValueError
        For a randomizer without a matrix, and if values times combinations of outputs are more than
        2²⁴.

    Notes
    -----
    Su, Cheng and Wang 2025 (arXiv 2504.07414), Section 1.1.

    Examples
    --------
    >>> bit = sb.KRR(k=2, eps0=1.0)
    >>> one_value, four_values = sb.KFold(bit, 4), sb.Joint([bit] * 4)
    >>> f"{sb.epsilon(one_value.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.225'
    >>> f"{sb.epsilon(four_values.blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.252'
    """

    P: ArrayLike = field(init=False, repr=False, compare=False)
    randomizer: Randomizer
    k: int

    def __post_init__(self) -> None:
        k = validation.whole("k", self.k, minimum=1)
        make = getattr(self.randomizer, "matrix", None)
        if make is None:
            raise ValueError(
                f"randomizer must have finitely many outputs and a matrix, got {self.randomizer!r}"
            )
        rows = make()
        if len(rows) * rows.shape[1] ** min(k, 64) > MAX_ENTRIES:
            raise ValueError(
                f"k must leave at most {MAX_ENTRIES} values times combinations of outputs, "
                f"got {k} reports of {len(rows)} values and {rows.shape[1]} outputs each"
            )
        object.__setattr__(self, "P", _multiset_matrix(rows, k))
        super().__post_init__()

    @property
    def bits(self) -> float:
        """The number of bits of k reports."""
        return self.k * self.randomizer.bits

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of every pair of values or, if they take long, of a joint of k values.

        A user of the joint may hold one value k times, so its datasets include those of this.
        """
        if self.by_matrix.kinds is not None:
            return super().crowds()
        if missing_property(self.randomizer):
            return ()
        joint = Joint([self.randomizer] * self.k).crowds()
        return tuple(
            replace(crowd, attained=False, tried=()) for crowd in joint if not crowd.differing
        )

    @property
    def label(self) -> str:
        """A label such as 4 × 10-RR of one value."""
        return f"{self.k} × {self.randomizer.label} of one value"

    @cached_property
    def eps0(self) -> float | None:  # type: ignore[override]
        """K times the randomizer's ε₀, rounded up; None if it has none."""
        eps0 = self.randomizer.eps0
        if eps0 is None or math.isinf(eps0):
            return eps0
        total = self.k * eps0
        return total if self.k * Fraction(eps0) <= total else math.nextafter(total, math.inf)

    @cached_property
    def by_matrix(self) -> MatrixPairs:
        """The pairs of inputs; the entries are products of k."""
        return MatrixPairs(self.matrix(), quotient_err=self.k * POWER_ERR)


def _multiset_matrix(rows: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the probabilities of every multiset of k outputs, shape (inputs, multisets)."""
    chosen = np.array(list(itertools.combinations_with_replacement(range(rows.shape[1]), k)))
    # The position of an output within its run of equal ones: their product is ∏ counts!.
    run = np.ones(chosen.shape)
    for i in range(1, k):
        run[:, i] = np.where(chosen[:, i] == chosen[:, i - 1], run[:, i - 1] + 1.0, 1.0)
    # Orders of a multiset: k!/∏ counts!, one factor at a time, so that no factorial overflows.
    orders = np.prod(np.arange(1.0, k + 1.0) / run, axis=1)
    return np.asarray([orders * np.prod(row[chosen], axis=1) for row in rows])
