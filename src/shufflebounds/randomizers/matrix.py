"""Randomizers given as matrices of probabilities: as arrays, as CSV files, and k-fold."""

from __future__ import annotations

import csv
import hashlib
import itertools
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.domination import undominated
from shufflebounds.core.products import SMALLEST_MASS, relative_gap
from shufflebounds.core.work import fall_short, spend
from shufflebounds.randomizers.base import CoordinatePair, Randomizer, single_blanket
from shufflebounds.randomizers.crowds import missing_property
from shufflebounds.randomizers.joint import Joint

# A name, rows a, b and c, and how uncertain their entries are.
Pair = tuple[str, NDArray, NDArray, NDArray, float]
Ordering = Callable[[Iterable[int], int], Iterable[tuple[int, ...]]]

SUM_TOLERANCE = 1e-9
# Decompositions this close, relatively, are taken for one, whose uncertainty covers both.
_NEARLY_EQUAL = 1e-12
# Pairs of inputs times inputs times outputs that are looked at.
_LARGEST_CROWDS = 10**6
# Inputs of which all datasets are tried, and what each different one costs.
_FEW_INPUTS, _EACH_PAIR = 16, 1e6
# Largest number of different pairs of inputs whose blankets are compared, which costs as much as
# one question may.
_MOST_PAIRS = 15_000
_U = 2.0**-53


