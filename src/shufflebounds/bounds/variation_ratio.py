"""Variation-ratio: a decomposition from three numbers that describe the users' randomizers.

Wang et al., "Privacy Amplification via Shuffling: Unified, Simplified, and Tightened" (PVLDB 17(8),
2024), describe the victim's two reports A, B and the reports W_i of the others by

* p: A ≤ pB and B ≤ pA,
* β: the total variation distance of A and B is at most β,
* q₀, q₁: A ≤ q₀W_i and B ≤ q₁W_i for every other user i.

The victim's input is replaced, the inputs of the others stay the same. Reports are independent
given the inputs, and n counts users who follow the protocol and do not collude.
docs/proofs/variation-ratio.md derives the decomposition and proves that it bounds every such
protocol.

`metric_variation_ratio` and `metric_clone` do the same under metric privacy,
R(x) ≤ e^{d(x, x′)}R(x′) for all inputs: p = e^{d₀₁} for two inputs at distance d₀₁, and q₀ and q₁
are e to the largest distance of any input from either (docs/proofs/variation-ratio.md, section 8).

`published_vector_bits` is the reduction of vectors of randomized bits by Wang et al. (Appl. Sci.
15(3), 2025), which is not a proven bound. Their Theorem 1 takes the total variation of s flipped
bits for β. It is, but at such a β the reduction is not a bound (docs/proofs/variation-ratio.md);
the tests have a dataset that exceeds it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from functools import partial

import numpy as np

from shufflebounds.bounds.base import SPECIAL_ERR, Kind
from shufflebounds.bounds.divergences import divergence_bound, seen
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.number import Real
from shufflebounds.core.products import MASSES_ERR
from shufflebounds.randomizers.bit_vectors import LocalHash
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.randomizers.joint import Joint
from shufflebounds.subjects.base import GivenSource, Source
from shufflebounds.subjects.ratios import RATIOS_UP
from shufflebounds.subjects.reports import source_of

# A ratio of probabilities.
RATIO = Real("ratio", ge=1)
# Largest violation of the domain of β and q that counts as rounding, and is corrected upwards.
_SLACK = Fraction(1, 10**12)
# Kinds of noise whose total variation is known.
NOISES = ("general", "laplace", "planar")


def variation_ratio(
    p: float, beta: float, q: float | tuple[float, float], *, published: bool = False
) -> Decomposition:
    """Return the decomposition that bounds all users with these p, β and q.

    If `q` is a number, no smaller decomposition does.

    Parameters
    ----------
    p
        Largest ratio of the victim's two laws, p > 1; inf if they may exclude each other.
    beta
        Their largest total variation distance, 0 ≤ β ≤ (p − 1)/(p + 1).
    q
        Largest ratio of the victim's laws to any other user's, 1 + β ≤ q < inf. A pair (q₀, q₁)
        has the ratio of the first law and that of the second law.
    published
        Whether to return the pair of the paper (Theorem 4.7) instead, which takes the others'
        leftover for the victim's: c = (r₀, r₁, 1 − r₀ − r₁). **Not an upper bound in general**,
        unless β is at its maximum, where both agree. It needs q ≥ 1 and r₀ + r₁ ≤ 1.

    Returns
    -------
    Decomposition
        With α = β/(p − 1), w = 1 − α − pα and r_i = pα/q_i: a = (pα, α, w), b = (α, pα, w) and
        c = (r₀, r₁, w/max(q₀, q₁)).

    Raises
    ------
    ValueError
        Outside the domain; a β or q that misses it by less than 10⁻¹² counts as rounded.

    Notes
    -----
    The three numbers are those of Wang et al. (PVLDB 17(8), 2024), for all inputs of the victim and
    of the others that the answer is to cover. Round them up, since users with these numbers are
    also users with larger numbers. Assumptions and proof: docs/proofs/variation-ratio.md, sections
    1 to 4.

    Examples
    --------
    >>> sb.variation_ratio(p=3.0, beta=0.25, q=2.0).c.tolist()
    [0.1875, 0.1875, 0.25]
    """
    inverse = Fraction(0) if p == math.inf else 1 / Fraction(RATIO.check(p, "p"))
    if inverse >= 1:
        raise ValueError(f"p must be above 1, got {p!r}")
    q_pair = q if isinstance(q, tuple) else (q, q)
    if len(q_pair) != 2:
        raise ValueError(f"q must be a number or a pair of numbers, got {q!r}")
    q0, q1 = (Fraction(RATIO.check(x, "q")) for x in q_pair)
    largest = (1 - inverse) / (1 + inverse)
    variation = Fraction(validation.probability("beta", beta))
    if variation > largest + _SLACK:
        raise ValueError(
            f"beta must be at most (p - 1)/(p + 1) = {float(largest):.6g}, got {beta!r}"
        )
    # The names are those of the docstring: common is pα and rare is α.
    common = min(variation, largest) / (1 - inverse)
    rare = common * inverse
    w = 1 - common - rare
    clones = common / q0 + common / q1 + (0 if published else w / min(q0, q1))
    if clones > 1 + _SLACK:
        condition = "(p beta/(p - 1))(1/q0 + 1/q1) <= 1" if published else _condition_on_q(q)
        raise ValueError(f"q must be such that {condition}, got {q!r} with beta = {beta!r}")
    q0, q1 = q0 * max(clones, Fraction(1)), q1 * max(clones, Fraction(1))
    third_c = 1 - common / q0 - common / q1 if published else w / max(q0, q1)
    components = [
        (common, rare, common / q0),
        (rare, common, common / q1),
        (w, w, third_c),
    ]
    a, b, c = np.array([x for x in components if x[0] > 0 or x[1] > 0], dtype=np.float64).T
    return Decomposition(a, b, c, rel_err=MASSES_ERR)


def _condition_on_q(q: float | tuple[float, float]) -> str:
    """Return the condition that q, or both of them, must satisfy."""
    if isinstance(q, tuple):
        return "(p beta/(p - 1))(1/q0 + 1/q1) + w/min(q0, q1) <= 1, w = 1 - beta (p + 1)/(p - 1)"
    return "q >= 1 + beta"


def _see_by_ratios(source: Source, *, published: bool) -> Source:
    """Return the variation-ratio pair of the source's three numbers."""
    ratios = source.ratios()
    pair = variation_ratio(ratios.p, ratios.beta, ratios.q, published=published)
    return GivenSource({"": pair}, eps0=source.eps0)


