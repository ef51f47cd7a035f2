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
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from shufflebounds.accounting.axis_search import (
    MAX_COMPARISONS,
    NO_COMPARISON,
    Axis,
    AxisSearch,
    Comparison,
    CountAxis,
    Eps0Axis,
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
from shufflebounds.accounting.worst_dataset import compare_suprema, unsettled_crowds
from shufflebounds.core import validation
from shufflebounds.core.datasets import both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, reached
from shufflebounds.core.work import enclosed_so_far, limited
from shufflebounds.divergence.lattice import smallest_eps
from shufflebounds.divergence.law import log
from shufflebounds.randomizers.base import Randomizer, require_mechanism

# Relative widths of D that are tried in this order, until D can be told from δ in one round. Speed
# and width only.
DELTA_RTOLS = (1e-4, 1e-6, 1e-8, 1e-9)
# Relative widths of the ε of several rounds that are tried in this order, until it can be told from
# the target. Each of them takes another profile of losses. Speed and width only.
COMPOSED_RTOLS = (0.1, 0.01, 1e-3)
# Number of lattice points per standard deviation in the bound of several rounds for all datasets.
LATTICE_DENSITY = 12.0
# Most points at which that bound is computed; each takes seconds. Speed and width only.
MAX_COMPOSED_SUPREMA = 4
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
    search = _TargetSearch(
        _target(eps, delta, rounds),
        lambda eps0: _Deployment(require_mechanism(mechanism(eps0)), n, rounds),
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


def _target(eps: float, delta: float, rounds: int) -> _Target:
    """Return the target of a number of rounds."""
    return _SingleRoundTarget(eps, delta) if rounds == 1 else _ComposedTarget(eps, delta)


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
    axis = CountAxis(1, validation.MAX_USERS, 0.0)
    variance = max(map(_gparv_variance, _blankets(mechanism).values()))
    numerator = -2.0 * rounds * variance * math.log(delta)
    start = log(numerator) - 2.0 * math.log(eps) if eps else math.inf
    search = _TargetSearch(
        _target(eps, delta, rounds), lambda n: _Deployment(mechanism, int(n), rounds), axis
    )
    return search.solve(start)


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
    loss = max(typical_loss(blanket, n) for blanket in _blankets(decomposition).values())
    # ε is about √(2 T log(1/δ)) times the typical loss of one round.
    start = math.log(-2.0 * math.log(delta)) + 2.0 * (log(loss) - log(eps)) if eps else math.inf
    axis = CountAxis(validation.MAX_ROUNDS, 1, 0.0)
    target = _ComposedTarget(eps, delta, (*(x for x in COMPOSED_RTOLS if x > rtol), rtol))
    search = _TargetSearch(target, lambda rounds: _Deployment(decomposition, n, int(rounds)), axis)
    return search.solve(start)


class _Deployment(NamedTuple):
    """The mechanism that all users share, the number of users, and the number of rounds."""

    mechanism: Decomposition | Randomizer
    n: int
    rounds: int


@dataclass(frozen=True)
class _Target(ABC):
    """A target (ε, δ), with which some quantity of a deployment is compared."""

    eps: float
    delta: float
    # The relative widths to which the quantity is enclosed, in turn, until it tells the side.
    rtols: Sequence[float]

    # Most comparisons of the bound for all datasets with the target.
    max_suprema: ClassVar[int]
    # Relative width of users or rounds at which the search by that bound ends.
    count_rtol: ClassVar[float]

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest value of the quantity that meets the target."""

    @abstractmethod
    def enclose(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        rtol: float,
    ) -> Enclosure:
        """Return the largest value of the quantity among decompositions."""

    @abstractmethod
    def margin(self, value: float) -> float:
        """Return log(log D / log δ) where the quantity has this value, an estimate."""

    @abstractmethod
    def dataset_pairs(self, deployment: _Deployment) -> Mapping[str, Decomposition]:
        """Return decompositions that bound a randomizer from below, by name."""

    @abstractmethod
    def compare_all_datasets(self, deployment: _Deployment) -> Comparison:
        """Compare the bound for all datasets of a randomizer, which may have none."""

    def compare_blankets(self, deployment: _Deployment, expected_margin: float) -> Comparison:
        """Compare the upper bound by blankets, or the bounds by a decomposition."""
        blankets = _blankets(deployment.mechanism)
        return self._compare(deployment, blankets, candidates_to_ask, expected_margin)

    def compare_datasets(self, deployment: _Deployment, expected_margin: float) -> Comparison:
        """Compare the lower bound by datasets."""
        pairs = self.dataset_pairs(deployment)
        return self._compare(deployment, pairs, pairs_to_try, expected_margin)

    def _compare(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        expected_margin: float,
    ) -> Comparison:
        """Compare the largest value among decompositions, to the first width that tells.

        Widths that could not tell the expected margin from 0 are left out.
        """
        for rtol in [x for x in self.rtols if x <= 0.5 * expected_margin] or self.rtols[-1:]:
            enclosure = self.enclose(deployment, decompositions, select, rtol)
            if enclosure.upper <= self.largest or enclosure.lower > self.largest:
                break
        side = (enclosure.upper <= self.largest) - (enclosure.lower > self.largest)
        low, high = self.margin(enclosure.upper), self.margin(enclosure.lower)
        if math.isinf(low) or math.isinf(high):
            return Comparison(side, side * math.inf if side else 0.0, math.inf)
        return Comparison(side, 0.5 * (low + high), 0.5 * (high - low))


@dataclass(frozen=True)
class _SingleRoundTarget(_Target):
    """The target of a single round, whose δ at ε is compared."""

    rtols: Sequence[float] = DELTA_RTOLS
    max_suprema = MAX_COMPARISONS
    count_rtol = 1e-4

    @property
    def largest(self) -> float:
        """See `_Target`."""
        return self.delta

    def enclose(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        rtol: float,
    ) -> Enclosure:
        """See `_Target`."""
        question = BestEffort("delta", deployment.n, self.eps, rtol)
        return largest_answer(decompositions, question, select)[1]

    def margin(self, value: float) -> float:
        """See `_Target`."""
        return log(log(value) / math.log(self.delta))

    def dataset_pairs(self, deployment: _Deployment) -> Mapping[str, Decomposition]:
        """See `_Target`."""
        assert isinstance(deployment.mechanism, Randomizer)
        return deployment.mechanism.known_datasets()

    def compare_all_datasets(self, deployment: _Deployment) -> Comparison:
        """See `_Target`."""
        assert isinstance(deployment.mechanism, Randomizer)
        crowds = deployment.mechanism.crowds()
        if not crowds:
            return NO_COMPARISON
        unsettled = unsettled_crowds(crowds, self.eps, self.delta, deployment.n)
        return compare_suprema(both_directions(unsettled), self.eps, deployment.n, self.delta)


@dataclass(frozen=True)
class _ComposedTarget(_Target):
    """The target of rounds together, whose ε at δ is compared: δ at ε may be far smaller."""

    rtols: Sequence[float] = COMPOSED_RTOLS
    max_suprema = MAX_COMPOSED_SUPREMA
    count_rtol = 2e-3

    @property
    def largest(self) -> float:
        """See `_Target`."""
        return self.eps

    def enclose(
        self,
        deployment: _Deployment,
        decompositions: Mapping[str, Decomposition],
        select: Selection,
        rtol: float,
    ) -> Enclosure:
        """See `_Target`; all decompositions are composed together, without a selection."""
        composed = compose([(tuple(decompositions.values()), deployment.n, deployment.rounds)])
        return reached(partial(composed.epsilon, self.delta, rtol=rtol))

    def margin(self, value: float) -> float:
        """See `_Target`; log(1/δ) is about proportional to ε²."""
        return 2.0 * (log(self.eps) - log(value))

    def dataset_pairs(self, deployment: _Deployment) -> Mapping[str, Decomposition]:
        """See `_Target`."""
        pairs = _round(deployment).lower_decompositions
        return {str(i): pair for i, pair in enumerate(pairs)}

    def compare_all_datasets(self, deployment: _Deployment) -> Comparison:
        """See `_Target`."""
        round_ = _round(deployment)
        if not round_.crowds:
            return NO_COMPARISON
        law = pessimistic_sum([round_], LATTICE_DENSITY, 0.05 * self.delta)
        eps = smallest_eps(law, self.delta)
        return Comparison(1 if eps <= self.eps else -1, self.margin(eps), 0.0)


def _round(deployment: _Deployment) -> Round:
    """Return the rounds of a deployment whose mechanism is a randomizer."""
    assert isinstance(deployment.mechanism, Randomizer)
    return round_of(deployment.mechanism, deployment.n, deployment.rounds)


class _TargetSearch:
    """The search on an axis for the closest points that certainly miss and certainly meet a target.

    ``unsafe_end`` misses it and ``safe_end`` meets it; None stands for an unknown end. Blankets
    show that a mechanism meets the target, and datasets that it misses it. If these leave a gap,
    the bound for all datasets may show that more points meet it. A decomposition shows both.
    """

    def __init__(
        self, target: _Target, deployment_at: Callable[[float], _Deployment], axis: Axis
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

        If the work budget is spent, its error has the enclosure so far.
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
        self._safe.run(self._at(self._target.compare_blankets), start)
        if self._unsafe is self._safe:
            return
        if self.safe_end is not None:
            start = self._axis.scale(self.safe_end)
        self._unsafe.run(self._at(self._target.compare_datasets), start)
        if self.safe_end is not None:
            self._meet_by_all_datasets(self.safe_end)

    def _at(
        self, compare: Callable[[_Deployment, float], Comparison]
    ) -> Callable[[float, float], Comparison]:
        """Return a comparison of points of the axis."""
        return lambda point, margin: compare(self._deployment_at(point), margin)

    def _meet_by_all_datasets(self, safe_end: float) -> None:
        """Move the safe end to the least private point found that all datasets meet."""
        axis = self._axis
        if isinstance(axis, CountAxis):
            axis = replace(axis, rtol=self._target.count_rtol)
        unsafe_end = axis.least_private if self.unsafe_end is None else self.unsafe_end
        if axis.is_narrow(unsafe_end, safe_end):
            return
        self._safe = AxisSearch(axis, (unsafe_end, safe_end))
        # The bound is mostly close to the end that datasets show.
        start = axis.scale(unsafe_end)
        self._safe.run(
            self._at(lambda deployment, _: self._target.compare_all_datasets(deployment)),
            start + 2.02 * axis.resolution(start),
            self._target.max_suprema,
        )


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
