"""The inverse questions of a deployment: how large an ε₀, and how few users, meet a target (ε, δ)?

Either way D(ε), or the ε of several rounds at δ, is evaluated along an axis, of ε₀ or of n, until
the point where it meets the target lies between two neighbours. Estimates steer the search; the
ends it returns were evaluated.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from shufflebounds.accounting.composition import compose, round_of
from shufflebounds.accounting.many_pairs import (
    BestEffort,
    Question,
    Selection,
    candidates_to_ask,
    largest_answer,
    pairs_to_try,
)
from shufflebounds.accounting.problem import typical_loss
from shufflebounds.accounting.round_laws import pessimistic_sum
from shufflebounds.accounting.simple_bounds import no_worse_than_simple_bound
from shufflebounds.accounting.worst_dataset import (
    MAX_PROBES,
    SEARCH_RTOL,
    excess,
    smallest_point,
    unsettled_crowds,
)
from shufflebounds.core import validation
from shufflebounds.core.datasets import both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.core.work import WorkError, is_spent, limited
from shufflebounds.divergence.lattice import smallest_eps
from shufflebounds.divergence.law import log
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Where along an axis, of ε₀ or of n, D(ε) falls to δ: probes that close in from both sides.

# Probes in all, and the longest step on the scale: both ends rest on probes, wherever these are.
_MOST_PROBES = 200
_LONGEST_STEP = 4.0
# How much of a step may be wrong, and how far beyond what is known probes must be to tell more.
_MISLED, _BEYOND = 0.1, 1.1


@dataclass(frozen=True)
class Probe:
    """D(ε) at one point: ``side`` is 1 if certainly at most δ, −1 if certainly above, 0 if neither.

    ``excess`` estimates log(log D / log δ), with an error of ``doubt``, which is ``settled`` if
    nothing closer will be known.
    """

    side: int
    excess: float
    doubt: float
    settled: bool = False


@dataclass(frozen=True)
class LocalPrivacy:
    """ε₀ as an axis, to a relative width of ``rtol``, of one round or ``several``."""

    least_private: float
    most_private: float
    rtol: float
    several: bool

    def scale(self, eps0: float) -> float:
        """−log (e^{ε₀/2} − 1)²; the square goes about like the variance of G at ε = 0."""
        return -eps0 - 2.0 * log(-math.expm1(-0.5 * eps0))

    def at(self, y: float) -> float:
        """The point of the axis nearest to `y` on the scale."""
        eps0 = max(-y, 0.0) + 2.0 * math.log1p(math.exp(-0.5 * abs(y)))
        return min(max(eps0, self.most_private), self.least_private)

    def near(self, y: float) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""
        if not self.several:
            return 0.9 * self.rtol
        # To look closer than is asked for takes too long.
        eps0 = self.at(y)
        return 0.3 * self.rtol * eps0 / -math.expm1(-0.5 * eps0)

    def is_done(self, above: float, below: float) -> bool:
        return above - below <= self.rtol * above


@dataclass(frozen=True)
class Count:
    """Numbers of users, or of rounds, as an axis, number by number."""

    least_private: int
    most_private: int

    @property
    def _sign(self) -> int:
        return 1 if self.least_private < self.most_private else -1

    def scale(self, count: float) -> float:
        """More users are more private, and fewer rounds."""
        return self._sign * math.log(count)

    def at(self, y: float) -> int:
        """The point of the axis nearest to `y` on the scale."""
        ends = sorted((self.least_private, self.most_private))
        return min(max(round(math.exp(min(self._sign * y, 40.0))), ends[0]), ends[1])

    def near(self, y: float) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""
        return 0.5 * math.exp(-self._sign * y)

    def is_done(self, above: float, below: float) -> bool:
        return abs(below - above) <= 1


# Where to look for the point at which D falls to δ, from the end where it is the largest on.
# Privacy grows along ``scale``.
Range = LocalPrivacy | Count


def narrow(
    probe: Callable[[float, float], Probe], axis: Range, guess: float
) -> tuple[float | None, float | None]:
    """The closest points with D(ε) certainly above δ and certainly not, None where none was found.

    `probe` is given a point and how large the excess may be there, roughly. Privacy grows along the
    scale of the axis, and where D is small log(−log D) has a slope of about 1 there. The secant
    method finds where D falls to δ, from a first guess on the scale; probes a little beyond and a
    little before it then give the ends. Where the engine cannot tell the side of a point, others
    follow further and further out.
    """
    above: float | None = None
    below: float | None = None
    last: tuple[float, Probe] | None = None
    slope, reach, idle, likely = 1.0, 0.0, 0, math.inf
    x, tried = axis.at(guess), set()
    for _ in range(_MOST_PROBES):
        y, found, before = axis.scale(x), probe(x, likely), _width(axis, above, below)
        tried.add(x)
        if math.isfinite(found.excess):
            slope = _slope(last, (y, found)) or slope
            last = y, found
        off = min(found.doubt / slope, _LONGEST_STEP)
        if found.side == 0:
            reach = max(2.0 * reach, 2.0 * axis.near(y), off)
        elif found.side < 0:
            above = x
        else:
            below = x
        if found.settled:
            reach = max(reach, _BEYOND * off)
        if above == axis.most_private or below == axis.least_private or is_spent():
            break
        if above is not None and below is not None and axis.is_done(above, below):
            break
        guess = y - min(max(found.excess / slope, -_LONGEST_STEP), _LONGEST_STEP)
        if reach == 0.0:
            idle = idle + 1 if _width(axis, above, below) > 0.5 * before else 0
            guess = math.nan if idle > 2 else guess
        following = _next(axis, above, below, guess, reach, tried)
        if following is None:
            break
        x, there = following, axis.scale(following)
        likely = slope * (abs(there - guess) + _MISLED * abs(there - y))
        likely = math.inf if math.isnan(likely) else likely
    if above is None and axis.least_private not in tried and not is_spent():
        # Where D hardly depends on the axis, no slope leads to its end.
        side = probe(axis.least_private, math.inf).side
        above = axis.least_private if side < 0 else None
        below = axis.least_private if side > 0 else below
    return above, below


def _width(axis: Range, above: float | None, below: float | None) -> float:
    """Of a bracket on the scale."""
    return math.inf if above is None or below is None else axis.scale(below) - axis.scale(above)


def _slope(last: tuple[float, Probe] | None, here: tuple[float, Probe]) -> float | None:
    """Of the excess between two probes, None where it drowns in their doubts."""
    if last is None:
        return None
    run, rise = here[0] - last[0], here[1].excess - last[1].excess
    if abs(rise) <= 5.0 * (here[1].doubt + last[1].doubt) or rise * run <= 0.0:
        return None
    return min(max(rise / run, 0.02), 50.0)


def _next(
    axis: Range,
    above: float | None,
    below: float | None,
    guess: float,
    reach: float,
    tried: set[float],
) -> float | None:
    """Just beyond the guess, else just before it, else in the middle; None if nothing is left."""
    start = -math.inf if above is None else axis.scale(above)
    end = math.inf if below is None else axis.scale(below)
    if start < guess < end:
        margin = max(axis.near(guess), reach)
        for y in (guess + margin, guess - margin):
            # Next to an end that is known, another probe would say nothing new.
            if start + 0.2 * margin < y < end - 0.2 * margin and axis.at(y) not in tried:
                return axis.at(y)
    stride = min(reach, _LONGEST_STEP) or _LONGEST_STEP
    if math.isinf(end):
        middle = start + stride
    elif math.isinf(start):
        middle = end - stride
    elif reach > 0.0:
        return None
    else:
        middle = 0.5 * (start + end)
    return axis.at(middle) if axis.at(middle) not in tried else None


# Relative widths of D to try in turn until it can be told from δ; of many rounds, widths of ε, each
# of which costs another profile.
_LADDER = (1e-4, 1e-6, 1e-8, 1e-9)
_EPS0_LADDER_OF_MANY = (0.1, 0.01, 1e-3)
_USERS_LADDER_OF_MANY = (0.1, 0.01, 2e-3)
_ROUNDS_LADDER = (0.05, 0.01)
# Of what holds for all datasets after many rounds: lattice points per typical loss, how closely it
# is searched for, in how many probes, and which power of ε goes about like δ.
_DENSITY, _WITHIN_OF_MANY, _PROBES_OF_MANY, _POWER = 12.0, 2e-3, 4, 40.0


@limited
def largest_eps0(
    mechanism: Callable[[float], Decomposition | Randomizer],
    eps: float,
    delta: float,
    n: int,
    *,
    rounds: int = 1,
    rtol: float = 1e-3,
    most: float = validation.MAX_EPS0,
) -> Enclosure:
    """Enclose the largest ε₀ at which n shuffled reports, or several rounds, are (ε, δ)-DP.

    What is assumed of users and rounds is as for `epsilon`. That D(ε) grows with ε₀ steers the
    search; what is said of either end rests on an evaluation at that end alone.

    Parameters
    ----------
    mechanism
        A function from ε₀ to the decomposition of an ε₀-LDP randomizer, such as
        ``lambda eps0: KRR(k=10, eps0=eps0).blanket()`` or `stronger_clone`; or to the randomizer,
        such as `BLH`.
    eps
        Target ε (natural log), 0 ≤ ε ≤ 300.
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        How many rounds together must meet the target, 1 to 10⁶.
    rtol
        The relative width to aim at, 10⁻⁹ to 0.1. The answer is wider where the engine cannot tell
        D(ε) from δ that closely, as for a continuous randomizer in few cells.
    most
        The largest ε₀ to look at, up to 300.

    Returns
    -------
    Enclosure
        Of ε₀ (natural log). You can deploy ``lower``, where the target was found to be met. At
        ``upper`` it was found to be missed; inf where the largest ε₀ to look at will do. Of
        randomizers both are of the mechanism's own δ, and what lies between is not known.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and where not even a little less than
        max(ε, 2δ)/`rounds` is found to meet the target, which local privacy alone should: then
        `mechanism` does not give ε₀-LDP decompositions, or floats cannot tell δ from 0.
    PrecisionError
        Where closing in would cost too much work; it holds the ends that were found.

    Examples
    --------
    >>> found = sb.largest_eps0(sb.stronger_clone, eps=1.0, delta=1e-6, n=10_000)
    >>> f"{found.lower:.1f}"
    '5.5'
    """
    eps, delta = _eps_within_eps0(eps), validation.delta(delta)
    n, rtol = validation.users(n), validation.rtol(rtol)
    rounds = validation.rounds(rounds)
    try:
        with suppress(ValueError):  # of functions in C, whose arguments are not known
            inspect.signature(mechanism).bind(1.0)
    except TypeError:  # no function, or one that needs more
        raise ValueError(
            "mechanism must be a function from eps0 to a decomposition or a randomizer, such as "
            f"lambda eps0: KRR(k=10, eps0=eps0).blanket(), got {mechanism!r}"
        ) from None
    # At ε₀ = ε itself, rounding may leave a D(ε) above 0.
    most = validation.eps0(most, "most")
    private = min(max(eps, 2.0 * delta) / rounds * (1.0 - 0.5 * rtol), most)
    axis = LocalPrivacy(most, private, rtol, rounds > 1)
    # ε is about √(2 v log(1/δ)/n) for a v like that of `LocalPrivacy.scale`; D(0) is √(v/(2πn)).
    if eps > 0.0:
        start = math.log(-2.0 * rounds * math.log(delta) / n) - 2.0 * math.log(eps)
    else:
        start = math.log(rounds / (2.0 * math.pi * n)) - 2.0 * math.log(delta)
    target = _Target.of(eps, delta, rounds, _EPS0_LADDER_OF_MANY)
    above, lower = target.met(
        lambda eps0: (require_mechanism(mechanism(eps0)), n, rounds), axis, start
    )
    if lower is None and eps <= 2.0 * delta:
        raise ValueError(
            f"delta must be larger for eps = {eps!r}, since floats cannot tell so small a "
            f"divergence from 0, got {delta!r}"
        )
    if lower is None:
        raise ValueError(
            "mechanism must give decompositions of eps0-LDP randomizers, but reports at eps0 = "
            f"{axis.most_private!r} are not known to be ({eps!r}, {delta!r})-DP"
        )
    return Enclosure(lower, math.inf if above is None else above)


def _eps_within_eps0(eps: object) -> float:
    most = validation.MAX_EPS0
    checked = validation.eps(eps)
    if checked > most:
        raise ValueError(f"eps must be a finite number with 0 <= eps <= {most:g}, got {eps!r}")
    return checked


@no_worse_than_simple_bound()
@limited
def fewest_users(
    decomposition: Decomposition | Randomizer, eps: float, delta: float, *, rounds: int = 1
) -> Enclosure:
    """Enclose the smallest n at which n shuffled reports, or several rounds, are (ε, δ)-DP.

    What is assumed of users and rounds is as for `epsilon`. D(ε) does not grow with n.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    eps
        Target ε ≥ 0 (natural log).
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    rounds
        How many rounds together must meet the target, 1 to 10⁶.

    Returns
    -------
    Enclosure
        Of a number of users, ends that are integers: ``upper`` users are enough, ``lower`` − 1 are
        not. They are equal where the engine can tell neighbouring numbers apart, up to some 10⁸ in
        one round and a few hundred in more. ``upper`` is inf where 10¹⁵ are not known to be enough;
        ``lower`` is 10¹⁵ + 1 where they are not. Of a randomizer both are of the mechanism's own δ.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where closing in would cost too much work; it holds the ends that were found.

    Examples
    --------
    >>> sb.fewest_users(sb.KRR(k=10, eps0=4.0).blanket(), eps=1.0, delta=1e-6)
    Enclosure(lower=1866, upper=1866)
    """
    eps, delta = validation.eps(eps), validation.delta(delta)
    rounds = validation.rounds(rounds)
    mechanism = require_mechanism(decomposition)
    axis = Count(1, validation.MAX_USERS)
    variance = max(map(_variance, _blankets(mechanism).values()))
    wanted = -2.0 * rounds * variance * math.log(delta)
    start = log(wanted) - 2.0 * math.log(eps) if eps else math.inf
    target = _Target.of(eps, delta, rounds, _USERS_LADDER_OF_MANY)
    below, upper = target.met(lambda n: (mechanism, int(n), rounds), axis, start)
    return Enclosure(1 if below is None else below + 1, math.inf if upper is None else upper)


def _blankets(given: Decomposition | Randomizer) -> Mapping[str, Decomposition]:
    """What upper ends are of; of a decomposition, both ends."""
    return given.blankets() if isinstance(given, Randomizer) else {"": given}


def _variance(decomposition: Decomposition) -> float:
    """Of the GPARV at ε = 0."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        return float(masses @ values**2)


