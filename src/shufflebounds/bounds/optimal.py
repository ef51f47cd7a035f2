"""The best that decompositions of a randomizer can say, from above and from below."""

from __future__ import annotations

from operator import methodcaller

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import divergence_bound

UPPER = divergence_bound(
    "upper",
    Kind.UPPER,
    label="upper bound",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorems 5-8 and 13: the blanket",
    module=__name__,
    knows_mechanism=True,
    candidates=methodcaller("upper_candidates"),
)

LOWER = divergence_bound(
    "lower",
    Kind.LOWER,
    label="lower bound",
    source="Su, Cheng and Wang, arXiv 2504.07414, Theorem 14: a pair of datasets",
    module=__name__,
    knows_mechanism=True,
    candidates=methodcaller("lower_candidates"),
)
