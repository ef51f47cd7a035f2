"""The Markdown pages of the repository: links, anchors, blocks of code and what these print."""

import difflib
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from printed import agrees
from repository import ROOT

PAGES = sorted(
    path
    for folder in ("", "docs", "docs/proofs", "config", "results", "figures")
    for path in (ROOT / folder).glob("*.md")
)

_PARSER = MarkdownIt("commonmark").enable("table")


class Block(NamedTuple):
    language: str
    text: str


def name(page: Path) -> str:
    """A page as test reports call it."""
    return page.relative_to(ROOT).as_posix()


def links(page: Path) -> set[str]:
    """Where the links and pictures of a page lead."""
    targets = (
        token.attrGet("href") or token.attrGet("src")
        for token in _inline(page)
        if token.type in ("link_open", "image")
    )
    return {str(target) for target in targets}


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub and the documentation site call them."""
    tokens = _PARSER.parse(page.read_text(encoding="utf-8"))
    headings = [
        "".join(child.content for child in after.children or [])
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]
    seen: Counter[str] = Counter()
    found = set()
    for heading in headings:
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def blocks(page: Path) -> list[Block]:
    """Blocks of code, in order."""
    tokens = _PARSER.parse(page.read_text(encoding="utf-8"))
    return [Block(token.info, token.content) for token in tokens if token.type == "fence"]


def assert_prints_what_it_says(page: Path) -> int:
    """Runs all Python of a page; how many of its blocks print what stands below them."""
    namespace, found, said = {"__name__": __name__}, blocks(page), 0
    for block, after in zip(found, [*found[1:], Block("", "")], strict=True):
        if block.language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block.text, name(page), "exec"), namespace)
            assert_printed(printed.getvalue(), after.text if after.language == "text" else "")
            said += after.language == "text"
    return said


def assert_printed(printed: str, stated: str) -> None:
    """A program prints what its page states, but for what a processor decides."""
    lines = (text.strip("\n").splitlines() for text in (stated, printed))
    assert agrees(printed, stated), "\n".join(difflib.unified_diff(*lines, "page", "program"))


def _inline(page: Path) -> Iterator[Token]:
    for token in _PARSER.parse(page.read_text(encoding="utf-8")):
        yield from token.children or []
