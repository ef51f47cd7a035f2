"""`supremum`: D of the worst dataset, bounded from above, and the free choices of that bound.

The bound is certified whatever an `Aim` says: which part of the blanket heads report from, and
where and how closely the line of integration is sampled, decide how tight it is, nothing else.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, Held
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import SMALLEST_MASS, FloatArray, compounded
from shufflebounds.core.work import WorkError, spend
from shufflebounds.divergence.convex_order import compress, spaced
from shufflebounds.divergence.coordinates import joint_supremum
from shufflebounds.divergence.engine import SMALLEST, combine_bounds, divergence, excess
from shufflebounds.divergence.estimates import estimates
from shufflebounds.divergence.fourier import multiply_ends, rescale_ends
from shufflebounds.divergence.law import (
    Law,
    U,
    characteristic,
    law,
    tilt,
)
from shufflebounds.divergence.window import round_down

# How to aim: any aim gives a bound, and these decide how tight it is and what it costs
# (benchmarks/mechanisms.py).
#
# Users who report from the blanket, on average: tried first, the fewest and most, and numbers tried
# where they are dear, so that each makes the main term larger than by this (its logarithm).
_FIRST, _FEWEST, _MOST, _BETWEEN, _DEAR = (4.0, 2.0), 2.0, 60.0, 7, 0.03
# The chance that there is none, as a share of the main term.
_NO_HEADS = 3e-4
# The most of the blanket that they may use up, and of all users.
_MOST_OF_BLANKET, _MOST_HEADS = 0.9, 0.5
# Of the standard deviation that smoothing adds, times θ: it costs half of the square.
_SMOOTHING = 0.06
# Relative size of the modes beyond the last one.
_BEYOND = 1e-7
_MOST_MODES = 2**20
# Levels up to which the blanket is used up.
_LEVELS = 200
# Inputs, and values of each, that are looked at to aim; all inputs, if one has so many times what
# the aim promised.
_LEADING, _MANY_VALUES, _MISSED = 3, 300, 1.5
# Tilts of a first look, and of those around the best, closer each time.
_TILTS, _CLOSER = 48, (9, 9, 9)


@dataclass(frozen=True, eq=False)
class Aim:
    """The free choices of the bound, and a rough idea of what they give.

    ``tau`` (J,) is the share of the blanket that heads report from; ``theta`` is 0 where no value
    is above 0. ``modes`` of the sum are evaluated. ``log_main`` and ``log_rest`` are estimates.
    """

    tau: FloatArray
    theta: float
    eta: float
    step: float
    modes: int
    log_main: float
    log_rest: float

    def goal(self) -> float:
        """The logarithm of what the bound is expected to be."""
        return float(np.logaddexp(self.log_main, self.log_rest))

    @staticmethod
    def of(
        crowd: Crowd, eps: float, n: int, heads: float, leading: int | None = _LEADING
    ) -> Aim | None:
        """For so many heads on average; None where the blanket does not yield that many.

        It looks at so many inputs, `leading`, or at all of them.
        """
        tau = _drained(crowd, eps, heads / (n - 1))
        if tau is None:
            return None
        laws = [_values(*one, eps, tau) for one in _ranked(crowd, eps)[:leading]]
        few = [_few(*one) for one in laws]
        masses, values = (_padded([one[k] for one in few]) for k in range(2))
        share = float(tau @ crowd.c)
        blanket = crowd.c * (1.0 - tau) / (1.0 - share)
        if too_small(blanket):
            return None
        rest = Decomposition(crowd.a, crowd.b, blanket)
        left = estimates(rest, np.array([eps]), np.array([1.0 * n])).log
        log_rest = (n - 1) * math.log1p(-share)
        if not crowd.extremes:
            log_rest += min(0.0, float(np.nan_to_num(left[0])))
        return _sampled(tau, values, masses, n, log_rest)


def _sampled(
    tau: FloatArray, values: FloatArray, masses: FloatArray, n: int, log_rest: float
) -> Aim | None:
    """With the line of integration that suits values and masses, shape (inputs, J)."""
    if not float(values.max()) > 0.0:
        return Aim(tau, 0.0, 0.0, 0.0, 0, -math.inf, log_rest)
    theta, log_main, sigma = _tilt(values, masses, n)
    eta = _SMOOTHING / theta
    step = round_down(2.0 * math.pi / (8.0 * sigma + 16.0 / theta))
    cut = math.sqrt(-2.0 * math.log(_BEYOND))
    modes = max(1, math.ceil(cut / (eta * step)))
    if not (modes <= _MOST_MODES and math.isfinite(log_main)):
        return None
    return Aim(tau, theta, eta, step, modes, log_main, log_rest)


def best_aim(crowd: Crowd, eps: float, n: int) -> Aim | None:
    """With the number of heads that promises the least, about; None where none does."""
    tried = (_aim(crowd, eps, n, heads) for heads in _FIRST)
    first = next((aim for aim in tried if aim is not None), None)
    if first is None:
        return None
    heads = float(first.tau @ crowd.c) * (n - 1)
    # Each of them costs that chance the factor 1/e.
    missing = first.log_rest - first.log_main - math.log(_NO_HEADS)
    wanted = min(max(heads + float(np.nan_to_num(missing)), _FEWEST), _MOST)
    second = _aim(crowd, eps, n, wanted)
    if second is not None and second.log_main < first.log_main + _DEAR:
        return min(first, second, key=Aim.goal)
    found: list[tuple[float, Aim | None]] = [(heads, first), (wanted, second)]
    for count in (_BETWEEN, 2):
        some = np.linspace(heads, wanted, count + 2)[1:-1].tolist()
        found += [(one, _aim(crowd, eps, n, one)) for one in some]
        best, aim = min(found, key=lambda one: math.inf if one[1] is None else one[1].goal())
        around = (wanted - heads) / (count + 1.0)
        heads, wanted = best - 0.75 * around, best + 0.75 * around
    return aim


def _aim(
    crowd: Crowd, eps: float, n: int, heads: float, leading: int | None = _LEADING
) -> Aim | None:
    """None where values are too far apart for floats: it is a choice, and any will do."""
    try:
        return Aim.of(crowd, eps, n, heads, leading)
    except ValueError:  # of a logarithm
        return None


@lru_cache(maxsize=8)
def _ranked(crowd: Crowd, eps: float) -> list[tuple[Crowd, Held]]:
    """All that others may hold, and whose crowd it is, by the variance of (a − e^ε b)/R(x)."""
    family = [(one, held) for one in (crowd, *crowd.extremes) for held in one.others.values()]

    def variance(pair: tuple[Crowd, Held]) -> float:
        masses, values = _values(*pair, eps, np.zeros(crowd.c.size))
        return float(masses @ np.clip(values, -1e100, 1e100) ** 2)

    return sorted(family, key=variance, reverse=True)


def _values(crowd: Crowd, held: Held, eps: float, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Masses and values of (a − e^ε b)/(R(x) − d)."""
    rest = held.law - held.pieces(tau * crowd.c)
    excesses = held.pieces(crowd.a - math.exp(eps) * crowd.b)
    with np.errstate(all="ignore"):
        return rest, np.where(rest > 0.0, excesses / rest, 0.0)


