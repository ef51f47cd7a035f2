import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from drawn_data import LOOKS, data, grid, line, overlay, panel, row, rows_of
from matplotlib.colors import to_rgb
from PIL import Image
from places import assert_apart, assert_everything_has_its_place

from shufflebounds.reproduce.plotting import curves
from shufflebounds.reproduce.plotting.layout import Ratio
from shufflebounds.reproduce.plotting.sheets import of_curves


def lines_in(ax):
    return [line for line in ax.get_lines() if line.get_label() != "_markers"]


def markers_in(ax):
    return [line for line in ax.get_lines() if line.get_label() == "_markers"]


def drawn_in(ax):
    return {line.get_label(): line for line in lines_in(ax)}


def legend_labels(fig):
    (legend,) = fig.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("transform", ["none", "expm1", "log2_ratio"])
def test_lines_show_each_curve_at_the_end_that_bounds_the_truth(transform):
    layout = grid(["krr10", "laplace"], ["low", "large"], transform=transform)
    frame = data(layout)
    fig = curves.figure(of_curves(frame.sample(frac=1.0, random_state=1), layout))
    for ax, shown in zip(fig.axes, itertools.chain(*layout.panels), strict=True):
        assert len(lines_in(ax)) == len(shown.lines)
        for one in shown.lines:
            rows = rows_of(frame, one.curve)
            end = "epsilon_lower" if one.curve.curve == "lower" else "epsilon_upper"
            values = {
                "none": rows[end],
                "expm1": [math.expm1(eps) for eps in rows[end]],
                "log2_ratio": [
                    math.log2(a / b) for a, b in zip(rows["eps0"], rows[end], strict=True)
                ],
            }[transform]
            drawn = drawn_in(ax)[one.label]
            np.testing.assert_array_equal(drawn.get_xdata(), rows["n"])
            np.testing.assert_allclose(drawn.get_ydata(), values, rtol=1e-14, atol=1e-14)


def test_markers_are_points_of_their_lines_and_lie_above_all_lines():
    layout = grid()
    for ax in curves.figure(of_curves(data(layout, x=np.arange(1000, 1100)), layout)).axes:
        with_markers = [one for one in layout.lines if one.marker]
        for one, markers in zip(with_markers, markers_in(ax), strict=True):
            points = drawn_in(ax)[one.label].get_xydata().tolist()
            assert all(point in points for point in markers.get_xydata().tolist())
            assert 5 <= len(markers.get_xdata()) <= 8
            assert markers.get_marker() == one.marker
            assert markers.get_markeredgecolor() != markers.get_markerfacecolor()
            assert markers.get_zorder() > max(drawn.get_zorder() for drawn in lines_in(ax))


def test_the_end_that_is_not_drawn_may_be_absent():
    layout = grid(curves=["lower", "clone"])
    frame = data(layout)
    frame.loc[frame["curve"] == "lower", "epsilon_upper"] = math.nan
    frame.loc[frame["curve"] == "clone", "epsilon_lower"] = math.nan
    for drawn in lines_in(curves.figure(of_curves(frame, layout)).axes[0]):
        assert np.isfinite(drawn.get_ydata()).all()


def test_panels_have_letters_titles_and_logarithmic_axes():
    layout = grid(["krr10", "oue"], ["low", "large"], ["upper"])
    fig = curves.figure(of_curves(data(layout), layout))
    assert fig.get_suptitle() == "A figure"
    assert [ax.get_title() for ax in fig.axes] == [
        r"(a) krr10, low $\varepsilon_0$ = 0.1",
        r"(b) krr10, large $\varepsilon_0$ = 4",
        r"(c) oue, low $\varepsilon_0$ = 0.1",
        r"(d) oue, large $\varepsilon_0$ = 4",
    ]
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in fig.axes} == {("log", "log")}


