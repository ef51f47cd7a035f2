"""Crowds of compositions: what the coordinates of a victim and of another user may be together.

Proved to be the worst for blankets only, inputs that differ in all coordinates are one case among
others here: the victim's two inputs may agree in some.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import (
    SMALLEST_MASS,
    FloatArray,
    component_gap,
    compounded,
    merge_arrays,
)
from shufflebounds.randomizers.base import Randomizer

# Inputs times components of one crowd.
_LARGEST = 30_000
_U = 2.0**-53

# Laws of the parts' reports, and what the composition makes of them.
Compose = Callable[[Sequence[FloatArray]], FloatArray]


def single_crowds(parts: Sequence[Randomizer]) -> list[Crowd] | None:
    """The crowd of every part; None unless each has one that stands for all pairs."""
    found = [part.crowds() for part in parts]
    if any(len(crowds) != 1 or crowds[0].extremes for crowds in found):
        return None
    return [crowd for (crowd,) in found]


def coordinate_crowds(crowds: Sequence[Crowd], differing: Sequence[int]) -> list[Crowd]:
    """The parts' crowds, with one input for both of the victim's where they do not differ."""
    return [crowd if i in differing else crowd.same_input() for i, crowd in enumerate(crowds)]


def coordinate_kinds(parts: Sequence[Hashable], differing: Sequence[int]) -> list[Hashable]:
    """What makes coordinates equal: their parts, and whether the victim's inputs differ."""
    return [(part, i in differing) for i, part in enumerate(parts)]


def named(size: int, crowds: Mapping[tuple[int, ...], Crowd | None]) -> tuple[Crowd, ...]:
    """All of them by the coordinates that differ, out of so many; none if one is missing."""
    found = []
    for differing, crowd in crowds.items():
        if crowd is None:
            return ()
        name = "" if len(differing) == size else " ".join(str(i + 1) for i in differing)
        found.append(replace(crowd, differing=name))
    return tuple(found)


def joint_crowd(parts: Sequence[Crowd], kinds: Sequence[Hashable]) -> Crowd | None:
    """Of all reports together; parts of one kind are equal, so that their order does not matter.

    None where it would be too large, or its masses too small for floats.
    """
    size = math.prod(part.a.size for part in parts)
    return _composed(parts, kinds, _product, size, (len(parts) + 1.0) * _U)


def parallel_crowd(
    weights: Sequence[float], parts: Sequence[Crowd], kinds: Sequence[Hashable]
) -> Crowd | None:
    """Of one part's report, drawn by weight; all else as for `joint_crowd`.

    Not attained: the parts may all look at one value, and their inputs are free here.
    """
    total = math.fsum(weights)
    shares = [float(weight) / total for weight in weights]

    def mixed(laws: Sequence[FloatArray]) -> FloatArray:
        return np.concatenate([share * law for share, law in zip(shares, laws, strict=True)])

    size = sum(part.a.size for part in parts)
    free = [replace(part, attained=False) for part in parts]
    return _composed(free, kinds, mixed, size, 6.0 * _U + 1.001 * abs(total - 1.0))


def _composed(
    parts: Sequence[Crowd],
    kinds: Sequence[Hashable],
    compose: Compose,
    size: int,
    rounding: float,
) -> Crowd | None:
    names = list(itertools.islice(_inputs(parts, kinds), _LARGEST + 1))
    if len(names) * size > _LARGEST:
        return None
    laws = {
        " ".join(chosen): compose([part.others[x] for part, x in zip(parts, chosen, strict=True)])
        for chosen in names
    }
    a, b, c = (compose([getattr(part, name) for part in parts]) for name in "abc")
    used: NDArray[np.bool_] = np.any([a > 0.0, b > 0.0, *(law > 0.0 for law in laws.values())], 0)
    masses = [x[used] for x in (a, b, c, *laws.values())]
    if any(((x > 0.0) & (x < SMALLEST_MASS)).any() for x in masses):
        return None
    a, b, c, *rows = masses
    rel_err = compounded(*(part.rel_err for part in parts), rounding)
    attained = all(part.attained for part in parts)
    return Crowd(a, b, c, dict(zip(laws, rows, strict=True)), rel_err, attained)


