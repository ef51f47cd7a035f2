"""Sheets: what is drawn of a figure, as numbers and texts.

The printed figure (`figures`) is made of a sheet, and so are the texts and the chart that the
workflow puts beside it: a sheet of curves and their `Layout`, of a distribution function, of
trade-off curves, or of maps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from string import ascii_lowercase
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shufflebounds.bounds.base import Kind
from shufflebounds.core.enclosure import Enclosure, outward
from shufflebounds.curves.curve import Curve
from shufflebounds.curves.plotting.layout import Layout, Line, Panel
from shufflebounds.curves.plotting.looks import (
    Look,
    computed_look,
    line_look,
    role,
    unproven,
    unused_look,
)
from shufflebounds.curves.plotting.names import mean_height
from shufflebounds.curves.plotting.texts import equations, number
from shufflebounds.curves.storage import CurveName

FloatArray = NDArray[np.float64]
Limits = tuple[float, float]

# A δ below this is nobody's target; panels do not make room for it.
SMALLEST_DELTA = 1e-20
# Points of a trade-off curve.
TRADE_OFF_POINTS = 101
# The smallest rate of false positives that a trade-off figure shows.
SMALLEST_RATE = 1e-5
# Relative width of enclosures whose table does not say it, such as those of many rounds.
USUAL_RTOL = 1e-3
# Share of the height of a panel that is seen: a third of a thin line.
VISIBLE_SHARE = 0.0025
# Share of ε₀ from which an upper bound shows its line, whose name says that it is no amplification.
SHARE_OF_CEILING = 0.99
NO_AMPLIFICATION = r"$\varepsilon_0$: no amplification"
# Behind the label of a bound that is not proven.
NOT_PROVEN = " (not proven)"

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
    ("epsilon", "log2_ratio"): r"$\log_2(\varepsilon_0/\varepsilon)$, higher is better",
    ("epsilon", "log2_gain"): r"$\log_2(\varepsilon'/\varepsilon)$, higher is better",
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
    opposite
        The other end of each enclosure, as ``y`` is drawn, shape (P,); empty if there is none.
    ceiling
        What is drawn of ε₀ if an upper bound comes close to it, else NaN.

    """

    x: FloatArray
    y: FloatArray
    lower: FloatArray
    upper: FloatArray
    kind: str = "upper"
    opposite: FloatArray = field(default_factory=lambda: np.empty(0))
    ceiling: float = math.nan

    @property
    def end(self) -> FloatArray:
        """The end of each enclosure that counts, before any transformation."""
        return self.lower if self.kind == "lower" else self.upper

    @property
    def other_end(self) -> FloatArray:
        """The end of each enclosure that does not count, before any transformation."""
        return self.upper if self.kind == "lower" else self.lower

    @staticmethod
    def line(
        x: FloatArray, y: FloatArray, kind: str = "upper", opposite: FloatArray | None = None
    ) -> Drawn:
        """Return a curve with nothing behind it but what is drawn."""
        unknown = np.full(x.size, np.nan)
        return Drawn(x, y, unknown, unknown, kind, np.empty(0) if opposite is None else opposite)


