"""Pages of tables: finished cells with the text above and below them, as Markdown and LaTeX.

Cells and texts are Markdown with ``$formulas$``; ``<br>`` breaks a line within a cell.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

# A row of a table by column, and a column of a page: its heading, and what makes its cell of a row,
# a format such as ``{n:.0e}`` or a function.
Row: TypeAlias = Mapping[Any, Any]
Column: TypeAlias = tuple[str, str | Callable[[Row], str]]

# A formula, which LaTeX shares with Markdown.
FORMULA = re.compile(r"(\$[^$]*\$)")

# Markdown outside of formulas and what it is in LaTeX, in the order of replacement: links,
# characters that must be escaped and are not yet, code, strong text, emphasis.
MARKUP = (
    (re.compile(r"\[([^\]]+)\]\([^)]+\)"), r"\1"),
    (re.compile(r"(?<!\\)([%&#_])"), r"\\\1"),
    (re.compile(r"`([^`]*)`"), r"\\texttt{\1}"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"\\textbf{\1}"),
    (re.compile(r"\*([^*]+)\*"), r"\\emph{\1}"),
)


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
        """Return the page with a row for each row of `frame` and a column for each of `columns`."""
        rows = tuple(
            tuple(
                cell.format_map(row) if isinstance(cell, str) else cell(row) for _, cell in columns
            )
            for row in frame.to_dict("records")
        )
        return Page(title, above, tuple(heading for heading, _ in columns), rows, below)

    def markdown(self) -> str:
        """Return the page as Markdown."""
        table = markdown_table(self.header, self.rows).strip()
        parts = [f"# {self.title}", self.above.strip(), table, self.below.strip()]
        return "\n\n".join(filter(None, parts)) + "\n"

    def latex(self) -> str:
        """Return the table alone, as a LaTeX ``tabular`` for the packages booktabs and makecell."""
        head, *rows = (" & ".join(map(_latex, row)) + r" \\" for row in (self.header, *self.rows))
        columns = "l" * len(self.header)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows]
        return "\n".join([f"% {self.title}", *lines, r"\bottomrule", r"\end{tabular}", ""])


def safe(value: float, *, up: bool) -> str:
    """Return five digits of `value`, not below it (`up`) or not above it."""
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    context = decimal.Context(prec=5, rounding=rounding)
    return format(context.create_decimal_from_float(value), "f")


def grouped(value: int) -> str:
    """Return a whole number with a narrow space between thousands."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of finished cells as Markdown, one line a row."""
    lines = [tuple(header), ("---",) * len(header), *map(tuple, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _latex(cell: str) -> str:
    lines = [_latex_line(line.strip()) for line in cell.split("<br>")]
    broken = r" \\ ".join(lines)
    return broken if len(lines) == 1 else rf"\makecell[l]{{{broken}}}"


def _latex_line(line: str) -> str:
    """Return a line in which every second part is a formula, which stays."""
    parts = FORMULA.split(line)
    return "".join(part if i % 2 else _latex_words(part) for i, part in enumerate(parts))


def _latex_words(words: str) -> str:
    for pattern, replacement in MARKUP:
        words = pattern.sub(replacement, words)
    return words
