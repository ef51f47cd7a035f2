import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

import matrix
from shufflebounds import distribution_figure, figures

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))

EPS0 = {"low": 0.1, "large": 4.0}
LOOKS = {
    "hoeffding": {"label": "blanket, Hoeffding", "color": "#a0a0a0", "line": "dashed"},
    "bennett": {"label": "blanket, Bennett", "color": "#0072b2", "line": "dashed", "marker": "^"},
    "clone": {"label": "clone", "color": "#cc7a00", "line": "dashed", "marker": "o"},
    "upper": {"label": "upper bound", "color": "#8ecae6", "line": "solid", "width": 3.5},
    "lower": {"label": "lower bound", "color": "#000000", "line": "solid", "width": 0.9},
    "joint2": {"label": "2-joint", "color": "#aa3377", "line": "dashdot", "marker": "D"},
    "joint4": {"label": "4-joint", "color": "#00604a", "line": "dashdot", "marker": "v"},
}


def line(curve="upper", experiment="krr10", regime="low", **changes):
    names = {"experiment": experiment, "regime": regime, "curve": curve}
    return {**names, **LOOKS[curve], **changes}


def panel(*lines, title="a panel"):
    return {"title": title, "lines": list(lines)}


def grid(experiments=("krr10",), regimes=("low",), curves=tuple(LOOKS)):
    """A row an experiment, a column a regime, as in Figures 2 and 3."""
    return [
        [
            panel(
                *(line(curve, experiment, regime) for curve in curves),
                title=rf"{experiment}, {regime} $\varepsilon_0$ = {EPS0[regime]:g}",
            )
            for regime in regimes
        ]
        for experiment in experiments
    ]


def overlay():
    """Five upper bounds and the five lower bounds under them, in both regimes."""
    looks = zip("s^oDv", ("solid", "dashed", "dotted", "dashdot", "solid"), strict=True)
    rates = dict(zip((1, 0.8, 0.5, 0.3, 0.1), looks, strict=True))
    return [
        [
            panel(
                *(
                    line(curve, f"rate{rate}", regime, label=f"{curve}, rate {rate}", **look)
                    for rate, (marker, dashes) in rates.items()
                    for curve, look in (("upper", {"marker": marker}), ("lower", {"line": dashes}))
                ),
                title=rf"10-RR, {regime} $\varepsilon_0$ = {EPS0[regime]:g}",
            )
            for regime in EPS0
        ]
    ]


def every_line(panels):
    return [line for row in panels for panel in row for line in panel["lines"]]


def data(panels, n=(1000, 3162, 10_000, 31_623, 100_000)):
    """Curves of the right shape, in the columns that figures read; every value is its own."""
    n = np.array(n)
    names = ("experiment", "regime", "curve")
    curves = dict.fromkeys(tuple(line[name] for name in names) for line in every_line(panels))
    tables = []
    for i, key in enumerate(curves):
        facts = dict(zip(names, key, strict=True))
        eps = EPS0[facts["regime"]] * (3.0 - 2.5 * i / len(curves)) / np.sqrt(n)
        ends = {"epsilon_lower": 0.999 * eps, "epsilon_upper": 1.001 * eps}
        bound = facts["curve"] if facts["curve"] in ("lower", "clone") else "upper"
        tables.append(pd.DataFrame({**facts, "bound": bound, "delta": 1e-6, "n": n, **ends}))
    return pd.concat(tables, ignore_index=True)


