"""Kinds of triples of inputs of a matrix: which crowds stand for all pairs and all other inputs.

D and the bound for all datasets depend on the victim's two inputs and on an input x of another user
only by how often each quadruple R(x₁⁰)(y), R(x₁¹)(y), min R(y), R(x)(y) occurs among the outputs y:
the *kind of the triple*. How often the first three occur together is the *kind of the pair*. All
pairs of one kind have one crowd. Its inputs are the kinds of triples of all of these pairs, as
those of one pair may lack some (docs/proofs/closing-the-gap.md, section 8).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, Inputs, OtherInput
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, U, compounded
from shufflebounds.core.work import spend

IntArray = NDArray[np.int64]
# Two inputs of the victim.
PairOfInputs = tuple[int, int]
# Two inputs of the victim and one of another user.
Triple = tuple[int, int, int]

# Largest work of finding kinds, in units of `shufflebounds.core.work`.
_MAX_WORK = 3e9
# Work of one multiplication of a matrix product, and of sorting one number, in these units.
_WORK_PER_PRODUCT = 0.3
_WORK_PER_SORTED_NUMBER = 40.0
# Largest number of numbers in a block: 32 MB.
_NUMBERS_PER_BLOCK = 2**22
# Floats represent all integers up to twice this one, so that sums below it are exact.
_EXACT = 2**52


@dataclass(frozen=True, eq=False)
class CoordinatePair:
    """The victim's two inputs in one coordinate of a joint, and the decomposition of their reports.

    ``inputs`` names them, such as ``0 against 3`` or, if they are equal, ``3 in both``.
    """

    inputs: str
    differs: bool
    decomposition: Decomposition


@dataclass(frozen=True, eq=False)
class PairKind:
    """The pairs of one kind, and a triple of each kind that they have.

    ``pairs`` are ordered; if the kind ``is_symmetric``, they come in both orders. Further pairs are
    the images of these under symmetries of the matrix.
    """

    pairs: list[PairOfInputs]
    is_symmetric: bool
    triples: list[Triple] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """A matrix of probabilities by numbers of its entries.

    ``labels``, shape (inputs, outputs), are the places of the entries in ``values``, which ascend.
    The relative error of the values is ``rel_err``. If it ``has_near_rows``, rows of equal labels
    stand for different rows.
    """

    labels: IntArray
    values: FloatArray
    rel_err: float
    has_near_rows: bool = False

    @staticmethod
    def of(matrix: FloatArray, gap: float) -> LabelledMatrix:
        """Return the matrix with equal numbers for entries that differ by at most `gap`.

        The gap is relative. Entries with neighbours so close count as the smallest of them. How far
        they are from it is the relative error.
        """
        entries, places = np.unique(matrix, return_inverse=True)
        starts = np.concatenate([[True], np.diff(entries) > gap * entries[1:]])
        labels, values = np.cumsum(starts) - 1, entries[starts]
        smallest = values[labels]
        spread = np.max((entries - smallest) / np.where(smallest > 0.0, smallest, 1.0))
        labels = labels[places].reshape(matrix.shape)
        counts = (len({row.tobytes() for row in rows}) for rows in (matrix, labels))
        return LabelledMatrix(labels, values, float(spread), operator.gt(*counts))

    @property
    def entries(self) -> FloatArray:
        """The values of the entries, shape (inputs, outputs)."""
        entries: FloatArray = self.values[self.labels]
        return entries

    def kinds(self, most: int, size: int) -> list[PairKind] | None:
        """Return the kinds of pairs of inputs with different rows, and their kinds of triples.

        The result is None if there are more kinds of pairs than `most`, if the masses of the laws
        of all their inputs are more than `size`, or if finding them would take too long.
        """
        inputs, outputs = self.labels.shape
        # Codes of three labels must fit in an int64, and so must a code of an output and a label.
        if self.values.size**3 >= 2**62:
            return None
        work_per_input = (
            inputs
            * inputs
            * outputs
            * min(_WORK_PER_PRODUCT * (self.values.size - 1), _WORK_PER_SORTED_NUMBER)
        )
        if work_per_input > _MAX_WORK:
            return None
        first = _first_of_orbits(self.labels)
        work = first.size * work_per_input
        if work > _MAX_WORK:
            return None
        pairs = _pairs_with(first, inputs)
        kinds = self._kinds_of_pairs(pairs, most)
        if kinds is None:
            return None
        spend(work)
        masses = 0
        for kind in kinds:
            classes, sizes = self._classes(kind)
            for triples in self._triples(np.array(kind.pairs), classes, sizes):
                kind.triples.extend(triples)
                masses += len(triples) * classes.size
                if masses > size:
                    return None
        return kinds

    def crowd(self, kind: PairKind) -> Crowd:
        """Return the crowd of the pairs of a kind.

        A component stands for all outputs of one (a, b, c), and the pieces of an input for those of
        one (a, b, c, R(x)).
        """
        classes, sizes = self._classes(kind)
        rest, sure = np.divmod(classes, self.values.size)
        first, second = np.divmod(rest, self.values.size)
        a, b, c = (self.values[label] * sizes for label in (first, second, sure))
        triples = {_name(triple, kind.pairs[0]): triple for triple in kind.triples}

        def other_input(name: str) -> OtherInput:
            x0, x1, x = triples[name]
            place = np.searchsorted(classes, self._codes(np.array([[x0, x1]]))[0])
            pieces, counts = np.unique(
                place * self.values.size + self.labels[x], return_counts=True
            )
            part, label = np.divmod(pieces, self.values.size)
            # Counts are exact. So each share and each mass has the rounding of one operation.
            return OtherInput(part, counts / sizes[part], counts * self.values[label], 2.0 * U)

        return Crowd(
            a,
            b,
            c,
            Inputs(triples, other_input),
            compounded(self.rel_err, U),
            symmetric=kind.is_symmetric,
        )

    @cached_property
    def _sure(self) -> IntArray:
        """The labels of the smallest entry of each output."""
        smallest: IntArray = self.labels.min(axis=0)
        return smallest

    def _codes(self, pairs: IntArray) -> IntArray:
        """Return codes of (a, b, c) at each output, shape (P, outputs), for pairs, shape (P, 2)."""
        count = self.values.size
        codes: IntArray = (
            self.labels[pairs[:, 0]] * count + self.labels[pairs[:, 1]]
        ) * count + self._sure
        return codes

    def _classes(self, kind: PairKind) -> tuple[IntArray, IntArray]:
        """Return the different codes of a kind's pairs, and how often each occurs."""
        return np.unique(self._codes(np.array(kind.pairs[:1])), return_counts=True)

    def _kinds_of_pairs(self, pairs: IntArray, most: int) -> list[PairKind] | None:
        """Return the kinds of pairs of different rows; None if there are more than `most`."""
        kinds: dict[bytes, PairKind] = {}
        for block in _blocks(pairs, self.labels.shape[1]):
            keys = np.sort(self._codes(block), axis=1)
            differs = (self.labels[block[:, 0]] != self.labels[block[:, 1]]).any(axis=1)
            differs |= self.has_near_rows
            for pair, key in zip(block[differs].tolist(), keys[differs], strict=True):
                x0, x1 = pair
                kind, ordered = kinds.get(key.tobytes()), (x0, x1)
                if kind is None:
                    reverse = np.sort(self._codes(np.array([[x1, x0]])), axis=1).tobytes()
                    kind, ordered = kinds.get(reverse), (x1, x0)
                    if kind is None:
                        if len(kinds) == most:
                            return None
                        ordered = (x0, x1)
                        kind = PairKind([], is_symmetric=key.tobytes() == reverse)
                        kinds[key.tobytes()] = kind
                kind.pairs.extend([ordered, ordered[::-1]] if kind.is_symmetric else [ordered])
        return list(kinds.values())

    def _triples(
        self, pairs: IntArray, classes: IntArray, sizes: IntArray
    ) -> Iterator[list[Triple]]:
        """Yield one triple of each kind among the pairs of a kind, those of a block together."""
        inputs = len(self.labels)
        place_values = _place_values(sizes)
        count = len(place_values) * (self.values.size - 1)
        is_counted = _WORK_PER_PRODUCT * count <= _WORK_PER_SORTED_NUMBER
        row_size = count if is_counted else self.labels.shape[1]
        seen: set[bytes] = set()
        for block in _blocks(pairs, max(self.labels.shape[1], inputs * row_size)):
            places = np.searchsorted(classes, self._codes(block))
            rows = self._counts(places, place_values) if is_counted else self._sorted(places)
            rows = rows.reshape(len(block) * inputs, -1)
            triples = []
            for i in _first_of_each(rows):
                if (row := rows[i].tobytes()) not in seen:
                    seen.add(row)
                    pair, x = divmod(i, inputs)
                    triples.append((*block[pair].tolist(), x))
            yield triples

    def _counts(self, places: IntArray, place_values: FloatArray) -> FloatArray:
        """Return numbers that are equal for triples of one kind, shape (P, inputs, numbers).

        `places`, shape (P, outputs), are the classes of outputs for each pair. Each number says how
        often one label occurs in each of several classes, as the digits of a large number: it is a
        sum of integers below 2⁵³, which is exact. The largest label has the remaining outputs.
        """
        numbers = []
        for label in range(self.values.size - 1):
            has_label = (self.labels == label).astype(np.float64).T
            numbers += [row[places] @ has_label for row in place_values]
        return np.stack(numbers, axis=-1)

    def _sorted(self, places: IntArray) -> IntArray:
        """Return the sorted quadruples of each triple, shape (P, inputs, outputs)."""
        quadruples = places[:, np.newaxis] * self.values.size + self.labels
        quadruples.sort(axis=-1)
        return quadruples


