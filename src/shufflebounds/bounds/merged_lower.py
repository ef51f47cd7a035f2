"""The lower bound of Wang et al. (PVLDB 17(8), 2024), Theorem 5.1: a coarser histogram.

Outputs are united to those more likely under x₁⁰, those more likely under x₁¹, and the rest. As
printed the theorem assumes that both laws give these groups alike (R₀(E₀) = R₁(E₁)); nothing needs
it. Uniting outputs is post-processing, so that what is left is a lower bound for every randomizer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound
from shufflebounds.bounds.optimal import lower_candidates
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import Candidate, Protocol


def three_groups(pair: Decomposition) -> Decomposition:
    """A dataset pair's components united by whether a or b is larger; its ``inner`` end's."""
    inner = pair.bounds()[0]
    sign = np.sign(inner.a - inner.b)
    a, b, c = (
        np.array([masses[sign == one].sum() for one in (-1.0, 0.0, 1.0)])
        for masses in (inner.a, inner.b, inner.c)
    )
    used = (a > 0.0) | (b > 0.0)
    # Sums of numbers of one sign, rounded once an addition.
    rel_err = inner.rel_err + inner.a.size * 2.0**-53
    return Decomposition(a[used], b[used], c[used], rel_err)


def _candidates(protocol: Protocol) -> tuple[Candidate, ...]:
    return tuple(
        replace(pair, decomposition=three_groups(pair.decomposition))
        for pair in lower_candidates(protocol)
    )


MERGED_LOWER = divergence_bound(
    "merged_lower",
    Kind.LOWER,
    label="lower bound, three groups",
    source="Wang et al., PVLDB 17(8), 2024, Theorem 5.1, of a coarser histogram",
    knows_mechanism=True,
    candidates=_candidates,
)