@pytest.mark.parametrize(
    ("axis", "label", "scale"),
    [
        ("n", "number of users $n$", "log"),
        ("eps0", r"local privacy parameter $\varepsilon_0$", "linear"),
        ("delta", r"$\delta$", "log"),
    ],
)
def test_the_axis_says_what_it_is_and_nothing_else(axis, label, scale):
    layout = grid(x=axis)
    fig = curves.figure(of_curves(data(layout, (0.1, 0.2, 0.4), axis), layout))
    assert fig.get_supxlabel() == label
    assert (fig.axes[0].get_xscale(), fig.axes[0].get_yscale()) == (scale, "log")


@pytest.mark.parametrize(
    ("changes", "label", "scale"),
    [
        ({"transform": "none"}, r"$\varepsilon$", "log"),
        ({"transform": "expm1"}, r"$e^{\varepsilon} - 1$", "log"),
        ({"transform": "log2_ratio"}, r"$\log_2(\varepsilon_0/\varepsilon)$", "linear"),
        ({"quantity": "delta"}, r"$\delta$", "log"),
    ],
)
def test_the_y_axis_says_what_is_drawn(changes, label, scale):
    layout = grid(regimes=["low", "large"], **changes)
    left, right = curves.figure(of_curves(data(layout), layout)).axes
    assert (left.get_ylabel(), right.get_ylabel()) == (label, "")
    assert (left.get_yscale(), right.get_yscale()) == (scale, scale)


@pytest.mark.parametrize("transform", ["expm1", "log2_ratio"])
def test_no_privacy_loss_is_left_out_cleanly(transform):
    layout = grid(curves=["upper", "lower"], transform=transform)
    frame = data(layout)
    frame.loc[frame["n"] > 20_000, ["epsilon_lower", "epsilon_upper"]] = 0.0
    fig = curves.figure(of_curves(frame, layout))
    (ax,) = fig.axes
    low, high = ax.get_ylim()
    assert_everything_has_its_place(fig)
    shown = [line.get_ydata()[:3] for line in lines_in(ax)]
    assert np.isfinite(shown).all()
    # Room for what is shown, and for nothing else.
    scale = np.log if ax.get_yscale() == "log" else np.asarray
    assert np.ptp(scale(shown)) > 0.8 * np.ptp(scale([low, high]))


def test_a_panel_where_nothing_can_be_shown_is_drawn_all_the_same():
    layout = grid(curves=["upper"])
    frame = data(layout).assign(epsilon_lower=0.0, epsilon_upper=0.0)
    assert_everything_has_its_place(curves.figure(of_curves(frame, layout)))


def test_an_epsilon_of_0_is_left_out_of_a_logarithmic_axis():
    layout = grid(curves=["upper"], quantity="delta", x="eps")
    frame = data(layout, (0.5, 0.1, 1.0), "eps")
    frame["eps"] = [0.0, 0.1, 1.0]
    (ax,) = curves.figure(of_curves(frame, layout)).axes
    low, high = ax.get_xlim()
    assert 0.05 < low < 0.1
    assert 1.0 < high < 2.0


def test_panels_make_no_room_for_a_delta_that_nobody_asks_for():
    layout = grid(curves=["upper"], quantity="delta", x="eps")
    frame = data(layout, (0.1, 0.2, 0.4, 0.8), "eps")
    frame["delta_upper"] = [1e-3, 1e-9, 1e-25, 1e-240]
    (ax,) = curves.figure(of_curves(frame, layout)).axes
    (drawn,) = lines_in(ax)
    np.testing.assert_array_equal(drawn.get_ydata(), frame["delta_upper"])
    assert 1e-11 < ax.get_ylim()[0] < 1e-9
    assert 0.2 < ax.get_xlim()[1] < 0.4
    frame["delta_upper"] = [1e-25, 1e-30, 1e-40, 1e-50]
    (ax,) = curves.figure(of_curves(frame, layout)).axes
    assert ax.get_ylim()[0] < 1e-50


def test_a_bound_that_is_not_proven_is_dotted_and_says_so():
    layout = grid(curves=["clone", "upper"], regimes=["low", "large"])
    frame = data(layout)
    frame.loc[frame["curve"] == "clone", "kind"] = "unproven"
    fig = curves.figure(of_curves(frame, layout))
    assert legend_labels(fig) == ["clone (not proven)", "upper bound"]
    for ax in fig.axes:
        assert drawn_in(ax)["clone (not proven)"].get_linestyle() == ":"
        assert drawn_in(ax)["upper bound"].get_linestyle() == "-"
    assert fig.legends[0].get_lines()[0].get_linestyle() == ":"


