"""D(ε) of a decomposition, in one direction, by enumeration or by the Fourier and tree engines.

D is the excess of the components that no other user shares, plus E[S₊]/n. The second summand lies
between trivial bounds, which follow from D at n = 1, and between the bounds of an engine. Proofs:
docs/engine.md, sections 1 and 8.
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

# A function from the GPARV's law, n and the relative width to aim at to bounds of log E[S₊].
LogBounds = Callable[[Law, int, float], tuple[float, float]]
Ends = tuple[float, float]

# Values below this are treated as 0, since subnormal floats lose relative precision.
SMALLEST = 1e-304
# Largest excess kurtosis of the tilted S, about one over the number of draws that make up its
# spread, at which the draws count as many. It selects one of the two lists of engines below.
_MAX_KURTOSIS_OF_MANY_DRAWS = 0.7
# Largest number of histograms that are enumerated at once. Such small problems have atoms near 0,
# for which the Fourier engine is slow. Speed only (benchmarks/deployer_grid.py).
_MAX_HISTOGRAMS_AT_ONCE = 5_000
# Largest number of users for which the histograms are counted at all. Speed only
# (benchmarks/deployer_grid.py).
_MAX_USERS_AT_ONCE = 300
# With many draws, the search stops at a width below this multiple of the rounding error of nK,
# because no engine does better.
_ROUNDING_MULTIPLE = 30.0
# Relative width below which the search stops: rounding causes it, and no other engine avoids it.
_SMALLEST_WIDTH = 1e-11
# Distance of log D from log δ beyond which only the side matters.
_MAX_LOG_DISTANCE = 7.0

_tree_bounds = partial(tree_bounds, fourier=log_mean_positive_part)
# Each entry is an engine and its work limit: modes times the work of one mode for the Fourier
# engine, nodes for the tree. `log_bounds` tries them in this order until one reaches the width.
# The lists decide about speed, and about what is refused (benchmarks/deployer_grid.py).
_ENGINES_FOR_MANY_DRAWS: tuple[tuple[Callable[..., tuple[float, float]], float], ...] = (
    (fourier_bounds, 2.0**27),
    (_tree_bounds, 8_000),
    (fourier_bounds, 2.0**29),
    (_tree_bounds, 30_000),
    (fourier_bounds, 2.0**31),
    (_tree_bounds, 200_000),
    (fourier_bounds, 2.0**32),
)
# The list for sums in which few draws matter begins with a small tree.
_ENGINES_FOR_FEW_DRAWS: tuple[tuple[Callable[..., tuple[float, float]], float], ...] = (
    (_tree_bounds, 2_000),
    (fourier_bounds, 2.0**25),
    (_tree_bounds, 8_000),
    (fourier_bounds, 2.0**27),
    (_tree_bounds, 30_000),
    (fourier_bounds, 2.0**29),
    (_tree_bounds, 200_000),
    (fourier_bounds, 2.0**31),
    (fourier_bounds, 2.0**32),
)


def divergence(
    decomposition: Decomposition,
    eps: float,
    n: int,
    rtol: float = 1e-4,
    target: float = math.nan,
) -> Enclosure:
    """Return an enclosure of D(ε) of (a, b, c), in this one direction, by the engine that suits it.

    The engines take turns until the enclosure is narrower than the relative width `rtol`, or lies
    far from the δ given as `target`. Raises ValueError for eps < 0 or n < 1.
    """
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    outcomes = _outcomes_of_few_users(decomposition, n)
    exact = outcomes.divergence(eps) if outcomes is not None else Enclosure(0.0, math.inf)
    if exact.relative_width <= rtol:
        return exact
    enclosure = enclose(decomposition, eps, n, rtol, partial(log_bounds, target=target))
    return Enclosure(max(exact.lower, enclosure.lower), min(exact.upper, enclosure.upper))


@functools.lru_cache(maxsize=8)
def _outcomes_of_few_users(decomposition: Decomposition, n: int) -> RankedOutcomes | None:
    """Return the outcomes if they are few enough to be enumerated in no time, else None."""
    if 1 < n <= _MAX_USERS_AT_ONCE and histogram_count(decomposition, n) <= _MAX_HISTOGRAMS_AT_ONCE:
        return ranked_outcomes(decomposition, n)
    return None


def log_bounds(g: Law, n: int, rtol: float, target: float = math.nan) -> tuple[float, float]:
    """Return bounds of log E[S₊], each the better one of the engines that were needed."""
    many_draws = outlook(g, n)[1] <= _MAX_KURTOSIS_OF_MANY_DRAWS
    low, high, log_target = -math.inf, math.inf, math.log(n * target)
    for engine, most_work in _ENGINES_FOR_MANY_DRAWS if many_draws else _ENGINES_FOR_FEW_DRAWS:
        ends = engine(g, n, rtol, most_work=most_work)
        low, high = max(low, ends[0]), min(high, ends[1])
        if high - low <= max(rtol, _SMALLEST_WIDTH):
            break
        if high < log_target - _MAX_LOG_DISTANCE or low > log_target + _MAX_LOG_DISTANCE:
            break
        if many_draws and high - low <= _ROUNDING_MULTIPLE * _rounding(g, n):
            break
    return low, high


def _rounding(g: Law, n: int) -> float:
    """Return the uncertainty of log E[S₊] due to that of K; inf if no value is a gain."""
    if not (g.values.size and g.values.max() > 0.0):
        return math.inf
    return n * tilt(g, tilting_point(g, n)).log_mgf_err


def enclose(
    decomposition: Decomposition, eps: float, n: int, rtol: float, bounds: LogBounds
) -> Enclosure:
    """Return an enclosure of D(ε) from the trivial bounds and those of one engine.

    `bounds` takes the GPARV's law, n and a relative width to aim at, and returns bounds of
    log E[S₊].
    """
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    return Enclosure(*combine_bounds(*bounds_of_parts(decomposition, eps, n, rtol, bounds), n))


def bounds_of_parts(
    decomposition: Decomposition, eps: float, n: int, rtol: float, bounds: LogBounds
) -> tuple[Ends, Ends, Ends]:
    """Return bounds of D's first sum, trivial bounds of the second, and bounds of log E[S₊].

    The engine is asked for the last pair only if the trivial bounds are wider than `rtol`; else,
    and if the engine fails, that pair is (−inf, inf).
    """
    growth, unshared = np.array([[math.expm1(eps)]]), decomposition.c == 0.0
    low, high = (float(x[0]) for x in excess(decomposition, growth, unshared))
    trivial = trivial_bounds(decomposition, growth, np.array([float(n)]), ~unshared)
    trivial_low, trivial_high = (float(x[0]) for x in trivial)
    log_ends = -math.inf, math.inf
    if trivial_high - trivial_low > rtol * trivial_high:
        # Either the values are too far apart for floats, or the work exceeds its limit.
        with contextlib.suppress(OverflowError, WorkError):
            log_ends = bounds(law(decomposition, eps), n, rtol)
    return (low, high), (trivial_low, trivial_high), log_ends


def combine_bounds(unshared: Ends, trivial: Ends, log_ends: Ends, n: float) -> tuple[float, float]:
    """Return bounds of D from those of its first sum, of its second sum and of log E[S₊]."""
    # The comparisons below would take a NaN for a small number.
    if math.isnan(sum(unshared) + sum(trivial)):
        return 0.0, math.inf
    low = max(trivial[0], exp_down(log_ends[0] - math.log(n)))
    high = max(low, min(trivial[1], _exp_up(log_ends[1] - math.log(n))))
    lower, upper = unshared[0] + low, unshared[1] + high
    return (
        lower * (1.0 - 4.0 * U) if lower > SMALLEST else 0.0,
        max(upper * (1.0 + 4.0 * U), SMALLEST) if upper > 0.0 else 0.0,
    )


def excess(
    decomposition: Decomposition, growth: float | FloatArray, components: NDArray[np.bool_]
) -> tuple[Any, Any]:
    """Return bounds of Σ (a − e^ε b)₊ over the `components` marked True.

    `growth` is e^ε − 1, a float or of shape (P, 1). The bounds have shape () or (P,).
    """
    a, b = decomposition.a[components], decomposition.b[components]
    value = (a - b) - growth * b
    err = U * (np.abs(a - b) + 3.0 * growth * b + 2.0 * np.abs(value))
    err += 2.01 * decomposition.rel_err * (a + (1.0 + growth) * b)
    sum_err = (a.size + 2.0) * U
    low, high = (np.maximum(value + side * err, 0.0).sum(axis=-1) for side in (-1.0, 1.0))
    return low * (1.0 - sum_err), high * (1.0 + sum_err)


def trivial_bounds(
    decomposition: Decomposition, growth: FloatArray, n: FloatArray, shared: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of D's part over the `shared` components, which other users can hide.

    They follow from D at n = 1, D₁ = Σ (a − e^ε b)₊: D falls with n, and is never below D₁ times
    the probability that no other user draws a negative value. `growth` is e^ε − 1, shape (P, 1);
    `n` and the bounds have shape (P,).
    """
    low, high = excess(decomposition, growth, shared)
    c = decomposition.c[shared]
    a, b = decomposition.a[shared], decomposition.b[shared]
    negative = a * (1.0 - 1e-9) < (1.0 + growth) * b * (1.0 + 1e-9 + 2.01 * decomposition.rel_err)
    negative_mass = negative @ c
    negative_mass *= 1.0 + decomposition.rel_err + (c.size + 4.0) * U
    pairs = zip(negative_mass.tolist(), n.tolist(), strict=True)
    probabilities = [_miss_probability(*pair) for pair in pairs]
    return low * np.array(probabilities), high


def _miss_probability(mass: float, n: float) -> float:
    """Return the probability that n − 1 users all miss an event of this `mass`, rounded down."""
    if n == 1:
        return 1.0
    return exp_down((n - 1) * math.log1p(-mass) * (1.0 + 8.0 * U)) if mass < 1.0 else 0.0


def _exp_up(x: float) -> float:
    """Return e^x rounded up, which is never 0: an upper bound stays an upper bound."""
    return math.inf if x > 700.0 else math.exp(x) * (1.0 + 8.0 * U) + 5e-324
