"""Measures of claims of Wang et al., Appl. Sci. 15(3), 2025, that claims.yaml cannot express.

A dataset that Theorem 1 does not cover is enumerated in rational arithmetic: two users hold vectors
of `BITS` bits, each kept with probability `KEPT`; the victim holds 00 or 11, the other user 00.

The privacy loss distribution of Section 6 counts clones: C of the others are clones, binomial of
n − 1 with chance s = 2pα/q, and A of those are of the first kind, binomial of C with chance 1/2. It
is computed in floats, for comparison: nothing of it is certified. "The released program" is the one
of the authors (github.com/wangsw/PrivacyAmplification, October 2024), rewritten here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from reproduction.papers.judging import Judgement, Measure, judge_cases, percentage
from reproduction.papers.points import Evidence
from shufflebounds.bounds.variation_ratio import published_vector_bits
from shufflebounds.protocols.messages import BallsIntoBins
from shufflebounds.questions.answers import delta as delta_of
from shufflebounds.questions.answers import epsilon

# The counterexample: bits of a vector, the probability that one is kept, and e^ε.
BITS = 2
KEPT = Fraction(2, 3)
EXP_EPS = Fraction(7, 2)

# τ, the mass that the list of privacy losses may lack.
TOLERANCE = 2.0**-30

# log(1/τ) of the released program.
RELEASED_LOG_INVERSE = 60.0

# Bits and ε₀ of Figure 2, and numbers of users, of the lists.
LISTS = [(bits, eps0, n) for bits, eps0 in ((2, 2.0), (4, 4.0)) for n in (1_000, 10_000)]

# H and d of the trees of Figures 3 and 4.
TREES = tuple(product((5, 8), (8, 32)))

# Users of the histograms that are enumerated, messages of noise of each of them, and e^ε.
FEW_USERS, NOISE = 3, 1
EXP_EPS_OF_BINS = Fraction(3, 2)

# Masses by shuffled reports, or by kinds of components.
Law: TypeAlias = Mapping[Any, Fraction]


def counterexample_divergence() -> Fraction:
    """Return D(ε) of the shuffled reports, by enumeration."""
    zeros, ones = (0,) * BITS, (1,) * BITS
    return _excess_mass(_shuffled(zeros, zeros), _shuffled(ones, zeros))


def counterexample_claim() -> Fraction:
    """Return D(ε) of the pair in Theorem 1, by enumeration of both reports' components."""
    p = (KEPT / (1 - KEPT)) ** BITS
    beta = sum(
        (
            math.comb(BITS, k) * (_kept_chance(k) - _kept_chance(BITS - k))
            for k in range(BITS // 2 + 1, BITS + 1)
        ),
        Fraction(0),
    )
    alpha = beta / (p - 1)
    rest = 1 - alpha - p * alpha
    # The other user is a clone of either kind with probability pα/q = α, else nothing.
    others = (alpha, alpha, 1 - 2 * alpha)
    victims = ((p * alpha, alpha, rest), (alpha, p * alpha, rest))
    law, other = (
        _multiset_law(dict(enumerate(victim)), dict(enumerate(others))) for victim in victims
    )
    return _excess_mass(law, other)


def _shuffled(victim: tuple[int, ...], other: tuple[int, ...]) -> Law:
    return _multiset_law(_reports(victim), _reports(other))


def _reports(value: tuple[int, ...]) -> Law:
    """Return the law of the vector that a user sends."""
    return {
        report: _kept_chance(sum(x == y for x, y in zip(value, report, strict=True)))
        for report in product((0, 1), repeat=BITS)
    }


def _kept_chance(count: int) -> Fraction:
    """Return the probability that so many given bits are kept and the others are flipped."""
    return KEPT**count * (1 - KEPT) ** (BITS - count)


def _multiset_law(first: Law, second: Law) -> Law:
    """Return the law of the multiset of two independent draws."""
    law: dict[Any, Fraction] = defaultdict(Fraction)
    for (x, mass), (y, other) in product(first.items(), second.items()):
        law[tuple(sorted((x, y)))] += mass * other
    return law


def _excess_mass(law: Law, other: Law, exp_eps: Fraction = EXP_EPS) -> Fraction:
    excesses = (law[key] - exp_eps * other.get(key, Fraction(0)) for key in law)
    return sum((max(Fraction(0), excess) for excess in excesses), Fraction(0))


def theorem1_holds(_: Evidence) -> Judgement:
    """Return whether the pair covers one dataset, which no curve shows."""
    truth, claimed = counterexample_divergence(), counterexample_claim()
    return judge_cases(
        [truth <= claimed],
        "datasets",
        f"D = {truth} where the theorem says at most {claimed}",
        "at s = d = 2, r = 2/3, n = 2 the victim holds 00 or 11, the other user 00, e^ε = 7/2",
    )


def truncated_list(bits: int, eps0: float, n: int) -> tuple[float, int, float]:
    """Return the mass that Theorem 2 drops, its number of terms, and how many the proof allows.

    The theorem claims that the mass is at most `TOLERANCE`, τ, and the proof that at most
    (√(2(n − 1)L) + 1)² terms are left, L = log(4/τ).
    """
    clones, log_inverse = _clones(bits, eps0, n), math.log(4.0 / TOLERANCE)
    spread = math.sqrt(log_inverse * (n - 1) / 2.0)
    mass, terms = 0.0, 0
    for c in _counts(clones.mean(), spread, n - 1):
        first_kind = _counts(c / 2.0, math.sqrt(log_inverse * c / 2.0), c)
        terms += len(first_kind)
        ends = stats.binom.cdf([first_kind.start - 1, first_kind.stop - 1], c, 0.5)
        mass += clones.pmf(c) * (ends[1] - ends[0])
    return max(0.0, 1.0 - mass), terms, (math.sqrt(2.0 * (n - 1) * log_inverse) + 1.0) ** 2


def loss_list(bits: int, eps0: float, n: int, eps: float, *, released: bool) -> tuple[float, float]:
    """Return the mass of the list of Algorithm 1, and the δ at ε (natural log) that follows.

    As printed, lines 9 and 10 lack a factor i, the denominator of line 13 lacks a p, and lines 12
    and 16 add the mass of P₀, the victim being a clone of the first kind, where the theorem has
    that of P. The `released` program has none of these mistakes. Neither lists a point whose first
    count is 0.
    """
    log_inverse = RELEASED_LOG_INVERSE if released else math.log(1.0 / TOLERANCE)
    clones = _clones(bits, eps0, n)
    pair = published_vector_bits(bits, eps0)
    common, rare, rest = pair.a.tolist()
    chance = 2.0 * pair.c[0]
    mass = delta = 0.0
    for i in _counts(clones.mean(), math.ceil(math.sqrt(log_inverse * (n - 1) / 2.0)), n - 1):
        spread = math.sqrt(log_inverse / (2.0 * (i + 1))) * (i if released else 1)
        # Rounded outward, in its favour: the text at hand has lost the brackets.
        j = np.array(_counts(i / 2.0, math.ceil(spread), i))
        masses = clones.pmf(i) * stats.binom.pmf(j, i, 0.5)
        hidden = rest * (n - 1 - i) * chance / (1.0 - chance)
        above = 2.0 * common * (j + 1) + 2.0 * rare * (i - j) + hidden
        below = 2.0 * rare * (j + 1) + 2.0 * (common if released else rare) * (i - j) + hidden
        if released:
            # From P₀ to P, whose ratio is that of `above` to what a sure clone has.
            masses = masses * above / (2.0 * (j + 1))
        mass += float(masses.sum())
        delta += float(masses @ np.maximum(0.0, -np.expm1(eps - np.log(above / below))))
    return mass, delta


def _clones(bits: int, eps0: float, n: int) -> stats.rv_discrete:
    return stats.binom(n - 1, 2.0 * published_vector_bits(bits, eps0).c[0])


def _counts(mean: float, spread: float, most: int) -> range:
    """Return the whole numbers from 0 to `most` that are within `spread` of `mean`."""
    return range(max(0, math.ceil(mean - spread)), min(most, math.floor(mean + spread)) + 1)


def truncation(_: Evidence) -> Judgement:
    """Return the mass and the terms of truncated lists."""
    lists = [truncated_list(*setting) for setting in LISTS]
    masses, shares = zip(*((mass, terms / most) for mass, terms, most in lists), strict=True)
    return judge_cases(
        [mass <= TOLERANCE and terms <= most for mass, terms, most in lists],
        "lists",
        f"at most {max(masses):.1g} of mass dropped where τ is {TOLERANCE:.1g}; at "
        f"most {max(shares):.2g} of the terms that the proof counts",
    )


def algorithm1(_: Evidence) -> Judgement:
    """Return the mass of lists as printed and as the released program makes them."""
    printed, released, shares = [], [], []
    for bits, eps0, n in LISTS:
        delta = 0.01 / n
        eps = epsilon(published_vector_bits(bits, eps0), n, delta).upper
        printed.append(loss_list(bits, eps0, n, eps, released=False)[0])
        mass, listed_delta = loss_list(bits, eps0, n, eps, released=True)
        released.append(mass)
        shares.append(abs(listed_delta / delta - 1.0))
    left_out = [max(0.0, 1.0 - mass) for mass in released]
    return judge_cases(
        [mass >= 1.0 - TOLERANCE for mass in (*printed, *released)],
        "lists, four as printed and four of the released program",
        f"as printed {percentage(min(printed), up=False)} to {percentage(max(printed), up=True)} "
        f"of the mass is listed; the released program leaves out at most {max(left_out):.1g}, and "
        f"its δ is within {percentage(max(shares), up=True)} of that of the pair",
    )


def reached_pairs(_: Evidence) -> Judgement:
    """Compare D of two datasets with that of the pair they should reach, on levels of trees."""
    gaps = []
    for bins in (2, 4, 8):
        protocol = BallsIntoBins(blankets=NOISE, bins=bins, special=1)
        truth = float(histogram_divergence(bins))
        eps = math.log(EXP_EPS_OF_BINS)
        bound = delta_of(protocol.decomposition(), eps, protocol.draws(FEW_USERS))
        gaps.append(max(abs(bound.lower / truth - 1.0), abs(bound.upper / truth - 1.0)))
    return judge_cases(
        [gap <= 1e-6 for gap in gaps],
        "histograms",
        f"D of the pair is that of the datasets to {max(gaps):.1g} of itself",
        f"{FEW_USERS} users, e^ε = {EXP_EPS_OF_BINS}, histograms of 2, 4 and 8 categories",
    )


def histogram_divergence(bins: int) -> Fraction:
    """Return D(ε) of the counts of all messages, the victim's being in either of two categories.

    All other users are in the last category, which the attacker knows and subtracts.
    """
    laws: list[dict[Any, Fraction]] = []
    for victim in (0, 1):
        law: dict[Any, Fraction] = defaultdict(Fraction)
        for noise in product(range(bins), repeat=NOISE * FEW_USERS):
            law[tuple(sorted((victim, *noise)))] += Fraction(1, bins ** len(noise))
        laws.append(law)
    first, second = laws
    return _excess_mass(first, second, EXP_EPS_OF_BINS)


def both_directions(_: Evidence) -> Judgement:
    """Return whether the pairs of vectors of bits and of trees are their own mirror images."""
    pairs = [published_vector_bits(bits, eps0) for bits, eps0, _ in LISTS]
    for level in range(max(height for height, _ in TREES)):
        pairs.append(BallsIntoBins(blankets=1, bins=2 ** (level + 1), special=1).decomposition())
    holds = [pair.is_symmetric() for pair in pairs]
    return judge_cases(holds, "pairs", f"{sum(holds)} of {len(holds)} pairs are symmetric")


def query_counts(_: Evidence) -> Judgement:
    """Compare numbers of queries of trees: by the formula, its sum, and the levels of the trees."""
    closed = [Fraction(height * (2 * d - height), 2) for height, d in TREES]
    summed, levels = (
        [sum(d - h for h in range(height + more)) for height, d in TREES] for more in (1, 0)
    )
    return judge_cases(
        [formula == total for formula, total in zip(closed, summed, strict=True)],
        "trees",
        f"{', '.join(f'{float(count):g}' for count in closed)} by the formula, "
        f"{', '.join(map(str, summed))} by the sum it stands for, {', '.join(map(str, levels))} on "
        "levels 0 to H − 1",
        "for (H, d) = " + ", ".join(map(str, TREES)),
    )


MEASURES: Mapping[str, Measure] = {
    "theorem1_holds": theorem1_holds,
    "truncation": truncation,
    "algorithm1": algorithm1,
    "trees_tight": reached_pairs,
    "both_directions": both_directions,
    "query_counts": query_counts,
}
