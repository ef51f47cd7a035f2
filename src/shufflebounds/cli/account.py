"""The command that accounts for a deployment: every number, the files, and the gate.

Exit code 1: the claim is beyond the budget.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shufflebounds._version import __version__
from shufflebounds.cli.answers import plain_ends
from shufflebounds.cli.claims import CLAIM_MARGIN
from shufflebounds.cli.notes import MAX_TELLING_EPS, large_delta_of, large_epsilon
from shufflebounds.cli.options import OUTPUT, REPLY, Argument, command, number_option, option
from shufflebounds.cli.phases import phases_reply
from shufflebounds.cli.questions import DIVERGENCE_ROWS
from shufflebounds.cli.reply import Output, Reply, or_value_error
from shufflebounds.cli.scenario import gaussian_noise
from shufflebounds.cli.tables import csv_text
from shufflebounds.cli.values import Name, OutputFile
from shufflebounds.core.enclosure import Enclosure, outward, reached
from shufflebounds.core.number import Real
from shufflebounds.core.progress import progress
from shufflebounds.core.words import counted
from shufflebounds.curves import claim_files
from shufflebounds.curves.files import write_text
from shufflebounds.questions.composed import compose
from shufflebounds.questions.deployment import (
    Deployment,
    SentReport,
    largest_epsilon,
    pure_epsilon,
)
from shufflebounds.questions.deployment_description import (
    DailyReport,
    read_description,
    stretches_of,
)
from shufflebounds.questions.training_phases import PHASES, TrainingPhases
from shufflebounds.randomizers.gaussian import local_epsilon

# Exit code for a deployment that is not shown to be within its budget.
BEYOND_BUDGET = 1
# Largest relative error of the float that stands for a sum of decimal ε₀: a few roundings.
ROUNDING = 1e-15
# Most rounds of a claim that verify/verify.py reads.
MAX_CLAIMED_ROUNDS = 10_000
# Formats of the numbers of days so far: a table, or the state after the last day.
FORMATS = ("csv", "prometheus")
# Names of the numbers in the second one, and their help.
METRICS = {
    "epsilon": "Epsilon that can be claimed for all days so far (natural logarithm).",
    "epsilon_lower_bound": "No claim below this epsilon is valid.",
    "epsilon_without_shuffler": "Epsilon that remains, with delta = 0, if the shuffler fails.",
    "days": "Number of days so far.",
    "budget_epsilon": "Epsilon that must not be exceeded.",
}


@command(
    Argument(
        ["description"],
        type=click.Path(path_type=Path),
        metavar="DESCRIPTION",
        meaning="A YAML or JSON file; docs/deployments.md explains its keys, and "
        "docs/random-allocation.md those of phases of training.",
    ),
    option(
        "--days",
        click.Path(path_type=Path),
        "CSV file with the users of each day: columns date and n.  [default: users and days of "
        "the description]",
    ),
    "delta",
    number_option(
        Real(
            "budget", "exit with 1 if epsilon is not shown to be at most this", ge=0.0, symbol="EPS"
        )
    ),
    option(
        "--running", OutputFile(), "Write epsilon of all days so far to this file.", section=OUTPUT
    ),
    option(
        "--format form",
        Name(FORMATS),
        "Format of that file: csv, one row for each day; or prometheus, the state after the last "
        "day, for the textfile collector of a node exporter.",
        default="csv",
        section=OUTPUT,
    ),
    option(
        "--claim",
        OutputFile(".json"),
        "Write claims that verify/verify.py proves: one for each report, at its part of delta.",
        section=OUTPUT,
    ),
    *REPLY,
)
def account(
    description: Path,
    days: Path | None,
    delta: float,
    budget: float | None,
    running: Path | None,
    form: str,
    claim: Path | None,
    output: Output,
) -> Reply:
    """Which epsilon can a whole deployment claim, or all phases of training?

    It counts all reports of all days. Exit codes: 0; 1 with --budget if epsilon is not shown to be
    within it; 2 for a mistake.

    Example: shufflebounds account deployment.yaml --delta 1e-8 --budget 0.1
    """
    _require_options(budget, running, form)
    content = read_description(description)
    if isinstance(content, Mapping) and PHASES in content:
        _require_no_options_of_reports(days, claim, form)
        return _reply_on_training(description, content, delta, budget, running, output)
    deployment = Deployment.read(description, days)
    if claim is not None:
        _require_claims(deployment)
    with progress():
        groups = deployment.epsilon_of_groups(delta)
        shares = deployment.share_rows(delta)
        rows = deployment.running_rows(delta) if running is not None and form == "csv" else []
        claimed = [] if claim is None else _write_claims(claim, deployment, delta)
    total = largest_epsilon(groups.values())
    if running is not None:
        text = (
            csv_text(rows) if rows else _prometheus(description, deployment, total, delta, budget)
        )
        or_value_error(running, lambda: write_text(text, running))
    large = [
        *large_delta_of(deployment.most_users, delta, repr(delta)),
        *large_epsilon(total.upper, output.text(total.upper, up=True)),
    ]
    limit = math.inf if budget is None else budget
    is_open = total.lower <= limit < total.upper
    largest = max(groups, key=lambda name: groups[name].upper)
    group = largest if len(groups) > 1 else ""
    return Reply(
        title=_title(description, deployment, delta),
        facts={
            **_facts(deployment, delta, total, shares),
            **({} if budget is None else _budget_facts(budget, total)),
            "groups": {name: plain_ends(x) for name, x in groups.items()},
            "reports_of_group": largest,
        },
        table=_reports_table(shares, total, deployment, group, output),
        sections=_group_sections(groups, group, deployment, output),
        claim=_claim(total, budget, bool(large), output),
        fallback=[_remains(deployment, delta)],
        legend=LEGEND | {LOWER_BOUND: DIVERGENCE_ROWS["lower"]},
        notes=[*_notes(deployment, group), *large, _exposed_users(deployment, delta)],
        written=claimed,
        warnings=[
            *_caveats(deployment),
            *_alone(deployment),
            *(_first_day_note(deployment) if is_open else []),
            *_silent_days(deployment),
            *large,
        ],
        bounds=("best", "lower"),
        color=_color(total, limit, bool(large)),
        exit_code=0 if total.upper <= limit else BEYOND_BUDGET,
    )


def _require_no_options_of_reports(days: Path | None, claim: Path | None, form: str) -> None:
    """Raise ValueError for options that phases of training do not have."""
    if days is not None or claim is not None or form != FORMATS[0]:
        raise ValueError(
            "--days, --claim and --format must be left out: the file lists phases of training"
        )


def _reply_on_training(
    path: Path,
    content: Mapping[str, Any],
    delta: float,
    budget: float | None,
    running: Path | None,
    output: Output,
) -> Reply:
    """Return the answer about phases of training, with the verdict on a budget."""
    try:
        training = TrainingPhases(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    with progress():
        reply, total = phases_reply(path, training, delta, running, output)
    limit, is_large = math.inf if budget is None else budget, total.upper > MAX_TELLING_EPS
    facts = {**dict(reply.facts), **({} if budget is None else _budget_facts(budget, total))}
    return replace(
        reply,
        facts=facts,
        claim=_claim(total, budget, is_large, output),
        color=_color(total, limit, is_large),
        exit_code=0 if total.upper <= limit else BEYOND_BUDGET,
    )


def _require_options(budget: float | None, running: Path | None, form: str) -> None:
    """Raise ValueError for a budget out of range, and for a format of no file."""
    if running is None and form != FORMATS[0]:
        raise ValueError("--format needs --running, the file to write")


def _budget_facts(budget: float, total: Enclosure) -> dict[str, Any]:
    """Return what the JSON says of the budget."""
    return {"budget": budget, "within_budget": total.upper <= budget}


def _facts(
    deployment: Deployment,
    delta: float,
    total: Enclosure,
    shares: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the answer in JSON, but for the groups and the budget."""
    return {
        "version": __version__,
        "deployment": deployment.content,
        "days": [list(day) for day in deployment.days],
        "relation": deployment.relation,
        "days_without_reports": list(deployment.description.silent_dates),
        "delta": delta,
        "epsilon": plain_ends(total),
        "without_shuffler": _finite(deployment.pure_epsilon),
        "without_shuffler_at_delta": _finite(_local_epsilon(deployment, delta)),
        "reports": {row["report"]: _share_facts(row) for row in shares},
    }


