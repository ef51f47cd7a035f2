"""A number known to lie between two floats."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Two floats that hold a true value: ``lower <= value <= upper``.

    Raises ValueError where the ends are out of order or NaN.
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"an enclosure needs lower <= upper, got [{self.lower}, {self.upper}]")

    @property
    def relative_width(self) -> float:
        """``(upper - lower) / upper``: 0 where both ends are equal, 1 where the lower one is 0."""
        if self.lower == self.upper:
            return 0.0
        if math.isinf(self.upper):
            return math.inf
        return (self.upper - self.lower) / self.upper

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper


class PrecisionError(ArithmeticError):
    """The requested relative width could not be reached.

    ``enclosure`` is the (valid) enclosure that was.
    """

    def __init__(self, message: str, enclosure: Enclosure) -> None:
        super().__init__(message)
        self.enclosure = enclosure

    def __reduce__(self) -> tuple[object, ...]:
        """By default an exception is rebuilt from its message alone, and a process pool hangs."""
        return type(self), (*self.args, self.enclosure), self.__dict__
