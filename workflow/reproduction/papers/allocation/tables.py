"""ε of DP-SGD by three kinds of sampling, all of them enclosed or bounded from above.

A step with Poisson sampling at rate q is dominated by ((1 − q)B + qA, B), in either order (Zhu,
Dong and Wang, AISTATS 2022, Theorem 11; or docs/proofs/random-allocation.md, section 1, with the
product of 1 − q + qΛ_i as the likelihood ratio). It is composed as a round of one user, for which
the third array of a decomposition is of no account. Its ends are those of (A, B, B) with A replaced
by the mixture: the mixture is linear, so that an end that is dilated stays so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import ClassVar

import pandas as pd

from reproduction.papers.allocation import Allocations
from reproduction.papers.pages import Page
from reproduction.papers.tables import Context, TableCode
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, outward, reached
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet, with_letters
from shufflebounds.curves.plotting.texts import number
from shufflebounds.divergence.law import U
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.questions.enclose import Quantity
from shufflebounds.questions.plan import Plan
from shufflebounds.questions.training import Training
from shufflebounds.subjects.base import ANY_AIM, Aim, GivenSource, Shuffle, Subject

# Relative width that is asked for of several epochs; most are narrower.
EPOCHS_RTOL = 0.05
# Relative width that is asked for of Poisson sampling.
POISSON_RTOL = 0.01
# The lines of the figure by column: label, and the bound that they look like. Poisson sampling is
# shaded from its lower bound up.
LINES = {
    "known": ("steps known to the attacker", "guess"),
    "poisson_upper": ("Poisson sampling", "optimal_composition"),
    "upper": ("random allocation, upper bound", "best"),
    "lower": ("random allocation, lower bound", "lower"),
}
# Labels of the axes, and their symbols.
AXES = {"noise_multiplier": (r"noise multiplier $\sigma$", "σ"), "steps": ("steps $t$", "t")}


@dataclass(frozen=True, eq=False)
class PoissonStep(Subject):
    """A step of DP-SGD that samples every example with some rate."""

    pair: Decomposition
    eps0: ClassVar[None] = None  # type: ignore[misc]

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [Shuffle(GivenSource({"": self.pair}), n, is_ordered=True)]


def poisson_epsilon(sigma: float, steps: int, epochs: int, delta: float) -> Enclosure:
    """Enclose ε at δ of epochs of DP-SGD whose steps sample every example with rate 1/steps."""
    rate, count = 1.0 / steps, steps * epochs

    def mixed(end: Decomposition) -> Decomposition:
        a = (1.0 - rate) * end.b + rate * end.a
        return replace(end, a=a, rel_err=end.rel_err + 8.0 * U)

    decomposition = RandomAllocation(sigma).decomposition(1, delta, epochs=count)
    inner, outer = map(mixed, decomposition.bounds())
    pair = replace(inner, inner=inner, outer=outer)
    plan = Plan(PoissonStep(pair), count)
    return plan.answer(Quantity.EPSILON, [(delta, delta)], [1], POISSON_RTOL).enclosures()[0]


def allocations_table(parameters: Allocations, _: Context | None = None) -> pd.DataFrame:
    """Return a row for each setting, with both ends of ε and, for known steps, an upper bound."""
    rows, delta = [], parameters.delta
    settings = product(parameters.noise_multiplier, parameters.steps, parameters.epochs)
    for sigma, steps, epochs in settings:
        training = Training(sigma, steps, epochs)
        rtol = None if epochs == 1 else EPOCHS_RTOL
        allocated = reached(partial(training.epsilon, delta, rtol))
        poisson = poisson_epsilon(sigma, steps, epochs, delta)
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
                "known": training.epsilon_without_secret(delta),
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


CODE = {Allocations: TableCode(allocations_table, allocations_page, allocations_sheet)}
