"""Measures of the claims of Wang et al., PVLDB 13, 2020, at the setting of IPUMS.

The paper is not at hand: its formulas are rebuilt, and what only its numbers could decide is not
measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import pandas as pd

from reproduction.papers.judging import Judgement, Measure, judge_cases
from reproduction.papers.points import Evidence, enclosures, point_table, saving
from reproduction.papers.wang2020 import Calibrations
from reproduction.papers.wang2020.tables import calibrations_table, hash_values, room, solh
from shufflebounds.randomizers.bit_vectors import LocalHash

# The setting of IPUMS as others quote it: numbers of values and of users, and δ.
VALUES = 915
USERS = 602_325
DELTA = 1e-9

# Target ε, natural logarithms.
TARGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@cache
def ipums_calibrations() -> pd.DataFrame:
    """Return the table of calibrations, indexed by mechanism and target ε."""
    parameters = Calibrations(values=VALUES, n=USERS, eps=TARGETS, delta=DELTA)
    return calibrations_table(parameters).set_index(["mechanism", "eps"])


def private(_: Evidence) -> Judgement:
    """Judge the certified ε over the target, of both mechanisms wherever they exist."""
    certified = ipums_calibrations()["certified"]
    shares = (certified / certified.index.get_level_values("eps")).dropna()
    mechanism, eps = shares.idxmax()
    return judge_cases(
        shares <= 1.0,
        "calibrations",
        f"{shares.min():.3f} to {shares.max():.3f} of the target",
        f"most: {mechanism} at ε = {eps:g}",
    )


def best_hash_values(_: Evidence) -> Judgement:
    """Return the variance of a rare value at every l beside that at the authors'."""
    excesses = []
    for eps in TARGETS:
        m, theirs = room(eps, USERS, DELTA), solh(VALUES, eps, USERS, DELTA)
        assert theirs is not None  # of these targets
        others = range(2, int(m), max(1, hash_values(m) // 50))
        least = min(_rare_variance(m, l) for l in (*others, theirs.hash_values))  # noqa: E741
        excesses.append(theirs.error(USERS).rare / least - 1.0)
    return judge_cases(
        [excess <= 1e-3 for excess in excesses],
        "targets",
        f"at most {100.0 * max(excesses):.2g} % above the least variance",
    )


def _rare_variance(m: float, l: int) -> float:  # noqa: E741
    return LocalHash(math.log(m - l + 1.0), hash_values=l, domain_size=VALUES).error(USERS).rare


def beats_grr(_: Evidence) -> Judgement:
    """Judge total errors, each at the authors' ε₀; GRR has none at all for a small target."""
    errors = ipums_calibrations()["error"]
    wins = errors["SOLH"] < errors["GRR"].fillna(float("inf"))
    quotient = (errors["GRR"] / errors["SOLH"]).dropna()
    return judge_cases(
        wins,
        "targets",
        f"GRR's error is {quotient.max():.3g} to {quotient.min():.3g} times SOLH's for ε = "
        f"{quotient.index[0]:g} to 1, and there is none below",
        f"SOLH's is the larger one for ε = {', '.join(f'{eps:g}' for eps in wins.index[~wins])}",
    )


def certified_grr(evidence: Evidence) -> pd.DataFrame:
    """Return 1 − certified error of randomized response / that of local hashing."""
    curves = evidence.curves.assign(mechanism="both")
    hashing, response = (
        enclosures(curves[curves["experiment"] == name], "estimate_error", quantity="mse")
        for name in ("hash", "krr")
    )
    return point_table(saving(response, hashing))


MEASURES: Mapping[str, Measure] = {
    "private": private,
    "hash_values": best_hash_values,
    "beats_grr": beats_grr,
    "certified_grr": certified_grr,
}