@dataclass(frozen=True)
class Box:
    """A box of a diagram: its text, and where its middle is."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class PanelView:
    """A panel as a reader sees it. Its texts may hold mathtext.

    Parameters
    ----------
    title
        Its parts: what panels have in common is said once.
    lines
        In drawing order, each as it is drawn in the end.
    y_label, x_log, y_log, x_limits, y_limits
        The axes; limits are None if they follow from the data.
    is_ratio
        Whether all curves are divided by one of them.
    rtol
        The relative width that enclosures may have. Axes show at least ten times as much on either
        side of what they are about, so that no numerical error looks like a gap.
    band
        The lower bound and the best other one, if the panel has one of each.
    x_ticks, y_ticks
        Names of the positions 0, 1, … of an axis without numbers. With ``y_ticks``, the panel is a
        map: a line is what some of its cells have in common, which are its points, and their upper
        ends decide their shade and are written into them.
    boxes
        With boxes, the panel is a diagram: a line is an arrow from the middle of a box to that of
        another, and its name is written beside it.
    letter
        Such as (a), where there are several panels.

    """

    title: Sequence[str]
    lines: Sequence[tuple[Line, Drawn]]
    y_label: str
    x_log: bool = False
    y_log: bool = False
    x_limits: Limits | None = None
    y_limits: Limits | None = None
    is_ratio: bool = False
    rtol: float = USUAL_RTOL
    band: tuple[Drawn, Drawn] | None = None
    x_ticks: Sequence[str] = ()
    y_ticks: Sequence[str] = ()
    boxes: Sequence[Box] = ()
    letter: str = ""

    def shows(self, curve: Drawn) -> bool:
        """Return whether any point of a curve lies within the limits of the y axis."""
        low, high = self.y_limits or (-math.inf, math.inf)
        return bool(((curve.y >= low) & (curve.y <= high)).any())

    def shown_x(self) -> FloatArray:
        """Return what the x axis shows: its limits or all curves."""
        if self.x_limits:
            return np.array(self.x_limits)
        return np.concatenate([curve.x for _, curve in self.lines])

    def shown_y(self) -> FloatArray:
        """Return what the y axis shows: its limits, or all curves and the `least_y`."""
        if self.y_limits:
            return np.array(self.y_limits)
        return np.concatenate([*(curve.y for _, curve in self.lines), self.least_y()])

    def least_y(self) -> FloatArray:
        """Return both ends of what the y axis shows at least; nothing if the curves show more.

        Of ratios it is what is near 1, else what is near the curves: ten widths of an enclosure on
        either side.
        """
        y = np.concatenate([curve.y for _, curve in self.lines])
        y = y[np.isfinite(y) & (y > 0.0)]
        near = 1.0 + 10.0 * self.rtol * np.array([-1.0, 1.0])
        if self.is_ratio:
            return near
        is_narrow = y.size and y.max() / y.min() < near[1] / near[0]
        # The product of two δ may be below all floats.
        return math.sqrt(y.max()) * math.sqrt(y.min()) * near if is_narrow else np.empty(0)

    def cover(self, line: Line, curve: Drawn) -> str:
        """Return the label of a line that another one lies under at all of its points; or nothing.

        An axis of ratios shows smaller differences.
        """
        rtol = min((2.0 if self.is_ratio else 10.0) * self.rtol, USUAL_RTOL)
        for other_line, other in self.lines:
            is_above = height(other_line, other) > height(line, curve)
            if other_line.label == line.label or not is_above or other.y.size != curve.y.size:
                continue
            known = [np.isfinite(ends.end).any() for ends in (curve, other)]
            pair = (curve.end, other.end) if all(known) else (curve.y, other.y)
            is_same = np.isclose(*pair, rtol=rtol, atol=0.0, equal_nan=True)
            if np.array_equal(other.x, curve.x) and is_same.all():
                return other_line.label
        return ""

    def wide_ends(self, curve: Drawn) -> tuple[FloatArray, FloatArray] | None:
        """Return both ends of the enclosures of a curve, (P,) each, if they are visibly apart.

        The band shows those of its own curves.
        """
        if not curve.opposite.size or any(curve is edge for edge in self.band or ()):
            return None
        ends = np.array([np.minimum(curve.y, curve.opposite), np.maximum(curve.y, curve.opposite)])
        shown = self.shown_y()
        if self.y_log:
            ends, shown = (np.log(np.where(y > 0.0, y, np.nan)) for y in (ends, shown))
        height = np.nanmax(shown) - np.nanmin(shown) if np.isfinite(shown).any() else 0.0
        widths = (ends[1] - ends[0])[np.isfinite(ends).all(axis=0)]
        if not (widths > VISIBLE_SHARE * height).any():
            return None
        return np.minimum(curve.y, curve.opposite), np.maximum(curve.y, curve.opposite)

    def band_edges(self) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper edge of the band, (P,) each; NaN where it has no place.

        A logarithmic axis does not show 0: a band that begins there begins where the axis does.
        """
        assert self.band is not None
        bottom, top = (curve.y for curve in self.band)
        if not self.y_log:
            return bottom, top
        drawn_y = np.concatenate([curve.y for _, curve in self.lines])
        floor = self.y_limits[0] if self.y_limits else float(drawn_y[drawn_y > 0.0].min())
        top = np.where(top > 0.0, top, np.nan)
        return np.where(bottom <= 0.0, np.minimum(floor, top), bottom), top


