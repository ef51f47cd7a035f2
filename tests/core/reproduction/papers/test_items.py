"""The list of all items of the papers: every pointer exists, and none of ours is missing."""

import importlib
import re

import pytest
import yaml
from repository import ROOT

from reproduction.papers.base import research

PAPERS = ("su2026", "wang2024", "wang2025", "girgis2021", "wang2020")
PAGE = (ROOT / "docs" / "items.md").read_text(encoding="utf-8")

# What the papers number, read from their texts: of what we have of Girgis et al., a fragment.
NUMBERED = {
    "Su, Cheng and Wang, IEEE S&P 2026": {
        "Definition": [*map(str, range(1, 10))],
        "Theorem": [*map(str, range(1, 15))],
        "Lemma": ["1", "2", "3"],
        "Property": ["1", "2"],
        "Remark": [*map(str, range(1, 7))],
        "Example": ["4.1", "4.2", "4.3", "4.4"],
        "Algorithm": [*map(str, range(1, 8))],
        "Table": ["1", "2", "3"],
        "Figure": [*map(str, range(1, 9))],
        "Appendix": ["A", "B", "C"],
    },
    "Wang et al., PVLDB 2024": {
        "Definition": ["3.1", "3.2", "3.3", "3.4", "3.5", "3.6"],
        "Theorem": ["4.1", "4.2", "4.3", "4.7", "4.8", "5.1", "6.1"],
        "Lemma": ["4.4", "4.5", "4.6"],
        "Algorithm": ["1", "2"],
        "Table": ["1", "2", "3", "4", "5"],
        "Figure": ["1", "2", "3", "4", "5"],
    },
    "Wang et al., Applied Sciences 2025": {
        "Definition": [*map(str, range(1, 8))],
        "Lemma": ["1", "2", "3", "4"],
        "Theorem": ["1", "2"],
        "Algorithm": ["1"],
        "Table": ["1"],
        "Figure": ["1", "2", "3", "4"],
    },
    "Girgis et al., CCS 2021": {
        "Theorem": ["3.1", "3.3", "3.4", "3.6", "3.7"],
        "Corollary": ["3.2", "3.5"],
        "Remark": ["3", "4", "5", "6", "7"],
        "Figure": ["2"],
    },
    # There is no text of this paper.
    "Wang et al., PVLDB 2020": {},
}

PLURALS = {"Lemmas": "Lemma", "Properties": "Property", "Corollaries": "Corollary"}


def numbered_items(paper):
    """Kinds and numbers, such as ("Lemma", "4.5"), in the first column of a paper's table."""
    section = PAGE.split(f"## {paper}\n")[1].split("\n## ")[0]
    first_column = "\n".join(re.findall(r"^\| (.*?) \|", section, flags=re.MULTILINE))
    number = r"(?:\d+(?:\.\d+)?|[A-C])\b"
    kinds = {kind for numbers in NUMBERED.values() for kind in numbers}
    pattern = rf"\b([A-Z][a-z]+) ({number}(?:(?:, | and | to ){number})*)"
    for word, listed in re.findall(pattern, first_column):
        kind = PLURALS.get(word, word.removesuffix("s") if word not in kinds else word)
        for part in re.split(", | and ", listed):
            first, _, last = part.partition(" to ")
            yield from ((kind, name) for name in between(first, last or first))


def between(first, last):
    """All numbers from the first to the last, which differ in their last parts."""
    if first == last:
        return [first]
    *chapter, start = first.split(".")
    stop = last.split(".")[-1]
    return [".".join([*chapter, str(i)]) for i in range(int(start), int(stop) + 1)]


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_item_is_listed(paper):
    wanted = {(kind, name) for kind, names in NUMBERED[paper].items() for name in names}
    listed = {item for item in numbered_items(paper) if item[0] in NUMBERED[paper]}
    assert listed == wanted


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