# What each user sends, how many users there are, and in how many rounds.
Rounds = tuple[Decomposition | Randomizer, int, int]


@dataclass(frozen=True)
class _Target:
    """(ε, δ), and relative widths to try in turn.

    Of a ``single`` round its δ at ε is compared; of more their ε at δ, which never lies as far out.
    """

    eps: float
    delta: float
    ladder: Sequence[float]
    single: bool = False

    @staticmethod
    def of(eps: float, delta: float, rounds: int, ladder_of_many: Sequence[float]) -> _Target:
        single = rounds == 1
        return _Target(eps, delta, _LADDER if single else ladder_of_many, single)

    def met(
        self, sent: Callable[[float], Rounds], axis: Range, start: float
    ) -> tuple[float | None, float | None]:
        """The closest points at which it is certainly missed and certainly met, as of `narrow`.

        Of mechanisms the latter by their blankets, the former by their datasets, and where these
        leave a gap, by what holds for all datasets.
        """
        missed, met = narrow(lambda x, off: self._by_blankets(off, sent(x)), axis, start)
        if isinstance(sent(axis.at(start))[0], Decomposition):
            return missed, met
        start = start if met is None else axis.scale(met)
        missed, _ = narrow(lambda x, off: self._by_datasets(off, sent(x)), axis, start)
        done = missed is not None and met is not None and axis.is_done(missed, met)
        # A little more of ε₀ costs little in one round.
        if met is None or (done and not (self.single and isinstance(axis, LocalPrivacy))):
            return missed, met
        by_all = cache(lambda x: self._by_crowds(*sent(x)))
        # Privacy as a positive number, such as n; of numbers, from the next one on.
        low, high = axis.scale(axis.least_private if missed is None else missed), axis.scale(met)
        low += 2.02 * axis.near(low) if isinstance(axis, Count) and missed is not None else 0.0
        low, high = math.exp(min(low, high)), math.exp(high)
        width = (SEARCH_RTOL, MAX_PROBES) if self.single else (_WITHIN_OF_MANY, _PROBES_OF_MANY)
        found = smallest_point(lambda y: by_all(axis.at(math.log(y))), low, high, *width)
        return missed, axis.at(math.log(found)) if found < high else met

    def _by_blankets(self, off: float, sent: Rounds) -> Probe:
        return self._probe(off, _blankets(sent[0]), *sent[1:], candidates_to_ask)

    def _by_datasets(self, off: float, sent: Rounds) -> Probe:
        given, n, times = sent
        assert isinstance(given, Randomizer)
        some = given.known_datasets()
        if not self.single:
            some = {
                str(i): one for i, one in enumerate(round_of(given, n, times).lower_decompositions)
            }
        return self._probe(off, some, n, times, pairs_to_try)

    def _probe(
        self, off: float, some: Mapping[str, Decomposition], n: int, times: int, worth: Selection
    ) -> Probe:
        """Widths that could not tell an excess of `off` from 0 are left out of many rounds."""
        goal, widths = self.delta if self.single else self.eps, self.ladder
        if not self.single:
            widths = [rtol for rtol in widths if rtol <= 0.5 * off] or widths[-1:]
        for rtol in widths:
            if self.single:
                _, found = largest_answer(some, BestEffort("delta", n, self.eps, rtol), worth)
            else:
                composed = compose([(tuple(some.values()), n, times)])
                found = reached(partial(composed.epsilon, self.delta, rtol=rtol))
            side = 1 if found.upper <= goal else -1 if found.lower > goal else 0
            # Many rounds that miss one width come close to it, and so closer to the next.
            if side != 0 or (self.single and found.relative_width > rtol):
                break
        settled = not self.single and rtol == self.ladder[-1]
        low, high = map(self._excess, (found.upper, found.lower))
        if math.isinf(low) or math.isinf(high):
            return Probe(side, side * math.inf if side else 0.0, math.inf, settled)
        return Probe(side, 0.5 * (low + high), 0.5 * (high - low), settled)

    def _excess(self, end: float) -> float:
        """Of log(1/δ), which goes about like ε²."""
        if self.single:
            return log(log(end) / math.log(self.delta))
        return 2.0 * (log(self.eps) - log(end))

    def _by_crowds(
        self, given: Decomposition | Randomizer, n: int, times: int
    ) -> tuple[bool, float]:
        """Whether all datasets meet it, and the `excess`; inf where only blankets are known."""
        assert isinstance(given, Randomizer)
        if self.single:
            crowds = unsettled_crowds(given.crowds(), self.eps, self.delta, n)
            return excess(both_directions(crowds), self.eps, n, self.delta)
        one, upper = round_of(given, n, times), math.inf
        with suppress(WorkError):
            if one.crowds:
                law = pessimistic_sum([one], _DENSITY, 0.05 * self.delta)
                upper = smallest_eps(law, self.delta)
        return upper <= self.eps, _POWER * (log(upper) - log(self.eps))


