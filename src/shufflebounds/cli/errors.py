"""Errors of the command: one sentence on standard error, and an exit code."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

import click

from shufflebounds.core.enclosure import PrecisionError

# What people call options that have another name.
_MEANT = {
    **{"--epsilon": "--eps", "--epsilon0": "--eps0", "--users": "--n"},
    **{"--days": "--rounds", "--dropout": "--colluding"},
}
# Commands that have no option for what they compute: which, and what they need in its place.
_COMPUTED = {
    "epsilon": ("--eps", "--delta"),
    "delta": ("--delta", "--eps"),
    "eps0": ("--eps0", "--eps and --delta"),
    "users": ("--n", "--eps and --delta"),
}
# As of a program that the signal of a closed pipe ends.
_CLOSED_PIPE = 141
# Longer than any summary.
_WHOLE = 1_000


class _Told(click.ClickException):
    """An error that ends with its exit code even where it cannot be printed.

    The 1 of a sentence that finds no room on the disk would be a verdict of `check`.
    """

    def show(self, file: IO[Any] | None = None) -> None:
        try:
            super().show(file)
        except OSError:
            _drop(sys.stderr)


class UsageError(_Told):
    """A mistake of whoever calls the command."""

    exit_code = 2


class PrecisionNotReached(_Told):
    """What was found is valid, but wider than asked for."""

    exit_code = 3


class Crash(_Told):
    """An error of ours, whose traceback is printed, no memory, or nowhere to print."""

    exit_code = 70


class Stopped(Crash):
    """By Ctrl-C; the 1 that click ends with would be a verdict of `check`."""

    exit_code = 130


class Group(click.Group):
    """Commands whose errors end in one sentence, and whose summaries are not cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self.commands[name].get_short_help_str(_WHOLE)) for name in self.commands]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_sentence():
            return super().invoke(ctx)


def missing(option: str, of: str = "") -> UsageError:
    """Such as "Missing option '--k' of krr.", as click says where it knows."""
    return UsageError(f"Missing option {option!r}{f' of {of}' if of else ''}.")


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
    except click.NoSuchOption as error:
        raise UsageError(_unknown_option(error)) from None
    except click.UsageError as error:
        # Without its context, and so without lines on usage.
        said = error.format_message()
        named = "; every option has a name, such as --mechanism" if "extra argument" in said else ""
        raise UsageError(f"{said}{named}") from None
    except PrecisionError as error:
        raise PrecisionNotReached(_sentence(error)) from None
    except (ValueError, OverflowError) as error:
        raise UsageError(_sentence(error)) from None
    except KeyboardInterrupt:
        raise Stopped("stopped") from None
    except MemoryError:
        raise Crash("there is not enough memory for this") from None
    except BrokenPipeError:
        _drop(sys.stdout)
        raise click.exceptions.Exit(_CLOSED_PIPE) from None
    except OSError as error:
        _drop(sys.stdout)
        where = error.filename or "standard output"
        raise Crash(f"{where}: {error.strerror or error}") from None
    except (click.exceptions.Exit, click.ClickException):
        raise
    except Exception as error:
        traceback.print_exc()
        raise Crash(f"this is a mistake of the program: {error!r}") from None


def _drop(stream: IO[str]) -> None:
    """Drop what is left to print, which would fail again as Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _unknown_option(error: click.NoSuchOption) -> str:
    """With what was probably meant, or what has to be given in place of what is computed."""
    assert error.ctx is not None
    command = error.ctx.command
    name = _MEANT.get(error.option_name, error.option_name)
    computed, needed = _COMPUTED.get(command.name or "", ("", ""))
    if name == computed:
        return f"{error.option_name} is what {command.name} computes; it needs {needed}"
    options = [flag for option in command.params for flag in option.opts]
    near = get_close_matches(name, options, n=1, cutoff=0.7)
    guess = f"; did you mean {near[0]}?" if near else "."
    return f"No such option {error.option_name!r}{guess}"


def _sentence(error: Exception) -> str:
    return ", ".join([str(error), *getattr(error, "__notes__", [])])


# What commands that draw need, and where it comes from.

_PLOT_NEEDS = ("matplotlib", "pandas")


def require_plotting() -> None:
    """Raise `UsageError` where a library is missing, before any work."""
    missing = [name for name in _PLOT_NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"--plot needs {', '.join(missing)}, which are not installed: "
            f"pip install {' '.join(missing)}"
        )
