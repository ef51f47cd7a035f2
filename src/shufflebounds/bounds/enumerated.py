"""What a mechanism's own ε and δ are, by looking at every dataset: for few users."""

from __future__ import annotations

from shufflebounds.accounting.worst_dataset import worst_dataset
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.protocols.base import Protocol
from shufflebounds.protocols.single_message import SingleMessage
from shufflebounds.setting import Setting


def _prepare(protocol: Protocol, quantity: str, _: Numerics) -> Evaluate:
    if not isinstance(protocol, SingleMessage):
        raise ValueError("the bound enumerated needs reports of a single message")
    given = "eps" if quantity == "delta" else "delta"

    def answer(setting: Setting) -> Answer:
        n, at = setting.require("n"), {given: setting.require(given)}
        found = worst_dataset(protocol.randomizer, n, **at)
        return Answer(found.enclosure, others=" ".join(map(str, found.others)))

    return lambda settings: [answer(setting) for setting in settings]


ENUMERATED = Bound(
    name="enumerated",
    kind=Kind.UPPER,
    label="worst dataset",
    source="enumeration of all datasets; for few users, inputs and outputs",
    knows_mechanism=True,
    is_divergence=False,
    quantities=("epsilon", "delta"),
    composes=False,
    prepare=_prepare,
)
