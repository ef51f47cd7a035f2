"""What is known of rounds of a subject, as an interval of two profiles: what all questions ask.

A `View` says which parts of the sources count. Rounds of equal sources are joined: equal ones
always, those with nearly equal numbers of draws if there are too many kinds. docs/proofs/
composition.md, section 1, proves that this is sound.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np

from shufflebounds.core.clones import STRONGER_CLONE
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import spend
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.chords import Chords
from shufflebounds.profiles.direction import Direction, pair
from shufflebounds.profiles.profile import Interval, Max, Min, OnDemand, Profile
from shufflebounds.profiles.repeated import Repeated, interval_of_rounds
from shufflebounds.profiles.rounds import RoundKind
from shufflebounds.profiles.stacked import stacked
from shufflebounds.profiles.two_inputs import (
    largest_of_each_order,
    largest_of_two_inputs,
    memory_of_two_laws,
    mixed_datasets,
    orders_of_two_inputs,
)
from shufflebounds.subjects.base import ANY_AIM, Aim, Shuffle, Source, Subject

# Largest number of dataset pairs that are asked. They are those with the largest E G².
MAX_DATASET_PAIRS = 300
# Most dataset pairs whose rounds are composed, those of the largest E G². Speed and width only.
MAX_COMPOSED_PAIRS = 4
# Most components of a dataset pair for which more than one pair is composed: eight reports of
# 256-RR take ten times as long with four. Speed only.
MAX_COMPONENTS_COMPARED = 110
# The ε at which curves of dataset pairs are compared, in standard deviations of a normal loss. A
# pair that lies below another one adds nothing. Speed only.
COMPARED_LOSSES = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
# Difference of estimates of log δ that rounding explains, as for mirror images.
EQUAL_LOGS = 1e-6
# Most dataset pairs of one shuffle that are compared by estimates before any is asked. Speed only.
MAX_COMPARED_PAIRS = 12
# Fewest draws for which estimates decide between dataset pairs: for few draws they are poor.
FEWEST_ESTIMATED = 100
# Most kinds of rounds for which lower ends compare several pairs of datasets. Speed only.
MAX_KINDS_OF_PAIRS = 8
# Up to this number of ordered pairs of inputs, the bound for all datasets is composed. More are
# replaced by few that cover all, if there are such. Each node of a round may ask for all of them.
# Speed and width only (benchmarks/mechanisms.py).
MAX_CROWDS = 30
# Largest number of laws of other users times components for that bound: eight reports of 256-RR
# have more. Speed and width only (benchmarks/mechanisms.py).
MAX_LAW_SIZE = 10_000
# Largest number of pairs of inputs of a coordinate of a joint whose bound is asked at every node of
# a round. Speed and width only.
MAX_PAIRS_OF_COORDINATE = 2
# Most extremes of a crowd that are asked at every node of a round; more are asked at few. PrivSet
# of three items takes 3 s instead of 15 s, and is 0.3 % wider. Speed and width only.
MAX_EXTREMES = 30
# Largest number of inputs, cubed, times outputs whose bound of all pairs is composed: 50 inputs
# and 60 outputs take 15 seconds.
MAX_TRIPLES_SIZE = 8e6
# Largest number of kinds of rounds that are kept apart if the caller gives no `rtol`. A kind of
# decompositions takes 0.02 s.
MAX_KINDS = 200
# Number of kinds that a source with crowds counts for in `MAX_KINDS`.
KINDS_OF_CROWDS = 2
# Largest ratio of numbers of draws in a family. Its shared aim widens ε by up to 0.1 %.
FAMILY_RATIO = 1.1
# Fewest draws of a family: for few, the bound for all datasets needs aims of their own.
FEWEST_IN_FAMILY = 1000
# Work of one of many blankets at several ε, in units of `core.work`.
WORK_PER_BLANKET = 1e7
# Share of an explicit relative width by which numbers of draws may differ that count as equal. They
# cost half of it at either end, as ε goes about like 1/√n.
JOINED_SHARE = 0.1
# Factor from one difference of numbers of draws that is tried to the next.
DIFFERENCE_GROWTH = 1.2
# The first of these differences, as a share.
SMALLEST_DIFFERENCE = 1e-4


class View(StrEnum):
    """Which of what is known of a subject counts."""

    # The best lower and upper bounds.
    BEST = "best"
    # The same without the largest divergence over datasets of two inputs.
    ALL = "all"
    # The same without the bound for all datasets, either, which is costly.
    SIMPLE = "simple"
    # The stronger clones of sources that have an ε₀.
    CLONE = "clone"
    # The decompositions that cover all datasets: both ends are those of the largest.
    BLANKET = "blanket"
    # The pairs of datasets: both ends are those of the largest.
    LOWER = "lower"


# Views by decompositions that cover all datasets.
COVERING = (View.BLANKET, View.CLONE)
# Views with the bound for all datasets.
COSTLY = (View.BEST, View.ALL)


def interval_of(
    subject: Subject,
    counts: Sequence[int],
    aim: Aim = ANY_AIM,
    view: View = View.BEST,
    *,
    rtol: float | None = None,
) -> Interval:
    """Return what is known of rounds of a subject, for P numbers of users.

    Parameters
    ----------
    subject
        What users send in a round.
    counts
        The numbers of users.
    aim
        The number of rounds, and what bounds are made for.
    view
        What counts.
    rtol
        The relative width that answers must have, even where theory leaves a gap; None if they may
        be as wide as theory makes them.

    Returns
    -------
    Interval
        Of profiles of P curves. That of several rounds keeps the losses that it computes.

    Raises
    ------
    ValueError
        For lower bounds of a subject without pairs of datasets.
    """
    rows = [list(subject.shuffles_of(n, aim.rounds, aim)) for n in counts]
    if view is View.BLANKET:
        # Both ends are about the blankets, which are not hidden by further messages.
        rows = [[x._replace(lower_draws=None) for x in row] for row in rows]
    if view is View.LOWER and not all(has_datasets(x) for row in rows for x in row):
        raise ValueError(f"no pair of datasets is known for a lower bound of {subject.label}")
    if _are_single(rows):
        if len({id(row[0].source) for row in rows}) == 1:
            return _interval_of_shuffle([row[0] for row in rows], view)
        return stacked([_interval_of_shuffle(row, view) for row in rows])
    return interval_of_rounds([repeated(row, view, rtol=rtol) for row in rows])


def has_datasets(shuffle: Shuffle) -> bool:
    """Return whether pairs of datasets are known of a shuffle."""
    return bool(shuffle.dataset_pairs) or shuffle.source.has_datasets


def _are_single(rows: Sequence[Sequence[Shuffle]]) -> bool:
    """Return whether each row is one shuffle."""
    return all(len(row) == 1 and row[0].times == 1 for row in rows)


def shuffle_count(subject: Subject, n: int, rounds: int = 1) -> int:
    """Return the number of shuffles of so many rounds."""
    return sum(shuffle.times for shuffle in subject.shuffles_of(n, rounds))


def _interval_of_shuffle(shuffles: Sequence[Shuffle], view: View) -> Interval:
    """Return what is known of one shuffle with P numbers of draws."""
    source, is_given = shuffles[0].source, shuffles[0].is_given
    n = np.array([float(x.draws) for x in shuffles])
    most = np.array([float(x.most_draws) for x in shuffles])
    is_ordered = shuffles[0].is_ordered
    if is_ordered:
        [decomposition] = source.blankets.values()
        return replace(pair(decomposition, n), is_ordered=True, is_attained=bool(source.datasets))
    pairs = shuffles[0].dataset_pairs
    if (own := _own_interval(source, view, n)) is not None:
        return own
    if view is View.LOWER:
        return _largest_interval(_promising(pairs, most), most, is_selective=True)
    if view in COVERING or is_given:
        return _largest_interval(_covering(source, view), n)
    suprema = _listed_suprema(source, n) if view in COSTLY else None
    memory = source.two_inputs(n) if view is View.BEST else None
    upper = _smallest(source, n, suprema, source.few_blankets)
    mixed = None
    if memory is not None:
        largest = largest_of_two_inputs(memory, n)
        upper = Min([*_bounds_of(upper), largest])
        # If more messages than these hide the victim, the lower ends are those of other datasets.
        is_own = shuffles[0].pairs is None and (n == most).all()
        mixed = mixed_datasets(largest, next(iter(pairs), "")) if is_own else None
    if not pairs:
        return Interval(_largest_interval(source.blankets, n).lower, upper, is_attained=False)
    lower = _largest_interval(_promising(pairs, most), most, is_selective=True).lower
    return Interval(lower, upper, mixed=mixed)


def _own_interval(
    source: Source, view: View, n: FloatArray, *, is_composed: bool = False
) -> Interval | None:
    """Return what a view knows of a source not only by decompositions; mostly None."""
    if view in COVERING:
        return None
    own = source.own_interval(n, is_best=view in COSTLY, is_composed=is_composed)
    if own is None or view is not View.LOWER:
        return own
    return Interval(own.lower, own.lower, has_gap=True)


def _covering(source: Source, view: View) -> Mapping[str, Decomposition]:
    """Return the decompositions of a view that cover all datasets."""
    if view is View.CLONE and source.simple is not None:
        return {STRONGER_CLONE: source.simple}
    return source.blankets


def _promising(pairs: Mapping[str, Decomposition], n: FloatArray) -> Mapping[str, Decomposition]:
    """Return the pairs that may decide at numbers of draws; of many, those of the largest E G²."""
    if len(pairs) <= MAX_COMPARED_PAIRS:
        return _pairs_on_top(pairs, sorted({float(n.min()), float(n.max())}))
    if len(pairs) <= MAX_DATASET_PAIRS:
        return pairs
    names = sorted(pairs, key=lambda name: -second_moment(pairs[name]))
    return {name: pairs[name] for name in names[:MAX_DATASET_PAIRS]}


def second_moment(decomposition: Decomposition) -> float:
    """Return E G² at ε = 0."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        terms = (decomposition.a - decomposition.b) ** 2 / decomposition.c
    return float(np.nansum(terms))


