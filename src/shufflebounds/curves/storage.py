"""CSV files that notice a change: each row ends in a checksum of the rest of the file.

It guards against accidents, such as a truncated copy or a slip in an editor, not against forgers.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shufflebounds.curves.files import write_text

# Heading of the column that holds the checksum.
CHECKSUM = "checksum"


@dataclass(frozen=True)
class CurveName:
    """Which curve of a paper this is, and where it is stored; no values depend on it."""

    experiment: str
    regime: str
    curve: str

    def __str__(self) -> str:
        return f"{self.experiment}/{self.regime}/{self.curve}"


def write_table(
    columns: Sequence[str], rows: Iterable[Iterable[object]], path: str | os.PathLike[str]
) -> None:
    """Write a table, at once or not at all: its `sealed` text."""
    write_text(sealed(columns, rows), path)


def sealed(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the `text` of a table with a checksum at the end of each row, for `read_table`."""
    header, *body = text(columns, rows).removesuffix("\n").split("\n")
    checksum = _checksum([header, *body])
    return "\n".join([f"{header},{CHECKSUM}", *(f"{row},{checksum}" for row in body), ""])


def text(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV, without a checksum; a cell of None or NaN is left empty.

    Floats are written as the shortest decimals that read back as the same floats, so equal tables
    are equal texts.
    """
    content = io.StringIO()
    table = csv.writer(content, lineterminator="\n")
    table.writerow(columns)
    table.writerows(map(_cell, row) for row in rows)
    return content.getvalue()


def read_table(path: str | os.PathLike[str]) -> str:
    """Return the table as CSV, without the checksum.

    Raises ValueError, naming the file, where there is no checksum, or not that of the rest.
    """
    try:
        *lines, end = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        lines = []
    cut = [line.rpartition(",") for line in lines]
    if not cut or cut[0][2] != CHECKSUM:
        raise ValueError(f"{path} is not a table with a {CHECKSUM}")
    content = [before for before, _, _ in cut]
    if end or {checksum for _, _, checksum in cut[1:]} != {_checksum(content)}:
        raise ValueError(f"{path} has changed since it was written: its {CHECKSUM} does not fit")
    return "\n".join([*content, ""])


def table_columns(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Return the cells of a table that `read_table` can read, as they are written, by column."""
    header, *rows = csv.reader(io.StringIO(read_table(path)))
    return dict(zip(header, zip(*rows, strict=True), strict=True))


def require_columns(
    path: str | os.PathLike[str],
    cells: Mapping[str, Sequence[str]],
    expected: Mapping[str, object],
    but: str = "",
) -> None:
    """Raise ValueError, naming the file, unless columns hold nothing but what they should.

    The column `but` is left out.
    """
    for name, value in expected.items():
        for cell in cells[name] if name != but else ():
            _require_cell(path, name, cell, value)


def require_rows(
    path: str | os.PathLike[str],
    cells: Mapping[str, Sequence[str]],
    expected: Sequence[Mapping[str, object]],
) -> None:
    """Raise ValueError, naming the file, unless it has just these rows in the columns they name."""
    size = len(next(iter(cells.values()), ()))
    if size != len(expected):
        raise ValueError(f"{path} has {size} rows where {len(expected)} are wanted")
    for i, row in enumerate(expected):
        for name, value in row.items():
            _require_cell(path, name, cells[name][i], value, f" in row {i + 1}")


def _require_cell(
    path: str | os.PathLike[str], name: str, text: str, expected: object, where: str = ""
) -> None:
    if text != (cell := _cell(expected)):
        raise ValueError(
            f"{path} has {name} = {text or 'nothing'}{where} where {cell or 'nothing'} is wanted"
        )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return str(value)


def _checksum(lines: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    # Half of it is enough, and no program takes it for a number.
    return f"sha256:{digest[:16]}"
