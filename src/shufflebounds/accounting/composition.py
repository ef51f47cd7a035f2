"""Composition: certified ε and δ of many rounds, each of decompositions or of a mechanism.

Upper ends hold for rounds that are chosen adaptively. Each round is dominated by the larger of both
directions of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower ends
are those of independent rounds on one fixed pair of datasets. docs/composition.md proves both.

The curves of the rounds are rounded to a lattice of privacy losses, up and down. A finer lattice
gives closer ends. `_LatticeSearch` chooses the lattices; enclosures of every lattice hold.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

from shufflebounds.accounting.few_outcomes import loss_bounds
from shufflebounds.accounting.one_shuffle import Quantity, enclosure_of
from shufflebounds.accounting.problem import Problem, delta_limit, most_telling, typical_loss
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.round_laws import (
    Round,
    RoundKind,
    dominated_sum,
    optimistic_sums,
    pessimistic_sum,
)
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, WorkError, reached
from shufflebounds.core.work import RESERVE, budget, enclosed_so_far, limited
from shufflebounds.divergence.convolution import Losses
from shufflebounds.divergence.lattice import delta_at, largest_eps, smallest_eps
from shufflebounds.divergence.law import U
from shufflebounds.divergence.losses import LossSum
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers.base import Randomizer

# Up to this number of ordered pairs of inputs, the bound for all datasets is composed. More are
# replaced by few that cover all, if there are such. Each point of a round may ask for all of them.
# Speed and width only (benchmarks/mechanisms.py).
MAX_PAIRS = 30
# Largest number of laws of other users times components for that bound: eight reports of 256-RR
# have more. Speed and width only (benchmarks/mechanisms.py).
MAX_LAW_SIZE = 10_000
# Most dataset pairs whose lower ends are composed, those of the largest typical loss. Speed and
# width only.
MAX_DATASETS = 4
# Most components of a dataset pair for which more than one pair is composed: eight reports of
# 256-RR take ten times as long with four. Speed only.
MAX_COMPONENTS_COMPARED = 110
# Relative width of the enclosure of a single round's δ that guesses the size of δ of all rounds.
ROUGH_RTOL = 0.05
# Relative width of ε where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-3
# Relative width of δ where the caller gives no `rtol`. A relative error of ε costs more in δ.
DEFAULT_DELTA_RTOL = 0.05
# Relative width of ε times the square of the lattice points per standard deviation, an estimate
# with a margin: a few more lattice points save a second lattice (benchmarks/mechanisms.py).
LATTICE_WIDTH = 0.9
# Most lattices that are tried, each finer than the one before.
MAX_LATTICES = 7
# Factor by which an upper end must fall for a lattice to count as a gain.
GAIN = 0.9
# Points per standard deviation of the coarse lattice that tells which datasets and bounds matter.
# It leaves a relative width of about 2 %.
COARSE_DENSITY = 6.0
# Ratio of two bounds above which the coarse lattice may fail to distinguish them.
CLOSE_RATIO = 0.94
# Most lattice points per standard deviation of the bound for all datasets, where a point may cost
# 0.1 s.
CROWD_DENSITY = 24.0
# Most reaches of a lattice that are tried for a lower bound of δ, each further than the last.
MAX_REACHES = 8
# Share of the guess that stands for δ where no lower bound is known.
UNKNOWN_SHARE = 1e-21
# Largest number of kinds of rounds that are composed without rounding their numbers of users.
MAX_KINDS = 100
# Number of values to which numbers of users are rounded otherwise.
MAX_ROUNDED_USERS = 48


def round_of(randomizer: Randomizer, n: int, times: int) -> Round:
    """Return `times` rounds of `n` users who share a randomizer.

    Upper ends hold for all inputs of the other users, even if they depend on earlier outputs
    (docs/composition.md, section 1). Raises ValueError for arguments out of range.
    """
    n = validation.users(n)
    crowds = both_directions(randomizer.crowds())
    if not _are_affordable(crowds):
        crowds = both_directions(randomizer.few_crowds())
    # The bound for patterns of inputs that are not listed is trivial if the parts differ too much.
    is_trivial = any(crowd.kinds and supremum(crowd, 0.0, n) >= 1.0 for crowd in crowds)
    if is_trivial or not _are_affordable(crowds):
        crowds = []

    def rank(decomposition: Decomposition) -> tuple[float, int]:
        return -float(f"{typical_loss(decomposition, n):.3g}"), len(decomposition)

    pairs = sorted(most_telling(randomizer.known_datasets().values()), key=rank)
    are_small = len(pairs[0]) <= MAX_COMPONENTS_COMPARED
    return Round(
        tuple(randomizer.blankets().values()),
        n,
        times,
        tuple(pairs[: MAX_DATASETS if are_small else 1]),
        tuple(crowds),
        randomizer.simple_bound(),
    )


def _are_affordable(crowds: Sequence[Crowd]) -> bool:
    """Return whether the bound for all datasets can be composed within the work budget."""
    size = sum(crowd.size for crowd in crowds if not crowd.kinds)
    return len(crowds) <= MAX_PAIRS and size <= MAX_LAW_SIZE


class _CompositionQuestion(ABC):
    """What is asked of many rounds: ε at a δ, or δ at an ε, to a relative width of ``goal``.

    ``rounds`` are all rounds. Methods that take rounds may be given fewer bounds of each. Their
    `lower` is a lower bound of the answer.
    """

    rounds: Sequence[Round]
    goal: float

    @property
    @abstractmethod
    def name(self) -> str:
        """The question in words."""

    @property
    @abstractmethod
    def depth(self) -> float:
        """The relative error of the answer over that of ε."""

    @abstractmethod
    def end_above(self, loss_sum: LossSum) -> float:
        """Return the answer for discrete losses, rounded up."""

    @abstractmethod
    def end_below(self, loss_sum: LossSum) -> float:
        """Return the answer for discrete losses, rounded down."""

    @abstractmethod
    def level(self, lower: float) -> float:
        """Return the mass that a lattice may neglect."""

    def lattice_upper(self, density: float, rounds: Sequence[Round], lower: float) -> float:
        """Return an upper bound by a lattice of `density` points per standard deviation."""
        return self.end_above(pessimistic_sum(rounds, density, self.level(lower)))

    def lattice_lower(self, density: float, rounds: Sequence[Round], lower: float) -> float:
        """Return a lower bound by a lattice, whose arguments are those of `lattice_upper`."""
        return self._largest_end_below(rounds, density, self.level(lower))

    def lattice_floor(self, density: float, lower: float) -> float:
        """Return a lower bound of the value that `lattice_upper` approximates; inf if unknown."""
        loss_sum = dominated_sum(self.rounds, density, self.level(lower))
        return math.inf if loss_sum is None else self.end_below(loss_sum)

    def _largest_end_below(self, rounds: Sequence[Round], density: float, level: float) -> float:
        """Return the largest lower bound of all dataset pairs that a lattice gives."""
        loss_sums = optimistic_sums(rounds, density, level)
        return max(map(self.end_below, loss_sums), default=0.0)

    @abstractmethod
    def single_rounds(self) -> Enclosure:
        """Return bounds that single rounds give: basic composition, and the largest round."""

    def _sum_of_rounds(self, ask: Callable[[Decomposition, int], Enclosure]) -> float:
        """Return the sum over all rounds of the largest upper end of their decompositions."""
        worst = [
            round_.times
            * max(reached(partial(ask, part, round_.n)).upper for part in round_.decompositions)
            for round_ in self.rounds
        ]
        return math.fsum(worst) * (1.0 + 8.0 * U)

    def _largest_round(self, ask: Callable[[Decomposition, int], Enclosure]) -> float:
        """Return the largest lower end of a single round on a pair of datasets."""
        return max(
            (
                reached(partial(ask, pair, round_.n)).lower
                for round_ in self.rounds
                for pair in round_.lower_decompositions
            ),
            default=0.0,
        )

    def _share(self, whole: float) -> float:
        """Return an equal share for each round, rounded down."""
        return whole / sum(round_.times for round_ in self.rounds) * (1.0 - 1e-12)


@dataclass(frozen=True)
class _EpsilonOfRounds(_CompositionQuestion):
    """The smallest ε at ``delta``."""

    rounds: Sequence[Round]
    goal: float
    delta: float

    @property
    def depth(self) -> float:
        """See `_CompositionQuestion`."""
        return 1.0

    @property
    def name(self) -> str:
        """The question in words."""
        return f"epsilon at delta = {self.delta!r}"

    def level(self, _: float) -> float:
        """See `_CompositionQuestion`."""
        return self.delta * min(0.05, 0.05 * self.goal * max(1.0, -2.0 * math.log(self.delta)))

    def end_above(self, loss_sum: LossSum) -> float:
        """See `_CompositionQuestion`."""
        return smallest_eps(loss_sum, self.delta)

    def end_below(self, loss_sum: LossSum) -> float:
        """See `_CompositionQuestion`."""
        return largest_eps(loss_sum, self.delta)

    def single_rounds(self) -> Enclosure:
        """See `_CompositionQuestion`; each round has an equal share of δ."""
        share = self._share(self.delta)
        upper = math.inf
        if share >= validation.MIN_DELTA:
            upper = self._sum_of_rounds(
                lambda part, n: enclosure_of(part, Quantity.EPSILON, n, share, None)
            )
        lower = self._largest_round(
            lambda part, n: enclosure_of(part, Quantity.EPSILON, n, self.delta, None)
        )
        return Enclosure(min(lower, upper), upper)


@dataclass(frozen=True)
class _DeltaOfRounds(_CompositionQuestion):
    """The smallest δ at ``eps``; ``guess`` estimates it."""

    rounds: Sequence[Round]
    goal: float
    eps: float
    guess: float

    @property
    def name(self) -> str:
        """The question in words."""
        return f"delta at eps = {self.eps!r}"

    @property
    def depth(self) -> float:
        """The relative error of δ over that of ε, of normal losses."""
        return max(1.0, -2.0 * math.log(max(self.guess, validation.MIN_DELTA)))

    def level(self, lower: float) -> float:
        """See `_CompositionQuestion`; nothing is known of δ without a lower bound."""
        return self._negligible_mass(lower or UNKNOWN_SHARE * min(self.guess, 0.1))

    def _negligible_mass(self, delta: float) -> float:
        """Return the mass that a lattice may neglect if the answer is about `delta`."""
        return 0.05 * self.goal * max(delta, validation.MIN_DELTA)

    def end_above(self, loss_sum: LossSum) -> float:
        """See `_CompositionQuestion`."""
        return delta_at(loss_sum, self.eps).upper

    def end_below(self, loss_sum: LossSum) -> float:
        """See `_CompositionQuestion`."""
        return min(delta_at(loss_sum, self.eps).lower, 1.0)

    def lattice_lower(self, density: float, rounds: Sequence[Round], lower: float) -> float:
        """See `_CompositionQuestion`; the lattice reaches further until it neglects little of δ."""
        delta, bound = lower or min(self.guess, 0.1), 0.0
        for _ in range(MAX_REACHES):
            bound = self._largest_end_below(rounds, density, self._negligible_mass(delta))
            if delta <= max(bound, lower, validation.MIN_DELTA):
                break
            delta = max(bound, 1e-3 * delta, validation.MIN_DELTA)
        return bound

    def single_rounds(self) -> Enclosure:
        """See `_CompositionQuestion`; each round has an equal share of ε."""
        share = self._share(self.eps)
        upper = self._sum_of_rounds(
            lambda part, n: enclosure_of(part, Quantity.DELTA, n, share, None)
        )
        lower = self._largest_round(
            lambda part, n: enclosure_of(part, Quantity.DELTA, n, self.eps, None)
        )
        return Enclosure(min(lower, upper, 1.0), min(upper, 1.0))


@dataclass
class _LatticeSearch:
    """Bounds of ε or δ of many rounds, narrowed lattice by lattice.

    If theory leaves a gap between the ends (``is_exact`` is false), the upper end is compared to
    ``floor``, a lower bound of the value that it approximates.
    """

    question: _CompositionQuestion
    is_exact: bool
    enclosure: Enclosure
    floor: float = 0.0

    def is_done(self) -> bool:
        """Return whether the ends are as close as requested, or as close as theory allows."""
        upper = self.enclosure.upper
        if upper <= validation.MIN_DELTA or self.enclosure.relative_width <= self.question.goal:
            return True
        is_known = not self.is_exact and math.isfinite(upper)
        return is_known and upper - self.floor <= self.question.goal * upper

    def intersect(self, lower: float, upper: float) -> None:
        """Intersect the enclosure with two bounds."""
        high = min(self.enclosure.upper, upper)
        self.enclosure = Enclosure(min(max(self.enclosure.lower, lower), high), high)

    def use_lattice(self, density: float, rounds: Sequence[Round]) -> None:
        """Use the bounds by a lattice."""
        low = self.question.lattice_lower(density, rounds, self.enclosure.lower)
        self.intersect(low, math.inf)
        if any(round_.crowds for round_ in rounds):
            density = min(density, CROWD_DENSITY)
        high = self.question.lattice_upper(density, rounds, self.enclosure.lower)
        self.intersect(0.0, high)

    def refine(self, density: float, rounds: Sequence[Round]) -> None:
        """Use a lattice of this density and then finer ones, as long as they help."""
        for _ in range(MAX_LATTICES):
            before = self.enclosure
            self.use_lattice(density, rounds)
            if not self.is_exact and self.enclosure.relative_width > self.question.goal:
                floor = self.question.lattice_floor(density, self.enclosure.lower)
                self.floor = max(self.floor, floor)
            if self.is_done():
                return
            is_stuck = self.enclosure.lower == before.lower == 0.0
            if is_stuck and self.enclosure.upper > GAIN * before.upper:
                return  # a finer lattice would not narrow the enclosure
            width = 1.0 - max(self.floor, self.enclosure.lower) / self.enclosure.upper
            density *= min(4.0, max(1.4, 1.2 * math.sqrt(width / self.question.goal)))

    def use_single_rounds(self) -> None:
        """Use the bounds of single rounds, even if the work budget is spent."""
        with budget(RESERVE), suppress(WorkError):
            bounds = self.question.single_rounds()
            self.intersect(bounds.lower, bounds.upper)


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

    def simple_bound(self) -> Composed | None:
        """Return the rounds with their simple bounds, which are fast; None if no round has one."""
        if not any(round_.simple for round_ in self.rounds):
            return None
        return Composed(
            tuple(
                Round(round_.simple_decompositions, round_.n, round_.times)
                for round_ in self.rounds
            )
        )

    @limited
    def epsilon(self, delta: float, *, rtol: float | None = None) -> Enclosure:
        """Enclose the smallest ε at which all rounds together are (ε, δ)-DP.

        Of two datasets that differ by the replacement of one user's input; n counts users who
        follow the protocol and do not collude. The decomposition must bound the victim's inputs in
        every round: docs/composition.md, section 1.

        Parameters
        ----------
        delta
            Target δ, 10⁻³⁰⁰ ≤ δ < 1.
        rtol
            The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻³, and leaves out
            of account what separates the ends in theory: a decomposition whose two directions
            differ, several of them in a round, and ``inner`` from ``outer``. In the first two
            cases it is the width to which ``upper`` is known, that of adaptively chosen rounds.

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
        goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
        if self.delta_limit() > delta:
            return Enclosure(math.inf, math.inf)
        end = self.largest_loss()
        question = _EpsilonOfRounds(self.rounds, goal, delta)
        outcomes = self._few_outcomes_enclosure(lambda losses: losses.eps(delta), end)
        return self._answer(question, outcomes, rtol)

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
        goal = DEFAULT_DELTA_RTOL if rtol is None else validation.rtol(rtol)
        if eps >= self.largest_loss():
            return Enclosure(0.0, 0.0)
        question = _DeltaOfRounds(self.rounds, goal, eps, self._guess(eps))
        outcomes = self._few_outcomes_enclosure(lambda losses: losses.delta(eps), 1.0)
        return self._answer(question, outcomes, rtol)

    def _answer(
        self, question: _CompositionQuestion, start: Enclosure, rtol: float | None
    ) -> Enclosure:
        """Return an enclosure that is narrow enough; raise PrecisionError if there is none.

        `start` is an enclosure that holds for certain.
        """
        goal, search = question.goal, _LatticeSearch(question, self._is_exact(), start)
        # The sums of few outcomes are exact: theory keeps the ends apart, and no lattice helps.
        if self._few_outcomes is not None and not search.is_exact and rtol is None:
            return start

        def enclosure_without_work() -> Enclosure:
            search.use_single_rounds()
            return search.enclosure

        with enclosed_so_far(enclosure_without_work):
            if not search.is_done():
                self._narrow(search)
        if not search.is_done():
            search.use_single_rounds()
        enclosure = search.enclosure
        if enclosure.relative_width > goal and (rtol is not None or not search.is_done()):
            raise PrecisionError(
                f"{question.name}, {sum(round_.times for round_ in self.rounds)} rounds is known "
                f"only to lie in [{enclosure.lower!r}, {enclosure.upper!r}]: relative width "
                f"{enclosure.relative_width:.1e} where rtol = {goal:g} was asked for; a larger "
                "rtol would help",
                enclosure,
            )
        return enclosure

    @cached_property
    def _few_outcomes(self) -> tuple[Losses, list[Losses]] | None:
        """The sums of the losses of few outcomes, from above and from below, if there are few."""
        return loss_bounds(self.rounds)

    def _few_outcomes_enclosure(self, bound: Callable[[Losses], float], end: float) -> Enclosure:
        """Return what the sums of few outcomes say, or [0, `end`] if there are many."""
        if self._few_outcomes is None:
            return Enclosure(0.0, end)
        above, below = self._few_outcomes
        upper = min(bound(above), end)
        return Enclosure(min(max(map(bound, below), default=0.0), upper), upper)

    def _narrow(self, search: _LatticeSearch) -> None:
        """Use a lattice that should be enough, and finer ones if it is not."""
        question = search.question
        density = math.sqrt(LATTICE_WIDTH * question.depth / question.goal)
        rounds: Sequence[Round] = self.rounds
        if len({round_.kind for round_ in rounds}) > MAX_KINDS:
            fewer_users, more_users = _with_users_rounded(rounds, MAX_ROUNDED_USERS)
            low = question.lattice_lower(1.5 * density, more_users, search.enclosure.lower)
            search.intersect(low, question.lattice_upper(1.5 * density, fewer_users, low))
            return
        if any(round_.crowds or len(round_.datasets or ()) > 1 for round_ in rounds):
            # A coarse lattice tells which datasets and bounds matter.
            search.use_lattice(COARSE_DENSITY, _blankets(rounds))
            lattice_lower = partial(question.lattice_lower, COARSE_DENSITY)
            rounds = _without_smaller_datasets(rounds, lattice_lower, search.enclosure.lower)
            # The blankets may be as good as the bound for all datasets, which takes long.
            if search.enclosure.lower > CLOSE_RATIO * search.enclosure.upper:
                search.use_lattice(density, _blankets(rounds))
        if not search.is_done():
            search.refine(density, rounds)

    def _is_exact(self) -> bool:
        """Return whether both ends bound the same quantity, so that a wide gap is a failure."""
        return all(round_.is_symmetric for round_ in self.rounds) and all(
            round_.datasets is None
            and len(round_.decompositions) == 1
            and round_.decompositions[0].is_finite()
            for round_ in self.rounds
        )

    def largest_loss(self) -> float:
        """Return an ε at which δ is certainly 0: the sum of those of all rounds."""
        losses = [
            round_.times
            * max(
                Problem.of(decomposition, round_.n).largest_loss()
                for decomposition in round_.decompositions
            )
            for round_ in self.rounds
        ]
        return math.fsum(losses) * (1.0 + 8.0 * U)

    def delta_limit(self) -> float:
        """Return a lower bound of δ at every ε, from outputs that only one input can produce."""
        log_complements = [0.0, 0.0]  # of the first and the last direction
        for round_ in self.rounds:
            for order in (0, -1):
                limits = (
                    delta_limit(pair.directions[order][0], round_.n)
                    for pair in round_.lower_decompositions
                )
                limit = max(limits, default=0.0)
                log_complements[order] += (
                    round_.times * math.log1p(-limit) if limit < 1.0 else -math.inf
                )
        return -math.expm1(min(log_complements)) * (1.0 - 1e-12)

    def _guess(self, eps: float) -> float:
        """Return an estimate of δ(ε), from a normal loss or from a single round."""
        variance = sum(round_.times * round_.size**2 for round_ in self.rounds)
        if variance == 0.0:
            return validation.MIN_DELTA
        excess = max(0.0, eps - 0.5 * variance)
        normal = math.exp(max(-0.5 * excess**2 / variance, math.log(validation.MIN_DELTA)))
        if eps > LARGEST_EPS:
            return normal
        # Far out, a single rare loss may be more likely than many typical ones.
        largest = max(self.rounds, key=lambda round_: round_.size)
        single = Problem.of(largest.most_telling[-1], largest.n).delta(eps, ROUGH_RTOL).lower
        return max(normal, single)


