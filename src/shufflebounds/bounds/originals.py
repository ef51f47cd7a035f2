"""What the authors of a protocol proved for it (docs/variation-ratio.md, section 9)."""

from __future__ import annotations

import math

from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Protocol
from shufflebounds.setting import Setting

# `Protocol.original_epsilon` rounds up by less.
_ROUNDING = 2.0**-40


def _prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
    def answer(setting: Setting) -> Answer:
        eps = protocol.original_epsilon(setting.require("n"), setting.require("delta"))
        return _answer(eps)

    return lambda settings: [answer(setting) for setting in settings]


def _answer(eps: float | None) -> Answer:
    if eps is None:
        return Answer(Enclosure(0.0, math.inf), shortfall="original says nothing of these messages")
    return Answer(Enclosure(eps * (1.0 - _ROUNDING), eps))


ORIGINAL = Bound(
    name="original",
    kind=Kind.UPPER,
    label="original analysis",
    source="the protocol's authors: Cheu and Zhilyaev, IEEE S&P 2022; Luo, Wang and Yi, CCS 2022",
    knows_mechanism=True,
    is_divergence=False,
    quantities=("epsilon",),
    composes=False,
    prepare=_prepare,
)
