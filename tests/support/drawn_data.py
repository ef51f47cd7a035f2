"""Layouts and curve tables for the tests of figures."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from shufflebounds.curves.plotting.layout import Layout, Line, Panel
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.storage import CurveName

EPS0 = {"low": 0.1, "large": 4.0, "middle": 1.0}
BOUNDS = {
    "hoeffding": ("blanket, Hoeffding", line_look("blanket_hoeffding")),
    "bennett": ("blanket, Bennett", line_look("blanket_bennett")),
    "clone": ("clone", line_look("clone")),
    "upper": ("upper bound", line_look("blanket")),
    "lower": ("lower bound", line_look("lower")),
    "joint2": ("2-joint", line_look("blanket", variant=1)),
    "joint4": ("4-joint", line_look("blanket", variant=2)),
}


def line(curve="upper", experiment="krr10", regime="low", **changes):
    label, look = BOUNDS[curve]
    given = {"label": label, "look": look, "curve": CurveName(experiment, regime, curve)}
    return Line(**given | changes)


def panel(*lines, subject="a panel", setting=()):
    return Panel(subject, tuple(setting), tuple(lines))


def grid(experiments=("krr10",), regimes=("low",), curves=tuple(BOUNDS), **changes):
    """A row an experiment, a column a regime, as in Figures 2 and 3."""
    panels = tuple(
        tuple(
            panel(
                *(line(curve, experiment, regime) for curve in curves),
                subject=experiment,
                setting=[f"{regime} ε₀ = {EPS0[regime]:g}"],
            )
            for regime in regimes
        )
        for experiment in experiments
    )
    return Layout(**{"title": "A figure", "panels": panels, **changes})


def row(*panels, **changes):
    return Layout(**{"title": "A figure", "panels": (tuple(panels),), **changes})


def with_ratio(curve="upper", limits=None):
    """Two panels, and a row of ratios below them."""
    layout = grid(regimes=["low", "large"], curves=["clone", "upper", "lower"])
    [above] = layout.panels
    divisors = (line(curve, regime=regime).curve for regime in ("low", "large"))
    below = tuple(
        replace(panel, divisor=divisor) for panel, divisor in zip(above, divisors, strict=True)
    )
    return replace(layout, panels=(above, below), divisor="D → ∞", limits=limits)


def overlay():
    """Five upper bounds and the five lower bounds under them, in both regimes."""
    return row(
        *(
            panel(
                *(
                    line(
                        curve,
                        f"rate{rate}",
                        regime,
                        label=f"{curve}, rate {rate}",
                        look=line_look(bound, variant=variant),
                    )
                    for variant, rate in enumerate((1, 0.8, 0.5, 0.3, 0.1))
                    for curve, bound in (("upper", "blanket"), ("lower", "lower"))
                ),
                subject="10-RR",
                setting=[f"{regime} ε₀ = {EPS0[regime]:g}"],
            )
            for regime in ("low", "large")
        )
    )


def data(layout, x=(1000, 3162, 10_000, 31_623, 100_000), axis="n"):
    """Curves of the right shape, in the columns that figures read; every value is its own."""
    x = np.array(x)
    tables = []
    for i, name in enumerate(layout.curves):
        eps0 = EPS0[name.regime]
        value = eps0 * (3.0 - 2.5 * i / len(layout.curves)) / np.sqrt(x)
        ends = {
            f"{layout.quantity}_lower": 0.999 * value,
            f"{layout.quantity}_upper": 1.001 * value,
        }
        kind = "lower" if name.curve == "lower" else "upper"
        names = {"experiment": name.experiment, "regime": name.regime, "curve": name.curve}
        tables.append(pd.DataFrame({**names, "kind": kind, "eps0": eps0, axis: x, **ends}))
    return pd.concat(tables, ignore_index=True)


def vanishing():
    """δ against ε of a blanket and a lower bound that is 0 from the third point on; the table."""
    layout = grid(curves=["upper", "lower"], quantity="delta", x="eps")
    frame = data(layout, (0.1, 0.2, 0.4, 0.8, 1.0), "eps")
    frame["delta_upper"] = 2 * [1e-3, 1e-9, 1e-15, 1e-240, 0.0]
    frame["delta_lower"] = 2 * [1e-4, 1e-10, 0.0, 0.0, 0.0]
    return frame, layout


def rows_of(frame, name):
    here = (frame["experiment"] == name.experiment) & (frame["regime"] == name.regime)
    return frame[here & (frame["curve"] == name.curve)]


def step_function(value, cdf):
    return pd.DataFrame({"value": value, "cdf": cdf, "eps0": 1.0, "eps": 0.1})


def laplace(steps=2000):
    """Of Laplace noise, ε₀ = 1 and ε = 0.1: L at the quantiles of a report from the blanket.

    The blanket's distribution function is e^{y − 1/2}/2 up to y = 1/2, and symmetric about it; L
    falls with y, and is the same for all y ≤ 0 and for all y ≥ 1: there it has its atoms.
    """
    share = np.linspace(0.0, 1.0, steps + 1)[:-1]
    with np.errstate(divide="ignore"):
        y = 0.5 + np.where(share < 0.5, np.log(2.0 * share), -np.log(2.0 * (1.0 - share)))
    log_ratio = np.clip(1.0 - 2.0 * y, -1.0, 1.0)
    of_0, of_1 = np.exp(np.maximum(log_ratio, 0.0)), np.exp(np.maximum(-log_ratio, 0.0))
    value = math.exp(-0.5) * (of_0 - math.exp(0.1) * of_1)
    return step_function(value[::-1], 1.0 - share[::-1])
