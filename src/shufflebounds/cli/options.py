"""Options, and the commands that are made of them.

A command is a function that returns a `Reply`. `command` gives it options; `question` also gives it
the `Deployment` that the options on users and mechanisms describe. Both print the reply.
"""

from __future__ import annotations

import functools
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click

from shufflebounds.cli.deployment import Deployment, Parameter, missing, parameters, protocols
from shufflebounds.cli.deployment import reports as described_reports
from shufflebounds.cli.progress import clear_step
from shufflebounds.cli.reply import Output, Reply, publish
from shufflebounds.cli.values import REAL, WHOLE, Name, Rounds, Target
from shufflebounds.core import validation
from shufflebounds.core.enclosure import DIGITS
from shufflebounds.protocols.registry import Messages
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import (
    SYNONYMS,
    Description,
    Mechanism,
    parse,
    similar_parameter,
)

# Sections of the help, in their order there.
QUESTION = "Question"
SENT = "What users send"
PARAMETERS = "Parameters of mechanisms and protocols"
OUTPUT = "Output"
# Fewest significant digits of a printed number, for a large --rtol.
MIN_DIGITS = 3
# Compositions whose parts are options, and what the number before each of them is.
COMPOSITIONS_OF_PARTS = {"joint": "share", "parallel": "weight"}
# Options that describe a deployment.
DEPLOYMENT_OPTIONS = ("k_joint", "rate", "eps0", "n", "colluding", "rounds", "also")


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, *args: Any, section: str = QUESTION, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.section = section


class Command(click.Command):
    """A command whose help has sections of options.

    ``owners`` are the mechanisms and protocols whose parameters are options, which are listed by
    owner. ``rows`` explain the rows and columns of the answer.
    """

    def __init__(
        self, *args: Any, owners: Iterable[str], rows: Mapping[str, str], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.owners, self.rows = owners, rows

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {QUESTION: [], SENT: [], OUTPUT: []}
        for option in self.get_params(ctx):
            section = getattr(option, "section", OUTPUT)
            if section in sections and (record := option.get_help_record(ctx)):
                sections[section].append(record)
        for section, records in sections.items():
            if section == OUTPUT and self.owners:
                with formatter.section(PARAMETERS):
                    self._write_parameters(formatter)
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)
        if self.rows:
            with formatter.section("Rows and columns of the answer"):
                formatter.write_dl([*self.rows.items()])

    def _write_parameters(self, formatter: click.HelpFormatter) -> None:
        """Write the parameters of each owner; owners with the same ones share them."""
        sharing: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for owner in self.owners:
            sharing.setdefault(tuple(describe_parameters(owner)), []).append(owner)
        for records, owners in sharing.items():
            if records:
                with formatter.section(", ".join(owners)):
                    formatter.write_dl(records)


def describe_parameters(owner: str) -> list[tuple[str, str]]:
    """Pairs such as ``--k INT, required`` and ``number of values, at least 2``."""
    pairs = []
    for name, parameter in parameters(owner).items():
        required = "required" if parameter.is_required else "optional"
        usage = f"{flag(name)} {parameter.type.__name__.upper()}, {required}"
        pairs.append((usage, parameter.help))
    return pairs


def option(flags: str, type_: Any, meaning: str, **settings: Any) -> Callable:
    """An option, such as ``-o --output``; a default is shown in the help."""
    shown = {"show_default": True} if settings.get("default") is not None else {}
    return click.option(*flags.split(), type=type_, help=meaning, cls=Option, **settings, **shown)


