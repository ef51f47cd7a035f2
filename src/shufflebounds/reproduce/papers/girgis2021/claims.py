"""What is claimed of Rényi bounds of the shuffle model, how it is measured, when it holds.

The words are ours. Of the paper a fragment was at hand: what it says of claims elsewhere in the
paper is marked so.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from shufflebounds.reproduce.papers.judging import (
    POSITIVE,
    Claim,
    Evidence,
    at_least,
    at_most,
    throughout,
    up_to,
)

# What the claims of this paper speak of, enclosed at every point of the curves.
#
# A table of points has the columns ``mechanism``, ``eps0``, ``n``, ``detail`` and ``low``,
# ``high``, which enclose the quantity; it is empty where nothing can be compared.

_GRID = ["mechanism", "eps0", "n", "order", "rounds"]


def first_below_second(evidence: Evidence) -> pd.DataFrame:
    """1 − Theorem 3.1 / Theorem 3.3, where not both say nothing, that is, stand at ε₀."""
    one, two = (_ends(evidence, "renyi", name) for name in ("girgis_upper", "girgis_simple"))
    ratio = _ratio(one, two)
    eps0 = ratio.index.get_level_values("eps0")
    idle = (one["low"].reindex(ratio.index) >= eps0) & (two["low"].reindex(ratio.index) >= eps0)
    return _points(_one_minus(ratio[~idle]))


def upper_above_lower(evidence: Evidence) -> pd.DataFrame:
    """Theorem 3.1 / (2e^{ε₀} · Theorem 3.4) − 1, where λ ≥ 2 and λ⁴e^{5ε₀} ≤ n/10."""
    ratio = _ratio(
        _ends(evidence, "renyi", "girgis_upper"), _ends(evidence, "renyi", "girgis_lower")
    )
    eps0, order, n = (ratio.index.get_level_values(name) for name in ("eps0", "order", "n"))
    ratio = ratio.div(2.0 * np.exp(eps0), axis=0) - 1.0
    return _points(ratio[(order >= 2.0) & (order**4 * np.exp(5.0 * eps0) <= 0.1 * n)])


def exact_below_first(evidence: Evidence) -> pd.DataFrame:
    """1 − exact divergence of the clone / Theorem 3.1."""
    return _points(
        _one_minus(
            _ratio(_ends(evidence, "renyi", "clone"), _ends(evidence, "renyi", "girgis_upper"))
        )
    )


def below_advanced(evidence: Evidence) -> pd.DataFrame:
    """1 − ε by Theorem 3.1 / ε by advanced composition of the clone, of several rounds."""
    names = ("girgis_upper", "clone_advanced")
    ratio = _ratio(*(_ends(evidence, "epsilon", name) for name in names))
    return _points(_one_minus(ratio[ratio.index.get_level_values("rounds") > 1]))


def accounting_above_profile(evidence: Evidence) -> pd.DataFrame:
    """ε by exact Rényi accounting / ε of the composed profile − 1, of the same decomposition."""
    pairs = (("clone_renyi", "clone"), ("upper_renyi", "upper"))
    ratios = [_ratio(*(_ends(evidence, "epsilon", name) for name in pair)) for pair in pairs]
    return _points(pd.concat(ratios) - 1.0)


def _ends(evidence: Evidence, quantity: str, bound: str) -> pd.DataFrame:
    """Enclosures of a bound, (low, high) by `_GRID`; what is left open counts as 0."""
    curves = evidence.curves
    chosen = curves[(curves["bound"] == bound) & (curves["quantity"] == quantity)]
    if chosen.empty:
        index = pd.MultiIndex.from_arrays([[]] * len(_GRID), names=_GRID)
        return pd.DataFrame({"low": [], "high": []}, index=index, dtype=float)
    chosen = chosen.fillna({"order": 0.0, "rounds": 0})
    ends = {f"{quantity}_lower": "low", f"{quantity}_upper": "high"}
    return chosen.drop_duplicates(_GRID).set_index(_GRID)[[*ends]].rename(columns=ends)


def _ratio(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Where both have a row."""
    one, other = one.align(other, join="inner", axis=0)
    low, high = one["low"] / other["high"], one["high"] / other["low"]
    return pd.DataFrame({"low": low.fillna(-np.inf), "high": high.fillna(np.inf)})


def _one_minus(ratio: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"low": 1.0 - ratio["high"], "high": 1.0 - ratio["low"]})


