"""Interactive figures: that they show what the printed ones do, and what one can do with them."""

import csv
import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import cache

import browsers
import numpy as np
import pytest
from drawn_data import EPS0, data, grid, laplace, line, panel, row, rows_of

from shufflebounds.reproduce.plotting import interactive
from shufflebounds.reproduce.plotting.layout import Line
from shufflebounds.reproduce.plotting.looks import BOUND_LOOKS, line_look
from shufflebounds.reproduce.plotting.sheets import Drawn, Sheet, View, of_curves, of_steps
from shufflebounds.reproduce.plotting.texts import plain

WINDOW = {"width": 1200, "height": 900}
PROGRAM = "window.vega = null;"


def figure(text):
    """What a page hands to its scripts."""
    return json.loads(re.search(r'id="figure">(.*?)</script>', text, re.DOTALL)[1])


def points(text):
    """Rows of each panel's data."""
    panels = {
        one["name"]: one["values"]
        for one in figure(text)["specification"]["data"]
        if one["name"].startswith("panel_")
    }
    return [list(csv.DictReader(panels[f"panel_{i}"].splitlines())) for i in range(len(panels))]


def several():
    """Two panels, a row of ratios, and a bound that is not proven."""
    panels = [
        panel(
            line("upper", regime=regime),
            line("clone", regime=regime),
            line("hoeffding", regime=regime, look=line_look("variation_ratio_analytic")),
            line("lower", regime=regime),
            subject="10-RR",
            setting=f"ε₀ = {EPS0[regime]:g}, δ = $10^{{-6}}$",
        )
        for regime in ("low", "large")
    ]
    ratios = tuple(replace(one, divisor=one.lines[0].curve) for one in panels)
    layout = row(*panels, transform="expm1", divisor="the upper bound")
    layout = replace(layout, panels=(*layout.panels, ratios))
    frame = data(layout)
    frame.loc[frame["curve"] == "hoeffding", "kind"] = "unproven"
    return frame, layout


@cache
def page_of_several():
    frame, layout = several()
    return interactive.page(of_curves(frame, layout), PROGRAM)


# What a page holds.


@pytest.mark.parametrize("transform", ["expm1", "log2_ratio"])
def test_points_are_those_of_the_sheet_and_ends_are_rounded_outward(transform):
    layout = grid(["krr10", "laplace"], ["low", "large"], transform=transform)
    frame = data(layout)
    sheet = of_curves(frame, layout)
    found = points(interactive.page(sheet, PROGRAM))
    for rows, view in zip(found, sheet.views, strict=True):
        for number, (_, curve) in enumerate(view.lines):
            own = [cells for cells in rows if int(cells["line"]) == number]
            x, y = ([float(cells[axis]) for cells in own] for axis in "xy")
            np.testing.assert_array_equal(x, curve.x)
            np.testing.assert_allclose(y, curve.y, rtol=1e-5)
            for cells, low, high in zip(own, curve.lower, curve.upper, strict=True):
                shown = Decimal(cells["lower"]), Decimal(cells["upper"])
                assert shown[0] <= Decimal(low) <= Decimal(high) <= shown[1]
                assert shown[0] > Decimal(low) * Decimal("0.99999")
                assert shown[1] < Decimal(high) * Decimal("1.00001")
    shuffled = of_curves(frame.sample(frac=1.0, random_state=2), layout)
    assert points(interactive.page(shuffled, PROGRAM)) == found


def test_an_absent_end_stays_absent_and_what_cannot_be_drawn_is_left_out():
    layout = grid(curves=["clone", "lower"])
    frame = data(layout)
    clone = frame["curve"] == "clone"
    frame.loc[clone, "epsilon_lower"] = math.nan
    frame.loc[clone & (frame["n"] == 3162), ["epsilon_lower", "epsilon_upper"]] = math.nan
    frame.loc[clone & (frame["n"] == 10_000), "epsilon_upper"] = 0.0
    (rows,) = points(interactive.page(of_curves(frame, layout), PROGRAM))
    own = [cells for cells in rows if cells["line"] == "0"]
    assert [cells["x"] for cells in own] == ["1000", "10000", "31623", "100000"]
    assert {cells["lower"] for cells in own} == {""}
    # No point of a logarithmic axis, but a value all the same.
    assert (own[1]["y"], own[1]["upper"]) == ("", "0")


