"""The command that ranks mechanisms at a target (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shufflebounds._version import __version__
from shufflebounds.cli.answers import label, plain_ends
from shufflebounds.cli.notes import without_shuffler, without_shuffler_at
from shufflebounds.cli.options import (
    REPLY,
    REQUIRED,
    USERS,
    command,
    every_row_option,
    number_option,
    option,
    rounds_option,
)
from shufflebounds.cli.parameters import flag
from shufflebounds.cli.reply import Output, Reply
from shufflebounds.cli.scenario import honest_users
from shufflebounds.cli.tables import KEPT_SPACE
from shufflebounds.core.enclosure import outward
from shufflebounds.core.number import Whole
from shufflebounds.core.progress import show_step
from shufflebounds.core.relation import Relation
from shufflebounds.core.words import counted
from shufflebounds.estimation.accuracy import Error
from shufflebounds.questions.mechanism_families import LIMITS, WAYS
from shufflebounds.questions.ranking import Choice, Ranking
from shufflebounds.questions.ranking import choose as rank
from shufflebounds.randomizers.gaussian import Gaussian

# Rows that are printed without --all.
MAX_ROWS = 10
# Keys of the JSON that repeat the question, in this order.
QUESTION_KEYS = (
    *("values", "items", "attributes", "n", "colluding", "dropout", "n_reporting", "eps", "delta"),
    *("rounds", "most_bits", "most_eps0", "most_messages"),
)
# The bound that certifies ε₀, by the proof of a choice.
PROOF_BOUNDS = {"best": "best", "blanket": "blanket", "clone": "stronger_clone"}


class Column(NamedTuple):
    """A column of the ranking, with what it means and the cell of a choice."""

    heading: str
    meaning: str
    cell: Callable[[Choice, Ranking], str]


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if number < 999.5 or number >= 1e7 else f"{number:.0f}"


def _short_name(choice: Choice, ranking: Ranking) -> str:
    """Return the mechanism without parameters that all share; ``[1]`` numbers its preparation."""
    values = choice.error.values
    shown = (
        f"{flag(name)}{KEPT_SPACE}{_three_digits(value) if isinstance(value, float) else value}"
        for name, value in choice.parameters.items()
        if name not in ("domain_size", "items", "domain") and (name, value) != ("k", values)
    )
    mark = [_preparation_mark(choice, ranking)] if choice.preparation else []
    return " ".join([choice.name, *mark, *shown])


def _shown_eps0_of_round(choice: Choice) -> str:
    eps0 = choice.eps0_of_round
    return "none" if eps0 is None else outward(eps0, up=True, digits=4)


def _in_users(error: Error) -> float:
    return error.in_users(error.standard_error**2)


def _is_about_values(ranking: Ranking) -> bool:
    return ranking.best.error.values > 1


# Cells are empty in columns that say nothing, which are not printed.
COLUMNS = (
    Column("mechanism", "", _short_name),
    Column(
        "messages",
        "messages of a user in a shuffle, about one attribute.",
        lambda x, ranking: str(x.messages) if any(y.messages > 1 for y in ranking.choices) else "",
    ),
    Column(
        "reported",
        "how several attributes are reported: "
        f"{', '.join(f'{way} ({WAYS[way]})' for way in WAYS)}.",
        lambda x, ranking: x.way if len({y.way for y in ranking.choices}) > 1 else "",
    ),
    Column(
        "eps0",
        "the largest that is certified to meet the target (natural logarithm), of everything a "
        "user sends in a shuffle.",
        lambda x, _: "none" if x.is_gaussian else outward(x.eps0.lower, up=False),
    ),
    Column(
        "eps0 in a round",
        "of everything a user sends in a round: what remains if the shuffler fails.",
        lambda x, ranking: (
            _shown_eps0_of_round(x) if any(y.shuffles > 1 for y in ranking.choices) else ""
        ),
    ),
    Column(
        "standard error",
        "of the mean of numbers.",
        lambda x, ranking: (
            "" if _is_about_values(ranking) else _three_digits(x.error.standard_error)
        ),
    ),
    Column(
        "error in users",
        "standard error of the number of users with a value: the root mean square over all values.",
        lambda x, ranking: _three_digits(_in_users(x.error)) if _is_about_values(ranking) else "",
    ),
    Column(
        "if rare",
        "the same, for a value that nobody holds.",
        lambda x, ranking: (
            _three_digits(x.error.in_users(x.error.rare)) if _is_about_values(ranking) else ""
        ),
    ),
    Column(
        "times curator",
        "squared error, relative to that of a trusted curator who adds the better of geometric "
        "(for numbers Laplace) and Gaussian noise.",
        lambda x, ranking: _three_digits(x.mse.upper / ranking.curator_mse),
    ),
    Column("bits", "of everything a user sends in a round.", lambda x, _: _three_digits(x.bits)),
)


@command(
    number_option(
        Whole("values", "number of values, of which a user holds one, or as many as --items"),
        metavar="K",
        section=REQUIRED,
    ),
    option(
        "--numbers",
        bool,
        "In place of --values: estimate a mean of numbers from -1 to 1.",
        section=REQUIRED,
    ),
    *(*USERS, "eps", "delta"),
    *(number_option(limit) for limit in LIMITS),
    rounds_option("--attributes"),
    every_row_option("Print all mechanisms, not only ten."),
    *REPLY,
)
def choose(numbers: bool, dropout: float, every_row: bool, output: Output, **task: Any) -> Reply:
    """Which mechanism is the most accurate at a target?

    Each mechanism has its best parameters and the largest eps0 that is certified to meet the
    target. They are ranked by the total error of the estimate; docs/accuracy.md explains the table.

    Example: shufflebounds choose --values 256 -n 2e6 --eps 1 --delta 1e-8
    """
    if (task["values"] is None) != numbers:
        raise ValueError("give either --values or --numbers")
    colluding = task.pop("colluding")
    reporting = honest_users(task["n"], colluding, dropout)
    ranking = rank(**{**task, "n": reporting}, progress=show_step)
    task |= {"colluding": colluding, "dropout": dropout, "n_reporting": reporting}
    cells = {column: [column.cell(x, ranking) for x in ranking.choices] for column in COLUMNS}
    columns = [column for column in COLUMNS if any(cells[column])]
    notes, warnings = _ranking_notes(ranking, task), _ranking_warnings(ranking, task)
    return Reply(
        title=_ranking_title(task, ranking.relation),
        facts={"version": __version__, "relation": ranking.relation}
        | {name: task[name] for name in QUESTION_KEYS}
        | _ranking_facts(ranking),
        table={column.heading: cells[column] for column in columns},
        claim=_ranking_claim(ranking, task),
        fallback=_remains_of(ranking.best, task),
        legend={column.heading: column.meaning for column in columns[1:]},
        notes=[*notes, *warnings],
        warnings=warnings,
        bounds=tuple(dict.fromkeys(PROOF_BOUNDS[choice.proof] for choice in ranking.choices)),
        shown=None if every_row else range(min(MAX_ROWS, len(ranking.choices))),
    )


def _preparations(ranking: Ranking) -> list[str]:
    return list(dict.fromkeys(x.preparation for x in ranking.choices if x.preparation))


def _preparation_mark(choice: Choice, ranking: Ranking) -> str:
    return f"[{_preparations(ranking).index(choice.preparation) + 1}]"


def _ranking_title(task: Mapping[str, Any], relation: Relation) -> str:
    values = "numbers" if task["values"] is None else f"{task['values']} values"
    if task["items"] > 1:
        values = f"{task['items']} of {values}"
    attributes = f"{task['attributes']} attributes of " if task["attributes"] > 1 else ""
    fewer = f" ({task['n_reporting']} of them report and do not collude)"
    users = f"n = {counted(task['n'], 'user')}{fewer if task['n_reporting'] < task['n'] else ''}"
    rounds = [f"{task['rounds']} rounds"] if task["rounds"] > 1 else []
    target = f"target epsilon = {task['eps']!r}, delta = {task['delta']!r}"
    return ", ".join([f"{attributes}{values}", users, *rounds, relation.short, target])


def _ranking_claim(ranking: Ranking, task: Mapping[str, Any]) -> list[str]:
    best = ranking.best
    # As other commands take it, such as ``krr --k 16``.
    given = (f"{flag(name)} {value}" for name, value in best.parameters.items())
    after = f" after {_preparation_mark(best, ranking)}" if best.preparation else ""
    way = f", {WAYS[best.way]}" if task["attributes"] > 1 else ""
    each = " in each" if best.shuffles > 1 else ""
    comma = "," if way else ""
    eps0 = outward(best.eps0.lower, up=False)
    at = "" if best.is_gaussian else f"{comma} at eps0 = {eps0}{each}"
    return [
        f"Best: {' '.join([best.name, *given])}{after}{way}{at}.",
        f"It is certified by the {label(PROOF_BOUNDS[best.proof])}; you can deploy it if you trust "
        "the shuffler.",
    ]


def _remains_of(choice: Choice, task: Mapping[str, Any]) -> list[str]:
    """Return what is left of a choice if the shuffler fails."""
    if not isinstance(choice.randomizer, Gaussian):
        return without_shuffler(choice.eps0_of_round, task["rounds"], choice.eps0.lower)
    return without_shuffler_at(task["delta"], repr(task["delta"]), choice.randomizer.sigma, 1)


def _ranking_notes(ranking: Ranking, task: Mapping[str, Any]) -> list[str]:
    if task["values"] is None:
        meaning = "Errors are those of one round, in the worst case over the users' numbers."
    else:
        meaning = (
            "Errors are those of one round. The squared error summed over all values ranks the "
            "mechanisms."
        )
    notes = [f"{meaning} eps0 does not rank them: the same eps0 is another error for each."]
    best, clone = ranking.best, ranking.by_clone
    whom = "" if clone.name == best.name else f"{_short_name(clone, ranking)} at "
    notes.append(
        f"From eps0 alone, the stronger clone allows {whom}"
        f"eps0 = {outward(clone.eps0.lower, up=False)}, with "
        f"{_three_digits(clone.mse.upper / best.mse.upper)} times the squared error."
    )
    if prepared := _preparations(ranking):
        listed = "; ".join(f"[{i}] {text}" for i, text in enumerate(prepared, start=1))
        notes.append(f"Preparation by each user: {listed}.")
    if task["attributes"] > 1:
        notes.append(
            "Errors are those of one attribute. If one attribute is drawn at random, a sample of "
            "the users reports each attribute, and the squared error includes the error of "
            "sampling."
        )
    if task["most_messages"] > 1:
        notes.append(
            "If a user sends several messages, one of them depends on what the user holds, after "
            "flips that make it eps0-LDP (at eps0 = 200 there are none). The others, blankets, do "
            "not. Bits are those of all messages. The observer may know all other users' values."
        )
    if task["n_reporting"] < task["n"]:
        notes.append(
            "Users who collude or do not report provide no cover for others: privacy and errors "
            f"are those of {counted(task['n_reporting'], 'report')}, and shares are of the users "
            "who send them."
        )
    if task["rounds"] > 1:
        notes.append(
            f"All {task['rounds']} rounds together meet the target; eps0 is that of one round, or "
            "of one of its shuffles."
        )
    return notes


def _ranking_warnings(ranking: Ranking, task: Mapping[str, Any]) -> Sequence[str]:
    error = ranking.best.error
    # The share of users that a value has on average; of numbers, half of their range.
    if error.standard_error < task["items"] / error.values:
        return []
    return [
        "No mechanism here is of use for this target: the best is off by as much as what it "
        "estimates."
    ]


def _ranking_facts(ranking: Ranking) -> dict[str, Any]:
    values = ranking.best.error.values
    curator = {
        "mse": ranking.curator_mse,
        "standard_error": math.sqrt(ranking.curator_mse / values),
    }
    choices = [_choice_facts(choice) for choice in ranking.choices]
    return {
        "curator": curator,
        "choices": choices,
        "by_eps0_alone": _choice_facts(ranking.by_clone),
    }


def _choice_facts(choice: Choice) -> dict[str, Any]:
    error = choice.error
    return {
        "mechanism": choice.name,
        "parameters": dict(choice.parameters),
        "way": choice.way,
        "preparation": choice.preparation,
        "proof": choice.proof,
        "eps0": None if choice.is_gaussian else plain_ends(choice.eps0),
        "eps0_of_report": choice.randomizer.eps0,
        "eps0_of_round": choice.eps0_of_round,
        "shuffles": choice.shuffles,
        "mse": plain_ends(choice.mse),
        "standard_error": error.standard_error,
        "standard_error_in_users": _in_users(error),
        "standard_error_if_rare_in_users": error.in_users(error.rare),
        "bits": choice.bits,
        "messages": choice.messages,
    }
