"""ARTIFACT.md names the pages of claims and commands that exist; the pages list every claim."""

import re

import pytest
from repository import ROOT

from reproduction.papers.base import research

PAGES = {
    "su2026": "claims.md",
    "wang2024": "claims-wang2024.md",
    "wang2025": "claims-wang2025.md",
    "girgis2021": "claims-girgis2021.md",
    "wang2020": "claims-wang2020.md",
}


@pytest.mark.parametrize("paper", PAGES)
def test_every_claim_is_on_the_page_that_it_names(paper):
    row = f"`results/{paper}/claims.md` | [docs/{PAGES[paper]}](docs/{PAGES[paper]})"
    assert row in (ROOT / "ARTIFACT.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / PAGES[paper]).read_text(encoding="utf-8")
    assert page.startswith(f"# Claims of {research(paper).citation}, measured\n")
    listed = re.findall(r"^\| [^|]+ \| \[(\w+)\]\(#\w+\) \|", page, re.MULTILINE)
    assert set(research(paper).claims) <= set(listed)


def test_pages_of_claims_can_be_told_apart():
    assert len({research(paper).citation for paper in PAGES}) == len(PAGES)


def test_the_pages_agree_on_how_long_the_tests_take():
    """In minutes: README, ARTIFACT and its appendix, whose total is that of its parts."""
    readme, artifact, appendix = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "ARTIFACT.md", "ARTIFACT-APPENDIX.md")
    )
    (tests,) = re.findall(r"^make test .*: about (\d+) minutes", readme, re.MULTILINE)
    assert re.findall(r"^make test .*: (\d+) minutes", artifact, re.MULTILINE) == [tests]
    parts = re.findall(r"^\| C\d: .*? \| .*? \| \d+ \| (\d+) \|", appendix, re.MULTILINE)
    assert parts[0] == tests
    papers = re.findall(r"snakemake --cores 2 \w+`, (\d+) minutes?", artifact)
    assert int(parts[1]) == sum(map(int, papers))
    (set_up,) = re.findall(r"make kick-the-tires`: .*?, (\d+) computer minutes", appendix)
    (total,) = re.findall(r"(\d+) computer minutes for everything below", appendix)
    assert 0 <= int(total) - sum(map(int, (set_up, *parts))) < 5


def test_its_commands_are_there():
    text = (ROOT / "ARTIFACT.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE))
    assert "kick-the-tires" in targets
    assert targets <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
