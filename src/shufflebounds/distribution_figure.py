"""The figure of a privacy amplification random variable: its cumulative distribution function.

Figure 8 of the paper (Su, Cheng, Wang, arXiv 2504.07414; Appendix B).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from shufflebounds.drawing import (
    LONE_ROW_HEIGHT,
    PAGE_WIDTH,
    FloatArray,
    check,
    fixed_looks,
    numbers,
    write,
)

MARGIN = 0.05  # beyond the smallest and the largest value, as a share of what lies between them


def draw(frame: pd.DataFrame, title: str, paths: Sequence[Path]) -> None:
    """Write the `figure` of the same arguments to each path, as `drawing.write` does."""
    write(lambda: figure(frame, title), paths)


@fixed_looks
def figure(frame: pd.DataFrame, title: str) -> Figure:
    """The distribution function of L as a line that rises upright where L has an atom.

    Parameters
    ----------
    frame
        A right-continuous step function, one row per step: ``cdf`` is Pr[L ≤ t] from t = ``value``
        up to the next value. ``distribution`` names it, the same in every row.
    title
        Above the panel; mathtext allowed.

    Raises
    ------
    ValueError
        Where the rows are not of one distribution, hold anything but finite numbers, or where
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
    ax.set(title=title, xlim=ends, ylim=(-0.04, 1.04))
    ax.set_xlabel("value $t$ of the privacy amplification random variable $L$")
    ax.set_ylabel(r"$\Pr\,[L \leq t]$")
    return fig


def _steps(frame: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Where the distribution function steps, ascending, and what it steps to."""
    names = frame["distribution"].unique().tolist()
    if len(names) != 1:
        raise ValueError(f"the data must be of one distribution, got {names}")
    where = f"distribution {names[0]!r}"
    value, cdf = numbers(frame["value"]), numbers(frame["cdf"])
    check("value", value, np.isfinite(value), "finite", where)
    check("cdf", cdf, cdf >= 0.0, "finite and at least 0", where)
    order = np.argsort(value, kind="stable")
    value, cdf = value[order], cdf[order]
    check("cdf", cdf[1:], np.diff(cdf) >= 0.0, "no less than at the value before", where)
    check("cdf", cdf[-1:], abs(cdf[-1:] - 1.0) <= 1e-9, "1 at the largest value", where)
    return value, cdf
