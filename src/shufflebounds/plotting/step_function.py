"""The figure of a cumulative distribution function with steps."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from shufflebounds.plotting import heading
from shufflebounds.plotting.cells import FloatArray, check, numbers
from shufflebounds.plotting.mathtext import typeset
from shufflebounds.plotting.theme import (
    LONE_ROW_HEIGHT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    fixed_looks,
)

MARGIN = 0.05  # beyond the smallest and the largest value, as a share of what lies between them


@fixed_looks
def figure(frame: pd.DataFrame, title: str, x: str, y: str, setting: str = "") -> Figure:
    """The distribution function as a line that rises upright where there is an atom.

    Parameters
    ----------
    frame
        A right-continuous step function, one row per step: ``cdf`` is the probability of at most t
        from t = ``value`` up to the next value.
    title, x, y
        Above the panel, and along its axes; mathtext allowed.
    setting
        Below the title: what is fixed, such as ε₀ = 1.

    Raises
    ------
    ValueError
        Where the rows hold anything but finite numbers, or where
        ``cdf`` is negative, falls as ``value`` grows, or does not end at 1 (within 10⁻⁹).

    """
    value, cdf = _steps(frame)
    beyond = MARGIN * (np.ptp(value) or 1.0)
    ends = value[0] - beyond, value[-1] + beyond
    fig = Figure(figsize=(0.7 * PAGE_WIDTH, LONE_ROW_HEIGHT), layout="constrained")
    ax = fig.subplots()
    ax.plot(
        [ends[0], *value, ends[1]],
        [0.0, *cdf, 1.0],
        drawstyle="steps-post",
        color="#0072b2",
        linewidth=1.5,
    )
    ax.set(xlim=ends, ylim=(-0.04, 1.04))
    ax.set_xlabel(typeset(x))
    ax.set_ylabel(typeset(y))
    heading.write_above_panels([ax], [[setting]])
    heading.write_above_all(fig, title, [], PAGE_HEIGHT)
    return fig


def _steps(frame: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Where the distribution function steps, ascending, and what it steps to."""
    where = "the distribution function"
    value, cdf = numbers(frame["value"]), numbers(frame["cdf"])
    check("value", value, np.isfinite(value), "finite", where)
    check("cdf", cdf, cdf >= 0.0, "finite and at least 0", where)
    order = np.argsort(value, kind="stable")
    value, cdf = value[order], cdf[order]
    check("cdf", cdf[1:], np.diff(cdf) >= 0.0, "no less than at the value before", where)
    check("cdf", cdf[-1:], abs(cdf[-1:] - 1.0) <= 1e-9, "1 at the largest value", where)
    return value, cdf
