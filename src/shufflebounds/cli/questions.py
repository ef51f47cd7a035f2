"""The commands that ask one question of a shuffle and print one answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import click

from shufflebounds.accounting.composition import compose
from shufflebounds.bounds.base import Answer, Kind, Numerics, attempt, largest
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import Row, one_by_one, progress, show
from shufflebounds.cli.bounding import (
    FEW,
    all_pairs,
    is_generic,
    is_zero,
    proof,
    rows,
    with_tight,
    within_eps0,
)
from shufflebounds.cli.deployment import Deployment, Report, Users
from shufflebounds.cli.options import (
    REAL,
    delta_option,
    eps0_option,
    eps_option,
    json_option,
    of_a_report,
    of_users,
    rounds_option,
    rtol_option,
)
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting


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
    eps0: float | None,
    users: Users,
    delta: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on epsilon at a given delta.

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """
    setting = Setting(n=users.honest, eps0=report.require_eps0(eps0), delta=delta)

    def composed(some: Sequence[Decomposition]) -> Enclosure:
        return compose([(some, users.honest, rounds)]).epsilon(delta, rtol=rtol)

    with progress(hidden=as_json):
        found = _answers(report, "epsilon", setting, Numerics(rtol=rtol), rounds, composed)
    answers, trivial = within_eps0(found, report.protocol(eps0).eps0, rounds)
    asked = Deployment(report, eps0, users, rounds)
    show(
        as_json,
        facts=asked.facts(delta=delta),
        title=asked.title(f"delta = {delta!r}"),
        column="epsilon (natural log)",
        rows=rows(
            answers,
            instead={
                ("upper", math.inf): "no epsilon is known to hold at this delta.",
                ("lower", math.inf): "two datasets rule out every epsilon at this delta.",
            },
            tight=_least(answers, rounds),
            upper="the shuffled reports are (epsilon, delta)-DP; this may be claimed.",
            lower="two datasets differ by this much; no analysis can claim less.",
            clone="what would be known of any mechanism with this eps0.",
        ),
        notes=asked.notes() + trivial,
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
    eps0: float | None,
    users: Users,
    eps: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on delta at a given epsilon.

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """
    setting = Setting(n=users.honest, eps0=report.require_eps0(eps0), eps=eps)

    def composed(some: Sequence[Decomposition]) -> Enclosure:
        return compose([(some, users.honest, rounds)]).delta(eps, rtol=rtol)

    if is_zero(eps, report.protocol(eps0).eps0, validation.rounds(rounds)):
        answers = dict.fromkeys(with_tight(report, eps0), Answer(Enclosure(0.0, 0.0)))
    else:
        with progress(hidden=as_json):
            answers = _answers(report, "delta", setting, Numerics(rtol=rtol), rounds, composed)
    asked = Deployment(report, eps0, users, rounds)
    show(
        as_json,
        facts=asked.facts(eps=eps),
        title=asked.title(f"epsilon = {eps!r} (natural log)"),
        column="delta (probability)",
        rows=rows(
            answers,
            tight=_least(answers, rounds),
            upper="the shuffled reports are (epsilon, delta)-DP; this may be claimed.",
            lower="two datasets differ by this much; no analysis can claim less.",
            clone="what would be known of any mechanism with this eps0.",
        ),
        notes=asked.notes(),
    )


def _least(answers: Mapping[str, Answer], rounds: int) -> str:
    """What the tight bound is; of many rounds it may be another at every point of their curves."""
    by = f", here by {proof(answers)}" if rounds == 1 else ""
    return f"the least that is proven{by}; this may be claimed."


def _answers(
    report: Report,
    quantity: str,
    setting: Setting,
    numerics: Numerics,
    rounds: int,
    composed: Callable[[Sequence[Decomposition]], Enclosure],
) -> dict[str, Answer]:
    """Of one round, or of several, in each of which any of several pairs may be the worst."""
    if validation.whole("rounds", rounds, minimum=1, maximum=validation.MAX_ROUNDS) == 1:
        return _evaluated(report, quantity, setting, numerics)
    answers = {}
    for key, bound in one_by_one(with_tight(report, setting.eps0)):
        if bound.candidates is None:
            protocol = report.protocol(setting.eps0)
            composes = bound.prepare(protocol, quantity, numerics)
            answers[key] = composes([replace(setting, rounds=rounds)])[0]
            continue
        some = all_pairs(bound, report, setting.eps0)
        if bound.kind is not Kind.LOWER and len(some) > 1:
            # The worst may be another in each round, which no maximum over pairs covers.
            answers[key] = attempt(partial(composed, [pair.decomposition for pair in some]))
        else:
            answers[key] = largest(
                attempt(partial(composed, [pair.decomposition])).of(pair) for pair in some[:FEW]
            )
    return answers


def _evaluated(
    report: Report, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    protocol = report.protocol(setting.eps0)
    return {
        key: bound.prepare(protocol, quantity, numerics)([setting])[0]
        for key, bound in one_by_one(with_tight(report, setting.eps0))
    }


# The command that bounds the Rényi divergence of shuffled reports.

# What is answered, by the key of the JSON: the bound, the end that counts, and what it says.
_ANSWERED = {
    "upper_bound": ("upper", "upper", "the shuffled reports are (order, this)-RDP."),
    "lower_bound": ("lower", "lower", "two datasets differ by this much; nobody can claim less."),
    "clone": ("clone", "upper", "what would be known of any mechanism with this eps0."),
    "closed_form": ("girgis_upper", "upper", "what was published of any mechanism."),
}
_INFINITE = {
    "upper": "no divergence is known to hold at this order.",
    "lower": "two datasets differ beyond all bounds at this order.",
}


@click.command()
@of_a_report
@eps0_option
@of_users
@click.option(
    "--order", type=REAL, required=True, help="Order of the divergence, above 1 and up to 1e6."
)
@rounds_option
@rtol_option
@json_option
def renyi(
    report: Report,
    eps0: float | None,
    users: Users,
    order: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on the Renyi divergence at a given order, the larger one of both directions.

    Example: shufflebounds renyi --mechanism krr --k 10 --eps0 4 --n 100000 --order 16
    """
    eps0 = report.require_eps0(eps0)
    setting = Setting(n=users.honest, eps0=eps0, order=order, rounds=rounds)
    protocol, numerics = report.protocol(eps0), Numerics(rtol=rtol)
    bounds, rows = {key: BOUNDS[name] for key, (name, _, _) in _ANSWERED.items()}, {}
    if not is_generic(report, eps0):
        bounds = {key: one for key, one in bounds.items() if one.knows_mechanism}
    with progress(hidden=as_json):
        for key, bound in one_by_one(bounds):
            _, end, meaning = _ANSWERED[key]
            [answer] = bound.prepare(protocol, "renyi", numerics)([setting])
            if math.isinf(answer.enclosure.upper):
                meaning = _INFINITE[end]
            rows[key] = Row(bound.label, end, answer, meaning)
    asked = Deployment(report, eps0, users, rounds)
    show(
        as_json,
        facts=asked.facts(order=order),
        title=asked.title(f"order = {order!r}"),
        column="Renyi divergence (natural log)",
        rows=rows,
        notes=asked.notes(),
    )
