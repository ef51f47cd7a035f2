"""Draw one distribution from its table."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8")
sys.path.insert(0, str(Path(snakemake.scriptdir).resolve().parents[1] / "src"))

import pandas as pd

from shufflebounds import distribution_figure

paths = [Path(path) for path in snakemake.output]
try:
    distribution_figure.draw(pd.read_csv(snakemake.input.csv), snakemake.params.title, paths)
except ValueError as mistake:
    sys.exit(str(mistake))
