"""The inverse questions: which ε₀, noise, number of users or rounds meets a target (ε, δ)?

One search answers all of them. It compares δ at the target's ε, or over several rounds ε at its δ,
with the target at points of an axis (`profiles.axis_search`). Each end of an answer rests on a
comparison at that end alone.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.validation import Count
from shufflebounds.core.work import enclosed_so_far, limited
from shufflebounds.divergence.law import log
from shufflebounds.profiles.axis_search import (
    MAX_COMPARISONS,
    AxisSearch,
    Comparison,
    CountAxis,
    Eps0Axis,
    LossAxis,
    SearchAxis,
)
from shufflebounds.profiles.profile import Quantity
from shufflebounds.protocols.allocation import RandomAllocation
from shufflebounds.questions.answers import Sent
from shufflebounds.questions.intervals import has_datasets, interval_of
from shufflebounds.questions.plan import BLANKETS, LOWER, MakeInterval, Plan
from shufflebounds.subjects.base import Aim, InfeasibleError, Shuffle, Subject
from shufflebounds.subjects.reports import subject_of

# Relative widths of δ of one shuffle that are tried in this order, until it can be told from the
# target. Speed and width only.
DELTA_RTOLS = (1e-4, 1e-6, 1e-8, 1e-9)
# Relative widths of ε of several rounds that are tried. Each takes other nodes. Speed and width
# only.
ROUNDS_RTOLS = (0.1, 0.01, 1e-3)
# Relative widths of ε in cells that are tried, for one round and for several. Smaller ones of
# several rounds take far longer.
CELLS_RTOLS = ((0.1, 0.025, 6e-3, 1.5e-3, 1e-4), (0.1, 0.025, 8e-3))
# Relative width of ε of several rounds by the bound for all datasets.
ALL_DATASETS_RTOL = 0.01
# Most points at which that bound is computed for several rounds; each takes seconds. Speed and
# width only.
MAX_COSTLY_COMPARISONS = 4
# Relative width of a number of users or rounds at which the search by the bound for all datasets
# ends, for one round and for several.
COUNT_RTOLS = (1e-4, 2e-3)
# Number of users for which losses are estimated if that number is sought.
MANY_USERS = 10**6
# Relative width of a noise multiplier where the caller gives no `rtol`, for one epoch and several.
NOISE_RTOLS = (1e-2, 2e-2)


class Target(NamedTuple):
    """A target (ε, δ), and the relative widths to which ε of several rounds is enclosed."""

    eps: float
    delta: float
    rounds_rtols: Sequence[float] = ROUNDS_RTOLS


class AxisPoint(NamedTuple):
    """A point of an axis: what users send, their number, and the number of rounds."""

    subject: Subject
    n: int
    rounds: int

    def plan(self, make: MakeInterval) -> Plan:
        """Return the rounds as a bound sees them."""
        return Plan(self.subject, self.rounds, make)

    @property
    def is_costly(self) -> bool:
        """Whether ε at δ is compared, which is done for several rounds and for bounds in cells."""
        in_cells = self.subject.most_cells(self.rounds) > 0
        return in_cells or self.plan(interval_of).has_several_rounds(self.n)

    @property
    def has_gap(self) -> bool:
        """Whether upper and lower bounds are about different things."""
        return not all(shuffle.is_given or shuffle.is_ordered for shuffle in self._shuffles)

    @property
    def has_datasets(self) -> bool:
        """Whether pairs of datasets are known."""
        return all(map(has_datasets, self._shuffles))

    @property
    def _shuffles(self) -> Sequence[Shuffle]:
        return self.subject.shuffles(self.n, Aim(rounds=self.rounds))


@dataclass(frozen=True)
class InverseQuestion:
    """Where on an axis does a target begin to be met?

    Parameters
    ----------
    point_at
        Returns the point at a place of the axis.
    axis
        The axis.
    start
        An estimate of the place, on the scale of the axis.
    target
        The target.
    """

    point_at: Callable[[float], AxisPoint]
    axis: SearchAxis
    start: float
    target: Target

    def search(self, make: MakeInterval) -> AxisSearch:
        """Return the search for the ends that one bound shows."""
        search = AxisSearch(self.axis)
        with enclosed_so_far(lambda: self.axis.enclosure(search.unsafe_end, search.safe_end)):
            search.run(_comparison(self, make), self.start)
        return search

    def closer(self, safe: AxisSearch, unsafe: AxisSearch, make: MakeInterval) -> AxisSearch:
        """Return a search whose safe end a costly bound moved towards the unsafe one.

        `safe` has the safe end by a cheap bound, and `unsafe` the other one. That an upper bound
        misses the target does not show that the reports do.
        """
        axis, compare = self.axis, _comparison(self, make, is_one_sided=True)
        unsafe_end, safe_end = unsafe.unsafe_end, safe.safe_end
        search = AxisSearch(axis)
        with enclosed_so_far(lambda: axis.enclosure(unsafe_end, search.safe_end or safe_end)):
            if safe_end is None and compare(axis.most_private, math.inf).side > 0:
                safe_end = axis.most_private
            least = axis.least_private if unsafe_end is None else unsafe_end
            if safe_end is not None and not axis.is_narrow(least, safe_end):
                is_costly = self.point_at(safe_end).is_costly
                if isinstance(axis, CountAxis):
                    axis = replace(axis, rtol=COUNT_RTOLS[is_costly])
                search = AxisSearch(axis, (least, safe_end))
                # The best bound is mostly close to the lower one.
                begin = axis.scale(least)
                begin += 2.02 * axis.resolution(begin)
                search.run(compare, begin, MAX_COSTLY_COMPARISONS if is_costly else MAX_COMPARISONS)
                safe_end = search.safe_end
        search.unsafe_end, search.safe_end = unsafe_end, safe_end
        return search

    def answer(self) -> AxisSearch:
        """Return the search by the best bounds.

        Blankets show which points meet the target, and datasets which miss it. If these leave a
        gap, the best bound may show that more points meet it.
        """
        if not self.point_at(self.axis.point(self.start)).has_gap:
            return self.search(BLANKETS)
        safe, unsafe = AxisSearch(self.axis), AxisSearch(self.axis)
        with enclosed_so_far(lambda: self.axis.enclosure(unsafe.unsafe_end, safe.safe_end)):
            safe.run(_comparison(self, BLANKETS), self.start)
            start = self.start if safe.safe_end is None else self.axis.scale(safe.safe_end)
            if self.point_at(self.axis.point(start)).has_datasets:
                unsafe.run(_comparison(self, LOWER), start)
        return self.closer(safe, unsafe, interval_of)

    def enclosure(self, search: AxisSearch) -> Enclosure:
        """Return the axis' enclosure of the answer."""
        return self.axis.enclosure(search.unsafe_end, search.safe_end)


