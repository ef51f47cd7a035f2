"""README and the pages with examples: their Python and their commands print what they say."""

import shlex

import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, assert_printed, assert_prints_what_it_says, blocks, name

from shufflebounds.cli import main

PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / page
        for page in ("tutorial.md", "threat-model.md", "library.md", "accuracy.md")
    ),
]
MEANT_TO_BE_COPIED = [
    ROOT / "docs" / f"{page}.md"
    for page in (
        *("accountants", "aggregation", "choosing-delta", "comparison", "random-allocation"),
        *("numbers", "what-to-compose"),
    )
]


@pytest.mark.parametrize("page", [*PAGES, *MEANT_TO_BE_COPIED], ids=name)
def test_the_python_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert any(block.language == "python" for block in blocks(page))
    assert_prints_what_it_says(page)


def test_the_first_question_takes_five_lines():
    first = next(x for x in blocks(ROOT / "docs" / "tutorial.md") if x.language == "python")
    assert len([line for line in first.text.splitlines() if line]) <= 5


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / "docs" / f"{page}.md" for page in ("index", "random-allocation"))],
    ids=name,
)
def test_the_commands_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.language == "console":
            command, expected = block.text.removeprefix("$ ").partition("\n")[::2]
            program, *arguments = shlex.split(command)
            assert program.removeprefix(".venv/bin/") == "shufflebounds"
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0
            files = [arguments[i + 1] for i, x in enumerate(arguments) if x in ("-o", "--plot")]
            assert all((tmp_path / name).stat().st_size for name in files)
            assert_printed(done.output, expected)