def _largest_interval(
    decompositions: Mapping[str, Decomposition], n: FloatArray, *, is_selective: bool = False
) -> Interval:
    """Return the largest divergence of decompositions, whose names are those of the profiles."""
    parts = [pair(x, n, name) for name, x in decompositions.items()]
    lower = Max([part.lower for part in parts], is_selective=is_selective)
    if all(part.is_exact for part in parts):
        return Interval(lower, lower, is_of_one_curve=True)
    upper = Max([part.upper for part in parts], is_selective=is_selective)
    return Interval(lower, upper, is_of_one_curve=True)


def _smallest(
    source: Source,
    n: FloatArray,
    suprema: Profile | None,
    few: Mapping[str, Decomposition] | None = None,
) -> Profile:
    """Return the smallest of all upper bounds of a source, which are asked in this order.

    `few` decompositions whose bound is above that of the blankets are asked before them.
    """

    def blanket(decompositions: Mapping[str, Decomposition]) -> Profile:
        # The stronger clone stands for blankets that are too many.
        name = STRONGER_CLONE if STRONGER_CLONE in decompositions else "blanket"
        return Max([pair(x, n, name).upper for x in decompositions.values()])

    def many_blankets() -> Profile:
        pairs = sum(math.comb(len(x.rows), 2) for x in source.crowds if x.rows is not None)
        spend(WORK_PER_BLANKET * pairs)
        return blanket(source.blankets)

    # A bound that looks at all pairs of inputs takes less time than as many blankets, and its δ is
    # larger by at most a thousandth: it is at most the blanket of each pair that it asks.
    is_quicker = suprema is not None and source.has_many_pairs
    if is_quicker:
        bounds: list[Profile] = [OnDemand(many_blankets, "blanket")]
    else:
        bounds = [blanket(source.blankets if few is None else few)]
    if source.simple is not None:
        bounds.append(pair(source.simple, n, STRONGER_CLONE).upper)
    if suprema is not None:
        bounds.insert(0 if is_quicker else len(bounds), suprema)
    if few is not None:
        bounds.append(blanket(source.blankets))
    return Min(bounds) if len(bounds) > 1 else bounds[0]


