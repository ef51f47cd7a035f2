"""Start page, README and sharp edges: their Python and their commands print what they say."""

import io
import shlex
from contextlib import redirect_stdout

import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, Block, blocks, name
from test_tutorial import assert_alike

from shufflebounds.cli import main

PAGES = [
    *(ROOT / page for page in ("README.md", "docs/index.md", "docs/sharp-edges.md")),
    *(ROOT / "docs" / page for page in ("library.md", "accuracy.md")),
]
MEANT_TO_BE_COPIED = [
    ROOT / "docs" / f"{page}.md"
    for page in ("accountants", "aggregation", "choosing-delta", "minibatches")
]


@pytest.mark.parametrize("page", [*PAGES, *MEANT_TO_BE_COPIED], ids=name)
def test_the_python_prints_what_it_says(page):
    namespace, found = {"__name__": __name__}, blocks(page)
    ran = 0
    for block, after in zip(found, [*found[1:], Block("", "")], strict=True):
        if block.language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block.text, name(page), "exec"), namespace)
            assert_alike(printed.getvalue(), after.text if after.language == "text" else "")
            ran += 1
    assert ran


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_print_what_they_say(page):
    for block in blocks(page):
        if block.language == "console":
            command, expected = block.text.removeprefix("$ ").split("\n", 1)
            program, *arguments = shlex.split(command)
            assert program.removeprefix(".venv/bin/") == "shufflebounds"
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0
            assert_alike(done.output, expected)
