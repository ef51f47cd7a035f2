"""Composition: ε and δ of many rounds, each of decompositions or of a mechanism."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from shufflebounds.accounting import single_shuffle
from shufflebounds.accounting.problem import Problem, most_telling, never_below, typical_loss
from shufflebounds.accounting.root_search import LARGEST_EPS
from shufflebounds.accounting.round_laws import (
    Round,
    RoundKind,
    dominated,
    optimistic_sums,
    pessimistic_sum,
)
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError, reached
from shufflebounds.core.work import WorkError, limited, reserve
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

# ε is wide by about this over the square of the lattice points per standard deviation; and a little
# more points spare fine lattices a second one (benchmarks/mechanisms.py).
_WIDTH, _FINE_WIDTH = 0.65, 0.9
# Lattices that are tried after the first, and what is no gain from one to the next. Enclosures of
# every lattice hold: what it costs is in benchmarks/rounds.py.
_REFINEMENTS, _GAIN = 6, 0.9
# From where on a coarse lattice always comes first. That one, as a share of the fine one, at least
# and at most, what it leaves open in terms of the fine one's width, and the one to fall back on.
_FINE, _SHARE, _LEAST_COARSE, _COARSE, _COARSELY, _COARSEST = 100.0, 0.2, 5.0, 24.0, 60.0, 6.0
# Of δ, 2 log 1/δ from where on its size is not guessed well, and has to be looked for coarsely.
_DEEP = 100.0
# What is taken for δ where nothing is known from below, as a share of what it seems to be.
_UNKNOWN = 1e-21
# Kinds of rounds beyond which numbers of users are rounded first, and to how many of them.
_MOST_KINDS, _FEW_NUMBERS = 100, 48
# Of what is proven for all datasets, whose every point takes some milliseconds; and of many pairs,
# or if patterns of inputs are not even listed, a tenth of a second.
_FINEST_OF_CROWDS, _FINEST_OF_DEAR = 64.0, 16.0
# Pairs of inputs of a round beyond which composing them would take more than there is to spend.
_MOST_COMPOSED = 300


# A bound on lattices of so many points, of these rounds, given what is known from below.
Bounded = Callable[[float, Sequence[Round], float], float]


@dataclass(frozen=True)
class _Asked:
    """How to bound ε or δ of many rounds, from above and from below.

    ``certain`` is a lower bound of what upper ends stand for, ``single`` an upper bound from single
    rounds, and ``once`` a lower one.
    """

    above: Bounded
    below: Bounded
    certain: Callable[[float, float], float]
    single: Callable[[], float]
    once: Callable[[], float] = lambda: 0.0


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
        if self.never_below() > delta:
            return Enclosure(math.inf, math.inf)
        end = self._largest_loss()
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

        what = f"epsilon at delta = {delta!r}"
        single = partial(self._epsilon_of_single_rounds, delta)
        ask = _Asked(above, below, certain, single, once)
        return self._refined(Enclosure(0.0, end), ask, goal, rtol, what, depth=1.0)

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
        if eps >= self._largest_loss():
            return Enclosure(0.0, 0.0)
        guess = self._guess(eps)
        depth = max(1.0, -2.0 * math.log(max(guess, validation.MIN_DELTA)))
        small = 0.05 * goal

        def certain(density: float, known: float) -> float:
            law = dominated(self.rounds, density, small * max(known, validation.MIN_DELTA))
            return math.inf if law is None else delta_at(law, eps).lower

        def above(density: float, rounds: Sequence[Round], known: float) -> float:
            level = known or _UNKNOWN * min(guess, 0.1)
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

        what = f"delta at eps = {eps!r}"
        single = partial(self._delta_of_single_rounds, eps)
        ask = _Asked(above, below, certain, single)
        return self._refined(Enclosure(0.0, 1.0), ask, goal, rtol, what, depth)

    def _refined(
        self, best: Enclosure, ask: _Asked, goal: float, rtol: float | None, what: str, depth: float
    ) -> Enclosure:
        """The first enclosure narrow enough, of ever more lattice points, where `best` is not.

        Where theory keeps the ends apart, the upper one is held against a lower bound of what it
        stands for.
        """
        promises, floor = self._promises(), 0.0

        def is_done() -> bool:
            if best.upper <= validation.MIN_DELTA or best.relative_width <= goal:
                return True
            known = not promises and math.isfinite(best.upper)
            return known and best.upper - floor <= goal * best.upper

        def look(density: float, rounds: Sequence[Round]) -> None:
            nonlocal best
            most = min((_finest(one.crowds) for one in rounds if one.crowds), default=density)
            low = best.lower
            with suppress(WorkError):
                low = max(low, ask.below(density, rounds, low))
            best = _both(best, Enclosure(min(low, best.upper), best.upper))
            high = ask.above(min(density, most), rounds, low)
            if low < 0.5 * high:
                low = max(low, ask.once())
            best = _both(best, Enclosure(min(low, high), high))

        if is_done():
            return best
        density = math.sqrt((_FINE_WIDTH if goal <= DEFAULT_RTOL else _WIDTH) * depth / goal)
        blankets = [replace(one, crowds=()) for one in self.rounds]
        rounds = self.rounds
        many = max(len(one.decompositions) for one in rounds)
        advice = "a larger rtol" if many <= _MOST_COMPOSED else "fewer inputs that are not alike"
        with suppress(WorkError):
            # All of very many pairs, or kinds, would take more than there is to spend.
            if many > _MOST_COMPOSED:
                low = ask.below(_COARSE, rounds, best.lower)
                best = _both(best, Enclosure(min(low, best.upper), best.upper))
            elif len({one.kind for one in rounds}) > _MOST_KINDS:
                fewer, more = _with_users_rounded(rounds, _FEW_NUMBERS)
                low = ask.below(1.5 * density, more, best.lower)
                high = ask.above(1.5 * density, fewer, low)
                best = _both(best, Enclosure(min(low, high), high))
            else:
                coarse, known = min(_SHARE * density, _COARSE), math.inf
                several = any(len(one.attained or ()) > 1 for one in rounds)
                crowds = [crowd for one in rounds for crowd in one.crowds]
                if density > _FINE or (
                    coarse > _LEAST_COARSE and (crowds or several or depth > _DEEP)
                ):
                    # What is known where the finer lattice costs too much.
                    look(coarse, blankets)
                    known = best.upper
                    if several:
                        rounds = _worst(rounds, partial(ask.below, coarse), best.lower, goal)
                        blankets = [replace(one, crowds=()) for one in rounds]
                # Blankets cost little, and often say all there is to say.
                apart = crowds and known < math.inf and not _are_close(best.lower, known, goal)
                if crowds and not apart:
                    look(density, blankets)
                if not is_done():
                    look(density, rounds)
                if apart and best.upper > _GAIN * known:
                    look(density, blankets)
                for _ in range(_REFINEMENTS):
                    if not promises and best.relative_width > goal:
                        floor = max(floor, ask.certain(density, best.lower))
                    if is_done():
                        break
                    width = 1.0 - max(floor, best.lower) / best.upper
                    density *= min(4.0, max(1.4, 1.2 * math.sqrt(width / goal)))
                    before = best
                    look(density, rounds)
                    if best.lower == before.lower == 0.0 and best.upper > _GAIN * before.upper:
                        break  # it is not the lattice that keeps the ends apart
        if best.relative_width > goal:
            with reserve():
                best = _both(best, Enclosure(0.0, max(ask.single(), best.lower)))
            if not best.lower > 0.0:
                with reserve(), suppress(WorkError):
                    look(_COARSEST, blankets)
        if best.relative_width > goal and (rtol is not None or not is_done()):
            raise PrecisionError(
                f"{what}, {sum(one.times for one in self.rounds)} rounds is known only to lie in "
                f"[{best.lower!r}, {best.upper!r}]: relative width {best.relative_width:.1e} where "
                f"rtol = {goal:g} was asked for; {advice} would help",
                best,
            )
        return best

    def _epsilon_of_single_rounds(self, delta: float) -> float:
        """Basic composition: an upper bound of ε from that of each round at its share of δ."""
        each = delta / sum(one.times for one in self.rounds) * (1.0 - 1e-12)
        if each < validation.MIN_DELTA:
            return math.inf
        return self._of_single_rounds(lambda one, n: single_shuffle.epsilon(one, n, each))

    def _delta_of_single_rounds(self, eps: float) -> float:
        """The same of δ, from that of each round at its share of ε."""
        each = eps / sum(one.times for one in self.rounds) * (1.0 - 1e-12)
        return min(self._of_single_rounds(lambda one, n: single_shuffle.delta(one, each, n)), 1.0)

    def _of_single_rounds(self, ask: Callable[[Decomposition, int], Enclosure]) -> float:
        """What the worst of all decompositions of each round has, added up."""
        found = [
            one.times * max(reached(partial(ask, part, one.n)).upper for part in one.decompositions)
            for one in self.rounds
        ]
        return math.fsum(found) * (1.0 + 8.0 * U)

    def _promises(self) -> bool:
        """Whether the two ends mean the same, so that a wide enclosure is a failure."""
        return all(one.is_symmetric for one in self.rounds) and all(
            one.attained is None
            and len(one.decompositions) == 1
            and one.decompositions[0].is_finite()
            for one in self.rounds
        )

    def _largest_loss(self) -> float:
        """An ε at which δ is certainly 0: that of the rounds add up."""
        losses = [
            one.times * max(Problem.of(each, one.n).largest_loss() for each in one.decompositions)
            for one in self.rounds
        ]
        return math.fsum(losses) * (1.0 + 8.0 * U)

    def never_below(self) -> float:
        """A lower bound of δ at every ε, from outputs that the other input never gives."""
        spared = [0.0, 0.0]  # of the first and the last direction
        for one in self.rounds:
            for order in (0, -1):
                known = (never_below(each.directions[order][0], one.n) for each in one.lowest)
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
    return _FINEST_OF_DEAR if dear else _FINEST_OF_CROWDS


def _are_close(low: float, high: float, goal: float) -> bool:
    """Whether a coarse lattice might take these for the same."""
    return low >= math.exp(-_COARSELY * goal) * high


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


def _both(one: Enclosure, other: Enclosure) -> Enclosure:
    """What two enclosures of the same number say together."""
    upper = min(one.upper, other.upper)
    return Enclosure(min(max(one.lower, other.lower), upper), upper)


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