def _smallest_of_round(source: Source, n: FloatArray, suprema: Profile | None) -> Profile:
    """Return the smallest of all upper bounds of a source in one of several rounds."""
    if suprema is None and source.simple is not None and source.has_many_pairs:
        # Rounds of so many blankets would be refused after a minute.
        return pair(source.simple, n, STRONGER_CLONE).upper
    return _smallest(source, n, suprema)


def _bounds_of(profile: Profile) -> Sequence[Profile]:
    """Return the profiles of which one is the smallest."""
    return profile.parts if isinstance(profile, Min) else [profile]


def _listed_suprema(source: Source, n: FloatArray) -> Profile | None:
    """Return the bound for all datasets, None if the source lists no inputs."""
    return source.suprema(source.crowds, n) if source.crowds else None


class JoinedShuffles(NamedTuple):
    """Shuffles of equal sources that count as one kind.

    Some of them may have a higher rank than ``shuffle``, which mostly means more draws. As D falls
    with it, upper ends are those of the lowest, and lower ends those of the highest: those of
    ``last``. ``places`` are those of the shuffles in the list from which they come.
    """

    shuffle: Shuffle
    last: Shuffle
    places: Sequence[int]

    @property
    def key(self) -> Hashable:
        """What distinguishes their source from others."""
        return self.shuffle.source.key, self.shuffle.is_ordered


