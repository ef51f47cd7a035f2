"""D(ε) of a decomposition, in one direction: by enumeration, or by Fourier and tree in turn.

D is the excess of the components that others never hide plus E[S₊]/n; the latter lies between
bounds that D at n = 1 gives, and between those of an engine. Proofs: docs/engine.md, sections 1
and 8.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import WorkError
from shufflebounds.divergence.enumeration import RankedOutcomes, histogram_count, ranked_outcomes
from shufflebounds.divergence.estimates import outlook
from shufflebounds.divergence.fourier import fourier_bounds, log_mean_positive_part
from shufflebounds.divergence.law import Law, U, exp_down, law, tilt, tilting_point
from shufflebounds.divergence.tree import tree_bounds

# Smaller values are treated as 0: subnormal floats lose relative precision.
SMALLEST = 1e-304

# Bounds of log E[S₊], given the GPARV's law, n and a relative width to aim at.
LogBounds = Callable[[Law, int, float], tuple[float, float]]
Ends = tuple[float, float]


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
# So few are enumerated at once. They leave atoms near 0, which cost the Fourier engine dearly.
_FEW_HISTOGRAMS, _FEW_USERS = 5_000, 300
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
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    few = _few_outcomes(decomposition, n)
    counted = few.divergence(eps) if few is not None else Enclosure(0.0, math.inf)
    if counted.relative_width <= rtol:
        return counted
    found = enclose(decomposition, eps, n, rtol, partial(log_bounds, target=target))
    return Enclosure(max(counted.lower, found.lower), min(counted.upper, found.upper))


@functools.lru_cache(maxsize=8)
def _few_outcomes(decomposition: Decomposition, n: int) -> RankedOutcomes | None:
    """The outcomes of so few users that enumerating them costs next to nothing."""
    if 1 < n <= _FEW_USERS and histogram_count(decomposition, n) <= _FEW_HISTOGRAMS:
        return ranked_outcomes(decomposition, n)
    return None


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


# What holds without any engine, and what an engine's bounds of log E[S₊] say of D.


def enclose(
    decomposition: Decomposition, eps: float, n: int, rtol: float, bounds: LogBounds
) -> Enclosure:
    """D(ε) by means of an engine's bounds of log E[S₊], with what holds without any.

    `bounds` takes the GPARV's law, n and a relative width to aim at.
    """
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    return Enclosure(*assembled(*known(decomposition, eps, n, rtol, bounds), n))


def known(
    decomposition: Decomposition, eps: float, n: int, rtol: float, bounds: LogBounds
) -> tuple[Ends, Ends, Ends]:
    """Bounds of D's first sum, trivial ones of the second, and of log E[S₊] if these are wide."""
    growth, alone = np.array([[math.expm1(eps)]]), decomposition.c == 0.0
    low, high = (float(x[0]) for x in excess(decomposition, growth, alone))
    trivial = trivial_bounds(decomposition, growth, np.array([float(n)]), ~alone)
    least, most = (float(x[0]) for x in trivial)
    log_ends = -math.inf, math.inf
    if most - least > rtol * most:
        # Values too far apart for floats, or too much work.
        with contextlib.suppress(OverflowError, WorkError):
            log_ends = bounds(law(decomposition, eps), n, rtol)
    return (low, high), (least, most), log_ends


def assembled(apart: Ends, trivial: Ends, log_ends: Ends, n: float) -> tuple[float, float]:
    """Bounds of D from those of its first sum, trivial ones of the second and of log E[S₊]."""
    if math.isnan(sum(apart) + sum(trivial)):  # comparisons below would take it for small
        return 0.0, math.inf
    low = max(trivial[0], exp_down(log_ends[0] - math.log(n)))
    high = max(low, min(trivial[1], _exp_up(log_ends[1] - math.log(n))))
    lower, upper = apart[0] + low, apart[1] + high
    return (
        lower * (1.0 - 4.0 * U) if lower > SMALLEST else 0.0,
        max(upper * (1.0 + 4.0 * U), SMALLEST) if upper > 0.0 else 0.0,
    )


def excess(
    decomposition: Decomposition, growth: float | FloatArray, where: NDArray[np.bool_]
) -> tuple[Any, Any]:
    """Bounds of Σ (a − e^ε b)₊ over some components, at e^ε − 1.

    That is a float or of shape (P, 1); the bounds have shape (P,) then.
    """
    a, b = decomposition.a[where], decomposition.b[where]
    value = (a - b) - growth * b
    err = U * (np.abs(a - b) + 3.0 * growth * b + 2.0 * np.abs(value))
    err += 2.01 * decomposition.rel_err * (a + (1.0 + growth) * b)
    total = (a.size + 2.0) * U
    low, high = (np.maximum(value + side * err, 0.0).sum(axis=-1) for side in (-1.0, 1.0))
    return low * (1.0 - total), high * (1.0 + total)


def trivial_bounds(
    decomposition: Decomposition, growth: FloatArray, n: FloatArray, shared: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Bounds from D at n = 1, D₁ = Σ (a − e^ε b)₊, of the part of D that others can hide.

    D falls with n, and is never below D₁ times the probability that no other user draws a
    negative value. `growth` is e^ε − 1, shape (P, 1); `n` and the bounds have shape (P,).
    """
    low, high = excess(decomposition, growth, shared)
    c = decomposition.c[shared]
    a, b = decomposition.a[shared], decomposition.b[shared]
    # Which values may be negative.
    may_fall = a * (1.0 - 1e-9) < (1.0 + growth) * b * (1.0 + 1e-9 + 2.01 * decomposition.rel_err)
    hurt = may_fall @ c
    hurt *= 1.0 + decomposition.rel_err + (c.size + 4.0) * U
    luck = [_luck(*pair) for pair in zip(hurt.tolist(), n.tolist(), strict=True)]
    return low * np.array(luck), high


def _luck(hurt: float, n: float) -> float:
    """The probability that n − 1 users all miss what has a mass of at most `hurt`, rounded down."""
    if n == 1:
        return 1.0
    return exp_down((n - 1) * math.log1p(-hurt) * (1.0 + 8.0 * U)) if hurt < 1.0 else 0.0


def _exp_up(x: float) -> float:
    """e^x rounded up; never 0, so that an upper bound stays one."""
    return math.inf if x > 700.0 else math.exp(x) * (1.0 + 8.0 * U) + 5e-324
