"""`supremum`: an upper bound of D over all datasets, and the free choices of that bound.

Think of every other user as tossing a coin. With probability λ its report comes from d/λ, where
d = τc is a part of the blanket, else from the rest of its own law. The victim hides among the users
whose coins show heads. The labelled reports of the others are independent values g_x, which are not
identically distributed, but a bound of their sum by the moduli of moment generating functions on a
line is an average over users. For any θ, η > 0 and h > 0, with t_j = jh, z_j = θ + it_j and
ρ_x = R(x) − d,

    D(ε) ≤ max_x {Σ_{R(x)=0} (a − e^ε b)₊ + (h/2πn) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² q_x(z_j)ⁿ}
           + (1 − λ)^{n−1} D_res(ε),        q_x(z) = λ + |Σ_y ρ_x e^{z (a − e^ε b)/ρ_x}|,

where D_res is the divergence of what is left of the blanket, (a, b, (c − d)/(1 − λ)). All this is
proved in docs/proofs/closing-the-gap.md. The bound holds for every `SupremumAim`: τ, θ, η and h
decide how tight it is, nothing else.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, OtherInput
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import SMALLEST_MASS, FloatArray, compounded
from shufflebounds.core.work import spend
from shufflebounds.divergence.characteristic import TiltedLaws, characteristic
from shufflebounds.divergence.convex_order import compress, spaced
from shufflebounds.divergence.coordinates import (
    MAX_BLANKET_SHARE,
    MAX_RELATIVE_ERROR,
    joint_supremum,
)
from shufflebounds.divergence.elementary import SMALLEST, combine_bounds, excess
from shufflebounds.divergence.engine import LARGEST_EPS, divergence
from shufflebounds.divergence.fourier import scaled_logs
from shufflebounds.divergence.law import (
    Law,
    U,
    law_at,
    tilt,
)
from shufflebounds.divergence.pairs_of_rows import NEARLY_EQUAL, Screen, supremum_of_rows
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.divergence.window import round_down

# Average number of heads, the users who report from d, that is tried first. Every aim is valid:
# these constants decide how tight it is and what it costs (benchmarks/mechanisms.py).
FIRST_HEADS = 2.0
# Probability of no heads, as a share of the main term, that the choice of the number of heads aims
# at.
NO_HEADS_SHARE = 3e-4
# Growth of the main term's logarithm beyond which fewer heads are tried, too. It changes ε by up to
# 0.4 %.
GROWTH_OF_MAIN = 0.03
# Largest share of heads among all users.
MAX_HEADS_SHARE = 0.5
# Standard deviation of the smoothing, times θ. It raises the bound by half of its square,
# relatively.
SMOOTHING = 0.06
# Relative size of the modes beyond the last one.
SMALLEST_MODE = 1e-7
# Largest number of modes of an aim; so many take a second.
MAX_MODES = 2**20
# Number of levels of `fractions_of_blanket`, between which the use of the blanket is interpolated.
LEVELS = 60
# Largest number of values of an input by which an aim is chosen.
MAX_VALUES = 100
# Number of tilts on a grid; the grid is refined around the best tilt.
TILTS = 24
# Relative width of the blanket's bound of a pair among many.
BLANKET_RTOL = 1e-3
# Number of values to which a law of more than twice as many values is compressed.
CELLS = 500


@dataclass(frozen=True, eq=False)
class SupremumAim:
    """The free choices of the bound, and estimates of its two terms.

    ``tau`` (J,) is the share of the blanket that heads report from. ``theta`` is 0 if no value is
    above 0. ``modes`` is the number of modes of the sum. ``log_main`` estimates the logarithm of
    the maximum, ``log_no_heads`` that of the term without heads.
    """

    tau: FloatArray
    theta: float
    eta: float
    step: float
    modes: int
    log_main: float
    log_no_heads: float

    def goal(self) -> float:
        """Return an estimate of the bound's logarithm."""
        return float(np.logaddexp(self.log_main, self.log_no_heads))

    @staticmethod
    def of(crowd: Crowd, eps: float, n: int, heads: float) -> SupremumAim | None:
        """Return an aim with this average number of heads, None if the blanket has too little mass.

        The answer is None, too, if values are too far apart for floats.
        """
        tau = fractions_of_blanket(crowd, eps, heads / (n - 1))
        if tau is None:
            return None
        laws = [
            shortened(*_remaining_values(member, other, eps, tau))
            for member, other in _inputs(crowd)
        ]
        masses, values = (pad_rows([law_[k] for law_ in laws]) for k in range(2))
        share = float(tau @ crowd.c)
        blanket = crowd.c * (1.0 - tau) / (1.0 - share)
        if too_small(blanket):
            return None
        remaining_blanket = Decomposition(crowd.a, crowd.b, blanket)
        remaining_log = float(log_estimate(remaining_blanket, eps, n).log)
        log_no_heads = (n - 1) * math.log1p(-share)
        if not crowd.extremes:
            log_no_heads += min(0.0, float(np.nan_to_num(remaining_log)))
        return aim_on_line(tau, values, masses, n, log_no_heads)