def _few(masses: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means of neighbouring values where there are many."""
    if masses.size <= _MANY_VALUES:
        return masses, values
    order = np.argsort(values)
    masses, values = masses[order], values[order]
    # Rare values may matter most.
    even = np.arange(_MANY_VALUES) * masses.size // _MANY_VALUES
    starts = np.unique(np.append(even, spaced(values, masses, _MANY_VALUES)))
    held = np.add.reduceat(masses, starts)
    return held, np.add.reduceat(masses * values, starts) / np.where(held > 0.0, held, 1.0)


def _padded(rows: list[FloatArray]) -> FloatArray:
    """With zeros, shape (rows, the longest)."""
    longest = max(row.size for row in rows)
    return np.stack([np.pad(row, (0, longest - row.size)) for row in rows])


def too_small(masses: FloatArray) -> bool:
    """Whether products of some of them might not fit in floats."""
    return bool(((masses > 0.0) & (masses < SMALLEST_MASS)).any())


def _drained(crowd: Crowd, eps: float, share: float) -> FloatArray | None:
    """How much of each blanket component to use for `share` of mass in all, as fractions (J,).

    Using up a component raises (a − e^ε b)²/(R(x) − d), which is least where it does not exceed a
    level in |a − e^ε b|/(c − d). Components of one ratio have the same fraction.
    """
    excesses = np.abs(crowd.a - math.exp(eps) * crowd.b)
    count = int(crowd.classes.max()) + 1
    excess_, c = (
        np.bincount(crowd.classes, weights=x, minlength=count) for x in (excesses, crowd.c)
    )
    used = c > 0.0
    if not 0.0 < share < min(_MOST_OF_BLANKET * float(c.sum()), _MOST_HEADS):
        return None
    height = np.where(used, excess_ / np.where(used, c, 1.0), math.inf)
    uneven = height[used & (height > 0.0)]
    ends = (float(uneven.min()), 10.0 * float(uneven.max())) if uneven.size else (1.0, 1.0)
    levels = np.geomspace(*ends, _LEVELS)[:, None]
    drained = np.minimum(np.maximum(1.0 - height / levels, 0.0), _MOST_OF_BLANKET)
    # From none at all to the most, in between linearly.
    drained = np.concatenate([np.zeros((1, count)), drained])
    shares = np.maximum.accumulate(drained @ c)
    above = min(int(np.searchsorted(shares, share)), _LEVELS)
    part = (share - shares[above - 1]) / (shares[above] - shares[above - 1])
    fractions = drained[above - 1] + min(part, 1.0) * (drained[above] - drained[above - 1])
    if not 0.0 < float(fractions @ c) < 1.0:
        return None
    # What only extremes have: inputs that are more alike, and further from the worst.
    found: FloatArray = np.where(crowd.c > 0.0, fractions[crowd.classes], _MOST_OF_BLANKET)
    return found


def _tilt(values: FloatArray, masses: FloatArray, n: int) -> tuple[float, float, float]:
    """θ at which the largest estimate over inputs is least, that estimate, and the spread of S.

    Both arrays have shape (inputs, J). The sums are about those of a normal density.
    """
    spread = math.sqrt(
        n * float(np.max(np.sum(masses * np.clip(values, -1e100, 1e100) ** 2, axis=1)))
    )
    low, high = math.log(0.1 / spread), math.log(60.0 / float(values.max()))
    grid = np.linspace(min(low, high - 1.0), high, _TILTS)
    for count in (*_CLOSER, 1):
        logs, sigmas = _log_estimates(values, masses, n, np.exp(grid))
        logs = np.where(np.isnan(logs), np.inf, logs)
        place = int(np.argmin(logs))
        centre, cell = float(grid[place]), float(grid[1] - grid[0]) if grid.size > 1 else 0.0
        grid = np.linspace(centre - cell, centre + cell, count) if count > 1 else np.array([centre])
    return math.exp(centre), float(logs[place]), float(sigmas[place])


def _log_estimates(
    values: FloatArray, masses: FloatArray, n: int, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The largest estimate over inputs at each θ, shape (T,), and the largest spread there."""
    x = theta[:, None, None] * values
    growth = (masses * np.expm1(x)).sum(axis=-1)
    weights = masses * np.exp(x) / (1.0 + growth)[..., None]
    mean = (weights * values).sum(axis=-1)
    variance = (weights * values**2).sum(axis=-1) - mean**2
    sigma = np.sqrt(n * np.maximum(variance, 0.0))
    y = theta[:, None] * sigma / math.sqrt(2.0)
    # e^{y²} erfc(y) is about 2/√π over this.
    normal = y + np.sqrt(y * y + 4.0 / math.pi)
    logs = n * np.log1p(growth) - np.log(normal * theta[:, None] * math.sqrt(math.pi) * n)
    return logs.max(axis=1), sigma.max(axis=1)


# The divergence of the worst dataset, bounded from above: no decomposition's bound.
#
# Every other user is thought to toss a coin: with probability λ its report comes from d/λ, d = τc
# a part of the blanket, else from the rest of its own law. Among those whose coins show heads the
# victim hides; the labelled reports of the others are independent values g_x, not identical ones,
# but a bound of their sum by the moduli of moment generating functions on a line is an average over
# users. For any θ, η > 0 and h > 0, with t_j = jh, z_j = θ + it_j and ρ_x = R(x) − d,
#
#     D(ε) ≤ max_x {Σ_{R(x)=0} (a − e^ε b)₊ + (h/2πn) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² q_x(z_j)ⁿ}
#            + (1 − λ)^{n−1} D_res(ε),        q_x(z) = λ + |Σ_y ρ_x e^{z (a − e^ε b)/ρ_x}|,
#
# where D_res is the divergence of what is left of the blanket, (a, b, (c − d)/(1 − λ)). All this
# is proved in docs/closing-the-gap.md. τ, θ, η and h decide how tight it is, nothing else.

# Values that a law is spread to where it has more: none at all (|φ| ≤ 1), few, and enough.
_CELLS = (0, 40, 500)
# Modes times components held in memory at once.
_BLOCK = 2**19
# e^ε b must stay a float.
_LARGEST_EPS = 690.0
# What may be added to the maximum without another look.
_NEGLIGIBLE = 1e-4
# What may be more than the largest so far, or than what values that count one by one make.
_HARDLY_MORE, _LITTLE_MORE = 1.0 + 1e-4, 1.0 + 1e-3
# Relative uncertainty of masses beyond which nothing is claimed: up to it the factor 1.01 covers
# what the first order of errors leaves out.
_MOST_DOUBT = 1e-4


def supremum(crowd: Crowd, eps: float, n: int, hopeless: float = 1.0) -> float:
    """Upper bound of D(ε) of n users over all datasets, with the victim's inputs in this order.

    1 where nothing better can be claimed, or the bound promises to be above `hopeless`. Raises
    ValueError for eps < 0 or n < 1.
    """
    # D falls in ε, and e^ε b must stay finite.
    eps, n = min(validation.eps(eps), _LARGEST_EPS), validation.whole("n", n, minimum=1)
    if n == 1:
        return _at_most_one(divergence(crowd.blanket(), eps, 1).upper)
    # Values too far apart for floats raise, and too much work; nothing is claimed of them.
    nothing = contextlib.suppress(OverflowError, ZeroDivisionError, WorkError)
    with np.errstate(all="ignore"), nothing:
        if crowd.kinds:
            # What underflows there is not 0.
            found = joint_supremum(crowd.kinds, crowd.rate, eps, n, hopeless)
            return max(_at_most_one(found), SMALLEST)
        spend(8e6 + 2e3 * len(crowd.others) * (1 + len(crowd.extremes)) * crowd.c.size)
        best = best_aim(crowd, eps, n)
        if best is None or not best.goal() < math.log(hopeless):
            return 1.0
        found = _aimed(crowd, eps, n, best)
        if found > _MISSED * math.exp(best.goal()):
            other = _aim(crowd, eps, n, float(best.tau @ crowd.c) * (n - 1), None)
            found = found if other is None else min(found, _aimed(crowd, eps, n, other))
        return found
    return 1.0


def _aimed(crowd: Crowd, eps: float, n: int, aim: Aim) -> float:
    main = _all_others(crowd, eps, n, aim)
    return _at_most_one(main + _no_heads(crowd, eps, n, aim.tau, _NEGLIGIBLE * main))


def _at_most_one(bound: float) -> float:
    # NaN is no bound at all.
    return bound * (1.0 + 4.0 * U) if bound < 1.0 else 1.0


def _all_others(crowd: Crowd, eps: float, n: int, aim: Aim) -> float:
    """The maximum over x; inf where round-off leaves nothing."""
    rests = []
    for whose, held in _ranked(crowd, eps):
        rest = _without_heads(whose, held, aim.tau)
        if rest is None:
            return math.inf
        rests.append((whose, rest))
    found = 0.0
    # Once the largest is known the others need not be.
    for whose, rest in rests:
        one = _one_input(whose, rest, eps, n, aim, found)
        if math.isnan(one):
            return math.inf
        found = max(found, one)
    return found


def _without_heads(crowd: Crowd, held: Held, tau: FloatArray) -> Decomposition | None:
    """(a, b, R(x) − d), with pieces as components; None where round-off leaves nothing of it."""
    sure = held.pieces(tau * crowd.c)
    rest = held.law - sure
    if (rest < 0.0).any() or too_small(rest):
        return None
    # Subtracting at most 9/10 of what another input is sure of magnifies errors.
    used = rest > 0.0
    magnified = np.max((held.law + sure)[used] / rest[used], initial=1.0)
    off = compounded(crowd.rel_err, held.rel_err)
    rel_err = (1.01 * off + 5.0 * U) * float(magnified)
    if not rel_err < _MOST_DOUBT:
        return None
    return Decomposition(held.pieces(crowd.a), held.pieces(crowd.b), rest, rel_err)


def _one_input(
    crowd: Crowd,
    rest: Decomposition,
    eps: float,
    n: int,
    aim: Aim,
    enough: float,
) -> float:
    """What all others holding one input give in the maximum; roughly if below `enough`."""
    heads = float(aim.tau @ crowd.c) * (1.0 + crowd.rel_err + (crowd.c.size + 4.0) * U)
    apart = float(excess(rest, math.expm1(eps), rest.c == 0.0)[1])
    g = law(rest, eps)
    if g.values.size == 0:  # others never send what the victim does
        return apart
    if aim.theta == 0.0:  # no value of any input seems to be above 0
        everything = np.ones(rest.c.size, dtype=np.bool_)
        return float(excess(rest, math.expm1(eps), everything)[1])
    bound = math.inf
    for cells in _CELLS:
        log_sum = _log_integral(g, n, aim, heads, cells)
        bound = combine_bounds((0.0, apart), (0.0, math.inf), (-math.inf, log_sum), n)[1]
        rough = max(enough * _HARDLY_MORE, apart * _LITTLE_MORE)
        if bound <= rough or g.values.size <= 2 * cells:
            break
    return bound


def _no_heads(crowd: Crowd, eps: float, n: int, tau: FloatArray, negligible: float = 0.0) -> float:
    """What is left if nobody reports from the blanket, by the blanket that remains.

    Without that where the chance of it is `negligible`, and where inputs are mixtures of extremes.
    """
    family = (crowd, *crowd.extremes)
    heads = min(float(tau @ one.c) for one in family)
    rest = crowd.c * (1.0 - tau) / (1.0 - heads)
    rel_err = (1.01 * crowd.rel_err + (crowd.c.size + 16.0) * U) / (1.0 - heads)
    if not rel_err < _MOST_DOUBT:
        return math.inf
    least = heads * (1.0 - rel_err)
    chance = math.exp((n - 1) * math.log1p(-least) * (1.0 - 8.0 * U)) * (1.0 + 8.0 * U) + 5e-324
    # What the victim's report says to somebody who knows that it is the victim's.
    everything = np.ones(crowd.a.size, dtype=np.bool_)
    alone = max(float(excess(one.blanket(), math.expm1(eps), everything)[1]) for one in family)
    bound = chance * min(alone, 1.0) * (1.0 + 8.0 * U)
    if crowd.extremes or bound <= negligible or too_small(rest):
        return bound
    left = divergence(Decomposition(crowd.a, crowd.b, rest, rel_err).merge(), eps, n, 0.05)
    return min(bound, chance * left.upper * (1.0 + 8.0 * U))


def _log_integral(g: Law, n: int, aim: Aim, heads: float, cells: int) -> float:
    """Upper bound of log (h/2π) Σ_j e^{η²(θ²−t_j²)/2} |z_j|⁻² q(z_j)ⁿ; inf where nothing is left.

    Of about so many cells where there are more values; of none by q(z) ≤ q(θ). Values are in units
    of 2^exponent: so are θ, h and 1/η, to which that is exact.
    """
    theta, step = (math.ldexp(x, g.exponent) for x in (aim.theta, aim.step))
    eta = math.ldexp(aim.eta, -g.exponent)
    tilted = tilt(g, theta)
    if 0 < 2 * cells < g.values.size:
        g = compress(g, tilted.weights, cells)[1]
        tilted = tilt(g, theta)
    k, k_err = tilted.log_mgf, tilted.log_mgf_err
    if not (n * k_err < 1.0 and tilted.left_out < 1.0):
        return math.inf
    # Raising the share of the heads raises q. What is not theirs is exactly `tails` then.
    share = heads * math.exp(k_err - k) * (1.0 + (8.0 + 2.0 * abs(k)) * U)
    tails = max(0.0, math.nextafter(1.0 - share, -math.inf))
    spend(1e6 + aim.modes * (10.0 + (30.0 * g.values.size if cells else 0.0)))
    total, t = 0.0, np.arange(aim.modes + 1.0) * step
    block = max(1, _BLOCK // max(1, g.values.size))
    for part in (t[start : start + block] for start in range(0, t.size, block)):
        log_q = np.zeros(part.size)
        if cells:
            away, err = characteristic(g, tilted, part)
            log_q = _log_q(away.real, away.imag, err, tails)
        exponent = n * log_q - 0.5 * (eta * part) ** 2 * (1.0 - 8.0 * U)
        weight = np.where(part == 0.0, 1.0, 2.0) / (theta**2 + part**2)
        total += float(np.sum(weight * np.exp(np.maximum(exponent, -700.0))))
    last = float(t[-1])
    beyond = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last**3)
    total = (total * step / (2.0 * math.pi) + beyond) * (1.0 + 1e-9)
    if not math.isfinite(total):
        return math.inf
    high = multiply_ends(0.0, total, n * k, n * k_err, theta * eta)[1]
    return rescale_ends(-math.inf, high, g.exponent)[1]


def _log_q(real: FloatArray, imag: FloatArray, err: FloatArray, tails: float) -> FloatArray:
    """Upper bounds of log(1 − s + |s + (φ − 1)|) for s = `tails` and φ − 1 known to within `err`.

    With s exact, the difference of the modulus and s is that of their squares over their sum.
    """
    square = 2.0 * tails * real + (real * real + imag * imag)
    size = 2.0 * tails * np.abs(real) + (real * real + imag * imag)
    both = np.hypot(tails + real, imag) + tails
    safe = np.where(both > 0.0, both, 1.0)
    gain = np.where(both > 0.0, (square + 16.0 * U * size) / safe, 0.0) + err
    # q is at most 1, and less than what rounding leaves of it near 0 is of no use.
    return np.log1p(np.clip(gain, -1.0 + 1e-15, 0.0)) * (1.0 - 8.0 * U)
