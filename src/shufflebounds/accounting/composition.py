"""Composition: certified ε and δ of many rounds, each of decompositions or of a mechanism.

Upper ends hold for rounds that are chosen adaptively. Each round is dominated by the larger of both
orders of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower ends are
those of independent rounds on one fixed pair of datasets. docs/proofs/composition.md proves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shufflebounds.accounting.cells import at_its_delta, guess_delta, with_enough_cells
from shufflebounds.accounting.round import Round, Subject, fewer_kinds, joined, with_families
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, WorkError
from shufflebounds.core.relation import Relation, common_relation
from shufflebounds.core.validation import Count
from shufflebounds.core.work import RESERVE, budget, limited
from shufflebounds.divergence.law import U
from shufflebounds.profiles.loss_sum import LossSum
from shufflebounds.profiles.profile import Interval
from shufflebounds.profiles.rounds import RoundKind, Rounds, RoundTarget, Sums
from shufflebounds.protocols.allocation import DEFAULT_CELLS, RandomAllocation
from shufflebounds.randomizers.base import Randomizer

# Relative width of ε, and of δ at ε = 0, where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-3
# Relative width of δ at ε > 0 where the caller gives no `rtol`. There, a relative error of the
# losses costs more than at ε = 0.
DEFAULT_DELTA_RTOL = 0.05
# Relative width that is asked for when the work budget is spent.
ROUGH_RTOL = 0.1
# Factor of the relative width that the first nodes of epochs of training aim at. The second choice
# of nodes aims at about the width that is asked for.
FIRST_RTOL_FACTOR = 3.0
# Share of its width that an enclosure must lose for another choice of nodes to follow.
LEAST_GAIN = 0.1
# Share of an explicit relative width by which numbers of users may differ that count as equal. They
# cost half of it at either end, as ε goes about like 1/√n.
JOINED_SHARE = 0.1
# Most kinds of rounds for which lower ends compare several pairs of datasets. Speed only.
MAX_KINDS_OF_PAIRS = 8
# Number of δ for which the losses of a whole curve have nodes.
CURVE_TARGETS = 5
# Largest of these δ.
LARGEST_CURVE_DELTA = 0.1


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

    More nodes may lower the upper end to about ``floor``, and raise the lower end to ``ceiling``.
    """

    question: _Question
    rounds: Sequence[Round]
    enclosure: Enclosure
    is_strict: bool
    floor: float = 0.0
    ceiling: float = math.inf

    def __post_init__(self) -> None:
        # Relative width at which an end counts as that of theory.
        self.aim = self.question.goal

    @property
    def total(self) -> int:
        """The number of rounds."""
        return sum(round_.times for round_ in self.rounds)

    def is_done(self) -> bool:
        """Return whether the ends are as close as requested, or as theory allows without rtol."""
        lower, upper = self.enclosure.lower, self.enclosure.upper
        if upper <= validation.MIN_DELTA or self.enclosure.relative_width <= self.question.goal:
            return True
        if self.is_strict or upper == math.inf:
            return False
        return max(upper - self.floor, self.ceiling - lower) <= self.aim * upper

    def is_hopeless(self) -> bool:
        """Return whether theory keeps the ends too far apart for an explicit rtol, and near there.

        Another choice of nodes would gain too little.
        """
        if not self.is_strict:
            return False
        gap, upper = self.floor - self.ceiling, self.enclosure.upper
        is_close = upper - self.enclosure.lower <= gap / (1.0 - LEAST_GAIN)
        return gap > self.question.goal * upper and is_close

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
            if not round_.simple.is_exact:
                self.floor, self.ceiling = ends.upper, ends.lower
            return
        self.use_sums(_round_kinds(self.rounds, best=True), question)

    def use_sums(self, kinds: Sequence[RoundKind], question: _Question) -> None:
        """Narrow the ends by discrete losses of all rounds."""
        is_exact = all(kind.interval.is_exact for kind in kinds)
        target = question.target
        if not is_exact and not self.is_strict:
            # No width is promised. Many kinds share the work.
            target = target._replace(rtol=min(target.rtol * math.sqrt(len(kinds)), ROUGH_RTOL))
        self.aim = max(self.aim, target.rtol)
        if any(kind.interval.is_ordered for kind in kinds):
            # Estimates of rare losses are poor, so that the first nodes are few.
            target = target._replace(rtol=FIRST_RTOL_FACTOR * target.rtol)
        width = math.inf
        for sums in Rounds(kinds).sums(target):
            before = self.enclosure
            self._use(sums)
            if width < math.inf and sums.have_gap and not self.is_strict:
                self._settle(before)
            previous, width = width, self.enclosure.relative_width
            if self.is_done() or self.is_hopeless() or width > (1.0 - LEAST_GAIN) * previous:
                break

    def _settle(self, before: Enclosure) -> None:
        """Take the ends as those of theory if much finer nodes have hardly moved them."""
        lower, upper = self.enclosure.lower, self.enclosure.upper
        if max(before.upper - upper, lower - before.lower) <= self.aim * upper:
            self.floor, self.ceiling = upper, lower

    def _use(self, sums: Sums) -> None:
        """Narrow the ends by two sums of losses."""
        question = self.question
        lower = (question.end(loss_sum, -1.0) for loss_sum in sums.lower())
        upper = max(question.end(loss_sum, 1.0) for loss_sum in sums.upper())
        self.intersect(max(lower, default=0.0), upper)
        if self.is_done() or not sums.have_gap:
            return
        question = question._replace(goal=self.aim)
        floor = sums.floor()
        self.floor, self.ceiling = question.end(floor, -1.0) if floor else 0.0, math.inf
        if self.is_strict or upper - self.floor <= self.aim * upper:
            self.ceiling = max(question.end(loss_sum, 1.0) for loss_sum in sums.ceiling())

    def use_reserve(self) -> Enclosure:
        """Return the best enclosure that little more work gives, even if the budget is spent.

        Rounds of the same reports count as those of the fewest of their users, and of the most.
        """
        rough = self.question._replace(goal=ROUGH_RTOL)
        floor, ceiling, aim = self.floor, self.ceiling, self.aim
        self.rounds = joined(self.rounds, math.inf)
        steps = [
            lambda: self.use_sums(_round_kinds(self.rounds, best=False), rough),
            self.use_single_rounds,
        ]
        for step in steps:
            with budget(RESERVE), suppress(WorkError):
                step()
        # The gap that joined rounds leave is no reason to accept wide ends.
        self.floor, self.ceiling, self.aim = floor, ceiling, aim
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


