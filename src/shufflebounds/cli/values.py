"""Types of option values, each with one sentence for a text that is no such value."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import click

from shufflebounds.bounds.registry import FORMER_NAMES
from shufflebounds.core import validation
from shufflebounds.core.number import Number

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


class NumberType(click.ParamType):
    """A number in its range, as people write it: 100000, 100_000 or 1e5.

    A text with digits that a float cannot keep is refused: `check` could otherwise prove the claim
    of a smaller epsilon than the one that it was asked about. If it ``takes_fractions``, those such
    as 1/6 stay texts.
    """

    name = "number"

    def __init__(self, number: Number[Any], *, takes_fractions: bool = False) -> None:
        self.number, self.takes_fractions = number, takes_fractions

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.read(value, max(param.opts, key=len) if param else "")

    def read(self, value: Any, name: str) -> Any:
        """Return the number; ValueError, which begins with the name, for all else."""
        is_fraction = self.takes_fractions and isinstance(value, str) and "/" in value
        return value if is_fraction else self.number.parse(value, name)


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
        n = validation.N.parse(users, "n of --also")
        return n, validation.ROUNDS.parse(rounds, "rounds of --also")


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


FIGURE = Figure(".pdf", ".png", ".svg")