def drawn_in(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def legend_labels(fig):
    (legend,) = fig.legends
    return [text.get_text() for text in legend.get_texts()]


def test_lines_show_each_curve_at_the_end_that_bounds_the_truth():
    panels = grid(["krr10", "laplace"], ["low", "large"])
    frame = data(panels)
    fig = figures.figure(frame.sample(frac=1.0, random_state=1), panels)
    for ax, shown in zip(fig.axes, itertools.chain(*panels), strict=True):
        assert len(ax.get_lines()) == len(shown["lines"])
        for line in shown["lines"]:
            names = [line[name] for name in ("experiment", "regime", "curve")]
            rows = frame[(frame[["experiment", "regime", "curve"]] == names).all(axis="columns")]
            eps = rows["epsilon_lower"] if line["curve"] == "lower" else rows["epsilon_upper"]
            drawn = drawn_in(ax)[line["label"]]
            np.testing.assert_array_equal(drawn.get_xdata(), rows["n"])
            np.testing.assert_allclose(drawn.get_ydata(), [math.expm1(x) for x in eps], rtol=1e-15)


def test_tiny_losses_keep_their_digits():
    panels = grid(curves=["upper"])
    frame = data(panels)
    frame["epsilon_upper"] = 1e-12
    drawn = figures.figure(frame, panels).axes[0].get_lines()[0]
    np.testing.assert_allclose(drawn.get_ydata(), 1e-12 + 0.5e-24, rtol=1e-15)


def test_the_end_that_is_not_drawn_may_be_absent():
    panels = grid(curves=["lower", "clone"])
    frame = data(panels)
    frame.loc[frame["curve"] == "lower", "epsilon_upper"] = math.nan
    frame.loc[frame["curve"] == "clone", "epsilon_lower"] = math.nan
    for drawn in figures.figure(frame, panels).axes[0].get_lines():
        assert np.isfinite(drawn.get_ydata()).all()


def test_panels_are_titled_and_logarithmic():
    panels = grid(["krr10", "oue"], ["low", "large"], ["upper"])
    fig = figures.figure(data(panels), panels)
    assert [ax.get_title() for ax in fig.axes] == [
        r"krr10, low $\varepsilon_0$ = 0.1",
        r"krr10, large $\varepsilon_0$ = 4",
        r"oue, low $\varepsilon_0$ = 0.1",
        r"oue, large $\varepsilon_0$ = 4",
    ]
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in fig.axes} == {("log", "log")}


def test_panels_share_the_y_axis_of_their_column_and_one_x_axis():
    panels = grid(["krr10", "oue"], ["low", "large"], ["upper"])
    left, right, below_left, below_right = figures.figure(data(panels), panels).axes
    assert left.get_ylim() == below_left.get_ylim()
    assert right.get_ylim() == below_right.get_ylim()
    assert left.get_ylim() != right.get_ylim()
    assert len({ax.get_xlim() for ax in (left, right, below_left, below_right)}) == 1


def test_lines_look_as_they_are_told():
    panels = grid()
    drawn = drawn_in(figures.figure(data(panels), panels).axes[0])
    for look in LOOKS.values():
        line = drawn[look["label"]]
        dashes = {"solid": "-", "dashed": "--", "dashdot": "-."}[look["line"]]
        assert line.get_linestyle() == dashes
        assert line.get_color() == look["color"]
        assert line.get_marker() == look.get("marker", "")
        assert line.get_linewidth() == look.get("width", line.get_linewidth())


