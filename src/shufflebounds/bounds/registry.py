"""All bounds by name. A new bound takes a module that defines it, and a line here.

Another package adds a `Bound` by an entry point in its ``pyproject.toml``:

    [project.entry-points."shufflebounds.bounds"]
    mine = "my_package.mine:MINE"

Its kind says what follows from it, and `check` believes it.
"""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
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
from shufflebounds.core.plugins import load_plugin, plugins

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

# The group of entry points by which other packages add bounds.
ENTRY_POINTS = "shufflebounds.bounds"

_BUILT_IN: Mapping[str, Bound] = MappingProxyType({bound.name: bound for bound in _ALL_BOUNDS})


class _Bounds(Mapping[str, Bound]):
    """The bounds of this package, which keep their names, and those of other packages.

    The latter are loaded when they are asked for. Raises ValueError for one that cannot be loaded.
    """

    def __getitem__(self, name: str) -> Bound:
        return _BUILT_IN[name] if name in _BUILT_IN else _bound_of_package(name)

    def __iter__(self) -> Iterator[str]:
        yield from _BUILT_IN
        yield from sorted(plugins(ENTRY_POINTS).keys() - _BUILT_IN.keys())

    def __len__(self) -> int:
        return len(_BUILT_IN.keys() | plugins(ENTRY_POINTS).keys())


@cache
def _bound_of_package(name: str) -> Bound:
    """Return the bound of another package; raise ValueError if it cannot be loaded."""
    entry = plugins(ENTRY_POINTS)[name]
    loaded = load_plugin("bound", entry)
    if not isinstance(loaded, Bound) or loaded.name != name:
        raise ValueError(f"{entry.value} must be a Bound named {name}, got {loaded!r}")
    return loaded


def module_of_package(name: str) -> str | None:
    """Return the module of another package that defines a bound; None for one of this package."""
    return None if name in _BUILT_IN else plugins(ENTRY_POINTS)[name].module


BOUNDS: Mapping[str, Bound] = _Bounds()


def _pickled_bound(name: str) -> Bound:
    """Return the bound that was pickled by its name."""
    return BOUNDS[name]


# Bounds hold functions that cannot be pickled, so that the name stands for the bound. Another
# process needs the package that defines it.
copyreg.pickle(Bound, lambda bound: (_pickled_bound, (bound.name,)))


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
