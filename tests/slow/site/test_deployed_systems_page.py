"""docs/deployed-systems.md: every command answers as its row says, and batches are large enough."""

import json
import re
import shlex
import sys

import pytest
from click.testing import CliRunner
from markdown_pages import ROOT, assert_prints_what_it_says

import shufflebounds as sb
from shufflebounds.cli import main

sys.path.insert(0, str(ROOT / "benchmarks"))
import batch_sizes

PAGE = ROOT / "docs" / "deployed-systems.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.*) \| ([\d.]+) \| .* \| `(.*)` \|$", TEXT, re.M)


def test_the_python_prints_what_it_says():
    assert assert_prints_what_it_says(PAGE) == 2


def test_every_row_has_a_command():
    assert len(ROWS) == 12


@pytest.mark.parametrize(("system", "stated", "command"), ROWS, ids=[row[0] for row in ROWS])
def test_a_command_answers_as_its_row_says(system, stated, command):
    asked = ["epsilon", *shlex.split(command), "--n", "1e6", "--delta", "1e-8", "--json"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.stderr
    upper = json.loads(done.stdout)["best"]["upper"]
    assert upper <= float(stated) <= 1.01 * upper


def test_batches_are_large_enough_and_hardly_larger():
    for task, eps0, *users in re.findall(r"^\| (.*) \| (\d) \| (\d+) \| (\d+) \|$", TEXT, re.M):
        subject = batch_sizes.TASKS[task](float(eps0))
        for (eps, delta), n in zip(batch_sizes.TARGETS, map(int, users), strict=True):
            assert sb.delta(subject, eps=eps, n=n).upper <= delta * (1.0 + 1e-6)
            assert sb.delta(subject, eps=eps, n=int(0.93 * n)).lower > delta
