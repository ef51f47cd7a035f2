"""Layouts and curve tables for the tests of figures."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from shufflebounds.reproduce.plotting.layout import Layout, Line, Panel, Ratio
from shufflebounds.reproduce.storage import CurveName

EPS0 = {"low": 0.1, "large": 4.0, "middle": 1.0}
LOOKS = {
    "hoeffding": {"label": "blanket, Hoeffding", "color": "#a0a0a0", "style": "dashed"},
    "bennett": {
        "label": "blanket, Bennett",
        "color": "#0072b2",
        "style": "dashed",
        "marker": "^",
    },
    "clone": {"label": "clone", "color": "#cc7a00", "style": "dashed", "marker": "o"},
    "upper": {"label": "upper bound", "color": "#8ecae6", "style": "solid", "width": 3.5},
    "lower": {"label": "lower bound", "color": "#000000", "style": "solid", "width": 0.9},
    "joint2": {"label": "2-joint", "color": "#aa3377", "style": "dashdot", "marker": "D"},
    "joint4": {"label": "4-joint", "color": "#00604a", "style": "dashdot", "marker": "v"},
}


def line(curve="upper", experiment="krr10", regime="low", **changes):
    return Line(curve=CurveName(experiment, regime, curve), **{**LOOKS[curve], **changes})


def panel(*lines, subject="a panel", setting=""):
    return Panel(subject, setting, tuple(lines))


def grid(experiments=("krr10",), regimes=("low",), curves=tuple(LOOKS), **changes):
    """A row an experiment, a column a regime, as in Figures 2 and 3."""
    panels = tuple(
        tuple(
            panel(
                *(line(curve, experiment, regime) for curve in curves),
                subject=experiment,
                setting=f"{regime} ε₀ = {EPS0[regime]:g}",
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
    divisors = tuple(line(curve, regime=regime).curve for regime in ("low", "large"))
    return replace(layout, ratio=Ratio(divisors, "D → ∞", limits))


def overlay():
    """Five upper bounds and the five lower bounds under them, in both regimes."""
    looks = zip("s^oDv", ("solid", "dashed", "dotted", "dashdot", "solid"), strict=True)
    rates = dict(zip((1, 0.8, 0.5, 0.3, 0.1), looks, strict=True))
    return row(
        *(
            panel(
                *(
                    line(curve, f"rate{rate}", regime, label=f"{curve}, rate {rate}", **look)
                    for rate, (marker, dashes) in rates.items()
                    for curve, look in (("upper", {"marker": marker}), ("lower", {"style": dashes}))
                ),
                subject="10-RR",
                setting=f"{regime} ε₀ = {EPS0[regime]:g}",
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


def rows_of(frame, name):
    here = (frame["experiment"] == name.experiment) & (frame["regime"] == name.regime)
    return frame[here & (frame["curve"] == name.curve)]


def step_function(value, cdf):
    return pd.DataFrame({"value": value, "cdf": cdf})


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
