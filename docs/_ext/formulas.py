"""Formulas as MathML, which browsers set themselves: no script, and nothing from a network."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator

from reproduction.html_page import mathml

_TAG = re.compile(r"\\tag\{(.*?)\}")
# The converter knows \| only where it stands alone.
_BIG_NORM = re.compile(r"(\\[bB]igg?)\\\|")
_NAMESPACE = "http://www.w3.org/1998/Math/MathML"


def element(tex: str, *, block: bool) -> str:
    """The ``<math>`` element of a formula; ValueError, naming it, for one that cannot be set."""
    root = ET.fromstring(mathml(_BIG_NORM.sub("\\1\N{DOUBLE VERTICAL LINE}", tex), block=block))
    for part in root.iter():
        # Browsers know no letters but upright and slanted ones by attribute.
        if part.get("mathvariant") == "double-struck" and part.text:
            del part.attrib["mathvariant"]
            part.text = "".join(map(_double_struck, part.text))
    ET.register_namespace("", _NAMESPACE)
    return ET.tostring(root, encoding="unicode")


def _double_struck(letter: str) -> str:
    early = {"C": "ℂ", "H": "ℍ", "N": "ℕ", "P": "ℙ", "Q": "ℚ", "R": "ℝ", "Z": "ℤ"}
    if letter in early or not "A" <= letter <= "Z":
        return early.get(letter, letter)
    return chr(ord("\N{MATHEMATICAL DOUBLE-STRUCK CAPITAL A}") + ord(letter) - ord("A"))


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_set(node, block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    tag = _TAG.search(node.astext())
    number = f'<span class="number">({html.escape(tag[1])})</span>' if tag else ""
    formula = _set(node, block=True)
    translator.body.append(f'<div class="formula">{formula}{number}</div>\n')
    raise nodes.SkipNode


def _set(node: nodes.Node, *, block: bool) -> str:
    try:
        return element(_TAG.sub("", node.astext()), block=block)
    except ValueError as error:
        raise SphinxError(f"{node.source}: {error}") from None


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer that conf.py names."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
