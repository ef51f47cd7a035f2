"""Types of option values, each with one sentence for a text that is no such value."""

from __future__ import annotations

import importlib.util
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from shufflebounds.bounds.registry import FORMER_NAMES
from shufflebounds.core import validation

# Names that mechanisms have elsewhere. Without this, olh would be taken for blh.
NAMES_ELSEWHERE = {
    "olh": "local_hash",
    "randomized_response": "krr",
    "symmetric_unary": "rappor",
    "grr": "krr",
    "rr": "krr",
    "sue": "rappor",
    "hr": "hadamard",
    "bloom": "bloom_rappor",
    "dbitflippm": "dbitflip",
    "forced_response": "survey",
    "hm": "hybrid",
    "pm": "piecewise",
    "warner": "krr",
}
# Largest power of ten in a whole number. More digits would only fill the memory.
MAX_EXPONENT = 30
# Packages that draw figures, which `pip install shufflebounds` leaves out.
PLOTTING_PACKAGES = ("matplotlib", "pandas")


class Name(click.Choice):
    """A name from a list, with a guess at the name that a wrong one was meant to be.

    KRR and krr are the same, as are Hadamard-Blocks and hadamard_blocks.
    """

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        return str(choice).casefold().replace("-", "_")

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "NAME"

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return ""  # The list of names would follow the sentence on the missing option.

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        guess = validation.likely(self.normalize_choice(value, ctx), self.choices)
        if guess:
            return f"{value!r} is not known; did you mean {guess}?"
        return f"{value!r} is not one of {', '.join(self.choices)}."


class SenderName(Name):
    """The name of a mechanism, which another package may define, or of a protocol."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        name = self.normalize_choice(value, ctx)
        guess = NAMES_ELSEWHERE.get(name) or validation.likely(name, self.choices)
        hint = f"did you mean {guess}?" if guess else "is its package installed here?"
        return f"{value!r} is not known; {hint} `shufflebounds mechanisms` lists the names."


class BoundName(Name):
    """The name of a bound; a former name is taken for the present one, with a note."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        former = self.normalize_choice(value, ctx)
        present = FORMER_NAMES.get(former, former)
        if present != former:
            click.echo(f"The bound {former} is called {present} now.", err=True)
        return super().convert(present, param, ctx)


def exact_decimal(value: object) -> Decimal:
    """Return the number as it is written; NaN for a text that is no number."""
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
        number = exact_decimal(value)
        if not number.is_finite() or number.adjusted() > MAX_EXPONENT or number != int(number):
            self.fail(f"{value!r} is not a whole number such as 30 or 1e5.", param, ctx)
        return int(number)


class UsersAndRounds(click.ParamType):
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


class Real(click.ParamType):
    """A float, written as Python prints it or in full.

    A text with digits that a float cannot keep is refused: `check` could otherwise prove the claim
    of a smaller epsilon than the one that it was asked about.
    """

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number such as {self.example(value)}.", param, ctx)
        spellings = (Decimal(repr(number)), Decimal(number))
        if exact_decimal(value) not in spellings:
            more = f"{value!r} has more digits than a floating-point number keeps"
            self.fail(f"{more}; the nearest one is {number!r}.", param, ctx)
        return number + 0.0  # 0.0 in place of -0.0

    def example(self, value: object) -> str:
        """Return numbers such as the text that is no number; of a percentage, its value."""
        share = exact_decimal(str(value).removesuffix("%")) / 100
        is_share = str(value).endswith("%") and share.is_finite()
        return f"{share.normalize():f}" if is_share else "0.5 or 1e-6"


class Share(Real):
    """A probability, or a share of the users."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if not 0.0 <= number <= 1.0:
            hint = f"; for {number:g} % write {number / 100:g}" if 1.0 < number <= 100.0 else ""
            self.fail(f"it must be from 0 to 1, got {value}{hint}.", param, ctx)
        return number


class Probability(Share):
    """A probability: a share, or a fraction such as 1/6, which stays a text."""

    name = "probability"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        is_fraction = isinstance(value, str) and "/" in value
        return value if is_fraction else super().convert(value, param, ctx)


class Number(Real):
    """A number; one that is whole, such as 100000, 100_000 or 1e5, becomes an integer."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = exact_decimal(value)
        is_whole = number.is_finite() and number == number.to_integral_value()
        return WHOLE.convert(value, param, ctx) if is_whole else super().convert(value, param, ctx)


class OutputFile(click.Path):
    """A file to write, in a directory that exists."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type] # path_type
        if self._suffixes and path.suffix not in self._suffixes:
            self.fail(f"{str(path)!r} must end in {' or '.join(self._suffixes)}.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"Directory {str(path.parent)!r} does not exist.", param, ctx)
        return path


class Figure(OutputFile):
    """A figure to draw; the packages that draw must be installed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = super().convert(value, param, ctx)
        if not all(map(importlib.util.find_spec, PLOTTING_PACKAGES)):
            packages = " ".join(PLOTTING_PACKAGES)
            self.fail(f"drawing needs other packages: pip install {packages}", param, ctx)
        return path


REAL = Real()
SHARE = Share()
WHOLE = Whole()
NUMBER = Number()
PROBABILITY = Probability()
FIGURE = Figure(".pdf", ".png", ".svg")