def joined(shuffles: Sequence[Shuffle], ratio: float = 1.0) -> list[JoinedShuffles]:
    """Return kinds of shuffles: of sources of one kin, with ranks within a factor of `ratio`.

    They keep the order in which the first of each source is given; ranks ascend.
    """
    by_key: dict[Hashable, list[int]] = {}
    for place, shuffle in enumerate(shuffles):
        key = shuffle.source.kin, shuffle.is_ordered, shuffle.order
        by_key.setdefault(key, []).append(place)
    kinds = []
    for places in by_key.values():
        group: list[int] = []
        for place in sorted(places, key=lambda x: shuffles[x].rank):
            if group and shuffles[place].rank > ratio * shuffles[group[0]].rank:
                kinds.append(_joined_group(shuffles, group))
                group = []
            group.append(place)
        kinds.append(_joined_group(shuffles, group))
    return kinds


def _joined_group(shuffles: Sequence[Shuffle], places: Sequence[int]) -> JoinedShuffles:
    """Return a kind of the shuffles at some places, whose ranks ascend."""
    group = [shuffles[place] for place in places]
    last = max(group, key=lambda shuffle: (shuffle.most_draws, shuffle.rank))
    return JoinedShuffles(group[0]._replace(times=sum(x.times for x in group)), last, places)


def fewer_kinds(shuffles: Sequence[Shuffle]) -> list[JoinedShuffles]:
    """Return the shuffles, joined as little as is needed for few enough kinds to be told apart."""
    kinds, difference = joined(shuffles), SMALLEST_DIFFERENCE
    limit = max(MAX_KINDS, _cost(joined(shuffles, math.inf)))
    while _cost(kinds) > limit:
        kinds = joined(shuffles, 1.0 + difference)
        difference *= DIFFERENCE_GROWTH
    return kinds


def _cost(kinds: Sequence[JoinedShuffles]) -> int:
    """Return the number of kinds, of which one with crowds counts for several."""
    return sum(1 if kind.shuffle.is_given else KINDS_OF_CROWDS for kind in kinds)


def repeated(
    shuffles: Sequence[Shuffle], view: View = View.BEST, *, rtol: float | None = None
) -> Repeated:
    """Return several shuffles, one after the other; a relative width of answers may count."""
    kinds = fewer_kinds(shuffles) if rtol is None else joined(shuffles, 1.0 + JOINED_SHARE * rtol)
    cheap = View.SIMPLE if view in COSTLY else view
    reserve = partial(round_kinds, joined(shuffles, math.inf), cheap)
    rounds = round_kinds(kinds, view)
    is_strict = rtol is not None and any(x.interval.is_attained for x in rounds)
    return Repeated(rounds, is_strict, reserve)


def round_kinds(kinds: Sequence[JoinedShuffles], view: View) -> list[RoundKind]:
    """Return kinds of rounds; those of one source with similar draws share some work."""
    most_pairs = None if len(kinds) <= MAX_KINDS_OF_PAIRS else 1
    families = _families(kinds) if view in COSTLY else {}
    rounds = []
    for kind in kinds:
        family = families.get(id(kind.shuffle))
        interval = _interval_of_round(kind, view, family)
        is_shared = family is not None and (family.n.size > 1 or kind.shuffle.order is not None)
        shared = family if is_shared else None
        rounds.append(RoundKind.of(interval, kind.shuffle.times, most_pairs, shared))
    return rounds


