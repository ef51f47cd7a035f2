"""What the bounds answer to one question, pair by pair, and how it is printed."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from decimal import ROUND_CEILING, Context, Decimal
from html import escape
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from shufflebounds._version import __version__
from shufflebounds.bounds.base import Answer, Bound, Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.enclosure import Enclosure, PrecisionError, outward
from shufflebounds.protocols.base import REPORTS, Candidate, Observation
from shufflebounds.reproduce.storage import write_text

if TYPE_CHECKING:
    from shufflebounds.cli.deployment import Users
    from shufflebounds.cli.options import Output

# Dataset pairs whose rounds are composed, each of which takes a while.
FEW = 4

# Largest ε₀ whose e^ε₀ is written out.
_MOST_WRITTEN = 14.0

# The bounds that are divergences of pairs.
OF_PAIRS = ("upper", "lower", "stronger_clone")


def answering(asked: Users, *names: str) -> dict[str, Bound]:
    """The bounds of some names: none of ε₀ alone where that is infinite, or says nothing at all."""
    bounds = {name: BOUNDS[name] for name in names}
    return {k: one for k, one in bounds.items() if one.knows_mechanism or asked.has_telling_eps0}


def pairs(bound: Bound, asked: Users) -> tuple[Candidate, ...]:
    """The pairs that a bound compares.

    Of dataset pairs only a few for several rounds, those that tell the inputs apart best. Raises
    ValueError for several rounds (None: any number) in each of which another pair may be the worst,
    which no maximum over pairs covers.
    """
    found = all_pairs(bound, asked)
    if asked.rounds != 1 and bound.kind is Kind.UPPER and len(found) > 1:
        raise ValueError(
            f"{asked.name} has several pairs of inputs, and in each round another may be "
            "the worst; of several rounds only epsilon, delta, renyi, check and curve look at all "
            "of them"
        )
    return found[:FEW] if asked.rounds != 1 and bound.kind is Kind.LOWER else found


def all_pairs(bound: Bound, asked: Users) -> tuple[Candidate, ...]:
    """The pairs that a bound compares in one round, those that tell most first."""
    assert bound.candidates is not None
    return bound.candidates(bound.seen(asked.protocol))


def proof(asked: Users, answers: Mapping[str, Answer], end: str = "upper") -> str:
    """Which bound the best proven one is, by the end that counts."""
    tight, blanket = (
        getattr(answers[key].enclosure, end) if key in answers else None
        for key in ("tight", "upper")
    )
    if tight != blanket:
        return "the bound for all datasets"
    return "the blanket" if asked.has_crowds else "the blanket, which may be far above the truth"


def least(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """The best proven bound no larger than the blanket, however closely each is computed."""
    if not {"tight", "upper"} <= answers.keys():
        return dict(answers)
    tight, blanket = answers["tight"], answers["upper"].enclosure.upper
    ends = (min(end, blanket) for end in (tight.enclosure.lower, tight.enclosure.upper))
    return {**answers, "tight": replace(tight, enclosure=Enclosure(*ends))}


# What holds of every shuffle of ε₀-LDP reports: it is (ε₀, 0)-DP, and T of them (Tε₀, 0)-DP.


def within_eps0(
    answers: Mapping[str, Answer], eps0: float | None, rounds: int
) -> tuple[dict[str, Answer], list[str]]:
    """Answers on ε none of whose ends is above ε₀ times rounds, and a note if that mattered."""
    cap = _cap(eps0, rounds)
    capped = {
        key: replace(
            answer,
            enclosure=Enclosure(min(answer.enclosure.lower, cap), min(answer.enclosure.upper, cap)),
        )
        for key, answer in answers.items()
    }
    if all(capped[key].enclosure == answer.enclosure for key, answer in answers.items()):
        return capped, []
    what = "eps0" if rounds == 1 else f"{rounds} times eps0"
    return capped, [
        f"A bound that comes out above {what} is replaced by {what}: what a user sends is "
        f"({what}, 0)-DP by itself, and so is all that is made of it."
    ]


def is_zero(eps: float, eps0: float | None, rounds: int) -> bool:
    """Whether δ(ε) is 0 for want of reports that tell more."""
    return eps >= _cap(eps0, rounds)


def _cap(eps0: float | None, rounds: int) -> float:
    """ε₀ times rounds, rounded up; inf where there is no ε₀."""
    return math.inf if eps0 is None else Enclosure(eps0, eps0).times(rounds).upper


def without_shuffler(
    eps0: float | None, rounds: float | None, of_report: float | None = None
) -> dict[str, str]:
    """What remains if the shuffler fails, ε₀ being that of all that a user sends in a round.

    One line under its label; none if there is no ε₀. `rounds` is None, or 0, if their number is not
    known. With `of_report`, the ε₀ of one report, the line says what that lets an observer learn.
    """
    if eps0 is None:
        return {}
    if math.isinf(eps0):
        return {"if the shuffler fails": "nothing remains, since eps0 is infinite."}
    remains = f"eps0 = {_rounded_up(eps0)} per round"
    if rounds == 1 and of_report in (None, eps0):
        remains = f"eps0 = {_rounded_up(eps0)} remains"
    elif rounds and 1 < rounds < math.inf:
        # Of the decimal number that was given: its float may be a little larger.
        total = _rounded_up(float(Decimal(repr(float(eps0))) * int(rounds)))
        remains += f", {total} over all {rounds} rounds"
    if of_report is not None:
        factor = f"e^{outward(of_report, up=True, digits=3)}"
        if of_report < _MOST_WRITTEN:
            odds = math.exp(of_report)
            factor = outward(odds, up=True, digits=3) if odds < 100.0 else f"{math.ceil(odds)}"
        remains += f"; one report then changes the odds of two inputs by a factor of up to {factor}"
    return {"if the shuffler fails": f"{remains}."}


def _rounded_up(eps0: float) -> str:
    """In six digits if these are exact, else in four."""
    return f"{eps0:g}" if float(f"{eps0:g}") == eps0 else outward(eps0, up=True, digits=4)


# How they are printed.

# Parts of a page: their tag, and a text, its lines or the rows of a table.
Page: TypeAlias = list[tuple[str, Any]]
End: TypeAlias = Literal["upper", "lower"]

# What version 0.1 called bounds in JSON, for scripts that read it.
_FORMER = {
    "tight_bound": "tight",
    "upper_bound": "upper",
    "lower_bound": "lower",
    "closed_form": "girgis_upper",
}


def kind_of(name: str) -> End:
    """Of the bound of a name: ``upper`` or ``lower``."""
    return "lower" if name == "lower" else "upper"


def other(end: End) -> End:
    """The other end of an enclosure."""
    return "lower" if end == "upper" else "upper"


_OTHERS = "other users' input"


def show(
    asked: Users,
    answers: Mapping[str, Answer],
    output: Output,
    *,
    target: Mapping[str, Any],
    wording: str,
    column: str,
    meanings: Mapping[str, str],
    better: str = "smaller",
    instead: Mapping[tuple[str, float], str] | None = None,
    notes: Sequence[str] = (),
    local: Mapping[str, float] | None = None,
) -> None:
    """Print the answers, by the bound's name, to a question with a `target`, worded for people.

    Of an upper bound the end of the enclosure counts that is the safe one, of a lower bound the
    other. `meanings` say what that lets one claim, by the bound's name; `instead` has those of
    numbers that say something else, by the kind of bound and the number. `local` has ``eps0`` or
    ``rounds`` where the question asks for it.

    Raises `PrecisionError` afterwards where an enclosure is too wide.
    """
    ends = {
        name: kind_of(name) if better == "smaller" else other(kind_of(name)) for name in answers
    }
    numbers = {name: getattr(one.enclosure, ends[name]) for name, one in answers.items()}
    labels = {name: BOUNDS[name].label for name in answers}
    columns = {
        "": labels.values(),
        column: [output.text(numbers[name], up=ends[name] == "upper") for name in answers],
        # Of the best proven bound the lower end is that of the worst known dataset.
        "numerical error": [
            "" if name == "tight" else width(one.enclosure) for name, one in answers.items()
        ],
        "from lower bound": [
            "" if name == "lower" else distance(number, numbers.get("lower"))
            for name, number in numbers.items()
        ],
        "victim's inputs": [one.inputs for one in answers.values()],
        _OTHERS: [one.others for one in answers.values()],
    }
    said = {
        labels[name]: (instead or {}).get((kind_of(name), number), meanings[name])
        for name, number in numbers.items()
    }
    if asked.sends_reports:
        remaining: dict[str, float | None] = dict(local or {})
        if "eps0" not in remaining:
            remaining["eps0"] = asked.protocol.eps0
        if "rounds" not in remaining:
            remaining["rounds"] = asked.times
        said |= without_shuffler(**remaining)
    wide = {labels[name]: answer for name, answer in answers.items() if answer.shortfall}
    publish(
        output,
        facts=asked.facts(**target)
        | {name: _plain(answer) for name, answer in answers.items()}
        | {key: _plain(answers[name]) for key, name in _FORMER.items() if name in answers}
        | {"precise": not wide},
        paragraphs=[asked.title(wording)],
        table=table_of({name: cells for name, cells in columns.items() if any(cells)}),
        meanings=said,
        notes=[*asked.notes(), *large_delta(asked, target.get("delta")), *notes],
        bounds=tuple(answers),
        asked=asked,
    )
    if wide:
        shortfalls = [f"{label}: {answer.shortfall}" for label, answer in wide.items()]
        raise PrecisionError("; ".join(shortfalls), next(iter(wide.values())).enclosure)


def large_delta(asked: Users, delta: float | None) -> list[str]:
    """What a delta above 1/n allows, if it is."""
    if delta is None or asked.n is None or delta * asked.honest <= 1.0:
        return []
    return [
        f"delta = {delta!r} is above 1/n and protects nobody: a protocol that publishes the inputs "
        "of some users in full satisfies it even at epsilon = 0. docs/choosing-delta.md says how "
        "to choose it."
    ]


def table_of(columns: Mapping[str, Iterable[str]]) -> list[Sequence[str]]:
    """Its lines, the first of which has the names of the columns."""
    return [tuple(columns), *zip(*columns.values(), strict=True)]


def or_value_error(path: Path, write: Callable[[], None]) -> None:
    """Call `write`; where it fails to write, that is a ValueError that names the file."""
    try:
        write()
    except OSError as error:
        raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def publish(
    output: Output,
    *,
    facts: Mapping[str, Any],
    paragraphs: Sequence[str],
    table: Sequence[Sequence[str]],
    meanings: Mapping[str, str],
    notes: Sequence[str],
    bounds: Sequence[str],
    asked: Users | None = None,
) -> None:
    """Print one JSON object of `facts` and `notes`, or everything else for people.

    Of a note only its first sentence, unless an explanation is asked for. A report, if there is to
    be one, has all of it, the theorems of the `bounds`, and what is seen of the users who are
    `asked` about: shuffled reports if nothing else is said.
    """
    whole = json.dumps({**facts, "notes": list(notes)}, indent=2, allow_nan=False)
    said = [f"{label[0].upper()}{label[1:]}: {meaning}" for label, meaning in meanings.items()]
    if (path := output.report) is not None:
        question = [("p", " ".join(paragraph.split())) for paragraph in paragraphs]
        inputs = [("p", text) for text in _names_of_inputs(table)]
        answered: Page = [*question, ("table", table), ("ul", said), *inputs]
        seen = asked.seen if asked else REPORTS
        assumed = [*_assumptions(seen, has_eps0=not asked or asked.has_local_privacy), *notes]
        page = _certificate(output.command, answered, seen, assumed, bounds, whole)
        or_value_error(path, lambda: write_text(_rendered(page, path.suffix), path))
    if output.as_json:
        click.echo(whole)
        return
    for paragraph in paragraphs:
        click.echo(f"{paragraph}\n")
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for line in table:
        padded = (f"{cell:{size}}" for cell, size in zip(line, widths, strict=True))
        click.echo(f"  {'   '.join(padded)}".rstrip())
    if said:
        click.echo()
    for meaning in said:
        click.echo(meaning)
    shown = [note if output.explain else _first_sentence(note) for note in notes]
    if output.explain:
        shown = [*_names_of_inputs(table), *shown]
    for note in shown:
        click.echo(f"\n{wrapped(note)}")
    if not output.explain and shown != list(notes):
        click.echo("\nUse --explain for what this rests on.")


def _names_of_inputs(table: Sequence[Sequence[str]]) -> list[str]:
    """What the cells of the column with the other users' input mean, if there are any."""
    cells = " ".join(line[-1] for line in table[1:]) if table[0][-1] == _OTHERS else ""
    if not {"x0", "x1", "third"} & set(cells.split()):
        return []
    return [
        "All other users hold one input in the datasets of the lower bound: x0 and x1 are the "
        "victim's two, third is any other value. Of several attributes each has its own."
    ]


