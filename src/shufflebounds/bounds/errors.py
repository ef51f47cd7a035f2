"""Errors of histograms at the largest ε₀ that meets a target, and a curator's: docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Callable

from shufflebounds.accounting.choosing import calibrated
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.protocols.base import Calibrated, Protocol
from shufflebounds.randomizers.estimation import curator_mse

# Of a calibration by bisection, in floats.
_ROUNDING = 1e-9


def _bound(name: str, label: str, source: str, of: Callable[[Calibrated], Enclosure]) -> Bound:
    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        if not isinstance(protocol, Calibrated):
            raise ValueError(f"the bound {name} needs the protocol calibrated")
        answer = Answer(of(protocol))
        return lambda settings: [answer for _ in settings]

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=source,
        quantities=("mse",),
        prepare=prepare,
    )


def _of_estimate(protocol: Calibrated) -> Enclosure:
    return calibrated(
        protocol.mechanism,
        protocol.values,
        n=protocol.n,
        eps=protocol.target,
        delta=protocol.delta,
        way=protocol.way,
        attributes=protocol.attributes,
        by=protocol.by,
        rounds=protocol.rounds,
        most_messages=protocol.most_messages,
    ).mse


def _of_curator(protocol: Calibrated) -> Enclosure:
    p = protocol
    mse = curator_mse(p.values, p.n, p.target, p.delta, sums=p.attributes * p.rounds)
    return Enclosure(mse * (1.0 - _ROUNDING), mse * (1.0 + _ROUNDING))


ESTIMATE_ERROR = _bound(
    "estimate_error",
    "error of the estimate",
    "docs/accuracy.md: supports of values, at an eps0 that meets the target",
    _of_estimate,
)
CURATOR_ERROR = _bound(
    "curator_error",
    "error of a trusted curator",
    "Balle and Wang, ICML 2018, Theorem 8: Gaussian noise, calibrated exactly",
    _of_curator,
)