@pytest.mark.parametrize("curves", [["upper", "lower"], ["lower", "upper"]])
def test_bounds_that_coincide_are_both_seen(curves, tmp_path):
    panels = grid(curves=curves)
    frame = data(panels)
    frame["epsilon_lower"] = frame["epsilon_upper"] = 0.1 / np.sqrt(frame["n"])
    for drawn in ("both", "neither"):
        # A grey pair shows how much black and blue there is apart from the panel's lines.
        if drawn == "neither":
            panels = [[panel(*(line(curve, color="#cccccc") for curve in curves))]]
        figures.draw(frame, panels, [tmp_path / f"{drawn}.png"])
    count = {}
    for drawn in ("both", "neither"):
        with Image.open(tmp_path / f"{drawn}.png") as image:
            pixels = np.asarray(image.convert("RGB"))
        below_the_legend = pixels[pixels.shape[0] // 4 :]
        for name in ("upper", "lower"):
            color = np.round(255 * np.array(to_rgb(LOOKS[name]["color"])))
            count[drawn, name] = np.count_nonzero((below_the_legend == color).all(axis=-1))
    for name in ("upper", "lower"):
        assert count["both", name] - count["neither", name] > 300


def test_a_curve_of_one_point_is_seen():
    panels = grid()
    for drawn in figures.figure(data(panels, n=[1000]), panels).axes[0].get_lines():
        assert drawn.get_marker() not in ("", "None")
        first, step = drawn.get_markevery()
        assert len(range(1)[first::step]) == 1


def test_panels_may_show_different_lines_and_the_legend_lists_all_once():
    panels = [
        [panel(line("clone"), line("upper")), panel(line("upper", regime="large"))],
        [panel(line("lower"), line("upper")), panel(line("joint2"), line("clone"))],
    ]
    fig = figures.figure(data(panels), panels)
    assert [list(drawn_in(ax)) for ax in fig.axes] == [
        ["clone", "upper bound"],
        ["upper bound"],
        ["lower bound", "upper bound"],
        ["2-joint", "clone"],
    ]
    assert legend_labels(fig) == ["clone", "upper bound", "lower bound", "2-joint"]


def test_lines_of_one_panel_may_share_a_label():
    lines = [line("lower", f"rate{rate}", label="lower bounds") for rate in (1, 0.5, 0.1)]
    panels = [[panel(*lines, line("upper", "rate1"))]]
    fig = figures.figure(data(panels), panels)
    assert len(fig.axes[0].get_lines()) == 4
    assert legend_labels(fig) == ["lower bounds", "upper bound"]


@pytest.mark.parametrize(
    "change", [{"color": "red"}, {"line": "dotted"}, {"marker": "x"}, {"width": 2.0}]
)
def test_lines_with_one_label_and_two_looks_are_refused(change):
    panels = [[panel(line("clone")), panel(line("clone", regime="large", **change))]]
    with pytest.raises(ValueError, match=r"^lines with the label 'clone' must look alike, got "):
        figures.figure(data(panels), panels)


def test_looks_that_are_told_or_left_out_may_be_alike():
    default = figures.figure(data(grid()), grid()).axes[0].get_lines()[0]
    told = {"width": default.get_linewidth(), "marker": ""}
    panels = [[panel(line("hoeffding")), panel(line("hoeffding", **told))]]
    assert legend_labels(figures.figure(data(panels), panels)) == ["blanket, Hoeffding"]


@pytest.mark.parametrize("sizes", [[2, 1], [1, 2], [2, 2, 1], [1, 0], [0], []])
def test_rows_of_different_length_or_none_are_refused(sizes):
    panels = [[panel(line())] * size for size in sizes]
    with pytest.raises(ValueError, match=r"^rows of panels must be equally long, and not empty"):
        figures.figure(data([[panel(line())]]), panels)


def test_a_panel_without_lines_is_refused():
    panels = [[panel(line()), panel(title="nothing")]]
    with pytest.raises(
        ValueError, match=r"^panel 'nothing' must have at least one line, got none$"
    ):
        figures.figure(data(panels), panels)


def assert_everything_has_its_place(fig):
    fig.draw_without_rendering()
    assert fig.get_figwidth() <= 7.0
    assert fig.get_figheight() <= 9.5
    labels = [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in labels) >= 8.0

    titles = [text for text in fig.texts if text.get_text()]
    boxes = [artist.get_window_extent() for artist in (*fig.legends, *titles)]
    boxes += [ax.get_tightbbox() for ax in fig.axes]
    inside = fig.bbox.padded(1.0)
    for box in boxes:
        assert Bbox.intersection(box, inside).bounds == pytest.approx(box.bounds)
    assert_apart(boxes)
    for ax in fig.axes:
        ticks = [*ax.get_xticklabels(which="both"), *ax.get_yticklabels(which="both")]
        boxes = [text.get_window_extent() for text in ticks if text.get_visible()]
        seen = ax.bbox.padded(40.0)
        assert_apart([box for box in boxes if box.width and Bbox.intersection(box, seen)])


def assert_apart(boxes):
    for one, other in itertools.combinations(boxes, 2):
        overlap = Bbox.intersection(one, other)
        assert overlap is None or min(overlap.width, overlap.height) < 1.0


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (3, 2), (6, 1)])
def test_everything_has_its_place_on_a_printed_page(rows, columns):
    experiments = ["krr10", "blh", "rappor", "oue", "laplace", "hadamard"]
    panels = grid(experiments[:rows], ["large", "low"][:columns])
    assert_everything_has_its_place(figures.figure(data(panels), panels))


