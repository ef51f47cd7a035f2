"""Answers to one question, and how they are printed."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import click

from shufflebounds.bounds.base import Answer, Bound
from shufflebounds.cli.errors import PrecisionNotReached
from shufflebounds.core.enclosure import Enclosure, outward

# What answers say of an enclosure in few digits, each rounded outward.


def width(found: Enclosure) -> str:
    """The relative width of an enclosure, in two digits, rounded up."""
    if found.lower == found.upper:
        return "0 (exact)"
    if math.isinf(found.upper):
        return "unbounded"
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(found.relative_width))
    return f"{rounded:.1e}"


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


# One line of progress on a terminal while a question takes long; nothing anywhere else.

# Seconds before the line appears, and from one of its states to the next.
AFTER, EVERY = 2.0, 1.0

# What is being computed; the thread that shows it reads it.
_now = SimpleNamespace(step="")


@contextmanager
def progress(*, hidden: bool) -> Iterator[None]:
    """Show what is computed and for how long, and wipe it off before anything else is printed.

    On standard error, and only if that is a terminal; not at all if `hidden`.
    """
    if hidden or not sys.stderr.isatty():
        yield
        return
    done = Event()
    shown = Thread(target=_show, args=(done, time.monotonic()), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()
        _now.step = ""


def one_by_one(bounds: Mapping[str, Bound]) -> Iterator[tuple[str, Bound]]:
    """The items, each of them named as what is being computed."""
    for place, (key, bound) in enumerate(bounds.items(), start=1):
        _now.step = f"{bound.label} ({place} of {len(bounds)}), "
        yield key, bound
    _now.step = ""


def _show(done: Event, start: float) -> None:
    longest, finished = 0, done.wait(AFTER)
    while not finished:
        line = f"computing: {_now.step}{time.monotonic() - start:.0f} s"
        longest = max(longest, len(line))
        click.echo(f"\r{line:{longest}}", err=True, nl=False)
        finished = done.wait(EVERY)
    if longest:
        click.echo(f"\r{'':{longest}}\r", err=True, nl=False)
