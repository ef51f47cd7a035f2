"""The inverse questions of a deployment: which ε₀, how many users and rounds meet a target (ε, δ)?

D(ε), or the ε of several rounds at δ, is compared with the target at points of an axis, of ε₀, n or
the number of rounds (`axis_search`). Both ends of an answer rest on a comparison at that end alone.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from shufflebounds.accounting.composition import compose
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import Count
from shufflebounds.core.work import enclosed_so_far, limited
from shufflebounds.divergence.law import log
from shufflebounds.profiles.axis_search import (
    MAX_COMPARISONS,
    AxisSearch,
    Comparison,
    CountAxis,
    Eps0Axis,
    SearchAxis,
)
from shufflebounds.profiles.direction import pair
from shufflebounds.profiles.mechanism import Parts
from shufflebounds.profiles.profile import Interval
from shufflebounds.profiles.starts import mean_square
from shufflebounds.randomizers.base import Randomizer, made_for_delta, require_mechanism

# Relative widths of D that are tried in this order, until D can be told from δ in one round. Speed
# and width only.
DELTA_RTOLS = (1e-4, 1e-6, 1e-8, 1e-9)
# Relative widths of the ε of several rounds that are tried in this order, until ε can be told from
# the target. Each width takes another profile of losses. Speed and width only.
COMPOSED_RTOLS = (0.1, 0.01, 1e-3)
# Relative width of the ε of several rounds by the bound for all datasets.
ALL_DATASETS_RTOL = 0.01
# Most points at which that bound is computed; each takes seconds. Speed and width only.
MAX_COMPOSED_SUPREMA = 4
# Relative width of a number of users or rounds at which the search by the bound for all datasets
# ends, for one round and for several.
COUNT_RTOLS = (1e-4, 2e-3)
# Most dataset pairs whose rounds are composed: those with the largest E G².
MAX_COMPOSED_PAIRS = 4


@limited
def largest_eps0(
    mechanism: Callable[[float], Decomposition | Randomizer],
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
    eps, delta = _validate_eps_of_eps0(eps), validation.delta(delta)
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
    largest = validation.eps0(most, "most")
    axis, start = eps0_axis(eps, delta, n, rounds, rtol, largest)
    search = _TargetSearch(
        Target(eps, delta),
        lambda eps0: Repetition.of(mechanism(eps0), n, rounds),
        axis,
    )
    eps0 = search.solve(start)
    if search.safe_end is None and eps <= 2.0 * delta:
        raise ValueError(
            f"delta must be larger for eps = {eps!r}, since floats cannot tell so small a "
            f"divergence from 0, got {delta!r}"
        )
    if search.safe_end is None:
        raise ValueError(
            "mechanism must give decompositions of eps0-LDP randomizers, but reports at eps0 = "
            f"{axis.most_private!r} are not known to be ({eps!r}, {delta!r})-DP"
        )
    return eps0


def eps0_axis(
    eps: float,
    delta: float,
    n: int,
    rounds: int,
    rtol: float,
    largest: float = validation.MAX_EPS0,
) -> tuple[Eps0Axis, float]:
    """Return the axis of the ε₀ to look at, and an estimate of the answer on its scale."""
    # At ε₀ = ε itself, rounding may leave a D(ε) above 0.
    smallest = min(max(eps, 2.0 * delta) / rounds * (1.0 - 0.5 * rtol), largest)
    axis = Eps0Axis(largest, smallest, rtol, are_composed=rounds > 1)
    # ε is about √(2 v log(1/δ)/n) for a v like that of `Eps0Axis.scale`; D(0) is √(v/(2πn)).
    if eps > 0.0:
        return axis, math.log(-2.0 * rounds * math.log(delta) / n) - 2.0 * math.log(eps)
    return axis, math.log(rounds / (2.0 * math.pi * n)) - 2.0 * math.log(delta)


def _validate_eps_of_eps0(eps: object) -> float:
    """Return a valid ε that is no larger than the largest ε₀; raise ValueError otherwise."""
    value, largest = validation.eps(eps), validation.MAX_EPS0
    if value > largest:
        raise ValueError(f"eps must be a finite number with 0 <= eps <= {largest:g}, got {eps!r}")
    return value


@limited
def fewest_users(
    decomposition: Decomposition | Randomizer, eps: float, delta: float, *, rounds: int = 1
) -> Enclosure:
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
    eps, delta = validation.eps(eps), validation.delta(delta)
    rounds = validation.rounds(rounds)
    subject = made_for_delta(require_mechanism(decomposition), delta / rounds)
    deployment = Repetition.of(subject, 1, rounds)
    axis = CountAxis(1, validation.MAX_USERS, 0.0)
    variance = max(map(mean_square, deployment.parts.above))
    numerator = -2.0 * rounds * variance * math.log(delta)
    start = log(numerator) - 2.0 * math.log(eps) if eps else math.inf
    search = _TargetSearch(Target(eps, delta), lambda n: deployment._replace(n=int(n)), axis)
    return search.solve(start)


@limited
def most_rounds(
    decomposition: Decomposition | Randomizer,
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
        ``upper`` is inf if 10⁶ rounds, the most here, are not known to be too many. For a
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
    require_mechanism(decomposition)
    eps, delta, n = validation.eps(eps), validation.delta(delta), validation.users(n)
    rtol = validation.rtol(rtol)
    deployment = Repetition.of(decomposition, n, 1)
    loss = max(_typical_loss(blanket, n) for blanket in deployment.parts.above)
    # ε is about √(2 T log(1/δ)) times the typical loss of one round.
    start = math.log(-2.0 * math.log(delta)) + 2.0 * (log(loss) - log(eps)) if eps else math.inf
    axis = CountAxis(validation.MAX_ROUNDS, 1, 0.0)
    target = Target(eps, delta, (*(x for x in COMPOSED_RTOLS if x > rtol), rtol))
    search = _TargetSearch(target, lambda rounds: deployment._replace(rounds=int(rounds)), axis)
    return search.solve(start)


class Repetition(NamedTuple):
    """The mechanism that all users share, the number of users, and the number of rounds."""

    mechanism: Decomposition | Randomizer
    n: int
    rounds: int
    parts: Parts

    @staticmethod
    def of(mechanism: Decomposition | Randomizer, n: int, rounds: int) -> Repetition:
        """Return the repetition; raise ValueError if `mechanism` is not a mechanism."""
        return Repetition(mechanism, n, rounds, Parts.of(mechanism))

    @property
    def users(self) -> FloatArray:
        """The number of users as an array of one point."""
        return np.array([float(self.n)])


class Target(NamedTuple):
    """A target (ε, δ), and the relative widths to which the ε of several rounds is enclosed."""

    eps: float
    delta: float
    composed_rtols: Sequence[float] = COMPOSED_RTOLS


def compare(
    target: Target, side: str, deployment: Repetition, expected_margin: float
) -> Comparison:
    """Compare a deployment with a target, by its ``blankets`` or its ``datasets`` (`side`).

    A decomposition stands for both. Widths too large to tell the expected margin from 0 are left
    out.
    """
    are_composed = deployment.rounds > 1
    enclose = (_many_rounds if are_composed else _one_round)(target, side, deployment)
    return compare_enclosures(target, enclose, are_composed, expected_margin)


def compare_enclosures(
    target: Target,
    enclose: Callable[[float], Enclosure],
    are_composed: bool,
    expected_margin: float,
) -> Comparison:
    """Compare δ at the target's ε or, over several rounds, ε at its δ with the target.

    `enclose` takes a relative width and returns the enclosure to compare.
    """
    rtols = target.composed_rtols if are_composed else DELTA_RTOLS
    largest = target.eps if are_composed else target.delta
    for rtol in [x for x in rtols if x <= 0.5 * expected_margin] or rtols[-1:]:
        enclosure = enclose(rtol)
        if enclosure.upper <= largest or enclosure.lower > largest:
            break
    certain_side = (enclosure.upper <= largest) - (enclosure.lower > largest)
    low, high = (_margin(target, are_composed, x) for x in (enclosure.upper, enclosure.lower))
    if math.isinf(low) or math.isinf(high):
        return Comparison(certain_side, certain_side * math.inf if certain_side else 0.0, math.inf)
    return Comparison(certain_side, 0.5 * (low + high), 0.5 * (high - low))


def _margin(target: Target, are_composed: bool, value: float) -> float:
    """Estimate log(log D / log δ) if D or, over several rounds, ε is `value`."""
    if not are_composed:
        return log(log(value) / math.log(target.delta))
    # log(1/δ) is about proportional to ε².
    return 2.0 * (log(target.eps) - log(value))


def _one_round(target: Target, side: str, deployment: Repetition) -> Callable[[float], Enclosure]:
    """Return a function that encloses δ at ε, given a relative width."""
    parts, n = deployment.parts, deployment.users
    if parts.decomposition is not None:
        interval = parts.interval(n)
    else:
        profile = parts.lower(n) if side == "datasets" else parts.blankets(n)
        interval = Interval(profile, profile)
    eps, delta = np.array([target.eps]), np.array([target.delta])

    def enclose(rtol: float) -> Enclosure:
        lower = interval.lower.deltas(eps, rtol, delta)
        upper = lower if interval.is_exact else interval.upper.deltas(eps, rtol, delta)
        high = float(upper.upper[0])
        return Enclosure(min(float(lower.lower[0]), high), high)

    return enclose


def _many_rounds(target: Target, side: str, deployment: Repetition) -> Callable[[float], Enclosure]:
    """Return a function that encloses ε at δ, given a relative width.

    It does not enclose δ at ε, which may be far below the target.
    """
    parts: Sequence[Decomposition] = deployment.parts.above
    if side == "datasets":
        pairs = deployment.parts.datasets.values()
        parts = sorted(pairs, key=mean_square, reverse=True)[:MAX_COMPOSED_PAIRS]
    composed = compose([(parts, deployment.n, deployment.rounds)])
    return lambda rtol: reached(partial(composed.epsilon, target.delta, rtol=rtol))


def compare_all_datasets(target: Target, deployment: Repetition) -> Comparison:
    """Compare the bound for all datasets with a target."""
    if deployment.rounds == 1:
        upper = deployment.parts.upper(deployment.users)
        goal = np.array([target.delta])
        ends = upper.deltas(np.array([target.eps]), DELTA_RTOLS[0], goal)
        value, largest = float(ends.upper[0]), target.delta
    else:
        composed = compose([(deployment.mechanism, deployment.n, deployment.rounds)])
        epsilon = partial(composed.epsilon, target.delta, rtol=ALL_DATASETS_RTOL)
        value, largest = reached(epsilon).upper, target.eps
    # A NaN counts as above the target.
    return Comparison(
        1 if value <= largest else -1, _margin(target, deployment.rounds > 1, value), 0.0
    )


def _typical_loss(decomposition: Decomposition, n: int) -> float:
    """Return the standard deviation of the normal privacy loss with the same D(0), an estimate."""
    users = np.array([float(n)])
    divergence_at_zero = pair(decomposition, users).upper.deltas(np.zeros(1), 1e-3).upper
    return math.sqrt(2.0 * math.pi) * float(divergence_at_zero[0])


class _TargetSearch:
    """The search on an axis for the closest points that certainly miss and certainly meet a target.

    ``unsafe_end`` misses it and ``safe_end`` meets it; None stands for an unknown end. Blankets
    show that a mechanism meets the target, and datasets that it misses it. If these leave a gap,
    the bound for all datasets may show that more points meet it. A decomposition shows both.
    """

    def __init__(
        self, target: Target, deployment_at: Callable[[float], Repetition], axis: SearchAxis
    ) -> None:
        self._target, self._deployment_at, self._axis = target, deployment_at, axis
        # The searches that found the ends.
        self._safe = self._unsafe = AxisSearch(axis)

    @property
    def safe_end(self) -> float | None:
        """The least private point that certainly meets the target."""
        return self._safe.safe_end

    @property
    def unsafe_end(self) -> float | None:
        """The most private point that certainly misses the target."""
        return self._unsafe.unsafe_end

    def solve(self, start: float) -> Enclosure:
        """Return the axis' enclosure; `start` estimates the root on the scale.

        If the work budget is spent, the error holds the enclosure so far.
        """
        with enclosed_so_far(self._enclosure):
            self._run(start)
        return self._enclosure()

    def _enclosure(self) -> Enclosure:
        return self._axis.enclosure(self.unsafe_end, self.safe_end)

    def _run(self, start: float) -> None:
        """Find the ends."""
        if isinstance(self._deployment_at(self._axis.point(start)).mechanism, Randomizer):
            self._unsafe = AxisSearch(self._axis)
        self._safe.run(self._at(partial(compare, self._target, "blankets")), start)
        if self._unsafe is self._safe:
            return
        if self.safe_end is not None:
            start = self._axis.scale(self.safe_end)
        self._unsafe.run(self._at(partial(compare, self._target, "datasets")), start)
        if self.safe_end is not None:
            self._meet_by_all_datasets(self.safe_end)

    def _at(
        self, compare_deployment: Callable[[Repetition, float], Comparison]
    ) -> Callable[[float, float], Comparison]:
        """Return a comparison of points of the axis."""
        return lambda point, margin: compare_deployment(self._deployment_at(point), margin)

    def _meet_by_all_datasets(self, safe_end: float) -> None:
        """Move the safe end to the least private point where all datasets meet the target."""
        deployment = self._deployment_at(safe_end)
        assert isinstance(deployment.mechanism, Randomizer)
        if not deployment.mechanism.crowds():
            return
        axis, are_composed = self._axis, deployment.rounds > 1
        if isinstance(axis, CountAxis):
            axis = replace(axis, rtol=COUNT_RTOLS[are_composed])
        unsafe_end = axis.least_private if self.unsafe_end is None else self.unsafe_end
        if axis.is_narrow(unsafe_end, safe_end):
            return
        self._safe = AxisSearch(axis, (unsafe_end, safe_end))
        # This bound is mostly close to the lower bound, which gave the unsafe end.
        start = axis.scale(unsafe_end)
        self._safe.run(
            self._at(lambda deployment, _: compare_all_datasets(self._target, deployment)),
            start + 2.02 * axis.resolution(start),
            MAX_COMPOSED_SUPREMA if are_composed else MAX_COMPARISONS,
        )
