"""The commands that ask one question and print one answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from shufflebounds import validation
from shufflebounds._version import __version__
from shufflebounds.accounting import calibration
from shufflebounds.accounting import rounds as composition
from shufflebounds.bounds.base import Answer, Bound, Numerics, attempt, largest, smallest
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import Row, show
from shufflebounds.cli.options import (
    delta_option,
    eps0_option,
    eps_option,
    json_option,
    of_a_report,
    rounds_option,
    rtol_option,
    users_option,
)
from shufflebounds.cli.report import Report
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure
from shufflebounds.protocols.base import Candidate
from shufflebounds.setting import Setting

# Relative widths that are promised of an answer.
_EPS0_RTOL, _USERS_RTOL = 1e-3, 1e-4

# What is answered, by the key of the JSON: the bound, and how people call it.
_ANSWERED = {"upper_bound": "upper", "lower_bound": "lower", "clone": "clone"}
# The same of one round, where more is known.
_OF_ONE_ROUND = {"tight_bound": "tight", **_ANSWERED}


@click.command()
@of_a_report
@eps0_option
@users_option
@delta_option
@rounds_option
@rtol_option
@json_option
def epsilon(
    report: Report,
    eps0: float,
    n: int,
    delta: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on epsilon at a given delta.

    Example: shufflebounds epsilon --mechanism krr --k 10 --eps0 4 --n 100000 --delta 1e-6
    """
    setting = Setting(n=n, eps0=eps0, delta=delta)
    composed = partial(composition.epsilon, n=n, delta=delta, rounds=rounds, rtol=rtol)
    answers = _answers(report, "epsilon", setting, Numerics(rtol=rtol), rounds, composed)
    show(
        as_json,
        facts={**_facts(report), "eps0": eps0, "n": n, "delta": delta, "rounds": rounds},
        title=f"{report.name(eps0)}, n = {n} users{_often(rounds)}, delta = {delta!r}",
        column="epsilon (natural log)",
        rows=_rows(
            answers,
            tight=_tight(answers),
            upper="the shuffled reports are (epsilon, delta)-DP; this may be claimed.",
            lower="two datasets differ by this much; no analysis can claim less.",
            clone="what would be known of any mechanism with this eps0.",
        ),
        notes=report.notes() + _round_notes(rounds),
    )


