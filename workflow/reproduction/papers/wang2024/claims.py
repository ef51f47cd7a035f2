"""Measures of claims of Wang et al., PVLDB 17(8), 2024, that claims.yaml cannot express.

One compares curves of related protocols. The others compute pairs, domains and printed numbers that
no curve shows. Sections are those of the paper.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.papers.judging import Judgement, Measure, judge_cases, percentage
from reproduction.papers.points import (
    Evidence,
    enclosures,
    excess,
    point_table,
    renamed,
    saving,
)
from reproduction.papers.tables import Context
from reproduction.papers.wang2024 import Timed, general_pair
from reproduction.papers.wang2024.general_pair import PRINTED
from reproduction.papers.wang2024.parameters import CONFIRMED, mechanisms_table
from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.variation_ratio import (
    metric_clone,
    metric_variation_ratio,
    variation_ratio,
)
from shufflebounds.core.clones import stronger_clone
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.protocols.base import MultiMessage
from shufflebounds.protocols.messages import BallsIntoBins, CheuZhilyaev, Dump
from shufflebounds.questions import answers as questions
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.bit_vectors import RAPPOR, LocalHash
from shufflebounds.randomizers.discrete import KRR, HadamardResponse
from shufflebounds.randomizers.matching import Subset
from shufflebounds.randomizers.windows import PrivUnit
from shufflebounds.subjects.ratios import largest_variation, total_variation

# The number of bisections that the paper trades for time, and the larger one.
FEW, MANY = 10, 20

# Values of ε₀ and numbers of users at which the Laplace mechanism is measured.
LAPLACE_LEVELS, LAPLACE_USERS = (0.5, 1.0, 2.0, 3.0, 4.0), (10**4, 10**5)

# Differences of summands that are rounding.
ROUND_OFF = 1e-12

# The law of a clone, which is of either kind.
HALVES = np.array([0.5, 0.5])

# The smallest subset size that Section 5 does not call extremal.
SMALLEST_SIZE = 3

# Values of ε₀ at which pairs are compared.
LEVELS = (0.5, 1.0, 2.0, 4.0)

# ε₀ at which the β of Table 2 are measured, as in the table `table2`.
TABLE_2_EPS0 = 1.0

# The largest distances of other inputs from two inputs at distance 1.
FARTHEST = (1.0, 2.0, 4.0)

# Number of users and δ of mechanisms and pairs that no curve shows.
USERS, DELTA = 10**4, 1e-6

# Seconds that the paper calls a dozen.
DOZEN_SECONDS = 12.0

# Bounds and types of mechanisms: levels with users of their own, and what the authors' released
# program takes for levels that users draw.
SEPARATE = ("blanket", "separate_histograms")
RELEASED = ("variation_ratio_published", "subsample")

# Pairs of decompositions: the published pair and the dataset pair.
Cases: TypeAlias = list[tuple[Decomposition, Decomposition]]


def saved_of_separate(evidence: Evidence) -> pd.DataFrame | None:
    """Return 1 − ε / ε(separate), of sampled levels and the best and the worst separate level."""
    sampled, separate = ("variation_ratio", "hierarchical_histogram"), SEPARATE
    tables = []
    for name, other, shares in _savings(evidence, sampled, separate):
        nodes = evidence.mechanisms[other].plain()["nodes"]
        points = point_table(renamed(shares, other, name))
        tables.append(points.assign(detail=f"against the level of {nodes} nodes"))
    return pd.concat(tables) if tables else None


def released_of_basic(evidence: Evidence) -> pd.DataFrame | None:
    """Return 1 − ε / ε(stronger clone), of a report on the last level only and of all levels."""
    basic = ("stronger_clone", "hierarchical_histogram")
    tables = [point_table(shares) for *_, shares in _savings(evidence, RELEASED, basic)]
    return pd.concat(tables) if tables else None


def released_of_separate(evidence: Evidence) -> pd.DataFrame | None:
    """Return 1 − ε / ε(separate), of a report on the last level only and that level's own users."""
    tables = []
    for _, other, shares in _savings(evidence, RELEASED, SEPARATE):
        fields = evidence.mechanisms[other].plain()
        if fields["nodes"] == fields["domain_size"]:
            tables.append(point_table(shares))
    return pd.concat(tables) if tables else None


