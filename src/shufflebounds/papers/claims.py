"""Claims: what a paper says, how it is measured on computed curves, and the verdict.

A paper's own module lists its claims; `judging` has the rules, `claims_page` the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.papers.judging import NOT_MEASURED, Judgement, Rule, everywhere
from shufflebounds.randomizers.description import Description


@dataclass(frozen=True)
class Evidence:
    """Curve tables one below the other, and the mechanisms behind their column ``mechanism``."""

    curves: pd.DataFrame
    mechanisms: Mapping[str, Description]


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, in our words.

    `judge` takes evidence, or run times (one row per curve) if `timed`; it returns None where there
    is nothing that it could compare.
    """

    name: str
    source: str
    words: str
    measure: str
    judge: Callable[[Evidence], Judgement | None] | Callable[[pd.DataFrame], Judgement | None]
    # Why ours differs, told where the claim is not reproduced in full; and what is told always.
    cause: str = ""
    note: str = ""
    timed: bool = False


def throughout(
    quantity: Callable[[Evidence], pd.DataFrame], rule: Rule, panel: str = "eps0"
) -> Callable[[Evidence], Judgement | None]:
    """The `judge` of a claim about every point of a quantity, by `judging.everywhere`."""
    return lambda evidence: everywhere(quantity(evidence), rule, panel)


COLUMNS = (
    "claim",
    "source",
    "words",
    "measure",
    "measured",
    "extreme",
    "holds_in",
    "verdict",
    "why",
)

CURVE_COLUMNS = (
    "mechanism",
    "k_joint",
    "distance",
    "bound",
    "n",
    "eps0",
    "delta",
    "version",
)
SECONDS_COLUMNS = ("experiment", "regime", "curve", "bound", "k_joint", "seconds")


def check(
    claims: Sequence[Claim],
    evidence: Mapping[str, Evidence],
    seconds: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """One row per claim, with the columns `COLUMNS`.

    Parameters
    ----------
    claims
        Of one paper.
    evidence
        For each claim that is to be measured on curves, the curves: tables with at least
        `CURVE_COLUMNS`. Rows are chosen by what they hold, never by the names of experiments or
        curves; rows that a claim does not speak of are ignored. A claim that is left out is not
        measured.
    seconds
        One row per curve: the `SECONDS_COLUMNS`, ``seconds`` being the wall time of its job.

    Raises ValueError for an unknown claim, a missing column, or an ε that is not enclosed.

    """
    known = [claim.name for claim in claims if not claim.timed]
    for name, shown in evidence.items():
        if name not in known:
            raise ValueError(f"claims must be among {', '.join(known)}, got {name!r}")
        _check_curves(name, shown.curves)
    if seconds is not None:
        _check_columns("seconds", seconds, SECONDS_COLUMNS)
        if not seconds["seconds"].gt(0).all():
            raise ValueError("the column seconds must hold numbers above 0")
    rows = []
    for claim in claims:
        data = seconds if claim.timed else evidence.get(claim.name)
        rows.append(_row(claim, None if data is None else claim.judge(data)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(claim: Claim, found: Judgement | None) -> dict[str, str]:
    row = {
        "claim": claim.name,
        "source": claim.source,
        "words": claim.words,
        "measure": claim.measure,
    }
    if found is None:
        nothing = "Nothing that this measure compares is among the curves it was given."
        return row | dict.fromkeys(COLUMNS[4:7], "") | {"verdict": NOT_MEASURED, "why": nothing}
    reasons = (found.why, "" if found.reproduced else claim.cause, claim.note)
    return row | {
        "measured": found.measured,
        "extreme": found.extreme,
        "holds_in": found.holds_in,
        "verdict": found.verdict,
        "why": " ".join(filter(None, reasons)),
    }


def _check_curves(name: str, frame: pd.DataFrame) -> None:
    _check_columns(f"the curves of claim {name}", frame, CURVE_COLUMNS)
    enclosed = [one for one in QUANTITIES if f"{one}_lower" in frame or f"{one}_upper" in frame]
    for quantity in enclosed or ["epsilon"]:
        ends = f"{quantity}_lower", f"{quantity}_upper"
        _check_columns(f"the curves of claim {name}", frame, ends)
        low, high = (frame[end] for end in ends)
        # A point that could not be computed narrowly enough, or of another curve, has neither end.
        if not (low.ge(0) & low.le(high) | low.isna() & high.isna()).all():
            raise ValueError(
                f"the curves of claim {name} must have 0 <= {ends[0]} <= {ends[1]} in every row"
            )


def _check_columns(name: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> None:
    missing = [column for column in columns if column not in frame]
    if missing:
        raise ValueError(
            f"{name} must have the columns {', '.join(columns)}; missing: {', '.join(missing)}"
        )
