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
from collections.abc import Callable, Collection
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np

from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.bounds.divergences import divergence_bound
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Candidate, Protocol, Ratios, SingleMessage
from shufflebounds.randomizers.bit_vectors import LocalHash
from shufflebounds.randomizers.discrete import KRR
from shufflebounds.randomizers.joint import Joint

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
    The three numbers are those of Wang et al. (PVLDB 17(8), 2024), for the inputs of the victim and
    of the others that are to be covered: round them up, since users with these numbers are also
    users with larger ones. Assumptions and proof: docs/variation-ratio.md, sections 1 to 4.

    Examples
    --------
    >>> sb.variation_ratio(p=3.0, beta=0.25, q=2.0).c.tolist()
    [0.1875, 0.1875, 0.25]
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


def _pair(protocol: Protocol, *, published: bool) -> tuple[Candidate, ...]:
    ratios = protocol.ratios()
    return (Candidate(variation_ratio(ratios.p, ratios.beta, ratios.q, published=published)),)


def _printed(protocol: Protocol) -> tuple[Candidate, ...]:
    """At the β of Table 2: of local hashing, that of a function that tells the inputs apart."""
    sent = protocol.randomizer if isinstance(protocol, SingleMessage) else None
    if isinstance(sent, LocalHash):
        assert sent.hash_values is not None
        protocol = SingleMessage(KRR(sent.hash_values, sent.eps0), protocol.eps0)
    return _pair(protocol, published=True)


VARIATION_RATIO = divergence_bound(
    "variation_ratio",
    Kind.UPPER,
    label="variation-ratio, repaired",
    source="docs/variation-ratio.md, Theorem 1, from the three numbers of Wang et al., PVLDB "
    "17(8), 2024",
    candidates=partial(_pair, published=False),
)

PUBLISHED = divergence_bound(
    "variation_ratio_published",
    Kind.UNPROVEN,
    label="variation-ratio, as published",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 4.7: published, not proven unless beta is at "
    "its maximum or the leftovers of the victim and of the others have one law",
    candidates=partial(_pair, published=True),
)

PRINTED = divergence_bound(
    "variation_ratio_printed",
    Kind.UNPROVEN,
    label="variation-ratio, at the printed beta",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 4.7 at the beta of Table 2, which is larger "
    "than that of local hashing",
    candidates=_printed,
)


# Variation-ratio decompositions under metric privacy; see docs/variation-ratio.md, section 8.
#
# R(x) ≤ e^{d(x, x′)}R(x′) for all inputs. Two inputs at distance d₀₁ have p = e^{d₀₁}, and q₀ and
# q₁ are e to the largest distance that any input has from either.

NOISES = ("general", "laplace", "planar")
# The pair grows with p, β and q, so that these may be rounded up.
_UP = 1.0 + 2.0**-50
_UP_SPECIAL = 1.0 + 1e-9


def metric_variation_ratio(
    distance: float, farthest: float | tuple[float, float], noise: str = "general"
) -> Decomposition:
    """The variation-ratio pair of two inputs of a metric space, by distances alone.

    It covers all pairs of inputs at most that far apart, of which none has an input further off,
    and says nothing of others. The model is that of `variation_ratio`.

    Parameters
    ----------
    distance
        d₀₁ of the two inputs in units of privacy (of the noise's scale), 0 < d₀₁ ≤ 300.
    farthest
        The largest distance of any input from either of the two, d₀₁ to 300, or a pair of those
        from the first and from the second.
    noise
        ``laplace`` on a line, ``planar`` (Laplace) in the plane, or ``general`` for any.

    Returns
    -------
    Decomposition
        Of the two inputs.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Proof: docs/variation-ratio.md, section 8.

    Examples
    --------
    >>> U = sb.metric_variation_ratio(distance=1.0, farthest=4.0, noise="laplace")
    >>> f"{sb.epsilon(U, n=10_000, delta=1e-6).upper:.3f}"
    '0.199'
    """
    distance = validation.eps0(distance, "distance")
    both = farthest if isinstance(farthest, tuple) else (farthest, farthest)
    q = tuple(math.exp(validation.eps0(far, "farthest")) * _UP for far in both)
    if len(q) != 2 or min(both) < distance:
        raise ValueError(
            f"farthest must be a distance of at least {distance!r}, or two of them, got "
            f"{farthest!r}"
        )
    p = math.exp(distance) * _UP
    # `variation_ratio` cuts off at (p − 1)/(p + 1) exactly.
    largest = min((p - 1.0) / (p + 1.0) * _UP, 1.0)
    variation = min(_variation(validation.choice("noise", noise, NOISES), distance), largest)
    return variation_ratio(p, variation, q)


