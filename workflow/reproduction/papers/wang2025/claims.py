"""How the claims of the paper are measured and judged; `claims.yaml` words them.

The paper is Wang et al., Appl. Sci. 15(3), 2025.
The words are ours. Sections are those of the paper.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from reproduction.papers.judging import (
    Evidence,
    Judgement,
    at_least,
    claims,
    deficit,
    enclosures,
    everywhere,
    extreme,
    measured,
    of_cases,
    percentage,
)
from shufflebounds.accounting.questions import epsilon
from shufflebounds.bounds.variation_ratio import published_vector_bits

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


# The privacy loss distribution of Section 6: what Theorem 2 truncates, and Algorithm 1 as printed.
#
# C counts the others who are clones, binomial of n − 1 with chance s = 2pα/q, and A those of the
# first kind, binomial of C with chance 1/2. In floats, for comparison: nothing here is certified.

TOLERANCE = 2.0**-30


def truncated(bits: int, eps0: float, n: int) -> tuple[float, int, float]:
    """Of Theorem 2: the mass that it drops, its number of terms, and what the proof allows.

    The theorem claims that the mass is at most `TOLERANCE`, τ, and the proof that at most
    (√(2(n − 1)L) + 1)² terms are left, L = log(4/τ).
    """
    clones, log_inverse = _clones(bits, eps0, n), math.log(4.0 / TOLERANCE)
    spread = math.sqrt(log_inverse * (n - 1) / 2.0)
    kept, terms = 0.0, 0
    for c in _counts(clones.mean(), spread, n - 1):
        told = _counts(c / 2.0, math.sqrt(log_inverse * c / 2.0), c)
        terms += len(told)
        inside = stats.binom.cdf(told.stop - 1, c, 0.5) - stats.binom.cdf(told.start - 1, c, 0.5)
        kept += clones.pmf(c) * inside
    return max(0.0, 1.0 - kept), terms, (math.sqrt(2.0 * (n - 1) * log_inverse) + 1.0) ** 2


def listed(bits: int, eps0: float, n: int, eps: float, *, mended: bool) -> tuple[float, float]:
    """Of the list of Algorithm 1: its mass, and the δ at ε (natural log) that follows from it.

    With `mended` lines 9 and 10 have the factor i that they lack, and the denominator of line 13
    its p. Lines 12 and 16 add the mass of P₀, the victim being a clone of the first kind, where the
    theorem has that of P.
    """
    clones, log_inverse = _clones(bits, eps0, n), math.log(1.0 / TOLERANCE)
    pair = published_vector_bits(bits, eps0)
    common, rare, rest = pair.a.tolist()
    chance = 2.0 * pair.c[0]
    mass = delta = 0.0
    for i in _counts(clones.mean(), math.sqrt(log_inverse * (n - 1) / 2.0), n - 1):
        spread = math.sqrt(log_inverse / (2.0 * (i + 1))) * (i if mended else 1)
        # Rounded outward, in its favour: the text at hand has lost the brackets.
        j = np.array(_counts(i / 2.0, math.ceil(spread), i))
        masses = clones.pmf(i) * stats.binom.pmf(j, i, 0.5)
        hidden = rest * (n - 1 - i) * chance / (1.0 - chance)
        above = 2.0 * common * (j + 1) + 2.0 * rare * (i - j) + hidden
        below = 2.0 * rare * (j + 1) + 2.0 * (common if mended else rare) * (i - j) + hidden
        mass += float(masses.sum())
        delta += float(masses @ np.maximum(0.0, -np.expm1(eps - np.log(above / below))))
    return mass, delta


def _clones(bits: int, eps0: float, n: int) -> stats.rv_discrete:
    return stats.binom(n - 1, 2.0 * published_vector_bits(bits, eps0).c[0])


def _counts(mean: float, spread: float, most: int) -> range:
    """Those within the spread, of 0 to `most`."""
    return range(max(0, math.ceil(mean - spread)), min(most, math.floor(mean + spread)) + 1)


# What the claims of this paper speak of, enclosed at every point of the curves.

_GRID = ["mechanism", "eps0", "n", "rounds", "messages"]


def below(evidence: Evidence, bound: str, others: tuple[str, ...]) -> pd.DataFrame:
    """By how much the ε of a bound is below the least of `others`: 1 − ours / least."""
    ours, *theirs = (enclosures(evidence.curves, name, by=_GRID) for name in (bound, *others))
    return measured(deficit(ours, extreme(theirs, "min")).dropna())


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
    found = [truncated(*one) for one in _LISTS]
    masses, shares = zip(*((mass, terms / most) for mass, terms, most in found), strict=True)
    return of_cases(
        [mass <= TOLERANCE and terms <= most for mass, terms, most in found],
        "lists",
        f"at most {max(masses):.1g} of mass dropped where τ is {TOLERANCE:.1g}; at "
        f"most {max(shares):.2g} of the terms that the proof counts",
    )


def _algorithm(_: Evidence) -> Judgement:
    masses, excess = [], []
    for bits, eps0, n in _LISTS:
        pair, delta = published_vector_bits(bits, eps0), 0.01 / n
        eps = epsilon(pair, n, delta).upper
        masses.append(listed(bits, eps0, n, eps, mended=False)[0])
        excess.append(listed(bits, eps0, n, eps, mended=True)[1] / delta - 1.0)
    return of_cases(
        [mass >= 1.0 - TOLERANCE for mass in masses],
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


INTRODUCTION, CLAIMS = claims(
    __package__,
    {
        "theorem1_saves": partial(
            _saves, bound="vector_bits_published", others=("stronger_clone",), share=0.15
        ),
        "theorem1_over_twenty": partial(
            _saves, bound="vector_bits_published", others=("stronger_clone",), share=0.20
        ),
        "theorem1_holds": _holds,
        "blanket_saves": partial(_saves, bound="upper", others=("stronger_clone",), share=0.15),
        "renyi_far": partial(_saves, bound="upper", others=("girgis_upper",), share=0.20),
        "renyi_exact_far": partial(_saves, bound="upper", others=("upper_renyi",), share=0.20),
        "truncation": _truncation,
        "algorithm1": _algorithm,
        "query_counts": _queries,
        "trees_save": partial(
            _saves,
            bound="upper",
            others=("basic_composition", "advanced_composition"),
            share=0.75,
        ),
    },
)
