"""Charts: that they show what printed figures do, and what one can do with them in a browser."""

import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import cache

import browsers
import numpy as np
import pytest
from drawn_data import EPS0, data, grid, laplace, line, panel, row, rows_of, vanishing

from reproduction import charts
from reproduction.papers.su2026.amplification_law import law_sheet
from shufflebounds.curves.plotting.layout import Line
from shufflebounds.curves.plotting.looks import BOUND_LOOKS, line_look
from shufflebounds.curves.plotting.sheets import Drawn, PanelView, Sheet, of_curves
from shufflebounds.curves.plotting.texts import plain

WINDOW = {"width": 1200, "height": 900}


def several():
    """Two panels, a row of ratios, and a bound that is not proven."""
    panels = [
        panel(
            line("upper", regime=regime),
            line("clone", regime=regime),
            line("hoeffding", regime=regime, look=line_look("variation_ratio_analytic")),
            line("lower", regime=regime),
            subject="10-RR",
            setting=[f"ε₀ = {EPS0[regime]:g}", "δ = $10^{-6}$"],
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
def chart_of_several():
    return charts.chart(of_curves(*several()), "A caption.")


def own_points(chart, panel, name):
    """The points of one curve."""
    return [point for point in chart["datasets"][f"panel_{panel}"] if point["curve"] == name]


# What a chart holds.


@pytest.mark.parametrize("transform", ["none", "expm1", "log2_ratio"])
def test_points_are_those_of_the_sheet_and_ends_are_rounded_outward(transform):
    layout = grid(["krr10", "laplace"], ["low", "large"], transform=transform)
    frame = data(layout)
    sheet = of_curves(frame, layout)
    chart = charts.chart(sheet)
    for i, view in enumerate(sheet.views):
        for line_, curve in view.lines:
            points = own_points(chart, i, line_.label)
            x, y = ([point[axis] for point in points] for axis in "xy")
            np.testing.assert_allclose(x, curve.x, rtol=1e-5)
            np.testing.assert_allclose(y, curve.y, rtol=1e-4)
            for point, low, high in zip(points, curve.lower, curve.upper, strict=True):
                shown = re.search(r"\[(.*), (.*)\]", point["value"]).groups()
                lower, upper = map(Decimal, shown)
                assert lower <= Decimal(low) <= Decimal(high) <= upper
                assert lower > Decimal(low) * Decimal("0.999")
                assert upper < Decimal(high) * Decimal("1.001")
    assert charts.chart(of_curves(frame.sample(frac=1.0, random_state=2), layout)) == chart


def test_an_absent_end_stays_absent_and_what_cannot_be_drawn_is_left_out():
    layout = grid(curves=["clone", "lower"])
    frame = data(layout)
    clone = frame["curve"] == "clone"
    frame.loc[clone, "epsilon_lower"] = math.nan
    frame.loc[clone & (frame["n"] == 3162), ["epsilon_lower", "epsilon_upper"]] = math.nan
    frame.loc[clone & (frame["n"] == 10_000), "epsilon_upper"] = 0.0
    points = own_points(charts.chart(of_curves(frame, layout)), 0, "clone")
    assert [point["x"] for point in points] == [1000, 10_000, 31_623, 100_000]
    # No point of a logarithmic axis, but a value all the same.
    assert "y" not in points[1]
    assert points[1]["value"] == "at most 0"


def test_the_band_lies_between_its_bounds_where_the_lower_one_is_0():
    frame, layout = vanishing()
    chart = charts.chart(of_curves(frame, layout))
    points = own_points(chart, 0, "lower bound")
    band = [(point["x"], point.get("bottom"), point.get("top")) for point in points]
    assert band == [
        (0.1, 1e-4, 1e-3),
        (0.2, 1e-10, 1e-9),
        (0.4, 1e-20, 1e-15),
        (0.8, 1e-240, 1e-240),
        (1.0, None, None),
    ]
    area = chart["concat"][0]["layer"][0]
    assert area["mark"]["type"] == "area"
    assert [area["encoding"][end]["field"] for end in ("y", "y2")] == ["bottom", "top"]


def test_panels_and_curves_are_called_as_in_the_printed_figure():
    shown = chart_of_several()["usermeta"]
    assert (shown["title"], shown["caption"], shown["axis"]) == ("A figure", "A caption.", "n")
    names = ["upper bound", "clone", "blanket, Hoeffding (not proven)", "lower bound"]
    assert [part["title"] for part in shown["panels"]] == [
        f"({letter}) ε₀ = {eps0}" for letter, eps0 in zip("abcd", (0.1, 4, 0.1, 4), strict=True)
    ]
    assert shown["source"] == "10-RR, δ = 10⁻⁶"
    assert all(part["rows"] == names for part in shown["panels"])
    assert [part["value"] for part in shown["panels"]] == [
        *["eᵋ − 1"] * 2,
        *["ε / the upper bound"] * 2,
    ]


def test_a_bound_looks_as_in_the_printed_figure():
    styles = chart_of_several()["usermeta"]["styles"]
    upper, unproven = styles["upper bound"], styles["blanket, Hoeffding (not proven)"]
    assert (upper["color"], upper["dashes"]) == (BOUND_LOOKS["blanket"].color, [1, 0])
    assert upper["outline"] == ""
    assert unproven["fill"] == "#ffffff"
    assert unproven["dashes"] == [1.6, 2.13]
    assert re.fullmatch(r"(M[-0-9.,L]+)+", unproven["outline"])


def test_a_point_without_a_number_has_a_dash():
    curve = Drawn.line(np.array([1.0, 2.0]), np.array([np.nan, 3.0]))
    view = PanelView((), [(Line("upper", line_look("blanket")), curve)], "an error")
    points = own_points(charts.chart(Sheet("A figure", [[view]], "n", "n", "ε")), 0, "upper")
    assert [point["value"] for point in points] == ["—", "3"]


def test_steps_are_those_of_the_table():
    frame = laplace(20)
    chart = charts.chart(law_sheet(frame, "A law"))
    points = own_points(chart, 0, "distribution function")
    x, y = ([point[axis] for point in points] for axis in "xy")
    np.testing.assert_allclose(x[1:-1:2], frame["value"], rtol=1e-5)
    np.testing.assert_allclose(y[::2], [0.0, *frame["cdf"]], rtol=1e-4)
    assert chart["usermeta"]["panels"][0]["value"] == "Pr[L ≤ t]"


def test_a_chart_is_json_that_says_what_it_shows():
    chart = chart_of_several()
    assert json.loads(json.dumps(chart, allow_nan=False)) == chart
    assert chart["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert chart["description"].startswith("A figure. Along the x axis: number of users n.")


# A page.


def test_texts_are_text_wherever_they_stand():
    evil = "</script><script>alert(1)</script><!-- \" ' & {x}"
    layout = row(panel(line(label=evil), subject=evil, setting=[evil]), title=evil)
    chart = charts.chart(of_curves(data(layout), layout), evil)
    text = charts.page({evil: {evil: chart}, "Without figures": {}})
    assert text.count("<script") == text.count("</script>") == 2
    assert "<!--" not in text
    assert "Without figures" not in text
    assert text == charts.page({evil: {evil: chart}})


def test_a_page_asks_for_nothing_from_elsewhere():
    text = charts.page({"Paper": {"su2026/fig": chart_of_several()}})
    assert not re.search(r"<(?:link|img|iframe|script[^>]* src)|https?://", text)


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
    view = PanelView(
        title=["ε = 1"],
        lines=[(Line("10-RR", line_look("blanket", "krr")), cells)],
        y_label="values",
        x_ticks=["100", "1000"],
        y_ticks=["4", "64"],
    )
    return Sheet("Maps", [[view, view]], "n", "n", "ratio")


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    sheets = {
        "curves": of_curves(*several()),
        "steps": law_sheet(laplace(20), "A law"),
        "each": of_curves(*lower_bounds_of_each()),
        "maps": maps(),
    }
    made = {f"paper/{name}": charts.chart(sheet, "A caption.") for name, sheet in sheets.items()}
    path = tmp_path_factory.mktemp("pages") / "gallery.html"
    path.write_text(charts.page({"Paper": made}), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(request, chromium, gallery):
    """The gallery with one figure open, in a window of some width."""
    name, width = getattr(request, "param", ("curves", WINDOW["width"]))
    with browsers.opened(chromium, f"{gallery}#paper/{name}", {**WINDOW, "width": width}) as page:
        page.locator("details[data-drawn=yes]").wait_for()
        yield page


def strokes(page):
    """The colours of all lines that are drawn."""
    paths = page.locator("details[open] .mark-line.role-mark path").all()
    return sorted(path.get_attribute("stroke") for path in paths)


@pytest.mark.browser
def test_lines_look_as_the_table_shows_them(page):
    samples = page.locator("table svg path:first-child").all()
    colors = [
        page.evaluate("path => path.parentNode.getAttribute('stroke')", sample.element_handle())
        for sample in samples
    ]
    assert len(colors) == 4
    assert strokes(page) == sorted(4 * colors)


@pytest.mark.browser
@pytest.mark.parametrize("page", [("each", 1200)], indirect=True)
def test_every_curve_is_a_path_and_a_row_of_its_own(page):
    assert len(strokes(page)) == 3
    names = page.locator("tr th[scope=row]").all_inner_texts()
    assert names == ["upper bound", "10-RR: lower bound", "BLH: lower bound"]


@pytest.mark.browser
@pytest.mark.parametrize(
    "page", [(name, width) for name in ("maps", "curves") for width in (390, 1440)], indirect=True
)
def test_a_figure_fits_the_window(page):
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    details, chart = (
        page.locator(f"details[open]{inside}").first.bounding_box() for inside in ("", " svg")
    )
    assert details["width"] - 60 <= chart["width"] <= details["width"]
    for target in page.locator("summary, input, select").all():
        if target.is_visible():
            assert target.bounding_box()["height"] >= 24


@pytest.mark.browser
def test_a_figure_that_is_alone_is_open(chromium, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(charts.page({"Paper": {"fig": chart_of_several()}}), encoding="utf-8")
    with browsers.opened(chromium, path.as_uri(), WINDOW) as page:
        page.locator("details[data-drawn=yes]").wait_for()
        assert page.locator(".vega-embed svg.marks").count() == 1


def test_a_name_stands_behind_a_piece_of_its_line():
    layout = grid(curves=["clone", "upper", "joint2"])
    chart = charts.chart(of_curves(data(layout), layout))
    beside = [
        layer["mark"]["type"]
        for layer in chart["concat"][0]["layer"]
        if layer.get("data") == {"name": "names_0"}
    ]
    assert beside == ["rule", "point", "text"]
    marked = {name["curve"]: name.get("is_marked") for name in chart["datasets"]["names_0"]}
    assert marked == {"clone": None, "upper bound": None, "2-joint": True}
    assert min(name["place"] for name in chart["datasets"]["names_0"]) >= 0.0


@pytest.mark.browser
@pytest.mark.parametrize("page", [("curves", 390), ("curves", 1440)], indirect=True)
def test_names_stand_beside_the_last_panel_of_a_row(page):
    names = page.locator(".mark-text.role-mark text").all_text_contents()
    rows = 4 if page.viewport_size["width"] < 500 else 2
    assert len(names) == 4 * rows
    assert {"upper bound", "clone", "lower bound"} < set(names)
    if rows == 2:
        page.get_by_role("checkbox", name="clone").uncheck()
        page.wait_for_function(
            "document.querySelectorAll('.mark-text.role-mark text').length === 6"
        )


@pytest.mark.browser
def test_titles_are_broken_in_a_narrow_window(chromium, tmp_path):
    subject = "10-RR, RAPPOR and Laplace together, and a few more of them"
    panels = [panel(line("upper", regime=r), subject=subject, setting=[r]) for r in EPS0]
    layout = row(*panels[:2], panel(line("upper"), subject="another"))
    path = tmp_path / "page.html"
    path.write_text(charts.page({"Paper": {"fig": charts.chart(of_curves(data(layout), layout))}}))
    for width in (390, 768):
        with browsers.opened(chromium, path.as_uri(), {"width": width, "height": 800}) as page:
            page.locator("details[data-drawn=yes]").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            chart = page.locator("details[open] svg").first.bounding_box()
            assert chart["width"] > 0.8 * width


@pytest.mark.browser
@pytest.mark.parametrize("page", [("maps", 390)], indirect=True)
def test_maps_show_their_numbers(page):
    numbers = page.locator(".mark-text.role-mark text").all_text_contents()
    assert numbers == ["0.900 1", "1.50 1", "5.10 1"] * 2
    assert page.locator("td").all_inner_texts() == ["—", "0.900 10-RR"]


@pytest.mark.browser
def test_hovering_tells_bound_place_and_enclosure(page):
    frame, _ = several()
    point = rows_of(frame, line("clone").curve).iloc[2]
    chart = page.locator("details[open] svg").first.bounding_box()
    tip = page.locator("#vg-tooltip-element.visible")
    seen = set()
    for x in np.linspace(60, 420, 25):
        page.mouse.move(chart["x"] + x, chart["y"] + 30 + 0.3 * x)
        if tip.is_visible():
            seen.add(tip.inner_text())
    ours = [text for text in seen if "clone" in text and f"n = {point['n']}" in text]
    assert ours
    low, high = re.search(r"ε in \[(.*), (.*)\]", ours[0]).groups()
    assert Decimal(low) <= Decimal(point["epsilon_lower"])
    assert Decimal(high) >= Decimal(point["epsilon_upper"])


@pytest.mark.browser
def test_a_tap_tells_what_hovering_does(chromium, gallery):
    context = chromium.new_context(viewport={"width": 390, "height": 900}, has_touch=True)
    page = context.new_page()
    page.goto(f"{gallery}#paper/curves")
    page.locator("details[data-drawn=yes]").wait_for()
    chart = page.locator("details[open] svg").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.touchscreen.tap(box["x"] + 150, box["y"] + 100)
    page.locator("#vg-tooltip-element.visible").wait_for()
    context.close()


@pytest.mark.browser
def test_a_box_hides_a_curve_in_every_panel_and_shows_it_again(page):
    before = strokes(page)
    page.get_by_role("checkbox", name="clone").uncheck()
    page.wait_for_function("document.querySelectorAll('.mark-line.role-mark path').length === 12")
    assert BOUND_LOOKS["clone"].color not in strokes(page)
    page.get_by_role("checkbox", name="clone").check()
    page.wait_for_function("document.querySelectorAll('.mark-line.role-mark path').length === 16")
    assert strokes(page) == before


@pytest.mark.browser
def test_everything_can_be_done_with_the_keyboard(page):
    page.locator("summary").first.focus()
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.type"))
    assert reached == ["select-one", "range", *["checkbox"] * 4]
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelectorAll('.mark-line.role-mark path').length === 12")
    page.keyboard.press("Space")
    page.locator("details[open] input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("details[open] output").inner_text() == "n = 31623"
    frame, _ = several()
    for panel_, regime in enumerate(("low", "large")):
        page.locator("details[open] select").select_option(index=panel_)
        cells = page.locator("details[open] td").all_inner_texts()
        for cell, curve in zip(cells, ("upper", "clone"), strict=False):
            table = rows_of(frame, line(curve, regime=regime).curve)
            point = table[table["n"] == 31623].iloc[0]
            drawn, low, high = re.fullmatch(r"(.*) \(ε in \[(.*), (.*)\]\)", cell).groups()
            assert float(drawn) == pytest.approx(math.expm1(point["epsilon_upper"]), rel=1e-3)
            assert Decimal(low) <= Decimal(point["epsilon_lower"])
            assert Decimal(high) >= Decimal(point["epsilon_upper"])
