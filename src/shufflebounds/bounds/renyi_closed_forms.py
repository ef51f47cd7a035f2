"""Bounds of Rényi divergences in closed form that look at nothing but ε₀.

Girgis et al., "On the Rényi Differential Privacy of the Shuffle Model", CCS 2021: Theorems 3.3 to
3.7, and 3.1 as it follows from the last two. Not included are (9), the bound converted from
differential privacy, and Corollary 3.2. Write e for e^{ε₀}, λ for the order and
n̄ = ⌊(n − 1)/(2e)⌋ + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from shufflebounds.bounds.base import FORMULA_ERR, Bound, Kind, closed_form
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.products import FloatArray
from shufflebounds.core.setting import Setting
from shufflebounds.divergence.law import U
from shufflebounds.divergence.moments import log_sum
from shufflebounds.questions.renyi import renyi
from shufflebounds.questions.renyi_conversion import (
    LARGEST_ORDER,
    SMALLEST_ORDER,
    epsilon_of_orders,
)
from shufflebounds.randomizers.discrete import KRR

# Orders that conversions to ε try, about 1 % apart.
_ORDERS = 1.0 + np.geomspace(SMALLEST_ORDER - 1.0, LARGEST_ORDER - 1.0, 1157)


def log_special_moment(order: int, eps0: float, m: int) -> float:
    """Return an upper bound of log E[(D′/D)^λ] for m users of whom all but one have the same input.

    Theorem 3.7, for a whole order λ from 2 to 10⁶: E ≤ 1 + C(λ, 2)(e − 1)²/(me) + Σ_{i=3}^λ
    C(λ, i) iΓ(i/2)((e² − 1)²/(2me²))^{i/2}.
    """
    # The ratio is (e − 1)²/(me).
    log_ratio = 2.0 * _log_sinh(0.5 * eps0) + math.log(4.0 / m)
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
    """Return an upper bound of D_λ, 1 < λ ≤ 10⁶: Theorem 3.7 at m = n̄ plus e^{ε₀λ − (n−1)/(8e)}.

    Between integers (λ − 1)D_λ, which is convex, is interpolated, from 0 at λ = 1. The bound is at
    most ε₀, which holds without a theorem.
    """
    floor = math.floor(order)
    share = order - floor
    low = 0.0 if floor == 1 else _log_moment_3_1(eps0, n, floor)
    if share == 0.0:
        return _divergence_up(low, eps0, order)
    high = _log_moment_3_1(eps0, n, floor + 1)
    return _divergence_up((1.0 - share) * low + share * high, eps0, order)


def _log_moment_3_1(eps0: float, n: int, order: int) -> float:
    """Return the upper bound of (λ − 1)D_λ by Theorem 3.1 at an integer order."""
    log_rare = _log_rare_term(eps0, n, order)
    if log_rare >= (order - 1.0) * eps0:
        return max(log_rare, (order - 1.0) * eps0)
    return float(np.logaddexp(log_special_moment(order, eps0, _clone_count(eps0, n)), log_rare))


def theorem_3_3(eps0: float, n: int, order: float) -> float:
    """Return an upper bound of D_λ, λ > 1, at most ε₀.

    It is log(e^{λ²(e−1)²/n̄} + e^{ε₀λ − (n−1)/(8e)})/(λ − 1).
    """
    log_bulk = (
        2.0 * math.log(order) + 2.0 * math.log(math.expm1(eps0)) - math.log(_clone_count(eps0, n))
    )
    if log_bulk > 600.0:
        return eps0
    bulk = math.exp(log_bulk) * (1.0 + FORMULA_ERR)
    log_moment = float(np.logaddexp(bulk, _log_rare_term(eps0, n, order)))
    return _divergence_up(log_moment, eps0, order)


def theorem_3_4(eps0: float, n: int, order: float) -> Enclosure:
    """Return D_λ, λ > 1, of 2-RR if all other users hold the victim's first input.

    Theorem 3.4 is the divergence of D′ from D at integers λ. This is the larger one of both
    directions.
    """
    return renyi(KRR(2, eps0).dataset_pair(), n, order)


def corollary_3_5(eps0: float, n: int, order: float) -> float:
    """Return a lower bound of D_λ: log(1 + C(λ, 2)(e − 1)²/(ne))/(λ − 1) at ⌊λ⌋ ≥ 2, else 0.

    D_λ rises with λ. The paper's argument does not suffice; docs/proofs/renyi.md proves the
    corollary.
    """
    floor = math.floor(order)
    if floor < 2:
        return 0.0
    log_term = math.log(0.5 * floor * (floor - 1.0)) + 2.0 * _log_sinh(0.5 * eps0)
    value = float(np.logaddexp(0.0, log_term + math.log(4.0 / n))) / (floor - 1.0)
    return min(value * (1.0 - FORMULA_ERR), eps0)


def _clone_count(eps0: float, n: int) -> int:
    """Return n̄, rounded down."""
    return math.floor((n - 1) * (0.5 * math.exp(-eps0)) * (1.0 - FORMULA_ERR)) + 1


def _log_rare_term(eps0: float, n: int, order: float) -> float:
    """Return ε₀λ − (n − 1)/(8e), rounded up."""
    gain, cost = eps0 * order, (n - 1) * math.exp(-eps0) / 8.0
    return gain - cost + FORMULA_ERR * 1e-3 * (gain + cost)


def _divergence_up(log_moment: float, eps0: float, order: float) -> float:
    """Return `log_moment` divided by λ − 1, rounded up, at most ε₀."""
    value = max(0.0, log_moment) / (order - 1.0)
    return min(value * (1.0 + FORMULA_ERR), eps0)


def _log_sinh(x: float) -> float:
    """Return log sinh x for x > 0."""
    return x + math.log(-math.expm1(-2.0 * x) / 2.0)


def _renyi_bound(
    name: str, label: str, source: str, kind: Kind, divergence: Callable[..., Enclosure]
) -> Bound:
    """Return the bound of D_λ by a formula of ε₀, n and λ; an upper bound gives ε, too."""

    # Settings that differ in rounds or δ use the same curve.
    @lru_cache(maxsize=16)
    def curve(eps0: float, n: int) -> FloatArray:
        return np.array([divergence(eps0, n, order).upper for order in _ORDERS.tolist()])

    def renyi_at(_: None, eps0: float, at: Setting) -> Enclosure:
        return divergence(eps0, at.require("n"), at.require("order")).times(at.rounds or 1)

    def epsilon_at(_: None, eps0: float, at: Setting) -> Enclosure:
        values, delta, times = curve(eps0, at.require("n")), at.require("delta"), at.rounds or 1
        eps = epsilon_of_orders(_ORDERS, values, delta, rounds=times)
        return _point_enclosure(min(eps, _point_enclosure(eps0).times(times).upper))

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


def _point_enclosure(value: float) -> Enclosure:
    """Return an enclosure with both ends at `value`."""
    return Enclosure(value, value)


RENYI_3_1 = _renyi_bound(
    "girgis_upper",
    "Girgis et al., Theorem 3.1",
    "Theorem 3.1, from 3.6 and 3.7",
    Kind.UPPER,
    lambda eps0, n, order: _point_enclosure(theorem_3_1(eps0, n, order)),
)
RENYI_3_3 = _renyi_bound(
    "girgis_simple",
    "Girgis et al., Theorem 3.3",
    "Theorem 3.3",
    Kind.UPPER,
    lambda eps0, n, order: _point_enclosure(theorem_3_3(eps0, n, order)),
)
RENYI_3_4 = _renyi_bound(
    "girgis_lower",
    "Girgis et al., Theorem 3.4 (attained by some randomizer)",
    "Theorem 3.4, in both directions: of 2-RR",
    Kind.CLASS_LOWER,
    theorem_3_4,
)
RENYI_3_5 = _renyi_bound(
    "girgis_lower_simple",
    "Girgis et al., Corollary 3.5 (below what some randomizer attains)",
    "Corollary 3.5: of 2-RR",
    Kind.CLASS_LOWER,
    lambda eps0, n, order: _point_enclosure(corollary_3_5(eps0, n, order)),
)
