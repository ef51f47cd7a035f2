"""No dead links: what the pages point to within the repository is there."""

import re
from urllib.parse import unquote

import pytest
from markdown_pages import PAGES, ROOT, anchors, links, name

SCHEMES = ("https://", "http://", "mailto:")
INDEX = ROOT / "docs" / "index.md"
# `make docs` writes pages into these folders.
MADE = ("api", "gallery")
WRITTEN = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.relative_to(ROOT / "docs").parts[0] not in MADE
]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings_that_are_there(page):
    for link in links(page):
        if link.startswith(SCHEMES):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), f"{link} leads out of the repository"
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert target.suffix == ".md", f"{link} is no heading of a page"
            assert anchor in anchors(target), f"{link} is no heading of {name(target)}"


def test_the_site_links_to_nothing_that_is_only_made_for_it():
    """Whoever reads the pages in the repository has none of these."""
    for page in WRITTEN:
        assert not [link for link in links(page) if re.match(r"(\.\./)?(api|gallery)/", link)]


def listed() -> list[str]:
    """Pages in the contents of the site."""
    contents = re.findall(
        r"^```\{toctree\}\n(.*?)^```$", INDEX.read_text(encoding="utf-8"), re.M | re.S
    )
    lines = "".join(contents).splitlines()
    entries = [line for line in lines if line and not line.startswith(":")]
    # A page may be listed under another title: Title <page>.
    return [re.sub(r"^.* <(.*)>$", r"\1", entry) for entry in entries]


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_every_page_is_in_the_contents_of_the_site(page):
    """If this fails: add it to one of the lists at the end of docs/index.md."""
    if page != INDEX:
        place = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert listed().count(place) == 1


def test_a_dead_link_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One: two\n\n[a](b.md), ![c](d.png)\n\n## One: two\n", encoding="utf-8")
    assert links(page) == {"b.md", "d.png"}
    assert anchors(page) == {"one-two", "one-two-1"}
