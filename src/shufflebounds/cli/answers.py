"""Answers to one question, and how they are printed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from shufflebounds.bounds.base import Answer
from shufflebounds.cli.errors import PrecisionNotReached
from shufflebounds.cli.rounding import outward, width


@dataclass(frozen=True)
class Row:
    """An answer, what it is called, the end that counts, and what that lets one claim."""

    label: str
    end: str
    answer: Answer
    meaning: str


def show(
    as_json: bool,
    facts: Mapping[str, Any],
    title: str,
    column: str,
    rows: Mapping[str, Row],
    notes: Sequence[str],
) -> None:
    """Print everything. Raises `PrecisionNotReached` afterwards where an enclosure is too wide."""
    shortfalls = [
        f"{row.label}: {row.answer.shortfall}" for row in rows.values() if row.answer.shortfall
    ]
    if as_json:
        found = {name: _plain(row.answer) for name, row in rows.items()}
        answer = {**facts, **found, "precise": not shortfalls, "notes": list(notes)}
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
    else:
        click.echo(f"{title}\n")
        _print_table(column, rows)
        click.echo()
        for row in rows.values():
            click.echo(f"{row.label[0].upper()}{row.label[1:]}: {row.meaning}")
        for note in notes:
            click.echo(f"\n{click.wrap_text(note, width=80)}")
    if shortfalls:
        raise PrecisionNotReached("; ".join(shortfalls))


def _plain(answer: Answer) -> dict[str, Any]:
    """JSON has no infinity; null stands for it."""
    ends = {
        end: value if math.isfinite(value) else None
        for end, value in dataclasses.asdict(answer.enclosure).items()
    }
    named = {"inputs": answer.inputs, "others": answer.others}
    return {**ends, **{name: text for name, text in named.items() if text}}


def _print_table(column: str, rows: Mapping[str, Row]) -> None:
    heading = ["", column, "relative width", "victim's inputs", "other users' input"]
    lines = [heading, *(_cells(row) for row in rows.values())]
    if not any(row.answer.inputs for row in rows.values()):
        lines = [[*line[:3], line[4]] for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        padded = (f"{cell:{size}}" for cell, size in zip(line, widths, strict=True))
        click.echo(f"  {'   '.join(padded)}".rstrip())


def _cells(row: Row) -> list[str]:
    enclosure = row.answer.enclosure
    value = outward(getattr(enclosure, row.end), up=row.end == "upper")
    return [row.label, value, width(enclosure), row.answer.inputs, row.answer.others]