def _savings(
    evidence: Evidence, ours: tuple[str, str], theirs: tuple[str, str]
) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield 1 − ε / ε(theirs) of two mechanisms with equally many values, behind their names.

    ``ours`` and ``theirs`` are a bound and a type of mechanism. The shares have the name of theirs.
    """
    fields = {name: mechanism.plain() for name, mechanism in evidence.mechanisms.items()}
    mine, other = (enclosures(evidence.curves, bound) for bound, _ in (ours, theirs))
    first, second = (
        {name: _domain_size(own) for name, own in fields.items() if own.get("type") == kind}
        for _, kind in (ours, theirs)
    )
    for name, another in itertools.product(first, second):
        if first[name] == second[another]:
            shares = saving(renamed(mine, name, another), renamed(other, another, another))
            yield name, another, shares


def _domain_size(fields: Mapping[str, Any]) -> int:
    """Return the number of values of a protocol, or of the sampled randomized response."""
    return int(fields["mechanism"]["k"] if "mechanism" in fields else fields["domain_size"])


def symmetry(_: Evidence) -> Judgement:
    """Return whether published pairs of many p, β and q are symmetric as sets of components."""
    grid = itertools.product((1.1, 3.0, 50.0, 1e4), (0.1, 0.5, 1.0), (1.5, 4.0, 100.0))
    holds = [
        variation_ratio(p, share * largest_variation(p), max(q, 2.0), published=True).is_symmetric()
        for p, share, q in grid
    ]
    return judge_cases(
        holds,
        "triples of p, β and q",
        f"{sum(holds)} of {len(holds)} pairs are their own mirror image",
    )


def tight(_: Evidence) -> Judgement:
    """Compare Theorem 4.7's pair with Theorem 5.1's, for what the paper calls exactly tight."""
    is_equal = {name: all(map(_is_extremal, cases)) for name, cases in tight_cases().items()}
    same, other = (
        ", ".join(name for name in is_equal if is_equal[name] is wanted) or "none"
        for wanted in (True, False)
    )
    return judge_cases(list(is_equal.values()), "mechanisms", f"equal: {same}; different: {other}")


def tight_cases() -> dict[str, Cases]:
    """Return the published pair and the dataset pair of each mechanism, at several ε₀ or sizes."""

    def reports(make: Callable[[float], Randomizer], beta: Callable[[float], float]) -> Cases:
        return [
            (variation_ratio(e, beta(e), e, published=True), make(math.log(e)).dataset_pair())
            for e in map(math.exp, LEVELS)
        ]

    def caps(cap: float, overlap: float) -> Cases:
        return [
            (
                variation_ratio(e, cap * (e - 1) / (cap * e + 1 - cap), e, published=True),
                cap_pair(math.log(e), cap, overlap),
            )
            for e in map(math.exp, LEVELS)
        ]

    def messages(protocols: Iterable[tuple[MultiMessage, float, float, float]]) -> Cases:
        return [
            (variation_ratio(p, beta, q, published=True), protocol.decomposition())
            for protocol, p, beta, q in protocols
        ]

    return {
        "GRR (d = 5)": reports(lambda eps0: KRR(5, eps0), lambda e: (e - 1) / (e + 4)),
        "1-subset (d = 5)": reports(lambda eps0: Subset(eps0, 5, 1), lambda e: (e - 1) / (e + 4)),
        "2-subset (d = 5)": reports(
            lambda eps0: Subset(eps0, 5, 2), lambda e: (e - 1) * 3 / (4 * e + 6)
        ),
        # A fixed, public hash function that tells the three inputs apart is 4-RR of the hashes.
        "local hash (l = 4, fixed)": reports(
            lambda eps0: KRR(4, eps0), lambda e: (e - 1) / (e + 3)
        ),
        "local hash (l = 4, random)": reports(
            lambda eps0: LocalHash(eps0, 4, 4), lambda e: (e - 1) / (e + 3)
        ),
        "Hadamard response": reports(
            lambda eps0: HadamardResponse(eps0, 3), lambda e: (e - 1) / (2 * e + 2)
        ),
        "PrivUnit (cap 0.3, on the circle)": caps(0.3, 0.0),
        "PrivUnit (cap 1/4, on the sphere)": caps(0.25, 0.0),
        # The cap at x*, half of the sphere, shares the same area with two opposite halves.
        "PrivUnit (cap 1/2)": caps(0.5, 0.25),
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


def cap_pair(eps0: float, cap: float, overlap: float) -> Decomposition:
    """Return the pair of Theorem 5.1 for PrivUnit, whose others hold a third direction x*.

    The victim's caps are disjoint, and `overlap` is the area that each of them shares with the cap
    around x*: 0 if three disjoint caps fit on the sphere. Areas are shares of the sphere.
    """
    first, second = PrivUnit(eps0, cap).matrix()
    # A cap is e^{ε₀} times as dense as the rest, which is the density outside the cap around x*.
    rare, common = first[1], first[0]
    each = rare + (common - rare) * overlap / cap
    return Decomposition(first, second, np.array([each, each, 1.0 - 2.0 * each]))


def _is_extremal(case: tuple[Decomposition, Decomposition]) -> bool:
    published, pair = map(group_masses, case)
    return bool(np.allclose(published, pair, rtol=1e-9, atol=1e-12))


def group_masses(pair: Decomposition) -> NDArray[np.float64]:
    """Return the masses a, b, c (rows) of the components with a > b and with a < b."""
    return np.array(
        [
            [masses[side].sum() for side in (pair.a > pair.b, pair.a < pair.b)]
            for masses in (pair.a, pair.b, pair.c)
        ]
    )


def published_above_groups(evidence: Evidence) -> pd.DataFrame:
    """Return ε(published pair) / ε(Theorem 5.1) − 1 of k-subset, where k ≥ `SMALLEST_SIZE`."""
    shares = point_table(
        excess(
            *(
                enclosures(evidence.curves, name)
                for name in ("variation_ratio_published", "merged_lower_printed")
            )
        )
    )
    domains = {
        name: int(mechanism.plain()["domain_size"])
        for name, mechanism in evidence.mechanisms.items()
        if mechanism.plain().get("type") == "subset"
    }
    is_large = [
        name in domains and (Subset(eps0, domains[name]).subset_size or 0) >= SMALLEST_SIZE
        for name, eps0 in zip(shares["mechanism"], shares["eps0"], strict=True)
    ]
    return shares[is_large]


def laplace_groups(eps0: float) -> Decomposition:
    """Return the pair of Theorem 5.1 for Laplace noise on [0, 1]: reports below and above 1/2.

    Inputs 0 and 1 are the victim's, and x* = 1/2, from which both groups are equally likely.
    """
    below = -math.expm1(-eps0 / 2.0) / 2.0 + 0.5
    return Decomposition(*np.array([[below, 1.0 - below], [1.0 - below, below], [0.5, 0.5]]))


def laplace_above_groups(_: Evidence) -> pd.DataFrame:
    """Return ε(published pair) / ε(Theorem 5.1) − 1 of Laplace noise on [0, 1]."""
    rows = []
    for eps0, n in itertools.product(LAPLACE_LEVELS, LAPLACE_USERS):
        p, beta = math.exp(eps0), -math.expm1(-eps0 / 2.0)
        published, lower = (
            questions.epsilon(pair, n, 0.01 / n)
            for pair in (variation_ratio(p, beta, p, published=True), laplace_groups(eps0))
        )
        rows.append(
            {
                "mechanism": "Laplace on [0, 1]",
                "regime": f"n = {n}",
                "eps0": eps0,
                "n": n,
                "detail": "",
                "low": published.lower / lower.upper - 1.0,
                "high": published.upper / lower.lower - 1.0,
            }
        )
    return pd.DataFrame(rows)


def metric_clones(_: Evidence) -> Judgement:
    """Compare clone probabilities where the farthest input is on the line of both, and off it."""
    on_line: list[float] = []
    beside: list[float] = []
    for far in FARTHEST:
        ours = 2.0 / (math.exp(far) + math.exp(far - 1.0))
        for near, gains in ((far - 1.0, on_line), (far, beside)):
            distances = ((0.0, 1.0), (1.0, 0.0), (far, near))
            theirs = 2.0 / max(math.exp(x0) + math.exp(x1) for x0, x1 in distances)
            gains.append(ours / theirs)
    return judge_cases(
        [gain >= 1.0 - 1e-12 for gain in on_line + beside],
        "domains",
        f"at least {min(on_line):.3g} times as likely where the farthest input is on a line with "
        f"both, {min(beside):.3g} times where it is as far from either",
    )


def metric_dependence(_: Evidence) -> Judgement:
    """Compare what ε depends on under metric privacy, and ε, with those of the bound before."""
    holds, expressions, eps = [], [], []
    for far in FARTHEST:
        for near in (far - 1.0, far):
            distances = ((0.0, 1.0), (1.0, 0.0), (far, near))
            theirs = max(math.exp(x0) + math.exp(x1) for x0, x1 in distances)
            expressions.append(-math.expm1(-1.0) * math.exp(far) / theirs)
            pair, clone = (
                questions.epsilon(decomposition, USERS, DELTA)
                for decomposition in (
                    metric_variation_ratio(1.0, far),
                    metric_clone(1.0, distances),
                )
            )
            eps.append(pair.upper / clone.lower)
            holds.append(expressions[-1] < 1.0 and pair.lower <= clone.upper)
    return judge_cases(
        holds,
        "domains",
        f"the expression is {min(expressions):.2g} to {max(expressions):.2g} times as large, ε "
        f"{min(eps):.2g} to {max(eps):.2g} times",
    )


def larger_variation(_: Evidence) -> Judgement:
    """Compare β, the error and ε of randomized response and of binary RR on two values."""
    holds, quotients = [], []
    for eps0 in LEVELS:
        betas, errors, eps = [], [], []
        for randomizer in (KRR(2, eps0), RAPPOR(eps0, 2)):
            betas.append(total_variation(randomizer.dataset_pair()))
            errors.append(randomizer.error(USERS).mse)
            eps.append(questions.epsilon(randomizer, USERS, DELTA))
        quotients.append((betas[0] / betas[1], errors[0] / errors[1], eps[0].lower / eps[1].upper))
        holds.append(betas[0] > betas[1] and errors[0] < errors[1] and eps[0].lower > eps[1].upper)
    measured = (
        f"{name} is {min(values):.2g} to {max(values):.2g} times as large"
        for name, values in zip(("β", "the error", "ε"), zip(*quotients, strict=True), strict=True)
    )
    return judge_cases(holds, "values of ε₀", ", ".join(measured))


def rate(_: Evidence) -> Judgement:
    """Return ε of the published pair by √(β(p − 1)q log(1/δ)/(pn)), where p ≠ q and r ≤ 1/4."""
    quotients = {}
    for p, share, q, n in itertools.product(
        (1.5, 10.0, 1e3, 1e5), (0.1, 0.5, 1.0), (2.0, 10.0, 1e3), (10**6, 10**8)
    ):
        beta = share * largest_variation(p)
        if p != q and p * beta / ((p - 1.0) * q) <= 0.25:
            eps = questions.epsilon(variation_ratio(p, beta, q, published=True), n, DELTA)
            form = math.sqrt(-beta * (p - 1.0) * q * math.log(DELTA) / (p * n))
            quotients[f"p = {p:g}, β = {beta:.3g}, q = {q:g}, n = {n:.0e}"] = eps.upper / form
    largest = max(quotients, key=quotients.__getitem__)
    return judge_cases(
        [quotient <= 2.0 for quotient in quotients.values()],
        "settings",
        f"quotients of {min(quotients.values()):.2g} to {quotients[largest]:.3g}",
        f"largest: {largest}",
    )


def ten_halvings(_: Evidence) -> pd.DataFrame:
    """Return what ten halvings of [0, ε₀] leave / certified ε − 1, at the settings of Table 5."""
    rows = []
    for eps0, n in PRINTED:
        eps = questions.epsilon(stronger_clone(eps0), n, 0.01 / n).upper
        step = eps0 / 2**10
        share = step * math.ceil(eps / step) / eps - 1.0
        where = {"mechanism": "general pair", "regime": f"n = {n:.0e}", "eps0": eps0, "n": n}
        rows.append({**where, "detail": "", "low": share, "high": share})
    return pd.DataFrame(rows)


def printed_table(count: int) -> Callable[[Evidence], Judgement]:
    """Return the measure of Table 5's ε after `count` bisections.

    It compares the printed ε with what so many bisections leave of the certified ε.
    """

    def judge(_: Evidence) -> Judgement:
        shares, holds = {}, []
        for (eps0, n), printed in PRINTED.items():
            certified = questions.epsilon(stronger_clone(eps0), n, 0.01 / n).upper
            step = eps0 / 2**count
            expected = certified if count == MANY else step * math.ceil(certified / step)
            half_a_digit = 0.5 * 10.0 ** (math.floor(math.log10(printed[count].eps)) - 2)
            holds.append(abs(printed[count].eps - expected) <= half_a_digit)
            shares[f"ε₀ = {eps0:g}, n = {n:.0e}"] = printed[count].eps / expected - 1.0
        largest = max(shares, key=shares.__getitem__)
        what = "the certified ε" if count == MANY else "what the bisections leave"
        return judge_cases(
            holds,
            "cells",
            f"{percentage(min(shares.values()), up=False)} to "
            f"{percentage(shares[largest], up=True)} above {what}, above it in "
            f"{sum(share > 0.0 for share in shares.values())} of {len(shares)}",
            f"largest: {largest}",
        )

    return judge


def non_increasing(_: Evidence) -> Judgement:
    """Return how the divergence at C = c clones changes with c, in two readings.

    In one the number of clones is known beside the counts, in the other it is the summand of
    Theorem 4.8.
    """
    holds, readings = [], []
    for p, q, share, eps in itertools.product(
        (1.5, 3.0, 1000.0), (4.0, 15.0), (0.4, 0.8, 1.0), (0.01, 0.1)
    ):
        beta = share * largest_variation(p)
        # What is left of the victim's report gives nothing away, and scales the divergence.
        coins = Decomposition(
            np.array([p, 1.0]) / (p + 1.0), np.array([1.0, p]) / (p + 1.0), HALVES
        )
        deltas = [questions.delta(coins, eps, c + 1) for c in (1, 2, 5, 20, 100, 1000)]
        holds.append(all(more.lower <= less.upper for less, more in itertools.pairwise(deltas)))
        counts = np.arange(1000.0)
        summands = general_pair.summands(p, beta, q, eps, counts.size, counts)
        holds.append(bool(np.all(np.diff(summands) <= ROUND_OFF)))
        readings += ["known", "summand"]
    known, summand = (f"{sum(results)} of {len(results)}" for results in (holds[::2], holds[1::2]))
    return judge_cases(
        holds,
        "settings and readings",
        f"it never rises in {known} settings if C is known, and in {summand} as the summand",
        panels=readings,
    )


def printed_condition(p: float, beta: float, q: float, n: int, delta: float) -> float | None:
    """Return ε of Theorem 4.2 as printed, for 0 ≤ β < (p − 1)/(p + 1); None if it claims none."""
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


def analytic_condition(_: Evidence) -> Judgement:
    """Judge δ of the published pair at every ε that the printed Theorem 4.2 admits on a grid."""
    factors = {}
    for p, beta, q, n in itertools.product(
        (3.0, 30.0, 1000.0), (0.1, 0.25, 0.4, 0.49), (5.0, 15.0, 100.0), (1000, 100_000)
    ):
        eps = printed_condition(p, beta, q, n, DELTA)
        if eps is not None:
            pair = variation_ratio(p, beta, q, published=True)
            setting = f"p = {p:g}, β = {beta:g}, q = {q:g}, n = {n}"
            factors[setting] = questions.delta(pair, eps, n).lower / DELTA
    largest = max(factors, key=factors.__getitem__)
    return judge_cases(
        [factor <= 1.0 for factor in factors.values()],
        "settings that the condition admits",
        f"δ of the pair is up to {factors[largest]:.3g} times the claimed one",
        f"largest: {largest}",
    )


def non_decreasing(_: Evidence) -> Judgement:
    """Judge δ of the published pair for growing β, at one p, q, n and ε."""
    holds = []
    for p, q, n, eps in itertools.product(
        (1.5, 3.0, 1000.0), (4.0, 15.0, 100.0), (10, 1000, 100_000), (0.01, 0.1, 0.5)
    ):
        deltas = [
            questions.delta(
                variation_ratio(p, share * largest_variation(p), q, published=True), eps, n
            )
            for share in (0.1, 0.4, 0.7, 1.0)
        ]
        holds += [less.lower <= more.upper for less, more in itertools.pairwise(deltas)]
    return judge_cases(
        holds, "steps of β", f"δ falls at {holds.count(False)} of {len(holds)} steps"
    )


def linear_time(_: Evidence) -> Judgement:
    """Return the factors by which the paper's own times grow when n grows by 100."""
    factors = []
    for (eps0, n), few in PRINTED.items():
        many = PRINTED.get((eps0, 100 * n))
        if many:
            factors += [many[count].seconds / few[count].seconds for count in (MANY, FEW)]
    return judge_cases(
        [50.0 <= factor <= 200.0 for factor in factors],
        "pairs of times",
        f"factors of {min(factors):.2g} to {max(factors):.2g}",
    )


