"""The command that judges a claim: is it proven, refuted, or open?

Exit codes: 0 where the claim is proven, 1 where it is refuted, 4 where it is open, be it for want
of a bound or for want of precision.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import click

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import one_by_one, progress
from shufflebounds.cli.bounding import within_eps0
from shufflebounds.cli.deployment import Deployment, Report, Users
from shufflebounds.cli.options import (
    REAL,
    delta_option,
    eps0_option,
    json_option,
    of_a_report,
    of_users,
    rounds_option,
    rtol_option,
)
from shufflebounds.core import validation
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.base import Protocol

# What every bound says of a claim, and what follows from all of them.

# Of one round each is the bound that it composes, or that bound by way of Rényi divergences.
_OF_SEVERAL_ROUNDS = frozenset(
    {
        "basic_composition",
        "advanced_composition",
        "optimal_composition",
        "clone_advanced",
        "upper_renyi",
        "clone_renyi",
        "stronger_clone_renyi",
    }
)
# By way of Rényi divergences, which takes longer than all others together and hardly ever decides.
_LAST = frozenset(
    {"upper_renyi", "clone_renyi", "stronger_clone_renyi", "girgis_upper", "girgis_simple"}
)


class Verdict(StrEnum):
    """What is known of a claim."""

    PROVEN = "proven"
    REFUTED = "refuted"
    OPEN = "open"


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

    def is_blurred(self, eps: float) -> bool:
        """Whether the bound might prove or refute an ε if it were computed more closely.

        Others than divergences enclose more than their own value, or are not computed to a width.
        """
        found = self.answer.enclosure
        decides = self.bound.is_divergence and self.bound.kind is not Kind.UNPROVEN
        return decides and found.lower <= eps < found.upper

    @property
    def end(self) -> float:
        """The end of its enclosure that may be relied on."""
        found = self.answer.enclosure
        return found.lower if self.bound.kind is Kind.LOWER else found.upper


def verdict_of(opinions: Iterable[Opinion], eps: float) -> Verdict:
    """What is known of the claim of an ε; no two proven bounds contradict each other."""
    verdicts = (one.verdict(eps) for one in opinions)
    return next((one for one in verdicts if one is not Verdict.OPEN), Verdict.OPEN)


def opinions_on(
    eps: float, report: Report, setting: Setting, numerics: Numerics
) -> tuple[dict[str, Opinion], list[str]]:
    """What every bound says that knows something of the reports, by its name, and notes on them.

    The upper and the lower bound come first; others that do not apply are left out, and so are slow
    ones unless the claim of `eps` is open without them. Raises ValueError for a mistake in the
    setting.
    """
    names = [name for name, bound in BOUNDS.items() if "epsilon" in bound.quantities]
    if setting.rounds in (None, 1):
        names = [name for name in names if name not in _OF_SEVERAL_ROUNDS]
    found = _asked([name for name in names if name not in _LAST], report, setting, numerics)
    if verdict_of(found.values(), eps) is Verdict.OPEN:
        found |= _asked([name for name in names if name in _LAST], report, setting, numerics)
    whole = report.reports.protocol(setting).eps0
    answers = {name: one.answer for name, one in found.items()}
    capped, notes = within_eps0(answers, whole, setting.rounds or 1)
    return {name: replace(found[name], answer=answer) for name, answer in capped.items()}, notes


def _asked(
    names: Iterable[str], report: Report, setting: Setting, numerics: Numerics
) -> dict[str, Opinion]:
    reports = report.reports
    found = {}
    for name, bound in one_by_one({name: BOUNDS[name] for name in names}):
        try:
            protocol: Protocol
            protocol = (reports.protocol if bound.knows_mechanism else reports.generic)(setting)
            [answer] = bound.prepare(protocol, "epsilon", numerics)([setting])
        except ValueError:
            # Not a bound of such reports, as of an infinite eps0, or not of several rounds.
            if name in ("upper", "lower"):
                raise
            continue
        found[name] = Opinion(bound, answer)
    return found


def interval(opinions: Mapping[str, Opinion]) -> tuple[float, float]:
    """Between which two numbers the smallest ε is that is true."""
    least = max(one.end for one in opinions.values() if one.bound.kind is Kind.LOWER)
    most = min(one.end for one in opinions.values() if one.bound.kind is Kind.UPPER)
    return least, most


# The least relative width that may be asked for.
_FINEST = 1e-9
EXIT_CODES = {Verdict.PROVEN: 0, Verdict.REFUTED: 1, Verdict.OPEN: 4}
# What all other users hold, where it has no name of its own.
_HELD = {
    "third": "a value that is neither of the victim's two",
    "x0": "the first of the victim's two values",
    "x1": "the second of the victim's two values",
}


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
@rtol_option
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
    rtol: float | None,
    as_json: bool,
) -> None:
    """Whether a claim of (epsilon, delta) is proven, refuted or open.

    A claim is open where no bound proves it and no pair of datasets refutes it, or where the
    numbers are not precise enough to tell, which a smaller --rtol may mend. Exit codes: 0 for
    proven, 1 for refuted, 4 for open, whatever the reason; 2 for a mistake.

    Example: shufflebounds check --mechanism krr --k 10 --eps0 8 --n 1e3 --delta 1e-6 --eps 0.94
    """
    eps = validation.eps(eps)
    eps0 = report.require_eps0(eps0)
    setting = Setting(n=users.honest, eps0=eps0, delta=delta, rounds=rounds)
    with progress(hidden=as_json):
        opinions, trivial = opinions_on(eps, report, setting, Numerics(rtol=rtol))
    verdict = verdict_of(opinions.values(), eps)
    blurred = [one for one in opinions.values() if one.is_blurred(eps)]
    asked = Deployment(report, eps0, users, rounds)
    notes = asked.notes() + trivial
    if as_json:
        found = {name: _plain(one, one.verdict(eps)) for name, one in opinions.items()}
        because = ("precision" if blurred else "gap") if verdict is Verdict.OPEN else None
        result = {
            **asked.facts(delta=delta),
            "eps": eps,
            "verdict": verdict,
            "open_because": because,
            "bounds": found,
            "notes": notes,
        }
        click.echo(json.dumps(result, indent=2, allow_nan=False))
    else:
        claim = f"epsilon = {eps!r}, delta = {delta!r}"
        click.echo(f"{asked.title()}: is it ({claim})-DP?\n")
        reason = f"{verdict.upper()}. {_reason(eps, verdict, opinions, blurred)}"
        click.echo(f"{click.wrap_text(reason, width=80)}\n")
        _print_table(opinions, eps)
        for note in notes:
            click.echo(f"\n{click.wrap_text(note, width=80)}")
    context.exit(EXIT_CODES[verdict])


def _reason(
    eps: float, verdict: Verdict, opinions: Mapping[str, Opinion], blurred: Sequence[Opinion]
) -> str:
    of = [one for one in opinions.values() if one.verdict(eps) is verdict]
    if verdict is Verdict.PROVEN:
        best = min(of, key=lambda one: one.end)
        return (
            f"It may be claimed: the {best.bound.label} is {outward(best.end, up=True)}, "
            "which may be claimed, too."
        )
    if verdict is Verdict.REFUTED:
        best = max(of, key=lambda one: one.end)
        by = f"differ by an epsilon of {outward(best.end, up=False)}"
        if math.isinf(best.end):
            by = "rule out every epsilon at this delta"
        return f"No analysis can claim it: two datasets{_held(best.answer.others)} {by}."
    if blurred:
        return _imprecise(blurred[0])
    least, most = interval(opinions)
    between = f"{outward(least, up=False)} and {outward(most, up=True)}"
    return (
        "Nobody can tell: no bound here proves it, no pair of datasets refutes it. The smallest "
        f"epsilon that is true lies between {between}."
    )


def _imprecise(one: Opinion) -> str:
    """What would settle a claim that lies within the enclosure of a bound."""
    found = one.answer.enclosure
    between = f"{outward(found.lower, up=False)} and {outward(found.upper, up=True)}"
    said = (
        f"The numbers are not precise enough to tell: the {one.bound.label} is known to lie "
        f"between {between}, and so does the claim"
    )
    finer = 10.0 ** (math.floor(math.log10(found.relative_width)) - 1)
    if one.answer.shortfall or finer < _FINEST:
        return f"{said}."
    return f"{said}. Try --rtol {finer:.0e}."


def _held(others: str) -> str:
    """What all other users hold, as part of a sentence; of a joint, coordinate by coordinate."""
    held = [_HELD.get(one, f"the value {one}") for one in others.replace(",", " ").split()]
    if not held:
        return ""
    each = " in each coordinate" if len(held) > 1 else ""
    return f", in which all other users hold{each} {', '.join(held)},"


def _plain(opinion: Opinion, verdict: Verdict) -> dict[str, Any]:
    ends = {
        end: value if math.isfinite(value) else None
        for end, value in asdict(opinion.answer.enclosure).items()
    }
    others = {"others": opinion.answer.others} if opinion.answer.others else {}
    return {"kind": opinion.bound.kind, **ends, **others, "verdict": verdict}


def _print_table(opinions: Mapping[str, Opinion], eps: float) -> None:
    says = {Verdict.PROVEN: "proves it", Verdict.REFUTED: "refutes it", Verdict.OPEN: ""}
    lines = [("", "epsilon (natural log)", "")]
    for one in opinions.values():
        up = one.bound.kind is not Kind.LOWER
        unproven = " (not proven)" if one.bound.kind is Kind.UNPROVEN else ""
        lines.append(
            (f"{one.bound.label}{unproven}", outward(one.end, up=up), says[one.verdict(eps)])
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (f"{cell:{size}}" for cell, size in zip(line, widths, strict=True))
        click.echo(f"  {'   '.join(padded)}".rstrip())
