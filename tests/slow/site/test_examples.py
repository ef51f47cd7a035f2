"""README and the pages with examples: their Python and their commands print what they say."""

import shlex

import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, assert_printed, assert_prints_what_it_says, blocks, name

from shufflebounds.cli import main

PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / page for page in ("threat-model.md", "library.md", "accuracy.md")),
]
MEANT_TO_BE_COPIED = [
    ROOT / "docs" / f"{page}.md"
    for page in (
        *("accountants", "aggregation", "choosing-delta", "comparison", "random-allocation"),
        "what-to-compose",
    )
]


@pytest.mark.parametrize("page", [*PAGES, *MEANT_TO_BE_COPIED], ids=name)
def test_the_python_prints_what_it_says(page):
    assert any(block.language == "python" for block in blocks(page))
    assert_prints_what_it_says(page)


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / "docs" / f"{page}.md" for page in ("index", "random-allocation"))],
    ids=name,
)
def test_the_commands_print_what_they_say(page):
    for block in blocks(page):
        if block.language == "console":
            command, expected = block.text.removeprefix("$ ").split("\n", 1)
            program, *arguments = shlex.split(command)
            assert program.removeprefix(".venv/bin/") == "shufflebounds"
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0
            assert_printed(done.output, expected)
