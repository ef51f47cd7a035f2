"""A Markdown page as one HTML file, which the report shows where it only offers Markdown and CSV.

CommonMark with tables and ``$formulas$``, which become MathML: every browser sets it, without a
network. Of raw HTML only ``<br>`` is markup, and of links only those to the web and within the
page; all else is text.
"""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from shufflebounds.curves.plotting.texts import plain

_DOCUMENT = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""

# On a narrow screen a row becomes a block of lines, each behind the heading of its column.
_STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1em; }
h1 { font-size: 1.5em; }
h2 { font-size: 1.15em; margin-top: 2em; }
p, li { max-width: 50em; }
p, li, td { overflow-wrap: break-word; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4em 0.9em; text-align: left; vertical-align: top; min-width: 2.5em; }
th { border-bottom: 2px solid #888; }
td { border-bottom: 1px solid #8884; }
td a { display: inline-block; min-height: 24px; }
:focus-visible { outline: 3px solid #4a90d9; outline-offset: 2px; }
math {
  font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", "DejaVu Math TeX Gyre", math;
  font-size: 1.1em;
}
td math { padding: 0.25em 0; }
math[display=block] { overflow-x: auto; }
@media (max-width: 48em) {
  body { margin: 1em auto; }
  thead { display: none; }
  table, tbody, tr, td { display: block; padding: 0.1em 0; border: 0; overflow-x: auto; }
  tr { border-top: 1px solid #888; padding: 0.6em 0; }
  td[data-heading]::before { content: attr(data-heading) ": "; opacity: 0.75; }
}
"""

_LINKS = ("https://", "http://", "#")

# What formulas may be made of: nothing that links, runs or styles.
_ELEMENTS = re.compile(
    r"m(ath|enclose|frac|i|n|o|over|padded|phantom|root|row|space|sqrt|style|sub|subsup|sup|table|td"
    r"|text|tr|under|underover)"
)
_ATTRIBUTES = re.compile(
    r"accent|accentunder|columnalign|display|displaystyle|fence|form|largeop|linethickness|lspace"
    r"|mathvariant|maxsize|minsize|movablelimits|rspace|scriptlevel|separator|stretchy|width"
)


def page(markdown: str) -> str:
    """Return the HTML of a page, titled like its first heading. Equal pages give equal HTML.

    Raises ValueError, naming it, for a formula that cannot be set.
    """
    # No line begins with a lone % sign.
    text = markdown.replace(" %", "\N{NO-BREAK SPACE}%")
    parser = _parser()
    tokens = parser.parse(text)
    title = next((token.content for token in tokens if token.type == "inline"), "")
    _name_cells(tokens)
    body = parser.renderer.render(tokens, parser.options, {})
    return _DOCUMENT.format(title=html.escape(title), style=_STYLE, body=body.strip())


def _name_cells(tokens: Sequence[Token]) -> None:
    """Give each cell of a table the heading of its column."""
    headings: list[str] = []
    rest = iter(headings)
    for token, content in pairwise(tokens):
        if token.type == "table_open":
            headings = []
        elif token.type == "th_open":
            headings.append(plain(content.content.replace("<br>", " ")))
        elif token.type == "tr_open":
            rest = iter(headings)
        elif token.type == "td_open" and (heading := next(rest)):
            token.attrSet("data-heading", heading)


class _Parser(MarkdownIt):
    """A parser that keeps only links to the web and within the page."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.startswith(_LINKS)


def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": True}).enable("table").disable(["html_block", "image"])
    parser.use(anchors_plugin, max_level=6, slug_func=str)
    parser.use(dollarmath_plugin, allow_labels=False, renderer=_formula)
    parser.add_render_rule("html_inline", _tag)
    parser.add_render_rule("link_open", _link)
    return parser


def _tag(_: RendererHTML, tokens: Sequence[Token], i: int, *__: Any) -> str:
    return "<br>" if tokens[i].content == "<br>" else html.escape(tokens[i].content)


def _link(renderer: RendererHTML, tokens: Sequence[Token], i: int, options: Any, env: Any) -> str:
    if not str(tokens[i].attrGet("href")).startswith("#"):
        # In a frame of the report a page elsewhere needs a window of its own.
        tokens[i].attrSet("target", "_blank")
        tokens[i].attrSet("rel", "noopener")
    return renderer.renderToken(tokens, i, options, env)


def _formula(tex: str, options: Mapping[str, Any]) -> str:
    return mathml(tex, block=options["display_mode"])


def mathml(tex: str, *, block: bool) -> str:
    """Return the ``<math>`` element of a formula in LaTeX, on a line of its own or within one.

    Raises ValueError, naming it, for a formula that cannot be set.
    """
    # In lines of their own, as in most cells, fractions need not be small.
    legible = tex.replace(r"\frac", r"\dfrac")
    try:
        element = convert(legible, display="block" if block else "inline")
        elements = list(ET.fromstring(element).iter())
    # The converter's own exceptions have no ancestor in common.
    except Exception as error:
        raise ValueError(f"the formula {tex!r} cannot be set: {type(error).__name__}") from None
    for part in elements:
        tag = part.tag.rpartition("}")[2]
        if not (_ELEMENTS.fullmatch(tag) and all(map(_ATTRIBUTES.fullmatch, part.keys()))):
            raise ValueError(f"the formula {tex!r} cannot be set: it holds more than mathematics")
        if (part.text or "").startswith("\\"):
            raise ValueError(f"the formula {tex!r} cannot be set: {part.text} is unknown")
    return element
