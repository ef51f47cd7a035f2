"""All bounds, by name. A new one is a module that defines it, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shufflebounds import validation
from shufflebounds.bounds.base import Bound
from shufflebounds.bounds.blanket_bennett import BENNETT, BENNETT_GENERIC
from shufflebounds.bounds.blanket_best import BLANKET_BEST, BLANKET_BEST_GENERIC
from shufflebounds.bounds.blanket_hoeffding import HOEFFDING, HOEFFDING_GENERIC
from shufflebounds.bounds.clones import (
    CLONE,
    CLONE_ACCOUNTED,
    STRONGER_ACCOUNTED,
    STRONGER_CLONE,
)
from shufflebounds.bounds.closed_forms import CLONE_CLOSED_FORM, ERLINGSSON
from shufflebounds.bounds.enumerated import ENUMERATED
from shufflebounds.bounds.merged_lower import MERGED_LOWER
from shufflebounds.bounds.optimal import LOWER, UPPER, UPPER_ACCOUNTED
from shufflebounds.bounds.originals import ORIGINAL
from shufflebounds.bounds.renyi_forms import RENYI_3_1, RENYI_3_3, RENYI_3_4, RENYI_3_5
from shufflebounds.bounds.same_input import REDUCTION
from shufflebounds.bounds.single_rounds import ADVANCED, BASIC, CLONE_ADVANCED, OPTIMAL
from shufflebounds.bounds.tight import TIGHT
from shufflebounds.bounds.variation_closed_forms import ANALYTIC, ASYMPTOTIC
from shufflebounds.bounds.variation_ratio import PUBLISHED, VARIATION_RATIO
from shufflebounds.bounds.vector_bits import VECTOR_BITS_PUBLISHED

_ALL = (
    UPPER,
    LOWER,
    TIGHT,
    ENUMERATED,
    CLONE,
    STRONGER_CLONE,
    HOEFFDING,
    HOEFFDING_GENERIC,
    BENNETT,
    BENNETT_GENERIC,
    BLANKET_BEST,
    BLANKET_BEST_GENERIC,
    CLONE_CLOSED_FORM,
    ERLINGSSON,
    VARIATION_RATIO,
    PUBLISHED,
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
)

BOUNDS: Mapping[str, Bound] = MappingProxyType({bound.name: bound for bound in _ALL})


def bound(name: str) -> Bound:
    """The bound of that name; ValueError for an unknown one."""
    return BOUNDS[validation.choice("bound", name, BOUNDS)]
