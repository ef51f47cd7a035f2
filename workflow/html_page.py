"""A Markdown page as one HTML file, which the report shows where it only offers Markdown and CSV.

No Markdown but that of our own pages: headings, paragraphs, lists of one level and tables, and in
their lines code, strong and emphasised text, links, ``<br>`` and ``$formulas$``. All else is text.
Formulas become outlines: browsers know no TeX, and a report is read without a network.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from itertools import cycle

import matplotlib.style
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #222; margin: 2em; }}
h1 {{ font-size: 1.5em; }}
h2 {{ font-size: 1.15em; margin-top: 2em; }}
p, li {{ max-width: 50em; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.4em 0.9em; text-align: left; vertical-align: top; }}
th {{ border-bottom: 2px solid #888; }}
td {{ border-bottom: 1px solid #ddd; }}
tr:nth-child(even) td {{ background: #f6f6f6; }}
a {{ color: #0059a8; }}
svg {{ fill: currentColor; margin: 0.15em 0; overflow: visible; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""

_INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\$(?P<formula>[^$]+)\$"
    r"|\[(?P<text>[^\]]+)\]\((?P<url>(?:https?://|#)[^\s)]+)\)"
    r"|\*\*(?P<strong>(?! )[^*]+(?<! ))\*\*"
    r"|\*(?P<emphasis>(?! )[^*]+(?<! ))\*"
    r"|(?P<line_break><br>)"
)

_FORMULA_SIZE = 100  # units of an outline per em
_STEPS = {
    Outline.MOVETO: "M",
    Outline.LINETO: "L",
    Outline.CURVE3: "Q",
    Outline.CURVE4: "C",
    Outline.CLOSEPOLY: "Z",
}


@matplotlib.style.context(["default", {"mathtext.fontset": "stix"}])
def page(markdown: str) -> str:
    """The HTML of a page, titled like its first heading. Equal pages give equal HTML.

    Raises ValueError for a formula that Matplotlib cannot set.
    """
    # No line begins with a lone % sign.
    blocks = re.split(r"\n{2,}", markdown.strip("\n").replace(" %", "\N{NO-BREAK SPACE}%"))
    title = html.escape(blocks[0].lstrip("# "))
    return _TEMPLATE.format(title=title, body="\n".join(map(_block, blocks)))


def _block(block: str) -> str:
    if heading := re.fullmatch(r"(#{1,6}) (.+)", block):
        level, text = len(heading[1]), heading[2]
        return f'<h{level} id="{html.escape(text)}">{_inline(text)}</h{level}>'
    if block.startswith("|"):
        return _table(block.splitlines())
    if block.startswith("- "):
        items = re.split(r"\n(?=- )", block)
        return f"<ul>{''.join(f'<li>{_inline(item[2:])}</li>' for item in items)}</ul>"
    return f"<p>{_inline(block)}</p>"


def _table(lines: list[str]) -> str:
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    header, _, *body = rows
    return "\n".join(
        ["<table>", _row("th", header), *(_row("td", row) for row in body), "</table>"]
    )


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_inline(cell)}</{tag}>' for cell in cells)}</tr>"


def _inline(text: str) -> str:
    parts, end = [], 0
    for match in _INLINE.finditer(text):
        parts += [html.escape(text[end : match.start()]), _marked(match)]
        end = match.end()
    return "".join([*parts, html.escape(text[end:])])


def _marked(match: re.Match[str]) -> str:
    """One piece of marked text."""
    content = match[match.lastgroup]
    match match.lastgroup:
        case "code":
            return f"<code>{html.escape(content)}</code>"
        case "formula":
            return _formula(content)
        case "url":
            # In a frame of the report a page elsewhere needs a window of its own.
            target = "" if content.startswith("#") else ' target="_blank" rel="noopener"'
            return f'<a href="{html.escape(content)}"{target}>{_inline(match["text"])}</a>'
        case "strong":
            return f"<strong>{_inline(content)}</strong>"
        case "emphasis":
            return f"<em>{_inline(content)}</em>"
        case _:
            return "<br>"


def _formula(tex: str) -> str:
    # In lines of their own, as in most cells, fractions need not be small.
    legible = tex.replace(r"\frac", r"\dfrac")
    outline = TextPath((0, 0), f"${legible}$", size=_FORMULA_SIZE)
    box = outline.get_extents()
    steps = (
        _STEPS[code] + ("" if code == Outline.CLOSEPOLY else _coordinates(points))
        for points, code in outline.iter_segments(simplify=False)
    )
    left, bottom, width, height = (round(number) for number in box.bounds)
    return (
        f'<svg role="img" aria-label="{html.escape(tex)}" '
        f'viewBox="{left} {-bottom - height} {width} {height}" '
        f'style="width:{width / _FORMULA_SIZE}em;height:{height / _FORMULA_SIZE}em;'
        f'vertical-align:{bottom / _FORMULA_SIZE}em"><path d="{"".join(steps)}"/></svg>'
    )


def _coordinates(points: Iterable[float]) -> str:
    """Of an outline, whose y goes up, in a picture, whose y goes down."""
    return " ".join(str(round(number * sign)) for number, sign in zip(points, cycle((1, -1))))