@pytest.mark.parametrize(("curves", "rows"), [(3, 1), (7, 2)])
def test_the_legend_takes_as_few_rows_as_fit(curves, rows):
    panels = grid(regimes=["low", "large"], curves=list(LOOKS)[:curves])
    fig = figures.figure(data(panels), panels)
    fig.draw_without_rendering()
    (legend,) = fig.legends
    heights = [text.get_window_extent().y0 for text in legend.get_texts()]
    # Rows are some 30 pixels apart; descenders make less of a difference.
    assert np.count_nonzero(np.diff(np.sort(heights)) > 8.0) + 1 == rows


def test_the_axis_tells_which_delta():
    panels = overlay()
    fig = figures.figure(data(panels).assign(delta=2e-9), panels)
    assert fig.get_supxlabel() == r"number of users $n$, $\delta$ = $2 \cdot 10^{-9}$"


def test_ten_lines_have_their_place_in_one_row_of_panels():
    panels = overlay()
    fig = figures.figure(data(panels), panels)
    assert len(legend_labels(fig)) == 10
    assert_everything_has_its_place(fig)


@pytest.mark.parametrize("rows", [1, 2])
def test_an_axis_with_one_power_of_ten_has_more_labels_and_room_for_them(rows):
    panels = grid(["krr10", "blh"][:rows], ["low", "large"], ["upper"])
    frame = data(panels, n=(1200, 2000, 8000))
    frame["epsilon_upper"] = np.log1p(0.8 / np.sqrt(frame["n"]))
    fig = figures.figure(frame, panels)
    assert_everything_has_its_place(fig)
    for axis in (fig.axes[-1].xaxis, fig.axes[-1].yaxis):
        low, high = axis.get_view_interval()
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        shown = [tick for tick in ticks if tick.label1.get_text() and low < tick.get_loc() < high]
        assert len(shown) >= 2


def spoil(frame, column, value, bound="upper"):
    frame = frame.astype({column: object})
    frame.loc[frame.index[frame["bound"] == bound][2], column] = value
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
    panels = grid(["oue"], ["low"], ["clone", "upper"])
    where = "in curve 'upper' of experiment 'oue' in regime 'low'"
    with pytest.raises(ValueError, match=f"^{words} {where}$"):
        figures.figure(spoil(data(panels), column, value), panels)


def test_a_bad_lower_bound_is_refused():
    panels = grid(curves=["upper", "lower"])
    with pytest.raises(ValueError, match="got nan in curve 'lower'"):
        figures.figure(spoil(data(panels), "epsilon_lower", math.nan, "lower"), panels)


@pytest.mark.parametrize("absent", ["experiment", "regime", "curve"])
def test_a_missing_curve_is_no_silent_hole(absent):
    panels = grid(["krr10", "blh"], ["low", "large"], ["upper", "joint4"])
    names = {"experiment": "blh", "regime": "large", "curve": "joint4"}
    frame = data(panels)
    frame = frame[frame[absent] != names[absent]]
    with pytest.raises(ValueError, match=f"'{names[absent]}'.* must be among the data"):
        figures.figure(frame, panels)


