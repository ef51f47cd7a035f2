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

from shufflebounds import figures

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
STYLE = CONFIG["style"]
CURVES = list(CONFIG["curves"])
EXPERIMENTS = list(CONFIG["experiments"])


def layout(experiments=("krr10",), regimes=("low",), curves=CURVES):
    return {
        "experiments": list(experiments),
        "regimes": {name: CONFIG["regimes"][name] for name in regimes},
        "curves": list(curves),
    }


def data(plan, n=(1000, 3162, 10_000, 31_623, 100_000)):
    """Curves of the right shape, in the columns that figures read; every value is its own."""
    n = np.array(n)
    tables = []
    for i, experiment in enumerate(plan["experiments"]):
        for regime, facts in plan["regimes"].items():
            for j, curve in enumerate(plan["curves"]):
                eps = facts["eps0"] * (1 + 0.05 * i) * (3 - 0.3 * j) / np.sqrt(n)
                names = {"experiment": experiment, "regime": regime, "curve": curve}
                bound = CONFIG["curves"][curve]["bound"]
                ends = {"epsilon_lower": 0.999 * eps, "epsilon_upper": 1.001 * eps}
                tables.append(pd.DataFrame({**names, "bound": bound, "n": n, **ends}))
    return pd.concat(tables, ignore_index=True)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def panel(fig, plan, experiment, regime):
    position = plan["experiments"].index(experiment) * len(plan["regimes"]) + list(
        plan["regimes"]
    ).index(regime)
    return fig.axes[position]


def test_lines_show_each_curve_at_the_end_that_bounds_the_truth():
    plan = layout(["krr10", "laplace"], ["low", "large"])
    frame = data(plan)
    fig = figures.figure(frame.sample(frac=1.0, random_state=1), plan, STYLE)
    for (experiment, regime, curve), rows in frame.groupby(["experiment", "regime", "curve"]):
        line = lines(panel(fig, plan, experiment, regime))[STYLE["curves"][curve]["label"]]
        eps = rows["epsilon_lower"] if curve == "lower" else rows["epsilon_upper"]
        np.testing.assert_array_equal(line.get_xdata(), rows["n"])
        np.testing.assert_allclose(line.get_ydata(), [math.expm1(x) for x in eps], rtol=1e-15)


def test_tiny_losses_keep_their_digits():
    plan = layout(curves=["upper"])
    frame = data(plan)
    frame["epsilon_upper"] = 1e-12
    line = figures.figure(frame, plan, STYLE).axes[0].get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), 1e-12 + 0.5e-24, rtol=1e-15)


def test_the_end_that_is_not_drawn_may_be_absent():
    plan = layout(curves=["lower", "clone"])
    frame = data(plan)
    frame.loc[frame["curve"] == "lower", "epsilon_upper"] = math.nan
    frame.loc[frame["curve"] == "clone", "epsilon_lower"] = math.nan
    for line in figures.figure(frame, plan, STYLE).axes[0].get_lines():
        assert np.isfinite(line.get_ydata()).all()


def test_panels_are_titled_and_logarithmic():
    plan = layout(["krr10", "oue"], ["low", "large"], ["upper"])
    fig = figures.figure(data(plan), plan, STYLE)
    assert [ax.get_title() for ax in fig.axes] == [
        "10-RR, low $\\varepsilon_0$ = 0.1",
        "10-RR, large $\\varepsilon_0$ = 4",
        "OUE, low $\\varepsilon_0$ = 0.1",
        "OUE, large $\\varepsilon_0$ = 4",
    ]
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in fig.axes} == {("log", "log")}


def test_lines_look_as_the_style_says():
    plan = layout()
    drawn = lines(figures.figure(data(plan), plan, STYLE).axes[0])
    for look in (STYLE["curves"][curve] for curve in CURVES):
        line = drawn[look["label"]]
        dashes = {"solid": "-", "dashed": "--", "dashdot": "-.", "dotted": ":"}[look["line"]]
        assert line.get_linestyle() == dashes
        assert line.get_color() == look["color"]
        assert line.get_marker() == look.get("marker", "")
        assert line.get_linewidth() == look.get("width", line.get_linewidth())


