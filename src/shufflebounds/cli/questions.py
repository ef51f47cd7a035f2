"""The commands that ask one question and print one answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from shufflebounds import amplification, planning, validation
from shufflebounds._version import __version__
from shufflebounds.cli.answers import Finding, Row, attempt, largest, show, smallest
from shufflebounds.cli.options import (
    delta_option,
    eps0_option,
    eps_option,
    json_option,
    of_a_report,
    rtol_option,
    users_option,
)
from shufflebounds.cli.report import Report
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure

_EPS0_RTOL = 1e-3


@click.command()
@of_a_report
@eps0_option
@users_option
@delta_option
@rtol_option
@json_option
def epsilon(
    report: Report, eps0: float, n: int, delta: float, rtol: float | None, as_json: bool
) -> None:
    """The epsilon one may claim at a given delta.

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """
    upper, lower, clone = _bounds(
        report, eps0, partial(amplification.epsilon, n=n, delta=delta, rtol=rtol)
    )
    show(
        as_json,
        facts={**_facts(report), "eps0": eps0, "n": n, "delta": delta},
        title=f"{report.name(eps0)}, n = {n} users, delta = {delta!r}",
        column="epsilon (natural log)",
        rows={
            "upper_bound": Row("may be claimed", "upper", upper),
            "lower_bound": Row("no analysis can claim less", "lower", lower),
            "clone": Row("clone, for comparison", "upper", clone),
        },
        notes=report.notes(),
    )


@click.command()
@of_a_report
@eps0_option
@users_option
@eps_option
@rtol_option
@json_option
def delta(
    report: Report, eps0: float, n: int, eps: float, rtol: float | None, as_json: bool
) -> None:
    """The delta one may claim at a given epsilon.

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """
    upper, lower, clone = _bounds(
        report, eps0, partial(amplification.delta, eps=eps, n=n, rtol=rtol)
    )
    show(
        as_json,
        facts={**_facts(report), "eps0": eps0, "n": n, "eps": eps},
        title=f"{report.name(eps0)}, n = {n} users, epsilon = {eps!r} (natural log)",
        column="delta (probability)",
        rows={
            "upper_bound": Row("may be claimed", "upper", upper),
            "lower_bound": Row("no analysis can claim less", "lower", lower),
            "clone": Row("clone, for comparison", "upper", clone),
        },
        notes=report.notes(),
    )


@click.command()
@of_a_report
@users_option
@eps_option
@delta_option
@json_option
def eps0(report: Report, n: int, eps: float, delta: float, as_json: bool) -> None:
    """The largest eps0 that meets a target (epsilon, delta), to a relative width of 1e-3.

    Example: shufflebounds eps0 --mechanism krr --k 10 --n 100000 --eps 0.5 --delta 1e-6
    """
    search = partial(_largest_eps0, report, eps=eps, delta=delta, n=n)
    upper = attempt(search, Report.upper)
    lower = smallest(
        {others: attempt(search, partial(_lower, others)) for others in report.others()}
    )
    clone = attempt(planning.largest_eps0, report.clone, eps, delta, n, rtol=_EPS0_RTOL)
    show(
        as_json,
        facts={**_facts(report), "n": n, "eps": eps, "delta": delta},
        title=f"{report.name()}, n = {n} users, target epsilon = {eps!r}, delta = {delta!r}",
        column="eps0 (natural log)",
        rows={
            "upper_bound": Row("may be deployed", "lower", upper),
            "lower_bound": Row("misses the target for certain", "upper", lower),
            "clone": Row("clone, for comparison", "lower", clone),
        },
        notes=report.notes(),
    )


@click.command()
@of_a_report
@eps0_option
@eps_option
@delta_option
@json_option
def users(report: Report, eps0: float, eps: float, delta: float, as_json: bool) -> None:
    """The fewest users that meet a target (epsilon, delta).

    Example: shufflebounds users --mechanism krr --k 10 --eps0 4 --eps 0.5 --delta 1e-6
    """
    upper, lower, clone = _bounds(
        report, eps0, partial(planning.fewest_users, eps=eps, delta=delta)
    )
    is_unknown = any(math.isinf(found.enclosure.upper) for found in (upper, lower, clone))
    unknown = ["inf: not even 10^15 users are known to be enough."]
    show(
        as_json,
        facts={**_facts(report), "eps0": eps0, "eps": eps, "delta": delta},
        title=f"{report.name(eps0)}, target epsilon = {eps!r}, delta = {delta!r}",
        column="users",
        rows={
            "upper_bound": Row("enough", "upper", upper),
            "lower_bound": Row("no analysis can do with fewer", "lower", lower),
            "clone": Row("clone, for comparison", "upper", clone),
        },
        notes=report.notes() + (unknown if is_unknown else []),
    )


def _bounds(
    report: Report, eps0: float, evaluate: Callable[[Decomposition], Enclosure]
) -> tuple[Finding, Finding, Finding]:
    """Upper bound, lower bound and clone; whatever is asked for, a smaller one is better."""
    upper, lower = report.upper(eps0), report.lower(eps0)
    return (
        attempt(evaluate, upper),
        largest({others: attempt(evaluate, pair) for others, pair in lower.items()}),
        attempt(evaluate, report.clone(eps0)),
    )


def _largest_eps0(
    report: Report, bound: Callable[[Report, float], Decomposition], **target: Any
) -> Enclosure:
    """Of the coarsest report whose answer is as narrow as the finest one's has to be."""
    for candidate in report.coarse_to_fine():
        found = planning.largest_eps0(partial(bound, candidate), **target, rtol=_EPS0_RTOL)
        if found.relative_width <= _EPS0_RTOL or found.lower == validation.MAX_EPS0:
            break
    return found


def _lower(others: str, report: Report, eps0: float) -> Decomposition:
    return report.lower(eps0)[others]


def _facts(report: Report) -> dict[str, Any]:
    return {
        "version": __version__,
        "mechanism": report.mechanism,
        "parameters": dict(report.parameters),
        "k_joint": report.k_joint,
        "rate": report.rate,
    }
