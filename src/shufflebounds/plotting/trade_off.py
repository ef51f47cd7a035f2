"""The figure of trade-off curves: what an attack misses against what it takes for it by mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shufflebounds.enclosure import Enclosure
from shufflebounds.plotting import heading
from shufflebounds.plotting.cells import FloatArray
from shufflebounds.plotting.layout import DEFAULT_WIDTH
from shufflebounds.plotting.theme import (
    LONE_ROW_HEIGHT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    fixed_looks,
    write,
)

_POINTS = 101
_SMALLEST_RATE = 1e-5
_GUESS = {"color": "0.6", "linestyle": "dotted", "linewidth": 1.0}


@dataclass(frozen=True)
class Line:
    """A trade-off curve: false negatives at a rate of false positives, and the end that counts.

    ``look`` has the entries that `layout.Line` has: color, style, marker, width.
    """

    label: str
    false_negatives: Callable[[float], Enclosure]
    end: Literal["lower", "upper"]
    look: Mapping[str, Any]

    def at(self, rates: FloatArray) -> FloatArray:
        """The end that counts, shape of `rates`."""
        return np.array([getattr(self.false_negatives(float(one)), self.end) for one in rates])


def draw(lines: Sequence[Line], title: str, paths: Sequence[str | Path]) -> None:
    """Write the `figure` of the same arguments to each path, as `theme.write` does."""
    write(lambda: figure(lines, title), paths)


@fixed_looks
def figure(lines: Sequence[Line], title: str) -> Figure:
    """False negatives on the left; on the right, what attacks find at few false positives."""
    fig = Figure(figsize=(PAGE_WIDTH, LONE_ROW_HEIGHT + 0.4), layout="constrained")
    whole, few = fig.subplots(1, 2)
    rates = np.linspace(0.0, 1.0, _POINTS)
    rare = np.geomspace(_SMALLEST_RATE, 1.0, _POINTS)
    handles = []
    for line in lines:
        handles += _plot(whole, rates, line.at(rates), line)
        _plot(few, rare, 1.0 - line.at(rare), line)
    (guess,) = whole.plot(rates, 1.0 - rates, label="a guess", **_GUESS)
    few.plot(rare, rare, **_GUESS)
    whole.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    few.set(xscale="log", yscale="log", xlim=(_SMALLEST_RATE, 1.0))
    whole.set_ylabel("rate of false negatives")
    few.set_ylabel("rate of true positives")
    for ax in (whole, few):
        ax.set_xlabel("rate of false positives")
    heading.write_above_all(fig, title, [*handles, guess], PAGE_HEIGHT)
    return fig


def _plot(ax: Axes, x: FloatArray, y: FloatArray, line: Line) -> list:
    look = line.look
    return ax.plot(
        x,
        y,
        label=line.label,
        color=look["color"],
        linestyle=look.get("style", "solid"),
        linewidth=look.get("width", DEFAULT_WIDTH),
        marker=look.get("marker", ""),
        markevery=_POINTS // 6,
        markersize=4.0,
    )
