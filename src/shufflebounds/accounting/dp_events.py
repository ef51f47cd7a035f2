"""Shuffles among the events of dp_accounting (extra ``accounting``), and an accountant of both.

Neighbours are datasets in which one user's value is replaced: ``REPLACE_ONE`` there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from shufflebounds.accounting.accountant import ShuffleAccountant, from_profile
from shufflebounds.accounting.composition import compose
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.discrete import KRR

try:
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
except ImportError as error:
    raise ImportError(
        "dp_accounting is needed for this: pip install 'dp-accounting>=0.6'"
    ) from error


@dataclass(frozen=True)
class ShuffleEvent(dp_accounting.DpEvent):  # type: ignore[misc]
    """One shuffle of n users who run the same randomizer.

    Raises ValueError for anything but a `Randomizer`, and a number of users out of range.
    """

    randomizer: Randomizer
    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Randomizer):
            raise ValueError(f"randomizer must be a Randomizer, got {self.randomizer!r}")
        validation.users(self.n)


class Accountant(dp_accounting.PrivacyAccountant):  # type: ignore[misc]
    """A ``PrivacyAccountant`` of shuffles and of all that dp_accounting's ``PLDAccountant`` knows.

    ``compose`` takes a `ShuffleEvent`, an event of dp_accounting for the replacement of one record,
    such as ``GaussianDpEvent``, and compositions of them; ``ledger`` gives all of them back.
    Shuffles alone are certified (`ShuffleAccountant`). Other events are as certain as dp_accounting
    makes their privacy loss distribution, of which what is added here is an upper bound.

    Parameters
    ----------
    interval
        The ``value_discretization_interval`` of the other events (natural log).
    """

    def __init__(self, interval: float = 1e-4) -> None:
        relation = dp_accounting.NeighboringRelation.REPLACE_ONE
        super().__init__(relation)
        self._shuffles = ShuffleAccountant()
        self._others = PLDAccountant(relation, interval)
        self._has_others = False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if isinstance(event, dp_accounting.SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, dp_accounting.ComposedDpEvent):
            parts = [self._maybe_compose(one, count, do_compose) for one in event.events]
            return next((fault for fault in parts if fault is not None), None)
        if isinstance(event, ShuffleEvent):
            if do_compose:
                self._shuffles.compose(event.randomizer, event.n, count)
            return None
        if isinstance(event, dp_accounting.RandomizedResponseDpEvent):
            # Version 0.6 composes it once, whatever its count; as a shuffle of one it is certified.
            noise, k = event.noise_parameter, event.num_buckets
            if k > 1 and 0.0 < noise < 1.0:
                eps0 = math.log1p((1.0 - noise) / noise * k) * (1.0 + 2.0**-48)
                return self._maybe_compose(ShuffleEvent(KRR(k, eps0), 1), count, do_compose)
        self._has_others |= do_compose
        return self._others._maybe_compose(event, count, do_compose)

    def get_epsilon(self, target_delta: float) -> float:
        """The ε that can be claimed at δ (natural log), rounded up; inf where no ε will do."""
        if not self._has_others:
            return self._shuffles.get_epsilon(target_delta)
        # As of an event without any privacy.
        if math.isinf(self._others.get_epsilon(validation.delta(target_delta))):
            return math.inf
        return self._asked("epsilon", target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The δ that can be claimed at ε, rounded up."""
        if not self._has_others:
            return self._shuffles.get_delta(target_epsilon)
        if self._others.get_delta(validation.eps(target_epsilon)) >= 1.0:
            return 1.0
        return self._asked("delta", target_epsilon).upper

    def _asked(self, quantity: str, at: float) -> Enclosure:
        other = from_profile(self._others.get_delta)
        composed = compose([*self._shuffles.rounds, (other, 1, 1)])
        return reached(partial(getattr(composed, quantity), at))