def _first_sentence(note: str) -> str:
    return re.split(r"(?<=[.:]) (?=[A-Z])", note, maxsplit=1)[0]


def wrapped(text: str) -> str:
    """A paragraph in lines that fit a terminal."""
    return click.wrap_text(text, width=80)


def width(found: Enclosure) -> str:
    """The relative width of an enclosure, in two digits, rounded up."""
    if found.lower == found.upper:
        return "0 (exact)"
    if math.isinf(found.upper):
        return "unbounded"
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(Decimal(found.relative_width))
    return f"{rounded:.1e}"


def distance(number: float, lower: float | None) -> str:
    """How far a number is from that of the lower bound, in percent of the latter, rounded up."""
    if not lower or math.isinf(lower) or math.isinf(number):
        return ""
    percent = Decimal(abs(number / lower - 1.0) * 100.0)
    rounded = Context(prec=2, rounding=ROUND_CEILING).plus(percent)
    is_plain = not rounded or Decimal("1e-4") <= rounded < Decimal("1e6")
    return f"{rounded:f} %" if is_plain else f"{rounded:.1e} %"


def ends(found: Enclosure) -> dict[str, float | None]:
    """As JSON has them, where null stands for infinity."""
    return {end: value if math.isfinite(value) else None for end, value in asdict(found).items()}