def _name(triple: Triple, first_pair: PairOfInputs) -> str:
    """Return the name of the input of another user; it has the pair if that is not the first."""
    x0, x1, x = triple
    return str(x) if (x0, x1) == first_pair else f"{x0} against {x1} among {x}"


def _blocks(pairs: IntArray, numbers_per_pair: int) -> Iterator[IntArray]:
    """Yield the pairs in blocks whose numbers fit in memory together."""
    step = max(1, _NUMBERS_PER_BLOCK // numbers_per_pair)
    return (pairs[start : start + step] for start in range(0, len(pairs), step))


def _place_values(sizes: IntArray) -> FloatArray:
    """Return place values of digits from 0 to each of the sizes, shape (numbers, sizes).

    Digits whose number would be 2⁵² or more belong to the next number.
    """
    numbers: list[FloatArray] = []
    place_value = _EXACT
    for i, size in enumerate(sizes.tolist()):
        if place_value * (size + 1) > _EXACT:
            numbers.append(np.zeros(sizes.size))
            place_value = 1
        numbers[-1][i] = place_value
        place_value *= size + 1
    return np.array(numbers)


def _first_of_each(rows: NDArray) -> list[int]:
    """Return the places of the first of equal rows, in ascending order."""
    # Rows are compared by hash values. If different rows share one, all rows are sorted.
    weights = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64)
    hashes = rows.astype(np.uint64) @ weights
    _, first, groups = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(rows, rows[first[groups]]):
        first = np.unique(rows, axis=0, return_index=True)[1]
    return sorted(first.tolist())


