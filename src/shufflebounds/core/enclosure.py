"""A number, or several, known to lie between two floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from numbers import Real
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Two floats that hold a true value: ``lower <= value <= upper``.

    Parameters
    ----------
    lower, upper
        The ends, which may be infinite.

    Raises
    ------
    ValueError
        Where the ends are out of order or NaN.

    Examples
    --------
    >>> found = sb.Enclosure(0.25, 0.5)
    >>> 0.3 in found, found.relative_width
    (True, 0.5)

    What is claimed is ``found.upper``. Comparisons are true only if certain, and formats round
    outward.

    >>> found < 0.6, found < 0.3, found > 0.3, f"{found:.1f}"
    (True, False, False, '[0.2, 0.5]')
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

    def times(self, count: int) -> Enclosure:
        """Multiply the number; the ends are rounded outwards, unless they are exact.

        Parameters
        ----------
        count
            By what, at least 1.

        Returns
        -------
        Enclosure
            Of `count` times the number.

        Examples
        --------
        >>> sb.Enclosure(0.25, 0.5).times(3)
        Enclosure(lower=0.75, upper=1.5)
        """
        return Enclosure(
            _product(self.lower, count, -math.inf), _product(self.upper, count, math.inf)
        )

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    # With numbers, true only if certain: neither e < x nor e >= x holds of an x inside.
    def __lt__(self, value: float) -> bool:
        return self.upper < value if isinstance(value, Real) else NotImplemented

    def __le__(self, value: float) -> bool:
        return self.upper <= value if isinstance(value, Real) else NotImplemented

    def __gt__(self, value: float) -> bool:
        return self.lower > value if isinstance(value, Real) else NotImplemented

    def __ge__(self, value: float) -> bool:
        return self.lower >= value if isinstance(value, Real) else NotImplemented

    def __float__(self) -> float:
        raise TypeError("an enclosure is two floats: take .upper to claim it, or .lower")

    def __format__(self, spec: str) -> str:
        """Both ends, rounded outward: ``f"{found:.3f}"`` is such as ``[0.109, 0.110]``."""
        ends = ((self.lower, ROUND_FLOOR), (self.upper, ROUND_CEILING))
        return f"[{', '.join(_rounded(*end, spec) for end in ends)}]" if spec else str(self)


def _rounded(end: float, rounding: str, spec: str) -> str:
    if math.isinf(end):
        return format(end, spec)
    with localcontext(rounding=rounding):
        return format(Decimal(end), spec)


def _product(factor: float, count: int, towards: float) -> float:
    product = factor * count
    if math.isinf(factor):
        return product
    exact = Fraction(factor) * count
    # Python compares fractions with floats, infinite ones included, exactly. One step is enough
    # unless the count is too large for a float to hold.
    while exact > product if towards > 0.0 else exact < product:
        product = math.nextafter(product, towards)
    return product


@dataclass(frozen=True, slots=True, eq=False)
class Enclosures:
    """Lower and upper ends of several numbers, in the order of what was asked for.

    Indexing with an integer gives an `Enclosure`, with a slice or an array of indices `Enclosures`;
    iterating gives each `Enclosure`.

    Parameters
    ----------
    lower, upper
        The ends, shape (P,); copied, and read-only.

    Raises
    ------
    ValueError
        Where the arrays have other shapes, or where some ends are out of order or NaN.

    Examples
    --------
    >>> found = sb.Enclosures([0.25, 1.0], [0.5, 1.0])
    >>> found[0], found.relative_width.tolist()
    (Enclosure(lower=0.25, upper=0.5), [0.5, 0.0])
    """

    lower: FloatArray
    upper: FloatArray

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _ends(name, getattr(self, name)))
        if self.lower.shape != self.upper.shape:
            raise ValueError(
                "lower and upper must have one entry per number, got "
                f"{self.lower.size} and {self.upper.size}"
            )
        wrong = np.flatnonzero(~(self.lower <= self.upper))
        if wrong.size:
            low, high = float(self.lower[wrong[0]]), float(self.upper[wrong[0]])
            raise ValueError(f"an enclosure needs lower <= upper, got [{low}, {high}]")

    @property
    def relative_width(self) -> FloatArray:
        """Of each enclosure, as `Enclosure.relative_width` says."""
        return np.array([enclosure.relative_width for enclosure in self])

    def __len__(self) -> int:
        return self.lower.size

    def __iter__(self) -> Iterator[Enclosure]:
        return map(Enclosure, self.lower.tolist(), self.upper.tolist())

    @overload
    def __getitem__(self, index: int) -> Enclosure: ...

    @overload
    def __getitem__(self, index: slice | NDArray) -> Enclosures: ...

    def __getitem__(self, index: int | slice | NDArray) -> Enclosure | Enclosures:
        lower, upper = self.lower[index], self.upper[index]
        if np.ndim(lower) == 0:
            return Enclosure(float(lower), float(upper))
        return Enclosures(lower, upper)

    def __reduce__(self) -> tuple[type[Enclosures], tuple[FloatArray, FloatArray]]:
        # By way of the constructor: copies are read-only, too.
        return Enclosures, (self.lower, self.upper)


def _ends(name: str, values: ArrayLike) -> FloatArray:
    """A read-only copy."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional array, got shape {array.shape}")
    array.flags.writeable = False
    return array


class PrecisionError(ArithmeticError):
    """The requested relative width could not be reached.

    Parameters
    ----------
    message
        What was asked for, and what was found.
    enclosure
        The (valid) enclosure that was reached. Where several points were asked for it holds them
        all, computed whether others fell short or not: `Enclosures`, whose ``relative_width`` tells
        which did.

    Examples
    --------
    >>> laplace = sb.Laplace(1.0, cells=4).blanket()
    >>> try:
    ...     found = sb.epsilon(laplace, n=1000, delta=1e-6, rtol=1e-6)
    ... except sb.PrecisionError as error:
    ...     found = error.enclosure
    >>> found.relative_width < 0.1
    True
    """

    def __init__(self, message: str, enclosure: Enclosure | Enclosures) -> None:
        super().__init__(message)
        # Which of the two depends on what was asked for, and no type of an exception tells it.
        self.enclosure: Any = enclosure

    def __reduce__(self) -> tuple[object, ...]:
        """By default an exception is rebuilt from its message alone, and a process pool hangs."""
        return type(self), (*self.args, self.enclosure), self.__dict__


_Ends = TypeVar("_Ends", "Enclosure", "Enclosures")


def reached(evaluate: Callable[[], _Ends]) -> _Ends:
    """What `evaluate` returns, or what it had found where its precision was out of reach."""
    try:
        return evaluate()
    except PrecisionError as error:
        found: _Ends = error.enclosure
        return found


# Numbers in few digits, rounded so that what is shown of a bound is a bound.

DIGITS = 6


def outward(value: float, *, up: bool, digits: int = DIGITS) -> str:
    """A few digits of a number, never below it (up) or never above it; integers in full."""
    if isinstance(value, int) or value == 0.0 or math.isinf(value):
        return f"{value:.0f}"
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    rounded = Context(prec=digits, rounding=rounding).plus(Decimal(value))
    if -5 <= rounded.adjusted() < digits:
        return f"{rounded:f}"
    return f"{rounded:.{digits - 1}e}"
