"""What the upper bound, the lower bound and the clone say to one question, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from shufflebounds.bounds.base import Answer, Bound, Kind, attempt
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import Row
from shufflebounds.cli.deployment import Report
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.protocols.base import Candidate

# Dataset pairs whose rounds are composed, each of which takes a while.
FEW = 4

# What is answered, by the key of the JSON: the bound, and how people call it.
ANSWERED = {"upper_bound": "upper", "lower_bound": "lower", "clone": "clone"}
# The same, and what no decomposition proves.
WITH_TIGHT = {"tight_bound": "tight", **ANSWERED}
_OTHER = {"lower": "upper", "upper": "lower"}


def rows(
    answers: Mapping[str, Answer],
    *,
    better: str = "smaller",
    instead: Mapping[tuple[str, float], str] | None = None,
    **meanings: str,
) -> dict[str, Row]:
    """Of an upper bound the end counts that is the safe one, of a lower bound the other.

    `meanings` are by the bound's name; `instead` has those of numbers that say something else, by
    the kind of bound, ``upper`` or ``lower``, and the number.
    """
    found = {}
    for key, name in WITH_TIGHT.items():
        if key in answers:
            kind = "lower" if name == "lower" else "upper"
            end = kind if better == "smaller" else _OTHER[kind]
            number = getattr(answers[key].enclosure, end)
            meaning = (instead or {}).get((kind, number), meanings[name])
            found[key] = Row(BOUNDS[name].label, end, answers[key], meaning)
    return found


def answered(report: Report, eps0: float | None) -> dict[str, Bound]:
    """The bounds that answer: no clone where ε₀ is infinite, or reports say nothing at all."""
    has_clone = is_generic(report, eps0)
    return {key: BOUNDS[name] for key, name in ANSWERED.items() if key != "clone" or has_clone}


def is_generic(report: Report, eps0: float | None) -> bool:
    """Whether there is an ε₀ that says something, for bounds that know nothing else."""
    whole = report.protocol(eps0).eps0
    return whole is not None and 0.0 < whole < math.inf


def with_tight(report: Report, eps0: float | None) -> dict[str, Bound]:
    """The same and the tight bound, which is no decomposition's."""
    return {"tight_bound": BOUNDS["tight"], **answered(report, eps0)}


def of_candidates(
    bound: Bound,
    report: Report,
    eps0: float | None,
    rounds: int | None,
    evaluate: Callable[[Decomposition], Enclosure],
) -> list[Answer]:
    """What `evaluate` says of every pair that the bound compares."""
    return [
        attempt(partial(evaluate, pair.decomposition)).of(pair)
        for pair in pairs(bound, report, eps0, rounds)
    ]


def pairs(
    bound: Bound, report: Report, eps0: float | None, rounds: int | None
) -> tuple[Candidate, ...]:
    """The pairs that a bound compares, at ε₀ of all that a user sends (None: its own).

    Of dataset pairs only a few for several rounds, those that tell the inputs apart best. Raises
    ValueError for several rounds (None: any number) in each of which another pair may be the worst,
    which no maximum over pairs covers.
    """
    found = all_pairs(bound, report, eps0)
    if rounds != 1 and bound.kind is Kind.UPPER and len(found) > 1:
        raise ValueError(
            f"{report.name(eps0)} has several pairs of inputs, and in each round another may be "
            "the worst; of several rounds only epsilon, delta, renyi, check and curve look at all "
            "of them"
        )
    return found[:FEW] if rounds != 1 and bound.kind is Kind.LOWER else found


def all_pairs(bound: Bound, report: Report, eps0: float | None) -> tuple[Candidate, ...]:
    """The pairs that a bound compares in one round, those that tell most first."""
    assert bound.candidates is not None
    return bound.candidates(
        report.protocol(eps0) if bound.knows_mechanism else report.generic(eps0)
    )


def proof(answers: Mapping[str, Answer], end: str = "upper") -> str:
    """Which bound the tight one is, by the end that counts."""
    tight, blanket = (
        getattr(answers[key].enclosure, end) if key in answers else None
        for key in ("tight_bound", "upper_bound")
    )
    return "the blanket" if tight == blanket else "the bound for all datasets"


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
        f"The reports are ({what}, 0)-DP before they are shuffled, and so afterwards. Where a "
        f"bound comes out above that, {what} stands in its place."
    ]


def is_zero(eps: float, eps0: float | None, rounds: int) -> bool:
    """Whether δ(ε) is 0 for want of reports that tell more."""
    return eps >= _cap(eps0, rounds)


def _cap(eps0: float | None, rounds: int) -> float:
    """ε₀ times rounds, rounded up; inf where there is no ε₀."""
    return math.inf if eps0 is None else Enclosure(eps0, eps0).times(rounds).upper
