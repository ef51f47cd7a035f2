"""How claims about SOLH are measured and judged; `claims.yaml` words them.

The words are ours, and so is what they make of the paper, which we lack: its formulas
are rebuilt, and what only its numbers could decide is not measured.
"""

from __future__ import annotations

import math
from functools import cache

import pandas as pd

from shufflebounds.randomizers.bit_vectors import LocalHash
from shufflebounds.reproduce.papers.judging import (
    POSITIVE,
    Evidence,
    Judgement,
    claims,
    deficit,
    enclosures,
    measured,
    of_cases,
    throughout,
)
from shufflebounds.reproduce.papers.wang2020 import Calibrations
from shufflebounds.reproduce.papers.wang2020.solh import hash_values, measure, room, solh

# The setting of IPUMS, as others quote it.
VALUES, USERS, DELTA = 915, 602_325, 1e-9
TARGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@cache
def _measured() -> pd.DataFrame:
    given = Calibrations(values=VALUES, n=USERS, eps=TARGETS, delta=DELTA)
    return measure(given).set_index(["mechanism", "eps"])


def private(_: Evidence) -> Judgement:
    """Certified ε over the target, of both mechanisms wherever they exist."""
    shares = (_measured()["certified"] / _measured().index.get_level_values("eps")).dropna()
    return of_cases(
        shares <= 1.0,
        "calibrations",
        f"{shares.min():.3f} to {shares.max():.3f} of the target",
        f"most: {shares.idxmax()[0]} at ε = {shares.idxmax()[1]:g}",
    )


def best_hash_values(_: Evidence) -> Judgement:
    """Variance of a rare value at every l beside that at the authors'."""
    ratios = []
    for eps in TARGETS:
        m, theirs = room(eps, USERS, DELTA), solh(VALUES, eps, USERS, DELTA)
        assert theirs is not None  # of these targets
        others = range(2, int(m), max(1, hash_values(m) // 50))
        least = min(_rare(m, l) for l in (*others, theirs.hash_values))  # noqa: E741
        ratios.append(theirs.error(USERS).rare / least - 1.0)
    return of_cases(
        [ratio <= 1e-3 for ratio in ratios],
        "targets",
        f"at most {100.0 * max(ratios):.2g} % above the least variance",
    )


def _rare(m: float, l: int) -> float:  # noqa: E741
    return LocalHash(math.log(m - l + 1.0), hash_values=l, domain_size=VALUES).error(USERS).rare


def beats_grr(_: Evidence) -> Judgement:
    """Total errors, each at the authors' ε₀; GRR has none at all for a small target."""
    errors = _measured()["error"]
    wins = errors["SOLH"] < errors["GRR"].fillna(float("inf"))
    quotient = (errors["GRR"] / errors["SOLH"]).dropna()
    return of_cases(
        wins,
        "targets",
        f"GRR's error is {quotient.max():.3g} to {quotient.min():.3g} times SOLH's for ε = "
        f"{quotient.index[0]:g} to 1, and there is none below",
        f"SOLH's is the larger one for ε = {', '.join(f'{eps:g}' for eps in wins.index[~wins])}",
    )


def beats_grr_certified(evidence: Evidence) -> pd.DataFrame:
    """1 − certified error of local hashing / that of randomized response."""
    curves = evidence.curves
    hashing, response = (
        enclosures(
            curves[curves["experiment"] == name].assign(mechanism="local hashing"),
            "estimate_error",
            by=["mechanism", "eps0", "n", "target"],
            quantity="mse",
        )
        for name in ("hash", "krr")
    )
    return measured(deficit(hashing, response))


INTRODUCTION, CLAIMS = claims(
    __package__,
    {
        "private": private,
        "hash_values": best_hash_values,
        "beats_grr": beats_grr,
        "beats_grr_certified": throughout(beats_grr_certified, POSITIVE, panel="n"),
    },
)
