"""The inverse questions of a deployment: which ε₀, how many users and rounds meet a target (ε, δ)?

D(ε), or the ε of several rounds at δ, is compared with the target at points of an axis, of ε₀, n or
the number of rounds (`axis_search`). Both ends of an answer rest on a comparison at that end alone.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from shufflebounds.accounting.axis_search import (
    Axis,
    Comparison,
    CountAxis,
    Eps0Axis,
    bracket_target,
)
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
from shufflebounds.accounting.round_laws import Round, pessimistic_sum
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
from shufflebounds.core.work import WorkError, limited
from shufflebounds.divergence.lattice import smallest_eps
from shufflebounds.divergence.law import log
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Relative widths of D that are tried in this order, until D can be told from δ in one round. Speed
# and width only.
DELTA_RTOLS = (1e-4, 1e-6, 1e-8, 1e-9)
# Relative widths of the ε of several rounds that are tried for `largest_eps0`. Each of them takes
# another profile of losses.
EPS0_RTOLS = (0.1, 0.01, 1e-3)
# Relative widths of the ε of several rounds that are tried for `fewest_users`.
USERS_RTOLS = (0.1, 0.01, 2e-3)
# Relative widths of ε that are tried for `most_rounds`, before the width that the caller asks for.
ROUNDS_RTOLS = (0.05, 0.01)
# Number of lattice points per standard deviation in the bound of several rounds for all datasets.
LATTICE_DENSITY = 12.0
# Relative amount by which the search for that bound may stop too high. Speed and width only.
COMPOSED_SEARCH_RTOL = 2e-3
# Most points at which that bound is computed. Speed and width only.
MAX_COMPOSED_PROBES = 4
# Power of ε with which δ is assumed to change along the axis, for several rounds.
DELTA_POWER = 40.0
# Relative width of the ε of several rounds that sorts out decompositions that need fewer users than
# the others. Speed only.
COARSE_EPS_RTOL = 0.01


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
        Of ε₀ (natural log). You can deploy ``lower``, which meets the target. ``upper`` misses it;
        inf stands for a target that even the largest ε₀ to look at meets. If `mechanism` gives
        randomizers, both ends are about the mechanism's own δ, and an ε₀ between them may meet the
        target or miss it.

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
    # At ε₀ = ε itself, rounding may leave a D(ε) above 0.
    smallest = min(max(eps, 2.0 * delta) / rounds * (1.0 - 0.5 * rtol), largest)
    axis = Eps0Axis(largest, smallest, rtol, are_composed=rounds > 1)
    # ε is about √(2 v log(1/δ)/n) for a v like that of `Eps0Axis.scale`; D(0) is √(v/(2πn)).
    if eps > 0.0:
        start = math.log(-2.0 * rounds * math.log(delta) / n) - 2.0 * math.log(eps)
    else:
        start = math.log(rounds / (2.0 * math.pi * n)) - 2.0 * math.log(delta)
    target = _target(eps, delta, rounds, EPS0_RTOLS)
    upper, lower = _meet_target(
        target,
        lambda eps0: _Deployment(require_mechanism(mechanism(eps0)), n, rounds),
        axis,
        start,
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
    return Enclosure(lower, math.inf if upper is None else upper)


def _validate_eps_of_eps0(eps: object) -> float:
    """Return a valid ε that is no larger than the largest ε₀; raise ValueError otherwise."""
    value, largest = validation.eps(eps), validation.MAX_EPS0
    if value > largest:
        raise ValueError(f"eps must be a finite number with 0 <= eps <= {largest:g}, got {eps!r}")
    return value


@no_worse_than_simple_bound()
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
        Of a number of users, ends that are integers: ``upper`` users are enough, ``lower`` − 1 are
        not. They are equal where the engine can tell neighbouring numbers apart, up to some 10⁸ in
        one round and a few hundred in more. ``upper`` is inf where 10¹⁵ are not known to be enough;
        ``lower`` is 10¹⁵ + 1 where they are not. Of a randomizer both are of the mechanism's own δ.

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
    mechanism = require_mechanism(decomposition)
    axis = CountAxis(1, validation.MAX_USERS)
    variance = max(map(_gparv_variance, _blankets(mechanism).values()))
    numerator = -2.0 * rounds * variance * math.log(delta)
    start = log(numerator) - 2.0 * math.log(eps) if eps else math.inf
    target = _target(eps, delta, rounds, USERS_RTOLS)
    unsafe_end, safe_end = _meet_target(
        target, lambda n: _Deployment(mechanism, int(n), rounds), axis, start
    )
    return Enclosure(
        1 if unsafe_end is None else unsafe_end + 1,
        math.inf if safe_end is None else safe_end,
    )


def _blankets(mechanism: Decomposition | Randomizer) -> Mapping[str, Decomposition]:
    """Return the decompositions that bound a mechanism from above, by name."""
    return mechanism.blankets() if isinstance(mechanism, Randomizer) else {"": mechanism}


def _gparv_variance(decomposition: Decomposition) -> float:
    """Return the variance of the GPARV at ε = 0."""
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        return float(masses @ values**2)


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

    The assumptions on users and rounds are those of `epsilon`; see docs/composition.md.

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
        If narrower ends would cost too much work. It holds the ends that were reached.

    Examples
    --------
    >>> sb.most_rounds(sb.KRR(k=10, eps0=2.0).blanket(), eps=1.0, delta=1e-6, n=10_000)
    Enclosure(lower=112, upper=112)
    """
    require_mechanism(decomposition)
    eps, delta, n = validation.eps(eps), validation.delta(delta), validation.users(n)
    rtol = validation.rtol(rtol)
    target = _ComposedTarget(eps, delta, (*(x for x in ROUNDS_RTOLS if x > rtol), rtol))
    loss = max(typical_loss(blanket, n) for blanket in _blankets(decomposition).values())
    # ε is about √(2 T log(1/δ)) times the typical loss of one round.
    start = math.log(-2.0 * math.log(delta)) + 2.0 * (log(loss) - log(eps)) if eps else math.inf
    axis = CountAxis(validation.MAX_ROUNDS, 1)
    unsafe_end, safe_end = _meet_target(
        target, lambda rounds: _Deployment(decomposition, n, int(rounds)), axis, start
    )
    return Enclosure(
        0 if safe_end is None else safe_end,
        math.inf if unsafe_end is None else unsafe_end - 1,
    )