@dataclass(frozen=True, eq=False)
class MatrixRandomizer(Randomizer):
    """A randomizer by its matrix: rows are inputs, columns outputs, entries probabilities.

    Nothing is known of its symmetries, so every pair of inputs may be the worst: `blankets` has
    them all, but for those that are the same up to the order of outputs. A zero where another input
    has none makes ε₀ infinite; the bounds hold all the same.

    Parameters
    ----------
    P
        Numbers, shape (inputs, outputs), at least two rows; 0 or at least 10⁻³⁰⁰, rows sum to 1
        within 10⁻⁹. Bounds are those of rows divided by their sums; by how much these miss 1 counts
        as uncertainty of the entries, which covers ``P`` as it stands.

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
        object.__setattr__(self, "P", _checked(self.P))

    @cached_property
    def eps0(self) -> float:  # type: ignore[override]  # mechanisms are frozen: read-only, too
        """The largest log P(x)(y)/P(x′)(y), rounded up (natural log); inf next to a zero."""
        matrix = self.matrix()
        used = matrix[:, matrix.any(axis=0)]
        largest, least = used.max(axis=0), used.min(axis=0)
        if not least.all():
            return math.inf
        # A quotient, a logarithm and an entry's own rounding.
        loss = float(np.max(np.log(largest) - np.log(least)))
        sizes = np.abs(np.log(largest)) + np.abs(np.log(least))
        rounding = 8.0 * _U * float(np.max(sizes)) + 2.01 * self._missing
        return loss + (rounding if loss > 0.0 else 0.0)

    @cached_property
    def _missing(self) -> float:
        """By how much sums of rows miss 1, at most."""
        return max(abs(math.fsum([-1.0, *row])) for row in self.matrix().tolist())

    @cached_property
    def _rel_err(self) -> float:
        """Of `_normalized`, ``P`` and exact quotients within: what is missing, and roundings."""
        return self._missing + 4.0 * _U

    @cached_property
    def _normalized(self) -> NDArray[np.float64]:
        """``P`` with rows divided by their sums, but with no mass below the smallest."""
        matrix = self.matrix()
        divided = matrix / np.array([[math.fsum(row)] for row in matrix.tolist()])
        return np.where(matrix > 0.0, np.maximum(divided, SMALLEST_MASS), 0.0)

    def blanket(self) -> Decomposition:
        """That of every pair of inputs, if all pairs have the same; ValueError otherwise.

        No one of several is a bound by itself: take the largest over `blankets`.
        """
        return single_blanket(self.blankets())

    def blankets(self) -> dict[str, Decomposition]:
        """P(x₁⁰), P(x₁¹), inf_x P(x) of every pair that may be the worst, such as ``0 against 3``.

        Those that tell the inputs apart best come first. Each stands for both of its directions,
        for all pairs that differ from it in the order of outputs only, and for those that it
        exceeds at every ε and n (`domination`). If there are more than 15 000 of them, the stronger
        clone of ε₀ stands for all.
        """
        clone = self.simple_bound()
        if clone is not None and len(self._different_pairs) > _MOST_PAIRS:
            fall_short()
            return {"any two": clone}
        return dict(self._blankets)

    @cached_property
    def _blankets(self) -> dict[str, Decomposition]:
        return undominated(_distinct(self._different_pairs))

    @cached_property
    def _different_pairs(self) -> list[Pair]:
        return _different(self._pairs(itertools.combinations))

    def _pairs(self, ordering: Ordering) -> Iterator[Pair]:
        """Two inputs against what all of them are sure of."""
        matrix = self._normalized
        sure = matrix.min(axis=0)
        for x0, x1 in ordering(range(len(matrix)), 2):
            yield f"{x0} against {x1}", matrix[x0], matrix[x1], sure, self._rel_err

    def choices(self, *, apart: bool = False) -> tuple[CoordinatePair, ...]:
        """See `Randomizer`."""
        differing, equal = self._ordered
        pools = (differing, equal) if apart else ({**differing, **equal},)
        kept = {name: one for pool in pools for name, one in undominated(pool).items()}
        return tuple(CoordinatePair(name, name in differing, one) for name, one in kept.items())

    @cached_property
    def _ordered(self) -> tuple[dict[str, Decomposition], dict[str, Decomposition]]:
        """Ordered pairs of inputs, and equal ones."""
        matrix = self._normalized
        sure = matrix.min(axis=0)
        equal = ((f"{x} in both", row, row, sure, self._rel_err) for x, row in enumerate(matrix))
        differing = self._pairs(itertools.permutations)
        return _distinct(differing, both_orders=True), _distinct(equal, both_orders=True)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """P(x₁⁰), P(x₁¹), P(x₂) for all pairs and all x₂, such as ``0 against 3 among 5``.

        Those that tell the inputs apart best come first.
        """
        return dict(self._dataset_pairs)

    def known_datasets(self) -> dict[str, Decomposition]:
        """Those listed; of many inputs, those of the pairs whose blankets tell most."""
        if len(self.matrix()) <= _FEW_INPUTS:
            return self.dataset_pairs()
        return dict(self._telling_datasets)

    @cached_property
    def _telling_datasets(self) -> dict[str, Decomposition]:
        most = max(1, _FEW_INPUTS**3 // len(self.matrix()) // 2)
        if len(self._different_pairs) > _MOST_PAIRS:
            names = [name for name, *_ in sorted(self._different_pairs, key=_pair_contrast)[-most:]]
        else:
            names = list(itertools.islice(self._blankets, most))
        pairs = ((int(x0), int(x1)) for x0, x1 in (name.split(" against ") for name in names))
        return _distinct(self._datasets(pairs))

    @cached_property
    def _dataset_pairs(self) -> dict[str, Decomposition]:
        return _distinct(self._datasets(itertools.combinations(range(len(self.matrix())), 2)))

    def _datasets(self, pairs: Iterable[tuple[int, int]]) -> Iterator[Pair]:
        """Two inputs against each that all others may hold."""
        matrix = self._normalized
        for x0, x1 in pairs:
            for x2, row in enumerate(matrix):
                yield f"{x0} against {x1} among {x2}", matrix[x0], matrix[x1], row, self._rel_err

    def crowds(self) -> tuple[Crowd, ...]:
        """Every pair of inputs that differ, among all inputs; none where these are too many."""
        matrix = self._normalized
        if len(matrix) ** 3 * matrix.shape[1] > _LARGEST_CROWDS:
            return ()
        names = [str(x) for x in range(len(matrix))]
        return tuple(
            Crowd.of_rows(matrix, x0, x1, names, self._rel_err)
            for x0, x1 in itertools.combinations(range(len(matrix)), 2)
            if (matrix[x0] != matrix[x1]).any()
        )

    def matrix(self) -> NDArray[np.float64]:
        """``P``, read-only."""
        return np.asarray(self.P)


def _checked(rows: ArrayLike) -> NDArray[np.float64]:
    """A read-only copy; ValueError where it is no matrix of probabilities."""
    if _is_masked(rows):
        raise ValueError("P must be a table without a mask, got one in which entries are masked")
    try:
        given = np.array(rows)
    except ValueError:
        raise ValueError(f"P must be a table with rows of equal length, got {rows!r}") from None
    matrix = given.astype(np.float64) if given.dtype.kind in "iuf" else _real(rows)
    if matrix.ndim != 2 or len(matrix) < 2 or not matrix.size:
        raise ValueError(f"P must have two dimensions and at least two rows, got {matrix.shape}")
    wrong = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0.0)))
    tiny = np.argwhere((matrix > 0.0) & (matrix < SMALLEST_MASS))
    for place, wanted in ((wrong, "numbers >= 0"), (tiny, f"0 or numbers >= {SMALLEST_MASS:g}")):
        if place.size:
            x, y = place[0].tolist()
            raise ValueError(f"P must hold {wanted}, got {float(matrix[x, y])!r} in row {x}")
    for x, row in enumerate(matrix.tolist()):
        if abs(math.fsum([-1.0, *row])) > SUM_TOLERANCE:
            raise ValueError(f"P must have rows that sum to 1, got {math.fsum(row)!r} in row {x}")
    matrix.flags.writeable = False
    return matrix


def _is_masked(values: object) -> bool:
    """Whether any of them has a mask, which NumPy would take off."""
    if isinstance(values, list | tuple):
        return any(map(_is_masked, values))
    return isinstance(values, np.ma.MaskedArray)


def _real(rows: ArrayLike) -> NDArray[np.float64]:
    """Rows of Python's numbers, such as fractions; ValueError for what else NumPy would convert."""
    entries = np.array(rows, dtype=object)
    for entry in entries.flat:
        if isinstance(entry, bool | np.bool_) or not isinstance(entry, Real | Decimal):
            raise ValueError(f"P must hold real numbers, got {entry!r}")
    return entries.astype(np.float64)


