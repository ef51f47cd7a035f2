"""Composition: certified ε and δ of many rounds, each of decompositions or of a mechanism.

Upper ends hold for rounds that are chosen adaptively. Each round is dominated by the larger of both
directions of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower ends
are those of independent rounds on one fixed pair of datasets. docs/composition.md proves both.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.few_outcomes import loss_bounds
from shufflebounds.accounting.problem import Problem, delta_limit, most_telling, typical_loss
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.round_laws import (
    Round,
    RoundKind,
    dominated_sum,
    optimistic_sums,
    pessimistic_sum,
)
from shufflebounds.accounting.simple_bounds import no_worse_than_simple_bound
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.core.work import WorkError, limited, reserve
from shufflebounds.divergence.convolution import Losses
from shufflebounds.divergence.lattice import delta_at, largest_eps, smallest_eps
from shufflebounds.divergence.law import U
from shufflebounds.divergence.supremum import supremum
from shufflebounds.randomizers.base import Randomizer

# Largest number of ordered pairs of inputs for which the bound for all datasets is composed. Each
# point of a round asks for all of them. Speed and width only (benchmarks/mechanisms.py).
MAX_PAIRS = 60
# Largest number of laws of other users times components for that bound. Speed and width only.
MAX_LAW_SIZE = 10_000
# Most dataset pairs whose lower ends are composed. Speed and width only.
MAX_DATASETS = 4
# Up to this number of ordered pairs of inputs, all are composed. More are replaced by a single one
# that covers all, if there is one.
MAX_PAIRS_LISTED = 8
# Values of δ at which the worst dataset pair is composed too: rare losses may count more than
# typical ones.
RARE_DELTAS = (1e-3, 1e-8)
# Relative width of enclosures of δ that choose dataset pairs or guess the size of δ.
ROUGH_RTOL = 0.05
# Most dataset pairs that are compared at such a δ. Speed only.
MAX_DATASETS_COMPARED = 20
# Most components of a dataset pair for which more than one pair is composed. Speed only.
MAX_COMPONENTS_COMPARED = 110
# Relative width of ε where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-3
# Relative width of δ where the caller gives no `rtol`. A relative error of ε costs more in δ.
DEFAULT_DELTA_RTOL = 0.05
# Relative width of ε times the square of the lattice points per standard deviation, an estimate.
LATTICE_WIDTH = 0.65
# The same with a margin, for goals of the default width or less: a few more lattice points save a
# second lattice (benchmarks/mechanisms.py).
FINE_LATTICE_WIDTH = 0.9
# Most lattices that are tried after the planned ones. Enclosures of every lattice hold.
MAX_REFINEMENTS = 6
# Factor by which an upper end must fall for a lattice to count as a gain.
GAIN = 0.9
# Points per standard deviation above which a coarse lattice always comes first.
FINE_DENSITY = 100.0
# Points of a coarse lattice, as a share of those of the fine one.
COARSE_SHARE = 0.2
# Points per standard deviation below which a coarse lattice is not worth its time.
MIN_COARSE_DENSITY = 5.0
# Most points per standard deviation of a coarse lattice.
COARSE_DENSITY = 24.0
# Width that a coarse lattice leaves open, in units of the goal.
COARSE_WIDTH = 60.0
# Points per standard deviation of the lattice that is tried when the work budget is spent.
COARSEST_DENSITY = 6.0
# Largest 2 log 1/δ for which the size of δ is guessed well. Above, a coarse lattice comes first.
MAX_SHALLOW_DEPTH = 100.0
# Share of the guess that stands for δ where no lower bound is known.
UNKNOWN_SHARE = 1e-21
# Largest number of kinds of rounds that are composed without rounding their numbers of users.
MAX_KINDS = 100
# Number of values to which numbers of users are rounded otherwise.
MAX_ROUNDED_USERS = 48
# Most lattice points per standard deviation of the all-datasets bound, where a point costs 5 ms.
CROWD_DENSITY = 64.0
# The same for many pairs of inputs or patterns that are not listed, where a point costs 0.1 s.
SLOW_CROWD_DENSITY = 16.0
# Largest number of pairs of inputs of a round whose composition stays within the work budget.
MAX_COMPOSED_PAIRS = 300

# A function that returns a bound by a lattice, given its points per standard deviation, the rounds,
# and a lower bound of the answer.
LatticeBound = Callable[[float, Sequence[Round], float], float]


def round_of(randomizer: Randomizer, n: int, times: int) -> Round:
    """Return `times` rounds of `n` users who share a randomizer.

    Upper ends hold for all inputs of the other users, even if they depend on earlier outputs
    (docs/composition.md, section 1). Raises ValueError for arguments out of range.
    """
    n = validation.users(n)
    crowds = both_directions(randomizer.crowds())
    if len(crowds) > MAX_PAIRS_LISTED or not _are_affordable(crowds):
        crowds = both_directions(randomizer.few_crowds())
        if any(crowd.kinds and supremum(crowd, 0.0, n) >= 1.0 for crowd in crowds):
            crowds = []  # the bound is trivial if the parts differ too much
    return Round(
        tuple(randomizer.blankets().values()),
        n,
        times,
        tuple(_selected_datasets(list(randomizer.known_datasets().values()), n)),
        tuple(crowds) if _are_affordable(crowds) else (),
        randomizer.simple_bound(),
    )


def _are_affordable(crowds: Sequence[Crowd]) -> bool:
    """Return whether the bound for all datasets can be composed within the work budget."""
    size = sum(crowd.size for crowd in crowds if not crowd.kinds)
    return len(crowds) <= MAX_PAIRS and size <= MAX_LAW_SIZE


def _selected_datasets(pairs: Sequence[Decomposition], n: int) -> list[Decomposition]:
    """Return at most `MAX_DATASETS` of the dataset pairs.

    They are those with the largest typical loss and the worst one at each δ in `RARE_DELTAS`.
    """

    def rank(decomposition: Decomposition) -> tuple[float, int]:
        return -float(f"{typical_loss(decomposition, n):.3g}"), len(decomposition)

    ranked = sorted(most_telling(pairs), key=rank)
    if len(ranked[0]) > MAX_COMPONENTS_COMPARED:
        return ranked[:1]
    if not MAX_DATASETS < len(pairs) <= MAX_DATASETS_COMPARED:
        return ranked[:MAX_DATASETS]
    selection = ranked[: MAX_DATASETS - len(RARE_DELTAS)]
    for delta in RARE_DELTAS:
        # Another pair may have a larger δ at the ε where the first one has that δ.
        eps = reached(partial(single_shuffle.epsilon, ranked[0], n, delta, rtol=ROUGH_RTOL)).lower
        at = min(eps, LARGEST_EPS)
        lower_deltas = [Problem.of(pair, n).delta(at, ROUGH_RTOL).lower for pair in pairs]
        worst = pairs[lower_deltas.index(max(lower_deltas))]
        selection += [worst] * all(worst is not pair for pair in selection)
    return selection


@dataclass(frozen=True)
class _CompositionQuestion:
    """The functions that bound ε or δ of many rounds.

    ``lattice_upper`` and ``lattice_lower`` return bounds by a lattice. ``lattice_floor`` returns a
    lower bound of the value that ``lattice_upper`` approximates, given a density and a lower bound
    of the answer. ``single_rounds_upper`` and ``single_round_lower`` return bounds from single
    rounds. ``depth`` is the relative error of δ divided by that of ε, 1 if ε is asked for.
    """

    name: str
    lattice_upper: LatticeBound
    lattice_lower: LatticeBound
    lattice_floor: Callable[[float, float], float]
    single_rounds_upper: Callable[[], float]
    single_round_lower: Callable[[], float]
    depth: float


@dataclass
class _LatticeSearch:
    """Bounds of ε or δ of many rounds, narrowed lattice by lattice.

    If theory leaves a gap between the ends (``is_exact`` is false), the upper end is compared to
    ``floor``, a lower bound of the value that it approximates.
    """

    question: _CompositionQuestion
    goal: float
    is_exact: bool
    enclosure: Enclosure
    floor: float = 0.0

    def is_done(self) -> bool:
        """Return whether the ends are as close as requested, or as close as theory allows."""
        upper = self.enclosure.upper
        if upper <= validation.MIN_DELTA or self.enclosure.relative_width <= self.goal:
            return True
        is_known = not self.is_exact and math.isfinite(upper)
        return is_known and upper - self.floor <= self.goal * upper

    def intersect(self, lower: float, upper: float) -> None:
        """Intersect the enclosure with two bounds."""
        high = min(self.enclosure.upper, upper)
        self.enclosure = Enclosure(min(max(self.enclosure.lower, lower), high), high)

    def use_lattice(
        self, density: float, rounds: Sequence[Round], *, also_upper: bool = True
    ) -> None:
        """Use the bounds by a lattice, only the lower one if not `also_upper`."""
        question, low = self.question, self.enclosure.lower
        # The upper bound may be affordable although the lower one is not.
        with suppress(WorkError):
            low = max(low, question.lattice_lower(density, rounds, low))
        self.intersect(low, math.inf)
        if not also_upper:
            return
        max_density = min(
            (_max_density(round_.crowds) for round_ in rounds if round_.crowds), default=density
        )
        high = question.lattice_upper(min(density, max_density), rounds, low)
        self.intersect(max(low, question.single_round_lower()) if low < 0.5 * high else low, high)

    def refine(self, density: float, rounds: Sequence[Round]) -> None:
        """Use finer lattices as long as they narrow the enclosure."""
        for _ in range(MAX_REFINEMENTS):
            if not self.is_exact and self.enclosure.relative_width > self.goal:
                lower = self.enclosure.lower
                self.floor = max(self.floor, self.question.lattice_floor(density, lower))
            if self.is_done():
                return
            before = self.enclosure
            width = 1.0 - max(self.floor, before.lower) / before.upper
            density *= min(4.0, max(1.4, 1.2 * math.sqrt(width / self.goal)))
            self.use_lattice(density, rounds)
            is_stuck = self.enclosure.lower == before.lower == 0.0
            if is_stuck and self.enclosure.upper > GAIN * before.upper:
                return  # a finer lattice would not narrow the enclosure

    def use_fallbacks(self, rounds: Sequence[Round]) -> None:
        """Use the bounds of single rounds and of the coarsest lattice, with a reserve of work."""
        with reserve():
            self.intersect(0.0, max(self.question.single_rounds_upper(), self.enclosure.lower))
        if not self.enclosure.lower > 0.0:
            with reserve(), suppress(WorkError):
                self.use_lattice(COARSEST_DENSITY, rounds)


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

    @no_worse_than_simple_bound()
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
        depth = max(1.0, -2.0 * math.log(delta))

        level = delta * min(0.05, 0.05 * goal * depth)

        def lattice_floor(density: float, _: float) -> float:
            loss_sum = dominated_sum(self.rounds, density, level)
            return math.inf if loss_sum is None else largest_eps(loss_sum, delta)

        def lattice_upper(density: float, rounds: Sequence[Round], _: float) -> float:
            return min(smallest_eps(pessimistic_sum(rounds, density, level), delta), end)

        def lattice_lower(density: float, rounds: Sequence[Round], _: float) -> float:
            loss_sums = optimistic_sums(rounds, density, level)
            return max((largest_eps(loss_sum, delta) for loss_sum in loss_sums), default=0.0)

        def single_round_lower() -> float:
            return max(_single_round_lower_bound(round_, delta) for round_ in self.rounds)

        question = _CompositionQuestion(
            f"epsilon at delta = {delta!r}",
            lattice_upper,
            lattice_lower,
            lattice_floor,
            partial(self._single_rounds_epsilon, delta),
            single_round_lower,
            depth=1.0,
        )
        outcomes = self._few_outcomes_enclosure(lambda losses: losses.eps(delta), end)
        return self._answer(question, outcomes, goal, rtol)

    @no_worse_than_simple_bound()
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
        guess = self._guess(eps)
        depth = max(1.0, -2.0 * math.log(max(guess, validation.MIN_DELTA)))
        share = 0.05 * goal

        def lattice_floor(density: float, lower: float) -> float:
            loss_sum = dominated_sum(self.rounds, density, share * max(lower, validation.MIN_DELTA))
            return math.inf if loss_sum is None else delta_at(loss_sum, eps).lower

        def lattice_upper(density: float, rounds: Sequence[Round], lower: float) -> float:
            level = lower or UNKNOWN_SHARE * min(guess, 0.1)
            loss_sum = pessimistic_sum(rounds, density, share * max(level, validation.MIN_DELTA))
            return min(delta_at(loss_sum, eps).upper, 1.0)

        def lattice_lower(density: float, rounds: Sequence[Round], lower: float) -> float:
            level, bound = lower or min(guess, 0.1), 0.0
            for _ in range(8):
                loss_sums = optimistic_sums(rounds, density, share * level)
                bound = min(
                    max((delta_at(loss_sum, eps).lower for loss_sum in loss_sums), default=0.0), 1.0
                )
                if level <= max(bound, lower, validation.MIN_DELTA):
                    break
                level = max(bound, 1e-3 * level, validation.MIN_DELTA)
            return bound

        question = _CompositionQuestion(
            f"delta at eps = {eps!r}",
            lattice_upper,
            lattice_lower,
            lattice_floor,
            partial(self._single_rounds_delta, eps),
            lambda: 0.0,
            depth,
        )
        outcomes = self._few_outcomes_enclosure(lambda losses: losses.delta(eps), 1.0)
        return self._answer(question, outcomes, goal, rtol)

    def _answer(
        self, question: _CompositionQuestion, start: Enclosure, goal: float, rtol: float | None
    ) -> Enclosure:
        """Return an enclosure that is narrow enough; raise PrecisionError if there is none.

        `start` is an enclosure that holds for certain, `goal` the relative width to reach.
        """
        search = _LatticeSearch(question, goal, self._is_exact(), start)
        # The sums of few outcomes are exact: theory keeps the ends apart, and no lattice helps.
        if self._few_outcomes is not None and not search.is_exact and rtol is None:
            return start
        # If the work budget is spent, the enclosure so far is the answer.
        with suppress(WorkError):
            self._run_plan(search)
        if search.enclosure.relative_width > goal:
            search.use_fallbacks(self._blankets())
        enclosure = search.enclosure
        if enclosure.relative_width > goal and (rtol is not None or not search.is_done()):
            are_few = self._most_decompositions() <= MAX_COMPOSED_PAIRS
            advice = "a larger rtol" if are_few else "fewer inputs that are not alike"
            raise PrecisionError(
                f"{question.name}, {sum(round_.times for round_ in self.rounds)} rounds is known "
                f"only to lie in [{enclosure.lower!r}, {enclosure.upper!r}]: relative width "
                f"{enclosure.relative_width:.1e} where rtol = {goal:g} was asked for; {advice} "
                "would help",
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

    def _run_plan(self, search: _LatticeSearch) -> None:
        """Try the planned lattices, from coarse to fine."""
        if search.is_done():
            return
        rounds: Sequence[Round] = self.rounds
        width = FINE_LATTICE_WIDTH if search.goal <= DEFAULT_RTOL else LATTICE_WIDTH
        density = math.sqrt(width * search.question.depth / search.goal)
        if self._most_decompositions() > MAX_COMPOSED_PAIRS:
            search.use_lattice(COARSE_DENSITY, rounds, also_upper=False)
            return
        if len({round_.kind for round_ in rounds}) > MAX_KINDS:
            self._use_rounded_users(search, 1.5 * density)
            return
        has_crowds = any(round_.crowds for round_ in rounds)
        has_datasets = any(len(round_.datasets or ()) > 1 for round_ in rounds)
        coarse, coarse_upper = min(COARSE_SHARE * density, COARSE_DENSITY), math.inf
        is_unsure = has_crowds or has_datasets or search.question.depth > MAX_SHALLOW_DEPTH
        if density > FINE_DENSITY or (coarse > MIN_COARSE_DENSITY and is_unsure):
            search.use_lattice(coarse, self._blankets())
            coarse_upper = search.enclosure.upper
            if has_datasets:
                lattice_lower = partial(search.question.lattice_lower, coarse)
                rounds = _without_smaller_datasets(
                    rounds, lattice_lower, search.enclosure.lower, search.goal
                )
        blankets = [replace(round_, crowds=()) for round_ in rounds]
        # Blankets are fast and often narrow enough, unless a coarse lattice shows that they are far
        # above the lower end.
        is_blanket_loose = coarse_upper < math.inf and not _are_close(
            search.enclosure.lower, coarse_upper, search.goal
        )
        if has_crowds and not is_blanket_loose:
            search.use_lattice(density, blankets)
        if not search.is_done():
            search.use_lattice(density, rounds)
        if has_crowds and is_blanket_loose and search.enclosure.upper > GAIN * coarse_upper:
            search.use_lattice(density, blankets)
        search.refine(density, rounds)

    def _use_rounded_users(self, search: _LatticeSearch, density: float) -> None:
        """Use bounds by rounds with numbers of users rounded down and up, which are fewer kinds."""
        fewer_users, more_users = _with_users_rounded(self.rounds, MAX_ROUNDED_USERS)
        low = search.question.lattice_lower(density, more_users, search.enclosure.lower)
        search.intersect(low, search.question.lattice_upper(density, fewer_users, low))

    def _blankets(self) -> list[Round]:
        """Return the rounds without the bound for all datasets."""
        return [replace(round_, crowds=()) for round_ in self.rounds]

    def _most_decompositions(self) -> int:
        """Return the largest number of decompositions of a round."""
        return max(len(round_.decompositions) for round_ in self.rounds)

    def _single_rounds_epsilon(self, delta: float) -> float:
        """Return the upper bound of ε by basic composition, each round at an equal share of δ."""
        share = delta / sum(round_.times for round_ in self.rounds) * (1.0 - 1e-12)
        if share < validation.MIN_DELTA:
            return math.inf
        return self._single_rounds_sum(lambda part, n: single_shuffle.epsilon(part, n, share))

    def _single_rounds_delta(self, eps: float) -> float:
        """Return the upper bound of δ by basic composition, each round at an equal share of ε."""
        share = eps / sum(round_.times for round_ in self.rounds) * (1.0 - 1e-12)
        return min(
            self._single_rounds_sum(lambda part, n: single_shuffle.delta(part, share, n)), 1.0
        )

    def _single_rounds_sum(self, ask: Callable[[Decomposition, int], Enclosure]) -> float:
        """Return the sum over all rounds of the largest upper end of their decompositions."""
        worst = [
            round_.times
            * max(reached(partial(ask, part, round_.n)).upper for part in round_.decompositions)
            for round_ in self.rounds
        ]
        return math.fsum(worst) * (1.0 + 8.0 * U)

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


def _max_density(crowds: Sequence[Crowd]) -> float:
    """Return the most lattice points per standard deviation for the bound by these crowds."""
    is_slow = len(crowds) > MAX_PAIRS_LISTED or any(crowd.kinds for crowd in crowds)
    return SLOW_CROWD_DENSITY if is_slow else CROWD_DENSITY


def _are_close(low: float, high: float, goal: float) -> bool:
    """Return whether a coarse lattice may fail to distinguish these bounds."""
    return low >= math.exp(-COARSE_WIDTH * goal) * high


def _without_smaller_datasets(
    rounds: Sequence[Round],
    lattice_lower: Callable[[Sequence[Round], float], float],
    lower: float,
    goal: float,
) -> tuple[Round, ...]:
    """Return the rounds without the dataset pairs that certainly have smaller lower ends.

    The same pair is taken in all rounds. `lower` is a lower bound of the answer.
    """
    count = max(len(round_.datasets or ()) for round_ in rounds)
    candidates = [tuple(round_.of_datasets([i]) for round_ in rounds) for i in range(count)]
    lows = [lattice_lower(candidate, lower) for candidate in candidates]
    kept_indices = [i for i in range(count) if _are_close(lows[i], max(lows), goal)]
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


def _single_round_lower_bound(round_: Round, delta: float) -> float:
    """Return a lower bound of ε of a single round."""
    enclosures = (
        reached(partial(single_shuffle.epsilon, pair, round_.n, delta))
        for pair in round_.lower_decompositions
    )
    return max((ends.lower for ends in enclosures), default=0.0)
