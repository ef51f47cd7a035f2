"""Bounds that are the divergence of decompositions, computed by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from itertools import product
from typing import Any

import numpy as np

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.many_pairs import (
    Divergence,
    Question,
    candidates_to_ask,
    pairs_to_try,
)
from shufflebounds.accounting.renyi import DEFAULT_RTOL as RENYI_RTOL
from shufflebounds.accounting.renyi import bounds as renyi_bounds
from shufflebounds.accounting.renyi import renyi
from shufflebounds.accounting.renyi_conversion import least_epsilon
from shufflebounds.accounting.single_shuffle import DEFAULT_RTOL
from shufflebounds.bounds.base import (
    DIVERGENCES,
    Answer,
    Asked,
    Bound,
    Evaluate,
    Kind,
    Numerics,
    PairsOf,
    attempt,
    largest,
)
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.setting import Setting
from shufflebounds.core.work import budget
from shufflebounds.divergence.law import U
from shufflebounds.protocols.base import Candidate, Protocol, Shuffles

# Divergences of several rounds: compositions of a bound's decompositions.

# Dataset pairs of a part that are composed, each of which takes a while.
_TRIES = 4


def of_rounds(
    kind: Kind, pairs_of: PairsOf, quantity: str, asked: Asked, rtol: float | None
) -> Answer:
    """Of several rounds: of one pair of datasets in all of them, or of the worst in each."""
    function = Composed.delta if quantity == "delta" else Composed.epsilon

    def answer(chosen: Sequence[Sequence[Candidate]]) -> Answer:
        composed = compose(
            ([pair.decomposition for pair in pairs], part.protocol.draws(part.n), part.times)
            for pairs, part in zip(chosen, asked.parts, strict=True)
        )
        found = attempt(lambda: function(composed, asked.at, rtol=rtol))
        # The worst may be another in each round.
        return found.of(chosen[0][0]) if all(len(pairs) == 1 for pairs in chosen) else found

    several = [pairs_of(part.protocol) for part in asked.parts]
    if kind is not Kind.LOWER:
        # Another pair may be the worst in every round, which no maximum over pairs covers.
        return answer(several)
    # Those that tell the inputs apart best come first. The two datasets are the same in all parts.
    first, *rest = several
    choices = (
        [[pair], *([other] for other in others)]
        for pair in first[:_TRIES]
        for others in product(*([x for x in pairs if x.name == pair.name] for pairs in rest))
    )
    return largest(map(answer, choices), kind)


# The largest divergence of many pairs, most of which need no precise answer.


def largest_answer(kind: Kind, pairs: Sequence[Candidate], question: Question) -> Answer:
    """The largest of all pairs or, of lower bounds, the largest that was found."""
    select = pairs_to_try if kind is Kind.LOWER else candidates_to_ask
    answers: list[Answer] = []
    decompositions = [pair.decomposition for pair in pairs]
    for i in select(decompositions, question, lambda: largest(answers, kind).enclosure):
        answers.append(attempt(partial(question.answer, decompositions[i])).of(pairs[i]))
    return largest(answers, kind)


# Rényi divergences of decompositions.


def renyi_answers(
    kind: Kind,
    pairs_of: PairsOf,
    protocol: Protocol,
    settings: Sequence[Setting],
    numerics: Numerics,
) -> list[Answer]:
    """The largest divergence of all pairs at each setting, times rounds; all orders at once.

    For a lower bound that is attained by one pair of datasets in all rounds. Raises ValueError for
    one of several kinds of shuffles, which may be worst in different directions.
    """
    groups: dict[int, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(setting.require("n"), []).append(setting)
    found: dict[Setting, Answer] = {}
    for n, some in groups.items():
        orders = [setting.require("order") for setting in some]
        parts = protocol.parts(n)
        if kind is Kind.LOWER and len(parts) > 1:
            raise ValueError(
                "no lower bound of a Rényi divergence is known of several kinds of shuffles, got "
                f"{protocol!r}"
            )
        rows = [
            [
                _scaled(answer, part.times)
                for answer in _largest(kind, pairs_of, part, orders, numerics)
            ]
            for part in parts
        ]
        sums = [reduce(_plus, column) for column in zip(*rows, strict=True)]
        found |= {
            setting: _scaled(answer, setting.rounds or 1)
            for setting, answer in zip(some, sums, strict=True)
        }
    return [found[setting] for setting in settings]


def _largest(
    kind: Kind, pairs_of: PairsOf, part: Shuffles, orders: list[float], numerics: Numerics
) -> list[Answer]:
    draws = part.protocol.draws(part.n)
    rows = [
        [
            Answer(one.enclosure, pair.differing, pair.others, one.shortfall)
            for one in _at(pair.decomposition, draws, orders, numerics)
        ]
        for pair in pairs_of(part.protocol)
    ]
    return [largest(column, kind) for column in zip(*rows, strict=True)]


def _at(
    decomposition: Decomposition, n: int, orders: list[float], numerics: Numerics
) -> list[Answer]:
    # None asks of ends that lie apart in theory no more than they can give.
    rtol = numerics.rtol if decomposition.is_finite() else None
    try:
        return [Answer(one) for one in renyi(decomposition, n, orders, rtol)]
    except PrecisionError as error:
        goal = rtol or RENYI_RTOL
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
    return Answer(ends, shortfall=shortfall)


# More of them are not all answered.
_FEW = 4


def divergence_bound(
    name: str,
    kind: Kind,
    *,
    label: str,
    source: str,
    candidates: PairsOf,
    knows_mechanism: bool = True,
) -> Bound:
    """The largest divergence of a protocol's `candidates`."""

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        if kind is Kind.LOWER:
            protocol = protocol.of_lower_bounds()
        # One protocol may be a part at every n, and the candidates of a joint take a while.
        pairs_of = cache(candidates)
        if quantity == "renyi":
            return lambda settings: renyi_answers(kind, pairs_of, protocol, settings, numerics)

        def evaluate(settings: Sequence[Setting]) -> list[Answer]:
            with budget(len(settings)):
                return answers(settings)

        def answers(settings: Sequence[Setting]) -> list[Answer]:
            asked = [_asked(protocol, quantity, setting) for setting in settings]
            single = [one for one in asked if one.parts == (Shuffles(protocol, one.parts[0].n, 1),)]
            # A protocol of several kinds of shuffles has no candidates of its own.
            pairs = pairs_of(protocol) if single else ()
            once = iter(_of_one_round(kind, pairs, quantity, single, numerics))
            if len(single) == len(asked):
                return list(once)
            # Of the shuffles of one protocol, to the width that composition promises by itself.
            return [
                next(once)
                if one in single
                else of_rounds(
                    kind, pairs_of, quantity, one, numerics.rtol if setting.rounds else None
                )
                for one, setting in zip(asked, settings, strict=True)
            ]

        return evaluate

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        is_divergence=True,
        quantities=DIVERGENCES,
        composes=True,
        prepare=prepare,
        candidates=candidates,
    )


