"""ε and δ of a shuffle, once or the same round many times over: the public questions."""

from __future__ import annotations

from typing import overload

import numpy as np

from shufflebounds.accounting import mechanism, single_shuffle
from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.single_shuffle import Several
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures
from shufflebounds.divergence.engines import DEFAULT, ENGINES
from shufflebounds.randomizers.base import Randomizer, require_mechanism


# The numbers among the arguments of the second are those of the first.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Decomposition | Randomizer,
    n: int,
    delta: float,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
    engine: str = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
    engine: str = ...,
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rounds: int = 1,
    rtol: float | None = None,
    engine: str = DEFAULT,
) -> Enclosure | Enclosures:
    """Enclosure of the smallest ε with (ε, δ)-DP of `rounds` rounds of `n` users, 1 to 10⁶.

    Of a decomposition, one round is that of `amplification.epsilon`, which tells of all arguments
    and takes arrays of n or δ; for more see `Composed.epsilon`, which also says what may be
    composed (docs/composition.md). More rounds have one engine only, ``saddle``, and take no
    arrays.

    Of a randomizer, the enclosure is of the mechanism's own ε: what the worst known dataset
    attains, and what is proven for all datasets. Of one round, `mechanism_epsilon` tells which they
    are; for more, `compose` says what is composed.
    """
    _require_askable(decomposition, engine)
    if validation.whole("rounds", rounds, minimum=1) == 1:
        if isinstance(decomposition, Randomizer):
            return mechanism.epsilons(decomposition, n, delta, rtol=rtol)
        return single_shuffle.epsilon(decomposition, n, delta, rtol=rtol, engine=engine)
    _require_default(engine)
    _require_single(n=n, delta=delta)
    return _composed(decomposition, n, rounds).epsilon(validation.delta(delta), rtol=rtol)


# The numbers among the arguments of the second are those of the first.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition | Randomizer,
    eps: float,
    n: int,
    *,
    rounds: int = ...,
    rtol: float | None = ...,
    engine: str = ...,
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
    engine: str = ...,
) -> Enclosures: ...


def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rounds: int = 1,
    rtol: float | None = None,
    engine: str = DEFAULT,
) -> Enclosure | Enclosures:
    """Enclosure of the smallest δ with (ε, δ)-DP of `rounds` rounds of `n` users, 1 to 10⁶.

    One round is that of `amplification.delta`, which takes arrays of ε or n; for more see
    `Composed.delta`. All else is as for `epsilon`, randomizers included.
    """
    _require_askable(decomposition, engine)
    if validation.whole("rounds", rounds, minimum=1) == 1:
        if isinstance(decomposition, Randomizer):
            return mechanism.deltas(decomposition, eps, n, rtol=rtol)
        return single_shuffle.delta(decomposition, eps, n, rtol=rtol, engine=engine)
    _require_default(engine)
    _require_single(eps=eps, n=n)
    return _composed(decomposition, n, rounds).delta(validation.eps(eps), rtol=rtol)


def _require_askable(given: object, engine: str) -> None:
    if isinstance(require_mechanism(given), Randomizer):
        _require_default(engine, "a randomizer")


def _composed(
    decomposition: Decomposition | Randomizer, n: int | Several[int], rounds: int
) -> Composed:
    return compose([(decomposition, validation.users(n), rounds)])


def _require_single(**given: object) -> None:
    for name, value in given.items():
        if np.ndim(value) > 0:  # type: ignore[arg-type]
            raise ValueError(
                f"{name} must be one number for more rounds than one, got {value!r}: "
                "ask for each by itself"
            )


def _require_default(engine: str, where: str = "more rounds than one") -> None:
    validation.choice("engine", engine, ENGINES)
    if engine != DEFAULT:
        raise ValueError(f"engine must be {DEFAULT} for {where}, got {engine!r}")
