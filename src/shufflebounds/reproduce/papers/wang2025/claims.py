"""What the paper claims (Wang et al., Appl. Sci. 15(3), 2025), how it is measured, when it holds.

The words are ours. Sections are those of the paper.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import partial
from itertools import product

import pandas as pd

from shufflebounds.accounting.questions import epsilon
from shufflebounds.bounds.variation_ratio import published_vector_bits
from shufflebounds.reproduce.papers.judging import (
    Claim,
    Evidence,
    Judgement,
    at_least,
    deficit,
    enclosures,
    everywhere,
    extreme,
    measured,
    of_cases,
    percentage,
)
from shufflebounds.reproduce.papers.wang2025 import printed_list

# A dataset that Theorem 1 of the paper does not cover: two users, vectors of two bits.
#
# Bits are kept with probability 2/3. The victim holds 00 or 11, the other user 00, and e^ε = 7/2.

KEPT = Fraction(2, 3)
RATIO = Fraction(7, 2)
BITS = 2


def counterexample_divergence() -> Fraction:
    """D(ε) of what is shuffled, by enumeration."""
    return _divergence(*(_shuffled(victim, (0,) * BITS) for victim in ((0,) * BITS, (1,) * BITS)))


def counterexample_claim() -> Fraction:
    """D(ε) of the pair in Theorem 1, by enumeration of both reports' components."""
    r, s = KEPT, BITS
    p = (r / (1 - r)) ** s
    beta = sum(
        (math.comb(s, k) * (_kept(k) - _kept(s - k)) for k in range(s // 2 + 1, s + 1)),
        Fraction(0),
    )
    alpha = beta / (p - 1)
    rest = 1 - alpha - p * alpha
    # Of the other user: a clone of either kind with probability pα/q = α, else nothing.
    others = (alpha, alpha, 1 - 2 * alpha)
    laws = []
    for victim in ((p * alpha, alpha, rest), (alpha, p * alpha, rest)):
        law: dict[tuple, Fraction] = defaultdict(Fraction)
        for i, j in product(range(3), repeat=2):
            law[tuple(sorted((i, j)))] += victim[i] * others[j]
        laws.append(law)
    return _divergence(*laws)


def _shuffled(victim: tuple[int, ...], other: tuple[int, ...]) -> dict[tuple, Fraction]:
    law: dict[tuple, Fraction] = defaultdict(Fraction)
    for one, two in product(product((0, 1), repeat=BITS), repeat=2):
        law[tuple(sorted((one, two)))] += _likelihood(victim, one) * _likelihood(other, two)
    return law


def _likelihood(held: tuple[int, ...], sent: tuple[int, ...]) -> Fraction:
    return _kept(sum(x == y for x, y in zip(held, sent, strict=True)))


def _kept(count: int) -> Fraction:
    """That so many given bits are kept and the others flipped."""
    return KEPT**count * (1 - KEPT) ** (BITS - count)


def _divergence(one: dict[tuple, Fraction], two: dict[tuple, Fraction]) -> Fraction:
    return sum((max(Fraction(0), one[key] - RATIO * two[key]) for key in one), Fraction(0))


# What the claims of this paper speak of, enclosed at every point of the curves.

_GRID = ["mechanism", "eps0", "n", "rounds", "messages"]


def below(evidence: Evidence, bound: str, others: tuple[str, ...]) -> pd.DataFrame:
    """By how much the ε of a bound is below the least of `others`: 1 − ours / least."""
    ours, *theirs = (enclosures(evidence.curves, name, by=_GRID) for name in (bound, *others))
    return measured(deficit(ours, extreme(theirs, "min")).dropna())


INTRODUCTION = """\
What Wang, Zeng, Li, Huang and Chen ([Appl. Sci. 15(3):1595,
2025](https://doi.org/10.3390/app15031595)) say about their composition, in our words, and what the
curves say. That composition costs Õ(n) is not judged: the one here costs the same for every n.
"""


def _saves(
    evidence: Evidence, bound: str, others: tuple[str, ...], share: float
) -> Judgement | None:
    return everywhere(below(evidence, bound, others), at_least(share))


def _holds(_: Evidence) -> Judgement:
    """By one dataset, which no curve shows."""
    truth, claimed = counterexample_divergence(), counterexample_claim()
    return of_cases(
        [truth <= claimed],
        "datasets",
        f"D = {truth} where the theorem says at most {claimed}",
        "s = d = 2, r = 2/3, n = 2: the victim holds 00 or 11, the other user 00, e^ε = 7/2",
    )


# Bits and ε₀ of Figure 2, and numbers of users.
_LISTS = [(bits, eps0, n) for bits, eps0 in ((2, 2.0), (4, 4.0)) for n in (1_000, 10_000)]


def _truncation(_: Evidence) -> Judgement:
    found = [printed_list.truncated(*one) for one in _LISTS]
    masses, shares = zip(*((mass, terms / most) for mass, terms, most in found), strict=True)
    return of_cases(
        [mass <= printed_list.TOLERANCE and terms <= most for mass, terms, most in found],
        "lists",
        f"at most {max(masses):.1g} of mass dropped where τ is {printed_list.TOLERANCE:.1g}; at "
        f"most {max(shares):.2g} of the terms that the proof counts",
    )


def _algorithm(_: Evidence) -> Judgement:
    masses, excess = [], []
    for bits, eps0, n in _LISTS:
        pair, delta = published_vector_bits(bits, eps0), 0.01 / n
        eps = epsilon(pair, n, delta).upper
        masses.append(printed_list.listed(bits, eps0, n, eps, mended=False)[0])
        excess.append(printed_list.listed(bits, eps0, n, eps, mended=True)[1] / delta - 1.0)
    return of_cases(
        [mass >= 1.0 - printed_list.TOLERANCE for mass in masses],
        "lists",
        f"{percentage(min(masses), up=False)} to {percentage(max(masses), up=True)} of the mass "
        f"is listed; with its lines mended δ is {percentage(min(excess), up=False)} to "
        f"{percentage(max(excess), up=True)} too large",
    )


def _queries(_: Evidence) -> Judgement:
    """Of the trees of Figures 3 and 4."""
    trees = list(product((5, 8), (8, 32)))
    closed = [Fraction(height * (2 * d - height), 2) for height, d in trees]
    summed = [sum(d - h for h in range(height + 1)) for height, d in trees]
    levels = [sum(d - h for h in range(height)) for height, d in trees]
    return of_cases(
        [one == other for one, other in zip(closed, summed, strict=True)],
        "trees",
        f"{', '.join(f'{float(one):g}' for one in closed)} by the formula, "
        f"{', '.join(map(str, summed))} by the sum it stands for, {', '.join(map(str, levels))} on "
        "levels 0 to H − 1",
        "(H, d) = " + ", ".join(map(str, trees)),
    )


CLAIMS = (
    Claim(
        name="theorem1_saves",
        source="Section 8.1, Figure 2",
        words="For vectors of randomized bits Theorem 1 saves about 20 % over the numerical "
        "accounting of Koskela et al.",
        measure="1 − ε(Theorem 1) / ε(stronger clone), both composed T times, at every T. Holds at "
        "a point: at least 15 %, 20 % to the nearest ten.",
        judge=partial(
            _saves, bound="vector_bits_published", others=("stronger_clone",), share=0.15
        ),
        note="Theorem 1 is not proven, so that nobody may spend what it saves.",
    ),
    Claim(
        name="theorem1_holds",
        source="Section 5, Theorem 1",
        words="The pair of Theorem 1 dominates vectors of s randomized bits.",
        measure="D(ε) of one dataset of two users and of the theorem's pair, both by enumeration "
        "in rational arithmetic. Holds: the former is not larger.",
        judge=_holds,
        cause="β is the total variation, as the paper says; it is the reduction (Lemma 4) that is "
        "no bound where β is below its largest value, which it is for s ≥ 2: the victim's report "
        "that both inputs make as likely is taken for one that hides among others.",
    ),
    Claim(
        name="blanket_saves",
        source="Section 8.1, Figure 2",
        words="For vectors of randomized bits a pair that fits them saves about 20 %: here that of "
        "the blanket, which is proven.",
        measure="1 − ε(blanket of s bits) / ε(stronger clone), both composed T times, at every T. "
        "Holds at a point: at least 15 %.",
        judge=partial(_saves, bound="upper", others=("stronger_clone",), share=0.15),
    ),
    Claim(
        name="renyi_far",
        source="Sections 1 and 6",
        words="Rényi accounting is far from tight for the noise of shuffling, as published: by "
        "the closed form of Girgis et al.",
        measure="1 − ε(composed blanket) / ε(Theorem 3.1 of Girgis et al., over its orders), at "
        "every T. Holds at a point: at least 20 %.",
        judge=partial(_saves, bound="upper", others=("girgis_upper",), share=0.20),
    ),
    Claim(
        name="renyi_exact_far",
        source="ours",
        words="Rényi accounting is far from tight even with the exact divergence.",
        measure="1 − ε(composed blanket) / ε(Rényi accounting of the same blanket, exact and over "
        "all orders), at every T. Holds at a point: at least 20 %.",
        judge=partial(_saves, bound="upper", others=("upper_renyi",), share=0.20),
        cause="It is the closed forms that are loose, as that of Girgis et al. in the figure: with "
        "the exact divergence all that is lost is in the conversion to (ε, δ).",
    ),
    Claim(
        name="truncation",
        source="Section 6, Theorem 2",
        words="The truncated list of privacy losses lacks a mass of at most τ and has "
        "O(n log(1/τ)) terms.",
        measure="The mass that is left out, and the number of terms against that of the proof; "
        "τ = 2⁻³⁰, 2 and 4 bits, n = 10³ and 10⁴. Holds for a list: neither is more.",
        judge=_truncation,
    ),
    Claim(
        name="algorithm1",
        source="Section 6, Algorithm 1",
        words="Algorithm 1 lists the privacy losses of the pair up to a mass of τ.",
        measure="The mass of the list as printed; as `truncation`. Holds: at least 1 − τ.",
        judge=_algorithm,
        cause="Lines 9 and 10 lack a factor i and line 13 lacks a p. With both mended the list is "
        "that of P₀, which is P only where p = ∞ and β = 1, as for the trees: its δ is too large, "
        "on the safe side. It also takes log(1/τ) for log(4/τ).",
    ),
    Claim(
        name="query_counts",
        source="Section 8.2",
        words="A tree of H levels over d attributes takes H(2d − H)/2 queries, the sum of d − h "
        "for h from 0 to H.",
        measure="Both counts, for the trees of Figures 3 and 4. Holds for a tree: they agree.",
        judge=_queries,
        cause="The sum is (H + 1)(2d − H)/2. A tree of H levels has the levels 0 to H − 1, as in "
        "the released code, which is what the figures here take.",
    ),
    Claim(
        name="trees_save",
        source="Abstract, Section 8.2, Figures 3 and 4",
        words="For decision trees numerical composition saves 80 % of what basic or advanced "
        "composition spends.",
        measure="1 − ε(composed profiles) / less of ε(basic) and ε(advanced), at every number of "
        "messages. Holds at a point: at least 75 %, 80 % to the nearest ten.",
        judge=partial(
            _saves,
            bound="upper",
            others=("basic_composition", "advanced_composition"),
            share=0.75,
        ),
        cause="Advanced composition here is the heterogeneous theorem of Kairouz, Oh and "
        "Viswanath, not larger than the sum of all ε. The fewer the queries, the less there is to "
        "save.",
    ),
)