@dataclass(frozen=True)
class Eps0Question(InverseQuestion):
    """Up to which ε₀ is a target met?"""

    def enclosure(self, search: AxisSearch) -> Enclosure:
        """See `InverseQuestion`; raise ValueError if no ε₀ is known to meet the target."""
        eps, delta = self.target.eps, self.target.delta
        if search.safe_end is None and eps <= 2.0 * delta:
            raise ValueError(
                f"delta must be larger for eps = {eps!r}, since floats cannot tell so small a "
                f"divergence from 0, got {delta!r}"
            )
        if search.safe_end is None:
            raise ValueError(
                "mechanism must give decompositions of eps0-LDP randomizers, but reports at eps0 = "
                f"{self.axis.most_private!r} are not known to be ({eps!r}, {delta!r})-DP"
            )
        return super().enclosure(search)


def _comparison(
    question: InverseQuestion, make: MakeInterval, *, is_one_sided: bool = False
) -> Callable[[float, float], Comparison]:
    """Return a function that compares a place of the axis with the target by one bound.

    If it `is_one_sided`, only the upper end counts: that it is above the target shows nothing.
    """

    def compare(place: float, margin: float) -> Comparison:
        target = question.target
        try:
            point = question.point_at(place)
            enclose = _enclose_of(point, target, make, is_one_sided=is_one_sided)
            if is_one_sided:
                rtol = ALL_DATASETS_RTOL if point.is_costly else DELTA_RTOLS[0]
                end = enclose(rtol).upper
                enclose = lambda _: Enclosure(end, end)  # noqa: E731
            return compare_enclosures(point, target, enclose, margin)
        except InfeasibleError:  # there are too few users
            return Comparison(-1, -math.inf, math.inf)

    return compare


