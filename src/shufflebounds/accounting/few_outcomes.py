"""Bounds of rounds with few outcomes, whose losses are added up one by one instead of on a lattice.

Without them a round of a handful of users has a wide enclosure: the lattice's curves are bounded
between their points only (docs/composition.md, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence

from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.round_laws import Round, match_laws
from shufflebounds.divergence.convolution import (
    Losses,
    compose_losses,
    dominated_losses,
    dominating_losses,
)
from shufflebounds.divergence.enumeration import (
    MAX_USERS,
    histogram_count,
    outcomes,
    ranked_outcomes,
)

# Most outcomes of one round.
MAX_OUTCOMES = 10_000


def loss_bounds(rounds: Sequence[Round]) -> tuple[Losses, list[Losses]] | None:
    """Return the losses of a pair above the rounds, and those of pairs below them.

    The former ignores bounds for all datasets, which have no outcomes. None if there are too many
    outcomes.
    """
    dominating = [(_dominating_losses(round_), round_.times) for round_ in rounds]
    pairs = [(losses, times) for losses, times in dominating if losses is not None]
    upper = compose_losses(pairs) if len(pairs) == len(rounds) else None
    if upper is None:
        return None
    orders = (0,) if all(round_.is_symmetric for round_ in rounds) else (0, -1)
    return upper, [losses for order in orders for losses in _dominated_losses(rounds, order)]


def _dominating_losses(round_: Round) -> Losses | None:
    """Return losses above those of one round; None if there are too many outcomes."""
    curves = []
    for decomposition in round_.decompositions:
        for _, outer in decomposition.directions:
            if round_.n > MAX_USERS or histogram_count(outer, round_.n) > MAX_OUTCOMES:
                return None
            curve = ranked_outcomes(outer, round_.n)
            if curve is None:
                return None
            curves.append(curve)
    return dominating_losses(curves, LARGEST_EPS)


def _dominated_losses(rounds: Sequence[Round], order: int) -> list[Losses]:
    """Return sums of losses on pairs of datasets: of the first pair of each round, the second, …

    Rounds with too many outcomes are left out, which is sound for a lower bound.
    """
    laws = []
    for round_ in rounds:
        of_pairs = [
            outcomes(pair.directions[order][0], round_.n, max_histograms=MAX_OUTCOMES)
            for pair in round_.lower_decompositions
        ]
        laws.append([(dominated_losses(x), round_.times) for x in of_pairs if x])
    sums = map(compose_losses, match_laws(laws))
    return [total for total in sums if total is not None]
