"""What a command answers, and how that is printed: as text, as JSON, and as a report."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from shufflebounds.cli import report
from shufflebounds.cli.scenario import Scenario
from shufflebounds.cli.tables import KEPT_SPACE, Table, table_lines
from shufflebounds.core.enclosure import DIGITS, PrecisionError, outward
from shufflebounds.core.relation import Relation
from shufflebounds.curves.files import write_text
from shufflebounds.subjects.observation import REPORTS, Observation

# Columns of a terminal whose width is not known, and the longest line of text.
USUAL_WIDTH = 80


@dataclass(frozen=True)
class Output:
    """How a reply is printed.

    ``command`` is the command line as it was typed. ``digits`` are those of numbers.
    """

    as_json: bool = False
    explain: bool = False
    report: Path | None = None
    command: str = ""
    digits: int = DIGITS

    def text(self, value: float, *, up: bool) -> str:
        """Return a number rounded outward."""
        return outward(value, up=up, digits=self.digits)


@dataclass(frozen=True)
class Reply:
    """The answer to a question.

    ``facts`` is the object of the JSON, to which the notes are added. ``claim`` has the sentences
    on what may be claimed, and ``fallback`` those on what is left if the shuffler fails. A report
    has the ``headline`` as its title, by default the first sentence of the claim. ``legend``
    explains rows and columns. ``warnings`` are those of the notes that are always printed, up to
    their first sentence. ``written`` are further notes, on files, without which a report says how
    to get its object again. ``bounds`` name the theorems that a report lists. The ``deployment`` is
    that of a question about one; other questions are about what is ``seen``. ``sections`` of a list
    have their paragraphs by their heading. A ``document``, such as a CSV file, is printed as it is,
    and ``remarks`` go to standard error. ``shown`` are the rows of the table that are printed, if
    not all. The first sentence of the claim is bold, and has the ``color``, in a terminal. A
    ``shortfall`` is raised after the rest is printed.
    """

    title: str = ""
    facts: Mapping[str, Any] | list[Any] = field(default_factory=dict)
    table: Table = field(default_factory=dict)
    claim: Sequence[str] = ()
    fallback: Sequence[str] = ()
    headline: str = ""
    legend: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    written: Sequence[str] = ()
    warnings: Sequence[str] = ()
    bounds: Sequence[str] = ()
    deployment: Scenario | None = None
    seen: Observation = REPORTS
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    document: str = ""
    remarks: Sequence[str] = ()
    shown: Sequence[int] | None = None
    color: str | None = None
    shortfall: PrecisionError | ValueError | None = None
    exit_code: int = 0

    @property
    def json(self) -> str:
        """One JSON object, or a list of them."""
        notes = {"notes": [*self.notes, *self.written]}
        content = {**self.facts, **notes} if isinstance(self.facts, Mapping) else self.facts
        return json.dumps(content, indent=2, allow_nan=False)

    @property
    def legend_lines(self) -> list[str]:
        """The legend, such as ``lower bound: two datasets differ by this much.``."""
        return [f"{name}: {text}" for name, text in self.legend.items()]

    def lines(self, output: Output) -> list[str]:
        """Return the text that is printed: paragraphs and a table, with empty lines between."""
        rows = range(len(next(iter(self.table.values()), ())))
        shown = rows if self.shown is None else self.shown
        table = {heading: [cells[i] for i in shown] for heading, cells in self.table.items()}
        hidden = len(rows) - len(shown)
        paragraphs = [
            [wrapped_paragraph(self.title)],
            [self._emphasized_claim()],
            table_lines(table, terminal_width()),
            [f"Use --all for {hidden} more."] if hidden else [],
            *(
                [name, *(wrapped_paragraph(f"  {text}", "    ") for text in texts)]
                for name, texts in self.sections.items()
            ),
            *(self._explanation() if output.explain else self._warnings()),
        ]
        return [line for lines in paragraphs if any(lines) for line in (*lines, "")][:-1]

    def _emphasized_claim(self) -> str:
        """The claim, whose first sentence stands out in a terminal."""
        text = wrapped_paragraph(" ".join([*self.claim, *self.fallback]))
        # Lines are broken at spaces, each of which becomes a line feed.
        end = len(self.claim[0]) if self.claim else 0
        return f"{click.style(text[:end], bold=True, fg=self.color)}{text[end:]}" if end else text

    @property
    def observation(self) -> Observation:
        """What is seen, and by whom."""
        return self.seen if self.deployment is None else self.deployment.sample.seen

    @property
    def assumptions(self) -> list[str]:
        """The sentences that hold for every answer about what is seen; none for a list."""
        if not isinstance(self.facts, Mapping) or "relation" not in self.facts:
            return []
        seen, words = self.observation, self.observation.words
        relation = Relation(self.facts["relation"]).sentence_of(words.person)
        return [x for x in (relation, words.conditions, seen.observer, words.not_covered) if x]

    def _explanation(self) -> list[list[str]]:
        """The legend, the assumptions and the notes, as paragraphs."""
        paragraphs = [
            [wrapped_paragraph(line, "  ") for line in lines]
            for lines in (self.legend_lines, self.assumptions)
        ]
        notes = ([wrapped_paragraph(note)] for note in (*self.notes, *self.written))
        return [*paragraphs, *notes]

    def _warnings(self) -> list[list[str]]:
        """The first sentences of warnings, and how to see the notes."""
        shown = [first_sentence(note) for note in (*self.warnings, *self.written)]
        has_more = shown != [*self.notes, *self.written]
        more = ["Use --explain to see the assumptions."] if has_more else []
        return [*([wrapped_paragraph(note)] for note in shown), more]


def publish(reply: Reply, output: Output) -> None:
    """Print a reply and write its report; raise its shortfall afterwards."""
    if output.report is not None:
        path, page = output.report, report.report(reply, output.command, output.report.suffix)
        or_value_error(path, lambda: write_text(page.replace(KEPT_SPACE, " "), path))
    click.echo(reply.document, nl=False)
    for remark in reply.remarks:
        click.echo(wrapped_paragraph(remark), err=True)
    # Without a choice, styles are printed to a terminal only.
    color = False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
    for line in [reply.json] if output.as_json else reply.lines(output):
        click.echo(line, color=color)
    if reply.shortfall is not None:
        raise reply.shortfall


def or_value_error(path: Path, write: Callable[[], None]) -> None:
    """Call `write`; a failure to write is a ValueError that names the file."""
    try:
        write()
    except OSError as error:
        raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def first_sentence(note: str) -> str:
    """Return the note up to its first full stop or colon before a capital letter."""
    return re.split(r"(?<=[.:]) (?=[A-Z])", note, maxsplit=1)[0]


def terminal_width() -> int:
    """Return the number of columns of the terminal."""
    return shutil.get_terminal_size((USUAL_WIDTH, 1)).columns


def wrapped_paragraph(text: str, indent: str = "") -> str:
    """Return a paragraph in lines that fit; ``indent`` stands before all but the first."""
    width = min(USUAL_WIDTH, terminal_width())
    lines = wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines).replace(KEPT_SPACE, " ")