def height(line: Line, curve: Drawn) -> float:
    """Return how high a line lies: lower bounds below all else, thin over thick, dots over all."""
    return (
        (1.0 if curve.kind == "lower" else 3.0) + 1.0 / line.look.width + 2.0 * line.look.is_hollow
    )


def shown_names(views: Sequence[PanelView], *, is_log: bool) -> dict[str, str]:
    """Return how the lines of some views are called beside them, by their labels, from below.

    They have the order of the mean heights of the lines of the last view, the first of those that
    share a label. A line that lies under another one in all views is called such as ``= blanket``.
    Lines that no view shows have no name.
    """
    visible = {line.label for view in views for line, curve in view.lines if view.shows(curve)}
    hidden = visible - _labels_in_sight(views)
    means: dict[str, float] = {}
    covers: dict[str, str] = {}
    sizes = np.abs(np.concatenate([curve.y for _, curve in views[-1].lines]))
    scale = 1.0 if is_log else float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    for line, curve in views[-1].lines:
        means.setdefault(line.label, round(mean_height(curve.y, is_log=is_log) / scale, 3))
        covers.setdefault(line.label, views[-1].cover(line, curve))
    is_lower = {line.label: curve.kind == "lower" for line, curve in views[-1].lines}

    def place(label: str) -> tuple[float, bool, bool]:
        """Return the place of a name, which is below that of the line it lies under."""
        top = covers[label] if label in hidden else label
        return means[top], label not in hidden, not is_lower[label]

    # Of lines at one place the first stands above.
    shown = [label for label in [*means][::-1] if label and label in visible]
    labels = sorted(shown, key=place)
    return {label: f"= {label}" if label in hidden else label for label in labels}


def _labels_in_sight(views: Sequence[PanelView]) -> set[str]:
    """Return the labels of lines that do not lie under another one in all views."""
    lines = ((view, line, curve) for view in views for line, curve in view.lines)
    return {line.label for view, line, curve in lines if not view.cover(line, curve)}


@dataclass(frozen=True)
class Sheet:
    """A figure: rows of panels that share an x axis.

    ``x`` and ``quantity`` are symbols of the axis and of what the enclosures hold. ``source`` says
    which figure of which paper it is. ``has_shared_rows`` says whether the panels of a row share
    their y axis.
    """

    title: str
    rows: Sequence[Sequence[PanelView]]
    x_label: str
    x: str
    quantity: str
    source: str = ""
    has_shared_rows: bool = False

    @property
    def views(self) -> list[PanelView]:
        """Its panels, row by row."""
        return [view for row in self.rows for view in row]

    @property
    def common(self) -> list[str]:
        """What the titles of all panels share: all parts if there is one panel."""
        return _shared(self.views)

    @property
    def heading(self) -> str:
        """What stands above the title: the source, and what all panels share."""
        return "; ".join(filter(None, [self.source, ", ".join(self.common)]))

    def title_of(self, view: PanelView) -> str:
        """Return the letter and the title of a panel, without what all panels share."""
        own = [part for part in view.title if part not in self.common]
        return f"{view.letter} {', '.join(own)}".strip()

    def row_head(self, i: int) -> str:
        """Return what the panels of row i of a grid share, and not all panels."""
        parts = _shared(self.rows[i]) if self._is_grid else []
        return ", ".join(part for part in parts if part not in self.common)

    def printed_title(self, i: int, j: int) -> list[str]:
        """Return the parts of a title in a grid: what a row or a column shares is said once."""
        view = self.rows[i][j]
        hidden = {*self.common, *(_shared(self.rows[i]) if self._is_grid else [])}
        if i > 0:
            hidden.update(_shared([row[j] for row in self.rows]))
        return [part for part in view.title if part not in hidden]

    @property
    def _is_grid(self) -> bool:
        return len(self.rows) > 1 and len(self.rows[0]) > 1

    @property
    def is_map(self) -> bool:
        """Whether its panels are maps."""
        return bool(self.views[0].y_ticks)

    @property
    def numbers(self) -> str:
        """What the numbers in the cells of its maps are."""
        return f"Numbers: {self.quantity}"

    @property
    def letters(self) -> str:
        """What the letters in the cells of its maps stand for; empty if there are none."""
        labels = dict.fromkeys(line.label for view in self.views for line, _ in view.lines)
        return "; ".join(f"{label[0]}: {label}" for label in labels if label)

    @property
    def is_diagram(self) -> bool:
        """Whether its panels are diagrams."""
        return bool(self.views[0].boxes)


