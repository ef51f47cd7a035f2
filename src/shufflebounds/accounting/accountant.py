"""Rounds added up as they come, under the names that accountants of dp_accounting have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Self

from shufflebounds import validation
from shufflebounds.accounting.composed import Composed, compose
from shufflebounds.accounting.grid import content
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.enclosure import reached
from shufflebounds.randomizers.base import Randomizer


class ShuffleAccountant:
    """A ledger of shuffles that may be asked at any time what has been spent.

    ``compose``, ``get_epsilon`` and ``get_delta`` are called as those of a ``PrivacyAccountant`` of
    dp_accounting, and neighbours are datasets in which one user's value is replaced
    (``REPLACE_ONE``). Unlike there, what they return is certified (docs/composition.md, section 1,
    says of which rounds): every approximation and rounding is charged. ``composed`` tells the lower
    ends as well.
    """

    def __init__(self) -> None:
        self._rounds: dict[
            tuple, tuple[Decomposition | Randomizer | tuple[Decomposition, ...], int, int]
        ] = {}

    def compose(
        self,
        decomposition: Decomposition | Randomizer | Iterable[Decomposition],
        n: int,
        count: int = 1,
    ) -> Self:
        """Add `count` rounds of n users, 1 to 10¹⁵, and return the accountant.

        Several decompositions are those of pairs any of which may be the worst; a randomizer is
        taken as `accounting.composed.compose` takes it. At most 10⁶ rounds fit. Raises ValueError
        for arguments outside these ranges, and leaves the ledger as it was.
        """
        given = tuple(decomposition) if isinstance(decomposition, Iterable) else decomposition
        n = validation.users(n)
        count = validation.whole("count", count, minimum=1, maximum=validation.MAX_ROUNDS)
        key = (*_identity(given), n)
        before = self._rounds[key][2] if key in self._rounds else 0
        rounds = {**self._rounds, key: (given, n, before + count)}
        compose(rounds.values())
        self._rounds = rounds
        return self

    @property
    def composed(self) -> Composed:
        """All rounds so far; ValueError where there are none."""
        if not self._rounds:
            raise ValueError("composed must have rounds, got none yet: compose adds them")
        return compose(self._rounds.values())

    def get_epsilon(self, target_delta: float) -> float:
        """The least ε ≥ 0 that may be claimed at δ = `target_delta`, 10⁻³⁰⁰ to below 1.

        0 before the first round. Raises ValueError for a δ outside this range, and for one that is
        out of reach because some outputs give the victim's value away.
        """
        target_delta = validation.delta(target_delta)
        if not self._rounds:
            return 0.0
        composed = self.composed
        told = composed.never_below()
        if told > target_delta:
            raise ValueError(
                f"target_delta must be above {told:.6g}, the probability of outputs that give a "
                f"value away, got {target_delta!r}"
            )
        # An upper end holds however far the lower one is from it.
        return reached(partial(composed.epsilon, target_delta)).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The least δ that may be claimed at ε = `target_epsilon` ≥ 0 (natural log).

        0 before the first round. Raises ValueError for a negative or infinite ε.
        """
        target_epsilon = validation.eps(target_epsilon)
        if not self._rounds:
            return 0.0
        return reached(partial(self.composed.delta, target_epsilon)).upper


def _identity(given: Decomposition | Randomizer | tuple[Decomposition, ...]) -> tuple:
    """The same for what has the same rounds; ValueError for what has none."""
    if isinstance(given, Randomizer):
        return (given,)
    some = given if isinstance(given, tuple) else (given,)
    return tuple(content(require("decomposition", one)) for one in some)