# Options of several commands, by the names with which commands ask for them.
OPTIONS: Mapping[str, Callable] = {
    "eps0": option(
        "--eps0",
        REAL,
        "Local privacy parameter of all that a user sends in a shuffle: natural logarithm, up "
        "to 300. Required, except for a matrix, which has its own.",
    ),
    "n": option(
        "--n",
        WHOLE,
        "Number of users, 1 to 1e15, written as 100000, 100_000 or 1e5.",
        required=True,
    ),
    "colluding": option(
        "--colluding",
        WHOLE,
        "How many of them collude with the observer, drop out or break the protocol. They "
        "provide no cover for others and are subtracted from the number of users.",
        default=0,
        metavar="M",
    ),
    "eps": option("--eps", REAL, "Privacy loss: natural logarithm, at least 0.", required=True),
    "delta": option("--delta", REAL, "A probability, 1e-300 to below 1.", required=True),
    "rounds": option(
        "--rounds",
        WHOLE,
        "In how many separate shuffles, such as days, the same users report, 1 to 1e6. "
        "(Reports that are sent together, linked to each other, are --k-joint.)",
        default=1,
        metavar="T",
    ),
    "also": option(
        "--also",
        Rounds(),
        "T more rounds with N users each, such as 1.2e6:10; may be repeated.",
        multiple=True,
        metavar="N:T",
    ),
    "rtol": option(
        "--rtol",
        REAL,
        "Largest relative width of the enclosures, 1e-9 to 0.1; by default 1e-4 for one "
        "round, else 1e-3 to 1e-2. The cells of a continuous mechanism add to it.",
    ),
    "json": option(
        "--json as_json", bool, "Print one JSON object, all digits.", is_flag=True, section=OUTPUT
    ),
    "explain": option(
        "--explain",
        bool,
        "Print what the rows mean and everything that the answer rests on.",
        is_flag=True,
        section=OUTPUT,
    ),
    "report": option(
        "--report",
        Target((".md", ".html")),
        "Write a report, .md or .html, with question, answer, assumptions and proofs.",
        section=OUTPUT,
    ),
}
USERS = ("n", "colluding")
REPLY = ("json", "explain", "report")

K_JOINT = option(
    "--k-joint",
    WHOLE,
    "How many independent reports a user sends together, linked as one: at eps0/K each, or "
    "each at the eps0 of its matrix. (Reports on separate days are --rounds.)",
    default=1,
    metavar="K",
    section=SENT,
)
RATE = option(
    "--rate",
    REAL,
    "Poisson subsampling: the probability that a report is sent.",
    default=1.0,
    metavar="R",
    section=SENT,
)
PART = option(
    "--part",
    str,
    "joint: share of eps0 (equal ones if left out), mechanism and parameters, such as "
    "'0.5 krr k=10'; parallel: weight, mechanism and parameters. To be repeated.",
    multiple=True,
    metavar="TEXT",
    section=SENT,
)


def command(
    *options: str | Callable,
    owners: Sequence[str] = (),
    rows: Mapping[str, str] = MappingProxyType({}),
    name: str | None = None,
    help: str | None = None,
) -> Callable[[Callable[..., Reply]], click.Command]:
    """Make a command with these options: names of `OPTIONS`, or others.

    ``owners`` and ``rows`` are those of a `Command`. ``name`` and ``help`` are by default those of
    the function.

    The function gets the options' values. With ``explain`` among them, it also gets an `Output`.
    """
    chosen = [OPTIONS[name] if isinstance(name, str) else name for name in options]

    def decorate(answer: Callable[..., Reply]) -> click.Command:
        @functools.wraps(answer)
        def run(**given: Any) -> None:
            output = _output(given)
            try:
                reply = answer(**given, **({"output": output} if "explain" in options else {}))
            finally:
                clear_step()
            publish(reply, output)
            if reply.exit_code:
                click.get_current_context().exit(reply.exit_code)

        # The option that is added last is listed first.
        for add in reversed(chosen):
            run = add(run)
        return click.command(name, cls=Command, owners=owners, rows=rows, help=help)(run)

    return decorate


def _output(given: dict[str, Any]) -> Output:
    """Take the options on the output out of those that are given."""
    rtol, digits = given.get("rtol"), DIGITS
    if rtol is not None and "as_json" in given:
        digits = max(MIN_DIGITS, 2 - math.floor(math.log10(validation.rtol(rtol))))
    names = ("as_json", "explain", "report", "every_row")
    chosen = {name: given.pop(name) for name in names if name in given}
    return Output(**chosen, command=_command_line(click.get_current_context()), digits=digits)