def test_the_thin_lower_bound_lies_on_the_thick_upper_bound():
    for curves in (["upper", "lower"], ["lower", "upper"]):
        plan = layout(curves=curves)
        drawn = lines(figures.figure(data(plan), plan, STYLE).axes[0])
        assert drawn["lower bound"].get_zorder() > drawn["upper bound"].get_zorder()


def test_a_curve_of_one_point_is_seen():
    plan = layout()
    for line in figures.figure(data(plan, n=[1000]), plan, STYLE).axes[0].get_lines():
        assert line.get_marker() not in ("", "None")
        first, step = line.get_markevery()
        assert len(range(1)[first::step]) == 1


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 2), (3, 2), (6, 2)])
def test_everything_has_its_place_on_a_printed_page(rows, columns):
    plan = layout(EXPERIMENTS[:rows], ["large", "low"][:columns])
    fig = figures.figure(data(plan), plan, STYLE)
    fig.draw_without_rendering()
    assert fig.get_figwidth() <= 7.0
    assert fig.get_figheight() <= 9.5

    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        STYLE["curves"][curve]["label"] for curve in CURVES
    ]
    labels = [text for text in fig.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in labels) >= 8.0

    titles = [text for text in fig.texts if text.get_text()]
    boxes = [artist.get_window_extent() for artist in (legend, *titles)]
    boxes += [ax.get_tightbbox() for ax in fig.axes]
    inside = fig.bbox.padded(1.0)
    for box in boxes:
        assert Bbox.intersection(box, inside).bounds == pytest.approx(box.bounds)
    for one, other in itertools.combinations(boxes, 2):
        overlap = Bbox.intersection(one, other)
        assert overlap is None or min(overlap.width, overlap.height) < 1.0


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
    ],
)
def test_values_that_no_panel_can_show_are_refused(column, value, words):
    plan = layout(["oue"], ["low"], ["clone", "upper"])
    where = "in curve 'upper' of experiment 'oue' in regime 'low'"
    with pytest.raises(ValueError, match=f"^{words} {where}$"):
        figures.figure(spoil(data(plan), column, value), plan, STYLE)


def test_a_bad_lower_bound_is_refused():
    plan = layout(curves=["upper", "lower"])
    with pytest.raises(ValueError, match="got nan in curve 'lower'"):
        figures.figure(spoil(data(plan), "epsilon_lower", math.nan, "lower"), plan, STYLE)


@pytest.mark.parametrize("absent", ["experiment", "regime", "curve"])
def test_a_missing_curve_is_no_silent_hole(absent):
    plan = layout(["krr10", "blh"], ["low", "large"], ["upper", "joint4"])
    names = {"experiment": "blh", "regime": "large", "curve": "joint4"}
    frame = data(plan)
    frame = frame[frame[absent] != names[absent]]
    with pytest.raises(ValueError, match=f"'{names[absent]}'.* must be among the data"):
        figures.figure(frame, plan, STYLE)


def test_a_curve_missing_from_one_panel_is_named():
    plan = layout(["krr10", "blh"], ["low", "large"], ["upper", "joint4"])
    frame = data(plan)
    hole = (frame["experiment"] == "blh") & (frame["regime"] == "low") & (frame["bound"] == "upper")
    frame = frame[~(hole & (frame["curve"] == "joint4"))]
    words = "curve 'joint4' of experiment 'blh' in regime 'low' must be among the data"
    with pytest.raises(ValueError, match=words):
        figures.figure(frame, plan, STYLE)


def test_other_formats_are_refused_before_anything_is_written(tmp_path):
    plan = layout(curves=["upper"])
    with pytest.raises(ValueError, match=r"fig\.svg must be one of \.pdf, \.png, got '\.svg'"):
        figures.draw(data(plan), plan, STYLE, [tmp_path / "fig.pdf", tmp_path / "fig.svg"])
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    def fill_the_disk(_fig, path, **_options):
        Path(path).write_bytes(b"half a fig")
        raise OSError("no space left")

    monkeypatch.setattr(Figure, "savefig", fill_the_disk)
    plan, path = layout(curves=["upper"]), tmp_path / "fig.pdf"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="no space left"):
        figures.draw(data(plan), plan, STYLE, [path])
    assert [file.name for file in tmp_path.iterdir()] == ["fig.pdf"]
    assert path.read_bytes() == b"old"


