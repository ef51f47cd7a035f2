"""The default engine: the smooth one or the sweep, by what the tilted law looks like."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.law import Law, cumulants, tilting_point
from shufflebounds.divergence.saddle import LogBounds, enclose
from shufflebounds.divergence.saddle import log_bounds as smooth_bounds
from shufflebounds.divergence.sweep import log_bounds as sweep_bounds
from shufflebounds.enclosure import Enclosure

# Excess kurtosis of the tilted S: below the first, many draws make up its spread and the smooth
# engine does; above the second, so few that it hardly ever does.
_COMMON, _RARE = 0.1, 1.5
# With so many times the width that was wanted, the smooth engine nearly gets there.
_CLOSE = 30.0

# What to try in turn; what a pass may take is given as modes times what each takes, or as nodes.
_quick_smooth: LogBounds = partial(smooth_bounds, most_work=2**22)
_quick_sweep: LogBounds = partial(sweep_bounds, most_work=1_000)
_longer_sweep: LogBounds = partial(sweep_bounds, most_work=5_000)
_FOR_RARE: tuple[LogBounds, ...] = (
    _quick_sweep,
    _quick_smooth,
    _longer_sweep,
    smooth_bounds,
    sweep_bounds,
)
_FOR_FEW: tuple[LogBounds, ...] = (_quick_smooth, _quick_sweep, smooth_bounds, sweep_bounds)


def divergence(decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of D(ε) of (a, b, c), in this one direction, by the engine that suits it.

    What one engine leaves wider than the relative width `rtol`, the other one tries too. Raises
    ValueError for eps < 0 or n < 1.
    """
    return enclose(decomposition, eps, n, rtol, log_bounds)


def log_bounds(g: Law, n: int, rtol: float) -> tuple[float, float]:
    """Bounds of log E[S₊], each the better one of the engines that were needed."""
    kurtosis = _tilted_kurtosis(g, n)
    low, high = -math.inf, math.inf
    engines = _FOR_RARE if kurtosis > _RARE else _FOR_FEW
    if kurtosis < _COMMON:
        low, high = smooth_bounds(g, n, rtol)
        # Rounding holds it up where it comes close, and would hold up the sweep, too.
        engines = () if high - low <= _CLOSE * rtol else (sweep_bounds,)
    for engine in engines:
        if high - low <= rtol:
            break
        ends = engine(g, n, rtol)
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


def _tilted_kurtosis(g: Law, n: int) -> float:
    """Excess kurtosis of S under the tilted law, but for a constant: 1/draws that matter."""
    if not (g.values.size and g.values.max() > 0.0):
        return 0.0
    theta = tilting_point(g, n)
    k, mean, variance = cumulants(g, theta)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        weights = g.masses * np.exp(theta * g.values - k)
        fourth = weights @ (g.values - mean) ** 4
        return float(np.nan_to_num(fourth / (n * np.square(variance)), nan=0.0))
