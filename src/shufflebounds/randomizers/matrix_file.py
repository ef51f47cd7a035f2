"""Randomizers by matrices of probabilities in CSV files, and what is wrong with a bad file."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core.products import SMALLEST_MASS, SUM_TOLERANCE
from shufflebounds.randomizers.matrix import MatrixRandomizer

# Largest number of characters of a file. A matrix of so many could not be used in calculations.
_MAX_FILE_LENGTH = 10**8
# Largest relative distance of a sum from 1, or from 100, that rounded entries explain.
_ROUNDED_SUM_TOLERANCE = 0.01


@dataclass(frozen=True)
class MatrixFile(MatrixRandomizer):
    """The matrix of a CSV file: a line for every input, numbers between commas.

    Semicolons, tabs or spaces may replace the commas. Lines that begin with # are comments. There
    is no header and no column of names. A relative path starts at the working directory, which is
    that of the project for Snakemake. ``digest`` is a digest of the numbers. If it is given, the
    file must contain the numbers with this digest.

    Raises ValueError if the file cannot be read, or contains no matrix for `MatrixRandomizer`. The
    message names the file and, counted from 1, line and column.
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
        """Return the parameters with the digest."""
        return {**parameters, "digest": cls(**parameters).digest}

    @property
    def label(self) -> str:
        """The name of the file, such as m.csv."""
        return Path(self.file).name


def _read(file: object) -> NDArray[np.float64]:
    """Return the matrix of a CSV file; raise ValueError if there is none."""
    if not isinstance(file, str) or not file:
        raise ValueError(f"file must be the path of a CSV file, got {file!r}")
    name = f"file {file!r}"
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ValueError(f"{name} must be a regular file: it is read more than once")
        # Spreadsheets write a byte order mark at the beginning, which utf-8-sig skips.
        with open(file, encoding="utf-8-sig", newline="") as opened:
            text = opened.read(_MAX_FILE_LENGTH + 1)
        if len(text) > _MAX_FILE_LENGTH:
            raise ValueError(f"{name} must have at most {_MAX_FILE_LENGTH} characters")
        return _parse_table(name, text)
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} must be a CSV file of text in UTF-8: {error}") from None


def _parse_table(name: str, text: str) -> NDArray[np.float64]:
    """Return the matrix of a text; raise ValueError if it is no table of probabilities."""
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
    if all(cells[-1:] == [""] for cells in table):  # A separator ends each line.
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
    """Raise ValueError if the first line has names of columns, such as 0, 1, …, k−1."""
    names = [cell.strip() for cell in (cells[1:] if cells[0] == "" else cells)]
    numbers = list(map(_cell_number, names))
    is_count = len(names) > 1 and any(
        numbers == [start + i for i in range(len(names))] for start in (0, 1)
    )
    if is_count and all(len(name) < 4 or name.isdigit() for name in names):
        input_ = "; if it is an input, put it on another line" if sum(numbers) == 1.0 else ""
        raise ValueError(
            f"{place} must hold probabilities, got {', '.join(names)}, which looks like the header "
            f"that pandas writes: leave it out by to_csv(..., header=False, index=False){input_}"
        )
    if all(map(math.isnan, numbers)) and any(name[:1].isalpha() for name in names):
        raise ValueError(
            f"{place} must hold probabilities, got the header {', '.join(cells)!r}: delete it"
        )


def _cell_number(cell: str) -> float:
    """Return the number of a cell; nan if it is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _probabilities(place: str, cells: list[str]) -> list[float]:
    """Return the numbers of one line; raise ValueError if they are no distribution."""
    numbers = list(map(_cell_number, cells))
    for column, (number, cell) in enumerate(zip(numbers, cells, strict=True), start=1):
        if not (number == 0.0 or SMALLEST_MASS <= number <= 1.0 + SUM_TOLERANCE):
            raise ValueError(
                f"{place}, column {column} must be a probability, 0 or from {SMALLEST_MASS:g} to "
                f"1, got {cell!r}{_hint(cells, numbers)}"
            )
    if abs(math.fsum([-1.0, *numbers])) > SUM_TOLERANCE:
        raise ValueError(
            f"{place} must sum to 1, got {math.fsum(numbers):.13g}{_hint(cells, numbers)}"
        )
    return numbers


def _hint(cells: list[str], numbers: list[float]) -> str:
    """Return how to mend a line that is not a distribution; empty if no mistake explains it."""
    total, total_without_first = math.fsum(numbers), math.fsum(numbers[1:])
    # The line 0,25,0,75 with decimal commas means 0.25 and 0.75.
    decimals = [_cell_number(".".join(pair)) for pair in zip(cells[::2], cells[1::2], strict=False)]
    if any(re.search(r"\d(,|\s+)\d", cell) for cell in cells) or _is_near(sum(decimals), 1.0):
        return "; write decimal points, not commas"
    if any("%" in cell for cell in cells) or _is_near(total, 100.0):
        return "; divide percentages by 100"
    if _is_near(total_without_first, 1.0) and not 0.0 < numbers[0] < 1.0:
        return "; delete the column that names or counts the lines (pandas: index=False)"
    if "" in cells:
        return "; write 0 for a probability of 0"
    if _is_near(total, 1.0) and min(numbers) >= 0.0:
        return "; divide each row by its sum"
    return ""


def _is_near(total: float, target: float) -> bool:
    """Return whether rounded entries explain the difference of a sum from its target."""
    return math.isclose(total, target, rel_tol=_ROUNDED_SUM_TOLERANCE)


def _digest(matrix: NDArray[np.float64]) -> str:
    """Return 16 hexadecimal digits, the same for all files with the same numbers."""
    shape = np.array(matrix.shape, dtype="<i8").tobytes()
    # Adding 0 removes the sign of a negative zero.
    content = (matrix + 0.0).astype("<f8").tobytes()
    return hashlib.sha256(shape + content).hexdigest()[:16]
