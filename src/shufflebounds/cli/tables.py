"""Tables that fit the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import TypeAlias

# Spaces before a table.
INDENT = 2
# Spaces between columns.
GAP = 2
# A space at which cells and headings are not broken. It is printed as a usual one.
KEPT_SPACE = "\N{NO-BREAK SPACE}"

# Cells by the heading of their column.
Table: TypeAlias = Mapping[str, Sequence[str]]


def table_lines(table: Table, width: int) -> list[str]:
    """Return the headings and rows of a table that takes at most ``width``, if words fit."""
    columns = {heading: aligned(cells) for heading, cells in table.items()}
    sizes = _column_sizes(columns, width).values()
    lines = []
    for place, row in enumerate([tuple(columns), *zip(*columns.values(), strict=True)]):
        cells = [
            [cell] if len(cell) <= size else wrap(cell, size, break_on_hyphens=False)
            for cell, size in zip(row, sizes, strict=True)
        ]
        # The last lines of headings stand above the first row.
        height = max(map(len, cells), default=0) if place == 0 else 0
        cells = [[""] * (height - len(cell)) + cell for cell in cells]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (f"{part:{size}}" for part, size in zip(parts, sizes, strict=True))
            line = f"{'':{INDENT}}{(' ' * GAP).join(padded)}"
            lines.append(line.replace(KEPT_SPACE, " ").rstrip())
    return lines


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
    return sizes


def aligned(cells: Sequence[str]) -> list[str]:
    """Return the cells, padded on the left so that decimal points stand below each other."""
    whole = [re.match(r"-?\d+|(inf|unbounded)$", cell) for cell in cells]
    heads = [len(match[0]) if match else 0 for match in whole]
    is_numeric = all(head or not cell for head, cell in zip(heads, cells, strict=True))
    if not is_numeric:
        return list(cells)
    most = max(heads, default=0)
    return [
        f"{'':{most - head}}{cell}" if cell else "" for head, cell in zip(heads, cells, strict=True)
    ]
