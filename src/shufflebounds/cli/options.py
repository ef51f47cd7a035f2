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
from typing import Any

import click

from shufflebounds.cli.parameters import usages
from shufflebounds.cli.reply import Output, Reply, publish
from shufflebounds.cli.values import Name, NumberType, OutputFile, UsersAndRounds
from shufflebounds.core import validation
from shufflebounds.core.enclosure import DIGITS
from shufflebounds.core.number import Number
from shufflebounds.core.progress import clear_step

# Sections of the help, which prints them in this order. What a question cannot do without is in the
# first one, and in the usage.
REQUIRED = "Required"
QUESTION = "Options"
COVER = "Users who provide no cover"
SENT = "What users send"
PARAMETERS = "Parameters"
OUTPUT = "Output and precision"
SECTIONS = (REQUIRED, PARAMETERS, QUESTION, COVER, SENT, OUTPUT)
# The argument that names a mechanism or a protocol.
SENDER = "sender"
# Fewest significant digits of a printed number, for a large --rtol.
MIN_DIGITS = 3


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *args: Any, section: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what follows the help text: a default, but not 0 or 1, which stand for nothing."""
        extra = super().get_help_extra(ctx)
        extra.pop("required", None)  # The section and the usage say so.
        if self.default in (0, 1):
            extra.pop("default", None)
        return extra

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name in errors: the long one."""
        return f"'{max(self.opts, key=len)}'"