# How many rounds a privacy budget affords.


@no_worse_than_simple_bound(claims_lower_end=True)
@limited
def most_rounds(
    decomposition: Decomposition | Randomizer,
    eps: float,
    delta: float,
    n: int,
    *,
    rtol: float = 1e-3,
) -> Enclosure:
    """Enclose the largest number of rounds of n users that are (ε, δ)-DP together.

    What is assumed of users and rounds is as for `epsilon`; see docs/composition.md.

    Parameters
    ----------
    decomposition
        What one report tells: a `Decomposition` such as ``R.blanket()``, or a `Randomizer` R.
    eps
        Target ε ≥ 0 (natural log).
    delta
        Target δ, 10⁻³⁰⁰ ≤ δ < 1.
    n
        Number of users in every round, 1 to 10¹⁵.
    rtol
        Relative width of the ε that are compared with `eps`, 10⁻⁹ to 0.1.

    Returns
    -------
    Enclosure
        You can run ``lower`` rounds (0 if not even one), not ``upper`` + 1. Both are integers,
        but for ``upper`` = inf where 10⁶ rounds, the most here, are not known to be too many. Of a
        randomizer ``lower`` is proven for all datasets, and two datasets show ``upper``.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        Where closing in would cost too much work; it holds the ends that were found.

    Examples
    --------
    >>> sb.most_rounds(sb.KRR(k=10, eps0=2.0).blanket(), eps=1.0, delta=1e-6, n=10_000)
    Enclosure(lower=112, upper=112)
    """
    require_mechanism(decomposition)
    eps, delta, n = validation.eps(eps), validation.delta(delta), validation.users(n)
    rtol = validation.rtol(rtol)
    target = _Target(eps, delta, (*(each for each in _ROUNDS_LADDER if each > rtol), rtol))
    size = max(typical_loss(one, n) for one in _blankets(decomposition).values())
    # As for `largest_eps0`.
    start = math.log(-2.0 * math.log(delta)) + 2.0 * (log(size) - log(eps)) if eps else math.inf
    axis = Count(validation.MAX_ROUNDS, 1)
    missed, met = target.met(lambda times: (decomposition, n, int(times)), axis, start)
    return Enclosure(0 if met is None else met, math.inf if missed is None else missed - 1)


