"""All figures on one page: thumbnails that open the interactive figures.

The pages hold the same program and the same script below it, which are here but once.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from shufflebounds.reproduce.plotting.html import Filled, packed

# Of a thumbnail: pixels, colours.
_WIDTH, _COLORS = 320, 24


@dataclass(frozen=True)
class Thumbnail:
    """A figure: its title, its interactive page, and its picture (PNG) if there is one."""

    title: str
    page: str
    picture: bytes | None = None


def page(papers: Mapping[str, Sequence[Thumbnail]], program: str) -> str:
    """The HTML of the gallery, by titles of papers; `program` is what the pages were made with."""
    packed_program = packed(program)
    parts = [one.page.partition(packed_program) for shown in papers.values() for one in shown]
    [below] = {below for _, _, below in parts}
    pages = {"above": [above for above, _, _ in parts], "below": below}
    template = Path(__file__).with_name("gallery.html").read_text(encoding="utf-8")
    return Filled(template).substitute(
        papers="\n".join(_section(title, shown) for title, shown in papers.items() if shown),
        program=packed_program,
        pages=packed(json.dumps(pages)),
    )


def _section(title: str, shown: Sequence[Thumbnail]) -> str:
    buttons = "\n".join(map(_button, shown))
    return f"<h2>{html.escape(title)}</h2>\n<div>\n{buttons}\n</div>"


def _button(entry: Thumbnail) -> str:
    picture = "" if entry.picture is None else f'<img alt="" src="{_thumbnail(entry.picture)}">'
    return f'<button type="button">{picture}<span>{html.escape(entry.title)}</span></button>'


def _thumbnail(picture: bytes) -> str:
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    small = whole.resize((_WIDTH, round(whole.height * _WIDTH / whole.width)), Image.Resampling.BOX)
    content = io.BytesIO()
    small.quantize(_COLORS).save(content, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
