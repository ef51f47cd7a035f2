"""What the bounds say to inverse questions: the largest ε₀, the fewest users, the most rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from shufflebounds import validation
from shufflebounds.accounting import affordable, calibration
from shufflebounds.accounting.all_datasets import (
    all_datasets_eps0,
    all_datasets_users,
    unsettled,
)
from shufflebounds.accounting.worst_users import FewestUsers
from shufflebounds.bounds.base import Answer, Bound, attempt, smallest
from shufflebounds.bounds.many_pairs import largest_answer
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.bounding import ANSWERED, answered, of_candidates, pairs
from shufflebounds.cli.progress import one_by_one
from shufflebounds.cli.report import Report
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure

# Relative widths that are promised of an answer; the last one where there are several rounds.
_EPS0_RTOL, _USERS_RTOL, _ROUNDS_RTOL = 1e-3, 1e-4, 0.01


def largest_eps0(report: Report, **target: Any) -> dict[str, Answer]:
    """By the key of the JSON; the target is ``eps``, ``delta``, ``n`` and ``rounds``.

    The tight bound is searched of a single round. Its answer was itself found to meet the target.
    """
    bounds = {key: BOUNDS[name] for key, name in ANSWERED.items()}
    answers = {key: _largest_eps0(one, report, target) for key, one in one_by_one(bounds)}
    if target["rounds"] > 1:
        return answers

    def crowds(eps0: float) -> Sequence[Crowd]:
        return report.protocol(eps0).randomizer.crowds()

    low, missed = answers["upper_bound"].enclosure.lower, answers["lower_bound"]
    eps, delta, n = target["eps"], target["delta"], target["n"]
    most = min(missed.enclosure.upper, validation.MAX_EPS0)
    found = all_datasets_eps0(crowds, eps, delta, n, low, most)
    tight = replace(missed, enclosure=Enclosure(found, missed.enclosure.upper), shortfall="")
    return {"tight_bound": tight, **answers}


def fewest_users(
    report: Report, eps0: float | None, *, eps: float, delta: float, rounds: int
) -> dict[str, Answer]:
    """By the key of the JSON; all else as for `largest_eps0`."""
    promised = _USERS_RTOL if rounds == 1 else _ROUNDS_RTOL
    question = FewestUsers(validation.eps(eps), validation.delta(delta), validation.rounds(rounds))
    bounds = answered(report, eps0)
    asked = {key: pairs(bound, report, eps0, rounds) for key, bound in bounds.items()}
    answers = {
        key: _held_to(promised, largest_answer(one.kind, asked[key], question), rounds, one.name)
        for key, one in one_by_one(bounds)
    }
    if rounds > 1:
        return answers
    missed, enough = answers["lower_bound"], answers["upper_bound"].enclosure.upper
    least = int(missed.enclosure.lower)
    crowds = report.protocol(eps0).randomizer.crowds()
    if least < enough:
        # D does not grow with n: what is settled there is settled everywhere.
        open_ = unsettled(crowds, eps, delta, least)
        enough = all_datasets_users(open_, eps, delta, least, enough)
    tight = replace(missed, enclosure=Enclosure(min(least, enough), enough), shortfall="")
    return {"tight_bound": tight, **answers}


def most_rounds(
    report: Report, eps0: float | None, *, eps: float, delta: float, n: int
) -> dict[str, Answer]:
    """By the key of the JSON."""
    most = partial(affordable.most_rounds, eps=eps, delta=delta, n=n)
    return {
        key: _held_to(
            _ROUNDS_RTOL, smallest(of_candidates(bound, report, eps0, None, most)), 2, bound.name
        )
        for key, bound in one_by_one(answered(report, eps0))
    }


def _largest_eps0(bound: Bound, report: Report, target: Mapping[str, Any]) -> Answer:
    """The smallest of all pairs': whatever one of them rules out is ruled out."""
    some = pairs(bound, next(report.coarse_to_fine()), 1.0, target["rounds"])
    found = smallest(
        replace(_largest_eps0_of_pair(bound, report, i, target), others=pair.others)
        for i, pair in enumerate(some)
    )
    promised = _EPS0_RTOL if target["rounds"] == 1 else _ROUNDS_RTOL
    return _held_to(promised, found, target["rounds"], bound.name)


def _largest_eps0_of_pair(
    bound: Bound, report: Report, pair: int, target: Mapping[str, Any]
) -> Answer:
    """Of the coarsest report whose answer is as narrow as the finest one's has to be."""
    for candidate in report.coarse_to_fine():

        def decomposition(eps0: float, of: Report = candidate) -> Decomposition:
            return pairs(bound, of, eps0, target["rounds"])[pair].decomposition

        search = partial(calibration.largest_eps0, decomposition, **target, rtol=_EPS0_RTOL)
        answer = attempt(search)
        found = answer.enclosure
        if found.relative_width <= _EPS0_RTOL or found.lower == validation.MAX_EPS0:
            break
    return answer


def _held_to(rtol: float, answer: Answer, rounds: int, bound: str) -> Answer:
    """The answer, with a sentence if it is wider than promised.

    Searches end without an error where the engine cannot tell on which side of δ a point is. Of
    several rounds nothing is promised of the lower bound: where its two directions differ, so do
    the ends (docs/composition.md, section 1).
    """
    lower, upper = answer.enclosure.lower, answer.enclosure.upper
    most = (validation.MAX_EPS0, validation.MAX_USERS + 1, validation.MAX_ROUNDS)
    beyond = math.isinf(upper) and lower in most
    counted = isinstance(lower, int) and upper - lower <= 1  # numbers next to each other
    close = answer.enclosure.relative_width <= rtol or counted
    if answer.shortfall or beyond or close or (rounds > 1 and bound == "lower"):
        return answer
    wide = (
        f"known only to lie in [{lower!r}, {upper!r}], which is wider than the relative {rtol:g} "
        "that is promised"
    )
    return replace(answer, shortfall=wide)
