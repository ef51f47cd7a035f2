"""Compute one curve and write it as a table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import failures
from shufflebounds import curves

with failures.told(snakemake.output):
    curves.write(curves.compute(snakemake.params.spec), snakemake.output.csv)
