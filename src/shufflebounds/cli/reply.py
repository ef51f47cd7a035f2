"""What a command answers, and how that is printed: as text, as JSON, and as a report."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any, TypeAlias

import click

from shufflebounds.cli import report
from shufflebounds.cli.deployment import Deployment
from shufflebounds.core.enclosure import DIGITS, PrecisionError, outward
from shufflebounds.curves.files import write_text

# Columns of a terminal whose width is not known, and the longest line of text.
USUAL_WIDTH = 80
# Spaces before a table, and between its columns.
INDENT = 2
GAP = 2

# Share of its width down to which a column is narrowed rather than leave an optional one out.
MIN_SHARE = 0.75

# A space at which cells and headings are not broken. It is printed as a usual one.
KEPT_SPACE = "\N{NO-BREAK SPACE}"

# Cells by the heading of their column.
Table: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Output:
    """How a reply is printed.

    ``command`` is the command line without options on the output. ``digits`` are those of numbers.
    With ``every_row`` no row of a ranking is left out.
    """

    as_json: bool = False
    explain: bool = False
    report: Path | None = None
    every_row: bool = False
    command: str = ""
    digits: int = DIGITS

    def text(self, value: float, *, up: bool) -> str:
        """A number rounded outward."""
        return outward(value, up=up, digits=self.digits)


@dataclass(frozen=True)
class Reply:
    """The answer to a question.

    ``facts`` is the object of the JSON, to which the notes are added. ``claim`` has the sentences
    on what may be claimed. ``legend`` explains rows and columns. ``warnings`` are those of the
    notes that are always printed, up to their first sentence. ``bounds`` name the theorems that a
    report lists. The ``deployment`` is that of a question about one; other questions are about
    shuffled reports. ``sections`` of a list have their paragraphs by their heading. A ``document``,
    such as a CSV file, is printed as it is, and ``remarks`` go to standard error. ``max_rows`` of
    the table are printed, and its ``optional`` columns only where the terminal is wide enough. A
    ``shortfall`` is raised after the rest is printed.
    """

    title: str = ""
    facts: Mapping[str, Any] | list[Any] = field(default_factory=dict)
    table: Table = field(default_factory=dict)
    claim: Sequence[str] = ()
    legend: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    bounds: Sequence[str] = ()
    deployment: Deployment | None = None
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    document: str = ""
    remarks: Sequence[str] = ()
    max_rows: int | None = None
    optional: Sequence[str] = ()
    shortfall: PrecisionError | None = None
    exit_code: int = 0

    @property
    def json(self) -> str:
        """One JSON object, or a list of them."""
        notes = {"notes": list(self.notes)}
        content = {**self.facts, **notes} if isinstance(self.facts, Mapping) else self.facts
        return json.dumps(content, indent=2, allow_nan=False)

    @property
    def legend_lines(self) -> list[str]:
        """The legend, such as ``lower bound: two datasets differ by this much.``."""
        return [f"{name}: {text}" for name, text in self.legend.items()]

    def lines(self, output: Output) -> list[str]:
        """The text that is printed: paragraphs and a table, with empty lines between them."""
        table, hidden = self.table, 0
        if self.max_rows is not None and not output.every_row:
            hidden = max(0, len(next(iter(table.values()))) - self.max_rows)
            table = {heading: cells[: self.max_rows] for heading, cells in table.items()}
        sizes = column_sizes(table, terminal_width(), self.optional)
        hints = [f"Use --all for {hidden} more."] if hidden else []
        if absent := [heading for heading in table if heading not in sizes]:
            hints.append(f"A wider terminal also shows: {', '.join(absent)}.")
        paragraphs = [
            [wrapped(self.title)],
            [wrapped(" ".join(self.claim))],
            table_lines(table, sizes),
            [wrapped(" ".join(hints))],
            *(
                [name, *(wrapped(f"  {text}", "    ") for text in texts)]
                for name, texts in self.sections.items()
            ),
        ]
        shown = [first_sentence(note) for note in self.warnings]
        if output.explain:
            shown = list(self.notes)
            paragraphs.append([wrapped(line, "  ") for line in self.legend_lines])
        paragraphs += [[wrapped(note)] for note in shown]
        if shown != list(self.notes):
            paragraphs.append(["Use --explain for what this rests on."])
        return [line for lines in paragraphs if any(lines) for line in (*lines, "")][:-1]


def publish(reply: Reply, output: Output) -> None:
    """Print a reply and write its report; raise its shortfall afterwards."""
    if output.report is not None:
        path, page = output.report, report.report(reply, output.command, output.report.suffix)
        or_value_error(path, lambda: write_text(page.replace(KEPT_SPACE, " "), path))
    click.echo(reply.document, nl=False)
    for remark in reply.remarks:
        click.echo(wrapped(remark), err=True)
    if output.as_json:
        click.echo(reply.json)
    else:
        for line in reply.lines(output):
            click.echo(line)
    if reply.shortfall is not None:
        raise reply.shortfall


def or_value_error(path: Path, write: Callable[[], None]) -> None:
    """Call `write`; a failure to write is a ValueError that names the file."""
    try:
        write()
    except OSError as error:
        raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def first_sentence(note: str) -> str:
    """The note up to its first full stop or colon before a capital letter."""
    return re.split(r"(?<=[.:]) (?=[A-Z])", note, maxsplit=1)[0]


def terminal_width() -> int:
    """The columns of the terminal."""
    return shutil.get_terminal_size((USUAL_WIDTH, 1)).columns


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph in lines that fit the terminal; ``indent`` stands before all but the first."""
    width = min(USUAL_WIDTH, terminal_width())
    lines = wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines).replace(KEPT_SPACE, " ")