def test_symbols_of_titles_and_labels_are_in_italics():
    shown = panel(line(label="RAPPOR, D = 3"), subject="RAPPOR over D → ∞", setting="δ = 0.01/$n$")
    layout = row(shown, title="Which ε₀?")
    fig = curves.figure(of_curves(data(layout), layout))
    assert fig.get_suptitle() == r"Which $\varepsilon_0$?"
    assert fig.axes[0].get_title() == r"RAPPOR over $D$ → ∞, $\delta$ = 0.01/$n$"
    assert legend_labels(fig) == ["RAPPOR, $D$ = 3"]


def with_ratio(curve="upper", limits=None):
    layout = grid(regimes=["low", "large"], curves=["clone", "upper", "lower"])
    divisors = tuple(line(curve, regime=regime).curve for regime in ("low", "large"))
    return replace(layout, ratio=Ratio(divisors, "D → ∞", limits))


@pytest.mark.parametrize("transform", ["none", "expm1"])
def test_a_second_row_shows_what_curves_are_to_one_of_them(transform):
    layout = replace(with_ratio(), transform=transform)
    frame = data(layout)
    fig = curves.figure(of_curves(frame, layout))
    assert len(fig.axes) == 4
    for above, below in zip(fig.axes[:2], fig.axes[2:], strict=True):
        divisor = drawn_in(above)["upper bound"].get_ydata()
        for label, drawn in drawn_in(below).items():
            whole = drawn_in(above)[label]
            np.testing.assert_array_equal(drawn.get_xdata(), whole.get_xdata())
            np.testing.assert_allclose(drawn.get_ydata(), whole.get_ydata() / divisor, rtol=1e-15)
        assert above.get_xlim() == below.get_xlim()
        assert (below.get_xscale(), below.get_yscale()) == ("log", "linear")
    assert [ax.get_title()[:3] for ax in fig.axes] == ["(a)", "(b)", "(c)", "(d)"]
    assert [ax.get_ylabel() for ax in fig.axes[2:]] == ["ratio to $D$ → ∞", ""]
    assert legend_labels(fig) == ["clone", "upper bound", "lower bound"]
    assert_everything_has_its_place(fig)


def test_the_row_of_ratios_has_the_limits_it_is_given():
    layout = with_ratio(limits=(0.9, 1.05))
    fig = curves.figure(of_curves(data(layout), layout))
    assert [ax.get_ylim() for ax in fig.axes[2:]] == [(0.9, 1.05)] * 2


def test_a_curve_may_be_divided_by_one_that_no_panel_shows():
    layout = grid(curves=["upper"])
    layout = replace(layout, ratio=Ratio((line("clone").curve,), "the clone"))
    frame = data(layout)
    above, below = curves.figure(of_curves(frame, layout)).axes
    clone = rows_of(frame, line("clone").curve)["epsilon_upper"]
    upper = rows_of(frame, line("upper").curve)["epsilon_upper"]
    np.testing.assert_array_equal(lines_in(below)[0].get_ydata(), upper.array / clone.array)
    assert above.get_ylabel() != below.get_ylabel() == "ratio to the clone"


def test_curves_with_another_axis_have_no_ratio():
    layout = with_ratio()
    frame = data(layout)
    frame.loc[(frame["curve"] == "clone") & (frame["n"] == 1000), "n"] = 1001
    words = "^curve krr10/low/clone must have the same axis as krr10/low/upper$"
    with pytest.raises(ValueError, match=words):
        curves.figure(of_curves(frame, layout))


def test_ratios_take_the_place_of_several_rows():
    layout = grid(["krr10", "oue"], ["low", "large"], ["upper", "lower"])
    names = tuple(panel.lines[1].curve for row in layout.panels for panel in row)
    layout = replace(layout, ratio=Ratio(names, "lower bound"))
    frame = data(layout)
    for ax, name in zip(curves.figure(of_curves(frame, layout)).axes, names, strict=True):
        above = rows_of(frame, replace(name, curve="upper"))["epsilon_upper"]
        ratio = above.to_numpy() / rows_of(frame, name)["epsilon_lower"].to_numpy()
        np.testing.assert_allclose(drawn_in(ax)["upper bound"].get_ydata(), ratio)


