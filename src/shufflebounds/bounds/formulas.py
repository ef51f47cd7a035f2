"""Bounds that a formula gives, of the blanket or of ε₀ alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, largest
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Candidate, Protocol
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
    knows_mechanism: bool,
    quantities: Mapping[str, Formula],
    composes: bool = False,
) -> Bound:
    """What a formula says of the blanket (the largest, where there are several) or of ε₀ alone.

    Formulas that `composes` says know several rounds look at ``setting.rounds`` themselves.
    """

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        formula, eps0 = quantities[quantity], _eps0(name, protocol)
        if knows_mechanism:
            candidates = protocol.upper_candidates()
            pairs: list[tuple[Candidate | None, Callable[[Setting], Enclosure]]] = [
                (one, formula(one.decomposition, eps0)) for one in candidates
            ]
        else:
            pairs = [(None, formula(None, eps0))]

        def answer(setting: Setting) -> Answer:
            answers = ((pair, Answer(of_pair(setting))) for pair, of_pair in pairs)
            return largest(answer.of(pair) if pair else answer for pair, answer in answers)

        return lambda settings: [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        is_divergence=False,
        quantities=tuple(quantities),
        composes=composes,
        prepare=prepare,
    )


def _eps0(name: str, protocol: Protocol) -> float:
    if protocol.eps0 is None:
        raise ValueError(f"{name} needs a randomizer with an eps0, got one without")
    return protocol.eps0