def _distinct(pairs: Iterable[Pair], *, both_orders: bool = False) -> dict[str, Decomposition]:
    """Merged decompositions by name, one of those that agree up to rounding and order of outputs.

    With `both_orders` (a, b, c) and (b, a, c) do not agree, unless they are made of the same.
    """
    different = _different(pairs)
    spend(_EACH_PAIR * len(different))
    kept: dict[str, Decomposition] = {}
    alike: dict[int, list[tuple[str, NDArray]]] = {}
    for name, a, b, c, rel_err in different:
        found = Decomposition(a, b, c, rel_err).merge()
        masses = _in_order(np.stack([found.a, found.b, found.c]))
        # Those that agree have sums that are next to each other.
        place = round(1e9 * float(np.sqrt(masses[0] * masses[1]).sum() + masses[2].sum()))
        for known, its in itertools.chain(*(alike.get(place + i, []) for i in (-1, 0, 1))):
            gap = relative_gap(its, masses)
            if not both_orders:
                gap = min(gap, relative_gap(its, _in_order(masses[[1, 0, 2]])))
            if gap <= _NEARLY_EQUAL:
                covering = max(kept[known].rel_err, found.rel_err + 2.0 * gap)
                kept[known] = replace(kept[known], rel_err=covering, tied=None)
                break
        else:
            kept[name] = found
            alike.setdefault(place, []).append((name, masses))
    return dict(sorted(kept.items(), key=lambda item: -_contrast(item[1])))


def _different(pairs: Iterable[Pair]) -> list[Pair]:
    """Return one of those with the very same floats, which are many if inputs are symmetric."""
    different: dict[bytes, Pair] = {}
    for pair in pairs:
        masses = np.stack(pair[1:4])
        different.setdefault(masses[:, np.lexsort(masses)].tobytes(), pair)
    return list(different.values())


def _in_order(masses: NDArray) -> NDArray:
    """Rows a, b and c with components sorted by their ratios, which rounding must not decide."""
    a, b, c = masses
    with np.errstate(over="ignore"):
        return masses[:, np.lexsort([np.round(x / (a + b), 9) for x in (c, a)])]


def _contrast(decomposition: Decomposition) -> float:
    """How well a report tells the inputs apart among many others: Σ(a − b)²/c."""
    return _pair_contrast(("", decomposition.a, decomposition.b, decomposition.c, 0.0))


def _pair_contrast(pair: Pair) -> float:
    _, a, b, c, _ = pair
    with np.errstate(over="ignore"):
        return float(np.sum((a - b) ** 2 / np.maximum(c, SMALLEST_MASS)))


# Several reports of one value (k-fold composition), where a joint has a value for each.

# Values times combinations of outputs.
_LARGEST_FOLD = 10**7
# Of an entry of a mechanism's matrix, with room for a product of a dozen factors.
_ENTRY_ERR = 2.0**-46


