"""A page that states an answer, what it rests on, and how to check it: for a review."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from html import escape

from shufflebounds._version import __version__

_ASSUMED = (
    "Neighbouring datasets differ in the replacement of one user's value.",
    "All users run the stated randomizer, with randomness of their own; n counts those who do and "
    "do not collude with the observer.",
    "The observer sees every shuffled report and may know all other users' values. The shuffler "
    "hides everything else: who sent what, order, time and network address.",
    "If the shuffler fails, only eps0 per round remains.",
    "Not covered: anything a user sends outside the protocol, and errors of the software that "
    "implements it.",
)
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
    "td,th{text-align:left;padding:.2em 1em .2em 0}"
    "pre{overflow:auto;background:#f4f4f4;padding:1em}"
)


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
    page = _Html() if suffix == ".html" else _Markdown()
    page.heading(1, "Privacy of shuffled reports")
    page.heading(2, "Question and answer")
    for paragraph in question:
        page.paragraph(" ".join(paragraph.split()))
    page.table(table)
    page.items([f"{label[0].upper()}{label[1:]}: {said}" for label, said in meanings.items()])
    page.paragraph(
        "Numbers are rounded outward: an upper bound is never below the truth, a lower bound never "
        "above it, rounding errors included. Epsilon is a natural logarithm."
    )
    page.heading(2, "Assumptions")
    page.items([*_ASSUMED, *notes])
    page.heading(2, "Theorems")
    page.items([f"{label}: {source}." for label, source in theorems.items()])
    page.paragraph("docs/engine.md proves how they are evaluated and how errors are charged.")
    page.heading(2, "How to verify")
    page.paragraph(
        f"Run this with shufflebounds {__version__}; it prints the object below, whose SHA-256 is "
        f"{digest}:"
    )
    page.code(f"{command} --json | sha256sum")
    page.paragraph(
        "The command epsilon writes with --claim FILE what verify/verify.py, a program that shares "
        "no code with the library, proves again (docs/verification.md says of which questions)."
    )
    page.code(json)
    return page.end()


class _Markdown:
    def __init__(self) -> None:
        self._parts: list[str] = []

    def heading(self, level: int, text: str) -> None:
        self._parts.append(f"{'#' * level} {text}")

    def paragraph(self, text: str) -> None:
        self._parts.append(text)

    def items(self, texts: Sequence[str]) -> None:
        self._parts.append("\n".join(f"- {one}" for one in texts))

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, "|---" * len(rows[0]) + "|")
        self._parts.append("\n".join(lines))

    def code(self, text: str) -> None:
        self._parts.append(f"```\n{text}\n```")

    def end(self) -> str:
        return "\n\n".join(part for part in self._parts if part) + "\n"


class _Html:
    def __init__(self) -> None:
        self._parts = [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width">'
            f"<title>Privacy of shuffled reports</title><style>{_STYLE}</style></head><body>"
        ]

    def heading(self, level: int, text: str) -> None:
        self._parts.append(f"<h{level}>{escape(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

    def items(self, texts: Sequence[str]) -> None:
        self._parts.append(f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in texts)}</ul>")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        head, *body = rows
        lines = [_row("th", head), *(_row("td", row) for row in body)]
        self._parts.append(f"<table>{''.join(lines)}</table>")

    def code(self, text: str) -> None:
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def end(self) -> str:
        return "\n".join([*self._parts, "</body></html>"]) + "\n"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(one)}</{tag}>' for one in cells)}</tr>"
