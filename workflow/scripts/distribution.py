"""Compute one distribution and write it as a table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))

from shufflebounds import distribution

try:
    distribution.write(distribution.compute(**snakemake.params.spec), snakemake.output.csv)
except ValueError as mistake:
    sys.exit(str(mistake))
