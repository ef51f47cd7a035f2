"""Rényi divergences of decompositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from shufflebounds.accounting import renyi as accounting
from shufflebounds.accounting.renyi import renyi
from shufflebounds.bounds.base import Answer, Numerics, largest
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.law import U
from shufflebounds.enclosure import Enclosure, PrecisionError
from shufflebounds.protocols.base import Candidate, Part, Protocol
from shufflebounds.setting import Setting

PairsOf = Callable[[Protocol], tuple[Candidate, ...]]


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
