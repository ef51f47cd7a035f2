"""Numbers that are known to lie between two floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

# Significant digits of numbers that are printed with `outward`.
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Two floats that enclose a true value: ``lower <= value <= upper``.

    Parameters
    ----------
    lower, upper
        The ends, which may be infinite.

    Raises
    ------
    ValueError
        If the ends are out of order or NaN.

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
            The factor, at least 1.

        Returns
        -------
        Enclosure
            The enclosure of `count` times the number.

        Examples
        --------
        >>> sb.Enclosure(0.25, 0.5).times(3)
        Enclosure(lower=0.75, upper=1.5)
        """
        return Enclosure(
            _rounded_product(self.lower, count, -math.inf),
            _rounded_product(self.upper, count, math.inf),
        )

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    # A comparison with a number is true only if it is certain. For an x inside an enclosure e,
    # both e < x and e >= x are false.
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
        """Return both ends, rounded outward, such as ``[0.109, 0.110]`` for ``.3f``."""
        ends = ((self.lower, ROUND_FLOOR), (self.upper, ROUND_CEILING))
        return f"[{', '.join(_format_end(*end, spec) for end in ends)}]" if spec else str(self)


def _format_end(end: float, rounding: str, spec: str) -> str:
    """Return the end in the format `spec`, rounded in the given direction of `decimal`."""
    if math.isinf(end):
        return format(end, spec)
    with localcontext(rounding=rounding):
        return format(Decimal(end), spec)


def _rounded_product(factor: float, count: int, towards: float) -> float:
    """Return `factor` times `count`, rounded towards −∞ or ∞ unless it is exact."""
    product = factor * count
    if math.isinf(factor):
        return product
    exact = Fraction(factor) * count
    # Python compares fractions with floats exactly, also with infinite ones. One step is enough
    # unless the count is too large for a float.
    while exact > product if towards > 0.0 else exact < product:
        product = math.nextafter(product, towards)
    return product


@dataclass(frozen=True, slots=True, eq=False)
class Enclosures:
    """Lower and upper ends of several numbers, in the order of the question's points.

    An integer index gives an `Enclosure`; a slice or an array of indices gives `Enclosures`.
    Iterating gives each `Enclosure`.

    Parameters
    ----------
    lower, upper
        The ends, shape (P,); copied, and read-only.

    Raises
    ------
    ValueError
        If the arrays have other shapes, or if ends are out of order or NaN.

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
            object.__setattr__(self, name, _read_ends(name, getattr(self, name)))
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
        """The `Enclosure.relative_width` of each enclosure, shape (P,)."""
        return np.array([enclosure.relative_width for enclosure in self])

    def frame(self, **columns: ArrayLike) -> pd.DataFrame:
        """Return both ends as a data frame, behind columns of their points; pandas is needed.

        Parameters
        ----------
        columns
            Columns such as ``n=[1000, 2000]``, of one value for each number or for all.

        Returns
        -------
        pandas.DataFrame
            With the columns, ``lower`` and ``upper``.

        Examples
        --------
        >>> sb.Enclosures([0.25, 1.0], [0.5, 1.0]).frame(n=[10, 20])["upper"].tolist()
        [0.5, 1.0]
        """
        import pandas as pd

        if taken := columns.keys() & {"lower", "upper"}:
            raise ValueError(f"columns must have other names than {', '.join(sorted(taken))}")
        size = len(self)
        if wrong := [name for name, x in columns.items() if np.ndim(x) and np.size(x) != size]:
            raise ValueError(f"{wrong[0]} must have one value or {size}, one for each number")
        return pd.DataFrame({**columns, "lower": self.lower, "upper": self.upper})

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
        # The constructor makes the arrays of copies read-only, too.
        return Enclosures, (self.lower, self.upper)


def _read_ends(name: str, values: ArrayLike) -> FloatArray:
    """Return a read-only copy, shape (P,); raise ValueError for arrays of other dimensions."""
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
        The sentence that says which precision was requested and which one was reached.
    enclosure
        The enclosure that was reached, which is valid. If the question had several points it is
        `Enclosures` of all of them; their ``relative_width`` says which points are too wide.

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
        # Whether it is one or several depends on the question, which types cannot express here.
        self.enclosure: Any = enclosure

    def __reduce__(self) -> tuple[object, ...]:
        """Return the constructor with both arguments: without the second, a process pool hangs."""
        return type(self), (*self.args, self.enclosure), self.__dict__


class WorkError(PrecisionError):
    """The budget of work of a question is spent (`shufflebounds.core.work`).

    Nobody but the public question may take its enclosure for an answer: `reached` passes it on.
    """

    def __init__(
        self, message: str, enclosure: Enclosure | Enclosures = Enclosure(0.0, math.inf)
    ) -> None:
        super().__init__(message, enclosure)


EnclosureT = TypeVar("EnclosureT", "Enclosure", "Enclosures")


def reached(evaluate: Callable[[], EnclosureT]) -> EnclosureT:
    """Return the enclosure of `evaluate`, be it returned or raised with a `PrecisionError`.

    A `WorkError` is passed on.
    """
    try:
        return evaluate()
    except WorkError:
        raise
    except PrecisionError as error:
        enclosure: EnclosureT = error.enclosure
        return enclosure


def outward(value: float, *, up: bool, digits: int = DIGITS) -> str:
    """Return `digits` digits of a number, rounded up or down, so that a printed bound is a bound.

    Integers, 0 and infinities are printed in full.
    """
    if isinstance(value, int) or value == 0.0 or math.isinf(value):
        return f"{value:.0f}"
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    rounded = Context(prec=digits, rounding=rounding).plus(Decimal(value))
    if -5 <= rounded.adjusted() < digits:
        return f"{rounded:f}"
    return f"{rounded:.{digits - 1}e}"