def metric_clone(distance: float, distances: Collection[tuple[float, float]]) -> Decomposition:
    """The clone of two inputs of a metric space.

    Every other input x is sure of 1/(e^{d(x, x₀)} + e^{d(x, x₁)}) of the sum of the two inputs'
    laws; the smallest such number is that of a clone of each.

    Parameters
    ----------
    distance
        d₀₁ of the two inputs in units of privacy, 0 < d₀₁ ≤ 300.
    distances
        Pairs (d(x, x₀), d(x, x₁)), 0 to 300, of the inputs x among which that number is smallest:
        on a line, of both ends.

    Returns
    -------
    Decomposition
        Of the two inputs.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and where no pair obeys the triangle inequality.

    Notes
    -----
    Wang et al., "Metric differential privacy in the shuffle model" (2023); proof in
    docs/variation-ratio.md, section 8.

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
    sure = 1.0 / max(math.exp(one) + math.exp(other) for one, other in pairs)
    return Decomposition(
        np.array([common, rare]), np.array([rare, common]), np.array([sure, sure]), 2.0**-50
    )


def _variation(noise: str, distance: float) -> float:
    """The total variation distance of two inputs, rounded up."""
    half = distance / 2.0
    if noise == "laplace":
        return -math.expm1(-half) * _UP
    if noise == "planar":  # (2/π) ∫₀^half t K₁(t) dt, by parts
        from scipy.special import iti0k0, k0  # takes longer to load than an answer

        _, integral = iti0k0(half)
        return 2.0 / math.pi * (integral - half * k0(half)) * _UP_SPECIAL
    return 1.0


# Vectors of randomized bits as Wang et al. (Appl. Sci. 15(3), 2025) reduce them: no proven bound.
#
# Their Theorem 1 takes β for the total variation of s flipped bits, which it is, and gives it to a
# reduction that is no bound at such a β (docs/variation-ratio.md). A dataset that exceeds it is
# among the tests.


def published_vector_bits(bits: int, eps0: float) -> Decomposition:
    """Theorem 1 for s = `bits` bits, each kept with odds e^{ε₀/s}: p = q = e^{ε₀}.

    Not an upper bound for s ≥ 2.
    """
    stay = 1.0 / (1.0 + math.exp(-eps0 / bits))
    flip = 1.0 / (1.0 + math.exp(eps0 / bits))
    beta = math.fsum(
        math.comb(bits, k) * (stay**k * flip ** (bits - k) - stay ** (bits - k) * flip**k)
        for k in range(bits // 2 + 1, bits + 1)
    )
    return variation_ratio(math.exp(eps0), beta, math.exp(eps0), published=True)


def _candidates(protocol: Protocol) -> tuple[Candidate, ...]:
    sent = protocol.randomizer if isinstance(protocol, SingleMessage) else None
    bits = sent.parts if isinstance(sent, Joint) else (sent,)
    if not all(isinstance(bit, KRR) and bit == bits[0] and bit.k == 2 for bit in bits):
        raise ValueError(
            "the bound vector_bits_published needs reports of alike randomized bits, krr with "
            f"k = 2, got {protocol!r}"
        )
    assert protocol.eps0 is not None
    return (Candidate(published_vector_bits(len(bits), protocol.eps0)),)


VECTOR_BITS_PUBLISHED = divergence_bound(
    "vector_bits_published",
    Kind.UNPROVEN,
    label="Theorem 1 of Wang et al. 2025",
    source="Wang, Zeng, Li, Huang and Chen, Appl. Sci. 15(3):1595, 2025, Theorem 1",
    candidates=_candidates,
)


# Variation-ratio in closed form: Theorems 4.2 and 4.3 of Wang et al. (PVLDB 17(8), 2024).
#
# Both bound ε of the *published* pair, which is an upper bound of a protocol for some parameters
# only (docs/variation-ratio.md, section 7). With α = β/(p − 1), r = pα/q, w = 1 − α − pα (α = 0
# and r = β/q for p = ∞), L = log(4/δ), and m = n − 1 other messages:
#
# * 4.2: with C clones among the others and S = √(CL/2),
#
#       ε(C) = log(1 + β(2S + 1)/(αC + β(C/2 − S) + w(m − C)r/(1 − 2r))),
#
#   and C is at least Ω = 2rm − √(min(6r, 1/2) m L) but for a probability δ/2. The theorem is ε(Ω)
#   where ε falls from Ω on: where A = α + β/2 − wr/(1 − 2r) > 0 and AΩ ≥ wrm/(1 − 2r) + β/2. (The
#   printed condition on Ω has a sign error.) Elsewhere the proof needs the largest ε(C) on [Ω, m],
#   which is given here. In √C, ε rises up to the positive root of
#   A(sC + √C) = s(wrm/(1 − 2r) + β/2), s = √(L/2), and falls from there on; for A ≤ 0 it rises.
# * 4.3: v = max(0, (4/9)(1 − 3r)/(1 − 2r)),
#
#       ε = log(1 + β/((1 − v)(1 + p)β/(p − 1) + v) · (√(32L/(rm)) + 4/(rn))),
#
#   where n ≥ 8 log(2/δ)/r.

# Of a protocol's ratios, its number of messages n and δ: ε, or None outside the range.
Formula = Callable[[Ratios, int, float], Decimal | None]

# Digits of all that follows; what cancels is at most 10²⁰ times as large as what is left.
_CONTEXT = Context(prec=80)
_HAIR = Decimal("1e-40")


def analytic(ratios: Ratios, n: int, delta: float) -> Decimal | None:
    """ε of Theorem 4.2, the largest over Ω ≤ C ≤ n − 1; None where there is none."""
    with localcontext(_CONTEXT):
        beta, alpha, r, w = _masses(ratios)
        others, log_inverse = Decimal(n - 1), Decimal(4).ln() - Decimal(delta).ln()
        spread = min(6 * r, Decimal("0.5")) * others * log_inverse
        clones = 2 * r * others - spread.sqrt()
        if clones <= _HAIR or not (2 * r < 1 or w == 0):
            return None
        rest = w * r / (1 - 2 * r) if w else Decimal(0)
        slope, scale = alpha + beta / 2 - rest, (log_inverse / 2).sqrt()

        # As functions of x = √C.
        def below(x: Decimal) -> Decimal:
            return slope * x * x - beta * scale * x + rest * others

        least, most = clones.sqrt(), others.sqrt()
        lowest = peak = most
        if slope > _HAIR:
            lowest = min(max(beta * scale / (2 * slope), least), most)
            root = slope * slope + 4 * scale * scale * slope * (rest * others + beta / 2)
            peak = min(max((root.sqrt() - slope) / (2 * scale * slope), least), most)
        if min(below(x) for x in (least, lowest, most)) <= _HAIR:
            return None
        return (1 + beta * (2 * scale * peak + 1) / below(peak)).ln()


def asymptotic(ratios: Ratios, n: int, delta: float) -> Decimal | None:
    """ε of Theorem 4.3; None for fewer messages than it asks for."""
    with localcontext(_CONTEXT):
        beta, _, r, w = _masses(ratios)
        log_inverse = -Decimal(delta).ln()
        needed = 8 * (Decimal(2).ln() + log_inverse)
        if beta == 0 or n < 2 or n * r < needed * (1 + _HAIR) or not (2 * r < 1 or w == 0):
            return None
        v = Decimal(0) if 3 * r >= 1 else Decimal(4) / 9 * (1 - 3 * r) / (1 - 2 * r)
        noise = (32 * (Decimal(4).ln() + log_inverse) / (r * (n - 1))).sqrt() + 4 / (r * n)
        # (1 + p)β/(p − 1) is 1 − w.
        return (1 + beta / ((1 - v) * (1 - w) + v) * noise).ln()


def _masses(ratios: Ratios) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """β, α, r and w, w being 0 where β is at its maximum."""
    beta, q = Decimal(ratios.beta), Decimal(ratios.q)
    if math.isinf(ratios.p):
        return beta, Decimal(0), beta / q, 1 - beta
    p = Decimal(ratios.p)
    beta = min(beta, (p - 1) / (p + 1))
    alpha = beta / (p - 1)
    w = 1 - alpha * (1 + p)
    return beta, alpha, alpha * p / q, w if w > _HAIR else Decimal(0)


def _bound(name: str, label: str, theorem: str, formula: Formula) -> Bound:
    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        ratios = protocol.ratios()

        def answer(setting: Setting) -> Answer:
            draws = protocol.draws(setting.require("n"))
            eps = formula(ratios, draws, setting.require("delta"))
            return _answer(name, eps, protocol.eps0 or math.log(ratios.p))

        return lambda settings: [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UNPROVEN,
        label=label,
        source=f"Wang et al., PVLDB 17(8), 2024, {theorem}: of the published pair",
        quantities=("epsilon",),
        prepare=prepare,
    )


def _answer(name: str, eps: Decimal | None, largest: float) -> Answer:
    """What the formula says, at most the local ε; that or, if there is none, nothing."""
    if eps is not None and eps < largest:
        nearest = float(eps)
        ends = math.nextafter(nearest, 0.0), math.nextafter(nearest, math.inf)
        return Answer(Enclosure(ends[0], min(ends[1], largest)))
    if math.isinf(largest):
        return Answer(
            Enclosure(0.0, math.inf), shortfall=f"{name} says nothing for so few messages"
        )
    return Answer(Enclosure(largest, largest))


ANALYTIC = _bound(
    "variation_ratio_analytic",
    "variation-ratio, analytic",
    "Theorem 4.2 with its condition corrected",
    analytic,
)
ASYMPTOTIC = _bound(
    "variation_ratio_asymptotic", "variation-ratio, asymptotic", "Theorem 4.3", asymptotic
)
