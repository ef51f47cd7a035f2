"""Types of option values, and the one sentence for a value that is none."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


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
