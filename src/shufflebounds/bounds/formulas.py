"""Bounds that a formula gives, of the blanket or of ε₀ alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, largest
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Protocol
from shufflebounds.setting import Setting

# Of a protocol's blanket (None where the bound does not look at it) and its ε₀: the quantity at a
# setting.
Formula = Callable[[Decomposition | None, float], Callable[[Setting], Enclosure]]


def closed_form(
    name: str,
    kind: Kind,
    *,
    label: str,
    source: str,
    module: str,
    knows_mechanism: bool,
    quantities: Mapping[str, Formula],
) -> Bound:
    """What a formula says of the blanket (the largest, where there are several) or of ε₀ alone."""

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        formula, eps0 = quantities[quantity], _eps0(name, protocol)
        if not knows_mechanism:
            of_eps0 = formula(None, eps0)
            return lambda settings: [Answer(of_eps0(setting)) for setting in settings]
        pairs = [(pair, formula(pair.decomposition, eps0)) for pair in protocol.upper_candidates()]
        return lambda settings: [
            largest(Answer(of_pair(setting), pair.differing) for pair, of_pair in pairs)
            for setting in settings
        ]

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        module=module,
        knows_mechanism=knows_mechanism,
        is_divergence=False,
        quantities=tuple(quantities),
        prepare=prepare,
    )


def _eps0(name: str, protocol: Protocol) -> float:
    if protocol.eps0 is None:
        raise ValueError(f"{name} needs a randomizer with an eps0, got one without")
    return protocol.eps0
