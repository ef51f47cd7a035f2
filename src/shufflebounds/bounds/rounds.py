"""Composition theorems that use one (ε, δ) of each round, and the bounds by them, as baselines.

The rounds share a part of δ evenly, at which each round has the ε of its worst decomposition.
Composing whole privacy profiles (`questions.composed`) is never worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from shufflebounds.bounds.base import (
    FORMULA_ERR,
    Answer,
    Bound,
    Kind,
    Numerics,
    attempt,
    smallest,
)
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.core.products import MASSES_ERR
from shufflebounds.core.setting import Setting
from shufflebounds.profiles.profile import Interval, Quantity
from shufflebounds.questions.composed import compose
from shufflebounds.questions.enclose import enclose
from shufflebounds.questions.plan import BLANKETS, DEFAULT_RTOL, MakeInterval, Plan
from shufflebounds.subjects.base import Subject

# Relative width of ε to aim at for the optimal composition. The four losses of its pairs lie
# between the points of a lattice, which makes narrower answers expensive.
_OPTIMAL_RTOL = 5e-3
# Largest relative width of ε that is accepted for the optimal composition.
_LARGEST_OPTIMAL_RTOL = 0.05
# Shares of δ that the single rounds have together, if the theorem needs all of it.
_ALL_OF_DELTA = (1.0,)
# Shares of δ that the single rounds have together, if the theorem needs the rest.
_HALF_OF_DELTA = (0.5,)

# Returns the ε of all rounds for (ε, times) of each kind of round, the δ of every single round, and
# the δ of all rounds together.
Theorem = Callable[[Sequence[tuple[float, int]], float, float], Enclosure]


def basic(rounds: Sequence[tuple[float, int]], round_delta: float, delta: float) -> Enclosure:
    """Return Σε, which holds at Σδ."""
    total = math.fsum(eps * times for eps, times in rounds)
    return Enclosure(total * (1.0 - FORMULA_ERR), total * (1.0 + FORMULA_ERR))


def advanced(rounds: Sequence[tuple[float, int]], round_delta: float, delta: float) -> Enclosure:
    """Return ε by advanced composition of different rounds (Kairouz, Oh, Viswanath, Theorem 3.5).

    It is the smaller one of Σε and Σ ε tanh(ε/2) + √(2 Σε² L) at δ̃ + Σδ, where L is the smaller one
    of log(1/δ̃) and log(e + √(Σε²)/δ̃).
    """
    slack = delta - round_delta * sum(times for _, times in rounds)
    drift = math.fsum(times * eps * math.tanh(0.5 * eps) for eps, times in rounds)
    total = math.fsum(eps * times for eps, times in rounds)
    # Squares of tiny ε would underflow. If the drift underflows, it is negligible.
    largest = max(eps for eps, _ in rounds) or 1.0
    spread = largest * math.sqrt(math.fsum(times * (eps / largest) ** 2 for eps, times in rounds))
    # δ̃ is a difference that is not far below δ: its rounding hardly changes its logarithm.
    log = min(-math.log(slack), math.log(math.e + spread / slack))
    eps = min(total, drift + spread * math.sqrt(2.0 * log))
    return Enclosure(eps * (1.0 - FORMULA_ERR), eps * (1.0 + FORMULA_ERR))


def optimal(rounds: Sequence[tuple[float, int]], round_delta: float, delta: float) -> Enclosure:
    """Return the best ε that follows from (ε, δ) of each round (Kairouz, Oh, Viswanath, ICML 2015).

    It is the composition of randomized responses that tell the truth with probability δ.
    """
    pairs = [(_dominating_pair(eps, round_delta), 1, times) for eps, times in rounds]
    try:
        return compose(pairs).epsilon(delta, rtol=_OPTIMAL_RTOL)
    except PrecisionError as error:
        if error.enclosure.relative_width > _LARGEST_OPTIMAL_RTOL:
            raise
        enclosure: Enclosure = error.enclosure
        return enclosure


def _dominating_pair(eps: float, delta: float) -> Decomposition:
    """Return the pair that dominates all (ε, δ)-DP pairs, as a report of a lone user."""
    rare = (1.0 - delta) / (1.0 + math.exp(eps))
    common = (1.0 - delta) / (1.0 + math.exp(-eps))
    a = np.array([delta, common, rare, 0.0])
    return Decomposition(a, a[::-1], np.full(4, 0.25), MASSES_ERR)


def _smallest_by_theorem(
    theorem: Theorem,
    shares: Sequence[float],
    parts: Sequence[tuple[Interval, int]],
    delta: float,
) -> Answer:
    """Return the smallest ε by the theorem over the shares of δ that the rounds have together."""
    total = sum(times for _, times in parts)
    round_deltas = [share * delta / total * (1.0 - FORMULA_ERR) for share in shares]
    round_deltas = [x for x in round_deltas if x >= validation.MIN_DELTA]
    if not round_deltas:
        return Answer(
            Enclosure(0.0, math.inf),
            shortfall=f"delta = {delta!r} leaves each of {total} rounds less than "
            f"{validation.MIN_DELTA:g}",
        )
    return smallest(
        _by_theorem(
            theorem,
            [(_single_shuffle(part, round_delta), times) for part, times in parts],
            round_delta,
            delta,
        )
        for round_delta in round_deltas
    )


def _by_theorem(
    theorem: Theorem, rounds: Sequence[tuple[Enclosure, int]], round_delta: float, delta: float
) -> Answer:
    """Return ε by the theorem for both ends of the ε of the rounds."""
    if any(math.isinf(eps.upper) for eps, _ in rounds):
        return Answer(Enclosure(math.inf, math.inf))
    low, high = (
        attempt(partial(theorem, ends, round_delta, delta))
        for ends in (
            [(eps.lower, times) for eps, times in rounds],
            [(eps.upper, times) for eps, times in rounds],
        )
    )
    return Answer(
        Enclosure(min(low.enclosure.lower, high.enclosure.upper), high.enclosure.upper),
        shortfall=high.shortfall,
    )


def _single_shuffle(interval: Interval, delta: float) -> Enclosure:
    """Return the ε of one of the shuffles."""
    at = np.array([delta])
    return enclose(interval, Quantity.EPSILON, at, DEFAULT_RTOL).enclosures()[0]


def theorem_bound(
    name: str,
    label: str,
    source: str,
    theorem: Theorem,
    shares: Sequence[float],
    make: MakeInterval = BLANKETS,
    knows_mechanism: bool = True,
) -> Bound:
    """Return the bound by `theorem` for the largest ε of all pairs.

    `shares` are the shares of δ that the rounds may have together; the best share counts.
    """

    def compute(
        subject: Subject, quantity: str, settings: Sequence[Setting], _: Numerics
    ) -> list[Answer]:
        def answer(setting: Setting) -> Answer:
            delta = setting.require("delta")
            plan = Plan(subject, setting.rounds or 1, make)
            parts = plan.single_shuffles(setting.require("n"))
            if sum(times for _, times in parts) == 1:
                return attempt(partial(_single_shuffle, parts[0][0], delta))
            return _smallest_by_theorem(theorem, shares, parts, delta)

        return [answer(setting) for setting in settings]

    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        quantities=("epsilon",),
        is_of_shuffles=True,
        composes=True,
        compute=compute,
    )


BASIC = theorem_bound(
    "basic_composition",
    "basic composition",
    "Dwork, McSherry, Nissim and Smith, TCC 2006, of the best single round at δ/T",
    basic,
    _ALL_OF_DELTA,
)
ADVANCED = theorem_bound(
    "advanced_composition",
    "advanced composition",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.5, of the best single round at δ/(2T)",
    advanced,
    _HALF_OF_DELTA,
)
OPTIMAL = theorem_bound(
    "optimal_composition",
    "optimal composition of (ε, δ)",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.3, of the best single round at δ/(2T)",
    optimal,
    _HALF_OF_DELTA,
)