# The most users that any of several decompositions needs.

# The relative width of an ε that tells which of several rounds need no closer look.
_ROUGH = 0.01


@dataclass(frozen=True)
class FewestUsers(Question):
    """The smallest n with D(``eps``) ≤ ``delta`` after ``rounds``; D falls in n."""

    eps: float
    delta: float
    rounds: int = 1

    def answer(self, decomposition: Decomposition) -> Enclosure:
        """See `Question`."""
        return fewest_users(decomposition, eps=self.eps, delta=self.delta, rounds=self.rounds)

    @property
    def max_all_asked(self) -> int:
        """See `Question`; several rounds take seconds."""
        return super().max_all_asked if self.rounds == 1 else 1

    def point(self, found: float) -> tuple[float, float, int] | None:
        """See `Question`; there may be too few users in the world."""
        return None if found > validation.MAX_USERS else (self.eps, self.delta, int(found))

    def may_exceed(self, decomposition: Decomposition, found: float) -> bool:
        """See `Question`."""
        if self.rounds == 1 or found > validation.MAX_USERS:
            return super().may_exceed(decomposition, found)
        composed = compose([(decomposition, int(found), self.rounds)])
        return reached(partial(composed.epsilon, self.delta, rtol=_ROUGH)).upper > self.eps

    def seems_to_exceed(self, decomposition: Decomposition, found: float) -> bool:
        """See `Question`."""
        seems = super().seems_to_exceed if self.rounds == 1 else self.may_exceed
        return seems(decomposition, found)
