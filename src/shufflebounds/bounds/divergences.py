"""Bounds that are intervals of profiles: all questions can be asked of them.

A bound is a view of the subject itself, or of what it becomes if another source stands in place of
each: `seen` replaces the sources and keeps the draws and the times, and `seen_pairs` the pairs of
datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import cast

import numpy as np

from shufflebounds.bounds.base import DIVERGENCES, Answer, Bound, Kind, Numerics
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosures, WorkError
from shufflebounds.core.setting import Setting
from shufflebounds.core.work import BUDGET, budget
from shufflebounds.profiles.profile import Interval, Quantity
from shufflebounds.questions.enclose import NamedEnds
from shufflebounds.questions.intervals import View, interval_of
from shufflebounds.questions.plan import MakeInterval, Plan
from shufflebounds.questions.renyi import DEFAULT_RTOL as RENYI_RTOL
from shufflebounds.questions.renyi import RoundDivergences, accounted_epsilon
from shufflebounds.subjects.base import ANY_AIM, Aim, PairName, Shuffle, Source, Subject

# Relative width of ε by Rényi accounting above which the answer has a shortfall.
LARGEST_ACCOUNTED_RTOL = 1e-2
# Relative error of a sum of Rényi divergences, generously.
ROUNDING = 1e-12

# Returns a source that stands for another one, such as its clone.
See = Callable[[Source], Source]
# Returns the pairs of datasets that stand for others.
SeePairs = Callable[[Mapping[str, Decomposition]], Mapping[str, Decomposition]]
# Returns which inputs decide answers about a source.
NameInputs = Callable[[Source, NamedEnds], list[PairName]]


def no_inputs(source: Source, ends: NamedEnds) -> list[PairName]:
    """Return no inputs: the bound looks at none."""
    return [PairName()] * len(ends.upper)


def blanket_inputs(source: Source, ends: NamedEnds) -> list[PairName]:
    """Return the victim's inputs of the blankets at the upper ends, if one decides."""
    names = [str(name) for name in ends.upper_names]
    if len(source.blankets) == 1:
        names = list(source.blankets) * len(names)
    return [source.blanket_inputs(x) if x in source.blankets else PairName() for x in names]


def dataset_inputs(source: Source, ends: NamedEnds) -> list[PairName]:
    """Return the inputs of the pairs of datasets at the lower ends."""
    return [source.dataset_inputs(str(name)) for name in ends.lower_names]


@dataclass(frozen=True, eq=False)
class Changed(Subject):
    """A subject with other shuffles, as many times."""

    subject: Subject
    change: Callable[[Shuffle], Shuffle]

    @property
    def eps0(self) -> float | None:  # type: ignore[override]
        """ε₀ of the subject."""
        return self.subject.eps0

    @property
    def label(self) -> str:
        """See `Subject`."""
        return self.subject.label

    def total(self, rounds: int) -> int:
        """See `Subject`."""
        return self.subject.total(rounds)

    def shuffles(self, n: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return self.shuffles_of(n, 1, aim)

    def shuffles_of(self, n: int, rounds: int, aim: Aim = ANY_AIM) -> list[Shuffle]:
        """See `Subject`."""
        return [self.change(x) for x in self.subject.shuffles_of(n, rounds, aim)]


def view(which: View) -> MakeInterval:
    """Return the bound that is a view of the subject."""
    return partial(interval_of, view=which)


def seen(see: See) -> MakeInterval:
    """Return the bound by sources that stand for others."""

    def make(
        subject: Subject, counts: Sequence[int], aim: Aim, /, *, rtol: float | None = None
    ) -> Interval:
        sources: dict[Hashable, Source] = {}

        def change(shuffle: Shuffle) -> Shuffle:
            key = shuffle.source.key
            if key not in sources:
                sources[key] = shuffle.source.seen(see)
            return shuffle._replace(source=sources[key], lower_draws=None, pairs=None)

        return interval_of(Changed(subject, change), counts, aim, View.BLANKET, rtol=rtol)

    return make


def seen_pairs(see: SeePairs) -> MakeInterval:
    """Return the lower bound by pairs of datasets that stand for others."""

    def make(
        subject: Subject, counts: Sequence[int], aim: Aim, /, *, rtol: float | None = None
    ) -> Interval:
        def change(shuffle: Shuffle) -> Shuffle:
            return shuffle._replace(pairs=tuple(see(shuffle.dataset_pairs).items()))

        return interval_of(Changed(subject, change), counts, aim, View.LOWER, rtol=rtol)

    return make


def divergence_bound(
    name: str,
    kind: Kind,
    make: MakeInterval,
    *,
    label: str,
    source: str,
    knows_mechanism: bool = True,
    name_inputs: NameInputs = no_inputs,
    encloses_truth: bool = False,
) -> Bound:
    """Return the bound that is an interval of two profiles."""

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], numerics: Numerics
    ) -> list[Answer]:
        answers: list[Answer] = []
        with budget(len(settings) * BUDGET):
            for rounds, group in groupby(settings, key=lambda setting: setting.rounds):
                plan = Plan(subject, rounds or 1, make)
                listed = list(group)
                if quantity == "renyi":
                    rows = _renyi_answers(plan, kind, listed, numerics.rtol, encloses_truth)
                    answers += rows
                else:
                    # Several shuffles of one round have the width that is promised by itself.
                    n = listed[0].require("n")
                    is_free = rounds is None and plan.has_several_rounds(n)
                    rtol = None if is_free else numerics.rtol
                    answers += _profile_answers(plan, Quantity(quantity), listed, rtol, name_inputs)
        return answers

    return Bound(
        name=name,
        kind=kind,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        quantities=DIVERGENCES,
        is_of_shuffles=True,
        composes=True,
        compute=compute,
        make=make,
        encloses_truth=encloses_truth,
    )


