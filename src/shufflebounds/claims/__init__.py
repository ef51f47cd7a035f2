"""The claims of the paper, each measured on computed curves and judged by a rule in code.

`paper` lists what is claimed, `points` turns curves into one measured enclosure per grid point,
`findings` judges those, `page` writes the Markdown page.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from shufflebounds.claims import page as pages
from shufflebounds.claims.findings import NOT_MEASURED, Finding
from shufflebounds.claims.paper import CLAIMS, Claim
from shufflebounds.files import written_whole

# Claims that look at curves, in the order of the table; the others look at run times.
CURVE_CLAIMS = tuple(claim.id for claim in CLAIMS if not claim.timed)

COLUMNS = (
    "id",
    "source",
    "claim",
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
    "epsilon_lower",
    "epsilon_upper",
    "version",
)
SECONDS_COLUMNS = ("experiment", "regime", "curve", "bound", "k_joint", "seconds")


def check(curves: Mapping[str, pd.DataFrame], seconds: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per claim of the paper, with the columns `COLUMNS`.

    Parameters
    ----------
    curves
        For each claim of `CURVE_CLAIMS` that is to be measured, the curves to measure it on: curve
        tables one below the other, with at least `CURVE_COLUMNS`. Rows are chosen by what they
        hold, never by the names of experiments or curves; rows that a claim does not speak of are
        ignored. A claim that is left out is not measured.
    seconds
        One row per curve: the `SECONDS_COLUMNS`, ``seconds`` being the wall time of its job.

    Raises ValueError for an unknown claim, a missing column, or an ε that is no enclosure.

    """
    for name, frame in curves.items():
        if name not in CURVE_CLAIMS:
            raise ValueError(f"curves must name claims of {', '.join(CURVE_CLAIMS)}, got {name!r}")
        _check_curves(name, frame)
    if seconds is not None:
        _check_columns("seconds", seconds, SECONDS_COLUMNS)
        if not seconds["seconds"].gt(0).all():
            raise ValueError("the column seconds must hold numbers above 0")
    rows = []
    for claim in CLAIMS:
        data = seconds if claim.timed else curves.get(claim.id)
        rows.append(_row(claim, None if data is None else claim.find(data)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def write(
    curves: Mapping[str, pd.DataFrame],
    seconds: pd.DataFrame | None,
    csv: str | os.PathLike[str],
    page: str | os.PathLike[str],
) -> None:
    """Check all claims (see `check`); write the table as CSV and as a page of Markdown.

    Equal input gives equal bytes.
    """
    table = check(curves, seconds)
    with written_whole(Path(csv)) as part:
        table.to_csv(part, index=False, lineterminator="\n", encoding="utf-8")
    with written_whole(Path(page)) as part:
        part.write_bytes(pages.text(table, curves).encode())


def _row(claim: Claim, finding: Finding | None) -> dict[str, str]:
    row = {
        "id": claim.id,
        "source": claim.source,
        "claim": claim.words,
        "measure": claim.measure,
    }
    if finding is None:
        nothing = "Nothing that this measure compares is among the curves it was given."
        return row | dict.fromkeys(COLUMNS[4:7], "") | {"verdict": NOT_MEASURED, "why": nothing}
    reasons = (finding.why, "" if finding.reproduced else claim.cause, claim.note)
    return row | {
        "measured": finding.measured,
        "extreme": finding.extreme,
        "holds_in": finding.holds_in,
        "verdict": finding.verdict,
        "why": " ".join(filter(None, reasons)),
    }


def _check_curves(name: str, frame: pd.DataFrame) -> None:
    _check_columns(f"the curves of claim {name}", frame, CURVE_COLUMNS)
    low, high = frame["epsilon_lower"], frame["epsilon_upper"]
    if not (low.ge(0) & low.le(high)).all():
        raise ValueError(
            f"the curves of claim {name} must have 0 <= epsilon_lower <= epsilon_upper in every row"
        )


def _check_columns(name: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> None:
    missing = [column for column in columns if column not in frame]
    if missing:
        raise ValueError(
            f"{name} must have the columns {', '.join(columns)}; missing: {', '.join(missing)}"
        )
