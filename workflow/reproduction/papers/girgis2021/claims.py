"""Measures of claims of Girgis et al., CCS 2021, that claims.yaml cannot express.

The (ε, δ)-guarantee that the abstract compares with is not in the text at hand. It is read as the
closed form of Feldman, McMillan and Talwar (FOCS 2021), the best one published when the paper was
written, with the advanced composition of Dwork, Rothblum and Vadhan.

Remark 3 is about the part γ of the clones' mean that Chernoff's bound gives away in Theorem 3.1,
which no curve shows. It is computed in floats, for comparison: nothing of it is certified.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import logsumexp

from reproduction.papers.judging import Judgement, Measure, judge_cases
from reproduction.papers.points import (
    Evidence,
    enclosures,
    one_minus,
    point_table,
    ratio,
    saving,
    smallest,
)
from shufflebounds.bounds.clones import clone_closed_form
from shufflebounds.bounds.renyi_closed_forms import log_special_moment
from shufflebounds.core.clones import stronger_clone
from shufflebounds.questions.renyi import renyi
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import BLH, OUE, RAPPOR
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.randomizers.laplace import Laplace

# The points of Remark 3: ε₀, whole orders λ, and numbers n of users that papers draw.
LEVELS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
ORDERS = (4, 64)
USERS = (10**4, 10**6)

# Mechanisms whose structure may help, and values of ε₀.
KNOWN_MECHANISMS: Mapping[str, Callable[[float], Randomizer]] = {
    "10-RR": partial(KRR, 10),
    "BLH": BLH,
    "RAPPOR": RAPPOR,
    "OUE": OUE,
    "Laplace": Laplace,
}
KNOWN_LEVELS = (0.5, 3.0)

# The largest number m of users of Lemma D.1, and differences of logarithms that are rounding.
MOST_CLONES, ROUND_OFF = 200, 1e-12

# A number of users that stands for n → ∞.
MANY_USERS = 10**14

# The least number of rounds that counts as many.
MANY_ROUNDS = 100

# Values of γ among which the best one is searched.
SHARES = tuple(i / 100.0 for i in range(1, 100))


def first_below_second(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − Theorem 3.1 / Theorem 3.3, unless both come out at ε₀, which says nothing."""
    bounds = [_divergence(evidence, name) for name in ("girgis_upper", "girgis_simple")]
    quotient = ratio(*bounds)
    eps0 = quotient.index.get_level_values("eps0")
    is_idle = smallest(bounds).loc[quotient.index, "low"] >= eps0
    return point_table(one_minus(quotient[~is_idle]))


def upper_above_lower(evidence: Evidence) -> pd.DataFrame:
    """Return Theorem 3.1 / (2e^{ε₀} · Theorem 3.4) − 1, where λ ≥ 2 and λ⁴e^{5ε₀} ≤ n/10."""
    quotient = ratio(_divergence(evidence, "girgis_upper"), _divergence(evidence, "girgis_lower"))
    eps0, order, n = (quotient.index.get_level_values(name) for name in ("eps0", "order", "n"))
    quotient = quotient.div(2.0 * np.exp(eps0), axis=0) - 1.0
    return point_table(quotient[(order >= 2.0) & (order**4 * np.exp(5.0 * eps0) <= 0.1 * n)])


def _divergence(evidence: Evidence, bound: str) -> pd.DataFrame:
    return enclosures(evidence.curves, bound, quantity="renyi")


