"""Options of several commands, and the commands that are made of options.

A command is a function that gets the values of its options and returns a `Reply`, which the command
prints.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import click

from shufflebounds.cli.parameters import usages
from shufflebounds.cli.reply import Output, Reply, publish
from shufflebounds.cli.values import REAL, WHOLE, Name, Rounds, Target
from shufflebounds.core import validation
from shufflebounds.core.enclosure import DIGITS
from shufflebounds.core.progress import clear_step

# Sections of the help, which prints them in this order.
QUESTION = "Question"
SENT = "What users send"
PARAMETERS = "Parameters"
OUTPUT = "Output"
# Fewest significant digits of a printed number, for a large --rtol.
MIN_DIGITS = 3


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *args: Any, section: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section


class Command(click.Command):
    """A command whose help has sections of options.

    ``owners`` are the mechanisms and protocols whose parameters are options. The help has those of
    the mechanism or protocol that is named beside ``--help``. ``rows`` explain the rows or columns
    of the answer.
    """

    def __init__(
        self, *args: Any, owners: Sequence[str], rows: Mapping[str, str], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.owners, self.rows = owners, rows

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.obj = shlex.join(["shufflebounds", str(ctx.info_name), *self._question(args)])
        typed = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            self._require_known_names(ctx, typed)
            raise

    def _require_known_names(self, ctx: click.Context, typed: Sequence[str]) -> None:
        """Raise an error for a mechanism or a protocol that is not known.

        Its options are not known either, but that is not the mistake.
        """
        words = [word for arg in typed for word in arg.split("=", 1)]
        for name, value in pairwise(words):
            for parameter in self.params:
                if name in parameter.opts and isinstance(parameter.type, Name):
                    parameter.type.convert(value, parameter, ctx)

    def _question(self, args: Sequence[str]) -> list[str]:
        """Return what was typed, for a report, without the options that print and write files."""
        flags = {
            name: option.is_flag
            for option in self.params
            if isinstance(option, Option) and option.section == OUTPUT
            for name in option.opts
        }
        kept, rest = [], iter(args)
        for arg in rest:
            name, equals, _ = arg.partition("=")
            if name not in flags:
                kept.append(arg)
            elif not (flags[name] or equals):
                next(rest, None)  # its value
        return kept

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in (QUESTION, SENT, PARAMETERS, OUTPUT):
            if section == PARAMETERS and self.owners:
                self._write_parameters(str(ctx.obj), formatter)
                continue
            # The usage has the arguments, which the help of a command explains.
            options = (
                x
                for x in self.get_params(ctx)
                if isinstance(x, click.Option) and getattr(x, "section", OUTPUT) == section
            )
            records = [record for x in options if (record := x.get_help_record(ctx))]
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)
        if self.rows:
            with formatter.section(
                "Rows of the answer" if self.owners else "Columns of the answer"
            ):
                formatter.write_dl([*self.rows.items()])

    def _write_parameters(self, typed: str, formatter: click.HelpFormatter) -> None:
        """Write the parameters of what the command line names, or where they are explained."""
        words = {word.casefold().replace("-", "_") for word in re.split(r"[ =]", typed)}
        named = {owner: usages(owner) for owner in self.owners if owner in words}
        for owner, records in named.items():
            with formatter.section(f"{PARAMETERS} of {owner}"):
                formatter.write_dl(records or [("none", "")])
        if not named:
            with formatter.section(PARAMETERS):
                formatter.write_text(
                    "`shufflebounds mechanisms NAME` lists them; so does --mechanism NAME -h."
                )


def option(
    flags: str, type_: Any, meaning: str, *, section: str = QUESTION, **settings: Any
) -> Option:
    """Return an option, such as ``-o --output``; the help shows its default."""
    settings |= {"is_flag": True} if type_ is bool else {}
    settings |= {"show_default": True} if settings.get("default") is not None else {}
    return Option(flags.split(), type=type_, help=meaning, section=section, **settings)


def rounds_option(linked: str) -> Option:
    """Return ``--rounds``; ``linked`` is the command's option on reports that are sent together."""
    return option(
        "--rounds",
        WHOLE,
        "Number of separate shuffles, such as days, in which the same users report, 1 to 1e6. "
        f"(If reports are sent together, use {linked}.)",
        default=1,
        metavar="T",
    )