LEGEND = {
    "shuffles": "number of shuffles of this report over all days.",
    "fewest users": "smallest n that its bounds use: without those who drop out or collude, and "
    "rounded down where days have many different n.",
    "epsilon alone": "what you could claim at the same delta if this were the only report.",
    "epsilon without": "what you could claim at the same delta without this report.",
    "if the shuffler fails": "eps0 times the number of answers; what remains of this report.",
    "standard error": "of the share of users with a value, or of the mean of numbers, as estimated "
    "from a shuffle of the fewest users.",
}

# The row with the lower end of all reports.
LOWER_BOUND = "lower bound"


def _color(total: Enclosure, limit: float, protects_nobody: bool) -> str | None:
    """Return the colour of the verdict on a budget, which is infinite if there is none."""
    if math.isinf(limit) or (protects_nobody and total.upper <= limit):
        return None
    return "green" if total.upper <= limit else "red"


def _title(description: Path, deployment: Deployment, delta: float) -> str:
    """Return the first line of the answer."""
    counts = [n for _, n in deployment.days]
    fewest = f"{min(counts)} to " if min(counts) < max(counts) else ""
    users = f"{fewest}{counted(max(counts), 'user')}"
    days = counted(len(counts), "day")
    if deployment.dates is not None:
        first, last = deployment.dates
        days += f", {first}," if first == last else f" from {first} to {last},"
    listed = [f"{days} of {users}", deployment.relation.short, f"delta = {delta!r}"]
    return f"{description.name}: {', '.join(listed)}"