def aim_on_line(
    tau: FloatArray, values: FloatArray, masses: FloatArray, n: int, log_no_heads: float
) -> SupremumAim | None:
    """Return the aim with the line of integration that suits values and masses, (inputs, J)."""
    if not float(values.max()) > 0.0:
        return SupremumAim(tau, 0.0, 0.0, 0.0, 0, -math.inf, log_no_heads)
    return aim_at(tau, *_best_tilt(values, masses, n), log_no_heads)


def aim_at(
    tau: FloatArray, theta: float, log_main: float, sigma: float, log_no_heads: float
) -> SupremumAim | None:
    """Return the aim with the line of integration at θ, for a sum of spread `sigma` there."""
    if not (0.0 < theta < math.inf and 0.0 < sigma < math.inf and math.isfinite(log_main)):
        return None
    eta = SMOOTHING / theta
    step = round_down(2.0 * math.pi / (8.0 * sigma + 16.0 / theta))
    cut = math.sqrt(-2.0 * math.log(SMALLEST_MODE))
    modes = max(1, math.ceil(cut / (eta * step)))
    if modes > MAX_MODES:
        return None
    return SupremumAim(tau, theta, eta, step, modes, log_main, log_no_heads)


def best_aim(crowd: Crowd, eps: float, n: int) -> SupremumAim | None:
    """Return the aim with about the smallest estimate over numbers of heads, None if none works."""
    first = SupremumAim.of(crowd, eps, n, FIRST_HEADS)
    if first is None:
        return None
    # Each further head reduces the probability of no heads by the factor e. If no value is above 0,
    # the main term is 0, and that probability is all that counts.
    log_main = max(first.log_main, math.log(validation.MIN_DELTA))
    further_heads = first.log_no_heads - log_main - math.log(NO_HEADS_SHARE)
    low, high = (
        FIRST_HEADS,
        max(0.5 * FIRST_HEADS, FIRST_HEADS + float(np.nan_to_num(further_heads))),
    )
    last = SupremumAim.of(crowd, eps, n, high)
    aims = [(low, first), (high, last)]
    if last is None or last.log_main > first.log_main + GROWTH_OF_MAIN:
        for _ in range(2):
            spacing = (high - low) / 3.0
            aims += [(x, SupremumAim.of(crowd, eps, n, x)) for x in (low + spacing, high - spacing)]
            heads = min(aims, key=_goal_of_pair)[0]
            low, high = heads - 0.75 * spacing, heads + 0.75 * spacing
    return min(aims, key=_goal_of_pair)[1]


def _goal_of_pair(pair: tuple[float, SupremumAim | None]) -> float:
    """Return the estimate of the aim in a pair (number of heads, aim), inf if there is no aim."""
    return math.inf if pair[1] is None else pair[1].goal()


