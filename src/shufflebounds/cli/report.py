"""A report for reviewers: an answer, what it rests on, and how to check it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from shufflebounds._version import __version__
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.protocols.base import REPORTS

if TYPE_CHECKING:
    from shufflebounds.cli.reply import Reply

# Parts of a page: their HTML tag, and a text, the items of a list or the rows of a table.
Page: TypeAlias = list[tuple[str, Any]]

STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;"
    "overflow-wrap:anywhere}"
    "table{display:block;overflow:auto;overflow-wrap:normal}"
    "td,th{text-align:left;padding:.2em 1em .2em 0}"
    "pre{overflow-x:auto;background:#f4f4f4;padding:1em}"
)
# Characters that Markdown does not print as they stand: marks, underscores that are not within a
# word, and the start of a heading or a list.
MARKUP = re.compile(r"[\\`*\[<>&|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|^[-+#=]")


def report(reply: Reply, command: str, suffix: str) -> str:
    """The report on a reply, as HTML or, for the suffix ``.md``, as Markdown."""
    parts = [part for part in _report_parts(reply, command) if part[1]]
    if suffix == ".md":
        return "\n\n".join(_markdown_part(*part) for part in parts) + "\n"
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(parts[0][1])}</title><style>{STYLE}</style></head><body>"
    )
    return "\n".join([head, *(_html_part(*part) for part in parts), "</body></html>"]) + "\n"


def _report_parts(reply: Reply, command: str) -> Page:
    deployment, digest = reply.deployment, hashlib.sha256(f"{reply.json}\n".encode()).hexdigest()
    seen = REPORTS if deployment is None else deployment.sample.seen
    remains = "nothing protects a user's value"
    if deployment is None or deployment.has_eps0:
        remains = "the guarantee degrades to the eps0 of all that a user sends"
    elif deployment.gaussian_noise is not None:
        remains = "the guarantee degrades to the epsilon, at the same delta, of a user's reports"
    bounds = [BOUNDS[name] for name in reply.bounds]
    return [
        ("h1", f"Privacy of {seen.name}{f': {deployment.name}' if deployment else ''}"),
        ("h2", "Question and answer"),
        ("p", reply.title),
        ("answer", reply.claim),
        ("table", [tuple(reply.table), *zip(*reply.table.values(), strict=True)]),
        ("ul", reply.legend_lines),
        (
            "p",
            "Numbers are rounded outward: an upper bound is never below the truth, a lower bound "
            "never above it, rounding errors included. Epsilon is a natural logarithm.",
        ),
        ("h2", "Assumptions"),
        (
            "ul",
            [
                "Neighbouring datasets differ in the replacement of one user's value.",
                "All users run the stated mechanism with their own randomness. Those who do not, "
                "or who collude with the observer, provide no cover for others: the option "
                "--colluding subtracts them from n.",
                seen.observer,
                f"If {seen.hidden_by} fails, {remains}.",
                "Not covered: anything a user sends outside the protocol, and errors of the "
                "software that implements it.",
                *reply.notes,
            ],
        ),
        ("h2", "Theorems"),
        (
            "ul",
            [f"{bound.label}: {seen.sources.get(bound.name, bound.source)}." for bound in bounds],
        ),
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
        ("details", reply.json),
    ]


def _markdown_part(tag: str, content: Any) -> str:
    match tag:
        case "h1" | "h2":
            return f"{'#' * int(tag[1])} {_escaped(content)}"
        case "answer":
            return " ".join([f"**{_escaped(content[0])}**", *map(_escaped, content[1:])])
        case "ul":
            return "\n".join(f"- {_escaped(item)}" for item in content)
        case "table":
            lines = [f"| {' | '.join(map(_escaped, row))} |" for row in content]
            return "\n".join([lines[0], "|---" * len(content[0]) + "|", *lines[1:]])
        case "pre" | "details":
            # The content may itself hold a line of backticks.
            fence = max(["```", *(f"{run}`" for run in re.findall("`+", content))], key=len)
            return f"{fence}\n{content}\n{fence}"
    return _escaped(content)


def _escaped(text: str) -> str:
    """Markdown that shows the text as it is, such as a file name with the characters of a tag."""
    return MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def _html_part(tag: str, content: Any) -> str:
    match tag:
        case "answer":
            tag, sentences = "p", [f"<strong>{escape(content[0])}</strong>"]
            inner = " ".join([*sentences, *map(escape, content[1:])])
        case "ul":
            inner = "".join(f"<li>{escape(item)}</li>" for item in content)
        case "details":  # The object of a ranking is pages long.
            inner = f"<summary>The object</summary><pre>{escape(content)}</pre>"
        case "table":
            head, *body = content
            inner = "".join([_html_row("th", head), *(_html_row("td", row) for row in body)])
        case _:
            inner = escape(content)
    return f"<{tag}>{inner}</{tag}>"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
