"""What stands above and around the panels: title, legend, letters; all of it within the figure."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from shufflebounds.plotting.letters import lettered
from shufflebounds.plotting.mathtext import typeset, wrapped

# Inches.
_EDGE, _GAP = 0.05, 0.09


def write_above_panels(axes: Sequence[Axes], parts: Sequence[Sequence[str]]) -> None:
    """Give each panel its letter and title, whose parts share a line if that fits in all panels.

    A panel that is alone has no letter. The texts beside the panels must be there already.
    """
    fig = _figure(axes[0])
    parts = lettered(parts)
    fig.draw_without_rendering()  # so that the panels are as wide as they are going to be
    width = min(ax.bbox.width for ax in axes)
    size = float(axes[0].title.get_fontsize())
    on_one_line = [", ".join(texts) for texts in parts]
    if all(_width(fig, text, size) <= width for text in on_one_line):
        titles = on_one_line
    else:
        titles = ["\n".join(_fitted(fig, texts, width, size)) for texts in parts]
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(typeset(title))


def write_beside(ax: Axes, label: str) -> None:
    """Label the y axis of a panel, in lines that are no longer than the panel is tall."""
    fig = _figure(ax)
    size = float(ax.yaxis.label.get_fontsize())
    grid = ax.get_gridspec()
    assert grid is not None  # of `Figure.subplots`
    height = 0.8 * fig.bbox.height / grid.nrows
    ax.set_ylabel(typeset(_fitted(fig, [label], height, size)[0]))


def write_above_all(fig: Figure, title: str, handles: Sequence[Line2D], tallest: float) -> None:
    """Put the title and one legend, in as few rows as fit, above the panels.

    The figure grows by their height, though not beyond `tallest` inches.
    """
    width = fig.bbox.width - 2.0 * _EDGE * fig.dpi
    above = fig.suptitle("", x=0.5, y=1.0, va="top")
    above.set_in_layout(False)
    size = float(above.get_fontsize())
    above.set_text(typeset(wrapped(title, width, lambda t: _width(fig, t, size))))
    title_height = above.get_window_extent().height / fig.dpi
    legend = _legend(fig, handles, width)
    legend_height = legend.get_window_extent().height / fig.dpi if legend else 0.0
    # Edge, title, gap, legend, gap, panels.
    top = _EDGE + title_height + _GAP
    head = top + (legend_height + _GAP if legend else 0.0)
    whole = min(fig.get_figheight() + head, tallest)
    fig.set_figheight(whole)
    above.set_y(1.0 - _EDGE / whole)
    if legend:
        legend.set_bbox_to_anchor((0.5, 1.0 - top / whole), fig.transFigure)
    engine = fig.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0.0, 0.0, 1.0, 1.0 - head / whole))


def _legend(fig: Figure, handles: Sequence[Line2D], width: float) -> Legend | None:
    labels = [typeset(str(handle.get_label())) for handle in handles]
    for rows in range(1, len(labels) + 1):
        columns = -(-len(labels) // rows)
        legend = _add_legend(fig, handles, labels, columns)
        extent = legend.get_window_extent()
        if extent.width <= width:
            return legend
        excess = extent.width - width
        size = float(legend.get_texts()[0].get_fontsize())
        legend.remove()
    if not labels:
        return None
    longest = max(_width(fig, label, size) for label in labels)
    plain = [str(handle.get_label()) for handle in handles]
    labels = [
        typeset(wrapped(label, longest - excess, lambda t: _width(fig, t, size))) for label in plain
    ]
    return _add_legend(fig, handles, labels, 1)


def _add_legend(
    fig: Figure, handles: Sequence[Line2D], labels: Sequence[str], columns: int
) -> Legend:
    legend = fig.legend(
        handles, labels, loc="upper center", ncols=columns, borderaxespad=0.0, borderpad=0.0
    )
    legend.set_in_layout(False)
    return legend


def _figure(ax: Axes) -> Figure:
    fig = ax.get_figure()
    assert isinstance(fig, Figure)  # panels are in no figure within a figure
    return fig


def _fitted(fig: Figure, texts: Sequence[str], width: float, size: float) -> list[str]:
    return [wrapped(text, width, lambda t: _width(fig, t, size)) for text in texts]


def _width(fig: Figure, text: str, size: float) -> float:
    """Width of one line of text in pixels."""
    drawn = fig.text(0.0, 0.0, typeset(text), fontsize=size)
    extent = drawn.get_window_extent()
    drawn.remove()
    return float(extent.width)