def _inputs(parts: Sequence[Crowd], kinds: Sequence[Hashable]) -> Iterator[tuple[str, ...]]:
    """What another user may hold, by the names of the parts' inputs, once for equal parts."""
    groups = [
        [i for i, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(kinds)
    ]
    choices = (
        itertools.combinations_with_replacement(parts[group[0]].others, len(group))
        for group in groups
    )
    for chosen in itertools.product(*choices):
        held = {
            i: x
            for group, some in zip(groups, chosen, strict=True)
            for i, x in zip(group, some, strict=True)
        }
        yield tuple(held[i] for i in range(len(parts)))


def _product(laws: Sequence[FloatArray]) -> FloatArray:
    with np.errstate(under="ignore"):
        return reduce(lambda x, y: np.multiply.outer(x, y).ravel(), laws)


# What compositions ask of their parts, and what they have in common.

# Entries of a matrix times its rows, and how closely components must agree.
_LARGEST_COMPARED, _ALIKE = 10**7, 1e-12


class Composition(Randomizer):
    """A randomizer made of randomizers, which may be a part itself."""

    @abstractmethod
    def lacking(self) -> str:
        """What it must have for other compositions to rest on its blanket; empty if it has it."""

    @abstractmethod
    def check_size(self) -> None:
        """Raise ValueError for joints in it that are too large for memory."""


def checked(
    parts: Iterable[Randomizer], *, several: bool = False
) -> tuple[tuple[Randomizer, ...], tuple[bool, ...]]:
    """The parts, and which of them have inputs any two of which are alike.

    All of them must, unless `several` allows for those that know their `choices`.
    """
    if not isinstance(parts, Iterable):
        raise ValueError(f"parts must be a list of randomizers, got {parts!r}")
    parts = tuple(parts)
    if not parts:
        raise ValueError("parts must hold at least one randomizer, got none")
    alike: dict[Randomizer, bool] = {}
    for part in dict.fromkeys(parts):
        if not isinstance(part, Randomizer):
            raise ValueError(
                f"parts must be randomizers, such as KRR(k=10, eps0=1.0), got {part!r}"
            )
        why = lacking(part)
        if why and not (several and part.choices()):
            raise ValueError(f"parts must {why}, got {part!r}")
        alike[part] = not why
    return parts, tuple(alike[part] for part in parts)


def lacking(part: Randomizer) -> str:
    """What the part must have for compositions to rest on its blanket alone; empty if it has it."""
    if isinstance(part, Composition):  # its own parts have been looked at
        return part.lacking()
    blankets = list(part.blankets().values())
    if len(blankets) == 1 and not blankets[0].is_symmetric():
        return (
            "have blankets that are their own mirror images, for nobody knows the worst pair of "
            "other ones"
        )
    if len(blankets) > 1 or not (part.composable or inputs_are_alike(part)):
        return (
            "have inputs any two of which are alike, by a matrix() that shows it or an attribute "
            "composable = True that says so"
        )
    return ""


def inputs_are_alike(part: Randomizer) -> bool:
    """Whether the matrix R(x)(y) makes `blanket` of every two inputs, up to rounding."""
    try:
        # Those that have none raise AttributeError.
        rows = np.asarray(part.matrix())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
    if rows.size * len(rows) > _LARGEST_COMPARED:
        return False
    blanket, least = part.blanket(), rows.min(axis=0)
    # Not `merge`, which keeps apart what is tied and what is not.
    expected = np.stack(merge_arrays(blanket.a, blanket.b, blanket.c)[:3])
    gaps = (
        component_gap(expected, np.stack(merge_arrays(x, y, least)[:3]))
        for x, y in itertools.combinations(rows, 2)
    )
    return all(gap <= _ALIKE for gap in gaps)


def check_sizes(parts: Iterable[Randomizer]) -> None:
    """Raise ValueError for joints among the parts that are too large for memory."""
    for part in parts:
        if isinstance(part, Composition):
            part.check_size()


def by_others(
    pairs: Iterable[Mapping[str, Decomposition]],
) -> dict[str, list[Decomposition]]:
    """The parts' dataset pairs with every x₂ that one of them has; it takes its first for others.

    What the parts take makes the name: ``third third 1``, or ``x1`` where they take the same.
    """
    pairs = list(pairs)
    names = dict.fromkeys(name for part in pairs for name in part)
    taken = [[name if name in part else next(iter(part)) for part in pairs] for name in names]
    return {
        " ".join(choice if len(set(choice)) > 1 else choice[:1]): [
            part[name] for part, name in zip(pairs, choice, strict=True)
        ]
        for choice in taken
    }
