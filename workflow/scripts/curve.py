"""Compute one curve and write it as a table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))

from shufflebounds import curves

try:
    curves.write(curves.compute(snakemake.params.spec), snakemake.output.csv)
except (ValueError, ArithmeticError) as mistake:
    sys.exit("\n".join([str(mistake), *getattr(mistake, "__notes__", [])]))
