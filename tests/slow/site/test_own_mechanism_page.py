"""A matrix, or a mechanism of your own: the page's Python and its commands print what it says."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from click.testing import CliRunner
from markdown_pages import ROOT, assert_printed, assert_prints_what_it_says, blocks

from reproduction.configuration import checks
from reproduction.configuration.sentences import ConfigError
from shufflebounds.cli import main
from shufflebounds.randomizers import registry

PAGE = ROOT / "docs" / "own-mechanism.md"
TEXT = PAGE.read_text(encoding="utf-8")

BLOCKS = blocks(PAGE)
# The matrix that the page saves.
(ROWS,) = re.findall(r'^rows = "(.*)"$', TEXT, re.M)
(MECHANISM,) = (block.text for block in BLOCKS if "(Randomizer)" in block.text)

# Knows the page's mechanism as if the registry had the line that the page adds.
COMMAND = """
import sys
sys.path.append(sys.argv[1])
from subset_selection import SubsetSelection
from shufflebounds.randomizers import registry
registry.register("subset_selection", SubsetSelection)
from shufflebounds.cli import main
main(sys.argv[2:], prog_name="shufflebounds")
"""


def consoles() -> list[tuple[str, str]]:
    """Commands and what they print."""
    texts = [block.text for block in BLOCKS if block.language == "console"]
    return [tuple(text.removeprefix("$ ").split("\n", 1)) for text in texts]


def test_every_block_is_of_a_kind_that_is_tested():
    assert {block.language for block in BLOCKS} == {"python", "text", "console", "yaml", "toml"}
    assert TEXT.count("```") == 2 * len(BLOCKS)


def test_the_python_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = assert_prints_what_it_says(PAGE)
    assert said == sum(block.language == "text" for block in BLOCKS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the page has saved its mechanism and its matrix."""
    (tmp_path / "subset_selection.py").write_text(MECHANISM, encoding="utf-8")
    (tmp_path / "m.csv").write_text(ROWS.replace("\\n", "\n"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("command", "expected"), consoles())
def test_the_commands_print_what_it_says(command, expected, folder):
    name, *args = command.split()
    assert name == "shufflebounds"
    if "subset_selection" in args:
        # Of a mechanism that is made known as the command starts.
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        script = [sys.executable, "-c", COMMAND, str(folder), *args]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True)
        printed = done.stdout
    else:
        result = CliRunner().invoke(main, args)
        assert result.exit_code == 0, result.output
        printed = result.stdout
    written = [args[i + 1] for i, part in enumerate(args) if part in ("-o", "--plot")]
    assert all((folder / name).stat().st_size for name in written)
    assert_printed(printed, expected)


def test_the_lines_for_the_config_are_right(monkeypatch):
    """Merged into the paper's file they pass its check, once the mechanism is registered."""
    namespace = {"__name__": __name__}
    exec(compile(MECHANISM, "docs/own-mechanism.md", "exec"), namespace)
    monkeypatch.setattr(registry, "_registered", {})
    registry.register("subset_selection", namespace["SubsetSelection"])
    (added,) = (block.text for block in BLOCKS if block.language == "yaml")
    text = (ROOT / "config" / "su2026.yaml").read_text(encoding="utf-8")
    for path, line in inserted(added):
        text = with_line(text, path, line)
    paper = yaml.safe_load(text)
    content = {"papers": ["su2026"], "su2026": paper}
    checks.make_plan(content)
    assert paper["experiments"]["subset6"]["curves"] == paper["experiments"]["krr10"]["curves"]
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(ConfigError, match="subset_selection"):
        checks.make_plan(content)


def test_the_entry_point_is_of_our_group():
    (block,) = (block.text for block in BLOCKS if block.language == "toml")
    points = tomllib.loads(block)["project"]["entry-points"]
    assert points == {
        registry.ENTRY_POINTS: {"subset_selection": "my_package.subset_selection:SubsetSelection"}
    }


def inserted(added: str) -> list[tuple[list[str], str]]:
    """Each line that holds a value, with the keys above it."""
    keys: list[str] = []
    found = []
    for line in added.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        keys = keys[:depth]
        if line.endswith(":"):
            keys.append(line.strip())
        else:
            found.append((keys, line))
    return found


def with_line(text: str, keys: list[str], line: str) -> str:
    """A YAML text with a line at the end of the mapping under the given keys."""
    lines, start, depth = text.splitlines(), -1, -1
    for key in keys:
        depth += 1
        start = lines.index("  " * depth + key, start + 1)
    inside = "  " * (depth + 1)
    end = start + 1
    while end < len(lines) and lines[end].startswith(inside):
        end += 1
    return "\n".join([*lines[:end], line, *lines[end:]]) + "\n"
