"""Where the names of lines stand beside a panel, in print and in the browser."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

FloatArray = NDArray[np.float64]

# How far names may stand above and below a printed panel, as a share of its height. Browsers put
# titles above all names, so that there they may only stand below.
MARGIN = 0.12


def place_of_end(y: FloatArray, limits: tuple[float, float], *, is_log: bool) -> float:
    """Return where a line ends, as a share of its panel's height; the middle if it has no point.

    It is above 1 or below 0 for a line that leaves the panel, the more so the earlier it leaves.
    """
    points = y[np.isfinite(y) & ((y > 0.0) | (not is_log))]
    if not points.size:
        return 0.5
    low, high, *places = np.log([*limits, *points]) if is_log else [*limits, *points]
    shares = (np.array(places) - low) / (high - low)
    # With room for rounding.
    inside = np.flatnonzero(np.abs(shares - 0.5) <= 0.5 + 1e-9)
    left = 1.0 - (inside.max(initial=-1) + 1.0) / shares.size
    if not left:
        return float(np.clip(shares[-1], 0.0, 1.0))
    return float(1.0 + left if shares[-1] > 0.5 else -left)


def mean_height(y: FloatArray, *, is_log: bool) -> float:
    """Return the mean of what an axis can show of a line, for a sequence of lines; −∞ if nothing.

    It decides which of two names stands above the other where both lines end at one place.
    """
    points = y[np.isfinite(y) & ((y > 0.0) | (not is_log))]
    if not points.size:
        return -np.inf
    return float(np.mean(np.log(points) if is_log else points))


def with_arrow(name: str, place: float) -> str:
    """Return a name with an arrow behind it if its line has left the panel."""
    arrow = "↑" * (place > 1.0) + "↓" * (place < 0.0)
    return "\N{NO-BREAK SPACE}".join(filter(None, [name, arrow]))


def spread(ends: FloatArray, heights: FloatArray, above: float = MARGIN) -> FloatArray:
    """Return the places nearest to `ends`, by least squares, at which no two texts overlap.

    They stand at most a share `above` of the panel's height above it.
    """
    # Of names at one place, the first stands below.
    order = np.argsort(np.round(ends, 2), kind="stable")
    room = heights[order]
    offsets = np.cumsum(room) - 0.5 * room
    places = np.empty_like(ends)
    lowest, highest = -MARGIN, max(1.0 + above - room.sum(), -MARGIN)
    targets = np.clip(ends[order] - offsets, lowest, highest)
    places[order] = isotonic_regression(targets).x + offsets
    return places
