import os
import subprocess
import sys

import matplotlib as mpl
import pytest
from drawn_data import data, grid, laplace
from PIL import Image
from repository import ROOT

from reproduction.papers.su2026.amplification_law import law_sheet
from shufflebounds.curves.plotting import figures
from shufflebounds.curves.plotting.layout import Print
from shufflebounds.curves.plotting.sheets import of_curves

KINDS = ("pdf", "png", "svg")


def draw_curves(paths):
    layout = grid(curves=["clone", "upper"])
    figures.draw(of_curves(data(layout), layout), paths)


def draw_distribution(paths):
    figures.draw(law_sheet(laplace(), "Laplace"), paths)


DRAWINGS = {"curves": draw_curves, "distribution": draw_distribution}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_other_formats_are_refused_before_anything_is_written(draw, tmp_path):
    with pytest.raises(
        ValueError, match=r"fig\.eps must be one of \.pdf, \.png, \.svg, got '\.eps'"
    ):
        draw([tmp_path / "fig.pdf", tmp_path / "fig.eps"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(draw, tmp_path, monkeypatch):
    def fill_the_disk(_descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fill_the_disk)
    path = tmp_path / "fig.pdf"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="no space left"):
        draw([path])
    assert [file.name for file in tmp_path.iterdir()] == ["fig.pdf"]
    assert path.read_bytes() == b"old"


DRAW_AGAIN = """
import sys
from pathlib import Path
import test_figure_files as t
assert t.mpl.rcParams["font.size"] == 20.0
for name, draw in t.DRAWINGS.items():
    draw([Path(sys.argv[1], f"{name}.{kind}") for kind in ("svg", "png", "pdf")])
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
svg.fonttype: none
svg.hashsalt: something else
backend: pdf
"""


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    before = dict(mpl.rcParams)
    for name, draw in DRAWINGS.items():
        draw([folder / f"{name}.{kind}" for kind in KINDS])
    assert dict(mpl.rcParams) == before
    return contents(folder)


def test_each_path_is_written_and_nothing_else(drawn):
    assert sorted(drawn) == [f"{name}.{kind}" for name in DRAWINGS for kind in KINDS]


def test_another_process_with_other_settings_draws_the_same_bytes(drawn, tmp_path):
    (tmp_path / "matplotlibrc").write_text(HOSTILE_RC, encoding="utf-8")
    unset = ("SOURCE_DATE_EPOCH", "MPLBACKEND", "DISPLAY")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "PYTHONPATH": os.pathsep.join(
            str(ROOT / name)
            for name in ("src", "workflow", "tests/core/curves/plotting", "tests/support")
        ),
        "PYTHONHASHSEED": "12345",
        "TZ": "Asia/Tokyo",
    }
    folder = tmp_path / "again"
    folder.mkdir()
    subprocess.run([sys.executable, "-c", DRAW_AGAIN, str(folder)], env=env, check=True)
    assert contents(folder) == drawn


@pytest.mark.parametrize("name", DRAWINGS)
def test_files_carry_no_dates_nor_versions(name, drawn, tmp_path):
    pdf, png, svg = (drawn[f"{name}.{kind}"] for kind in KINDS)
    for word in (b"CreationDate", b"ModDate", b"Producer", mpl.__version__.encode()):
        assert word not in pdf
    assert b"/Creator (shufflebounds)" in pdf
    (tmp_path / "fig.png").write_bytes(png)
    with Image.open(tmp_path / "fig.png") as image:
        assert image.text == {"Software": "shufflebounds"}
    assert b"tIME" not in png
    assert b"<dc:date>" not in svg
    assert b"Matplotlib" not in svg
    assert b"<dc:title>shufflebounds</dc:title>" in svg


@pytest.mark.parametrize("name", DRAWINGS)
def test_fonts_are_embedded_truetype(name, drawn):
    pdf = drawn[f"{name}.pdf"]
    assert b"/FontFile2" in pdf
    assert b"STIXGeneral" in pdf
    assert b"/Type3" not in pdf


def test_a_paper_decides_on_widths_and_fonts(tmp_path):
    layout = grid(curves=["clone", "upper"])
    sheet, is_wide = of_curves(data(layout), layout), len(layout.panels[0]) > 1
    style = Print(column_width=5.0, page_width=6.0, fonts=("DejaVu Serif",))
    figures.draw(sheet, [tmp_path / "a.png", tmp_path / "a.svg"], style=style)
    figures.draw(sheet, [tmp_path / "b.svg"])
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width == 200 * (6 if is_wide else 5)
    texts = [(tmp_path / f"{name}.svg").read_text("utf-8") for name in "ab"]
    assert ["DejaVuSerif" in text for text in texts] == [True, False]
    with pytest.raises(ValueError, match="fonts must be installed, got 'No Such Font'"):
        figures.draw(sheet, [tmp_path / "c.png"], style=Print(fonts=("No Such Font",)))
    assert not (tmp_path / "c.png").exists()
