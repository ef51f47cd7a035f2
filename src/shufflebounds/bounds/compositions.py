"""Divergences of several rounds: compositions of a bound's decompositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from shufflebounds.accounting.composed import Composed, compose
from shufflebounds.bounds.base import Answer, Asked, Kind, attempt, largest
from shufflebounds.protocols.base import Candidate, Protocol

# Dataset pairs of a part that are composed, each of which takes a while.
_TRIES = 4


def of_rounds(
    kind: Kind,
    pairs_of: Callable[[Protocol], tuple[Candidate, ...]],
    quantity: str,
    asked: Asked,
) -> Answer:
    """Of several rounds: of one pair of datasets in all of them, or of the worst in each."""
    function = Composed.delta if quantity == "delta" else Composed.epsilon

    def answer(chosen: Sequence[Sequence[Candidate]]) -> Answer:
        composed = compose(
            ([pair.decomposition for pair in pairs], part.protocol.draws(part.n), part.times)
            for pairs, part in zip(chosen, asked.parts, strict=True)
        )
        # To the width that composition promises by itself.
        found = attempt(lambda: function(composed, asked.at))
        # The worst may be another in each round.
        return found.of(chosen[0][0]) if len(chosen[0]) == 1 else found

    several = [pairs_of(part.protocol) for part in asked.parts]
    if kind is not Kind.LOWER:
        # Another pair may be the worst in every round, which no maximum over pairs covers.
        return answer(several)
    # Those that tell the inputs apart best come first.
    choices = product(*([[pair] for pair in pairs[:_TRIES]] for pairs in several))
    return largest(answer(chosen) for chosen in choices)