def _profile_answers(
    plan: Plan,
    quantity: Quantity,
    settings: Sequence[Setting],
    rtol: float | None,
    name_inputs: NameInputs,
) -> list[Answer]:
    """Return ε or δ at each setting; points of one shuffle are computed together."""
    given = "eps" if quantity is Quantity.DELTA else "delta"
    counts = [setting.require("n") for setting in settings]
    at = [setting.require(given) for setting in settings]
    try:
        ends = plan.answer(quantity, [(x, x) for x in at], counts, rtol)
    except WorkError as error:
        if len(settings) == 1:
            return [Answer(error.enclosure, shortfall=str(error))]
        rows = (_profile_answers(plan, quantity, [x], rtol, name_inputs) for x in settings)
        return [answer for row in rows for answer in row]
    names = name_inputs(plan.subject.shuffles(counts[0])[0].source, ends)
    named = zip(ends.enclosures(), names, ends.shortfalls, strict=True)
    return [Answer(*row) for row in named]


def _renyi_answers(
    plan: Plan,
    kind: Kind,
    settings: Sequence[Setting],
    rtol: float | None,
    encloses_truth: bool,
) -> list[Answer]:
    """Return the Rényi divergence at each setting.

    Raises ValueError for a lower bound of several kinds of shuffles, which may be the worst in
    different directions.
    """
    answers: list[Answer] = []
    for n, group in groupby(settings, key=lambda setting: setting.require("n")):
        orders = np.array([setting.require("order") for setting in group])
        goal = RENYI_RTOL if rtol is None else rtol
        divergences = RoundDivergences.of(plan, n)
        if kind is Kind.LOWER and len(divergences.parts) > 1:
            raise ValueError(
                "no lower bound of a Rényi divergence is known of several kinds of shuffles, got "
                f"{plan.subject.label}"
            )
        try:
            low, high, widths = divergences.bounds(orders, goal)
        except WorkError as error:
            enclosures = cast(Enclosures, error.enclosure)
            answers += [Answer(x, shortfall=str(error)) for x in enclosures]
            continue
        if len(divergences.parts) > 1 and not encloses_truth:
            # The bound is the sum of the upper ends, each of which is known this well.
            low = high * (1.0 - widths) * (1.0 - ROUNDING)
        for x, width in zip(Enclosures(np.minimum(low, high), high), widths.tolist(), strict=True):
            answers.append(Answer(x, shortfall=f"known only to lie in {x}" if width > goal else ""))
    return answers


def accounted(exact: Bound, name: str, label: str) -> Bound:
    """Return the bound by Rényi accounting of the divergences of `exact`, over all real orders."""
    make = exact.make
    assert make is not None

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
    ) -> list[Answer]:
        single = cache(lambda n: RoundDivergences.of(Plan(subject, 1, make), n))

        def answer(setting: Setting) -> Answer:
            # A curve along rounds asks for most of its orders again at each point.
            divergences = single(setting.require("n")).times(setting.rounds or 1)
            eps = accounted_epsilon(divergences, setting.require("delta"))
            is_wide = eps.relative_width > LARGEST_ACCOUNTED_RTOL
            return Answer(eps, shortfall=f"known only to lie in {eps}" if is_wide else "")

        return [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=f"{exact.source}; converted by Canonne, Kamath and Steinke, NeurIPS 2020, "
        "Proposition 12",
        knows_mechanism=exact.knows_mechanism,
        is_of_shuffles=True,
        quantities=("epsilon",),
        composes=True,
        compute=compute,
    )
