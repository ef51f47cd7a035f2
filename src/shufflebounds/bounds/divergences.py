"""Bounds that are the divergence of decompositions, computed by an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from shufflebounds.accounting import amplification
from shufflebounds.accounting.shortfalls import DEFAULT_RTOL
from shufflebounds.bounds.base import (
    QUANTITIES,
    Answer,
    Asked,
    Bound,
    Evaluate,
    Kind,
    Numerics,
    attempt,
    largest,
)
from shufflebounds.bounds.compositions import of_rounds
from shufflebounds.bounds.many_pairs import largest_of_many
from shufflebounds.bounds.renyi_divergences import renyi_answers
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import PrecisionError
from shufflebounds.protocols.base import Candidate, Part, Protocol
from shufflebounds.setting import Setting

# More of them are not all answered.
_FEW = 4


def divergence_bound(
    name: str,
    kind: Kind,
    *,
    label: str,
    source: str,
    knows_mechanism: bool,
    candidates: Callable[[Protocol], tuple[Candidate, ...]],
) -> Bound:
    """The largest divergence of a protocol's `candidates`."""

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        if kind is Kind.LOWER:
            protocol = protocol.of_lower_bounds()
        # One protocol may be a part at every n, and the candidates of a joint take a while.
        pairs_of = cache(candidates)
        if quantity == "renyi":
            return lambda settings: renyi_answers(pairs_of, protocol, settings, numerics)

        def evaluate(settings: Sequence[Setting]) -> list[Answer]:
            asked = [_asked(protocol, quantity, setting) for setting in settings]
            single = [one for one in asked if one.parts == (Part(protocol, one.parts[0].n, 1),)]
            # A protocol of several kinds of shuffles has no candidates of its own.
            pairs = pairs_of(protocol) if single else ()
            once = iter(_of_one_round(kind, pairs, quantity, single, numerics))
            if len(single) == len(asked):
                return list(once)
            return [
                next(once) if one in single else of_rounds(kind, pairs_of, quantity, one)
                for one in asked
            ]

        return evaluate

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        is_divergence=True,
        quantities=tuple(QUANTITIES),
        composes=True,
        prepare=prepare,
        candidates=candidates,
    )


def _asked(protocol: Protocol, quantity: str, setting: Setting) -> Asked:
    rounds, parts = setting.rounds or 1, protocol.parts(setting.require("n"))
    return Asked(
        tuple(part._replace(times=part.times * rounds) for part in parts),
        setting.require("eps" if quantity == "delta" else "delta"),
    )


def _of_one_round(
    kind: Kind,
    pairs: Sequence[Candidate],
    quantity: str,
    asked: Sequence[Asked],
    numerics: Numerics,
) -> list[Answer]:
    if len(pairs) > _FEW:
        return [largest_of_many(kind, pairs, quantity, one, numerics) for one in asked]
    found = [
        [answer.of(pair) for answer in _answers(pair.decomposition, quantity, asked, numerics)]
        for pair in pairs
    ]
    return [largest(answers) for answers in zip(*found, strict=True)]


def _answers(
    decomposition: Decomposition, quantity: str, asked: Sequence[Asked], numerics: Numerics
) -> list[Answer]:
    """An answer for every point; those that fall short say so, and take no others with them."""
    function = amplification.delta if quantity == "delta" else amplification.epsilon

    def alone(point: Asked) -> Answer:
        name = "eps" if quantity == "delta" else "delta"
        given: dict[str, Any] = {"n": point.draws, name: point.at}
        return attempt(lambda: function(decomposition, **given, rtol=numerics.rtol))

    several = _along_one_axis(quantity, asked)
    if several is None:
        return [alone(point) for point in asked]
    try:
        found = function(decomposition, **several, rtol=numerics.rtol)
        return [Answer(enclosure) for enclosure in found]
    except PrecisionError as error:
        # What they have together does not say which of them fell short, nor why.
        goal = numerics.rtol or DEFAULT_RTOL
        return [
            alone(point) if enclosure.relative_width > goal else Answer(enclosure)
            for point, enclosure in zip(asked, error.enclosure, strict=True)
        ]


def _along_one_axis(quantity: str, asked: Sequence[Asked]) -> dict[str, Any] | None:
    """Arguments for several points at once, where only one of the two arguments varies."""
    name = "eps" if quantity == "delta" else "delta"
    draws, at = [point.draws for point in asked], [point.at for point in asked]
    if len(asked) < 2:
        return None
    if len(set(at)) == 1:
        return {"n": draws, name: at[0]}
    if len(set(draws)) == 1:
        return {"n": draws[0], name: at}
    return None
