"""Tables of papers: how they are computed, their pages, and their CSV files."""

from __future__ import annotations

import decimal
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from shufflebounds._version import __version__
from shufflebounds.bounds.base import Numerics
from shufflebounds.curves import storage
from shufflebounds.randomizers.description import Description

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.curves.plotting.sheets import Sheet


@dataclass(frozen=True)
class Context:
    """What a table may refer to: mechanisms by name, and how divergences are computed."""

    mechanisms: Mapping[str, Description]
    numerics: Numerics


@dataclass(frozen=True)
class TableCode:
    """How a kind of table is computed from its parameters, and the page that shows it.

    Where a figure may show the table, ``sheet`` makes it, given a title.
    """

    compute: Callable[[Any, Context], pd.DataFrame]
    page: Callable[[pd.DataFrame], Page]
    sheet: Callable[[pd.DataFrame, str], Sheet] | None = None


# Pages: a table of finished cells with what is to be read above and below it.
#
# One page gives Markdown, as GitHub renders it, and LaTeX. Cells and texts are Markdown with
# ``$formulas$``; ``<br>`` breaks a line within a cell.

# What LaTeX would not print, outside of formulas; a backslash before a formula's own stays.
_SPECIAL = re.compile(r"(?<!\\)([%&#_])")
_FORMULA = re.compile(r"(\$[^$]*\$)")
_CODE = re.compile(r"`([^`]*)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_EMPHASIS = re.compile(r"\*([^*]+)\*")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


# A heading, and its cell of a row: a format such as ``{n:.0e}``, or a function.
Row: TypeAlias = Mapping[Any, Any]
Column: TypeAlias = tuple[str, str | Callable[[Row], str]]


@dataclass(frozen=True)
class Page:
    """A page of one table; ``below`` is Markdown that follows it.

    Raises ValueError for a cell with a vertical bar or a line break, which would end it, and for a
    row that does not have one cell per column.
    """

    title: str
    above: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: str = ""

    def __post_init__(self) -> None:
        for row in (self.header, *self.rows):
            if len(row) != len(self.header):
                raise ValueError(f"rows must have {len(self.header)} cells, got {row!r}")
            if any("|" in cell or "\n" in cell for cell in row):
                raise ValueError(f"cells must hold neither | nor a line break, got {row!r}")

    @staticmethod
    def of(
        frame: pd.DataFrame, columns: Sequence[Column], *, title: str, above: str, below: str = ""
    ) -> Page:
        """The page of a table with a row for each row of `frame`.

        `columns` are the headings, each with what makes its cells of a row.
        """
        rows = tuple(
            tuple(
                cell.format_map(row) if isinstance(cell, str) else cell(row) for _, cell in columns
            )
            for row in frame.to_dict("records")
        )
        return Page(title, above, tuple(heading for heading, _ in columns), rows, below)

    def markdown(self) -> str:
        """The page as Markdown."""
        parts = [f"# {self.title}", self.above.strip(), table(self.header, self.rows).strip()]
        return "\n\n".join(filter(None, [*parts, self.below.strip()])) + "\n"

    def latex(self) -> str:
        """The table alone, as a LaTeX ``tabular`` for the packages booktabs and makecell."""
        head, *rows = (" & ".join(map(_latex, row)) + r" \\" for row in (self.header, *self.rows))
        columns = "l" * len(self.header)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows]
        return "\n".join([f"% {self.title}", *lines, r"\bottomrule", r"\end{tabular}", ""])


def safe(value: float, *, up: bool) -> str:
    """Five digits of `value`, not below it (`up`) or not above it."""
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    context = decimal.Context(prec=5, rounding=rounding)
    return format(context.create_decimal_from_float(value), "f")


def grouped(value: int) -> str:
    """A whole number with a narrow space between thousands."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of finished cells as Markdown, one line a row."""
    lines = [tuple(header), ("---",) * len(header), *map(tuple, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _latex(cell: str) -> str:
    lines = [_latex_line(line.strip()) for line in cell.split("<br>")]
    broken = r" \\ ".join(lines)
    return broken if len(lines) == 1 else rf"\makecell[l]{{{broken}}}"


def _latex_line(text: str) -> str:
    parts = _FORMULA.split(text)
    return "".join(part if i % 2 else _latex_words(part) for i, part in enumerate(parts))


def _latex_words(text: str) -> str:
    text = _LINK.sub(r"\1", text)
    text = _SPECIAL.sub(r"\\\1", text)
    text = _CODE.sub(r"\\texttt{\1}", text)
    text = _STRONG.sub(r"\\textbf{\1}", text)
    return _EMPHASIS.sub(r"\\emph{\1}", text)


# Tables of papers as CSV files that carry the digest of what they were made from.


def write(table: pd.DataFrame, digest: str, path: str | os.PathLike[str]) -> None:
    """Write a table with its digest and a checksum (see `storage`), at once or not at all."""
    stamped = table.assign(version=__version__, digest=digest)
    storage.write(list(stamped.columns), stamped.itertuples(index=False, name=None), path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table back; ValueError, naming the file, where it is not as `write` wrote it."""
    import pandas as pd

    return pd.read_csv(io.StringIO(storage.read(path)), keep_default_na=False)


def verify(path: str | os.PathLike[str], digest: str) -> None:
    """Raise ValueError, in one sentence, where a file is not the table of a digest."""
    found = storage.columns(path)
    if "digest" not in found:
        raise ValueError(f"{path} is not a table with a digest")
    storage.require(path, found, {"digest": digest})
