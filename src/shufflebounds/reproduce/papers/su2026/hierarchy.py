"""The hierarchy of the paper's Figure 1, measured: clones, blanket, lower bound.

Su, Cheng, Wang, arXiv 2504.07414. All upper bounds are decompositions in the sense of their
general clone (Definition 7) and differ in what they know: the standard clone knows ε₀, the
coarsened one also R(x₁⁰) and R(x₁¹) of the randomizer at hand, the blanket all of it. The more is
known, the smaller is D, and none of them is below the lower bound of a concrete dataset pair. The
stronger clone (docs/variation-ratio.md) knows ε₀ alone and makes the best of it; it lies between
the standard clone and the blanket, and on either side of the coarsened one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shufflebounds.accounting import single_shuffle
from shufflebounds.bounds.clones import coarsened_clone, standard_clone, stronger_clone
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.reproduce.papers.su2026 import AmplificationVariable, Hierarchy
from shufflebounds.reproduce.papers.tables import Context, Page, TableCode, grouped, safe
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.sheets import Drawn, Sheet, View, of_steps, with_letters
from shufflebounds.reproduce.plotting.texts import number

BOUNDS = ("clone", "stronger", "coarsened", "blanket", "lower")
# From the largest ε to the smallest, as far as theory goes.
CHAINS = (("clone", "stronger", "blanket", "lower"), ("clone", "coarsened", "blanket", "lower"))

CERTIFIED, CONSISTENT, VIOLATED = "certified", "consistent", "violated"


def measure(given: Hierarchy, context: Context) -> pd.DataFrame:
    """Enclosures of the five ε of every mechanism at every ε₀ and n, one row each.

    ``order`` says what the enclosures tell of clone ≥ stronger ≥ blanket ≥ lower and clone ≥
    coarsened ≥ blanket: ``certified`` where each lies above the next, touching at most,
    ``consistent`` where some overlap, ``violated`` where one lies below the next. Raises
    PrecisionError where the width cannot be reached, with a note that names the row.
    """
    rows = []
    for name, eps0, n in itertools.product(given.mechanisms, given.eps0, given.n):
        setting, randomizer = (
            Setting(delta=given.delta).at(n=n),
            context.mechanisms[name].randomizer(eps0),
        )
        blanket, delta = randomizer.blanket(), setting.require("delta")
        bounds = (
            standard_clone(eps0),
            stronger_clone(eps0),
            coarsened_clone(blanket, eps0),
            blanket,
            randomizer.dataset_pair(),
        )
        try:
            found = {
                bound: single_shuffle.epsilon(pair, n, delta, rtol=context.numerics.rtol)
                for bound, pair in zip(BOUNDS, bounds, strict=True)
            }
        except ArithmeticError as error:
            error.add_note(f"for {name} at eps0 = {eps0}, n = {n}")
            raise
        row: dict[str, Any] = {
            "name": name,
            "mechanism": str(context.mechanisms[name]),
            "label": randomizer.label,
            "eps0": eps0,
            "n": n,
            "delta": delta,
        }
        for bound, enclosure in found.items():
            row |= {f"{bound}_lower": enclosure.lower, f"{bound}_upper": enclosure.upper}
        row["order"] = order([[found[bound] for bound in chain] for chain in CHAINS])
        rows.append({**row, "rtol": context.numerics.rtol})
    return pd.DataFrame(rows)


def order(chains: Sequence[Sequence[Enclosure]]) -> str:
    """What enclosures tell of sequences that should not rise: see `measure`."""
    pairs = [pair for falling in chains for pair in itertools.pairwise(falling)]
    if all(one.lower >= two.upper for one, two in pairs):
        return CERTIFIED
    return CONSISTENT if all(one.upper >= two.lower for one, two in pairs) else VIOLATED


def page(frame: pd.DataFrame) -> Page:
    """The page of a measurement.

    It shows the end of each enclosure that is a bound, rounded to the safe side.
    """
    deltas = ", ".join(f"{delta:g}" for delta in frame["delta"].unique())
    return Page.of(
        frame,
        [
            ("mechanism", "{mechanism}"),
            (r"$\varepsilon_0$", "{eps0:g}"),
            ("n", lambda row: grouped(row["n"])),
            *(
                (bound, lambda row, bound=bound: safe(_end(row, bound), up=bound != "lower"))
                for bound in BOUNDS
            ),
            ("order", "{order}"),
        ],
        title="The hierarchy of upper bounds",
        above=f"$\\varepsilon$ at $\\delta$ = {deltas}, from the standard clone, from the stronger "
        "clone (the best bound that knows $\\varepsilon_0$ alone), from the standard clone that "
        "knows the two distributions of the victim's report, from the blanket, and the "
        "lower bound of a concrete dataset pair. Upper bounds are rounded up and the lower bound "
        "down; the enclosures have a relative width of at most "
        f"{frame['rtol'].iloc[0]:g}. The orders clone ≥ stronger ≥ blanket ≥ lower and clone ≥ "
        "coarsened ≥ blanket are *certified* where enclosures do not overlap, and where some do, "
        "they are *consistent* with them.",
    )


# How the figure calls what rises with what is known, and draws the mechanisms one after the other.
_CHAIN = {
    "clone": "clone",
    "coarsened": "knows two laws",
    "blanket": "blanket",
    "lower": "lower bound",
}
_STRONGER: Mapping[str, Any] = {"color": "#7a5c00", "style": "dashed", "width": 1.5}
_LOOKS: tuple[Mapping[str, Any], ...] = (
    {"color": "#8ecae6", "width": 3.5},
    {"color": "#00604a", "marker": "s"},
    {"color": "#aa3377", "marker": "D"},
    {"color": "#35b779", "marker": "^"},
    {"color": "#b8a800", "marker": "v"},
    {"color": "#0072b2", "marker": "P"},
)


def sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Each ε divided by the standard clone's: a row for every n, a column for every ε₀."""
    return Sheet(
        title,
        with_letters(
            [
                [_view(panel, n, eps0) for eps0, panel in row.groupby("eps0")]
                for n, row in frame.groupby("n")
            ]
        ),
        "what the bound knows: ε₀, two laws of the randomizer, all of it; two datasets",
        "bound",
        "ε",
        "ε divided by that of the standard clone, to six digits:",
    )


