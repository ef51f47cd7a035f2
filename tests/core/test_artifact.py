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
    listed = re.findall(r"^\| \[(\w+)\]\(#\w+\) \|", page, re.MULTILINE)
    assert set(research(paper).claims) <= set(listed)


def test_its_commands_are_there():
    text = (ROOT / "ARTIFACT.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE))
    assert "kick-the-tires" in targets
    assert targets <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
