"""ε of DP-SGD by how batches are drawn, all of it enclosed or bounded from above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd

from reproduction.papers.allocation import Allocations, BatchSchemes
from reproduction.papers.pages import Page
from reproduction.papers.tables import Context, TableCode
from shufflebounds.core.enclosure import outward, reached
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet, with_letters
from shufflebounds.curves.plotting.texts import number
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.protocols.training import PoissonSampling, ShuffledBatches, Training
from shufflebounds.questions.answers import epsilon

# Relative width that is asked for of several epochs; most are narrower.
EPOCHS_RTOL = 0.05
# Relative width that is asked for of Poisson sampling.
POISSON_RTOL = 0.01
# The lines of the figure of random allocation by column: label, and the bound that they look like.
# Poisson sampling is shaded from its lower bound up.
LINES = {
    "known": ("steps known to the attacker", "guess"),
    "poisson_upper": ("Poisson sampling", "optimal_composition"),
    "upper": ("random allocation, upper bound", "best"),
    "lower": ("random allocation, lower bound", "lower"),
}
# The lines of the figure of schemes by column, in the same way. ε of shuffled batches is in the
# shaded range between what is proven of them.
SCHEME_LINES = {
    "shuffled_upper": ("shuffled batches, what you can claim", "guess"),
    "shuffled_lower": ("shuffled batches, at least", "lower"),
    "poisson_upper": ("Poisson sampling, as reported", "optimal_composition"),
    "allocation_upper": ("random allocation", "best"),
}
# What the panels of relations are called.
RELATION_TITLES = {
    "replace": "one example replaced",
    "zero-out": "one example's gradients set to 0",
}
# Labels of the axes, and their symbols.
AXES = {"noise_multiplier": (r"noise multiplier $\sigma$", "σ"), "steps": ("steps $t$", "t")}


def allocations_table(parameters: Allocations, _: Context | None = None) -> pd.DataFrame:
    """Return a row for each setting, with both ends of ε and, for known steps, an upper bound."""
    rows, delta = [], parameters.delta
    settings = product(parameters.noise_multiplier, parameters.steps, parameters.epochs)
    for sigma, steps, epochs in settings:
        subject = RandomAllocation(sigma)
        rtol = None if epochs == 1 else EPOCHS_RTOL
        allocated = reached(partial(epsilon, subject, steps, delta, rounds=epochs, rtol=rtol))
        sampling = PoissonSampling(sigma, 1.0 / steps)
        poisson = epsilon(sampling, steps, delta, rounds=epochs, rtol=POISSON_RTOL)
        rows.append(
            {
                "noise_multiplier": sigma,
                "steps": steps,
                "epochs": epochs,
                "delta": delta,
                "lower": allocated.lower,
                "upper": allocated.upper,
                "poisson_lower": poisson.lower,
                "poisson_upper": poisson.upper,
                "known": subject.epsilon_of_known_steps(steps, epochs, delta),
            }
        )
    return pd.DataFrame(rows)


def allocations_page(frame: pd.DataFrame) -> Page:
    return Page.of(
        frame,
        [
            (r"$\sigma$", "{noise_multiplier:g}"),
            ("steps", "{steps}"),
            ("epochs", "{epochs}"),
            ("random allocation, from", lambda row: outward(row["lower"], up=False)),
            ("to", lambda row: outward(row["upper"], up=True)),
            ("Poisson sampling, from", lambda row: outward(row["poisson_lower"], up=False)),
            ("to", lambda row: outward(row["poisson_upper"], up=True)),
            ("steps known", lambda row: outward(row["known"], up=True)),
        ],
        title=Allocations.title,
        above=f"$\\varepsilon$ at $\\delta$ = {frame.iloc[0]['delta']:g} for adding or removing an "
        "example. Noise multiplier $\\sigma$; with Poisson sampling, each step takes every example "
        "with a probability of one over the number of steps. If the attacker knows the steps of "
        "an example, an epoch is one Gaussian mechanism.",
    )


def allocations_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return ε along the axis with several values and, below, over the lower bound.

    The lower bound is that of random allocation. There is a column of panels for each number of
    epochs.
    """
    axis = "noise_multiplier" if frame["noise_multiplier"].nunique() > 1 else "steps"
    above, below = [], []
    for epochs, rows in frame.groupby("epochs"):
        first, x = rows.iloc[0], rows[axis].to_numpy(float)
        fixed = f"$t$ = {number(first['steps'])} steps"
        if axis == "steps":
            fixed = rf"$\sigma$ = {number(first['noise_multiplier'])}"
        eps = {column: rows[column].to_numpy(float) for column in (*LINES, "poisson_lower")}
        opposite = {"poisson_upper": eps["poisson_lower"]}
        lines = {column: Line(label, line_look(bound)) for column, (label, bound) in LINES.items()}
        view = PanelView(
            title=[
                "1 epoch" if epochs == 1 else f"{epochs} epochs",
                fixed,
                f"δ = {number(first['delta'])}",
            ],
            lines=[
                (line, Drawn.line(x, eps[column], opposite=opposite.get(column)))
                for column, line in lines.items()
            ],
            y_label=r"$\varepsilon$",
            x_log=axis == "steps",
            y_log=True,
        )
        ratios_below = {column: ends / eps["lower"] for column, ends in opposite.items()}
        ratios = [
            (line, Drawn.line(x, eps[column] / eps["lower"], opposite=ratios_below.get(column)))
            for column, line in lines.items()
            if column != "known"
        ]
        above.append(view)
        label = r"$\varepsilon$ / lower bound"
        below.append(replace(view, lines=ratios, y_label=label, is_ratio=True))
    return Sheet(title, with_letters([above, below]), *AXES[axis], "ε")


