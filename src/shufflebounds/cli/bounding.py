"""What the upper bound, the lower bound and the clone say to one question, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from shufflebounds.bounds.base import Answer, Bound, Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.deployment import Users
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.protocols.base import Candidate

# Dataset pairs whose rounds are composed, each of which takes a while.
FEW = 4

# The bounds that are divergences of pairs.
OF_PAIRS = ("upper", "lower", "stronger_clone")


def answering(asked: Users, *names: str) -> dict[str, Bound]:
    """The bounds of some names: none of ε₀ alone where that is infinite, or says nothing at all."""
    bounds = {name: BOUNDS[name] for name in names}
    return {k: one for k, one in bounds.items() if one.knows_mechanism or asked.has_telling_eps0}


def pairs(bound: Bound, asked: Users) -> tuple[Candidate, ...]:
    """The pairs that a bound compares.

    Of dataset pairs only a few for several rounds, those that tell the inputs apart best. Raises
    ValueError for several rounds (None: any number) in each of which another pair may be the worst,
    which no maximum over pairs covers.
    """
    found = all_pairs(bound, asked)
    if asked.rounds != 1 and bound.kind is Kind.UPPER and len(found) > 1:
        raise ValueError(
            f"{asked.name} has several pairs of inputs, and in each round another may be "
            "the worst; of several rounds only epsilon, delta, renyi, check and curve look at all "
            "of them"
        )
    return found[:FEW] if asked.rounds != 1 and bound.kind is Kind.LOWER else found


def all_pairs(bound: Bound, asked: Users) -> tuple[Candidate, ...]:
    """The pairs that a bound compares in one round, those that tell most first."""
    assert bound.candidates is not None
    return bound.candidates(bound.seen(asked.protocol))


def proof(asked: Users, answers: Mapping[str, Answer], end: str = "upper") -> str:
    """Which bound the best proven one is, by the end that counts."""
    tight, blanket = (
        getattr(answers[key].enclosure, end) if key in answers else None
        for key in ("tight", "upper")
    )
    if tight != blanket:
        return "the bound for all datasets"
    return "the blanket" if asked.has_crowds else "the blanket, which may be far above the truth"


def least(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """The best proven bound no larger than the blanket, however closely each is computed."""
    if not {"tight", "upper"} <= answers.keys():
        return dict(answers)
    tight, blanket = answers["tight"], answers["upper"].enclosure.upper
    ends = (min(end, blanket) for end in (tight.enclosure.lower, tight.enclosure.upper))
    return {**answers, "tight": replace(tight, enclosure=Enclosure(*ends))}


# What holds of every shuffle of ε₀-LDP reports: it is (ε₀, 0)-DP, and T of them (Tε₀, 0)-DP.


def within_eps0(
    answers: Mapping[str, Answer], eps0: float | None, rounds: int
) -> tuple[dict[str, Answer], list[str]]:
    """Answers on ε none of whose ends is above ε₀ times rounds, and a note if that mattered."""
    cap = _cap(eps0, rounds)
    capped = {
        key: replace(
            answer,
            enclosure=Enclosure(min(answer.enclosure.lower, cap), min(answer.enclosure.upper, cap)),
        )
        for key, answer in answers.items()
    }
    if all(capped[key].enclosure == answer.enclosure for key, answer in answers.items()):
        return capped, []
    what = "eps0" if rounds == 1 else f"{rounds} times eps0"
    return capped, [
        f"A bound that comes out above {what} is replaced by {what}: the reports are "
        f"({what}, 0)-DP before they are shuffled, and so afterwards."
    ]


def is_zero(eps: float, eps0: float | None, rounds: int) -> bool:
    """Whether δ(ε) is 0 for want of reports that tell more."""
    return eps >= _cap(eps0, rounds)


def _cap(eps0: float | None, rounds: int) -> float:
    """ε₀ times rounds, rounded up; inf where there is no ε₀."""
    return math.inf if eps0 is None else Enclosure(eps0, eps0).times(rounds).upper
