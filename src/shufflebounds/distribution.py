"""The distribution of the privacy amplification random variable of a randomizer (Figure 8).

L = γ (a_j − e^ε b_j)/c_j with probability c_j/γ, γ = Σc: the GPARV given that the report comes from
the blanket, times γ (Balle, Bell, Gascón and Nissim, CRYPTO 2019; the paper's Definition 9).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from shufflebounds import building, descriptions, validation
from shufflebounds._version import __version__
from shufflebounds.files import written_whole


def compute(distribution: str, mechanism: Mapping, eps0: float, eps: float) -> pd.DataFrame:
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

    The columns ``value`` and ``cdf`` make a right-continuous step function that ends at 1. Raises
    ValueError for a bad argument.

    """
    blanket = building.randomizer(mechanism, eps0).blanket().bounds()[0].merge()
    values, masses = blanket.gparv(validation.eps(eps))
    size = np.count_nonzero(blanket.c)
    order = np.argsort(values[:size], kind="stable")
    gamma = masses[:size].sum()
    cdf = np.cumsum(masses[order]) / gamma
    cdf[-1] = 1.0
    return pd.DataFrame(
        {
            "distribution": distribution,
            "mechanism": descriptions.text(mechanism),
            "eps0": float(eps0),
            "eps": float(eps),
            "value": gamma * values[order],
            "cdf": np.minimum(cdf, 1.0),
            "version": __version__,
        }
    )


def write(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of `compute` as CSV, at once or not at all."""
    with written_whole(Path(path)) as part:
        frame.to_csv(part, index=False, lineterminator="\n", encoding="utf-8")