def _see_by_table_2(source: Source) -> Source:
    """Return the published pair at the β of Table 2.

    For local hashing this is the β of a hash function that tells the victim's inputs apart.
    """
    randomizer = getattr(source, "randomizer", None)
    if isinstance(randomizer, LocalHash):
        assert randomizer.hash_values is not None
        source = source_of(KRR(randomizer.hash_values, randomizer.eps0))
    return _see_by_ratios(source, published=True)


VARIATION_RATIO = divergence_bound(
    "variation_ratio",
    Kind.UPPER,
    seen(partial(_see_by_ratios, published=False)),
    label="variation-ratio, repaired",
    source="docs/proofs/variation-ratio.md, Theorem 1, from the three numbers of Wang et al., "
    "PVLDB "
    "17(8), 2024",
)

PUBLISHED = divergence_bound(
    "variation_ratio_published",
    Kind.UNPROVEN,
    seen(partial(_see_by_ratios, published=True)),
    label="variation-ratio, as published",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 4.7: published, not proven unless beta is at "
    "its maximum or the leftovers of the victim and of the others have one law",
)

PRINTED = divergence_bound(
    "variation_ratio_printed",
    Kind.UNPROVEN,
    seen(_see_by_table_2),
    label="variation-ratio, at the printed beta",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 4.7 at the beta of Table 2, which is larger "
    "than that of local hashing",
)


def metric_variation_ratio(
    distance: float, farthest: float | tuple[float, float], noise: str = "general"
) -> Decomposition:
    """Return the variation-ratio pair of two inputs of a metric space, by distances alone.

    It covers all pairs of inputs whose distance is at most `distance`, if no other input is further
    from them than `farthest`. The model is that of `variation_ratio`.

    Parameters
    ----------
    distance
        d₀₁ of the two inputs in units of privacy (of the noise's scale), 0 < d₀₁ ≤ 300.
    farthest
        The largest distance of any input from either of the two, d₀₁ to 300; or a pair: the largest
        distance from the first input and that from the second.
    noise
        ``laplace`` on a line, ``planar`` (Laplace) in the plane, or ``general`` for any noise.

    Returns
    -------
    Decomposition
        The decomposition of the two inputs.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Proof: docs/proofs/variation-ratio.md, section 8.

    Examples
    --------
    >>> U = sb.metric_variation_ratio(distance=1.0, farthest=4.0, noise="laplace")
    >>> f"{sb.epsilon(U, n=10_000, delta=1e-6).upper:.3f}"
    '0.199'
    """
    distance = validation.eps0(distance, "distance")
    distances = farthest if isinstance(farthest, tuple) else (farthest, farthest)
    q = tuple(math.exp(validation.eps0(x, "farthest")) * RATIOS_UP for x in distances)
    if len(q) != 2 or min(distances) < distance:
        raise ValueError(
            f"farthest must be a distance of at least {distance!r}, or two of them, got "
            f"{farthest!r}"
        )
    p = math.exp(distance) * RATIOS_UP
    # `variation_ratio` cuts off at (p − 1)/(p + 1) exactly.
    largest = min((p - 1.0) / (p + 1.0) * RATIOS_UP, 1.0)
    variation = min(_noise_variation(validation.choice("noise", noise, NOISES), distance), largest)
    return variation_ratio(p, variation, q)