def _points(ends: pd.DataFrame) -> pd.DataFrame:
    points = ends.reset_index()
    orders = [f"λ = {order:.4g}" if order else "" for order in points["order"]]
    rounds = [f"T = {count:g}" if count else "" for count in points["rounds"]]
    points["detail"] = [one or other for one, other in zip(orders, rounds, strict=True)]
    return points[["mechanism", "eps0", "n", "detail", "low", "high"]]


INTRODUCTION = """\
What Girgis et al. ("On the Rényi Differential Privacy of the Shuffle Model", CCS 2021) say about
their bounds, and what others say about Rényi accounting, in our words; and what the curves say. Of
the paper a fragment was at hand. It has neither the bound (9), converted from differential privacy,
nor Corollary 3.2: what is claimed of those is not measured.
"""

CLAIMS = (
    Claim(
        name="converted",
        source="Section 3.1",
        words="Both upper bounds are below (9), the bound converted from differential privacy, in "
        "all cases.",
        measure="None: (9) is not in the fragment.",
        judge=lambda _: None,
    ),
    Claim(
        name="first_below_second",
        source="Remark 4",
        words="Theorem 3.1 is better than Theorem 3.3 for all parameters of interest.",
        measure="1 − ε(λ) by Theorem 3.1 / ε(λ) by Theorem 3.3, at every point at which not both "
        "stand at ε₀. Holds at a point: above 0.",
        judge=throughout(first_below_second, POSITIVE),
        note="It is not so everywhere: at ε₀ = 0.1, n = 10⁶ and λ = 5000, which is not drawn, "
        "Theorem 3.3 gives 17 % less.",
    ),
    Claim(
        name="gap",
        source="Remark 7 (cut off in the fragment)",
        words="Where λ⁴e^{5ε₀} is small beside n, upper and lower bounds are a constant factor of "
        "e^{ε₀} apart.",
        measure="ε(λ) by Theorem 3.1 / (2e^{ε₀} · ε(λ) by Theorem 3.4) − 1, where λ ≥ 2 and "
        "λ⁴e^{5ε₀} ≤ n/10: 2e^{ε₀} is the quotient of the leading terms. Holds at a point: at most "
        "5 %.",
        judge=throughout(upper_above_lower, at_most(0.05)),
        cause="Theorem 3.1's further terms fall only like 1/√n.",
        note="What the fragment says of the factor is cut off. The 2 is due to the choice γ = 1/2 "
        "in Theorem 3.1.",
    ),
    Claim(
        name="structure",
        source="Remark 5",
        words="What is known of a mechanism may give better bounds than those for all.",
        measure="1 − exact divergence of the clone / ε(λ) by Theorem 3.1, at every point. Holds at "
        "a point: above 0.",
        judge=throughout(exact_below_first, POSITIVE),
        note="Nothing of a mechanism is needed: the clone's decomposition holds for every ε₀-LDP "
        "randomizer, and its exact divergence is what the closed form bounds loosely.",
    ),
    Claim(
        name="below_advanced",
        source="Section 4 (not in the fragment)",
        words="Composed by Theorem 3.1, many rounds have a smaller ε than by advanced composition.",
        measure="1 − ε by Theorem 3.1 / ε by advanced composition of the clone at n = 10⁶ and "
        "δ = 10⁻⁸, for every T > 1. Holds at a point: above 0.",
        judge=throughout(below_advanced, POSITIVE),
        cause="Advanced composition starts from the clone's exact ε here, and for few rounds that "
        "outweighs what it loses in composing.",
    ),
    Claim(
        name="eightfold",
        source="abstract (not in the fragment)",
        words="The gain over advanced composition is up to eightfold.",
        measure="The largest value of what `below_advanced` measures; 1/8 of ε is 87.5 % less. "
        "Reproduced from 85 % on, in part from 50 % on.",
        judge=lambda evidence: up_to(below_advanced(evidence), nearly=0.85, half=0.5),
        cause="The clone's ε of a single round is exact here, where the paper's is a closed form, "
        "so that advanced composition starts from less; and it is composed by a sharper theorem.",
    ),
    Claim(
        name="accounting",
        source="Wang et al., Appl. Sci. 15(3):1595, 2025, of Rényi accounting",
        words="Rényi accounting of shuffled rounds is far from tight.",
        measure="ε by exact Rényi divergences over all real orders / ε of the composed profile of "
        "the same decomposition − 1, at every T. Holds at a point: at least 25 %.",
        judge=throughout(accounting_above_profile, at_least(0.25)),
        cause="It is the closed forms that are loose, not the accounting: with the exact "
        "divergence of the same decomposition, what Rényi accounting costs is the conversion "
        "to (ε, δ).",
    ),
)
