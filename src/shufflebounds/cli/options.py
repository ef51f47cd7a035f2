"""Options, their types, and how commands are made of them."""

from __future__ import annotations

import functools
import importlib.util
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from shufflebounds.cli.deployment import (
    Deployment,
    MessageDeployment,
    Parameter,
    Users,
    missing,
    parameters,
    protocols,
)
from shufflebounds.core import validation
from shufflebounds.core.enclosure import DIGITS, outward
from shufflebounds.protocols.registry import Messages
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import SAME, Description, Mechanism, likely, parse

# Types of option values, and the one sentence for a value that is none.


# What others call mechanisms; the closest name may be that of another one.
_ELSEWHERE = {"olh": "local_hash", "grr": "krr", "rr": "krr", "sue": "rappor", "hr": "hadamard"}


class Name(click.Choice):
    """One of a few names, with a guess at what a wrong one was meant to be.

    KRR and krr are the same, as are Hadamard-Blocks and hadamard_blocks.
    """

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        return str(choice).casefold().replace("-", "_")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return super().shell_complete(ctx, param, self.normalize_choice(incomplete, ctx))

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "NAME"

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return ""  # as of other types

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        name = self.normalize_choice(value, ctx)
        meant = _ELSEWHERE.get(name) or validation.likely(name, self.choices)
        if meant:
            return f"{value!r} is not known; did you mean {meant}?"
        return f"{value!r} is not one of {', '.join(self.choices)}."


def _decimal(value: object) -> Decimal:
    """What is written, exactly; NaN if that is no number."""
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return Decimal("nan")


class Whole(click.ParamType):
    """A whole number, written as 100000, 100_000 or 1e5."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        number = _decimal(value)
        # Written out, larger ones would only fill the memory.
        if number.is_finite() and number.adjusted() > 30:
            self.fail(f"{value!r} is too large.", param, ctx)
        if not number.is_finite() or number != int(number):
            example = "100000, 100_000 or 1e5"
            self.fail(f"{value!r} is not a whole number such as {example}.", param, ctx)
        return int(number)


class Rounds(click.ParamType):
    """Users and rounds, such as 1.2e6:10."""

    name = "rounds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        users, colon, rounds = str(value).partition(":")
        if not colon:
            self.fail(f"{value!r} is not N:T, users and rounds, such as 1.2e6:10.", param, ctx)
        return WHOLE.convert(users, param, ctx), WHOLE.convert(rounds, param, ctx)


class Target(click.Path):
    """A file to write, in a directory that exists."""

    def __init__(self, suffixes: tuple[str, ...] = ()) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        # A Path, as path_type says.
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]
        if self._suffixes and path.suffix not in self._suffixes:
            self.fail(f"{str(path)!r} must end in {' or '.join(self._suffixes)}.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"Directory {str(path.parent)!r} does not exist.", param, ctx)
        return path


class Figure(Target):
    """A figure to draw; ValueError where what draws is not installed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = super().convert(value, param, ctx)
        needed = ("matplotlib", "pandas")
        if absent := [name for name in needed if importlib.util.find_spec(name) is None]:
            raise ValueError(
                f"--plot needs {', '.join(absent)}, which are not installed: "
                f"pip install {' '.join(absent)}"
            )
        return path


class Real(click.ParamType):
    """A float, written as Python prints it or in full; what it could not keep is refused.

    So numbers of questions mean what the same numbers mean in answers, and in Python.
    """

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(value)
        except ValueError:
            percent = " without a percent sign" if str(value).endswith("%") else ""
            self.fail(f"{value!r} is not a number such as 0.5 or 1e-6{percent}.", param, ctx)
        mantissa = str(value).lower().partition("e")[0]
        if any(sign.isdigit() and int(sign) for sign in mantissa):
            if number == 0.0:
                self.fail(f"{value!r} is closer to 0 than any floating-point number.", param, ctx)
            if math.isinf(number):
                self.fail(f"{value!r} is larger than any floating-point number.", param, ctx)
        kept = (Decimal(repr(number)), Decimal(number))
        if math.isfinite(number) and number and _decimal(value) not in kept:
            more = f"{value!r} has more digits than a floating-point number keeps"
            self.fail(f"{more}; the nearest one is {number!r}.", param, ctx)
        return number + 0.0  # no −0