def _blankets(rounds: Sequence[Round]) -> list[Round]:
    """Return the rounds without the bound for all datasets."""
    return [replace(round_, crowds=()) for round_ in rounds]


def _without_smaller_datasets(
    rounds: Sequence[Round],
    lattice_lower: Callable[[Sequence[Round], float], float],
    lower: float,
) -> tuple[Round, ...]:
    """Return the rounds without the dataset pairs that certainly have smaller lower ends.

    The same pair is taken in all rounds. `lower` is a lower bound of the answer.
    """
    count = max(len(round_.datasets or ()) for round_ in rounds)
    if count < 2:
        return tuple(rounds)
    candidates = [tuple(round_.of_datasets([i]) for round_ in rounds) for i in range(count)]
    lows = [lattice_lower(candidate, lower) for candidate in candidates]
    kept_indices = [i for i in range(count) if lows[i] >= CLOSE_RATIO * max(lows)]
    return tuple(round_.of_datasets(kept_indices) for round_ in rounds)


def _with_users_rounded(rounds: Sequence[Round], numbers: int) -> tuple[list[Round], list[Round]]:
    """Return the rounds with numbers of users rounded down, and rounded up.

    The rounded values are about `numbers` many. D of every dataset does not grow with n, so that
    the first rounds bound the given ones from above and the second ones from below.
    """
    users = [round_.n for round_ in rounds]
    ratio = (max(users) / min(users)) ** (1.0 / numbers)
    inner = (math.ceil(min(users) * ratio**i) for i in range(1, numbers))
    grid = sorted({min(users), max(users), *(n for n in inner if n < max(users))})
    fewer_users: Counter[RoundKind] = Counter()
    more_users: Counter[RoundKind] = Counter()
    for round_ in rounds:
        decompositions, dataset_pairs, n = round_.kind
        fewer_users[decompositions, dataset_pairs, grid[bisect_right(grid, n) - 1]] += round_.times
        more_users[decompositions, dataset_pairs, grid[bisect_left(grid, n)]] += round_.times
    return _rounds_of_kinds(fewer_users), _rounds_of_kinds(more_users)


