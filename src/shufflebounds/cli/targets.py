"""The commands that ask what meets a target: the largest ε₀, the fewest users, the most rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping

import click

from shufflebounds import validation
from shufflebounds.bounds.base import Answer
from shufflebounds.cli import searches
from shufflebounds.cli.answers import show
from shufflebounds.cli.bounding import proof, rows
from shufflebounds.cli.crowd import Users, with_colluding
from shufflebounds.cli.deployment import Deployment
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
from shufflebounds.cli.progress import progress
from shufflebounds.cli.report import Report


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
        answers = searches.largest_eps0(report, eps=eps, delta=delta, n=users.honest, rounds=rounds)
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
        found = searches.fewest_users(report, eps0, eps=eps, delta=delta, rounds=rounds)
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
        answers = searches.most_rounds(report, eps0, eps=eps, delta=delta, n=users.honest)
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
