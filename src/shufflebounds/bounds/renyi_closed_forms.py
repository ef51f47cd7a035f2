"""Rényi divergences in closed form that know nothing of a randomizer but its ε₀.

Girgis et al., "On the Rényi Differential Privacy of the Shuffle Model", CCS 2021: Theorems 3.3 to
3.7, and 3.1 as it follows from the last two; neither (9), the bound converted from differential
privacy, nor Corollary 3.2. Write e for e^{ε₀}, λ for the order and n̄ = ⌊(n − 1)/(2e)⌋ + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from shufflebounds.accounting.renyi import renyi
from shufflebounds.accounting.renyi_conversion import (
    LARGEST_ORDER,
    SMALLEST_ORDER,
    epsilon_of_orders,
)
from shufflebounds.bounds.base import Bound, Kind, closed_form
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.setting import Setting
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import log_sum
from shufflebounds.randomizers.discrete import KRR

# Real orders that conversions try, about 1 % apart; the largest order whose sums are worth their
# time; and how far floats are trusted.
_ORDERS = 1.0 + np.geomspace(SMALLEST_ORDER - 1.0, LARGEST_ORDER - 1.0, 1157)
_MOST_TERMS = 10**6
_ROUNDING = 2.0**-40


def log_special_moment(order: int, eps0: float, m: int) -> float:
    """An upper bound of log E[(D′/D)^λ] of m users of whom all but one have the same input.

    Theorem 3.7, for a whole order λ from 2 to 10⁶: E ≤ 1 + C(λ, 2)(e − 1)²/(me) + Σ_{i=3}^λ
    C(λ, i) iΓ(i/2)((e² − 1)²/(2me²))^{i/2}.
    """
    log_ratio = 2.0 * _log_sinh(0.5 * eps0) + math.log(4.0 / m)  # (e − 1)²/(me)
    log_power = 2.0 * _log_sinh(eps0) + math.log(2.0 / m)
    i = np.arange(1.0, order + 1.0)
    choose = np.cumsum(np.log((order + 1.0 - i) / i))
    # iΓ(i/2) = 2Γ(i/2 + 1), and Γ(x + 1) = xΓ(x): from Γ(3/2) and Γ(2) on.
    gamma = np.empty(order)
    gamma[0::2] = 0.5 * math.log(math.pi / 4.0) + np.cumsum(np.log(np.append(1.0, 0.5 * i[2::2])))
    gamma[1::2] = np.cumsum(np.log(np.append(1.0, 0.5 * i[3::2])))
    terms = choose + math.log(2.0) + gamma + 0.5 * i * log_power
    terms[1] = choose[1] + log_ratio
    largest = float(np.abs(choose).max() + np.abs(gamma).max() + 0.5 * order * abs(log_power))
    excess = float(log_sum(terms[1:])) + (8.0 * order + 64.0) * U * (1.0 + largest)
    return float(np.logaddexp(0.0, excess)) * (1.0 + 8.0 * U)


def theorem_3_1(eps0: float, n: int, order: float) -> float:
    """Upper bound of D_λ, 1 < λ ≤ 10⁶: Theorem 3.7 at m = n̄ plus e^{ε₀λ − (n−1)/(8e)}.

    Between whole orders (λ − 1)D_λ, which is convex, is interpolated, from 0 at λ = 1. Never above
    ε₀, which holds without a theorem.
    """
    below = math.floor(order)
    share = order - below
    ends = [
        0.0 if whole == 1 else _log_sum_3_1(eps0, n, whole)
        for whole in (below, below + 1)
        if whole == below or share > 0.0
    ]
    value = ends[0] if share == 0.0 else (1.0 - share) * ends[0] + share * ends[1]
    return _capped(value, eps0, order)


def _log_sum_3_1(eps0: float, n: int, order: int) -> float:
    rare = _rare(eps0, n, order)
    if rare >= (order - 1.0) * eps0 or order > _MOST_TERMS:
        return max(rare, (order - 1.0) * eps0)
    return float(np.logaddexp(log_special_moment(order, eps0, _few(eps0, n)), rare))


def theorem_3_3(eps0: float, n: int, order: float) -> float:
    """Upper bound of D_λ, λ > 1: log(e^{λ²(e−1)²/n̄} + e^{ε₀λ − (n−1)/(8e)})/(λ − 1), at most ε₀."""
    log_bulk = 2.0 * math.log(order) + 2.0 * math.log(math.expm1(eps0)) - math.log(_few(eps0, n))
    if log_bulk > 600.0:
        return eps0
    value = float(np.logaddexp(math.exp(log_bulk) * (1.0 + _ROUNDING), _rare(eps0, n, order)))
    return _capped(value, eps0, order)


def theorem_3_4(eps0: float, n: int, order: float) -> Enclosure:
    """D_λ of 2-RR where all others hold the victim's first input, of real orders λ > 1.

    Theorem 3.4 is that of D′ to D at whole orders; the larger of both directions counts here.
    """
    return renyi(KRR(2, eps0).dataset_pair(), n, order)


def corollary_3_5(eps0: float, n: int, order: float) -> float:
    """Lower bound of D_λ: log(1 + C(λ, 2)(e − 1)²/(ne))/(λ − 1) at the whole order ⌊λ⌋ ≥ 2, else 0.

    D_λ rises with λ. docs/renyi.md says why the corollary holds, for which the paper's argument
    does not suffice.
    """
    whole = math.floor(order)
    if whole < 2:
        return 0.0
    log_term = math.log(0.5 * whole * (whole - 1.0)) + 2.0 * _log_sinh(0.5 * eps0)
    value = float(np.logaddexp(0.0, log_term + math.log(4.0 / n))) / (whole - 1.0)
    return min(value * (1.0 - _ROUNDING), eps0)


def _few(eps0: float, n: int) -> int:
    """n̄, never too large."""
    return math.floor((n - 1) * (0.5 * math.exp(-eps0)) * (1.0 - _ROUNDING)) + 1


def _rare(eps0: float, n: int, order: float) -> float:
    """ε₀λ − (n − 1)/(8e), rounded up."""
    gain, cost = eps0 * order, (n - 1) * math.exp(-eps0) / 8.0
    return gain - cost + _ROUNDING * 1e-3 * (gain + cost)


def _capped(log_moment: float, eps0: float, order: float) -> float:
    value = max(0.0, log_moment) / (order - 1.0)
    return min(value * (1.0 + _ROUNDING), eps0)


def _log_sinh(x: float) -> float:
    """Log sinh x, x > 0."""
    return x + math.log(-math.expm1(-2.0 * x) / 2.0)


def _bound(
    name: str, label: str, source: str, kind: Kind, divergence: Callable[..., Enclosure]
) -> Bound:
    """Of D_λ by ε₀, n and λ; an upper bound is one of ε, too."""

    # Many rounds or δ are asked of the same curve.
    @lru_cache(maxsize=16)
    def curve(eps0: float, n: int) -> FloatArray:
        return np.array([divergence(eps0, n, order).upper for order in _ORDERS.tolist()])

    def renyi_at(_: None, eps0: float, at: Setting) -> Enclosure:
        found = divergence(eps0, at.require("n"), at.require("order"))
        return found.times(at.rounds or 1)

    def epsilon_at(_: None, eps0: float, at: Setting) -> Enclosure:
        values, delta, times = curve(eps0, at.require("n")), at.require("delta"), at.rounds or 1
        found = epsilon_of_orders(_ORDERS, values, delta, rounds=times)
        return _exactly(min(found, _exactly(eps0).times(times).upper))

    quantities = {"renyi": renyi_at, "epsilon": epsilon_at}
    return closed_form(
        name,
        kind,
        label=label,
        source=f"Girgis et al., CCS 2021, {source}",
        knows_mechanism=False,
        quantities=quantities if kind is Kind.UPPER else {"renyi": renyi_at},
        composes=True,
    )


def _exactly(value: float) -> Enclosure:
    return Enclosure(value, value)


RENYI_3_1 = _bound(
    "girgis_upper",
    "Girgis et al., Theorem 3.1",
    "Theorem 3.1, from 3.6 and 3.7",
    Kind.UPPER,
    lambda eps0, n, order: _exactly(theorem_3_1(eps0, n, order)),
)
RENYI_3_3 = _bound(
    "girgis_simple",
    "Girgis et al., Theorem 3.3",
    "Theorem 3.3",
    Kind.UPPER,
    lambda eps0, n, order: _exactly(theorem_3_3(eps0, n, order)),
)
RENYI_3_4 = _bound(
    "girgis_lower",
    "Girgis et al., Theorem 3.4 (attained by some randomizer)",
    "Theorem 3.4, in both directions: of 2-RR",
    Kind.CLASS_LOWER,
    theorem_3_4,
)
RENYI_3_5 = _bound(
    "girgis_lower_simple",
    "Girgis et al., Corollary 3.5 (attained by some randomizer)",
    "Corollary 3.5: of 2-RR",
    Kind.CLASS_LOWER,
    lambda eps0, n, order: _exactly(corollary_3_5(eps0, n, order)),
)
