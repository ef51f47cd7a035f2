"""How the claims of the paper are measured and judged; `claims.yaml` words them.

The paper is Wang et al., PVLDB 17(8), 2024.
The words are ours. Sections are those of the paper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.papers.judging import (
    POSITIVE,
    Evidence,
    Judgement,
    Rule,
    at_least,
    at_most,
    claims,
    deficit,
    enclosures,
    everywhere,
    measured,
    of_cases,
    percentage,
    ratio,
    refutable,
    throughout,
    up_to,
)
from reproduction.papers.wang2024 import tables
from shufflebounds.accounting import single_shuffle
from shufflebounds.bounds.variation_ratio import variation_ratio
from shufflebounds.core.clones import stronger_clone
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.setting import OverN
from shufflebounds.protocols.base import MultiMessage, largest_variation
from shufflebounds.protocols.messages import BallsIntoBins, CheuZhilyaev, Dump
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import LocalHash
from shufflebounds.randomizers.discrete import KRR, HadamardResponse
from shufflebounds.randomizers.matching import Subset
from shufflebounds.randomizers.windows import PrivUnit

# What the claims of this paper speak of, enclosed at every point of its curves.

# What was known of one message before, as the paper draws it.
BASELINES = (
    "erlingsson",
    "blanket_best_generic",
    "blanket_best_similarity",
    "clone",
    "stronger_clone",
)

POINT = ["mechanism", "regime", "eps0", "target", "n"]


def saved(evidence: Evidence, bound: str, *others: str) -> pd.DataFrame:
    """By how much a bound's ε is below the least of others' on the same mechanism: 1 − ε/least."""
    least = pd.concat([_ends(evidence.curves, other) for other in others])
    return _points(_ends(evidence.curves, bound), least.groupby(level=POINT).min())


def saved_of_target(evidence: Evidence, bound: str) -> pd.DataFrame:
    """By how much a bound's ε is below what the protocol was designed for: 1 − ε/ε′.

    Where no bound at all has an enclosure there is no protocol that was designed for so little.
    """
    curves = evidence.curves[evidence.curves["target"].notna()]
    known = curves.groupby(POINT, dropna=False)["epsilon_upper"].transform("count") > 0
    ends = _ends(curves[known], bound)
    target = ends.index.get_level_values("target").to_numpy(dtype=float)
    return _points(ends, pd.DataFrame({"low": target, "high": target}, index=ends.index))


def above_groups(evidence: Evidence) -> pd.DataFrame:
    """By how much the published pair's ε is above that of Theorem 5.1: published / groups − 1."""
    names = ("variation_ratio_published", "merged_lower_printed")
    return measured(ratio(*(_ends(evidence.curves, name) for name in names)) - 1.0, "regime")


def saved_of_separate(evidence: Evidence) -> pd.DataFrame:
    """By how much sampled levels are below separate ones: 1 − ε/ε(separate), best and worst."""
    curves = evidence.curves
    found = [_points(_ends(curves, ""), _ends(curves, ""))]
    sampled = [m for m in evidence.mechanisms if _type(evidence, m) == "hierarchical_histogram"]
    separate = [m for m in evidence.mechanisms if _type(evidence, m) == "separate_histograms"]
    for mine, theirs in itertools.product(sampled, separate):
        if len({_parameter(evidence, name, "domain_size") for name in (mine, theirs)}) == 1:
            own = curves[curves["mechanism"] == mine]
            other = curves[curves["mechanism"] == theirs].assign(mechanism=mine)
            points = _points(_ends(own, "variation_ratio"), _ends(other, "upper"))
            nodes = _parameter(evidence, theirs, "nodes")
            found.append(points.assign(detail=f"against the level of {nodes} nodes"))
    return pd.concat(found)


def _type(evidence: Evidence, name: str) -> Any:
    return evidence.mechanisms[name].plain().get("type")


def _parameter(evidence: Evidence, name: str, parameter: str) -> Any:
    return evidence.mechanisms[name].plain()[parameter]


def _ends(curves: pd.DataFrame, bound: str) -> pd.DataFrame:
    return enclosures(curves, bound, by=POINT)


