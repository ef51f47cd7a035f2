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
_COMMON, _RARE = 0.1, 0.6
# What a pass of an engine may take before the other one is tried: modes times components, nodes.
_QUICK_MODES, _QUICK_NODES = 2**18, 5_000


def divergence(decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of D(ε) of (a, b, c), in this one direction, by the engine that suits it.

    What one engine leaves wider than the relative width `rtol`, the other one tries too. Raises
    ValueError for eps < 0 or n < 1.
    """
    return enclose(decomposition, eps, n, rtol, log_bounds)


def log_bounds(g: Law, n: int, rtol: float) -> tuple[float, float]:
    """Bounds of log E[S₊], each the better one of the engines that were needed."""
    low, high = -math.inf, math.inf
    for engine in _engines(_tilted_kurtosis(g, n)):
        ends = engine(g, n, rtol)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= rtol:
            break
    return low, high


def _engines(kurtosis: float) -> tuple[LogBounds, ...]:
    """What to try, in this order."""
    if kurtosis < _COMMON:
        return smooth_bounds, sweep_bounds
    quick_smooth = partial(smooth_bounds, most_work=_QUICK_MODES)
    quick_sweep = partial(sweep_bounds, most_work=_QUICK_NODES)
    if kurtosis > _RARE:
        return quick_sweep, smooth_bounds, sweep_bounds
    return quick_smooth, quick_sweep, smooth_bounds, sweep_bounds


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
