"""How many rounds a privacy budget affords."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from shufflebounds import validation
from shufflebounds.accounting.rounds import epsilon
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, reached
from shufflebounds.randomizers.base import Randomizer, require_mechanism


def most_rounds(
    decomposition: Decomposition | Randomizer,
    eps: float,
    delta: float,
    n: int,
    *,
    rtol: float = 1e-3,
) -> Enclosure:
    """Enclosure of the most rounds of n users that are (ε, δ)-DP together.

    ``lower`` rounds may be run: there an ε below `eps` was found to do (0 if not even for one).
    ``upper`` + 1 may not, where an ε above was found not to; ``upper`` is inf where 10⁶ rounds, the
    most of this library, are not known to be too many. Both are integers otherwise.

    `eps` is ε ≥ 0 (natural log), 10⁻³⁰⁰ ≤ δ < 1, `n` from 1 to 10¹⁵, and `rtol` the relative width
    of the ε that are compared. Of a randomizer, the ε are the mechanism's own, as `rounds.epsilon`
    encloses them: ``lower`` is proven for all datasets, ``upper`` is that of pairs of datasets.

    Raises ValueError for arguments outside these ranges.
    """
    require_mechanism(decomposition)
    eps, delta, n = validation.eps(eps), validation.delta(delta), validation.users(n)
    rtol = validation.rtol(rtol)
    found: dict[int, Enclosure] = {}

    def ends(times: int) -> Enclosure:
        if times not in found:
            ask = partial(epsilon, decomposition, n, delta, rounds=times, rtol=rtol)
            found[times] = reached(ask)
        return found[times]

    lower = _last(lambda times: ends(times).upper <= eps)
    upper = _last(lambda times: ends(times).lower <= eps)
    return Enclosure(lower, math.inf if upper == validation.MAX_ROUNDS else upper)


def _last(holds: Callable[[int], bool]) -> int:
    """The last number of rounds that a property holds for, 0 if for none; it is lost for good."""
    if not holds(1):
        return 0
    low, high = 1, 2
    while high < validation.MAX_ROUNDS and holds(high):
        low, high = high, 4 * high
    if high >= validation.MAX_ROUNDS:
        if holds(validation.MAX_ROUNDS):
            return validation.MAX_ROUNDS
        high = validation.MAX_ROUNDS
    while high - low > 1:
        middle = math.isqrt(low * high)
        middle = middle if low < middle < high else (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