def test_panels_and_legend_say_what_those_of_the_printed_figure_do():
    shown = figure(page_of_several())
    assert shown["lines"] == [
        "upper bound",
        "clone",
        "blanket, Hoeffding (not proven)",
        "lower bound",
    ]
    assert [one["title"] for one in shown["panels"]] == [
        f"({letter}) 10-RR, ε₀ = {eps0}, δ = 10⁻⁶"
        for letter, eps0 in zip("abcd", (0.1, 4, 0.1, 4), strict=True)
    ]
    assert [(one["y"], one["is_ratio"]) for one in shown["panels"]] == [
        *[("eᵋ − 1", False)] * 2,
        *[("ε / the upper bound", True)] * 2,
    ]


def test_what_is_not_proven_is_dotted():
    look = interactive.look(line(look=line_look("variation_ratio_analytic")))
    assert look.dashes == (1.6, 2.13)
    assert look.fill == "#ffffff"
    dashes = " ".join(f"{part:g}" for part in look.dashes)
    assert re.search(f'stroke-dasharray="{dashes}".*not proven', page_of_several())


def test_texts_are_text_wherever_they_stand():
    evil = "</script><script>alert(1)</script><!-- \" ' & {x}"
    layout = row(panel(line(label=evil), subject=evil, setting=evil), title=evil)
    text = interactive.page(of_curves(data(layout), layout), PROGRAM)
    assert text.count("<script") == text.count("</script>") == 3
    assert "<!--" not in text
    assert figure(text)["lines"] == [evil]


def test_a_page_asks_for_nothing_from_elsewhere():
    text = page_of_several()
    assert not re.search(r"<(?:link|img|iframe|script[^>]* src)", text)
    assert re.findall(r"https?://[^\"\s]*", text) == ["https://vega.github.io/schema/vega/v6.json"]


def test_steps_are_those_of_the_table():
    frame = laplace(20)
    sheet = of_steps(frame, "A law", "value $t$", r"$\Pr\,[L \leq t]$", "", "t")
    text = interactive.page(sheet, PROGRAM)
    (rows,) = points(text)
    x, y = ([float(cells[axis]) for cells in rows] for axis in "xy")
    np.testing.assert_array_equal(x[1:-1], frame["value"])
    np.testing.assert_allclose(y, [0.0, *frame["cdf"], 1.0], rtol=1e-5)
    assert figure(text)["panels"][0]["y"] == "Pr[L ≤ t]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"number of users $n$", "number of users n"),
        (r"$\delta$ = $10^{-6}$", "δ = 10⁻⁶"),
        (r"$2 \cdot 10^{5}$", "2 · 10⁵"),
        (r"$\log_2(\varepsilon_0/\varepsilon)$", "log₂(ε₀/ε)"),
        (r"$\varepsilon'$", "ε′"),
        (r"$e^{\varepsilon} - 1$", "eᵋ − 1"),
        (r"$\lambda$, $\Gamma$, $\omega/\gamma$", "λ, Γ, ω/γ"),
        (r"$x_1^0$, $a_{jk}$, $2^x$", "x₁⁰, a_(jk), 2^x"),
        (r"5 \$ and 6 \$", "5 $ and 6 $"),
        ("10-RR, D → ∞", "10-RR, D → ∞"),
    ],
)
def test_formulas_become_plain_text(text, expected):
    assert plain(text) == expected


# In a browser.


def lower_bounds_of_each():
    """Two mechanisms, whose lower bounds share a label, and the frame of their curves."""
    layout = row(
        panel(
            line("upper"),
            line("lower", label="of each", name="10-RR: lower bound"),
            line("lower", "blh", label="of each", name="BLH: lower bound"),
        )
    )
    return data(layout), layout


def maps():
    cells = Drawn(*np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.8, 1.4, 5.0], [0.9, 1.5, 5.1]]))
    view = View(
        title=["ε = 1"],
        lines=[(Line("10-RR", line_look("upper", "krr")), cells)],
        y_label="values",
        x_ticks=["100", "1000"],
        y_ticks=["4", "64"],
    )
    return Sheet("Maps", [[view, view]], "n", "n", "ratio")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder, program = tmp_path_factory.mktemp("pages"), interactive.program()
    frame, layout = several()
    sheets = {
        "curves": of_curves(frame, layout),
        "steps": of_steps(laplace(20), "A law", "$t$", "$F$", "", "t"),
        "each": of_curves(*lower_bounds_of_each()),
        "maps": maps(),
    }
    for name, sheet in sheets.items():
        text = interactive.page(sheet, program)
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def page(request, chromium, pages):
    url = (pages / getattr(request, "param", "curves.html")).as_uri()
    with browsers.opened(chromium, url, WINDOW) as page:
        page.locator("body[data-drawn]").wait_for()
        yield page


def strokes(page, number):
    """How each line of a panel is drawn: colour, width and dashes."""
    paths = page.locator("#chart .mark-line.role-mark path").all()
    per_panel = len(paths) // 4
    found = [
        [one.get_attribute(f"stroke{name}") for name in ("", "-width", "-dasharray")]
        for one in paths[number * per_panel : (number + 1) * per_panel]
    ]
    return sorted(map(tuple, found), key=str)


