"""Tables for Markdown pages, as GitHub renders them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of finished cells, one line a row, which may hold ``$…$`` and ``<br>`` but no bars.

    Raises ValueError for a cell with a vertical bar or a line break, which would end the cell, and
    for a row that does not have one cell per column.
    """
    lines = [tuple(header), ("---",) * len(header), *map(tuple, rows)]
    for line in lines:
        if len(line) != len(header):
            raise ValueError(f"rows must have {len(header)} cells, got {line!r}")
        if any("|" in cell or "\n" in cell for cell in line):
            raise ValueError(f"cells must hold neither | nor a line break, got {line!r}")
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