def _first_of_orbits(labels: IntArray) -> IntArray:
    """Return the first input of each orbit under symmetries of the matrix, in ascending order."""
    first = np.arange(len(labels))
    for permutation in _symmetries(labels):
        while (first > first[permutation]).any():
            first = np.minimum(first, first[permutation])
            # Inputs that are in one orbit with each other follow the first of them.
            first = first[first]
        if not first.any():
            break
    return np.flatnonzero(first == np.arange(len(labels)))


def _pairs_with(first: IntArray, inputs: int) -> IntArray:
    """Return the pairs, shape (P, 2), of an input among `first` with another one.

    A pair is not listed if its reverse is.
    """
    x0, x1 = np.repeat(first, inputs), np.tile(np.arange(inputs), first.size)
    is_first = np.isin(np.arange(inputs), first)
    is_listed = (x0 < x1) | ((x0 > x1) & ~is_first[x1])
    return np.column_stack([x0[is_listed], x1[is_listed]])


def _symmetries(labels: IntArray) -> Iterator[IntArray]:
    """Yield permutations of the inputs that only permute the columns: shifts within equal blocks.

    They are those of cyclic, Hadamard and product structures. That others are missed costs time.
    """
    inputs = len(labels)
    rng = np.random.default_rng(0)
    hashes = rng.integers(2**63, size=int(labels.max()) + 1, dtype=np.uint64)[labels]
    weights = rng.integers(2**63, size=inputs, dtype=np.uint64)
    sums, columns = _sorted_sums(weights, hashes), _sorted_columns(labels)
    divisors = [i for i in range(1, inputs + 1) if inputs % i == 0]
    place = np.arange(inputs)
    for block, shift in itertools.product(reversed(divisors), divisors):
        if shift < block and block % shift == 0:
            permutation = place - place % block + (place + shift) % block
            # Sums of hash values show that most of them are no symmetries.
            if (
                np.array_equal(_sorted_sums(weights[permutation], hashes), sums)
                and _sorted_columns(labels[permutation]) == columns
            ):
                yield permutation


def _sorted_sums(weights: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sorted weighted sums of the columns modulo 2⁶⁴."""
    return np.sort(np.atleast_1d(weights @ hashes))


def _sorted_columns(labels: IntArray) -> bytes:
    """Return the sorted columns."""
    columns = np.ascontiguousarray(labels.T)
    whole = columns.view(np.dtype((np.void, columns.shape[1] * columns.itemsize)))
    return np.sort(whole.ravel()).tobytes()