def level_time(_: Evidence) -> Judgement:
    """Compare the paper's own times at different ε₀, and those at n from 10⁴ to 10⁸.

    n and the number of bisections stay the same in the former, ε₀ in the latter.
    """
    levels, users = {eps0 for eps0, _ in PRINTED}, {n for _, n in PRINTED}
    holds, ranges = [], []
    for count in (MANY, FEW):
        over_levels = [_spread(PRINTED[eps0, n][count].seconds for eps0 in levels) for n in users]
        over_users = [_spread(PRINTED[eps0, n][count].seconds for n in users) for eps0 in levels]
        holds.append(max(over_levels) < min(over_users))
        ranges.append(
            f"{min(over_levels):.2g} to {max(over_levels):.3g} times from the fastest to the "
            f"slowest ε₀ and {min(over_users):.2g} to {max(over_users):.3g} times from the fastest "
            f"to the slowest n for T = {count}"
        )
    return judge_cases(holds, "values of T", "; ".join(ranges))


def _spread(times: Iterable[float]) -> float:
    listed = list(times)
    return max(listed) / min(listed)


def printed_variations(_: Evidence) -> Judgement:
    """Compare the printed β of Table 2 with the measured ones."""
    table = mechanisms_table(TABLE_2_EPS0)
    others = [
        f"{row.name} ({row.verdict})"
        for row in table[table["verdict"] != CONFIRMED].itertuples(index=False)
    ]
    return judge_cases(
        table["verdict"] == CONFIRMED, "mechanisms", f"not confirmed: {'; '.join(others)}"
    )


