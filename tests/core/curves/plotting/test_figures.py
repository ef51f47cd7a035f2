"""The printed figure of a sheet: that it shows all of it, and that everything has its place."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from drawn_data import data, grid, line, overlay, panel, row, vanishing, with_ratio
from matplotlib.text import Text
from places import assert_everything_has_its_place

from shufflebounds.curves.plotting import figures
from shufflebounds.curves.plotting.layout import USUAL_PRINT
from shufflebounds.curves.plotting.looks import line_look
from shufflebounds.curves.plotting.sheets import of_curves


def figure(layout, **of):
    return figures.figure(of_curves(data(layout, **of), layout))


LAYOUTS = {
    "grid": grid(["krr10", "laplace"], ["low", "large"], ["upper", "lower", "clone"]),
    "logarithms": grid(["krr10"], ["low", "large"], transform="log2_ratio"),
    "ratio": with_ratio(),
    "overlay": overlay(),
}


def names(ax):
    """The names beside the lines of a panel, from the lowest to the highest."""
    return [
        text.get_text().replace("\n", " ")
        for text in sorted(ax.texts, key=lambda t: t.get_position()[1])
    ]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_figure_shows_all_of_its_sheet(name):
    layout = LAYOUTS[name]
    sheet = of_curves(data(layout), layout)
    fig = figures.figure(sheet)
    assert fig.get_figwidth() == USUAL_PRINT.page_width
    for ax, view in zip(fig.axes, sheet.views, strict=True):
        assert [ax.get_xscale(), ax.get_yscale()] == [
            "log" if is_log else "linear" for is_log in (view.x_log, view.y_log)
        ]
        for drawn, (shown, curve) in zip(ax.get_lines(), view.lines, strict=False):
            np.testing.assert_array_equal(drawn.get_xydata().T, [curve.x, curve.y])
            assert drawn.get_color() == shown.look.color
    for axes, views in zip(np.reshape(fig.axes, (len(sheet.rows), -1)), sheet.rows, strict=True):
        assert set(names(axes[-1])) == {shown.label for shown, _ in views[-1].lines}
        assert not names(axes[0])


def test_names_stand_beside_their_lines_and_apart():
    fig = figure(grid())
    boxes = sorted((text.get_window_extent() for text in fig.axes[0].texts), key=lambda b: b.y0)
    for below, above in itertools.pairwise(boxes):
        assert below.y1 <= above.y0 + 1.0
    assert all(fig.bbox.x0 < box.x0 and box.x1 < fig.bbox.x1 for box in boxes)


def texts_of(fig):
    return [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]


def test_what_panels_share_is_said_once():
    """Columns name their mechanism, rows their ε₀, and what all have in common is said above."""
    panels = [
        [
            panel(line(experiment=name, regime=regime), subject=name, setting=[regime, "δ = 0.1"])
            for name in ("krr10", "laplace")
        ]
        for regime in ("low", "large")
    ]
    layout = grid(panels=panels)
    sheet = of_curves(data(layout), layout)
    fig = figures.figure(sheet)
    assert [ax.get_title(loc="left") for ax in fig.axes] == [
        "(a) krr10",
        "(b) laplace",
        "(c)",
        "(d)",
    ]
    assert [ax.get_ylabel().split("\n")[0] for ax in fig.axes[::2]] == ["low", "large"]
    for titled in (True, False):
        texts = [text.get_text() for text in texts_of(figures.figure(sheet, titled=titled))]
        for part in ("krr10", "laplace", "low", "large", r"$\delta$ = 0.1"):
            assert sum(part in text for text in texts) == 1
    # In a browser panels may stand in other rows: there each says what it is.
    assert sheet.title_of(sheet.views[2]) == "(c) krr10, large"


def test_in_a_column_names_stand_above_the_panels_once():
    layout = with_ratio()
    layout = replace(layout, panels=tuple(panels[:1] for panels in layout.panels))
    fig = figures.figure(of_curves(data(layout), layout), titled=False)
    assert fig.get_figwidth() == USUAL_PRINT.column_width
    fig.draw_without_rendering()
    above, below = fig.axes
    assert above.bbox.width > 0.75 * fig.bbox.width
    # A legend is filled by columns: the first line is of the two largest.
    names = [text.get_text() for text in above.get_legend().get_texts()]
    assert names == ["clone", "lower bound", "upper bound"]
    assert below.get_legend() is None
    assert_everything_has_its_place(fig)


def test_panels_of_a_row_name_the_same_numbers():
    layout = replace(with_ratio("lower"), has_shared_rows=True)
    frame = data(layout)
    wide = (frame["curve"] == "clone") & (frame["regime"] == "low")
    frame.loc[wide, "epsilon_upper"] *= 40.0
    fig = figures.figure(of_curves(frame, layout))
    for axes in np.reshape(fig.axes, (2, 2)):
        first, second = (ax.yaxis.get_majorticklocs().tolist() for ax in axes)
        assert first == second
    for ax in fig.axes[2:]:
        assert 1.0 in ax.yaxis.get_majorticklocs()


def test_a_lower_bound_hides_nothing():
    [ax, *_] = figure(grid(curves=["upper", "lower", "clone"])).axes
    order = {line.get_label(): line.get_zorder() for line in ax.get_lines()}
    assert order["lower bound"] < min(order["upper bound"], order["clone"])


def test_every_type_is_at_least_7_points():
    fig = figure(with_ratio())
    texts = [text for ax in fig.axes for text in [*ax.texts, ax.title, *ax.get_xticklabels()]]
    assert min(text.get_fontsize() for text in texts) >= 7.0


def test_a_panel_where_nothing_can_be_shown_is_drawn_all_the_same():
    layout = grid(curves=["upper"])
    frame = data(layout).assign(epsilon_lower=0.0, epsilon_upper=0.0)
    assert figures.figure(of_curves(frame, layout)).axes


def test_what_is_not_proven_is_hollow():
    layout = row(panel(line(look=line_look("variation_ratio_analytic"))))
    [drawn, *_] = figure(layout).axes[0].get_lines()
    assert drawn.get_markerfacecolor() == "white"


def test_the_band_lies_between_its_bounds_where_the_lower_one_is_0():
    frame, layout = vanishing()
    [ax, *_] = figures.figure(of_curves(frame, layout)).axes
    [band] = ax.collections
    vertices = np.concatenate([path.vertices for path in band.get_paths()])
    upper = {0.1: 1e-3, 0.2: 1e-9, 0.4: 1e-15, 0.8: 1e-240}
    lower = {0.1: 1e-4, 0.2: 1e-10, 0.4: 0.0, 0.8: 0.0}
    assert set(vertices[:, 0]) == set(upper)
    assert all(lower[x] <= y <= upper[x] for x, y in vertices.tolist())
    # It reaches up to the upper bound, and down to the axis where nothing but 0 is below.
    for x, edge in upper.items():
        assert max(vertices[vertices[:, 0] == x, 1]) == edge
    assert min(vertices[vertices[:, 0] == 0.4, 1]) == ax.get_ylim()[0]
