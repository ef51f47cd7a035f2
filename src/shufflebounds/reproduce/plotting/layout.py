"""What a figure shows: rows of panels of curves. Plain data, without Matplotlib."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shufflebounds.reproduce.plotting.texts import plain
from shufflebounds.reproduce.plotting.theme import lettered
from shufflebounds.reproduce.specification import CurveName

DEFAULT_WIDTH = 1.2  # of a line, in points


@dataclass(frozen=True)
class Line:
    """A curve, and how it is drawn: ``style`` as Matplotlib names it, ``width`` in points."""

    curve: CurveName
    label: str
    color: str
    style: str = "solid"
    marker: str = ""
    width: float = DEFAULT_WIDTH

    @property
    def look(self) -> tuple[str, str, str, float]:
        """What makes it look different from other lines."""
        return self.color, self.style, self.marker, self.width


@dataclass(frozen=True)
class Panel:
    """Lines in drawing order; ``subject`` names the mechanism, ``setting`` what is fixed.

    ``subject`` is empty where the lines name their mechanisms.
    """

    subject: str
    setting: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Ratio:
    """A second row of panels, in which all curves are divided by one curve for each column.

    ``label`` is how the figure calls the divisor, and ``limits`` are the ends of the y axis, if
    they are not to follow from the data: what lies beyond is cut off.
    """

    curves: tuple[CurveName, ...]
    label: str
    limits: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """A figure. All its texts may hold mathtext, and plain symbols such as ε₀.

    Parameters
    ----------
    title
        Above all panels.
    panels
        Rows of panels.
    quantity
        What the curves hold: ``epsilon`` or ``delta``.
    x
        Name of their axis.
    transform
        What is drawn of ε: ``none``, ``expm1`` (e^ε − 1), ``log2_ratio`` (log₂(ε₀/ε)) or
        ``log2_gain`` (log₂(ε′/ε), ε′ the target of a protocol's authors).
    ratio
        For one row of panels: what a second row shows.

    Raises
    ------
    ValueError
        Where rows differ in their number of panels, a panel has no lines, or lines with the same
        label look different.

    """

    title: str
    panels: tuple[tuple[Panel, ...], ...]
    quantity: str = "epsilon"
    x: str = "n"
    transform: str = "none"
    ratio: Ratio | None = None

    def __post_init__(self) -> None:
        sizes = [len(row) for row in self.panels]
        if len(set(sizes)) != 1 or 0 in sizes:
            raise ValueError(
                f"rows of panels must be equally long, and not empty, got {sizes} panels"
            )
        if self.ratio and sizes != [len(self.ratio.curves)]:
            raise ValueError(
                "ratio must have one curve for each panel of a single row, "
                f"got {len(self.ratio.curves)} for {sizes} panels"
            )
        for row in self.panels:
            for panel in row:
                if not panel.lines:
                    raise ValueError(
                        f"panel {panel.subject!r} must have at least one line, got none"
                    )
        _check_looks(tuple(self.lines))

    @property
    def lines(self) -> Iterator[Line]:
        """Every line of every panel, row by row."""
        return (line for row in self.panels for panel in row for line in panel.lines)

    @property
    def curves(self) -> tuple[CurveName, ...]:
        """Every curve that is needed, once."""
        divisors = self.ratio.curves if self.ratio else ()
        return tuple(dict.fromkeys([*(line.curve for line in self.lines), *divisors]))

    def plain(self) -> dict[str, Any]:
        """All of it as numbers, texts, lists and mappings."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for all of it."""
        return hashlib.sha256(json.dumps(self.plain()).encode()).hexdigest()[:16]


def _check_looks(lines: Sequence[Line]) -> None:
    looks: dict[str, tuple] = {}
    for line in lines:
        if looks.setdefault(line.label, line.look) != line.look:
            raise ValueError(
                f"lines with the label {line.label!r} must look alike, "
                f"got {looks[line.label]} and {line.look}"
            )


# How the lines of a plot are drawn, by their bound.


def _and_generic(name: str, **look: Any) -> dict[str, dict[str, Any]]:
    """A bound, and the same by nothing but ε₀."""
    return {
        name: {**look, "style": "dashed"},
        f"{name}_generic": {**look, "style": "dashdot"},
    }


# Keyword arguments of `plotting.layout.Line`.
STYLES: dict[str, dict[str, Any]] = {
    "upper": {"color": "#8ecae6", "width": 3.5},
    "lower": {"color": "#000000", "width": 0.9},
    "tight": {"color": "#d55e00", "style": "dashed", "width": 2.2},
    "enumerated": {"color": "#009e73", "style": "dashed", "marker": "o"},
    "clone": {"color": "#cc7a00", "style": "dashed", "marker": "o"},
    "stronger_clone": {"color": "#aa3377", "style": "dashed", "marker": "D"},
    **_and_generic("blanket_hoeffding", color="#a0a0a0", marker="s"),
    **_and_generic("blanket_bennett", color="#0072b2", marker="^"),
    **_and_generic("blanket_best", color="#56b4e9", marker="P"),
    "clone_closed_form": {"color": "#cc7a00", "style": "dashdot", "marker": "o"},
    "erlingsson": {"color": "#666666", "style": "dashdot", "marker": "D"},
    "variation_ratio": {"color": "#00604a", "style": "dashed", "marker": "s"},
    "variation_ratio_published": {"color": "#00604a", "style": "dotted"},
    "variation_ratio_analytic": {"color": "#35b779", "style": "dotted", "marker": "^"},
    "variation_ratio_asymptotic": {"color": "#b8a800", "style": "dotted", "marker": "v"},
    "merged_lower": {"color": "#666666", "style": "solid", "width": 0.9},
    "original": {"color": "#cc7a00", "style": "dashed", "marker": "v"},
    "basic_composition": {"color": "#a0a0a0", "style": "dashed", "marker": "v"},
    "advanced_composition": {"color": "#666666", "style": "dashed", "marker": "^"},
    "optimal_composition": {"color": "#00604a", "style": "dashdot", "marker": "v"},
    "vector_bits_published": {"color": "#cc3311", "style": "dotted"},
    "clone_advanced": {"color": "#a0a0a0", "style": "dashed", "marker": "v"},
    "upper_renyi": {"color": "#8ecae6", "style": "dashdot", "marker": "p"},
    "clone_renyi": {"color": "#cc7a00", "style": "dashdot", "marker": "p"},
    "stronger_clone_renyi": {"color": "#aa3377", "style": "dashdot", "marker": "p"},
    "girgis_reduction": {"color": "#35b779", "style": "dashed", "marker": "D"},
    "girgis_upper": {"color": "#0072b2", "style": "dashed", "marker": "v"},
    "girgis_simple": {"color": "#00604a", "style": "dashed", "marker": "X"},
    "girgis_lower": {"color": "#000000", "style": "dotted", "marker": "x"},
    "girgis_lower_simple": {"color": "#666666", "style": "dotted", "marker": "+"},
}
# A bound that has no style of its own yet.
DEFAULT: dict[str, Any] = {"color": "#999933", "style": "dashdot"}


# Columns of tables as numbers, and the checks of what figures draw of them.

FloatArray = NDArray[np.float64]


def numbers(cells: pd.Series) -> FloatArray:
    """A column as floats; an empty cell, or anything else that is no number, becomes NaN."""
    return pd.to_numeric(cells, errors="coerce").to_numpy(float)


def check(
    name: str, values: FloatArray, valid: NDArray[np.bool_], allowed: str, where: str
) -> None:
    """ValueError for the first of `values` that is not finite or not `valid` (same shape)."""
    wrong = values[~(valid & np.isfinite(values))]
    if wrong.size:
        raise ValueError(f"{name} must be {allowed}, got {wrong[0]} in {where}")


# What figures draw of curves, and along which axes. Plain numbers and texts, without Matplotlib.
#
# The printed figure (`curves`) and the interactive one (`interactive`) show the same.

MARKERS = 6  # of a curve, about

# A δ below this is nobody's target; panels do not make room for it.
SMALLEST_DELTA = 1e-20
# Panels of a column have the same axis if each fills at least so much of it.
FILLED = 0.8

X_LABELS = {
    "n": "number of users $n$",
    "eps0": r"local privacy parameter $\varepsilon_0$",
    "eps": r"$\varepsilon$",
    "delta": r"$\delta$",
    "rounds": "rounds $T$",
    "order": r"order $\lambda$",
    "target": r"$\varepsilon'$ the protocol was designed for",
    "messages": "messages $m$ of a user",
}
Y_LABELS = {
    ("epsilon", "none"): r"$\varepsilon$",
    ("epsilon", "expm1"): r"$e^{\varepsilon} - 1$",
    ("epsilon", "log2_ratio"): r"$\log_2(\varepsilon_0/\varepsilon)$",
    ("epsilon", "log2_gain"): r"$\log_2(\varepsilon'/\varepsilon)$",
    ("delta", "none"): r"$\delta$",
    ("renyi", "none"): r"$\varepsilon(\lambda)$",
}
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
    kind: str

    @property
    def proven(self) -> bool:
        """Whether it is the curve of a proven bound."""
        return self.kind != "unproven"


def drawn(frame: pd.DataFrame, layout: Layout, name: CurveName) -> Drawn:
    """What is drawn of a curve: the end of each enclosure that counts, transformed.

    `frame` holds curve tables put together (`experiments.curve`). Raises ValueError where it lacks
    the curve, or where the curve has a value that no panel can show.
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
        check(layout.x, x, x >= 0.0, "finite and at least 0", where)
    else:
        check(layout.x, x, x > 0.0, "finite and positive", where)
    check(layout.x, x[1:], np.diff(x) > 0.0, "another in every row", where)
    check(layout.quantity, value, value >= 0.0, "finite and at least 0", where)
    kinds = set(rows["kind"])
    kind = "unproven" if "unproven" in kinds else min(kinds, default="upper")
    found = Drawn(x, value, numbers(lower), numbers(upper), kind)
    if layout.transform == "expm1":
        return replace(found, y=np.expm1(value))
    if layout.transform in _LOG2_OF:
        of = _LOG2_OF[layout.transform]
        above = numbers(rows[of])
        check(of, above, above > 0.0, "finite and positive", where)
        # Not a number, which is left out, where there is no privacy loss at all.
        return replace(found, y=np.log2(above / np.where(value > 0.0, value, np.nan)))
    return found


def divided(
    curves: Mapping[CurveName, Drawn], panel: Panel, divisor: CurveName
) -> dict[CurveName, Drawn]:
    """The curves of a panel divided by one; ValueError where they have another axis."""
    below = curves[divisor]
    found = {}
    for line in panel.lines:
        above = curves[line.curve]
        if not np.array_equal(above.x, below.x):
            raise ValueError(f"curve {line.curve} must have the same axis as {divisor}")
        ratio = above.y / np.where(below.y > 0.0, below.y, np.nan)
        found[line.curve] = replace(above, y=ratio)
    return found


def label(line: Line, curve: Drawn) -> str:
    """How the legend calls a line."""
    return line.label if curve.proven else f"{line.label} (not proven)"


def style(line: Line, curve: Drawn) -> str:
    """How a line is dashed, as Matplotlib names it: dotted where nothing is proven."""
    return line.style if curve.proven else "dotted"


def marker(line: Line, curve: Drawn) -> str:
    """The marker of a line; a single point has no line to be seen by."""
    return line.marker or ("o" if curve.x.size == 1 else "")


def marked(position: int, size: int) -> slice:
    """Which of `size` points of the line at some position in its panel have the marker."""
    step = max(1, size // MARKERS)
    # Multiples of the golden ratio: markers of curves that run together keep apart.
    return slice(int(position * 0.618 % 1.0 * step), None, step)


def logarithmic_x(layout: Layout) -> bool:
    """Whether the x axes are logarithmic."""
    return layout.x in _LOGARITHMIC


def logarithmic_y(layout: Layout, curves: Mapping[CurveName, Drawn]) -> bool:
    """Whether the y axis of a panel is logarithmic."""
    # Where nothing is above 0, a logarithmic axis would show nothing at all.
    positive = any((curve.y > 0.0).any() for curve in curves.values())
    return layout.transform not in _LOG2_OF and positive


def common(
    limits: Sequence[tuple[float, float]], to_paper: Callable[[FloatArray], FloatArray]
) -> tuple[float, float] | None:
    """The limits of one axis for several panels, unless one of them would then be rather empty."""
    lengths = [np.ptp(to_paper(np.array(ends))) for ends in limits]
    whole = min(low for low, _ in limits), max(high for _, high in limits)
    return None if min(lengths) < FILLED * np.ptp(to_paper(np.array(whole))) else whole


# Cumulative distribution functions with steps, as figures take them from tables.

MARGIN = 0.05  # beyond the smallest and the largest value, as a share of what lies between them


def steps(frame: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Where a distribution function steps, ascending, and what it steps to.

    The first of these points is below all steps, at 0, and the last one above them, at 1.

    `frame` has a row per step: ``cdf`` is the probability of at most t from t = ``value`` up to the
    next value. Raises ValueError where the rows hold anything but finite numbers, or where ``cdf``
    is negative, falls as ``value`` grows, or does not end at 1 (within 10⁻⁹).
    """
    where = "the distribution function"
    value, cdf = numbers(frame["value"]), numbers(frame["cdf"])
    check("value", value, np.isfinite(value), "finite", where)
    check("cdf", cdf, cdf >= 0.0, "finite and at least 0", where)
    order = np.argsort(value, kind="stable")
    value, cdf = value[order], cdf[order]
    check("cdf", cdf[1:], np.diff(cdf) >= 0.0, "no less than at the value before", where)
    check("cdf", cdf[-1:], abs(cdf[-1:] - 1.0) <= 1e-9, "1 at the largest value", where)
    beyond = MARGIN * (np.ptp(value) or 1.0)
    ends = value[0] - beyond, value[-1] + beyond
    return np.array([ends[0], *value, ends[1]]), np.array([0.0, *cdf, 1.0])


# The panels of a figure with their curves and the limits of their axes, without Matplotlib.

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
    curves: Mapping[CurveName, Drawn]
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
    curves = {name: drawn(frame, layout, name) for name in layout.curves}
    label = plain(Y_LABELS[layout.quantity, layout.transform])
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


def _ratios(curves: Mapping[CurveName, Drawn], layout: Layout) -> list[View]:
    assert layout.ratio is not None
    label = f"ratio to {plain(layout.ratio.label)}"
    found = []
    for panel, name in zip(layout.panels[0], layout.ratio.curves, strict=True):
        view = _view(panel, divided(curves, panel, name), layout, label, ratio=True)
        if layout.ratio.limits:
            low, high = layout.ratio.limits
            view = replace(view, y_limits=(low, high))
        found.append(view)
    return found


def _view(
    panel: Panel,
    curves: Mapping[CurveName, Drawn],
    layout: Layout,
    label: str,
    *,
    ratio: bool = False,
) -> View:
    x_log = logarithmic_x(layout)
    y_log = not ratio and logarithmic_y(layout, curves)
    x, y = (np.concatenate([getattr(one, axis) for one in curves.values()]) for axis in "xy")
    y = y[np.isfinite(y) & ((y > 0.0) | (not y_log))]
    if layout.quantity == "delta" and (y >= SMALLEST_DELTA).any():
        y = y[y >= SMALLEST_DELTA]
    x = x[(x > 0.0) | (not x_log)]
    return View(
        title="",
        lines=panel.lines,
        curves=curves,
        x_label=plain(X_LABELS[layout.x]),
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
    whole = common([getattr(view, f"{axis}_limits") for view in column], to_paper)
    if whole is None:
        return list(column)
    return [
        replace(view, x_limits=whole) if axis == "x" else replace(view, y_limits=whole)
        for view in column
    ]