@dataclass(frozen=True)
class KFold(MatrixRandomizer):
    """k-fold composition: a user sends k independent reports of one value together.

    As a `Joint` of k equal parts, but that all coordinates of a user are the same value: other
    users are sure of more then, so that the bound is no larger. The order of the k outputs says
    nothing about the value. So a column of the matrix stands for a multiset of outputs, in the
    order of `itertools.combinations_with_replacement`.

    Parameters
    ----------
    randomizer
        Of one report: of finitely many values and outputs, with a ``matrix``.
    k
        Number of reports, at least 1.

    Raises
    ------
    ValueError
        For a randomizer without a matrix, and where values times combinations of outputs are more
        than 10⁷.

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
        if len(rows) * rows.shape[1] ** min(k, 64) > _LARGEST_FOLD:
            raise ValueError(
                f"k must leave at most {_LARGEST_FOLD:.0e} values times combinations of outputs, "
                f"got {k} reports of {len(rows)} values and {rows.shape[1]} outputs each"
            )
        object.__setattr__(self, "P", _multiset_matrix(rows, k))
        super().__post_init__()

    @property
    def bits(self) -> float:
        """Of k reports."""
        return self.k * self.randomizer.bits

    def crowds(self) -> tuple[Crowd, ...]:
        """Every pair of values; where these would take long, those of a joint of k values.

        A user of the joint may hold one value k times, so that its datasets include all of these.
        """
        rows = self.randomizer.matrix()  # type: ignore[attr-defined]
        if len(rows) ** 3 * rows.shape[1] ** self.k <= _LARGEST_CROWDS:
            return super().crowds()
        if missing_property(self.randomizer):
            return ()
        joint = Joint([self.randomizer] * self.k).crowds()
        return tuple(replace(one, attained=False, tried=()) for one in joint if not one.differing)

    @property
    def label(self) -> str:
        """Such as 4 × 10-RR of one value."""
        return f"{self.k} × {self.randomizer.label} of one value"

    @cached_property
    def eps0(self) -> float | None:  # type: ignore[override]
        """K times that of the randomizer, rounded up; None where it has none."""
        one = self.randomizer.eps0
        if one is None or math.isinf(one):
            return one
        whole = self.k * one
        return whole if self.k * Fraction(one) <= whole else math.nextafter(whole, math.inf)

    @cached_property
    def _rel_err(self) -> float:
        return self._missing + self.k * _ENTRY_ERR


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


# Any randomizer of finitely many inputs and outputs, its matrix read from a CSV file.

# Of a file, in characters: far more than could be computed with.
_LONGEST = 10**8
# Largest relative distance of a sum from 1, or 100, that rounded entries explain.
_ROUNDED = 0.01


@dataclass(frozen=True)
class MatrixFile(MatrixRandomizer):
    """The randomizer of the matrix in a CSV file: a line for every input, numbers between commas.

    Semicolons, tabs or spaces may stand in place of the commas. Lines that begin with # are
    comments. There is no header and no column of names. A path that is not absolute is looked for
    in the working directory, which is the project's for Snakemake. ``digest`` stands for the
    numbers; where it is given, the file must hold the ones that it was made of.

    Raises ValueError, naming the file and, counted from 1, line and column, where the file cannot
    be read or holds no matrix as `MatrixRandomizer` takes it.
    """

    FILES: ClassVar[tuple[str, ...]] = ("file",)

    P: ArrayLike = field(init=False, repr=False, compare=False)
    file: str = field(metadata={"help": "CSV file: a row of probabilities for every input"})
    digest: str | None = field(default=None, metadata={"is_option": False})

    def __post_init__(self) -> None:
        matrix = _read(self.file)
        digest = _digest(matrix)
        if self.digest not in (None, digest):
            raise ValueError(
                f"file {str(self.file)!r} must hold the numbers whose digest is {self.digest}, "
                f"got others, whose digest is {digest}: it was changed"
            )
        object.__setattr__(self, "P", matrix)
        object.__setattr__(self, "digest", digest)
        super().__post_init__()

    @classmethod
    def completed(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with the digest."""
        return {**parameters, "digest": cls(**parameters).digest}

    @property
    def label(self) -> str:
        """The name of the file, such as m.csv."""
        return Path(self.file).name


def _read(file: object) -> NDArray[np.float64]:
    if not isinstance(file, str) or not file:
        raise ValueError(f"file must be the path of a CSV file, got {file!r}")
    name = f"file {file!r}"
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ValueError(f"{name} must be a regular file: it is read more than once")
        # utf-8-sig: spreadsheets put a mark at the beginning.
        with open(file, encoding="utf-8-sig", newline="") as opened:
            text = opened.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise ValueError(f"{name} must have at most {_LONGEST} characters")
        return _table(name, text)
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} must be a CSV file of text in UTF-8: {error}") from None