class Number(Real):
    """A number; one that is whole, such as 100000, 100_000 or 1e5, becomes an integer."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = _decimal(value)
        is_whole = number.is_finite() and number == number.to_integral_value()
        return WHOLE.convert(value, param, ctx) if is_whole else super().convert(value, param, ctx)


REAL = Real()
WHOLE = Whole()
NUMBER = Number()
FIGURE = Figure((".pdf", ".png", ".svg"))

Option = Callable[[Callable], Callable]


def option(flag: str, type_: click.ParamType | type, meaning: str, **settings: Any) -> Option:
    """An option with a value; a default is shown."""
    shown = {"show_default": True} if "default" in settings else {}
    return click.option(flag, type=type_, help=meaning, **{**shown, **settings})


def together(*options: Option) -> Option:
    """Several options, in this order."""
    # The last one added is the first one listed.
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


@dataclass(frozen=True)
class Output:
    """How an answer is printed: as JSON, with all that it rests on, and into which report too.

    ``command`` is what was typed; ``digits`` are those of its numbers.
    """

    as_json: bool = False
    explain: bool = False
    report: Path | None = None
    command: str = ""
    digits: int = DIGITS

    def text(self, value: float, *, up: bool) -> str:
        """A number rounded outward."""
        return outward(value, up=up, digits=self.digits)


JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object, all digits.")
COLLUDING = option(
    "--colluding",
    WHOLE,
    "How many of them collude with the observer, drop out or break the protocol; they hide nobody "
    "and are subtracted from --n.",
    default=0,
    metavar="M",
)


# Options of several commands. Those of ``output`` become an `Output`.
_COMMON: Mapping[str, Option] = {
    "eps0": option(
        "--eps0",
        REAL,
        "Local privacy parameter of all that a user sends in a shuffle: natural logarithm, up "
        "to 300. Required, except for a matrix, which has its own.",
    ),
    "users": together(
        option(
            "--n",
            WHOLE,
            "Number of users, 1 to 1e15, written as 100000, 100_000 or 1e5.",
            required=True,
        ),
        COLLUDING,
    ),
    "colluding": COLLUDING,
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
        "Largest relative width of the enclosures, 1e-9 to 0.1; by default 1e-4 for one round, "
        "else 1e-3 to 1e-2. The cells of a continuous mechanism add to it.",
    ),
    "output": together(
        JSON,
        click.option("--explain", is_flag=True, help="Print everything that the answer rests on."),
        option(
            "--report",
            Target((".md", ".html")),
            "Write a page, .md or .html, with question, answer, assumptions and proofs.",
        ),
    ),
}

_K_JOINT = option(
    "--k-joint",
    WHOLE,
    "How many independent reports a user sends together, linked as one: at eps0/K each, or each at "
    "the eps0 of its matrix. (Reports on separate days are --rounds.)",
    default=1,
    metavar="K",
)
_RATE = option(
    "--rate",
    REAL,
    "Poisson subsampling: the probability that a report is sent.",
    default=1.0,
    metavar="R",
)
# Compositions whose parts are options, and what the number before each of them is.
_OF_PARTS = {"joint": "share", "parallel": "weight"}
_PART = option(
    "--part",
    str,
    "joint: share of eps0 (equal ones if left out), mechanism and parameters, such as "
    "'0.5 krr k=10'; parallel: weight, mechanism and parameters. To be repeated.",
    multiple=True,
    metavar="TEXT",
)
# Fields of a deployment that are options.
_DESCRIBING = ("k_joint", "rate", "eps0", "n", "colluding", "rounds", "also")


def question(*options: str | Option, messages: bool = False) -> Callable[[Callable], click.Command]:
    """A command about users who report: its `options`, then the parameters of what they send.

    It receives a `Deployment` as ``asked`` in place of the options that describe one; with
    `messages`, a `MessageDeployment` where a protocol was named.
    """
    offered = protocols() if messages else []
    owners: dict[str, list[str]] = {}
    for name in [*registry.mechanism_names(), *offered]:
        for parameter in parameters(name):
            owners.setdefault(parameter, []).append(name)

    def made(ask: Callable) -> click.Command:
        @functools.wraps(ask)
        def run(mechanism: str | None, protocol: str | None = None, **given: Any) -> None:
            own = {name: value for name in owners if (value := given.pop(name)) is not None}
            described = {name: given.pop(name) for name in _DESCRIBING if name in given}
            parts = given.pop("part")
            if protocol is not None:
                asked: Users = _sending(mechanism, protocol, own, parts, described)
            else:
                asked = Deployment(_described(mechanism, own, parts), **described)
                if "eps0" in options and asked.eps0 is None and not asked.has_own_eps0:
                    raise missing("--eps0")
            ask(asked=asked, **given)

        choose = [
            option(
                "--mechanism",
                Name([*registry.mechanism_names(), *_OF_PARTS]),
                "The local randomizer; `shufflebounds mechanisms` lists them. Or joint: several, "
                "of which each user sends one report together; or parallel: a mix, from which each "
                "user draws one.",
                required=not messages,
            )
        ]
        if messages:
            meaning = f"A protocol in place of a mechanism: {', '.join(offered)}."
            choose.append(option("--protocol", Name(offered), meaning))
        tune = [_parameter(name, some) for name, some in owners.items()]
        return command(*choose, *options, _K_JOINT, _RATE, _PART, *tune)(run)

    return made


def command(*options: str | Option) -> Callable[[Callable], click.Command]:
    """A command with these options, names of `_COMMON` or others; ``output`` is an `Output`."""

    def made(do: Callable) -> click.Command:
        @functools.wraps(do)
        def run(**given: Any) -> None:
            if "as_json" in given:
                given["output"] = _output(given)
            do(**given)

        added = together(*(_COMMON[one] if isinstance(one, str) else one for one in options))
        return click.command()(added(run))

    return made


def _output(given: dict[str, Any]) -> Output:
    """Takes its options out of what is `given`."""
    rtol = given.get("rtol")
    digits = DIGITS if rtol is None else max(3, 2 - math.floor(math.log10(validation.rtol(rtol))))
    named = {name: given.pop(name) for name in ("as_json", "explain", "report")}
    return Output(**named, command=_typed(click.get_current_context()), digits=digits)


def _typed(context: click.Context) -> str:
    """The command as it was typed, but for `Output`'s options."""
    words = ["shufflebounds", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in ("as_json", "explain", "report"):
            continue
        values = context.params[name]
        for value in values if isinstance(values, tuple) else [values]:
            text = ":".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [parameter.opts[0], text]
    return shlex.join(words)


def _sending(
    mechanism: str | None,
    protocol: str,
    given: Mapping[str, Any],
    parts: Sequence[str],
    described: Mapping[str, Any],
) -> MessageDeployment:
    """The users of a protocol; ValueError for options that are of a mechanism."""
    if mechanism is not None:
        raise ValueError("--protocol must be given in place of --mechanism, got both")
    if parts or (described["k_joint"], described["rate"]) != (1, 1.0):
        raise ValueError("--k-joint, --rate and --part must be left out: they compose mechanisms")
    if described["also"]:
        raise ValueError("--also must be left out: of a protocol all rounds have the same users")
    _check_given(protocol, given, parameters(protocol))
    count = given.get("messages")
    sent = Messages(protocol, tuple((k, v) for k, v in given.items() if k != "messages"))
    users = {name: described[name] for name in ("eps0", "n", "colluding", "rounds")}
    return MessageDeployment(sent, count, **users)


def _parameter(name: str, owners: list[str]) -> Option:
    one = parameters(owners[0])[name]
    meaning = f"{', '.join(owners)}: {one.help or 'a parameter'}."
    return option(flag(name), _kind(one), meaning)


def _kind(parameter: Parameter) -> click.ParamType:
    kinds: Mapping[type, click.ParamType] = {int: WHOLE, float: REAL}
    return kinds.get(parameter.type, click.STRING)


def _described(
    mechanism: str | None, given: Mapping[str, Any], parts: Sequence[str]
) -> Description:
    """The mechanism; reads the files that it names. ValueError for a wrong or missing option."""
    if mechanism is None:
        raise missing("--mechanism")
    if parts and mechanism not in _OF_PARTS:
        raise ValueError(f"--part is only valid for the mechanisms {' and '.join(_OF_PARTS)}")
    if mechanism in _OF_PARTS:
        if not parts:
            raise missing("--part", f"{mechanism}, to be given once for each part")
        _check_given(mechanism, given, {})
        made = [_part(one, mechanism) for one in parts]
        try:
            return parse({"type": mechanism, "parts": made})
        except ValueError as error:
            places = re.sub(r"parts\[(\d+)\]\.(share|weight)", _place, str(error))
            raise ValueError(places) from None
    own = parameters(mechanism)
    if SAME.keys() <= given.keys():
        raise ValueError("--k and --domain-size mean the same: give one of them")
    given = {SAME[key] if SAME.get(key) in own else key: value for key, value in given.items()}
    _check_given(mechanism, given, own)
    return Mechanism(mechanism, tuple(registry.mechanism(mechanism).completed(given).items()))


def _place(found: re.Match[str]) -> str:
    return f"the {found[2]} of part {int(found[1]) + 1}"


def _part(text: str, kind: str) -> dict[str, Any]:
    """A part such as ``0.5 krr k=10`` of a composition, as configurations have it."""
    number, words = _OF_PARTS[kind], text.split()
    try:
        # A word that is no number is the mechanism of an equal share.
        first = {} if number == "share" and words[0].isidentifier() else {number: float(words[0])}
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
            one = own.get(key) or own.get(SAME.get(key, key))
            content[key] = value if one is None else _kind(one).convert(value, None, None)
        return {**first, "mechanism": _described(name, content, ()).plain()}
    except click.ClickException as error:
        raise ValueError(f"--part {text!r}: {error.message}") from None
    except ValueError as error:
        raise ValueError(f"--part {text!r}: {error}") from None


def _check_given(what: str, given: Mapping[str, Any], own: Mapping[str, Parameter]) -> None:
    """ValueError for a parameter that a mechanism or protocol does not have, or lacks."""
    for name in given:
        if name not in own:
            has = f"has only {', '.join(map(flag, own))}" if own else "has none"
            meant = likely(name, own)
            guess = f"; did you mean {flag(meant)}?" if meant else ""
            raise ValueError(f"{flag(name)} is not a parameter of {what}, which {has}{guess}")
    for name, parameter in own.items():
        if parameter.is_required and name not in given:
            raise missing(flag(name), what)


def flag(parameter: str) -> str:
    """Such as ``--domain-size``."""
    return f"--{parameter.replace('_', '-')}"
