"""A victim among users of several groups, each with a randomizer of its own, in one shuffler."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray

# Most users of a block, whose reports the proof publishes without labels. Four of BLH would have
# 200 combinations of inputs with up to 64^4 lists of reports; three leave less than half a per
# cent (docs/proofs/personal-epsilon.md, section 2).
MAX_BLOCK_USERS = 3


@dataclass(frozen=True, eq=False)
class GroupCrowd:
    """The laws of a victim and of every input of another user of each group, on K components.

    Parameters
    ----------
    a, b
        Shape (K,): the laws of the victim's report for its two inputs.
    laws
        For each group the laws of its inputs, shape (inputs, K). Every input of a group is one of
        them, up to a permutation of components that keeps a, b and all ``sure`` masses, and so is
        every combination of inputs of up to `MAX_BLOCK_USERS` groups.
    sure
        For each group the mass that its users are sure to send, whatever their inputs, shape (K,).
    rel_err
        The real number that an entry x stands for lies within ``rel_err`` x of it.
    names
        The names of the inputs of each group.
    pair
        The victim's two inputs in words; empty if all pairs are alike.
    symmetric
        Whether the victim's inputs may change places.
    """

    a: FloatArray
    b: FloatArray
    laws: tuple[FloatArray, ...]
    sure: tuple[FloatArray, ...]
    rel_err: float
    names: tuple[tuple[str, ...], ...]
    pair: str = ""
    symmetric: bool = False

    @cached_property
    def crowd(self) -> Crowd:
        """The crowd of all inputs of all groups, which checks the masses."""
        laws = {f"{i} {k}": law for i, rows in enumerate(self.laws) for k, law in enumerate(rows)}
        sure = np.min(self.sure, axis=0)
        return Crowd.of_laws(self.a, self.b, sure, laws, self.rel_err, symmetric=self.symmetric)

    def swap(self) -> GroupCrowd:
        """Return the same with the victim's inputs exchanged."""
        return replace(self, a=self.b, b=self.a)

    def only(self, groups: Sequence[int]) -> GroupCrowd:
        """Return the same with some of the groups."""
        return replace(
            self,
            laws=tuple(self.laws[i] for i in groups),
            sure=tuple(self.sure[i] for i in groups),
            names=tuple(self.names[i] for i in groups),
        )

    def dataset(self, inputs: Sequence[int]) -> GroupCrowd:
        """Return the same with one input for all users of each group, given by their numbers."""
        laws = tuple(rows[[i]] for rows, i in zip(self.laws, inputs, strict=True))
        names = tuple((names[i],) for names, i in zip(self.names, inputs, strict=True))
        return replace(self, laws=laws, names=names)

    def combinations(self, groups: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the combinations of inputs of some groups that are not alike."""
        if tuple(groups) not in self._combinations:
            victim = np.stack([self.a, self.b, self.crowd.c])
            different: dict[bytes, tuple[int, ...]] = {}
            for inputs in itertools.product(*(range(len(self.laws[i])) for i in groups)):
                rows = [self.laws[i][x] for i, x in zip(groups, inputs, strict=True)]
                different.setdefault(sorted_columns([*victim, *rows]), inputs)
            self._combinations[tuple(groups)] = [*different.values()]
        return self._combinations[tuple(groups)]

    def block_size(self, groups: Sequence[int]) -> int:
        """Return the number of lists of reports of a block, for all combinations of inputs.

        Reports that nothing tells apart count once.
        """
        victim = [self.a, self.b, self.crowd.c]
        size = 0
        for inputs in self.combinations(groups):
            rows = [self.laws[i][x] for i, x in zip(groups, inputs, strict=True)]
            size += np.unique(np.stack([*victim, *rows]), axis=1).shape[1] ** len(groups)
        return size

    def kinds(self) -> frozenset[bytes]:
        """Return keys of all combinations of inputs, equal for pairs of inputs that are alike.

        They are alike for some of the groups, too, since the sure masses of each group count.
        """
        victim = [self.a, self.b, *self.sure]
        return frozenset(sorted_columns([*victim, *rows]) for rows in itertools.product(*self.laws))

    @cached_property
    def _combinations(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """Combinations of inputs by groups."""
        return {}

    def stand_in(self, counts: Sequence[int]) -> Decomposition:
        """Return a decomposition with the mean law of the first inputs; its D is an estimate."""
        weights = np.array([float(n) for n in counts]) + 1e-9
        mean = np.average([rows[0] for rows in self.laws], axis=0, weights=weights)
        return Decomposition(self.a, self.b, mean, self.crowd.rel_err)


def sorted_columns(rows: Sequence[NDArray[np.float64]]) -> bytes:
    """Return a key that is equal for rows that differ by the order of their columns."""
    array = np.stack(rows)
    return array[:, np.lexsort(array)].tobytes()