def schemes_table(parameters: BatchSchemes, _: Context | None = None) -> pd.DataFrame:
    """Return a row for each relation and noise multiplier, with both ends of ε of each scheme."""
    steps, delta = parameters.steps, parameters.delta
    rows = []
    for neighbours, sigma in product(parameters.neighbours, parameters.noise_multiplier):
        schemes: Mapping[str, Training] = {
            "shuffled": ShuffledBatches(sigma, neighbours=neighbours),
            "poisson": PoissonSampling(sigma, 1.0 / steps, neighbours=neighbours),
            "allocation": RandomAllocation(sigma, neighbours=neighbours),
        }
        row = {
            "neighbours": neighbours,
            "noise_multiplier": sigma,
            "steps": steps,
            "delta": delta,
        }
        for name, subject in schemes.items():
            eps = reached(partial(epsilon, subject, steps, delta))
            row |= {f"{name}_lower": eps.lower, f"{name}_upper": eps.upper}
        rows.append(row)
    return pd.DataFrame(rows)


def schemes_page(frame: pd.DataFrame) -> Page:
    first = frame.iloc[0]
    names = {"poisson": "Poisson sampling", "allocation": "random allocation"}
    columns = [
        (f"{label}, {end}", lambda row, key=f"{name}_{side}", up=up: outward(row[key], up=up))
        for name, label in {**names, "shuffled": "shuffled batches"}.items()
        for end, side, up in (("from", "lower", False), ("to", "upper", True))
    ]
    return Page.of(
        frame,
        [("neighbours", "{neighbours}"), (r"$\sigma$", "{noise_multiplier:g}"), *columns],
        title=BatchSchemes.title,
        above=f"$\\varepsilon$ at $\\delta$ = {first['delta']:g} of one epoch of {first['steps']} "
        "steps. Poisson sampling takes every example with a probability of one over the number of "
        "steps. Shuffled batches have a fixed size; both ends are proven, and are far apart.",
    )


def schemes_sheet(frame: pd.DataFrame, title: str) -> Sheet:
    """Return ε of each scheme along noise multipliers, with a row for each relation."""
    rows = []
    for neighbours, part in frame.groupby("neighbours", sort=False):
        first, x = part.iloc[0], part["noise_multiplier"].to_numpy(float)
        opposite = {"shuffled_upper": part["shuffled_lower"].to_numpy(float)}
        view = PanelView(
            title=[
                RELATION_TITLES[str(neighbours)],
                f"{number(first['steps'])} steps",
                f"δ = {number(first['delta'])}",
            ],
            lines=[
                (
                    Line(label, line_look(bound)),
                    Drawn.line(x, part[column].to_numpy(float), opposite=opposite.get(column)),
                )
                for column, (label, bound) in SCHEME_LINES.items()
            ],
            y_label=r"$\varepsilon$",
            x_log=True,
            y_log=True,
        )
        rows.append([view])
    return Sheet(title, with_letters(rows), *AXES["noise_multiplier"], "ε")


CODE = {
    Allocations: TableCode(allocations_table, allocations_page, allocations_sheet),
    BatchSchemes: TableCode(schemes_table, schemes_page, schemes_sheet),
}
