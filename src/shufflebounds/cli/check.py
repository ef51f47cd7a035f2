"""The command that judges a claim: is it proven, refuted, or open?

Exit codes: 0 where the claim is proven, 1 where it is refuted, 4 where it is open, be it for want
of a bound or for want of precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import click

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import (
    ends,
    least,
    one_by_one,
    progress,
    publish,
    within_eps0,
    wrapped,
)
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.options import REAL, Output, option, question
from shufflebounds.core import validation
from shufflebounds.core.setting import Setting
from shufflebounds.reproduce import proofs

# Of one round each is the bound that it composes, or that bound by way of Rényi divergences.
_BY_RENYI = {"upper_renyi", "clone_renyi", "stronger_clone_renyi"}
_BY_THEOREMS = {"basic_composition", "advanced_composition", "optimal_composition"}
_OF_SEVERAL_ROUNDS = _BY_THEOREMS | {"clone_advanced"} | _BY_RENYI
# By way of Rényi divergences, which takes longer than all others together and hardly ever decides.
_LAST = _BY_RENYI | {"girgis_upper", "girgis_simple"}


class Verdict(StrEnum):
    """What is known of a claim."""

    PROVEN = "proven"
    REFUTED = "refuted"
    OPEN = "open"


@dataclass(frozen=True)
class Finding:
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
        decides = self.bound.is_divergence and self.bound.kind in (Kind.UPPER, Kind.LOWER)
        return decides and found.lower <= eps < found.upper

    @property
    def end(self) -> float:
        """The safe end of its enclosure."""
        found = self.answer.enclosure
        return found.lower if self.bound.kind is Kind.LOWER else found.upper


def verdict_of(findings: Iterable[Finding], eps: float) -> Verdict:
    """What is known of the claim of an ε; no two proven bounds contradict each other."""
    verdicts = (one.verdict(eps) for one in findings)
    return next((one for one in verdicts if one is not Verdict.OPEN), Verdict.OPEN)


def findings_on(
    eps: float, asked: Deployment, setting: Setting, numerics: Numerics
) -> tuple[dict[str, Finding], list[str]]:
    """What every bound says that knows something of the reports, by its name, and notes on them.

    The upper and the lower bound come first; others that do not apply are left out, and so are slow
    ones unless the claim of `eps` is open without them. Raises ValueError for a mistake in the
    setting.
    """
    bounds = {name: bound for name, bound in BOUNDS.items() if "epsilon" in bound.quantities}
    if asked.rounds == 1:
        bounds = {name: one for name, one in bounds.items() if name not in _OF_SEVERAL_ROUNDS}

    def said(some: Mapping[str, Bound]) -> dict[str, Finding]:
        found = {}
        for name, bound in one_by_one(some):
            try:
                answer = bound.answer(asked.protocol, "epsilon", setting, numerics)
                found[name] = Finding(bound, answer)
            except ValueError:
                # Not a bound of such reports, as of an infinite eps0, or not of several rounds.
                if name in ("upper", "lower"):
                    raise
        return found

    found = said({name: one for name, one in bounds.items() if name not in _LAST})
    if verdict_of(found.values(), eps) is Verdict.OPEN:
        found |= said({name: one for name, one in bounds.items() if name in _LAST})
    answers = least({name: one.answer for name, one in found.items()})
    capped, notes = within_eps0(answers, asked.protocol.eps0, asked.times)
    return {name: replace(found[name], answer=answer) for name, answer in capped.items()}, notes


# The least relative width that may be asked for.
_FINEST = 1e-9
EXIT_CODES = {Verdict.PROVEN: 0, Verdict.REFUTED: 1, Verdict.OPEN: 4}
# What all other users hold, where it has no name of its own.
_HELD = {
    "third": "a value that is neither of the victim's two",
    "x0": "the first of the victim's two values",
    "x1": "the second of the victim's two values",
}


@question(
    "eps0",
    "users",
    "delta",
    option(
        "--eps", REAL, "The epsilon that is claimed: natural logarithm, at least 0.", required=True
    ),
    "rounds",
    "rtol",
    "output",
)
@click.pass_context
def check(
    context: click.Context,
    asked: Deployment,
    delta: float,
    eps: float,
    rtol: float | None,
    output: Output,
) -> None:
    """Is a claim of (epsilon, delta) proven, refuted or open?

    A claim is open if no bound proves it and no pair of datasets refutes it, or if the numbers are
    not precise enough to tell; then a smaller --rtol may help. Exit codes: 0 for proven, 1 for
    refuted, 4 for open, 2 for a mistake.

    Example: shufflebounds check --mechanism krr --k 10 --eps0 8 --n 1e3 --delta 1e-6 --eps 0.94
    """
    eps = validation.eps(eps)
    setting = asked.setting(delta=delta, rounds=asked.rounds)
    with progress(hidden=output.as_json):
        findings, capped = findings_on(eps, asked, setting, Numerics(rtol=rtol))
    verdict = verdict_of(findings.values(), eps)
    blurred = [one for one in findings.values() if one.is_blurred(eps)]
    because = ("precision" if blurred else "gap") if verdict is Verdict.OPEN else None
    said = {Verdict.PROVEN: "proves it", Verdict.REFUTED: "refutes it", Verdict.OPEN: ""}
    bounds, table = {}, [["", "epsilon (natural log)", ""]]
    for name, one in findings.items():
        bound, answer, own = one.bound, one.answer, one.verdict(eps)
        others = {"others": answer.others} if answer.others else {}
        bounds[name] = {"kind": bound.kind, **ends(answer.enclosure), **others, "verdict": own}
        unproven = " (not proven)" if bound.kind is Kind.UNPROVEN else ""
        value = output.text(one.end, up=bound.kind is not Kind.LOWER)
        table.append([f"{bound.label}{unproven}", value, said[own]])
    reason = f"{verdict.upper()}. {_reason(output, eps, verdict, findings, blurred)}"
    publish(
        output,
        facts=asked.facts(delta=delta)
        | {"eps": eps, "verdict": verdict, "open_because": because, "bounds": bounds},
        paragraphs=[
            f"{asked.title()}: is it (epsilon = {eps!r}, delta = {delta!r})-DP?",
            wrapped(reason),
        ],
        table=table,
        meanings={},
        notes=[*asked.notes(), *_again(asked), *capped],
        bounds=tuple(findings),
    )
    context.exit(EXIT_CODES[verdict])


def _again(asked: Deployment) -> list[str]:
    """How to have the numbers proven by somebody else, if they are of the kind."""
    if proofs.described(asked.protocol.randomizer) is None:
        return []
    return [
        "A second program, verify/verify.py, proves the upper bound again and, in one round, the "
        "best proven and the lower one; it reads what shufflebounds epsilon writes with --claim."
    ]


def _reason(
    output: Output,
    eps: float,
    verdict: Verdict,
    findings: Mapping[str, Finding],
    blurred: Sequence[Finding],
) -> str:
    of = [one for one in findings.values() if one.verdict(eps) is verdict]
    if verdict is Verdict.PROVEN:
        best = min(of, key=lambda one: one.end)
        return (
            f"You can claim it, and even the {best.bound.label}, {output.text(best.end, up=True)}."
        )
    if verdict is Verdict.REFUTED:
        best = max(of, key=lambda one: one.end)
        by = f"differ by an epsilon of {output.text(best.end, up=False)}"
        if math.isinf(best.end):
            by = "rule out every epsilon at this delta"
        return f"No valid claim can be so small: two datasets{_held(best.answer.others)} {by}."
    if blurred:
        return _imprecise(output, blurred[0])
    least = max(one.end for one in findings.values() if one.bound.kind is Kind.LOWER)
    most = min(one.end for one in findings.values() if one.bound.kind is Kind.UPPER)
    between = f"{output.text(least, up=False)} and {output.text(most, up=True)}"
    return (
        "Undecided: no bound here proves it, no pair of datasets refutes it. The true epsilon lies "
        f"between {between}."
    )


def _imprecise(output: Output, one: Finding) -> str:
    """What would settle a claim that lies within the enclosure of a bound."""
    found = one.answer.enclosure
    between = f"{output.text(found.lower, up=False)} and {output.text(found.upper, up=True)}"
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
