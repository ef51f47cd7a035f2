"""The printed figure of a sheet: that it shows all of it, and that everything has its place."""

import numpy as np
import pytest
from drawn_data import LOOKS, data, grid, line, overlay, panel, row, with_ratio
from matplotlib.colors import to_rgb
from PIL import Image
from places import assert_apart, assert_everything_has_its_place

from shufflebounds.reproduce.plotting import figures
from shufflebounds.reproduce.plotting.sheets import of_curves
from shufflebounds.reproduce.plotting.texts import typeset

DASHES = {"solid": "-", "dashed": "--", "dashdot": "-.", "dotted": ":"}


def figure(layout, **of):
    return figures.figure(of_curves(data(layout, **of), layout))


def lines_in(ax):
    return [line for line in ax.get_lines() if line.get_label() != "_markers"]


def markers_in(ax):
    return [line for line in ax.get_lines() if line.get_label() == "_markers"]


def legend_labels(fig):
    (legend,) = fig.legends
    return [text.get_text() for text in legend.get_texts()]


LAYOUTS = {
    "grid": grid(["krr10", "laplace"], ["low", "large"]),
    "logarithms": grid(["krr10"], ["low", "large"], transform="log2_ratio"),
    "ratio": with_ratio(),
}


def test_of_several_lines_the_legend_says_once_what_is_not_proven():
    layout = LAYOUTS["ratio"]
    fig = figures.figure(of_curves(data(layout).assign(kind="unproven"), layout))
    *labels, last = legend_labels(fig)
    assert labels == list(dict.fromkeys(line.label for line in layout.lines))
    assert last == "dotted: not proven"


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_figure_shows_all_of_its_sheet(name):
    layout = LAYOUTS[name]
    frame = data(layout)
    if name == "ratio":
        frame.loc[frame["curve"] == "clone", "kind"] = "unproven"
    sheet = of_curves(frame, layout)
    fig = figures.figure(sheet)
    assert (fig.get_suptitle(), fig.get_supxlabel()) == ("A figure", sheet.x_label)
    assert legend_labels(fig) == list(sheet.legend)
    for i, (ax, view) in enumerate(zip(fig.axes, sheet.views, strict=True)):
        scales = ["log" if logarithmic else "linear" for logarithmic in (view.x_log, view.y_log)]
        assert [ax.get_xscale(), ax.get_yscale()] == scales
        assert (ax.get_xlim(), ax.get_ylim()) == (view.x_limits, view.y_limits)
        assert ax.get_title().replace("\n", ", ") == typeset(", ".join(view.title))
        # The one on the right says it for both.
        assert ax.get_ylabel() == (typeset(view.y_label) if i % 2 == 0 else "")
        for drawn, (one, curve) in zip(lines_in(ax), view.lines, strict=True):
            np.testing.assert_array_equal(drawn.get_xydata().T, [curve.x, curve.y])
            assert drawn.get_label() == one.label
        in_legend = {one.get_label(): one for one in fig.legends[0].get_lines()}
        for drawn, (one, _) in zip(lines_in(ax), view.lines, strict=True):
            for shown in (drawn, in_legend[one.label]):
                assert shown.get_linestyle() == DASHES[one.style]
                assert (shown.get_color(), shown.get_linewidth()) == (one.color, one.width)
            assert in_legend[one.label].get_marker() == one.marker
    assert [ax.get_title()[:3] for ax in fig.axes] == ["(a)", "(b)", "(c)", "(d)"][: len(fig.axes)]
    assert_everything_has_its_place(fig)


def test_markers_are_points_of_their_lines_and_lie_above_all_lines():
    layout = grid()
    for ax in figure(layout, x=np.arange(1000, 1100)).axes:
        points = {one.get_label(): one.get_xydata().tolist() for one in lines_in(ax)}
        with_markers = [one for one in layout.lines if one.marker]
        for one, markers in zip(with_markers, markers_in(ax), strict=True):
            assert all(point in points[one.label] for point in markers.get_xydata().tolist())
            assert 5 <= len(markers.get_xdata()) <= 8
            assert markers.get_marker() == one.marker
            assert markers.get_markeredgecolor() != markers.get_markerfacecolor()
            assert markers.get_zorder() > max(drawn.get_zorder() for drawn in lines_in(ax))


def test_a_panel_where_nothing_can_be_shown_is_drawn_all_the_same():
    layout = grid(curves=["upper"])
    frame = data(layout).assign(epsilon_lower=0.0, epsilon_upper=0.0)
    assert_everything_has_its_place(figures.figure(of_curves(frame, layout)))


def test_bounds_that_coincide_are_both_seen(tmp_path):
    names = ["lower", "upper"]
    layout = grid(curves=names)
    frame = data(layout)
    frame["epsilon_lower"] = frame["epsilon_upper"] = 0.1 / np.sqrt(frame["n"])
    # A grey pair shows how much black and blue there is apart from the panel's lines.
    grey = row(panel(*(line(name, color="#cccccc") for name in names)))
    count = {}
    for drawn, shown in (("both", layout), ("neither", grey)):
        figures.draw(of_curves(frame, shown), [tmp_path / f"{drawn}.png"])
        with Image.open(tmp_path / f"{drawn}.png") as image:
            pixels = np.asarray(image.convert("RGB"))
        below_the_legend = pixels[pixels.shape[0] // 4 :]
        for name in names:
            color = np.round(255 * np.array(to_rgb(LOOKS[name]["color"])))
            count[drawn, name] = np.count_nonzero((below_the_legend == color).all(axis=-1))
    for name in names:
        assert count["both", name] - count["neither", name] > 300


def test_everything_has_its_place_on_a_printed_page():
    experiments = ["krr10", "blh", "rappor", "oue", "laplace", "hadamard"]
    assert_everything_has_its_place(figure(grid(experiments, ["large"])))


LONG = "10-RR and RAPPOR and Laplace and optimized unary encoding, all of them reported together"


@pytest.mark.parametrize(("columns", "name"), [(1, LONG), (2, "mechanism" * 9)])
def test_long_names_are_wrapped(columns, name):
    regimes = ["low", "large"][:columns]
    panels = [
        panel(
            line("upper", name, regime, label=f"{name}: upper bound"),
            line("lower", name, regime, label=f"{name}: lower bound"),
            subject=name,
            setting=f"{regime} ε₀ = 0.1, δ = $10^{{-6}}$",
        )
        for regime in regimes
    ]
    fig = figure(row(*panels, title=f"{name}, and {name}"))
    assert_everything_has_its_place(fig)
    assert_apart([ax.title.get_window_extent() for ax in fig.axes])
    for ax in fig.axes:
        title = ax.get_title().replace("\n", "").replace(" ", "")
        assert name.replace(" ", "") in title
        assert title.endswith("$10^{-6}$")


def test_ten_lines_have_their_place_in_one_row_of_panels():
    fig = figure(overlay())
    assert len(legend_labels(fig)) == 10
    assert_everything_has_its_place(fig)
