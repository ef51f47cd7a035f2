"""Sheets: what is drawn of a figure, as numbers, limits of axes and texts.

The printed figure (`figures`) and the interactive page (`interactive`) draw the same sheet. It is
made of curves and their `Layout`, of a distribution function, of trade-off curves, or of maps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shufflebounds.core.enclosure import Enclosure
from shufflebounds.reproduce.curve import Curve
from shufflebounds.reproduce.plotting.layout import DEFAULT, Layout, Line, Panel
from shufflebounds.reproduce.plotting.texts import lettered, setting_text
from shufflebounds.reproduce.storage import CurveName

FloatArray = NDArray[np.float64]
Limits = tuple[float, float]

MARKERS = 6  # of a curve, about
# A δ below this is nobody's target; panels do not make room for it.
SMALLEST_DELTA = 1e-20
# Panels of a column have the same axis if each fills at least so much of it.
FILLED = 0.8
# What axes show beyond the data, as a share of their length.
_MARGIN_X, _MARGIN_Y, _MARGIN_STEPS = 0.02, 0.05, 0.05

# Symbol and label of an axis.
X_LABELS = {
    "n": ("n", "number of users $n$"),
    "eps0": ("ε₀", r"local privacy parameter $\varepsilon_0$"),
    "eps": ("ε", r"$\varepsilon$"),
    "delta": ("δ", r"$\delta$"),
    "rounds": ("T", "rounds $T$"),
    "order": ("λ", r"order $\lambda$"),
    "target": ("ε′", r"$\varepsilon'$ the protocol was designed for"),
    "messages": ("messages", "messages $m$ of a user"),
}
# Errors are compared at equal ε, whatever a protocol is called that is designed for it.
_OF_ERRORS = ("ε", r"central $\varepsilon$")
Y_LABELS = {
    ("epsilon", "none"): r"$\varepsilon$",
    ("epsilon", "expm1"): r"$e^{\varepsilon} - 1$",
    ("epsilon", "log2_ratio"): r"$\log_2(\varepsilon_0/\varepsilon)$",
    ("epsilon", "log2_gain"): r"$\log_2(\varepsilon'/\varepsilon)$",
    ("delta", "none"): r"$\delta$",
    ("renyi", "none"): r"$\varepsilon(\lambda)$",
    ("mse", "none"): "total squared error",
}
_QUANTITIES = {"epsilon": "ε", "delta": "δ", "renyi": "ε(λ)", "mse": "total squared error"}
# Axes that are drawn on a logarithmic scale.
_LOGARITHMIC = ("n", "delta", "eps", "rounds", "order")
# What is divided by ε where the logarithm to base 2 is drawn.
_LOG2_OF = {"log2_ratio": "eps0", "log2_gain": "target"}


@dataclass(frozen=True)
class Drawn:
    """What is drawn of a curve.

    Parameters
    ----------
    x, y
        Where its line goes, shape (P,), ascending in x. NaN in y, and what a logarithmic axis
        cannot show, is left out.
    lower, upper
        The enclosures of ε or δ behind them, shape (P,); NaN where the table has no such end.
    kind
        Of its bound: ``upper``, ``lower`` or ``unproven``.

    """

    x: FloatArray
    y: FloatArray
    lower: FloatArray
    upper: FloatArray
    kind: str = "upper"

    @staticmethod
    def line(x: FloatArray, y: FloatArray) -> Drawn:
        """A curve with nothing behind it but what is drawn."""
        unknown = np.full(x.size, np.nan)
        return Drawn(x, y, unknown, unknown)

    def marked(self, position: int) -> slice:
        """Which points have the marker, if it is the curve at some position in its panel."""
        step = max(1, self.x.size // MARKERS)
        # Multiples of the golden ratio: markers of curves that run together keep apart.
        return slice(int(position * 0.618 % 1.0 * step), None, step)


@dataclass(frozen=True)
class View:
    """A panel as a reader sees it. Its texts may hold mathtext.

    ``title`` has parts, which share a line where that is long enough. ``lines`` are in drawing
    order, each as it is drawn in the end. Limits are in the units of the data. ``is_ratio`` says
    that its curves are divided by one of them, and ``is_step`` that its line is level from each
    point to the next and rises there. ``x_ticks`` are names of the positions 0, 1, … of an axis
    without numbers. With ``y_ticks``, too, the panel is a map: a line is what some of its cells
    have in common, which are its points, and their upper ends are written into them.
    """

    title: Sequence[str]
    lines: Sequence[tuple[Line, Drawn]]
    y_label: str
    x_limits: Limits
    y_limits: Limits
    x_log: bool = False
    y_log: bool = False
    is_ratio: bool = False
    is_step: bool = False
    x_ticks: Sequence[str] = ()
    y_ticks: Sequence[str] = ()


@dataclass(frozen=True)
class Sheet:
    """A figure: rows of panels that share an x axis, on a share ``width`` of a page.

    ``x`` and ``quantity`` are symbols of the axis and of what the enclosures hold, ``told`` says
    above a table of readings what these are.
    """

    title: str
    rows: Sequence[Sequence[View]]
    x_label: str
    x: str
    quantity: str
    told: str
    width: float = 1.0

    @property
    def views(self) -> list[View]:
        """Its panels, row by row."""
        return [view for row in self.rows for view in row]

    @property
    def legend(self) -> dict[str, Line]:
        """A line for every label."""
        found: dict[str, Line] = {}
        for view in self.views:
            for line, _ in view.lines:
                found.setdefault(line.label, line)
        return found


# Sheets of curves.

# Behind the label of a bound that is not proven.
NOT_PROVEN = " (not proven)"


def of_curves(frame: pd.DataFrame, layout: Layout) -> Sheet:
    """The sheet of some curve tables put together, the row of the ratios last.

    Of a lower bound the lower end of each enclosure is drawn, else the upper one. A bound that is
    not proven is dotted, and its label says so. Raises ValueError where `frame` lacks a curve, or a
    curve has a value that no panel can show.
    """
    curves = {name: drawn(frame, layout, name) for name in layout.curves}
    rows = [[_view(panel, curves, layout) for panel in row] for row in layout.panels]
    rows = _shared(rows, "y")
    if layout.ratio:
        divisors = iter(layout.ratio.curves)
        ratios = [
            [_ratio(panel, next(divisors), curves, layout) for panel in row]
            for row in layout.panels
        ]
        rows = [*rows, *ratios] if len(rows) == 1 else _shared(ratios, "y")
    rows = _shared(rows, "x")
    symbol, x_label = _OF_ERRORS if _is_of_errors(layout) else X_LABELS[layout.x]
    quantity = _QUANTITIES[layout.quantity]
    return Sheet(
        title=layout.title,
        rows=with_letters(rows),
        x_label=x_label,
        x=symbol,
        quantity=quantity,
        told=_told(quantity, layout),
        width=min(len(rows[0]) / 2, 1.0),
    )


def of_computed(
    curves: Sequence[Curve], title: str, looks: Mapping[str, Mapping[str, Any]]
) -> Sheet:
    """The sheet of curves of one quantity in one panel, where each is called like its bound.

    `looks` are keyword arguments of `Line`, by the bound's name.
    """
    first = curves[0].specification
    lines = []
    for one in curves:
        bound = one.specification.bound
        lines.append(Line(bound.label, **looks.get(bound.name, DEFAULT), curve=one.name))
    panel = Panel("", setting_text(first.setting), tuple(lines))
    layout = Layout(title, ((panel,),), first.quantity, first.axis.name)
    return of_curves(pd.concat([one.frame() for one in curves]), layout)


def _is_of_errors(layout: Layout) -> bool:
    return (layout.quantity, layout.x) == ("mse", "target")


def _told(quantity: str, layout: Layout) -> str:
    ends = f"{quantity} lies between these ends, each of which is rounded outward"
    alone = bool(layout.ratio) and len(layout.panels) > 1
    if layout.transform == "none" and not alone:
        return f"{ends}:"
    return f"What is drawn, and in brackets the enclosure: {ends}."


def with_letters(rows: Sequence[Sequence[View]]) -> list[list[View]]:
    """The panels, their titles behind (a), (b), … where there are several."""
    titles = iter(lettered([view.title for row in rows for view in row]))
    return [[replace(view, title=next(titles)) for view in row] for row in rows]


def drawn(frame: pd.DataFrame, layout: Layout, name: CurveName) -> Drawn:
    """What is drawn of a curve: the end of each enclosure that counts, transformed.

    Raises ValueError as `of_curves` does.
    """
    chosen = (frame["experiment"] == name.experiment) & (frame["regime"] == name.regime)
    rows = frame[chosen & (frame["curve"] == name.curve)].sort_values(layout.x)
    if rows.empty:
        raise ValueError(f"curve {name} must be among the data, got none of its rows")
    lower, upper = (rows[f"{layout.quantity}_{end}"] for end in ("lower", "upper"))
    # Points without an enclosure that is narrow enough, or without any finite ε, are not drawn.
    rows = rows[(lower.notna() | upper.notna()) & (lower != math.inf)]
    lower, upper = lower[rows.index], upper[rows.index]
    x, value = numbers(rows[layout.x]), numbers(lower.where(rows["kind"] == "lower", upper))
    where = f"curve {name}"
    if layout.x == "eps":
        _check(layout.x, x, x >= 0.0, "finite and at least 0", where)
    else:
        _check(layout.x, x, x > 0.0, "finite and positive", where)
    _check(layout.x, x[1:], np.diff(x) > 0.0, "another in every row", where)
    _check(layout.quantity, value, value >= 0.0, "finite and at least 0", where)
    kinds = set(rows["kind"])
    kind = "unproven" if "unproven" in kinds else min(kinds, default="upper")
    found = Drawn(x, value, numbers(lower), numbers(upper), kind)
    if layout.transform == "expm1":
        return replace(found, y=np.expm1(value))
    if layout.transform in _LOG2_OF:
        of = _LOG2_OF[layout.transform]
        above = numbers(rows[of])
        _check(of, above, above > 0.0, "finite and positive", where)
        # Not a number, which is left out, where there is no privacy loss at all.
        return replace(found, y=np.log2(above / np.where(value > 0.0, value, np.nan)))
    return found


def numbers(cells: pd.Series) -> FloatArray:
    """A column as floats; an empty cell, or anything else that is no number, becomes NaN."""
    return pd.to_numeric(cells, errors="coerce").to_numpy(float)


def _check(
    name: str, values: FloatArray, valid: NDArray[np.bool_], allowed: str, where: str
) -> None:
    """ValueError for the first of `values` that is not finite or not `valid` (same shape)."""
    wrong = values[~(valid & np.isfinite(values))]
    if wrong.size:
        raise ValueError(f"{name} must be {allowed}, got {wrong[0]} in {where}")


def _as_drawn(line: Line, curve: Drawn) -> Line:
    """A line that says and shows where nothing is proven, and where there is but one point."""
    if curve.kind == "unproven":
        line = replace(line, label=line.label + NOT_PROVEN, style="dotted")
    return replace(line, marker=line.marker or ("o" if curve.x.size == 1 else ""))


def _view(panel: Panel, curves: Mapping[CurveName, Drawn], layout: Layout) -> View:
    lines = [(_as_drawn(line, curves[line.curve]), curves[line.curve]) for line in panel.lines]
    x, y = (np.concatenate([getattr(curve, axis) for _, curve in lines]) for axis in "xy")
    # Where nothing is above 0, a logarithmic axis would show nothing at all.
    y_log = layout.transform not in _LOG2_OF and bool((y > 0.0).any())
    if layout.quantity == "delta" and (y >= SMALLEST_DELTA).any():
        x, y = x[y >= SMALLEST_DELTA], y[y >= SMALLEST_DELTA]
    x_log = layout.x in _LOGARITHMIC or _is_of_errors(layout)
    return View(
        title=(panel.subject, panel.setting),
        lines=lines,
        y_label=Y_LABELS[layout.quantity, layout.transform],
        x_log=x_log,
        y_log=y_log,
        x_limits=_limits(x, x_log, _MARGIN_X),
        y_limits=_limits(y, y_log, _MARGIN_Y),
    )


def _ratio(
    panel: Panel, divisor: CurveName, curves: Mapping[CurveName, Drawn], layout: Layout
) -> View:
    """A panel with its curves divided by one; ValueError where they have another axis."""
    assert layout.ratio is not None
    above, below, lines = _view(panel, curves, layout), curves[divisor], []
    for line, curve in above.lines:
        if not np.array_equal(curve.x, below.x):
            raise ValueError(f"curve {line.curve} must have the same axis as {divisor}")
        ratio = curve.y / np.where(below.y > 0.0, below.y, np.nan)
        lines.append((line, replace(curve, y=ratio)))
    y = np.concatenate([curve.y for _, curve in lines])
    low, high = layout.ratio.limits or _limits(y, False, _MARGIN_Y)
    return replace(
        above,
        lines=lines,
        y_label=f"ratio to {layout.ratio.label}",
        y_log=False,
        y_limits=(low, high),
        is_ratio=True,
    )


def _limits(values: FloatArray, logarithmic: bool, margin: float) -> Limits:
    """The ends of an axis that shows some values; any ends where there are none."""
    values = values[np.isfinite(values) & ((values > 0.0) | (not logarithmic))]
    if not values.size:
        return 0.1, 1.0
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (0.5 * low, 2.0 * high) if low > 0.0 else (low - 1.0, high + 1.0)
    if logarithmic:
        return low * (low / high) ** margin, high * (high / low) ** margin
    return low - margin * (high - low), high + margin * (high - low)


def _shared(rows: list[list[View]], axis: Literal["x", "y"]) -> list[list[View]]:
    """The panels with the same axis down each column, where that leaves none rather empty."""
    columns = [_with_common(column, axis) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _with_common(column: Sequence[View], axis: str) -> Sequence[View]:
    scales = {getattr(view, f"{axis}_log") for view in column}
    if len(scales) > 1:
        return column
    to_paper: Callable[[FloatArray], FloatArray] = np.log10 if True in scales else np.asarray
    limits = np.array([getattr(view, f"{axis}_limits") for view in column])
    whole = float(limits[:, 0].min()), float(limits[:, 1].max())
    if np.ptp(to_paper(limits), axis=1).min() < FILLED * np.ptp(to_paper(np.array(whole))):
        return column
    changed: dict[str, Any] = {f"{axis}_limits": whole}
    return [replace(view, **changed) for view in column]


# The sheet of a cumulative distribution function with steps.


def of_steps(frame: pd.DataFrame, title: str, x: str, y: str, setting: str, symbol: str) -> Sheet:
    """The distribution function as a line that rises upright where there is an atom.

    Parameters
    ----------
    frame
        A row per step: ``cdf`` is the probability of at most t from t = ``value`` up to the next
        value.
    title, x, y
        Above the panel, and along its axes; mathtext allowed.
    setting
        Below the title: what is fixed, such as ε₀ = 1.
    symbol
        Of the variable, t.

    Raises
    ------
    ValueError
        Where the rows hold anything but finite numbers, or where ``cdf`` is negative, falls as
        ``value`` grows, or does not end at 1 (within 10⁻⁹).

    """
    where = "the distribution function"
    value, cdf = numbers(frame["value"]), numbers(frame["cdf"])
    _check("value", value, np.isfinite(value), "finite", where)
    _check("cdf", cdf, cdf >= 0.0, "finite and at least 0", where)
    order = np.argsort(value, kind="stable")
    value, cdf = value[order], cdf[order]
    _check("cdf", cdf[1:], np.diff(cdf) >= 0.0, "no less than at the value before", where)
    _check("cdf", cdf[-1:], abs(cdf[-1:] - 1.0) <= 1e-9, "1 at the largest value", where)
    # Below all steps it is seen to be 0, and above them 1.
    beyond = _MARGIN_STEPS * (float(np.ptp(value)) or 1.0)
    ends = float(value[0]) - beyond, float(value[-1]) + beyond
    curve = Drawn.line(np.array([ends[0], *value, ends[1]]), np.array([0.0, *cdf, 1.0]))
    line = Line("distribution function", color="#0072b2", width=1.5)
    view = View(
        title=[setting] if setting else [],
        lines=[(line, curve)],
        y_label=y,
        x_limits=ends,
        y_limits=(-0.04, 1.04),
        is_step=True,
    )
    return Sheet(title, [[view]], x, symbol, y, f"{y}, to six digits:", width=0.5)


# The sheet of trade-off curves: what an attack misses against what it takes for it by mistake.

_POINTS = 101
_SMALLEST_RATE = 1e-5
_GUESS = Line("a guess", "#999999", "dotted", width=1.0)


@dataclass(frozen=True)
class TradeOffLine:
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


def of_trade_off(lines: Sequence[TradeOffLine], title: str) -> Sheet:
    """False negatives on the left; on the right, what attacks find at few false positives."""
    rates = np.linspace(0.0, 1.0, _POINTS)
    rare = np.geomspace(_SMALLEST_RATE, 1.0, _POINTS)
    shown = [Line(one.label, **one.look) for one in lines]
    missed = [Drawn.line(rates, one.at(rates)) for one in lines]
    found = [Drawn.line(rare, 1.0 - one.at(rare)) for one in lines]
    guesses = Drawn.line(rates, 1.0 - rates), Drawn.line(rare, rare)
    every = [*shown, _GUESS]
    whole = View(
        title=(),
        lines=list(zip(every, [*missed, guesses[0]], strict=True)),
        y_label="rate of false negatives",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
    )
    y = np.concatenate([curve.y for curve in [*found, guesses[1]]])
    few = replace(
        whole,
        lines=list(zip(every, [*found, guesses[1]], strict=True)),
        y_label="rate of true positives",
        x_log=True,
        y_log=True,
        x_limits=(_SMALLEST_RATE, 1.0),
        y_limits=_limits(y, True, _MARGIN_Y),
    )
    return Sheet(title, [[whole, few]], "rate of false positives", "α", "β", "")
