"""Crowds of compositions: what the coordinates of a victim and of another user may be together.

Proved to be the worst for blankets only, inputs that differ in all coordinates are one case among
others here: the victim's two inputs may agree in some.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import FloatArray
from shufflebounds.masses import SMALLEST_MASS
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.uncertainty import compounded

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