def saved_of_published(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − ε by Theorem 3.1 / ε by `published_composition`, for `MANY_ROUNDS` or more."""
    ours = enclosures(evidence.curves, "girgis_upper")
    ours = ours[ours.index.get_level_values("rounds") >= MANY_ROUNDS]
    settings = ours.index.to_frame()[["eps0", "n", "delta", "rounds"]].to_numpy().tolist()
    theirs = [published_composition(*setting) for setting in settings]
    return point_table(saving(ours, ours.assign(low=theirs, high=theirs)))


def published_composition(eps0: float, n: float, delta: float, rounds: float) -> float:
    """Return ε of rounds by the clone's closed form and advanced composition, δ shared evenly."""
    eps = clone_closed_form(eps0, int(n), delta / (2.0 * rounds)).upper
    return eps * math.sqrt(-2.0 * rounds * math.log(delta / 2.0)) + rounds * eps * math.expm1(eps)


def suggested_share(eps0: float, n: int) -> float:
    """Return the paper's γ = √(2ε₀e^{ε₀} log(n)/√n), which may exceed 1."""
    return math.sqrt(2.0 * eps0 * math.exp(eps0) * math.log(n) / math.sqrt(n))


def theorem_3_1_at(share: float, eps0: float, n: int, order: int) -> float:
    """Return Theorem 3.1 at a whole order, with γ = `share` in place of 1/2; at most ε₀."""
    m = math.floor((1.0 - share) * (n - 1) * math.exp(-eps0)) + 1
    rare = eps0 * order - share * share * (n - 1) * math.exp(-eps0) / 2.0
    moment = float(np.logaddexp(log_special_moment(order, eps0, m), rare))
    return min(eps0, max(0.0, moment) / (order - 1.0))


def gains(users: Sequence[int]) -> pd.DataFrame:
    """Return the factor by which Theorem 3.1 falls at the suggested γ (0.

    None), and at the best one.
    """
    rows = []
    for eps0, n, order in itertools.product(LEVELS, users, ORDERS):
        half, suggested = theorem_3_1_at(0.5, eps0, n, order), suggested_share(eps0, n)
        least = min(theorem_3_1_at(share, eps0, n, order) for share in SHARES)
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


def knowledge_saves(_: Evidence) -> pd.DataFrame:
    """Return 1 − D_λ(blanket) / D_λ(stronger clone) of mechanisms, the latter knowing ε₀ alone."""
    rows = []
    for (name, make), eps0, n, order in itertools.product(
        KNOWN_MECHANISMS.items(), KNOWN_LEVELS, USERS, ORDERS
    ):
        ours, theirs = (
            renyi(pair, n, float(order)) for pair in (make(eps0).blanket(), stronger_clone(eps0))
        )
        rows.append(
            {
                "mechanism": name,
                "eps0": eps0,
                "n": n,
                "detail": f"λ = {order}",
                "low": 1.0 - ours.upper / theirs.lower,
                "high": 1.0 - ours.lower / theirs.upper,
            }
        )
    return pd.DataFrame(rows)


def log_moment(order: int, eps0: float, m: int) -> float:
    """Return log E_m of 2-RR: E(e^{ε₀} H + e^{−ε₀}(1 − H))^λ, mH binomial of m and 1/(e^{ε₀} + 1).

    H is the share of m users who all hold one input that report the other.
    """
    e, counts = math.exp(eps0), np.arange(m + 1.0)
    masses = stats.binom.logpmf(counts, m, 1.0 / (e + 1.0))
    return float(logsumexp(masses + order * np.log((e - 1.0 / e) * counts / m + 1.0 / e)))


def moments_fall(_: Evidence) -> Judgement:
    """Return by how much E_m of 2-RR changes from one m to the next."""
    rises = []
    for eps0, order in itertools.product(LEVELS, (2, 8, 64)):
        moments = [log_moment(order, eps0, m) for m in range(1, MOST_CLONES + 1)]
        rises += [more - less for less, more in itertools.pairwise(moments)]
    return judge_cases(
        [rise <= ROUND_OFF for rise in rises],
        "steps of m",
        f"log E_m rises at {sum(rise > ROUND_OFF for rise in rises)} of {len(rises)} steps",
    )


def factor_of_two(_: Evidence) -> Judgement:
    """Return whether the suggested γ gains a factor of 2 where n is huge."""
    table = gains([MANY_USERS])
    worst = table.loc[table["suggested"].idxmin()]
    return judge_cases(
        table["suggested"].between(1.9, 2.1),
        "points",
        f"a factor of {table['suggested'].min():.3g} to {table['suggested'].max():.3g}",
        f"least: {worst['where']}",
    )


def half_is_better(_: Evidence) -> Judgement:
    """Return whether the suggested γ gains nothing for numbers of users that papers draw."""
    table = gains(USERS)
    return judge_cases(
        table["suggested"] <= 1.0,
        "points",
        f"up to {table['suggested'].max():.3g} times less at the suggested γ, "
        f"{(table['suggested'] == 0.0).sum()} points where it exceeds 1; "
        f"{table['best'].min():.3g} to {table['best'].max():.3g} times less at the best γ",
    )


MEASURES: Mapping[str, Measure] = {
    "factor_two": factor_of_two,
    "half_is_better": half_is_better,
    "first_below_second": first_below_second,
    "gap": upper_above_lower,
    "structure": knowledge_saves,
    "moments_fall": moments_fall,
    "below_advanced": saved_of_published,
    "eightfold": saved_of_published,
}
