"""What notebooks show: whole, small, escaped, and never more than is proven."""

import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shufflebounds as sb
from shufflebounds import KRR, Enclosure, Enclosures, notebook
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.enclosure import outward
from shufflebounds.core.setting import Axis, Grid, Setting
from shufflebounds.curves import curve as curves
from shufflebounds.curves.specification import Specification
from shufflebounds.curves.storage import CurveName
from shufflebounds.protocols import registry


def cells(html: str) -> list[list[str]]:
    """The rows of a table, which must be well-formed."""
    table = ET.fromstring(html)
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def caption(html: str) -> str:
    return ET.fromstring(html).findtext("caption")


def compute(bound="blanket", points=3, **setting) -> curves.Curve:
    wanted = Specification(
        BOUNDS[bound],
        registry.parse_sent({"type": "krr", "k": 4}, 1),
        Setting(**{"eps0": 1.0, "delta": 1e-6, **setting}),
        Axis("n", Grid(100, 1000, points, "geometric")),
    )
    return curves.compute(CurveName("one", "two", "three"), wanted)


@given(st.floats(allow_nan=False), st.booleans())
def test_digits_are_rounded_outward(value, up):
    shown = Decimal(outward(value, up=up))
    assert shown >= Decimal(value) if up else shown <= Decimal(value)
    if 1e-300 < abs(value) < 1e300:
        assert abs(Fraction(shown) / Fraction(value) - 1) < Fraction(1, 99_999)


def test_an_enclosure_is_shown_as_an_interval():
    html = Enclosure(1 / 3, 2 / 3)._repr_html_()
    assert html == "<code>[0.333333, 0.666667]</code>"
    assert Enclosure(-1 / 3, float("inf"))._repr_html_() == "<code>[-0.333334, inf]</code>"


def test_enclosures_are_rows_and_only_the_first_are_shown():
    lower = np.linspace(0.1, 0.2, 40)
    html = Enclosures(lower, lower + 1e-9)._repr_html_()
    head, *rows, more = cells(html)
    assert head == ["", "lower", "upper"]
    assert more == ["… and 28 more"]
    for i, (number, low, high) in enumerate(rows):
        assert int(number) == i
        assert Decimal(low) <= Decimal(lower[i]) <= Decimal(lower[i] + 1e-9) <= Decimal(high)
    assert len(html) < 2000


def test_a_decomposition_shows_its_masses_and_what_is_left_over():
    blanket = KRR(3, np.log(2.0)).blanket()
    html = blanket._repr_html_()
    head, *rows = cells(html)
    assert head == ["", "a", "b", "c"]
    # Exactly: 1/2 for the true value, 1/4 for the others, and the blanket has a quarter of each.
    masses = sorted(tuple(map(float, row[1:])) for row in rows)
    assert masses == [(0.25, 0.25, 0.25), (0.25, 0.5, 0.25), (0.5, 0.25, 0.25)]
    assert "3 components" in caption(html)
    assert "1 − Σc = 0.25" in caption(html)


def test_a_curve_shows_its_enclosures():
    found = compute()
    html = found._repr_html_()
    head, *rows = cells(html)
    assert head == ["n", "epsilon lower", "epsilon upper"]
    assert [row[0] for row in rows] == ["100", "316", "1000"]
    for (_, low, high), point in zip(rows, found.points, strict=True):
        assert Decimal(low) <= Decimal(point.answer.enclosure.lower)
        assert Decimal(high) >= Decimal(point.answer.enclosure.upper)
    assert caption(html) == "4-RR: blanket (upper), ε₀ = 1, δ = 10⁻⁶"


def test_texts_are_escaped(monkeypatch):
    monkeypatch.setattr(KRR, "label", "<b>&\"'")
    html = compute("clone")._repr_html_()
    assert "<b>" not in html
    assert caption(html).startswith("<b>&\"'")


@pytest.mark.parametrize(("bound", "end"), [("blanket", "upper"), ("lower", "lower")])
def test_the_figure_of_a_curve_shows_the_end_that_counts(bound, end):
    found = compute(bound)
    (ax,) = notebook.figure(found).axes
    (drawn,) = ax.get_lines()
    ends = [getattr(point.answer.enclosure, end) for point in found.points]
    np.testing.assert_array_equal(drawn.get_xdata(), [100, 316, 1000])
    np.testing.assert_array_equal(drawn.get_ydata(), ends)


def test_curves_are_loaded_from_files_and_folders(tmp_path):
    made = [
        sb.curve(sb.KRR(3, 1.0), name, n=[100, 1000], delta=1e-6) for name in ("blanket", "lower")
    ]
    (tmp_path / "paper").mkdir()
    for each in made:
        curves.write(each, tmp_path / "paper" / f"{each.name.curve}.csv")
    (tmp_path / "paper" / "notes.csv").write_text("no,curve\n", encoding="utf-8")
    frame = notebook.load_curves(tmp_path)
    assert frame["bound"].tolist() == ["blanket", "blanket", "lower", "lower"]
    assert frame["epsilon_upper"].tolist() == [x.upper for each in made for x in each.enclosures]
    assert notebook.load_curves(tmp_path / "paper" / "lower.csv")["n"].tolist() == [100, 1000]
    with pytest.raises(ValueError, match=r"notes\.csv"):
        notebook.load_curves(tmp_path / "paper" / "notes.csv")
    (tmp_path / "empty").mkdir()
    for nothing in ([], [tmp_path / "empty"]):
        with pytest.raises(ValueError, match="got none"):
            notebook.load_curves(*nothing)


def test_frames_have_both_ends_and_the_points():
    found = sb.epsilon(sb.KRR(3, 1.0).blanket(), n=[100, 1000], delta=1e-6)
    frame = found.frame(n=[100, 1000], delta=1e-6)
    assert list(frame.columns) == ["n", "delta", "lower", "upper"]
    assert frame["upper"].tolist() == found.upper.tolist()
    for wrong in ({"n": [1, 2, 3]}, {"lower": [1, 2]}):
        with pytest.raises(ValueError, match=r"columns must|n must"):
            found.frame(**wrong)


def test_a_ranking_is_a_frame():
    ranking = sb.choose(4, n=10_000, eps=0.5, delta=1e-6, most_bits=2)
    frame = ranking.frame()
    assert frame["mechanism"].tolist() == [choice.name for choice in ranking.choices]
    assert frame["eps0"].tolist() == [choice.eps0.lower for choice in ranking.choices]
    assert frame["times_curator"].is_monotonic_increasing
