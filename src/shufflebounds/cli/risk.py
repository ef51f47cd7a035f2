"""The command that says what a privacy loss means: how well an attack can do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.divergences import seen_pairs
from shufflebounds.cli.answers import (
    PAIR_BOUNDS,
    label,
    opposite,
    safe_end,
)
from shufflebounds.cli.notes import notes_on, warnings
from shufflebounds.cli.options import OUTPUT, REPLY, USERS, number_option, option, rtol_option
from shufflebounds.cli.progress import by_step
from shufflebounds.cli.reply import Output, Reply, or_value_error
from shufflebounds.cli.scenario import Scenario
from shufflebounds.cli.sent import question
from shufflebounds.cli.solutions import without_attained
from shufflebounds.cli.tables import Table
from shufflebounds.cli.values import FIGURE
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.questions.intervals import composed_pairs, has_affordable_suprema
from shufflebounds.questions.plan import MakeInterval, Plan
from shufflebounds.questions.profile import SampledProfile, sampled_profile
from shufflebounds.subjects.base import Subject

# False positive rates, unless others are given.
USUAL_RATES = (0.001, 0.01, 0.1)
# Share of the advantage. No other bound is computed where the blanket and an attack are this close.
MAX_GAP = 5e-3
# Points of a profile per standard deviation, as a rule.
USUAL_DENSITY = 24.0
# Most points of a profile per standard deviation, for a small --rtol.
MAX_DENSITY = 1000.0
# Points per standard deviation of the bound for all datasets, each of which takes a while. With
# half as many as usual, the advantage of many rounds is a thousandth larger, that of one the same.
ALL_DATASETS_DENSITY = 12.0
# Smallest δ on the profile of the bound for all datasets. The blanket bounds rates below 1e-5.
ALL_DATASETS_SMALLEST = 1e-8

ROWS = {
    "best": "no attack does better; you can claim it.",
    "blanket": "no attack does better; you can claim it.",
    "lower": "two specific datasets allow this; any smaller claim is false.",
    "stronger_clone": "the best bound for any mechanism with this eps0.",
}
COLUMN_MEANINGS = {
    "right guess": "how often the best attack guesses right, from even odds.",
    "false negatives": "their rate at that rate of false positives; fewer of them mean a stronger "
    "attack, so an upper bound has the smaller number.",
}
ADVANTAGE = "The advantage is 1 minus both rates of the best attack: 0 is a guess, 1 is certainty."
ASYMMETRY = (
    "The two datasets of the lower bound are not mirror images of each other. Its false negatives "
    "are those of attacks that may choose which value comes first, or mix both choices."
)


@dataclass(frozen=True)
class Risk:
    """What one bound says of attacks, by the pairs of datasets that it compares.

    It is the largest risk of several pairs or, with ``least``, the smallest risk of several bounds.
    ``further`` pairs count for the advantage only. No bound is below an ``attack``.
    """

    profiles: Sequence[SampledProfile | Risk]
    least: bool = False
    further: Sequence[SampledProfile] = ()
    attack: Risk | None = None

    def advantage(self) -> Enclosure:
        """Return 1 less both error rates of the best attack."""
        profiles = (*self.profiles, *self.further)
        found = _extreme_of_ends([x.advantage() for x in profiles], largest=not self.least)
        if self.attack is None:
            return found
        return Enclosure(
            min(max(found.lower, self.attack.advantage().lower), found.upper), found.upper
        )

    def right_guess(self) -> Enclosure:
        """Return the probability that the best attack guesses right, from even odds."""
        advantage = self.advantage()
        low, high = 0.5 + 0.5 * advantage.lower, 0.5 + 0.5 * advantage.upper
        return Enclosure(math.nextafter(low, 0.0), math.nextafter(high, 2.0))

    def false_negatives(self, rate: float) -> Enclosure:
        """Return the smallest rate of false negatives at a rate of false positives."""
        found = _extreme_of_ends(
            [x.false_negatives(rate) for x in self.profiles], largest=self.least
        )
        if self.attack is None:
            return found
        least = self.attack.false_negatives(rate).upper
        return Enclosure(found.lower, max(min(found.upper, least), found.lower))

    def is_close_to(self, attack: Risk) -> bool:
        """Return whether an attack does nearly as well, so that little lies between."""
        gaps = [self.advantage().upper - attack.advantage().lower]
        for rate in USUAL_RATES:
            gaps.append(attack.false_negatives(rate).upper - self.false_negatives(rate).lower)
        return max(gaps) <= MAX_GAP * self.advantage().upper


def _extreme_of_ends(enclosures: Sequence[Enclosure], *, largest: bool) -> Enclosure:
    """Return the largest or the smallest of both ends."""
    pick = max if largest else min
    return Enclosure(pick(x.lower for x in enclosures), pick(x.upper for x in enclosures))


@question(
    *("eps0", *USERS, "rounds", "also"),
    number_option(validation.FALSE_POSITIVES, multiple=True, default=USUAL_RATES),
    rtol_option("about 1e-4 for one round, else more"),
    option("--plot", FIGURE, "Figure to draw: PDF, PNG or SVG.", section=OUTPUT),
    *REPLY,
)
def risk(
    deployment: Scenario,
    false_positives: tuple[float, ...],
    plot: Path | None,
    rtol: float | None,
    output: Output,
) -> Reply:
    """How well can an attack tell two values of a user apart?

    You can claim the best proven bound. --rtol is about all others.

    Example: shufflebounds risk krr --k 10 --eps0 2 -n 1e5
    """
    risks, is_symmetric = _risks(deployment, rtol)
    computed = {name: risk for name, risk in risks.items() if name != "best"}
    shortfall = _wide_advantage_error(computed, rtol)
    if plot is not None:
        or_value_error(plot, lambda: _draw_trade_off(risks, deployment, plot))
    table = _risk_table(risks, false_positives, deployment, output)
    covered = deployment.sample.covered
    whom = f" on {covered}; on others it may have more" if covered else ""
    return Reply(
        title=deployment.title(),
        facts=deployment.facts() | _risk_facts(risks, false_positives),
        table=table,
        claim=[
            f"You can claim that no attack has an advantage above {table['advantage'][0]}{whom}."
        ],
        legend={deployment.label(name): ROWS[name] for name in risks} | COLUMN_MEANINGS,
        notes=[
            f"{deployment.words.attack} {ADVANTAGE}",
            *([] if is_symmetric else [ASYMMETRY]),
            *notes_on(deployment),
        ],
        warnings=warnings(deployment),
        bounds=tuple(risks),
        deployment=deployment,
        shortfall=shortfall,
    )


def _risks(deployment: Scenario, rtol: float | None) -> tuple[dict[str, Risk], bool]:
    """Return the risk of each bound, and whether the pairs of the lower bound are symmetric."""
    subject, n = deployment.protocol, deployment.honest
    rounds = deployment.setting().rounds or 1
    risks, is_symmetric = {}, True
    upper = deployment.sample.seen.upper
    bounds = deployment.bounds(dict.fromkeys([upper, *PAIR_BOUNDS]))
    for name, bound in by_step(without_attained(bounds, deployment)):
        assert bound.make is not None
        if bound.kind is not Kind.LOWER:
            risks[name] = Risk([_risk_profile(Plan(subject, rounds, bound.make), n, rtol)])
            continue
        risks[name], is_symmetric = _lower_risk(bound.make, subject, n, rounds, rtol)
    if upper == "best":
        if deployment.is_attained:
            is_symmetric = not any(shuffle.is_ordered for shuffle in subject.shuffles(n))
            risks["lower"] = risks["best"]
        return risks, is_symmetric
    if "best" not in deployment.bounds(["best"]) or "lower" not in risks:
        return risks, is_symmetric
    shuffles = subject.shuffles(n)
    is_settled = risks["blanket"].is_close_to(risks["lower"])
    if is_settled or not all(map(has_affordable_suprema, shuffles)):
        best = Risk([risks["blanket"]], attack=risks["lower"])
        return {"best": best, **risks}, is_symmetric
    profile = sampled_profile(
        Plan(subject, rounds), n, smallest=ALL_DATASETS_SMALLEST, density=ALL_DATASETS_DENSITY
    )
    best = Risk([profile, risks["blanket"]], least=True, attack=risks["lower"])
    return {"best": best, **risks}, is_symmetric


def _lower_risk(
    make: MakeInterval, subject: Subject, n: int, rounds: int, rtol: float | None
) -> tuple[Risk, bool]:
    """Return the risk of pairs of datasets, or of a bound without any, and whether they are alike.

    Any pair gives a lower bound. The two orders of some are alike: their false negatives are those
    of one attack.
    """
    pairs = _pairs_of_datasets(subject, n) or [(make, False)]
    profiles = [(_risk_profile(Plan(subject, rounds, x), n, rtol), alike) for x, alike in pairs]
    symmetric = [x for x, alike in profiles if alike]
    asymmetric = [x for x, alike in profiles if not alike]
    return (Risk(symmetric, further=asymmetric) if symmetric else Risk(asymmetric)), bool(symmetric)


def _pairs_of_datasets(subject: Subject, n: int) -> list[tuple[MakeInterval, bool]]:
    """Return lower bounds by one pair of datasets each, and whether its two orders are alike.

    There are none if the pairs are not given by decompositions.
    """
    pairs = [composed_pairs(shuffle) for shuffle in subject.shuffles(n)]

    def only(name: str) -> MakeInterval:
        return seen_pairs(lambda every: {name: every[name]} if name in every else every)

    return [
        (only(name), all(name not in x or x[name].is_symmetric() for x in pairs))
        for name in pairs[0]
    ]


def _risk_profile(plan: Plan, n: int, rtol: float | None) -> SampledProfile:
    """Return the profile of rounds, with an advantage of relative width `rtol` if possible."""
    density = USUAL_DENSITY
    curve = sampled_profile(plan, n, density=density)
    while rtol is not None and curve.advantage().relative_width > rtol and density < MAX_DENSITY:
        # The width falls with the square.
        density = min(2.0 * density, MAX_DENSITY)
        try:
            curve = sampled_profile(plan, n, density=density)
        except PrecisionError:
            break
    return curve


def _wide_advantage_error(risks: Mapping[str, Risk], rtol: float | None) -> PrecisionError | None:
    """Return the error that names the first bound whose advantage is wider than `rtol`."""
    for name, risk_ in risks.items():
        advantage = risk_.advantage()
        if rtol is not None and advantage.relative_width > rtol:
            sentence = f"{label(name)}: the advantage is known only to a relative width of"
            return PrecisionError(f"{sentence} {advantage.relative_width:.1e}", advantage)
    return None


def _risk_table(
    risks: Mapping[str, Risk], rates: Sequence[float], deployment: Scenario, output: Output
) -> Table:
    """Return a row for each bound, with the ends that are on the safe side."""

    def column(quantity: Callable[[Risk], Enclosure], *, is_smaller_worse: bool) -> list[str]:
        ends = {name: safe_end(name, "lower" if is_smaller_worse else "upper") for name in risks}
        return [
            output.text(getattr(quantity(risks[name]), end), up=end == "upper")
            for name, end in ends.items()
        ]

    return {
        "": [deployment.label(name) for name in risks],
        "advantage": column(Risk.advantage, is_smaller_worse=False),
        "right guess": column(Risk.right_guess, is_smaller_worse=False),
        **{
            f"false negatives at {rate:g}": column(
                partial(Risk.false_negatives, rate=rate), is_smaller_worse=True
            )
            for rate in rates
        },
    }


def _risk_facts(risks: Mapping[str, Risk], rates: Sequence[float]) -> dict[str, Any]:
    """Return the advantages and the false negatives in JSON."""
    return {
        "advantage": {name: asdict(each.advantage()) for name, each in risks.items()},
        "false_negatives": [
            {
                "false_positives": rate,
                **{name: asdict(each.false_negatives(rate)) for name, each in risks.items()},
            }
            for rate in rates
        ],
    }


def _draw_trade_off(risks: Mapping[str, Risk], deployment: Scenario, path: Path) -> None:
    from shufflebounds.curves.plotting import figures, looks, sheets
    from shufflebounds.curves.plotting.texts import equations

    setting = {} if deployment.eps0 is None else {"eps0": deployment.eps0}
    heading = [
        deployment.sent.label(deployment.setting()),
        *equations(setting),
        deployment.users_text,
        deployment.rounds_text,
        deployment.relation_text,
    ]
    labels = {name: deployment.label(name) for name in risks}
    lines = [
        sheets.TradeOffLine(
            labels[name],
            looks.role(name, labels[name]),
            each.false_negatives,
            opposite(safe_end(name)),
        )
        for name, each in risks.items()
    ]
    title = ", ".join(filter(None, heading))
    figures.draw(sheets.of_trade_off(lines, title), [path], titled=True)
