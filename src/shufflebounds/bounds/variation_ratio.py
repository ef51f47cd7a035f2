"""Variation-ratio: a decomposition from three numbers that are known of the users' randomizers.

Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened" (PVLDB 17(8),
2024), describe the victim's two reports A, B and the reports W_i of the others by

* p: A ≤ pB and B ≤ pA,
* β: the total variation distance of A and B is at most β,
* q₀, q₁: A ≤ q₀W_i and B ≤ q₁W_i for every other user i.

The victim's input is replaced by another, those of the others stay; reports are independent given
the inputs, and n counts users who follow the protocol and do not collude. What is made of the three
numbers here, and why it bounds every such protocol, is in docs/variation-ratio.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import Candidate, Protocol

# A violation by less than this is rounding, and is mended on the safe side.
_SLACK = Fraction(1, 10**12)
# Entries are rational functions of the arguments, rounded once.
_ROUNDED_ONCE = 2.0**-52


def variation_ratio(
    p: float, beta: float, q: float | tuple[float, float], *, published: bool = False
) -> Decomposition:
    """The decomposition that bounds all users with these p, β and q; for one q, the smallest.

    Parameters
    ----------
    p
        Largest ratio of the victim's two laws, p > 1; inf where they may exclude each other.
    beta
        Their largest total variation distance, 0 ≤ β ≤ (p − 1)/(p + 1).
    q
        Largest ratio of the victim's laws to any other user's, 1 + β ≤ q < inf. A pair (q₀, q₁)
        tells those of the first and the second law apart.
    published
        Give what the paper has (Theorem 4.7) instead, which takes the others' leftover for the
        victim's: c = (r₀, r₁, 1 − r₀ − r₁). **No upper bound in general**, unless β is at its
        maximum, where both agree. Needs q ≥ 1 and r₀ + r₁ ≤ 1.

    With α = β/(p − 1), w = 1 − α − pα and r_i = pα/q_i, the components are

        a = (pα, α, w),    b = (α, pα, w),    c = (r₀, r₁, w/max(q₀, q₁)).

    The bound is of the victim's inputs and of the others' inputs that p, β and q were computed for.
    Users with these numbers are also users with larger ones, so that whoever computes them may, and
    should, round them up. The arguments are taken as they are; a β or q that is outside the domain
    by less than 10⁻¹² counts as rounded.

    Raises ValueError outside the domain.
    """
    inverse = Fraction(0) if p == math.inf else 1 / Fraction(_ratio("p", p))
    if inverse >= 1:
        raise ValueError(f"p must be above 1, got {p!r}")
    both = q if isinstance(q, tuple) else (q, q)
    if len(both) != 2:
        raise ValueError(f"q must be a number or a pair of numbers, got {q!r}")
    q0, q1 = (Fraction(_ratio("q", x)) for x in both)
    largest = (1 - inverse) / (1 + inverse)
    variation = Fraction(validation.probability("beta", beta))
    if variation > largest + _SLACK:
        raise ValueError(
            f"beta must be at most (p - 1)/(p + 1) = {float(largest):.6g}, got {beta!r}"
        )
    common = min(variation, largest) / (1 - inverse)  # pα
    rare = common * inverse
    rest = 1 - common - rare
    clones = common / q0 + common / q1 + (0 if published else rest / min(q0, q1))
    if clones > 1 + _SLACK:
        least = "(p beta/(p - 1))(1/q0 + 1/q1) <= 1" if published else _domain(q)
        raise ValueError(f"q must be such that {least}, got {q!r} with beta = {beta!r}")
    q0, q1 = q0 * max(clones, Fraction(1)), q1 * max(clones, Fraction(1))
    sure = 1 - common / q0 - common / q1 if published else rest / max(q0, q1)
    components = [
        (common, rare, common / q0),
        (rare, common, common / q1),
        (rest, rest, sure),
    ]
    a, b, c = np.array([x for x in components if x[0] > 0 or x[1] > 0], dtype=np.float64).T
    return Decomposition(a, b, c, rel_err=_ROUNDED_ONCE)


def _ratio(name: str, value: object) -> float:
    value = validation.finite(name, value)
    if value < 1.0:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
    return value


def _domain(q: float | tuple[float, float]) -> str:
    if isinstance(q, tuple):
        return "(p beta/(p - 1))(1/q0 + 1/q1) + w/min(q0, q1) <= 1, w = 1 - beta (p + 1)/(p - 1)"
    return "q >= 1 + beta"


def _repaired(protocol: Protocol) -> tuple[Candidate, ...]:
    ratios = protocol.ratios()
    return (Candidate(variation_ratio(ratios.p, ratios.beta, ratios.q)),)


def _published(protocol: Protocol) -> tuple[Candidate, ...]:
    ratios = protocol.ratios()
    return (Candidate(variation_ratio(ratios.p, ratios.beta, ratios.q, published=True)),)


VARIATION_RATIO = divergence_bound(
    "variation_ratio",
    Kind.UPPER,
    label="variation-ratio, repaired",
    source="docs/variation-ratio.md, Theorem 1, from the three numbers of Wang et al., PVLDB "
    "17(8), 2024",
    knows_mechanism=True,
    candidates=_repaired,
)

PUBLISHED = divergence_bound(
    "variation_ratio_published",
    Kind.UNPROVEN,
    label="variation-ratio, as published",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 4.7: published, not proven unless beta is at "
    "its maximum or the leftovers of the victim and of the others have one law",
    knows_mechanism=True,
    candidates=_published,
)
