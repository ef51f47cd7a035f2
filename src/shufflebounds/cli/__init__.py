"""The console command ``shufflebounds``.

Numbers meant for people are rounded outward, so that a printed bound is a bound; ``--json`` keeps
every digit. Exit codes: 0; 2 and one sentence on standard error for a mistake; 3 if the engine
cannot reach the requested precision, after the answers that it reached; 130 after Ctrl-C; 141 if
nobody reads the output; 70 for a failure of the program. Only `check` has 1, for a claim that is
refuted, and 4 for an open one; and `account` has 1 for a deployment beyond its budget.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import IO, Any

import click

from shufflebounds._version import __version__
from shufflebounds.cli.account import account
from shufflebounds.cli.catalogue import bounds, mechanisms
from shufflebounds.cli.check import check
from shufflebounds.cli.choose import choose
from shufflebounds.cli.curve import curve
from shufflebounds.cli.options import PARAMETERS, Command
from shufflebounds.cli.parameters import flag, parameters
from shufflebounds.cli.questions import delta, eps0, epsilon, noise, renyi, rounds, users
from shufflebounds.cli.risk import risk
from shufflebounds.core.enclosure import PrecisionError

__all__ = ["main"]

# Commands, by what they are for.
COMMANDS = {
    "Ask": (epsilon, delta, renyi, risk),
    "Design": (choose, eps0, users, rounds, noise),
    "Account and verify": (account, check),
    "Explore": (curve, mechanisms, bounds),
}
# Other names that people use for options.
OTHER_NAMES = {
    "--epsilon": "--eps",
    "--epsilon0": "--eps0",
    "--users": "--n",
    "-n": "--n",
    "-m": "--mechanism",
    "--days": "--rounds",
    "--values": "--k",
    "--domain": "--k",
}
# What some commands find, which is no option of theirs.
SOUGHT = {
    "eps0": "--eps0",
    "users": "--n",
    "rounds": "--rounds",
    "noise": "--noise-multiplier",
    "delta": "--delta",
}
# What some commands do without, although others need it.
NOT_NEEDED = {("risk", "--delta"), ("renyi", "--delta")}
# Exit code for a mistake of the user.
MISTAKE = 2
# Exit code for an answer that is less precise than requested.
IMPRECISE = 3
# Exit code for a failure of the program.
FAILURE = 70
# Exit code after Ctrl-C, as of a program that SIGINT ends.
STOPPED = 130
# Exit code where nobody reads the output, as of a program that SIGPIPE ends.
CLOSED_PIPE = 141
# Longest summary of a command in the list of commands: longer than any.
MAX_SUMMARY = 1_000


class Ending(click.ClickException):
    """A sentence on standard error and an exit code, even where the sentence cannot be printed.

    The 1 that click ends with would be a verdict of `check`.
    """

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        try:
            super().show(file)
        except OSError:
            _drop_output(sys.stderr)


class Group(click.Group):
    """Commands whose errors end in one sentence, and which the help lists by what they are for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in COMMANDS.items():
            with formatter.section(section):
                width = max(map(len, self.commands))
                formatter.write_dl(
                    [(f"{x.name:{width}}", x.get_short_help_str(MAX_SUMMARY)) for x in commands]
                )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``help epsilon`` for ``epsilon --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_sentence():
            return super().invoke(ctx)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    try:
        yield
    except (click.exceptions.NoArgsIsHelpError, click.exceptions.Exit):
        raise
    except BrokenPipeError:
        _drop_output(sys.stdout)
        raise click.exceptions.Exit(CLOSED_PIPE) from None
    except click.UsageError as error:
        raise Ending(_usage_sentence(error), MISTAKE) from None
    except click.ClickException:
        raise
    except (Exception, KeyboardInterrupt) as error:
        raise _ending(error) from None


def _ending(error: BaseException) -> Ending:
    """Return the ending of a command that raised an error."""
    match error:
        case PrecisionError():
            return Ending(_sentence_with_notes(error), IMPRECISE)
        case ValueError() | OverflowError():
            return Ending(_sentence_with_notes(error), MISTAKE)
        case KeyboardInterrupt():
            return Ending("stopped", STOPPED)
        case MemoryError():
            return Ending("there is not enough memory for this", FAILURE)
        case OSError():
            _drop_output(sys.stdout)
            where = error.filename or "standard output"
            return Ending(f"{where}: {error.strerror or error}", FAILURE)
    traceback.print_exception(error)
    return Ending(f"this is a mistake of the program: {error!r}", FAILURE)


def _usage_sentence(error: click.UsageError) -> str:
    """Return one sentence; the error's own way to be shown would add lines on usage."""
    if isinstance(error, click.NoSuchOption):
        return _unknown_option(error)
    is_argument = isinstance(getattr(error, "param", None), click.Argument)
    message = error.message if is_argument and error.message else error.format_message()
    if "No such command" in message:
        message += " `shufflebounds -h` lists the commands."
    if "extra argument" in message:
        assert error.ctx is not None
        shown = (x for x in error.ctx.command.params if getattr(x, "hidden", True) is False)
        message += f"; every option has a name, such as {next(shown).opts[-1]}"
    return message


def _drop_output(stream: IO[str]) -> None:
    """Drop what is left to print, which would fail again as Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _unknown_option(error: click.NoSuchOption) -> str:
    """Return the sentence on an unknown option, with a guess at what was meant."""
    assert error.ctx is not None
    name = OTHER_NAMES.get(error.option_name, error.option_name)
    command = str(error.ctx.command.name)
    near = get_close_matches(name, _flags(error.ctx.command, error.ctx), n=1, cutoff=0.7)
    guess = f"did you mean {near[0]}? " if near else ""
    if name == "--eps" and near == ["--eps0"]:
        # The epsilon of one report is not that of all, which the command answers.
        guess = "this command takes no epsilon, and --eps0 is that of one report; "
    if SOUGHT.get(command) == name:
        guess = "that is what this command finds; "
    elif (command, name) in NOT_NEEDED:
        guess = f"{command} needs no {name.removeprefix('--')}; "
    listed = f"`{error.ctx.command_path} -h` lists the options."
    return f"No such option {error.option_name!r}; {guess}{listed}"


def _flags(command: click.Command, ctx: click.Context) -> list[str]:
    """Return the options of a command, without the parameters of what is not named."""
    owners = command.named_owners(ctx) if isinstance(command, Command) else []
    own = {flag(name) for owner in owners for name in parameters(owner)}
    return [
        name
        for option in command.params
        for name in option.opts
        if not owners or getattr(option, "section", "") != PARAMETERS or name in own
    ]


def _sentence_with_notes(error: Exception) -> str:
    return ", ".join([str(error), *getattr(error, "__notes__", [])])


main = Group(
    commands=[command for commands in COMMANDS.values() for command in commands],
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="COMMAND [ARGS]...",
    options_metavar="",
    help="""Certified differential privacy of shuffled reports.

    n users each send one report through the same local randomizer, and a shuffler hides who sent
    what. These commands bound the (epsilon, delta) that results, from above and from below.
    Epsilons are natural logarithms; bounds are rounded outward.

    Start: shufflebounds epsilon krr --k 10 --eps0 4 -n 1e5 --delta 1e-6
    """,
    epilog="`shufflebounds COMMAND -h` explains a command; --version prints the version.",
)
click.version_option(__version__, prog_name="shufflebounds")(main)
