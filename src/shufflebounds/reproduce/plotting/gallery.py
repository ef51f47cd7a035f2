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

# Of a thumbnail: pixels across, the first that lets the page fit, and colours.
_WIDTHS, _COLORS = (320, 240, 160, 80), 24
# Characters of the page: reports hold it as a URL, of which Chromium opens no more than 2 MiB.
_MOST = 1_500_000


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

    def filled(width: int) -> str:
        sections = [_section(title, shown, width) for title, shown in papers.items() if shown]
        return Filled(template).substitute(
            papers="\n".join(sections), program=packed_program, pages=packed(json.dumps(pages))
        )

    *wide, narrowest = _WIDTHS
    fitting = (made for made in map(filled, wide) if len(made) <= _MOST)
    return next(fitting, None) or filled(narrowest)


def _section(title: str, shown: Sequence[Thumbnail], width: int) -> str:
    buttons = "\n".join(_button(entry, width) for entry in shown)
    return f"<h2>{html.escape(title)}</h2>\n<div>\n{buttons}\n</div>"


def _button(entry: Thumbnail, width: int) -> str:
    small = None if entry.picture is None else _thumbnail(entry.picture, width)
    picture = f'<img alt="" src="{small}">' if small else ""
    return f'<button type="button">{picture}<span>{html.escape(entry.title)}</span></button>'


def _thumbnail(picture: bytes, width: int) -> str:
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    small = whole.resize((width, round(whole.height * width / whole.width)), Image.Resampling.BOX)
    content = io.BytesIO()
    small.quantize(_COLORS).save(content, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