def _command_line(context: click.Context) -> str:
    """The command as it was typed, without options on the output."""
    words = ["shufflebounds", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        is_output = getattr(parameter, "section", OUTPUT) == OUTPUT
        if source is not click.core.ParameterSource.COMMANDLINE or is_output:
            continue
        values = context.params[name]
        for value in values if isinstance(values, tuple) else [values]:
            text = ":".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [parameter.opts[0], text]
    return shlex.join(words)


def question(
    *options: str | Callable, messages: bool = False, **settings: Any
) -> Callable[[Callable[..., Reply]], click.Command]:
    """Make a command about users: with `options`, and those that describe what users send.

    The function gets a `Deployment` in place of the options that describe one. With `messages`,
    users may send the messages of a protocol.
    """
    offered = protocols() if messages else []
    owners = [*registry.mechanism_names(), *offered]
    own_options: dict[str, Parameter] = {}
    for owner in owners:
        for name, parameter in parameters(owner).items():
            own_options.setdefault(name, parameter)
    sent = [
        option(
            "--mechanism",
            Name([*registry.mechanism_names(), *COMPOSITIONS_OF_PARTS]),
            "The local randomizer; `shufflebounds mechanisms` lists them. Or joint: several, "
            "of which each user sends one report together; or parallel: a mix, from which each "
            "user draws one.",
            required=not messages,
            section=SENT,
        )
    ]
    if messages:
        meaning = f"A protocol in place of a mechanism: {', '.join(offered)}."
        sent.append(option("--protocol", Name(offered), meaning, section=SENT))
    tuned = [
        option(flag(name), _type(parameter), "", section=PARAMETERS)
        for name, parameter in own_options.items()
    ]

    def decorate(answer: Callable[..., Reply]) -> click.Command:
        @functools.wraps(answer)
        def ask(mechanism: str | None, protocol: str | None = None, **given: Any) -> Reply:
            given_own = ((name, given.pop(name)) for name in own_options)
            own = {name: value for name, value in given_own if value is not None}
            users = {name: given.pop(name) for name in DEPLOYMENT_OPTIONS if name in given}
            parts = given.pop("part")
            if protocol is None:
                deployment = _deployment_of_reports(mechanism, own, parts, users)
                if "eps0" in options and deployment.eps0 is None and not deployment.has_own_eps0:
                    raise missing("--eps0")
            else:
                deployment = _deployment_of_messages(mechanism, protocol, own, parts, users)
            return answer(deployment, **given)

        more = (K_JOINT, RATE, PART, *tuned)
        return command(*sent, *options, *more, owners=owners, **settings)(ask)

    return decorate


def _deployment_of_reports(
    mechanism: str | None, own: Mapping[str, Any], parts: Sequence[str], users: Mapping[str, Any]
) -> Deployment:
    more = {name: value for name, value in users.items() if name not in ("k_joint", "rate")}
    description = _description(mechanism, own, parts)
    rate = validation.probability("rate", users["rate"])
    return Deployment(sent=described_reports(description, users["k_joint"], rate), **more)


def _deployment_of_messages(
    mechanism: str | None,
    protocol: str,
    own: Mapping[str, Any],
    parts: Sequence[str],
    users: Mapping[str, Any],
) -> Deployment:
    """The users of a protocol; ValueError for options that are of a mechanism."""
    if mechanism is not None:
        raise ValueError("--protocol must be given in place of --mechanism, got both")
    if parts or (users["k_joint"], users["rate"]) != (1, 1.0):
        raise ValueError("--k-joint, --rate and --part must be left out: they compose mechanisms")
    if users["also"]:
        raise ValueError("--also must be left out: of a protocol all rounds have the same users")
    _require_parameters(protocol, own, parameters(protocol))
    sent = Messages(protocol, tuple((k, v) for k, v in own.items() if k != "messages"))
    more = {name: users[name] for name in ("eps0", "n", "colluding", "rounds")}
    return Deployment(sent=sent, messages=own.get("messages"), **more)


def _type(parameter: Parameter) -> click.ParamType:
    types: Mapping[type, click.ParamType] = {int: WHOLE, float: REAL}
    return types.get(parameter.type, click.STRING)


def _description(
    mechanism: str | None, given: Mapping[str, Any], parts: Iterable[str]
) -> Description:
    """The mechanism; reads the files that it names. ValueError for a wrong or missing option."""
    if mechanism is None:
        raise missing("--mechanism")
    if parts and mechanism not in COMPOSITIONS_OF_PARTS:
        names = " and ".join(COMPOSITIONS_OF_PARTS)
        raise ValueError(f"--part is only valid for the mechanisms {names}")
    if mechanism in COMPOSITIONS_OF_PARTS:
        if not parts:
            raise missing("--part", f"{mechanism}, to be given once for each part")
        _require_parameters(mechanism, given, {})
        contents = [_part(text, mechanism) for text in parts]
        try:
            return parse({"type": mechanism, "parts": contents})
        except ValueError as error:
            places = re.sub(r"parts\[(\d+)\]\.(share|weight)", _place, str(error))
            raise ValueError(places) from None
    own = parameters(mechanism)
    if SYNONYMS.keys() <= given.keys():
        raise ValueError("--k and --domain-size mean the same: give one of them")
    given = {
        SYNONYMS[key] if SYNONYMS.get(key) in own else key: value for key, value in given.items()
    }
    _require_parameters(mechanism, given, own)
    return Mechanism(mechanism, tuple(registry.mechanism(mechanism).completed(given).items()))


def _place(match: re.Match[str]) -> str:
    return f"the {match[2]} of part {int(match[1]) + 1}"


def _part(text: str, composition: str) -> dict[str, Any]:
    """A part such as ``0.5 krr k=10`` of a composition, as configurations have it."""
    number, words = COMPOSITIONS_OF_PARTS[composition], text.split()
    try:
        # A word that is no number is the mechanism of an equal share.
        has_number = number == "weight" or not words[0].isidentifier()
        first = {number: float(words[0])} if has_number else {}
        name, *given = words[len(first) :]
        pairs = [(key.replace("-", "_"), value) for key, value in (x.split("=") for x in given)]
    except (ValueError, IndexError):
        raise ValueError(
            f"--part must be a {number}, a mechanism and its parameters, such as '0.5 krr k=10', "
            f"got {text!r}"
        ) from None
    try:
        name = validation.choice("the mechanism", name.lower(), registry.mechanism_names())
        own, content = parameters(name), dict(pairs)
        if len(content) < len(pairs):
            raise ValueError("a parameter is given twice")
        for key, value in pairs:
            parameter = own.get(key) or own.get(SYNONYMS.get(key, key))
            if parameter is not None:
                content[key] = _type(parameter).convert(value, None, None)
        return {**first, "mechanism": _description(name, content, ()).plain()}
    except click.ClickException as error:
        raise ValueError(f"--part {text!r}: {error.message}") from None
    except ValueError as error:
        raise ValueError(f"--part {text!r}: {error}") from None


def _require_parameters(owner: str, given: Mapping[str, Any], own: Mapping[str, Parameter]) -> None:
    """ValueError for a parameter that a mechanism or protocol does not have, or lacks."""
    for name in given:
        if name not in own:
            has = f"has only {', '.join(map(flag, own))}" if own else "has none"
            meant = similar_parameter(name, own)
            guess = f"; did you mean {flag(meant)}?" if meant else ""
            raise ValueError(f"{flag(name)} is not a parameter of {owner}, which {has}{guess}")
    for name, parameter in own.items():
        if parameter.is_required and name not in given:
            raise missing(flag(name), owner)


def flag(parameter: str) -> str:
    """Such as ``--domain-size``."""
    return f"--{parameter.replace('_', '-')}"