def _plain(answer: Answer) -> dict[str, Any]:
    named = {"inputs": answer.inputs, "others": answer.others}
    return {**ends(answer.enclosure), **{name: text for name, text in named.items() if text}}


# One line of progress on a terminal while a question takes long; nothing anywhere else.

# Seconds before the line appears, and from one of its states to the next.
AFTER, EVERY = 2.0, 1.0

# What is being computed; the thread that shows it reads it.
_now = SimpleNamespace(step="")


@contextmanager
def progress(*, hidden: bool) -> Iterator[None]:
    """Show what is computed and for how long, and wipe it off before anything else is printed.

    On standard error, and only if that is a terminal; not at all if `hidden`.
    """
    if hidden or not sys.stderr.isatty():
        yield
        return
    done = Event()
    shown = Thread(target=_show, args=(done, time.monotonic()), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()
        _now.step = ""


def one_by_one(bounds: Mapping[str, Bound]) -> Iterator[tuple[str, Bound]]:
    """The items, each of them named as what is being computed."""
    for place, (key, bound) in enumerate(bounds.items(), start=1):
        _now.step = f"{bound.label} ({place} of {len(bounds)}), "
        yield key, bound
    _now.step = ""


def _show(done: Event, start: float) -> None:
    longest, finished = 0, done.wait(AFTER)
    while not finished:
        line = f"computing: {_now.step}{time.monotonic() - start:.0f} s"
        longest = max(longest, len(line))
        click.echo(f"\r{line:{longest}}", err=True, nl=False)
        finished = done.wait(EVERY)
    if longest:
        click.echo(f"\r{'':{longest}}\r", err=True, nl=False)


# A page that states an answer, what it rests on, and how to check it: for a review.


def _assumptions(seen: Observation, *, has_eps0: bool) -> list[str]:
    remains = (
        "only local privacy remains: the eps0 of all that a user sends"
        if has_eps0
        else "nothing protects a user's value"
    )
    return [
        "Neighbouring datasets differ in the replacement of one user's value.",
        "All users run the stated mechanism with their own randomness. Those who do not, or who "
        "collude with the observer, hide nobody: the option --colluding subtracts them from n.",
        seen.observer,
        f"If {seen.hidden_by} fails, {remains}.",
        "Not covered: anything a user sends outside the protocol, and errors of the software that "
        "implements it.",
    ]


_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;"
    "overflow-wrap:anywhere}"
    "table{display:block;overflow:auto;overflow-wrap:normal}"
    "td,th{text-align:left;padding:.2em 1em .2em 0}"
    "pre{white-space:pre-wrap;background:#f4f4f4;padding:1em}"
)
_HEAD = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">'
    f"<title>{{}}</title><style>{_STYLE.replace('{', '{{').replace('}', '}}')}</style></head><body>"
)
_TAIL = "</body></html>"
# What Markdown does not print as it stands: marks, underscores that are not within a word, and what
# makes a heading or a list at the beginning of a line.
_MARKUP = re.compile(r"[\\`*\[<>&|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|^[-+#=]")


