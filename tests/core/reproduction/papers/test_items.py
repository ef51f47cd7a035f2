"""The list of all items of the papers: every pointer exists, and none of ours is missing."""

import importlib
import re

import pytest
import yaml
from repository import ROOT

from reproduction.papers.base import research

PAPERS = ("su2026", "wang2024", "wang2025", "girgis2021", "wang2020")
PAGE = (ROOT / "docs" / "items.md").read_text(encoding="utf-8")


def resolved(name):
    """The object of a dotted name: a module, or an attribute below one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[size:]:
            found = getattr(found, attribute)
        return found
    raise AssertionError(name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(shufflebounds\.[\w.]+)`", PAGE))))
def test_every_name_is_an_object_of_the_library(name):
    assert resolved(name) is not None


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_table_and_claim_is_listed_and_exists(paper):
    text = (ROOT / "config" / f"{paper}.yaml").read_text(encoding="utf-8")
    configuration = yaml.safe_load(text)
    _, claims = research(paper).load_claims()
    known = {*configuration.get("figures", {}), *configuration.get("tables", {})}
    known |= {claim.name for claim in claims}
    listed = set(re.findall(rf"`{paper}/(\w+)`", PAGE))
    assert listed == known
