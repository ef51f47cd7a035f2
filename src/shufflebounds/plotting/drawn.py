"""What figures draw of curves, and along which axes. Plain numbers and texts, without Matplotlib.

The printed figure (`curves`) and the interactive one (`interactive`) show the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from shufflebounds.experiments.specification import Name
from shufflebounds.plotting.cells import FloatArray, check, numbers
from shufflebounds.plotting.layout import Layout, Line, Panel

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


def drawn(frame: pd.DataFrame, layout: Layout, name: Name) -> Drawn:
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


def divided(curves: Mapping[Name, Drawn], panel: Panel, divisor: Name) -> dict[Name, Drawn]:
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


def logarithmic_y(layout: Layout, curves: Mapping[Name, Drawn]) -> bool:
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
