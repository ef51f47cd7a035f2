"""Arrays of masses as users write them, as floats that are known to be those or next to them."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Below this, quotients of masses overflow and products lose precision as subnormal floats.
SMALLEST_MASS = 1e-300


def read_masses(name: str, values: ArrayLike) -> tuple[FloatArray, bool]:
    """A read-only float64 copy, shape (J,), of masses >= 0, and whether any had to be rounded.

    Fractions, Decimals and numbers of more digits are rounded to the nearest float. Raises
    ValueError for what is no one-dimensional array of masses: text, truth values and masks
    included.
    """
    array, rounded = _floats(name, values)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name} must be a one-dimensional, non-empty array, got shape {array.shape}"
        )
    wrong = array[~(np.isfinite(array) & (array >= 0.0))]
    if wrong.size:
        raise ValueError(f"{name} must hold masses >= 0, got {float(wrong[0])!r}")
    tiny = array[(array > 0.0) & (array < SMALLEST_MASS)]
    if tiny.size:
        raise ValueError(f"{name} must hold masses of 0 or >= 1e-300, got {float(tiny[0])!r}")
    array.flags.writeable = False
    return array, rounded


def read_ties(tied: object, equal: BoolArray) -> BoolArray:
    """A read-only copy of truth values, shape (J,), that are true only where `equal` is.

    Raises ValueError for what is none.
    """
    with contextlib.suppress(ValueError):  # rows of different lengths
        array = np.array(tied)
        if (
            not isinstance(tied, np.ma.MaskedArray)
            and array.dtype == np.bool_
            and array.shape == equal.shape
            and equal[array].all()
        ):
            array.flags.writeable = False
            return array
    raise ValueError(
        f"tied must hold a truth value per component, true only where a = b, got {tied!r}"
    )


def _floats(name: str, values: ArrayLike) -> tuple[FloatArray, bool]:
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} must be an array without a mask, got {values!r}")
    # In a list beside floats they would pass for floats.
    if isinstance(values, list | tuple) and any(
        isinstance(value, bool | np.bool_ | np.ma.MaskedArray) for value in values
    ):
        raise _refusal(name, values)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "fiuO" or (
            given.dtype.kind == "O" and not all(map(_is_number, given.flat))
        ):
            raise _refusal(name, values)
        with np.errstate(over="ignore", under="ignore"):
            array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _refusal(name, values) from None
    different = array != given
    lost = different & (array == 0.0)
    if lost.any():
        raise ValueError(f"{name} must hold masses of 0 or >= 1e-300, got {given[lost][0]!r}")
    return array, bool(different.any())


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _refusal(name: str, values: object) -> ValueError:
    """Made only when it is raised: writing an array out takes longer than reading it."""
    return ValueError(f"{name} must be an array of numbers, got {values!r}")