def test_only_what_is_not_printed_has_a_title(tmp_path):
    paths = [tmp_path / "one.png", tmp_path / "one.svg", tmp_path / "two.svg"]
    sheet = of_curves(data(grid()), replace(grid(), title="Figure 7"))
    curves.draw(sheet, paths[:2])
    curves.draw(sheet, paths[2:], titled=True)
    assert paths[1].stat().st_size < paths[2].stat().st_size
    assert curves.figure(sheet).get_suptitle() == "Figure 7"
    assert curves.figure(sheet, titled=False).get_suptitle() == ""


def test_nothing_is_divided_by_0():
    layout = with_ratio()
    frame = data(layout)
    frame.loc[frame["n"] == 1000, ["epsilon_lower", "epsilon_upper"]] = 0.0
    fig = curves.figure(of_curves(frame, layout))
    for ax in fig.axes[2:]:
        assert all(np.isfinite(line.get_ydata()[1:]).all() for line in lines_in(ax))
    assert_everything_has_its_place(fig)


def test_panels_of_a_column_share_their_axes():
    layout = grid(["krr10", "oue"], ["low", "large"], ["upper", "lower", "clone"])
    frame = data(layout)
    ends = ["epsilon_lower", "epsilon_upper"]
    above = frame.loc[frame["experiment"] == "krr10", ends].to_numpy()
    frame.loc[frame["experiment"] == "oue", ends] = 0.9 * above
    left, right, below_left, below_right = curves.figure(of_curves(frame, layout)).axes
    assert left.get_ylim() == below_left.get_ylim()
    assert right.get_ylim() == below_right.get_ylim()
    assert left.get_ylim() != right.get_ylim()
    assert len({ax.get_xlim() for ax in (left, right, below_left, below_right)}) == 1
    labelled = [any(t.get_visible() for t in ax.get_xticklabels()) for ax in (left, below_left)]
    assert labelled == [False, True]


@pytest.mark.parametrize("transform", ["none", "log2_ratio"])
def test_no_panel_is_left_rather_empty_by_an_axis_it_shares(transform):
    layout = grid(["krr10", "oue"], ["low"], ["upper", "lower"], transform=transform)
    frame = data(layout)
    ends = ["epsilon_lower", "epsilon_upper"]
    frame.loc[frame["experiment"] == "oue", ends] **= 2
    frame.loc[frame["experiment"] == "oue", "n"] *= 100
    fig = curves.figure(of_curves(frame, layout))
    fig.draw_without_rendering()
    for ax in fig.axes:
        assert any(text.get_visible() for text in ax.get_xticklabels())
        points = np.concatenate([line.get_xydata() for line in lines_in(ax)])
        spans = np.ptp(ax.transLimits.transform(ax.transScale.transform(points)), axis=0)
        assert spans.min() > 0.7


def test_lines_look_as_they_are_told():
    layout = grid()
    fig = curves.figure(of_curves(data(layout), layout))
    drawn = drawn_in(fig.axes[0])
    in_legend = {one.get_label(): one for one in fig.legends[0].get_lines()}
    for look in LOOKS.values():
        dashes = {"solid": "-", "dashed": "--", "dashdot": "-."}[look["style"]]
        for one in (drawn[look["label"]], in_legend[look["label"]]):
            assert one.get_linestyle() == dashes
            assert one.get_color() == look["color"]
            assert one.get_linewidth() == look.get("width", 1.2)
        assert in_legend[look["label"]].get_marker() == look.get("marker", "")


