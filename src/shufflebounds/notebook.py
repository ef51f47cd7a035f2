"""How notebooks show decompositions, enclosures and curves: small tables of escaped HTML.

``import shufflebounds.notebook`` makes them show themselves; nothing else of the library knows of
notebooks. Ends of enclosures are rounded outward, so that what is shown of a bound is a bound.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from shufflebounds.bounds.base import QUANTITIES
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, outward
from shufflebounds.core.words import counted
from shufflebounds.curves import curve as curves
from shufflebounds.curves.curve import Curve
from shufflebounds.curves.plotting.texts import plain, setting_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Largest number of rows of a table.
_MOST_ROWS = 12


def enclosure(value: Enclosure) -> str:
    """Return an enclosure as an interval."""
    lower, upper = _outward_ends(value)
    return f"<code>[{lower}, {upper}]</code>"


def enclosures(values: Enclosures) -> str:
    """Return a table with an enclosure in each row."""
    rows = [(str(i), *_outward_ends(value)) for i, value in enumerate(values[:_MOST_ROWS])]
    return _table(counted(len(values), "enclosure"), ("", "lower", "upper"), rows, len(values))


def decomposition(value: Decomposition) -> str:
    """Return a table of the masses of the components, to six digits, under their properties."""
    parts = [counted(len(value), "component"), f"1 − Σc = {value.residual:.6g}"]
    if value.rel_err:
        parts.append(f"entries within a relative {value.rel_err:.2g}")
    if not value.is_finite():
        parts.append("continuous: with ends of its own")
    masses = zip(value.a, value.b, value.c, strict=True)
    first = [masses for masses, _ in zip(masses, range(_MOST_ROWS), strict=False)]
    rows = [(str(j), *(f"{mass:.6g}" for mass in row)) for j, row in enumerate(first)]
    return _table("Decomposition: " + ", ".join(parts), ("", "a", "b", "c"), rows, len(value))


def curve(value: Curve) -> str:
    """Return a table with the enclosure at each point of a curve, or why it is too wide."""
    specification = value.specification
    rows = []
    for point in value.points[:_MOST_ROWS]:
        place = f"{getattr(point.setting, specification.axis.name):.15g}"
        answer = point.answer
        ends = (answer.shortfall, "") if answer.shortfall else _outward_ends(answer.enclosure)
        rows.append((place, *ends))
    bound, quantity = specification.bound, specification.quantity
    caption = f"{title(value)}: {bound.label} ({bound.kind.value}), {_setting(value)}"
    head = (specification.axis.name, f"{quantity} lower", f"{quantity} upper")
    return _table(caption, head, rows, len(value.points))


def title(value: Curve) -> str:
    """Return the name of what a user sends, as figures give it."""
    reports = value.specification.reports
    label = reports.label(value.points[0].setting)
    return f"{reports.k_joint}-joint of {label}" if reports.k_joint > 1 else label


def figure(value: Curve) -> Figure:
    """Return the figure of one curve, drawn by Matplotlib: the end of each enclosure that counts.

    Raises ImportError where the packages of the extra ``plot`` are not installed, and ValueError
    where there is no point to draw.
    """
    # These need Matplotlib and pandas, which nothing else here does.
    from shufflebounds.curves.plotting import figures, sheets

    return figures.figure(sheets.of_computed([value], title(value)))


def load_curves(*paths: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the curves that `curve -o` or the workflow wrote, one below the other.

    Parameters
    ----------
    paths
        CSV files, or folders such as ``results/su2026``, of which all files of curves are read.

    Returns
    -------
    pandas.DataFrame
        With the columns of the files and, at the end, the ``file`` of each row. A point that was
        left empty for want of precision has NaN for its ends.

    Raises
    ------
    ValueError
        For a path without curves, and for a file that was changed since it was written.
    """
    import pandas as pd

    frames = []
    for path in map(Path, paths):
        files = sorted(path.rglob("*.csv")) if path.is_dir() else [path]
        found = [file for file in files if not path.is_dir() or _is_of_curves(file)]
        if not found:
            raise ValueError(f"{path} must have files of curves, got none")
        frames += [curves.read(file).assign(file=str(file)) for file in found]
    if not frames:
        raise ValueError("paths must be files or folders of curves, got none")
    return pd.concat(frames, ignore_index=True)


def _is_of_curves(file: Path) -> bool:
    """Return whether the first line of a file names the columns of curves."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        headings = lines.readline().rstrip().split(",")[:-1]
    return any(tuple(headings) == curves.columns(quantity) for quantity in QUANTITIES)


def _setting(value: Curve) -> str:
    """Return the fixed settings of a curve as plain text."""
    return plain(setting_text(value.specification.setting))


def _outward_ends(value: Enclosure) -> tuple[str, str]:
    """Return both ends, rounded outward."""
    return outward(value.lower, up=False), outward(value.upper, up=True)


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> str:
    """Return an HTML table, whose last row counts the rows left out."""
    lines = [_row("td", cells) for cells in rows]
    if count > _MOST_ROWS:
        lines.append(f'<tr><td colspan="{len(head)}">… and {count - _MOST_ROWS} more</td></tr>')
    return (
        f"<table><caption>{escape(caption)}</caption><thead>{_row('th', head)}</thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


# What Jupyter and others look for on the class of a value.
for _type, _html in (
    (Enclosure, enclosure),
    (Enclosures, enclosures),
    (Decomposition, decomposition),
    (Curve, curve),
):
    setattr(_type, "_repr_html_", _html)  # noqa: B010