def test_a_curve_missing_from_one_panel_is_named():
    panels = grid(["krr10", "blh"], ["low", "large"], ["upper", "joint4"])
    frame = data(panels)
    hole = (frame["experiment"] == "blh") & (frame["regime"] == "low")
    words = "curve 'joint4' of experiment 'blh' in regime 'low' must be among the data"
    with pytest.raises(ValueError, match=words):
        figures.figure(frame[~(hole & (frame["curve"] == "joint4"))], panels)


def distribution(value, cdf):
    return pd.DataFrame({"distribution": "some", "value": value, "cdf": cdf})


def laplace(steps=2000):
    """Of Laplace noise, ε₀ = 1 and ε = 0.1: L at the quantiles of a report from the blanket.

    The blanket's distribution function is e^{y − 1/2}/2 up to y = 1/2, and symmetric about it; L
    falls with y, and is the same for all y ≤ 0 and for all y ≥ 1: there it has its atoms.
    """
    share = np.linspace(0.0, 1.0, steps + 1)[:-1]
    with np.errstate(divide="ignore"):
        y = 0.5 + np.where(share < 0.5, np.log(2.0 * share), -np.log(2.0 * (1.0 - share)))
    log_ratio = np.clip(1.0 - 2.0 * y, -1.0, 1.0)
    of_0, of_1 = np.exp(np.maximum(log_ratio, 0.0)), np.exp(np.maximum(-log_ratio, 0.0))
    value = math.exp(-0.5) * (of_0 - math.exp(0.1) * of_1)
    return distribution(value[::-1], 1.0 - share[::-1])


def laplace_cdf(t):
    """Appendix B of the paper, for ε₀ = 1 and ε = 0.1."""
    gamma, e = math.exp(-0.5), math.exp(0.1)
    if t < gamma * (1.0 - math.e * e):
        return 0.0
    if t < gamma * (1.0 - e):
        return 0.5 * math.sqrt(e / (1.0 - t / gamma))
    if t < gamma * (math.e - e):
        return 1.0 - 0.5 / math.sqrt(t / gamma + e)
    return 1.0


def vertices(frame):
    """The corners of the line that is drawn."""
    (drawn,) = distribution_figure.figure(frame, "").axes[0].get_lines()
    return drawn.get_path().vertices


def test_a_distribution_function_is_drawn_as_steps():
    frame = distribution([-1.0, 0.5, 3.0], [0.25, 0.5, 1.0])
    np.testing.assert_array_equal(
        vertices(frame)[1:-2],
        [[-1, 0], [-1, 0.25], [0.5, 0.25], [0.5, 0.5], [3, 0.5], [3, 1]],
    )
    np.testing.assert_array_equal(vertices(frame.sample(frac=1.0, random_state=3)), vertices(frame))


def test_beyond_the_steps_it_is_seen_to_be_0_and_1():
    for value in ([-1.0, 0.5, 3.0], [2.0, 2.0, 2.0]):
        frame = distribution(value, [0.25, 0.5, 1.0])
        ax = distribution_figure.figure(frame, "").axes[0]
        (left, zero), *_, (right, one) = vertices(frame)
        assert (zero, one) == (0.0, 1.0)
        assert left < value[0] - 0.01
        assert right > value[-1] + 0.01
        assert ax.get_xlim() == (left, right)
        low, high = ax.get_ylim()
        assert -0.1 < low < 0.0
        assert 1.0 < high < 1.1


def test_the_laplace_distribution_is_drawn_with_its_atoms():
    corners = vertices(laplace())
    ends = np.array([corners[0, 0] + 1e-9, corners[-1, 0] - 1e-9])
    for t in [*ends, *np.linspace(-1.2, 0.95, 100)]:
        height = corners[corners[:, 0] <= t][-1, 1]
        assert height == pytest.approx(laplace_cdf(t), abs=1e-3)
    # Upright stretches are as high as the atoms are heavy, e^{−1/2}/2.
    for place in (
        math.exp(-0.5) * (1.0 - math.exp(1.1)),
        math.exp(-0.5) * (math.e - math.exp(0.1)),
    ):
        heights = corners[abs(corners[:, 0] - place) < 1e-12, 1]
        assert np.ptp(heights) == pytest.approx(0.5 * math.exp(-0.5), abs=1e-3)


