"""The documentation site, as `make docs` makes it: no warnings, and nothing from a network."""

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import browsers
import pytest
import yaml
from markdown_pages import ROOT

import shufflebounds
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli import main

pytest.importorskip("sphinx", reason="requirements-docs.txt is not installed")

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}
# What a browser loads by itself, by the attribute that says from where.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads, where it leads, and the names that may be led to."""

    def __init__(self, file: Path):
        super().__init__()
        self.loads, self.leads, self.names = [], [], set()
        self.text = file.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        if LOADED.get(tag) in found:
            self.loads.append(found[LOADED[tag]])
        if tag == "a" and "href" in found:
            self.leads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built from a copy of what it is made from, without figures."""
    checkout = tmp_path_factory.mktemp("checkout")
    for part in ("docs", "config", "src", "verify", "workflow"):
        skipped = shutil.ignore_patterns("__pycache__", "*.egg-info", "api", "gallery")
        shutil.copytree(ROOT / part, checkout / part, ignore=skipped)
    for part in ("config.yaml", "CHANGELOG.md"):
        shutil.copy(ROOT / part, checkout)
    drawn = checkout / "figures" / "su2026" / "fig2.png"
    drawn.parent.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "fig2.png", drawn)
    claims = checkout / "results" / "su2026" / "claims.html"
    claims.parent.mkdir(parents=True)
    claims.write_text("<p>Claims", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run([*command, "docs", "site"], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return checkout / "site"


@pytest.fixture(scope="module")
def pages(site):
    return {file: Page(file) for file in site.rglob("*.html")}


def test_there_is_a_page_for_each_in_the_repository(site, pages):
    for page in (ROOT / "docs").rglob("*.md"):
        assert site / page.relative_to(ROOT / "docs").with_suffix(".html") in pages


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for file, page in pages.items():
        for link in page.loads:
            assert not urlsplit(link).netloc, f"{file.name} loads {link}"
    for sheet in (site / "_static").rglob("*.css"):
        assert "url(http" not in sheet.read_text(encoding="utf-8")


def test_every_link_leads_to_a_page_and_a_place_on_it(site, pages):
    for file, page in pages.items():
        for link in {*page.leads, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.exists(), f"{file.name} leads to {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].names, (
                    f"{file.name} leads to {link}"
                )


def test_formulas_are_mathml(site, pages):
    for name in ("engine", "composition", "variation-ratio"):
        text = pages[site / "proofs" / f"{name}.html"].text
        assert text.count('<math xmlns="http://www.w3.org/1998/Math/MathML"') > 5
        assert "$$" not in text
        assert "\\frac" not in text


def test_every_public_name_is_in_the_reference(site):
    text = "".join(file.read_text(encoding="utf-8") for file in (site / "api").glob("*.html"))
    for name in shufflebounds.__all__:
        assert name.startswith("_") or f'id="shufflebounds.{name}"' in text


def test_every_command_and_bound_is_in_the_reference(pages, site):
    assert pages[site / "api" / "commands.html"].names >= set(main.commands)
    text = pages[site / "api" / "bounds.html"].text
    assert all(f">{name}<" in text for name in BOUNDS)


def test_the_gallery_has_each_figure_with_its_entry(site, pages):
    page = pages[site / "gallery" / "su2026.html"]
    assert any("_images/fig2" in image for image in page.loads)
    assert "Amplification bounds of 10-RR, BLH and RAPPOR at δ = 10⁻⁶" in page.text
    assert page.text.count("<details>") == page.text.count("<h2>") - 1 > 5
    assert ">figures/su2026/fig3.pdf<" in page.text
    assert any(link.endswith("/claims.html") for link in page.leads)


def test_the_gallery_shows_every_figure_in_the_order_of_the_papers(site, pages):
    page = pages[site / "gallery.html"]
    content = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    links = [link for link in page.leads if link.startswith("gallery/") and "#" in link]
    places = [content["papers"].index(link[8:].partition(".")[0]) for link in links]
    assert places == sorted(places)
    entries = [
        yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))
        for name in content["papers"]
    ]
    assert len(set(links)) == sum(len(entry.get("figures", {})) for entry in entries)
    # The one figure that was drawn before the site was made.
    assert sum("_images/fig2" in image for image in page.loads) == 2


def test_the_first_page_has_an_answer_and_a_picture(site, pages):
    page = pages[site / "index.html"]
    assert "You can claim epsilon = " in page.text
    assert any("_images/fig2" in image for image in page.loads)


@pytest.mark.browser
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_browser_shows_it_without_a_complaint_and_within_the_window(site, chromium, window):
    first, *others = (
        (site / f"{name}.html").as_uri()
        for name in (
            "index",
            "proofs/engine",
            "proofs/composition",
            "what-to-compose",
            "glossary",
            "gallery",
            "gallery/su2026",
            "api/questions",
        )
    )
    fits = "document.documentElement.scrollWidth <= window.innerWidth"
    with browsers.opened(chromium, first, window) as page:
        assert page.evaluate(fits)
        for url in others:
            browsers.visit(page, url)
            assert page.evaluate(fits), url


@pytest.mark.browser
def test_a_search_finds_what_is_asked_for(site, chromium):
    url = (site / "search.html").as_uri() + "?q=blanket"
    with browsers.opened(chromium, url, DESKTOP) as page:
        page.locator("#search-results li").get_by_text("shufflebounds.KRR.blanket").wait_for()