DRAW_AGAIN = """
import sys
from pathlib import Path
import pandas as pd
import test_figures as t
assert t.mpl.rcParams["font.size"] == 20.0
plan = t.layout()
t.figures.draw(t.data(plan), plan, t.STYLE, [Path(path) for path in sys.argv[1:]])
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


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    plan = layout()
    folder = tmp_path_factory.mktemp("drawn")
    paths = [folder / "fig.pdf", folder / "fig.png"]
    before = dict(mpl.rcParams)
    figures.draw(data(plan), plan, STYLE, paths)
    assert dict(mpl.rcParams) == before
    assert sorted(folder.iterdir()) == paths
    return {path.suffix: path.read_bytes() for path in paths}


def test_a_second_drawing_has_the_same_bytes(drawn, tmp_path):
    plan = layout()
    for suffix, content in drawn.items():
        path = tmp_path / f"other{suffix}"
        figures.draw(data(plan), plan, STYLE, [path])
        assert path.read_bytes() == content


def test_another_process_with_other_settings_draws_the_same_bytes(drawn, tmp_path):
    (tmp_path / "matplotlibrc").write_text(HOSTILE_RC, encoding="utf-8")
    unset = ("SOURCE_DATE_EPOCH", "MPLBACKEND", "DISPLAY")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
        "PYTHONHASHSEED": "12345",
        "TZ": "Asia/Tokyo",
    }
    paths = [tmp_path / "fig.png", tmp_path / "fig.pdf"]
    subprocess.run([sys.executable, "-c", DRAW_AGAIN, *map(str, paths)], env=env, check=True)
    assert {path.suffix: path.read_bytes() for path in paths} == drawn


def test_files_carry_no_dates_nor_versions(drawn, tmp_path):
    for word in (b"CreationDate", b"ModDate", b"Producer", mpl.__version__.encode()):
        assert word not in drawn[".pdf"]
    assert b"/Creator (shufflebounds)" in drawn[".pdf"]
    (tmp_path / "fig.png").write_bytes(drawn[".png"])
    with Image.open(tmp_path / "fig.png") as image:
        assert image.text == {"Software": "shufflebounds"}
    assert b"tIME" not in drawn[".png"]


def test_fonts_are_embedded_truetype(drawn):
    assert b"/FontFile2" in drawn[".pdf"]
    assert b"DejaVuSans" in drawn[".pdf"]
    assert b"/Type3" not in drawn[".pdf"]


def lightness(color):
    """Relative luminance, 0 (black) to 1, of what a greyscale printer makes of a colour."""
    return float(np.dot(to_rgb(color), [0.299, 0.587, 0.114]))


@pytest.mark.parametrize("name", CONFIG["figures"])
def test_curves_drawn_together_differ_in_greyscale(name):
    looks = [STYLE["curves"][curve] for curve in CONFIG["figures"][name]["curves"]]
    for one, other in itertools.combinations(looks, 2):
        if (one["line"], one.get("marker")) == (other["line"], other.get("marker")):
            thin, thick = sorted([one, other], key=lambda look: look["width"])
            assert thick["width"] > 2 * thin["width"]
            assert lightness(thick["color"]) - lightness(thin["color"]) > 0.4
    assert max(lightness(look["color"]) for look in looks) < 0.8


def test_kinds_of_curves_have_their_kinds_of_lines():
    for curve, entry in CONFIG["curves"].items():
        if entry.get("k_joint", 1) > 1:
            expected = "dashdot"
        else:
            expected = "solid" if entry["bound"] in ("upper", "lower") else "dashed"
        assert STYLE["curves"][curve]["line"] == expected
