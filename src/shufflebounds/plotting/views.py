"""The panels of a figure with their curves and the limits of their axes, without Matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from shufflebounds.experiments.specification import Name
from shufflebounds.plotting import drawn
from shufflebounds.plotting.cells import FloatArray
from shufflebounds.plotting.drawn import Drawn
from shufflebounds.plotting.layout import Layout, Line, Panel
from shufflebounds.plotting.letters import lettered
from shufflebounds.plotting.plain_text import plain
from shufflebounds.plotting.steps import steps

# What axes show beyond the data, as a share of their length.
_MARGIN_X, _MARGIN_Y = 0.02, 0.05

Limits = tuple[float, float]


@dataclass(frozen=True)
class View:
    """A panel as a reader sees it. Texts are plain Unicode.

    ``x_log`` and ``y_log`` say which axes are logarithmic; limits are in the units of the data.
    ``is_ratio`` says that its curves are divided by one of them, and ``is_step`` that its line is
    level from each point to the next and rises there.
    """

    title: str
    lines: tuple[Line, ...]
    curves: Mapping[Name, Drawn]
    x_label: str
    y_label: str
    x_log: bool
    y_log: bool
    x_limits: Limits
    y_limits: Limits
    is_ratio: bool = False
    is_step: bool = False


def views(frame: pd.DataFrame, layout: Layout) -> list[list[View]]:
    """Rows of panels, that of the ratios last, of what `curves.figure` draws.

    Raises ValueError as that does.
    """
    curves = {name: drawn.drawn(frame, layout, name) for name in layout.curves}
    label = plain(drawn.Y_LABELS[layout.quantity, layout.transform])
    rows = [
        [_view(panel, {one.curve: curves[one.curve] for one in panel.lines}, layout, label)
         for panel in row]
        for row in layout.panels
    ]  # fmt: skip
    columns = [_with_common(column, "y") for column in zip(*rows, strict=True)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    if layout.ratio:
        rows.append(_ratios(curves, layout))
    columns = [_with_common(column, "x") for column in zip(*rows, strict=True)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    titles = lettered([(*_titles(layout), *_titles(layout))[i] for i in range(sum(map(len, rows)))])
    named = iter(", ".join(parts) for parts in titles)
    return [[replace(view, title=plain(next(named))) for view in row] for row in rows]


def step_view(frame: pd.DataFrame, line: Line, x_label: str, y_label: str, title: str) -> View:
    """The panel of a distribution function, as `step_function.figure` draws it."""
    value, cdf = steps(frame)
    unknown = np.full(value.size, np.nan)
    return View(
        title=plain(title),
        lines=(line,),
        curves={line.curve: Drawn(value, cdf, unknown, unknown, "upper")},
        x_label=plain(x_label),
        y_label=plain(y_label),
        x_log=False,
        y_log=False,
        x_limits=(float(value[0]), float(value[-1])),
        y_limits=(-0.04, 1.04),
        is_step=True,
    )


def _titles(layout: Layout) -> list[tuple[str, str]]:
    return [(panel.subject, panel.setting) for row in layout.panels for panel in row]


def _ratios(curves: Mapping[Name, Drawn], layout: Layout) -> list[View]:
    assert layout.ratio is not None
    label = f"ratio to {plain(layout.ratio.label)}"
    found = []
    for panel, name in zip(layout.panels[0], layout.ratio.curves, strict=True):
        view = _view(panel, drawn.divided(curves, panel, name), layout, label, ratio=True)
        if layout.ratio.limits:
            low, high = layout.ratio.limits
            view = replace(view, y_limits=(low, high))
        found.append(view)
    return found


def _view(
    panel: Panel, curves: Mapping[Name, Drawn], layout: Layout, label: str, *, ratio: bool = False
) -> View:
    x_log = drawn.logarithmic_x(layout)
    y_log = not ratio and drawn.logarithmic_y(layout, curves)
    x, y = (np.concatenate([getattr(one, axis) for one in curves.values()]) for axis in "xy")
    y = y[np.isfinite(y) & ((y > 0.0) | (not y_log))]
    if layout.quantity == "delta" and (y >= drawn.SMALLEST_DELTA).any():
        y = y[y >= drawn.SMALLEST_DELTA]
    x = x[(x > 0.0) | (not x_log)]
    return View(
        title="",
        lines=panel.lines,
        curves=curves,
        x_label=plain(drawn.X_LABELS[layout.x]),
        y_label=label,
        x_log=x_log,
        y_log=y_log,
        x_limits=_limits(x, x_log, _MARGIN_X),
        y_limits=_limits(y, y_log, _MARGIN_Y),
        is_ratio=ratio,
    )


def _limits(values: FloatArray, logarithmic: bool, margin: float) -> Limits:
    """The ends of an axis that shows some values; any ends where there are none."""
    if not values.size:
        return 0.1, 1.0
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (0.5 * low, 2.0 * high) if low > 0.0 else (low - 1.0, high + 1.0)
    if logarithmic:
        return low * (low / high) ** margin, high * (high / low) ** margin
    return low - margin * (high - low), high + margin * (high - low)


def _with_common(column: Sequence[View], axis: str) -> list[View]:
    """The panels of a column with the same x or y axis, where that leaves none rather empty."""
    scales = {getattr(view, f"{axis}_log") for view in column}
    if len(scales) > 1:
        return list(column)
    to_paper: Callable[[FloatArray], FloatArray] = np.log10 if scales == {True} else np.asarray
    whole = drawn.common([getattr(view, f"{axis}_limits") for view in column], to_paper)
    if whole is None:
        return list(column)
    return [
        replace(view, x_limits=whole) if axis == "x" else replace(view, y_limits=whole)
        for view in column
    ]
