"""All bounds by name. A new bound takes a module that defines it, and a line here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType

from shufflebounds.bounds import (
    blanket_inequalities,
    clones,
    estimate_errors,
    optimal,
    renyi_closed_forms,
    rounds,
    variation_ratio,
    variation_ratio_closed_forms,
)
from shufflebounds.bounds.base import Bound
from shufflebounds.core import validation

_ALL_BOUNDS = (
    optimal.BLANKET,
    optimal.LOWER,
    optimal.BEST,
    optimal.ENUMERATED,
    clones.CLONE,
    clones.STRONGER_CLONE,
    blanket_inequalities.HOEFFDING,
    blanket_inequalities.HOEFFDING_GENERIC,
    blanket_inequalities.HOEFFDING_SIMILARITY,
    blanket_inequalities.BENNETT,
    blanket_inequalities.BENNETT_GENERIC,
    blanket_inequalities.BENNETT_SIMILARITY,
    blanket_inequalities.BLANKET_BEST,
    blanket_inequalities.BLANKET_BEST_GENERIC,
    blanket_inequalities.BLANKET_BEST_SIMILARITY,
    clones.CLONE_CLOSED_FORM,
    clones.ERLINGSSON,
    variation_ratio.VARIATION_RATIO,
    variation_ratio.PUBLISHED,
    variation_ratio.PRINTED,
    variation_ratio_closed_forms.ANALYTIC,
    variation_ratio_closed_forms.ASYMPTOTIC,
    optimal.MERGED_LOWER,
    optimal.MERGED_LOWER_PRINTED,
    optimal.ORIGINAL,
    rounds.BASIC,
    rounds.ADVANCED,
    rounds.OPTIMAL,
    variation_ratio.VECTOR_BITS_PUBLISHED,
    clones.CLONE_ADVANCED,
    optimal.BLANKET_ACCOUNTED,
    clones.CLONE_ACCOUNTED,
    clones.STRONGER_ACCOUNTED,
    clones.REDUCTION,
    renyi_closed_forms.RENYI_3_1,
    renyi_closed_forms.RENYI_3_3,
    renyi_closed_forms.RENYI_3_4,
    renyi_closed_forms.RENYI_3_5,
    estimate_errors.ESTIMATE_ERROR,
    estimate_errors.CURATOR_ERROR,
)

BOUNDS: Mapping[str, Bound] = MappingProxyType({bound.name: bound for bound in _ALL_BOUNDS})


# Names of version 0.1, which keep working for one release, and what they are now.
FORMER_NAMES = MappingProxyType(
    {"upper": "blanket", "tight": "best", "upper_renyi": "blanket_renyi"}
)


def bound(name: str) -> Bound:
    """Return the bound with this name; raise ValueError for an unknown name.

    A former name gives the bound and a FutureWarning with its present name.
    """
    return BOUNDS[validation.choice("bound", present_name(name), BOUNDS)]


def present_name(name: str) -> str:
    """Return the present name of a bound; a former name gives a FutureWarning."""
    present = FORMER_NAMES.get(name) if isinstance(name, str) else None
    if present is None:
        return name
    warnings.warn(
        f"the bound {name!r} is called {present!r} now; the old name goes in the next release",
        FutureWarning,
        stacklevel=3,
    )
    return present
