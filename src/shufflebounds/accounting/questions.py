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
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition | Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclosure of the smallest ε with (ε, δ)-DP of `rounds` rounds of `n` users, 1 to 10⁶.

    Of a decomposition, one round is that of `amplification.epsilon`, which tells of all arguments
    and takes arrays of n or δ; for more see `Composed.epsilon`, which also says what may be
    composed (docs/composition.md). More rounds take no arrays.

    Of a randomizer, the enclosure is of the mechanism's own ε: what the worst known dataset
    attains, and what is proven for all datasets. Of one round, `mechanism_epsilon` tells which they
    are; for more, `compose` says what is composed.
    """
    require_mechanism(decomposition)
    if validation.whole("rounds", rounds, minimum=1) == 1:
        if isinstance(decomposition, Randomizer):
            return mechanism.epsilons(decomposition, n, delta, rtol=rtol)
        return single_shuffle.epsilon(decomposition, n, delta, rtol=rtol)
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
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rounds: int = ...,
    rtol: float | None = ...,
) -> Enclosures: ...


def delta(
    decomposition: Decomposition | Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rounds: int = 1,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclosure of the smallest δ with (ε, δ)-DP of `rounds` rounds of `n` users, 1 to 10⁶.

    One round is that of `amplification.delta`, which takes arrays of ε or n; for more see
    `Composed.delta`. All else is as for `epsilon`, randomizers included.
    """
    require_mechanism(decomposition)
    if validation.whole("rounds", rounds, minimum=1) == 1:
        if isinstance(decomposition, Randomizer):
            return mechanism.deltas(decomposition, eps, n, rtol=rtol)
        return single_shuffle.delta(decomposition, eps, n, rtol=rtol)
    _require_single(eps=eps, n=n)
    return _composed(decomposition, n, rounds).delta(validation.eps(eps), rtol=rtol)


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
