"""The answers of several bounds to one question: safe ends, rows of the table, and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Literal, TypeAlias

from shufflebounds.bounds.base import Answer
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.reply import Output
from shufflebounds.cli.tables import Table
from shufflebounds.core.enclosure import Enclosure

End: TypeAlias = Literal["upper", "lower"]

# The bounds that are divergences of pairs.
PAIR_BOUNDS = ("blanket", "lower", "stronger_clone")
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


def label(name: str) -> str:
    """Return the label of the bound by that name."""
    return BOUNDS[name].label


def safe_end(name: str, upper: End = "upper") -> End:
    """Return the end of a bound that is on the safe side; ``upper`` is that of upper bounds."""
    return opposite(upper) if name == "lower" else upper


def opposite(end: End) -> End:
    """Return the other end of an enclosure."""
    return "lower" if end == "upper" else "upper"


def between_bounds(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return the answers, with a best proven bound between the lower bound and the blanket.

    All are enclosed separately, so that it may lie beyond them by a numerical error.
    """
    if "best" not in answers:
        return dict(answers)
    best = answers["best"].enclosure
    if "blanket" in answers:
        best = _capped(best, answers["blanket"].enclosure.upper)
    if "lower" in answers:
        lower = max(best.lower, answers["lower"].enclosure.lower)
        best = Enclosure(min(lower, best.upper), best.upper)
    return {**answers, "best": replace(answers["best"], enclosure=best)}


def within_eps0(
    answers: Mapping[str, Answer], limit: float, rounds: int
) -> tuple[dict[str, Answer], list[str]]:
    """Return answers on ε that are at most a limit, ε₀ times rounds, and a note if one is there.

    A shuffle of ε₀-LDP reports is (ε₀, 0)-DP, and T of them are (Tε₀, 0)-DP.
    """
    if all(answer.enclosure.upper < limit for answer in answers.values()):
        return dict(answers), []
    capped = {
        name: replace(answer, enclosure=_capped(answer.enclosure, limit))
        for name, answer in answers.items()
    }
    limit_name = "eps0" if rounds == 1 else f"{rounds} times eps0"
    return capped, [
        f"A bound that comes out above {limit_name} is replaced by {limit_name}: what a user sends "
        f"is ({limit_name}, 0)-DP by itself, and so is all that is made of it."
    ]


def _capped(enclosure: Enclosure, limit: float) -> Enclosure:
    return Enclosure(min(enclosure.lower, limit), min(enclosure.upper, limit))


def table_of_bounds(
    answers: Mapping[str, Answer],
    ends: Mapping[str, End],
    heading: str,
    label_of: Callable[[str], str],
    output: Output,
) -> Table:
    """Return one row for each bound, with the number at the given end, without empty columns."""
    numbers = {name: getattr(answer.enclosure, ends[name]) for name, answer in answers.items()}
    lower = numbers.get("lower")
    columns = {
        "": [label_of(name) for name in answers],
        heading: [output.text(numbers[name], up=ends[name] == "upper") for name in answers],
        # The lower end of the best proven bound is that of the worst known dataset.
        ERROR: [
            "" if name == "best" else width(answer.enclosure) for name, answer in answers.items()
        ],
        GAP_TO_LOWER: [
            "" if name == "lower" else distance(number, lower) for name, number in numbers.items()
        ],
        INPUTS: [answer.inputs for answer in answers.values()],
        OTHERS: [answer.others for answer in answers.values()],
    }
    return {heading: cells for heading, cells in columns.items() if any(cells)}


def width(enclosure: Enclosure) -> str:
    """Return the relative width of an enclosure, in two digits, rounded up."""
    if enclosure.lower == enclosure.upper:
        return "0 (exact)"
    if math.isinf(enclosure.upper):
        return "unbounded"
    return f"{_two_digits_up(enclosure.relative_width):.1e}"


def distance(number: float, lower: float | None) -> str:
    """Return how far a number is from that of the lower bound, in percent, rounded up."""
    if not lower or math.isinf(lower) or math.isinf(number):
        return ""
    percent = _two_digits_up(abs(number / lower - 1.0) * 100.0)
    is_plain = not percent or Decimal("1e-4") <= percent < Decimal("1e6")
    return f"{percent:f} %" if is_plain else f"{percent:.1e} %"


def _two_digits_up(number: float) -> Decimal:
    return Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(number))


def plain_ends(enclosure: Enclosure) -> dict[str, float | None]:
    """Return an enclosure in JSON, where null stands for infinity."""
    return {end: x if math.isfinite(x) else None for end, x in asdict(enclosure).items()}


def plain_answer(answer: Answer) -> dict[str, Any]:
    """Return an answer in JSON: its ends, and the inputs that it names."""
    names = {"inputs": answer.inputs, "others": answer.others}
    return {**plain_ends(answer.enclosure), **{key: name for key, name in names.items() if name}}
