"""Progress of long work: a computation names its steps, and whoever watches shows them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

# Returns to the start of the line of a terminal and deletes it.
ERASE_LINE = "\r\x1b[K"

# Called before each step with its number, the number of steps, and what it does.
Show: TypeAlias = Callable[[int, int, str], None]
T = TypeVar("T")

_show: ContextVar[Show | None] = ContextVar("show", default=None)


def show_step(done: int, total: int, label: str) -> None:
    """Replace the line by the step that is computed now, on standard error if it is a terminal."""
    if sys.stderr.isatty():
        print(f"{ERASE_LINE}computing {done} of {total}: {label}", end="", file=sys.stderr)
        sys.stderr.flush()


def clear_step() -> None:
    """Delete the line."""
    if sys.stderr.isatty():
        print(ERASE_LINE, end="", file=sys.stderr, flush=True)


def steps(items: Sequence[T], label: str) -> Iterator[T]:
    """Yield the items, and show each as the step that is computed, if somebody watches."""
    show = _show.get()
    for number, item in enumerate(items, start=1):
        if show is not None:
            show(number, len(items), label)
        yield item


@contextmanager
def progress(show: Callable[[int, int, str], None] | None = None) -> Iterator[None]:
    """Show the steps of long work inside a ``with`` block, such as those of `compose`.

    Each phase counts from 1.

    Parameters
    ----------
    show
        Called before each step with its number, the number of steps, and what it does. None shows
        one line on standard error if that is a terminal, and nothing elsewhere.

    Returns
    -------
    context manager
        For a ``with`` statement.

    Raises
    ------
    ValueError
        If `show` is not a function.

    Examples
    --------
    >>> labels = []
    >>> with sb.progress(lambda done, total, label: labels.append(f"{label} {done}/{total}")):
    ...     month = sb.compose([(sb.KRR(k=2, eps0=1.0), 1_000, 10)]).epsilon(1e-6)
    >>> labels[0]
    'losses of rounds 1/1'
    """
    if not (show is None or callable(show)):
        raise ValueError(f"show must be a function of three arguments, got {show!r}")
    token = _show.set(show or show_step)
    try:
        yield
    finally:
        _show.reset(token)
        if show is None:
            clear_step()
