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
from shufflebounds.curves.claim_files import Claim, described, lower, upper
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols.base import SingleMessage

if TYPE_CHECKING:
    import pandas as pd

    from shufflebounds.curves.specification import Specification

# A number that is not proven is tried again a thousandth on the safe side.
_LOOSER = 0.001
# Seconds that one attempt may take.
_PATIENCE = 120.0
_CLONES = ("clone", "stronger_clone")
COLUMNS = (
    *("experiment", "regime", "curve", "bound", "x", "value", "quantity", "number"),
    *("verdict", "reason", "seconds"),
)
PROVEN, NEARLY, OPEN, SKIPPED = (
    "proven",
    "proven within a thousandth",
    "not proven",
    "not attempted",
)


def table(
    curves: Mapping[CurveName, Specification],
    frames: Mapping[CurveName, pd.DataFrame],
    program: Path,
) -> pd.DataFrame:
    """One row for the first, middle and last point of each curve, or why none was attempted.

    ``seconds`` are of CPU time. Raises ValueError where python-flint is not installed.
    """
    import pandas as pd

    if importlib.util.find_spec("flint") is None:
        raise ValueError("python-flint must be installed for verify/verify.py to prove anything")
    empty = dict.fromkeys(COLUMNS, "")
    rows = [
        {**empty, "experiment": name.experiment, "regime": name.regime, "curve": name.curve, **row}
        for name, specification in curves.items()
        for row in _of_curve(specification, frames[name], program)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def page(found: pd.DataFrame) -> Page:
    """How many are proven, and every point."""
    counts = found["verdict"].value_counts()
    told = ", ".join(f"{counts.get(one, 0)} {one}" for one in (PROVEN, NEARLY, OPEN, SKIPPED))
    seconds = sum(found.loc[found["seconds"] != "", "seconds"])
    rows = tuple(
        (
            f"{row.experiment}/{row.regime}/{row.curve}",
            row.bound,
            "" if row.x == "" else f"{row.x} = {row.value:g}",
            "" if row.number == "" else f"{row.quantity} {_shown(row)}",
            row.verdict,
            row.reason.replace("|", "/"),
            "" if row.seconds == "" else f"{row.seconds:.1f}",
        )
        for row in found.itertuples()
    )
    return Page(
        "Points of the curves, proven again",
        "`verify/verify.py`, which shares no code with the library, proves the first, middle and "
        "last number of each curve in ball arithmetic; where it does not, it is asked for the "
        f"one a thousandth on the safe side. {told}; {seconds:.0f} seconds of CPU time.",
        ("curve", "bound", "point", "number", "verdict", "reason", "seconds"),
        rows,
    )


def _shown(row: Any) -> str:
    return safe(row.number, up=row.bound != "lower")


def _of_curve(
    specification: Specification, frame: pd.DataFrame, program: Path
) -> Iterator[dict[str, Any]]:
    bound, quantity = specification.bound, specification.quantity
    fixed = {"bound": bound.name, "quantity": quantity}
    why = _refusal(specification)
    if why:
        yield {**fixed, "verdict": SKIPPED, "reason": why}
        return
    end = "lower" if bound.kind is Kind.LOWER else "upper"
    numbers = [float(x) for x in frame[f"{quantity}_{end}"]]
    known = [i for i, x in enumerate(numbers) if 0.0 < x < math.inf]
    settings = list(specification.settings)
    for i in sorted({known[0], known[len(known) // 2], known[-1]} if known else ()):
        axis = specification.axis.name
        point = {"x": axis, "value": float(getattr(settings[i], axis)), "number": numbers[i]}
        yield {**fixed, **point, **_proven(specification, settings[i], numbers[i], program)}
    if not known:
        yield {**fixed, "verdict": SKIPPED, "reason": "no number of it needs a proof"}


def _refusal(specification: Specification) -> str:
    """Why no point of a curve is attempted; empty where some are."""
    bound = specification.bound
    if bound.kind not in (Kind.UPPER, Kind.LOWER):
        return f"it is {bound.kind.value}"
    if bound.name not in ("upper", "lower", "tight", *_CLONES):
        return "it is no such sum, but a closed form or made of others"
    if specification.quantity == "renyi" or specification.distance is not None:
        return "Rényi divergences and inputs that differ in some coordinates only are not its own"
    if specification.has_rounds and bound.name in ("lower", "tight"):
        return "of several rounds only the blanket is"
    return ""


def _proven(
    specification: Specification, setting: Setting, number: float, program: Path
) -> dict[str, Any]:
    """The verdict on one point: of the number itself, or of one a little on the safe side."""
    safe_side = 1.0 if specification.bound.kind is Kind.UPPER else -1.0
    before, said = _children(), {"verdict": OPEN, "reason": ""}
    for verdict, factor in ((PROVEN, 1.0), (NEARLY, 1.0 + safe_side * _LOOSER)):
        claims = _claims(specification, setting, number * factor)
        if not claims:
            return {"verdict": SKIPPED, "reason": "the program does not define what is sent"}
        for claim in claims:
            is_proven, reason = run(program, claim)
            if is_proven:
                return {"verdict": verdict, "reason": reason, "seconds": _children() - before}
            said["reason"] = reason
    return {**said, "seconds": _children() - before}


def _claims(specification: Specification, setting: Setting, number: float) -> Sequence[Claim]:
    """Claims any of which would prove the number; none where the program knows no such reports."""
    name, protocol = specification.bound.name, specification.protocol(setting)
    if name in _CLONES:
        what: Claim | None = {"mechanism": name, "eps0": protocol.eps0}
    elif isinstance(protocol, SingleMessage):
        what = described(protocol.randomizer)
    else:
        what = None
    if what is None:
        return ()
    n = setting.require("n")
    if specification.quantity == "epsilon":
        delta, eps = setting.require("delta"), number
    else:
        delta, eps = number, setting.require("eps")
    if name == "lower":
        pairs = (lower(others, what, n, delta, eps) for others in ("third", "x1"))
        return [claim for claim in pairs if claim is not None]
    bounds = ("all", "blanket") if name == "tight" and "reports" not in what else ("blanket",)
    return [upper(bound, what, n, delta, eps, setting.rounds or 1) for bound in bounds]


def run(program: Path, claim: Claim) -> tuple[bool, str]:
    """Whether the program, as a process of its own, proves a claim, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "claim.json"
        file.write_text(json.dumps(claim), encoding="utf-8")
        command = [sys.executable, str(program), str(file)]
        try:
            found = subprocess.run(
                command, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return False, f"it took more than {_PATIENCE:g} seconds"
    verdict, _, reason = found.stdout.strip().partition(": ")
    return found.returncode == 0 and verdict == "proven", reason or found.stderr.strip()[-200:]


def _children() -> float:
    """CPU seconds of the processes that were run so far."""
    times = os.times()
    return times.children_user + times.children_system
