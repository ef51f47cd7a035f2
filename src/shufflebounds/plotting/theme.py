"""What all figures share: their looks, and the writing of their files.

The same data give the same bytes: looks are fixed here, whatever the user's matplotlibrc says, and
files carry no dates.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.style
import seaborn as sns
from matplotlib.figure import Figure

from shufflebounds import validation
from shufflebounds.experiments.files import write_bytes

# Inches.
PAGE_WIDTH, PAGE_HEIGHT = 7.0, 9.5
LONE_ROW_HEIGHT = 2.9  # of panels with nothing above or below but their own texts

THEME = {
    **sns.axes_style("whitegrid"),
    **sns.plotting_context("paper", font_scale=0.95),
    "font.family": "DejaVu Sans",
    "figure.labelsize": "medium",
    "axes.xmargin": 0.02,
    "axes.edgecolor": "0.6",
    "axes.linewidth": 0.6,
    "grid.color": "0.85",
    "grid.linewidth": 0.6,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    # So that labels keep apart in the corner between two axes.
    **{f"{axis}tick.{kind}.pad": 5.0 for axis in "xy" for kind in ("major", "minor")},
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "shufflebounds",  # else the names of its parts are random
}
METADATA = {
    "pdf": {"Creator": "shufflebounds", "Producer": None, "CreationDate": None},
    "png": {"Software": "shufflebounds"},
    "svg": {"Creator": "shufflebounds", "Date": None},
}

# Outside settings must rule neither the making of a figure nor its writing.
fixed_looks = matplotlib.style.context(["default", THEME])


@fixed_looks
def write(make: Callable[[], Figure], paths: Sequence[str | Path]) -> None:
    """Write what `make` makes to each path, as its suffix says: PDF, PNG or SVG.

    A file is replaced at once or not at all. Raises ValueError for any other suffix before
    anything is made.
    """
    files = [Path(path) for path in paths]
    for path in files:
        validation.choice(f"suffix of {path}", path.suffix, [f".{kind}" for kind in METADATA])
    for path in files:
        kind = path.suffix.removeprefix(".")
        # A figure apiece: saving one lays it out, and a second file would depend on the first.
        content = io.BytesIO()
        make().savefig(content, format=kind, metadata=METADATA[kind])
        write_bytes(content.getvalue(), path)