def _shared(views: Sequence[PanelView]) -> list[str]:
    """Return the parts that the titles of all views have."""
    first, *others = (view.title for view in views)
    return [part for part in first if all(part in title for title in others)]


def of_curves(frame: pd.DataFrame, layout: Layout) -> Sheet:
    """Return the sheet of some curve tables put together.

    Of a lower bound the lower end of each enclosure is drawn, else the upper one. Raises ValueError
    where `frame` lacks a curve.
    """
    curves = {name: drawn(frame, layout, name) for name in layout.curves}
    make, rtol = _map_view if layout.is_map else _view, _rtol(frame)
    symbol, x_label = _OF_ERRORS if _is_of_errors(layout) else X_LABELS[layout.x]
    return Sheet(
        title=layout.title,
        rows=with_letters(
            [[make(panel, curves, layout, rtol) for panel in row] for row in layout.panels]
        ),
        x_label=x_label,
        x=symbol,
        quantity=_QUANTITIES[layout.quantity] + (f" / {layout.divisor}" if layout.is_map else ""),
        source=layout.source,
        has_shared_rows=layout.has_shared_rows,
    )


def of_computed(curves: Sequence[Curve], title: str) -> Sheet:
    """Return the sheet of curves of one quantity in one panel, where each is called like its bound.

    Curves of several mechanisms, whose ``name.experiment`` differ, are called like the mechanism,
    too, and have the colour of its family; those of one family differ by markers and, if there is
    one bound, by dashes. A bound that all have is named above them. Below them, ε of one mechanism
    are divided by the lower bound, if it is among them.
    """
    first = curves[0].specification
    subjects = figure_names(curves)
    has_one = len(subjects) == 1
    has_one_bound = len({curve.specification.bound.name for curve in curves}) == 1
    lines: list[Line] = []
    used: set[Look] = set()
    for curve in curves:
        bound, mechanism = curve.specification.bound, curve.specification.reports.mechanism.type
        name = subjects[curve.name.experiment] + ("" if has_one_bound else f", {bound.label}")
        look = computed_look(role(bound.name, bound.label), "" if has_one else mechanism)
        look = unused_look(look, used, has_dashes=has_one_bound)
        # Two bounds of a mechanism may differ by their widths alone, which is not enough.
        used.add(replace(look, width=0.0))
        lines.append(Line(bound.label if has_one else name, look, curve.name))
    subject = first.bound.label if has_one_bound and not has_one else ""
    # Mechanisms with an ε₀ of their own share all settings but ε₀.
    setting = max((curve.specification.setting.given() for curve in curves), key=len)
    own_eps0 = first.protocol(curves[0].points[0].setting).eps0
    if has_one and "eps0" not in (first.axis.name, *setting) and own_eps0 is not None:
        # Such as that of a matrix, rounded up.
        setting = {"eps0": float(outward(own_eps0, up=True, digits=4)), **setting}
    panel = Panel(subject, (*equations(setting), *_widths_text(curves)), tuple(lines))
    panels = ((panel,), *_divided_panel(curves, panel))
    layout = Layout(
        title, panels, quantity=first.quantity, x=first.axis.name, divisor="lower bound"
    )
    return of_curves(pd.concat(map(_frame, curves)), layout)


def figure_names(curves: Sequence[Curve]) -> dict[str, str]:
    """Return what figures call the mechanism of each experiment, such as 10-RR, once each.

    Experiments whose mechanisms have the same name are called by their own.
    """
    labels = {curve.name.experiment: curve.specification.label for curve in curves}
    return labels if len({*labels.values()}) == len(labels) else {name: name for name in labels}


def _frame(curve: Curve) -> pd.DataFrame:
    """Return the table of a curve, with enclosures that are wider than was asked for."""
    quantity = curve.specification.quantity
    ends = [point.answer.enclosure for point in curve.points]
    known = [math.isfinite(enclosure.upper) for enclosure in ends]
    columns = {
        f"{quantity}_{end}": np.where(known, [getattr(x, end) for x in ends], np.nan)
        for end in ("lower", "upper")
    }
    return curve.frame().assign(**columns)


