"""Arguments of questions that may be numbers or arrays of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")
S = TypeVar("S")


class DataColumn(Protocol):
    """A column of a data frame, or another array that NumPy does not define."""

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    def __len__(self) -> int: ...

    def tolist(self) -> list[Any]:
        """Return the entries."""


ArrayOf = Sequence[T] | NDArray | DataColumn


def is_array_like(value: object) -> TypeGuard[Sequence | NDArray]:
    """Return whether an argument is an array or a sequence, rather than a number."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return getattr(value, "ndim", 0) > 0


def paired(
    first_argument: tuple[str, object, Callable[[object], T]],
    second_argument: tuple[str, object, Callable[[object], S]],
) -> tuple[list[T], list[S]]:
    """Return two arguments (name, value, check), one of them an array, as lists of equal length.

    Raises ValueError if both are arrays, or an array is empty or has more than one dimension. It
    also raises what `check` raises for an entry.
    """
    if is_array_like(first_argument[1]) and is_array_like(second_argument[1]):
        raise ValueError(
            f"only one of {first_argument[0]} and {second_argument[0]} may be an array, "
            f"got {len(first_argument[1])} and {len(second_argument[1])} values"
        )
    first, second = checked(*first_argument), checked(*second_argument)
    size = max(len(first), len(second))
    return first * (size // len(first)), second * (size // len(second))


def checked(name: str, value: object, check: Callable[[object], T]) -> list[T]:
    """Return an argument, a number or an array, as a list of checked numbers.

    Raises ValueError for an array that is empty or has more than one dimension.
    """
    if not is_array_like(value):
        return [check(value)]
    shape = getattr(value, "shape", (len(value),))
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(
            f"{name} must be a number or a one-dimensional, non-empty array, "
            f"got shape {tuple(shape)}"
        )
    # Arithmetic with NumPy scalars would be slower than with Python's numbers.
    return [check(x) for x in (value.tolist() if hasattr(value, "tolist") else value)]
