"""Arrays of probabilities that a user passes: every entry is checked, and none is changed silently.

NumPy would turn text, truth values and masked entries into numbers. These functions refuse them.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from shufflebounds.core.products import SMALLEST_MASS, FloatArray


def read_masses(name: str, values: ArrayLike, dimensions: int = 1) -> tuple[FloatArray, bool]:
    """Return a read-only float64 copy of masses, and whether any of them had to be rounded.

    Fractions, Decimals and extended-precision numbers are rounded to the nearest float. Raises
    ValueError unless `values` is a nonempty array of real numbers, has this number of dimensions,
    and has only finite entries that are 0 or at least 10⁻³⁰⁰.
    """
    array, rounded = _read_numbers(name, values)
    if array.ndim != dimensions or not array.size:
        raise ValueError(
            f"{name} must be a {dimensions}-dimensional array that is not empty, got shape "
            f"{array.shape}"
        )
    for is_invalid, allowed in (
        (~(np.isfinite(array) & (array >= 0.0)), "masses >= 0"),
        ((array > 0.0) & (array < SMALLEST_MASS), f"masses of 0 or >= {SMALLEST_MASS:g}"),
    ):
        if is_invalid.any():
            index = np.argwhere(is_invalid)[0].tolist()
            row = f" in row {index[0]}" if dimensions == 2 else ""
            raise ValueError(f"{name} must hold {allowed}, got {float(array[*index])!r}{row}")
    array.flags.writeable = False
    return array, rounded


def _read_numbers(name: str, values: ArrayLike) -> tuple[FloatArray, bool]:
    """Return real numbers as a new float64 array, and whether any of them was rounded.

    Raises ValueError for other types, for rows of different lengths, and for positive numbers that
    would become 0.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values.copy(), False
    if _is_masked(values):
        raise ValueError(f"{name} must be an array without a mask, got {values!r}")
    is_numeric = isinstance(values, np.ndarray) and values.dtype.kind in "fiu"
    exact = np.asarray(values) if is_numeric else np.array(values, dtype=object)
    invalid = [] if is_numeric else [x for x in exact.flat if not _is_number(x)]
    if invalid:
        # If rows have different lengths, NumPy makes an array whose entries are the rows.
        allowed = "rows of equal length" if isinstance(invalid[0], list | tuple) else "real numbers"
        raise ValueError(f"{name} must hold {allowed}, got {invalid[0]!r}")
    try:
        with np.errstate(over="ignore", under="ignore"):
            array = np.array(exact, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} must hold masses of at most 1, got {values!r}") from None
    rounded = array != exact
    underflow = rounded & (array == 0.0)
    if underflow.any():
        smallest = exact[underflow][0]
        raise ValueError(f"{name} must hold masses of 0 or >= {SMALLEST_MASS:g}, got {smallest!r}")
    return array, bool(rounded.any())


def _is_masked(values: object) -> bool:
    """Return whether any of the arrays in `values` has a mask, which NumPy would ignore."""
    if isinstance(values, list | tuple):
        return any(map(_is_masked, values))
    return isinstance(values, np.ma.MaskedArray)


def _is_number(value: object) -> bool:
    """Return whether `value` is a real number and no truth value."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_)