def test_a_distribution_is_titled_and_has_its_place():
    fig = distribution_figure.figure(laplace(), r"Laplace, $\varepsilon_0$ = 1")
    assert fig.axes[0].get_title() == r"Laplace, $\varepsilon_0$ = 1"
    assert fig.axes[0].get_ylabel() == r"$\Pr\,[L \leq t]$"
    assert "$t$" in fig.axes[0].get_xlabel()
    assert_everything_has_its_place(fig)


@pytest.mark.parametrize(
    ("value", "cdf", "words"),
    [
        ([0.0, math.nan], [0.5, 1.0], "value must be finite, got nan"),
        ([0.0, "far"], [0.5, 1.0], "value must be finite, got nan"),
        ([0.0, math.inf], [0.5, 1.0], "value must be finite, got inf"),
        ([0.0, 1.0], [math.nan, 1.0], "cdf must be finite and at least 0, got nan"),
        ([0.0, 1.0], ["", 1.0], "cdf must be finite and at least 0, got nan"),
        ([0.0, 1.0], [-0.5, 1.0], "cdf must be finite and at least 0, got -0.5"),
        ([0.0, 1.0, 2.0], [0.5, 0.4, 1.0], "cdf must be no less than at the value before, got 0.4"),
        ([1.0, 0.0], [0.5, 1.0], "cdf must be no less than at the value before, got 0.5"),
        ([0.0, 1.0], [0.5, 0.75], "cdf must be 1 at the largest value, got 0.75"),
        ([0.0, 1.0], [0.5, 1.25], "cdf must be 1 at the largest value, got 1.25"),
        ([0.0, 1.0], [0.5, 1.0 - 1e-8], "cdf must be 1 at the largest value, got 0.99999999"),
    ],
)
def test_what_is_no_distribution_function_is_refused(value, cdf, words):
    with pytest.raises(ValueError, match=f"^{words} in distribution 'some'$"):
        distribution_figure.figure(distribution(value, cdf), "")


def test_the_last_step_may_miss_1_by_rounding():
    assert vertices(distribution([0.0, 1.0], [0.5, 1.0 - 1e-12]))[-1, 1] == 1.0


@pytest.mark.parametrize(("names", "words"), [(["one", "two"], r"\['one', 'two'\]"), ([], r"\[\]")])
def test_anything_but_one_distribution_is_refused(names, words):
    frame = pd.DataFrame({"distribution": names, "value": 1.0, "cdf": 1.0})
    with pytest.raises(ValueError, match=f"^the data must be of one distribution, got {words}$"):
        distribution_figure.figure(frame, "")


def draw_curves(paths):
    figures.draw(data(grid()), grid(), paths)


def draw_distribution(paths):
    distribution_figure.draw(laplace(), "Laplace", paths)


