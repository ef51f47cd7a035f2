"""Formulas within a line, such as e^{θx} and a_j, with their exponents and indices set as such."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

_LETTER = "[A-Za-zΑ-Ωα-ωϕℓ]"
_NAME = "[A-Za-z_]"
_ARGUMENT = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_RAISED_OR_LOWERED = re.compile(
    # After one letter, which may have a tilde or a bar, and not in a name_like_this.
    rf"(?:(?<=(?<!{_NAME}){_LETTER})|(?<={_LETTER}[\u0300-\u036f*])|(?<=inf|max|min|sup))"
    rf"_(?P<lowered>{_ARGUMENT}|(?:[A-Za-z0-9α-ωϕ∞]|max|min|res|rev)(?!\w))"
    rf"|(?<=[\w)\]}}…])\^(?P<raised>{_ARGUMENT}|[−-]?\d+|ε₀|{_LETTER}(?!\w))"
)
_LITERAL = (nodes.literal, nodes.FixedTextElement, nodes.raw, nodes.math, nodes.comment)


def parts(text: str) -> list[nodes.Node]:
    """Text as nodes, with subscripts and superscripts where it has them."""
    found: list[nodes.Node] = []
    end = 0
    for match in _RAISED_OR_LOWERED.finditer(text):
        found.append(nodes.Text(text[end : match.start()]))
        kind = nodes.superscript if match["raised"] else nodes.subscript
        argument = (match["raised"] or match["lowered"]).removeprefix("{").removesuffix("}")
        found.append(kind("", "", *parts(argument)))
        end = match.end()
    return [*found, nodes.Text(text[end:])]


class Indices(SphinxPostTransform):
    """Sets them in everything that is not code."""

    default_priority = 400

    def run(self, **_: Any) -> None:
        """Replace the text nodes that hold any."""
        for node in list(self.document.findall(nodes.Text)):
            if _RAISED_OR_LOWERED.search(node) and not _is_literal(node.parent):
                node.parent.replace(node, parts(node.astext()))


def _is_literal(node: nodes.Node | None) -> bool:
    return node is not None and (isinstance(node, _LITERAL) or _is_literal(node.parent))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register it."""
    app.add_post_transform(Indices)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