def _points(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """1 − ours/theirs at the points of both; nothing is known where either is empty."""
    return measured(deficit(ours, theirs[theirs["low"] > 0.0]), "regime")


# Panels of a protocol may have no ε₀.
_everywhere = partial(throughout, panel="regime")


def _theorem(
    quantity: Callable[[Evidence], pd.DataFrame], rule: Rule
) -> Callable[[Evidence], Judgement | None]:
    """A claim about everything, which one point refutes."""

    def judge(evidence: Evidence) -> Judgement | None:
        found = everywhere(quantity(evidence), rule, "regime")
        return found and refutable(found)

    return judge


def _saved(bound: str, *others: str) -> Callable[[Evidence], pd.DataFrame]:
    return lambda evidence: saved(evidence, bound, *others)


_REPAIRED_SAVES = _saved("variation_ratio", *BASELINES)


def _symmetric(_: Evidence) -> Judgement:
    """The published pair of many p, β and q, as a set of components."""
    grid = list(itertools.product((1.1, 3.0, 50.0, 1e4), (0.1, 0.5, 1.0), (1.5, 4.0, 100.0)))
    pairs = [
        variation_ratio(p, share * largest_variation(p), max(q, 2.0), published=True)
        for p, share, q in grid
    ]
    holds = [pair.is_symmetric() for pair in pairs]
    return of_cases(
        holds,
        "triples of p, beta and q",
        f"{sum(holds)} of {len(holds)} pairs are their own mirror image",
    )


def _tight() -> Judgement:
    """Theorem 4.7's pair against Theorem 5.1's, for what the paper calls exactly tight."""
    equal = {name: all(map(_is_extremal, cases)) for name, cases in tight_cases().items()}
    same, other = (
        ", ".join(name for name in equal if equal[name] is wanted) or "none"
        for wanted in (True, False)
    )
    return of_cases(list(equal.values()), "mechanisms", f"equal: {same}; different: {other}")


Cases: TypeAlias = list[tuple[Decomposition, Decomposition]]


def tight_cases() -> dict[str, Cases]:
    """Of each mechanism, at several ε₀ or sizes: the published pair and the dataset pair."""

    def reports(make: Callable[[float], Randomizer], beta: Callable[[float], float]) -> Cases:
        return [
            (variation_ratio(e, beta(e), e, published=True), make(math.log(e)).dataset_pair())
            for e in map(math.exp, (0.5, 1.0, 2.0, 4.0))
        ]

    def messages(given: Iterable[tuple[MultiMessage, float, float, float]]) -> Cases:
        return [
            (variation_ratio(p, beta, q, published=True), protocol.decomposition())
            for protocol, p, beta, q in given
        ]

    return {
        "GRR, d = 5": reports(lambda eps0: KRR(5, eps0), lambda e: (e - 1) / (e + 4)),
        "1-subset, d = 5": reports(lambda eps0: Subset(eps0, 5, 1), lambda e: (e - 1) / (e + 4)),
        "2-subset, d = 5": reports(
            lambda eps0: Subset(eps0, 5, 2), lambda e: (e - 1) * 3 / (4 * e + 6)
        ),
        # A fixed, public hash function that tells the three inputs apart is 4-RR of the hashes.
        "local hash, l = 4, fixed": reports(lambda eps0: KRR(4, eps0), lambda e: (e - 1) / (e + 3)),
        "local hash, l = 4, random": reports(
            lambda eps0: LocalHash(eps0, 4, 4), lambda e: (e - 1) / (e + 3)
        ),
        "Hadamard response": reports(
            lambda eps0: HadamardResponse(eps0, 3), lambda e: (e - 1) / (2 * e + 2)
        ),
        "PrivUnit, cap 0.3": reports(
            lambda eps0: PrivUnit(eps0, 0.3), lambda e: 0.3 * (e - 1) / (0.3 * e + 0.7)
        ),
        "Cheu and Zhilyaev": messages(
            (CheuZhilyaev(f), ((1 - f) / f) ** 2, 1 - 2 * f, (1 - f) / f) for f in (0.1, 0.25, 0.4)
        ),
        "balls into bins": messages(
            (BallsIntoBins(d, 2), math.inf, 1.0, d / 2) for d in (6, 8, 32)
        ),
        "DUMP": messages(
            (Dump(d, 0.2), 4.0 * (d - 1), (0.8 * (d - 1) - 0.2) / (d - 1), 0.8 * d)
            for d in (3, 5, 16)
        ),
    }


def _is_extremal(case: tuple[Decomposition, Decomposition]) -> bool:
    published, pair = (_groups(one) for one in case)
    return bool(np.allclose(published, pair, rtol=1e-9, atol=1e-12))


def _groups(pair: Decomposition) -> NDArray[np.float64]:
    """Masses a, b, c (rows) of the components with a > b and with a < b."""
    return np.array(
        [
            [masses[side].sum() for side in (pair.a > pair.b, pair.a < pair.b)]
            for masses in (pair.a, pair.b, pair.c)
        ]
    )


# Two inputs at distance 1, and others up to so far from either of them.
_FARTHEST = (1.0, 2.0, 4.0)


def _metric_clones(_: Evidence) -> Judgement:
    """Clone probabilities where the farthest input lies on the line of both, and beside it."""
    on_line: list[float] = []
    beside: list[float] = []
    for far in _FARTHEST:
        ours = 2.0 / (math.exp(far) + math.exp(far - 1.0))
        for near, gains in ((far - 1.0, on_line), (far, beside)):
            pairs = ((0.0, 1.0), (1.0, 0.0), (far, near))
            theirs = 2.0 / max(math.exp(one) + math.exp(other) for one, other in pairs)
            gains.append(ours / theirs)
    return of_cases(
        [gain >= 1.0 - 1e-12 for gain in on_line + beside],
        "domains",
        f"at least {min(on_line):.3g} times as likely where the farthest input is on a line with "
        f"both, {min(beside):.3g} times where it is as far from either",
    )


def _halvings(_: Evidence) -> Judgement:
    """What ten halvings of [0, ε₀] leave of the certified ε, at the settings of Table 5."""
    found = []
    for eps0, n in tables.PRINTED:
        eps = single_shuffle.epsilon(stronger_clone(eps0), n, 0.01 / n).upper
        step = eps0 / 2**10
        left = step * math.ceil(eps / step)
        found.append((left / eps - 1.0, f"ε₀ = {eps0:g}, n = {n:.0e}"))
    excess, where = max(found)
    return of_cases(
        [one <= _SLIGHTLY for one, _ in found],
        "settings",
        f"{percentage(min(found)[0], up=True)} to {percentage(excess, up=True)} above",
        f"worst: {where}",
    )


_SLIGHTLY = 0.05


def _printed_table(_: Evidence) -> Judgement:
    """ε as Table 5 prints it for 20 bisections, against the certified ε."""
    excess, holds = {}, []
    for (eps0, n), (printed, *_others) in tables.PRINTED.items():
        certified = single_shuffle.epsilon(stronger_clone(eps0), n, 0.01 / n)
        half_a_digit = 0.5 * 10.0 ** (math.floor(math.log10(printed)) - 2)
        holds.append(abs(printed - certified.upper) <= half_a_digit)
        excess[f"ε₀ = {eps0:g}, n = {n:.0e}"] = printed / certified.upper - 1.0
    largest = max(excess, key=excess.__getitem__)
    return of_cases(
        holds,
        "cells",
        f"{percentage(min(excess.values()), up=False)} to {percentage(excess[largest], up=True)} "
        f"above the certified ε, above it in {sum(share > 0.0 for share in excess.values())} of "
        f"{len(excess)}",
        f"largest: {largest}",
    )


def printed_condition(p: float, beta: float, q: float, n: int, delta: float) -> float | None:
    """ε of Theorem 4.2 as printed, for 0 ≤ β < (p − 1)/(p + 1); None where it claims nothing."""
    alpha = beta / (p - 1.0)
    r, rest, log_inverse = alpha * p / q, 1.0 - alpha - alpha * p, math.log(4.0 / delta)
    clones = 2.0 * r * (n - 1) - math.sqrt(min(6.0 * r, 0.5) * (n - 1) * log_inverse)
    least = 2.0 * p * (beta + 1.0 + (beta - 1.0) * p) * (n - 1) + beta
    least /= q + p * (beta - 1.0 + (beta + 1.0) * p) - p * q
    if (p + 1.0) * alpha / 2.0 < rest * r / (1.0 - 2.0 * r) or clones < max(least, 1.0):
        return None
    spread = math.sqrt(clones * log_inverse / 2.0)
    below = alpha * clones + beta * (clones / 2.0 - spread)
    below += rest * (n - 1 - clones) * r / (1.0 - 2.0 * r)
    return math.log1p(beta * (2.0 * spread + 1.0) / below) if below > 0.0 else None


def _condition(_: Evidence) -> Judgement:
    """δ of the published pair at every ε that the printed Theorem 4.2 admits on a grid."""
    factors = {}
    for p, beta, q, n in itertools.product(
        (3.0, 30.0, 1000.0), (0.1, 0.25, 0.4, 0.49), (5.0, 15.0, 100.0), (1000, 100_000)
    ):
        eps = printed_condition(p, beta, q, n, _CONDITION_DELTA)
        if eps is not None:
            pair = variation_ratio(p, beta, q, published=True)
            setting = f"p = {p:g}, β = {beta:g}, q = {q:g}, n = {n}"
            factors[setting] = single_shuffle.delta(pair, eps, n).lower / _CONDITION_DELTA
    largest = max(factors, key=factors.__getitem__)
    return refutable(
        of_cases(
            [factor <= 1.0 for factor in factors.values()],
            "settings that the condition admits",
            f"δ of the pair is up to {factors[largest]:.3g} times the claimed one",
            f"largest: {largest}",
        )
    )


_CONDITION_DELTA = 1e-6


def _monotone(_: Evidence) -> Judgement:
    """δ of the published pair for growing β, at one p, q, n and ε."""
    holds = []
    for p, q, n, eps in itertools.product(
        (1.5, 3.0, 1000.0), (4.0, 15.0, 100.0), (10, 1000, 100_000), (0.01, 0.1, 0.5)
    ):
        deltas = [
            single_shuffle.delta(
                variation_ratio(p, share * largest_variation(p), q, published=True), eps, n
            )
            for share in (0.1, 0.4, 0.7, 1.0)
        ]
        holds += [less.lower <= more.upper for less, more in itertools.pairwise(deltas)]
    return of_cases(holds, "steps of β", f"δ falls at {holds.count(False)} of {len(holds)} steps")


def _linear(_: Evidence) -> Judgement:
    """By which factor the paper's own times grow where n grows by 100."""
    printed = tables.PRINTED
    found = [
        printed[eps0, 100 * n][column] / seconds[column]
        for (eps0, n), seconds in printed.items()
        if (eps0, 100 * n) in printed
        for column in (1, 3)
    ]
    return of_cases(
        [50.0 <= factor <= 200.0 for factor in found],
        "pairs of times",
        f"factors of {min(found):.2g} to {max(found):.2g}",
    )


def _seconds(_: pd.DataFrame) -> Judgement:
    """The algorithm for 10⁸ users at the four ε₀ of Table 5."""
    table = tables.timed((1.0, 3.0, 5.0, 7.0), (10**8,), OverN(0.01), (20,), tables.DEFAULT)
    algorithm, ours = table["bisected_20_seconds"], table["seconds"]
    printed = [seconds[1] for (_, n), seconds in tables.PRINTED.items() if n == 10**8]
    return of_cases(
        [time <= _DOZEN for time in (*algorithm, *printed)],
        "times, ours and the paper's for the four ε₀",
        f"at most {algorithm.max():.1g} s by the algorithm, rewritten here without counts that are "
        f"next to impossible; {min(printed):g} to {max(printed):g} s in the paper's Table 5; at "
        f"most {1e3 * ours.max():.1g} ms for a certified answer",
        f"slowest: ε₀ = {table['eps0'][algorithm.idxmax()]:g}",
    )


_DOZEN = 12.0

INTRODUCTION, CLAIMS = claims(
    __package__,
    {
        "upper_bound": _theorem(_saved("lower", "variation_ratio_published"), at_least(0.0)),
        "single_savings": _everywhere(_REPAIRED_SAVES, at_least(0.25)),
        "savings_moment": _everywhere(
            _saved("variation_ratio", *BASELINES, "blanket_best"), at_least(0.25)
        ),
        "savings_printed": _everywhere(
            _saved("variation_ratio_printed", *BASELINES), at_least(0.25)
        ),
        "single_peak": lambda evidence: up_to(
            _REPAIRED_SAVES(evidence), nearly=0.25, panel="regime"
        ),
        "multi_savings": _everywhere(
            lambda evidence: saved_of_target(evidence, "upper"), at_least(0.70)
        ),
        "multi_range": _everywhere(
            lambda evidence: saved_of_target(evidence, "upper"), at_most(0.85)
        ),
        "analytic_savings": _everywhere(
            lambda evidence: saved_of_target(evidence, "variation_ratio_analytic"),
            at_least(0.50),
        ),
        "asymptotic_savings": _everywhere(
            _saved("variation_ratio_asymptotic", "original"), POSITIVE
        ),
        "parallel_basic": _everywhere(_saved("variation_ratio", "stronger_clone"), at_least(0.70)),
        "parallel_separate": _everywhere(saved_of_separate, at_least(0.80)),
        "tight": lambda _: _tight(),
        "roughly_tight": _everywhere(above_groups, at_most(0.10)),
        "metric_clones": _metric_clones,
        "ten_halvings": _halvings,
        "table5": _printed_table,
        "analytic_condition": _condition,
        "non_decreasing": _monotone,
        "linear_time": _linear,
        "symmetry": _symmetric,
        "seconds": _seconds,
    },
)
