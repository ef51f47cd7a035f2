"""Bounds that are the divergence of decompositions, computed by an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shufflebounds.accounting import amplification
from shufflebounds.bounds.base import (
    QUANTITIES,
    Answer,
    Bound,
    Evaluate,
    Kind,
    Numerics,
    attempt,
    largest,
)
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Candidate, Protocol
from shufflebounds.setting import Setting


def divergence_bound(
    name: str,
    kind: Kind,
    *,
    label: str,
    source: str,
    module: str,
    knows_mechanism: bool,
    candidates: Callable[[Protocol], tuple[Candidate, ...]],
) -> Bound:
    """The largest divergence of a protocol's `candidates`."""

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        pairs = candidates(protocol)

        def evaluate(setting: Setting) -> Answer:
            draws = protocol.draws(setting.require("n"))

            def of_one(pair: Candidate) -> Answer:
                answer = attempt(lambda: _divergence(pair, quantity, setting, draws, numerics))
                return replace(answer, differing=pair.differing, others=pair.others)

            return largest(map(of_one, pairs))

        return evaluate

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        module=module,
        knows_mechanism=knows_mechanism,
        is_divergence=True,
        quantities=tuple(QUANTITIES),
        prepare=prepare,
        candidates=candidates,
    )


def _divergence(
    pair: Candidate, quantity: str, setting: Setting, draws: int, numerics: Numerics
) -> Enclosure:
    rtol, engine = numerics.rtol, numerics.engine
    if quantity == "delta":
        eps = setting.require("eps")
        return amplification.delta(pair.decomposition, eps, draws, rtol=rtol, engine=engine)
    delta = setting.require("delta")
    return amplification.epsilon(pair.decomposition, draws, delta, rtol=rtol, engine=engine)
