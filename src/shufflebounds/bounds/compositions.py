"""Divergences of several rounds: compositions of a bound's decompositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from shufflebounds.accounting.composed import Composed, compose
from shufflebounds.bounds.base import Answer, Asked, Kind, Numerics, attempt, largest
from shufflebounds.divergence.engines import DEFAULT
from shufflebounds.protocols.base import Candidate, Protocol


def of_rounds(
    kind: Kind,
    pairs_of: Callable[[Protocol], tuple[Candidate, ...]],
    quantity: str,
    asked: Asked,
    numerics: Numerics,
) -> Answer:
    """Of several rounds: of one pair of datasets in all of them, or of the worst in each."""
    _require_saddle(numerics)
    # One row for each choice of a candidate for every part.
    choices = list(product(*(pairs_of(part.protocol) for part in asked.parts)))
    if kind is not Kind.LOWER and len(choices) > 1:
        # The worst pair may be another in each round, which no maximum over pairs covers.
        raise ValueError(
            "rounds must be 1 where several pairs of inputs may be the worst, "
            f"of which there are {len(choices)}"
        )
    function = Composed.delta if quantity == "delta" else Composed.epsilon

    def answer(chosen: Sequence[Candidate]) -> Answer:
        composed = compose(
            (pair.decomposition, part.protocol.draws(part.n), part.times)
            for pair, part in zip(chosen, asked.parts, strict=True)
        )
        # To the width that composition promises by itself.
        found = attempt(lambda: function(composed, asked.at))
        return found.of(chosen[0])

    return largest(answer(chosen) for chosen in choices)


def _require_saddle(numerics: Numerics) -> None:
    if numerics.engine != DEFAULT:
        raise ValueError(
            f"engine must be {DEFAULT} for more rounds than one, got {numerics.engine!r}"
        )