@pytest.mark.parametrize("names", [["upper", "lower"], ["lower", "upper"]])
def test_bounds_that_coincide_are_both_seen(names, tmp_path):
    layout = grid(curves=names)
    frame = data(layout)
    frame["epsilon_lower"] = frame["epsilon_upper"] = 0.1 / np.sqrt(frame["n"])
    # A grey pair shows how much black and blue there is apart from the panel's lines.
    grey = row(panel(*(line(name, color="#cccccc") for name in names)))
    count = {}
    for drawn, shown in (("both", layout), ("neither", grey)):
        curves.draw(of_curves(frame, shown), [tmp_path / f"{drawn}.png"])
        with Image.open(tmp_path / f"{drawn}.png") as image:
            pixels = np.asarray(image.convert("RGB"))
        below_the_legend = pixels[pixels.shape[0] // 4 :]
        for name in names:
            color = np.round(255 * np.array(to_rgb(LOOKS[name]["color"])))
            count[drawn, name] = np.count_nonzero((below_the_legend == color).all(axis=-1))
    for name in names:
        assert count["both", name] - count["neither", name] > 300


def test_a_curve_of_one_point_is_seen():
    layout = grid()
    fig = curves.figure(of_curves(data(layout, x=[1000]), layout))
    shown = markers_in(fig.axes[0])
    assert len(shown) == len(LOOKS)
    for markers in shown:
        assert len(markers.get_xdata()) == 1
        assert markers.get_marker() not in ("", "None")
    assert all(one.get_marker() not in ("", "None") for one in fig.legends[0].get_lines())
    assert_everything_has_its_place(fig)


def test_panels_may_show_different_lines_and_the_legend_lists_all_once():
    above = panel(line("clone"), line("upper")), panel(line("upper", regime="large"))
    below = panel(line("lower"), line("upper")), panel(line("joint2"), line("clone"))
    layout = replace(grid(), panels=(above, below))
    fig = curves.figure(of_curves(data(layout), layout))
    assert [list(drawn_in(ax)) for ax in fig.axes] == [
        ["clone", "upper bound"],
        ["upper bound"],
        ["lower bound", "upper bound"],
        ["2-joint", "clone"],
    ]
    assert legend_labels(fig) == ["clone", "upper bound", "lower bound", "2-joint"]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (6, 1), (2, 3)])
def test_everything_has_its_place_on_a_printed_page(rows, columns):
    experiments = ["krr10", "blh", "rappor", "oue", "laplace", "hadamard"]
    layout = grid(experiments[:rows], ["large", "low", "middle"][:columns])
    assert_everything_has_its_place(curves.figure(of_curves(data(layout), layout)))


LONG = "10-RR and RAPPOR and Laplace and optimized unary encoding, all of them reported together"


@pytest.mark.parametrize(("columns", "name"), [(1, LONG), (3, LONG), (2, "mechanism" * 9)])
def test_long_names_are_wrapped(columns, name):
    regimes = ["low", "large", "middle"][:columns]
    panels = [
        panel(
            line("upper", name, regime, label=f"{name}: upper bound"),
            line("lower", name, regime, label=f"{name}: lower bound"),
            subject=name,
            setting=f"{regime} ε₀ = 0.1, δ = $10^{{-6}}$",
        )
        for regime in regimes
    ]
    layout = row(*panels, title=f"{name}, and {name}")
    fig = curves.figure(of_curves(data(layout), layout))
    assert_everything_has_its_place(fig)
    assert_apart([ax.title.get_window_extent() for ax in fig.axes])
    for ax in fig.axes:
        title = ax.get_title().replace("\n", "").replace(" ", "")
        assert name.replace(" ", "") in title
        assert title.endswith("$10^{-6}$")


def test_subject_and_setting_share_a_line_in_all_panels_or_in_none():
    def titles(subject):
        setting = "δ = 1 and n = 5"
        shown = [panel(line(regime=regime), setting=setting) for regime in ("low", "large")]
        layout = row(shown[0], replace(shown[1], subject=subject))
        return [ax.get_title() for ax in curves.figure(of_curves(data(layout), layout)).axes]

    fixed = r"$\delta$ = 1 and $n$ = 5"
    assert titles("BLH") == [f"(a) a panel, {fixed}", f"(b) BLH, {fixed}"]
    long = "a name that has place on a line"
    assert titles(long) == [f"(a) a panel\n{fixed}", f"(b) {long}\n{fixed}"]


