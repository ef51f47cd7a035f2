"""How claims about Rényi bounds are measured and judged; `claims.yaml` words them.

The words are ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from reproduction.papers.judging import (
    POSITIVE,
    Evidence,
    Judgement,
    at_least,
    at_most,
    claims,
    deficit,
    enclosures,
    extreme,
    measured,
    of_cases,
    one_minus,
    ratio,
    throughout,
    up_to,
)
from shufflebounds.bounds.renyi_closed_forms import log_special_moment

# What the claims of this paper speak of, enclosed at every point of the curves.

_GRID = ["mechanism", "eps0", "n", "order", "rounds"]


def first_below_second(evidence: Evidence) -> pd.DataFrame:
    """1 − Theorem 3.1 / Theorem 3.3, where not both say nothing, that is, come out at ε₀."""
    one, two = (_ends(evidence, "renyi", name) for name in ("girgis_upper", "girgis_simple"))
    quotient = ratio(one, two)
    eps0 = quotient.index.get_level_values("eps0")
    idle = extreme([one, two], "min").loc[quotient.index, "low"] >= eps0
    return measured(one_minus(quotient[~idle]))


def upper_above_lower(evidence: Evidence) -> pd.DataFrame:
    """Theorem 3.1 / (2e^{ε₀} · Theorem 3.4) − 1, where λ ≥ 2 and λ⁴e^{5ε₀} ≤ n/10."""
    names = ("girgis_upper", "girgis_lower")
    quotient = ratio(*(_ends(evidence, "renyi", name) for name in names))
    eps0, order, n = (quotient.index.get_level_values(name) for name in ("eps0", "order", "n"))
    quotient = quotient.div(2.0 * np.exp(eps0), axis=0) - 1.0
    return measured(quotient[(order >= 2.0) & (order**4 * np.exp(5.0 * eps0) <= 0.1 * n)])


def exact_below_first(evidence: Evidence) -> pd.DataFrame:
    """1 − exact divergence of the clone / Theorem 3.1."""
    names = ("clone", "girgis_upper")
    return measured(deficit(*(_ends(evidence, "renyi", name) for name in names)))


def below_advanced(evidence: Evidence) -> pd.DataFrame:
    """1 − ε by Theorem 3.1 / ε by advanced composition of the clone, of several rounds."""
    names = ("girgis_upper", "clone_advanced")
    quotient = ratio(*(_ends(evidence, "epsilon", name) for name in names))
    return measured(one_minus(quotient[quotient.index.get_level_values("rounds") > 1]))


def accounting_above_profile(evidence: Evidence) -> pd.DataFrame:
    """ε by exact Rényi accounting / ε of the composed profile − 1, of the same decomposition."""
    pairs = (("clone_renyi", "clone"), ("upper_renyi", "upper"))
    ratios = [ratio(*(_ends(evidence, "epsilon", name) for name in pair)) for pair in pairs]
    return measured(pd.concat(ratios) - 1.0)


# Remark 3: the part γ of the clones' mean that Chernoff's bound gives away, in Theorem 3.1.


def share_suggested(eps0: float, n: int) -> float:
    """The paper's γ = √(2ε₀e^{ε₀} log(n)/√n), which may exceed 1."""
    return math.sqrt(2.0 * eps0 * math.exp(eps0) * math.log(n) / math.sqrt(n))


def theorem_3_1_at(share: float, eps0: float, n: int, order: int) -> float:
    """Theorem 3.1 at a whole order, with γ = `share` in place of 1/2; at most ε₀.

    In floats: a number to compare, not to claim.
    """
    m = math.floor((1.0 - share) * (n - 1) * math.exp(-eps0)) + 1
    rare = eps0 * order - share * share * (n - 1) * math.exp(-eps0) / 2.0
    moment = float(np.logaddexp(log_special_moment(order, eps0, m), rare))
    return min(eps0, max(0.0, moment) / (order - 1.0))


_LEVELS, _WHOLE_ORDERS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0), (4, 64)
_MANY_USERS, _USERS = 10**14, (10**4, 10**6)
_SHARES = [i / 100.0 for i in range(1, 100)]


def gains(users: Sequence[int]) -> pd.DataFrame:
    """By which factor Theorem 3.1 falls at the suggested γ (0: none), and at the best of many."""
    rows = []
    for eps0, n, order in itertools.product(_LEVELS, users, _WHOLE_ORDERS):
        half, suggested = theorem_3_1_at(0.5, eps0, n, order), share_suggested(eps0, n)
        least = min(theorem_3_1_at(share, eps0, n, order) for share in _SHARES)
        rows.append(
            {
                "where": f"ε₀ = {eps0:g}, n = {n:.0e}, λ = {order}",
                "suggested": (
                    half / theorem_3_1_at(suggested, eps0, n, order) if suggested < 1.0 else 0.0
                ),
                "best": half / least,
            }
        )
    return pd.DataFrame(rows)


def factor_of_two(_: Evidence) -> Judgement:
    """The suggested γ where n is huge."""
    found = gains([_MANY_USERS])
    worst = found.loc[found["suggested"].idxmin()]
    return of_cases(
        found["suggested"].between(1.9, 2.1),
        "points",
        f"a factor of {found['suggested'].min():.3g} to {found['suggested'].max():.3g}",
        f"least: {worst['where']}",
    )


def half_is_better(_: Evidence) -> Judgement:
    """The suggested γ, and the best one, for numbers of users that papers draw."""
    found = gains(_USERS)
    return of_cases(
        found["suggested"] <= 1.0,
        "points",
        f"up to {found['suggested'].max():.3g} times less at the suggested γ, "
        f"{(found['suggested'] == 0.0).sum()} points where it exceeds 1; "
        f"{found['best'].min():.3g} to {found['best'].max():.3g} times less at the best γ",
    )


def _ends(evidence: Evidence, quantity: str, bound: str) -> pd.DataFrame:
    return enclosures(evidence.curves, bound, by=_GRID, quantity=quantity)


INTRODUCTION, CLAIMS = claims(
    __package__,
    {
        "factor_two": factor_of_two,
        "half_is_better": half_is_better,
        "first_below_second": throughout(first_below_second, POSITIVE),
        "gap": throughout(upper_above_lower, at_most(0.05)),
        "structure": throughout(exact_below_first, POSITIVE),
        "below_advanced": throughout(below_advanced, POSITIVE),
        "eightfold": lambda evidence: up_to(below_advanced(evidence), nearly=0.85),
        "accounting": throughout(accounting_above_profile, at_least(0.25)),
    },
)
