"""Judge the claims of the paper by the curves and their run times."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import pandas as pd

import failures
import stale
import timings
from shufflebounds import claims, curves

found, shown_by = snakemake.output, snakemake.params.shown_by
wanted = zip(snakemake.input.curves, snakemake.params.specs, strict=True)
with failures.told(found):
    frames = [stale.read(curves, path, spec) for path, spec in wanted]
    shown = {name: pd.concat([frames[i] for i in places]) for name, places in shown_by.items()}
    seconds = timings.seconds(frames, snakemake.input.benchmarks)
    claims.write(shown, seconds, found.csv, found.page)
