"""Regenerate one table of the paper."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import failures
from shufflebounds import tables

make = tables.TABLES[snakemake.wildcards.table]
with failures.told(snakemake.output):
    tables.write(make(**snakemake.params.spec), snakemake.output.csv, snakemake.output.page)
