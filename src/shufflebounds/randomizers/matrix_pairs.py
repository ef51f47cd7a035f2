"""The pairs of inputs of a matrix of probabilities: their blankets, datasets and crowds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core.clones import STRONGER_CLONE, clone_of_mechanism
from shufflebounds.core.datasets import Crowd, second_moments
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.domination import undominated
from shufflebounds.core.masses import read_masses
from shufflebounds.core.products import (
    MERGE_GAP,
    NEARLY_EQUAL,
    POWER_ERR,
    SMALLEST_MASS,
    SUM_TOLERANCE,
    U,
    relative_gap,
)
from shufflebounds.core.validation import MAX_ENTRIES
from shufflebounds.core.work import BUDGET, spend
from shufflebounds.randomizers.kinds import CoordinatePair, LabelledMatrix, PairKind, Triple

# A name, the rows a, b and c, and the relative uncertainty of their entries.
Pair = tuple[str, NDArray, NDArray, NDArray, float]

# Largest number of masses in all laws of the crowds.
_MAX_CROWDS_SIZE = 10**6
# Largest number of kinds of pairs of inputs that have crowds of their own, some ms each.
_MAX_KINDS = 200
# Largest number of kinds of pairs that needs no search for noise in the entries, 4 s altogether.
_MAX_KINDS_OF_EXACT_ENTRIES = 20
# Largest relative difference of entries that may be noise. Noise of 10⁻¹¹ in a matrix of one bit of
# many values leaves answers for up to 10⁹ users unchanged within 0.01 %.
_NOISE_GAP = 1e-10
# Largest number of inputs, cubed, times outputs for which one crowd stands for more kinds: 100
# inputs and outputs take some 3 s for every ε that is tried.
_MAX_SIZE_OF_ALL_PAIRS = 1.1e8
# Largest number of datasets of a matrix of many inputs.
_MAX_DATASETS = 300
# Largest number of inputs for which all datasets are tried.
_MAX_INPUTS_OF_ALL_DATASETS = 16
# Largest number of different pairs of inputs, times inputs (at most 16) and outputs, for which a
# mechanism's own matrix is examined, which takes some ten seconds.
_MAX_EXAMINED_SIZE = 10**6
# Work of one decomposition among many, in units of `shufflebounds.core.work`.
_WORK_PER_PAIR = 1e6
# Largest number of different pairs of inputs whose blankets are compared: 15 000. Their work is the
# budget of one question.
_MAX_PAIRS = BUDGET / _WORK_PER_PAIR


@dataclass(frozen=True, eq=False)
class MatrixPairs:
    """The pairs of inputs of a ``matrix``, whose rows are inputs, columns outputs.

    Its symmetries are unknown, so every pair of inputs may be the worst. The entries have a
    relative error of ``entry_err``, and quotients of them and sums one of ``quotient_err``.
    """

    matrix: NDArray[np.float64]
    entry_err: float = 0.0
    quotient_err: float = 4.0 * U

    @staticmethod
    def examined(mechanism: object, make: Callable[[], ArrayLike]) -> MatrixPairs | None:
        """Return the pairs of a mechanism's matrix, which `make` returns.

        The result is None if `make` raises ValueError or MemoryError, since there is no finite
        matrix then, if all pairs of inputs would take too long, and if a mass is too small for
        floats. Raises ValueError if the rows are not probabilities.
        """
        try:
            rows = np.asarray(make(), dtype=np.float64)
        except (ValueError, MemoryError):
            return None
        if rows.size * len(rows) > MAX_ENTRIES or ((rows > 0.0) & (rows < SMALLEST_MASS)).any():
            return None
        try:
            examined = MatrixPairs(check_matrix(rows), POWER_ERR)
        except ValueError as error:
            raise ValueError(f"matrix() of {mechanism!r} is not valid: {error}") from None
        size = len(examined._different_pairs) * rows.shape[1]
        inputs = min(len(rows), _MAX_INPUTS_OF_ALL_DATASETS)
        return examined if size * inputs <= _MAX_EXAMINED_SIZE else None

    @cached_property
    def eps0(self) -> float:
        """The largest log P(x)(y)/P(x′)(y), rounded up (natural log); inf next to a zero."""
        matrix = self.matrix
        used = matrix[:, matrix.any(axis=0)]
        largest, smallest = used.max(axis=0), used.min(axis=0)
        if not smallest.all():
            return math.inf
        loss = float(np.max(np.log(largest) - np.log(smallest)))
        sizes = np.abs(np.log(largest)) + np.abs(np.log(smallest))
        # The rounding of a quotient, of logarithms and of the entries themselves. Neighbouring
        # floats may have equal logarithms, so only equal entries show that there is no loss.
        rounding = 8.0 * U * float(np.max(sizes)) + 2.01 * self._missing
        return loss + rounding if (largest > smallest).any() else 0.0

    @cached_property
    def _missing(self) -> float:
        """The largest distance of the sum of a row from 1, and the error of entries."""
        missing = max(abs(math.fsum([-1.0, *row])) for row in self.matrix.tolist())
        return missing + self.entry_err

    @cached_property
    def rel_err(self) -> float:
        """The relative error of `rows`, which covers the matrix and the exact quotients."""
        return self._missing + self._united.rel_err + self.quotient_err

    @cached_property
    def rows(self) -> NDArray[np.float64]:
        """The rows divided by their sums, masses raised to the smallest one allowed."""
        return self._united.entries

    @property
    def _united(self) -> LabelledMatrix:
        """`rows` by numbers of its entries; its error is that of uniting entries."""
        return self._united_with_kinds[0]

    @cached_property
    def _united_with_kinds(self) -> tuple[LabelledMatrix, list[PairKind] | None]:
        """`rows` by numbers of its entries, and the kinds of pairs, None if too many.

        Entries that differ by rounding count as one. If there are many kinds then, so do those that
        differ by noise, unless this leaves as many.
        """
        matrix = self.matrix
        divided = matrix / np.array([[math.fsum(row)] for row in matrix.tolist()])
        masses = np.where(matrix > 0.0, np.maximum(divided, SMALLEST_MASS), 0.0)
        united = LabelledMatrix.of(masses, MERGE_GAP)
        kinds = united.kinds(_MAX_KINDS, _MAX_CROWDS_SIZE)
        if kinds is None or len(kinds) > _MAX_KINDS_OF_EXACT_ENTRIES:
            most = _MAX_KINDS + 1 if kinds is None else len(kinds)
            denoised = LabelledMatrix.of(masses, _NOISE_GAP)
            is_close = denoised.rel_err <= 0.5 * SUM_TOLERANCE
            if is_close and denoised.values.size < united.values.size:
                fewer_kinds = denoised.kinds(most - 1, _MAX_CROWDS_SIZE)
                if fewer_kinds is not None:
                    return denoised, fewer_kinds
        return united, kinds

    @property
    def kinds(self) -> list[PairKind] | None:
        """The kinds of pairs of inputs with their third inputs, None if they are too many."""
        return self._united_with_kinds[1]

    @cached_property
    def are_alike(self) -> bool:
        """Whether counting shows that all pairs of inputs have one kind, so that they are alike."""
        kinds, labels = self.kinds, self._united.labels
        are_different = len({row.tobytes() for row in labels}) == len(labels)
        return kinds is not None and len(kinds) == 1 and are_different

    @cached_property
    def crowd_of_all_pairs(self) -> Crowd | None:
        """One crowd for all pairs of inputs; None if the matrix is too large, or has 0s."""
        rows = self.rows[:, self.rows.any(axis=0)]
        is_small = len(rows) ** 3 * rows.shape[1] <= _MAX_SIZE_OF_ALL_PAIRS
        return Crowd.of_all_rows(rows, self.rel_err) if is_small and rows.all() else None

    def blankets(self) -> dict[str, Decomposition]:
        """Return P(x₁⁰), P(x₁¹), inf_x P(x) of the pairs that may be the worst: ``0 against 3``.

        Pairs that distinguish the inputs best come first. Each stands for both of its directions,
        for all pairs that differ from it in the order of outputs only, and for those that it
        exceeds at every ε and n (`shufflebounds.core.domination`). If there are more than 15 000 of
        them, the stronger clone of ε₀ stands for all, with the name ``stronger clone``.
        """
        clone = clone_of_mechanism(self.eps0)
        if clone is not None and len(self._different_pairs) > _MAX_PAIRS:
            return {STRONGER_CLONE: clone}
        return dict(self._blankets)

    @cached_property
    def _blankets(self) -> dict[str, Decomposition]:
        """The blankets that no other one exceeds, by pairs of inputs."""
        return undominated(_distinct_decompositions(self._different_pairs))

    @cached_property
    def _different_pairs(self) -> list[Pair]:
        """The blankets of all pairs of inputs, without exact repetitions."""
        return _different_floats(self._pairs())

    def _pairs(self) -> Iterator[Pair]:
        """Yield the blanket of a pair of inputs of each kind, or of all pairs."""
        matrix = self.rows
        pairs: Iterable[tuple[int, int]] = itertools.combinations(range(len(matrix)), 2)
        if self.kinds:
            pairs = (kind.pairs[0] for kind in self.kinds)
        sure = matrix.min(axis=0)
        for x0, x1 in pairs:
            yield f"{x0} against {x1}", matrix[x0], matrix[x1], sure, self.rel_err

    def choices(self, *, apart: bool = False) -> tuple[CoordinatePair, ...]:
        """Return the ordered pairs of inputs, as `Randomizer.choices` does."""
        differing, equal = self._ordered_pairs
        pools = (differing, equal) if apart else ({**differing, **equal},)
        worst = {name: pair for pool in pools for name, pair in undominated(pool).items()}
        return tuple(CoordinatePair(name, name in differing, pair) for name, pair in worst.items())

    @cached_property
    def _ordered_pairs(self) -> tuple[dict[str, Decomposition], dict[str, Decomposition]]:
        """The blankets of ordered pairs of different inputs, and of pairs of equal inputs."""
        matrix = self.rows
        sure = matrix.min(axis=0)
        equal = ((f"{x} in both", row, row, sure, self.rel_err) for x, row in enumerate(matrix))
        pairs = (pair for one_order in self._pairs() for pair in (one_order, _swapped(one_order)))
        return _distinct_decompositions(pairs, both_orders=True), _distinct_decompositions(
            equal, both_orders=True
        )

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return P(x₁⁰), P(x₁¹), P(x₂) for all pairs and x₂, such as ``0 against 3 among 5``.

        Pairs that distinguish the inputs best come first.
        """
        return dict(self._dataset_pairs)

    def known_datasets(self) -> dict[str, Decomposition]:
        """Return `dataset_pairs`, or if inputs are many, promising ones among them."""
        if len(self.matrix) <= _MAX_INPUTS_OF_ALL_DATASETS:
            return self.dataset_pairs()
        return dict(self._promising_datasets)

    @cached_property
    def _promising_datasets(self) -> dict[str, Decomposition]:
        """The datasets of the largest Σ(a − b)²/R(x), or of pairs whose blankets have it."""
        if self.kinds:
            candidates = sorted(self._datasets(), key=_pair_contrast)[-_MAX_DATASETS:]
            return _distinct_decompositions(candidates)
        if self.crowd_of_all_pairs is not None:
            moments = second_moments(self.rows[:, self.rows.any(axis=0)])
            places = np.argsort(moments, axis=None)[-_MAX_DATASETS:]
            triples = np.column_stack(np.unravel_index(places, moments.shape)).tolist()
            return _distinct_decompositions(self._datasets_of(triples))
        count = max(1, _MAX_INPUTS_OF_ALL_DATASETS**3 // len(self.matrix) // 2)
        if len(self._different_pairs) > _MAX_PAIRS:
            by_contrast = sorted(self._different_pairs, key=_pair_contrast)
            names = [name for name, *_ in by_contrast[-count:]]
        else:
            names = list(itertools.islice(self._blankets, count))
        pairs = ((int(x0), int(x1)) for x0, x1 in (name.split(" against ") for name in names))
        return _distinct_decompositions(self._datasets(pairs))

    @cached_property
    def _dataset_pairs(self) -> dict[str, Decomposition]:
        """The distinct datasets of all pairs of inputs."""
        return _distinct_decompositions(self._datasets())

    def _datasets(self, pairs: Iterable[tuple[int, int]] | None = None) -> Iterator[Pair]:
        """Yield the dataset pairs of pairs of inputs and all x₂; by default, those of each kind."""
        if pairs is None and self.kinds:
            return self._datasets_of(triple for kind in self.kinds for triple in kind.triples)
        inputs = range(len(self.matrix))
        pairs = itertools.combinations(inputs, 2) if pairs is None else pairs
        return self._datasets_of((x0, x1, x) for x0, x1 in pairs for x in inputs)

    def _datasets_of(self, triples: Iterable[Triple]) -> Iterator[Pair]:
        """Yield the dataset pair of each of the triples x₁⁰, x₁¹ and x₂."""
        rows = self.rows
        for x0, x1, x in triples:
            yield f"{x0} against {x1} among {x}", rows[x0], rows[x1], rows[x], self.rel_err

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowds of all pairs of different inputs; none if they are too many.

        A crowd stands for all pairs of one kind, and an input of another user for all whose triples
        have one kind (`shufflebounds.randomizers.kinds`). If there are many kinds, one crowd stands
        for all of them.
        """
        if self.kinds is None:
            return () if self.crowd_of_all_pairs is None else (self.crowd_of_all_pairs,)
        labelled = replace(self._united, rel_err=self.rel_err)
        return tuple(labelled.crowd(kind) for kind in self.kinds)


def check_matrix(rows: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only copy; raise ValueError if it is no matrix of probabilities."""
    matrix, _ = read_masses("P", rows, dimensions=2)
    if len(matrix) < 2:
        raise ValueError(f"P must have at least two rows, got {len(matrix)}")
    for x, row in enumerate(matrix.tolist()):
        if abs(math.fsum([-1.0, *row])) > SUM_TOLERANCE:
            raise ValueError(
                f"P must have rows that sum to 1, got {math.fsum(row):.13g} in row {x}"
            )
    return matrix


def _distinct_decompositions(
    pairs: Iterable[Pair], *, both_orders: bool = False
) -> dict[str, Decomposition]:
    """Return merged decompositions by name, one for those that agree up to rounding and order.

    The order of outputs does not matter. The decompositions (a, b, c) and (b, a, c) agree unless
    `both_orders` is true. Those with the largest contrast come first.
    """
    different = _different_floats(pairs)
    spend(_WORK_PER_PAIR * len(different))
    distinct: dict[str, Decomposition] = {}
    names_by_sum: dict[int, list[tuple[str, NDArray]]] = {}
    for name, a, b, c, rel_err in different:
        candidate = Decomposition(a, b, c, rel_err).merge()
        masses = _in_order(np.stack([candidate.a, candidate.b, candidate.c]))
        # Decompositions that agree have equal or neighbouring rounded sums.
        place = round(1e9 * float(np.sqrt(masses[0] * masses[1]).sum() + masses[2].sum()))
        neighbours = (names_by_sum.get(place + i, []) for i in (-1, 0, 1))
        for listed_name, listed_masses in itertools.chain(*neighbours):
            gap = relative_gap(listed_masses, masses)
            if not both_orders:
                gap = min(gap, relative_gap(listed_masses, _in_order(masses[[1, 0, 2]])))
            if gap <= NEARLY_EQUAL:
                listed = distinct[listed_name]
                covering = max(listed.rel_err, candidate.rel_err + 2.0 * gap)
                distinct[listed_name] = replace(listed, rel_err=covering, tied=None)
                break
        else:
            distinct[name] = candidate
            names_by_sum.setdefault(place, []).append((name, masses))
    return dict(sorted(distinct.items(), key=lambda item: -_contrast(item[1])))


def _swapped(pair: Pair) -> Pair:
    """Return the blanket of a pair of inputs in reverse order."""
    name, a, b, c, rel_err = pair
    return " against ".join(reversed(name.split(" against "))), b, a, c, rel_err


def _different_floats(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs, but only one of those with exactly the same columns (a, b, c).

    Symmetric inputs have many such pairs.
    """
    different: dict[bytes, Pair] = {}
    for pair in pairs:
        masses = np.stack(pair[1:4])
        different.setdefault(masses[:, np.lexsort(masses)].tobytes(), pair)
    return list(different.values())


def _in_order(masses: NDArray) -> NDArray:
    """Return the rows a, b and c with components sorted by their ratios, rounded to 9 digits."""
    a, b, c = masses
    with np.errstate(over="ignore"):
        return masses[:, np.lexsort([np.round(x / (a + b), 9) for x in (c, a)])]


def _contrast(decomposition: Decomposition) -> float:
    """Return Σ(a − b)²/c, which says how well many users' reports distinguish the inputs."""
    return _pair_contrast(("", decomposition.a, decomposition.b, decomposition.c, 0.0))


def _pair_contrast(pair: Pair) -> float:
    """Return the `_contrast` of a pair."""
    _, a, b, c, _ = pair
    with np.errstate(over="ignore"):
        return float(np.sum((a - b) ** 2 / np.maximum(c, SMALLEST_MASS)))