@dataclass(frozen=True, eq=False)
class Family:
    """Numbers of draws of one source, and its bound for all datasets, if it is affordable."""

    n: FloatArray
    suprema: Profile | None

    def suprema_for(self, n: int) -> Profile | None:
        """Return the bound for one of the numbers of draws, None if it is not affordable."""
        [place] = np.flatnonzero(self.n == n)
        return None if self.suprema is None else self.suprema.at(np.array([place]))


def _families(kinds: Sequence[JoinedShuffles]) -> dict[int, Family]:
    """Return the families of kinds by the identity of their shuffles."""
    groups: list[list[Shuffle]] = []
    by_key: dict[Hashable, list[Shuffle]] = {}
    for kind in sorted(kinds, key=lambda kind: kind.shuffle.draws):
        if kind.shuffle.is_given or kind.shuffle.is_ordered:
            continue
        group = by_key.get(kind.key)
        if (
            group is None
            or kind.shuffle.draws > FAMILY_RATIO * group[0].draws
            or group[0].draws < FEWEST_IN_FAMILY
        ):
            group = by_key[kind.key] = []
            groups.append(group)
        group.append(kind.shuffle)
    families = {}
    for group in groups:
        n = np.unique([float(shuffle.draws) for shuffle in group])
        suprema = affordable_suprema(group[0].source, n, share_aims=n.size > 1)
        families.update(dict.fromkeys(map(id, group), Family(n, suprema)))
    return families


def _interval_of_round(kind: JoinedShuffles, view: View, family: Family | None) -> Interval:
    """Return what is known of one of several equal shuffles."""
    shuffle, last = kind.shuffle, kind.last
    if shuffle.is_ordered or view in COVERING or (shuffle.is_given and view is not View.LOWER):
        return _interval_of_known_decompositions(kind, view)
    pairs, n = composed_pairs(last), np.array([float(shuffle.draws)])
    most = np.array([float(last.most_draws)])
    own, own_of_most = (_own_interval(shuffle.source, view, x, is_composed=True) for x in (n, most))
    if own is not None and own_of_most is not None:
        return own if most == n else replace(own, lower=own_of_most.lower)
    if view is View.LOWER:
        return _largest_interval(pairs, most, is_selective=True)
    suprema = None if family is None else family.suprema_for(shuffle.draws)
    if shuffle.order is not None:
        lower = _largest_interval(pairs, most, is_selective=True).lower
        return _interval_of_order(shuffle, n, suprema, lower, is_best=view is View.BEST)
    memory = shuffle.source.two_inputs(n) if view is View.BEST else None
    orders = orders_of_two_inputs(memory, n) if memory else ()
    upper = _smallest_of_round(shuffle.source, n, suprema)
    if not pairs:
        return Interval(
            _largest_interval(shuffle.source.blankets, n).lower, upper, is_attained=False
        )
    return Interval(_largest_interval(pairs, most, is_selective=True).lower, upper, orders=orders)


def _interval_of_order(
    shuffle: Shuffle, n: FloatArray, suprema: Profile | None, lower: Profile, *, is_best: bool
) -> Interval:
    """Return what is known of one of two shuffles that are each other's mirror image."""
    [blanket], [crowd] = shuffle.source.blankets.values(), shuffle.source.crowds
    memory = memory_of_two_laws(crowd, shuffle.draws) if is_best else None
    orders: Sequence[Profile]
    if memory is not None:
        orders = largest_of_each_order(memory, n)
    elif suprema is None:
        orders = [Direction(outer, n, "blanket") for _, outer in blanket.directions]
    else:
        # The parts are those of the crowd's own order, and with the victim's inputs exchanged.
        orders = suprema.parts if isinstance(suprema, Max) else [suprema]
    first, second = orders[0], orders[-1]
    if first is second:
        return Interval(lower, first)
    first, second = (second, first) if shuffle.order else (first, second)
    return Interval(lower, Max([first, second]), orders=((first, second),), keeps_order=True)


def _interval_of_known_decompositions(kind: JoinedShuffles, view: View) -> Interval:
    """Return what decompositions tell of one of several equal shuffles."""
    shuffle, last = kind.shuffle, kind.last
    of_fewest, of_most = (
        _interval_of_shuffle([x], view if view in COVERING else View.BLANKET)
        for x in (shuffle, last._replace(draws=last.most_draws))
    )
    if last.most_draws == shuffle.draws and last.source.key == shuffle.source.key:
        return of_fewest
    return replace(of_fewest, lower=of_most.lower)