class _Deployment(NamedTuple):
    """The mechanism that all users share, the number of users, and the number of rounds."""

    mechanism: Decomposition | Randomizer
    n: int
    rounds: int


@dataclass(frozen=True)
class _Target(ABC):
    """A target (ε, δ) and the relative widths at which divergences are compared with it, in turn.

    For the search over all datasets, ``search_rtol`` is the relative width to aim at and
    ``max_probes`` the largest number of points.
    """

    eps: float
    delta: float
    rtols: Sequence[float]
    search_rtol: float
    max_probes: int

    def compare_blankets(self, deployment: _Deployment, expected_margin: float) -> Comparison:
        """Compare the upper bound by blankets, or the bounds by a decomposition."""
        blankets = _blankets(deployment.mechanism)
        return self.compare(deployment, blankets, candidates_to_ask, expected_margin)

    def compare_datasets(self, deployment: _Deployment, expected_margin: float) -> Comparison:
        """Compare the lower bound by datasets."""
        pairs = self.dataset_pairs(deployment)
        return self.compare(deployment, pairs, pairs_to_try, expected_margin)

    @abstractmethod
    def compare(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        expected_margin: float,
    ) -> Comparison:
        """Compare the largest divergence of the decompositions with the target.

        `expected_margin` may be used to leave out widths that could not tell the margin from 0.
        """

    @abstractmethod
    def dataset_pairs(self, deployment: _Deployment) -> Mapping[str, Decomposition]:
        """Return decompositions that bound a randomizer from below, by name."""

    @abstractmethod
    def all_datasets_excess(self, deployment: _Deployment) -> tuple[bool, float]:
        """Return whether all datasets of a randomizer meet the target, and a log to steer by.

        It is 0 where they begin to meet it, positive if they miss it, and inf if there is no bound.
        """