def _claim(
    total: Enclosure, budget: float | None, protects_nobody: bool, output: Output
) -> list[str]:
    """Return the verdict on the budget, and what may be claimed."""
    text = output.text(total.upper, up=True)
    claim = f"You can claim epsilon = {text}."
    if math.isinf(total.upper):
        claim = "No epsilon is known to hold at this delta."
    if budget is None:
        return [claim]
    if total.upper <= budget:
        but = ", but these numbers protect nobody" if protects_nobody else ""
        return [f"WITHIN the budget of {budget!r}{but}.", claim]
    if total.lower > budget:
        return [
            f"BEYOND the budget of {budget!r}.",
            f"Two datasets achieve epsilon = {output.text(total.lower, up=False)}; any smaller "
            "claim is false.",
            claim,
        ]
    return [f"NOT SHOWN to be within the budget of {budget!r}.", claim]


def _remains(deployment: Deployment, delta: float) -> str:
    """Return what is left if the shuffler fails."""
    pure, local = deployment.pure_epsilon, _local_epsilon(deployment, delta)
    if math.isfinite(pure):
        return f"If the shuffler fails, epsilon = {_decimal_up(pure)} remains, with delta = 0."
    if math.isfinite(local):
        shown = outward(local, up=True, digits=4)
        return f"If the shuffler fails, epsilon = {shown} at delta = {delta!r} remains."
    return "If the shuffler fails, no epsilon remains with delta = 0."


def _local_epsilon(deployment: Deployment, delta: float) -> float:
    """Return an ε at which all answers of a user are (ε, δ)-LDP; inf if none is known."""
    return max(
        _local_epsilon_of_group(x, len(deployment.days), delta) for x in deployment.sent.values()
    )


def _local_epsilon_of_group(sent: Iterable[SentReport], days: int, delta: float) -> float:
    """Return the ε of Gaussian answers together at δ, plus the ε₀ of all others."""
    pure, precision = [0.0], 0.0
    for part in sent:
        noise = gaussian_noise(part.randomizer) if part.randomizer.eps0 is None else None
        if noise is None:
            pure.append(pure_epsilon((part,), days))
        else:
            precision += part.shuffles / noise**2
    local = local_epsilon(1.0 / math.sqrt(precision), delta, 1) if precision else 0.0
    return math.fsum([*pure, local]) * (1.0 + ROUNDING)


def _group_sections(
    groups: Mapping[str, Enclosure], group: str, deployment: Deployment, output: Output
) -> dict[str, list[str]]:
    """Return what each group can claim, if there are several; `group` has the largest ε."""
    if not group:
        return {}
    shares = {each.name: float(each.share) for each in deployment.description.groups}
    return {
        f"Groups (that of {group} is in the table, and its epsilon holds for everybody):": [
            f"{name}, share {shares[name]!r}: epsilon = {output.text(x.upper, up=True)}"
            for name, x in groups.items()
        ]
    }