def metric_clone(distance: float, distances: Collection[tuple[float, float]]) -> Decomposition:
    """Return the clone of two inputs of a metric space.

    The law of every other input x is at least 1/(e^{d(x, x₀)} + e^{d(x, x₁)}) times the sum of the
    two inputs' laws. The clone has the smallest of these factors.

    Parameters
    ----------
    distance
        d₀₁ of the two inputs in units of privacy, 0 < d₀₁ ≤ 300.
    distances
        Pairs (d(x, x₀), d(x, x₁)), 0 to 300, of inputs x among which that factor is smallest; on a
        line, those of both ends.

    Returns
    -------
    Decomposition
        The decomposition of the two inputs.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and if no pair obeys the triangle inequality.

    Notes
    -----
    Wang et al., "Metric differential privacy in the shuffle model" (2023); proof in
    docs/proofs/variation-ratio.md, section 8.

    Examples
    --------
    On the interval [0, 4], for the inputs 0 and 1:

    >>> U = sb.metric_clone(distance=1.0, distances=[(4.0, 3.0), (0.0, 1.0)])
    >>> f"{sb.epsilon(U, n=10_000, delta=1e-6).upper:.3f}"
    '0.217'
    """
    distance = validation.eps0(distance, "distance")
    pairs = validation.pairs("distances", distances, "of distances")
    if not pairs or not all(
        0.0 <= validation.finite("distance", d) <= 300.0 for d in sum(pairs, ())
    ):
        raise ValueError(f"distances must be pairs of numbers from 0 to 300, got {distances!r}")
    if not any(sum(pair) >= distance for pair in pairs):
        raise ValueError(
            f"distances must hold a pair of {distance!r} or more together, got {pairs!r}"
        )
    rare, common = (1.0 / (1.0 + math.exp(sign * distance)) for sign in (1.0, -1.0))
    c = 1.0 / max(math.exp(first) + math.exp(second) for first, second in pairs)
    return Decomposition(
        np.array([common, rare]), np.array([rare, common]), np.array([c, c]), MASSES_ERR
    )


def _noise_variation(noise: str, distance: float) -> float:
    """Return the total variation distance of the laws of two inputs, rounded up."""
    half = distance / 2.0
    if noise == "laplace":
        return -math.expm1(-half) * RATIOS_UP
    if noise == "planar":
        # The module takes longer to load than an answer.
        from scipy.special import iti0k0, k0

        # The distance is (2/π) ∫₀^half t K₁(t) dt, here integrated by parts.
        _, integral = iti0k0(half)
        return 2.0 / math.pi * (integral - half * k0(half)) * (1.0 + SPECIAL_ERR)
    return 1.0


def published_vector_bits(bits: int, eps0: float) -> Decomposition:
    """Return the pair of Theorem 1 for s = `bits` bits, p = q = e^{ε₀}.

    Each bit is kept with odds e^{ε₀/s}. The pair is not an upper bound for s ≥ 2.
    """
    stay = 1.0 / (1.0 + math.exp(-eps0 / bits))
    flip = 1.0 / (1.0 + math.exp(eps0 / bits))
    beta = math.fsum(
        math.comb(bits, k) * (stay**k * flip ** (bits - k) - stay ** (bits - k) * flip**k)
        for k in range(bits // 2 + 1, bits + 1)
    )
    return variation_ratio(math.exp(eps0), beta, math.exp(eps0), published=True)


def _see_vector_bits(source: Source) -> Source:
    """Return the pair of Theorem 1; ValueError unless all reports are the same randomized bits."""
    randomizer = getattr(source, "randomizer", None)
    bits = randomizer.parts if isinstance(randomizer, Joint) else (randomizer,)
    if not all(isinstance(bit, KRR) and bit == bits[0] and bit.k == 2 for bit in bits):
        raise ValueError(
            "the bound vector_bits_published needs reports of alike randomized bits, krr with "
            f"k = 2, got {randomizer!r}"
        )
    eps0 = source.require_eps0("vector_bits_published")
    return GivenSource({"": published_vector_bits(len(bits), eps0)}, eps0=eps0)


VECTOR_BITS_PUBLISHED = divergence_bound(
    "vector_bits_published",
    Kind.UNPROVEN,
    seen(_see_vector_bits),
    label="Theorem 1 of Wang et al. 2025",
    source="Wang, Zeng, Li, Huang and Chen, Appl. Sci. 15(3):1595, 2025, Theorem 1",
)