def _asked(protocol: Protocol, quantity: str, setting: Setting) -> Asked:
    rounds, parts = setting.rounds or 1, protocol.parts(setting.require("n"))
    return Asked(
        tuple(part._replace(times=part.times * rounds) for part in parts),
        setting.require("eps" if quantity == "delta" else "delta"),
    )


def _of_one_round(
    kind: Kind,
    pairs: Sequence[Candidate],
    quantity: str,
    asked: Sequence[Asked],
    numerics: Numerics,
) -> list[Answer]:
    if len(pairs) > _FEW:
        questions = (Divergence(quantity, one.draws, one.at, numerics.rtol) for one in asked)
        return [largest_answer(kind, pairs, question) for question in questions]
    found = [
        [answer.of(pair) for answer in _answers(pair.decomposition, quantity, asked, numerics)]
        for pair in pairs
    ]
    return [largest(answers, kind) for answers in zip(*found, strict=True)]


def _answers(
    decomposition: Decomposition, quantity: str, asked: Sequence[Asked], numerics: Numerics
) -> list[Answer]:
    """An answer for every point; those that fall short say so, and take no others with them."""
    function = single_shuffle.delta if quantity == "delta" else single_shuffle.epsilon
    name = "eps" if quantity == "delta" else "delta"

    def ask(n: int | list[int], at: float | list[float]) -> Any:
        given: dict[str, Any] = {"n": n, name: at}
        return function(decomposition, **given, rtol=numerics.rtol)

    def alone(point: Asked) -> Answer:
        return attempt(lambda: ask(point.draws, point.at))

    draws, at = [point.draws for point in asked], [point.at for point in asked]
    one_at, one_n = len(set(at)) == 1, len(set(draws)) == 1
    if len(asked) < 2 or not (one_at or one_n):
        return [alone(point) for point in asked]
    try:
        return [Answer(one) for one in (ask(draws, at[0]) if one_at else ask(draws[0], at))]
    except PrecisionError as error:
        # What they have together does not say which of them fell short, nor why.
        goal = numerics.rtol or DEFAULT_RTOL
        return [
            alone(point) if enclosure.relative_width > goal else Answer(enclosure)
            for point, enclosure in zip(asked, error.enclosure, strict=True)
        ]


# Widths of what Rényi accounting converts: of divergences, and of the search among orders.
_DIVERGENCE_RTOL, _SPARE = 1e-3, 1e-3
# A wider ε is told as a failure.
_ACCEPTED = 1e-2


def accounted(exact: Bound, name: str, label: str) -> Bound:
    """The ε that Rényi accounting gives of the divergences of `exact`, over all real orders."""
    pairs_of = exact.candidates
    assert pairs_of is not None  # that of a divergence

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        known = cache(pairs_of)
        curves = _KnownDivergences(known)

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
        knows_mechanism=exact.knows_mechanism,
        is_divergence=True,
        quantities=("epsilon",),
        composes=True,
        prepare=prepare,
        candidates=pairs_of,
    )


class _KnownDivergences:
    """Divergences by what was asked for before: curves along rounds ask for much of it again."""

    def __init__(self, pairs_of: PairsOf) -> None:
        self.pairs_of = pairs_of
        self.known: dict[tuple[Protocol, int, float], tuple[float, float]] = {}

    def of(self, parts: Sequence[Shuffles], orders: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of the sum over all rounds of the largest divergence of all pairs."""
        low, high = np.zeros(orders.shape), np.zeros(orders.shape)
        for part in parts:
            ends = self._once(part, orders)
            low, high = low + part.times * ends[0], high + part.times * ends[1]
        slip = 4.0 * U * (1 + len(parts))
        return low * (1.0 - slip), high * (1.0 + slip)

    def _once(self, part: Shuffles, orders: FloatArray) -> tuple[FloatArray, FloatArray]:
        protocol, draws = part.protocol, part.protocol.draws(part.n)
        wanted = orders.tolist()
        new = [order for order in wanted if (protocol, draws, order) not in self.known]
        if new:
            found = [
                renyi_bounds(pair.decomposition, draws, np.array(new), _DIVERGENCE_RTOL)
                for pair in self.pairs_of(protocol)
            ]
            low, high = (np.max([ends[i] for ends in found], axis=0).tolist() for i in (0, 1))
            for order, *ends in zip(new, low, high, strict=True):
                self.known[protocol, draws, order] = (ends[0], ends[1])
        low, high = np.array([self.known[protocol, draws, order] for order in wanted]).T
        return low, high
