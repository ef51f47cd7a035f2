"""Columns of tables as numbers, and the checks of what figures draw of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def numbers(cells: pd.Series) -> FloatArray:
    """A column as floats; an empty cell, or anything else that is no number, becomes NaN."""
    return pd.to_numeric(cells, errors="coerce").to_numpy(float)


def check(
    name: str, values: FloatArray, valid: NDArray[np.bool_], allowed: str, where: str
) -> None:
    """ValueError for the first of `values` that is not finite or not `valid` (same shape)."""
    wrong = values[~(valid & np.isfinite(values))]
    if wrong.size:
        raise ValueError(f"{name} must be {allowed}, got {wrong[0]} in {where}")