def column_sizes(table: Table, width: int, optional: Sequence[str] = ()) -> dict[str, int]:
    """The widths of the columns of a table that takes at most ``width``.

    If the table is too wide, headings are broken between words, then cells, but the ``optional``
    columns are left out, the first of them first, before cells become very narrow.
    """
    columns = {heading: aligned(cells) for heading, cells in table.items()}
    bodies = {heading: max(map(len, cells), default=0) for heading, cells in columns.items()}
    sizes = {heading: max(len(heading), body) for heading, body in bodies.items()}
    least = {heading: _longest_word([heading, *cells]) for heading, cells in columns.items()}
    narrow = {name: max(least[name], int(MIN_SHARE * bodies[name])) for name in sizes}
    absent = [heading for heading in optional if heading in table][:1]
    if absent and _total(narrow) > width:
        rest = {heading: cells for heading, cells in table.items() if heading not in absent}
        return column_sizes(rest, width, optional)
    _shrink(sizes, width, {name: max(least[name], bodies[name]) for name in sizes})
    _shrink(sizes, width, least)
    return sizes


def table_lines(table: Table, sizes: Mapping[str, int]) -> list[str]:
    """The headings and rows of a table, in columns of these sizes."""
    lines = []
    bodies = zip(*(aligned(table[heading]) for heading in sizes), strict=True)
    for row in [tuple(sizes), *bodies]:
        cells = [
            [cell] if len(cell) <= size else wrap(cell, size, break_on_hyphens=False)
            for cell, size in zip(row, sizes.values(), strict=True)
        ]
        height = max(map(len, cells), default=0)
        # Headings stand on the same line, above the first row.
        padding = height if row == tuple(sizes) else 0
        cells = [[""] * (padding - len(cell)) + cell for cell in cells]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (f"{part:{size}}" for part, size in zip(parts, sizes.values(), strict=True))
            line = f"{'':{INDENT}}{(' ' * GAP).join(padded)}"
            lines.append(line.replace(KEPT_SPACE, " ").rstrip())
    return lines


def _total(sizes: Mapping[str, int]) -> int:
    """The width of a table with columns of these sizes."""
    return INDENT + sum(sizes.values()) + GAP * (len(sizes) - 1)


def _longest_word(cells: Sequence[str]) -> int:
    return max((len(word) for cell in cells for word in cell.split(" ")), default=0)


def _shrink(sizes: dict[str, int], width: int, least: Mapping[str, int]) -> None:
    """Make the widest columns narrower until the table fits or all are as narrow as they may be."""
    while _total(sizes) > width:
        wide = [heading for heading in sizes if sizes[heading] > least[heading]]
        if not wide:
            break
        sizes[max(wide, key=lambda heading: sizes[heading])] -= 1


def aligned(cells: Sequence[str]) -> list[str]:
    """The cells, padded on the left so that decimal points stand below each other."""
    whole = [re.match(r"-?\d+|(inf|unbounded)$", cell) for cell in cells]
    heads = [len(match[0]) if match else 0 for match in whole]
    is_numeric = all(head or not cell for head, cell in zip(heads, cells, strict=True))
    if not is_numeric:
        return list(cells)
    most = max(heads, default=0)
    return [
        f"{'':{most - head}}{cell}" if cell else "" for head, cell in zip(heads, cells, strict=True)
    ]
