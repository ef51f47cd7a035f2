"""Options that several commands have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from shufflebounds.cli.deployment import Report, Users, fields, flag, kind, mechanisms_by_parameter
from shufflebounds.randomizers import registry

# Types of option values, and the one sentence for a value that is none.


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
        return f"It is one of {', '.join(self.choices)}."

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        near = get_close_matches(self.normalize_choice(value, ctx), self.choices, n=1)
        guess = f"; did you mean {near[0]}?" if near else "."
        return f"{value!r} is not one of {', '.join(self.choices)}{guess}"


class Whole(click.ParamType):
    """A whole number, written as 100000, 100_000 or 1e5."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            number = Decimal("nan")
        # Written out, larger ones would only fill the memory.
        if number.is_finite() and number.adjusted() > 30:
            self.fail(f"{value!r} is too large.", param, ctx)
        if not number.is_finite() or number != int(number):
            example = "100000, 100_000 or 1e5"
            self.fail(f"{value!r} is not a whole number such as {example}.", param, ctx)
        return int(number)


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


class Real(click.types.FloatParamType):
    """A float, written as Python prints it or in full; what it could not keep is refused.

    So numbers of questions mean what the same numbers mean in answers, and in Python.
    """

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        mantissa = str(value).lower().partition("e")[0]
        if any(sign.isdigit() and int(sign) for sign in mantissa):
            if number == 0.0:
                self.fail(f"{value!r} is closer to 0 than any floating-point number.", param, ctx)
            if math.isinf(number):
                self.fail(f"{value!r} is larger than any floating-point number.", param, ctx)
        if math.isfinite(number) and number != 0.0:
            exact = Decimal(str(value))
            if exact not in (Decimal(repr(number)), Decimal(number)):
                self.fail(
                    f"{value!r} has more digits than a floating-point number keeps; the nearest "
                    f"one is {number!r}.",
                    param,
                    ctx,
                )
        return number + 0.0  # no −0


class Number(click.ParamType):
    """A number; one that is whole, such as 100000, 100_000 or 1e5, becomes an integer."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return value
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            self.fail(f"{value!r} is not a number.", param, ctx)
        if not number.is_finite() or number.adjusted() > 30:
            self.fail(f"{value!r} is not a finite number of reasonable size.", param, ctx)
        return int(number) if number == int(number) else REAL.convert(value, param, ctx)


REAL = Real()
WHOLE = Whole()
NUMBER = Number()


def of_a_report(command: Callable) -> Callable:
    """Options that say what a user sends; the command receives them as ``report``."""
    parameters = mechanisms_by_parameter()

    @functools.wraps(command)
    def wrapped(mechanism: str, k_joint: int, rate: float, **options: Any) -> None:
        chosen = {name: options.pop(name) for name in parameters}
        given = {name: value for name, value in chosen.items() if value is not None}
        command(report=Report(mechanism, given, k_joint, rate), **options)

    choose = click.option(
        "--mechanism",
        type=Name(registry.mechanism_names()),
        required=True,
        help="The local randomizer; `shufflebounds mechanisms` lists them.",
    )
    tune = [_parameter(name, mechanisms) for name, mechanisms in parameters.items()]
    join = click.option(
        "--k-joint",
        type=WHOLE,
        default=1,
        show_default=True,
        help="How many independent reports at eps0/K a user sends together, linked to each other "
        "as one report. (Reports on separate days are --rounds.)",
        metavar="K",
    )
    sample = click.option(
        "--rate",
        type=REAL,
        default=1.0,
        show_default=True,
        help="Poisson subsampling: the probability that a report is sent at all.",
        metavar="R",
    )
    added: list[Callable[[Callable], Callable]] = [choose, *tune, join, sample]
    # The last one added is the first one listed.
    for add in reversed(added):
        wrapped = add(wrapped)
    return wrapped


def _parameter(name: str, mechanisms: list[str]) -> Callable[[Callable], Callable]:
    type_ = kind(mechanisms[0], name)
    meaning = fields(mechanisms[0])[name].metadata.get("help", "a parameter")
    return click.option(
        flag(name),
        type={int: WHOLE, float: REAL}.get(type_, type_),
        help=f"{', '.join(mechanisms)}: {meaning}.",
    )


eps0_option = click.option(
    "--eps0",
    type=REAL,
    help="Local privacy parameter of all that a user sends: natural logarithm, up to 300. Required "
    "but for a matrix, which fixes it.",
)
eps_option = click.option(
    "--eps", type=REAL, required=True, help="Privacy loss: natural logarithm, at least 0."
)
delta_option = click.option(
    "--delta", type=REAL, required=True, help="A probability, 1e-300 to below 1."
)
_n_option = click.option(
    "--n",
    type=WHOLE,
    required=True,
    help="Number of users, 1 to 1e15, written as 100000, 100_000 or 1e5.",
)
colluding_option = click.option(
    "--colluding",
    type=WHOLE,
    default=0,
    show_default=True,
    help="How many of them work with the observer, drop out or break the protocol: they hide "
    "nobody, and answers are those of the others alone.",
    metavar="M",
)


def of_users(command: Callable) -> Callable:
    """Options that say how many users there are; the command receives them as ``users``."""

    @functools.wraps(command)
    def wrapped(n: int, colluding: int, **options: Any) -> None:
        command(users=Users(n, colluding), **options)

    return _n_option(colluding_option(wrapped))


rtol_option = click.option(
    "--rtol",
    type=REAL,
    help="Largest relative width of the enclosures, 1e-9 to 0.1. If left out, 1e-4 but for what "
    "the cells of a continuous mechanism add.",
)
rounds_option = click.option(
    "--rounds",
    type=WHOLE,
    default=1,
    show_default=True,
    help="How often the same users report, 1 to 1e6: rounds that are separate shuffles, such as "
    "days. (Reports that are sent together, linked to each other, are --k-joint.)",
    metavar="T",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, all digits."
)
