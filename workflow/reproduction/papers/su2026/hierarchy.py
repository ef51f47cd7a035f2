"""The hierarchy of Figure 1, measured: clones, blanket, lower bound.

All upper bounds are decompositions in the sense of the paper's general clone (Definition 7) and
differ in what they know: the standard clone knows ε₀, the coarsened one also R(x₁⁰) and R(x₁¹) of
the randomizer at hand, the blanket all of it. D falls in this order, and none of them is below the
lower bound of a concrete dataset pair. The stronger clone (docs/proofs/variation-ratio.md) knows ε₀
alone and makes the best of it; it lies between the standard clone and the blanket, and on either
side of the coarsened one, which may know more and be larger.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.papers.pages import Page, grouped, safe
from reproduction.papers.su2026 import Hierarchy
from reproduction.papers.tables import Context
from shufflebounds.bounds.clones import coarsened_clone
from shufflebounds.core.clones import standard_clone, stronger_clone
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet, with_letters
from shufflebounds.curves.plotting.texts import number
from shufflebounds.questions import answers as questions

# The bounds, in the order of the columns.
BOUNDS = ("clone", "stronger", "coarsened", "blanket", "lower")

# Sequences of bounds from the largest ε to the smallest, as far as theory goes.
CHAINS = (("clone", "stronger", "blanket", "lower"), ("clone", "coarsened", "blanket", "lower"))

# What enclosures tell of an order.
CERTIFIED = "certified"
CONSISTENT = "consistent"
VIOLATED = "violated"

# The bounds of the figure, and their labels.
LABELS = {
    "stronger": "stronger clone",
    "coarsened": "knows two laws",
    "blanket": "blanket",
    "lower": "lower bound",
}


def hierarchy_table(parameters: Hierarchy, context: Context) -> pd.DataFrame:
    """Enclose the five ε of every mechanism at every ε₀ and n, one row each.

    ``order`` says what the enclosures tell of clone ≥ stronger ≥ blanket ≥ lower and clone ≥
    coarsened ≥ blanket: ``certified`` where each lies above the next, touching at most,
    ``consistent`` where some overlap, ``violated`` where one lies below the next. Raises
    PrecisionError where the width cannot be reached, with a note that names the row.
    """
    rows = []
    for name, eps0, n in itertools.product(parameters.mechanisms, parameters.eps0, parameters.n):
        randomizer = context.mechanisms[name].randomizer(eps0)
        blanket = randomizer.blanket()
        delta = Setting(delta=parameters.delta).at(n=n).require("delta")
        bounds = (
            standard_clone(eps0),
            stronger_clone(eps0),
            coarsened_clone(blanket, eps0),
            blanket,
            randomizer.dataset_pair(),
        )
        try:
            enclosures = {
                bound: questions.epsilon(pair, n, delta, rtol=context.numerics.rtol)
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
        for bound, enclosure in enclosures.items():
            row |= {f"{bound}_lower": enclosure.lower, f"{bound}_upper": enclosure.upper}
        row["order"] = order([[enclosures[bound] for bound in chain] for chain in CHAINS])
        rows.append({**row, "rtol": context.numerics.rtol})
    return pd.DataFrame(rows)


def order(chains: Sequence[Sequence[Enclosure]]) -> str:
    """Return what enclosures tell of sequences that should not rise: see `hierarchy_table`."""
    pairs = [pair for falling in chains for pair in itertools.pairwise(falling)]
    if all(above.lower >= below.upper for above, below in pairs):
        return CERTIFIED
    return CONSISTENT if all(above.upper >= below.lower for above, below in pairs) else VIOLATED


def hierarchy_page(frame: pd.DataFrame) -> Page:
    """Return the page of a measurement.

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


def hierarchy_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return maps of each ε over the standard clone's: a row for every n, a column for every ε₀."""
    rows = [
        [_map_view(panel, n, eps0) for eps0, panel in row.groupby("eps0")]
        for n, row in frame.groupby("n")
    ]
    return Sheet(title, with_letters(rows), "bound", "bound", "ε over that of the clone")


def _map_view(panel: pd.DataFrame, n: int, eps0: float) -> PanelView:
    """Return the end of each enclosure that is a bound, a row of cells for each mechanism."""
    rows = panel.to_dict("records")
    shares = np.array([[_end(row, bound) / row["clone_upper"] for bound in LABELS] for row in rows])
    y, x = np.indices(shares.shape, dtype=float)
    return PanelView(
        title=[
            f"$n$ = {number(n)}",
            f"ε₀ = {number(eps0)}",
            *(f"δ = {number(delta)}" for delta in panel["delta"].unique()),
        ],
        lines=[
            (
                Line("", line_look("blanket")),
                Drawn(x.ravel(), y.ravel(), shares.ravel(), shares.ravel()),
            )
        ],
        y_label="",
        x_ticks=tuple(name.replace(" ", "\n") for name in LABELS.values()),
        y_ticks=tuple(row["label"] for row in rows),
    )


def _end(row: Mapping[str, Any], bound: str) -> Any:
    """Return the end of an enclosure that is a bound."""
    return row[f"{bound}_{'lower' if bound == 'lower' else 'upper'}"]