def _inputs(crowd: Crowd) -> list[tuple[Crowd, OtherInput]]:
    """Return the inputs of others and their crowds."""
    family = (crowd, *crowd.extremes)
    return [(member, other) for member in family for other in member.others.values()]


def _remaining_values(
    crowd: Crowd, other: OtherInput, eps: float, tau: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return masses and values of (a − e^ε b)/(R(x) − d)."""
    remaining_law = other.law - other.pieces(tau * crowd.c)
    excesses = other.pieces(crowd.a - math.exp(eps) * crowd.b)
    with np.errstate(all="ignore"):
        return remaining_law, np.where(remaining_law > 0.0, excesses / remaining_law, 0.0)


def shortened(masses: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return masses and means of groups of neighbouring values if there are too many values."""
    if masses.size <= MAX_VALUES:
        return masses, values
    order = np.argsort(values)
    masses, values = masses[order], values[order]
    # Groups of equally many values keep rare values apart, which may matter most.
    even_starts = np.arange(MAX_VALUES) * masses.size // MAX_VALUES
    starts = np.unique(np.append(even_starts, spaced(values, masses, MAX_VALUES)))
    sums = np.add.reduceat(masses, starts)
    return sums, np.add.reduceat(masses * values, starts) / np.where(sums > 0.0, sums, 1.0)


def pad_rows(rows: list[FloatArray]) -> FloatArray:
    """Return the rows as one array, padded with zeros to the size of the longest."""
    padded = np.zeros((len(rows), max(row.size for row in rows)))
    for i, row in enumerate(rows):
        padded[i, : row.size] = row
    return padded


def too_small(masses: FloatArray) -> bool:
    """Return whether products of some masses might leave the range of floats."""
    return bool(((masses > 0.0) & (masses < SMALLEST_MASS)).any())


def fractions_of_blanket(crowd: Crowd, eps: float, share: float) -> FloatArray | None:
    """Return the fractions (J,) of the blanket's components that use a total mass of `share`.

    Using a component raises (a − e^ε b)²/(R(x) − d). The sum is smallest if |a − e^ε b|/(c − d)
    does not exceed a common level. Components of one ratio have the same fraction.
    """
    excesses = np.abs(crowd.a - math.exp(eps) * crowd.b)
    count = int(crowd.classes.max()) + 1
    class_excess, c = (
        np.bincount(crowd.classes, weights=x, minlength=count) for x in (excesses, crowd.c)
    )
    positive = c > 0.0
    if not 0.0 < share < min(MAX_BLANKET_SHARE * float(c.sum()), MAX_HEADS_SHARE):
        return None
    height = np.where(positive, class_excess / np.where(positive, c, 1.0), math.inf)
    positive_heights = height[positive & (height > 0.0)]
    ends = (
        (float(positive_heights.min()), 10.0 * float(positive_heights.max()))
        if positive_heights.size
        else (1.0, 1.0)
    )
    levels = np.geomspace(*ends, LEVELS)[:, None]
    fractions_at_levels = np.minimum(np.maximum(1.0 - height / levels, 0.0), MAX_BLANKET_SHARE)
    # The fractions start at 0, and are interpolated linearly between levels.
    fractions_at_levels = np.concatenate([np.zeros((1, count)), fractions_at_levels])
    shares = np.maximum.accumulate(fractions_at_levels @ c)
    level_index = min(int(np.searchsorted(shares, share)), LEVELS)
    weight = (share - shares[level_index - 1]) / (shares[level_index] - shares[level_index - 1])
    fractions = fractions_at_levels[level_index - 1] + min(weight, 1.0) * (
        fractions_at_levels[level_index] - fractions_at_levels[level_index - 1]
    )
    if not 0.0 < float(fractions @ c) < 1.0:
        return None
    # Components that only extremes have belong to inputs that are more alike. These are far from
    # the worst inputs.
    result: FloatArray = np.where(crowd.c > 0.0, fractions[crowd.classes], MAX_BLANKET_SHARE)
    return result


def _best_tilt(values: FloatArray, masses: FloatArray, n: int) -> tuple[float, float, float]:
    """Return the θ with the smallest maximum of estimates over inputs, that, and the spread of S.

    Both arrays have shape (inputs, J). The estimates take S to be normal.
    """
    spread = math.sqrt(
        n * float(np.max(np.sum(masses * np.clip(values, -1e100, 1e100) ** 2, axis=1)))
    )
    low, high = np.log([0.1 / spread, 60.0 / float(values.max())])
    low = min(low, high - 1.0)
    while True:
        grid = np.linspace(low, high, TILTS)
        logs, sigmas = _log_estimates(values, masses, n, np.exp(grid))
        best = int(np.argmin(np.where(np.isnan(logs), np.inf, logs)))
        spacing = float(grid[1] - grid[0])
        # An error of the tilt counts by its square.
        if not spacing > 1e-2:
            return math.exp(grid[best]), float(logs[best]), float(sigmas[best])
        low, high = grid[best] - spacing, grid[best] + spacing


def _log_estimates(
    values: FloatArray, masses: FloatArray, n: int, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the largest estimate over inputs at each θ, shape (T,), and the largest spread."""
    x = theta[:, None, None] * values
    growth = (masses * np.expm1(x)).sum(axis=-1)
    weights = masses * np.exp(x) / (1.0 + growth)[..., None]
    mean = (weights * values).sum(axis=-1)
    variance = (weights * values**2).sum(axis=-1) - mean**2
    sigma = np.sqrt(n * np.maximum(variance, 0.0))
    y = theta[:, None] * sigma / math.sqrt(2.0)
    # e^{y²} erfc(y) is about 2/√π divided by `normal`.
    normal = y + np.sqrt(y * y + 4.0 / math.pi)
    logs = n * np.log1p(growth) - np.log(normal * theta[:, None] * math.sqrt(math.pi) * n)
    return logs.max(axis=1), sigma.max(axis=1)


def supremum(
    crowd: Crowd,
    eps: float,
    n: int,
    hopeless: float = 1.0,
    shared: SharedAims | None = None,
    enough: float = 0.0,
) -> float:
    """Return an upper bound of D(ε) over all datasets, with the victim's inputs in this order.

    The bound is 1 if nothing better can be claimed, or if its estimate is above `hopeless`. Any
    bound that is at most `enough` will do. Its aim is for n users, or that of `shared`. Raises
    ValueError for eps < 0 or n < 1.
    """
    # D falls in ε, and e^ε b must stay finite.
    eps, n = min(validation.eps(eps), LARGEST_EPS), validation.whole("n", n, minimum=1)
    if crowd.rows is not None:
        return bound_of_rows(crowd, eps, n, hopeless, enough)
    if n == 1:
        # The blanket of a crowd does not cover the pairs of its extremes.
        family = (crowd, *crowd.extremes)
        return cap_at_one(max(divergence(x.blanket(), eps, 1).upper for x in family))
    # Values too far apart for floats raise errors. The bound is then 1.
    no_claim = contextlib.suppress(OverflowError, ZeroDivisionError)
    with np.errstate(all="ignore"), no_claim:
        if crowd.kinds:
            # A bound that underflows there is not 0.
            bound = joint_supremum(crowd.kinds, crowd.rate, eps, n, hopeless)
            return max(cap_at_one(bound), SMALLEST)
        aimed = AimedBound.of(crowd, eps, n) if shared is None else shared.at(eps)
        if aimed.aim is None or not aimed.aim.goal() < math.log(hopeless):
            return 1.0
        return cap_at_one(aimed.at(n))
    return 1.0


def bound_of_rows(
    crowd: Crowd,
    eps: float,
    n: int,
    hopeless: float = 1.0,
    enough: float = 0.0,
    rtol: float = NEARLY_EQUAL,
) -> float:
    """Return an upper bound of D(ε) over all datasets and all ordered pairs of rows."""

    def bound(x0: int, x1: int) -> float:
        """Return the smaller of the bounds of a pair."""
        pair = crowd.of_pair(x0, x1)
        blanket = divergence(pair.blanket().merge(), eps, n, BLANKET_RTOL).upper
        return blanket if blanket <= enough else min(supremum(pair, eps, n, hopeless), blanket)

    # Values too far apart for floats raise errors. The bound is then 1.
    with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ZeroDivisionError):
        return cap_at_one(supremum_of_rows(screen_of(crowd, eps, n), bound, hopeless, enough, rtol))
    return 1.0


def screen_of(crowd: Crowd, eps: float, n: int) -> Screen:
    """Return the screen of all pairs of rows with the number of heads of a promising triple."""
    assert crowd.rows is not None
    aim = best_aim(crowd, eps, n) if n > 1 else None
    share = 0.5 * float(crowd.c.sum()) if aim is None else float(aim.tau @ crowd.c)
    return Screen(crowd.rows, crowd.rel_err, eps, n, share)


@dataclass(eq=False)
class AimedBound:
    """The bound that one aim gives for any number of users from ``fewest`` on.

    ``aim`` is None if no aim works.
    """

    crowd: Crowd
    eps: float
    fewest: int
    aim: SupremumAim | None

    @staticmethod
    def of(crowd: Crowd, eps: float, fewest: int) -> AimedBound:
        """Return the bound with the best aim for `fewest` users, two or more."""
        spend(5e6 + 2e3 * len(crowd.others) * (1 + len(crowd.extremes)) * crowd.c.size)
        return AimedBound(crowd, eps, fewest, best_aim(crowd, eps, fewest))

    @cached_property
    def inputs(self) -> list[InputBound | None]:
        """The bounds if all others hold one input; None where round-off prevents any."""
        assert self.aim is not None
        listed = _inputs_by_spread(self.crowd, self.eps)
        return [InputBound.of(member, held, self.eps, self.aim) for member, held in listed]

    @cached_property
    def no_heads(self) -> NoHeads | None:
        """The term for no heads at all; None if round-off prevents a bound."""
        assert self.aim is not None
        return NoHeads.of(self.crowd, self.eps, self.fewest, self.aim.tau)

    def at(self, n: int) -> float:
        """Return the bound for n users, inf if round-off prevents any."""
        no_heads = math.inf if self.no_heads is None else self.no_heads.at(n)
        return self.largest_main(n) + no_heads

    def largest_main(self, n: int) -> float:
        """Return an upper bound of the maximum over x, inf if round-off prevents any."""
        largest = 0.0
        for input_bound in self.inputs:
            if input_bound is None:
                return math.inf
            # Inputs below the largest bound so far need no close bound.
            for is_rough in (True, False):
                bound = input_bound.at(n, is_rough)
                if math.isnan(bound):
                    return math.inf
                if bound <= largest:
                    break
            largest = max(largest, bound)
        return largest


@dataclass(frozen=True, eq=False)
class SharedAims:
    """Bounds of a crowd for several numbers of users, each with the aim for the ``fewest``.

    At an ε, a second number of users costs a tenth of the first one.
    """

    crowd: Crowd
    fewest: int
    bounds: dict[float, AimedBound] = field(default_factory=dict)

    def at(self, eps: float) -> AimedBound:
        """Return the bound at an ε."""
        if eps not in self.bounds:
            self.bounds[eps] = AimedBound.of(self.crowd, eps, self.fewest)
        return self.bounds[eps]


def cap_at_one(bound: float) -> float:
    """Return the bound rounded up, or 1 if it is larger or NaN."""
    return bound * (1.0 + 4.0 * U) if bound < 1.0 else 1.0


def _inputs_by_spread(crowd: Crowd, eps: float) -> list[tuple[Crowd, OtherInput]]:
    """Return the inputs of others and their crowds by falling variance of (a − e^ε b)/R(x)."""

    def variance(pair: tuple[Crowd, OtherInput]) -> float:
        masses, values = _remaining_values(*pair, eps, np.zeros(crowd.c.size))
        return float(masses @ np.clip(values, -1e100, 1e100) ** 2)

    return sorted(_inputs(crowd), key=variance, reverse=True)


def _remaining_decomposition(
    crowd: Crowd, other: OtherInput, tau: FloatArray
) -> Decomposition | None:
    """Return (a, b, R(x) − d), with pieces as components; None if round-off is too large."""
    heads_law = other.pieces(tau * crowd.c)
    remaining_law = other.law - heads_law
    if (remaining_law < 0.0).any() or too_small(remaining_law):
        return None
    # The subtraction of at most 9/10 of the common mass magnifies errors.
    positive = remaining_law > 0.0
    magnification = np.max((other.law + heads_law)[positive] / remaining_law[positive], initial=1.0)
    law_err = compounded(crowd.rel_err, other.rel_err)
    rel_err = (1.01 * law_err + 5.0 * U) * float(magnification)
    if not rel_err < MAX_RELATIVE_ERROR:
        return None
    return Decomposition(other.pieces(crowd.a), other.pieces(crowd.b), remaining_law, rel_err)


@dataclass(eq=False)
class InputBound:
    """The bound if all others hold one input, for any number of users.

    ``unshared`` bounds what nobody hides, ``heads`` the probability λ. The rest is the integral of
    ``law``, none if that is None.
    """

    aim: SupremumAim
    heads: float
    unshared: float
    law: Law | None

    @staticmethod
    def of(crowd: Crowd, held: OtherInput, eps: float, aim: SupremumAim) -> InputBound | None:
        """Return the bound; None if round-off is too large."""
        remaining_law = _remaining_decomposition(crowd, held, aim.tau)
        if remaining_law is None:
            return None
        heads = float(aim.tau @ crowd.c) * (1.0 + crowd.rel_err + (crowd.c.size + 4.0) * U)
        return InputBound.of_remaining(remaining_law, heads, eps, aim)

    @staticmethod
    def of_remaining(
        remaining_law: Decomposition, heads: float, eps: float, aim: SupremumAim
    ) -> InputBound:
        """Return the bound of a decomposition (a, b, R(x) − d)."""
        unshared = float(excess(remaining_law, math.expm1(eps), remaining_law.c == 0.0)[1])
        law: Law | None = law_at(remaining_law, eps)
        if law is not None and law.values.size == 0:
            # The other users never send what the victim sends.
            law = None
        elif aim.theta == 0.0:
            # No value of any input seems to be above 0.
            every = np.ones(remaining_law.c.size, dtype=np.bool_)
            unshared, law = float(excess(remaining_law, math.expm1(eps), every)[1]), None
        return InputBound(aim, heads, unshared, law)

    def at(self, n: int, is_rough: bool) -> float:
        """Return the bound for n users."""
        if self.law is None:
            return self.unshared
        integral = self.rough if is_rough else self.close
        log_sum = math.inf if integral is None else integral.log_bound(n)
        return combine_bounds((0.0, self.unshared), (0.0, math.inf), (-math.inf, log_sum), n)[1]

    @cached_property
    def rough(self) -> Integral | None:
        """The integral with q(z) ≤ q(θ)."""
        assert self.law is not None
        return Integral.of(self.law, self.aim, self.heads, is_rough=True)

    @cached_property
    def close(self) -> Integral | None:
        """The integral as it is."""
        assert self.law is not None
        return Integral.of(self.law, self.aim, self.heads)


@dataclass(frozen=True, eq=False)
class NoHeads:
    """A bound of (1 − λ)^{n−1} D_res(ε), the term for no heads at all.

    ``heads`` is at most λ, and ``divergence`` at least D_res for any number of users from some on.
    """

    heads: float
    divergence: float

    @staticmethod
    def of(crowd: Crowd, eps: float, fewest: int, tau: FloatArray) -> NoHeads | None:
        """Return the bound from `fewest` users on; None if round-off is too large.

        D_res is replaced by D at n = 1 if inputs are mixtures of extremes.
        """
        family = (crowd, *crowd.extremes)
        heads = min(float(tau @ member.c) for member in family)
        remaining_blanket = crowd.c * (1.0 - tau) / (1.0 - heads)
        crowd_err = max(member.rel_err for member in family)
        rel_err = (1.01 * crowd_err + (crowd.c.size + 16.0) * U) / (1.0 - heads)
        if not rel_err < MAX_RELATIVE_ERROR:
            return None
        # This is D(ε) for an attacker who knows which report is the victim's.
        every = np.ones(crowd.a.size, dtype=np.bool_)
        unhidden = max(float(excess(x.blanket(), math.expm1(eps), every)[1]) for x in family)
        largest = min(unhidden, 1.0)
        if not crowd.extremes and not too_small(remaining_blanket):
            remaining = Decomposition(crowd.a, crowd.b, remaining_blanket, rel_err).merge()
            largest = min(largest, divergence(remaining, eps, fewest, 0.05).upper)
        return NoHeads(heads * (1.0 - rel_err), largest)

    def at(self, n: int) -> float:
        """Return the bound for n users."""
        exponent = (n - 1) * math.log1p(-self.heads) * (1.0 - 8.0 * U)
        probability = math.exp(exponent) * (1.0 + 8.0 * U) + 5e-324
        return probability * self.divergence * (1.0 + 8.0 * U)


@dataclass(frozen=True, eq=False)
class Integral:
    """(h/2π) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² q(z_j)ⁿ for any number n of draws.

    Values are in units of 2^``exponent``, and so are θ, h and 1/η, which scale exactly. ``log_mgf``
    is K(θ), with an error of at most ``log_mgf_err``. Each mode has an upper bound ``log_q`` of
    log q(z_j)/q(θ), ``decay`` = η²t_j²/2 and a ``weight``, which includes h/2π. ``tail`` bounds all
    modes beyond the last one, and ``smoothed`` is η²θ²/2. No log q(z)/q(θ) is above
    ``largest_log_q``.
    """

    exponent: int
    log_mgf: float
    log_mgf_err: float
    log_q: FloatArray
    decay: FloatArray
    weight: FloatArray
    tail: float
    smoothed: float
    largest_log_q: float = 0.0

    @staticmethod
    def of(
        g: Law, aim: SupremumAim, heads: float, is_rough: bool = False, extra: float = 0.0
    ) -> Integral | None:
        """Return the integral of a law; the rough one uses q(z) ≤ q(θ). None on failure.

        The part of q(z) without a modulus is that of `heads` and, relative to q(θ), `extra`.
        """
        exponent = int(g.exponent)
        theta, step = (math.ldexp(x, exponent) for x in (aim.theta, aim.step))
        eta = math.ldexp(aim.eta, -exponent)
        if g.values.size > 2 * CELLS and not is_rough:
            g = compress(g, tilt(g, theta).weights, CELLS)[1]
        point = TiltedLaws.of(g, np.array(1.0), np.array(theta))
        if not point.usable():
            return None
        k, k_err = float(point.log_mgf), float(point.log_mgf_err)
        # A larger share of the heads raises q. The complement is then exactly `tails_share`.
        share = heads * math.exp(k_err - k) * (1.0 + (8.0 + 2.0 * abs(k)) * U)
        tails_share = max(0.0, math.nextafter(1.0 - share, -math.inf))
        spend(1e5 if is_rough else 1e6 + 10.0 * aim.modes)
        t = np.arange(aim.modes + 1.0) * step
        largest_log_q = math.log1p(extra) * (1.0 + 8.0 * U)
        log_q = np.full(t.size, largest_log_q)
        if not is_rough:
            away, err = characteristic(point, step, 0, t.size)
            log_q = _log_q(away.real, away.imag, err, tails_share, extra)
        decay = 0.5 * (eta * t) ** 2 * (1.0 - 8.0 * U)
        weight = np.where(t == 0.0, 1.0, 2.0) / (theta**2 + t**2) * (step / (2.0 * math.pi))
        last = float(t[-1])
        tail = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last**3)
        smoothed = 0.5 * (theta * eta) ** 2
        return Integral(exponent, k, k_err, log_q, decay, weight, tail, smoothed, largest_log_q)

    @staticmethod
    def largest(parts: Sequence[Integral]) -> Integral:
        """Return the integral of the largest q(z_j) of several at each j; all have one aim."""
        first, *_ = parts
        log_mgf = max(part.log_mgf for part in parts)
        shifts = [
            part.log_mgf - log_mgf + 4.0 * U * (abs(part.log_mgf) + abs(log_mgf)) for part in parts
        ]
        pairs = list(zip(shifts, parts, strict=True))
        return replace(
            first,
            log_mgf=log_mgf,
            log_mgf_err=max(part.log_mgf_err for part in parts),
            log_q=np.max([shift + part.log_q for shift, part in pairs], axis=0),
            largest_log_q=max(shift + part.largest_log_q for shift, part in pairs),
        )

    def log_bound(self, n: int) -> float:
        """Return an upper bound of the integral's logarithm for n draws, inf on failure."""
        return log_bound_of_parts([(self, n)])


def log_bound_of_parts(parts: Sequence[tuple[Integral, int]]) -> float:
    """Return an upper bound of the log of an integral of products of powers, inf on failure.

    `parts` are integrals with one aim, each with its number of draws.
    """
    first = parts[0][0]
    log_scale = sum(n * part.log_mgf for part, n in parts)
    err = sum(n * part.log_mgf_err for part, n in parts)
    err += 8.0 * U * (sum(n * abs(part.log_mgf) for part, n in parts) - abs(log_scale))
    if not err < 1.0:
        return math.inf
    log_q = sum(n * part.log_q for part, n in parts)
    log_terms = np.maximum(log_q - first.decay, -700.0)
    beyond = sum(n * part.largest_log_q for part, n in parts)
    tail = first.tail * (math.exp(beyond) if beyond else 1.0)
    total = (float(first.weight @ np.exp(log_terms)) + tail) * (1.0 + 1e-9)
    if not math.isfinite(total):
        return math.inf
    return scaled_logs((0.0, total), log_scale, err, first.smoothed, first.exponent)[1]


def _log_q(
    real: FloatArray, imag: FloatArray, err: FloatArray, tails: float, extra: float = 0.0
) -> FloatArray:
    """Return upper bounds of log(1 − s + |s + (φ − 1)| + `extra`) for s = `tails`.

    `real` and `imag` are the parts of φ − 1, with an error of at most `err`. As s is exact, the
    difference of the modulus and s is that of their squares over their sum.
    """
    square = 2.0 * tails * real + (real * real + imag * imag)
    size = 2.0 * tails * np.abs(real) + (real * real + imag * imag)
    modulus_sum = np.hypot(tails + real, imag) + tails
    divisor = np.where(modulus_sum > 0.0, modulus_sum, 1.0)
    gain = np.where(modulus_sum > 0.0, (square + 16.0 * U * size) / divisor, 0.0) + err
    # Without `extra`, q is at most 1. Near 0 it is not resolved below the rounding.
    logs = np.log1p(np.clip(gain, -1.0 + 1e-15, 0.0) + extra)
    return logs + 8.0 * U * np.abs(logs)
