"""Draw one figure from the tables of its curves."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import pandas as pd

import failures
import stale
from shufflebounds import curves, figures

wanted = zip(snakemake.input.curves, snakemake.params.specs, strict=True)
with failures.told(snakemake.output):
    frame = pd.concat([stale.read(curves, path, spec) for path, spec in wanted], ignore_index=True)
    figures.draw(frame, snakemake.params.panels, [Path(path) for path in snakemake.output])
