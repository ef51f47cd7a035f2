"""Composition: certified ε and δ of many rounds, each of decompositions or of a mechanism.

Upper ends hold for rounds that are chosen adaptively. Each round is dominated by the larger of both
orders of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower ends are
those of independent rounds on one fixed pair of datasets. docs/proofs/composition.md proves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shufflebounds.accounting.cells import at_its_delta, guess_delta, with_enough_cells
from shufflebounds.core import validation
from shufflebounds.core.datasets import both_directions
from shufflebounds.core.decomposition import Decomposition, require
from shufflebounds.core.enclosure import Enclosure, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import RESERVE, budget, enclosed_so_far, limited
from shufflebounds.divergence.law import U
from shufflebounds.divergence.supremum import supremum
from shufflebounds.profiles.datasets import all_datasets
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.loss_sum import LossSum
from shufflebounds.profiles.mechanism import (
    decompositions_above,
    lower_bound,
    second_moment,
    upper_bound,
)
from shufflebounds.profiles.profile import Interval, Max, Min, Profile
from shufflebounds.profiles.rounds import RoundKind, Rounds, RoundTarget, Sums
from shufflebounds.protocols.allocation import DEFAULT_CELLS, RandomAllocation
from shufflebounds.randomizers.base import Randomizer

# Up to this number of ordered pairs of inputs, the bound for all datasets is composed. More are
# replaced by few that cover all, if there are such. Each node of a round may ask for all of them.
# Speed and width only (benchmarks/mechanisms.py).
MAX_PAIRS = 30
# Largest number of laws of other users times components for that bound: eight reports of 256-RR
# have more. Speed and width only (benchmarks/mechanisms.py).
MAX_LAW_SIZE = 10_000
# Most dataset pairs whose lower ends are composed, those of the largest E G². Speed and width only.
MAX_DATASETS = 4
# Most components of a dataset pair for which more than one pair is composed: eight reports of
# 256-RR take ten times as long with four. Speed only.
MAX_COMPONENTS_COMPARED = 110
# Relative width of ε where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-3
# Relative width of δ where the caller gives no `rtol`. A relative error of ε costs more in δ.
DEFAULT_DELTA_RTOL = 0.05
# Largest relative width of ε, and of δ, that the bound for all datasets is asked for: a node may
# cost 0.1 s.
ALL_DATASETS_RTOL = 3e-3
# Relative width that is asked for when the work budget is spent.
ROUGH_RTOL = 0.1
# Factor of the relative width that the first nodes of epochs of training aim at. The second choice
# of nodes aims at about the width that is asked for.
FIRST_RTOL_FACTOR = 3.0
# Share of its width that an enclosure must lose for another choice of nodes to follow.
LEAST_GAIN = 0.1
# Number of δ for which the losses of a whole curve have nodes.
PROFILE_TARGETS = 5
# Largest of these δ.
LARGEST_PROFILE_DELTA = 0.1
# Most kinds of rounds that are all told apart if the caller gives no `rtol`: a kind takes 0.05 s.
MAX_KINDS = 30
# Relative width of ε if there are more and the caller gives no `rtol`.
MANY_KINDS_RTOL = 1e-2
# Then rounds of the same reports are joined if their numbers of users differ by no more than this
# factor, which costs up to half of the width.
USERS_RATIO = 1.01
# The same for the bound for all datasets, of which a kind takes 0.5 s.
USERS_RATIO_OF_ALL_DATASETS = 1.05
# Relative width that this bound is then asked for.
ALL_DATASETS_RTOL_OF_MANY_KINDS = 3e-2


# What one report tells: one or several decompositions, or a mechanism. An epoch of training has
# decompositions that are made for one δ.
Subject = Randomizer | RandomAllocation | tuple[Decomposition, ...]


@dataclass(frozen=True, eq=False)
class Round:
    """A number of rounds with n users each, of decompositions any of which may be the worst.

    A `Randomizer` in their place stands for all of its datasets. With ``is_ordered``, there is one
    decomposition, and the order of the two datasets is the same in every round. Some of the rounds
    may have more users, up to ``most``. As D falls with n, upper ends are those of n users, and
    lower ends those of ``most``.
    """

    subject: Subject
    n: int
    times: int
    is_ordered: bool = False
    most: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.subject, tuple):
            if not self.subject:
                raise ValueError("decompositions must be one or more, got none")
            for decomposition in self.subject:
                require("decomposition", decomposition)
        object.__setattr__(self, "n", validation.users(self.n))
        object.__setattr__(self, "most", max(self.n, self.most))
        validation.rounds(self.times)

    @cached_property
    def key(self) -> tuple:
        """A hashable key that two rounds share only if they have the same reports."""
        is_mechanism = isinstance(self.subject, Randomizer | RandomAllocation)
        parts = (self.subject,) if is_mechanism else map(content_key, self.decompositions)
        return (*parts, self.is_ordered)

    @cached_property
    def decompositions(self) -> list[Decomposition]:
        """Decompositions whose largest divergence bounds a round from above."""
        if isinstance(self.subject, Randomizer):
            return list(decompositions_above(self.subject))
        if isinstance(self.subject, RandomAllocation):
            raise ValueError(
                "rounds must be those of shuffling, got epochs of training, whose decompositions "
                "are made for one delta"
            )
        return list(self.subject)

    def made_for(self, delta: float, epochs: int, cells: int) -> Round:
        """Return the round itself, or an epoch of training with a decomposition made for one δ."""
        if not isinstance(self.subject, RandomAllocation):
            return self
        decomposition = self.subject.decomposition(self.n, delta, epochs=epochs, cells=cells)
        return replace(self, subject=(decomposition,), is_ordered=True)

    @property
    def users(self) -> FloatArray:
        """The number of users as an array of one point."""
        return np.array([float(self.n)])

    @cached_property
    def simple(self) -> Interval:
        """What is known of a round without the bound for all datasets."""
        if self.most > self.n:
            fewest, most = replace(self, most=0), replace(self, n=self.most)
            return replace(fewest.simple, lower=most.simple.lower)
        if isinstance(self.subject, Randomizer):
            return _mechanism(self.subject, self.users)
        pairs = [pair(decomposition, self.users) for decomposition in self.decompositions]
        if self.is_ordered:
            [interval] = pairs
            return replace(interval, is_ordered=True)
        lower, upper = (Max([getattr(x, end) for x in pairs]) for end in ("lower", "upper"))
        return Interval(lower, lower if all(x.is_exact for x in pairs) else upper)

    @cached_property
    def best(self) -> Interval:
        """What is known of a round; it is ``simple`` where that is all that is affordable."""
        if isinstance(self.subject, Randomizer):
            suprema = affordable_suprema(self.subject, self.users)
            if suprema is not None:
                return Interval(self.simple.lower, Min([self.simple.upper, suprema]))
        return self.simple


def joined(rounds: Iterable[Round], ratio: float = 1.0) -> tuple[Round, ...]:
    """Return the rounds; those of the same reports are joined if their n differ by at most `ratio`.

    They keep the order in which the first of each is given.
    """
    by_key: dict[tuple, list[Round]] = {}
    for round_ in rounds:
        by_key.setdefault(round_.key, []).append(round_)
    kinds = []
    for equal in by_key.values():
        group: list[Round] = []
        for round_ in sorted(equal, key=lambda x: x.n):
            if group and round_.most > ratio * group[0].n:
                kinds.append(group)
                group = []
            group.append(round_)
        kinds.append(group)
    return tuple(
        replace(x[0], times=sum(y.times for y in x), most=max(y.most for y in x)) for x in kinds
    )


def content_key(decomposition: Decomposition) -> tuple:
    """Return a hashable key that two decompositions share only if they are equal."""
    arrays = (getattr(decomposition, name).tobytes() for name in ("a", "b", "c", "ties"))
    ends = (end and content_key(end) for end in (decomposition.inner, decomposition.outer))
    return (*arrays, decomposition.rel_err, *ends)


def _mechanism(randomizer: Randomizer, n: FloatArray) -> Interval:
    """Return what dataset pairs, blankets and the simple bound say of a mechanism."""
    datasets = randomizer.known_datasets()
    names = sorted(datasets, key=lambda name: (-second_moment(datasets[name]), name))
    is_small = len(datasets[names[0]]) <= MAX_COMPONENTS_COMPARED
    kept = names[: MAX_DATASETS if is_small else 1]
    upper: list[Profile] = [upper_bound(randomizer.blankets().values(), n)]
    simple = randomizer.simple_bound()
    if simple is not None:
        upper.insert(0, pair(simple, n, "simple bound").upper)
    return Interval(lower_bound({name: datasets[name] for name in kept}, n), Min(upper))


def affordable_suprema(randomizer: Randomizer, n: FloatArray) -> Profile | None:
    """Return the bound for all datasets if it can be composed within the work budget."""
    for crowds in (randomizer.crowds(), randomizer.few_crowds()):
        ordered = both_directions(crowds)
        size = sum(crowd.size for crowd in ordered if not crowd.kinds)
        if ordered and len(ordered) <= MAX_PAIRS and size <= MAX_LAW_SIZE:
            # The bound for patterns of inputs that are not listed is trivial if the parts differ
            # too much.
            users = int(n[0])
            is_trivial = any(x.kinds and supremum(x, 0.0, users) >= 1.0 for x in ordered)
            return None if is_trivial else all_datasets(crowds, n)
    return None


class _Question(NamedTuple):
    """What is asked of many rounds: ε at a δ, or δ at an ε, to a relative width of ``goal``."""

    is_epsilon: bool
    at: float
    goal: float

    @property
    def name(self) -> str:
        """The question in words."""
        return (
            f"epsilon at delta = {self.at!r}" if self.is_epsilon else f"delta at eps = {self.at!r}"
        )

    @property
    def target(self) -> RoundTarget:
        """The question as one about sums of losses."""
        delta, eps = (self.at, math.nan) if self.is_epsilon else (math.nan, self.at)
        return RoundTarget(delta, eps, self.goal)

    def end(self, loss_sum: LossSum, side: float) -> float:
        """Return the answer for a sum of losses, rounded up if `side` is 1, down if it is −1."""
        if self.is_epsilon:
            return loss_sum.root(self.at, self.goal, side)
        enclosure = loss_sum.delta(self.at, 0.1 * self.goal)
        return min(enclosure.upper if side > 0.0 else enclosure.lower, 1.0)

    def ends(self, interval: Interval, at: float, goal: float) -> Enclosure:
        """Return the answer for a single round."""
        point = np.array([at])
        if self.is_epsilon:
            lower = interval.lower.roots(point, goal).lower
            upper = interval.upper.roots(point, goal, lower).upper
        else:
            lower = interval.lower.deltas(point, goal).lower
            upper = interval.upper.deltas(point, goal, floor=lower).upper
        return Enclosure(min(float(lower[0]), float(upper[0])), float(upper[0]))


@dataclass
class _Search:
    """Bounds of ε or δ of many rounds, narrowed step by step.

    If theory leaves a gap between the ends, the upper end is compared to ``floor``, a lower bound
    of the value that it approximates. It is inf where none is known. In that case the width alone
    counts if the search ``is_strict``.
    """

    question: _Question
    rounds: Sequence[Round]
    enclosure: Enclosure
    is_strict: bool
    floor: float = 0.0

    @cached_property
    def is_exact(self) -> bool:
        """Whether both ends bound the same quantity, so that a wide gap is a failure."""
        kinds = [RoundKind.of(round_.simple, round_.times) for round_ in self.rounds]
        return all(x.interval.is_exact and len(x.pairs) == 1 and x.is_symmetric for x in kinds)

    @property
    def total(self) -> int:
        """The number of rounds."""
        return sum(round_.times for round_ in self.rounds)

    def is_done(self) -> bool:
        """Return whether the ends are as close as requested, or as close as theory allows."""
        upper, goal = self.enclosure.upper, self.question.goal
        if upper <= validation.MIN_DELTA or self.enclosure.relative_width <= goal:
            return True
        if self.is_strict and self.floor == math.inf:
            return False
        return not self.is_exact and upper < math.inf and upper - self.floor <= goal * upper

    def intersect(self, lower: float, upper: float) -> None:
        """Intersect the enclosure with two bounds."""
        high = min(self.enclosure.upper, upper)
        self.enclosure = Enclosure(min(max(self.enclosure.lower, lower), high), high)

    def run(self) -> None:
        """Narrow the ends as far as is asked for."""
        question = self.question
        if self.total == 1:
            [round_] = self.rounds
            ends = question.ends(round_.best, question.at, 0.1 * question.goal)
            self.intersect(ends.lower, ends.upper)
            self.floor = self.enclosure.lower if round_.simple.is_exact else math.inf
            return
        self.use_sums([round_.simple for round_ in self.rounds], question)
        width, are_many = question.goal, len(self.rounds) > MAX_KINDS
        if are_many and not self.is_strict:
            # Joining alone may keep the ends that far apart.
            width *= 2.0
        if self.enclosure.relative_width <= width or self.enclosure.upper <= validation.MIN_DELTA:
            return
        rtol = ALL_DATASETS_RTOL
        if are_many:
            rtol = ALL_DATASETS_RTOL_OF_MANY_KINDS
            self.rounds = joined(self.rounds, USERS_RATIO_OF_ALL_DATASETS)
        best = [round_.best for round_ in self.rounds]
        if any(x is not round_.simple for x, round_ in zip(best, self.rounds, strict=True)):
            self.use_sums(best, question._replace(goal=max(question.goal, rtol)))

    def use_sums(self, intervals: Sequence[Interval], question: _Question) -> None:
        """Narrow the ends by discrete losses of all rounds."""
        kinds = [RoundKind.of(x, n.times) for x, n in zip(intervals, self.rounds, strict=True)]
        is_exact = all(kind.interval.is_exact for kind in kinds)
        width, target = math.inf, question.target
        if any(kind.interval.is_ordered for kind in kinds):
            # Estimates of rare losses are poor, so that the first nodes are few.
            target = target._replace(rtol=FIRST_RTOL_FACTOR * target.rtol)
        for sums in Rounds(kinds).sums(target):
            self._use(sums, is_exact)
            previous, width = width, self.enclosure.relative_width
            if self.is_done() or width > (1.0 - LEAST_GAIN) * previous:
                break

    def _use(self, sums: Sums, is_exact: bool) -> None:
        """Narrow the ends by two sums of losses."""
        lower = (self.question.end(loss_sum, -1.0) for loss_sum in sums.lower())
        upper = max(self.question.end(loss_sum, 1.0) for loss_sum in sums.upper())
        self.intersect(max(lower, default=0.0), upper)
        if self.is_exact or self.is_done():
            return
        # Of a mechanism, or of inner and outer decompositions, no such bound is known, unless the
        # ends meet in theory. Few outcomes are exact: only theory keeps the ends apart.
        is_approximate = is_exact and not sums.are_exact
        floor = sums.floor() if is_approximate else None
        has_gap = not is_approximate and any(kind.has_gap for kind in sums.rounds.kinds)
        low = self.question.end(floor, -1.0) if floor else math.inf if has_gap else 0.0
        self.floor = max(self.floor, low)

    def use_reserve(self) -> Enclosure:
        """Return the best enclosure that little more work gives, even if the budget is spent.

        Rounds of the same reports count as those of the fewest of their users, and of the most.
        """
        rough = self.question._replace(goal=ROUGH_RTOL)
        self.rounds = joined(self.rounds, math.inf)
        steps = [
            lambda: self.use_sums([x.simple for x in self.rounds], rough),
            self.use_single_rounds,
        ]
        for step in steps:
            with budget(RESERVE), suppress(WorkError):
                step()
        return self.enclosure

    def use_single_rounds(self) -> None:
        """Use the bounds of single rounds: basic composition, and the largest round."""
        question = self.question
        share = question.at / self.total * (1.0 - 1e-12)
        if share >= validation.MIN_DELTA or not question.is_epsilon:
            ends = [
                round_.times * question.ends(round_.simple, share, DEFAULT_RTOL).upper
                for round_ in self.rounds
            ]
            self.intersect(0.0, math.fsum(ends) * (1.0 + 8.0 * U))
        for round_ in self.rounds:
            lower = question.ends(round_.simple, question.at, DEFAULT_RTOL).lower
            self.intersect(lower, math.inf)


@dataclass(frozen=True, eq=False)
class Composed:
    """Rounds of shuffling, one after the other, as `compose` makes them.

    Parameters
    ----------
    rounds
        Rounds of one kind each: decompositions, number of users, how many times.

    Examples
    --------
    >>> five = sb.compose([(sb.KRR(k=10, eps0=2.0).blanket(), 10_000, 5)])
    >>> five.delta(eps=5 * 2.0 + 0.01)  # 0 beyond the local ε₀ of all rounds together
    Enclosure(lower=0.0, upper=0.0)
    """

    rounds: tuple[Round, ...]

    def __repr__(self) -> str:
        return (
            f"<Composed: {', '.join(f'{round_.times} × n = {round_.n}' for round_ in self.rounds)}>"
        )

    @limited
    def epsilon(self, delta: float, *, rtol: float | None = None) -> Enclosure:
        """Enclose the smallest ε at which all rounds together are (ε, δ)-DP.

        Of two datasets that differ by the replacement of one user's input; n counts users who
        follow the protocol and do not collude. The decomposition must bound the victim's inputs in
        every round: docs/proofs/composition.md, section 1.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻³, and leaves out
            of account what separates the ends in theory: a decomposition whose two directions
            differ, several of them in a round, and ``inner`` from ``outer``. In the first two
            cases it is the width to which ``upper`` is known, that of adaptively chosen rounds.
            For more than 30 kinds of rounds it stands for 10⁻², and nearly equal numbers of users
            are joined.

        Returns
        -------
        Enclosure
            Of ε (natural log). At ``upper``, δ(ε) was found to be at most `delta` for rounds chosen
            adaptively. At ``lower``, it was found to be at least `delta` for independent rounds on
            one pair of datasets (or it is 0). Both are inf where no ε will do.

        Raises
        ------
        ValueError
            For an argument outside these ranges.
        PrecisionError
            Where the width stays above `rtol`.

        Examples
        --------
        >>> month = sb.compose([(sb.KRR(k=10, eps0=4.0).blanket(), 100_000, 30)])
        >>> f"{month.epsilon(delta=1e-6).upper:.2f}"
        '0.68'
        """
        delta = validation.delta(delta)
        if self.epochs:
            return with_enough_cells(
                lambda cells, rtol: self._made_for(delta, cells).epsilon(delta, rtol=rtol),
                rtol,
                is_strict=rtol is not None or self.is_training,
            )
        goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
        if self.delta_limit() > delta:
            return Enclosure(math.inf, math.inf)
        return self._answer(_Question(True, delta, goal), self.largest_loss(), rtol)

    @limited
    def delta(self, eps: float, *, rtol: float | None = None) -> Enclosure:
        """Enclose the smallest δ at which all rounds together are (ε, δ)-DP.

        Parameters
        ----------
        eps
            ε ≥ 0 (natural log).
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 0.05, with the same
            exceptions as for `epsilon`.

        Returns
        -------
        Enclosure
            Of δ, a probability; what the ends promise is as for `epsilon`.

        Raises
        ------
        ValueError
            For an argument outside these ranges.
        PrecisionError
            Where the width stays above `rtol`.

        Examples
        --------
        >>> month = sb.compose([(sb.KRR(k=10, eps0=4.0).blanket(), 100_000, 30)])
        >>> f"{month.delta(eps=0.7, rtol=1e-3).upper:.1e}"
        '5.3e-07'
        """
        eps = validation.eps(eps)
        if self.epochs:
            guess = guess_delta(
                lambda delta: self._made_for(delta).epsilon(delta, rtol=ROUGH_RTOL), eps
            )
            return at_its_delta(
                lambda delta, cells, rtol: self._made_for(delta, cells).delta(eps, rtol=rtol),
                rtol,
                guess=guess,
                is_strict=rtol is not None or self.is_training,
            )
        goal = DEFAULT_DELTA_RTOL if rtol is None else validation.rtol(rtol)
        if eps >= self.largest_loss():
            return Enclosure(0.0, 0.0)
        return self._answer(_Question(False, eps, goal), 1.0, rtol)

    def _answer(self, question: _Question, end: float, rtol: float | None) -> Enclosure:
        """Return an enclosure that is narrow enough; raise PrecisionError if there is none.

        `end` is an upper bound of the answer.
        """
        kinds = self.kinds
        if rtol is None and len(kinds) > MAX_KINDS:
            kinds = joined(kinds, USERS_RATIO)
            question = question._replace(goal=max(question.goal, MANY_KINDS_RTOL))
        goal = question.goal
        search = _Search(question, kinds, Enclosure(0.0, end), rtol is not None)
        with enclosed_so_far(search.use_reserve):
            search.run()
        if not search.is_done():
            search.use_reserve()
        enclosure = search.enclosure
        if enclosure.relative_width > goal and (rtol is not None or not search.is_done()):
            advice = validation.rtol_advice(enclosure.relative_width)
            raise PrecisionError(
                f"{question.name}, {search.total} rounds is known only to lie in "
                f"[{enclosure.lower!r}, {enclosure.upper!r}]: relative width "
                f"{enclosure.relative_width:.1e} where rtol = {goal:g} was asked for{advice}",
                enclosure,
            )
        return enclosure

    @cached_property
    def kinds(self) -> tuple[Round, ...]:
        """The rounds, of which equal ones are joined."""
        return joined(self.rounds)

    def sums(self, smallest: float, rtol: float, *, best: bool = True) -> Sums:
        """Return losses of all rounds that give every δ down to the smallest.

        Parameters
        ----------
        smallest
            The smallest δ, above 0.
        rtol
            The relative width to aim at of the ε at each δ.
        best
            Whether to ask the bound for all datasets, too.

        Returns
        -------
        Sums
            Sums of losses above and below those of all rounds.
        """
        kinds = [RoundKind.of(x.best if best else x.simple, x.times) for x in self.kinds]
        deltas = np.geomspace(smallest, max(smallest, LARGEST_PROFILE_DELTA), PROFILE_TARGETS)
        targets = [RoundTarget(delta, math.nan, rtol) for delta in deltas.tolist()]
        return Rounds(kinds).sums_for(targets)

    @property
    def epochs(self) -> int:
        """The number of rounds that are epochs of training without a decomposition."""
        epochs = [x.times for x in self.rounds if isinstance(x.subject, RandomAllocation)]
        return sum(epochs)

    @property
    def is_training(self) -> bool:
        """Whether all rounds are epochs of training."""
        return all(isinstance(round_.subject, RandomAllocation) for round_ in self.rounds)

    def _made_for(self, delta: float, cells: int = DEFAULT_CELLS) -> Composed:
        """Return the rounds with decompositions of epochs of training that are made for one δ."""
        if not self.epochs:
            return self
        rounds = [round_.made_for(delta, self.epochs, cells) for round_ in self.kinds]
        return Composed(tuple(rounds))

    def made_for_curve(self, smallest: float) -> Composed:
        """Return the rounds with decompositions of epochs of training that serve a whole curve.

        Parameters
        ----------
        smallest
            The smallest δ of the curve, above 0.

        Returns
        -------
        Composed
            The rounds, none of which is an epoch without a decomposition.
        """
        # The cells of several epochs serve many ε.
        epochs = max(self.epochs, 2)
        rounds = [round_.made_for(smallest, epochs, DEFAULT_CELLS) for round_ in self.kinds]
        return Composed(tuple(rounds))

    def largest_loss(self) -> float:
        """Return an ε at which δ is certainly 0: the sum of those of all rounds."""
        kinds = joined(self.rounds, math.inf)
        losses = [round_.times * round_.simple.upper.end for round_ in kinds]
        return math.fsum(losses) * (1.0 + 8.0 * U)

    def delta_limit(self) -> float:
        """Return a lower bound of δ at every ε, from outputs that only one input can produce."""
        kinds = joined(self.rounds, math.inf)
        return Rounds([RoundKind.of(x.simple, x.times) for x in kinds]).delta_limit()


def compose(
    rounds: Iterable[
        tuple[Decomposition | Randomizer | RandomAllocation | Iterable[Decomposition], int, int]
    ],
) -> Composed:
    """Collect rounds of shuffling, one after the other, to ask for their ε and δ together.

    Parameters
    ----------
    rounds
        Triples (decomposition, n, times) in any order: n users, 1 to 10¹⁵, and how many such
        rounds; 10⁶ at most in all. In place of the `Decomposition` there may be several, such as
        ``MatrixRandomizer(P).blankets().values()``, any of which may be the worst in any round; or
        a `Randomizer`, of which upper ends are proven for all datasets and lower ends are those of
        pairs of datasets, the same pair in all rounds of a kind; or a `RandomAllocation`, of which
        n is the number of steps and the number of rounds is that of the epochs.

    Returns
    -------
    Composed
        Ask it for ``epsilon(delta)`` or ``delta(eps)``.

    Raises
    ------
    ValueError
        For an empty list, and for entries outside these ranges.

    Notes
    -----
    Zhu, Dong and Wang (AISTATS 2022), Theorem 10; assumptions and proofs in
    docs/proofs/composition.md.

    Examples
    --------
    >>> first, then = sb.KRR(k=10, eps0=2.0).blanket(), sb.BLH(1.0).blanket()
    >>> both = sb.compose([(first, 10_000, 5), (then, 20_000, 5)])
    >>> f"{both.epsilon(delta=1e-6).upper:.2f}"
    '0.20'
    """
    triples = list(rounds) if isinstance(rounds, Iterable) else [rounds]
    if not triples or not all(isinstance(triple, tuple) and len(triple) == 3 for triple in triples):
        raise ValueError(
            f"rounds must be one or more triples (decomposition, n, times), got {rounds!r}"
        )
    collected = tuple(Round(_subject(subject), n, times) for subject, n, times in triples)
    total = sum(round_.times for round_ in collected)
    validation.whole("rounds, all added up,", total, minimum=1, maximum=validation.MAX_ROUNDS)
    return Composed(collected)


def _subject(
    subject: Decomposition | Randomizer | RandomAllocation | Iterable[Decomposition],
) -> Subject:
    """Return the decompositions of a round as a tuple, or its randomizer."""
    if isinstance(subject, Randomizer | RandomAllocation):
        return subject
    return tuple(subject) if isinstance(subject, Iterable) else (subject,)