def composed_pairs(shuffle: Shuffle) -> Mapping[str, Decomposition]:
    """Return the pairs of datasets whose rounds are composed, those of the largest E G² first."""
    pairs = shuffle.dataset_pairs
    if shuffle.pairs is not None or not pairs:
        return pairs
    names = sorted(pairs, key=lambda name: (-second_moment(pairs[name]), name))
    is_small = len(pairs[names[0]]) <= MAX_COMPONENTS_COMPARED
    promising = {name: pairs[name] for name in names[: MAX_COMPOSED_PAIRS if is_small else 1]}
    return _pairs_on_top(promising, [float(shuffle.most_draws)])


def _pairs_on_top(
    pairs: Mapping[str, Decomposition], draws: Sequence[float]
) -> Mapping[str, Decomposition]:
    """Return the pairs without those whose curves lie below another one's, by estimates.

    Curves of composed rounds then lie below each other, too. Any choice of pairs is valid.
    """
    if len(pairs) == 1 or min(draws) < FEWEST_ESTIMATED:
        return pairs
    largest = max(map(second_moment, pairs.values()))
    if math.isinf(largest):
        return pairs
    kept: dict[str, FloatArray] = {}
    for name, decomposition in pairs.items():
        logs = np.array([_log_deltas(decomposition, n, math.sqrt(largest / n)) for n in draws])
        if not any(_lie_below(logs, larger) for larger in kept.values()):
            kept[name] = logs
    return {name: pairs[name] for name in kept}


def _log_deltas(decomposition: Decomposition, n: float, loss: float) -> FloatArray:
    """Return estimates of log δ at multiples of a loss, for both orders, shape (2, K)."""
    eps = COMPARED_LOSSES * loss
    orders = [Direction(inner, np.full(eps.shape, n)) for inner, _ in decomposition.directions]
    return np.array([orders[i].estimates(eps) for i in (0, -1)])


def _lie_below(logs: FloatArray, larger: FloatArray) -> bool:
    """Return whether the curves of both orders are at most the larger ones, in either order."""
    orders = (larger, larger[:, ::-1])
    return any(bool((logs <= curves + EQUAL_LOGS).all()) for curves in orders)


def affordable_suprema(source: Source, n: FloatArray, *, share_aims: bool) -> Profile | None:
    """Return the bound for all datasets if it can be composed within the work budget.

    Several numbers of draws `n` ascend.
    """
    for crowds in (source.crowds, source.few_crowds):
        ordered = both_directions(crowds)
        triples = sum(len(x.rows) ** 2 * x.rows.size for x in ordered if x.rows is not None)
        if ordered and triples <= MAX_TRIPLES_SIZE and _are_small(ordered):
            # The bound for patterns of inputs that are not listed is trivial if the parts differ
            # too much.
            users = int(n[0])
            is_trivial = any(x.kinds and supremum(x, 0.0, users) >= 1.0 for x in ordered)
            if is_trivial:
                return None
            suprema = source.suprema(crowds, n, share_aims=share_aims)
            return Chords(suprema, n) if any(map(_is_long, ordered)) else suprema
    return None


def _is_long(crowd: Crowd) -> bool:
    """Return whether the bound of a crowd looks at so much that it is asked at few nodes only."""
    most_pairs = max((len(pairs) for _, pairs in crowd.kinds), default=0)
    return (
        crowd.rows is not None
        or len(crowd.extremes) > MAX_EXTREMES
        or most_pairs > MAX_PAIRS_OF_COORDINATE
    )


def _are_small(crowds: Sequence[Crowd]) -> bool:
    """Return whether crowds are few, with small laws."""
    size = sum(x.size for x in crowds if not x.kinds and x.rows is None)
    return len(crowds) <= MAX_CROWDS and size <= MAX_LAW_SIZE


def has_affordable_suprema(shuffle: Shuffle) -> bool:
    """Return whether the bound for all datasets is composed over several rounds."""
    if shuffle.source.has_own_interval:
        return True
    n = np.array([float(shuffle.draws)])
    return affordable_suprema(shuffle.source, n, share_aims=False) is not None