@dataclass(frozen=True)
class _SingleRoundTarget(_Target):
    """The target of a single round, whose δ at ε is compared."""

    rtols: Sequence[float] = DELTA_RTOLS
    search_rtol: float = SEARCH_RTOL
    max_probes: int = MAX_PROBES

    def compare(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        expected_margin: float,
    ) -> Comparison:
        """See `_Target`; the widths do not depend on the expected margin."""
        for rtol in self.rtols:
            question = BestEffort("delta", deployment.n, self.eps, rtol)
            _, divergence = largest_answer(decompositions, question, select)
            side = _side(divergence, self.delta)
            if side != 0 or divergence.relative_width > rtol:
                break
        return _comparison(side, self._margin(divergence.upper), self._margin(divergence.lower))

    def _margin(self, divergence: float) -> float:
        """Return log(log D / log δ)."""
        return log(log(divergence) / math.log(self.delta))

    def dataset_pairs(self, deployment: _Deployment) -> Mapping[str, Decomposition]:
        """See `_Target`."""
        assert isinstance(deployment.mechanism, Randomizer)
        return deployment.mechanism.known_datasets()

    def all_datasets_excess(self, deployment: _Deployment) -> tuple[bool, float]:
        """See `_Target`."""
        assert isinstance(deployment.mechanism, Randomizer)
        crowds, n = deployment.mechanism.crowds(), deployment.n
        unsettled = unsettled_crowds(crowds, self.eps, self.delta, n)
        return excess(both_directions(unsettled), self.eps, n, self.delta)


@dataclass(frozen=True)
class _ComposedTarget(_Target):
    """The target of rounds together, whose ε at δ is compared: δ at ε may be far smaller."""

    search_rtol: float = COMPOSED_SEARCH_RTOL
    max_probes: int = MAX_COMPOSED_PROBES

    def compare(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        expected_margin: float,
    ) -> Comparison:
        """See `_Target`; all decompositions are composed together, without a selection."""
        rtols = [rtol for rtol in self.rtols if rtol <= 0.5 * expected_margin] or self.rtols[-1:]
        for rtol in rtols:
            composed = compose([(tuple(decompositions.values()), deployment.n, deployment.rounds)])
            eps = reached(partial(composed.epsilon, self.delta, rtol=rtol))
            side = _side(eps, self.eps)
            # An ε that is wider than `rtol` may still be narrower at the next width.
            if side != 0:
                break
        is_final = rtol == self.rtols[-1]
        return _comparison(side, self._margin(eps.upper), self._margin(eps.lower), is_final)

    def _margin(self, eps: float) -> float:
        """Return log(log D / log δ) as it changes with ε: log(1/δ) is about proportional to ε²."""
        return 2.0 * (log(self.eps) - log(eps))

    def dataset_pairs(self, deployment: _Deployment) -> Mapping[str, Decomposition]:
        """See `_Target`."""
        pairs = _round(deployment).lower_decompositions
        return {str(i): pair for i, pair in enumerate(pairs)}

    def all_datasets_excess(self, deployment: _Deployment) -> tuple[bool, float]:
        """See `_Target`."""
        round_, upper = _round(deployment), math.inf
        with suppress(WorkError):
            if round_.crowds:
                law = pessimistic_sum([round_], LATTICE_DENSITY, 0.05 * self.delta)
                upper = smallest_eps(law, self.delta)
        return upper <= self.eps, DELTA_POWER * (log(upper) - log(self.eps))


def _target(eps: float, delta: float, rounds: int, composed_rtols: Sequence[float]) -> _Target:
    """Return the target of a number of rounds; several are compared at `composed_rtols`."""
    if rounds == 1:
        return _SingleRoundTarget(eps, delta)
    return _ComposedTarget(eps, delta, composed_rtols)


def _round(deployment: _Deployment) -> Round:
    """Return the rounds of a deployment whose mechanism is a randomizer."""
    assert isinstance(deployment.mechanism, Randomizer)
    return round_of(deployment.mechanism, deployment.n, deployment.rounds)


