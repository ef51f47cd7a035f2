"""The page of a paper's claims in Markdown: summaries and a section for each claim.

What we add to a paper has a summary of its own, without the marks that count for or against the
paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reproduction.papers.judging import IN_PART, NOT_MEASURED, NOT_REPRODUCED, REPRODUCED
from reproduction.papers.pages import markdown_table
from reproduction.papers.points import Evidence

# A mark in front of each verdict, which tells verdicts apart at a glance.
MARKS = {REPRODUCED: "✓", IN_PART: "◐", NOT_REPRODUCED: "✗", NOT_MEASURED: "–"}

# How a claim is judged stands once, for all papers, in docs/items.md.
RULES = """\
A claim about every setting is *reproduced* if it holds at every point, *reproduced in part* if it
holds at every point of some panel, else *not reproduced*. `docs/items.md` says what points and
panels are and how numbers are rounded.
"""

# What stands above the summary of what we add.
OURS = """\
The paper does not say what follows. It is ours, and does not count for or against the paper.
"""

HEADER = ("verdict", "claim", "the paper says")

OUR_HEADER = ("verdict", "finding", "what we add")

# The largest number of different values of a setting that the page lists one by one.
MAX_LISTED_VALUES = 6


def text(
    citation: str, introduction: str, judged: pd.DataFrame, evidence: Mapping[str, Evidence]
) -> str:
    """Return the page: the paper, the run, the rules, summaries and a section for each claim.

    `judged` is what `judging.check` returns for `evidence`.
    """
    rows = list(judged.itertuples())
    said = [
        (f"{MARKS[row.verdict]}\N{NO-BREAK SPACE}**{row.verdict}**", *_words(row))
        for row in rows
        if not row.is_ours
    ]
    added = [(f"**{row.verdict}**", *_words(row)) for row in rows if row.is_ours]
    parts = [
        f"# Claims of {citation}, measured\n",
        f"{introduction.strip()} This page is generated from the curves of this repository.\n",
        f"{_run(evidence)}\n",
        RULES,
        markdown_table(HEADER, said),
    ]
    if added:
        parts += [OURS, markdown_table(OUR_HEADER, added)]
    return "\n".join(parts) + "".join(map(_section, rows))


def _words(row: Any) -> tuple[str, str]:
    """Return the cells that name a claim, with a link to its section, and say what it is."""
    return f"[{row.claim}](#{row.claim})", row.words


def _section(row: Any) -> str:
    """Return everything on a claim that the summary omits: findings, measure, reasons."""
    findings = [
        f"**{row.verdict.capitalize()}** ({row.source})",
        f": {row.measured}." if row.measured else ".",
        f" Holds in {row.holds_in}." if row.holds_in else "",
    ]
    extreme = f"{row.extreme[:1].upper()}{row.extreme[1:]}." if row.extreme else ""
    reasons = " ".join(filter(None, [extreme, row.why]))
    paragraphs = [f"## {row.claim}", "".join(findings), f"Measure: {row.measure}", reasons]
    return "".join(f"\n{paragraph}\n" for paragraph in paragraphs if paragraph)


def _run(evidence: Mapping[str, Evidence]) -> str:
    """Return a sentence on δ, ε₀, the grid of n and the version of the library."""
    tables = [shown.curves for shown in evidence.values() if not shown.curves.empty]
    if not tables:
        return "No curves were given."
    curves = pd.concat(tables)
    n = sorted(curves["n"].dropna().unique())
    users = (
        f"{len(n)} numbers of users from {n[0]:.0f} to {n[-1]:.0f}" if n[1:] else f"{n[0]} users"
    )
    return (
        f"This run: δ = {_listed(curves['delta'])}; ε₀ = {_listed(curves['eps0'])}; {users}; "
        f"shufflebounds {', '.join(sorted(curves['version'].unique()))}."
    )


def _listed(values: pd.Series) -> str:
    """Return all different values, or how many from where to where; protocols may have no ε₀."""
    distinct = sorted(values.dropna().unique())
    if len(distinct) > MAX_LISTED_VALUES:
        return f"{len(distinct)} values from {distinct[0]:.3g} to {distinct[-1]:.3g}"
    return ", ".join(f"{value:g}" for value in distinct) or "none"
