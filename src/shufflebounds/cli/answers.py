"""Answers to one question, and how they are printed."""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from threading import Event, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from shufflebounds.bounds.base import Answer, Bound
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli import certificate
from shufflebounds.cli.errors import PrecisionNotReached, or_usage_error
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.reproduce.storage import write_text

if TYPE_CHECKING:
    from shufflebounds.cli.deployment import Users
    from shufflebounds.cli.options import Output

End: TypeAlias = Literal["upper", "lower"]

# What version 0.1 called bounds in JSON, for scripts that read it.
_FORMER = {
    "tight_bound": "tight",
    "upper_bound": "upper",
    "lower_bound": "lower",
    "closed_form": "girgis_upper",
}


def kind_of(name: str) -> End:
    """Of the bound of a name: ``upper`` or ``lower``."""
    return "lower" if name == "lower" else "upper"


def other(end: End) -> End:
    """The other end of an enclosure."""
    return "lower" if end == "upper" else "upper"


def show(
    asked: Users,
    answers: Mapping[str, Answer],
    output: Output,
    *,
    target: Mapping[str, Any],
    wording: str,
    column: str,
    meanings: Mapping[str, str],
    better: str = "smaller",
    instead: Mapping[tuple[str, float], str] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the answers, by the bound's name, to a question with a `target`, worded for people.

    Of an upper bound the end of the enclosure counts that is the safe one, of a lower bound the
    other. `meanings` say what that lets one claim, by the bound's name; `instead` has those of
    numbers that say something else, by the kind of bound and the number.

    Raises `PrecisionNotReached` afterwards where an enclosure is too wide.
    """
    ends = {
        name: kind_of(name) if better == "smaller" else other(kind_of(name)) for name in answers
    }
    numbers = {name: getattr(one.enclosure, ends[name]) for name, one in answers.items()}
    labels = {name: BOUNDS[name].label for name in answers}
    head = [
        "",
        column,
        "numerical error",
        "from lower bound",
        "victim's inputs",
        "other users' input",
    ]
    lines, said = [head], {}
    for name, answer in answers.items():
        label, number = labels[name], numbers[name]
        said[label] = (instead or {}).get((kind_of(name), number), meanings[name])
        lines.append(
            [
                label,
                output.text(number, up=ends[name] == "upper"),
                # The lower end of its enclosure is that of the worst known dataset.
                "" if name == "tight" else width(answer.enclosure),
                "" if name == "lower" else distance(number, numbers.get("lower")),
                answer.inputs,
                answer.others,
            ]
        )
    shortfalls = [
        f"{label}: {answer.shortfall}"
        for label, answer in zip(said, answers.values(), strict=True)
        if answer.shortfall
    ]
    publish(
        output,
        facts=asked.facts(**target)
        | {name: _plain(answer) for name, answer in answers.items()}
        | {key: _plain(answers[name]) for key, name in _FORMER.items() if name in answers}
        | {"precise": not shortfalls},
        paragraphs=[asked.title(wording)],
        table=_without_empty_columns(lines),
        meanings=said,
        notes=[*asked.notes(), *notes],
        bounds=tuple(answers),
    )
    if shortfalls:
        raise PrecisionNotReached("; ".join(shortfalls))


def _without_empty_columns(lines: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    columns = zip(*lines, strict=True)
    return list(zip(*(one for one in columns if any(one[1:])), strict=True))


def publish(
    output: Output,
    *,
    facts: Mapping[str, Any],
    paragraphs: Sequence[str],
    table: Sequence[Sequence[str]],
    meanings: Mapping[str, str],
    notes: Sequence[str],
    bounds: Sequence[str],
) -> None:
    """Print one JSON object of `facts` and `notes`, or everything else for people.

    Of a note only its first sentence, unless an explanation is asked for. A report, if there is to
    be one, has all of it, and the theorems of the `bounds`.
    """
    whole = json.dumps({**facts, "notes": list(notes)}, indent=2, allow_nan=False)
    if output.report is not None:
        text = certificate.text(
            output.report.suffix,
            question=paragraphs,
            command=output.command,
            table=table,
            meanings=meanings,
            notes=notes,
            theorems={BOUNDS[name].label: BOUNDS[name].source for name in bounds},
            json=whole,
        )
        path = output.report
        or_usage_error(path, lambda: write_text(text, path))
    if output.as_json:
        click.echo(whole)
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
    shown = [note if output.explain else _first_sentence(note) for note in notes]
    for note in shown:
        click.echo(f"\n{wrapped(note)}")
    if shown != list(notes):
        click.echo("\nUse --explain for what this rests on.")


def _first_sentence(note: str) -> str:
    return re.split(r"(?<=[.:]) (?=[A-Z])", note, maxsplit=1)[0]


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


def distance(number: float, lower: float | None) -> str:
    """How far a number is from that of the lower bound, in percent of the latter, rounded up."""
    if not lower or math.isinf(lower) or math.isinf(number):
        return ""
    percent = Decimal(abs(number / lower - 1.0) * 100.0)
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(percent)
    is_plain = not rounded or Decimal("1e-4") <= rounded < Decimal("1e6")
    return f"{rounded:f} %" if is_plain else f"{rounded:.1e} %"


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