def _certificate(
    command: str,
    answered: Page,
    seen: Observation,
    assumed: Sequence[str],
    bounds: Sequence[str],
    whole: str,
) -> Page:
    """What a report says; `whole` is what ``--json`` prints."""
    digest = hashlib.sha256(f"{whole}\n".encode()).hexdigest()
    used = [BOUNDS[name] for name in bounds]
    return [
        ("h1", f"Privacy of {seen.name}"),
        ("h2", "Question and answer"),
        *answered,
        (
            "p",
            "Numbers are rounded outward: an upper bound is never below the truth, a lower bound "
            "never above it, rounding errors included. Epsilon is a natural logarithm.",
        ),
        ("h2", "Assumptions"),
        ("ul", assumed),
        ("h2", "Theorems"),
        ("ul", [f"{one.label}: {seen.sources.get(one.name, one.source)}." for one in used]),
        ("p", "docs/engine.md proves how they are evaluated, and every error term."),
        ("h2", "How to verify"),
        (
            "p",
            f"Run this with shufflebounds {__version__}; it prints the object below, whose SHA-256 "
            f"is {digest}:",
        ),
        ("pre", f"{command} --json | sha256sum"),
        (
            "p",
            "For the reports that docs/verification.md lists, shufflebounds epsilon --claim FILE "
            "writes claims that verify/verify.py proves again, a program that shares no code with "
            "the library.",
        ),
        ("details", whole),
    ]


