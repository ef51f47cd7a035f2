"""D(ε) of a decomposition, in one direction: by enumeration, or by the Fourier engine and the tree.

D is the excess of the components that others never hide plus E[S₊]/n; the latter lies between
bounds that D at n = 1 gives, and between those of an engine. Proofs: docs/proofs/engine.md,
sections 1 and 8.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.convex_order import compress
from shufflebounds.divergence.elementary import SMALLEST, combine_bounds, excess, trivial_bounds
from shufflebounds.divergence.enumeration import RankedOutcomes, histogram_count, ranked_outcomes
from shufflebounds.divergence.fourier import fourier_bounds, points_at_once, single_bounds
from shufflebounds.divergence.law import Law, U, law_at, log, tilt
from shufflebounds.divergence.saddlepoint import saddlepoint, tilting_point
from shufflebounds.divergence.tree import tree_bounds

# Excess kurtosis of the tilted S, about one over the number of draws that matter, up to which the
# Fourier engine comes first, and beyond which the tree does. Speed only.
MAX_FOURIER_KURTOSIS = 0.7
# Limits of both engines, as work and as nodes: each engine is tried with each limit in turn until
# the bounds are narrow. They decide about speed, and about which questions are refused.
LIMITS = ((2.0**23, 2_000), (2.0**26, 8_000), (2.0**28, 30_000), (2.0**30, 100_000))
# Multiple of the rounding error of nK at which no engine gets narrower.
ROUNDING_LIMIT = 30.0
# Width of log D below which only rounding is left.
FINEST = 1e-11
# Width of log D that an engine's larger limit may leave as it is because of rounding.
CLOSE = 1e-6
# Distance of log D from the logarithm of the target δ from which on only the side matters.
FAR_OFF = 7.0
# Largest ε for which logarithms of D are computed: e^ε must stay a float.
LARGEST_EPS = 690.0
# Values beyond which a law is compressed. Speed only (benchmarks/deployer_grid.py, "Laplace").
MAX_VALUES = 1000
# Number of cells of the first compressed law. Fewer say nothing about rare values.
FIRST_CELLS = 500
# Share of the relative width that is left for the bounds of a compressed law.
SERIES_SHARE = 0.5
# Factor by which the number of cells grows after a compression that had too few.
REFINEMENT = 4
# Factor by which a compression must narrow the bounds for another one to be tried.
WORTHWHILE = 0.7
# Bounds of D below this are computed as logarithms.
SMALLEST_FLOAT = 1e-290
# Laws with at most this many histograms of reports are enumerated. Such laws have atoms near 0, for
# which the Fourier engine is slow.
MAX_FEW_HISTOGRAMS = 5_000
# Most users whose reports are enumerated; the number of histograms alone would let 5 000 users with
# two outcomes pass, for which the Fourier engine is faster.
MAX_FEW_USERS = 300

# Lower and upper bounds at P points, shape (P,) each.
Bounds = tuple[FloatArray, FloatArray]
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Goals:
    """How narrow bounds of log E[S₊] should be at P points, and where they may be wide.

    All fields have shape (P,).

    ``n`` are numbers of users and ``rtol`` relative widths to aim at. It is enough to know that
    E[S₊]/n is beyond e^{±`FAR_OFF`} times ``delta`` (NaN if there is no such target), or that log
    E[S₊] is below ``log_negligible``.
    """

    n: FloatArray
    rtol: FloatArray
    delta: FloatArray
    log_negligible: FloatArray

    @staticmethod
    def of(
        n: FloatArray, rtol: FloatArray, delta: FloatArray, negligible: FloatArray | float = 0.0
    ) -> Goals:
        """Return goals for D at `n` users; `delta` are the targets of D."""
        return Goals(n, rtol, delta, np.log(n * np.maximum(negligible, SMALLEST)))

    def at(self, rows: NDArray) -> Goals:
        """Return the goals of some points, by their indices or a mask."""
        return Goals(*(x[rows] for x in vars(self).values()))

    def beside(self, part: FloatArray) -> Goals:
        """Return the goals for the rest of D besides a `part` of it, (P,)."""
        return replace(self, delta=np.where(self.delta > part, self.delta - part, np.nan))

    def floor(self) -> FloatArray:
        """Return values of log E[S₊] below which an upper bound is enough."""
        return np.fmax(np.log(self.n * self.delta) - FAR_OFF, self.log_negligible)

    def unmet(self, low: FloatArray, high: FloatArray, finest: FloatArray) -> NDArray[np.bool_]:
        """Return where bounds are too wide, though they could be narrower than `finest`."""
        is_low, is_high = high < self.floor(), low > np.log(self.n * self.delta) + FAR_OFF
        is_narrow = high - low <= np.maximum(np.maximum(self.rtol, finest), FINEST)
        unmet: NDArray[np.bool_] = ~(is_low | is_high | is_narrow)
        return unmet


def divergence(
    decomposition: Decomposition, eps: float, n: int, rtol: float = 1e-4, target: float = math.nan
) -> Enclosure:
    """Enclose D(ε) at one point as `divergences` does; raise ValueError for eps < 0 or n < 1."""
    eps, n = validation.eps(eps), validation.whole("n", n, minimum=1)
    point = (np.array([float(x)]) for x in (eps, n, rtol, target))
    lower, upper = divergences(decomposition, *point)
    return Enclosure(float(lower[0]), float(upper[0]))


def divergences(
    decomposition: Decomposition,
    eps: FloatArray,
    n: FloatArray,
    rtol: FloatArray,
    target: FloatArray | float = math.nan,
    *,
    negligible: FloatArray | float = 0.0,
    one_try: bool = False,
) -> Bounds:
    """Return lower and upper bounds of D(ε) of (a, b, c), in this one direction, at P points.

    Parameters
    ----------
    decomposition
        (a, b, c).
    eps, n, rtol
        Points (ε, n) and the relative widths to aim at, shape (P,); 0 ≤ ε ≤ 690, and `n` are whole
        numbers.
    target
        The δ that D is compared with, if any: far from it, bounds may be wide.
    negligible
        Values of D below which an upper bound is enough.
    one_try
        Whether to stop after one try of the Fourier engine, which takes many points together.

    Returns
    -------
    tuple of two arrays
        Bounds of D, shape (P,), which hold whether they are as narrow as wanted or not.
    """
    lower, upper = np.zeros(eps.shape), np.full(eps.shape, np.inf)
    for i, users in enumerate(n.tolist()):
        outcomes = few_outcomes(decomposition, int(users)) if users > 1 else None
        if outcomes is not None:
            enclosure = outcomes.divergence(float(eps[i]))
            lower[i], upper[i] = enclosure.lower, enclosure.upper
    wide = np.flatnonzero(
        (upper == np.inf) | (upper - lower > np.maximum(rtol * upper, negligible))
    )
    size = points_at_once(len(decomposition))
    goals = Goals.of(n, rtol, np.broadcast_to(target, eps.shape), negligible)
    for part in (wide[i : i + size] for i in range(0, wide.size, size)):
        bounds = partial(log_bounds, one_try=one_try)
        low, high = enclose_points(decomposition, eps[part], goals.at(part), bounds)
        lower[part], upper[part] = np.maximum(lower[part], low), np.minimum(upper[part], high)
    return lower, upper


@functools.lru_cache(maxsize=8)
def few_outcomes(decomposition: Decomposition, n: int) -> RankedOutcomes | None:
    """Return the outcomes of n users if there are few enough to be enumerated at once."""
    if n <= MAX_FEW_USERS and histogram_count(decomposition, n) <= MAX_FEW_HISTOGRAMS:
        return ranked_outcomes(decomposition, n)
    return None


def log_bounds(laws: Law, goals: Goals, one_try: bool = False) -> Bounds:
    """Return bounds of log E[S₊] of P laws, the best ones of the engines that each law needed."""
    # Masses whose errors differ cannot be united.
    if laws.masses.size > MAX_VALUES and not np.ndim(laws.mass_err):
        points = [(laws.at(i), goals.at(np.array([i]))) for i in range(goals.n.size)]
        low, high = np.array([_compressed_bounds(*point, one_try) for point in points]).T
        return low, high
    return _short_law_bounds(laws, goals, one_try)


def _compressed_bounds(law: Law, goal: Goals, one_try: bool) -> Ends:
    """Return bounds for one law of many values, by laws of fewer values."""
    if not (np.isfinite(law.value_err).all() and law.values.max() > 0.0):
        return -math.inf, math.inf
    tilted = tilt(law, tilting_point([(law, float(goal.n[0]))]))
    cells = FIRST_CELLS
    low, high, is_short = -math.inf, math.inf, True
    while is_short:
        is_short, gap = 2 * cells < law.masses.size, high - low
        laws = compress(law, tilted.weights, cells) if is_short else (law, law)
        share = replace(goal, rtol=goal.rtol * (SERIES_SHARE if is_short else 1.0))
        below, above = (_short_law_bounds(x.as_row(), share, one_try) for x in laws)
        low, high = max(low, float(below[0][0])), min(high, float(above[1][0]))
        is_met = not goal.unmet(*np.array([[low], [high], [0.0]]))
        if is_met or high - low > WORTHWHILE * gap:
            break
        cells *= REFINEMENT
    return low, high


def _short_law_bounds(laws: Law, goals: Goals, one_try: bool) -> Bounds:
    """Return what `log_bounds` returns, without compressing laws."""
    n, low, high = goals.n, np.full(goals.n.shape, -np.inf), np.full(goals.n.shape, np.inf)
    estimate, theta, _ = saddlepoint(laws, n)
    has_many_draws = estimate.kurtosis <= MAX_FOURIER_KURTOSIS
    rows = np.flatnonzero(has_many_draws)
    if rows.size:
        low[rows], high[rows] = fourier_bounds(
            laws.at(rows), n[rows], goals.rtol[rows], LIMITS[0][0], theta[rows], goals.floor()[rows]
        )
    for row in np.flatnonzero(~(high - low <= goals.rtol)).tolist() if not one_try else ():
        ends = low[row], high[row]
        low[row], high[row] = _narrow(
            laws.at(row), goals.at(np.array([row])), ends, has_many_draws[row]
        )
    return low, high


def _narrow(law: Law, goal: Goals, ends: Ends, has_many_draws: bool) -> Ends:
    """Narrow the bounds `ends` of one point by one engine after the other."""
    (low, high), n, rounding = ends, float(goal.n[0]), 0.0
    if has_many_draws:
        rounding = ROUNDING_LIMIT * n * float(tilt(law, tilting_point([(law, n)])).log_mgf_err)
    latest: dict[object, Ends] = {}
    for engine in _engines(has_many_draws):
        if not goal.unmet(*np.array([[low], [high], [rounding]])):
            break
        ends = engine(law, n, float(goal.rtol[0]))
        low, high = max(low, ends[0]), min(high, ends[1])
        # Close bounds that a larger limit leaves as they are stay so: rounding is what is left.
        if high - low < CLOSE and ends == latest.get(engine.func):
            break
        latest[engine.func] = ends
    return low, high


def _engines(has_many_draws: bool) -> Iterator[partial[Ends]]:
    """Yield the engines in the order in which they are tried, after a first Fourier series."""
    for place, (work, nodes) in enumerate(LIMITS):
        fourier = partial(single_bounds, most_work=work)
        tree = partial(tree_bounds, most_work=nodes)
        if not has_many_draws:
            yield from (tree, fourier)
        elif place == 0:
            yield tree
        else:
            yield from (fourier, tree)


def enclose_points(
    decomposition: Decomposition,
    eps: FloatArray,
    goals: Goals,
    bounds: Callable[[Law, Goals], Bounds],
) -> Bounds:
    """Return bounds of D(ε) at P points, from `bounds` of log E[S₊] and what holds without them."""
    columns = _parts(decomposition, eps, goals, bounds)
    rows = np.array([*columns, goals.n]).T.tolist()
    ends = [combine_bounds(row[:2], row[2:4], row[4:6], row[6]) for row in rows]
    low, high = np.array(ends).T
    return low, high


def _parts(
    decomposition: Decomposition,
    eps: FloatArray,
    goals: Goals,
    bounds: Callable[[Law, Goals], Bounds],
) -> list[FloatArray]:
    """Return bounds of D's first sum, trivial ones of its second, and of log E[S₊] if needed."""
    growth = np.array([[math.expm1(x)] for x in eps.tolist()])
    is_unshared = decomposition.c == 0.0
    unshared_ends = excess(decomposition, growth, is_unshared)
    low, high = trivial_bounds(decomposition, growth, goals.n, ~is_unshared)
    log_low, log_high = np.full(eps.shape, -np.inf), np.full(eps.shape, np.inf)
    goals = goals.beside(unshared_ends[1])
    # For one user, D is the finite sum that was just evaluated: only its rounding is left.
    is_wide = (high - low > goals.rtol * high) & (goals.n > 1.0)
    wide = np.flatnonzero(is_wide & ~(goals.n * high < np.exp(goals.log_negligible)))
    if wide.size:
        # Values may be too far apart for floats.
        with contextlib.suppress(OverflowError), np.errstate(all="ignore"):
            laws = law_at(decomposition, eps[wide])
            log_low[wide], log_high[wide] = bounds(laws, goals.at(wide))
    return [*unshared_ends, low, high, log_low, log_high]


