"""ε and δ of the same round, T times over."""

from __future__ import annotations

from shufflebounds import amplification
from shufflebounds.accounting.composed import compose
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure


def epsilon(
    decomposition: Decomposition, n: int, delta: float, rounds: int, *, rtol: float | None = None
) -> Enclosure:
    """Enclosure of the smallest ε with (ε, δ)-DP of `rounds` rounds of n users, 1 to 10⁶.

    See `Composed.epsilon`; one round is that of `amplification.epsilon`, at the same default rtol
    as many.
    """
    composed = compose([(decomposition, n, rounds)])
    if rounds == 1:
        return amplification.epsilon(decomposition, n, delta, rtol=rtol)
    return composed.epsilon(delta, rtol=rtol)


def delta(
    decomposition: Decomposition, eps: float, n: int, rounds: int, *, rtol: float | None = None
) -> Enclosure:
    """Enclosure of the smallest δ with (ε, δ)-DP of `rounds` rounds of n users, 1 to 10⁶.

    See `Composed.delta`; one round is that of `amplification.delta`.
    """
    composed = compose([(decomposition, n, rounds)])
    if rounds == 1:
        return amplification.delta(decomposition, eps, n, rtol=rtol)
    return composed.delta(eps, rtol=rtol)
