"""The figure of the benchmark: time of one ε over the number of users, a panel per ε₀ and δ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from shufflebounds.curves.plotting import figures
from shufflebounds.curves.plotting.figures import PANEL_HEIGHT, line_style, marker_style
from shufflebounds.curves.plotting.layout import USUAL_PRINT
from shufflebounds.curves.plotting.looks import (
    DASHED,
    FINE_DASHED,
    INK,
    SOLID,
    Look,
    bound_look,
    line_look,
)

# Looks of the mechanisms, as in the figures of papers.
LOOKS = {
    "10-RR": line_look("blanket", "krr"),
    "10-RR, 4-joint": line_look("blanket", "krr", variant=3),
    "BLH": line_look("blanket", "blh"),
    "RAPPOR": line_look("blanket", "rappor"),
    "OUE": line_look("blanket", "oue"),
    "Hadamard response": line_look("blanket", "hadamard"),
    "Laplace": line_look("blanket", "laplace"),
    "Laplace, 4-joint": line_look("blanket", "laplace", variant=3),
    "clone": replace(bound_look("clone"), dashes=SOLID, marker="X"),
}
# Rivals have the colour of their mechanism. The FFT engine is drawn for 10-RR alone.
RIVALS = {
    ("10-RR", "fft"): ("10-RR by FFT", DASHED),
    ("clone", "O(n) sum"): ("clone by $O(n)$ sum", DASHED),
    ("clone", "O(√n) sum"): (r"clone by $O(\sqrt{n})$ sum", FINE_DASHED),
}


def draw(frame: pd.DataFrame, paths: Sequence[Path]) -> None:
    """Write the figure to each path, as `figures.write` does."""
    figures.write(lambda _: _figure(frame), paths)


def _figure(frame: pd.DataFrame) -> Figure:
    eps0s, deltas = frame["eps0"].unique(), frame["delta"].unique()
    height = PANEL_HEIGHT * len(deltas) + 1.1
    fig = Figure(figsize=(USUAL_PRINT.page_width, height), layout="constrained")
    axes = fig.subplots(len(deltas), len(eps0s), sharex=True, sharey=True, squeeze=False)
    for delta, row in zip(deltas, axes, strict=True):
        for eps0, ax in zip(eps0s, row, strict=True):
            _panel(ax, frame[(frame["eps0"] == eps0) & (frame["delta"] == delta)])
            ax.set_title(f"$\\varepsilon_0$ = {eps0:g}, $\\delta$ = {_power_of_ten(delta)}")
    fig.supxlabel("number of users $n$")
    fig.supylabel("CPU time of one $\\varepsilon$ in seconds")
    # A legend entry for everything that is drawn anywhere, once.
    handles = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if (frame["epsilon_upper"] == 0.0).any():
        handles["hollow: the answer is 0"] = Line2D([], [], **_hollow(Look(INK, marker="o")))
    fig.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
    return fig


def _panel(ax: Axes, frame: pd.DataFrame) -> None:
    growth = frame[frame["what"] == "growth"]
    for mechanism, rows in growth.groupby("mechanism", sort=False):
        look, n = LOOKS[mechanism], rows["n"].to_numpy(float)
        is_zero = rows["epsilon_upper"].to_numpy() == 0.0
        style: dict[str, Any] = {**line_style(look), **marker_style(look)}
        style["markevery"] = (~is_zero).nonzero()[0].tolist()
        ax.plot(n, rows["seconds"], label=mechanism, **style)
        ax.plot(n[is_zero], rows["seconds"][is_zero], **_hollow(look))
    for (mechanism, engine), (label, dashes) in RIVALS.items():
        rows = frame[(frame["mechanism"] == mechanism) & (frame["engine"] == engine)]
        if rows.empty:
            continue
        look = replace(LOOKS[mechanism], dashes=dashes)
        style = {**line_style(look), **marker_style(look)}
        ax.plot(rows["n"].to_numpy(float), rows["seconds"], label=label, **style)
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_major_locator(LogLocator(numticks=6))
    ax.xaxis.set_minor_locator(NullLocator())


def _hollow(look: Look) -> dict[str, Any]:
    return {**marker_style(look), "linestyle": "none", "markerfacecolor": "white"}


def _power_of_ten(x: float) -> str:
    digits, exponent = f"{x:.0e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if digits == "1" else f"${digits} \\cdot {power}$"