DRAWINGS = {"curves": draw_curves, "distribution": draw_distribution}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_other_formats_are_refused_before_anything_is_written(draw, tmp_path):
    with pytest.raises(ValueError, match=r"fig\.svg must be one of \.pdf, \.png, got '\.svg'"):
        draw([tmp_path / "fig.pdf", tmp_path / "fig.svg"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(draw, tmp_path, monkeypatch):
    def fill_the_disk(_fig, path, **_options):
        Path(path).write_bytes(b"half a fig")
        raise OSError("no space left")

    monkeypatch.setattr(Figure, "savefig", fill_the_disk)
    path = tmp_path / "fig.pdf"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="no space left"):
        draw([path])
    assert [file.name for file in tmp_path.iterdir()] == ["fig.pdf"]
    assert path.read_bytes() == b"old"


DRAW_AGAIN = """
import sys
from pathlib import Path
import test_figures as t
assert t.mpl.rcParams["font.size"] == 20.0
for name, draw in t.DRAWINGS.items():
    draw([Path(sys.argv[1], f"{name}.{kind}") for kind in ("png", "pdf")])
"""
HOSTILE_RC = """
font.size: 20
font.family: serif
lines.linewidth: 9
lines.markersize: 30
axes.facecolor: black
axes.formatter.min_exponent: 9
axes.labelpad: 40
grid.linestyle: :
legend.fontsize: 30
path.simplify: False
pdf.compression: 0
pdf.fonttype: 3
savefig.bbox: tight
savefig.dpi: 40
savefig.transparent: True
backend: pdf
"""


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    before = dict(mpl.rcParams)
    for name, draw in DRAWINGS.items():
        draw([folder / f"{name}.pdf", folder / f"{name}.png"])
    assert dict(mpl.rcParams) == before
    return contents(folder)


def test_each_path_is_written_and_nothing_else(drawn):
    names = ["curves.pdf", "curves.png", "distribution.pdf", "distribution.png"]
    assert sorted(drawn) == names


def test_a_second_drawing_has_the_same_bytes(drawn, tmp_path):
    for name in drawn:
        DRAWINGS[name.partition(".")[0]]([tmp_path / name])
    assert contents(tmp_path) == drawn


def test_another_process_with_other_settings_draws_the_same_bytes(drawn, tmp_path):
    (tmp_path / "matplotlibrc").write_text(HOSTILE_RC, encoding="utf-8")
    unset = ("SOURCE_DATE_EPOCH", "MPLBACKEND", "DISPLAY")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("src", "workflow", "tests")),
        "PYTHONHASHSEED": "12345",
        "TZ": "Asia/Tokyo",
    }
    folder = tmp_path / "again"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", DRAW_AGAIN, str(folder)], env=env, check=True)
    assert contents(folder) == drawn


@pytest.mark.parametrize("name", DRAWINGS)
def test_files_carry_no_dates_nor_versions(name, drawn, tmp_path):
    pdf, png = drawn[f"{name}.pdf"], drawn[f"{name}.png"]
    for word in (b"CreationDate", b"ModDate", b"Producer", mpl.__version__.encode()):
        assert word not in pdf
    assert b"/Creator (shufflebounds)" in pdf
    (tmp_path / "fig.png").write_bytes(png)
    with Image.open(tmp_path / "fig.png") as image:
        assert image.text == {"Software": "shufflebounds"}
    assert b"tIME" not in png


@pytest.mark.parametrize("name", DRAWINGS)
def test_fonts_are_embedded_truetype(name, drawn):
    pdf = drawn[f"{name}.pdf"]
    assert b"/FontFile2" in pdf
    assert b"DejaVuSans" in pdf
    assert b"/Type3" not in pdf


def lightness(color):
    """Relative luminance, 0 (black) to 1, of what a greyscale printer makes of a colour."""
    return float(np.dot(to_rgb(color), [0.299, 0.587, 0.114]))


@pytest.mark.parametrize("name", CONFIG["figures"])
def test_lines_drawn_together_differ_in_greyscale(name):
    panels = matrix.figure_panels(CONFIG, name)
    looks = {line["label"]: {"width": 1.2, **line} for line in every_line(panels)}
    for one, other in itertools.combinations(looks.values(), 2):
        if (one["line"], one.get("marker")) == (other["line"], other.get("marker")):
            thin, thick = sorted([one, other], key=lambda look: look["width"])
            assert thick["width"] > 2 * thin["width"]
            assert lightness(thick["color"]) - lightness(thin["color"]) > 0.4
    assert max(lightness(look["color"]) for look in looks.values()) < 0.8


def test_kinds_of_curves_have_their_kinds_of_lines():
    for curve, look in CONFIG["style"]["curves"].items():
        entry = CONFIG["curves"][curve]
        if entry.get("k_joint", 1) > 1:
            expected = "dashdot"
        else:
            expected = "solid" if entry["bound"] in ("upper", "lower") else "dashed"
        assert look["line"] == expected
