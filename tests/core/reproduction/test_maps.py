"""Maps of the best mechanism: what is computed, and what is drawn of it."""

import math

import pandas as pd
import pytest

import shufflebounds as sb
from reproduction import charts, descriptions
from reproduction.papers.accuracy import BestMechanisms
from shufflebounds.curves.plotting import figures

CODE = BestMechanisms.load_code()


# Variance of Gaussian noise over that of geometric noise, which a curator adds here: 2s² where δ is
# 10⁻⁸ at ε = 0.2, and 1/(2 sinh² ε/4).
GAUSSIAN = 1121.0 * 2.0 * math.sinh(0.05) ** 2


def test_a_cell_is_the_first_of_a_ranking():
    """Ratios to Gaussian noise by a program of its own (`test_ranking`), times `GAUSSIAN`."""
    given = BestMechanisms(values=(4,), n=(10_000,), eps=(0.2,), delta=1e-8)
    (row,) = CODE.compute(given, None).to_dict("records")
    assert row["best"] == "krr"
    assert row["lower"] < row["upper"] == row["krr"] == pytest.approx(1.32 * GAUSSIAN, rel=0.02)
    assert row["next"] == pytest.approx(3.29 * GAUSSIAN, rel=0.02)
    (cells,) = CODE.page(pd.DataFrame([row])).rows
    assert sb.delta(sb.KRR(4, float(cells[4])), 0.2, 10_000).upper <= 1e-8
    assert cells[:4] == ("0.2", "4", "10000", "krr")
    assert cells[6] == "hadamard_blocks 4"
    ratios = [float(cells[i]) for i in (5, 7, 8)]
    assert ratios == pytest.approx([row["upper"], row["next"], row["krr"]], rel=5e-3)


@pytest.fixture
def sheet():
    columns = ["eps", "values", "n", "best", "lower", "upper"]
    rows = [
        [0.2, 4, 100, "krr", 0.8, 0.9],
        [0.2, 4, 100_000, "krr", 1.0, 1.5],
        [0.2, 64, 100, "mine", 1.0, 1.1],
        [0.2, 64, 100_000, "krr", 1500.0, 1520.0],
        [1.0, 4, 100, "krr", 2.0, 2.1],
    ]
    return CODE.sheet(pd.DataFrame(rows, columns=columns).assign(delta=1e-8), "Best")


def test_a_map_is_drawn_cell_by_cell(sheet):
    first, second = figures.figure(sheet).axes
    assert {(*text.get_position(), text.get_text()) for text in first.texts} == {
        (0.5, 0.5, "0.900 R"),
        (1.5, 0.5, "1.50 R"),
        (0.5, 1.5, "1.10 m"),
        (1.5, 1.5, "1520 R"),
    }
    (mesh,) = first.collections
    # The lightest cell is that of the smallest error, the darkest that of the largest.
    lightness = [float(sum(color[:3])) for color in mesh.get_facecolors()]
    assert lightness == sorted(lightness, reverse=True) or lightness[3] == min(lightness)
    assert lightness[0] == max(lightness)
    assert [text.get_text() for text in first.get_yticklabels()] == ["4", "64"]
    assert [text.get_text() for text in second.texts] == ["2.10 R"]
    assert "R: Randomized response; m: mine" in first.figure.get_supxlabel()


def test_its_chart_names_rows_and_columns_and_holds_the_numbers(sheet):
    chart = charts.chart(sheet)
    first, second = chart["usermeta"]["panels"]
    assert (first["rows"], second["rows"]) == (["64", "4"], ["4"])
    cells = chart["datasets"]["panel_0"]
    assert [(cell["curve"], cell["x"], cell["text"]) for cell in cells] == [
        ("4", "100", "0.900 R"),
        ("4", "10⁵", "1.50 R"),
        ("64", "10⁵", "1520 R"),
        ("64", "100", "1.10 m"),
    ]
    assert cells[1]["value"] == "1.50 Randomized response"


def test_a_map_says_what_its_numbers_are(sheet):
    words = "Numbers: squared error over that of a trusted curator"
    assert words in figures.figure(sheet).get_supxlabel().replace("\n", " ")
    for panel in charts.chart(sheet)["concat"]:
        below = " ".join(panel["layer"][0]["encoding"]["x"]["title"])
        assert words in below
        assert "R: Randomized response; m: mine" in below
    assert sheet.common == ["δ = $10^{-8}$"]
    assert f"{words}. (a) ε = 0.2: a map of" in descriptions.alternative_text(sheet)
