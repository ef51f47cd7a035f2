"""ε and δ of the same round, many times over."""

from __future__ import annotations

from shufflebounds import amplification, validation
from shufflebounds.accounting.composed import compose
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure

ENGINE = "saddle"


def epsilon(
    decomposition: Decomposition,
    n: int,
    delta: float,
    rounds: int,
    *,
    rtol: float | None = None,
    engine: str = ENGINE,
) -> Enclosure:
    """Enclosure of the smallest ε with (ε, δ)-DP of `rounds` rounds of n users, 1 to 10⁶.

    See `Composed.epsilon`. One round is that of `amplification.epsilon`, with its default of rtol;
    more have one engine only, ``saddle``.
    """
    composed = compose([(decomposition, n, rounds)])
    if rounds == 1:
        return amplification.epsilon(decomposition, n, delta, rtol=rtol, engine=engine)
    _only(engine)
    return composed.epsilon(delta, rtol=rtol)


def delta(
    decomposition: Decomposition,
    eps: float,
    n: int,
    rounds: int,
    *,
    rtol: float | None = None,
    engine: str = ENGINE,
) -> Enclosure:
    """Enclosure of the smallest δ with (ε, δ)-DP of `rounds` rounds of n users, 1 to 10⁶.

    See `Composed.delta`; all else is as for `epsilon`.
    """
    composed = compose([(decomposition, n, rounds)])
    if rounds == 1:
        return amplification.delta(decomposition, eps, n, rtol=rtol, engine=engine)
    _only(engine)
    return composed.delta(eps, rtol=rtol)


def _only(engine: str) -> None:
    validation.choice("engine", engine, amplification.ENGINES)
    if engine != ENGINE:
        raise ValueError(f"engine must be {ENGINE} for more rounds than one, got {engine!r}")