def _reports_table(
    shares: Sequence[Mapping[str, Any]],
    total: Enclosure,
    deployment: Deployment,
    group: str,
    output: Output,
) -> dict[str, list[str]]:
    """Return a row for each report, and one for all of them; of `group`, if there are several."""
    rows = [
        (
            row["report"],
            str(row["shuffles"]),
            str(row["fewest_users"]),
            output.text(row["alone"].upper, up=True),
            output.text(row["without"].upper, up=True),
            _decimal_up(row["without_shuffler"]),
            "" if row["standard_error"] is None else f"{row['standard_error']:.2g}",
        )
        for row in shares
    ]
    shuffles = str(sum(row["shuffles"] for row in shares))
    upper, pure = output.text(total.upper, up=True), _decimal_up(deployment.pure_epsilon)
    rows.append(("all reports", shuffles, "", upper, "", pure, ""))
    rows.append((LOWER_BOUND, "", "", output.text(total.lower, up=False), "", "", ""))
    columns = [list(cells) for cells in zip(*rows, strict=True)]
    return dict(zip([f"group {group}" if group else "", *LEGEND], columns, strict=True))


def _share_facts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the JSON says of a report."""
    return {
        "mechanism": row["mechanism"],
        "eps0": None if row["eps0"] is None else _finite(row["eps0"]),
        "shuffles": row["shuffles"],
        "fewest_users": row["fewest_users"],
        "alone": plain_ends(row["alone"]),
        "without": plain_ends(row["without"]),
        "without_shuffler": _finite(row["without_shuffler"]),
        "standard_error": row["standard_error"],
    }


def _decimal_up(value: float) -> str:
    """Return a sum of ε₀ as the short decimal number that it stands for, else rounded up.

    The float of a decimal ε₀ may be a little larger, by no more than rounding.
    """
    short = f"{value:g}"
    is_meant = abs(float(short) - value) <= ROUNDING * value if math.isfinite(value) else True
    return short if is_meant else outward(value, up=True)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _caveats(deployment: Deployment) -> list[str]:
    """Return what is unproven of the mechanisms."""
    caveats = (x.randomizer.caveat for sent in deployment.sent.values() for x in sent)
    return [*dict.fromkeys(x for x in caveats if x)]


def _silent_days(deployment: Deployment) -> list[str]:
    """Return a note on the dates on which nobody reports, if there are any."""
    dates = deployment.description.silent_dates
    if not dates:
        return []
    return [
        f"Nobody reports on {counted(len(dates), 'date')}, which the answer does not count: "
        f"{stretches_of(dates)}."
    ]


def _exposed_users(deployment: Deployment, delta: float) -> str:
    """Return how δ compares with 1/n."""
    users = deployment.most_users
    shown = outward(delta * users, up=True, digits=2)
    return (
        f"delta times the largest n is {shown}. A program that publishes the value of each user "
        "with probability delta satisfies (0, delta), and so many users are exposed on average. "
        "docs/choosing-delta.md recommends 0.01 or less."
    )


def _alone(deployment: Deployment) -> list[str]:
    """Return a note on memoized answers that nothing but ε₀ protects."""
    return _note_on_changing_users(
        deployment,
        "Shuffling does not protect {}: users who report on one day and not on another leave their "
        "memoized answers alone, so that these count with their full eps0. Fresh answers, or "
        "sending each memoized answer once, cost less (docs/deployments.md).",
    )


def _first_day_note(deployment: Deployment) -> list[str]:
    """Return a note on memoized answers of which lower ends count the first day."""
    return _note_on_changing_users(
        deployment,
        "Lower ends count {} once, since what changing users reveal depends on who reports when: a "
        "budget above a lower end may be out of reach all the same.",
    )


def _note_on_changing_users(deployment: Deployment, note: str) -> list[str]:
    """Return a note with the names of the memoized answers of changing users, if there are any."""
    names = [report.name for report in deployment.description.reports if report.needs_no_users]
    return [note.format(", ".join(names))] if names else []


def _sentence_on_report(place: int, deployment: Deployment) -> str:
    """Return what users send, such as ``browser: krr(k=40) at eps0 = 1.0, fresh, 1 a day.``.

    An ε₀ of a group takes the place of that of the report.
    """
    groups, report = deployment.description.groups, deployment.description.reports[place]
    eps0s = {group.name: group.reports[place].eps0 for group in groups}
    eps0 = ", ".join(f"{x!r} in group {name}" for name, x in eps0s.items())
    if len({*eps0s.values()}) == 1:
        eps0 = "" if eps0s[groups[0].name] is None else repr(eps0s[groups[0].name])
    eps0 = f" at eps0 = {eps0}" if eps0 else ""
    kind = "fresh"
    if report.is_memoized:
        kind = f"memoized by {'the same' if report.same_users else 'changing'} users"
    linked = "" if report.per_day == 1 else ", linked" if report.is_linked else ", not linked"
    rate = "" if report.rate == 1.0 else f", each sent with probability {report.rate!r}"
    rate = rate if report.cohort is None else f", by cohorts of {report.cohort}"
    sent = f"{report.per_day} a day{linked}{rate}{_calendar(deployment, report.days)}"
    return f"{report.name}: {report.mechanism}{eps0}, {kind}, {sent}."


def _calendar(deployment: Deployment, days: Sequence[int]) -> str:
    """Return on which days a report is sent, such as ``, on 2026-01-31 only``; empty for all."""
    if len(days) == len(deployment.days):
        return ""
    first, last = (deployment.days[days[i]][0] for i in (0, -1))
    first, last = (x if "-" in x else f"day {x}" for x in (first, last))
    if len(days) == 1:
        return f", on {first} only"
    return f", on {len(days)} of {len(deployment.days)} days from {first} to {last}"


def _notes(deployment: Deployment, group: str) -> list[str]:
    """Return what the answer rests on; the table is that of a `group`, if there are several."""
    reports = deployment.description.reports
    return [
        *(_sentence_on_report(place, deployment) for place in range(len(reports))),
        *_caveats(deployment),
        *_alone(deployment),
        *_first_day_note(deployment),
        *_silent_days(deployment),
        "Every shuffle hides everything but its reports: nothing links two of them, be it two "
        "reports of a day or reports of two days. Values may differ from day to day, except those "
        "of memoized answers.",
        *_note_on_cover(deployment),
        *(note for note, applies in NOTES_ON_REPORTS.items() if any(map(applies, reports))),
        *_note_on_groups(deployment, group),
        *([ROUNDED] if deployment.is_rounded else []),
    ]


# Notes on reports of a kind.
NOTES_ON_REPORTS: Mapping[str, Callable[[DailyReport], bool]] = {
    "Each answer of a report with a rate is sent with that probability, drawn anew and in secret. "
    "A panel that is drawn once protects less.": lambda report: report.rate < 1.0,
    "Exactly as many users as a cohort has are drawn for each of its shuffles, anew and in secret, "
    "all sets of as many being equally likely. n counts all users of the day and is public "
    "(docs/proofs/cohorts.md).": lambda report: report.cohort is not None,
    "The same users, all of them, send the memoized answers on every day, and their values stay "
    "the same. Then all days together tell no more than the first one.": lambda report: (
        report.is_memoized and report.same_users
    ),
}
ROUNDED = (
    "Days have so many different n that they are rounded: down for what you can claim, up for "
    "lower bounds. Both stay valid; they are a few percent further apart."
)


def _note_on_cover(deployment: Deployment) -> list[str]:
    """Return a note on the users who drop out or collude, if there are any."""
    dropout, colluding = float(deployment.description.dropout), deployment.description.colluding
    if not (dropout or colluding):
        return []
    return [
        f"Of the n users of a day, at most a share of {dropout!r} drops out and {colluding} "
        f"collude{'s' if colluding == 1 else ''}; all of them may be in one group. They provide no "
        "cover for others: the bounds use the users who are left."
    ]


def _note_on_groups(deployment: Deployment, group: str) -> list[str]:
    """Return a note on groups, if there are several; the table is that of one `group`."""
    if not group:
        return []
    groups = deployment.description.groups
    shares = ", ".join(f"{each.name} {float(each.share)!r}" for each in groups)
    cover = (
        "One shuffler mixes the reports of all groups, and no report tells its group."
        if deployment.description.mixed
        else "The bounds of a group count its members alone; lower ends take each group for a "
        "shuffle of its own."
    )
    return [
        f"Groups with an eps0 of their own have at least these shares of the users: {shares}. "
        f"Every user is in one of them, whatever the value, and stays in it. {cover} "
        f"The table is that of {group}, the group with the largest epsilon, which holds for "
        "everybody."
    ]


def _prometheus(
    description: Path,
    deployment: Deployment,
    total: Enclosure,
    delta: float,
    budget: float | None,
) -> str:
    """Return the state after the last day in the text format of Prometheus."""
    values = {
        "epsilon": total.upper,
        "epsilon_lower_bound": total.lower,
        "epsilon_without_shuffler": deployment.pure_epsilon,
        "days": len(deployment.days),
        "budget_epsilon": budget,
    }
    name = description.stem.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    labels = f'{{deployment="{name}",delta="{delta!r}"}}'
    lines = []
    for key, value in values.items():
        if value is not None:
            number = "+Inf" if value == math.inf else repr(value)
            metric = f"shufflebounds_{key}"
            lines += [f"# HELP {metric} {METRICS[key]}", f"# TYPE {metric} gauge"]
            lines.append(f"{metric}{labels} {number}")
    return "\n".join(lines) + "\n"


def _why_unverifiable(part: SentReport) -> str:
    """Return why verify/verify.py cannot prove a claim about a report; empty if it can."""
    if claim_files.described_claim(part.randomizer) is None:
        return f"verify/verify.py does not define {part.randomizer!r}"
    if part.report.cohort is not None:
        return "verify/verify.py does not define cohorts"
    if part.shuffles > MAX_CLAIMED_ROUNDS:
        return f"verify/verify.py proves claims on at most {MAX_CLAIMED_ROUNDS} shuffles"
    return ""


def _require_claims(deployment: Deployment) -> None:
    """Raise ValueError if verify/verify.py can check no claim, before anything is computed."""
    reasons = {
        part.report.name: _why_unverifiable(part)
        for sent in deployment.sent.values()
        for part in sent
    }
    if all(reasons.values()):
        raise ValueError(
            f"--claim needs a report that verify/verify.py defines (matrix, "
            f"{', '.join(claim_files.VERIFIED)}): "
            + "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        )


def _write_claims(path: Path, deployment: Deployment, delta: float) -> list[str]:
    """Write a claim for each report of each group, and return sentences on what they prove.

    Each is about the blanket at the smallest n of all days and at its part of δ. Together they
    prove the sum of their ε at δ, since dominating pairs compose (docs/proofs/composition.md,
    section 1). Reports that the second program cannot check are left out.
    """
    claims: list[claim_files.Claim] = []
    sums: list[float] = []
    left_out: dict[str, str] = {}
    for sent in deployment.sent.values():
        reasons = {part.report.name: _why_unverifiable(part) for part in sent}
        left_out |= {name: reason for name, reason in reasons.items() if reason}
        own = [
            _claim_on(part, delta / len(sent) * (1.0 - 1e-12))
            for part in sent
            if not reasons[part.report.name]
        ]
        sums.append(math.fsum(claim["eps"] for claim in own) * (1.0 + 1e-12))
        claims += own
    or_value_error(path, lambda: write_text(json.dumps(claims, indent=2) + "\n", path))
    whom = "of each group " if len(sums) > 1 else ""
    whose = f"for all reports but {', '.join(left_out)} " if left_out else ""
    return [
        *(f"{name} has no claim, since {reason}." for name, reason in left_out.items()),
        f"The file {path.name} has a claim for each {'other ' if left_out else ''}report {whom}at "
        f"its part of delta and the fewest users; together they prove epsilon = "
        f"{outward(max(sums), up=True)} {whose}by basic composition, while verify/verify.py does "
        "not prove the smaller epsilon of the answer.",
    ]


def _claim_on(part: SentReport, delta: float) -> claim_files.Claim:
    """Return the claim about the blanket of one report."""
    n, times = part.fewest_users, part.shuffles
    mechanism = claim_files.described_claim(part.randomizer)
    assert mechanism is not None  # since `_why_unverifiable`
    composed = compose([(part.randomizer.blankets().values(), n, times)])
    eps = reached(lambda: composed.epsilon(delta)).upper
    margin = CLAIM_MARGIN if times == 1 else 0.0
    return claim_files.upper("blanket", mechanism, n, delta, eps * (1.0 + margin), times)
