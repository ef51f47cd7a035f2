"""Tables that fit the terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, TypeAlias

# Spaces before a table.
INDENT = 2
# Spaces between columns.
GAP = 2
# A space at which cells and headings are not broken. It is printed as a usual one.
KEPT_SPACE = "\N{NO-BREAK SPACE}"

# A cell with a number: the part before the decimal point, which stands above those of other rows,
# and the rest with its unit.
NUMBER = re.compile(r"(-?\d+|inf|unbounded)(?:\.\d+)?(?:e[+-]?\d+)?(?: %| \(exact\))?")

# Cells by the heading of their column.
Table: TypeAlias = Mapping[str, Sequence[str]]


def table_lines(table: Table, width: int) -> list[str]:
    """Return the headings and rows of a table that takes at most ``width``, if words fit.

    Columns of numbers stand on the right, with their headings.
    """
    columns = {heading: aligned(cells) for heading, cells in table.items()}
    sizes = _column_sizes(columns, width).values()
    sides = [">" if is_numeric(cells) else "<" for cells in table.values()]
    lines = []
    for place, row in enumerate([tuple(columns), *zip(*columns.values(), strict=True)]):
        cells = [_cell_lines(cell, size) for cell, size in zip(row, sizes, strict=True)]
        # The last lines of headings stand above the first row.
        height = max(map(len, cells), default=0) if place == 0 else 0
        cells = [[""] * (height - len(cell)) + cell for cell in cells]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (
                f"{part:{side}{size}}" for part, side, size in zip(parts, sides, sizes, strict=True)
            )
            line = f"{'':{INDENT}}{(' ' * GAP).join(padded)}"
            lines.append(line.replace(KEPT_SPACE, " ").rstrip())
    return lines


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with their keys as the first line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _column_sizes(columns: Table, width: int) -> dict[str, int]:
    """Return the widths of the columns.

    If the table is too wide, the widest columns are broken between words, headings before cells.
    """
    bodies = {heading: max(map(len, cells), default=0) for heading, cells in columns.items()}
    sizes = {heading: max(len(heading), body) for heading, body in bodies.items()}
    words = {
        heading: max(len(word) for cell in (heading, *cells) for word in cell.split(" "))
        for heading, cells in columns.items()
    }
    while INDENT + sum(sizes.values()) + GAP * (len(sizes) - 1) > width:
        wide = [heading for heading in sizes if sizes[heading] > words[heading]]
        if not wide:
            break
        widest = max(wide, key=lambda name: (sizes[name] > bodies[name], sizes[name]))
        sizes[widest] -= 1
    # Broken between words, a column may need less than what is left to it.
    return {
        heading: max(len(line) for cell in (heading, *cells) for line in _cell_lines(cell, size))
        for (heading, cells), size in zip(columns.items(), sizes.values(), strict=True)
    }


def _cell_lines(cell: str, size: int) -> list[str]:
    """Return the lines of a cell."""
    return [cell] if len(cell) <= size else wrap(cell, size, break_on_hyphens=False)


def is_numeric(cells: Sequence[str]) -> bool:
    """Return whether all cells that are not empty are numbers, and some are."""
    return any(cells) and all(NUMBER.fullmatch(cell) for cell in cells if cell)


def aligned(cells: Sequence[str]) -> list[str]:
    """Return the cells, of one width with decimal points below each other if they are numbers."""
    if not is_numeric(cells):
        return list(cells)
    heads = [len(match[1]) if (match := NUMBER.fullmatch(cell)) else 0 for cell in cells]
    padded = [
        f"{'':{max(heads) - head}}{cell}" if cell else ""
        for head, cell in zip(heads, cells, strict=True)
    ]
    width = max(map(len, padded))
    return [f"{cell:{width}}" if cell else "" for cell in padded]
