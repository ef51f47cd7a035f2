"""Paper-style figures: e^ε − 1 over the number of users n, a panel per experiment and regime.

Figures 2 and 3 of the paper (Su, Cheng, Wang, arXiv 2504.07414). The same data give the same
bytes: looks are fixed here, whatever the user's matplotlibrc says, and files carry no dates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.files import written_whole

FloatArray = NDArray[np.float64]

# Inches.
PAGE_WIDTH, PAGE_HEIGHT = 7.0, 9.5
PANEL_HEIGHT = 2.3

MARKERS = 6  # of a curve, about

THEME = {
    **sns.axes_style("whitegrid"),
    **sns.plotting_context("paper", font_scale=0.95),
    "font.family": "DejaVu Sans",
    "figure.labelsize": "medium",
    "axes.xmargin": 0.02,
    "axes.edgecolor": "0.6",
    "axes.linewidth": 0.6,
    "grid.color": "0.85",
    "grid.linewidth": 0.6,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
}
METADATA = {
    "pdf": {"Creator": "shufflebounds", "Producer": None, "CreationDate": None},
    "png": {"Software": "shufflebounds"},
}

# Outside settings must rule neither the making of a figure nor its writing.
_fixed_looks = matplotlib.style.context(["default", THEME])


@_fixed_looks
def draw(
    frame: pd.DataFrame,
    layout: Mapping[str, Any],
    style: Mapping[str, Any],
    paths: Sequence[Path],
) -> None:
    """Write the `figure` of the same arguments to each path, as its suffix says: PDF or PNG.

    A file is replaced at once or not at all. Raises ValueError where `figure` does and for any
    other suffix.
    """
    for path in paths:
        validation.choice(f"suffix of {path}", path.suffix, [f".{kind}" for kind in METADATA])
    for path in paths:
        # A figure apiece: saving one lays it out, and a second file would depend on the first.
        _write(figure(frame, layout, style), path)


@_fixed_looks
def figure(frame: pd.DataFrame, layout: Mapping[str, Any], style: Mapping[str, Any]) -> Figure:
    """The figure of some curves: experiments are rows of panels, regimes columns.

    Parameters
    ----------
    frame
        Curve files put together: one row per experiment, regime, curve and n, with ``bound``,
        ``epsilon_lower`` and ``epsilon_upper`` (natural logs).
    layout
        ``experiments`` and ``curves``: names in drawing order; ``regimes``: name to ``eps0`` and
        ``label``.
    style
        ``experiments``: name to label; ``curves``: name to ``label``, ``color``, ``line`` and,
        optionally, ``marker`` and ``width`` (points).

    Raises
    ------
    ValueError
        Where a panel lacks a curve, or a curve has a value that no panel can show.

    """
    rows, columns = len(layout["experiments"]), len(layout["regimes"])
    fig = Figure(figsize=(PAGE_WIDTH * min(columns / 2, 1), 1), layout="constrained")
    axes = fig.subplots(rows, columns, sharex=True, sharey="col", squeeze=False)
    for experiment, row in zip(layout["experiments"], axes, strict=True):
        for regime, ax in zip(layout["regimes"], row, strict=True):
            for position, curve in enumerate(layout["curves"]):
                n, y = _points(frame, experiment, regime, curve)
                _plot(ax, n, y, style["curves"][curve], position)
            name, facts = style["experiments"][experiment], layout["regimes"][regime]
            ax.set_title(f"{name}, {facts['label']} $\\varepsilon_0$ = {facts['eps0']:g}")
            ax.set(xscale="log", yscale="log")
            ax.grid(which="minor", linewidth=0.25)
    fig.supxlabel("number of users $n$")
    fig.supylabel(r"$e^{\varepsilon} - 1$")
    fig.set_figheight(min(rows * PANEL_HEIGHT + _add_legend(fig, axes[0, 0]), PAGE_HEIGHT))
    return fig


def _points(
    frame: pd.DataFrame, experiment: str, regime: str, curve: str
) -> tuple[FloatArray, FloatArray]:
    """One curve: n, ascending, and e^ε − 1 at the end of each enclosure that bounds the truth."""
    where = f"curve {curve!r} of experiment {experiment!r} in regime {regime!r}"
    chosen = (frame["experiment"] == experiment) & (frame["regime"] == regime)
    rows = frame[chosen & (frame["curve"] == curve)].sort_values("n")
    if rows.empty:
        raise ValueError(f"{where} must be among the data, got none of its rows")
    end = rows["epsilon_lower"].where(rows["bound"] == "lower", rows["epsilon_upper"])
    # An empty cell, or anything else that is no number, becomes NaN.
    n, eps = (pd.to_numeric(cells, errors="coerce").to_numpy(float) for cells in (rows["n"], end))
    for name, values, valid in (("n", n, n > 0.0), ("epsilon", eps, eps >= 0.0)):
        wrong = values[~(valid & np.isfinite(values))]
        if wrong.size:
            allowed = "finite and positive" if name == "n" else "finite and at least 0"
            raise ValueError(f"{name} must be {allowed}, got {wrong[0]} in {where}")
    return n, np.expm1(eps)


def _plot(ax: Axes, n: FloatArray, y: FloatArray, look: Mapping[str, Any], position: int) -> None:
    """One curve, the `position`-th of its panel."""
    width = look.get("width", 1.2)
    step = max(1, n.size // MARKERS)
    # Multiples of the golden ratio: markers of curves that run together keep apart.
    first = int(position * 0.618 % 1.0 * step)
    ax.plot(
        n,
        y,
        label=look["label"],
        color=look["color"],
        linestyle=look["line"],
        linewidth=width,
        # A single point has no line to be seen by.
        marker=look.get("marker", "" if n.size > 1 else "."),
        markersize=3.0 + width,
        markevery=(first, step),
        # Thin over thick: upper and lower bound nearly coincide.
        zorder=2.0 + 1.0 / width,
    )


def _add_legend(fig: Figure, ax: Axes) -> float:
    """One legend above all panels, in as few rows as fit; returns its height in inches."""
    handles, _ = ax.get_legend_handles_labels()
    for rows in range(1, len(handles) + 1):
        columns = -(-len(handles) // rows)
        legend = fig.legend(handles=handles, loc="outside upper center", ncols=columns)
        extent = legend.get_window_extent()
        if extent.width <= fig.bbox.width or columns == 1:
            break
        legend.remove()
    return extent.height / fig.dpi


def _write(fig: Figure, path: Path) -> None:
    kind = path.suffix.removeprefix(".")
    with written_whole(path) as part:
        fig.savefig(part, format=kind, metadata=METADATA[kind])
