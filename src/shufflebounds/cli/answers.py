"""Answers to one question, and how they are printed."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import click

from shufflebounds.bounds.base import Answer, Bound
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.errors import PrecisionNotReached
from shufflebounds.core.enclosure import Enclosure, outward

# The bounds that answer, by the key of the JSON.
NAMES = {
    "tight_bound": "tight",
    "upper_bound": "upper",
    "lower_bound": "lower",
    "clone": "clone",
    "closed_form": "girgis_upper",
}


End: TypeAlias = Literal["upper", "lower"]


def kind_of(key: str) -> End:
    """Of the bound under a key: ``upper`` or ``lower``."""
    return "lower" if key == "lower_bound" else "upper"


def other(end: End) -> End:
    """The other end of an enclosure."""
    return "lower" if end == "upper" else "upper"


def show(
    asked: Deployment,
    answers: Mapping[str, Answer],
    *,
    as_json: bool,
    target: Mapping[str, Any],
    wording: str,
    column: str,
    meanings: Mapping[str, str],
    better: str = "smaller",
    instead: Mapping[tuple[str, float], str] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the answers to a question with a `target`, which `wording` tells people.

    Of an upper bound the end of the enclosure counts that is the safe one, of a lower bound the
    other. `meanings` say what that lets one claim, by the bound's name; `instead` has those of
    numbers that say something else, by the kind of bound and the number.

    Raises `PrecisionNotReached` afterwards where an enclosure is too wide.
    """
    lines, said = [["", column, "relative width", "victim's inputs", "other users' input"]], {}
    for key, answer in answers.items():
        label, kind = BOUNDS[NAMES[key]].label, kind_of(key)
        end = kind if better == "smaller" else other(kind)
        number = getattr(answer.enclosure, end)
        said[label] = (instead or {}).get((kind, number), meanings[NAMES[key]])
        value = outward(number, up=end == "upper")
        lines.append([label, value, width(answer.enclosure), answer.inputs, answer.others])
    if not any(answer.inputs for answer in answers.values()):
        lines = [[*line[:3], line[4]] for line in lines]
    shortfalls = [
        f"{label}: {answer.shortfall}"
        for label, answer in zip(said, answers.values(), strict=True)
        if answer.shortfall
    ]
    publish(
        as_json,
        facts=asked.facts(**target)
        | {key: _plain(answer) for key, answer in answers.items()}
        | {"precise": not shortfalls},
        paragraphs=[asked.title(wording)],
        table=lines,
        meanings=said,
        notes=[*asked.notes(), *notes],
    )
    if shortfalls:
        raise PrecisionNotReached("; ".join(shortfalls))


def publish(
    as_json: bool,
    *,
    facts: Mapping[str, Any],
    paragraphs: Sequence[str],
    table: Sequence[Sequence[str]],
    meanings: Mapping[str, str],
    notes: Sequence[str],
) -> None:
    """Print one JSON object of `facts` and `notes`, or everything else for people."""
    if as_json:
        click.echo(json.dumps({**facts, "notes": list(notes)}, indent=2, allow_nan=False))
        return
    for paragraph in paragraphs:
        click.echo(f"{paragraph}\n")
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for line in table:
        padded = (f"{cell:{size}}" for cell, size in zip(line, widths, strict=True))
        click.echo(f"  {'   '.join(padded)}".rstrip())
    if meanings:
        click.echo()
    for label, meaning in meanings.items():
        click.echo(f"{label[0].upper()}{label[1:]}: {meaning}")
    for note in notes:
        click.echo(f"\n{wrapped(note)}")


def wrapped(text: str) -> str:
    """A paragraph in lines that fit a terminal."""
    return click.wrap_text(text, width=80)


def width(found: Enclosure) -> str:
    """The relative width of an enclosure, in two digits, rounded up."""
    if found.lower == found.upper:
        return "0 (exact)"
    if math.isinf(found.upper):
        return "unbounded"
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(found.relative_width))
    return f"{rounded:.1e}"


def ends(found: Enclosure) -> dict[str, float | None]:
    """As JSON has them, where null stands for infinity."""
    return {end: value if math.isfinite(value) else None for end, value in asdict(found).items()}


def _plain(answer: Answer) -> dict[str, Any]:
    named = {"inputs": answer.inputs, "others": answer.others}
    return {**ends(answer.enclosure), **{name: text for name, text in named.items() if text}}


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
