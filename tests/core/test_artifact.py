"""ARTIFACT.md tells of every claim, with the verdict that the pages of claims show."""

import re

import pytest
from repository import ROOT

from shufflebounds.reproduce.papers.base import research

PAGES = {
    "su2026": "claims.md",
    "wang2024": "claims-wang2024.md",
    "wang2025": "claims-wang2025.md",
    "girgis2021": "claims-girgis2021.md",
    "wang2020": "claims-wang2020.md",
}


def verdicts(text: str, page: str = "") -> dict[str, str]:
    """Claims and verdicts of the rows of a table."""
    rows = re.findall(rf"^\| \[`?(\w+)`?\]\((?:docs/)?{page}#\w+\) \|(.*)\|$", text, re.MULTILINE)
    known = re.compile(r"\| \*{0,2}((?:not )?(?:reproduced(?: in part)?|measured))\*{0,2} \|")
    return {claim: known.search(f"{cells}|")[1] for claim, cells in rows}


@pytest.mark.parametrize("paper", PAGES)
def test_every_claim_is_listed_with_its_verdict(paper):
    listed = verdicts((ROOT / "ARTIFACT.md").read_text(encoding="utf-8"), PAGES[paper])
    shown = verdicts((ROOT / "docs" / PAGES[paper]).read_text(encoding="utf-8"))
    assert set(research(paper).claims) <= set(listed)
    assert listed == shown


def test_its_commands_are_there():
    text = (ROOT / "ARTIFACT.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.MULTILINE))
    assert "kick-the-tires" in targets
    assert targets <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
