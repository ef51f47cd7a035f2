"""The commands that ask what meets a target: the largest ε₀, the fewest users, the most rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click

from shufflebounds.accounting import calibration
from shufflebounds.accounting import calibration as affordable
from shufflebounds.accounting.calibration import FewestUsers
from shufflebounds.accounting.mechanism import all_datasets_eps0, all_datasets_users, unsettled
from shufflebounds.bounds.base import Answer, Bound, attempt, smallest
from shufflebounds.bounds.divergences import largest_answer
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import one_by_one, progress, show
from shufflebounds.cli.bounding import ANSWERED, answered, of_candidates, pairs, proof, rows
from shufflebounds.cli.deployment import Deployment, Report, Users, with_colluding
from shufflebounds.cli.options import (
    colluding_option,
    delta_option,
    eps0_option,
    eps_option,
    json_option,
    of_a_report,
    of_users,
    rounds_option,
)
from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure

# What the bounds say to inverse questions: the largest ε₀, the fewest users, the most rounds.

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


@click.command()
@of_a_report
@of_users
@eps_option
@delta_option
@rounds_option
@json_option
def eps0(
    report: Report, users: Users, eps: float, delta: float, rounds: int, as_json: bool
) -> None:
    """The largest eps0 that meets a target (epsilon, delta).

    With --rounds it is the eps0 of each round, and all rounds together meet the target; the tight
    bound, which `epsilon` and `check` know of them, is not searched then. The upper bound, the
    lower bound and the clone are enclosed to a relative width of 1e-3, or 1e-2 of several rounds.

    Example: shufflebounds eps0 --mechanism krr --k 10 --n 100000 --eps 0.5 --delta 1e-6
    """
    report.refuse_own_eps0()
    with progress(hidden=as_json):
        answers = largest_eps0(report, eps=eps, delta=delta, n=users.honest, rounds=rounds)
    asked = Deployment(report, users=users, rounds=rounds)
    show(
        as_json,
        facts=asked.facts(eps=eps, delta=delta),
        title=asked.title(_target(eps, delta)),
        column="eps0 (natural log)",
        rows=rows(
            answers,
            better="larger",
            instead={
                ("lower", math.inf): f"not even {validation.MAX_EPS0:g}, the largest eps0 that is "
                "looked at, is ruled out."
            },
            tight=_tight("the largest that is proven to meet the target", answers, "lower")
            + "; it may be deployed.",
            upper="with this eps0 the target is met; it may be deployed.",
            lower="with this eps0 two datasets miss the target; no analysis can allow it.",
            clone="what would be allowed knowing nothing but eps0.",
        ),
        notes=asked.notes(),
    )


@click.command()
@of_a_report
@eps0_option
@eps_option
@delta_option
@colluding_option
@rounds_option
@json_option
def users(
    report: Report,
    eps0: float | None,
    eps: float,
    delta: float,
    colluding: int,
    rounds: int,
    as_json: bool,
) -> None:
    """The fewest users that meet a target (epsilon, delta).

    With --rounds it is how many report in each round, and all rounds together meet the target; the
    tight bound, which `epsilon` and `check` know of them, is not searched then.

    Example: shufflebounds users --mechanism krr --k 10 --eps0 4 --eps 0.5 --delta 1e-6
    """
    eps0 = report.require_eps0(eps0)
    with progress(hidden=as_json):
        found = fewest_users(report, eps0, eps=eps, delta=delta, rounds=rounds)
    answers = {key: with_colluding(answer, colluding) for key, answer in found.items()}
    asked = Deployment(report, eps0, rounds=rounds, colluding=colluding)
    show(
        as_json,
        facts=asked.facts(eps=eps, delta=delta, colluding=colluding),
        title=asked.title(_target(eps, delta)),
        column="users",
        rows=rows(
            answers,
            instead={("upper", math.inf): "not even 10^15 users are known to be enough."},
            tight=_tight("the fewest that are proven to be enough", answers, "upper") + ".",
            upper="so many users are enough.",
            lower="with fewer users two datasets miss the target; no analysis can do with fewer.",
            clone="how many would be enough knowing nothing but eps0.",
        ),
        notes=asked.notes(),
    )


@click.command()
@of_a_report
@eps0_option
@of_users
@eps_option
@delta_option
@json_option
def rounds(
    report: Report, eps0: float | None, users: Users, eps: float, delta: float, as_json: bool
) -> None:
    """The most rounds that meet a target (epsilon, delta) together, up to 1e6.

    Rounds are separate shuffles of the same users, such as days; a user spends eps0 in each.

    Example: shufflebounds rounds --mechanism krr --k 10 --eps0 2 --n 1e5 --eps 0.5 --delta 1e-6
    """
    eps0 = report.require_eps0(eps0)
    with progress(hidden=as_json):
        answers = most_rounds(report, eps0, eps=eps, delta=delta, n=users.honest)
    asked = Deployment(report, eps0, users, rounds=None)
    show(
        as_json,
        facts=asked.facts(eps=eps, delta=delta),
        title=asked.title(_target(eps, delta)),
        column="rounds",
        rows=rows(
            answers,
            better="larger",
            instead={
                ("upper", 0): "not even one round is known to meet the target.",
                ("lower", 0): "not even one round meets the target; no analysis can allow it.",
                ("lower", math.inf): f"not even {validation.MAX_ROUNDS} rounds are ruled out.",
            },
            upper="so many rounds meet the target together; they may be run.",
            lower="in more rounds two datasets miss the target; no analysis can allow more.",
            clone="how many would be allowed knowing nothing but eps0.",
        ),
        notes=asked.notes(),
    )


def _target(eps: float, delta: float) -> str:
    return f"target epsilon = {eps!r}, delta = {delta!r}"


def _tight(claim: str, answers: Mapping[str, Answer], end: str) -> str:
    return f"{claim}, here by {proof(answers, end)}"
