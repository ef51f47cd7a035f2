"""The figure of a cumulative distribution function with steps."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from shufflebounds.plotting import heading
from shufflebounds.plotting.mathtext import typeset
from shufflebounds.plotting.steps import steps
from shufflebounds.plotting.theme import (
    LONE_ROW_HEIGHT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    fixed_looks,
)


@fixed_looks
def figure(frame: pd.DataFrame, title: str, x: str, y: str, setting: str = "") -> Figure:
    """The distribution function as a line that rises upright where there is an atom.

    Parameters
    ----------
    frame
        A right-continuous step function, as `steps.steps` takes it, which says what is raised.
    title, x, y
        Above the panel, and along its axes; mathtext allowed.
    setting
        Below the title: what is fixed, such as ε₀ = 1.

    """
    value, cdf = steps(frame)
    fig = Figure(figsize=(0.7 * PAGE_WIDTH, LONE_ROW_HEIGHT), layout="constrained")
    ax = fig.subplots()
    ax.plot(value, cdf, drawstyle="steps-post", color="#0072b2", linewidth=1.5)
    ax.set(xlim=(value[0], value[-1]), ylim=(-0.04, 1.04))
    ax.set_xlabel(typeset(x))
    ax.set_ylabel(typeset(y))
    heading.write_above_panels([ax], [[setting]])
    heading.write_above_all(fig, title, [], PAGE_HEIGHT)
    return fig
