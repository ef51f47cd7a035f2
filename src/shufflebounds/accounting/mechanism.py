"""The ε and δ of a mechanism itself: between its worst known dataset and its best proven bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting import amplification
from shufflebounds.accounting import amplification_grid as grid
from shufflebounds.accounting.all_datasets import (
    all_datasets_delta,
    all_datasets_epsilon,
    unsettled,
)
from shufflebounds.accounting.amplification import Several
from shufflebounds.accounting.worst_case import (
    Divergence,
    largest_answer,
    worth_asking,
    worth_trying,
)
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, Enclosures, reached
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.matrix import MatrixRandomizer


@dataclass(frozen=True)
class _Reached(Divergence):
    """What was found counts, however wide: one decomposition must not hide the others."""

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return reached(partial(super().answer, decomposition))


@dataclass(frozen=True)
class MechanismBounds:
    """What is known of a mechanism.

    ``enclosure`` holds its own ε or δ: two datasets attain ``lower``, and ``upper`` is proven for
    all. ``upper_bound`` is the bound that is the smallest, ``blanket`` or ``all datasets``
    (docs/closing-the-gap.md); ``others`` is what all other users hold at ``lower``, and of
    compositions the coordinates in which the victim's inputs differ there, if not in all.
    """

    enclosure: Enclosure
    upper_bound: str
    others: str


def mechanism_epsilon(
    randomizer: Randomizer, n: int, delta: float, *, rtol: float | None = None
) -> MechanismBounds:
    """Bounds of the smallest ε at which `n` shuffled reports are (ε, δ)-DP.

    For two datasets that differ by the replacement of one user's input, whatever the others hold.
    ``lower`` is that of the worst dataset known, among those in which all other users hold one
    input; ``upper`` the least of the proven bounds. What lies between them is not known.

    Parameters
    ----------
    randomizer
        That all users share.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude.
    delta
        10⁻³⁰⁰ ≤ δ < 1, a float.
    rtol
        The relative width to which decompositions are evaluated, as in `amplification.epsilon`;
        no promise of how far the ends lie apart.

    Raises ValueError for arguments outside these ranges.

    """
    delta, n = validation.delta(delta), validation.users(n)
    question = _Reached("epsilon", n, delta, rtol)
    others, low = largest_answer(datasets(randomizer), question, worth_trying)
    blanket = largest_answer(randomizer.blankets(), question, worth_asking)[1].upper
    lower = min(low.lower, blanket)
    crowds = unsettled(randomizer.crowds(), lower, delta, n) if lower < blanket else []
    upper = all_datasets_epsilon(crowds, n, delta, lower, blanket)
    name = "all datasets" if upper < blanket else "blanket"
    return MechanismBounds(Enclosure(lower, upper), name, others)


def mechanism_delta(
    randomizer: Randomizer, eps: float, n: int, *, rtol: float | None = None
) -> MechanismBounds:
    """Bounds of the smallest δ at which `n` shuffled reports are (ε, δ)-DP.

    `eps` is ε ≥ 0 (natural log), a float; all else is as for `mechanism_epsilon`.
    """
    eps, n = validation.eps(eps), validation.users(n)

    def largest(candidates: Mapping[str, Decomposition]) -> tuple[str, Enclosure]:
        found = {
            name: reached(partial(amplification.delta, one, eps, n, rtol=rtol))
            for name, one in candidates.items()
        }
        worst = max(found, key=lambda name: found[name].lower)
        return worst, Enclosure(found[worst].lower, max(one.upper for one in found.values()))

    others, low = largest(datasets(randomizer))
    blanket = largest(randomizer.blankets())[1].upper
    lower = min(low.lower, blanket)
    crowds = unsettled(randomizer.crowds(), eps, lower, n)
    upper = max(lower, all_datasets_delta(crowds, eps, n, blanket))
    return MechanismBounds(
        Enclosure(lower, upper), "all datasets" if upper < blanket else "blanket", others
    )


def epsilons(
    randomizer: Randomizer,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_epsilon`; either `n` or `delta` may be an array."""
    return _each(
        lambda users, target: mechanism_epsilon(randomizer, users, target, rtol=rtol),
        ("n", n, validation.users),
        ("delta", delta, validation.delta),
    )


def deltas(
    randomizer: Randomizer,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """The enclosures of `mechanism_delta`; either `eps` or `n` may be an array."""
    return _each(
        lambda loss, users: mechanism_delta(randomizer, loss, users, rtol=rtol),
        ("eps", eps, validation.eps),
        ("n", n, validation.users),
    )


def _each(
    ask: Callable[[Any, Any], MechanismBounds],
    first: tuple[str, Any, Callable[[object], Any]],
    second: tuple[str, Any, Callable[[object], Any]],
) -> Enclosure | Enclosures:
    """What is found at the point, or at each, of two arguments given as (name, value, check)."""
    if not (grid.is_several(first[1]) or grid.is_several(second[1])):
        return ask(first[1], second[1]).enclosure
    found = [ask(*point).enclosure for point in zip(*grid.paired(first, second), strict=True)]
    return Enclosures(np.array([x.lower for x in found]), np.array([x.upper for x in found]))


def datasets(randomizer: Randomizer) -> dict[str, Decomposition]:
    """Pairs of datasets in which all others hold one input, of the mechanism's list and ours.

    Raises ValueError for what is no randomizer.
    """
    if not isinstance(randomizer, Randomizer):
        raise ValueError(f"randomizer must be a Randomizer, such as KRR, got {randomizer!r}")
    found = dict(randomizer.dataset_pairs())
    if not isinstance(randomizer, MatrixRandomizer):  # which lists them all
        for crowd in randomizer.crowds():
            if crowd.attained:
                found = {**found, **crowd.datasets(), **found}
    return found
