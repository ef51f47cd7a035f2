"""D(ε) of a decomposition, in one direction, by the Fourier engine and the tree.

D is the excess of the components that others never hide plus E[S₊]/n; the latter lies between
bounds that D at n = 1 gives, and between those of an engine. Proofs: docs/engine.md, sections 1
and 8.
"""

from __future__ import annotations

import contextlib
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
from shufflebounds.divergence.fourier import fourier_bounds, single_bounds
from shufflebounds.divergence.law import Law, U, exp_down, law, log, tilt
from shufflebounds.divergence.saddlepoint import saddlepoint
from shufflebounds.divergence.tree import tree_bounds

# Smaller values are treated as 0: subnormal floats lose relative precision.
SMALLEST = 1e-304
# Excess kurtosis of the tilted S, about one over the number of draws that matter, up to which the
# Fourier engine comes first, and beyond which the tree does. Speed only.
MANY_DRAWS = 0.7
# Limits of both engines, as binary logarithm of the work and as nodes: each engine is tried with
# each limit in turn until the bounds are narrow. Speed only, but for what is refused.
LIMITS = ((27, 8_000), (29, 30_000), (32, 200_000))
# Multiple of the rounding error of nK at which no engine gets narrower.
ROUNDING_LIMIT = 30.0
# Width of log D below which all that is left is rounding.
FINEST = 1e-11
# Numbers held in memory at once by the points that are evaluated together.
BLOCK = 2**16
# Numbers that a component of one point takes: two sides times the tilts tried for each.
NUMBERS_PER_COMPONENT = 34
# Largest ε for which logarithms of D are computed: e^ε must stay a float.
LARGEST_EPS = 690.0

# Bounds of log E[S₊], given the GPARV's law, n and a relative width to aim at.
LogBounds = Callable[[Law, float, float], tuple[float, float]]
Ends = tuple[float, float]


def divergence(decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4) -> Enclosure:
    """Enclosure of D(ε) of (a, b, c), in this one direction.

    Aims at the relative width `rtol`, and holds whether it reaches it or not. Raises ValueError for
    eps < 0 or n < 1.
    """
    return enclose(decomposition, eps, n, rtol, log_bounds)


