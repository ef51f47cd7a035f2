"""The report of a run: what it holds, and what a browser shows of it."""

import html
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import browsers
import pandas as pd
import pytest
from whole_run import CAPTION, CURVES, FIGURES, GALLERY, PAGES, PAPER_TITLE, TABLES, TITLES

import shufflebounds
from reproduction.papers.base import research

KINDS = research("su2026").tables
# Papers are sorted as the configuration lists them.
PAPER = f"1. {PAPER_TITLE}"
CLAIMS = "The paper's claims, measured"
GROUPS = {
    "Figures": set(TITLES.values()),
    "Tables": {KINDS[table["kind"]].title for table in TABLES.values()},
    "Claims": {CLAIMS},
}
SHOWN = {
    path
    for path in FIGURES | GALLERY | PAGES
    if not path.endswith((".json", ".md", ".tex", ".pdf"))
}

# Lower than a figure that is as wide.
WINDOW = {"width": 1600, "height": 450}


@pytest.fixture(scope="module")
def reports(whole):
    """The report as one page, and as an archive."""
    paths = [whole.path / name for name in ("report.html", "report.zip")]
    more = ("--report-metadata", "workflow/report/metadata.yaml")
    for path, arguments in zip(paths, ((), more), strict=True):
        run = whole.snakemake("--report", path.name, *arguments)
        assert run.returncode == 0, run.stderr
    return paths


@pytest.fixture(scope="module")
def unpacked(reports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    with zipfile.ZipFile(reports[1]) as archive:
        archive.extractall(folder)
    return folder / "report" / "report.html"


def embedded(report: Path, name: str) -> dict:
    """What the report's page declares under a name."""
    text = report.read_text(encoding="utf-8")
    return json.loads(re.search(rf"<script id=\"\w+\">\s+var {name} = (.*);\n", text)[1])


def test_every_figure_and_table_is_there_with_caption_category_and_labels(reports):
    results = embedded(reports[0], "results")
    assert results.keys() == SHOWN
    assert all(result["caption"] for result in results.values())
    labels = {(*result["labels"].values(),) for result in results.values()}
    pictures = {(name,) for name in GROUPS["Figures"] | {"Gallery"}}
    names = GROUPS["Tables"] | GROUPS["Claims"]
    assert labels == pictures | {(name, kind) for name in names for kind in ("Page", "data (CSV)")}
    categories = embedded(reports[0], "categories")
    assert categories.keys() == {PAPER, "Interactive figures"}
    listed = {
        group: {
            results[path]["labels"][kind]
            for path in paths
            for kind in ("figure", "table")
            if kind in results[path]["labels"]
        }
        for group, paths in categories[PAPER].items()
    }
    assert listed == GROUPS


def test_it_says_what_made_it_if_asked(unpacked):
    made_by = embedded(unpacked, "metadata")["made by"]["whole"]
    assert f"shufflebounds {shufflebounds.__version__}, of no clone, δ = 1e-06 (su2026)" in made_by


def test_odd_texts_stay_texts(reports, whole):
    result = embedded(reports[0], "results")["figures/su2026/fig.png"]
    assert html.unescape(result["caption"]) == f"<p>{TITLES['fig']}. {CAPTION}</p>\n"
    assert not (whole.path / "pwned").exists()
    # The job gets a digest of what the figure shows, its caption, and which code draws it.
    params = r"digest=[0-9a-f]{16}, caption=.*, presentation=code of presentation [0-9a-f]{16}"
    assert re.fullmatch(params, result["job_properties"]["params"], re.DOTALL)


def test_every_job_has_its_run_time(reports, whole):
    rules = pd.DataFrame(embedded(reports[0], "runtimes_spec")["data"]["values"])["rule"]
    counted = rules.value_counts().to_dict()
    assert counted == {
        "curve": len(CURVES),
        "figure": 2,
        "gallery": 1,
        "table": len(TABLES),
        "judgement": 1,
        "page": len(TABLES) + 1,
    }


def test_the_archive_holds_the_files_themselves(unpacked, whole):
    results = embedded(unpacked, "results")
    assert results.keys() == SHOWN
    for path, result in results.items():
        assert (unpacked.parent / result["data_uri"]).read_bytes() == (
            whole.path / path
        ).read_bytes()


def test_a_page_says_what_its_markdown_says(whole):
    markdown = (whole.path / "results/su2026/claims.md").read_text(encoding="utf-8")
    page = (whole.path / "results/su2026/claims.html").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))
    markdown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r" \1 ", markdown)
    marks = r"^\| ---.*$|^#+ |^\| | \|(?= |$)|[`*]"
    said = re.sub(marks, " ", markdown, flags=re.MULTILINE)
    assert re.findall(r"\S+", shown) == re.findall(r"\S+", said)


