"""What jobs read: their paper's plan, curves and tables as they are wanted, run times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction import titles
from reproduction.configuration import checks
from reproduction.papers import tables as table_files
from reproduction.papers.points import Evidence
from reproduction.plan import Paper
from reproduction.titles import Check
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


def figure(paper: Paper, name: str, paths: str | Sequence[str]) -> tuple[Sheet, list[Check]]:
    """Return what a figure shows of its files, curves or a table, and the checks of its title.

    The title says so if the numbers do not show it. Raises ValueError as `curves` does, and for a
    condition that compares nothing of the figure.
    """
    drawn = paper.figures[name]
    if isinstance(drawn, str):
        table = paper.tables[drawn]
        _require(lambda path: table_files.verify(path, table.digest), str(paths))
        make_sheet = table.kind.load_code().sheet
        assert make_sheet is not None  # checked with the configuration
        frame = table_files.read(str(paths))
        drawing = replace(make_sheet(frame, paper.titles[name]), source=paper.sources[name])
        panels = [titles.panel_of_table(frame)]
    else:
        frames = curves(paper, drawn.curves, paths)
        drawing = of_curves(together(frames), drawn)
        panels = titles.panels_of_curves(frames, drawn.x)
    checked = titles.check(paper.holds[name], panels)
    return replace(drawing, title=titles.checked_title(drawing.title, checked)), checked


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
