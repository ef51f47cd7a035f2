"""Advanced composition: what (ε, δ) of a single round says of many."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting import amplification
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.bounds.clones import CLONE
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.protocols.base import Protocol
from shufflebounds.setting import Setting

# Shares of δ that all rounds together may take; the best one counts.
_SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
_ROUNDING = 2.0**-44


def advanced_composition(eps: float, slack: float, rounds: int) -> float:
    """ε of `rounds` rounds, each (ε, δ)-DP, at the δ of all rounds plus `slack`, rounded up.

    Kairouz, Oh and Viswanath (IEEE Trans. Inf. Theory 2017), Theorem 3.4, adaptive rounds. Raises
    ValueError for arguments out of range.
    """
    eps, slack = validation.eps(eps), validation.delta(slack)
    times = validation.rounds(rounds)
    drift = math.tanh(0.5 * eps) * eps * times
    spread = eps * math.sqrt(2.0 * times)
    near = spread * math.sqrt(math.log(math.e + math.sqrt(times) * eps / slack))
    far = spread * math.sqrt(-math.log(slack))
    return min(times * eps, drift + min(near, far)) * (1.0 + _ROUNDING)


def _prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
    assert CLONE.candidates is not None  # it is a divergence
    [candidate] = CLONE.candidates(protocol)

    @cache
    def single(n: int, deltas: tuple[float, ...]) -> tuple[float, ...]:
        return _epsilons(candidate.decomposition, n, deltas)

    def answer(setting: Setting) -> Answer:
        n, delta, rounds = setting.require("n"), setting.require("delta"), setting.rounds or 1
        if rounds == 1:
            [found] = single(n, (delta,))
        else:
            deltas = tuple(max(share * delta / rounds, validation.MIN_DELTA) for share in _SHARES)
            found = min(
                advanced_composition(eps, (1.0 - share) * delta * (1.0 - _ROUNDING), rounds)
                for eps, share in zip(single(n, deltas), _SHARES, strict=True)
            )
        return Answer(Enclosure(found, found))

    return lambda settings: [answer(setting) for setting in settings]


def _epsilons(decomposition: Decomposition, n: int, deltas: tuple[float, ...]) -> tuple[float, ...]:
    try:
        found = amplification.epsilon(decomposition, n, np.array(deltas))
    except PrecisionError as error:
        found = error.enclosure
    return tuple(found.upper.tolist())


CLONE_ADVANCED = Bound(
    name="clone_advanced",
    kind=Kind.UPPER,
    label="clone, advanced composition",
    source="Feldman, McMillan and Talwar, FOCS 2021, Theorem 3.1; Kairouz, Oh and Viswanath, "
    "IEEE Trans. Inf. Theory 2017, Theorem 3.4",
    module=__name__,
    knows_mechanism=False,
    is_divergence=False,
    quantities=("epsilon",),
    composes=True,
    prepare=_prepare,
)
