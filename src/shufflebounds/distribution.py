"""The distribution of the privacy amplification random variable of a randomizer (Figure 8).

L = γ (a_j − e^ε b_j)/c_j with probability c_j/γ, γ = Σc: the GPARV given that the report comes from
the blanket, times γ (Balle, Bell, Gascón and Nissim, CRYPTO 2019; the paper's Definition 9).
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shufflebounds import building, descriptions, sealed, validation
from shufflebounds._version import __version__

if TYPE_CHECKING:
    import pandas as pd


class Row(NamedTuple):
    """One value of L and the probability that L is at most that."""

    distribution: str
    mechanism: str
    eps0: float
    eps: float
    value: float
    cdf: float
    version: str


COLUMNS = Row._fields


def compute(distribution: str, mechanism: Mapping, eps0: float, eps: float) -> list[Row]:
    """The cumulative distribution of L, one row per value, ascending.

    Parameters
    ----------
    distribution
        A name, copied into the table.
    mechanism
        What `building.randomizer` takes. A continuous one is binned: the masses of its cells are
        right, and ``value`` is the mean of L over the cell.
    eps0, eps
        ε₀ of a whole report and ε ≥ 0, natural logs.

    The fields ``value`` and ``cdf`` make a right-continuous step function that ends at 1. Raises
    ValueError for a bad argument.

    """
    blanket = building.randomizer(mechanism, eps0).blanket().bounds()[0].merge()
    values, masses = blanket.gparv(validation.eps(eps))
    size = np.count_nonzero(blanket.c)
    order = np.argsort(values[:size], kind="stable")
    gamma = masses[:size].sum()
    cdf = np.cumsum(masses[order]) / gamma
    cdf[-1] = 1.0
    parameters = _parameters(distribution, mechanism, eps0, eps)
    steps = zip((gamma * values[order]).tolist(), np.minimum(cdf, 1.0).tolist(), strict=True)
    return [Row(**parameters, value=value, cdf=below) for value, below in steps]


def write(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Write a table of `compute` as CSV with a checksum (see `sealed`), at once or not at all."""
    sealed.write(COLUMNS, rows, path)


def read(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table back.

    Raises ValueError, naming the file, where it is not as `write` wrote it.
    """
    import pandas as pd

    text = {"distribution": str, "mechanism": str, "version": str}
    frame = pd.read_csv(io.StringIO(sealed.read(path)), keep_default_na=False, dtype=text)
    _require_columns(path, frame.columns)
    return frame


def verify(path: str | os.PathLike[str], spec: Mapping) -> None:
    """Raise ValueError, in one sentence, where a file is not the table that `spec` asks for.

    `spec` holds the arguments of `compute`. Looks at them in every row, and computes nothing.
    """
    found = sealed.columns(path)
    _require_columns(path, found)
    sealed.require(path, found, _parameters(**spec))


def _parameters(
    distribution: str, mechanism: Mapping, eps0: float, eps: float
) -> dict[str, str | float]:
    """Columns that are the same in all rows."""
    return {
        "distribution": distribution,
        "mechanism": descriptions.text(mechanism),
        "eps0": float(eps0),
        "eps": float(eps),
        "version": __version__,
    }


def _require_columns(path: str | os.PathLike[str], found: Iterable[str]) -> None:
    if tuple(found) != COLUMNS:
        raise ValueError(f"{path} is not the table of a distribution")