# In a browser.


@pytest.fixture
def page(request, chromium, reports, unpacked):
    """A report in the browser."""
    report = {"html": reports[0], "zip": unpacked}[getattr(request, "param", "html")]
    with browsers.opened(chromium, report.as_uri(), WINDOW) as page:
        menu(page, "Statistics").wait_for()
        yield page


def menu(page, item: str):
    return page.locator("ul a").get_by_text(item, exact=True)


def open_group(page, group: str) -> None:
    page.locator("nav nav a").first.click()  # home
    if group in GROUPS:
        menu(page, PAPER).click()
    menu(page, group).click()


def entries(page) -> list[SimpleNamespace]:
    """The lines of an open category: a name, a button that shows it and one that explains it."""
    rows = page.locator("tbody tr")
    return [
        SimpleNamespace(
            name=row.inner_text().strip(), show=row.locator("a").first, tell=row.locator("a").last
        )
        for row in rows.all()
    ]


def shown(page, group: str) -> Iterator[SimpleNamespace]:
    """The lines of a category, each while what it names is seen."""
    open_group(page, group)
    for entry in entries(page):
        entry.show.click()
        yield entry


@pytest.mark.browser
def test_the_first_page_says_what_the_report_is(page):
    assert "differential privacy" in page.inner_text("#app")
    graph = page.locator("#app .vega-embed")
    graph.wait_for()
    assert graph.bounding_box()["height"] > 100


# The archive's figures and pages are files of their own.
@pytest.mark.browser
@pytest.mark.parametrize("page", ["html", "zip"], indirect=True)
def test_figures_show_as_a_whole(page):
    for _ in shown(page, "Figures"):
        image = page.locator("div.overflow-auto img")
        image.wait_for()
        page.wait_for_function("document.querySelector('div.overflow-auto img').complete")
        assert image.evaluate("image => image.naturalWidth") > 500
        box = image.bounding_box()
        assert box["width"] > 300
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= WINDOW["height"]


@pytest.mark.browser
def test_interactive_figures_show_and_can_be_worked_with(page):
    for _ in shown(page, "Interactive figures"):
        gallery = page.frame_locator("iframe")
        gallery.locator("h2", has_text=PAPER_TITLE).wait_for()
        figures = gallery.locator("details")
        assert figures.count() == len(TITLES)
        for figure in figures.all():
            figure.locator("summary").click()
            figure.locator("table").wait_for()
            lines = figure.locator(".mark-line.role-mark path")
            count = lines.count()
            box = figure.locator("input[type=checkbox]").first
            box.uncheck()
            lines.nth(count - 1).wait_for(state="detached")
            box.check()
            lines.nth(count - 1).wait_for(state="attached")


@pytest.mark.browser
def test_tables_show_as_tables(page):
    for entry in shown(page, "Tables"):
        frame = page.frame_locator("iframe")
        frame.locator("td").first.wait_for()
        assert frame.locator("tr").count() > 1
        if entry.name.startswith("Table"):
            # Set as mathematics: a fraction is higher than a line of text.
            heights = [one.bounding_box()["height"] for one in frame.locator("td mfrac").all()]
            assert max(heights) > 25
            assert any("ε" in one for one in frame.locator("td math").all_text_contents())


@pytest.mark.browser
def test_numbers_can_be_downloaded(page):
    open_group(page, "Claims")
    page.locator("nav").get_by_text("data (CSV)").click()
    (entry,) = entries(page)
    with page.expect_download() as download:
        entry.show.click()
    assert "outperforms" in pd.read_csv(download.value.path())["claim"].tolist()


@pytest.mark.browser
def test_a_caption_is_the_text_of_the_configuration(page):
    open_group(page, "Figures")
    (entry,) = (entry for entry in entries(page) if entry.name == TITLES["fig"])
    entry.tell.click()
    page.get_by_text("Description").wait_for()
    assert CAPTION in page.inner_text("#app")
