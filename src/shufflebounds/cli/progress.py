"""One line of progress on a terminal while a question is computed; nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import click

from shufflebounds.bounds.base import Bound

# Returns to the start of the line and deletes it.
ERASE_LINE = "\r\x1b[K"


def show_step(done: int, total: int, label: str) -> None:
    """Replace the line by the step that is computed now, on standard error if it is a terminal."""
    if sys.stderr.isatty():
        click.echo(f"{ERASE_LINE}computing {done} of {total}: {label}", err=True, nl=False)


def clear_step() -> None:
    """Delete the line."""
    if sys.stderr.isatty():
        click.echo(ERASE_LINE, err=True, nl=False)


def by_step(bounds: Mapping[str, Bound]) -> Iterator[tuple[str, Bound]]:
    """Yield the items of ``bounds``, each of them shown as the step that is computed."""
    for place, (name, bound) in enumerate(bounds.items(), start=1):
        show_step(place, len(bounds), bound.label)
        yield name, bound
