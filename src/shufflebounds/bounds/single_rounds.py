"""Bounds of many rounds by theorems that know one (ε, δ) of each, as baselines.

The rounds share a part of δ evenly, at which each has the ε of its worst decomposition. Composing
whole profiles (`compositions`) is never worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller

from shufflebounds import validation
from shufflebounds.accounting import amplification
from shufflebounds.bounds.base import Answer, Bound, Evaluate, Kind, Numerics, attempt, smallest
from shufflebounds.bounds.clones import CLONE
from shufflebounds.bounds.composition_theorems import Theorem, advanced, basic, optimal
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Candidate, Part, Protocol
from shufflebounds.setting import Setting

PairsOf = Callable[[Protocol], tuple[Candidate, ...]]

_SAFE = 1e-12


def _of_rounds(
    theorem: Theorem, shares: Sequence[float], pairs_of: PairsOf
) -> Callable[[Protocol, str, Numerics], Evaluate]:
    """`shares` are parts of δ that the rounds may have together; the best one counts."""

    def prepare(protocol: Protocol, quantity: str, numerics: Numerics) -> Evaluate:
        def answer(setting: Setting) -> Answer:
            often, delta = setting.rounds or 1, setting.require("delta")
            parts = [
                part._replace(times=part.times * often)
                for part in protocol.parts(setting.require("n"))
            ]
            if sum(part.times for part in parts) == 1:
                return attempt(partial(_alone, parts[0], pairs_of, delta))
            return _answer(theorem, shares, parts, pairs_of, delta)

        return lambda settings: [answer(setting) for setting in settings]

    return prepare


def _answer(
    theorem: Theorem,
    shares: Sequence[float],
    parts: Sequence[Part],
    pairs_of: PairsOf,
    delta: float,
) -> Answer:
    total = sum(part.times for part in parts)
    each = [share * delta / total * (1.0 - _SAFE) for share in shares]
    each = [one for one in each if one >= validation.MIN_DELTA]
    if not each:
        return Answer(
            Enclosure(0.0, math.inf),
            shortfall=f"delta = {delta!r} leaves each of {total} rounds less than "
            f"{validation.MIN_DELTA:g}",
        )
    return smallest(
        _by_theorem(
            theorem,
            [
                (attempt(partial(_alone, part, pairs_of, one)).enclosure, part.times)
                for part in parts
            ],
            one,
            delta,
        )
        for one in each
    )


def _by_theorem(
    theorem: Theorem, rounds: Sequence[tuple[Enclosure, int]], each: float, delta: float
) -> Answer:
    if any(math.isinf(eps.upper) for eps, _ in rounds):
        return Answer(Enclosure(math.inf, math.inf))
    low = attempt(lambda: theorem([(eps.lower, times) for eps, times in rounds], each, delta))
    high = attempt(lambda: theorem([(eps.upper, times) for eps, times in rounds], each, delta))
    return Answer(
        Enclosure(min(low.enclosure.lower, high.enclosure.upper), high.enclosure.upper),
        shortfall=high.shortfall,
    )


def _alone(part: Part, pairs_of: PairsOf, delta: float) -> Enclosure:
    """ε of one of the shuffles, the largest of all pairs."""
    n = part.protocol.draws(part.n)
    found = [
        amplification.epsilon(pair.decomposition, n, delta) for pair in pairs_of(part.protocol)
    ]
    return Enclosure(max(one.lower for one in found), max(one.upper for one in found))


def _bound(
    name: str,
    label: str,
    source: str,
    theorem: Theorem,
    shares: Sequence[float],
    pairs_of: PairsOf,
    knows_mechanism: bool,
) -> Bound:
    return Bound(
        name=name,
        kind=Kind.UPPER,
        label=label,
        source=source,
        knows_mechanism=knows_mechanism,
        is_divergence=False,
        quantities=("epsilon",),
        composes=True,
        prepare=_of_rounds(theorem, shares, pairs_of),
    )


def _of_blanket(name: str, label: str, source: str, theorem: Theorem, share: float) -> Bound:
    return _bound(name, label, source, theorem, (share,), methodcaller("upper_candidates"), True)


BASIC = _of_blanket(
    "basic_composition",
    "basic composition",
    "Dwork, McSherry, Nissim and Smith, TCC 2006, of the best single round at δ/T",
    basic,
    1.0,
)
ADVANCED = _of_blanket(
    "advanced_composition",
    "advanced composition",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.5, of the best single round at δ/(2T)",
    advanced,
    0.5,
)
OPTIMAL = _of_blanket(
    "optimal_composition",
    "optimal composition of (ε, δ)",
    "Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.3, of the best single round at δ/(2T)",
    optimal,
    0.5,
)
assert CLONE.candidates is not None  # it is a divergence
CLONE_ADVANCED = _bound(
    "clone_advanced",
    "clone, advanced composition",
    "Feldman, McMillan and Talwar, FOCS 2021, Theorem 3.1; Kairouz, Oh and Viswanath, ICML 2015, "
    "Theorem 3.5, with the best of several shares of δ",
    advanced,
    (0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9),
    CLONE.candidates,
    False,
)
