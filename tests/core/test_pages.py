"""What the pages say about the code, and about each other."""

import re

import pytest
import yaml
from printed import agrees
from repository import ROOT

SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "workflow").rglob("*.py")]
PLACES = [
    (page.name, name, file)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for name, file in re.findall(
        r"`([\w.]+)(?:\(\))?`\s+in\s+`([\w/]+\.py)`", page.read_text(encoding="utf-8")
    )
]


@pytest.mark.parametrize(("page", "name", "file"), PLACES)
def test_a_name_is_in_the_file_that_a_page_names(page, name, file):
    texts = [x.read_text(encoding="utf-8") for x in SOURCES if f"/{x.as_posix()}".endswith(file)]
    defined = rf"^\s*(?:(?:def|class) )?{re.escape(name.split('.')[-1])}\b"
    assert any(re.search(defined, text, re.MULTILINE) for text in texts), f"{page}: {name}"


def test_some_places_are_named():
    assert ("engine.md", "missing_property", "randomizers/composition.py") in PLACES


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(?:src/shufflebounds/)?([\w/]+/[\w.]+\.(?:py|yaml|json))`", text)
    assert len(named) > 8
    for file in named:
        assert any((ROOT / folder / file).is_file() for folder in ("", "src/shufflebounds")), file
    for name, file in re.findall(r"`(\w+)` of `([\w/]+\.py)`", text):
        assert re.search(rf"^{name}\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_jupytext_takes_the_notebook_for_one():
    """Without the extension it falls back to plain Markdown, which has no cells."""
    _, header, _ = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8").split("---\n", 2)
    written = yaml.safe_load(header)["jupytext"]["text_representation"]
    assert written == {"extension": ".md", "format_name": "myst"}


def test_names_with_other_words_than_the_glossary_are_those_that_it_excepts():
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    (exceptions,) = re.findall(r"The names\s(.*?) are older than this page", glossary, re.DOTALL)
    names = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(
            r"^(?:def|class) ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        if re.search(r"channel|standard_clone|alphabet|adversary|error_bar", name.casefold())
    }
    assert names == {name.removeprefix("sb.") for name in re.findall(r"`([\w.]+)`", exceptions)}


@pytest.mark.parametrize(
    ("stated", "printed", "agree"),
    [
        # Two processors.
        ("[0.00300422, 0.00300730]", "[0.00300464, 0.00300731]", True),
        ("epsilon   0.1099  8.2e-5", "epsilon  0.10990  8.2e-05", True),
        ("0.355 0.0083 %", "0.356 0.0084 %", False),
        ("0.355", "0.356", True),
        ("0.355", "0.357", False),
        ("0.35", "0.36", False),
        ("-0.355", "0.355", False),
        # Enclosures of one number overlap.
        ("[0.10990, 0.10992]", "[0.10993, 0.10995]", False),
        ("[0.3, 0.1]", "[0.3, 0.1]", True),
        # Whole numbers, names and versions are words.
        ("100 users of krr10", "101 users of krr10", False),
        ("0.2.0", "0.2.1", False),
        ("epsilon = 0.5", "delta = 0.5", False),
        ("0.5", "0.5 0.5", False),
        ("a\nb", "a b", False),
    ],
)
def test_a_page_agrees_with_a_program_up_to_the_last_digits(stated, printed, agree):
    assert agrees(printed, stated) is agree
