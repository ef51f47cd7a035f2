"""Users of whom some surely report like the victim: the reduction of Girgis et al."""

from __future__ import annotations

import math
from dataclasses import replace

from shufflebounds import validation
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.protocols.base import Candidate, Protocol


def same_input_clone(decomposition: Decomposition, eps0: float) -> Decomposition:
    """Girgis et al., CCS 2021, Theorem 3.6, as a decomposition: c = R(x₁¹)/e^{ε₀}.

    Of an ε₀-LDP randomizer R every report is one of R(x₁¹) with probability e^{−ε₀} at least, and
    all others are given away. Its divergence is that of the theorem's special case, m + 1 users of
    the same input, averaged over m ~ Bin(n − 1, e^{−ε₀}). It is never below that of the blanket.

    `decomposition` and its ends are as for `clones.coarsened_clone`: a and b are used, R(x₁⁰) and
    R(x₁¹). `eps0` is ε₀ of the whole report, natural log. Raises ValueError for a bad argument.
    """
    sure = math.exp(-validation.eps0(eps0))
    decomposition = require("decomposition", decomposition)
    return Decomposition(
        decomposition.a,
        decomposition.b,
        decomposition.b * sure,
        # The roundings of exp and the product.
        decomposition.rel_err + 2.0**-50,
        decomposition.inner and same_input_clone(decomposition.inner, eps0),
        decomposition.outer and same_input_clone(decomposition.outer, eps0),
    )


def _candidates(protocol: Protocol) -> tuple[Candidate, ...]:
    eps0 = protocol.eps0
    if eps0 is None or math.isinf(eps0):
        raise ValueError("girgis_reduction needs a randomizer with an eps0, got one without")
    return tuple(
        replace(pair, decomposition=same_input_clone(pair.decomposition, eps0))
        for pair in protocol.upper_candidates()
    )


REDUCTION = divergence_bound(
    "girgis_reduction",
    Kind.UPPER,
    label="Girgis et al., Theorem 3.6",
    source="Girgis et al., CCS 2021, Theorem 3.6",
    knows_mechanism=True,
    candidates=_candidates,
)
