"""Draw one distribution from its table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import failures
import stale
from shufflebounds import distribution, distribution_figure

with failures.told(snakemake.output):
    frame = stale.read(distribution, snakemake.input.csv, snakemake.params.spec)
    paths = [Path(path) for path in snakemake.output]
    distribution_figure.draw(frame, snakemake.params.title, paths)