def _rounds_of_kinds(times: Mapping[RoundKind, int]) -> list[Round]:
    """Return a round for each kind, given how many there are of it."""
    return [
        Round(decompositions, n, count, dataset_pairs)
        for (decompositions, dataset_pairs, n), count in times.items()
    ]


def compose(
    rounds: Iterable[tuple[Decomposition | Randomizer | Iterable[Decomposition], int, int]],
) -> Composed:
    """Collect rounds of shuffling, one after the other, to ask for their ε and δ together.

    Parameters
    ----------
    rounds
        Triples (decomposition, n, times) in any order: n users, 1 to 10¹⁵, and how many such
        rounds; 10⁶ at most in all. In place of the `Decomposition` there may be several, such as
        ``MatrixRandomizer(P).blankets().values()``, any of which may be the worst in any round; or
        a `Randomizer`, of which upper ends are proven for all datasets and lower ends are those of
        pairs of datasets, the same pair in all rounds of a kind.

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
    Zhu, Dong and Wang (AISTATS 2022), Theorem 10; assumptions and proofs in docs/composition.md.

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
        round_of(mechanism, n, times)
        if isinstance(mechanism, Randomizer)
        else Round(tuple(mechanism) if isinstance(mechanism, Iterable) else (mechanism,), n, times)
        for mechanism, n, times in triples
    )
    # More losses on a lattice would not add up exactly (docs/composition.md, section 2).
    total = sum(round_.times for round_ in collected)
    validation.whole("rounds, all added up,", total, minimum=1, maximum=validation.MAX_ROUNDS)
    return Composed(collected)
