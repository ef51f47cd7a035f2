"""The frame of an HTML file that needs no network: what stands around its style and its body."""

from __future__ import annotations

import html

_TEMPLATE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}
</head>
<body>
{body}
</body>
</html>
"""


def document(title: str, head: str, body: str) -> str:
    """The whole file. ``title`` is plain text; ``head`` (styles, scripts) and ``body`` are HTML."""
    return _TEMPLATE.format(title=html.escape(title), head=head, body=body)
