"""Vectors of randomized bits as Wang et al. (Appl. Sci. 15(3), 2025) reduce them: no proven bound.

Their Theorem 1 takes β for the total variation of s flipped bits, which it is, and gives it to a
reduction that is no bound at such a β (docs/variation-ratio.md). A dataset that exceeds it is among
the tests.
"""

from __future__ import annotations

import math

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound
from shufflebounds.bounds.variation_ratio import variation_ratio
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import Candidate, Protocol
from shufflebounds.protocols.single_message import SingleMessage
from shufflebounds.randomizers.composed import Joint
from shufflebounds.randomizers.krr import KRR


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
    knows_mechanism=True,
    candidates=_candidates,
)
