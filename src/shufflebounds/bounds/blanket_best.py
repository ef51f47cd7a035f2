"""The smaller of the blanket's bounds by Hoeffding's and by Bennett's inequality."""

from __future__ import annotations

from collections.abc import Sequence

from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, smallest
from shufflebounds.bounds.blanket_bennett import BENNETT, BENNETT_GENERIC
from shufflebounds.bounds.blanket_hoeffding import HOEFFDING, HOEFFDING_GENERIC
from shufflebounds.protocols.base import Protocol
from shufflebounds.setting import Setting


def _smaller(name: str, label: str, bounds: Sequence[Bound]) -> Bound:
    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        each = [bound.prepare(protocol, quantity, numerics) for bound in bounds]

        def evaluate(settings: Sequence[Setting]) -> list[Answer]:
            found = [one(settings) for one in each]
            return [smallest(answers) for answers in zip(*found, strict=True)]

        return evaluate

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source="Balle, Bell, Gascón and Nissim, CRYPTO 2019",
        knows_mechanism=bounds[0].knows_mechanism,
        is_divergence=False,
        quantities=bounds[0].quantities,
        composes=False,
        prepare=prepare,
    )


BLANKET_BEST = _smaller("blanket_best", "blanket, best inequality", (HOEFFDING, BENNETT))
BLANKET_BEST_GENERIC = _smaller(
    "blanket_best_generic",
    "blanket, best inequality, generic",
    (HOEFFDING_GENERIC, BENNETT_GENERIC),
)
