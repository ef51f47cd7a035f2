"""Rényi divergences of decompositions, and what Rényi accounting makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce

import numpy as np

from shufflebounds.accounting import renyi as accounting
from shufflebounds.accounting.renyi import renyi
from shufflebounds.accounting.renyi_conversion import least_epsilon
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, largest
from shufflebounds.bounds.clones import CLONE, STRONGER_CLONE
from shufflebounds.bounds.optimal import UPPER
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.law import U
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.protocols.base import Candidate, Part, Protocol
from shufflebounds.setting import Setting

PairsOf = Callable[[Protocol], tuple[Candidate, ...]]

# Widths of what is converted: of divergences, and of the search among orders.
_DIVERGENCE_RTOL, _SPARE = 1e-3, 1e-3
# A wider ε is told as a failure.
_ACCEPTED = 1e-2


def accounted(exact: Bound, name: str, label: str) -> Bound:
    """The ε that Rényi accounting gives of the divergences of `exact`, over all real orders."""
    pairs_of = exact.candidates
    assert pairs_of is not None  # that of a divergence

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        known = cache(pairs_of)
        curves = _Curves(known)

        def answer(setting: Setting) -> Answer:
            n, delta, rounds = setting.require("n"), setting.require("delta"), setting.rounds or 1
            parts = [part._replace(times=part.times * rounds) for part in protocol.parts(n)]
            found = least_epsilon(lambda orders: curves.of(parts, orders), delta, _SPARE)
            wide = found.relative_width > _ACCEPTED
            return Answer(found, shortfall=f"known only to lie in {found}" if wide else "")

        return lambda settings: [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=f"{exact.source}; converted by Canonne, Kamath and Steinke, NeurIPS 2020, "
        "Proposition 12",
        module=__name__,
        knows_mechanism=exact.knows_mechanism,
        is_divergence=True,
        quantities=("epsilon",),
        composes=True,
        prepare=prepare,
        candidates=pairs_of,
    )


class _Curves:
    """Divergences by what was asked for before: curves along rounds ask for much of it again."""

    def __init__(self, pairs_of: PairsOf) -> None:
        self.pairs_of = pairs_of
        self.known: dict[tuple[Protocol, int, float], tuple[float, float]] = {}

    def of(self, parts: Sequence[Part], orders: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of the sum over all rounds of the largest divergence of all pairs."""
        low, high = np.zeros(orders.shape), np.zeros(orders.shape)
        for part in parts:
            ends = self._once(part, orders)
            low, high = low + part.times * ends[0], high + part.times * ends[1]
        slip = 4.0 * U * (1 + len(parts))
        return low * (1.0 - slip), high * (1.0 + slip)

    def _once(self, part: Part, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
        protocol, draws = part.protocol, part.protocol.draws(part.n)
        wanted = orders.tolist()
        new = [order for order in wanted if (protocol, draws, order) not in self.known]
        if new:
            found = [
                accounting.bounds(pair.decomposition, draws, np.array(new), _DIVERGENCE_RTOL)
                for pair in self.pairs_of(protocol)
            ]
            low, high = (np.max([ends[i] for ends in found], axis=0).tolist() for i in (0, 1))
            for order, *ends in zip(new, low, high, strict=True):
                self.known[protocol, draws, order] = (ends[0], ends[1])
        low, high = np.array([self.known[protocol, draws, order] for order in wanted]).T
        return low, high


def renyi_answers(
    pairs_of: PairsOf, protocol: Protocol, settings: Sequence[Setting], numerics: Numerics
) -> list[Answer]:
    """The largest divergence of all pairs at each setting, times rounds; all orders at once.

    For a lower bound that is attained by one pair of datasets in all rounds.
    """
    groups: dict[int, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(setting.require("n"), []).append(setting)
    found: dict[Setting, Answer] = {}
    for n, some in groups.items():
        orders = [setting.require("order") for setting in some]
        rows = [
            [_scaled(answer, part.times) for answer in _largest(pairs_of, part, orders, numerics)]
            for part in protocol.parts(n)
        ]
        sums = [reduce(_plus, column) for column in zip(*rows, strict=True)]
        found |= {
            setting: _scaled(answer, setting.rounds or 1)
            for setting, answer in zip(some, sums, strict=True)
        }
    return [found[setting] for setting in settings]


def _largest(
    pairs_of: PairsOf, part: Part, orders: list[float], numerics: Numerics
) -> list[Answer]:
    draws = part.protocol.draws(part.n)
    rows = [
        [
            Answer(one.enclosure, pair.differing, pair.others, one.shortfall)
            for one in _at(pair.decomposition, draws, orders, numerics)
        ]
        for pair in pairs_of(part.protocol)
    ]
    return [largest(column) for column in zip(*rows, strict=True)]


def _at(
    decomposition: Decomposition, n: int, orders: list[float], numerics: Numerics
) -> list[Answer]:
    # None asks of ends that lie apart in theory no more than they can give.
    rtol = numerics.rtol if decomposition.is_finite() else None
    try:
        return [Answer(one) for one in renyi(decomposition, n, orders, rtol)]
    except PrecisionError as error:
        goal = rtol or accounting.DEFAULT_RTOL
        return [
            Answer(one, shortfall=str(error) if one.relative_width > goal else "")
            for one in error.enclosure
        ]


def _scaled(answer: Answer, times: int) -> Answer:
    return replace(answer, enclosure=answer.enclosure.times(times))


def _plus(one: Answer, other: Answer) -> Answer:
    ends = Enclosure(
        (one.enclosure.lower + other.enclosure.lower) * (1.0 - 2.0 * U),
        (one.enclosure.upper + other.enclosure.upper) * (1.0 + 2.0 * U),
    )
    shortfall = "; ".join(filter(None, (one.shortfall, other.shortfall)))
    return Answer(ends, one.differing, one.others, shortfall)


UPPER_ACCOUNTED = accounted(UPPER, "upper_renyi", "upper bound, Rényi accounting")
CLONE_ACCOUNTED = accounted(CLONE, "clone_renyi", "clone, Rényi accounting")
STRONGER_ACCOUNTED = accounted(
    STRONGER_CLONE, "stronger_clone_renyi", "stronger clone, Rényi accounting"
)