def _round_kinds(rounds: Sequence[Round], *, best: bool) -> list[RoundKind]:
    """Return the kinds of rounds, with or without the bound for all datasets."""
    most_pairs = None if len(rounds) <= MAX_KINDS_OF_PAIRS else 1
    return [
        RoundKind.of(x.best if best else x.simple, x.times, most_pairs, x.family) for x in rounds
    ]


@dataclass(frozen=True, eq=False)
class Composed:
    """Rounds of shuffling, one after the other, as `compose` makes them.

    Parameters
    ----------
    rounds
        Rounds of one kind each: decompositions, number of users, how many times.

    Raises
    ------
    ValueError
        For rounds of different neighbouring relations.

    Examples
    --------
    >>> five = sb.compose([(sb.KRR(k=10, eps0=2.0).blanket(), 10_000, 5)])
    >>> five.delta(eps=5 * 2.0 + 0.01)  # 0 beyond the local ε₀ of all rounds together
    Enclosure(lower=0.0, upper=0.0)
    """

    rounds: tuple[Round, ...]
    # The neighbouring relation of all rounds.
    relation: Relation = field(init=False)

    def __post_init__(self) -> None:
        relation = common_relation("rounds", (round_.relation for round_ in self.rounds))
        object.__setattr__(self, "relation", relation)

    def __repr__(self) -> str:
        return (
            f"<Composed: {', '.join(f'{round_.times} × n = {round_.n}' for round_ in self.rounds)}>"
        )

    @limited
    def epsilon(self, delta: float, *, rtol: float | None = None) -> Enclosure:
        """Enclose the smallest ε at which all rounds together are (ε, δ)-DP.

        Of two datasets that differ by the replacement of one user's input or, for epochs of a
        `RandomAllocation`, by one example that is added or removed (``relation``). n counts users
        who follow the protocol and do not collude. The decomposition must bound the victim's inputs
        in every round: docs/proofs/composition.md, section 1.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻³, and leaves out
            of account what separates the ends in theory: a decomposition whose two directions
            differ, several of them in a round, and ``inner`` from ``outer``. In the first two
            cases it is the width to which ``upper`` is known, that of adaptively chosen rounds.
            With m kinds of rounds, a width of √m·10⁻³ counts as theory's. Where there are more than
            200, of which a randomizer counts for two, nearly equal numbers of users are joined.

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
            The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 0.05, or for 10⁻³ at
            ε = 0, with the same exceptions as for `epsilon`.

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
        usual = DEFAULT_DELTA_RTOL if eps > 0.0 else DEFAULT_RTOL
        goal = usual if rtol is None else validation.rtol(rtol)
        if eps >= self.largest_loss():
            return Enclosure(0.0, 0.0)
        return self._answer(_Question(False, eps, goal), 1.0, rtol)

    def _answer(self, question: _Question, end: float, rtol: float | None) -> Enclosure:
        """Return an enclosure that is narrow enough; raise PrecisionError if there is none.

        `end` is an upper bound of the answer.
        """
        if rtol is None:
            kinds = fewer_kinds(self.rounds)
        else:
            kinds = joined(self.rounds, 1.0 + JOINED_SHARE * rtol)
        kinds = with_families(kinds)
        search = _Search(question, kinds, Enclosure(0.0, end), rtol is not None)
        try:
            search.run()
        except WorkError as error:
            enclosure = search.use_reserve()
            if enclosure.relative_width > question.goal:
                raise WorkError(str(error), enclosure) from None
        if not search.is_done():
            search.use_reserve()
        enclosure, goal = search.enclosure, question.goal
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
        return with_families(joined(self.rounds))

    def sums(self, deltas: Sequence[float], rtol: float, *, best: bool = True) -> Sums:
        """Return losses of all rounds that give ε at several δ.

        Parameters
        ----------
        deltas
            The δ, each above 0.
        rtol
            The relative width to aim at of the ε at each δ.
        best
            Whether to ask the bound for all datasets, too.

        Returns
        -------
        Sums
            Sums of losses above and below those of all rounds.
        """
        kinds = Rounds(_round_kinds(self.kinds, best=best))
        return kinds.sums_for([RoundTarget(delta, math.nan, rtol) for delta in deltas])

    def sums_of_curve(self, smallest: float, rtol: float) -> Sums:
        """Return losses of all rounds that give ε at every δ of a curve.

        Parameters
        ----------
        smallest
            The smallest δ, above 0.
        rtol
            The relative width to aim at of the ε at each δ.

        Returns
        -------
        Sums
            Sums of losses above and below those of all rounds.
        """
        largest = max(smallest, LARGEST_CURVE_DELTA)
        return self.sums(np.geomspace(smallest, largest, CURVE_TARGETS).tolist(), rtol)

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
        tuple[Decomposition | Randomizer | RandomAllocation | Iterable[Decomposition], Count, int]
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
        n is the number of steps and the number of rounds is that of the epochs. All rounds must
        have one neighbouring relation: epochs are about adding or removing an example, all others
        about the replacement of a user's input, unless their ``relation`` says otherwise.

    Returns
    -------
    Composed
        Ask it for ``epsilon(delta)`` or ``delta(eps)``. Its ``relation`` is that of the answers.

    Raises
    ------
    ValueError
        For an empty list, for entries outside these ranges, and for epochs among reports.

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
    collected = tuple(
        Round(_subject(subject), validation.users(n), times) for subject, n, times in triples
    )
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