def _enclose_of(
    point: AxisPoint, target: Target, make: MakeInterval, *, is_one_sided: bool
) -> Callable[[float], Enclosure]:
    """Return a function from a relative width to the enclosure that is compared with the target."""
    plan = point.plan(make)
    if point.is_costly:
        at = [(target.delta, target.delta)]

        def epsilon(rtol: float) -> Enclosure:
            return plan.answer(Quantity.EPSILON, at, [point.n], rtol).enclosures()[0]

        return epsilon
    interval = plan.interval([point.n], Aim(target.delta, point.rounds))
    eps, delta = np.array([target.eps]), np.array([target.delta])

    def enclose_delta(rtol: float) -> Enclosure:
        lower = upper = interval.lower.deltas(eps, rtol, delta)
        if not interval.is_exact:
            upper = interval.upper.deltas(eps, rtol, delta, floor=lower.lower)
        high = float(upper.upper[0])
        return Enclosure(min(float(lower.lower[0]), high), high)

    return enclose_delta


def compare_enclosures(
    point: AxisPoint, target: Target, enclose: Callable[[float], Enclosure], expected_margin: float
) -> Comparison:
    """Compare what `enclose` returns for ever smaller relative widths with a target.

    Widths too large to tell the expected margin from 0 are left out.
    """
    is_costly = point.is_costly
    rtols = target.rounds_rtols if is_costly else DELTA_RTOLS
    if point.subject.most_cells(point.rounds):
        rtols = CELLS_RTOLS[point.subject.total(point.rounds) > 1]
    largest = target.eps if is_costly else target.delta
    for rtol in [x for x in rtols if x <= 0.5 * expected_margin] or rtols[-1:]:
        enclosure = enclose(rtol)
        if enclosure.upper <= largest or enclosure.lower > largest:
            break
    certain_side = (enclosure.upper <= largest) - (enclosure.lower > largest)
    low, high = (_margin(target, is_costly, x) for x in (enclosure.upper, enclosure.lower))
    if math.isinf(low) or math.isinf(high):
        return Comparison(certain_side, certain_side * math.inf if certain_side else 0.0, math.inf)
    return Comparison(certain_side, 0.5 * (low + high), 0.5 * (high - low))


def _margin(target: Target, is_costly: bool, value: float) -> float:
    """Estimate log(log D / log δ) if D or, for what is costly, ε is `value`."""
    if not is_costly:
        return log(log(value) / math.log(target.delta))
    # log(1/δ) is about proportional to ε².
    return 2.0 * (log(target.eps) - log(value))


def typical_loss(point: AxisPoint) -> float:
    """Return the standard deviation of the normal loss with the same δ(0), an estimate."""
    upper = point.plan(BLANKETS).interval([point.n]).upper
    return math.sqrt(2.0 * math.pi) * math.exp(min(float(upper.estimates(np.zeros(1))[0]), 0.0))


def users_axis(subject: Subject) -> CountAxis:
    """Return the axis of numbers of users, as many as have messages that can be counted."""
    n = validation.MAX_USERS
    while not _is_countable(subject, n):
        n //= 2
    return CountAxis(subject.fewest_users, n, 0.0)


def _is_countable(subject: Subject, n: int, rounds: int = 1) -> bool:
    """Return whether the messages of n users in so many rounds can be counted."""
    try:
        return bool(subject.shuffles_of(n, rounds))
    except ValueError:
        return False


