"""What jobs read: their paper's plan, curves and tables as they are wanted, run times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.configuration import checks
from reproduction.papers import tables as table_files
from reproduction.papers.points import Evidence
from reproduction.plan import Paper
from shufflebounds.curves import curve
from shufflebounds.curves.plotting.sheets import Sheet, of_curves
from shufflebounds.curves.storage import CurveName


def paper(job: Any) -> Paper:
    """Return the plan of the paper that a job is about, from its configuration and wildcards."""
    name = job.wildcards.paper
    return checks.make_plan(job.config, only=name).papers[name]


def curves(
    paper: Paper, names: Sequence[CurveName], paths: Sequence[str]
) -> dict[CurveName, pd.DataFrame]:
    """Return the tables of some curves.

    Raises ValueError, which tells how to make it anew, for a file that is not the curve wanted.
    """
    frames = {}
    for name, path in zip(names, paths, strict=True):
        verify = partial(curve.verify, name=name, specification=paper.curves[name])
        _require(verify, path)
        frames[name] = curve.read(path)
    return frames


def sheet(paper: Paper, figure: str, paths: str | Sequence[str]) -> Sheet:
    """Return what a figure shows of the files of its curves, or of the one of its table.

    Raises ValueError as `curves` does.
    """
    drawn = paper.figures[figure]
    if isinstance(drawn, str):
        table = paper.tables[drawn]
        _require(lambda path: table_files.verify(path, table.digest), str(paths))
        make_sheet = table.kind.load_code().sheet
        assert make_sheet is not None  # checked with the configuration
        drawing = make_sheet(table_files.read(str(paths)), paper.titles[figure])
        return replace(drawing, source=paper.sources[figure])
    return of_curves(together(curves(paper, drawn.curves, paths)), drawn)


def _require(verify: Callable[[str], None], path: str) -> None:
    """Raise ValueError, which tells how to make the file anew, where it is not what is wanted."""
    try:
        verify(path)
    except ValueError as mistake:
        raise ValueError(
            f"{mistake}; to have what the configuration asks for, run "
            f"snakemake --cores all --forcerun {path}"
        ) from None


def together(frames: Mapping[CurveName, pd.DataFrame]) -> pd.DataFrame:
    """Return all tables, one below the other."""
    return pd.concat(frames.values(), ignore_index=True)


def evidence(paper: Paper, frames: Mapping[CurveName, pd.DataFrame]) -> dict[str, Evidence]:
    """Return the curves that are to show each claim, none for some, and their mechanisms."""
    mechanisms = {
        str(paper.curves[name].reports.mechanism): paper.curves[name].reports.mechanism
        for name in frames
    }
    nothing = pd.DataFrame(columns=list(curve.columns("epsilon")))
    return {
        claim: Evidence(pd.concat([frames[name] for name in names] or [nothing]), mechanisms)
        for claim, names in paper.claims.items()
    }


def seconds(curves: Iterable[pd.DataFrame], benchmarks: Iterable[str | Path]) -> pd.DataFrame:
    """Return one row per curve: what it is, and the wall seconds of the job that computed it.

    Raises ValueError, naming the file, for a benchmark that does not hold them.
    """
    columns = ["experiment", "regime", "curve", "bound", "k_joint"]
    rows = []
    for frame, path in zip(curves, benchmarks, strict=True):
        benchmark = pd.read_csv(path, sep="\t")
        if "s" not in benchmark or benchmark["s"].isna().any():
            raise ValueError(f"{path} holds no run time; delete the curve it belongs to and rerun")
        rows.append({**frame.loc[0, columns].to_dict(), "seconds": float(benchmark["s"].mean())})
    return pd.DataFrame(rows, columns=[*columns, "seconds"])