def _side(enclosure: Enclosure, largest: float) -> int:
    """Return 1 if the value is certainly at most `largest`, −1 if certainly above, else 0."""
    if enclosure.upper <= largest:
        return 1
    return -1 if enclosure.lower > largest else 0


def _comparison(side: int, low: float, high: float, is_final: bool = False) -> Comparison:
    """Return a comparison whose margin lies between `low` and `high`."""
    if math.isinf(low) or math.isinf(high):
        return Comparison(side, side * math.inf if side else 0.0, math.inf, is_final)
    return Comparison(side, 0.5 * (low + high), 0.5 * (high - low), is_final)


def _meet_target(
    target: _Target, deployment_at: Callable[[float], _Deployment], axis: Axis, start: float
) -> tuple[float | None, float | None]:
    """Return the closest points that certainly miss and certainly meet the target, None if unknown.

    `start` estimates on the scale of the axis where the target begins to be met. Blankets
    show that a mechanism meets the target, and datasets that it misses it. If these leave a gap,
    the bound for all datasets may show that more points meet it.
    """
    unsafe_end, safe_end = bracket_target(
        lambda x, margin: target.compare_blankets(deployment_at(x), margin), axis, start
    )
    if isinstance(deployment_at(axis.point(start)).mechanism, Decomposition):
        return unsafe_end, safe_end
    unsafe_end, _ = bracket_target(
        lambda x, margin: target.compare_datasets(deployment_at(x), margin),
        axis,
        start if safe_end is None else axis.scale(safe_end),
    )
    if safe_end is None:
        return unsafe_end, safe_end
    is_narrow = unsafe_end is not None and axis.is_narrow(unsafe_end, safe_end)
    # The bound for all datasets can give a little more of ε₀, which takes long for several rounds.
    gains_eps0 = isinstance(target, _SingleRoundTarget) and isinstance(axis, Eps0Axis)
    if is_narrow and not gains_eps0:
        return unsafe_end, safe_end
    return unsafe_end, _meet_by_all_datasets(target, deployment_at, axis, unsafe_end, safe_end)


def _meet_by_all_datasets(
    target: _Target,
    deployment_at: Callable[[float], _Deployment],
    axis: Axis,
    unsafe_end: float | None,
    safe_end: float,
) -> float:
    """Return the least private point between two ends that all datasets meet, else `safe_end`.

    The search runs over e to the power of the scale, which is positive, such as n.
    """

    @cache
    def excess_at(point: float) -> tuple[bool, float]:
        return target.all_datasets_excess(deployment_at(point))

    start, end = (
        axis.scale(axis.least_private if unsafe_end is None else unsafe_end),
        axis.scale(safe_end),
    )
    if isinstance(axis, CountAxis) and unsafe_end is not None:
        # The first number that may meet the target is the next one.
        start += 2.02 * axis.resolution(start)
    low, high = math.exp(min(start, end)), math.exp(end)
    smallest = smallest_point(
        lambda x: excess_at(axis.point(math.log(x))),
        low,
        high,
        target.search_rtol,
        target.max_probes,
    )
    return axis.point(math.log(smallest)) if smallest < high else safe_end


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
        """See `Question`; several rounds take seconds per decomposition."""
        return super().max_all_asked if self.rounds == 1 else 1

    def point(self, value: float) -> tuple[float, float, int] | None:
        """See `Question`; None if the value exceeds the largest number of users."""
        return None if value > validation.MAX_USERS else (self.eps, self.delta, int(value))

    def may_exceed(self, decomposition: Decomposition, value: float) -> bool:
        """See `Question`."""
        if self.rounds == 1 or value > validation.MAX_USERS:
            return super().may_exceed(decomposition, value)
        composed = compose([(decomposition, int(value), self.rounds)])
        return reached(partial(composed.epsilon, self.delta, rtol=COARSE_EPS_RTOL)).upper > self.eps

    def seems_to_exceed(self, decomposition: Decomposition, value: float) -> bool:
        """See `Question`."""
        seems = super().seems_to_exceed if self.rounds == 1 else self.may_exceed
        return seems(decomposition, value)
