"""Numbers that users give: each is stated once, with its range and meaning.

From it follow the check of an argument, the option of the command line, the key of a YAML file with
its JSON schema, the row of a table in the documentation, and one sentence for a mistake at all
these doors. `validation` has the numbers of questions.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any, Generic, TypeVar

T = TypeVar("T", int, float)

# Most digits of a number in a text before or after the point. More would only fill the memory.
MAX_DIGITS = 400

# What errors say of a share where a number of users is to stand.
SHARE_HINT = "; a share of the users is not a number of them"


@dataclass(frozen=True)
class Number(Generic[T]):
    """A number with a name, a meaning and a range.

    Parameters
    ----------
    name
        Its name in Python, YAML and JSON. With dashes, it is an option of the command line.
    meaning
        What it is, with its unit and an example: a phrase of Markdown without a full stop.
    gt, ge, le, lt
        The ends of its range: above ``gt``, at least ``ge``, at most ``le``, below ``lt``.
    symbol
        What stands for its value in the help of the command line.
    default
        Its value if it is left out; None if it has none.
    """

    name: str = ""
    meaning: str = ""
    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    lt: float | None = None
    symbol: str = ""
    default: float | None = None

    def check(self, value: Any, name: str = "") -> T:
        """Return a number in the range.

        Raises ValueError for all else; its sentence begins with the ``name``, by default its own.
        """
        return self._checked(value, name or self.name, repr(value))

    def parse(self, value: Any, name: str = "") -> T:
        """Return a number that may be written as a text, such as 1e5; see `check`."""
        number = number_in(value)
        shown = repr(value) if number is value else value.strip()
        return self._checked(number, name or self.name, shown)

    def _checked(self, value: Any, name: str, shown: str) -> T:
        """Return a number in the range; the error repeats what was given as it is ``shown``."""
        raise NotImplementedError

    def contains(self, value: float) -> bool:
        """Return whether a number is in the range."""
        return (
            (self.gt is None or value > self.gt)
            and (self.ge is None or value >= self.ge)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    @property
    def sentence(self) -> str:
        """Its meaning as a sentence, without links."""
        return sentence(self.meaning)


@dataclass(frozen=True)
class Whole(Number[int]):
    """An integer from ``ge`` on.

    If it ``counts_users``, floats such as 1e5 are integers too, and errors say that a share is not.
    """

    counts_users: bool = False

    def _checked(self, value: Any, name: str, shown: str) -> int:
        """See `Number`."""
        nearest = as_float(value)
        is_float = self.counts_users and nearest.is_integer() and nearest == value
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if (is_whole or is_float) and self.contains(int(value)):
            return int(value)
        ends = "" if self.ge is None else f" >= {short_integer(self.ge)}"
        if self.ge is not None and self.le is not None:
            ends = f" from {short_integer(self.ge)} to {short_integer(self.le)}"
        is_share = self.counts_users and (0.0 < nearest < 1.0 or percentage(value) is not None)
        hint = SHARE_HINT if is_share else ""
        raise ValueError(f"{name} must be an integer{ends}, got {shown}{hint}")


@dataclass(frozen=True)
class Real(Number[float]):
    """A finite number that is a float.

    It may exceed its range by a relative ``slack``. Errors say what a percentage stands for; where
    the range is from 0 to 1, a number to 100 may be one.
    """

    slack: float = 0.0

    def between(self, value: Any, name: str = "") -> tuple[float, float]:
        """Return the floats around a number in the range, twice the same one if it is a float."""
        self._require(value, name or self.name, repr(value))
        return neighbouring_floats(value)

    def nearest(self, value: Any, name: str = "") -> float:
        """Return the float nearest to a number in the range."""
        return self._require(value, name or self.name, repr(value))

    def _checked(self, value: Any, name: str, shown: str) -> float:
        """See `Number`."""
        nearest = self._require(value, name, shown)
        if len({*neighbouring_floats(value)}) > 1:
            held = "must be a number that a float holds exactly"
            raise ValueError(f"{name} {held}, got {shown}; the nearest one is {nearest!r}")
        return nearest

    def _require(self, value: Any, name: str, shown: str) -> float:
        """Return the nearest float; ValueError for all but finite numbers in the range."""
        nearest = as_float(value)
        is_finite = math.isfinite(nearest) and (nearest != 0.0 or value == 0.0)
        if is_finite and self.contains(nearest / (1.0 + self.slack)):
            return nearest + 0.0  # 0.0 in place of -0.0
        share = percentage(value)
        if not self.ge and 1 in (self.le, self.lt) and 1.0 < nearest <= 100.0:
            share = Decimal(repr(nearest)) / 100
        hint = (
            ""
            if share is None
            else f"; for {(100 * share).normalize():f} % write {share.normalize():f}"
        )
        raise ValueError(f"{name} must be a finite number{self._range(name)}, got {shown}{hint}")

    def _range(self, name: str) -> str:
        """Return the range, such as `` with 0 < eps0 <= 300``; empty if there is none."""
        short = re.sub(r"^--|^.*[. ]|\[\d+\]$", "", name).replace("-", "_")
        if self.ge is self.gt is None:
            return ""
        if self.le is None and self.lt is None:
            return f" with {short} " + (f">= {self.ge:g}" if self.gt is None else f"> {self.gt:g}")
        low = f"{self.ge:g} <=" if self.gt is None else f"{self.gt:g} <"
        high = f"< {self.lt:g}" if self.le is None else f"<= {self.le:.7g}"
        return f" with {low} {short} {high}"


def number_in(value: Any) -> Any:
    """Return the number that a text stands for; other texts and other values as they are."""
    try:
        number = Decimal(value.strip()) if isinstance(value, str) else None
    except InvalidOperation:
        return value
    if number is None or not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS:
        return value
    nearest = float(number)
    if Decimal(repr(nearest)) == number != nearest:
        return nearest  # as Python prints it
    return int(number) if number == number.to_integral_value() else Fraction(number)


def percentage(value: Any) -> Decimal | None:
    """Return the share that a text such as 5% stands for; None for all else."""
    text = value.strip() if isinstance(value, str) else ""
    number = number_in(text.removesuffix("%"))
    is_percentage = text.endswith("%") and not isinstance(number, str)
    return Decimal(text.removesuffix("%").strip()) / 100 if is_percentage else None


def sentence(phrase: str) -> str:
    """Return a phrase of Markdown as a sentence, without its links."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", phrase)
    return f"{text[:1].upper()}{text[1:]}."


def short_integer(number: float) -> str:
    """Return the digits of a number, or, for one such as 10**15, 1e15."""
    text = f"{number:.0e}".replace("+", "")
    return text if number >= 10**9 and float(text) == float(number) else str(number)


def as_float(value: object) -> float:
    """Return a real number as a float, infinite if it overflows, and NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, RealNumber):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def neighbouring_floats(value: Any) -> tuple[float, float]:
    """Return the floats around a number, twice the same one if it is a float."""
    if isinstance(value, Integral):
        value = int(value)  # NumPy would round its integers before it compares them.
    nearest = float(value)
    if nearest == value:
        return nearest, nearest
    if nearest < value:
        return nearest, math.nextafter(nearest, math.inf)
    return math.nextafter(nearest, -math.inf), nearest