def log_divergences(
    decomposition: Decomposition, eps: FloatArray, n: int, rtol: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of log D(ε) of (a, b, c), in this one direction, at ε ≥ 0.

    The bounds have the shape (P,) of `eps`; they are −inf where D is 0 or cannot be told from 0.
    They aim at distances of `rtol`, also (P,), and hold whether they reach them or not.
    """
    capped_eps = np.minimum(eps, LARGEST_EPS)
    lower, upper = divergences(decomposition, capped_eps, np.full(eps.shape, float(n)), rtol)
    with np.errstate(divide="ignore"):
        # A logarithm is off by two ulps, which are at most 4u times 700.
        low, high = np.log(lower) - 3000.0 * U, np.minimum(np.log(upper) + 3000.0 * U, 0.0)
    for i in np.flatnonzero((upper > 0.0) & (lower < SMALLEST_FLOAT)):
        low[i], high[i] = log_divergence(decomposition, float(capped_eps[i]), n, float(rtol[i]))
    # D falls, so an upper bound at the largest ε holds beyond it; a lower bound does not.
    low[eps > LARGEST_EPS] = -np.inf
    return low, high


def log_divergence(
    decomposition: Decomposition, eps: float, n: int, rtol: float
) -> tuple[float, float]:
    """Return bounds of log D(ε) at one ε, 0 ≤ ε ≤ 690, in this one direction."""
    goals = Goals(*np.array([[float(n)], [rtol], [math.nan], [-math.inf]]))
    columns = _parts(decomposition, np.array([eps]), goals, log_bounds)
    *parts, log_low, log_high = (float(x[0]) for x in columns)
    if any(map(math.isnan, (*parts, log_low, log_high))):  # values beyond floats
        return -math.inf, 0.0
    hidden_ends = (
        max(log(parts[2]), log_low - math.log(n)),
        min(log(parts[3]), log_high - math.log(n)),
    )
    sums = [
        float(np.logaddexp(log(part), end)) if end < math.inf else math.inf
        for part, end in zip(parts[:2], hidden_ends, strict=True)
    ]
    lower, upper = (
        end + side * 16.0 * U * (1.0 + abs(end)) if math.isfinite(end) else end
        for side, end in zip((-1.0, 1.0), sums, strict=True)
    )
    return (-math.inf if math.isnan(lower) else lower), (0.0 if math.isnan(upper) else upper)
