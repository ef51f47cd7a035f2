"""What is claimed of SOLH, how it is measured, when it holds.

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
    Claim,
    Evidence,
    Judgement,
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


INTRODUCTION = """\
What Wang et al. ("Improving Utility and Security of the Shuffler-based Differential Privacy",
PVLDB 13, 2020, arXiv 1908.11515) say about local hashing in the shuffle model, in our words, at 915
values, 602 325 users and δ = 10⁻⁹; and what certified numbers say. We lack the paper itself: its
formulas are rebuilt from m = ε²(n − 1)/(14 log(2/δ)), which is that of Balle et al. (CRYPTO 2019,
Theorem 3.1), and where its own numbers would be needed nothing is measured.
"""

CLAIMS = (
    Claim(
        name="private",
        source="its privacy theorem",
        words="Local hashing into l values with e^{ε₀} + l − 1 = m is (ε, δ)-DP for ε ≤ 1, and so "
        "is randomized response over l values.",
        measure="Certified ε of the mechanism at that ε₀ / target ε, for ε = 0.1 to 1. Holds at a "
        "point: at most 1.",
        judge=private,
        note="The theorem is right and gives most of ε away, which costs a factor of 5 to 27 in "
        "the squared error of local hashing.",
    ),
    Claim(
        name="hash_values",
        source="its choice of l",
        words="l = (m + 2)/3 hash values have the least variance.",
        measure="Variance of a value that nobody holds, by that l, over the least one of a "
        "hundred l with the same m, − 1. Holds at a point: at most 0.1 %.",
        judge=best_hash_values,
        note="By the theorem, that is. Certified, the best l is 6 to 180 times as large.",
    ),
    Claim(
        name="beats_grr",
        source="its comparison of both",
        words="For as many values as IPUMS has, SOLH is more accurate than randomized response.",
        measure="Total squared error of both, each at the authors' ε₀. Holds at a point: SOLH's is "
        "the smaller one, or there is no ε₀ for randomized response.",
        judge=beats_grr,
        cause="Where ε is near 1, the theorem leaves room m for more than twice the 915 values, "
        "and a hash that tells fewer of them apart only loses.",
    ),
    Claim(
        name="beats_grr_certified",
        source="the same, of the mechanisms themselves",
        words="SOLH is more accurate than randomized response.",
        measure="1 − total squared error of local hashing with the best l / that of randomized "
        "response, both at the largest ε₀ that is certified. Holds at a point: above 0.",
        judge=throughout(beats_grr_certified, POSITIVE, panel="n"),
        cause="The theorem takes randomized response over many values for much less private than "
        "it is: it is the calibration that made local hashing the better one.",
    ),
    Claim(
        name="utility",
        source="abstract",
        words="Accuracy is better by far than that of earlier protocols for the shuffle model.",
        measure="None: we do not have the paper's numbers.",
        judge=lambda _: None,
    ),
)