def _view(panel: pd.DataFrame, n: int, eps0: float) -> View:
    """The end of each enclosure that is a bound; the stronger clone is one for all mechanisms."""
    places = np.arange(len(_CHAIN), dtype=float)
    rows = panel.to_dict("records")
    level = rows[0]["stronger_upper"] / rows[0]["clone_upper"]
    stronger = Line("stronger clone (ε₀ alone)", **_STRONGER)
    lines = [(stronger, Drawn.line(places, np.full(places.size, level)))]
    for row, look in zip(rows, itertools.cycle(_LOOKS), strict=False):
        shares = np.array([_end(row, bound) / row["clone_upper"] for bound in _CHAIN])
        lines.append((Line(row["label"], **look), Drawn.line(places, shares)))
    return View(
        title=[f"$n$ = {number(n)}", f"ε₀ = {number(eps0)}"],
        lines=lines,
        y_label=r"$\varepsilon$ / that of the clone",
        x_limits=(-0.2, places[-1] + 0.2),
        y_limits=(0.0, 1.05),
        x_ticks=tuple(_CHAIN.values()),
    )


def _end(row: Mapping[str, Any], bound: str) -> Any:
    """The end of an enclosure that is a bound."""
    return row[f"{bound}_{'lower' if bound == 'lower' else 'upper'}"]


TABLE = TableCode(measure, page, sheet)


# The law of the privacy amplification random variable of a randomizer (Figure 8).
#
# L = γ (a_j − e^ε b_j)/c_j with probability c_j/γ, γ = Σc: the GPARV given that the report comes
# from the blanket, times γ (Balle, Bell, Gascón and Nissim, CRYPTO 2019; the paper's Definition
# 9).

_SHARES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def law(given: AmplificationVariable, context: Context) -> pd.DataFrame:
    """The cumulative distribution of L, one row per value, ascending; it ends at 1.

    ``value`` and ``cdf`` make a right-continuous step function. A continuous randomizer is binned:
    the masses of its cells are right, and ``value`` is the mean of L over the cell.
    """
    mechanism = context.mechanisms[given.mechanism]
    blanket = mechanism.randomizer(given.eps0).blanket().bounds()[0].merge()
    values, masses = blanket.gparv(given.eps)
    size = np.count_nonzero(blanket.c)
    order = np.argsort(values[:size], kind="stable")
    gamma = masses[:size].sum()
    cdf = np.cumsum(masses[order]) / gamma
    cdf[-1] = 1.0
    return pd.DataFrame(
        {
            "mechanism": str(mechanism),
            "eps0": given.eps0,
            "eps": given.eps,
            "value": gamma * values[order],
            "cdf": np.minimum(cdf, 1.0),
        }
    )


def law_page(frame: pd.DataFrame) -> Page:
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


def _sheet(frame: pd.DataFrame, title: str) -> Sheet:
    first = frame.iloc[0]
    return of_steps(
        frame,
        title,
        x="value $t$ of the privacy amplification random variable $L$",
        y=r"$\Pr\,[L \leq t]$",
        setting=f"ε₀ = {number(first['eps0'])}, ε = {number(first['eps'])}",
        symbol="t",
    )


LAW_TABLE = TableCode(law, law_page, _sheet)
