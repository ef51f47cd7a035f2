"""The cells of a notebook page, run as Jupyter would, with what each of them shows."""

from __future__ import annotations

import ast
import base64
import html
import io
from contextlib import redirect_stdout
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class CodeCell(SphinxDirective):
    """A cell: its code, what it prints, and the value of its last line."""

    has_content = True
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Run it after the cells above it, with their names."""
        source = "\n".join(self.content)
        namespace = self.env.temp_data.setdefault("cells", {"__name__": self.env.docname})
        printed = io.StringIO()
        with redirect_stdout(printed):
            value = evaluated(source, namespace)
        code = nodes.literal_block(source, source, language="python")
        found: list[nodes.Node] = [code]
        if text := printed.getvalue():
            found.append(nodes.literal_block(text, text, language="text"))
        if value is not None:
            result = f'<div class="result">{shown(value)}</div>'
            found.append(nodes.raw("", result, format="html"))
        return found


def evaluated(source: str, namespace: dict[str, Any]) -> Any:
    """What the last line of a cell is; None where it is a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace) if last else None


def shown(value: Any) -> str:
    """A value as HTML: as a picture, by its own account, or as text."""
    # First, since a figure of Matplotlib has an account of itself that is empty.
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="svg")
        data = base64.b64encode(picture.getvalue()).decode()
        return f'<img alt="the figure" src="data:image/svg+xml;base64,{data}">'
    if hasattr(value, "_repr_html_"):
        return value._repr_html_()
    return f"<pre>{html.escape(repr(value))}</pre>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the directive, by the name that MyST notebooks have for it."""
    app.add_directive("code-cell", CodeCell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
