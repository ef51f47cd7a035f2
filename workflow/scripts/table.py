"""Regenerate one table of the paper."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))

from shufflebounds import tables

make = tables.TABLES[snakemake.wildcards.table]
try:
    tables.write(make(**snakemake.params.spec), snakemake.output.csv, snakemake.output.page)
except ValueError as mistake:
    sys.exit(str(mistake))
