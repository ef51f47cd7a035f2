"""Any randomizer of finitely many inputs and outputs, its matrix read from a CSV file."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.masses import SMALLEST_MASS
from shufflebounds.randomizers.matrix import SUM_TOLERANCE, MatrixRandomizer

# Of a file, in characters: far more than could be computed with.
_LONGEST = 10**8


@dataclass(frozen=True)
class MatrixFile(MatrixRandomizer):
    """The randomizer of the matrix in a CSV file: a line for every input, numbers between commas.

    There is no header. A path that is not absolute is looked for in the working directory, which is
    the project's for Snakemake. ``digest`` stands for the numbers; where it is given, the file must
    hold the ones that it was made of.

    Raises ValueError, naming the file and, counted from 1, row and column, where the file cannot be
    read or holds no matrix as `MatrixRandomizer` takes it.
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
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} must be a CSV file of text in UTF-8: {error}") from None
    while lines and not any(cell.strip() for cell in lines[-1]):
        lines.pop()
    if len(lines) < 2:
        raise ValueError(
            f"{name} must have at least two rows, one for every input, got {len(lines)}"
        )
    rows = [_numbers(name, i + 1, cells, len(lines[0])) for i, cells in enumerate(lines)]
    return np.array(rows)


def _numbers(name: str, row: int, cells: list[str], columns: int) -> list[float]:
    """One row; ValueError where it is none of a matrix of probabilities with so many columns."""
    if len(cells) != columns:
        raise ValueError(
            f"{name}, row {row} must have as many columns as row 1, which has {columns}, "
            f"got {len(cells)}"
        )
    found = []
    for column, cell in enumerate(cells, start=1):
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
        if not (number == 0.0 or SMALLEST_MASS <= number <= 1.0 + SUM_TOLERANCE):
            raise ValueError(
                f"{name}, row {row}, column {column} must be a probability, 0 or from "
                f"{SMALLEST_MASS:g} to 1, got {cell!r}"
            )
        found.append(number)
    if abs(math.fsum([-1.0, *found])) > SUM_TOLERANCE:
        raise ValueError(f"{name}, row {row} must sum to 1, got {math.fsum(found)!r}")
    return found


def _digest(matrix: NDArray[np.float64]) -> str:
    """Sixteen hexadecimal digits that stand for a matrix, however its file writes the numbers."""
    shape = np.array(matrix.shape, dtype="<i8").tobytes()
    # A zero may have a sign.
    content = (matrix + 0.0).astype("<f8").tobytes()
    return hashlib.sha256(shape + content).hexdigest()[:16]