def _rendered(page: Page, suffix: str) -> str:
    """As HTML or, for ``.md``, Markdown; without parts that are empty."""
    if suffix == ".html":
        head = _HEAD.format(escape(page[0][1]))
        return "\n".join([head, *(_html(*part) for part in page if part[1]), _TAIL]) + "\n"
    return "\n\n".join(_markdown(*part) for part in page if part[1]) + "\n"


def _markdown(tag: str, content: Any) -> str:
    match tag:
        case "h1" | "h2":
            return f"{'#' * int(tag[1])} {_as_text(content)}"
        case "ul":
            return "\n".join(f"- {_as_text(item)}" for item in content)
        case "table":
            lines = [f"| {' | '.join(map(_as_text, row))} |" for row in content]
            return "\n".join([lines[0], "|---" * len(content[0]) + "|", *lines[1:]])
        case "pre" | "details":
            # The content may itself hold a line of backticks.
            fence = max(["```", *(f"{run}`" for run in re.findall("`+", content))], key=len)
            return f"{fence}\n{content}\n{fence}"
    return _as_text(content)


def _as_text(text: str) -> str:
    """Markdown that shows the text as it is, such as a file name with the characters of a tag."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def _html(tag: str, content: Any) -> str:
    match tag:
        case "ul":
            inner = "".join(f"<li>{escape(one)}</li>" for one in content)
        case "details":  # pages long where the answer is a ranking
            inner = f"<summary>The object</summary><pre>{escape(content)}</pre>"
        case "table":
            head, *body = content
            inner = "".join([_row("th", head), *(_row("td", row) for row in body)])
        case _:
            inner = escape(content)
    return f"<{tag}>{inner}</{tag}>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(one)}</{tag}>' for one in cells)}</tr>"