def _most_rounds(subject: Subject, n: int) -> int:
    """Return the most rounds of n users that a subject can have, if it can have one."""
    possible, impossible = 1, validation.MAX_ROUNDS + 1
    if _is_countable(subject, n, validation.MAX_ROUNDS):
        return validation.MAX_ROUNDS
    while impossible - possible > 1:
        middle = (possible + impossible) // 2
        is_possible = _is_countable(subject, n, middle)
        possible, impossible = (middle, impossible) if is_possible else (possible, middle)
    return possible


@limited
def largest_eps0(
    mechanism: Callable[[float], Sent],
    eps: float,
    delta: float,
    n: Count,
    *,
    rounds: int = 1,
    rtol: float = 1e-3,
    most: float = validation.MAX_EPS0,
) -> Enclosure:
    """Enclose the largest ε₀ at which n shuffled reports, or several rounds, are (ε, δ)-DP.

    The assumptions on users and rounds are those of `epsilon`. The search assumes that D(ε) grows
    with ε₀; each end rests on an evaluation at that end alone.

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
        The relative width to aim at, 10⁻⁹ to 0.1. The answer is wider if the engine cannot tell
        D(ε) from δ that closely, as for a continuous randomizer in few cells.
    most
        The largest ε₀ to look at, up to 300.

    Returns
    -------
    Enclosure
        The enclosure of ε₀ (natural log). You can deploy ``lower``, which meets the target.
        ``upper`` misses it, or is inf if even the largest ε₀ to look at meets it. If `mechanism`
        gives randomizers, both ends are about the mechanism's own δ, and an ε₀ between them may
        meet the target or miss it.

    Raises
    ------
    ValueError
        For an argument outside these ranges; and if an ε₀ a little below max(ε, 2δ)/`rounds` is
        not shown to meet the target, although local privacy alone should. Then `mechanism` does
        not give ε₀-LDP decompositions, or floats cannot tell δ from 0.
    PrecisionError
        If narrower ends would cost too much work. It holds the ends that were reached.

    Examples
    --------
    >>> eps0 = sb.largest_eps0(sb.stronger_clone, eps=1.0, delta=1e-6, n=10_000)
    >>> f"{eps0.lower:.1f}"
    '5.5'
    """
    eps, delta = validation.eps(eps), validation.delta(delta)
    n, rtol = validation.users(n), validation.rtol(rtol)
    rounds = validation.rounds(rounds)
    try:
        # Functions in C have no signature: they raise ValueError here.
        with suppress(ValueError):
            inspect.signature(mechanism).bind(1.0)
    except TypeError:
        raise ValueError(
            "mechanism must be a function from eps0 to a decomposition or a randomizer, such as "
            f"lambda eps0: KRR(k=10, eps0=eps0).blanket(), got {mechanism!r}"
        ) from None
    question = eps0_question(
        lambda eps0: subject_of(mechanism(eps0)),
        Target(eps, delta),
        n,
        rounds,
        rtol,
        validation.eps0(most, "most"),
    )
    return question.enclosure(question.answer())


def eps0_question(
    subject_at: Callable[[float], Subject],
    target: Target,
    n: int,
    rounds: int,
    rtol: float,
    largest: float = validation.MAX_EPS0,
) -> Eps0Question:
    """Return the question for the largest ε₀ that meets a target.

    Raises ValueError for an ε above the largest ε₀.
    """
    eps, delta = target.eps, target.delta
    if eps > validation.MAX_EPS0:
        raise ValueError(
            f"eps must be a finite number with 0 <= eps <= {validation.MAX_EPS0:g}, got {eps!r}"
        )
    # At ε₀ = ε itself, rounding may leave a D(ε) above 0.
    smallest = min(max(eps, 2.0 * delta) / rounds * (1.0 - 0.5 * rtol), largest)
    axis = Eps0Axis(largest, smallest, rtol, are_composed=rounds > 1)
    # ε is about √(2 v log(1/δ)/n) for a v like that of `Eps0Axis.scale`; D(0) is √(v/(2πn)).
    if eps > 0.0:
        start = math.log(-2.0 * rounds * math.log(delta) / n) - 2.0 * math.log(eps)
    else:
        start = math.log(rounds / (2.0 * math.pi * n)) - 2.0 * math.log(delta)
    return Eps0Question(lambda eps0: AxisPoint(subject_at(eps0), n, rounds), axis, start, target)


