"""How notebooks show decompositions, enclosures and curves: small tables of escaped HTML.

``import shufflebounds.notebook`` makes them show themselves; nothing else of the library knows of
notebooks. Ends of enclosures are rounded outward, so that what is shown of a bound is a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, outward
from shufflebounds.curves.curve import Curve
from shufflebounds.curves.plotting.texts import plain, setting_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
# Of a table.
_MOST_ROWS = 12


@dataclass(frozen=True)
class Framed:
    """A whole page inside a notebook, such as `plotting.charts.page` makes.

    ``height`` is that of its frame, in pixels; it is as wide as the notebook.
    """

    page: str
    height: int = 600

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe title="figure" style="{style}" srcdoc="{escape(self.page)}"></iframe>'


def enclosure(shown: Enclosure) -> str:
    """An enclosure as an interval."""
    lower, upper = _ends(shown)
    return f"<code>[{lower}, {upper}]</code>"


def enclosures(shown: Enclosures) -> str:
    """Several enclosures, a row each."""
    rows = [(str(i), *_ends(one)) for i, one in enumerate(shown[:_MOST_ROWS])]
    return _table(f"{len(shown)} enclosures", ("", "lower", "upper"), rows, len(shown))


def decomposition(shown: Decomposition) -> str:
    """The masses of the components, to six digits, and what else there is to it."""
    parts = [f"{len(shown)} components", f"1 − Σc = {shown.residual:.6g}"]
    if shown.rel_err:
        parts.append(f"entries within a relative {shown.rel_err:.2g}")
    if not shown.is_finite():
        parts.append("continuous: with ends of its own")
    masses = zip(shown.a, shown.b, shown.c, strict=True)
    first = [masses for masses, _ in zip(masses, range(_MOST_ROWS), strict=False)]
    rows = [(str(j), *(f"{mass:.6g}" for mass in row)) for j, row in enumerate(first)]
    return _table("Decomposition: " + ", ".join(parts), ("", "a", "b", "c"), rows, len(shown))


def curve(shown: Curve) -> str:
    """The enclosure at each point of a curve; where one is too wide, what there is to say of it."""
    wanted = shown.specification
    rows = []
    for point in shown.points[:_MOST_ROWS]:
        place = f"{getattr(point.setting, wanted.axis.name):.15g}"
        answer = point.answer
        ends = (answer.shortfall, "") if answer.shortfall else _ends(answer.enclosure)
        rows.append((place, *ends))
    caption = f"{title(shown)}: {wanted.bound.label} ({wanted.bound.kind.value}), {_setting(shown)}"
    head = (wanted.axis.name, f"{wanted.quantity} lower", f"{wanted.quantity} upper")
    return _table(caption, head, rows, len(shown.points))


def title(shown: Curve) -> str:
    """How a figure calls what a user sends."""
    reports = shown.specification.reports
    label = reports.label(shown.points[0].setting)
    return f"{reports.k_joint}-joint of {label}" if reports.k_joint > 1 else label


def figure(shown: Curve) -> Figure:
    """The figure of one curve, drawn by Matplotlib: the end of each enclosure that counts.

    Raises ImportError where the packages of the extra ``plot`` are not installed, and ValueError
    where there is no point to draw.
    """
    # Here, since all else needs no such packages.
    from shufflebounds.curves.plotting import figures, sheets

    return figures.figure(sheets.of_computed([shown], title(shown)))


def _setting(shown: Curve) -> str:
    return plain(setting_text(shown.specification.setting))


def _ends(shown: Enclosure) -> tuple[str, str]:
    return outward(shown.lower, up=False), outward(shown.upper, up=True)


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> str:
    """A table of texts, and how many more rows there would be."""
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
for _shown, _html in (
    (Enclosure, enclosure),
    (Enclosures, enclosures),
    (Decomposition, decomposition),
    (Curve, curve),
):
    setattr(_shown, "_repr_html_", _html)  # noqa: B010
