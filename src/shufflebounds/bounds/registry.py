"""All bounds, by name. A new one is a module that defines it, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shufflebounds.accounting.choosing import CURATOR_ERROR, ESTIMATE_ERROR
from shufflebounds.bounds.base import Bound
from shufflebounds.bounds.blanket_inequalities import (
    BENNETT,
    BENNETT_GENERIC,
    BENNETT_SIMILARITY,
    BLANKET_BEST,
    BLANKET_BEST_GENERIC,
    BLANKET_BEST_SIMILARITY,
    HOEFFDING,
    HOEFFDING_GENERIC,
    HOEFFDING_SIMILARITY,
)
from shufflebounds.bounds.clones import (
    CLONE,
    CLONE_ACCOUNTED,
    CLONE_ADVANCED,
    CLONE_CLOSED_FORM,
    ERLINGSSON,
    REDUCTION,
    STRONGER_ACCOUNTED,
    STRONGER_CLONE,
)
from shufflebounds.bounds.optimal import (
    ENUMERATED,
    LOWER,
    MERGED_LOWER,
    ORIGINAL,
    TIGHT,
    UPPER,
    UPPER_ACCOUNTED,
)
from shufflebounds.bounds.renyi import RENYI_3_1, RENYI_3_3, RENYI_3_4, RENYI_3_5
from shufflebounds.bounds.rounds import ADVANCED, BASIC, OPTIMAL
from shufflebounds.bounds.variation_ratio import (
    ANALYTIC,
    ASYMPTOTIC,
    PRINTED,
    PUBLISHED,
    VARIATION_RATIO,
    VECTOR_BITS_PUBLISHED,
)
from shufflebounds.core import validation

_ALL = (
    UPPER,
    LOWER,
    TIGHT,
    ENUMERATED,
    CLONE,
    STRONGER_CLONE,
    HOEFFDING,
    HOEFFDING_GENERIC,
    HOEFFDING_SIMILARITY,
    BENNETT,
    BENNETT_GENERIC,
    BENNETT_SIMILARITY,
    BLANKET_BEST,
    BLANKET_BEST_GENERIC,
    BLANKET_BEST_SIMILARITY,
    CLONE_CLOSED_FORM,
    ERLINGSSON,
    VARIATION_RATIO,
    PUBLISHED,
    PRINTED,
    ANALYTIC,
    ASYMPTOTIC,
    MERGED_LOWER,
    ORIGINAL,
    BASIC,
    ADVANCED,
    OPTIMAL,
    VECTOR_BITS_PUBLISHED,
    CLONE_ADVANCED,
    UPPER_ACCOUNTED,
    CLONE_ACCOUNTED,
    STRONGER_ACCOUNTED,
    REDUCTION,
    RENYI_3_1,
    RENYI_3_3,
    RENYI_3_4,
    RENYI_3_5,
    ESTIMATE_ERROR,
    CURATOR_ERROR,
)

BOUNDS: Mapping[str, Bound] = MappingProxyType({bound.name: bound for bound in _ALL})


def bound(name: str) -> Bound:
    """The bound of that name; ValueError for an unknown one."""
    return BOUNDS[validation.choice("bound", name, BOUNDS)]
