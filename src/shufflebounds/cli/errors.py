"""Errors of the command: one sentence on standard error, and an exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from shufflebounds.enclosure import PrecisionError


class UsageError(click.ClickException):
    """A mistake of whoever calls the command."""

    exit_code = 2


class PrecisionNotReached(click.ClickException):
    """What was found is valid, but wider than asked for."""

    exit_code = 3


class Group(click.Group):
    """Commands whose errors end in one sentence."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_sentence():
            return super().invoke(ctx)


def or_usage_error(path: Path, write: Callable[[], None]) -> None:
    """Call `write`; where it fails to write, that is a `UsageError` that names the file."""
    try:
        write()
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        # Without its context, and so without lines on usage.
        raise UsageError(error.format_message()) from None
    except PrecisionError as error:
        raise PrecisionNotReached(_sentence(error)) from None
    except (ValueError, OverflowError) as error:
        raise UsageError(_sentence(error)) from None


def _sentence(error: Exception) -> str:
    return ", ".join([str(error), *getattr(error, "__notes__", [])])
