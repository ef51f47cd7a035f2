"""Pages: a table of finished cells with what is to be read above and below it.

One page gives Markdown, as GitHub renders it, and LaTeX. Cells and texts are Markdown with
``$formulas$``; ``<br>`` breaks a line within a cell.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

# What LaTeX would not print, outside of formulas; a backslash before a formula's own stays.
_SPECIAL = re.compile(r"(?<!\\)([%&#_])")
_FORMULA = re.compile(r"(\$[^$]*\$)")
_CODE = re.compile(r"`([^`]*)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_EMPHASIS = re.compile(r"\*([^*]+)\*")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


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

    def markdown(self) -> str:
        """The page as Markdown."""
        parts = [f"# {self.title}", self.above.strip(), table(self.header, self.rows).strip()]
        return "\n\n".join(filter(None, [*parts, self.below.strip()])) + "\n"

    def latex(self) -> str:
        """The table alone, as a LaTeX ``tabular`` for the packages booktabs and makecell."""
        rows = [[_latex(cell) for cell in row] for row in self.rows]
        frame = pd.DataFrame(rows, columns=[_latex(cell) for cell in self.header])
        return f"% {self.title}\n{frame.to_latex(index=False, escape=False)}"


def safe(value: float, *, up: bool) -> str:
    """Five digits of `value`, not below it (`up`) or not above it."""
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    context = decimal.Context(prec=5, rounding=rounding)
    return format(context.create_decimal_from_float(value), "f")


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
