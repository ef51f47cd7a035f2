"""Measure the hierarchy of decompositions."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
root = Path(snakemake.scriptdir).resolve().parents[1]
sys.path[:0] = [str(root / "src"), str(root / "workflow")]

import failures
from shufflebounds import hierarchy

found = snakemake.output
with failures.told(found):
    hierarchy.write(hierarchy.measure(**snakemake.params.spec), found.csv, found.page)