def _table(name: str, text: str) -> NDArray[np.float64]:
    """The matrix of a text; ValueError for what is no table of numbers between separators."""
    lines = {i: line for i, line in enumerate(text.splitlines(), 1) if line.lstrip()[:1] != "#"}
    while lines and not lines[max(lines)].strip(" \t,;"):
        del lines[max(lines)]
    separator = next((mark for mark in ";,\t" if any(mark in x for x in lines.values())), " ")
    stripped = [line.strip(" ") for line in lines.values()]
    table = list(csv.reader(stripped, delimiter=separator, skipinitialspace=True))
    if len(table) < 2:
        raise ValueError(
            f"{name} must have at least two rows, one for every input, got {len(table)}"
        )
    if all(cells[-1:] == [""] for cells in table):  # a separator ends each line
        table = [cells[:-1] for cells in table]
    first = min(lines)
    _refuse_header(f"{name}, line {first}", table[0])
    rows = []
    for i, cells in zip(lines, table, strict=False):
        if len(cells) != len(table[0]):
            raise ValueError(
                f"{name}, line {i} must have as many columns as line {first}, which has "
                f"{len(table[0])}, got {len(cells)}"
            )
        rows.append(_probabilities(f"{name}, line {i}", cells))
    return np.array(rows)


def _refuse_header(place: str, cells: list[str]) -> None:
    """ValueError where the first line holds names of columns, such as 0, 1, …, k−1."""
    names = [cell.strip() for cell in (cells[1:] if cells[0] == "" else cells)]
    numbers = list(map(_number, names))
    is_count = len(names) > 1 and any(
        numbers == [start + i for i in range(len(names))] for start in (0, 1)
    )
    if is_count and all(len(name) < 4 or name.isdigit() for name in names):
        input_ = "; if it is an input, put it on another line" if sum(numbers) == 1.0 else ""
        raise ValueError(
            f"{place} must be an input, got {', '.join(names)}, which looks like the header that "
            f"pandas writes: leave it out by to_csv(..., header=False, index=False){input_}"
        )
    if all(map(math.isnan, numbers)) and any(name[:1].isalpha() for name in names):
        raise ValueError(
            f"{place} must be an input, got the header {', '.join(cells)!r}: delete it"
        )


def _number(cell: str) -> float:
    """The number of a cell; nan where it holds none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _probabilities(place: str, cells: list[str]) -> list[float]:
    """The numbers of one line; ValueError where they are no distribution."""
    numbers = list(map(_number, cells))
    for column, (number, cell) in enumerate(zip(numbers, cells, strict=True), start=1):
        if not (number == 0.0 or SMALLEST_MASS <= number <= 1.0 + SUM_TOLERANCE):
            raise ValueError(
                f"{place}, column {column} must be a probability, 0 or from {SMALLEST_MASS:g} to "
                f"1, got {cell!r}{_hint(cells, numbers)}"
            )
    if abs(math.fsum([-1.0, *numbers])) > SUM_TOLERANCE:
        raise ValueError(
            f"{place} must sum to 1, got {math.fsum(numbers)!r}{_hint(cells, numbers)}"
        )
    return numbers


def _hint(cells: list[str], numbers: list[float]) -> str:
    """What to do about a line that is no distribution; empty where no common layout explains it."""
    total, rest = math.fsum(numbers), math.fsum(numbers[1:])
    # Of 0,25,0,75 that was meant as 0.25 and 0.75.
    decimals = [_number(".".join(pair)) for pair in zip(cells[::2], cells[1::2], strict=False)]
    if any(re.search(r"\d(,|\s+)\d", cell) for cell in cells) or _is_near(sum(decimals), 1.0):
        return "; write decimal points, not commas"
    if any("%" in cell for cell in cells) or _is_near(total, 100.0):
        return "; divide percentages by 100"
    if _is_near(rest, 1.0) and not 0.0 < numbers[0] < 1.0:
        return "; delete the column that names or counts the lines (pandas: index=False)"
    if "" in cells:
        return "; write 0 for a probability of 0"
    if _is_near(total, 1.0) and min(numbers) >= 0.0:
        return "; divide each row by its sum"
    return ""


def _is_near(total: float, wanted: float) -> bool:
    return math.isclose(total, wanted, rel_tol=_ROUNDED)


def _digest(matrix: NDArray[np.float64]) -> str:
    """Sixteen hexadecimal digits that stand for a matrix, however its file writes the numbers."""
    shape = np.array(matrix.shape, dtype="<i8").tobytes()
    # A zero may have a sign.
    content = (matrix + 0.0).astype("<f8").tobytes()
    return hashlib.sha256(shape + content).hexdigest()[:16]