def divergences(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of D(ε) of (a, b, c), in this one direction, at P points.

    Parameters
    ----------
    decomposition
        (a, b, c).
    eps, n, rtol
        Points (ε, n) and the relative widths to aim at, shape (P,); `n` are whole numbers.

    Returns
    -------
    tuple of two arrays
        Bounds of D, shape (P,), which hold whether they are as narrow as wanted or not.
    """
    lower, upper = fourier_divergences(decomposition, eps, n, rtol)
    for i in np.flatnonzero(~(upper - lower <= rtol * upper)).tolist():
        point = divergence(decomposition, float(eps[i]), int(n[i]), float(rtol[i]))
        lower[i] = max(lower[i], point.lower)
        upper[i] = max(lower[i], min(upper[i], point.upper))
    return lower, upper


def fourier_divergences(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """`divergences` by one try of the Fourier engine, which may leave them wide."""
    size = max(1, BLOCK // (NUMBERS_PER_COMPONENT * len(decomposition)))
    parts = (slice(i, i + size) for i in range(0, eps.size, size))
    ends = [_fourier_block(decomposition, eps[part], n[part], rtol[part]) for part in parts]
    lower, upper = (np.concatenate(x) for x in zip(*ends, strict=True))
    return lower, upper


def _fourier_block(
    decomposition: Decomposition, eps: FloatArray, n: FloatArray, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """`fourier_divergences` of the points that are evaluated together."""
    growth = np.array([[math.expm1(x)] for x in eps.tolist()])
    alone = decomposition.c == 0.0
    apart = excess(decomposition, growth, alone)
    low, high = trivial_bounds(decomposition, growth, n, ~alone)
    log_low, log_high = np.full(n.shape, -np.inf), np.full(n.shape, np.inf)
    wide = np.flatnonzero(high - low > rtol * high)
    if wide.size:
        with contextlib.suppress(OverflowError, WorkError), np.errstate(all="ignore"):
            log_low[wide], log_high[wide] = fourier_bounds(
                law(decomposition, eps[wide]), n[wide], rtol[wide], 2.0 ** LIMITS[0][0]
            )
    ends = [
        combine_bounds((a, b), (c, d), (e, f), users)
        for a, b, c, d, e, f, users in zip(
            *(x.tolist() for x in (*apart, low, high, log_low, log_high, n)), strict=True
        )
    ]
    lower, upper = np.array(ends).T
    return lower, upper


def log_bounds(law: Law, n: float, rtol: float) -> tuple[float, float]:
    """Bounds of log E[S₊] of one law, each the better one of the engines that were needed."""
    estimate, theta, _ = saddlepoint(law, n)
    has_many_draws = float(estimate.kurtosis) <= MANY_DRAWS
    rounding = ROUNDING_LIMIT * n * float(tilt(law, theta).log_mgf_err) if has_many_draws else 0.0
    low, high = -math.inf, math.inf
    for bits, nodes in LIMITS:
        fourier = partial(single_bounds, most_work=2.0**bits)
        tree = partial(tree_bounds, fourier=single_bounds, most_work=nodes)
        for bounds in (fourier, tree) if has_many_draws else (tree, fourier):
            ends = bounds(law, n, rtol)
            low, high = max(low, ends[0]), min(high, ends[1])
            if high - low <= max(rtol, rounding, FINEST):
                return low, high
    return low, high


# What holds without any engine, and what an engine's bounds of log E[S₊] say of D.


def enclose(
    decomposition: Decomposition, eps: float, n: int, rtol: float, bounds: LogBounds
) -> Enclosure:
    """D(ε) by means of an engine's bounds of log E[S₊], with what holds without any.

    `bounds` takes the GPARV's law, n and a relative width to aim at.
    """
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    return Enclosure(*combine_bounds(*parts_of_divergence(decomposition, eps, n, rtol, bounds), n))


def parts_of_divergence(
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


def combine_bounds(apart: Ends, trivial: Ends, log_ends: Ends, n: float) -> tuple[float, float]:
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


# Logarithms of divergences that may be far too small for floats.

# Floats below it are left to the logarithms.
SMALLEST_FLOAT = 1e-290


def log_divergences(
    decomposition: Decomposition, eps: FloatArray, n: int, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of log D(ε) of (a, b, c), in this one direction, at ε ≥ 0.

    The bounds have the shape (P,) of `eps`; −inf where D is, or cannot be told from, 0. They aim
    at a distance of `rtol`, (P,) too, and hold whether they reach it or not.
    """
    within = np.minimum(eps, LARGEST_EPS)
    lower, upper = divergences(decomposition, within, np.full(eps.shape, float(n)), rtol)
    with np.errstate(divide="ignore"):
        # A logarithm is off by an ulp, which is at most 2u times 700.
        low, high = np.log(lower) - 1500.0 * U, np.minimum(np.log(upper) + 1500.0 * U, 0.0)
    for i in np.flatnonzero((upper > 0.0) & (lower < SMALLEST_FLOAT)):
        low[i], high[i] = log_divergence(decomposition, float(within[i]), n, float(rtol[i]))
    # D falls: what is known at one ε bounds it at others.
    low[eps > LARGEST_EPS] = -np.inf
    return low, high


def log_divergence(
    decomposition: Decomposition, eps: float, n: int, rtol: float
) -> tuple[float, float]:
    """Bounds of log D(ε) at one ε, 0 ≤ ε ≤ 690; see `enclose`, whose bounds they are."""
    apart, (low, high), ends = parts_of_divergence(decomposition, eps, n, rtol, log_bounds)
    each = (
        max(log(low), ends[0] - math.log(n)),
        min(log(high), ends[1] - math.log(n)),
    )
    sums = [
        float(np.logaddexp(log(part), end)) if end < math.inf else math.inf
        for part, end in zip(apart, each, strict=True)
    ]
    lower, upper = (
        end + side * 16.0 * U * (1.0 + abs(end)) if math.isfinite(end) else end
        for side, end in zip((-1.0, 1.0), sums, strict=True)
    )
    return (-math.inf if math.isnan(lower) else lower), (0.0 if math.isnan(upper) else upper)
