"""A report for reviewers: an answer, what it rests on, and how to check it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from shufflebounds._version import __version__
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.notes import without_shuffler
from shufflebounds.cli.tables import aligned, is_numeric
from shufflebounds.core.words import counted

if TYPE_CHECKING:
    from shufflebounds.cli.reply import Reply
    from shufflebounds.cli.scenario import Scenario

# Parts of a page: what they are, and a text, the items of a list or the rows of a table.
Page: TypeAlias = list[tuple[str, Any]]

# Rows of a table that are not folded.
MAX_ROWS = 10
# Styles of the page. On paper, tables and commands are broken, as nobody can scroll there.
STYLE = """
body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;overflow-wrap:anywhere}
h1{font-size:1.6em;line-height:1.25;border-left:.3em solid;padding-left:.5em}
h1.proven{color:#14663a}h1.refuted{color:#a80f24}h1.open{color:#7a5200}
h2{font-size:1.15em;margin:1.8em 0 .4em}
table{display:block;overflow-x:auto;overflow-wrap:normal;border-collapse:collapse}
td,th{text-align:left;vertical-align:bottom;padding:.2em 1em .2em 0}
tr+tr{border-top:1px solid #ccc}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
td.number{white-space:pre}
code{white-space:nowrap}
pre{overflow-x:auto;background:#f4f4f4;padding:1em}
pre.command{white-space:pre-wrap}
pre.command code{display:inline-block;max-width:100%;white-space:pre-wrap}
summary{cursor:pointer;margin:.6em 0}
@media print{
body{font-size:10pt;max-width:none;margin:0;padding:0}
table{display:table;font-size:9pt}
pre{white-space:pre-wrap;padding:0;background:none}
h2{break-after:avoid}tr,pre.command{break-inside:avoid}
details:not([open]){display:none}
}
"""
# First words of a headline that have a colour, and the class of its element.
VERDICTS = {
    "proven": "proven",
    "refuted": "refuted",
    "open": "open",
    "within": "proven",
    "beyond": "refuted",
}
# Characters that Markdown does not print as they stand: marks, underscores that are not within a
# word, and the start of a heading or a list.
MARKUP = re.compile(r"[\\`*\[<>&|~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|^[-+#=]")
# An option of a command within a text.
OPTION = re.compile(r"(?<!\S)--[a-z][\w-]*")


def report(reply: Reply, command: str, suffix: str) -> str:
    """The report on a reply, as HTML or, for the suffix ``.md``, as Markdown."""
    parts = [part for part in _report_parts(reply, command) if part[1]]
    if suffix == ".md":
        return "\n\n".join(_markdown_part(*part) for part in parts) + "\n"
    title = escape(f"{parts[0][1]} {parts[1][1]}")
    head = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>"
    )
    return "\n".join([head, *(_html_part(*part) for part in parts), "</body></html>"]) + "\n"


def _report_parts(reply: Reply, command: str) -> Page:
    deployment, seen = reply.deployment, reply.observation
    theorems = [
        f"{bound.label}: {seen.sources.get(bound.name, bound.source)}."
        for bound in (BOUNDS[name] for name in reply.bounds)
    ]
    subject = f": {deployment.name}" if deployment else ""
    return [
        ("headline", reply.headline or reply.claim[0]),
        ("p", f"Privacy of {seen.name}{subject}, {datetime.date.today().isoformat()}"),
        ("p", " ".join(reply.claim[1:])),
        ("h2", "Question and answer"),
        *_question(reply),
        *_tables(reply),
        *_sections(reply),
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
                *reply.assumptions,
                *reply.notes,
            ],
        ),
        ("h2", f"Without {seen.hidden_by}"),
        ("p", _what_remains(reply, seen.hidden_by)),
        ("h2", "How to verify"),
        (
            "p",
            f"Run this with shufflebounds {__version__}; it prints the object below again:",
        ),
        ("command", f"{command} --json"),
        (
            "p",
            "Everything but computed numbers must be equal. Computed numbers may differ in their "
            "last digits, which depend on the processor; no checksum is given for this reason. "
            "What has a lower and an upper end is an interval that provably contains the exact "
            "value: the interval that you compute must overlap with the one below.",
        ),
        ("p", " ".join(reply.written)),
        (
            "p",
            "For the reports that docs/verification.md lists, shufflebounds epsilon --claim FILE "
            "writes claims that verify/verify.py proves again, a program that shares no code with "
            "the library.",
        ),
        ("h2", "Theorems"),
        ("ul", theorems[:MAX_ROWS]),
        (counted(len(theorems[MAX_ROWS:]), "more theorem"), theorems[MAX_ROWS:]),
        ("p", "docs/proofs/engine.md proves how they are evaluated, and every error term."),
        # The command that verifies the report writes no files.
        ("object", replace(reply, written=()).json),
    ]


def _question(reply: Reply) -> Page:
    """Return the question and, of a deployment, a list of its parts."""
    deployment = reply.deployment
    if deployment is None:
        return [("p", reply.title)]
    kind = "Mechanism" if deployment.sends_reports else "Protocol"
    lines = {
        kind: deployment.name,
        f"{deployment.words.unit.title()}s": deployment.users_text,
        "Who provides cover": _cover(deployment),
        f"{deployment.words.period.title()}s": deployment.rounds_text,
    }
    return [("p", reply.title), ("ul", [f"{key}: {text}" for key, text in lines.items() if text])]


def _sections(reply: Reply) -> Page:
    """Return the sections, each below its heading."""
    return [
        part
        for head, texts in reply.sections.items()
        for part in (("p", head), ("ul", list(texts)))
    ]


def _cover(deployment: Scenario) -> str:
    """Return how many users provide cover, unless all do."""
    is_less = deployment.n is not None and deployment.honest < deployment.n
    return counted(deployment.honest, "user") if is_less else ""


def _tables(reply: Reply) -> Page:
    """Return the rows that matter most and, if there are more, all of them."""
    rows = list(zip(*reply.table.values(), strict=True))
    shown = (range(len(rows)) if reply.shown is None else reply.shown)[:MAX_ROWS]
    head = tuple(reply.table)
    most_important = ("table", [head, *(rows[i] for i in shown)])
    if len(shown) == len(rows):
        return [most_important]
    return [most_important, (f"all {len(rows)} rows", [head, *rows])]


def _what_remains(reply: Reply, hidden_by: str) -> str:
    """Return what is left if what hides the sender fails."""
    deployment = reply.deployment
    if reply.fallback or deployment is None:
        return " ".join(reply.fallback)
    if deployment.words.no_cover:
        return f"If {hidden_by} fails, the noise of each step remains."
    if deployment.gaussian_noise is not None:
        return f"If {hidden_by} fails, no epsilon remains with delta = 0; the noise remains."
    if not deployment.has_eps0:
        return f"If {hidden_by} fails, nothing protects a user's value."
    return " ".join(without_shuffler(deployment.sample.eps0, deployment.times, hidden_by=hidden_by))


def _markdown_part(tag: str, content: Any) -> str:
    match tag:
        case "headline":
            return f"# {_escaped_markdown(content)}"
        case "h2":
            return f"## {_escaped_markdown(content)}"
        case "ul":
            return "\n".join(f"- {_escaped_markdown(item)}" for item in content)
        case "table":
            lines = [f"| {' | '.join(map(_escaped_markdown, row))} |" for row in content]
            return "\n".join([lines[0], "|---" * len(content[0]) + "|", *lines[1:]])
        case "command" | "object":
            # The content may itself hold a line of backticks.
            fence = max(["```", *(f"{run}`" for run in re.findall("`+", content))], key=len)
            return f"{fence}\n{content}\n{fence}"
        case "p":
            return _escaped_markdown(content)
    return f"{_escaped_markdown(tag.capitalize())}:\n\n{_markdown_part(_kind(content), content)}"


def _escaped_markdown(text: str) -> str:
    """Markdown that shows the text as it is, such as a file name with the characters of a tag."""
    return MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def _kind(folded: Sequence[Any]) -> str:
    """Return whether what is folded is a list of texts or a table."""
    return "ul" if isinstance(folded[0], str) else "table"


def _html_part(tag: str, content: Any) -> str:
    match tag:
        case "headline":
            verdict = VERDICTS.get(re.split(r"\W", content, maxsplit=1)[0].casefold())
            kind = f' class="{verdict}"' if verdict else ""
            return f"<h1{kind}>{_html_text(content)}</h1>"
        case "p" | "h2":
            return f"<{tag}>{_html_text(content)}</{tag}>"
        case "ul":
            return f"<ul>{''.join(f'<li>{_html_text(item)}</li>' for item in content)}</ul>"
        case "table":
            return _html_table(content)
        case "command":
            # Lines break between words alone, not at the hyphens of an option.
            words = " ".join(f"<code>{escape(word)}</code>" for word in content.split(" "))
            return f'<pre class="command">{words}</pre>'
        case "object":  # The object of a ranking is pages long.
            return _folded("The object", f"<pre>{escape(content)}</pre>")
    return _folded(tag.capitalize(), _html_part(_kind(content), content))


def _folded(summary: str, inner: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, whose columns of numbers have their decimal points below each other."""
    head, *body = rows
    columns = list(zip(*body, strict=True))
    kinds = [' class="number"' if is_numeric(cells) else "" for cells in columns]
    cells = [[_padded(cell) for cell in aligned(x)] if is_numeric(x) else x for x in columns]
    lines = [_html_row("td", row, kinds) for row in zip(*cells, strict=True)]
    return f"<table>{_html_row('th', head, kinds)}{''.join(lines)}</table>"


def _padded(cell: str) -> str:
    """Return an aligned number with spaces as wide as digits and as the decimal point."""
    number = cell.rstrip()
    padding = "\N{FIGURE SPACE}" * (len(cell) - len(number))
    if padding and "." not in number:
        padding = padding.replace("\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}", 1)
    return number.replace(" ", "\N{FIGURE SPACE}") + padding


def _html_row(tag: str, cells: Sequence[str], kinds: Sequence[str]) -> str:
    row = zip(cells, kinds, strict=True)
    return f"<tr>{''.join(f'<{tag}{kind}>{_html_text(cell)}</{tag}>' for cell, kind in row)}</tr>"


def _html_text(text: str) -> str:
    """Return a text in which options of commands are not broken at their hyphens."""
    return OPTION.sub(r"<code>\g<0></code>", escape(text))
