"""The law of the privacy amplification random variable of a randomizer (Figure 8).

L = γ (a_j − e^ε b_j)/c_j with probability c_j/γ, γ = Σc: the GPARV given that the report comes from
the blanket, times γ (Balle, Bell, Gascón and Nissim, CRYPTO 2019; the paper's Definition 9).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from shufflebounds import validation
from shufflebounds.papers.base import Context, TableCode
from shufflebounds.papers.page import Page
from shufflebounds.papers.su2026 import parameters
from shufflebounds.plotting import interactive, step_function
from shufflebounds.plotting.mathtext import number
from shufflebounds.randomizers.description import Description

_SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def law(mechanism: Description, eps0: float, eps: float) -> pd.DataFrame:
    """The cumulative distribution of L, one row per value, ascending.

    Parameters
    ----------
    mechanism
        The randomizer. A continuous one is binned: the masses of its cells are right, and ``value``
        is the mean of L over the cell.
    eps0, eps
        ε₀ of a whole report and ε ≥ 0, natural logs.

    Returns
    -------
    The columns ``mechanism``, ``eps0``, ``eps``, ``value`` and ``cdf``; the last two make a
    right-continuous step function that ends at 1.

    Raises ValueError for a bad argument.

    """
    blanket = mechanism.randomizer(eps0).blanket().bounds()[0].merge()
    values, masses = blanket.gparv(validation.eps(eps))
    size = np.count_nonzero(blanket.c)
    order = np.argsort(values[:size], kind="stable")
    gamma = masses[:size].sum()
    cdf = np.cumsum(masses[order]) / gamma
    cdf[-1] = 1.0
    return pd.DataFrame(
        {
            "mechanism": str(mechanism),
            "eps0": float(eps0),
            "eps": float(eps),
            "value": gamma * values[order],
            "cdf": np.minimum(cdf, 1.0),
        }
    )


def page(frame: pd.DataFrame) -> Page:
    """Some quantiles of the law."""
    quantiles = [float(frame.loc[frame["cdf"] >= share, "value"].iloc[0]) for share in _SHARES]
    first = frame.iloc[0]
    return Page(
        title="The law of the privacy amplification random variable",
        above=r"Quantiles of $L=\gamma(R(x_1^0)-e^{\varepsilon}R(x_1^1))/\omega$ of "
        rf"{first['mechanism']} at $\varepsilon_0$ = {first['eps0']:g} and $\varepsilon$ = "
        rf"{first['eps']:g}: $\omega$ is the blanket, $\gamma$ its mass, and the report is drawn "
        r"from $\omega/\gamma$.",
        header=("share at or below", *(f"{share:g}" for share in _SHARES)),
        rows=(("$L$", *(f"{value:.6g}" for value in quantiles)),),
    )


def _compute(given: parameters.AmplificationVariable, context: Context) -> pd.DataFrame:
    return law(context.mechanisms[given.mechanism], given.eps0, given.eps)


def _figure(frame: pd.DataFrame, title: str) -> Figure:
    return step_function.figure(frame, title, **_texts(frame))


def _interactive(frame: pd.DataFrame, title: str, program: str) -> str:
    return interactive.step_page(frame, title, **_texts(frame), symbol="t", program=program)


def _texts(frame: pd.DataFrame) -> dict[str, str]:
    first = frame.iloc[0]
    return {
        "x": "value $t$ of the privacy amplification random variable $L$",
        "y": r"$\Pr\,[L \leq t]$",
        "setting": f"ε₀ = {number(first['eps0'])}, ε = {number(first['eps'])}",
    }


TABLE = TableCode(_compute, page, _figure, _interactive)