def _widths_text(curves: Sequence[Curve]) -> list[str]:
    """Return what is said of enclosures that are wider than was asked for, if there are any."""
    answers = [point.answer for curve in curves for point in curve.points]
    widths = [x.enclosure.relative_width for x in answers if x.shortfall]
    widths = [width for width in widths if math.isfinite(width)]
    return [f"enclosures up to {100.0 * max(widths):.2g} % wide"] if widths else []


def _divided_panel(curves: Sequence[Curve], panel: Panel) -> tuple[tuple[Panel], ...]:
    """Return a row of ε divided by the lower bound of each mechanism; none if one has none."""
    if curves[0].specification.quantity != "epsilon":
        return ()
    divisors = [
        curve.name
        for curve in curves
        if curve.specification.bound.kind is Kind.LOWER
        and (_frame(curve)["epsilon_lower"] > 0.0).any()
    ]
    experiments = [name.experiment for name in divisors]
    every = {curve.name.experiment for curve in curves}
    is_alone = len(curves) == len(divisors)
    if is_alone or sorted(experiments) != sorted(every):
        return ()
    divisor = replace(divisors[0], experiment=divisors[0].experiment if len(every) == 1 else "")
    return ((replace(panel, divisor=divisor),),)


def _rtol(frame: pd.DataFrame) -> float:
    """Return the largest relative width that some tables promise."""
    if "rtol" not in frame or frame["rtol"].isna().any():
        return USUAL_RTOL
    return float(frame["rtol"].max())


def _is_of_errors(layout: Layout) -> bool:
    return (layout.quantity, layout.x) == ("mse", "target")


def with_letters(rows: Sequence[Sequence[PanelView]]) -> list[list[PanelView]]:
    """Return the panels without empty parts of titles, called (a), (b), … if there are several."""
    letters = map("".join, chain(ascii_lowercase, product(ascii_lowercase, repeat=2)))
    is_alone = len(rows) == len(rows[0]) == 1
    return [
        [
            replace(
                view,
                title=list(filter(None, view.title)),
                letter="" if is_alone else f"({next(letters)})",
            )
            for view in row
        ]
        for row in rows
    ]