def longer_time(_: Evidence) -> Judgement:
    """Return the factors between the paper's own times for twenty and for ten bisections."""
    factors = {
        f"ε₀ = {eps0:g}, n = {n:.0e}": row[MANY].seconds / row[FEW].seconds
        for (eps0, n), row in PRINTED.items()
    }
    smallest, largest = (end(factors, key=factors.__getitem__) for end in (min, max))
    return judge_cases(
        [factor >= 2.0 for factor in factors.values()],
        "cells",
        f"{factors[smallest]:.2g} to {factors[largest]:.3g} times as long",
        f"least: {smallest}; largest: {largest}",
        [n for _, n in PRINTED],
    )


def seconds(_: pd.DataFrame) -> Judgement:
    """Return the algorithm for 10⁸ users at the four ε₀ of Table 5."""
    levels = (1.0, 3.0, 5.0, 7.0)
    parameters = Timed(eps0=levels, n=(10**8,), delta={"over_n": 0.01}, iterations=(20,))
    table = general_pair.timed_table(parameters, Context({}, Numerics(rtol=1e-4)))
    algorithm, ours = table["bisected_20_seconds"], table["seconds"]
    printed = [row[20].seconds for (_, n), row in PRINTED.items() if n == 10**8]
    return judge_cases(
        [time <= DOZEN_SECONDS for time in (*algorithm, *printed)],
        "times, ours and the paper's for the four ε₀",
        f"at most {algorithm.max():.1g} s by the algorithm, rewritten here without counts that are "
        f"next to impossible; {min(printed):g} to {max(printed):g} s in the paper's Table 5; at "
        f"most {1e3 * ours.max():.1g} ms for a certified answer",
        f"slowest: ε₀ = {table['eps0'][algorithm.idxmax()]:g}",
    )


MEASURES: Mapping[str, Measure] = {
    "parallel_separate": saved_of_separate,
    "parallel_basic_released": released_of_basic,
    "parallel_separate_released": released_of_separate,
    "tight": tight,
    "roughly_tight": published_above_groups,
    "roughly_tight_laplace": laplace_above_groups,
    "metric_clones": metric_clones,
    "metric_dependence": metric_dependence,
    "larger_variation": larger_variation,
    "rate": rate,
    "ten_halvings": ten_halvings,
    "table5": printed_table(MANY),
    "table5_ten": printed_table(FEW),
    "analytic_condition": analytic_condition,
    "non_decreasing": non_decreasing,
    "non_increasing": non_increasing,
    "linear_time": linear_time,
    "level_time": level_time,
    "table2": printed_variations,
    "longer_time": longer_time,
    "symmetry": symmetry,
    "seconds": seconds,
}