@limited
def fewest_users(decomposition: Sent, eps: float, delta: float, *, rounds: int = 1) -> Enclosure:
    """Enclose the smallest n at which n shuffled reports, or several rounds, are (ε, δ)-DP.

    The assumptions on users and rounds are those of `epsilon`. D(ε) does not grow with n.

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
        Two integers: ``upper`` users are enough, ``lower`` − 1 are not. They are equal if the
        engine can tell neighbouring numbers apart, up to about 10⁸ users in one round and a few
        hundred over several. ``upper`` is inf if 10¹⁵ users are not known to be enough; ``lower``
        is 10¹⁵ + 1 if they are not enough. For a randomizer both are about the mechanism's own δ.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        If narrower ends would cost too much work. It holds the ends that were reached.

    Examples
    --------
    >>> sb.fewest_users(sb.KRR(k=10, eps0=4.0).blanket(), eps=1.0, delta=1e-6)
    Enclosure(lower=1866, upper=1866)
    """
    target = Target(validation.eps(eps), validation.delta(delta))
    subject, rounds = subject_of(decomposition), validation.rounds(rounds)
    question = users_question(subject, target, rounds)
    return question.enclosure(question.answer())


def users_question(subject: Subject, target: Target, rounds: int) -> InverseQuestion:
    """Return the question for the fewest users that meet a target.

    Raises ValueError for a subject whose δ rises with n.
    """
    if not subject.is_hidden_by_number:
        raise ValueError(
            f"decomposition must be hidden by n, got {subject.label}: more steps cost more; ask "
            "for the most rounds"
        )
    axis, start = users_axis(subject), math.inf
    if target.eps:
        many = max(min(MANY_USERS, int(axis.most_private)), subject.fewest_users)
        loss = typical_loss(AxisPoint(subject, many, 1))
        # ε is about √(2 T log(1/δ)) times the typical loss of one round, which falls like 1/√n.
        numerator = -2.0 * rounds * math.log(target.delta) * many
        start = log(numerator) + 2.0 * (log(loss) - math.log(target.eps))
    return InverseQuestion(lambda n: AxisPoint(subject, int(n), rounds), axis, start, target)


@limited
def most_rounds(
    decomposition: Sent,
    eps: float,
    delta: float,
    n: Count,
    *,
    rtol: float = 1e-3,
) -> Enclosure:
    """Enclose the largest number of rounds of n users that are (ε, δ)-DP together.

    The assumptions on users and rounds are those of `epsilon`; see docs/proofs/composition.md.

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
        You can run ``lower`` rounds (0 if not even one), but not ``upper`` + 1. Both are integers;
        ``upper`` is inf if 10⁶ rounds, the most here, are not known to be too many (fewer, if a
        scheme of training has a smaller limit). For a
        randomizer ``lower`` is proven for all datasets, and two datasets show ``upper``.

    Raises
    ------
    ValueError
        For an argument outside these ranges.
    PrecisionError
        If narrower ends would cost too much work. It holds the ends that were reached.

    Examples
    --------
    >>> sb.most_rounds(sb.KRR(k=10, eps0=2.0).blanket(), eps=1.0, delta=1e-6, n=10_000)
    Enclosure(lower=112, upper=112)
    """
    target = Target(validation.eps(eps), validation.delta(delta))
    subject, n, rtol = subject_of(decomposition), validation.users(n), validation.rtol(rtol)
    target = target._replace(rounds_rtols=(*(x for x in ROUNDS_RTOLS if x > rtol), rtol))
    question = rounds_question(subject, target, n)
    return question.enclosure(question.answer())


