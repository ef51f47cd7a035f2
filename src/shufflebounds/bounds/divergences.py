"""Bounds that are the divergence of decompositions, computed by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from itertools import product

import numpy as np

from shufflebounds.accounting.composition import Composed, compose
from shufflebounds.accounting.one_shuffle import Quantity, enclosures_of, shortfalls
from shufflebounds.accounting.renyi import DEFAULT_RTOL as RENYI_RTOL
from shufflebounds.accounting.renyi import renyi
from shufflebounds.accounting.renyi_conversion import least_epsilon
from shufflebounds.bounds.base import (
    DIVERGENCES,
    Answer,
    Bound,
    Kind,
    Numerics,
    PairsOf,
    attempt,
    largest,
)
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.setting import Setting
from shufflebounds.core.work import BUDGET, budget
from shufflebounds.divergence.law import U
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.profile import Interval, Max
from shufflebounds.profiles.renyi import Renyi
from shufflebounds.protocols.base import Candidate, Protocol, Shuffles

# Largest number of pairs that are all computed, and of dataset pairs that are composed for a lower
# bound. If there are more, some of them are sorted out.
_MAX_COMPUTED_PAIRS = 4
# Relative width of ε by Rényi accounting that is aimed at.
_ACCOUNTED_RTOL = 1.5e-3
# Relative width of ε by Rényi accounting above which the answer has a shortfall.
_LARGEST_ACCOUNTED_RTOL = 1e-2


def _composed_answer(
    kind: Kind,
    pairs_of: PairsOf,
    quantity: str,
    parts: Sequence[Shuffles],
    at: float,
    rtol: float | None,
) -> Answer:
    """Return the answer about several rounds.

    A lower bound is that of one pair of datasets in all rounds, any other bound that of the worst
    pair in each round.
    """
    function = Composed.delta if quantity == "delta" else Composed.epsilon

    def answer(pairs_by_part: Sequence[Sequence[Candidate]]) -> Answer:
        composed = compose_pairs(pairs_by_part, parts)
        composed_answer = attempt(lambda: function(composed, at, rtol=rtol))
        if all(len(pairs) == 1 for pairs in pairs_by_part):
            return composed_answer.of(pairs_by_part[0][0])
        # Each round may have another worst pair, so that the answer has no names.
        return composed_answer

    return largest(map(answer, compared_pairs(kind, pairs_of, parts)), kind)


def compared_pairs(
    kind: Kind, pairs_of: PairsOf, parts: Sequence[Shuffles]
) -> list[Sequence[Sequence[Candidate]]]:
    """Return choices of pairs for each part, of which a bound is the largest.

    A lower bound has one pair in all parts, those that tell the inputs apart best first. Any other
    bound has one choice: all pairs, any of which may be the worst in any round.
    """
    pairs_by_part = [pairs_of(part.protocol) for part in parts]
    if kind is not Kind.LOWER:
        return [pairs_by_part]
    first_pairs, *further_pairs = pairs_by_part
    return [
        [[pair], *([other] for other in others)]
        for pair in first_pairs[:_MAX_COMPUTED_PAIRS]
        for others in product(
            *([x for x in pairs if x.name == pair.name] for pairs in further_pairs)
        )
    ]


def compose_pairs(
    pairs_by_part: Sequence[Sequence[Candidate]], parts: Sequence[Shuffles]
) -> Composed:
    """Return the composition of all shuffles of the parts, each with its pairs."""
    return compose(
        ([pair.decomposition for pair in pairs], part.protocol.draws(part.n), part.times)
        for pairs, part in zip(pairs_by_part, parts, strict=True)
    )


def _renyi_answers(
    kind: Kind,
    pairs_of: PairsOf,
    protocol: Protocol,
    settings: Sequence[Setting],
    numerics: Numerics,
) -> list[Answer]:
    """Return the largest Rényi divergence of all pairs, times rounds, at each setting.

    A lower bound is that of one pair of datasets in all rounds. Raises ValueError for a lower bound
    of several kinds of shuffles, which may be worst in different directions.
    """
    groups: dict[int, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(setting.require("n"), []).append(setting)
    answers: dict[Setting, Answer] = {}
    for n, group in groups.items():
        orders = [setting.require("order") for setting in group]
        parts = protocol.parts(n)
        if kind is Kind.LOWER and len(parts) > 1:
            raise ValueError(
                "no lower bound of a Rényi divergence is known of several kinds of shuffles, got "
                f"{protocol!r}"
            )
        rows = [
            [
                _scaled_answer(answer, part.times)
                for answer in _largest_renyi(kind, pairs_of, part, orders, numerics)
            ]
            for part in parts
        ]
        sums = [reduce(_sum_of_answers, column) for column in zip(*rows, strict=True)]
        answers |= {
            setting: _scaled_answer(answer, setting.rounds or 1)
            for setting, answer in zip(group, sums, strict=True)
        }
    return [answers[setting] for setting in settings]


def _largest_renyi(
    kind: Kind, pairs_of: PairsOf, part: Shuffles, orders: list[float], numerics: Numerics
) -> list[Answer]:
    """Return the largest Rényi divergence of all pairs in one shuffle, at each order."""
    draws = part.protocol.draws(part.n)
    rows = [
        [
            Answer(answer.enclosure, pair.differing, pair.others, answer.shortfall)
            for answer in _renyi_at_orders(pair.decomposition, draws, orders, numerics)
        ]
        for pair in pairs_of(part.protocol)
    ]
    return [largest(column, kind) for column in zip(*rows, strict=True)]


def _renyi_at_orders(
    decomposition: Decomposition, n: int, orders: list[float], numerics: Numerics
) -> list[Answer]:
    """Return the Rényi divergence at each order, with a shortfall if it is too wide."""
    # With None, the distance between the ends of a decomposition in cells is no shortfall.
    rtol = numerics.rtol if decomposition.is_finite() else None
    try:
        return [Answer(enclosure) for enclosure in renyi(decomposition, n, orders, rtol)]
    except PrecisionError as error:
        goal = rtol or RENYI_RTOL
        return [
            Answer(enclosure, shortfall=str(error) if enclosure.relative_width > goal else "")
            for enclosure in error.enclosure
        ]


def _scaled_answer(answer: Answer, times: int) -> Answer:
    """Return `times` times the answer."""
    return replace(answer, enclosure=answer.enclosure.times(times))


def _sum_of_answers(first: Answer, second: Answer) -> Answer:
    """Return the sum of two answers, rounded outwards, without names."""
    ends = Enclosure(
        (first.enclosure.lower + second.enclosure.lower) * (1.0 - 2.0 * U),
        (first.enclosure.upper + second.enclosure.upper) * (1.0 + 2.0 * U),
    )
    shortfall = "; ".join(filter(None, (first.shortfall, second.shortfall)))
    return Answer(ends, shortfall=shortfall)


def divergence_bound(
    name: str,
    kind: Kind,
    *,
    label: str,
    source: str,
    candidates: PairsOf,
    knows_mechanism: bool = True,
) -> Bound:
    """Return the bound that is the largest divergence of a protocol's `candidates`."""

    def compute(
        protocol: Protocol, quantity: str, settings: Sequence[Setting], numerics: Numerics
    ) -> list[Answer]:
        if kind is Kind.LOWER:
            protocol = protocol.of_lower_bounds()
        # One protocol may be a part at every n, and the candidates of a joint take a while.
        pairs_of = cache(candidates)
        if quantity == "renyi":
            return _renyi_answers(kind, pairs_of, protocol, settings, numerics)
        with budget(len(settings) * BUDGET):
            return _profile_answers(kind, pairs_of, protocol, quantity, settings, numerics.rtol)

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        is_divergence=True,
        quantities=DIVERGENCES,
        composes=True,
        vanishes=True,
        compute=compute,
        candidates=candidates,
    )


