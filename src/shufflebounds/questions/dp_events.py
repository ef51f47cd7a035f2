"""Shuffles as events of dp_accounting (extra ``accounting``), and an accountant for all its events.

Neighbours are datasets in which one user's value is replaced (``REPLACE_ONE``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.questions.accountant import ShuffleAccountant, from_profile
from shufflebounds.questions.composed import compose
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
    """A ``PrivacyAccountant`` of shuffles and of all events of dp_accounting's ``PLDAccountant``.

    ``compose`` takes a `ShuffleEvent`, an event of dp_accounting for the replacement of one record,
    such as ``GaussianDpEvent``, and compositions of them; ``ledger`` returns all of them. Shuffles
    alone are certified (`ShuffleAccountant`). The result for other events is an upper bound if
    dp_accounting's privacy loss distribution is one.

    Parameters
    ----------
    interval
        The ``value_discretization_interval`` of the other events (natural log).
    """

    def __init__(self, interval: float = 1e-4) -> None:
        relation = dp_accounting.NeighboringRelation.REPLACE_ONE
        super().__init__(relation)
        self._shuffles = ShuffleAccountant()
        self._other_events = PLDAccountant(relation, interval)
        self._has_other_events = False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if isinstance(event, dp_accounting.SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, dp_accounting.ComposedDpEvent):
            errors = [self._maybe_compose(part, count, do_compose) for part in event.events]
            return next((error for error in errors if error is not None), None)
        if isinstance(event, ShuffleEvent):
            if do_compose:
                self._shuffles.compose(event.randomizer, event.n, count)
            return None
        if isinstance(event, dp_accounting.RandomizedResponseDpEvent):
            # Version 0.6 composes it once, whatever the count is. A shuffle of one user is
            # certified.
            noise, k = event.noise_parameter, event.num_buckets
            if k > 1 and 0.0 < noise < 1.0:
                eps0 = math.log1p((1.0 - noise) / noise * k) * (1.0 + 2.0**-48)
                return self._maybe_compose(ShuffleEvent(KRR(k, eps0), 1), count, do_compose)
        self._has_other_events |= do_compose
        return self._other_events._maybe_compose(event, count, do_compose)

    def get_epsilon(self, target_delta: float) -> float:
        """Return the ε that can be claimed at δ (natural log), rounded up; inf if there is none."""
        if not self._has_other_events:
            return self._shuffles.get_epsilon(target_delta)
        # An event without any privacy has an infinite ε.
        if math.isinf(self._other_events.get_epsilon(validation.delta(target_delta))):
            return math.inf
        return self._enclose("epsilon", target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """Return the δ that can be claimed at ε, rounded up."""
        if not self._has_other_events:
            return self._shuffles.get_delta(target_epsilon)
        if self._other_events.get_delta(validation.eps(target_epsilon)) >= 1.0:
            return 1.0
        return self._enclose("delta", target_epsilon).upper

    def _enclose(self, quantity: str, at: float) -> Enclosure:
        """Return ε or δ of all events together."""
        other = from_profile(self._other_events.get_delta)
        composed = compose([*self._shuffles.rounds, (other, 1, 1)])
        return reached(partial(getattr(composed, quantity), at))
