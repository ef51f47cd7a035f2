"""The command that judges a claim: is it proven, refuted, or open?

Exit codes: 0 if the claim is proven, 1 if it is refuted, 4 if it is open, because no bound decides
it or because the numbers are not precise enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from shufflebounds.bounds.base import Answer, Bound, Kind, Numerics
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import PAIR_BOUNDS, between_bounds, plain_ends, within_eps0
from shufflebounds.cli.claims import is_verifiable
from shufflebounds.cli.notes import (
    large_delta,
    large_epsilon,
    notes_on,
    untried_bound,
    warnings,
)
from shufflebounds.cli.options import REPLY, USERS, every_row_option, rtol_option
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Output, Reply
from shufflebounds.cli.scenario import Scenario
from shufflebounds.cli.sent import question
from shufflebounds.cli.solutions import with_attained, without_attained
from shufflebounds.cli.tables import KEPT_SPACE, Table

# Bounds by way of Rényi divergences, of several rounds.
RENYI_BOUNDS = {"blanket_renyi", "clone_renyi", "stronger_clone_renyi"}
# Bounds that only differ from others over several rounds.
ROUNDS_BOUNDS = RENYI_BOUNDS | {
    *("basic_composition", "advanced_composition", "optimal_composition", "clone_advanced")
}
# Bounds that take longer than all others together and hardly ever decide.
SLOW_BOUNDS = RENYI_BOUNDS | {"girgis_upper", "girgis_simple"}
# The input of all other users, where it has a name of its own.
OTHER_INPUTS = {
    "third": "a value that is neither of the victim's two",
    "x0": "the first of the victim's two values",
    "x1": "the second of the victim's two values",
}


# The exit code of the command, by the verdict on the claim.
EXIT_CODES = {"proven": 0, "refuted": 1, "open": 4}


class Verdict(StrEnum):
    """What is known of a claim."""

    PROVEN = "proven"
    REFUTED = "refuted"
    OPEN = "open"


# The cell of a bound that decides, or that does not.
EFFECTS = {Verdict.PROVEN: "proves it", Verdict.REFUTED: "refutes it", Verdict.OPEN: ""}
COLORS = {Verdict.PROVEN: "green", Verdict.REFUTED: "red", Verdict.OPEN: "yellow"}
# Bounds whose rows are always printed. The others are if they are the closest ones to the truth.
USUAL_BOUNDS = ("best", *PAIR_BOUNDS)


@dataclass(frozen=True)
class Finding:
    """What one bound says of ε."""

    bound: Bound
    answer: Answer

    def verdict(self, eps: float) -> Verdict:
        """Return what follows for the claim of an ε from this bound alone."""
        enclosure = self.answer.enclosure
        if self.bound.kind is Kind.UPPER and eps >= enclosure.upper:
            return Verdict.PROVEN
        if self.bound.kind is Kind.LOWER and eps < enclosure.lower:
            return Verdict.REFUTED
        return Verdict.OPEN

    def is_imprecise(self, eps: float) -> bool:
        """Return whether the bound might decide on an ε if it were computed more precisely.

        Bounds other than divergences enclose more than their own value, or are not computed to a
        width.
        """
        enclosure = self.answer.enclosure
        decides = self.bound.is_divergence and self.bound.kind in (Kind.UPPER, Kind.LOWER)
        return decides and enclosure.lower <= eps < enclosure.upper

    @property
    def end(self) -> float:
        """The safe end of its enclosure."""
        enclosure = self.answer.enclosure
        return enclosure.lower if self.bound.kind is Kind.LOWER else enclosure.upper

    def text(self, output: Output) -> str:
        """Return the safe end, rounded to the safe side."""
        return output.text(self.end, up=self.bound.kind is not Kind.LOWER)


def verdict_of(findings: Iterable[Finding], eps: float) -> Verdict:
    """Return what is known of the claim of an ε; no two proven bounds contradict each other."""
    verdicts = (finding.verdict(eps) for finding in findings)
    return next((verdict for verdict in verdicts if verdict is not Verdict.OPEN), Verdict.OPEN)


def findings_on(
    eps: float, delta: float, deployment: Scenario, numerics: Numerics
) -> tuple[dict[str, Finding], list[str]]:
    """Return the findings of all bounds that apply to the reports, by name, and notes on them.

    The upper and the lower bound come first. Slow bounds are asked only if the claim of `eps` is
    open without them.
    """
    bounds = {
        name: replace(bound, label=deployment.label(name))
        for name, bound in deployment.bounds(BOUNDS).items()
        if not (deployment.has_one_round and name in ROUNDS_BOUNDS)
    }
    slow = {name: bound for name, bound in bounds.items() if name in SLOW_BOUNDS}
    fast = {name: bound for name, bound in bounds.items() if name not in SLOW_BOUNDS}
    findings = _findings(without_attained(fast, deployment), delta, deployment, numerics)
    if verdict_of(findings.values(), eps) is Verdict.OPEN:
        findings |= _findings(slow, delta, deployment, numerics)
    answers = between_bounds({name: finding.answer for name, finding in findings.items()})
    if deployment.is_attained:
        answers = with_attained(answers, [*findings, "lower"])
        findings["lower"] = Finding(bounds["lower"], answers["lower"])
    capped, notes = within_eps0(answers, deployment.pure_eps, deployment.times)
    return {name: replace(findings[name], answer=capped[name]) for name in capped}, notes


def _findings(
    bounds: Mapping[str, Bound], delta: float, deployment: Scenario, numerics: Numerics
) -> dict[str, Finding]:
    """Return the findings of those bounds that apply; ValueError for a mistake in the setting."""
    setting, findings = deployment.setting(delta=delta), {}
    for name, bound in by_step(bounds):
        try:
            answer = bound.answer(deployment.protocol, "epsilon", setting, numerics)
            findings[name] = Finding(bound, answer)
        except ValueError:
            # No bound of such reports, as for an infinite eps0, or none of several rounds.
            if name == deployment.sample.seen.upper:
                raise
    return findings


@question(
    *("eps0", *USERS, "eps", "delta", "rounds", "also"),
    rtol_option("1e-4 for one round, else 1e-3"),
    every_row_option("Print all bounds, not only the closest ones."),
    *REPLY,
)
def check(
    deployment: Scenario,
    delta: float,
    eps: float,
    rtol: float | None,
    every_row: bool,
    output: Output,
) -> Reply:
    """Is a claim of (epsilon, delta) proven, refuted or open?

    A claim is open if no bound proves it and no pair of datasets refutes it, or if the numbers are
    not precise enough to tell. A smaller --rtol may help in the second case. Exit codes: 0 for
    proven, 1 for refuted, 4 for open, 2 for a mistake.

    Example: shufflebounds check krr --k 10 --eps0 8 -n 1e3 --delta 1e-6 --eps 1
    """
    by_name, capped = findings_on(eps, delta, deployment, Numerics(rtol=rtol))
    findings = sorted(by_name.values(), key=lambda finding: finding.end)
    verdict = verdict_of(findings, eps)
    imprecise = [finding for finding in by_name.values() if finding.is_imprecise(eps)]
    facts = {"eps": eps, "verdict": verdict, "open_because": None}
    if verdict is Verdict.OPEN:
        facts["open_because"] = "precision" if imprecise else "gap"
    facts["bounds"] = {name: _finding_facts(finding, eps) for name, finding in by_name.items()}
    large = [
        *large_delta(deployment, delta, repr(delta)),
        *large_epsilon(eps, repr(eps), deployment.words),
    ]
    # Only an open claim may depend on a bound that was not tried.
    untried = untried_bound(deployment) if verdict is Verdict.OPEN else []
    return Reply(
        title=f"{deployment.title()}: are the {deployment.sample.seen.name} "
        f"(epsilon = {eps!r}, delta = {delta!r})-DP?",
        facts=deployment.facts(delta=delta) | facts,
        table=_findings_table(findings, eps, output),
        shown=None if every_row else _shown_rows(findings, eps, imprecise),
        claim=[
            f"{verdict.upper()}.",
            _verdict_reason(output, eps, verdict, findings, imprecise, deployment),
        ],
        headline=f"{verdict.upper()}: epsilon = {eps!r} at delta = {delta!r}",
        notes=[*notes_on(deployment), *untried, *large, *_second_program(deployment), *capped],
        warnings=[*warnings(deployment), *untried, *large],
        bounds=tuple(by_name),
        deployment=deployment,
        color=COLORS[verdict],
        exit_code=EXIT_CODES[verdict],
    )


def _place_of_claim(findings: Sequence[Finding], eps: float) -> int:
    """Return how many of the findings, sorted by ε, stand before the claim."""
    return sum(finding.end <= eps for finding in findings)


def _findings_table(findings: Sequence[Finding], eps: float, output: Output) -> Table:
    """Return a row for each finding, sorted by ε, and one for the claim between them."""
    rows = [
        (_bound_label(finding.bound), finding.text(output), EFFECTS[finding.verdict(eps)])
        for finding in findings
    ]
    rows.insert(_place_of_claim(findings, eps), ("claim", repr(eps), ""))
    labels, numbers, effects = zip(*rows, strict=True)
    heading = f"epsilon (natural{KEPT_SPACE}log)"
    return {"": labels, heading: numbers, "effect on the claim": effects}


def _shown_rows(findings: Sequence[Finding], eps: float, imprecise: Sequence[Finding]) -> list[int]:
    """Return the rows of the usual bounds, the claim, and of those that the verdict names."""
    named = {id(finding) for finding in (_lowest(findings), _highest(findings), *imprecise[:1])}
    place = _place_of_claim(findings, eps)
    shown = [
        i + (i >= place)
        for i, finding in enumerate(findings)
        if finding.bound.name in USUAL_BOUNDS or id(finding) in named
    ]
    return sorted([*shown, place])


def _lowest(findings: Sequence[Finding]) -> Finding:
    """Return the smallest upper bound, a usual one if it is among several."""
    upper = [x for x in findings if x.bound.kind is Kind.UPPER]
    return min(upper, key=lambda x: (x.end, x.bound.name not in USUAL_BOUNDS))


def _highest(findings: Sequence[Finding]) -> Finding | None:
    """Return the largest lower bound, a usual one if it is among several; None if there is none."""
    lower = [x for x in findings if x.bound.kind is Kind.LOWER]
    return max(lower, key=lambda x: (x.end, x.bound.name in USUAL_BOUNDS), default=None)


def _finding_facts(finding: Finding, eps: float) -> dict[str, object]:
    others = {"others": finding.answer.others} if finding.answer.others else {}
    ends = plain_ends(finding.answer.enclosure)
    return {"kind": finding.bound.kind, **ends, **others, "verdict": finding.verdict(eps)}


def _bound_label(bound: Bound) -> str:
    return f"{bound.label}{' (not proven)' if bound.kind is Kind.UNPROVEN else ''}"


def _second_program(deployment: Scenario) -> list[str]:
    """Return how another program can prove the numbers, if it knows the mechanism."""
    if not is_verifiable(deployment):
        return []
    return [
        "A second program, verify/verify.py, can prove the blanket again and, in one round, "
        "the best proven and the lower one; it reads what the option --claim of epsilon writes."
    ]


def _verdict_reason(
    output: Output,
    eps: float,
    verdict: Verdict,
    findings: Sequence[Finding],
    imprecise: Sequence[Finding],
    deployment: Scenario,
) -> str:
    """Return the sentence that gives the reason of the verdict."""
    lowest, highest = _lowest(findings), _highest(findings)
    if verdict is Verdict.PROVEN:
        covered = deployment.sample.covered
        whom = f" for {covered}, not for others" if covered else ""
        proven = f"{lowest.text(output)} (the {lowest.bound.label}) is proven, too"
        return f"You can claim it{whom}; {proven}."
    if verdict is Verdict.REFUTED:
        assert highest is not None
        return f"The claim is false: {_counterexample(highest, output, deployment)}."
    if imprecise:
        ends, label = imprecise[0].answer.enclosure, imprecise[0].bound.label
        return (
            f"The numbers are not precise enough to tell: the {label} is known to lie between "
            f"{output.text(ends.lower, up=False)} and {output.text(ends.upper, up=True)}, and so "
            "does the claim. A smaller --rtol may help."
        )
    if highest is None:
        return (
            "Undecided: no bound proves it, and no pair of datasets is known that could refute it. "
            f"The true epsilon is at most {lowest.text(output)}."
        )
    return (
        "Undecided: no bound proves it, and no pair of datasets refutes it. The true epsilon lies "
        f"between {highest.text(output)} and {lowest.text(output)}."
    )


def _counterexample(finding: Finding, output: Output, deployment: Scenario) -> str:
    """Return what refutes a claim: two datasets that differ by more."""
    by = f"differ by an epsilon of {finding.text(output)}"
    if math.isinf(finding.end):
        by = "rule out every epsilon at this delta"
    mechanism = ""
    if deployment.is_about_any:
        # Other users hold a third value only if there is one.
        values = "three" if finding.answer.others == "third" else "two"
        mechanism = f" of randomized response of {values} values"
    return f"two datasets{mechanism}{_other_inputs(finding.answer.others)} {by}"


def _other_inputs(others: str) -> str:
    """Return the input of all other users as part of a sentence, coordinate by coordinate."""
    names = [
        OTHER_INPUTS.get(name, f"the value {name}") for name in others.replace(",", " ").split()
    ]
    if not names:
        return ""
    each = " in each coordinate" if len(names) > 1 else ""
    return f", in which all other users hold{each} {', '.join(names)},"
