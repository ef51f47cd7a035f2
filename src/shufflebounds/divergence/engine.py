"""Which engine evaluates D(ε), and with how much work: Fourier and tree, in turn."""

from __future__ import annotations

import math
from functools import partial

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.divergence.enclosing import LogBounds, enclose
from shufflebounds.divergence.estimates import outlook
from shufflebounds.divergence.fourier import log_bounds as fourier_bounds
from shufflebounds.divergence.fourier import log_mean_positive_part
from shufflebounds.divergence.law import Law, tilt, tilting_point
from shufflebounds.divergence.tree import log_bounds as tree_bounds


def _fourier(bits: int) -> LogBounds:
    """Takes at most 2^bits modes times what each takes."""
    return partial(fourier_bounds, most_work=2.0**bits)


def _tree(nodes: int) -> LogBounds:
    """Takes at most so many nodes."""
    return partial(tree_bounds, fourier=log_mean_positive_part, most_work=nodes)


# What to try in turn until one gets there, where many draws make up the spread of the tilted S and
# where few do: up to this excess kurtosis, about 1/draws, they are many. All of this decides about
# speed only, and about what is refused; benchmarks/deployer_grid.py knows.
_MANY = 0.7
_OF_MANY = (
    *(_fourier(27), _tree(8_000), _fourier(29), _tree(30_000), _fourier(31), _tree(200_000)),
    _fourier(32),
)
_OF_FEW = (
    *(_tree(2_000), _fourier(25), _tree(8_000), _fourier(27), _tree(30_000), _fourier(29)),
    *(_tree(200_000), _fourier(31), _fourier(32)),
)
# With many draws, stop once the width is within this factor of the rounding error of nK: no engine
# does better.
_CLOSE = 30.0
# What is left of a width this small is rounding, which no other engine mends.
_FINEST = 1e-11
# Where log D is this far from log δ, it is enough to know on which side.
_FAR_OFF = 7.0


def divergence(
    decomposition: Decomposition,
    eps: float,
    n: int,
    rtol: float = 1e-4,
    target: float = math.nan,
) -> Enclosure:
    """Enclosure of D(ε) of (a, b, c), in this one direction, by the engine that suits it.

    What one engine leaves wider than the relative width `rtol`, the other one tries too; far from
    a δ that is the `target`, it is enough to know that. Raises ValueError for eps < 0 or n < 1.
    """
    return enclose(decomposition, eps, n, rtol, partial(log_bounds, target=target))


def log_bounds(g: Law, n: int, rtol: float, target: float = math.nan) -> tuple[float, float]:
    """Bounds of log E[S₊], each the better one of the engines that were needed."""
    many = outlook(g, n)[1] <= _MANY
    low, high, sought = -math.inf, math.inf, math.log(n * target)
    for bounds in _OF_MANY if many else _OF_FEW:
        ends = bounds(g, n, rtol)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= max(rtol, _FINEST) or high < sought - _FAR_OFF or low > sought + _FAR_OFF:
            break
        # What rounding holds up it would hold up with the other one, too.
        if many and high - low <= _CLOSE * _rounding(g, n):
            break
    return low, high


def _rounding(g: Law, n: int) -> float:
    """By how much log E[S₊] is uncertain because K is; inf if no value is a gain."""
    if not (g.values.size and g.values.max() > 0.0):
        return math.inf
    return n * tilt(g, tilting_point(g, n)).log_mgf_err