def rounds_question(subject: Subject, target: Target, n: int) -> InverseQuestion:
    """Return the question for the most rounds of n users that meet a target."""
    axis, start = CountAxis(_most_rounds(subject, n), 1, 0.0), math.inf
    if target.eps:
        loss = typical_loss(AxisPoint(subject, n, 1))
        start = math.log(-2.0 * math.log(target.delta)) + 2.0 * (log(loss) - math.log(target.eps))
    return InverseQuestion(lambda rounds: AxisPoint(subject, n, int(rounds)), axis, start, target)


@dataclass(frozen=True)
class NoiseAxis(LossAxis):
    """Noise multipliers as an axis: privacy grows fast with them where there is little noise."""

    slope: ClassVar[float] = 2.0

    def enclosure(self, unsafe_end: float | None, safe_end: float | None) -> Enclosure:
        """Enclose the smallest noise that meets the target."""
        return Enclosure(
            0.0 if unsafe_end is None else unsafe_end, math.inf if safe_end is None else safe_end
        )


def noise_question(
    scheme: Callable[[float], Subject],
    target: Target,
    steps: int,
    epochs: int,
    rtol: float,
    name: str = "eps",
) -> InverseQuestion:
    """Return the question for the smallest noise multiplier that meets a target.

    Raises ValueError, which calls it by a name, for an ε of 0.
    """
    if target.eps == 0.0:
        raise ValueError(f"{name} must be an epsilon above 0, got 0")
    axis = NoiseAxis(scheme(validation.MAX_NOISE).least_noise(epochs), validation.MAX_NOISE, rtol)
    return InverseQuestion(lambda x: AxisPoint(scheme(x), steps, epochs), axis, 0.0, target)


@limited
def smallest_noise_multiplier(
    target: float,
    delta: float,
    *,
    steps: int,
    epochs: int = 1,
    rtol: float | None = None,
    scheme: Callable[[float], Subject] = RandomAllocation,
) -> Enclosure:
    """Enclose the smallest noise multiplier at which training is (ε, δ)-DP.

    The class of the scheme says what is assumed. By default it is `RandomAllocation`: neighbouring
    datasets differ by adding or removing one example, and the steps of examples are redrawn in
    every epoch.

    Parameters
    ----------
    target
        ε > 0 (natural log).
    delta
        δ, 10⁻²⁰⁰ ≤ δ < 1.
    steps
        Number of steps of an epoch, 1 to 10¹⁵.
    epochs
        Number of epochs, 1 to 10⁶.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1; None stands for 0.01, and for 0.02 of
        several epochs.
    scheme
        A function from the noise multiplier to the scheme of training, such as
        ``lambda noise: sb.PoissonSampling(noise, rate=0.01)``.

    Returns
    -------
    Enclosure
        At ``upper``, ε was found to be at most `target`. No noise multiplier below ``lower`` meets
        the target. It is 0 if the smallest one that is tried, 0.2 (times √epochs for kept bins), is
        large enough.

    Raises
    ------
    ValueError
        For an argument outside these ranges, and if no noise multiplier up to 1000 is large enough.
    PrecisionError
        If ε is not known well enough at some noise multiplier.

    Examples
    --------
    >>> sigma = sb.smallest_noise_multiplier(1.0, 1e-6, steps=1000)
    >>> 0.68 < sigma.lower < sigma.upper < 0.70
    True
    """
    target, delta = validation.eps(target), validation.delta(delta)
    steps, epochs = validation.users(steps, "steps"), validation.rounds(epochs, "epochs")
    goal = NOISE_RTOLS[epochs > 1] if rtol is None else validation.rtol(rtol)
    question = noise_question(scheme, Target(target, delta), steps, epochs, goal, "target")
    axis, search = question.axis, question.answer()
    least = axis.least_private
    if search.safe_end is None:
        raise ValueError(
            f"target must be larger, got {target!r}: a noise multiplier of "
            f"{validation.MAX_NOISE:g} is too small"
        )
    enclosure = axis.enclosure(search.unsafe_end, search.safe_end)
    if enclosure.relative_width > goal and search.safe_end > least:
        raise PrecisionError(
            validation.shortfall(
                "the noise multiplier", astuple(enclosure), enclosure.relative_width, goal
            ),
            enclosure,
        )
    return enclosure
