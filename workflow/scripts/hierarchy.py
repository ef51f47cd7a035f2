"""Measure the hierarchy of decompositions."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))

from shufflebounds import hierarchy

found = snakemake.output
try:
    hierarchy.write(hierarchy.measure(**snakemake.params.spec), found.csv, found.page)
except (ValueError, ArithmeticError) as mistake:
    sys.exit("\n".join([str(mistake), *getattr(mistake, "__notes__", [])]))
