"""A page that states an answer, what it rests on, and how to check it: for a review."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from shufflebounds._version import __version__

_ASSUMED = (
    "Neighbouring datasets differ in the replacement of one user's value.",
    "All users run the stated randomizer with their own randomness; n counts those who do, and who "
    "do not collude with the observer.",
    "The observer sees every shuffled report and may know all other users' values. The shuffler "
    "hides everything else: who sent what, order, time and network address.",
    "If the shuffler fails, only eps0 per round remains.",
    "Not covered: anything a user sends outside the protocol, and errors of the software that "
    "implements it.",
)
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;"
    "overflow-wrap:anywhere}"
    "table{display:block;overflow:auto;overflow-wrap:normal}"
    "td,th{text-align:left;padding:.2em 1em .2em 0}"
    "pre{white-space:pre-wrap;background:#f4f4f4;padding:1em}"
)
_TITLE = "Privacy of shuffled reports"
_HEAD = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">'
    f"<title>{_TITLE}</title><style>{_STYLE}</style></head><body>"
)
_TAIL = "</body></html>"


def text(
    suffix: str,
    *,
    question: Sequence[str],
    command: str,
    table: Sequence[Sequence[str]],
    meanings: Mapping[str, str],
    notes: Sequence[str],
    theorems: Mapping[str, str],
    json: str,
) -> str:
    """The page as Markdown (``.md``) or HTML; `json` is what the command prints with ``--json``."""
    digest = hashlib.sha256(f"{json}\n".encode()).hexdigest()
    page: list[tuple[str, Any]] = [
        ("h1", _TITLE),
        ("h2", "Question and answer"),
        *(("p", " ".join(paragraph.split())) for paragraph in question),
        ("table", table),
        ("ul", [f"{label[0].upper()}{label[1:]}: {said}" for label, said in meanings.items()]),
        (
            "p",
            "Numbers are rounded outward: an upper bound is never below the truth, a lower bound "
            "never above it, rounding errors included. Epsilon is a natural logarithm.",
        ),
        ("h2", "Assumptions"),
        ("ul", [*_ASSUMED, *notes]),
        ("h2", "Theorems"),
        ("ul", [f"{label}: {source}." for label, source in theorems.items()]),
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
            "shufflebounds epsilon --claim FILE writes claims that verify/verify.py, a program "
            "that shares no code with the library, proves again; docs/verification.md lists which.",
        ),
        ("details", json),
    ]
    if suffix == ".html":
        return "\n".join([_HEAD, *(_html(*part) for part in page if part[1]), _TAIL]) + "\n"
    return "\n\n".join(_markdown(*part) for part in page if part[1]) + "\n"


def _markdown(tag: str, content: Any) -> str:
    match tag:
        case "h1" | "h2":
            return f"{'#' * int(tag[1])} {content}"
        case "ul":
            return "\n".join(f"- {one}" for one in content)
        case "table":
            lines = [f"| {' | '.join(row)} |" for row in content]
            return "\n".join([lines[0], "|---" * len(content[0]) + "|", *lines[1:]])
        case "pre" | "details":
            return f"```\n{content}\n```"
    return str(content)


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
