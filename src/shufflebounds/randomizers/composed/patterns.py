"""Which two inputs of a joint composition may be the worst, coordinate by coordinate.

Where two inputs of a part may be alike or not, no one pair is the worst of all: it may be worse not
to differ in a coordinate, and which of the two inputs is which matters. So all combinations of what
the coordinates may be are looked at, but for those that another one exceeds. What one choice of a
coordinate exceeds it exceeds in a joint, too, whatever the other coordinates are: with masses of
theirs as factors, f of the joint is a sum of f(ua, vb, tc) of this coordinate (`domination`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shufflebounds.decomposition import LARGEST_JOINT, Decomposition
from shufflebounds.randomizers.base import Choice, Randomizer, named_inputs

# Before those are left out that are others in the reverse order.
MOST_PATTERNS = 2000
# Pairs of datasets to try.
_TRIES = 300


@dataclass(frozen=True)
class Pattern:
    """Two inputs of a joint: a choice for every coordinate."""

    choices: tuple[Choice, ...]

    @property
    def differing(self) -> str:
        """The coordinates that differ, such as ``1 2 4``."""
        return " ".join(str(i + 1) for i, one in enumerate(self.choices) if one.differs)

    @property
    def inputs(self) -> str:
        """The inputs, such as ``0 against 3, 1 in both``."""
        return ", ".join(one.inputs for one in self.choices)

    @property
    def factors(self) -> list[Decomposition]:
        """What the joint is the product of."""
        return [one.decomposition for one in self.choices]


def patterns(
    parts: Sequence[Randomizer], alike: Sequence[bool], distance: int | None
) -> list[Pattern]:
    """Every pattern that may be the worst, at a Hamming distance if one is given.

    `alike` tells of which parts any two inputs are alike. Raises ValueError where there are more
    than `MOST_PATTERNS`, or their products would be too large for memory.
    """
    groups = [
        [i for i, other in enumerate(parts) if other == part] for part in dict.fromkeys(parts)
    ]
    options = [_options(parts[i], alike[i], distance) for i, *_ in groups]
    count = math.prod(
        math.comb(len(some) + len(group) - 1, len(group))
        for some, group in zip(options, groups, strict=True)
    )
    if count > MOST_PATTERNS:
        raise ValueError(
            f"parts must leave at most {MOST_PATTERNS} combinations of inputs that may be the "
            f"worst, got {count} of {len(parts)} parts"
        )
    sizes = (
        max(len(one.decomposition) for one in options[i]) ** len(group)
        for i, group in enumerate(groups)
    )
    if count * math.prod(sizes) > LARGEST_JOINT:
        raise ValueError(
            f"parts must leave at most {LARGEST_JOINT} components of all combinations of inputs "
            f"that may be the worst, got {count} combinations of {len(parts)} parts"
        )
    return list(_different_orders(groups, options, distance))


def dataset_choices(parts: Sequence[Randomizer]) -> dict[str, list[Decomposition]]:
    """Factors of dataset pairs to try, by names as in ``0 against 3, 1 against 2 among 5, 0``."""
    most = max(1, int((_TRIES + 0.5) ** (1.0 / len(parts))))
    tried = [list(itertools.islice(_datasets(part, bool(i)), most)) for i, part in enumerate(parts)]
    found = {}
    for chosen in itertools.product(*tried):
        inputs = ", ".join(inputs or "any two" for inputs, _, _ in chosen)
        others = ", ".join(others for _, others, _ in chosen)
        found[f"{inputs} among {others}"] = [pair for _, _, pair in chosen]
    return found


def _options(part: Randomizer, alike: bool, distance: int | None) -> tuple[Choice, ...]:
    if not alike:
        return part.choices(apart=distance is not None)
    differing = Choice("any two", True, part.blanket())
    # Differing is worse, whatever the other coordinates are (`composed`).
    if distance is None:
        return (differing,)
    return differing, Choice("any in both", False, part.blanket().same_input())


def _different_orders(
    groups: Sequence[Sequence[int]], options: Sequence[Sequence[Choice]], distance: int | None
) -> Iterator[Pattern]:
    """All combinations, one of two that are each other in the reverse order."""
    chosen_of = (
        itertools.combinations_with_replacement(some, len(group))
        for some, group in zip(options, groups, strict=True)
    )
    seen = set()
    for combination in itertools.product(*chosen_of):
        names = [[one.inputs for one in chosen] for chosen in combination]
        if _key(names) in seen:
            continue
        seen.add(_key([[_reversed(name) for name in some] for some in names]))
        placed = {
            i: one
            for group, chosen in zip(groups, combination, strict=True)
            for i, one in zip(group, chosen, strict=True)
        }
        pattern = Pattern(tuple(placed[i] for i in sorted(placed)))
        differing = sum(one.differs for one in pattern.choices)
        if differing == distance or (distance is None and differing):
            yield pattern


def _key(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(sorted(some)) for some in names)


def _reversed(inputs: str) -> str:
    return " against ".join(reversed(inputs.split(" against ")))


def _datasets(part: Randomizer, both_orders: bool) -> Iterator[tuple[str, str, Decomposition]]:
    """Names of inputs and x₂, and the pair; the order matters relative to other coordinates."""
    for name, pair in part.dataset_pairs().items():
        inputs, others = named_inputs(name)
        yield inputs, others, pair
        if inputs and both_orders:
            yield _reversed(inputs), others, pair.swap()
