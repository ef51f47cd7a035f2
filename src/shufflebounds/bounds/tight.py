"""The least of all bounds that are proven for every dataset, around what a mechanism's own is."""

from __future__ import annotations

from shufflebounds.accounting.mechanism import mechanism_delta, mechanism_epsilon
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.bounds.optimal import UPPER
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.single_message import SingleMessage
from shufflebounds.setting import Setting


def _prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
    """Of other protocols than single messages, the decomposition says all that is known."""
    if not isinstance(protocol, SingleMessage) or protocol.distance is not None:
        return UPPER.prepare(protocol, quantity, numerics)
    randomizer, rtol = protocol.randomizer, numerics.rtol

    def answer(setting: Setting) -> Answer:
        n = setting.require("n")
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
    module=__name__,
    knows_mechanism=True,
    is_divergence=False,
    quantities=("epsilon", "delta"),
    composes=False,
    prepare=_prepare,
)
