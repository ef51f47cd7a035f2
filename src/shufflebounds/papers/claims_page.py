"""The claims as a page of Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from shufflebounds.papers.claims import Evidence
from shufflebounds.papers.page import table as markdown_table

RULES = """\
A *panel* is one mechanism in one regime (at one ε₀, say), a *point* one value along its axis (or
one comparison at that value). Certified ε are enclosures: a point counts for a claim only where the
whole enclosures say so, against it only where the whole enclosures do, and is undecided where they
overlap. A percentage is that of the less favourable end, rounded against the claim. A claim about
every setting is *reproduced* if it holds at every point, *reproduced in part* if it holds at every
point of some panel, else *not reproduced*.
"""

# So many different values of a setting are told one by one.
_MANY = 6

HEADER = ("claim", "the paper says", "where", "verdict", "measured")


def text(introduction: str, judged: pd.DataFrame, evidence: Mapping[str, Evidence]) -> str:
    """The page of claims: who claims, the run, the rules, a summary and a paragraph each.

    `judged` is what `claims.check` returns for `evidence`.
    """
    summary = [
        (
            f"[{row.claim}](#{row.claim})",
            row.words,
            row.source,
            f"**{row.verdict}**",
            row.measured or "—",
        )
        for row in judged.itertuples()
    ]
    paragraphs = (f"\n## {row.claim}\n\n{_paragraph(row)}\n" for row in judged.itertuples())
    parts = [
        "# The paper's claims, measured\n",
        f"{introduction.strip()} This page is generated from the curves of this repository.\n",
        f"{_run(evidence)}\n",
        RULES,
        markdown_table(HEADER, summary),
    ]
    return "\n".join(parts) + "".join(paragraphs)


def _paragraph(row: Any) -> str:
    measured = [f"Measured: {row.measured}.", f"Holds in {row.holds_in}."] if row.measured else []
    extreme = [f"{row.extreme[0].upper()}{row.extreme[1:]}."] if row.extreme else []
    sentences = [
        f"{row.words} ({row.source}.) **{row.verdict[0].upper()}{row.verdict[1:]}.**",
        f"Measure: {row.measure}",
        *measured,
        *extreme,
        row.why,
    ]
    return " ".join(filter(None, sentences))


def _run(evidence: Mapping[str, Evidence]) -> str:
    """δ, ε₀, the grid of n and the version of the library."""
    frames = [shown.curves for shown in evidence.values() if not shown.curves.empty]
    if not frames:
        return "No curves were given."
    every = pd.concat(frames)
    n = sorted(every["n"].dropna().unique())
    users = (
        f"{len(n)} numbers of users from {n[0]:.0f} to {n[-1]:.0f}" if n[1:] else f"{n[0]} users"
    )
    return (
        f"This run: δ = {_listed(every['delta'])}; ε₀ = {_listed(every['eps0'])}; {users}; "
        f"shufflebounds {', '.join(sorted(every['version'].unique()))}."
    )


def _listed(values: pd.Series) -> str:
    """All of them, or how many from where to where; messages of a protocol may have no ε₀."""
    found = sorted(values.dropna().unique())
    if len(found) > _MANY:
        return f"{len(found)} values from {found[0]:.3g} to {found[-1]:.3g}"
    return ", ".join(f"{value:g}" for value in found) or "none"
