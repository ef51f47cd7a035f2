"""What compositions ask of their parts, and what they have in common."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np

from shufflebounds.decomposition import Decomposition
from shufflebounds.merging import component_gap, merge_arrays
from shufflebounds.randomizers.base import Randomizer

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
