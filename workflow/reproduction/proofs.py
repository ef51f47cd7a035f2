"""Points of curves, proven again by `verify/verify.py`, as a table with a page."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproduction.papers.pages import Page, safe
from shufflebounds.bounds.base import Kind
from shufflebounds.core.setting import Setting
from shufflebounds.curves.claim_files import (
    Claim,
    described_claim,
    is_single_report,
    lower,
    upper,
)
from shufflebounds.curves.storage import CurveName
from shufflebounds.subjects.reports import Reports

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.curves.specification import Specification

# A number that is not proven is tried again a thousandth on the safe side.
SAFETY_MARGIN = 0.001
# Seconds that one attempt may take.
ATTEMPT_SECONDS = 120.0
# Bounds that see a mechanism's ε₀ alone, by the names that the program has for them.
CLONES = ("clone", "stronger_clone")
COLUMNS = (
    *("experiment", "regime", "curve", "bound", "x", "value", "quantity", "number"),
    *("verdict", "reason", "seconds"),
)
# The verdicts on a point.
PROVEN = "proven"
NEARLY = "proven within a thousandth"
OPEN = "not proven"
SKIPPED = "not attempted"


def table(
    curves: Mapping[CurveName, Specification],
    frames: Mapping[CurveName, pd.DataFrame],
    program: Path,
) -> pd.DataFrame:
    """Return a row for the first, middle and last point of each curve, or why none was attempted.

    ``seconds`` are of CPU time. Raises ValueError where python-flint is not installed.
    """
    import pandas as pd

    if importlib.util.find_spec("flint") is None:
        raise ValueError("python-flint must be installed for verify/verify.py to prove anything")
    empty = dict.fromkeys(COLUMNS, "")
    rows = [
        {**empty, "experiment": name.experiment, "regime": name.regime, "curve": name.curve, **row}
        for name, specification in curves.items()
        for row in _rows_of_curve(specification, frames[name], program)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def page(points: pd.DataFrame) -> Page:
    """Return the page of a table: how many points are proven, and every point."""
    counts = points["verdict"].value_counts()
    summary = ", ".join(
        f"{counts.get(verdict, 0)} {verdict}" for verdict in (PROVEN, NEARLY, OPEN, SKIPPED)
    )
    seconds = sum(points.loc[points["seconds"] != "", "seconds"])
    rows = tuple(
        (
            f"{row.experiment}/{row.regime}/{row.curve}",
            row.bound,
            "" if row.x == "" else f"{row.x} = {row.value:g}",
            "" if row.number == "" else f"{row.quantity} {_safe_number(row)}",
            row.verdict,
            row.reason.replace("|", "/"),
            "" if row.seconds == "" else f"{row.seconds:.1f}",
        )
        for row in points.itertuples()
    )
    return Page(
        "Points of the curves, proven again",
        "`verify/verify.py`, which shares no code with the library, proves the first, middle and "
        "last number of each curve in ball arithmetic; where it does not, it is asked for the "
        f"one a thousandth on the safe side. {summary}; {seconds:.0f} seconds of CPU time.",
        ("curve", "bound", "point", "number", "verdict", "reason", "seconds"),
        rows,
    )


def _safe_number(row: Any) -> str:
    return safe(row.number, up=row.bound != "lower")


def _rows_of_curve(
    specification: Specification, frame: pd.DataFrame, program: Path
) -> Iterator[dict[str, Any]]:
    bound, quantity = specification.bound, specification.quantity
    subject = {"bound": bound.name, "quantity": quantity}
    refusal = _refusal(specification)
    if refusal:
        yield {**subject, "verdict": SKIPPED, "reason": refusal}
        return
    end = "lower" if bound.kind is Kind.LOWER else "upper"
    numbers = [float(x) for x in frame[f"{quantity}_{end}"]]
    attempted = [i for i, x in enumerate(numbers) if 0.0 < x < math.inf]
    settings = list(specification.settings)
    for i in sorted(
        {attempted[0], attempted[len(attempted) // 2], attempted[-1]} if attempted else ()
    ):
        axis = specification.axis.name
        point = {"x": axis, "value": float(getattr(settings[i], axis)), "number": numbers[i]}
        yield {**subject, **point, **_proven(specification, settings[i], numbers[i], program)}
    if not attempted:
        yield {**subject, "verdict": SKIPPED, "reason": "no number of it needs a proof"}


def _refusal(specification: Specification) -> str:
    """Return why no point of a curve is attempted; empty if some are."""
    bound = specification.bound
    if bound.kind not in (Kind.UPPER, Kind.LOWER):
        return f"it is {bound.kind.value}"
    if bound.name not in ("blanket", "lower", "best", *CLONES):
        return "it is a closed form, or made of other bounds"
    if specification.quantity == "renyi" or specification.distance is not None:
        return (
            "the program knows neither Rényi divergences nor inputs that agree in some coordinates"
        )
    if specification.has_rounds and bound.name in ("lower", "best"):
        return "of several rounds the program proves only the blanket"
    return ""


def _proven(
    specification: Specification, setting: Setting, number: float, program: Path
) -> dict[str, Any]:
    """Return the verdict on one number, or on one a little on the safe side of it."""
    safe_side = 1.0 if specification.bound.kind is Kind.UPPER else -1.0
    start, last_reason = _seconds_of_children(), ""
    for verdict, factor in ((PROVEN, 1.0), (NEARLY, 1.0 + safe_side * SAFETY_MARGIN)):
        claims = _claims(specification, setting, number * factor)
        if not claims:
            return {"verdict": SKIPPED, "reason": "the program does not know the reports"}
        for claim in claims:
            is_proven, reason = run(program, claim)
            if is_proven:
                return {
                    "verdict": verdict,
                    "reason": reason,
                    "seconds": _seconds_of_children() - start,
                }
            last_reason = reason
    return {"verdict": OPEN, "reason": last_reason, "seconds": _seconds_of_children() - start}


def _claims(specification: Specification, setting: Setting, number: float) -> Sequence[Claim]:
    """Return claims any of which proves the number; none if the program knows no such reports."""
    name, protocol = specification.bound.name, specification.protocol(setting)
    if name in CLONES:
        reports: Claim | None = {"mechanism": name, "eps0": protocol.eps0}
    elif isinstance(protocol, Reports):
        reports = described_claim(protocol.randomizer)
    else:
        reports = None
    if reports is None:
        return ()
    n = setting.require("n")
    if specification.quantity == "epsilon":
        delta, eps = setting.require("delta"), number
    else:
        delta, eps = number, setting.require("eps")
    if name == "lower":
        pairs = (lower(others, reports, n, delta, eps) for others in ("third", "x1"))
        return [claim for claim in pairs if claim is not None]
    has_all = name == "best" and is_single_report(reports)
    bounds = ("all", "blanket") if has_all else ("blanket",)
    return [upper(bound, reports, n, delta, eps, setting.rounds or 1) for bound in bounds]


def run(program: Path, claim: Claim) -> tuple[bool, str]:
    """Return whether the program proves a claim, as a process of its own, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "claim.json"
        file.write_text(json.dumps(claim), encoding="utf-8")
        command = [sys.executable, str(program), str(file)]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=ATTEMPT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False, f"it took more than {ATTEMPT_SECONDS:g} seconds"
    verdict, _, told = process.stdout.strip().partition(": ")
    # The claim is restated before what was proved.
    reason = told.rpartition("\n")[2].strip()
    return process.returncode == 0 and verdict == "proven", reason or process.stderr.strip()[-200:]


def _seconds_of_children() -> float:
    """Return the CPU seconds of the processes that were run so far."""
    times = os.times()
    return times.children_user + times.children_system
