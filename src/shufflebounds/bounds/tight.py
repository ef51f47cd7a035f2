"""The least of all bounds that are proven for every dataset, around what a mechanism's own is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from shufflebounds.accounting.composed import Composed
from shufflebounds.accounting.mechanism import mechanism_delta, mechanism_epsilon
from shufflebounds.accounting.mechanism_rounds import round_of
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, attempt
from shufflebounds.bounds.optimal import UPPER
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.single_message import SingleMessage
from shufflebounds.setting import Setting


def _prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
    """Of other protocols than single messages, the decomposition says all that is known."""
    if not isinstance(protocol, SingleMessage) or protocol.distance is not None:
        return UPPER.prepare(protocol, quantity, numerics)
    randomizer, rtol = protocol.randomizer, numerics.rtol
    # Its grids are remembered with it, and few settings differ in n.
    known = cache(lambda n: round_of(randomizer, n, 1))

    def answer(setting: Setting) -> Answer:
        n, rounds = setting.require("n"), setting.rounds or 1
        if rounds > 1:
            composed = Composed((replace(known(n), times=rounds),))
            if quantity == "delta":
                return attempt(partial(composed.delta, setting.require("eps")))
            return attempt(partial(composed.epsilon, setting.require("delta")))
        if quantity == "delta":
            found = mechanism_delta(randomizer, setting.require("eps"), n, rtol=rtol)
        else:
            found = mechanism_epsilon(randomizer, n, setting.require("delta"), rtol=rtol)
        # Of matrices, such as 0 against 3 among 5.
        inputs, _, others = found.others.rpartition(" among ")
        return Answer(found.enclosure, inputs=inputs, others=others)

    return lambda settings: [answer(setting) for setting in settings]


TIGHT = Bound(
    name="tight",
    kind=Kind.UPPER,
    label="tight upper bound",
    source="docs/closing-the-gap.md, Theorem 3, or the blanket where that is smaller",
    knows_mechanism=True,
    is_divergence=False,
    quantities=("epsilon", "delta"),
    composes=True,
    prepare=_prepare,
)