@pytest.mark.browser
def test_lines_look_as_the_legend_shows_them(page):
    samples = [
        [one.get_attribute(f"stroke{name}") for name in ("", "-width", "-dasharray")]
        for one in page.locator("#legend svg path:first-child").all()
    ]
    # No dashes are a dash without a gap.
    legend = sorted(
        ((color, width, dashes.replace(" ", ",") or "1,0") for color, width, dashes in samples),
        key=str,
    )
    for number in range(4):
        assert strokes(page, number) == legend


@pytest.mark.browser
@pytest.mark.parametrize("page", ["each.html"], indirect=True)
def test_every_curve_is_a_path_of_its_own(page):
    assert page.locator("#chart .mark-line.role-mark path").count() == 3
    cells = page.locator("#values tbody tr").nth(1).locator("td").inner_text()
    assert "10-RR: lower bound: " in cells
    assert "BLH: lower bound: " in cells


@pytest.mark.browser
@pytest.mark.parametrize("page", ["maps.html"], indirect=True)
@pytest.mark.parametrize("width", [390, 1440])
def test_maps_show_their_numbers_and_fit_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.reload(wait_until="networkidle")
    page.locator("body[data-drawn]").wait_for()
    numbers = page.locator("#chart .mark-text.role-mark text").all_text_contents()
    assert numbers == ["0.900", "1.50", "5.10"] * 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chart = page.locator("#chart svg").bounding_box()
    assert chart["x"] + chart["width"] <= width


@pytest.mark.browser
def test_hovering_tells_bound_place_and_enclosure(page):
    frame, _ = several()
    point = rows_of(frame, line("clone").curve).iloc[2]
    chart = page.locator("#chart svg").bounding_box()
    seen = set()
    for x in np.linspace(60, 420, 25):
        page.mouse.move(chart["x"] + x, chart["y"] + 60 + 0.3 * x)
        if page.locator("#tip").is_visible():
            seen.add(page.inner_text("#tip"))
    ours = [text for text in seen if "clone" in text and f"n = {point['n']}" in text]
    assert ours
    low, high = re.search(r"ε in \[(.*), (.*)\]", ours[0]).groups()
    assert Decimal(low) <= Decimal(point["epsilon_lower"])
    assert Decimal(high) >= Decimal(point["epsilon_upper"])
    assert "(a) 10-RR, ε₀ = 0.1, δ = 10⁻⁶" in ours[0]
    page.mouse.move(2, 2)
    assert not page.locator("#tip").is_visible()


@pytest.mark.browser
def test_a_click_on_the_legend_hides_a_curve_everywhere_and_shows_it_again(page):
    before = [strokes(page, number) for number in range(4)]
    rows = page.locator("#values tbody tr")
    assert rows.count() == 4
    page.get_by_text("clone", exact=True).first.click()
    page.wait_for_function("document.querySelectorAll('#values tbody tr').length === 3")
    assert all(len(strokes(page, number)) == 3 for number in range(4))
    assert all(
        BOUND_LOOKS["clone"].color not in {one[0] for one in strokes(page, i)} for i in range(4)
    )
    page.get_by_text("clone", exact=True).first.click()
    page.wait_for_function("document.querySelectorAll('#values tbody tr').length === 4")
    assert [strokes(page, number) for number in range(4)] == before


@pytest.mark.browser
def test_everything_can_be_done_with_the_keyboard(page):
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.type"))
    assert reached[:8] == [*["checkbox"] * 4, "all", "none", "position", "reading"]
    page.locator("#legend input").nth(1).focus()
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelectorAll('#values tbody tr').length === 3")
    page.locator("#all").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('#values tbody tr').length === 4")
    page.locator("#position").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.getElementById('place').textContent === 'n = 31623'")
    frame, _ = several()
    for shown, one in zip(page.locator("#values tbody tr").all(), ("upper", "clone"), strict=False):
        for cell, regime in zip(shown.locator("td").all(), ("low", "large"), strict=True):
            table = rows_of(frame, line(one, regime=regime).curve)
            point = table[table["n"] == 31623].iloc[0]
            shown = re.fullmatch(r"(.*) \(ε in \[(.*), (.*)\]\)", cell.inner_text())
            drawn, low, high = shown.groups()
            assert float(drawn) == pytest.approx(math.expm1(point["epsilon_upper"]), rel=1e-5)
            assert Decimal(low) <= Decimal(point["epsilon_lower"])
            assert Decimal(high) >= Decimal(point["epsilon_upper"])
