"""Composition: ε and δ of many rounds, each of decompositions or of a mechanism."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.problem import Problem, delta_limit, most_telling, typical_loss
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.round_laws import (
    Round,
    RoundKind,
    dominated,
    enumerated,
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

# Ordered pairs of inputs, and laws of others times components, beyond which the blankets have to
# do: every point of a round asks for all of them. And pairs of datasets that are composed. Speed
# and width only (benchmarks/mechanisms.py).
_MOST_PAIRS, _LARGEST, _TRIES = 60, 10_000, 4
# So few pairs are not looked at as one that stands for all, if there is one.
_FEW_PAIRS = 8
# Rare losses may count more than typical ones: of which δ the worst dataset is, how closely, and
# of how many datasets that is asked.
_RARE, _ROUGH, _MOST_ASKED = (1e-3, 1e-8), 0.05, 20
# Of so many components one pair of datasets is enough.
_LARGE = 110


def round_of(randomizer: Randomizer, n: int, times: int) -> Round:
    """`times` rounds of `n` users who share a randomizer.

    Upper ends hold whatever the others' inputs are, which may be chosen from what was seen
    (docs/composition.md, section 1). Raises ValueError for arguments out of range.
    """
    n = validation.users(n)
    crowds = both_directions(randomizer.crowds())
    if len(crowds) > _FEW_PAIRS or not _are_few(crowds):
        crowds = both_directions(randomizer.few_crowds())
        if any(one.kinds and supremum(one, 0.0, n) >= 1.0 for one in crowds):
            crowds = []  # nothing is proven of parts that are too different
    return Round(
        tuple(randomizer.blankets().values()),
        n,
        times,
        tuple(_attained(list(randomizer.known_datasets().values()), n)),
        tuple(crowds) if _are_few(crowds) else (),
        randomizer.simple_bound(),
    )


def _are_few(crowds: Sequence[Crowd]) -> bool:
    size = sum(one.size for one in crowds if not one.kinds)
    return len(crowds) <= _MOST_PAIRS and size <= _LARGEST


def _attained(known: Sequence[Decomposition], n: int) -> list[Decomposition]:
    """Few of them: those whose typical losses are largest, and the worst at some δ."""

    def rank(one: Decomposition) -> tuple[float, int]:
        return -float(f"{typical_loss(one, n):.3g}"), len(one)

    typical = sorted(most_telling(known), key=rank)
    if len(typical[0]) > _LARGE:
        return typical[:1]
    if not _TRIES < len(known) <= _MOST_ASKED:
        return typical[:_TRIES]
    found = typical[: _TRIES - len(_RARE)]
    for delta in _RARE:
        # Where the first of them has that δ, another one may have more.
        eps = reached(partial(single_shuffle.epsilon, typical[0], n, delta, rtol=_ROUGH)).lower
        at = min(eps, LARGEST_EPS)
        told = [Problem.of(one, n).delta(at, _ROUGH).lower for one in known]
        worst = known[told.index(max(told))]
        found += [worst] * all(worst is not one for one in found)
    return found


# Many rounds: certified (ε, δ) of sequential composition.
#
# Upper ends hold for rounds that are chosen adaptively, each dominated by the larger of both
# directions of its decomposition as a curve (Zhu, Dong, Wang, AISTATS 2022, Theorem 10). Lower
# ends are those of independent rounds on one fixed pair of datasets. docs/composition.md proves
# both.

DEFAULT_RTOL = 1e-3
# δ is that much less certain than ε.
DEFAULT_DELTA_RTOL = 0.05

# Width of ε times the square of the lattice points per standard deviation, an estimate.
WIDTH = 0.65
# The same with a margin, for goals of the default width or less: a few more lattice points save a
# second lattice (benchmarks/mechanisms.py).
FINE_WIDTH = 0.9
# Lattices that are tried after the planned ones. Enclosures of every lattice hold.
MAX_REFINEMENTS = 6
# Factor by which an upper end must fall for a lattice to count as a gain.
GAIN = 0.9
# Points per standard deviation above which a coarse lattice always comes first.
FINE_DENSITY = 100.0
# Points of a coarse lattice, as a share of those of the fine one.
COARSE_SHARE = 0.2
# Points per standard deviation below which a coarse lattice says too little.
LEAST_COARSE = 5.0
# Most points per standard deviation of a coarse lattice.
COARSE_DENSITY = 24.0
# Width that a coarse lattice leaves open, in units of the goal.
COARSE_WIDTH = 60.0
# Points per standard deviation of the lattice that is tried where the work is spent.
COARSEST_DENSITY = 6.0
# 2 log 1/δ above which the size of δ is not guessed well and a coarse lattice comes first.
DEEP = 100.0
# Share of the guess that stands for δ where no lower bound is known.
UNKNOWN_SHARE = 1e-21
# Kinds of rounds above which numbers of users are rounded before they are composed.
MOST_KINDS = 100
# Numbers of users that they are rounded to.
ROUNDED_NUMBERS = 48
# Most lattice points per standard deviation of the all-datasets bound, where a point costs 5 ms.
CROWD_DENSITY = 64.0
# The same for many pairs of inputs or patterns that are not listed, where a point costs 0.1 s.
DEAR_CROWD_DENSITY = 16.0
# Pairs of inputs of a round above which their composition costs more than the budget.
MOST_COMPOSED = 300


# A bound by a lattice of a density, in points per standard deviation, of some rounds, given what is
# known from below.
LatticeBound = Callable[[float, Sequence[Round], float], float]


@dataclass(frozen=True)
class _Question:
    """How to bound ε or δ of many rounds.

    ``above`` and ``below`` do so by a lattice. ``certain`` is a lower bound of what ``above``
    stands for, given a density and what is known from below. ``single`` is an upper bound from
    single rounds, and ``once`` a lower one. ``depth`` is how much less certain δ is than ε.
    """

    name: str
    above: LatticeBound
    below: LatticeBound
    certain: Callable[[float, float], float]
    single: Callable[[], float]
    once: Callable[[], float]
    depth: float


@dataclass
class _Answer:
    """Bounds of ε or δ of many rounds, narrowed lattice by lattice.

    Where theory keeps the ends apart (``is_exact`` is false), the upper end is held against
    ``floor``, a lower bound of what it stands for.
    """

    question: _Question
    goal: float
    is_exact: bool
    enclosure: Enclosure
    floor: float = 0.0

    def is_done(self) -> bool:
        """Whether the ends are as close as wanted, or as theory lets them be."""
        upper = self.enclosure.upper
        if upper <= validation.MIN_DELTA or self.enclosure.relative_width <= self.goal:
            return True
        is_known = not self.is_exact and math.isfinite(upper)
        return is_known and upper - self.floor <= self.goal * upper

    def meet(self, lower: float, upper: float) -> None:
        """Use two more bounds."""
        high = min(self.enclosure.upper, upper)
        self.enclosure = Enclosure(min(max(self.enclosure.lower, lower), high), high)

    def look(self, density: float, rounds: Sequence[Round], *, above: bool = True) -> None:
        """Use the bounds by a lattice; only those from below if not `above`."""
        question, low = self.question, self.enclosure.lower
        # Where the lower bound costs too much, the upper one may not.
        with suppress(WorkError):
            low = max(low, question.below(density, rounds, low))
        self.meet(low, math.inf)
        if not above:
            return
        most = min((_finest(round_.crowds) for round_ in rounds if round_.crowds), default=density)
        high = question.above(min(density, most), rounds, low)
        self.meet(max(low, question.once()) if low < 0.5 * high else low, high)

    def refine(self, density: float, rounds: Sequence[Round]) -> None:
        """Take finer lattices as long as they narrow the ends."""
        for _ in range(MAX_REFINEMENTS):
            if not self.is_exact and self.enclosure.relative_width > self.goal:
                lower = self.enclosure.lower
                self.floor = max(self.floor, self.question.certain(density, lower))
            if self.is_done():
                return
            before = self.enclosure
            width = 1.0 - max(self.floor, before.lower) / before.upper
            density *= min(4.0, max(1.4, 1.2 * math.sqrt(width / self.goal)))
            self.look(density, rounds)
            is_stuck = self.enclosure.lower == before.lower == 0.0
            if is_stuck and self.enclosure.upper > GAIN * before.upper:
                return  # it is not the lattice that keeps the ends apart

    def fall_back(self, rounds: Sequence[Round]) -> None:
        """Use what single rounds and the coarsest lattice say, with a reserve of work."""
        with reserve():
            self.meet(0.0, max(self.question.single(), self.enclosure.lower))
        if not self.enclosure.lower > 0.0:
            with reserve(), suppress(WorkError):
                self.look(COARSEST_DENSITY, rounds)


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
        return f"<Composed: {', '.join(f'{one.times} × n = {one.n}' for one in self.rounds)}>"

    def simple_bound(self) -> Composed | None:
        """The same rounds by bounds that take milliseconds; None if no round has one."""
        if not any(one.simple for one in self.rounds):
            return None
        return Composed(
            tuple(Round(one.simple_decompositions, one.n, one.times) for one in self.rounds)
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

        def certain(density: float, _: float) -> float:
            law = dominated(self.rounds, density, level)
            return math.inf if law is None else largest_eps(law, delta)

        def above(density: float, rounds: Sequence[Round], _: float) -> float:
            return min(smallest_eps(pessimistic_sum(rounds, density, level), delta), end)

        def below(density: float, rounds: Sequence[Round], _: float) -> float:
            laws = optimistic_sums(rounds, density, level)
            return max((largest_eps(law, delta) for law in laws), default=0.0)

        def once() -> float:
            return max(_once(one, delta) for one in self.rounds)

        name, single = f"epsilon at delta = {delta!r}", partial(self._single_rounds_epsilon, delta)
        question = _Question(name, above, below, certain, single, once, depth=1.0)
        known = self._few_outcomes_enclosure(lambda losses: losses.eps(delta), end)
        return self._answer(question, known, goal, rtol)

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
        small = 0.05 * goal

        def certain(density: float, known: float) -> float:
            law = dominated(self.rounds, density, small * max(known, validation.MIN_DELTA))
            return math.inf if law is None else delta_at(law, eps).lower

        def above(density: float, rounds: Sequence[Round], known: float) -> float:
            level = known or UNKNOWN_SHARE * min(guess, 0.1)
            law = pessimistic_sum(rounds, density, small * max(level, validation.MIN_DELTA))
            return min(delta_at(law, eps).upper, 1.0)

        def below(density: float, rounds: Sequence[Round], known: float) -> float:
            level, found = known or min(guess, 0.1), 0.0
            for _ in range(8):
                laws = optimistic_sums(rounds, density, small * level)
                found = min(max((delta_at(law, eps).lower for law in laws), default=0.0), 1.0)
                if level <= max(found, known, validation.MIN_DELTA):
                    break
                level = max(found, 1e-3 * level, validation.MIN_DELTA)
            return found

        name, single = f"delta at eps = {eps!r}", partial(self._single_rounds_delta, eps)
        question = _Question(name, above, below, certain, single, lambda: 0.0, depth)
        known = self._few_outcomes_enclosure(lambda losses: losses.delta(eps), 1.0)
        return self._answer(question, known, goal, rtol)

    def _answer(
        self, question: _Question, known: Enclosure, goal: float, rtol: float | None
    ) -> Enclosure:
        """The first enclosure that is narrow enough, of ever more lattice points."""
        answer = _Answer(question, goal, self._is_exact(), known)
        # The sums of few outcomes say all there is to say: theory keeps the ends apart.
        if self._few_outcomes is not None and not answer.is_exact and rtol is None:
            return known
        # Where the work is spent, what is known so far is the answer.
        with suppress(WorkError):
            self._narrow(answer)
        if answer.enclosure.relative_width > goal:
            answer.fall_back(self._blankets())
        enclosure = answer.enclosure
        if enclosure.relative_width > goal and (rtol is not None or not answer.is_done()):
            is_short = self._most_decompositions() <= MOST_COMPOSED
            advice = "a larger rtol" if is_short else "fewer inputs that are not alike"
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
        return enumerated(self.rounds)

    def _few_outcomes_enclosure(self, bound: Callable[[Losses], float], end: float) -> Enclosure:
        """What the sums of few outcomes say, or that the answer is at most `end`."""
        if self._few_outcomes is None:
            return Enclosure(0.0, end)
        above, below = self._few_outcomes
        upper = min(bound(above), end)
        return Enclosure(min(max(map(bound, below), default=0.0), upper), upper)

    def _narrow(self, answer: _Answer) -> None:
        """Carry out the plan: which lattices, of which rounds, one after the other."""
        if answer.is_done():
            return
        rounds: Sequence[Round] = self.rounds
        width = FINE_WIDTH if answer.goal <= DEFAULT_RTOL else WIDTH
        density = math.sqrt(width * answer.question.depth / answer.goal)
        if self._most_decompositions() > MOST_COMPOSED:
            answer.look(COARSE_DENSITY, rounds, above=False)
            return
        if len({round_.kind for round_ in rounds}) > MOST_KINDS:
            self._look_at_rounded_users(answer, 1.5 * density)
            return
        has_crowds = any(round_.crowds for round_ in rounds)
        has_datasets = any(len(round_.attained or ()) > 1 for round_ in rounds)
        coarse, coarse_upper = min(COARSE_SHARE * density, COARSE_DENSITY), math.inf
        is_unsure = has_crowds or has_datasets or answer.question.depth > DEEP
        if density > FINE_DENSITY or (coarse > LEAST_COARSE and is_unsure):
            answer.look(coarse, self._blankets())
            coarse_upper = answer.enclosure.upper
            if has_datasets:
                below = partial(answer.question.below, coarse)
                rounds = _worst(rounds, below, answer.enclosure.lower, answer.goal)
        blankets = [replace(round_, crowds=()) for round_ in rounds]
        # Blankets cost little, and often say all there is to say; not if a coarse lattice says that
        # they are far above the lower end.
        is_apart = coarse_upper < math.inf and not _are_close(
            answer.enclosure.lower, coarse_upper, answer.goal
        )
        if has_crowds and not is_apart:
            answer.look(density, blankets)
        if not answer.is_done():
            answer.look(density, rounds)
        if has_crowds and is_apart and answer.enclosure.upper > GAIN * coarse_upper:
            answer.look(density, blankets)
        answer.refine(density, rounds)

    def _look_at_rounded_users(self, answer: _Answer, density: float) -> None:
        """Bounds by fewer kinds of rounds, of fewer and of more users."""
        fewer, more = _with_users_rounded(self.rounds, ROUNDED_NUMBERS)
        low = answer.question.below(density, more, answer.enclosure.lower)
        answer.meet(low, answer.question.above(density, fewer, low))

    def _blankets(self) -> list[Round]:
        """The rounds without what is known of all datasets."""
        return [replace(round_, crowds=()) for round_ in self.rounds]

    def _most_decompositions(self) -> int:
        """The largest number of decompositions of a round."""
        return max(len(round_.decompositions) for round_ in self.rounds)

    def _single_rounds_epsilon(self, delta: float) -> float:
        """Basic composition: an upper bound of ε from that of each round at its share of δ."""
        each = delta / sum(one.times for one in self.rounds) * (1.0 - 1e-12)
        if each < validation.MIN_DELTA:
            return math.inf
        return self._single_rounds_sum(lambda one, n: single_shuffle.epsilon(one, n, each))

    def _single_rounds_delta(self, eps: float) -> float:
        """The same of δ, from that of each round at its share of ε."""
        each = eps / sum(one.times for one in self.rounds) * (1.0 - 1e-12)
        return min(self._single_rounds_sum(lambda one, n: single_shuffle.delta(one, each, n)), 1.0)

    def _single_rounds_sum(self, ask: Callable[[Decomposition, int], Enclosure]) -> float:
        """What the worst of all decompositions of each round has, added up."""
        found = [
            one.times * max(reached(partial(ask, part, one.n)).upper for part in one.decompositions)
            for one in self.rounds
        ]
        return math.fsum(found) * (1.0 + 8.0 * U)

    def _is_exact(self) -> bool:
        """Whether the two ends mean the same, so that a wide enclosure is a failure."""
        return all(one.is_symmetric for one in self.rounds) and all(
            one.attained is None
            and len(one.decompositions) == 1
            and one.decompositions[0].is_finite()
            for one in self.rounds
        )

    def largest_loss(self) -> float:
        """An ε at which δ is certainly 0: that of the rounds add up."""
        losses = [
            one.times * max(Problem.of(each, one.n).largest_loss() for each in one.decompositions)
            for one in self.rounds
        ]
        return math.fsum(losses) * (1.0 + 8.0 * U)

    def delta_limit(self) -> float:
        """A lower bound of δ at every ε, from outputs that the other input never gives."""
        spared = [0.0, 0.0]  # of the first and the last direction
        for one in self.rounds:
            for order in (0, -1):
                known = (delta_limit(each.directions[order][0], one.n) for each in one.lowest)
                told = max(known, default=0.0)
                spared[order] += one.times * math.log1p(-told) if told < 1.0 else -math.inf
        return -math.expm1(min(spared)) * (1.0 - 1e-12)

    def _guess(self, eps: float) -> float:
        """A rough δ(ε), from a normal loss or from a single round."""
        variance = sum(one.times * one.size**2 for one in self.rounds)
        if variance == 0.0:
            return validation.MIN_DELTA
        excess = max(0.0, eps - 0.5 * variance)
        normal = math.exp(max(-0.5 * excess**2 / variance, math.log(validation.MIN_DELTA)))
        if eps > LARGEST_EPS:
            return normal
        # Far out a single loss that is rare may be likelier than many that are not.
        largest = max(self.rounds, key=lambda one: one.size)
        single = Problem.of(largest.telling[-1], largest.n).delta(eps, _ROUGH).lower
        return max(normal, single)


def _finest(crowds: Sequence[Crowd]) -> float:
    """Lattice points per standard deviation that are worth what it costs."""
    dear = len(crowds) > _FEW_PAIRS or any(one.kinds for one in crowds)
    return DEAR_CROWD_DENSITY if dear else CROWD_DENSITY


def _are_close(low: float, high: float, goal: float) -> bool:
    """Whether a coarse lattice might take these for the same."""
    return low >= math.exp(-COARSE_WIDTH * goal) * high


def _worst(
    rounds: Sequence[Round],
    below: Callable[[Sequence[Round], float], float],
    known: float,
    goal: float,
) -> tuple[Round, ...]:
    """Without the datasets that are certainly not the worst, each in all rounds."""
    count = max(len(one.attained or ()) for one in rounds)
    chosen = [tuple(one.of_datasets([i]) for one in rounds) for i in range(count)]
    lows = [below(some, known) for some in chosen]
    kept = [i for i in range(count) if _are_close(lows[i], max(lows), goal)]
    return tuple(one.of_datasets(kept) for one in rounds)


def _with_users_rounded(rounds: Sequence[Round], numbers: int) -> tuple[list[Round], list[Round]]:
    """The same rounds of fewer users, which tell no less, and of more, by their blankets.

    Of about so many numbers of users: D of every dataset does not grow with n.
    """
    users = [one.n for one in rounds]
    ratio = (max(users) / min(users)) ** (1.0 / numbers)
    inner = (math.ceil(min(users) * ratio**i) for i in range(1, numbers))
    grid = sorted({min(users), max(users), *(n for n in inner if n < max(users))})
    fewer: Counter[RoundKind] = Counter()
    more: Counter[RoundKind] = Counter()
    for one in rounds:
        above, below, n = one.kind
        fewer[above, below, grid[bisect_right(grid, n) - 1]] += one.times
        more[above, below, grid[bisect_left(grid, n)]] += one.times
    return _rounds(fewer), _rounds(more)


def _rounds(times: Mapping[RoundKind, int]) -> list[Round]:
    return [Round(above, n, count, below) for (above, below, n), count in times.items()]


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
    listed = list(rounds) if isinstance(rounds, Iterable) else [rounds]
    if not listed or not all(isinstance(one, tuple) and len(one) == 3 for one in listed):
        raise ValueError(
            f"rounds must be one or more triples (decomposition, n, times), got {rounds!r}"
        )
    found = tuple(
        round_of(given, n, times)
        if isinstance(given, Randomizer)
        else Round(tuple(given) if isinstance(given, Iterable) else (given,), n, times)
        for given, n, times in listed
    )
    # More losses on a lattice would not add up exactly (docs/composition.md, section 2).
    total = sum(one.times for one in found)
    validation.whole("rounds, all added up,", total, minimum=1, maximum=validation.MAX_ROUNDS)
    return Composed(found)


def _once(one: Round, delta: float) -> float:
    """A lower bound of ε of a single round."""
    found = (reached(partial(single_shuffle.epsilon, each, one.n, delta)) for each in one.lowest)
    return max((ends.lower for ends in found), default=0.0)
