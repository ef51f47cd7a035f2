"""The figure of the benchmark: time of one ε over the number of users, a panel per ε₀ and δ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from shufflebounds.curves.plotting import figures
from shufflebounds.curves.plotting.figures import PANEL_HEIGHT
from shufflebounds.curves.plotting.layout import USUAL_PRINT

# Mechanism: color and marker.
LOOKS = {
    "10-RR": ("#0072b2", "o"),
    "10-RR, 4-joint": ("#56b4e9", "v"),
    "BLH": ("#a0a0a0", "^"),
    "RAPPOR": ("#aa3377", "D"),
    "OUE": ("#00604a", "P"),
    "Hadamard response": ("#7a5230", "X"),
    "Laplace": ("#e69f00", "s"),
    "Laplace, 4-joint": ("#c8442a", "p"),
    "clone": ("#000000", "*"),
}
# Rivals take the color of their mechanism. The FFT engine is drawn for 10-RR alone.
RIVALS = {
    ("10-RR", "fft"): ("10-RR by FFT", "dashed"),
    ("clone", "O(n) sum"): ("clone by $O(n)$ sum", "dashed"),
    ("clone", "O(√n) sum"): (r"clone by $O(\sqrt{n})$ sum", "dotted"),
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
        handles["hollow: the answer is 0"] = Line2D([], [], **_hollow("0.4", "o"))
    fig.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    return fig


def _panel(ax: Axes, frame: pd.DataFrame) -> None:
    growth = frame[frame["what"] == "growth"]
    for mechanism, rows in growth.groupby("mechanism", sort=False):
        color, marker = LOOKS[mechanism]
        easy = rows["epsilon_upper"].to_numpy() == 0.0
        ax.plot(
            rows["n"].to_numpy(float),
            rows["seconds"],
            label=mechanism,
            color=color,
            linewidth=1.0,
            marker=marker,
            markersize=4.0,
            markeredgewidth=0.0,
            markevery=(~easy).nonzero()[0].tolist(),
        )
        ax.plot(rows["n"][easy].to_numpy(float), rows["seconds"][easy], **_hollow(color, marker))
    for (mechanism, engine), (label, line) in RIVALS.items():
        rows = frame[(frame["mechanism"] == mechanism) & (frame["engine"] == engine)]
        if rows.empty:
            continue
        color, marker = LOOKS[mechanism]
        ax.plot(
            rows["n"].to_numpy(float),
            rows["seconds"],
            label=label,
            color=color,
            linestyle=line,
            linewidth=1.5,
            marker=marker,
            markersize=4.0,
            markeredgewidth=0.0,
        )
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_major_locator(LogLocator(numticks=6))
    ax.xaxis.set_minor_locator(NullLocator())


def _hollow(color: str, marker: str) -> dict:
    return {
        "color": color,
        "linestyle": "none",
        "marker": marker,
        "markersize": 3.5,
        "markerfacecolor": "white",
        "markeredgewidth": 0.8,
    }


def _power_of_ten(x: float) -> str:
    digits, exponent = f"{x:.0e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if digits == "1" else f"${digits} \\cdot {power}$"