@click.command()
@of_a_report
@eps0_option
@users_option
@eps_option
@rounds_option
@rtol_option
@json_option
def delta(
    report: Report,
    eps0: float,
    n: int,
    eps: float,
    rounds: int,
    rtol: float | None,
    as_json: bool,
) -> None:
    """Bounds on delta at a given epsilon.

    Example: shufflebounds delta --mechanism krr --k 10 --eps0 4 --n 10000 --eps 0.4
    """
    setting = Setting(n=n, eps0=eps0, eps=eps)
    composed = partial(composition.delta, eps=eps, n=n, rounds=rounds, rtol=rtol)
    answers = _answers(report, "delta", setting, Numerics(rtol=rtol), rounds, composed)
    show(
        as_json,
        facts={**_facts(report), "eps0": eps0, "n": n, "eps": eps, "rounds": rounds},
        title=f"{report.name(eps0)}, n = {n} users{_often(rounds)}, "
        f"epsilon = {eps!r} (natural log)",
        column="delta (probability)",
        rows=_rows(
            answers,
            tight=_tight(answers),
            upper="the shuffled reports are (epsilon, delta)-DP; this may be claimed.",
            lower="two datasets differ by this much; no analysis can claim less.",
            clone="what would be known of any mechanism with this eps0.",
        ),
        notes=report.notes() + _round_notes(rounds),
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
    answers = {
        key: _largest_eps0(BOUNDS[name], report, eps=eps, delta=delta, n=n)
        for key, name in _ANSWERED.items()
    }
    show(
        as_json,
        facts={**_facts(report), "n": n, "eps": eps, "delta": delta},
        title=f"{report.name()}, n = {n} users, target epsilon = {eps!r}, delta = {delta!r}",
        column="eps0 (natural log)",
        rows=_rows(
            answers,
            better="larger",
            upper="with this eps0 the target is met; it may be deployed.",
            lower="with this eps0 two datasets miss the target; no analysis can allow it.",
            clone="what would be allowed knowing nothing but eps0.",
        ),
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
    fewest = partial(calibration.fewest_users, eps=eps, delta=delta)
    answers = {
        key: _held_to(_USERS_RTOL, largest(_of_candidates(BOUNDS[name], report, eps0, fewest)))
        for key, name in _ANSWERED.items()
    }
    is_unknown = any(math.isinf(answer.enclosure.upper) for answer in answers.values())
    unknown = ["inf: not even 10^15 users are known to be enough."]
    show(
        as_json,
        facts={**_facts(report), "eps0": eps0, "eps": eps, "delta": delta},
        title=f"{report.name(eps0)}, target epsilon = {eps!r}, delta = {delta!r}",
        column="users",
        rows=_rows(
            answers,
            upper="so many users are enough.",
            lower="with fewer users two datasets miss the target; no analysis can do with fewer.",
            clone="how many would be enough knowing nothing but eps0.",
        ),
        notes=report.notes() + (unknown if is_unknown else []),
    )


def _rows(
    answers: Mapping[str, Answer], *, better: str = "smaller", **meanings: str
) -> dict[str, Row]:
    """Of an upper bound the end counts that is the safe one, of a lower bound the other."""
    safe, other = ("upper", "lower") if better == "smaller" else ("lower", "upper")
    return {
        key: Row(
            BOUNDS[name].label, other if name == "lower" else safe, answers[key], meanings[name]
        )
        for key, name in _OF_ONE_ROUND.items()
        if key in answers
    }


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
        key: largest(_of_candidates(BOUNDS[name], report, eps0, composed))
        for key, name in _ANSWERED.items()
    }


def _often(rounds: int) -> str:
    return "" if rounds == 1 else f", {rounds} rounds"


def _round_notes(rounds: int) -> list[str]:
    if rounds == 1:
        return []
    return [
        f"The {rounds} rounds are shuffled separately, with fresh randomness. The upper bound "
        "holds for all that is published together, whatever the others report, and however the "
        "values are chosen from round to round; in each round a user spends eps0. The lower bound "
        "is that of the same two datasets in every round."
    ]


def _tight(answers: Mapping[str, Answer]) -> str:
    """What the tight bound lets one claim, and which bound that is; of one round only."""
    if "tight_bound" not in answers:
        return ""
    tight, blanket = (answers[key].enclosure.upper for key in ("tight_bound", "upper_bound"))
    proof = "the bound for all datasets" if tight < blanket else "the blanket"
    return f"the least that is proven, here by {proof}; this may be claimed."


def _evaluated(
    report: Report, quantity: str, setting: Setting, numerics: Numerics
) -> dict[str, Answer]:
    protocol = report.protocol(setting.require("eps0"))
    return {
        key: BOUNDS[name].prepare(protocol, quantity, numerics)([setting])[0]
        for key, name in _OF_ONE_ROUND.items()
    }


def _of_candidates(
    bound: Bound, report: Report, eps0: float, evaluate: Callable[[Decomposition], Enclosure]
) -> list[Answer]:
    """What `evaluate` says of every pair that the bound compares."""
    return [
        replace(
            attempt(partial(evaluate, pair.decomposition)),
            differing=pair.differing,
            others=pair.others,
        )
        for pair in _pairs(bound, report, eps0)
    ]


def _largest_eps0(bound: Bound, report: Report, **target: Any) -> Answer:
    """The smallest of all pairs': whatever one of them rules out is ruled out."""
    some = _pairs(bound, next(report.coarse_to_fine()), 1.0)
    found = smallest(
        replace(_largest_eps0_of_pair(bound, report, i, target), others=pair.others)
        for i, pair in enumerate(some)
    )
    return _held_to(_EPS0_RTOL, found)


def _largest_eps0_of_pair(
    bound: Bound, report: Report, pair: int, target: Mapping[str, Any]
) -> Answer:
    """Of the coarsest report whose answer is as narrow as the finest one's has to be."""
    for candidate in report.coarse_to_fine():

        def decomposition(eps0: float, of: Report = candidate) -> Decomposition:
            return _pairs(bound, of, eps0)[pair].decomposition

        search = partial(calibration.largest_eps0, decomposition, **target, rtol=_EPS0_RTOL)
        answer = attempt(search)
        found = answer.enclosure
        if found.relative_width <= _EPS0_RTOL or found.lower == validation.MAX_EPS0:
            break
    return answer


def _held_to(rtol: float, answer: Answer) -> Answer:
    """The answer, with a sentence if it is wider than promised.

    Searches end without an error where the engine cannot tell on which side of δ a point is.
    """
    lower, upper = answer.enclosure.lower, answer.enclosure.upper
    beyond = math.isinf(upper) and lower in (validation.MAX_EPS0, validation.MAX_USERS + 1)
    if answer.shortfall or beyond or answer.enclosure.relative_width <= rtol:
        return answer
    wide = (
        f"known only to lie in [{lower!r}, {upper!r}], which is wider than the relative {rtol:g} "
        "that is promised"
    )
    return replace(answer, shortfall=wide)


def _pairs(bound: Bound, report: Report, eps0: float) -> tuple[Candidate, ...]:
    assert bound.candidates is not None
    protocol = (
        report.protocol(eps0)
        if bound.knows_mechanism
        else report.reports.generic(Setting(eps0=eps0))
    )
    return bound.candidates(protocol)


def _facts(report: Report) -> dict[str, Any]:
    return {"version": __version__, **report.facts()}
