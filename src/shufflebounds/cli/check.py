"""The command that judges a claim: is it proven, refuted, or open?

Exit codes: 0 where the claim is proven, 1 where it is refuted, 4 where it is open.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import click

from shufflebounds import validation
from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.bounding import facts, often, round_notes
from shufflebounds.cli.crowd import Users, crowd_notes
from shufflebounds.cli.options import (
    delta_option,
    eps0_option,
    json_option,
    of_a_report,
    of_users,
    rounds_option,
)
from shufflebounds.cli.report import Report
from shufflebounds.cli.rounding import outward
from shufflebounds.cli.trivial import within_eps0
from shufflebounds.cli.values import REAL
from shufflebounds.protocols.base import Protocol
from shufflebounds.setting import Setting


class Verdict(StrEnum):
    """What is known of a claim."""

    PROVEN = "proven"
    REFUTED = "refuted"
    OPEN = "open"


EXIT_CODES = {Verdict.PROVEN: 0, Verdict.REFUTED: 1, Verdict.OPEN: 4}
_MEANINGS = {
    Verdict.PROVEN: "It may be claimed",
    Verdict.REFUTED: "No analysis can claim it",
    Verdict.OPEN: "Nobody can tell: no bound here proves it, no pair of datasets refutes it",
}


@dataclass(frozen=True)
class Opinion:
    """What one bound says of ε."""

    bound: Bound
    answer: Answer

    def verdict(self, eps: float) -> Verdict:
        """What follows for the claim of an ε from this bound alone."""
        found = self.answer.enclosure
        if self.bound.kind is Kind.UPPER and eps >= found.upper:
            return Verdict.PROVEN
        if self.bound.kind is Kind.LOWER and eps < found.lower:
            return Verdict.REFUTED
        return Verdict.OPEN

    @property
    def end(self) -> float:
        """The end of its enclosure that may be relied on."""
        found = self.answer.enclosure
        return found.lower if self.bound.kind is Kind.LOWER else found.upper


@click.command()
@of_a_report
@eps0_option
@of_users
@delta_option
@click.option(
    "--eps",
    type=REAL,
    required=True,
    help="The epsilon that is claimed: natural logarithm, at least 0.",
)
@rounds_option
@json_option
@click.pass_context
def check(
    context: click.Context,
    report: Report,
    eps0: float | None,
    users: Users,
    delta: float,
    eps: float,
    rounds: int,
    as_json: bool,
) -> None:
    """Whether a claim of (epsilon, delta) is proven, refuted or open.

    Exit codes: 0 for proven, 1 for refuted, 4 for open; 2 for a mistake.

    Example: shufflebounds check --mechanism krr --k 10 --eps0 8 --n 1e3 --delta 1e-6 --eps 0.94
    """
    eps = validation.eps(eps)
    eps0 = report.require_eps0(eps0)
    setting = Setting(n=users.honest, eps0=eps0, delta=delta, rounds=rounds)
    opinions = opinions_on(report, setting)
    verdicts = {name: one.verdict(eps) for name, one in opinions.items()}
    verdict = next((v for v in verdicts.values() if v is not Verdict.OPEN), Verdict.OPEN)
    notes = report.notes() + crowd_notes(users.colluding) + round_notes(rounds)
    if as_json:
        known = {
            **facts(report),
            "eps0": report.told_eps0(eps0),
            **users.facts(),
            "delta": delta,
            "rounds": rounds,
        }
        found = {name: _plain(one, verdicts[name]) for name, one in opinions.items()}
        result = {**known, "eps": eps, "verdict": verdict, "bounds": found, "notes": notes}
        click.echo(json.dumps(result, indent=2, allow_nan=False))
    else:
        claim = f"epsilon = {eps!r}, delta = {delta!r}"
        click.echo(f"{report.name(eps0)}, {users}{often(rounds)}: is it ({claim})-DP?\n")
        click.echo(f"{verdict.upper()}. {_reason(verdict, opinions, verdicts)}\n")
        _print_table(opinions, verdicts)
        for note in notes:
            click.echo(f"\n{click.wrap_text(note, width=80)}")
    context.exit(EXIT_CODES[verdict])


def opinions_on(report: Report, setting: Setting) -> dict[str, Opinion]:
    """What every bound says that knows something of the reports, by its name.

    The upper and the lower bound come first; others that do not apply are left out. Raises
    ValueError for a mistake in the setting.
    """
    reports = report.reports
    found = {}
    for name, bound in BOUNDS.items():
        if "epsilon" not in bound.quantities:
            continue
        protocol: Protocol
        protocol = (reports.protocol if bound.knows_mechanism else reports.generic)(setting)
        try:
            [answer] = bound.prepare(protocol, "epsilon", Numerics())([setting])
        except ValueError:
            # Not a bound of such reports, or not of several rounds.
            if name in ("upper", "lower"):
                raise
            continue
        found[name] = Opinion(bound, answer)
    proven = {name: one.answer for name, one in found.items() if one.bound.kind is Kind.UPPER}
    capped, _ = within_eps0(proven, reports.protocol(setting).eps0, setting.rounds or 1)
    return found | {name: Opinion(BOUNDS[name], answer) for name, answer in capped.items()}


def _reason(
    verdict: Verdict, opinions: Mapping[str, Opinion], verdicts: Mapping[str, Verdict]
) -> str:
    if verdict is Verdict.OPEN:
        ends = (
            max(one.end for one in opinions.values() if one.bound.kind is Kind.LOWER),
            min(one.end for one in opinions.values() if one.bound.kind is Kind.UPPER),
        )
        between = f"{outward(ends[0], up=False)} and {outward(ends[1], up=True)}"
        return f"{_MEANINGS[verdict]}. The smallest epsilon that is true lies between {between}."
    of = [opinions[name] for name, one in verdicts.items() if one is verdict]
    if verdict is Verdict.PROVEN:
        best = min(of, key=lambda one: one.end)
        return (
            f"{_MEANINGS[verdict]}: the {best.bound.label} is {outward(best.end, up=True)}, "
            "which may be claimed, too."
        )
    best = max(of, key=lambda one: one.end)
    others = f", in which all other users hold {best.answer.others}," if best.answer.others else ""
    return (
        f"{_MEANINGS[verdict]}: two datasets{others} differ by an epsilon of "
        f"{outward(best.end, up=False)}."
    )


def _plain(opinion: Opinion, verdict: Verdict) -> dict[str, Any]:
    ends = {
        end: value if math.isfinite(value) else None
        for end, value in asdict(opinion.answer.enclosure).items()
    }
    others = {"others": opinion.answer.others} if opinion.answer.others else {}
    return {"kind": opinion.bound.kind, **ends, **others, "verdict": verdict}


def _print_table(opinions: Mapping[str, Opinion], verdicts: Mapping[str, Verdict]) -> None:
    says = {Verdict.PROVEN: "proves it", Verdict.REFUTED: "refutes it", Verdict.OPEN: ""}
    lines = [("", "epsilon (natural log)", "")]
    for name, one in opinions.items():
        up = one.bound.kind is not Kind.LOWER
        unproven = " (not proven)" if one.bound.kind is Kind.UNPROVEN else ""
        lines.append(
            (f"{one.bound.label}{unproven}", outward(one.end, up=up), says[verdicts[name]])
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (f"{cell:{size}}" for cell, size in zip(line, widths, strict=True))
        click.echo(f"  {'   '.join(padded)}".rstrip())
