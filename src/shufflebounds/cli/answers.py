"""The answers of several bounds to one question: the pairs, the rows of the table, and the JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Literal, TypeAlias

from shufflebounds.bounds.base import Answer, Bound, Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.deployment import Deployment
from shufflebounds.cli.reply import Output, Table
from shufflebounds.core.enclosure import Enclosure, outward
from shufflebounds.protocols.base import Candidate

End: TypeAlias = Literal["upper", "lower"]

# Most dataset pairs whose rounds are composed. A composition may take a second.
MAX_COMPOSED_PAIRS = 4
# Largest ε₀ whose e^ε₀ is printed as a number.
MAX_WRITTEN_EPS0 = 14.0
# The bounds that are divergences of pairs.
PAIR_BOUNDS = ("upper", "lower", "stronger_clone")
# Headings of columns, and what they mean.
ERROR = "numerical error"
GAP_TO_LOWER = "gap to lower bound"
INPUTS = "victim's inputs"
OTHERS = "worst input of others"
COLUMNS = {
    ERROR: "relative width of the interval that provably contains the exact value of the bound.",
    GAP_TO_LOWER: "distance from the lower bound, relative to it. The truth lies between.",
    INPUTS: "the victim's two inputs, as numbers of the rows of the matrix.",
    OTHERS: "the input that all other users hold in the datasets of the lower bound: x0 and x1 are "
    "the victim's two, third is any other value. With several attributes each has its own.",
}


def informative_bounds(deployment: Deployment, *names: str) -> dict[str, Bound]:
    """The bounds by these names, without bounds of ε₀ alone where that is infinite or unknown."""
    bounds = {name: BOUNDS[name] for name in names}
    has_eps0 = deployment.has_informative_eps0
    return {name: bound for name, bound in bounds.items() if bound.knows_mechanism or has_eps0}


def pairs(bound: Bound, deployment: Deployment) -> tuple[Candidate, ...]:
    """The pairs that a bound compares in one round, those that reveal most first."""
    assert bound.candidates is not None
    return bound.candidates(bound.seen(deployment.protocol))


def pairs_of_rounds(bound: Bound, deployment: Deployment) -> tuple[Candidate, ...]:
    """The pairs that a bound compares in all rounds, of which a question may seek the number.

    Over several rounds only a few dataset pairs are compared. Raises ValueError for several rounds
    in each of which another pair may be the worst, which no maximum over pairs covers.
    """
    candidates = pairs(bound, deployment)
    if deployment.rounds == 1:
        return candidates
    if bound.kind is Kind.UPPER and len(candidates) > 1:
        raise ValueError(
            f"{deployment.name} has several pairs of inputs, and in each round another may be "
            "the worst; of several rounds only epsilon, delta, renyi, check and curve look at all "
            "of them"
        )
    return candidates[:MAX_COMPOSED_PAIRS] if bound.kind is Kind.LOWER else candidates


def proof(deployment: Deployment, answers: Mapping[str, Answer], end: End) -> str:
    """Which bound the best proven one is, judged by the end that may be claimed."""
    tight, blanket = (
        getattr(answers[name].enclosure, end) if name in answers else None
        for name in ("tight", "upper")
    )
    if tight != blanket:
        return "the bound for all datasets"
    is_loose = not deployment.has_all_datasets_bound
    return "the blanket, which may be far above the truth" if is_loose else "the blanket"


def at_most_blanket(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """The answers, with a best proven bound no larger than the blanket.

    Both are enclosed separately, so that the former may come out larger by a numerical error.
    """
    if not {"tight", "upper"} <= answers.keys():
        return dict(answers)
    tight, blanket = answers["tight"], answers["upper"].enclosure.upper
    ends = (min(end, blanket) for end in (tight.enclosure.lower, tight.enclosure.upper))
    return {**answers, "tight": replace(tight, enclosure=Enclosure(*ends))}


# A shuffle of ε₀-LDP reports is (ε₀, 0)-DP, and T of them are (Tε₀, 0)-DP.


def within_eps0(
    answers: Mapping[str, Answer], eps0: float | None, rounds: int
) -> tuple[dict[str, Answer], list[str]]:
    """Answers on ε with ends of at most ε₀ times rounds, and a note if one of them was larger."""
    limit = _pure_eps(eps0, rounds)
    capped = {}
    for name, answer in answers.items():
        lower, upper = answer.enclosure.lower, answer.enclosure.upper
        capped[name] = replace(answer, enclosure=Enclosure(min(lower, limit), min(upper, limit)))
    if all(capped[name].enclosure == answer.enclosure for name, answer in answers.items()):
        return capped, []
    limit_name = "eps0" if rounds == 1 else f"{rounds} times eps0"
    return capped, [
        f"A bound that comes out above {limit_name} is replaced by {limit_name}: what a user sends "
        f"is ({limit_name}, 0)-DP by itself, and so is all that is made of it."
    ]


def is_zero(eps: float, eps0: float | None, rounds: int) -> bool:
    """Whether δ(ε) is 0 because the reports are ε-LDP."""
    return eps >= _pure_eps(eps0, rounds)


def _pure_eps(eps0: float | None, rounds: int) -> float:
    """ε₀ times rounds, rounded up; inf where there is no ε₀."""
    return math.inf if eps0 is None else Enclosure(eps0, eps0).times(rounds).upper


def without_shuffler(
    eps0: float | None, rounds: float | None, report_eps0: float | None = None
) -> list[str]:
    """A sentence on what remains if the shuffler fails; none if there is no ε₀.

    ``eps0`` is that of all that a user sends in a round. ``rounds`` is None, or 0, if their number
    is not known. With ``report_eps0``, the ε₀ of one report, the sentence says what that reveals.
    """
    if eps0 is None:
        return []
    if math.isinf(eps0):
        return ["If the shuffler fails, nothing remains, since eps0 is infinite."]
    remains = f"eps0 = {_rounded_up(eps0)} per round"
    if rounds == 1 and report_eps0 in (None, eps0):
        remains = f"eps0 = {_rounded_up(eps0)} remains"
    elif rounds and 1 < rounds < math.inf:
        # The total of the decimal number that was given: its float may be a little larger.
        total = _rounded_up(float(Decimal(repr(float(eps0))) * int(rounds)))
        remains += f", {total} over all {rounds} rounds"
    if report_eps0 is not None:
        factor = f"e^{outward(report_eps0, up=True, digits=3)}"
        if report_eps0 < MAX_WRITTEN_EPS0:
            odds = math.exp(report_eps0)
            factor = outward(odds, up=True, digits=3) if odds < 100.0 else f"{math.ceil(odds)}"
        remains += f"; one report then changes the odds of two inputs by a factor of up to {factor}"
    return [f"If the shuffler fails, {remains}."]


def _rounded_up(eps0: float) -> str:
    """In six digits if these are exact, else in four."""
    return f"{eps0:g}" if float(f"{eps0:g}") == eps0 else outward(eps0, up=True, digits=4)


def large_delta(deployment: Deployment, delta: float | None, text: str = "") -> list[str]:
    """A note on a δ above 1/n, which is printed as ``text``, by default in full."""
    if delta is None or deployment.n is None or delta * deployment.honest <= 1.0:
        return []
    return [
        f"delta = {text or repr(delta)} is above 1/n and protects nobody: a protocol that "
        "publishes the inputs of some users in full satisfies it even at epsilon = 0. "
        "docs/choosing-delta.md says how to choose it."
    ]


# Rows of tables, and JSON.


def side_of(name: str) -> End:
    """Whether the bound by that name is an ``upper`` or a ``lower`` bound."""
    return "lower" if name == "lower" else "upper"


def other(end: End) -> End:
    """The other end of an enclosure."""
    return "lower" if end == "upper" else "upper"


def safe_ends(answers: Mapping[str, Any], upper: End = "upper") -> dict[str, End]:
    """The end of each enclosure that is on the safe side, given that of upper bounds."""
    return {name: upper if side_of(name) == "upper" else other(upper) for name in answers}


def table_of_bounds(
    answers: Mapping[str, Answer], ends: Mapping[str, End], heading: str, output: Output
) -> Table:
    """One row for each bound, with the number at the end that is given; no empty columns."""
    numbers = {name: getattr(answer.enclosure, ends[name]) for name, answer in answers.items()}
    lower = numbers.get("lower")
    columns = {
        "": [label(name) for name in answers],
        heading: [output.text(numbers[name], up=ends[name] == "upper") for name in answers],
        # The lower end of the best proven bound is that of the worst known dataset.
        ERROR: [
            "" if name == "tight" else width(answer.enclosure) for name, answer in answers.items()
        ],
        GAP_TO_LOWER: [
            "" if name == "lower" else distance(number, lower) for name, number in numbers.items()
        ],
        INPUTS: [answer.inputs for answer in answers.values()],
        OTHERS: [answer.others for answer in answers.values()],
    }
    return {heading: cells for heading, cells in columns.items() if any(cells)}


def width(enclosure: Enclosure) -> str:
    """The relative width of an enclosure, in two digits, rounded up."""
    if enclosure.lower == enclosure.upper:
        return "0 (exact)"
    if math.isinf(enclosure.upper):
        return "unbounded"
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(enclosure.relative_width))
    return f"{rounded:.1e}"


def distance(number: float, lower: float | None) -> str:
    """How far a number is from that of the lower bound, in percent of the latter, rounded up."""
    if not lower or math.isinf(lower) or math.isinf(number):
        return ""
    percent = Decimal(abs(number / lower - 1.0) * 100.0)
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(percent)
    is_plain = not rounded or Decimal("1e-4") <= rounded < Decimal("1e6")
    return f"{rounded:f} %" if is_plain else f"{rounded:.1e} %"


def plain_ends(enclosure: Enclosure) -> dict[str, float | None]:
    """An enclosure in JSON, where null stands for infinity."""
    return {end: x if math.isfinite(x) else None for end, x in asdict(enclosure).items()}


def plain_answer(answer: Answer) -> dict[str, Any]:
    """An answer in JSON: its ends, and the inputs that it names."""
    names = {"inputs": answer.inputs, "others": answer.others}
    return {**plain_ends(answer.enclosure), **{key: name for key, name in names.items() if name}}


def label(name: str) -> str:
    """The label of the bound by that name."""
    return BOUNDS[name].label