def drawn(frame: pd.DataFrame, layout: Layout, name: CurveName) -> Drawn:
    """Return what is drawn of a curve: the end of each enclosure that counts, transformed.

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
    is_lower = rows["kind"] == "lower"
    kinds = set(rows["kind"])
    kind = "unproven" if "unproven" in kinds else min(kinds, default="upper")
    y, opposite = (
        _transformed(numbers(ends), rows, layout.transform)
        for ends in (lower.where(is_lower, upper), upper.where(is_lower, lower))
    )
    x = numbers(rows[layout.x])
    ceiling = _ceiling(rows, layout)
    return Drawn(x, y, numbers(lower), numbers(upper), kind, opposite, ceiling)


def _ceiling(rows: pd.DataFrame, layout: Layout) -> float:
    """Return what is drawn of the ε₀ of a single round along n if an upper bound is close to it."""
    has_rounds = "rounds" in rows and (numbers(rows["rounds"]) > 1.0).any()
    if (layout.quantity, layout.x) != ("epsilon", "n") or layout.transform in _LOG2_OF:
        return math.nan
    eps0 = numbers(rows["eps0"])
    is_close = numbers(rows["epsilon_upper"]) >= SHARE_OF_CEILING * eps0
    if has_rounds or "lower" in set(rows["kind"]) or not is_close.any():
        return math.nan
    return float(_transformed(eps0, rows, layout.transform)[0])


def _transformed(values: FloatArray, rows: pd.DataFrame, transform: str) -> FloatArray:
    """Return what is drawn of ε or δ."""
    if transform == "expm1":
        return np.expm1(values)
    if transform in _LOG2_OF:
        # Not a number, which is left out, where there is no privacy loss at all.
        ratio = numbers(rows[_LOG2_OF[transform]]) / np.where(values > 0.0, values, np.nan)
        return np.log2(ratio)
    return values


def numbers(cells: pd.Series) -> FloatArray:
    """Return a column as floats; empty cells, and all others that are not numbers, become NaN."""
    return pd.to_numeric(cells, errors="coerce").to_numpy(float)


def _as_drawn(line: Line, curve: Drawn) -> Line:
    """Return the line, dotted and labelled if it is unproven, with a marker if it is one point."""
    if curve.kind == "unproven":
        line = replace(line, label=line.label + NOT_PROVEN, look=unproven(line.look))
    if curve.x.size == 1 and not line.look.marker:
        line = replace(line, look=replace(line.look, marker="o"))
    return line


def _view(
    panel: Panel, curves: Mapping[CurveName, Drawn], layout: Layout, rtol: float
) -> PanelView:
    """Return a panel of lines; ValueError if a curve and its divisor have no point in common."""
    lines = [(_as_drawn(line, curves[line.curve]), curves[line.curve]) for line in panel.lines]
    y_label, x_limits, y_limits = Y_LABELS[layout.quantity, layout.transform], None, None
    if panel.divisor:
        lines = [
            (line, _ratio_curve(curve, divisor, curves))
            for line, curve in lines
            if (divisor := panel.divisor_of(line))
        ]
        if layout.quantity == "delta":
            lines = _without_smallest_deltas(lines)
            x_limits = _limits_of_known_ratios(lines)
        quantity = Y_LABELS[layout.quantity, "none"]
        y_label, y_limits = f"{quantity} / {layout.divisor}", layout.limits
    else:
        lines += _level_lines(lines, layout, y_label)
    y = np.concatenate([curve.y for _, curve in lines])
    if layout.quantity == "delta" and (y < SMALLEST_DELTA).any() and (y > SMALLEST_DELTA).any():
        # With a quarter of a decade above, where lines begin.
        y_limits = SMALLEST_DELTA, float(y.max()) * 10.0**0.25
        x = np.concatenate([curve.x for _, curve in lines])[y >= SMALLEST_DELTA]
        x_limits = float(x.min()), float(x.max())
    return PanelView(
        title=(panel.subject, *panel.setting),
        lines=lines,
        y_label=y_label,
        x_log=layout.x in _LOGARITHMIC or _is_of_errors(layout),
        # Where nothing is above 0, a logarithmic axis would show nothing at all.
        y_log=bool((y > 0.0).any())
        and (panel.divisor is not None or layout.transform not in _LOG2_OF),
        x_limits=x_limits,
        y_limits=y_limits,
        is_ratio=panel.divisor is not None,
        rtol=rtol,
        band=_band(lines, rtol),
    )


def _level_lines(
    lines: Sequence[tuple[Line, Drawn]], layout: Layout, y_label: str
) -> list[tuple[Line, Drawn]]:
    """Return the line of the target, or that of no amplification if it is the same for all."""
    ceilings = {curve.ceiling for _, curve in lines if math.isfinite(curve.ceiling)}
    if layout.goal is not None:
        label, height = f"target {y_label} = {number(layout.goal)}", layout.goal
    elif len(ceilings) == 1:
        label, [height] = NO_AMPLIFICATION, ceilings
    else:
        return []
    x = lines[0][1].x
    return [(Line(label, line_look("goal")), Drawn.line(x, np.full(x.size, height)))]


def _without_smallest_deltas(lines: Sequence[tuple[Line, Drawn]]) -> list[tuple[Line, Drawn]]:
    """Return ratios of δ that end where the panel of δ itself ends."""
    is_large = [curve.end >= SMALLEST_DELTA for _, curve in lines]
    if not any(map(np.any, is_large)):
        return list(lines)
    return [
        (line, replace(curve, y=np.where(is_shown, curve.y, np.nan)))
        for (line, curve), is_shown in zip(lines, is_large, strict=True)
    ]


def _limits_of_known_ratios(lines: Sequence[tuple[Line, Drawn]]) -> Limits | None:
    """Return where the panel of some ratios begins and ends; None if all its points have one."""
    x, y = (np.concatenate([getattr(curve, axis) for _, curve in lines]) for axis in ("x", "y"))
    known = x[np.isfinite(y)]
    return (float(known.min()), float(known.max())) if 0 < known.size < x.size else None


def _ratio_curve(curve: Drawn, divisor: CurveName, curves: Mapping[CurveName, Drawn]) -> Drawn:
    """Return the ends of each enclosure over the end of another curve that counts.

    Where only one of both curves has a point, the ratio is NaN. Raises ValueError if no point is on
    both axes.
    """
    below = curves[divisor]
    if below.x.size and curve.x.size and not np.isin(curve.x, below.x).any():
        raise ValueError(f"curves that are divided by {divisor} must have the same axis")
    ends = dict(zip(below.x.tolist(), np.where(below.end > 0.0, below.end, np.nan), strict=True))
    divisors = np.array([ends.get(x, np.nan) for x in curve.x.tolist()], dtype=float)
    return replace(curve, y=curve.end / divisors, opposite=curve.other_end / divisors)


def _band(lines: Sequence[tuple[Line, Drawn]], rtol: float) -> tuple[Drawn, Drawn] | None:
    """Return the lower bound and the best proven one, if the panel has one of each.

    There is none where they differ by no more than a relative `rtol` anywhere.
    """
    by_bound = {
        bound: [curve for line, curve in lines if line.look == line_look(bound)]
        for bound in ("lower", "best", "blanket")
    }
    upper = by_bound["best"] or by_bound["blanket"]
    if len(upper) == len(by_bound["lower"]) == 1:
        [lower], [above] = by_bound["lower"], upper
        has_gap = np.array_equal(lower.x, above.x) and (
            (above.end > (1.0 + rtol) * lower.end).any()
        )
        return (lower, above) if has_gap else None
    return None


def _map_view(
    panel: Panel, curves: Mapping[CurveName, Drawn], layout: Layout, rtol: float
) -> PanelView:
    """Return a map with a row for each line and a column for each point of the axis."""
    rows = [
        _ratio_curve(curves[line.curve], divisor, curves)
        for line in panel.lines
        if (divisor := panel.divisor_of(line))
    ]
    columns = rows[0].x
    x, y = np.meshgrid(np.arange(columns.size, dtype=float), np.arange(float(len(rows))))
    values = np.concatenate([row.y for row in rows])
    return PanelView(
        lines=[(Line("", line_look("blanket")), Drawn(x.ravel(), y.ravel(), values, values))],
        title=(panel.subject, *panel.setting),
        y_label="",
        x_ticks=[number(column) for column in columns],
        y_ticks=[line.label for line in panel.lines],
    )


@dataclass(frozen=True)
class TradeOffLine:
    """A trade-off curve: false negatives at a rate of false positives, and the end that counts.

    ``bound`` is the name of the bound that it looks like.
    """

    label: str
    bound: str
    false_negatives: Callable[[float], Enclosure]
    end: Literal["lower", "upper"]

    def at(self, rates: FloatArray) -> FloatArray:
        """Return the end that counts, shape of `rates`."""
        return np.array([getattr(self.false_negatives(float(rate)), self.end) for rate in rates])


def of_trade_off(lines: Sequence[TradeOffLine], title: str) -> Sheet:
    """Return a sheet of what attacks gain over a guess: difference and ratio of both rates.

    A guess has as many true positives as false ones, and the plain rates of a small risk would all
    lie on one line. The ratio is drawn on logarithmic axes, for few false positives.
    """
    rates = np.linspace(0.0, 1.0, TRADE_OFF_POINTS)
    rare = np.geomspace(SMALLEST_RATE, 1.0, TRADE_OFF_POINTS)
    guess = Line("a guess", line_look("guess"))
    gained = [(guess, Drawn.line(rates, np.zeros_like(rates)))]
    ratios = [(guess, Drawn.line(rare, np.ones_like(rare)))]
    for line in lines:
        drawn_line = Line(line.label, line_look(line.bound))
        kind = "lower" if line.bound == "lower" else "upper"
        gained.append((drawn_line, Drawn.line(rates, 1.0 - rates - line.at(rates), kind)))
        ratios.append((drawn_line, Drawn.line(rare, (1.0 - line.at(rare)) / rare, kind)))
    views = [
        PanelView((), gained, "true positives − false positives"),
        PanelView((), ratios, "true / false positives", x_log=True, y_log=True, is_ratio=True),
    ]
    return Sheet(title, with_letters([views]), "rate of false positives", "α", "β")
