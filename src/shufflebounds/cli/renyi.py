"""The command that bounds the Rényi divergence of shuffled reports."""

from __future__ import annotations

import math

import click

from shufflebounds.bounds.base import Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import Row, show
from shufflebounds.cli.bounding import is_generic
from shufflebounds.cli.crowd import Users
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.options import (
    eps0_option,
    json_option,
    of_a_report,
    of_users,
    rounds_option,
    rtol_option,
)
from shufflebounds.cli.progress import one_by_one, progress
from shufflebounds.cli.report import Report
from shufflebounds.cli.values import REAL
from shufflebounds.setting import Setting

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