def rtol_option(default: str) -> Option:
    """Return ``--rtol`` of a command whose promise without it is ``default``."""
    return option(
        "--rtol",
        REAL,
        f"Largest relative width of the enclosures, 1e-9 to 0.1.  [default: {default}]",
    )


def every_row_option(meaning: str) -> Option:
    """Return ``--all`` of a command that prints the most important rows only."""
    return option("--all every_row", bool, meaning, section=OUTPUT)


# Options of several commands, by the names with which commands ask for them.
OPTIONS: Mapping[str, Option] = {
    "eps0": option(
        "--eps0",
        REAL,
        "Local privacy parameter of everything a user sends in a shuffle (natural log, up to 300). "
        "A matrix has its own.",
    ),
    "n": option(
        "--n",
        WHOLE,
        "Number of users, such as 1e5, up to 1e15.",
        required=True,
    ),
    "colluding": option(
        "--colluding",
        WHOLE,
        "Number of users who collude or break the protocol. They provide no cover for others.",
        default=0,
        metavar="M",
    ),
    "dropout": option(
        "--dropout",
        REAL,
        "Share of the n users who drop out: n(1 - SHARE), rounded down, report, less M.",
        default=0.0,
        metavar="SHARE",
    ),
    "eps": option("--eps", REAL, "Privacy loss (natural logarithm), at least 0.", required=True),
    "delta": option("--delta", REAL, "A probability, 1e-300 to below 1.", required=True),
    "order": option(
        "--order", REAL, "Order of the Renyi divergence, above 1 and up to 1e6.", required=True
    ),
    "rounds": rounds_option("--k-joint"),
    "also": option(
        "--also",
        Rounds(),
        "T more rounds with N users each, such as 1.2e6:10.",
        multiple=True,
        metavar="N:T",
    ),
    "json": option(
        "--json as_json", bool, "Print one JSON object with all digits.", section=OUTPUT
    ),
    "explain": option(
        "--explain",
        bool,
        "Explain rows and columns, and what the answer rests on.",
        section=OUTPUT,
    ),
    "report": option(
        "--report",
        Target(".md", ".html"),
        "Write a report for reviewers, .md or .html.",
        section=OUTPUT,
    ),
}
USERS = ("n", "colluding", "dropout")
REPLY = ("json", "explain", "report")


def optional(*names: str) -> list[Option]:
    """Return the `OPTIONS` of these names as options that can be left out, without a default."""
    listed = [copy(OPTIONS[name]) for name in names]
    for each in listed:
        each.required, each.default = False, None
    return listed


def command(
    *options: str | click.Parameter,
    owners: Sequence[str] = (),
    rows: Mapping[str, str] = MappingProxyType({}),
    name: str | None = None,
    help: str | None = None,
) -> Callable[[Callable[..., Reply]], click.Command]:
    """Make a command with these options: names of `OPTIONS`, or others.

    ``owners`` and ``rows`` are those of a `Command`. ``name`` and ``help`` are by default those of
    the function. The function gets the options' values. With ``explain`` among them, it also gets
    an `Output`.
    """

    def decorate(answer: Callable[..., Reply]) -> click.Command:
        def run(**given: Any) -> None:
            output = _take_output(given)
            try:
                reply = answer(**given, **({"output": output} if "explain" in options else {}))
            finally:
                clear_step()
            publish(reply, output)
            if reply.exit_code:
                click.get_current_context().exit(reply.exit_code)

        return Command(
            name or answer.__name__,
            params=[OPTIONS[each] if isinstance(each, str) else each for each in options],
            callback=run,
            help=help or answer.__doc__,
            owners=owners,
            rows=rows,
        )

    return decorate


def _take_output(given: dict[str, Any]) -> Output:
    """Take the options on the output out of those that are given."""
    rtol, digits = given.get("rtol"), DIGITS
    if rtol is not None and "as_json" in given:
        digits = max(MIN_DIGITS, 2 - math.floor(math.log10(validation.rtol(rtol))))
    names = ("as_json", "explain", "report")
    chosen = {name: given.pop(name) for name in names if name in given}
    return Output(**chosen, command=click.get_current_context().obj, digits=digits)
