"""Options that several commands have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from shufflebounds.cli.crowd import Users
from shufflebounds.cli.parameters import fields, flag, kind, mechanisms_by_parameter
from shufflebounds.cli.report import Report
from shufflebounds.cli.values import REAL, WHOLE, Name
from shufflebounds.randomizers import registry


def of_a_report(command: Callable) -> Callable:
    """Options that say what a user sends; the command receives them as ``report``."""
    parameters = mechanisms_by_parameter()

    @functools.wraps(command)
    def wrapped(mechanism: str, k_joint: int, rate: float, **options: Any) -> None:
        chosen = {name: options.pop(name) for name in parameters}
        given = {name: value for name, value in chosen.items() if value is not None}
        command(report=Report(mechanism, given, k_joint, rate), **options)

    choose = click.option(
        "--mechanism",
        type=Name(registry.mechanism_names()),
        required=True,
        help="The local randomizer; `shufflebounds mechanisms` lists them.",
    )
    tune = [_parameter(name, mechanisms) for name, mechanisms in parameters.items()]
    join = click.option(
        "--k-joint",
        type=WHOLE,
        default=1,
        show_default=True,
        help="How many independent reports at eps0/K a user sends together, linked to each other "
        "as one report. (Reports on separate days are --rounds.)",
        metavar="K",
    )
    sample = click.option(
        "--rate",
        type=REAL,
        default=1.0,
        show_default=True,
        help="Poisson subsampling: the probability that a report is sent at all.",
        metavar="R",
    )
    added: list[Callable[[Callable], Callable]] = [choose, *tune, join, sample]
    # The last one added is the first one listed.
    for add in reversed(added):
        wrapped = add(wrapped)
    return wrapped


def _parameter(name: str, mechanisms: list[str]) -> Callable[[Callable], Callable]:
    type_ = kind(mechanisms[0], name)
    meaning = fields(mechanisms[0])[name].metadata.get("help", "a parameter")
    return click.option(
        flag(name),
        type={int: WHOLE, float: REAL}.get(type_, type_),
        help=f"{', '.join(mechanisms)}: {meaning}.",
    )


eps0_option = click.option(
    "--eps0",
    type=REAL,
    help="Local privacy parameter of all that a user sends: natural logarithm, up to 300. Required "
    "but for a matrix, which fixes it.",
)
eps_option = click.option(
    "--eps", type=REAL, required=True, help="Privacy loss: natural logarithm, at least 0."
)
delta_option = click.option(
    "--delta", type=REAL, required=True, help="A probability, 1e-300 to below 1."
)
_n_option = click.option(
    "--n",
    type=WHOLE,
    required=True,
    help="Number of users, 1 to 1e15, written as 100000, 100_000 or 1e5.",
)
colluding_option = click.option(
    "--colluding",
    type=WHOLE,
    default=0,
    show_default=True,
    help="How many of them work with the observer, drop out or break the protocol: they hide "
    "nobody, and answers are those of the others alone.",
    metavar="M",
)


def of_users(command: Callable) -> Callable:
    """Options that say how many users there are; the command receives them as ``users``."""

    @functools.wraps(command)
    def wrapped(n: int, colluding: int, **options: Any) -> None:
        command(users=Users(n, colluding), **options)

    return _n_option(colluding_option(wrapped))


rtol_option = click.option(
    "--rtol",
    type=REAL,
    help="Largest relative width of the enclosures, 1e-9 to 0.1. If left out, 1e-4 but for what "
    "the cells of a continuous mechanism add.",
)
rounds_option = click.option(
    "--rounds",
    type=WHOLE,
    default=1,
    show_default=True,
    help="How often the same users report, 1 to 1e6: rounds that are separate shuffles, such as "
    "days. (Reports that are sent together, linked to each other, are --k-joint.)",
    metavar="T",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, all digits."
)
