"""Run times of curves, from the benchmark files of their jobs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd


def seconds(curves: Iterable[pd.DataFrame], benchmarks: Iterable[str | Path]) -> pd.DataFrame:
    """One row per curve: what it is, and the wall seconds of the job that computed it.

    Raises ValueError, naming the file, for a benchmark that does not hold them.
    """
    known = ["experiment", "regime", "curve", "bound", "k_joint"]
    rows = []
    for frame, path in zip(curves, benchmarks, strict=True):
        benchmark = pd.read_csv(path, sep="\t")
        if "s" not in benchmark or benchmark["s"].isna().any():
            raise ValueError(f"{path} holds no run time; delete the curve it belongs to and rerun")
        rows.append({**frame.loc[0, known].to_dict(), "seconds": float(benchmark["s"].mean())})
    return pd.DataFrame(rows, columns=[*known, "seconds"])
