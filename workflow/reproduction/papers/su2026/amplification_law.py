"""The law of the privacy amplification random variable of a randomizer, Figure 8.

L = γ (a_j − e^ε b_j)/c_j with probability c_j/γ, γ = Σc: the GPARV given that the report comes from
the blanket, times γ (Balle, Bell, Gascón and Nissim, CRYPTO 2019; the paper's Definition 9).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.papers.pages import Page
from reproduction.papers.su2026 import AmplificationVariable
from reproduction.papers.tables import Context
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet
from shufflebounds.curves.plotting.texts import number

# Room on either side of the distribution function, as a share of its length.
MARGIN = 0.05

# The shares whose quantiles the page lists.
SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def law_table(parameters: AmplificationVariable, context: Context) -> pd.DataFrame:
    """Return the cumulative distribution of L, one row per value, ascending; it ends at 1.

    ``value`` and ``cdf`` make a right-continuous step function. A continuous randomizer is binned:
    the masses of its cells are right, and ``value`` is the mean of L over the cell.
    """
    mechanism = context.mechanisms[parameters.mechanism]
    blanket = mechanism.randomizer(parameters.eps0).blanket().bounds()[0].merge()
    values, masses = blanket.gparv(parameters.eps)
    size = np.count_nonzero(blanket.c)
    order = np.argsort(values[:size], kind="stable")
    gamma = masses[:size].sum()
    cdf = np.cumsum(masses[order]) / gamma
    cdf[-1] = 1.0
    return pd.DataFrame(
        {
            "mechanism": str(mechanism),
            "eps0": parameters.eps0,
            "eps": parameters.eps,
            "value": gamma * values[order],
            "cdf": np.minimum(cdf, 1.0),
        }
    )


def law_page(frame: pd.DataFrame) -> Page:
    """Return a page of some quantiles of the law."""
    quantiles = [float(frame.loc[frame["cdf"] >= share, "value"].iloc[0]) for share in SHARES]
    first = frame.iloc[0]
    return Page(
        title="The law of the privacy amplification random variable",
        above=r"Quantiles of $L=\gamma(R(x_1^0)-e^{\varepsilon}R(x_1^1))/\omega$ of "
        rf"{first['mechanism']} at $\varepsilon_0$ = {first['eps0']:g} and $\varepsilon$ = "
        rf"{first['eps']:g}: $\omega$ is the blanket, $\gamma$ its mass, and the report is drawn "
        r"from $\omega/\gamma$.",
        header=("share at or below", *(f"{share:g}" for share in SHARES)),
        rows=(("$L$", *(f"{value:.6g}" for value in quantiles)),),
    )


def law_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return the distribution function, a line that rises upright where there is an atom."""
    first, steps = frame.iloc[0], frame.sort_values("value")
    value, cdf = (steps[name].to_numpy(float) for name in ("value", "cdf"))
    # Below all steps it is seen to be 0, and above them 1.
    beyond = MARGIN * (float(np.ptp(value)) or 1.0)
    t = np.repeat([value[0] - beyond, *value, value[-1] + beyond], 2)[1:-1]
    curve = Drawn.line(t, np.repeat([0.0, *cdf], 2))
    view = PanelView(
        title=[f"ε₀ = {number(first['eps0'])}, ε = {number(first['eps'])}"],
        lines=[(Line("", line_look("blanket"), name="distribution function"), curve)],
        y_label=r"$\Pr\,[L \leq t]$",
    )
    x_label = "value $t$ of the privacy amplification random variable $L$"
    return Sheet(title, [[view]], x_label, "t", view.y_label)
