"""The claims as a page of Markdown."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from shufflebounds import markdown

INTRO = """\
# The paper's claims, measured

What Su, Cheng and Wang ([arXiv 2504.07414](https://arxiv.org/abs/2504.07414)) say about their
bounds, in our words, and what the curves of this repository say. This page is generated from them.

{run}

A *panel* is one mechanism at one ε₀, a *point* one n of it (or one comparison at that n). Certified
ε are enclosures: a point counts for a claim only where the whole enclosures say so, against it only
where the whole enclosures do, and is undecided where they overlap. A percentage is that of the less
favourable end, rounded against the claim. A claim about every setting is *reproduced* if it holds
at every point, *reproduced in part* if it holds at every point of some panel, else *not
reproduced*. "Earlier version" is that which is titled *A Unified Framework and Efficient
Computation for Privacy Amplification via Shuffling*.
"""

HEADER = ("claim", "the paper says", "where", "verdict", "measured")


def text(table: pd.DataFrame, curves: Mapping[str, pd.DataFrame]) -> str:
    """The page for the table of `check` and the curves it was measured on."""
    summary = (
        (f"[{row.id}](#{row.id})", row.claim, row.source, f"**{row.verdict}**", row.measured or "—")
        for row in table.itertuples()
    )
    paragraphs = (f"\n## {row.id}\n\n{_paragraph(row)}\n" for row in table.itertuples())
    return "".join(
        [INTRO.format(run=_run(curves)), "\n", markdown.table(HEADER, summary), *paragraphs]
    )


def _paragraph(row: tuple) -> str:
    measured = [f"Measured: {row.measured}.", f"Holds in {row.holds_in}."] if row.measured else []
    extreme = [f"{row.extreme[0].upper()}{row.extreme[1:]}."] if row.extreme else []
    sentences = [
        f"{row.claim} ({row.source}.) **{row.verdict[0].upper()}{row.verdict[1:]}.**",
        f"Measure: {row.measure}",
        *measured,
        *extreme,
        row.why,
    ]
    return " ".join(filter(None, sentences))


def _run(curves: Mapping[str, pd.DataFrame]) -> str:
    """δ, ε₀, the grid of n and the version of the library."""
    if all(frame.empty for frame in curves.values()):
        return "No curves were given."
    every = pd.concat(list(curves.values()))
    n = sorted(every["n"].unique())
    users = f"{len(n)} numbers of users from {n[0]} to {n[-1]}" if n[1:] else f"{n[0]} users"
    return (
        f"This run: δ = {_listed(every['delta'])}; ε₀ = {_listed(every['eps0'])}; {users}; "
        f"shufflebounds {', '.join(sorted(every['version'].unique()))}."
    )


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values.unique()))