class Argument(click.Argument):
    """An argument, which the help explains if it has a ``meaning``."""

    def __init__(self, *args: Any, meaning: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.meaning, self.section = meaning, REQUIRED if meaning else ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return its name and what it means."""
        return str(self.metavar), self.meaning

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return its name for the usage."""
        return [str(self.metavar)]


class Command(click.Command):
    """A command whose help has sections of options.

    ``owners`` are the mechanisms and protocols whose parameters are options. The help has those of
    the mechanism or protocol that is named besides ``--help``.
    """

    def __init__(self, *args: Any, owners: Sequence[str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.owners = owners

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
        # The first word may be the argument.
        words = [SENDER, *(word for arg in typed for word in arg.split("=", 1))]
        for name, value in pairwise(words):
            for parameter in self.params:
                is_name = name in parameter.opts and isinstance(parameter.type, Name)
                if is_name and not value.startswith("-"):
                    parameter.type.convert(value, parameter, ctx)

    def named_owners(self, ctx: click.Context) -> list[str]:
        """Return the mechanisms and protocols that the command line names."""
        words = {word.casefold().replace("-", "_") for word in re.split(r"[ =]", str(ctx.obj))}
        return [owner for owner in self.owners if owner in words]

    def _question(self, args: Sequence[str]) -> list[str]:
        """Return what was typed, for a report, without the options that print and write files."""
        flags = {
            name: option.is_flag
            for option in self.params
            if isinstance(option, Option) and option.section == OUTPUT and option.name != "rtol"
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

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return arguments, options that are needed, and that there are others."""
        pieces = [piece for each in self.params for piece in each.get_usage_pieces(ctx)]
        for each in self.params:
            if getattr(each, "section", "") == REQUIRED and isinstance(each, Option):
                name = each.opts[0]
                pieces.append(f"[{name}]" if each.is_flag else f"{name} {each.make_metavar(ctx)}")
        return [*pieces, "[OPTIONS]"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in SECTIONS:
            for owner in self.named_owners(ctx) if section == PARAMETERS else ():
                with formatter.section(f"{PARAMETERS} of {owner}"):
                    formatter.write_dl(usages(owner) or [("none", "")])
            shown = (
                each for each in self.get_params(ctx) if getattr(each, "section", OUTPUT) == section
            )
            records = [record for each in shown if (record := each.get_help_record(ctx))]
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


def option(
    flags: str, type_: Any, meaning: str, *, section: str = QUESTION, **settings: Any
) -> Option:
    """Return an option, such as ``-o --output``; the help shows its default."""
    settings |= {"is_flag": True} if type_ is bool else {}
    settings |= {"show_default": True} if settings.get("default") is not None else {}
    return Option(flags.split(), type=type_, help=meaning, section=section, **settings)


def number_option(
    number: Number[Any],
    *,
    flags: str = "",
    more: str = "",
    section: str = QUESTION,
    **settings: Any,
) -> Option:
    """Return the option of a number; the help says ``more`` than its meaning."""
    settings = {"metavar": number.symbol, **settings}
    if number.default is not None:
        settings = {"default": number.default, **settings}
    flags = flags or f"--{number.name.replace('_', '-')}"
    return option(flags, NumberType(number), number.sentence + more, section=section, **settings)


def eps0_option(flags: str) -> Option:
    """Return ``--eps0``."""
    more = " Leave it out if other options set the noise."
    return number_option(validation.EPS0, flags=flags, more=more, section=REQUIRED)


def rounds_option(linked: str) -> Option:
    """Return ``--rounds``; ``linked`` is the command's option on reports that are sent together."""
    more = f" (For reports that are sent together, use {linked}.)"
    return number_option(validation.ROUNDS, more=more, section=SENT)


def rtol_option(default: str) -> Option:
    """Return ``--rtol`` of a command whose promise without it is ``default``."""
    return number_option(validation.RTOL, more=f"  [default: {default}]", section=OUTPUT)


def every_row_option(meaning: str) -> Option:
    """Return ``--all`` of a command that prints the most important rows only."""
    return option("--all every_row", bool, meaning, section=OUTPUT)


# Options of several commands, by the names with which commands ask for them.
OPTIONS: Mapping[str, Option] = {
    "eps0": eps0_option("--eps0"),
    "n": number_option(validation.N, flags="-n --n", section=REQUIRED, required=True),
    **{
        number.name: number_option(number, section=REQUIRED, required=True)
        for number in (validation.EPS, validation.DELTA, validation.ORDER)
    },
    "dropout": number_option(validation.DROPOUT, section=COVER),
    "colluding": number_option(validation.COLLUDING, section=COVER),
    "rounds": rounds_option("--k-joint"),
    "also": option(
        "--also",
        UsersAndRounds(),
        "T more rounds with N users each, such as 1.2e6:10.",
        multiple=True,
        metavar="N:T",
        section=SENT,
    ),
    "json": option(
        "--json as_json", bool, "Print JSON, in which numbers keep all digits.", section=OUTPUT
    ),
    "explain": option(
        "--explain", bool, "Explain rows and columns, and state the assumptions.", section=OUTPUT
    ),
    "report": option(
        "--report",
        OutputFile(".md", ".html"),
        "Write a report for reviewers, .md or .html.",
        section=OUTPUT,
    ),
}
# The number of users of a question: --group gives it, and some protocols have another name for it.
N_UNLESS_FIXED = copy(OPTIONS["n"])
N_UNLESS_FIXED.required = False
USERS = ("n", "dropout", "colluding")
REPLY = ("json", "explain", "report")


def optional(*names: str, section: str = QUESTION) -> list[Option]:
    """Return the `OPTIONS` of these names as options that can be left out, without a default."""
    listed = [copy(OPTIONS[name]) for name in names]
    for each in listed:
        each.required, each.default, each.section = False, None, section
    return listed


def command(
    *options: str | click.Parameter,
    owners: Sequence[str] = (),
    name: str | None = None,
    help: str | None = None,
) -> Callable[[Callable[..., Reply]], click.Command]:
    """Make a command with these options: names of `OPTIONS`, or others.

    ``owners`` are those of a `Command`. ``name`` and ``help`` are by default those of
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

        listed = [OPTIONS[each] if isinstance(each, str) else each for each in options]
        return Command(
            name or answer.__name__,
            params=listed,
            no_args_is_help=any(each.required or each is N_UNLESS_FIXED for each in listed),
            callback=run,
            help=help or answer.__doc__,
            owners=owners,
        )

    return decorate


def _take_output(given: dict[str, Any]) -> Output:
    """Take the options on the output out of those that are given."""
    rtol, digits = given.get("rtol"), DIGITS
    if rtol is not None and "as_json" in given:
        digits = max(MIN_DIGITS, 2 - math.floor(math.log10(rtol)))
    names = ("as_json", "explain", "report")
    chosen = {name: given.pop(name) for name in names if name in given}
    return Output(**chosen, command=click.get_current_context().obj, digits=digits)
