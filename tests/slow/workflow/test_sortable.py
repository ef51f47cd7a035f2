"""Tables of pages in a browser: sorted and searched, by keyboard too, and whole without scripts."""

import browsers
import pytest

import html_page

MARKDOWN = """\
# A page

| mechanism | n | $\\varepsilon$ | remark |
| --- | --- | --- | --- |
| krr | 1 000 | 0.25 | first |
| BLH | 100 000 | 3e-05 | |
| oue | 20 000 | -1 | <b> & second |

Another:

| $x$ | |
| --- | --- |
| $\\frac{1}{2}$ | a |
| $\\frac{1}{10}$ | b |

| alone |
| --- |
| row |
"""
WINDOW = {"width": 900, "height": 700}

pytestmark = pytest.mark.browser


@pytest.fixture
def url(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(html_page.page(MARKDOWN), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(chromium, url):
    with browsers.opened(chromium, url, WINDOW) as page:
        yield page


def column(page, number, table=0):
    """The cells that are seen of one column."""
    rows = page.locator("table").nth(table).locator("tbody tr").all()
    cells = [row.locator("td").nth(number) for row in rows if row.is_visible()]
    return [cell.inner_text() for cell in cells]


def heading(page, name):
    return page.locator("th").get_by_text(name, exact=True)


@pytest.mark.parametrize(
    ("name", "ascending"),
    [
        ("mechanism", ["BLH", "krr", "oue"]),
        ("n", ["krr", "oue", "BLH"]),
        ("ε", ["oue", "BLH", "krr"]),
    ],
)
def test_a_click_sorts_by_a_column_then_the_other_way_then_not_at_all(page, name, ascending):
    as_written = ["krr", "BLH", "oue"]
    assert column(page, 0) == as_written
    for expected, said in (
        (ascending, "ascending"),
        (ascending[::-1], "descending"),
        (as_written, "none"),
    ):
        heading(page, name).click()
        assert column(page, 0) == expected
        states = [one.get_attribute("aria-sort") for one in page.locator("th[aria-sort]").all()]
        assert states.count(said) == len(states) - (said != "none") * (len(states) - 1)


def test_a_search_leaves_rows_with_every_word(page):
    field = page.get_by_label("Search this table").first
    field.fill("000")
    assert column(page, 0) == ["krr", "BLH", "oue"]
    field.fill("000  FIRST")
    assert column(page, 0) == ["krr"]
    assert page.locator("output").first.inner_text() == "1 of 3 rows"
    field.fill("<b> &")
    assert column(page, 0) == ["oue"]
    assert column(page, 1, table=1) == ["a", "b"]
    field.fill("")
    assert len(column(page, 0)) == 3
    assert page.locator("output").first.inner_text() == ""


def test_the_keyboard_will_do(page):
    page.keyboard.press("Tab")
    page.keyboard.type("oue")
    assert column(page, 0) == ["oue"]
    for _ in range(3):
        page.keyboard.press("Backspace")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert column(page, 0) == ["BLH", "krr", "oue"]
    page.keyboard.press("Space")
    assert column(page, 0) == ["oue", "krr", "BLH"]


def test_without_scripts_the_tables_are_there(chromium, url):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    assert column(page, 0) == ["krr", "BLH", "oue"]
    assert page.locator("button, input").count() == 0
    context.close()
