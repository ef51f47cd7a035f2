"""One line of progress on a terminal while a question takes long; nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from types import SimpleNamespace

import click

from shufflebounds.bounds.base import Bound

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
