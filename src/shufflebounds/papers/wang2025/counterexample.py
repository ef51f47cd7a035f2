"""A dataset that Theorem 1 of the paper does not cover: two users, vectors of two bits.

Bits are kept with probability 2/3. The victim holds 00 or 11, the other user 00, and e^ε = 7/2.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

KEPT = Fraction(2, 3)
RATIO = Fraction(7, 2)
BITS = 2


def truth() -> Fraction:
    """D(ε) of what is shuffled, by enumeration."""
    return _divergence(*(_shuffled(victim, (0,) * BITS) for victim in ((0,) * BITS, (1,) * BITS)))


def claimed() -> Fraction:
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