@pytest.mark.parametrize(("names", "rows"), [(3, 1), (7, 2)])
def test_the_legend_takes_as_few_rows_as_fit(names, rows):
    layout = grid(regimes=["low", "large"], curves=list(LOOKS)[:names])
    fig = curves.figure(of_curves(data(layout), layout))
    fig.draw_without_rendering()
    (legend,) = fig.legends
    heights = [text.get_window_extent().y0 for text in legend.get_texts()]
    # Rows are some 30 pixels apart; descenders make less of a difference.
    assert np.count_nonzero(np.diff(np.sort(heights)) > 8.0) + 1 == rows


def test_ten_lines_have_their_place_in_one_row_of_panels():
    layout = overlay()
    fig = curves.figure(of_curves(data(layout), layout))
    assert len(legend_labels(fig)) == 10
    assert_everything_has_its_place(fig)


@pytest.mark.parametrize("rows", [1, 2])
def test_an_axis_with_one_power_of_ten_has_more_labels_and_room_for_them(rows):
    layout = grid(["krr10", "blh"][:rows], ["low", "large"], ["upper"], transform="expm1")
    frame = data(layout, x=(1200, 2000, 8000))
    frame["epsilon_upper"] = np.log1p(0.8 / np.sqrt(frame["n"]))
    fig = curves.figure(of_curves(frame, layout))
    assert_everything_has_its_place(fig)
    for axis in (fig.axes[-1].xaxis, fig.axes[-1].yaxis):
        low, high = axis.get_view_interval()
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        shown = [tick for tick in ticks if tick.label1.get_text() and low < tick.get_loc() < high]
        assert len(shown) >= 2


def spoil(frame, column, value, curve="upper"):
    frame = frame.astype({column: object})
    frame.loc[frame.index[frame["curve"] == curve][2], column] = value
    return frame


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("epsilon_upper", math.nan, "epsilon must be finite and at least 0, got nan"),
        ("epsilon_upper", "", "epsilon must be finite and at least 0, got nan"),
        ("epsilon_upper", math.inf, "epsilon must be finite and at least 0, got inf"),
        ("epsilon_upper", -0.1, "epsilon must be finite and at least 0, got -0.1"),
        ("n", 0.0, "n must be finite and positive, got 0.0"),
        ("n", -5.0, "n must be finite and positive, got -5.0"),
        ("n", math.nan, "n must be finite and positive, got nan"),
        ("n", 1000, "n must be another in every row, got 1000.0"),
    ],
)
def test_values_that_no_panel_can_show_are_refused(column, value, words):
    layout = grid(["oue"], ["low"], ["clone", "upper"])
    with pytest.raises(ValueError, match=f"^{words} in curve oue/low/upper$"):
        curves.figure(of_curves(spoil(data(layout), column, value), layout))


@pytest.mark.parametrize(
    ("axis", "value", "words"),
    [
        ("eps", -0.5, "eps must be finite and at least 0, got -0.5"),
        ("eps0", 0.0, "eps0 must be finite and positive, got 0.0"),
        ("delta", 0.0, "delta must be finite and positive, got 0.0"),
    ],
)
def test_places_on_an_axis_that_no_panel_can_show_are_refused(axis, value, words):
    layout = grid(curves=["upper"], x=axis)
    frame = spoil(data(layout, (0.1, 0.2, 0.4), axis), axis, value)
    with pytest.raises(ValueError, match=f"^{words} in curve krr10/low/upper$"):
        curves.figure(of_curves(frame, layout))


@pytest.mark.parametrize("absent", ["experiment", "regime", "curve"])
def test_a_missing_curve_is_no_silent_hole(absent):
    layout = grid(["krr10", "blh"], ["low", "large"], ["upper", "joint4"])
    names = {"experiment": "blh", "regime": "large", "curve": "joint4"}
    frame = data(layout)
    frame = frame[frame[absent] != names[absent]]
    words = rf"^curve \S*\b{names[absent]}\b\S* must be among the data, got none of its rows$"
    with pytest.raises(ValueError, match=words):
        curves.figure(of_curves(frame, layout))
