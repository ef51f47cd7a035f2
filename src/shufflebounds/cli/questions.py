"""The commands that ask one question of a shuffle and print one answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from shufflebounds import validation
from shufflebounds.accounting import rounds as composition
from shufflebounds.bounds.base import Answer, Numerics, largest
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import show
from shufflebounds.cli.bounding import ANSWERED, facts, of_candidates, often, round_notes, rows
from shufflebounds.cli.crowd import Users, crowd_notes
from shufflebounds.cli.options import (
    delta_option,
    eps0_option,
    eps_option,
    json_option,
    of_a_report,
    of_users,
    rounds_option,
    rtol_option,
)
from shufflebounds.cli.report import Report
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.setting import Setting


@click.command()
@of_a_report
@eps0_option
@of_users
@delta_option
@rounds_option
@rtol_option
@json_option
def epsilon(
    report: Report,
    eps0: float,
    users: Users,
    delta: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on epsilon at a given delta.

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """
    setting = Setting(n=users.honest, eps0=eps0, delta=delta)
    composed = partial(composition.epsilon, n=users.honest, delta=delta, rounds=rounds, rtol=rtol)
    answers = _answers(report, "epsilon", setting, Numerics(rtol=rtol), rounds, composed)
    show(
        as_json,
        facts={**facts(report), "eps0": eps0, **users.facts(), "delta": delta, "rounds": rounds},
        title=f"{report.name(eps0)}, {users}{often(rounds)}, delta = {delta!r}",
        column="epsilon (natural log)",
        rows=rows(
            answers,
            upper="the shuffled reports are (epsilon, delta)-DP; this may be claimed.",
            lower="two datasets differ by this much; no analysis can claim less.",
            clone="what would be known of any mechanism with this eps0.",
        ),
        notes=report.notes() + crowd_notes(users.colluding) + round_notes(rounds),
    )


@click.command()
@of_a_report
@eps0_option
@of_users
@eps_option
@rounds_option
@rtol_option
@json_option
def delta(
    report: Report,
    eps0: float,
    users: Users,
    eps: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on delta at a given epsilon.

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """
    setting = Setting(n=users.honest, eps0=eps0, eps=eps)
    composed = partial(composition.delta, eps=eps, n=users.honest, rounds=rounds, rtol=rtol)
    answers = _answers(report, "delta", setting, Numerics(rtol=rtol), rounds, composed)
    show(
        as_json,
        facts={**facts(report), "eps0": eps0, **users.facts(), "eps": eps, "rounds": rounds},
        title=f"{report.name(eps0)}, {users}{often(rounds)}, epsilon = {eps!r} (natural log)",
        column="delta (probability)",
        rows=rows(
            answers,
            upper="the shuffled reports are (epsilon, delta)-DP; this may be claimed.",
            lower="two datasets differ by this much; no analysis can claim less.",
            clone="what would be known of any mechanism with this eps0.",
        ),
        notes=report.notes() + crowd_notes(users.colluding) + round_notes(rounds),
    )


def _answers(
    report: Report,
    quantity: str,
    setting: Setting,
    numerics: Numerics,
    rounds: int,
    composed: Callable[[Decomposition], Enclosure],
) -> dict[str, Answer]:
    """Of one round, or of several: there each pair of datasets is the same in all of them."""
    if validation.whole("rounds", rounds, minimum=1, maximum=validation.MAX_ROUNDS) == 1:
        return _evaluated(report, quantity, setting, numerics)
    eps0 = setting.require("eps0")
    return {
        key: largest(of_candidates(BOUNDS[name], report, eps0, rounds, composed))
        for key, name in ANSWERED.items()
    }


def _evaluated(
    report: Report, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    protocol = report.protocol(setting.require("eps0"))
    return {
        key: BOUNDS[name].prepare(protocol, quantity, numerics)([setting])[0]
        for key, name in ANSWERED.items()
    }
