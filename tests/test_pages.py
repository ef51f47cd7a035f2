"""The pages whose Python is meant to be copied: it runs, and prints what they say."""

import importlib.util
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from test_tutorial import Block, assert_alike

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [Block(*match) for match in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)]


@pytest.mark.parametrize("page", ["accountants.md", "aggregation.md"])
def test_the_python_prints_what_it_says(page):
    namespace, found = {"__name__": __name__}, blocks(page)
    assert [one.language for one in found] == ["python", "text"] * (len(found) // 2)
    for code, expected in zip(found[::2], found[1::2], strict=True):
        if "from dp_accounting" in code.text and not importlib.util.find_spec("dp_accounting"):
            continue  # comes last
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code.text, page, "exec"), namespace)
        assert_alike(printed.getvalue(), expected.text)