def _profile_answers(
    kind: Kind,
    pairs_of: PairsOf,
    protocol: Protocol,
    quantity: str,
    settings: Sequence[Setting],
    rtol: float | None,
) -> list[Answer]:
    """Return the largest ε or δ of all pairs at each setting."""
    parts = [_all_parts(protocol, setting) for setting in settings]
    at = [setting.require("eps" if quantity == "delta" else "delta") for setting in settings]
    single = [
        i for i, shuffles in enumerate(parts) if shuffles == [Shuffles(protocol, shuffles[0].n, 1)]
    ]
    answers: dict[int, Answer] = {}
    if single:
        # A protocol of several kinds of shuffles has no candidates of its own.
        points = [(protocol.draws(parts[i][0].n), at[i]) for i in single]
        rows = _single_round_answers(kind, pairs_of(protocol), Quantity(quantity), points, rtol)
        answers = dict(zip(single, rows, strict=True))
    for i, setting in enumerate(settings):
        if i not in answers:
            # The shuffles of one protocol have the width that a composition promises by itself.
            width = rtol if setting.rounds else None
            answers[i] = _composed_answer(kind, pairs_of, quantity, parts[i], at[i], width)
    return [answers[i] for i in range(len(settings))]


def _all_parts(protocol: Protocol, setting: Setting) -> list[Shuffles]:
    """Return the shuffles of a setting, with all of its rounds."""
    return [
        part._replace(times=part.times * (setting.rounds or 1))
        for part in protocol.parts(setting.require("n"))
    ]


