"""Judge the claims of the paper by the curves and their run times."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import pandas as pd

import timings
from shufflebounds import claims, curves

found, shown_by = snakemake.output, snakemake.params.shown_by
try:
    frames = [curves.read(path) for path in snakemake.input.curves]
    shown = {name: pd.concat([frames[i] for i in places]) for name, places in shown_by.items()}
    seconds = timings.seconds(frames, snakemake.input.benchmarks)
    claims.write(shown, seconds, found.csv, found.page)
except ValueError as mistake:
    sys.exit(str(mistake))
