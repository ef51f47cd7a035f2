"""Draw one figure from the tables of its curves."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))

import pandas as pd

from shufflebounds import curves, figures

paths = [Path(path) for path in snakemake.output]
try:
    frame = pd.concat([curves.read(path) for path in snakemake.input.curves], ignore_index=True)
    figures.draw(frame, snakemake.params.panels, paths)
except ValueError as mistake:
    sys.exit(str(mistake))