def _single_round_answers(
    kind: Kind,
    pairs: Sequence[Candidate],
    quantity: Quantity,
    points: Sequence[tuple[int, float]],
    rtol: float | None,
) -> list[Answer]:
    """Return the largest divergence of all pairs of one shuffle, at each (draws, ε or δ)."""
    try:
        return _answers_together(kind, pairs, quantity, points, rtol)
    except WorkError as error:
        if len(points) == 1:
            return [Answer(error.enclosure, shortfall=str(error))]
    rows = (_single_round_answers(kind, pairs, quantity, [point], rtol) for point in points)
    return [answer for row in rows for answer in row]


def _answers_together(
    kind: Kind,
    pairs: Sequence[Candidate],
    quantity: Quantity,
    points: Sequence[tuple[int, float]],
    rtol: float | None,
) -> list[Answer]:
    """Return the answers of `_single_round_answers`, computed together."""
    draws, at = [x for x, _ in points], [x for _, x in points]
    n, is_selective = np.array([float(x) for x in draws]), kind is Kind.LOWER
    parts = [pair(x.decomposition, n, str(i)) for i, x in enumerate(pairs)]
    lower = Max([part.lower for part in parts], is_selective=is_selective)
    is_exact = all(part.is_exact for part in parts)
    upper = lower if is_exact else Max([part.upper for part in parts], is_selective=is_selective)
    enclosures, bounds = enclosures_of(Interval(lower, upper), quantity, [(x, x) for x in at], rtol)
    decompositions = [x.decomposition for x in pairs]
    messages = shortfalls(enclosures, decompositions, quantity, draws, at, rtol)
    names = bounds.lower_names if is_selective else bounds.upper_names
    rows = zip(enclosures, messages, names, strict=True)
    return [Answer(x, shortfall=message).of(pairs[int(name)]) for x, message, name in rows]


def accounted(exact: Bound, name: str, label: str) -> Bound:
    """Return the bound by Rényi accounting of the divergences of `exact`, over all real orders.

    `exact` must be a bound by divergences of candidates.
    """
    candidates = exact.candidates
    assert candidates is not None

    def compute(
        protocol: Protocol, quantity: str, settings: Sequence[Setting], _: Numerics
    ) -> list[Answer]:
        curves = _RenyiCache(cache(candidates))

        def answer(setting: Setting) -> Answer:
            parts = _all_parts(protocol, setting)
            sums = partial(curves.sums, parts)
            eps = least_epsilon(sums, setting.require("delta"), _ACCOUNTED_RTOL).epsilon
            is_wide = eps.relative_width > _LARGEST_ACCOUNTED_RTOL
            return Answer(eps, shortfall=f"known only to lie in {eps}" if is_wide else "")

        return [answer(setting) for setting in settings]

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
        compute=compute,
        candidates=candidates,
    )


class _RenyiCache:
    """Bounds of Rényi divergences by protocol, number of draws, order and relative width.

    A curve along rounds asks for most of its orders again at each point.
    """

    def __init__(self, pairs_of: PairsOf) -> None:
        self._pairs_of = pairs_of
        self._pairs: dict[tuple[Protocol, int], list[Renyi]] = {}
        self._bounds: dict[tuple[Protocol, int, float, float], tuple[float, float]] = {}

    def sums(
        self, parts: Sequence[Shuffles], orders: FloatArray, rtol: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the sum over all rounds of the largest divergence of all pairs."""
        low, high = np.zeros(orders.shape), np.zeros(orders.shape)
        for part in parts:
            ends = self._single_shuffle(part, orders, rtol)
            low, high = low + part.times * ends[0], high + part.times * ends[1]
        slip = 4.0 * U * (1 + len(parts))
        return low * (1.0 - slip), high * (1.0 + slip)

    def _single_shuffle(
        self, part: Shuffles, orders: FloatArray, rtol: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the largest divergence of all pairs in one shuffle, (O,) each."""
        protocol, draws = part.protocol, part.protocol.draws(part.n)
        if (protocol, draws) not in self._pairs:
            self._pairs[protocol, draws] = [
                Renyi(pair(x.decomposition, np.array([float(draws)])))
                for x in self._pairs_of(protocol)
            ]
        keys = [(protocol, draws, order, rtol) for order in orders.tolist()]
        new_keys = [key for key in keys if key not in self._bounds]
        if new_keys:
            new_orders = np.array([order for _, _, order, _ in new_keys])
            bounds = [x.bounds(new_orders, rtol) for x in self._pairs[protocol, draws]]
            low, high = (np.max([ends[i] for ends in bounds], axis=0).tolist() for i in (0, 1))
            self._bounds.update(zip(new_keys, zip(low, high, strict=True), strict=True))
        low, high = np.array([self._bounds[key] for key in keys]).T
        return low, high
